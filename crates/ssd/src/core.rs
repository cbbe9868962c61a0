//! From pages of requests to commands: the part of a run that both time paths share.
//!
//! [`Core`] owns allocation, translation, counters and checks; it knows no queue and no clock. It turns the pages of a
//! request into commands, groups those that can go as one command over several planes, and hands them to an
//! [`Executor`] in the order in which they may run.

mod pending;
mod sink;
mod untimed;

use flashweir_trace::{Op, Request};

use crate::alloc::{Alloc, AllocView, Home};
use crate::buffer::{PageShape, Place};
use crate::config::{Config, Precondition};
use crate::content::{Content, Stage};
use crate::divisor::Divisor;
use crate::error::{ConfigError, RunError};
use crate::ftl::{Ftl, Step};
use crate::gc::planner::Action;
use crate::geometry::Geometry;
use crate::nand::timing::Timing;
use crate::nand::{Command, CommandKind, Executor, Purpose};
use crate::sched::Pages;
use crate::stats::{Collections, Counters, FlashTime};
use pending::Pending;
use sink::Sink;

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
    /// Whether a page that was never written is put there when it is first read.
    on_read: bool,
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

impl<C: Content> Core<C> {
    pub(crate) fn new(
        config: &Config,
        seed: u64,
        tenants: u16,
        content: impl FnOnce(&Geometry) -> C,
    ) -> Result<Self, ConfigError> {
        let geometry = Geometry::new(config)?;
        let tenants = config.tenants.are_on().then_some(tenants);
        let alloc = Alloc::new(&config.alloc, tenants, &geometry);
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
            on_read: config.precondition == Precondition::OnRead,
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
        self.alloc.forget_counts();
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

    /// What a write buffer has to know of the pages.
    pub(crate) fn page_shape(&self) -> PageShape {
        PageShape {
            flash_page_sectors: self.flash_page_sectors(),
            pages_per_block: self.geometry.pages_per_block,
        }
    }

    /// The queue of a page in the write buffer, and its place there.
    #[inline]
    pub(crate) fn queue_of(&self, part: &Part) -> (u32, Place) {
        let (queue, number) = self.alloc.queue_of(part.stream, part.lpn);
        let pages = u64::from(self.geometry.pages_per_block);
        (queue, Place { block: number / pages, page: (number % pages) as u32 })
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
        if self.on_read {
            self.put_unless_there(part, staged)?;
        }
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
        self.write_for(now_ns, tag, part, (Op::Write, whole), stage, executor)
    }

    /// As [`Core::write`]; `op` says whose channels it goes to, those of the tenant's writes or of its reads.
    #[inline]
    fn write_for(
        &mut self,
        now_ns: u64,
        tag: u32,
        part: Part,
        (op, whole): (Op, bool),
        stage: Stage,
        executor: &mut impl Executor,
    ) -> Result<bool, RunError> {
        let lpn = part.lpn;
        let before = if self.alloc.shares_map() { self.alloc.locate(lpn) } else { None };
        let mapped = before.filter(|home| self.ftl.lookup(*home).is_some());
        let view = View { executor, ftl: &self.ftl, before: mapped.map(|home| home.unit), now_ns };
        let Some(home) = self.alloc.place(part.stream, op, lpn, &view) else { return Ok(false) };
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
            self.pending.charge(&read, executor);
            self.pending.charge(&program, executor);
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
