//! The clock of a real target, and waiting for a time on it.

use std::time::{Duration, Instant};

/// Rest of a wait at which sleeping ends and spinning begins, ns: more than a thread takes to wake up, on nearly every
/// occasion.
pub(super) const SPIN_NS: u64 = 200_000;
/// The longest sleep, ns: a wish to stop is seen at its end.
pub(super) const NAP_NS: u64 = 100_000_000;

/// ns since the target was opened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock(Instant);

impl Clock {
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    #[inline]
    pub(crate) fn now_ns(self) -> u64 {
        u64::try_from(self.0.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Time to sleep before `due_ns`, ns; 0 from where the rest is to be spun.
    pub(super) fn nap_ns(self, due_ns: u64) -> u64 {
        due_ns.saturating_sub(self.now_ns()).saturating_sub(SPIN_NS).min(NAP_NS)
    }

    /// Sleeps or spins a little, not beyond `due_ns` (but for how late the system wakes a thread).
    pub(super) fn sleep_towards(self, due_ns: u64) {
        match self.nap_ns(due_ns) {
            0 => std::hint::spin_loop(),
            nap_ns => std::thread::sleep(Duration::from_nanos(nap_ns)),
        }
    }
}

/// Processor time of this thread so far, ns.
pub(super) fn thread_cpu_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    u64::try_from(i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec)).unwrap_or(0)
}
