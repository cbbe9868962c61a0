//! Collections of managed channels: those that a station makes on its own, and those that others take part in.

use super::{ManagedDrive, Own, Together};
use crate::content::Content;
use crate::error::RunError;
use crate::op::Step;
use crate::gc::planner::{Action, View};
use crate::nand::Probe;
use crate::stats::Cause;

/// What those wait for who wait for a step.
fn cause(step: Step) -> Cause {
    if step == Step::Erase { Cause::Erase } else { Cause::Gc }
}

impl<P: Probe, C: Content> ManagedDrive<P, C> {
    /// Begins a mandatory collection of a station of its own.
    pub(super) fn begin(&mut self, station: u32, unit: u32) -> Result<(), RunError> {
        self.mandatory += 1;
        self.own_step(station, Own { unit, mandatory: true, last: Step::Erase, merged: 0 })
    }

    /// An idle station that has a collection under way goes on with it, or ends it. Returns whether it went on.
    pub(super) fn go_on(&mut self, station: u32) -> Result<bool, RunError> {
        let Some(own) = self.stations[station as usize].own else { return Ok(false) };
        if !own.mandatory {
            // Forward collection is decided about with all others that have nothing to write.
            return Ok(false);
        }
        let oldest = self.buffer.next(own.unit);
        if own.last == Step::Erase && !oldest.is_some_and(|slot| self.must_collect(slot)) {
            self.stations[station as usize].own = None;
            self.mandatory -= 1;
            return Ok(false);
        }
        self.own_step(station, own)?;
        Ok(true)
    }

    /// Asks the planner whether a station that has nothing to do collects ahead.
    pub(super) fn forward(&mut self, station: u32) -> Result<(), RunError> {
        let unit = self.units_of(station).start;
        let own = self.stations[station as usize].own.filter(|own| !own.mandatory);
        let view = self.view(unit, own.is_some_and(|own| own.last != Step::Erase));
        if self.planner.forward(&view) {
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
        if let Some(own) = self.stations[station as usize].own.take_if(|own| !own.mandatory) {
            self.core.ftl.suspend(own.unit);
        }
    }

    fn own_step(&mut self, station: u32, own: Own) -> Result<(), RunError> {
        self.charge(own.unit);
        let early_before = self.core.counters.merges.full;
        let Some(step) = self.core.collect_step(self.now_ns, own.unit, &mut self.line)? else {
            if own.mandatory {
                return Err(self.core.ftl.stuck(own.unit));
            }
            self.stations[station as usize].own = None;
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
        self.stations[station as usize].own = Some(own);
        self.core.flush(self.now_ns, &mut self.line);
        self.occupy(station, cause(step));
        Ok(())
    }

    /// A step of a collection is charged to the tenant of the page that the unit has to write next; ahead of that, to that of
    /// the request that waits for room in the buffer, or did when collection ahead began.
    fn charge(&mut self, unit: u32) {
        let oldest = self.buffer.next(unit).map(|slot| self.buffer.entry(slot).stream);
        let stalled = || self.slots[*self.stalled.front()? as usize].as_ref().map(|slot| slot.request.stream);
        self.collects_for = oldest.or_else(stalled).unwrap_or(self.collects_for);
        self.core.serve_tenant(self.collects_for);
    }

    pub(super) fn view(&self, unit: u32, under_way: bool) -> View {
        View {
            dirty_pages: self.buffer.waiting(unit),
            buffer_full: self.buffered && self.full_since_ns.is_some(),
            others_must: self.mandatory > 0 || self.together.is_some(),
            spare_blocks: self.core.ftl.spare_blocks(unit),
            under_way,
        }
    }

    /// Whether a station is held by the collection that units make together.
    pub(super) fn takes_part(&self, station: u32) -> bool {
        self.together.as_ref().is_some_and(|together| {
            self.station_of(together.initiator) == station
                || self.units_of(station).any(|unit| together.joined[unit as usize])
        })
    }

    /// Goes on with the collection that units make together, ends it, or begins one if some unit must collect.
    pub(super) fn collect_together(&mut self) -> Result<(), RunError> {
        loop {
            let Some(together) = &self.together else {
                let Some(unit) = self.next_initiator() else { return Ok(()) };
                let joined = (0..self.core.geometry.units())
                    .map(|other| other != unit && self.planner.joins(&self.view(other, false)))
                    .collect();
                let begun = vec![true; self.stations.len()];
                self.together = Some(Together { initiator: unit, joined, last: None, begun, merged: 0 });
                return self.step_together();
            };
            let (unit, last) = (together.initiator, together.last);
            self.follow_late()?;
            if (0..).zip(&self.stations).any(|(number, station)| station.busy && self.takes_part(number)) {
                return Ok(());
            }
            let is_erased = matches!(last, Some((Step::Erase, _)));
            let oldest = self.buffer.next(unit);
            if !is_erased || oldest.is_some_and(|slot| self.must_collect(slot)) {
                return self.step_together();
            }
            if let Some(together) = self.together.take() {
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
        if !self.is_flushing() {
            return None;
        }
        let mut set = std::mem::take(&mut self.set);
        let mut found = None;
        for station in 0..self.stations.len() as u32 {
            if !self.stations[station as usize].busy && found.is_none() {
                self.buffer.flush_set(self.units_of(station), &mut set);
                set.sort_unstable();
                found = set.iter().find(|(_, slot)| self.must_collect(*slot)).map(|(unit, _)| *unit);
            }
        }
        self.set = set;
        found
    }

    /// The next step of the initiator, and of all that take part and are idle.
    fn step_together(&mut self) -> Result<(), RunError> {
        let Some(mut together) = self.together.take() else { return Ok(()) };
        let start = self.start_ns();
        let initiator = together.initiator;
        self.charge(initiator);
        let Some(step) = self.core.collect_step(start, initiator, &mut self.line)? else {
            return Err(self.core.ftl.stuck(initiator));
        };
        let action = self.planner.follow(step);
        together.last = Some((step, action));
        together.merged += u64::from(matches!(step, Step::Merge { .. }));
        if step == Step::Erase {
            self.core.collections.record(std::mem::take(&mut together.merged));
        }
        together.begun.fill(false);
        let own_station = self.station_of(initiator);
        together.begun[own_station as usize] = true;
        self.together = Some(together);
        self.follow_of_station(own_station, start, action)?;
        self.core.flush(start, &mut self.line);
        let end = self.occupy(own_station, cause(step));
        if let Some(times) = &mut self.lock_step {
            times.collecting_ns += end - start;
        }
        self.follow_late()
    }

    /// Stations that take part, have not begun the step under way, and are idle now, begin it: at its start, or when their own
    /// page is written. The next step waits for them.
    fn follow_late(&mut self) -> Result<(), RunError> {
        let Some(Some((step, action))) = self.together.as_ref().map(|together| together.last) else {
            return Ok(());
        };
        if action == Action::Idle {
            return Ok(());
        }
        for station in 0..self.stations.len() as u32 {
            if self.stations[station as usize].busy || !self.takes_part(station) {
                continue;
            }
            let Some(together) = &mut self.together else { return Ok(()) };
            let initiator = together.initiator;
            if std::mem::replace(&mut together.begun[station as usize], true) {
                continue;
            }
            self.charge(initiator);
            self.follow_of_station(station, self.now_ns, action)?;
            self.core.flush(self.now_ns, &mut self.line);
            if self.free_ns(station) > self.now_ns {
                self.occupy(station, cause(step));
            }
        }
        Ok(())
    }

    /// The units of a station that take part do what followers do.
    fn follow_of_station(&mut self, station: u32, start_ns: u64, action: Action) -> Result<(), RunError> {
        let merges = self.core.counters.merges.full;
        for unit in self.units_of(station) {
            let Some(together) = &self.together else { return Ok(()) };
            if together.joined[unit as usize] {
                self.core.follow(start_ns, unit, action, &mut self.line)?;
            }
        }
        self.core.counters.merges.early += self.core.counters.merges.full - merges;
        Ok(())
    }
}
