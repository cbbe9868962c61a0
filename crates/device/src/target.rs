//! A drive that executes requests. The contract of every target, real or simulated.

use flashweir_ssd::quantity::round_to_u64;
use flashweir_trace::{LogRecord, Op, Request, SECTOR_BYTES};
use serde::Serialize;

use crate::Error;
use crate::safety::Identity;

/// When requests are issued.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Timing {
    /// As soon as fewer than `depth` are outstanding; times of the workload are ignored. Depth 1 is synchronous.
    Closed {
        /// Most outstanding requests.
        depth: u32,
    },
    /// At the workload's times x `scale`, counted from the beginning of this call. Deadlines are absolute: lateness of one request does not
    /// move the next.
    Times {
        /// Factor on the times; below 1 is faster.
        scale: f64,
    },
}

/// Maximum lateness of a host's request to count as in time, ns.
pub const LATE_NS: u64 = 100_000;

/// Observations of a target besides the records, since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Activity {
    /// Most requests that were outstanding at once.
    pub max_outstanding: u32,
    /// Requests that were issued more than [`LATE_NS`] after they were due though the drive had room for them all that time: the host
    /// was late.
    pub late_by_host: u64,
    /// Requests that were issued so late because as many as may be were outstanding when they were due: the drive was late.
    pub late_by_drive: u64,
    /// Requests that were not made of whole blocks of the drive, and were widened to them (TRIMs: narrowed).
    pub widened: u64,
    /// Processor time of the thread that issues requests, ns; 0 on simulated drives.
    pub cpu_ns: u64,
}

impl Activity {
    /// Counts a request that was due and is issued now; `had_room`: whether another one could have been outstanding all that time.
    pub(crate) fn count_late(&mut self, due_ns: Option<u64>, issue_ns: u64, had_room: bool) {
        if due_ns.is_some_and(|due_ns| issue_ns > due_ns.saturating_add(LATE_NS)) {
            *if had_room { &mut self.late_by_host } else { &mut self.late_by_drive } += 1;
        }
    }
}

/// A drive that executes requests.
///
/// The clock of a target starts when it is opened and never goes back: all times of its records are ns on it. What one call
/// leaves on the drive the next one finds there. Addresses are the drive's own.
pub trait Target: Send {
    /// Its name, for messages and logs.
    fn name(&self) -> String;

    /// Its capacity, bytes.
    fn size_bytes(&self) -> u64;

    /// The smallest unit of addresses and lengths, bytes.
    fn block_bytes(&self) -> u32;

    /// Identity of a real drive, by which it is known when its name is used again; `None` of a simulated one.
    fn identity(&self) -> Option<Identity> {
        None
    }

    /// True if it is a zoned namespace, whose zones are written in order and reset before they are written again.
    fn is_zoned(&self) -> bool {
        false
    }

    /// True if nothing was ever done to it: a simulated drive that was made for this target, and was not asked yet.
    fn is_new(&self) -> bool {
        false
    }

    /// Executes requests and hands a record of each to `sink`, in the order in which they complete. All of them are complete when it
    /// returns. A target that may not be written refuses the first write.
    fn execute(
        &mut self,
        requests: &mut dyn Iterator<Item = Result<Request, Error>>,
        timing: Timing,
        sink: &mut dyn FnMut(LogRecord) -> Result<(), Error>,
    ) -> Result<(), Error>;

    /// Lets so much time pass with no outstanding request, ns.
    fn pause(&mut self, time_ns: u64) -> Result<(), Error>;

    /// ns on its clock.
    fn now_ns(&self) -> u64;

    /// Activity so far.
    fn activity(&self) -> Activity;
}

/// First byte and length of a request in whole blocks of a drive (TRIMs are narrowed), and whether they are others than its own.
///
/// # Errors
/// It lies beyond the drive, or is a command to a zone; says so, without the drive's name.
pub(crate) fn whole_blocks(
    request: &Request,
    block_bytes: u32,
    size_bytes: u64,
) -> Result<(u64, u64, bool), String> {
    let block = u64::from(block_bytes);
    let (start, end) = (request.lba.saturating_mul(SECTOR_BYTES), request.end().saturating_mul(SECTOR_BYTES));
    if request.op.is_zoned() {
        return Err(format!(
            "a command to a zone came ({}), which it does not take; expected reads, writes, TRIMs and flushes",
            request.op.name()
        ));
    }
    if request.op != Op::Flush && end > size_bytes {
        return Err(format!(
            "a {} of sectors {} to {} lies beyond its {} sectors; expected addresses within, or --wrap",
            request.op.name(),
            request.lba,
            request.end(),
            size_bytes / SECTOR_BYTES
        ));
    }
    let (first, last) = if request.op == Op::Trim {
        (start.next_multiple_of(block), end / block * block)
    } else {
        (start / block * block, end.next_multiple_of(block))
    };
    Ok((first, last.saturating_sub(first), (first, last) != (start, end)))
}

/// When a request of the workload's time `time_ns` is due, ns on the clock of a target, if the call began at `start_ns`.
pub(crate) fn scaled(start_ns: u64, time_ns: u64, scale: f64) -> u64 {
    #[expect(clippy::float_cmp, reason = "only the factor that is exactly 1 leaves times as they are")]
    let after_ns = if scale == 1.0 { time_ns } else { round_to_u64(time_ns as f64 * scale) };
    start_ns.saturating_add(after_ns)
}
