//! Levels of the flash that commands change, for timelines: blocks of superblocks that are not erased, and data in the SLC cache.
//!
//! Changes are noted when a command is made, without times; [`Levels::put_times`] adds these when it has run. Nothing is checked here.

use std::collections::BTreeMap;

use flashweir_trace::SECTOR_BYTES;

use crate::alloc::Superblocks;
use crate::geometry::Geometry;
use crate::nand::probe::Recorded;
use crate::op::{CommandKind, Effect, FlashOp, Level, LevelEntry, NO_EFFECT};

/// Changes of one operation or command.
type Changes = Vec<(Level, i64)>;

/// Follows the levels.
#[derive(Clone, Debug)]
pub(crate) struct Levels {
    unit_blocks: u64,
    pages_per_block: u32,
    /// Mapping units in a page of flash.
    per_page: u32,
    page_bytes: i64,
    /// The set of each unit; empty without superblocks.
    sets: Vec<u32>,
    /// Blocks of units with a page that was programmed, and the pages of flash in each that the host wrote in SLC mode.
    open: Vec<bool>,
    in_slc: Vec<u32>,
    /// True once time runs.
    begun: bool,
    /// Changes of operations that have no command yet, and of commands that were not recorded yet, by number.
    made: BTreeMap<u32, Changes>,
    handed: BTreeMap<u32, Changes>,
    /// The number given last, where the journal gives none.
    last: u32,
    /// Changes by pages that were there before the run: those of the command handed over next.
    owed: Changes,
}

impl Levels {
    pub(crate) fn new(superblocks: Option<&Superblocks>, geometry: &Geometry) -> Self {
        let blocks = geometry.units() as usize * geometry.max_unit_blocks() as usize;
        let units = 0..geometry.units();
        Self {
            unit_blocks: geometry.max_unit_blocks(),
            pages_per_block: geometry.pages_per_block,
            per_page: geometry.units_per_page,
            page_bytes: i64::from(geometry.page_sectors * geometry.units_per_page)
                * SECTOR_BYTES.cast_signed(),
            sets: superblocks.map_or(Vec::new(), |own| units.map(|unit| own.set_of(unit)).collect()),
            open: vec![false; blocks],
            in_slc: vec![0; blocks],
            begun: false,
            made: BTreeMap::new(),
            handed: BTreeMap::new(),
            last: 0,
            owed: Vec::new(),
        }
    }

    /// Starts time. Returns the levels of superblocks at this point, in the order of sets and blocks; none without superblocks.
    pub(crate) fn begin(&mut self) -> Vec<LevelEntry> {
        self.begun = true;
        let mut open = BTreeMap::<(u32, u32), i64>::new();
        for (unit, set) in self.sets.iter().enumerate() {
            let blocks = &self.open[unit * self.unit_blocks as usize..][..self.unit_blocks as usize];
            for (block, is_open) in (0..).zip(blocks) {
                *open.entry((*set, block)).or_default() += i64::from(*is_open);
            }
        }
        let entry = |((set, block), change)| LevelEntry {
            time_ns: 0,
            level: Level::Superblock { set, block },
            change,
        };
        open.into_iter().map(entry).collect()
    }

    fn at(&self, unit: u32, block: u32) -> usize {
        unit as usize * self.unit_blocks as usize + block as usize
    }

    /// A page of a block is programmed.
    fn program(&mut self, unit: u32, ppn: u32, slc: bool, into: &mut Changes) {
        let block = ppn / self.pages_per_block;
        let at = self.at(unit, block);
        if !std::mem::replace(&mut self.open[at], true)
            && let Some(set) = self.sets.get(unit as usize)
        {
            into.push((Level::Superblock { set: *set, block }, 1));
        }
        if slc && ppn.is_multiple_of(self.per_page) {
            self.in_slc[at] += 1;
            into.push((Level::SlcCache, self.page_bytes));
        }
    }

    fn erase(&mut self, unit: u32, block: u32, into: &mut Changes) {
        let at = self.at(unit, block);
        if std::mem::take(&mut self.open[at])
            && let Some(set) = self.sets.get(unit as usize)
        {
            into.push((Level::Superblock { set: *set, block }, -1));
        }
        let pages = std::mem::take(&mut self.in_slc[at]);
        if pages > 0 {
            into.push((Level::SlcCache, -i64::from(pages) * self.page_bytes));
        }
    }

    /// As [`super::Content::apply`]; `number`: that under which the journal keeps the effect, if it does.
    pub(crate) fn apply(&mut self, op: &FlashOp, moves: &[(u32, u32)], number: u32) -> u32 {
        let (unit, mut changes) = (op.unit, Changes::new());
        match op.effect {
            Effect::Read { .. } | Effect::MapRead { .. } => return number,
            Effect::Laid { ppn, .. } => {
                self.program(unit, ppn, false, &mut changes);
                if self.begun {
                    self.owed.append(&mut changes);
                }
                return number;
            }
            Effect::Programmed { ppn, .. } => self.program(unit, ppn, op.slc, &mut changes),
            Effect::MapProgrammed { ppn, .. } | Effect::Parity { ppn } => {
                self.program(unit, ppn, false, &mut changes);
            }
            Effect::Moved(_) => {
                for (_, to) in moves {
                    self.program(unit, *to, false, &mut changes);
                }
            }
            Effect::Gathered(ref gathered) => {
                for (_, to) in gathered {
                    self.program(unit, *to, false, &mut changes);
                }
            }
            Effect::Erased { block } => self.erase(unit, block, &mut changes),
        }
        if !self.begun || changes.is_empty() {
            return number;
        }
        let number = self.number(number);
        self.made.insert(number, changes);
        number
    }

    /// As [`super::Content::handed`]; `number` likewise.
    pub(crate) fn handed(&mut self, kind: CommandKind, effects: &[u32], number: u32) -> u32 {
        if kind == CommandKind::Read {
            return number;
        }
        let mut changes = std::mem::take(&mut self.owed);
        changes.extend(effects.iter().filter_map(|effect| self.made.remove(effect)).flatten());
        if changes.is_empty() {
            return number;
        }
        let number = self.number(number);
        self.handed.insert(number, changes);
        number
    }

    /// The journal's number, or one of our own where it gives none.
    fn number(&mut self, number: u32) -> u32 {
        if number != NO_EFFECT {
            return number;
        }
        self.last = (self.last + 1) % NO_EFFECT;
        self.last
    }

    /// Adds the changes that the commands recorded made, and when.
    pub(crate) fn put_times(&mut self, recorded: &mut Recorded) {
        for record in &recorded.commands {
            for (level, change) in self.handed.remove(&record.effect).into_iter().flatten() {
                let opens = matches!(level, Level::Superblock { .. }) && change > 0;
                let time_ns = if opens { record.start_ns } else { record.end_ns };
                recorded.levels.push(LevelEntry { time_ns, level, change });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nand::CommandRecord;
    use crate::op::{Crossing, Purpose, Stage};
    use crate::stats::Parts;

    fn op(unit: u32, kind: CommandKind, slc: bool, effect: Effect) -> FlashOp {
        let (purpose, crossing) = (Purpose::Host, Crossing::WHOLE);
        FlashOp { unit, pages: 1, reads: 0, kind, purpose, opens: 0, crossing, slc, effect }
    }

    fn record(effect: u32, (start_ns, end_ns): (u64, u64)) -> CommandRecord {
        CommandRecord {
            die: 0,
            kind: CommandKind::Program,
            purpose: Purpose::Host,
            pages: 1,
            start_ns,
            end_ns,
            bus_ns: 0,
            request: None,
            opens: 0,
            arrived_ns: 0,
            resumed_ns: start_ns,
            passed: 0,
            pauses: 0,
            parts: Parts::default(),
            effect,
        }
    }

    #[test]
    fn a_page_is_in_the_cache_when_it_is_programmed_and_until_its_block_is_erased() {
        let mut levels = Levels::new(None, &Geometry::for_test(1, 1, 1, 1));
        assert!(levels.begin().is_empty(), "no superblocks");
        let mut run = |kind, slc, effect, span| {
            let made = levels.apply(&op(0, kind, slc, effect), &[], NO_EFFECT);
            let handed = levels.handed(kind, &[made], NO_EFFECT);
            let mut recorded = Recorded { commands: vec![record(handed, span)], ..Recorded::default() };
            levels.put_times(&mut recorded);
            recorded.levels.iter().map(|entry| (entry.time_ns, entry.change)).collect::<Vec<_>>()
        };
        let program = |ppn| Effect::Programmed { ppn, stale: None, stage: Stage::Direct };
        // Pages of 8 sectors, in blocks of 4: the first block is in SLC mode.
        assert_eq!(run(CommandKind::Program, true, program(0), (10, 20)), [(20, 4096)]);
        assert_eq!(run(CommandKind::Program, true, program(1), (20, 30)), [(30, 4096)]);
        assert_eq!(run(CommandKind::Program, false, program(4), (30, 50)), []);
        assert_eq!(run(CommandKind::Erase, false, Effect::Erased { block: 1 }, (50, 60)), []);
        assert_eq!(run(CommandKind::Erase, true, Effect::Erased { block: 0 }, (60, 90)), [(90, -8192)]);
        assert_eq!(run(CommandKind::Erase, true, Effect::Erased { block: 0 }, (90, 95)), []);
    }
}
