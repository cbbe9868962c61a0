//! A real drive as a target: a block device or a file, past the page cache, through io_uring or one system call after the other.
//!
//! Due times are absolute, counted from the beginning of a call: the thread sleeps until shortly before one and spins for the rest, and
//! takes up completions meanwhile. What is slow (reading the workload, writing the log) is not done here.
//!
//! A request that is not made of whole blocks of the drive is widened to them, a TRIM narrowed; both are counted. What is written is
//! random from a seed, another pattern in every sector, so that no drive can compress it or find it twice.

mod buffers;
mod clock;
mod device;
mod sync;
#[cfg(test)]
pub(crate) mod tests;
mod trimmer;
mod uring;

use std::path::Path;

use flashweir_trace::{LogRecord, Op, Request};

pub use crate::options::Engine;
use crate::safety::{self, Identity};
use crate::target::whole_blocks;
use crate::{Activity, Began, Error, OpenOptions, Stop, Target, Timing};

use buffers::Content;
pub(crate) use clock::Clock;
use device::Device;
use uring::Ring;

/// Most outstanding requests on a real drive.
pub const MAX_DEPTH: u32 = 4096;

/// A block device or a file.
#[derive(Debug)]
pub struct RealTarget {
    device: Device,
    engine: Engine,
    ring: Option<Ring>,
    content: Content,
    clock: Clock,
    stop: Stop,
    began: Began,
    max_outstanding: u32,
    executed: u64,
    activity: Activity,
}

impl RealTarget {
    /// Opens a block device or file. What is to be written is looked at first, and refused if it is in use or holds data (see
    /// [`crate::safety`]).
    pub fn open(path: &Path, options: &OpenOptions) -> Result<Self, Error> {
        let device = Device::open(path, options)?;
        check_depth("depth", options.max_outstanding)?;
        let max_outstanding = if options.engine == Engine::Sync { 1 } else { options.max_outstanding };
        Ok(Self {
            content: Content::new(options.seed, device.align_bytes),
            device,
            engine: options.engine,
            ring: None,
            clock: Clock::start(),
            stop: options.stop.clone(),
            began: options.began.clone(),
            max_outstanding,
            executed: 0,
            activity: Activity::default(),
        })
    }

    /// A call begins. Returns when, ns.
    fn begin(&self) -> u64 {
        let now_ns = self.clock.now_ns();
        self.began.set(now_ns);
        now_ns
    }

    fn check_stop(&self) -> Result<(), Error> {
        if self.stop.is_asked() {
            let progress = format!("{} requests were executed", self.executed);
            return Err(Error::Cancelled { doing: "executing requests".into(), progress });
        }
        Ok(())
    }

    /// Where a request goes on the drive, bytes; counts those that are not made of whole blocks.
    fn place(&mut self, request: &Request) -> Result<(u64, u64), Error> {
        let placed = whole_blocks(request, self.device.block_bytes, self.device.size_bytes);
        let (first, length, widened) = placed.map_err(|detail| self.device.refuse(detail))?;
        if request.op != Op::Read && request.op != Op::Flush && !self.device.writable {
            return Err(self
                .device
                .refuse(format!("it was opened for reading only, and a {} came", request.op.name())));
        }
        self.activity.widened += u64::from(widened);
        Ok((first, length))
    }
}

/// Refuses depths that no ring has.
fn check_depth(what: &str, depth: u32) -> Result<(), Error> {
    if (1..=MAX_DEPTH).contains(&depth) {
        return Ok(());
    }
    let expected = format!("expected 1 to {MAX_DEPTH} outstanding requests on a real drive");
    Err(Error::Setting { what: format!("{what} {depth}"), expected })
}

/// A record of a request that is complete.
fn record(request: &Request, due_ns: Option<u64>, issue_ns: u64, completion_ns: u64) -> LogRecord {
    let request = Request { time_ns: due_ns.unwrap_or(issue_ns), ..*request };
    let (issue_ns, completion_ns) = (Some(issue_ns), Some(completion_ns.max(issue_ns)));
    LogRecord { due_ns, issue_ns, completion_ns, ..LogRecord::bare(request) }
}

impl Target for RealTarget {
    fn name(&self) -> String {
        self.device.path.display().to_string()
    }

    fn size_bytes(&self) -> u64 {
        self.device.size_bytes
    }

    fn block_bytes(&self) -> u32 {
        self.device.block_bytes
    }

    fn identity(&self) -> Option<Identity> {
        Some(self.device.identity)
    }

    fn is_zoned(&self) -> bool {
        safety::is_zoned(self.device.identity)
    }

    fn execute(
        &mut self,
        requests: &mut dyn Iterator<Item = Result<Request, Error>>,
        timing: Timing,
        sink: &mut dyn FnMut(LogRecord) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let _prompt = crate::prompt::Prompt::begin();
        let before_ns = clock::thread_cpu_ns();
        let executed = match (self.engine, timing) {
            (Engine::Sync, Timing::Closed { depth: 2.. }) => Err(Error::Setting {
                what: "engine sync, depth above 1".into(),
                expected: "expected depth 1, or engine io_uring: a system call is one request".into(),
            }),
            (Engine::Sync, _) => sync::execute(self, requests, timing, sink),
            (Engine::IoUring, _) => uring::execute(self, requests, timing, sink),
        };
        self.activity.cpu_ns += clock::thread_cpu_ns().saturating_sub(before_ns);
        executed
    }

    fn pause(&mut self, time_ns: u64) -> Result<(), Error> {
        let until_ns = self.clock.now_ns().saturating_add(time_ns);
        while self.clock.now_ns() < until_ns {
            self.check_stop()?;
            self.clock.sleep_towards(until_ns);
        }
        Ok(())
    }

    fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    fn activity(&self) -> Activity {
        self.activity
    }
}
