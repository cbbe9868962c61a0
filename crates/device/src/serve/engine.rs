//! The engine: owns the drive, brings it to the present before it takes requests, and answers those that are due.
//!
//! There is no thread that every request has to be handed to: whichever thread brings a request steps the drive, for all that wait,
//! unless another one is at it, which then takes it along. A thread of the engine's own wakes when the next completion is due.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use super::clock::Clock;
use super::core::{Arrival, Core};
use super::nbd::error;
use super::plan::{Lead, Plan};
use crate::prompt::Prompt;
use crate::{Error, Stop};

/// Rounds that a thread steps the drive for others before the engine's own thread takes over.
const ROUNDS: usize = 32;
/// Between two looks at an idle drive, so that background work keeps up.
const IDLE: Duration = Duration::from_millis(100);

/// See the module.
pub(super) struct Engine {
    /// `None` once the drive was taken out.
    core: Mutex<Option<Core>>,
    /// Requests with the simulated time at which they came.
    inbox: Mutex<Vec<(u64, Arrival)>>,
    clock: Mutex<Clock>,
    plan: Plan,
    stop: Stop,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Engine {
    /// `stop` is asked when the drive fails.
    pub(super) fn new(core: Core, stop: Stop) -> Self {
        Self {
            clock: Mutex::new(core.clock),
            core: Mutex::new(Some(core)),
            inbox: Mutex::default(),
            plan: Plan::new(),
            stop,
        }
    }

    /// Takes a request. [`Engine::work`] is to follow.
    pub(super) fn submit(&self, arrival: Arrival) {
        let clock = *locked(&self.clock);
        let time_ns = if clock.is_paced() { clock.now_ns() } else { 0 };
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
        if let Some(next) = next {
            self.plan.no_later_than(next);
        }
    }

    /// Takes what has come and steps the drive. Returns when to look again.
    fn round(&self, core: Option<&mut Core>) -> Option<Instant> {
        let Some(core) = core else {
            for (_, arrival) in locked(&self.inbox).drain(..) {
                arrival.reply.fail(error::SHUT_DOWN);
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
        if core.is_over() {
            core.refuse(&mut batch);
        }
        core.batch = batch;
        core.next()
    }

    /// The engine's own thread: answers what is due until [`Engine::end`].
    pub(super) fn run(&self) {
        // In virtual time nothing is due: it works all the time.
        let paced = locked(&self.clock).is_paced();
        let _prompt = if paced { Prompt::begin_in_real_time() } else { Prompt::begin() };
        let mut lead = Lead::default();
        // When to look at the drive though nobody waits: a time that may be missed.
        let mut idle = None;
        let mut waits = false;
        while !self.plan.has_ended() {
            let (at, now) = (self.plan.at(), Instant::now());
            if at > now {
                if Some(at) == idle {
                    self.plan.sleep(at, at - now);
                    continue;
                }
                waits = true;
                if let Some(sleep) = lead.sleep(at - now) {
                    if self.plan.sleep(at, sleep) {
                        lead.woke(now.elapsed().saturating_sub(sleep));
                    }
                } else {
                    lead.awake(now);
                    std::hint::spin_loop();
                }
                continue;
            }
            if std::mem::take(&mut waits) {
                lead.waited();
            }
            self.plan.begin_look(now + IDLE);
            let next = self.round(locked(&self.core).as_mut());
            // Whoever found the drive taken has left its request here.
            let next = if locked(&self.inbox).is_empty() { next } else { Some(now) };
            idle = next.is_none().then_some(now + IDLE);
            self.plan(next);
        }
    }

    /// Works on the drive at the present. Returns `None` once it was taken out.
    pub(super) fn with<T>(&self, work: impl FnOnce(&mut Core) -> T) -> Option<T> {
        let mut core = locked(&self.core);
        self.round(core.as_mut());
        let done = core.as_mut().map(work)?;
        if let Some(core) = core.as_mut() {
            *locked(&self.clock) = core.clock;
        }
        let next = core.as_ref().and_then(Core::next);
        drop(core);
        self.plan(next);
        Some(done)
    }

    /// Ends the engine's own thread.
    pub(super) fn end(&self) {
        self.plan.end();
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
