//! The checks of a run, each of which may be off: for runs that are watched anyway.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::journal::{Baseline, Journal};
use super::levels::Levels;
use super::{Content, Versions};
use crate::geometry::Geometry;
use crate::nand::probe::Recorded;
use crate::op::{CommandKind, FlashOp, LevelEntry, NO_EFFECT, Stage};

/// Observers of the place of every sector.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Observers {
    versions: Option<Versions>,
    /// Not part of a saved drive: what is recorded belongs to a run.
    #[serde(skip)]
    journal: Option<Journal>,
    #[serde(skip)]
    levels: Option<Levels>,
}

impl Observers {
    /// `verify`: reads are held against writes. `journal`: what is on flash at any time is kept track of. `in_order` as for
    /// [`Versions::new`].
    pub(crate) fn new(geometry: &Geometry, verify: bool, journal: bool, in_order: bool) -> Self {
        Self {
            versions: verify.then(|| Versions::new(geometry, in_order)),
            journal: journal.then(|| Journal::new(geometry)),
            levels: None,
        }
    }

    /// The same, and levels of the flash are followed, if they are given.
    pub(crate) fn with_levels(self, levels: Option<Levels>) -> Self {
        Self { levels, ..self }
    }
}

/// Tells both.
macro_rules! tell {
    ($observers:ident, $observer:ident => $call:expr) => {
        if let Some($observer) = &mut $observers.versions {
            $call;
        }
        if let Some($observer) = &mut $observers.journal {
            $call;
        }
    };
}

impl Content for Observers {
    const ON: bool = true;

    fn enter(&mut self, request: u64) {
        if let Some(journal) = &mut self.journal {
            journal.enter(request);
        }
    }

    fn stage(&mut self, stage: Stage, request: u64, lpn: u64, sectors: Range<u32>) {
        tell!(self, observer => observer.stage(stage, request, lpn, sectors.clone()));
    }

    fn hold(&mut self, now_ns: u64, number: u32, request: u64, lpn: u64, sectors: Range<u32>) {
        tell!(self, observer => observer.hold(now_ns, number, request, lpn, sectors.clone()));
    }

    fn inherit(&mut self, from: Stage, to: Stage) {
        tell!(self, observer => observer.inherit(from, to));
    }

    fn apply(&mut self, op: &FlashOp, moves: &[(u32, u32)]) -> u32 {
        if let Some(versions) = &mut self.versions {
            versions.apply(op, moves);
        }
        let number = self.journal.as_mut().map_or(NO_EFFECT, |journal| journal.apply(op, moves));
        self.levels.as_mut().map_or(number, |levels| levels.apply(op, moves, number))
    }

    fn handed(&mut self, kind: CommandKind, effects: &[u32]) -> u32 {
        let number = self.journal.as_mut().map_or(NO_EFFECT, |journal| journal.handed(kind, effects));
        self.levels.as_mut().map_or(number, |levels| levels.handed(kind, effects, number))
    }

    fn unstage(&mut self, stage: Stage) {
        tell!(self, observer => observer.unstage(stage));
    }

    fn trim(&mut self, now_ns: u64, request: u64, lpn: u64) {
        tell!(self, observer => observer.trim(now_ns, request, lpn));
    }

    fn read(&mut self, lpn: u64, sectors: Range<u32>, flash: Option<(u32, u32)>, staged: Option<Stage>) {
        if let Some(versions) = &mut self.versions {
            versions.read(lpn, sectors, flash, staged);
        }
    }

    fn failure(&self) -> Option<&str> {
        let of_versions = self.versions.as_ref().and_then(Versions::failure);
        of_versions.or_else(|| self.journal.as_ref().and_then(Journal::failure))
    }

    fn begin(&mut self, geometry: &Geometry) -> Option<Baseline> {
        self.journal.get_or_insert_with(|| Journal::of_restored(geometry)).begin(geometry)
    }

    fn begin_levels(&mut self) -> Vec<LevelEntry> {
        self.levels.as_mut().map_or(Vec::new(), Levels::begin)
    }

    fn put_times(&mut self, recorded: &mut Recorded) {
        if let Some(levels) = &mut self.levels {
            levels.put_times(recorded);
        }
        if let Some(journal) = &mut self.journal {
            journal.put_times(recorded);
        }
    }
}
