//! From pages of requests to commands: the part of a run that both time paths share.
//!
//! [`Core`] owns allocation, translation, counters and checks; it knows no queue and no clock. It turns the pages of a
//! request into commands, groups those that can go as one command over several planes, and hands them to an
//! [`Executor`] in the order in which they may run.

mod pending;

use flashweir_trace::Request;

use crate::alloc::{Alloc, AllocView, Home};
use crate::config::Config;
use crate::content::{Content, Stage};
use crate::divisor::Divisor;
use crate::error::{ConfigError, RunError};
use crate::ftl::{Flash, Ftl, MapWork, MergeKind, Step};
use crate::gc::planner::Action;
use crate::geometry::Geometry;
use crate::nand::timing::Timing;
use crate::nand::{Command, CommandKind, Executor, NOBODY, Purpose};
use crate::sched::Pages;
use crate::stats::{Collections, Counters, FlashTime};
use pending::Pending;

/// Requests that are looked up together.
pub(crate) const AHEAD: usize = 16;

/// Sectors of one page that a request covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) lpn: u64,
    pub(crate) first: u32,
    pub(crate) end: u32,
    /// The tenant whose request it is.
    pub(crate) stream: u16,
}

/// Everything about a drive but time.
#[derive(Clone, Debug)]
pub(crate) struct Core<C> {
    pub(crate) geometry: Geometry,
    pub(crate) page_sectors: Divisor,
    pub(crate) alloc: Alloc,
    pub(crate) ftl: Ftl,
    pub(crate) counters: Counters,
    /// Kept here for collections that the translation layer makes on its own, by the run loop for those made in steps.
    pub(crate) collections: Collections,
    pub(crate) content: C,
    timing: Timing,
    planes: u32,
    pages_per_block: u32,
    pending: Pending,
}

/// What allocation may see.
struct View<'a, X> {
    executor: &'a X,
    ftl: &'a Ftl,
    /// Unit of the version that the write replaces: it can always take the next one.
    before: Option<u32>,
    now_ns: u64,
}

impl<X: Executor> AllocView for View<'_, X> {
    fn die_is_idle(&self, die: u32) -> bool {
        self.executor.die_is_idle(die, self.now_ns)
    }
    fn has_room(&self, unit: u32) -> bool {
        self.before == Some(unit) || self.ftl.has_room(unit)
    }
}

/// Turns what the translation layer does into commands.
struct Sink<'a, X, C> {
    executor: &'a mut X,
    counters: &'a mut Counters,
    collections: &'a mut Collections,
    content: &'a mut C,
    pending: &'a mut Pending,
    timing: &'a Timing,
    pages_per_block: u32,
    planes: u32,
    now_ns: u64,
    read_ns: u64,
    program_ns: u64,
    /// Pages moved, for an executor that listens.
    moves: Pages,
    /// Blocks opened that no command was made for yet.
    opened: u8,
    /// Whether this is one step of a collection: steps of several planes are grouped, and the run loop keeps the course.
    step: bool,
    /// Data blocks merged in full since the last collection was over.
    merged: u64,
    /// Who waits for an entry of the map to be read: the caller's tag, or `None`.
    reader: Option<u32>,
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
        self.pending.flash_time.charge(&command);
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

impl<C: Content> Core<C> {
    pub(crate) fn new(
        config: &Config,
        seed: u64,
        content: impl FnOnce(&Geometry) -> C,
    ) -> Result<Self, ConfigError> {
        let geometry = Geometry::new(config)?;
        let alloc = Alloc::new(&config.alloc, &geometry);
        let ftl = Ftl::new(config, &geometry, alloc.shares_map(), seed);
        Ok(Self {
            page_sectors: Divisor::new(geometry.page_sectors.into()),
            ftl,
            alloc,
            counters: Counters::default(),
            collections: Collections::default(),
            content: content(&geometry),
            timing: Timing::new(config)?,
            planes: geometry.planes,
            pages_per_block: geometry.pages_per_block,
            pending: Pending::new(config.timing.multi_plane && geometry.planes > 1),
            geometry,
        })
    }

    /// The translation layer, and what hears of all that it does.
    #[inline]
    fn sink<'a, X>(&'a mut self, now_ns: u64, executor: &'a mut X) -> (&'a mut Ftl, Sink<'a, X, C>) {
        let sink = Sink {
            executor,
            counters: &mut self.counters,
            collections: &mut self.collections,
            content: &mut self.content,
            pending: &mut self.pending,
            timing: &self.timing,
            pages_per_block: self.pages_per_block,
            planes: self.planes,
            now_ns,
            read_ns: 0,
            program_ns: 0,
            moves: Pages::default(),
            opened: 0,
            step: false,
            merged: 0,
            reader: None,
        };
        (&mut self.ftl, sink)
    }

    /// Flash time of tenants so far.
    pub(crate) fn flash_time(&self) -> &FlashTime {
        &self.pending.flash_time
    }

    /// Commands made from now on are charged to this tenant, until a page of another one comes.
    pub(crate) fn serve_tenant(&mut self, tenant: u16) {
        self.pending.flash_time.serve(tenant);
    }

    /// Forgets what preconditioning counted.
    pub(crate) fn forget_counts(&mut self) {
        self.counters = Counters::default();
        self.pending.flash_time.forget();
    }

    /// Makes the next step of a unit's collection (see [`Ftl::collect_step`]).
    pub(crate) fn collect_step(
        &mut self,
        now_ns: u64,
        unit: u32,
        executor: &mut impl Executor,
    ) -> Result<Option<Step>, RunError> {
        let (ftl, mut sink) = self.sink(now_ns, executor);
        sink.step = true;
        ftl.collect_step(unit, &mut sink)
    }

    /// Does what a follower does while another unit makes the step (see [`Ftl::follow_copy`]). Returns whether it did anything.
    pub(crate) fn follow(
        &mut self,
        now_ns: u64,
        unit: u32,
        action: Action,
        executor: &mut impl Executor,
    ) -> Result<bool, RunError> {
        let (ftl, mut sink) = self.sink(now_ns, executor);
        sink.step = true;
        match action {
            Action::Idle => Ok(false),
            Action::Copy => ftl.follow_copy(unit, &mut sink),
            Action::Merge { block } => ftl.merge(unit, block, &mut sink),
            Action::Move => ftl.follow_move(unit, &mut sink),
            Action::Erase => ftl.follow_erase(unit, &mut sink),
        }
    }

    /// The pages that a request touches, in order.
    #[inline]
    pub(crate) fn parts(&self, request: &Request) -> impl Iterator<Item = Part> + use<C> {
        let (lba, end, stream) = (request.lba, request.end(), request.stream);
        let page_sectors = self.page_sectors.get() as u32;
        let (lpn, first) = self.page_sectors.split(lba);
        let (last, last_sector) = self.page_sectors.split(end - 1);
        (lpn..=last).map(move |page| Part {
            lpn: page,
            first: if page == lpn { first as u32 } else { 0 },
            end: if page == last { last_sector as u32 + 1 } else { page_sectors },
            stream,
        })
    }

    /// The pages of flash that a request touches, in order, each as sectors of the page of its unit: what the write buffer
    /// takes in one by one.
    #[inline]
    pub(crate) fn entries(&self, request: &Request) -> impl Iterator<Item = Part> + use<C> {
        let flash_page = self.flash_page_sectors();
        self.parts(request).flat_map(move |part| {
            let pages = part.first / flash_page..=(part.end - 1) / flash_page;
            pages.map(move |page| Part {
                first: part.first.max(page * flash_page),
                end: part.end.min((page + 1) * flash_page),
                ..part
            })
        })
    }

    /// Sectors of a page of flash.
    pub(crate) fn flash_page_sectors(&self) -> u32 {
        self.page_sectors.get() as u32 / self.geometry.bound_pages
    }

    /// Pages of flash that a part of a page touches.
    #[inline]
    pub(crate) fn flash_pages(&self, part: Part) -> u64 {
        if self.geometry.bound_pages == 1 {
            return 1;
        }
        let flash_page = self.flash_page_sectors();
        u64::from((part.end - 1) / flash_page - part.first / flash_page + 1)
    }

    /// Looks up the first page of each of some requests that come next, all together: the processor then waits for memory
    /// once and not for every request. Changes nothing.
    #[inline]
    pub(crate) fn look_ahead(&self, requests: &[Request]) {
        let capacity = self.geometry.logical_pages;
        let found = requests.iter().fold(0, |found, request| {
            let (lpn, _) = self.page_sectors.split(request.lba);
            let home = if lpn < capacity { self.alloc.locate(lpn) } else { None };
            found ^ home.map_or(0, |home| self.ftl.peek(home))
        });
        std::hint::black_box(found);
    }

    /// Looks a page up in a map on flash. Returns the translation page that had to be read, if one had.
    #[cold]
    #[inline(never)]
    fn translate(
        &mut self,
        now_ns: u64,
        tag: u32,
        home: Option<Home>,
        executor: &mut impl Executor,
    ) -> Result<Option<u32>, RunError> {
        let Some(home) = home else { return Ok(None) };
        let (ftl, sink) = self.sink(now_ns, executor);
        ftl.translate(home, &mut Sink { reader: Some(tag), ..sink })
    }

    /// Reads a page from flash, if it is there. `staged` lies over it (for the checks).
    #[inline]
    pub(crate) fn read(
        &mut self,
        now_ns: u64,
        tag: u32,
        part: Part,
        staged: Option<Stage>,
        executor: &mut impl Executor,
    ) -> Result<(), RunError> {
        self.pending.flash_time.serve(part.stream);
        let home = self.alloc.locate(part.lpn);
        let translation =
            if self.ftl.has_map_on_flash() { self.translate(now_ns, tag, home, executor)? } else { None };
        let place = home.and_then(|home| Some((home.unit, self.ftl.lookup(home)?)));
        self.content.read(part.lpn, part.first..part.end, place, staged);
        let Some((unit, ppn)) = place else {
            self.counters.unmapped_page_reads += 1;
            return Ok(());
        };
        self.counters.host.reads += 1;
        let read_ns = self.timing.read_ns(ppn % self.pages_per_block);
        let command = self.command(unit, CommandKind::Read, tag, read_ns, self.timing.transfer_ns, 0);
        match translation {
            None => self.pending.add(
                now_ns,
                command,
                unit % self.planes,
                [(unit, ppn)],
                executor,
                &mut self.content,
            ),
            // It may not pass the read that says where the page is.
            Some(from) => {
                let pages = [(unit, from), (unit, ppn)];
                self.pending.add(now_ns, command, unit % self.planes, pages, executor, &mut self.content);
            }
        }
        Ok(())
    }

    /// Writes a page: the sectors of `part` straight from the host, or all that waits in an entry of the buffer. `whole`
    /// says whether they are all of the page. Returns false, having done nothing, if every unit that it may go to is taken.
    #[inline]
    pub(crate) fn write(
        &mut self,
        now_ns: u64,
        tag: u32,
        part: Part,
        whole: bool,
        stage: Stage,
        executor: &mut impl Executor,
    ) -> Result<bool, RunError> {
        self.pending.flash_time.serve(part.stream);
        let lpn = part.lpn;
        let before = if self.alloc.shares_map() { self.alloc.locate(lpn) } else { None };
        let mapped = before.filter(|home| self.ftl.lookup(*home).is_some());
        let view = View { executor, ftl: &self.ftl, before: mapped.map(|home| home.unit), now_ns };
        let Some(home) = self.alloc.place(lpn, &view) else { return Ok(false) };
        if stage == Stage::Direct {
            self.content.stage(stage, executor.serving(), lpn, part.first..part.end);
        }
        let (ftl, mut sink) = self.sink(now_ns, executor);
        let written = ftl.write(home, before, &mut sink)?;
        let opens = sink.opened;
        self.content.program(stage, home.unit, &written);
        self.counters.host.programs += 1;
        let program_ns = self.timing.program_ns(written.ppn % self.pages_per_block);
        let transfer_ns = self.timing.transfer_ns;
        let old = if whole { None } else { written.old };
        let Some((old_unit, old_ppn)) = old else {
            let program = self.command(home.unit, CommandKind::Program, tag, 0, transfer_ns, program_ns);
            let command = Command { opens, ..program };
            let pages = [(home.unit, written.ppn)];
            self.pending.add(now_ns, command, home.unit % self.planes, pages, executor, &mut self.content);
            return Ok(true);
        };
        self.counters.host.reads += 1;
        self.counters.rewrite_reads += 1;
        let read_ns = self.timing.read_ns(old_ppn % self.pages_per_block);
        if old_unit / self.planes == home.unit / self.planes {
            let rewrite =
                self.command(home.unit, CommandKind::Rewrite, tag, read_ns, 2 * transfer_ns, program_ns);
            let command = Command { opens, ..rewrite };
            let pages = [(old_unit, old_ppn), (home.unit, written.ppn)];
            self.pending.add(now_ns, command, home.unit % self.planes, pages, executor, &mut self.content);
        } else {
            let read = self.command(old_unit, CommandKind::Read, tag, read_ns, transfer_ns, 0);
            let program = self.command(home.unit, CommandKind::Program, tag, 0, transfer_ns, program_ns);
            let program = Command { opens, ..program };
            self.flush(now_ns, executor);
            executor.touches(old_unit, old_ppn);
            self.content.handed(&program, 1 << (home.unit % self.planes));
            self.pending.flash_time.charge(&read);
            self.pending.flash_time.charge(&program);
            executor.submit_chain(now_ns, read, program, (home.unit, written.ppn));
        }
        Ok(true)
    }

    /// Forgets whole pages of `part`; a page covered in part keeps its data.
    pub(crate) fn trim(
        &mut self,
        now_ns: u64,
        part: Part,
        executor: &mut impl Executor,
    ) -> Result<(), RunError> {
        if u64::from(part.end - part.first) < self.page_sectors.get() {
            return Ok(());
        }
        self.pending.flash_time.serve(part.stream);
        self.content.trim(executor.serving(), part.lpn);
        if let Some(home) = self.alloc.locate(part.lpn) {
            let (ftl, mut sink) = self.sink(now_ns, executor);
            let was_mapped = ftl.trim(home, &mut sink)?;
            self.counters.trimmed_pages += u64::from(was_mapped);
        }
        Ok(())
    }

    /// Hands over what waits to be grouped. To be called when a request, or a flush of the buffer, is complete.
    #[inline]
    pub(crate) fn flush(&mut self, now_ns: u64, executor: &mut impl Executor) {
        if self.pending.grouping() {
            self.pending.flush(now_ns, executor, &mut self.content);
        }
    }

    /// Tags that wait for the command of another tag: that one, then the companion. Cleared by the call.
    pub(crate) fn take_companions(&mut self) -> Vec<(u32, u32)> {
        self.pending.take_companions()
    }

    /// A page that a tenant writes in preconditioning: no time, no counts but the translation layer's own.
    #[inline]
    pub(crate) fn place_untimed(&mut self, lpn: u64, stream: u16) -> Result<(), RunError> {
        self.counters.host_pages_written += 1;
        let part = Part { lpn, first: 0, end: self.page_sectors.get() as u32, stream };
        let written = self.write(0, NOBODY, part, true, Stage::Direct, &mut crate::nand::Untimed)?;
        self.flush(0, &mut crate::nand::Untimed);
        if written { Ok(()) } else { Err(RunError::NoRoom { waiting: 1 }) }
    }

    #[inline]
    fn command(
        &self,
        unit: u32,
        kind: CommandKind,
        tag: u32,
        read_ns: u64,
        bus_ns: u64,
        program_ns: u64,
    ) -> Command {
        let die = if self.planes == 1 { unit } else { unit / self.planes };
        Command {
            die,
            kind,
            purpose: Purpose::Host,
            opens: 0,
            pages: 1,
            read_ns,
            bus_ns,
            program_ns,
            tag,
            awaited: true,
        }
    }

    pub(crate) fn snapshot(&mut self) -> Self {
        Self {
            geometry: self.geometry.clone(),
            alloc: self.alloc.snapshot(),
            ftl: self.ftl.snapshot(),
            counters: self.counters.clone(),
            collections: self.collections.clone(),
            content: self.content.clone(),
            timing: self.timing.clone(),
            pending: self.pending.clone(),
            ..*self
        }
    }
}
