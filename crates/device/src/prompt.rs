//! A thread that is to wake up on time.

use std::num::NonZeroU64;

/// Highest priority of setpriority(2); threads that may not set it keep theirs.
const HIGHEST_PRIORITY: i32 = -20;
/// The lowest priority of real time: above all threads without, below all with another one.
const LOWEST_OF_REAL_TIME: i32 = 1;

/// Gives the calling thread a class of sched(7) and a priority in it. Returns false if it may not have them.
fn set_class(class: i32, priority: i32) -> bool {
    // SAFETY: all fields of `sched_param` are whole numbers (some systems have more than one), for which zero is a value.
    let mut param: libc::sched_param = unsafe { std::mem::zeroed() };
    param.sched_priority = priority;
    // SAFETY: `param` lives through the call, which only reads it; 0 is the calling thread.
    unsafe { libc::sched_setscheduler(0, class, &raw const param) == 0 }
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
        Self { in_real_time: set_class(libc::SCHED_RR, LOWEST_OF_REAL_TIME), ..Self::begin() }
    }
}

impl Drop for Prompt {
    fn drop(&mut self) {
        let _ = rustix::thread::set_current_timer_slack(self.slack);
        if self.in_real_time {
            set_class(libc::SCHED_OTHER, 0);
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
