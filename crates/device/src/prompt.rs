//! A thread that is to wake up on time.

use std::ffi::c_int;
use std::num::NonZeroU64;

/// Highest priority of setpriority(2); threads that may not set it keep theirs.
const HIGHEST_PRIORITY: i32 = -20;
/// Classes of sched(7): the usual one, and the one of real time whose threads take turns.
const OTHER: c_int = 0;
const ROUND_ROBIN: c_int = 2;
/// The lowest priority of real time: above all threads without, below all with another one.
const LOWEST_OF_REAL_TIME: c_int = 1;

unsafe extern "C" {
    /// sched_setscheduler(2) of the C library, which std links; `param` is a struct of one int, `process` 0 the calling thread.
    fn sched_setscheduler(process: c_int, policy: c_int, param: *const c_int) -> c_int;
}

/// Gives the calling thread a class and priority. Returns false if it may not have them.
fn set_class(policy: c_int, priority: c_int) -> bool {
    // SAFETY: `param` points to an int, as long as `struct sched_param` of Linux, that lives through the call, which only reads it.
    unsafe { sched_setscheduler(0, policy, &raw const priority) == 0 }
}

/// While it lives, the system does not wake this thread late on purpose (by default 50 us, to save power), and lets it run before others
/// if that may be asked.
pub(crate) struct Prompt {
    priority: Option<i32>,
    slack: Option<NonZeroU64>,
    in_real_time: bool,
}

impl Prompt {
    pub(crate) fn begin() -> Self {
        let thread = Some(rustix::thread::gettid());
        let slack = rustix::thread::current_timer_slack().ok().and_then(NonZeroU64::new);
        let priority = rustix::process::getpriority_process(thread).ok();
        // Where it is refused, the margin for spinning still covers it.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        let raised = rustix::process::setpriority_process(thread, HIGHEST_PRIORITY).is_ok();
        Self { priority: priority.filter(|_| raised), slack, in_real_time: false }
    }

    /// As [`Prompt::begin`], of a thread that mostly sleeps, and with a priority of real time where it may have one (by default root
    /// may): no other thread then takes its processor for milliseconds. Linux leaves a twentieth of the time to others, whatever it
    /// does.
    pub(crate) fn begin_in_real_time() -> Self {
        Self { in_real_time: set_class(ROUND_ROBIN, LOWEST_OF_REAL_TIME), ..Self::begin() }
    }
}

impl Drop for Prompt {
    fn drop(&mut self) {
        let _ = rustix::thread::set_current_timer_slack(self.slack);
        if self.in_real_time {
            set_class(OTHER, 0);
        }
        if let Some(priority) = self.priority {
            let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), priority);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Class and priority of real time of this thread, as /proc has them.
    fn class() -> (String, String) {
        let thread = rustix::thread::gettid().as_raw_nonzero();
        let text = std::fs::read_to_string(format!("/proc/self/task/{thread}/stat")).expect("a thread");
        let fields: Vec<&str> = text.rsplit(')').next().expect("fields").split_whitespace().collect();
        (fields[38].into(), fields[37].into())
    }

    #[test]
    fn a_thread_has_a_priority_of_real_time_while_it_is_prompt() {
        let before = class();
        let prompt = Prompt::begin_in_real_time();
        let expected = if prompt.in_real_time { ("2".into(), "1".into()) } else { before.clone() };
        assert_eq!(class(), expected);
        drop(prompt);
        assert_eq!(class(), before);
    }
}
