//! A drive that executes requests. The contract of every target, real or simulated.

use flashweir_ssd::quantity::round_to_u64;
use flashweir_trace::{LogRecord, Request};

use crate::Error;

/// When requests are issued.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Timing {
    /// As soon as fewer than `depth` are under way; times of the workload are ignored. Depth 1 is synchronous.
    Closed {
        /// Most requests under way.
        depth: u32,
    },
    /// At the workload's times x `scale`, counted from the beginning of this call. Deadlines are absolute: lateness of one request does not
    /// move the next.
    Times {
        /// Factor on the times; below 1 is faster.
        scale: f64,
    },
}

/// A drive that executes requests.
///
/// The clock of a target starts when it is opened and never goes back: all times of its records are ns on it. What one call
/// leaves on the drive the next one finds there. Addresses are the drive's own.
pub trait Target {
    /// Its name, for messages and logs.
    fn name(&self) -> String;

    /// Its capacity, bytes.
    fn size_bytes(&self) -> u64;

    /// The smallest unit of addresses and lengths, bytes.
    fn block_bytes(&self) -> u32;

    /// Executes requests and hands a record of each to `sink`, in the order in which they complete. All of them are complete when it
    /// returns. A target that may not be written refuses the first write.
    fn execute(
        &mut self,
        requests: &mut dyn Iterator<Item = Result<Request, Error>>,
        timing: Timing,
        sink: &mut dyn FnMut(LogRecord) -> Result<(), Error>,
    ) -> Result<(), Error>;

    /// Lets so much time pass with no request under way, ns.
    fn pause(&mut self, time_ns: u64) -> Result<(), Error>;

    /// ns on its clock.
    fn now_ns(&self) -> u64;
}

/// When a request of the workload's time `time_ns` is due, ns on the clock of a target, if the call began at `start_ns`.
pub(crate) fn scaled(start_ns: u64, time_ns: u64, scale: f64) -> u64 {
    #[expect(clippy::float_cmp, reason = "only the factor that is exactly 1 leaves times as they are")]
    let after_ns = if scale == 1.0 { time_ns } else { round_to_u64(time_ns as f64 * scale) };
    start_ns.saturating_add(after_ns)
}
