//! From operations to commands: how long they take, who waits for them, and which planes go as one.

use super::Core;
use super::pending::Member;
use crate::content::Content;
use crate::nand::Executor;
use crate::op::{BlockAt, Command, CommandKind, Effect, FlashOp, MapWork, NO_EFFECT, NOBODY, Purpose, Tally};
use crate::sched::Pages;
use crate::stats::{Collections, Counters};

/// As much of a collection as operations are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Part {
    /// All of it, or they collect nothing.
    #[default]
    Whole,
    /// One step: steps of several planes are grouped, and the planner keeps their course.
    Step,
    /// The rest of one of a superblock that was begun step by step.
    Rest,
}

/// Cause of a translation layer's operations.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Made {
    /// The tag that waits for an entry of the map to be read.
    pub(super) reader: Option<u32>,
    pub(super) part: Part,
    /// They are for a page that is written: it is grouped, and so is what it needs of the map.
    pub(super) page: bool,
    /// The tag that waits for the erases of a zone that is reset.
    pub(super) reset: Option<u32>,
}

impl<C: Content> Core<C> {
    /// Makes commands of what the translation layer has listed, and counts it.
    #[inline]
    pub(super) fn issue(&mut self, now_ns: u64, made: Made, executor: &mut impl Executor) {
        if self.ops.is_blank() {
            return;
        }
        if self.zones.is_some() {
            self.note_zones();
        }
        if self.superblocks.is_some() {
            // Stripes are read before their superblock is erased.
            self.read_stripes(now_ns, executor);
            self.issue_sets(now_ns, made, executor);
        } else {
            self.issue_all(now_ns, made, executor);
        }
        self.wear_out(now_ns);
    }

    #[inline(never)]
    fn issue_all(&mut self, now_ns: u64, made: Made, executor: &mut impl Executor) {
        self.ops.settle_opened();
        // Nothing is listed while commands are made, so most of the list can stay where it is.
        let (list, moves) = self.ops.lend();
        for op in &list {
            if let Effect::Laid { ppn, .. } = op.effect {
                if let Some(copybacks) = &mut self.copybacks {
                    copybacks.programmed(op.unit, ppn);
                }
                self.laying((op.unit, ppn));
                self.content.apply(op, &[]);
                (0..op.opens).for_each(|_| self.erased.owe((op.unit, ppn / self.pages_per_block)));
                continue;
            }
            let moves = if let Effect::Moved(range) = &op.effect { &moves[range.clone()] } else { &[] };
            self.issue_one(now_ns, made, op, moves, executor);
        }
        if self.ops.has_counted() {
            Self::count_tally(
                &mut self.counters,
                &mut self.collections,
                &self.ops.tally,
                made.part == Part::Step,
            );
        }
        self.ops.give_back(list, moves);
    }

    /// Makes a command of an operation, and counts it.
    pub(super) fn issue_one(
        &mut self,
        now_ns: u64,
        made: Made,
        op: &FlashOp,
        moves: &[(u32, u32)],
        executor: &mut impl Executor,
    ) {
        let crossing = self.crossing(op, moves);
        let mut command = self.command_of(op, moves, crossing, made.reader);
        command.opens += self.settle(op);
        self.age(executor.takes_time().then_some(now_ns), op, (moves, crossing), &mut command);
        if let Some(tag) = made.reset {
            (command.tag, command.awaited) = (tag, true);
        }
        let pages = if executor.wants_pages() { self.pages_of(op, moves) } else { Pages::default() };
        self.count(op);
        let effect = self.content.apply(op, moves);
        let plane = if self.planes == 1 { 0 } else { op.unit % self.planes };
        let member = Member { plane, pages, effect, block: self.guarded(op) };
        // A page's operations on its map join those of pages in other planes, and do not part these pages.
        let of_map = made.page && op.purpose == Purpose::Mapping;
        if (made.part == Part::Step || of_map) && self.pending.multi_plane() {
            self.pending.join_step(command, member, executor.serving());
            self.rebuild(now_ns, (command.tag, command.awaited), executor);
            return;
        }
        // Pages of this request that wait to be grouped were placed before the collection and must stay before it.
        if self.pending.grouping() {
            let die = (self.geometry.units_per_page > 1).then_some(command.die);
            self.flush_pending(now_ns, die, executor);
        }
        self.submit(now_ns, command, member, executor);
        self.rebuild(now_ns, (command.tag, command.awaited), executor);
    }

    /// Blocks that an operation of the translation layer opens as the first one for a page of them, which was there before the run.
    #[inline]
    fn settle(&mut self, op: &FlashOp) -> u8 {
        match op.effect {
            Effect::MapRead { ppn, .. } | Effect::MapProgrammed { ppn, .. } => {
                self.settle_page((op.unit, ppn))
            }
            Effect::Erased { block } => self.erased.settle((op.unit, block)),
            _ => 0,
        }
    }

    /// Hands a command over, charged to the tenant that is served.
    #[inline]
    pub(super) fn submit(
        &mut self,
        now_ns: u64,
        mut command: Command,
        Member { pages, effect, block, .. }: Member,
        executor: &mut impl Executor,
    ) {
        command.effect = self.content.handed(command.kind, &[effect]);
        self.pending.charge(&command, executor);
        if block.is_some() {
            executor.guard(block.as_slice());
        }
        executor.submit(now_ns, command, pages);
    }

    /// The block that an operation erases, or in which it replaces a page of another unit or locates pages that were moved; where
    /// that may be on another die.
    #[inline]
    pub(super) fn guarded(&self, op: &FlashOp) -> Option<BlockAt> {
        if !self.shares_map {
            return None;
        }
        match op.effect {
            Effect::Programmed { stale: Some((unit, ppn)), .. } if unit != op.unit => {
                Some((unit, ppn / self.pages_per_block))
            }
            Effect::MapProgrammed { clears, .. } => clears,
            Effect::Erased { block } => Some((op.unit, block)),
            _ => None,
        }
    }

    /// Of the pages that an operation moves, how many cross the bus; the others are copied back. Where it moves mapping units:
    /// transfers of pages of flash.
    #[inline]
    fn crossing(&mut self, op: &FlashOp, moves: &[(u32, u32)]) -> u64 {
        if self.geometry.units_per_page == 1 && self.copybacks.is_none() {
            return op.pages.into();
        }
        self.crossing_of_some(op, moves)
    }

    /// As [`Core::crossing`], where pages may be copied back or hold several mapping units.
    #[inline(never)]
    fn crossing_of_some(&mut self, op: &FlashOp, moves: &[(u32, u32)]) -> u64 {
        if self.geometry.units_per_page > 1 && matches!(op.effect, Effect::Moved(_)) {
            return self.packed_transfers(op, moves);
        }
        let Some(copybacks) = &mut self.copybacks else { return op.pages.into() };
        match &op.effect {
            // Folding checks the data on its way.
            Effect::Moved(_) if op.slc => {
                for (_, to) in moves {
                    copybacks.programmed(op.unit, *to);
                }
            }
            Effect::Moved(_) => {
                let crossing = copybacks.moved(op.unit, moves);
                self.counters.copybacks +=
                    (u64::from(op.pages) - crossing) * u64::from(self.geometry.mapped_pages);
                return crossing;
            }
            Effect::MapProgrammed { ppn, .. } => copybacks.programmed(op.unit, *ppn),
            _ => {}
        }
        op.pages.into()
    }

    /// The command that makes an operation. `moves`: the pages that it moves, if they are followed; `crossing` as
    /// [`Core::crossing`] says.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "as `issue_host`")]
    pub(super) fn command_of(
        &self,
        op: &FlashOp,
        moves: &[(u32, u32)],
        crossing: u64,
        reader: Option<u32>,
    ) -> Command {
        let timing = &self.timing;
        // Times are those of pages of flash.
        let per_page = self.geometry.units_per_page;
        let page = |ppn: u32| if per_page == 1 { ppn } else { ppn / per_page };
        let in_slc = |unit, ppn| self.has_slc && self.in_slc(unit, ppn);
        let die = if self.planes == 1 { op.unit } else { op.unit / self.planes };
        let (mut read_ns, mut bus_ns, mut program_ns) = (0, timing.transfer_ns, 0);
        let (mut tag, mut awaited) = (NOBODY, false);
        match &op.effect {
            Effect::Read { ppn, .. } => {
                read_ns = timing.read_part_ns(op.unit, page(*ppn), op.crossing, in_slc(op.unit, *ppn));
                bus_ns = timing.crossing_ns(op.crossing);
            }
            Effect::MapRead { ppn, work } => {
                read_ns = timing.read_ns(op.unit, page(*ppn), false);
                if *work == MapWork::Load {
                    (tag, awaited) = (reader.unwrap_or(NOBODY), reader.is_some());
                }
            }
            Effect::MapProgrammed { ppn, .. } | Effect::Parity { ppn } => {
                (program_ns, bus_ns) = timing.program_ns(op.unit, page(*ppn), in_slc(op.unit, *ppn));
            }
            Effect::Programmed { ppn, stale, .. } => {
                (program_ns, bus_ns) = timing.program_ns(op.unit, page(*ppn), in_slc(op.unit, *ppn));
                if op.kind == CommandKind::Rewrite {
                    read_ns = stale.map_or(0, |(unit, ppn)| {
                        timing.read_part_ns(unit, page(ppn), op.crossing, in_slc(unit, ppn))
                    });
                    bus_ns += timing.crossing_ns(op.crossing);
                }
            }
            Effect::Moved(_) if self.geometry.units_per_page > 1 => {
                let more_ns;
                (read_ns, program_ns, more_ns) = self.packed_ns(op, moves);
                bus_ns = bus_ns * crossing + more_ns;
            }
            Effect::Moved(_) => {
                let count = u64::from(op.pages);
                bus_ns *= 2 * crossing;
                if timing.uniform {
                    read_ns = count * timing.read_ns(op.unit, 0, op.slc);
                    program_ns = count * timing.program_ns(op.unit, 0, false).0;
                } else {
                    read_ns = moves.iter().map(|(from, _)| timing.read_ns(op.unit, *from, op.slc)).sum();
                    for (_, to) in moves {
                        let (array_ns, on_bus_ns) = timing.program_ns(op.unit, *to, false);
                        program_ns += array_ns;
                        bus_ns += on_bus_ns - timing.transfer_ns;
                    }
                }
            }
            Effect::Erased { block } => {
                // The layer has counted this erase.
                let erases = self.ftl.erases(self.mapped_unit(op.unit), *block).saturating_sub(1);
                (bus_ns, program_ns) = (0, timing.erase_ns(op.unit, *block, erases));
            }
            // Their times are those of shares of units (`superblocks.rs`).
            Effect::Laid { .. } | Effect::Gathered(_) => bus_ns = 0,
        }
        let link = self.link_of(op);
        let (kind, purpose, opens, pages, effect) = (op.kind, op.purpose, op.opens, op.pages, NO_EFFECT);
        Command { die, kind, purpose, opens, awaited, pages, tag, effect, link, read_ns, bus_ns, program_ns }
    }

    /// Pages that an operation reads, writes, moves or erases, for schedulers that reorder.
    pub(super) fn pages_of(&self, op: &FlashOp, moves: &[(u32, u32)]) -> Pages {
        let mut pages = Pages::default();
        let unit = op.unit;
        match &op.effect {
            Effect::Read { ppn, map } => {
                // It may not pass the read that says where the page is.
                if let Some(map) = map {
                    pages.add(unit, *map);
                }
                pages.add(unit, *ppn);
            }
            Effect::MapRead { ppn, .. }
            | Effect::MapProgrammed { ppn, .. }
            | Effect::Parity { ppn }
            | Effect::Laid { ppn, .. } => {
                pages.add(unit, *ppn);
            }
            Effect::Programmed { ppn, stale, .. } => {
                if let Some((unit, stale)) = stale.filter(|_| op.kind == CommandKind::Rewrite) {
                    pages.add(unit, stale);
                }
                pages.add(unit, *ppn);
            }
            Effect::Moved(_) => moves.iter().for_each(|(from, to)| pages.add_move(unit, *from, *to)),
            Effect::Gathered(gathered) => gathered.iter().for_each(|(_, to)| pages.add(unit, *to)),
            Effect::Erased { block } => {
                let first = block * self.pages_per_block;
                pages.add_run(unit, first, first + self.pages_per_block - 1);
            }
        }
        pages
    }

    /// Counts an operation that the drive makes on its own account.
    fn count(&mut self, op: &FlashOp) {
        let mapped_pages = u64::from(self.geometry.mapped_pages);
        let pages = u64::from(op.pages) * mapped_pages;
        let counters = &mut self.counters;
        match (op.purpose, op.kind) {
            (Purpose::Gc, CommandKind::Erase) => {
                counters.gc.erases += 1;
                counters.slc.erases += u64::from(op.slc);
            }
            (Purpose::Gc, _) => {
                counters.gc.reads += u64::from(op.reads) * mapped_pages;
                counters.gc.programs += pages;
            }
            (Purpose::Mapping, CommandKind::Read) => counters.mapping.reads += 1,
            (Purpose::Mapping, _) => counters.mapping.programs += 1,
            (Purpose::Host, CommandKind::Erase) => counters.host.erases += 1,
            (Purpose::Host, _) => {}
        }
        match op.effect {
            Effect::MapRead { work: MapWork::Load, .. } => counters.map.loads += 1,
            Effect::MapProgrammed { work: MapWork::WriteBack, .. } => counters.map.write_backs += 1,
            Effect::MapProgrammed { work: MapWork::Update, .. } => counters.map.updates += 1,
            _ => {}
        }
    }

    /// Counts what takes no operation. `step`: the planner keeps the course of collections.
    pub(super) fn count_tally(
        counters: &mut Counters,
        collections: &mut Collections,
        tally: &Tally,
        step: bool,
    ) {
        let [full, partial, switch] = tally.merges;
        counters.merges.full += full;
        counters.merges.partial += partial;
        counters.merges.switch += switch;
        counters.map.lookups += tally.looked_up;
        counters.map.hits += tally.hits;
        counters.map.moves += tally.map_moves;
        counters.padded_units += tally.padded;
        counters.moved_units += tally.moved_units;
        counters.slc.folded += tally.folded;
        counters.collections += tally.collections.len() as u64;
        if !step {
            tally.collections.iter().for_each(|merged| collections.record(*merged));
        }
    }
}
