//! A thread that is to wake up on time.

use std::num::NonZeroU64;

/// Highest priority of setpriority(2); threads that may not set it keep theirs.
const HIGHEST_PRIORITY: i32 = -20;

/// While it lives, the system does not wake this thread late on purpose (by default 50 us, to save power), and lets it run before others
/// if that may be asked.
pub(crate) struct Prompt {
    priority: Option<i32>,
    slack: Option<NonZeroU64>,
}

impl Prompt {
    pub(crate) fn begin() -> Self {
        let thread = Some(rustix::thread::gettid());
        let slack = rustix::thread::current_timer_slack().ok().and_then(NonZeroU64::new);
        let priority = rustix::process::getpriority_process(thread).ok();
        // Where it is refused, the margin for spinning still covers it.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        let raised = rustix::process::setpriority_process(thread, HIGHEST_PRIORITY).is_ok();
        Self { priority: priority.filter(|_| raised), slack }
    }
}

impl Drop for Prompt {
    fn drop(&mut self) {
        let _ = rustix::thread::set_current_timer_slack(self.slack);
        if let Some(priority) = self.priority {
            let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), priority);
        }
    }
}
