//! Managed channels: a planner says which units collect when, a common clock which stations go on together.
//!
//! Glossary. *Station*: the units that start and end together: with a common clock all of them, otherwise those of one
//! die, or the set of dies of a superblock, which is one unit here. *Cycle*: one flush of the buffer to a station, at most a
//! page a plane. *Mandatory* collection: a page can't be written before it. *Initiator*: the unit whose mandatory collection
//! others take part in, one at a time. *Forward* collection: one that nobody has to make yet.
//!
//! A station that is not busy is idle, and decided about as soon as anything changes. It is busy until all commands are
//! done that its dies have when it begins something, so a read gets in between two steps of a collection. With a common
//! clock, commands are handed over in groups (`clock.rs`): each starts when all before it are done.

mod busy;
mod clock;
mod collect;
mod ends;
mod groups;
mod late;
mod tags;
mod waits;
mod write;

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::Intake;
use crate::config::{Clock, Config};
use crate::content::Content;
use crate::core::Core;
use crate::error::RunError;
use crate::external::External;
use crate::gc::planner::{Action, Planner};
use crate::nand::{TaskRecord, TimePath};
use crate::stats::{Cause, LockStepTimes};
use crate::task::Task;
use busy::{Cycle, Doing, Waits};
use groups::Groups;
pub(super) use tags::{
    COMPLETING_TAG, ENTRY_TAG, INTERFACE_TAG, LIMIT_TAG, LOOK_UP_TAG, TASK_TAG, TRIM_TAG, Tag,
};
use tags::{GROUP_TAG, PAGE_TAG, STATION_TAG};

/// Purpose of a group, or of what a station does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Kind {
    /// Pages that the request of a tag reads.
    Read(u32),
    /// Work on the map: for a TRIM, or before pages are read. No request waits for it.
    Map,
    /// Pages of the buffer that a station writes.
    Cycle,
    /// A step of a collection.
    Collect,
}

/// Result of the search for a unit that must collect, before idle stations are set to work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    /// There was none, or it says nothing of other units.
    Nothing,
    /// No unit must collect to take the pages that its station would flush.
    NoneMust,
    /// The same, and these pages are in [`Stations::set`].
    Set,
}

/// The activity of a station.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Station {
    busy: bool,
    /// Entries of the buffer being written.
    serving: Vec<u32>,
    /// Its own collection, if it makes one: mandatory, or ahead.
    own: Option<Task>,
    /// The step that it makes, if it is recorded.
    #[serde(skip)]
    step: Option<TaskRecord>,
    doing: Doing,
    /// The write cycle in progress.
    cycle: Cycle,
}

/// A mandatory collection that others take part in.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Together {
    /// That of the initiator.
    task: Task,
    /// True for each unit that takes part.
    joined: Vec<bool>,
    /// True for each station with a unit that takes part, the initiator included.
    held: Vec<bool>,
    /// Action of followers in the step in progress, or in the last one; none before the first.
    action: Option<Action>,
    /// True for each station that has begun the step.
    begun: Vec<bool>,
}

/// The stations of a drive; none if its channels are not managed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Stations {
    all: Vec<Station>,
    units_per_station: u32,
    dies_per_station: u32,
    /// Dies of each station, where they are those of superblocks.
    sets: Vec<Vec<u32>>,
    planner: Planner,
    lock_step: Option<LockStepTimes>,
    /// Groups of commands, where a clock is common.
    groups: Groups,
    /// True if all collections are made with an initiator.
    aligned: bool,
    together: Option<Together>,
    /// Units that collect ahead at this instant, of a planner outside the engine.
    ahead: Vec<u32>,
    /// Stations in mandatory collection on their own.
    mandatory: u32,
    waits: Waits,
    /// Stations that became idle at this instant.
    ended: Vec<u32>,
    /// The tenant that the last step of a collection was charged to.
    collects_for: u16,
    /// Used while a flush is put together.
    set: Vec<(u32, u32)>,
}

impl Stations {
    pub(super) fn new<C: Content>(config: &Config, core: &Core<C>) -> Self {
        let lock_step = config.clock == Clock::LockStep;
        let (units, dies) = (core.mapped_units(), core.geometry.total_dies());
        let is_set = core.superblocks.is_some();
        let (units_per_station, dies_per_station) = match (lock_step, is_set) {
            (true, _) => (units, dies),
            (false, true) => (1, 0),
            (false, false) => (core.geometry.planes, 1),
        };
        let count = if config.is_managed() { units / units_per_station } else { 0 };
        let with_sets = count > 0 && is_set && !lock_step;
        let sets = if with_sets { core.crews().map(|(dies, _)| dies).collect() } else { Vec::new() };
        let planner = Planner::new(&config.gc);
        Self {
            all: vec![Station::default(); count as usize],
            units_per_station,
            dies_per_station,
            sets,
            aligned: lock_step || planner.is_aligned(),
            planner,
            lock_step: lock_step.then(LockStepTimes::default),
            groups: Groups::default(),
            together: None,
            ahead: Vec::new(),
            mandatory: 0,
            waits: Waits::default(),
            ended: Vec::new(),
            collects_for: 0,
            set: Vec::new(),
        }
    }

    /// Gives a planner outside the engine its function.
    pub(super) fn attach(&mut self, external: &External) {
        self.planner.attach(&external.planner);
    }

    /// True if there are any stations.
    #[inline]
    pub(super) fn are_managed(&self) -> bool {
        !self.all.is_empty()
    }

    /// True if they have a common clock.
    #[inline]
    pub(super) fn has_clock(&self) -> bool {
        self.lock_step.is_some()
    }

    /// Times of the common clock, if there is one.
    pub(super) fn lock_step_times(&self) -> Option<LockStepTimes> {
        self.lock_step
    }

    fn units_of(&self, station: u32) -> Range<u32> {
        station * self.units_per_station..(station + 1) * self.units_per_station
    }

    pub(super) fn dies_of(&self, station: u32) -> impl Iterator<Item = u32> + '_ {
        let set = self.sets.get(station as usize).into_iter().flatten().copied();
        self.own_dies(station).chain(set)
    }

    pub(super) fn station_of(&self, unit: u32) -> u32 {
        if self.units_per_station == 1 { unit } else { unit / self.units_per_station }
    }

    fn of(&mut self, station: u32) -> &mut Station {
        &mut self.all[station as usize]
    }

    fn is_busy(&self, station: u32) -> bool {
        self.all[station as usize].busy
    }

    fn numbers(&self) -> Range<u32> {
        0..self.all.len() as u32
    }
}

impl<A: TimePath, C: Content> Intake<A, C> {
    /// Something changed: sets idle stations to work.
    pub(super) fn decide(&mut self) -> Result<(), RunError> {
        let none_must = self.stations.aligned && self.collect_together()?;
        let known = match none_must {
            // The flush set is known from the search for a unit that must collect.
            true if self.stations.all.len() == 1 => Known::Set,
            // A page that a station writes changes nothing in the units of others, unless they share a map.
            true if !self.binds_late() => Known::NoneMust,
            _ => Known::Nothing,
        };
        let writes = self.has_to_write() && self.waiting_in_buffer() > 0;
        for station in self.stations.numbers() {
            let place = &self.stations.all[station as usize];
            if !place.busy && (writes || place.own.is_some()) {
                self.work(station, known)?;
            }
        }
        // A station that is busy makes no use of the planner's answer.
        let mut numbers = self.stations.numbers();
        if self.stations.planner.collects_ahead() && numbers.any(|number| !self.stations.is_busy(number)) {
            self.plan_ahead();
            let begins = self.stations.planner.begins_ahead(self.finds_buffer_full(), self.others_must());
            // Units that have nothing to write decide when all mandatory collections of this instant have begun.
            for station in self.stations.numbers() {
                if !self.stations.is_busy(station) && (begins || self.stations.of(station).own.is_some()) {
                    self.forward(station)?;
                }
            }
        }
        Ok(())
    }

    /// Everything else of this instant has happened: asks the background about idle stations.
    #[cold]
    pub(super) fn decide_ahead(&mut self) -> Result<(), RunError> {
        self.look_around();
        for station in self.stations.numbers() {
            if self.background.destages() && !self.stations.is_busy(station) {
                self.work(station, Known::Nothing)?;
                self.own_station(station);
            }
        }
        self.background.end_of_destage();
        for station in self.stations.numbers() {
            if !self.stations.is_busy(station) {
                self.step_in_background(station)?;
            }
        }
        Ok(())
    }

    /// Goes on with a station's own collection, or writes pages of the buffer if any have to leave it.
    fn work(&mut self, station: u32, known: Known) -> Result<(), RunError> {
        if self.stations.of(station).own.is_some() && self.go_on(station)? {
            return Ok(());
        }
        if !self.has_to_write() || self.waiting_in_buffer() == 0 || self.takes_part(station) {
            return Ok(());
        }
        let mut set = std::mem::take(&mut self.stations.set);
        let mut must = None;
        if known != Known::Set {
            self.flush_set(station, &mut set);
        }
        if known == Known::Nothing {
            must = set.iter().find(|(unit, slot)| self.must_collect(*unit, *slot)).map(|(unit, _)| *unit);
        }
        if let Some(unit) = must {
            // With an initiator elsewhere, this unit waits until it is next.
            if !self.stations.aligned {
                self.begin_own(station, unit)?;
            }
        } else if !set.is_empty() {
            self.stop_forward(station);
            if self.binds_late() { self.write_late(station)? } else { self.write_cycle(station, &set)? }
        }
        self.stations.set = set;
        Ok(())
    }

    /// True if pages have to leave the buffer.
    fn has_to_write(&self) -> bool {
        self.full_since_ns.is_some() || self.is_flushing() || self.background.destages()
    }

    /// The entries that a flush to a station takes, by unit. Where pages get their unit when they are written: one that each may take.
    fn flush_set(&self, station: u32, into: &mut Vec<(u32, u32)>) {
        into.clear();
        if self.binds_late() {
            let units = self.stations.units_of(station);
            into.extend(units.filter_map(|unit| Some((unit, self.next_late(unit)?))));
            return;
        }
        let limit = self.leaves_before();
        if let Some(buffer) = &self.buffer {
            buffer.flush_set(self.stations.units_of(station), into);
            if limit < u64::MAX {
                into.retain(|(_, slot)| buffer.sequence(*slot) < limit);
            }
        }
    }

    /// Number before which entries may leave the buffer: all, unless only those go that are old.
    fn leaves_before(&self) -> u64 {
        let all = self.full_since_ns.is_some() || self.is_flushing();
        self.background.destages_before().filter(|_| !all).unwrap_or(u64::MAX)
    }

    /// The entry of the buffer that a unit writes next.
    fn next_entry(&self, unit: u32) -> Option<u32> {
        if self.binds_late() { self.next_late(unit) } else { self.buffer.as_ref()?.next(unit) }
    }

    fn must_collect(&self, unit: u32, slot: u32) -> bool {
        if self.binds_late() {
            return self.must_collect_late(unit, slot);
        }
        let lpn = self.buffer.as_ref().map(|buffer| buffer.lpn(slot));
        let home = lpn.and_then(|lpn| self.core.alloc.locate(lpn));
        home.is_some_and(|home| self.core.ftl.must_collect(home))
    }

    /// Everything that a station does next is made: it is busy until that is done.
    fn end_of_group(&mut self, station: u32, cause: Cause, kind: Kind) {
        let now = self.array.now_ns();
        if self.stations.has_clock() {
            let mut group = self.stations.groups.fill(&self.array);
            self.core.flush(now, &mut group);
        } else {
            self.core.flush(now, &mut self.array);
        }
        self.occupy(station, cause, kind);
    }
}
