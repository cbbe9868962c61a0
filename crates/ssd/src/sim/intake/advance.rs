//! Advances: lets events happen up to a time, or until there is a place for a request, and takes up commands that have ended.

use flashweir_trace::Request;

use super::Intake;
use super::stations::Tag;
use crate::content::Content;
use crate::error::RunError;
use crate::nand::TimePath;

impl<A: TimePath, C: Content> Intake<A, C> {
    /// Closed loop: lets everything happen until there is a place for a request, in its queue as well if that is known.
    pub(super) fn find_place(&mut self, request: Option<&Request>) -> Result<(), RunError> {
        while self.under_way() >= self.queue_depth || request.is_some_and(|request| !self.has_entry(request))
        {
            // Nothing but the end of a command makes a place.
            if !self.advance_before(u64::MAX)? {
                return Err(self.no_room());
            }
        }
        self.advance_to(self.array.now_ns())
    }

    /// Lets everything happen that is due by `time`.
    pub(super) fn advance_to(&mut self, time: u64) -> Result<(), RunError> {
        loop {
            if self.array.now_ns() < time {
                self.array.dispatch();
            }
            if !self.is_due_by(time) {
                return Ok(());
            }
            self.step(time.saturating_add(1))?;
        }
    }

    /// Lets commands start that can, and the next event happen. Returns false if there was nothing.
    pub(super) fn advance(&mut self) -> Result<bool, RunError> {
        self.advance_before(0)
    }

    /// As [`Intake::advance`], of events as [`Intake::step`] has it.
    fn advance_before(&mut self, before_ns: u64) -> Result<bool, RunError> {
        let started = self.array.dispatch();
        Ok(self.step(before_ns)? || started)
    }

    /// Lets the next event happen; those after it, too, that come before `before_ns`, as long as nothing here waits for one. Returns
    /// false if there was none.
    #[inline]
    pub(super) fn step(&mut self, before_ns: u64) -> Result<bool, RunError> {
        if self.background_is_next() {
            return self.ask_again().map(|()| true);
        }
        // A command that nobody waits for may be the last one of its die.
        let heeds_all = self.background.is_on() || self.waits_for_die();
        let is_alone = heeds_all || self.resume || self.stations.waits_for_clock();
        if !self.array.step(if is_alone { 0 } else { before_ns }) {
            return Ok(false);
        }
        self.resume |= heeds_all;
        if self.resume || self.array.has_done() || self.stations.waits_for_clock() {
            self.take_up()?;
        }
        Ok(true)
    }

    /// Takes up what has ended, and lets go on whoever waits once everything of this instant has happened.
    #[inline(never)]
    fn take_up(&mut self) -> Result<(), RunError> {
        while let Some((tag, mut parts)) = self.array.take_done() {
            if self.core.is_rebuilding(self.array.now_ns(), tag, &mut parts) {
                continue;
            }
            match Tag::of(tag) {
                Tag::Request(tag) => self.end_command(tag, parts),
                Tag::Entry(slot) => self.leave_buffer(slot, parts),
                Tag::Page(station) => self.end_page(station, parts),
                Tag::Station(station) => self.note_end(station),
                Tag::Task(die) => self.end_step(die),
                Tag::Group | Tag::Limit => {}
                Tag::Interface(number) => self.interface_due(number),
                Tag::Completing(number) => self.end_completing(number, parts)?,
                Tag::LookUp(number) => self.end_look_up(number, parts)?,
                Tag::Trim => self.trims_due()?,
            }
            self.resume = true;
        }
        if self.stations.waits_for_clock() && !self.array.is_busy(0..self.core.geometry.total_dies()) {
            self.start_group();
        }
        if self.resume && self.array.next_ns() != Some(self.array.now_ns()) {
            self.resume = false;
            if self.stations.are_managed() {
                self.end_stations();
            }
            self.resume_waiting()?;
            if self.interface.is_some() {
                self.resume_interface()?;
            }
            self.background.wake(self.array.now_ns());
            if self.trims.is_some() {
                self.tend_trims();
            }
        }
        Ok(())
    }
}
