//! Collections of managed channels: those that a station makes on its own, and those that others take part in.

use std::mem::replace;

use super::{Kind, Together};
use crate::content::Content;
use crate::error::RunError;
use crate::external::{Units, check_units};
use crate::gc::planner::Action;
use crate::nand::TimePath;
use crate::op::{Step, Work};
use crate::sim::intake::Intake;
use crate::stats::Cause;
use crate::task::{Task, Urgency, View, Wish};

/// Refuses a planner's answer with units that the drive does not have.
#[expect(clippy::ptr_arg, reason = "the form of an answer")]
fn check_planned(view: &Units, named: &Vec<u32>) -> Result<(), String> {
    check_units(named.iter().copied(), view.spare_blocks.len())
}

/// The cause of waits for a step.
fn cause(step: Step) -> Cause {
    if matches!(step, Step::Erase | Step::Fold { erased: true }) { Cause::Erase } else { Cause::Gc }
}

impl<A: TimePath, C: Content> Intake<A, C> {
    /// Begins a mandatory collection of a station of its own.
    pub(super) fn begin_own(&mut self, station: u32, unit: u32) -> Result<(), RunError> {
        self.stations.mandatory += 1;
        self.own_step(station, Task::new(unit, Work::Collect, Urgency::Must)).map(drop)
    }

    /// An idle station that has a collection in progress goes on with it, or ends it. Returns whether it went on.
    pub(super) fn go_on(&mut self, station: u32) -> Result<bool, RunError> {
        let Some(own) = self.stations.of(station).own else { return Ok(false) };
        if own.urgency < Urgency::Must {
            // Collection ahead is decided about with all others that have nothing to write.
            return Ok(false);
        }
        if own.last == Step::Erase && !self.waits_for(own.unit) {
            self.stations.of(station).own = None;
            self.stations.mandatory -= 1;
            return Ok(false);
        }
        self.own_step(station, own)
    }

    /// Asks the planner whether a station that has nothing to do collects ahead: for the unit with which it has begun, else for the
    /// first one of its die that wishes it. Its planes run one command at a time, so none collects while another one has pages to
    /// write.
    pub(super) fn forward(&mut self, station: u32) -> Result<(), RunError> {
        let units = self.stations.units_of(station);
        let own = self.stations.of(station).own.filter(|own| own.urgency < Urgency::Must);
        let own = own.filter(|own| own.last != Step::Erase);
        let dirty_pages = units.clone().map(|unit| self.dirty_pages(unit)).max().unwrap_or(0);
        for unit in own.map_or(units, |own| own.unit..own.unit + 1) {
            let view = View { dirty_pages, ..self.view(unit, own.is_some()) };
            if let Wish::Step(urgency) = self.wish_ahead(unit, &view) {
                let task = own.unwrap_or(Task::new(unit, Work::Collect, urgency));
                if self.own_step(station, task)? {
                    return Ok(());
                }
            }
        }
        self.stop_forward(station);
        Ok(())
    }

    /// Makes the step of a station that the policies of the background wish most, of the first of its units that has one.
    pub(super) fn step_in_background(&mut self, station: u32) -> Result<(), RunError> {
        if self.takes_part(station) {
            return Ok(());
        }
        let idle_since_ns = self.idle_since_ns(self.stations.dies_of(station));
        for unit in self.stations.units_of(station) {
            let can_step = self.core.ftl.can_step_ahead(unit);
            if !can_step && self.core.ftl.foldable(unit) == 0 {
                continue;
            }
            let view = View { idle_since_ns, ..self.view(unit, self.core.ftl.is_collecting(unit)) };
            for (work, urgency) in self.background.steps(unit, &view) {
                let spent = self.spent();
                if (can_step || work == Work::Fold)
                    && self.own_step(station, Task::new(unit, work, urgency))?
                {
                    self.pay(unit, urgency, spent);
                    self.own_station(station);
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// A station leaves its collection ahead for now, if it has one.
    pub(super) fn stop_forward(&mut self, station: u32) {
        if let Some(own) = self.stations.of(station).own.take_if(|own| own.urgency < Urgency::Must) {
            self.core.ftl.suspend(own.unit);
        }
    }

    /// Makes the next step of a station's own task. Returns false if there is nothing to do, ahead.
    fn own_step(&mut self, station: u32, mut own: Task) -> Result<bool, RunError> {
        self.charge(own.unit);
        let early_before = self.core.counters.merges.full;
        let Some(step) = self.step_of(own.unit, own.work, own.urgency)? else {
            if own.urgency == Urgency::Must {
                self.check_ended(own.unit)?;
                self.stations.mandatory -= 1;
            }
            self.stations.of(station).own = None;
            return Ok(false);
        };
        let merged = own.made(step);
        if own.urgency < Urgency::Must {
            self.core.counters.merges.early += self.core.counters.merges.full - early_before;
        } else if let Some(merged) = merged {
            self.core.collections.record(merged);
        }
        self.stations.of(station).own = Some(own);
        self.end_of_group(station, cause(step), Kind::Collect);
        Ok(true)
    }

    /// True if the page that a unit writes next waits for a collection of it.
    fn waits_for(&self, unit: u32) -> bool {
        self.next_entry(unit).is_some_and(|slot| self.must_collect(unit, slot))
    }

    /// A mandatory collection finds nothing to do: what looks up pages in between has made room for a translation page, and has ended
    /// it. The unit can't go on if a page still waits for it.
    fn check_ended(&self, unit: u32) -> Result<(), RunError> {
        if self.waits_for(unit) { Err(self.core.ftl.stuck(unit)) } else { Ok(()) }
    }

    /// A step of a collection is charged to the tenant of the page that the unit has to write next; ahead of that, to that of
    /// the request that waits for room in the buffer, or did when collection ahead began.
    fn charge(&mut self, unit: u32) {
        let next = self.next_entry(unit);
        let oldest = self.buffer.as_ref().and_then(|buffer| Some(buffer.stream(next?)));
        let stalled = || self.slots.get(*self.stalled.front()?).map(|slot| slot.request.stream);
        let tenant = oldest.or_else(stalled).unwrap_or(self.stations.collects_for);
        self.stations.collects_for = tenant;
        self.core.serve_tenant(tenant);
    }

    /// The planner's wish for a unit that has nothing to write.
    fn wish_ahead(&self, unit: u32, view: &View) -> Wish {
        if self.stations.planner.function().is_none() {
            return self.stations.planner.wish(view);
        }
        if self.stations.ahead.contains(&unit) { Wish::Step(Urgency::Idle) } else { Wish::Nothing }
    }

    /// Asks a planner outside the engine which units collect ahead when they have nothing to write.
    pub(super) fn plan_ahead(&mut self) {
        let Some(function) = self.stations.planner.function() else { return };
        let named = function.ask(|view| self.fill(view, None), check_planned);
        self.stations.ahead = named.unwrap_or_default();
    }

    /// True for each unit that takes part in the collection of an initiator.
    fn joined(&self, initiator: u32) -> Vec<bool> {
        let units = 0..self.core.mapped_units();
        let Some(function) = self.stations.planner.function() else {
            let joins = |unit| unit != initiator && self.stations.planner.joins(&self.view(unit, false));
            return units.map(joins).collect();
        };
        let named = function.ask(|view| self.fill(view, Some(initiator)), check_planned).unwrap_or_default();
        units.map(|unit| unit != initiator && named.contains(&unit)).collect()
    }

    /// The view of a planner outside the engine.
    fn fill(&self, view: &mut Units, must: Option<u32>) {
        let units = || 0..self.core.mapped_units();
        let own = |unit| self.stations.all[self.stations.station_of(unit) as usize].own;
        let under_way = |unit| own(unit).is_some_and(|own: Task| own.unit == unit && own.last != Step::Erase);
        view.must = must;
        view.buffer_full = self.finds_buffer_full();
        view.others_must = self.others_must();
        view.dirty_pages.clear();
        view.dirty_pages.extend(units().map(|unit| self.dirty_pages(unit)));
        view.spare_blocks.clear();
        view.spare_blocks.extend(units().map(|unit| self.core.ftl.spare_blocks(unit)));
        view.under_way.clear();
        view.under_way.extend(units().map(under_way));
    }

    pub(super) fn view(&self, unit: u32, under_way: bool) -> View {
        View {
            now_ns: self.array.now_ns(),
            idle_since_ns: None,
            dirty_pages: self.dirty_pages(unit),
            buffer_full: self.finds_buffer_full(),
            others_must: self.others_must(),
            spare_blocks: self.core.ftl.spare_blocks(unit),
            under_way,
            foldable: self.core.ftl.foldable(unit),
            written: self.core.written(unit),
            refresh_ns: self.core.refresh_ns(unit),
        }
    }

    /// True if a request waits for room in the buffer.
    pub(super) fn finds_buffer_full(&self) -> bool {
        self.is_buffered && self.full_since_ns.is_some()
    }

    /// True if any unit is in mandatory collection.
    pub(super) fn others_must(&self) -> bool {
        self.stations.mandatory > 0 || self.stations.together.is_some()
    }

    /// True if a station is held by the collection that units make together.
    pub(super) fn takes_part(&self, station: u32) -> bool {
        self.stations.together.as_ref().is_some_and(|together| together.held[station as usize])
    }

    /// Goes on with the collection that units make together, ends it, or begins one if some unit must collect. Returns true if
    /// there is none: no unit of an idle station must.
    pub(super) fn collect_together(&mut self) -> Result<bool, RunError> {
        loop {
            let Some(together) = &self.stations.together else {
                let Some(unit) = self.next_initiator() else { return Ok(true) };
                let joined = self.joined(unit);
                let begun = vec![true; self.stations.all.len()];
                let takes_part = |member: u32| member == unit || joined[member as usize];
                let stations = self.stations.numbers();
                let held = stations.map(|station| self.stations.units_of(station).any(takes_part)).collect();
                let task = Task::new(unit, Work::Collect, Urgency::Must);
                self.stations.together = Some(Together { task, joined, held, action: None, begun });
                return self.step_together().map(|_| false);
            };
            let Task { unit, last, .. } = together.task;
            self.follow_late()?;
            if self.stations.numbers().any(|number| self.stations.is_busy(number) && self.takes_part(number))
            {
                return Ok(false);
            }
            if (last != Step::Erase || self.waits_for(unit)) && self.step_together()? {
                return Ok(false);
            }
            if let Some(together) = self.stations.together.take() {
                for (unit, joined) in (0..).zip(together.joined) {
                    if joined {
                        self.core.ftl.suspend(unit);
                    }
                }
            }
        }
    }

    /// The first unit of an idle station that can't write its page without a collection. If there is none, the flush set of the last
    /// idle station is left for [`Intake::work`].
    fn next_initiator(&mut self) -> Option<u32> {
        if !self.has_to_write() || self.waiting_in_buffer() == 0 {
            return None;
        }
        let mut set = std::mem::take(&mut self.stations.set);
        let mut found = None;
        for station in self.stations.numbers() {
            if !self.stations.is_busy(station) && found.is_none() {
                self.flush_set(station, &mut set);
                let must = set.iter().filter(|(unit, slot)| self.must_collect(*unit, *slot));
                found = must.map(|(unit, _)| *unit).min();
            }
        }
        self.stations.set = set;
        found
    }

    /// The next step of the initiator, and of all that take part and are idle. Returns false if the collection has ended.
    fn step_together(&mut self) -> Result<bool, RunError> {
        let Some(mut together) = self.stations.together.take() else { return Ok(false) };
        let initiator = together.task.unit;
        self.charge(initiator);
        let Some(step) = self.step_of(initiator, Work::Collect, Urgency::Must)? else {
            self.stations.together = Some(together);
            return self.check_ended(initiator).map(|()| false);
        };
        let action = self.stations.planner.follow(step);
        together.action = Some(action);
        if let Some(merged) = together.task.made(step) {
            self.core.collections.record(merged);
        }
        together.begun.fill(false);
        let own_station = self.stations.station_of(initiator);
        together.begun[own_station as usize] = true;
        self.stations.together = Some(together);
        self.follow_of_station(own_station, action)?;
        self.end_of_group(own_station, cause(step), Kind::Collect);
        self.follow_late()?;
        Ok(true)
    }

    /// Stations that take part, have not begun the step in progress, and are idle now, begin it: at its start, or when their own
    /// page is written. The next step waits for them.
    fn follow_late(&mut self) -> Result<(), RunError> {
        let under_way = self.stations.together.as_ref().and_then(|together| together.action);
        let Some(action) = under_way.filter(|action| *action != Action::Idle) else { return Ok(()) };
        let cause = if action == Action::Erase { Cause::Erase } else { Cause::Gc };
        let mut is_charged = false;
        for station in self.stations.numbers() {
            let at = station as usize;
            let Some(together) = &mut self.stations.together else { return Ok(()) };
            if self.stations.all[at].busy || !together.held[at] || replace(&mut together.begun[at], true) {
                continue;
            }
            let initiator = together.task.unit;
            // Nothing leaves the buffer meanwhile: all are charged to the same tenant.
            if !replace(&mut is_charged, true) {
                self.charge(initiator);
            }
            let begins = self.follow_of_station(station, action)?;
            self.core.flush(self.array.now_ns(), &mut self.array);
            // Nobody waits for a station that has nothing to do, also where reads wait on its die.
            if begins && self.array.is_busy(self.stations.dies_of(station)) {
                self.occupy(station, cause, Kind::Collect);
            }
        }
        Ok(())
    }

    /// The units of a station that take part do what followers do. Returns whether one did anything.
    fn follow_of_station(&mut self, station: u32, action: Action) -> Result<bool, RunError> {
        let merges = self.core.counters.merges.full;
        let now = self.array.now_ns();
        let mut begins = false;
        for unit in self.stations.units_of(station) {
            let Some(together) = &self.stations.together else { return Ok(begins) };
            if !together.joined[unit as usize] {
                continue;
            }
            begins |= if self.stations.has_clock() {
                let mut group = self.stations.groups.fill(&self.array);
                self.core.follow(now, unit, action, &mut group)?
            } else {
                self.core.follow(now, unit, action, &mut self.array)?
            };
        }
        self.core.counters.merges.early += self.core.counters.merges.full - merges;
        Ok(begins)
    }

    /// Makes the next step of some work of a unit, as part of a group where the clock is common.
    fn step_of(&mut self, unit: u32, work: Work, urgency: Urgency) -> Result<Option<Step>, RunError> {
        let (now, how) = (self.array.now_ns(), (work, urgency < Urgency::Must));
        if self.stations.has_clock() {
            let mut group = self.stations.groups.fill(&self.array);
            return self.core.step(now, unit, how, &mut group);
        }
        self.core.step(now, unit, how, &mut self.array)
    }
}
