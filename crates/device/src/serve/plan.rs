//! When the engine's own thread is to look at the drive again, and its wait until then: asleep, then awake for the last part.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Time of the next look. Other threads move it forward, without a lock that the waiting thread would hold.
#[derive(Debug)]
pub(super) struct Plan {
    epoch: Instant,
    /// ns since the epoch.
    at_ns: AtomicU64,
    ended: AtomicBool,
    asleep: Mutex<bool>,
    wake: Condvar,
}

impl Plan {
    /// The next look is now.
    pub(super) fn new() -> Self {
        Self {
            epoch: Instant::now(),
            at_ns: AtomicU64::new(0),
            ended: AtomicBool::new(false),
            asleep: Mutex::new(false),
            wake: Condvar::new(),
        }
    }

    /// Time of the next look.
    pub(super) fn at(&self) -> Instant {
        self.epoch + Duration::from_nanos(self.at_ns.load(Ordering::SeqCst))
    }

    fn ns(&self, time: Instant) -> u64 {
        time.saturating_duration_since(self.epoch).as_nanos() as u64
    }

    /// The next look is at `time` at the latest.
    pub(super) fn no_later_than(&self, time: Instant) {
        let time_ns = self.ns(time);
        if self.at_ns.fetch_min(time_ns, Ordering::SeqCst) > time_ns {
            self.wake_up();
        }
    }

    /// The waiting thread looks now: what comes after that may move the next look forward from `time`.
    pub(super) fn begin_look(&self, time: Instant) {
        self.at_ns.store(self.ns(time), Ordering::SeqCst);
    }

    /// No look follows.
    pub(super) fn end(&self) {
        self.ended.store(true, Ordering::SeqCst);
        self.wake_up();
    }

    pub(super) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::SeqCst)
    }

    fn wake_up(&self) {
        let asleep = self.asleep.lock().unwrap_or_else(PoisonError::into_inner);
        // A call of the system that the thread which brings a request would pay for.
        if *asleep {
            self.wake.notify_one();
        }
    }

    /// Sleeps for a span, unless the next look is no longer at `at`. Returns false if another thread ended the sleep.
    pub(super) fn sleep(&self, at: Instant, span: Duration) -> bool {
        let mut asleep = self.asleep.lock().unwrap_or_else(PoisonError::into_inner);
        if self.at() != at || self.has_ended() {
            return false;
        }
        *asleep = true;
        let (mut asleep, woken) =
            self.wake.wait_timeout(asleep, span).unwrap_or_else(PoisonError::into_inner);
        *asleep = false;
        woken.timed_out()
    }
}

/// Waits that are remembered together.
const REMEMBERED: u32 = 512;
/// Longest time awake before a look, on a machine that has a processor to spare.
const MAX_AWAKE: Duration = Duration::from_micros(500);
/// The same, on one that has none.
const MIN_AWAKE: Duration = Duration::from_micros(100);
/// Longest time between two readings of the clock of a thread that has its processor to itself.
const UNDISTURBED: Duration = Duration::from_micros(50);

/// Lead of a thread's wake-ups over the time they are for. Even an exact timer wakes a thread late by the time that a processor needs
/// to leave its idle state, in a virtual machine tens to hundreds of microseconds: as much as a completion may be late, or more. So the
/// thread sleeps until shortly before, by the longest that it woke up late in its last 512 to 1,024 waits, and looks at the clock for the
/// rest. That takes a processor; where others took it away meanwhile, the thread stays awake for a shorter time, so that it has a claim
/// to a processor when it wakes up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lead {
    /// Longest lateness of the waits that are counted now, and of those before.
    longest: [Duration; 2],
    waits: u32,
    /// Longest time awake.
    max_awake: Duration,
    /// Last reading of the clock, of a thread that is awake for the rest of a wait.
    last: Option<Instant>,
}

impl Default for Lead {
    fn default() -> Self {
        Self { longest: [Duration::ZERO; 2], waits: 0, max_awake: MAX_AWAKE, last: None }
    }
}

impl Lead {
    fn lead(&self) -> Duration {
        self.longest[0].max(self.longest[1]).min(self.max_awake)
    }

    /// Time to sleep of a wait. `None`: so little is left that the thread is to stay awake.
    pub(super) fn sleep(&self, wait: Duration) -> Option<Duration> {
        wait.checked_sub(self.lead()).filter(|sleep| !sleep.is_zero())
    }

    /// A sleep ended so much later than it was to.
    pub(super) fn woke(&mut self, late: Duration) {
        // Time for which others had the processor is covered by no lead.
        if late <= MAX_AWAKE {
            self.longest[0] = self.longest[0].max(late);
        }
    }

    /// The thread is awake at `now`, and waits on.
    pub(super) fn awake(&mut self, now: Instant) {
        if self.last.replace(now).is_some_and(|last| now - last > UNDISTURBED) {
            self.max_awake = (self.max_awake / 2).max(MIN_AWAKE);
        }
    }

    /// A wait is over.
    pub(super) fn waited(&mut self) {
        if self.last.take().is_some() {
            self.max_awake = (self.max_awake + self.max_awake / 64).min(MAX_AWAKE);
        }
        self.waits += 1;
        if self.waits == REMEMBERED {
            // A thread that always stayed awake knows no more of its wake-ups: it sleeps again some time.
            self.longest = [Duration::ZERO, self.longest[0].max(self.longest[1] / 2)];
            self.waits = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn us(micros: u64) -> Duration {
        Duration::from_micros(micros)
    }

    #[test]
    fn a_thread_sleeps_until_its_longest_lateness_before_the_time() {
        let mut lead = Lead::default();
        assert_eq!(lead.sleep(us(800)), Some(us(800)));
        lead.woke(us(148));
        lead.waited();
        assert_eq!((lead.sleep(us(800)), lead.sleep(us(148))), (Some(us(652)), None));
        for _ in 0..REMEMBERED {
            lead.woke(us(3));
            lead.waited();
        }
        assert_eq!(lead.sleep(us(800)), Some(us(652)));
        for _ in 0..10 * REMEMBERED {
            lead.woke(us(3));
            lead.waited();
        }
        assert_eq!(lead.sleep(us(800)), Some(us(797)));
        // A machine that has no time for this thread does not get all of it taken away.
        lead.woke(us(90_000));
        assert_eq!(lead.sleep(us(800)), Some(us(797)));
        lead.woke(us(500));
        assert_eq!((lead.sleep(us(500)), lead.sleep(us(700))), (None, Some(us(200))));
    }

    #[test]
    fn a_thread_whose_processor_is_taken_stays_awake_for_less() {
        let mut lead = Lead::default();
        let begin = Instant::now();
        lead.woke(us(500));
        let mut wait = |gaps: &[u64]| {
            let mut now = begin;
            lead.awake(now);
            for gap in gaps {
                now += us(*gap);
                lead.awake(now);
            }
            lead.waited();
            lead.sleep(us(10_000))
        };
        assert_eq!(wait(&[1, 50]), Some(us(9_500)));
        assert!(wait(&[1, 51, 3]) > Some(us(9_700)));
        assert!((0..20).map(|_| wait(&[4_000])).last() > Some(Some(us(9_850))));
        assert!((0..200).map(|_| wait(&[1])).last() == Some(Some(us(9_500))), "others are gone");
    }

    #[test]
    fn a_sleep_ends_when_an_earlier_look_is_wanted() {
        let plan = Plan::new();
        let begin = Instant::now();
        plan.begin_look(begin + us(60_000_000));
        std::thread::scope(|scope| {
            let sleeper = scope.spawn(|| plan.sleep(plan.at(), us(60_000_000)));
            while !*plan.asleep.lock().expect("no panic") {
                std::thread::yield_now();
            }
            plan.no_later_than(begin + us(70_000_000));
            assert!(!sleeper.is_finished(), "a later look changes nothing");
            plan.no_later_than(begin + us(5));
            assert!(!sleeper.join().expect("no panic"), "it did not sleep to the end");
        });
        assert!(plan.at() <= begin + us(5));
        assert!(!plan.sleep(begin + us(60_000_000), us(1)), "the look is another one by now");
        plan.end();
        assert!(!plan.sleep(plan.at(), us(60_000_000)) && plan.has_ended());
    }
}
