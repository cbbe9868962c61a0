//! The contract of a time path: it runs commands and says when they are done. The intake above is the same for both.

use super::event::Later;
use super::{Executor, Probe, Usage};
use crate::stats::{Parts, SchedCounts, Times};

/// Runs commands in simulated time.
pub(crate) trait TimePath: Executor {
    /// Records what happens.
    type Probe: Probe;
    /// True if the end of a command is known as soon as it is made, so that a request can be worked out to its end at
    /// once.
    const AT_ONCE: bool;

    /// The present, ns.
    fn now_ns(&self) -> u64;
    /// Sets the present; nothing may be due before it.
    fn set_now_ns(&mut self, now_ns: u64);
    /// The probe.
    fn probe(&mut self) -> &mut Self::Probe;
    /// From now on, keeps account of where the time of commands goes.
    fn keep_parts(&mut self);
    /// When the next event happens, ns.
    fn next_ns(&self) -> Option<u64>;
    /// Lets commands start that can, once everything else of this instant has happened. Returns whether any could.
    fn dispatch(&mut self) -> bool;
    /// Lets the next event happen, and those after it that come before `before_ns`, until a command has ended that somebody waits for,
    /// or one may start that [`TimePath::dispatch`] chooses. Returns whether there was one.
    fn step(&mut self, before_ns: u64) -> bool;
    /// True if [`TimePath::take_done`] has a tag to return.
    fn has_done(&self) -> bool;
    /// A tag whose command is done, and where the time of that went, if account is kept.
    fn take_done(&mut self) -> Option<(u32, Option<Parts>)>;
    /// Starts to count commands with a tag, and to look for the end of the latest awaited one.
    fn begin(&mut self);
    /// Commands with a tag since [`TimePath::begin`].
    fn submitted(&self) -> u32;
    /// End of the latest awaited command since [`TimePath::begin`], ns, and where its time went; where ends are known at once.
    fn latest(&self) -> (u64, Parts);
    /// True if some die neither runs a command nor has one waiting.
    fn has_idle_die(&self) -> bool;
    /// Hands `tag` out by [`TimePath::take_done`] once all commands are done that `dies` have now.
    fn fence(&mut self, dies: impl Iterator<Item = u32>, tag: u32);
    /// Commands that a die was handed so far, where fences are used.
    fn handed(&self, die: u32) -> u64;
    /// A die that was handed commands, or has done some, since it was last returned; each die at first. Where fences are used.
    fn next_changed_die(&mut self) -> Option<u32>;
    /// True if dies have commands that are not done.
    fn is_busy(&self, dies: impl Iterator<Item = u32>) -> bool;
    /// Hands a command to its die at `time_ns`.
    fn submit_at(&mut self, time_ns: u64, later: Later);
    /// Hands `tag` out by [`TimePath::take_done`] at `time_ns`.
    fn call_at(&mut self, time_ns: u64, tag: u32);
    /// Times of dies and buses so far.
    fn times(&self) -> Times;
    /// Times of dies and buses of all commands that are done or known.
    fn usage(&self) -> &Usage;
    /// End of the last command so far, ns.
    fn horizon_ns(&self) -> u64;
    /// Nothing that is still to be recorded starts before this, ns.
    fn settled_ns(&self) -> u64;
    /// Counters of the scheduler, if it does anything.
    fn sched_counts(&self) -> Option<SchedCounts>;
}
