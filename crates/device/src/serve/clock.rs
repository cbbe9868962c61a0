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
