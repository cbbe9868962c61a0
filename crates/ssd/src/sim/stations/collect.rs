//! Collections of managed channels: those that a station makes on its own, and those that others take part in.

use super::clock::Kind;
use super::{Own, Together};
use crate::content::Content;
use crate::error::RunError;
use crate::gc::planner::{Action, View};
use crate::nand::TimePath;
use crate::op::Step;
use crate::sim::intake::Intake;
use crate::stats::Cause;

/// The cause of waits for a step.
fn cause(step: Step) -> Cause {
    if step == Step::Erase { Cause::Erase } else { Cause::Gc }
}

impl<A: TimePath, C: Content> Intake<A, C> {
    /// Begins a mandatory collection of a station of its own.
    pub(super) fn begin_own(&mut self, station: u32, unit: u32) -> Result<(), RunError> {
        self.stations.mandatory += 1;
        self.own_step(station, Own { unit, mandatory: true, last: Step::Erase, merged: 0 })
    }

    /// An idle station that has a collection under way goes on with it, or ends it. Returns whether it went on.
    pub(super) fn go_on(&mut self, station: u32) -> Result<bool, RunError> {
        let Some(own) = self.stations.of(station).own else { return Ok(false) };
        if !own.mandatory {
            // Forward collection is decided about with all others that have nothing to write.
            return Ok(false);
        }
        let oldest = self.next_entry(own.unit);
        if own.last == Step::Erase && !oldest.is_some_and(|slot| self.must_collect(slot)) {
            self.stations.of(station).own = None;
            self.stations.mandatory -= 1;
            return Ok(false);
        }
        self.own_step(station, own)?;
        Ok(true)
    }

    /// Asks the planner whether a station that has nothing to do collects ahead.
    pub(super) fn forward(&mut self, station: u32) -> Result<(), RunError> {
        let unit = self.stations.units_of(station).start;
        let own = self.stations.of(station).own.filter(|own| !own.mandatory);
        let view = self.view(unit, own.is_some_and(|own| own.last != Step::Erase));
        if self.stations.planner.forward(&view) {
            return self.own_step(
                station,
                own.unwrap_or(Own { unit, mandatory: false, last: Step::Erase, merged: 0 }),
            );
        }
        self.stop_forward(station);
        Ok(())
    }

    /// A station leaves its forward collection for now, if it has one.
    pub(super) fn stop_forward(&mut self, station: u32) {
        if let Some(own) = self.stations.of(station).own.take_if(|own| !own.mandatory) {
            self.core.ftl.suspend(own.unit);
        }
    }

    fn own_step(&mut self, station: u32, own: Own) -> Result<(), RunError> {
        self.charge(own.unit);
        let early_before = self.core.counters.merges.full;
        let now = self.array.now_ns();
        let Some(step) = self.core.collect_step(now, own.unit, &mut self.array)? else {
            if own.mandatory {
                return Err(self.core.ftl.stuck(own.unit));
            }
            self.stations.of(station).own = None;
            return Ok(());
        };
        let mut own = Own { last: step, ..own };
        own.merged += u64::from(matches!(step, Step::Merge { .. }));
        if !own.mandatory {
            self.core.counters.merges.early += self.core.counters.merges.full - early_before;
        }
        if step == Step::Erase {
            if own.mandatory {
                self.core.collections.record(own.merged);
            }
            own.merged = 0;
        }
        self.stations.of(station).own = Some(own);
        self.end_of_group(station, cause(step), Kind::Collect);
        Ok(())
    }

    /// A step of a collection is charged to the tenant of the page that the unit has to write next; ahead of that, to that of
    /// the request that waits for room in the buffer, or did when collection ahead began.
    fn charge(&mut self, unit: u32) {
        let oldest = self.buffer.as_ref().and_then(|buffer| Some(buffer.stream(buffer.next(unit)?)));
        let stalled = || self.slots.get(*self.stalled.front()?).map(|slot| slot.request.stream);
        let tenant = oldest.or_else(stalled).unwrap_or(self.stations.collects_for);
        self.stations.collects_for = tenant;
        self.core.serve_tenant(tenant);
    }

    pub(super) fn view(&self, unit: u32, under_way: bool) -> View {
        View {
            dirty_pages: self.buffer.as_ref().map_or(0, |buffer| buffer.waiting(unit)),
            buffer_full: self.is_buffered && self.full_since_ns.is_some(),
            others_must: self.stations.mandatory > 0 || self.stations.together.is_some(),
            spare_blocks: self.core.ftl.spare_blocks(unit),
            under_way,
        }
    }

    /// Whether a station is held by the collection that units make together.
    pub(super) fn takes_part(&self, station: u32) -> bool {
        self.stations.together.as_ref().is_some_and(|together| {
            self.stations.station_of(together.initiator) == station
                || self.stations.units_of(station).any(|unit| together.joined[unit as usize])
        })
    }

    /// Goes on with the collection that units make together, ends it, or begins one if some unit must collect.
    pub(super) fn collect_together(&mut self) -> Result<(), RunError> {
        loop {
            let Some(together) = &self.stations.together else {
                let Some(unit) = self.next_initiator() else { return Ok(()) };
                let joined = (0..self.core.geometry.units())
                    .map(|other| other != unit && self.stations.planner.joins(&self.view(other, false)))
                    .collect();
                let begun = vec![true; self.stations.all.len()];
                self.stations.together =
                    Some(Together { initiator: unit, joined, last: None, begun, merged: 0 });
                return self.step_together();
            };
            let (unit, last) = (together.initiator, together.last);
            self.follow_late()?;
            if self.stations.numbers().any(|number| self.stations.is_busy(number) && self.takes_part(number))
            {
                return Ok(());
            }
            let is_erased = matches!(last, Some((Step::Erase, _)));
            let oldest = self.next_entry(unit);
            if !is_erased || oldest.is_some_and(|slot| self.must_collect(slot)) {
                return self.step_together();
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

    /// The first unit of an idle station that can't write its page without a collection.
    fn next_initiator(&mut self) -> Option<u32> {
        if !self.has_to_write() {
            return None;
        }
        let mut set = std::mem::take(&mut self.stations.set);
        let mut found = None;
        for station in self.stations.numbers() {
            if !self.stations.is_busy(station) && found.is_none() {
                self.flush_set(station, &mut set);
                set.sort_unstable();
                found = set.iter().find(|(_, slot)| self.must_collect(*slot)).map(|(unit, _)| *unit);
            }
        }
        self.stations.set = set;
        found
    }

    /// The next step of the initiator, and of all that take part and are idle.
    fn step_together(&mut self) -> Result<(), RunError> {
        let Some(mut together) = self.stations.together.take() else { return Ok(()) };
        let initiator = together.initiator;
        self.charge(initiator);
        let Some(step) = self.collect_of(initiator)? else {
            return Err(self.core.ftl.stuck(initiator));
        };
        let action = self.stations.planner.follow(step);
        together.last = Some((step, action));
        together.merged += u64::from(matches!(step, Step::Merge { .. }));
        if step == Step::Erase {
            self.core.collections.record(std::mem::take(&mut together.merged));
        }
        together.begun.fill(false);
        let own_station = self.stations.station_of(initiator);
        together.begun[own_station as usize] = true;
        self.stations.together = Some(together);
        self.follow_of_station(own_station, action)?;
        self.end_of_group(own_station, cause(step), Kind::Collect);
        self.follow_late()
    }

    /// Stations that take part, have not begun the step under way, and are idle now, begin it: at its start, or when their own
    /// page is written. The next step waits for them.
    fn follow_late(&mut self) -> Result<(), RunError> {
        let Some(Some((step, action))) = self.stations.together.as_ref().map(|together| together.last) else {
            return Ok(());
        };
        if action == Action::Idle {
            return Ok(());
        }
        for station in self.stations.numbers() {
            if self.stations.is_busy(station) || !self.takes_part(station) {
                continue;
            }
            let Some(together) = &mut self.stations.together else { return Ok(()) };
            let initiator = together.initiator;
            if std::mem::replace(&mut together.begun[station as usize], true) {
                continue;
            }
            self.charge(initiator);
            self.follow_of_station(station, action)?;
            self.core.flush(self.array.now_ns(), &mut self.array);
            if self.array.is_busy(self.stations.dies_of(station)) {
                self.occupy(station, cause(step), Kind::Collect);
            }
        }
        Ok(())
    }

    /// The units of a station that take part do what followers do.
    fn follow_of_station(&mut self, station: u32, action: Action) -> Result<(), RunError> {
        let merges = self.core.counters.merges.full;
        let now = self.array.now_ns();
        for unit in self.stations.units_of(station) {
            let Some(together) = &self.stations.together else { return Ok(()) };
            if !together.joined[unit as usize] {
                continue;
            }
            if self.stations.has_clock() {
                let mut group = self.stations.groups.fill(&self.array);
                self.core.follow(now, unit, action, &mut group)?;
            } else {
                self.core.follow(now, unit, action, &mut self.array)?;
            }
        }
        self.core.counters.merges.early += self.core.counters.merges.full - merges;
        Ok(())
    }

    /// The next step of a unit's collection.
    fn collect_of(&mut self, unit: u32) -> Result<Option<Step>, RunError> {
        let now = self.array.now_ns();
        if self.stations.has_clock() {
            let mut group = self.stations.groups.fill(&self.array);
            return self.core.collect_step(now, unit, &mut group);
        }
        self.core.collect_step(now, unit, &mut self.array)
    }
}
