//! Commands for pages of flash that hold several mapping units.
//!
//! A page is open from its first mapping unit until its command is handed over; then it is closed, and what is left of it is
//! padding. In no time (preconditioning) there are no commands: pages are filled over all writes, and the open ones are closed
//! before the first write that takes time.

use super::Core;
use super::pending::{Grouped, Member, UnitPart};
use crate::content::Content;
use crate::nand::Executor;
use crate::op::{Command, CommandKind, Effect, FlashOp, PageAt, PageSlice};
use crate::sched::Pages;

impl<C: Content> Core<C> {
    /// True if pages of flash hold several mapping units, and get their unit when they are written.
    #[inline]
    pub(crate) fn packs_late(&self) -> bool {
        self.geometry.units_per_page > 1 && self.shares_map
    }

    /// The unit that a mapping unit goes to because a page of flash there is being filled by its tenant. One whose rest is on
    /// another die (`left`) joins none.
    pub(crate) fn fills(&self, part: &PageSlice, left: bool) -> Option<u32> {
        let (_, unit) = self.filling.filter(|(stream, _)| *stream == part.stream)?;
        self.ftl.open_page_of(unit)?;
        let before = self.alloc.locate(part.lpn).filter(|home| self.ftl.lookup(*home).is_some());
        let chains = left && before.is_some_and(|home| home.unit / self.planes != unit / self.planes);
        let has_room = |unit: u32| before.is_some_and(|home| home.unit == unit) || self.ftl.has_room(unit);
        let takes = self.alloc.may_take(part.stream, part.lpn, unit, &self.geometry, has_room);
        (!chains && takes && has_room(unit)).then_some(unit)
    }

    /// Hands over the commands that wait for a die, or all of them. Their pages are closed.
    #[inline]
    pub(super) fn flush_pending(&mut self, now_ns: u64, die: Option<u32>, executor: &mut impl Executor) {
        if self.pending.is_empty() {
            return;
        }
        let commands = self.pending.take(die);
        if self.geometry.units_per_page > 1 {
            for (unit, page) in commands.iter().flat_map(Grouped::programs) {
                self.counters.padded_units += u64::from(self.close_flash_page((*unit, *page)));
            }
        }
        self.pending.hand_over(commands, now_ns, executor, &mut self.content);
    }

    /// Before a mapping unit gets its place: closes the pages that were filled in no time, if this one takes time.
    #[inline]
    pub(super) fn begin_unit(&mut self, executor: &impl Executor) {
        if self.open_untimed && executor.takes_time() {
            self.close_untimed();
        }
    }

    #[cold]
    #[inline(never)]
    fn close_untimed(&mut self) {
        self.open_untimed = false;
        for unit in 0..self.mapped_units() {
            self.ftl.close_pages(unit);
        }
    }

    /// As `issue_host`, for a mapping unit: it goes with the command of its page of flash, if one waits. Returns true if it does.
    #[inline(never)]
    pub(super) fn issue_unit(
        &mut self,
        now_ns: u64,
        tag: u32,
        op: &FlashOp,
        executor: &mut impl Executor,
    ) -> bool {
        let per_page = self.geometry.units_per_page;
        let pages = if executor.wants_pages() { self.pages_of(op, &[]) } else { Pages::default() };
        let effect = self.content.apply(op, &[]);
        let member = Member { plane: op.unit % self.planes, pages, effect, block: self.guarded(op) };
        if let Effect::Programmed { ppn, .. } = op.effect
            && (op.kind == CommandKind::Program && self.ageing.is_none() && executor.takes_time())
            && self.pending.join_program((op.unit, ppn / per_page), (tag, op.opens), &member)
        {
            return true;
        }
        let mut command = Command { tag, awaited: true, ..self.command_of(op, &[], 1, None) };
        if !executor.takes_time() {
            self.age(None, op, (&[], 1), &mut command);
            self.open_untimed = true;
            self.submit(now_ns, command, member, executor);
            return false;
        }
        let (ppn, old) = match op.effect {
            Effect::Programmed { ppn, stale, .. } => (ppn, stale.filter(|_| op.kind == CommandKind::Rewrite)),
            Effect::Read { ppn, .. } => (ppn, None),
            _ => return false,
        };
        let at: PageAt = (op.unit, ppn / per_page);
        let old_ppn = old.map(|(_, ppn)| ppn);
        let old = old.map(|(unit, ppn)| (unit, ppn / per_page));
        // A page that is programmed crosses whole, whatever it holds.
        let read = if op.kind == CommandKind::Read { Some(at) } else { old };
        let slot = if op.kind == CommandKind::Read { ppn } else { old_ppn.unwrap_or(0) } % per_page;
        let mut part = UnitPart {
            at,
            old,
            read,
            lane: self.codewords.lane(slot),
            crossing: op.crossing,
            more_bus_ns: 0,
        };
        // A page that a command of the request reads already is as it was.
        let is_read = match op.kind {
            CommandKind::Read => self.pending.reads(at, command.purpose),
            _ => old.is_some_and(|old| self.pending.completes_from(at, old)),
        };
        let bus_ns = command.bus_ns;
        if !is_read {
            self.age(Some(now_ns), op, (&[], 1), &mut command);
            part.more_bus_ns = command.bus_ns - bus_ns;
        } else if op.kind != CommandKind::Read {
            command.program_ns = self.programming(Some(now_ns), (op.unit, ppn), command.program_ns);
        }
        if self.pending.join_page(&command, &part, &member, &self.timing) {
            self.rebuild_for_host(now_ns, op, tag, executor);
            return true;
        }
        let die = command.die;
        self.pending.join(command, member, executor.serving());
        self.pending.note_page(die, &part, &self.timing);
        self.rebuild_for_host(now_ns, op, tag, executor);
        false
    }

    /// True if a mapping unit written in part needs no read of its own: the command of its page reads the old page already.
    pub(super) fn is_read_already(&self, unit: u32, ppn: u32, old: PageAt) -> bool {
        if self.geometry.units_per_page == 1 {
            return false;
        }
        let page = |ppn: u32| ppn / self.geometry.units_per_page;
        self.pending.completes_from((unit, page(ppn)), (old.0, page(old.1)))
    }

    /// Transfers of pages of flash over the bus where mapping units move: each page read or programmed, but for those that are
    /// copied back.
    pub(super) fn packed_transfers(&mut self, op: &FlashOp, moves: &[(u32, u32)]) -> u64 {
        let per_page = self.geometry.units_per_page;
        let copied = match &mut self.copybacks {
            Some(copybacks) if op.slc => {
                for (_, to) in moves {
                    copybacks.programmed(op.unit, *to);
                }
                0
            }
            Some(copybacks) => copybacks.moved_packed(op.unit, moves, per_page),
            None => 0,
        };
        self.counters.copybacks += copied;
        u64::from(op.reads) + u64::from(op.pages) - 2 * copied
    }

    /// Array times of the reads and programs of an operation that moves mapping units, and the time on the bus beyond one transfer
    /// a page, ns.
    pub(super) fn packed_ns(&self, op: &FlashOp, moves: &[(u32, u32)]) -> (u64, u64, u64) {
        let timing = &self.timing;
        if timing.uniform {
            let [reads, programs] = [op.reads, op.pages].map(u64::from);
            let read_ns = timing.read_ns(op.unit, 0, op.slc);
            return (reads * read_ns, programs * timing.program_ns(op.unit, 0, false).0, 0);
        }
        let per_page = self.geometry.units_per_page;
        let distinct = |ppns: &mut dyn Iterator<Item = u32>| {
            let mut pages: Vec<u32> = ppns.map(|ppn| ppn / per_page).collect();
            pages.sort_unstable();
            pages.dedup();
            pages
        };
        let read = distinct(&mut moves.iter().map(|(from, _)| *from));
        let programmed = distinct(&mut moves.iter().map(|(_, to)| *to));
        // The first page may have been read by the step before.
        let in_ram = read.len() - op.reads as usize;
        let read_ns = read[in_ram..].iter().map(|page| timing.read_ns(op.unit, *page, op.slc)).sum();
        let programs = programmed.iter().map(|page| timing.program_ns(op.unit, *page, false));
        let (program_ns, on_bus_ns) =
            programs.fold((0, 0), |(array, bus), program| (array + program.0, bus + program.1));
        (read_ns, program_ns, on_bus_ns - programmed.len() as u64 * timing.transfer_ns)
    }
}
