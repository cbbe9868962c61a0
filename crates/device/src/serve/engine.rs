//! The engine: owns the drive, brings it to the present before it takes requests, and answers those that are due.
//!
//! There is no thread that every request has to be handed to: whichever thread brings a request steps the drive, for all that wait,
//! unless another one is at it, which then takes it along. A thread of the engine's own wakes when the next completion is due.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use flashweir_run::{Completion, Drive};
use flashweir_trace::{Op, Request};

use super::clock::{Clock, wake_precisely};
use super::lateness::Lateness;
use super::nbd::Reply;
use crate::{Error, Stop};

/// Rounds that a thread steps the drive for others before the engine's own thread takes over.
const ROUNDS: usize = 32;
/// Between two looks at a drive whose next completion is not known before it happens.
const TICK: Duration = Duration::from_micros(20);
/// Between two looks at an idle drive, so that background work keeps up.
const IDLE: Duration = Duration::from_millis(100);
/// Error of the protocol for a request that the drive failed.
const FAILED: u32 = 5;
/// Error of the protocol for a request after the end.
const SHUT_DOWN: u32 = 108;

/// A request of a client. Its data is in the store, or was read from it.
#[derive(Debug)]
pub(super) struct Arrival {
    pub(super) op: Op,
    pub(super) lba: u64,
    pub(super) sectors: u32,
    pub(super) stream: u16,
    /// Durable before it is answered.
    pub(super) fua: bool,
    pub(super) reply: Reply,
}

/// A request that the drive has.
#[derive(Debug)]
struct Pending {
    reply: Reply,
    /// A flush follows before it is answered.
    fua: Option<u16>,
    /// When it arrived, ns of simulated time.
    arrived_ns: u64,
}

/// The drive, and who waits for it.
pub(super) struct Core {
    pub(super) drive: Drive,
    pub(super) clock: Clock,
    outstanding: HashMap<u64, Pending>,
    pub(super) lateness: Lateness,
    /// A write in the buffer is acknowledged before it is on flash.
    volatile: bool,
    /// Why the drive can't go on.
    pub(super) failed: Option<Error>,
    /// No request is taken any more.
    closed: bool,
    batch: Vec<(u64, Arrival)>,
}

/// See the module.
pub(super) struct Engine {
    /// `None` once the drive was taken out.
    core: Mutex<Option<Core>>,
    /// Requests with the simulated time at which they came.
    inbox: Mutex<Vec<(u64, Arrival)>>,
    clock: Clock,
    plan: Mutex<Plan>,
    wake: Condvar,
    stop: Stop,
}

/// When the engine's own thread is to look again.
#[derive(Clone, Copy, Debug)]
struct Plan {
    at: Instant,
    ended: bool,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Engine {
    /// `volatile`: the drive acknowledges writes before they are durable. `stop` is asked when the drive fails.
    pub(super) fn new(drive: Drive, clock: Clock, volatile: bool, stop: Stop) -> Self {
        let core = Core {
            drive,
            clock,
            outstanding: HashMap::new(),
            lateness: Lateness::default(),
            volatile,
            failed: None,
            closed: false,
            batch: Vec::new(),
        };
        Self {
            core: Mutex::new(Some(core)),
            inbox: Mutex::default(),
            clock,
            plan: Mutex::new(Plan { at: Instant::now(), ended: false }),
            wake: Condvar::new(),
            stop,
        }
    }

    /// Takes a request. [`Engine::work`] is to follow.
    pub(super) fn submit(&self, arrival: Arrival) {
        let time_ns = if self.clock.is_paced() { self.clock.now_ns() } else { 0 };
        locked(&self.inbox).push((time_ns, arrival));
    }

    /// Steps the drive to the present, unless another thread is at it, which then does what has come meanwhile.
    pub(super) fn work(&self) {
        for _ in 0..ROUNDS {
            let mut core = match self.core.try_lock() {
                Ok(core) => core,
                Err(TryLockError::Poisoned(core)) => core.into_inner(),
                Err(TryLockError::WouldBlock) => return,
            };
            let next = self.round(core.as_mut());
            drop(core);
            // Whoever found the drive taken has left its request here.
            let more = !locked(&self.inbox).is_empty() || next.is_some_and(|next| next <= Instant::now());
            if !more {
                self.plan(next);
                return;
            }
        }
        self.plan(Some(Instant::now()));
    }

    /// Wakes the engine's own thread at `next`, if it would look later.
    fn plan(&self, next: Option<Instant>) {
        let Some(next) = next else { return };
        let mut plan = locked(&self.plan);
        if next < plan.at {
            plan.at = next;
            drop(plan);
            self.wake.notify_one();
        }
    }

    /// Takes what has come and steps the drive. Returns when to look again.
    fn round(&self, core: Option<&mut Core>) -> Option<Instant> {
        let Some(core) = core else {
            for (_, arrival) in locked(&self.inbox).drain(..) {
                arrival.reply.fail(SHUT_DOWN);
            }
            return None;
        };
        let mut batch = std::mem::take(&mut core.batch);
        std::mem::swap(&mut *locked(&self.inbox), &mut batch);
        let stepped = catch_unwind(AssertUnwindSafe(|| core.step(&mut batch)));
        let stepped = stepped.unwrap_or_else(|_| {
            let expected = "the simulation panicked, please report it".into();
            Err(Error::Setting { what: "internal error".into(), expected })
        });
        if let Err(error) = stepped {
            core.failed.get_or_insert(error);
            self.stop.ask();
        }
        if core.failed.is_some() || core.closed {
            core.refuse(&mut batch);
        }
        core.batch = batch;
        core.next()
    }

    /// The engine's own thread: answers what is due until [`Engine::end`].
    pub(super) fn run(&self) {
        wake_precisely();
        let mut plan = locked(&self.plan);
        while !plan.ended {
            let now = Instant::now();
            if plan.at > now {
                let wait = plan.at - now;
                plan = self.wake.wait_timeout(plan, wait).unwrap_or_else(PoisonError::into_inner).0;
                continue;
            }
            // Earlier plans of other threads are kept: they move it forward.
            plan.at = now + IDLE;
            drop(plan);
            let next = self.round(locked(&self.core).as_mut());
            // Whoever found the drive taken has left its request here.
            let next = if locked(&self.inbox).is_empty() { next } else { Some(now) };
            plan = locked(&self.plan);
            plan.at = plan.at.min(next.unwrap_or(now + IDLE));
        }
    }

    /// Ends the engine's own thread.
    pub(super) fn end(&self) {
        locked(&self.plan).ended = true;
        self.wake.notify_one();
    }

    /// Takes the drive out, after everything outstanding is done and answered, and flushed.
    pub(super) fn finish(&self) -> Option<Core> {
        let mut core = locked(&self.core).take()?;
        let mut batch = std::mem::take(&mut *locked(&self.inbox));
        let done = core.step(&mut batch).and_then(|()| core.drain());
        if let Err(error) = done {
            core.failed.get_or_insert(error);
        }
        core.refuse(&mut batch);
        Some(core)
    }
}

impl Core {
    /// Brings the drive to the present, takes requests, and answers what is due.
    fn step(&mut self, batch: &mut Vec<(u64, Arrival)>) -> Result<(), Error> {
        if self.failed.is_some() || self.closed {
            return Ok(());
        }
        let paced = self.clock.is_paced();
        for (time_ns, arrival) in batch.drain(..) {
            let time_ns = time_ns.max(self.drive.now_ns());
            if paced {
                self.drive.advance_to(time_ns)?;
            }
            let Arrival { op, lba, sectors, stream, fua, reply } = arrival;
            let fua = (fua && self.volatile).then_some(stream);
            self.submit(Request { time_ns, lba, sectors, stream, op }, reply, fua, time_ns)?;
        }
        if paced {
            let now_ns = self.clock.now_ns().max(self.drive.now_ns());
            self.drive.advance_to(now_ns)?;
            return self.answer();
        }
        // The earliest completions; whatever has come by then is taken before the next ones.
        self.drive.advance_to_completion(u64::MAX)?;
        self.answer()
    }

    fn submit(
        &mut self,
        request: Request,
        reply: Reply,
        fua: Option<u16>,
        arrived_ns: u64,
    ) -> Result<(), Error> {
        match self.drive.submit(&[request]) {
            Ok(numbers) => {
                self.outstanding.insert(numbers.start, Pending { reply, fua, arrived_ns });
                Ok(())
            }
            Err(error) => {
                reply.fail(FAILED);
                Err(error.into())
            }
        }
    }

    /// Answers requests that are complete. What is written through is flushed first.
    fn answer(&mut self) -> Result<(), Error> {
        while let Some(Completion { number, end_ns, .. }) = self.drive.next_completion() {
            let Some(pending) = self.outstanding.remove(&number) else { continue };
            let Pending { reply, fua, arrived_ns } = pending;
            if let Some(stream) = fua {
                let time_ns = self.drive.now_ns();
                let flush = Request { time_ns, lba: 0, sectors: 0, stream, op: Op::Flush };
                self.submit(flush, reply, None, arrived_ns)?;
                continue;
            }
            reply.send();
            if self.clock.is_paced() {
                let late = Instant::now().saturating_duration_since(self.clock.due(end_ns));
                self.lateness.add(late, self.clock.wall(end_ns - arrived_ns));
            }
        }
        Ok(())
    }

    /// When to look again, at the latest. `None`: no request is outstanding.
    fn next(&self) -> Option<Instant> {
        if self.outstanding.is_empty() {
            return None;
        }
        if !self.clock.is_paced() {
            return Some(Instant::now());
        }
        let known = self.drive.next_end_ns().map(|end_ns| self.clock.due(end_ns));
        let tick = self.drive.awaits_events().then(|| Instant::now() + TICK);
        known.into_iter().chain(tick).min()
    }

    /// Everything outstanding completes, without waiting for wall time, and the buffer is flushed.
    fn drain(&mut self) -> Result<(), Error> {
        if self.failed.is_some() {
            return Ok(());
        }
        self.clock = self.clock.virtually();
        loop {
            self.answer()?;
            if self.outstanding.is_empty() {
                break;
            }
            self.drive.advance_to_completion(u64::MAX)?;
        }
        let flush = Request { time_ns: self.drive.now_ns(), lba: 0, sectors: 0, stream: 0, op: Op::Flush };
        self.drive.submit(&[flush])?;
        self.drive.drain_while(&mut || true)?;
        while self.drive.next_completion().is_some() {}
        Ok(())
    }

    /// Fails everything outstanding, and what has come.
    fn refuse(&mut self, batch: &mut Vec<(u64, Arrival)>) {
        for (_, arrival) in batch.drain(..) {
            arrival.reply.fail(if self.failed.is_some() { FAILED } else { SHUT_DOWN });
        }
        for (_, pending) in self.outstanding.drain() {
            pending.reply.fail(FAILED);
        }
    }
}
