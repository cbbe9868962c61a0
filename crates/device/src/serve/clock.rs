//! Wall time and simulated time.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// Relation of wall time to simulated time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClockMode {
    /// A request completes at wall time = start + k x simulated time.
    #[default]
    Paced,
    /// A request completes at once. Simulated time passes only while one is outstanding.
    Virtual,
}

/// The clock of a live drive.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    mode: ClockMode,
    /// Wall time over simulated time.
    dilate: f64,
    started: Instant,
    /// Simulated time at the start.
    base_ns: u64,
    /// Time stands still.
    paused: bool,
}

impl Clock {
    pub(super) fn start(mode: ClockMode, dilate: f64, base_ns: u64) -> Self {
        Self { mode, dilate, started: Instant::now(), base_ns, paused: false }
    }

    pub(super) fn is_paced(&self) -> bool {
        self.mode == ClockMode::Paced
    }

    /// The same clock, for completions that no longer wait for wall time.
    pub(super) fn virtually(self) -> Self {
        Self { mode: ClockMode::Virtual, paused: false, ..self }
    }

    pub(super) fn mode(&self) -> ClockMode {
        self.mode
    }

    /// Wall time over simulated time.
    pub(super) fn dilate(&self) -> f64 {
        self.dilate
    }

    /// From now on, time passes at another speed.
    pub(super) fn set_dilate(&mut self, dilate: f64) {
        *self = Self { dilate, base_ns: self.now_ns(), started: Instant::now(), ..*self };
    }

    /// Stops time, or lets it go on, from the simulated time `now_ns`.
    pub(super) fn set_paused(&mut self, paused: bool, now_ns: u64) {
        let base_ns = if self.is_paced() { self.now_ns().max(now_ns) } else { now_ns };
        *self = Self { paused, base_ns, started: Instant::now(), ..*self };
    }

    pub(super) fn is_paused(&self) -> bool {
        self.paused
    }

    /// The simulated present, ns.
    pub(super) fn now_ns(&self) -> u64 {
        if self.paused {
            return self.base_ns;
        }
        self.base_ns + self.started.elapsed().div_f64(self.dilate).as_nanos() as u64
    }

    /// When a simulated time has come.
    pub(super) fn due(&self, time_ns: u64) -> Instant {
        self.started + self.wall(time_ns.saturating_sub(self.base_ns))
    }

    /// Wall time of a simulated span.
    pub(super) fn wall(&self, span_ns: u64) -> Duration {
        Duration::from_nanos(span_ns).mul_f64(self.dilate)
    }
}

/// Longest time for which a thread looks at the clock instead of sleeping.
const MAX_AWAKE: Duration = Duration::from_micros(200);
/// Share of what is known of wake-ups that each one takes away.
const FORGET: u32 = 16;

/// Lead of a thread's wake-ups over the time they are for. Even an exact timer wakes a thread late by the time that a processor needs
/// to leave its idle state, in a virtual machine tens of microseconds: as much as a completion may be late. So the thread sleeps
/// until shortly before, by how late it woke up lately, and looks at the clock for the rest.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lead(Duration);

impl Lead {
    /// Time to sleep of a wait. `None`: so little is left that the thread is to stay awake.
    pub(super) fn sleep(self, wait: Duration) -> Option<Duration> {
        wait.checked_sub(self.0).filter(|sleep| !sleep.is_zero())
    }

    /// A sleep ended so much later than it was to.
    pub(super) fn woke(&mut self, late: Duration) {
        self.0 = late.max(self.0.saturating_sub(self.0 / FORGET)).min(MAX_AWAKE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_sleeps_until_its_usual_lateness_before_the_time() {
        let us = Duration::from_micros;
        let mut lead = Lead::default();
        assert_eq!(lead.sleep(us(800)), Some(us(800)));
        lead.woke(us(48));
        assert_eq!((lead.sleep(us(800)), lead.sleep(us(48))), (Some(us(752)), None));
        // One that was in time does not make the next one late, many do.
        lead.woke(us(0));
        assert_eq!(lead.sleep(us(800)), Some(us(755)));
        (0..200).for_each(|_| lead.woke(us(3)));
        assert_eq!(lead.sleep(us(800)), Some(us(797)));
        // A machine that has no time for this thread does not get all of it taken away.
        lead.woke(us(90_000));
        assert_eq!(lead.sleep(us(800)), Some(us(600)));
    }
}
