//! The time path of a drive.

use super::{Config, Engine};
use crate::buffer::DestageConfig;

impl Config {
    /// The first reason why busy-until times would not be exact for this drive, if there is one.
    pub fn needs_events(&self) -> Option<&'static str> {
        if self.chips * self.dies > 1 && !self.bus_is_free() {
            return Some("dies that share a channel are granted its bus in the order of their requests");
        }
        if self.is_managed() {
            return Some("what a channel does next is decided when it has done what it does now");
        }
        if self.buffer.destage != DestageConfig::default() {
            return Some("when pages leave the buffer ahead depends on what the dies do meanwhile");
        }
        if self.buffer.backpressure.is_on() {
            return Some("a write that is held back enters the buffer when its time has come");
        }
        if self.works_ahead() {
            return Some("what is done in the background depends on when each die is idle");
        }
        if self.trim.backlog > 0 {
            return Some("pages of a TRIM are forgotten when the drive is idle");
        }
        if self.has_interface() && !self.is_one_at_a_time() {
            return Some("commands of several requests share the link and the firmware's cores");
        }
        let of_policies =
            self.sched.needs_events().or_else(|| self.alloc.needs_events(self.tenants.are_on()));
        of_policies.or_else(|| self.host.needs_events()).or_else(|| {
            let overtaken = self.buffer.bytes.0 > 0 && !self.is_one_at_a_time();
            overtaken.then_some("with a write buffer, reads overtake writes that wait for room in it")
        })
    }

    /// True if the run uses events.
    pub fn uses_events(&self) -> bool {
        match self.engine {
            Engine::Auto => self.needs_events().is_some(),
            Engine::BusyUntil => false,
            Engine::Event => true,
        }
    }

    /// The time path that the drive gets: `event` or `busy-until`.
    pub fn engine_name(&self) -> &'static str {
        if self.uses_events() { "event" } else { "busy-until" }
    }
}
