//! What a translation layer does to the flash, as commands.

use super::pending::Pending;
use crate::content::Content;
use crate::ftl::{Flash, MapWork, MergeKind};
use crate::nand::timing::Timing;
use crate::nand::{Command, CommandKind, Executor, NOBODY, Purpose};
use crate::sched::Pages;
use crate::stats::{Collections, Counters};

/// Turns what the translation layer does into commands.
pub(super) struct Sink<'a, X, C> {
    pub(super) executor: &'a mut X,
    pub(super) counters: &'a mut Counters,
    pub(super) collections: &'a mut Collections,
    pub(super) content: &'a mut C,
    pub(super) pending: &'a mut Pending,
    pub(super) timing: &'a Timing,
    pub(super) pages_per_block: u32,
    pub(super) planes: u32,
    pub(super) now_ns: u64,
    pub(super) read_ns: u64,
    pub(super) program_ns: u64,
    /// Pages moved, for an executor that listens.
    pub(super) moves: Pages,
    /// Blocks opened that no command was made for yet.
    pub(super) opened: u8,
    /// Whether this is one step of a collection: steps of several planes are grouped, and the run loop keeps the course.
    pub(super) step: bool,
    /// Data blocks merged in full since the last collection was over.
    pub(super) merged: u64,
    /// Who waits for an entry of the map to be read: the caller's tag, or `None`.
    pub(super) reader: Option<u32>,
}

impl<X: Executor, C: Content> Sink<'_, X, C> {
    fn command(&self, unit: u32, kind: CommandKind) -> Command {
        Command {
            die: unit / self.planes,
            kind,
            purpose: Purpose::Gc,
            opens: 0,
            pages: 1,
            read_ns: 0,
            bus_ns: 0,
            program_ns: 0,
            tag: NOBODY,
            awaited: false,
        }
    }

    /// The next command submitted reads or writes this page.
    fn touch(&mut self, unit: u32, ppn: u32) {
        self.pending.flush(self.now_ns, self.executor, self.content);
        self.executor.touches(unit, ppn);
    }

    fn submit(&mut self, unit: u32, command: Command) {
        if self.step && self.pending.grouping() {
            return self.pending.join_step(command, unit % self.planes, self.executor.serving());
        }
        // Pages of this request that wait to be grouped were placed before the collection and must stay before it.
        self.pending.flush(self.now_ns, self.executor, self.content);
        self.content.handed(&command, 1 << (unit % self.planes));
        self.executor.submit(self.now_ns, command);
    }
}

impl<X: Executor, C: Content> Flash for Sink<'_, X, C> {
    fn follows_pages(&self) -> bool {
        C::ON || !self.timing.uniform || self.executor.listens()
    }

    #[inline]
    fn moved(&mut self, unit: u32, from: u32, to: u32) {
        if !self.timing.uniform {
            self.read_ns += self.timing.read_ns(from % self.pages_per_block);
            self.program_ns += self.timing.program_ns(to % self.pages_per_block);
        }
        if self.executor.listens() {
            self.moves.add_move(unit, from, to);
        }
        self.content.copy(unit, from, to);
    }

    #[inline]
    fn opened(&mut self) {
        self.opened += 1;
    }

    fn copies(&mut self, unit: u32, pages: u32) {
        if pages == 0 {
            return;
        }
        let count = u64::from(pages);
        self.counters.gc.reads += count;
        self.counters.gc.programs += count;
        let (mut read_ns, mut program_ns) =
            (std::mem::take(&mut self.read_ns), std::mem::take(&mut self.program_ns));
        if self.timing.uniform {
            (read_ns, program_ns) = (count * self.timing.read_ns(0), count * self.timing.program_ns(0));
        }
        let bus_ns = 2 * count * self.timing.transfer_ns;
        let opens = std::mem::take(&mut self.opened);
        if !self.moves.is_empty() {
            self.pending.flush(self.now_ns, self.executor, self.content);
            self.executor.moves(std::mem::take(&mut self.moves));
        }
        self.content.copied(unit);
        let command = self.command(unit, CommandKind::Copies);
        self.submit(unit, Command { opens, pages, read_ns, bus_ns, program_ns, ..command });
    }

    fn erased(&mut self, unit: u32, block: u32) {
        self.counters.gc.erases += 1;
        self.content.erase(unit, block);
        if self.executor.listens() {
            self.pending.flush(self.now_ns, self.executor, self.content);
            let first = block * self.pages_per_block;
            self.executor.erases(unit, first, first + self.pages_per_block - 1);
        }
        let command = self.command(unit, CommandKind::Erase);
        self.submit(unit, Command { program_ns: self.timing.erase_ns, ..command });
    }

    fn merged(&mut self, kind: MergeKind) {
        match kind {
            MergeKind::Full => {
                self.counters.merges.full += 1;
                self.merged += 1;
            }
            MergeKind::Partial => self.counters.merges.partial += 1,
            MergeKind::Switch => self.counters.merges.switch += 1,
        }
    }

    fn collected(&mut self) {
        self.counters.collections += 1;
        let merged = std::mem::take(&mut self.merged);
        if !self.step {
            self.collections.record(merged);
        }
    }

    fn looked_up(&mut self, hit: bool) {
        self.counters.map.lookups += 1;
        self.counters.map.hits += u64::from(hit);
    }

    fn moved_map(&mut self) {
        self.counters.map.moves += 1;
    }

    fn read_map(&mut self, unit: u32, ppn: u32, work: MapWork) {
        self.counters.mapping.reads += 1;
        self.content.read_map(unit, ppn);
        let mut command = self.command(unit, CommandKind::Read);
        if work == MapWork::Load {
            self.counters.map.loads += 1;
            command.tag = self.reader.unwrap_or(NOBODY);
            command.awaited = self.reader.is_some();
        }
        let read_ns = self.timing.read_ns(ppn % self.pages_per_block);
        let bus_ns = self.timing.transfer_ns;
        self.touch(unit, ppn);
        self.submit(unit, Command { purpose: Purpose::Mapping, read_ns, bus_ns, ..command });
    }

    fn program_map(&mut self, unit: u32, _: u32, ppn: u32, work: MapWork) {
        self.counters.mapping.programs += 1;
        match work {
            MapWork::Load => {}
            MapWork::WriteBack => self.counters.map.write_backs += 1,
            MapWork::Update => self.counters.map.updates += 1,
        }
        self.content.program_map(unit, ppn);
        let command = self.command(unit, CommandKind::Program);
        let opens = std::mem::take(&mut self.opened);
        let program_ns = self.timing.program_ns(ppn % self.pages_per_block);
        let bus_ns = self.timing.transfer_ns;
        self.touch(unit, ppn);
        self.submit(unit, Command { purpose: Purpose::Mapping, opens, bus_ns, program_ns, ..command });
    }
}
