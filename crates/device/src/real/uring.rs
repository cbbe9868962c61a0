//! Many outstanding requests, through io_uring. One thread hands requests over and takes completions up: between two due times it looks
//! at the queue of completions, which is memory, or waits in the kernel for whichever is first, a completion or the time.

use std::os::fd::RawFd;

use flashweir_trace::{LogRecord, Op, Request};
use io_uring::types::{Fd, FsyncFlags, SubmitArgs, Timespec};
use io_uring::{IoUring, opcode, squeue};
use rustix::fs::FallocateFlags;
use rustix::io::Errno;

use super::buffers::{Buffer, MAX_BYTES};
use super::clock::NAP_NS;
use super::trimmer::Trimmer;
use super::{RealTarget, check_depth, record};
use crate::safety::Kind;
use crate::target::scaled;
use crate::{Error, Timing};

/// User data of the event by which threads that discard make themselves heard.
const EVENT: u64 = u64::MAX;

/// An outstanding request.
#[derive(Clone, Copy, Debug)]
struct Flight {
    request: Request,
    due_ns: Option<u64>,
    issue_ns: u64,
    offset: u64,
    length: u64,
    /// Bytes moved by earlier transfers of it.
    done: u64,
}

/// The ring, and the requests in it.
pub(super) struct Ring {
    uring: IoUring,
    depth: u32,
    flights: Vec<Option<Flight>>,
    buffers: Vec<Option<Buffer>>,
    free: Vec<u32>,
    under_way: u32,
    trimmer: Option<Trimmer>,
}

impl std::fmt::Debug for Ring {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Ring").field("depth", &self.depth).finish_non_exhaustive()
    }
}

impl Ring {
    fn new(depth: u32) -> Result<Self, Error> {
        // One entry more for the event of the threads that discard.
        let uring = IoUring::new((depth + 1).next_power_of_two()).map_err(|error| Error::Setting {
            what: "engine io_uring".into(),
            expected: format!("not available here ({error}); expected engine sync"),
        })?;
        let places = depth as usize;
        let buffers = (0..places).map(|_| None).collect();
        let free = (0..depth).rev().collect();
        Ok(Self { uring, depth, flights: vec![None; places], buffers, free, under_way: 0, trimmer: None })
    }

    /// Puts an entry into the queue and submits it.
    fn submit(&mut self, entry: &squeue::Entry) -> Result<(), Errno> {
        loop {
            // SAFETY: memory that an entry points to is a buffer of this ring or the shared one of reads, both of which live until
            // nothing is outstanding (`Drop`); its file is open as long as the target.
            if unsafe { self.uring.submission().push(entry) }.is_ok() {
                break;
            }
            self.enter(0, None)?;
        }
        self.enter(0, None)
    }

    /// Submits the entries in the queue; waits for so many completions, or until the time is over.
    fn enter(&mut self, wanted: usize, most_ns: Option<u64>) -> Result<(), Errno> {
        loop {
            let entered = match most_ns {
                None => self.uring.submitter().submit_and_wait(wanted),
                Some(ns) => {
                    let time = Timespec::new().sec(ns / 1_000_000_000).nsec((ns % 1_000_000_000) as u32);
                    self.uring.submitter().submit_with_args(wanted, &SubmitArgs::new().timespec(&time))
                }
            };
            let Err(error) = entered else { return Ok(()) };
            match Errno::from_io_error(&error) {
                Some(Errno::TIME | Errno::BUSY) => return Ok(()),
                Some(Errno::INTR) if wanted > 0 => return Ok(()),
                Some(Errno::INTR | Errno::AGAIN) => {}
                other => return Err(other.unwrap_or(Errno::IO)),
            }
        }
    }

    fn watch(&mut self, event: RawFd) -> Result<(), Errno> {
        // POLLIN of poll.h.
        self.submit(&opcode::PollAdd::new(Fd(event), 1).build().user_data(EVENT))
    }
}

impl Drop for Ring {
    /// The kernel may write to buffers until requests are complete.
    fn drop(&mut self) {
        while self.under_way > 0 {
            if self.enter(1, Some(NAP_NS)).is_err() {
                // Memory that the kernel may still write to is better lost than given to others.
                self.buffers.drain(..).for_each(std::mem::forget);
                return;
            }
            let trims = std::iter::from_fn(|| self.trimmer.as_ref().and_then(Trimmer::take)).count();
            let ended = self.uring.completion().filter(|entry| entry.user_data() != EVENT).count();
            self.under_way = self.under_way.saturating_sub((trims + ended) as u32);
        }
    }
}

/// One call of `execute`.
struct Call<'a> {
    target: &'a mut RealTarget,
    ring: &'a mut Ring,
    sink: &'a mut dyn FnMut(LogRecord) -> Result<(), Error>,
    depth: u32,
    /// When there was last no room for another request, ns.
    full_ns: Option<u64>,
}

pub(super) fn execute(
    target: &mut RealTarget,
    requests: &mut dyn Iterator<Item = Result<Request, Error>>,
    timing: Timing,
    sink: &mut dyn FnMut(LogRecord) -> Result<(), Error>,
) -> Result<(), Error> {
    let depth = match timing {
        Timing::Closed { depth } => depth,
        Timing::Times { .. } => target.max_outstanding,
    };
    check_depth("depth", depth)?;
    let mut ring = match target.ring.take().filter(|ring| ring.depth >= depth) {
        Some(ring) => ring,
        None => Ring::new(depth)?,
    };
    let mut call = Call { target, ring: &mut ring, sink, depth, full_ns: None };
    let executed = call.run(requests, timing);
    let ended = call.drain();
    target.ring = Some(ring);
    executed.and(ended)
}

impl Call<'_> {
    fn run(
        &mut self,
        requests: &mut dyn Iterator<Item = Result<Request, Error>>,
        timing: Timing,
    ) -> Result<(), Error> {
        let start_ns = self.target.begin();
        for request in requests {
            let request = request?;
            let (offset, length) = self.target.place(&request)?;
            let due_ns = match timing {
                Timing::Closed { .. } => None,
                Timing::Times { scale } => Some(scaled(start_ns, request.time_ns, scale)),
            };
            let tag = self.wait_for_turn(due_ns)?;
            if request.op == Op::Write {
                let bytes = (length as usize).min(MAX_BYTES);
                self.target.content.prepare(&mut self.ring.buffers[tag as usize], bytes);
            }
            if let Err(error) = self.wait_until(due_ns) {
                self.ring.free.push(tag);
                return Err(error);
            }
            self.issue(tag, request, due_ns, (offset, length))?;
        }
        Ok(())
    }

    /// Waits for a free place, and until the request is nearly due. Returns the place.
    fn wait_for_turn(&mut self, due_ns: Option<u64>) -> Result<u32, Error> {
        loop {
            self.reap()?;
            self.target.check_stop()?;
            if self.ring.under_way >= self.depth {
                self.full_ns = Some(self.target.clock.now_ns());
                self.wait(NAP_NS)?;
                // Still full until something was reaped.
                self.full_ns = Some(self.target.clock.now_ns());
                continue;
            }
            match due_ns.map_or(0, |due_ns| self.target.clock.nap_ns(due_ns)) {
                0 => return Ok(self.ring.free.pop().unwrap_or(0)),
                nap_ns => self.wait(nap_ns)?,
            }
        }
    }

    /// Spins until the request is due.
    fn wait_until(&mut self, due_ns: Option<u64>) -> Result<(), Error> {
        while due_ns.is_some_and(|due_ns| self.target.clock.now_ns() < due_ns) {
            self.reap()?;
            std::hint::spin_loop();
        }
        Ok(())
    }

    fn wait(&mut self, most_ns: u64) -> Result<(), Error> {
        self.ring.enter(1, Some(most_ns)).map_err(|error| self.lost(error))
    }

    fn lost(&self, error: Errno) -> Error {
        let detail = format!("io_uring failed: {}", std::io::Error::from(error));
        Error::Failed { path: self.target.device.path.clone(), detail }
    }

    /// Hands a request over, now.
    fn issue(
        &mut self,
        tag: u32,
        request: Request,
        due_ns: Option<u64>,
        (offset, length): (u64, u64),
    ) -> Result<(), Error> {
        let issue_ns = self.target.clock.now_ns();
        let flight = Flight { request, due_ns, issue_ns, offset, length, done: 0 };
        self.ring.flights[tag as usize] = Some(flight);
        self.ring.under_way += 1;
        let activity = &mut self.target.activity;
        activity.max_outstanding = activity.max_outstanding.max(self.ring.under_way);
        let had_room = self.full_ns.is_none_or(|full_ns| due_ns.is_some_and(|due_ns| full_ns < due_ns));
        activity.count_late(due_ns, issue_ns, had_room);
        self.start(tag, &flight).map_err(|error| self.lost(error))
    }

    /// Submits the next transfer of a request.
    fn start(&mut self, tag: u32, flight: &Flight) -> Result<(), Errno> {
        let fd = Fd(self.target.device.fd());
        let offset = flight.offset + flight.done;
        let bytes = (flight.length - flight.done).min(MAX_BYTES as u64) as u32;
        let entry = match flight.request.op {
            Op::Flush => opcode::Fsync::new(fd).flags(FsyncFlags::DATASYNC).build(),
            Op::Trim if flight.length == 0 => opcode::Nop::new().build(),
            Op::Trim if self.target.device.kind == Kind::Block => return self.discard(tag, flight),
            Op::Trim => {
                let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
                let whole = opcode::Fallocate::new(fd, flight.length).offset(flight.offset);
                whole.mode(hole.bits().cast_signed()).build()
            }
            Op::Read => opcode::Read::new(fd, self.target.content.reads_ptr(), bytes).offset(offset).build(),
            Op::Write => {
                let Some(buffer) = &mut self.ring.buffers[tag as usize] else { return Err(Errno::INVAL) };
                opcode::Write::new(fd, buffer.as_mut_ptr(), bytes).offset(offset).build()
            }
            _ => return Err(Errno::INVAL),
        };
        self.ring.submit(&entry.user_data(tag.into()))
    }

    /// Hands a discard to a thread.
    fn discard(&mut self, tag: u32, flight: &Flight) -> Result<(), Errno> {
        if self.ring.trimmer.is_none() {
            let device = &self.target.device;
            let started = Trimmer::start(&device.file, device.kind, self.target.clock);
            let trimmer = started.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
            self.ring.watch(trimmer.event())?;
            self.ring.trimmer = Some(trimmer);
        }
        if let Some(trimmer) = &self.ring.trimmer {
            trimmer.trim(tag, flight.offset, flight.length);
        }
        Ok(())
    }

    /// Takes up what is complete. The first request that failed ends the call, when all that is outstanding has ended.
    fn reap(&mut self) -> Result<(), Error> {
        let mut outcome = Ok(());
        let mut watch = false;
        loop {
            let next = self.ring.uring.completion().next();
            let Some(entry) = next else { break };
            if entry.user_data() == EVENT {
                watch = true;
                continue;
            }
            let result = entry.result();
            let moved = u64::try_from(result).map_err(|_| Errno::from_raw_os_error(-result));
            let completed = self.transferred(entry.user_data() as u32, moved);
            outcome = outcome.and(completed);
        }
        while let Some((tag, end_ns, done)) = self.ring.trimmer.as_ref().and_then(Trimmer::take) {
            let ended = self.end(tag, end_ns, done);
            outcome = outcome.and(ended);
        }
        if watch && let Some(event) = self.ring.trimmer.as_ref().map(Trimmer::acknowledge) {
            self.ring.watch(event).map_err(|error| self.lost(error))?;
        }
        outcome
    }

    /// A transfer is done.
    fn transferred(&mut self, tag: u32, moved: Result<u64, Errno>) -> Result<(), Error> {
        let now_ns = self.target.clock.now_ns();
        let Some(mut flight) = self.ring.flights[tag as usize] else { return Ok(()) };
        let is_transfer = matches!(flight.request.op, Op::Read | Op::Write);
        match moved {
            Ok(0) if is_transfer => return self.end(tag, now_ns, Err(Errno::IO)),
            Ok(bytes) if is_transfer => flight.done += bytes,
            Ok(_) => flight.done = flight.length,
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(error) => return self.end(tag, now_ns, Err(error)),
        }
        if flight.done >= flight.length && moved.is_ok() {
            return self.end(tag, now_ns, Ok(()));
        }
        self.ring.flights[tag as usize] = Some(flight);
        self.start(tag, &flight).map_err(|error| self.lost(error))
    }

    /// A request is done.
    fn end(&mut self, tag: u32, end_ns: u64, done: Result<(), Errno>) -> Result<(), Error> {
        let Some(flight) = self.ring.flights[tag as usize].take() else { return Ok(()) };
        self.ring.free.push(tag);
        self.ring.under_way -= 1;
        let Flight { request, due_ns, issue_ns, offset, length, .. } = flight;
        done.map_err(|error| self.target.device.failed(request.op.name(), offset, length, error))?;
        self.target.executed += 1;
        (self.sink)(record(&request, due_ns, issue_ns, end_ns))
    }

    /// Lets everything outstanding end.
    fn drain(&mut self) -> Result<(), Error> {
        let mut outcome = Ok(());
        while self.ring.under_way > 0 {
            let reaped = self.reap();
            outcome = outcome.and(reaped);
            if self.ring.under_way > 0 {
                self.wait(NAP_NS)?;
            }
        }
        outcome
    }
}
