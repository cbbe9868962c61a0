//! From pages of requests to commands: the part of a run that both time paths share.
//!
//! [`Core`] owns allocation, translation, counters and checks; it knows no queue and no clock. It turns the pages of a
//! request into commands, groups those that can go as one command over several planes, and hands them to an
//! [`Executor`] in the order in which they may run.

mod aged_moves;
mod ageing;
mod broken;
mod codewords;
mod completing;
mod copyback;
mod entries;
mod erased;
mod gather;
mod issue;
mod packing;
mod pending;
mod refresh;
mod retire;
mod serve;
mod superblocks;
mod trims;
mod untimed;
mod zone_areas;
mod zone_commands;
mod zones;

use flashweir_trace::Request;
use serde::{Deserialize, Serialize};

use crate::ageing::Ageing;
use crate::alloc::{Alloc, Superblocks};
use crate::config::{Config, Precondition};
use crate::content::Content;
use crate::divisor::Divisor;
use crate::error::{ConfigError, RunError};
use crate::failure::Failure;
use crate::ftl::Ftl;
use crate::gc::planner::Action;
use crate::geometry::Geometry;
use crate::nand::Executor;
use crate::nand::timing::Timing;
use crate::op::{BlockAt, Ops, PageAt, PageSlice, Step, Work};
use crate::stats::{Collections, Counters, FlashTime};
use crate::trim::Backlog;
use ageing::Rebuilds;
pub use broken::Broken;
use codewords::Codewords;
use copyback::Copybacks;
use erased::Erased;
use gather::Share;
use issue::{Made, Part};
use pending::Pending;
pub use retire::{ReadOnly, Spare};
pub(crate) use serve::Cycle;
pub(crate) use superblocks::{Crew, Taken};
use untimed::Trimmed;
pub(crate) use zone_commands::{ZoneStep, ZoneWork};
use zones::ZoneRules;

/// Requests that are looked up together.
pub(crate) const AHEAD: usize = 16;

/// Everything about a drive but time.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a thing of its own that a drive has or not")]
pub(crate) struct Core<C> {
    pub(crate) geometry: Geometry,
    pub(crate) page_sectors: Divisor,
    pub(crate) alloc: Alloc,
    /// Where the pages of superblocks are, if there are any: units of the translation layer are sets of dies then.
    pub(crate) superblocks: Option<Box<Superblocks>>,
    /// With superblocks: their erased blocks.
    erased: Erased,
    /// Work of the units of a set in one operation; its memory is kept.
    #[serde(skip)]
    shares: Vec<Share>,
    pub(crate) ftl: Ftl,
    pub(crate) counters: Counters,
    /// Kept here for collections that the translation layer makes on its own, by the run loop for those made in steps.
    pub(crate) collections: Collections,
    pub(crate) content: C,
    pub(crate) timing: Timing,
    /// Moves without the bus, where the drive makes them.
    copybacks: Option<Copybacks>,
    /// Part of a page that a request needs, as the bus carries it.
    pub(crate) codewords: Codewords,
    planes: u32,
    pages_per_block: u32,
    /// As [`Alloc::shares_map`]: asked several times for each page.
    pub(crate) shares_map: bool,
    pending: Pending,
    /// Where pages of flash hold several mapping units and get their unit when they are written: the tenant and the unit written last.
    filling: Option<(u16, u32)>,
    /// True if pages of flash may be open that were filled in no time.
    open_untimed: bool,
    /// Pages of flash that the host wrote to each unit; empty where nobody asks.
    written: Vec<u64>,
    /// Operations of the translation layer's last call; empty between two calls.
    ops: Ops,
    /// True if a page that is read before it was written was there before the run.
    on_read: bool,
    /// True if there is an SLC cache.
    has_slc: bool,
    /// Pages that were not there, whatever is read.
    trimmed: Trimmed,
    /// Bit errors of blocks, if they age.
    ageing: Option<Box<Ageing>>,
    /// Pages of the command that is made which could not be read.
    unread: Vec<PageAt>,
    /// Pages that are rebuilt of the others of their stripes.
    rebuilds: Rebuilds,
    /// Blocks found worn out that the translation layer has not heard of.
    worn: Vec<BlockAt>,
    /// Requests that failed of which the ledger has not heard, by number.
    pub(crate) failing: Vec<(u64, Failure)>,
    /// Since when the drive is read-only.
    read_only: Option<ReadOnly>,
    /// Pages that the host gave up and the map has still to forget; none where a TRIM does that itself.
    backlog: Option<Box<Backlog>>,
    /// Zones, and their rules.
    zones: Option<Box<ZoneRules>>,
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
        let superblocks = config.alloc.superblocks(&geometry)?;
        let shape = superblocks.as_ref().map(|superblocks| superblocks.shape(&geometry));
        let shape = shape.as_ref().unwrap_or(&geometry);
        let alloc = if config.ftl.is_zoned() {
            Alloc::of_zones(&config.alloc, config.ftl.maps_zones_dynamically(), shape)
        } else {
            Alloc::new(&config.alloc, tenants, shape)
        };
        let zones = ZoneRules::new(&config.ftl, shape).map(Box::new);
        let ftl = Ftl::new(&config.ftl, &config.upkeep(), shape, alloc.units_sharing(shape), seed);
        let timing =
            Timing::new(&config.timing, &config.nand, &geometry, config.page.0, config.bound_planes())
                .of_codewords(&config.timing, config.codeword_bytes())
                .with_slc(&config.slc);
        let copybacks = Copybacks::new(config.gc.copyback, &geometry);
        let follows = C::ON
            || superblocks.is_some()
            || !timing.uniform
            || config.sched.reorders()
            || copybacks.is_some()
            || config.ageing.is_on()
            || zones.is_some();
        Ok(Self {
            ops: Ops::new(follows).packing(geometry.units_per_page),
            page_sectors: Divisor::new(geometry.page_sectors.into()),
            ftl,
            shares_map: alloc.shares_map(),
            alloc,
            erased: superblocks.as_ref().map_or_else(Erased::default, |own| Erased::new(own, shape)),
            superblocks: superblocks.map(Box::new),
            shares: Vec::new(),
            counters: Counters::default(),
            collections: Collections::default(),
            content: content(&geometry),
            timing,
            copybacks,
            codewords: Codewords::new(config),
            planes: geometry.planes,
            pages_per_block: geometry.pages_per_block,
            trimmed: Trimmed::new(geometry.logical_pages),
            ageing: Ageing::new(config, &geometry),
            unread: Vec::new(),
            rebuilds: Rebuilds::default(),
            worn: Vec::new(),
            failing: Vec::new(),
            read_only: None,
            backlog: config.trim.is_on().then(Box::default),
            zones,
            on_read: config.precondition == Precondition::OnRead && !config.ftl.is_zoned(),
            has_slc: config.slc.is_on(),
            pending: Pending::new(config.timing.multi_plane && geometry.planes > 1, geometry.units_per_page),
            filling: None,
            open_untimed: false,
            written: vec![0; if config.works_ahead() { geometry.units() as usize } else { 0 }],
            geometry,
        })
    }

    /// True if pages of several planes go as one command.
    pub(crate) fn groups(&self) -> bool {
        self.pending.grouping()
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
        self.written.fill(0);
        self.pending.flash_time.forget();
        self.alloc.forget_counts();
        self.ftl.forget_counts();
        self.ftl.end_preconditioning();
    }

    /// Pages of flash that the host wrote to a unit of the translation layer so far, where the drive works ahead.
    pub(crate) fn written(&self, unit: u32) -> u64 {
        let of = |unit: u32| self.written.get(unit as usize).copied().unwrap_or(0);
        match &self.superblocks {
            None => of(unit),
            Some(superblocks) => superblocks.units_of(unit).iter().map(|unit| of(*unit)).sum(),
        }
    }

    /// A step that moved a page of the SLC cache moves one for each plane of the set of dies.
    fn fold_row(&mut self, unit: u32, step: Option<Step>) -> Result<(), RunError> {
        if step == Some(Step::Fold { erased: false }) {
            for _ in 1..self.pages_of_step() {
                if !self.ftl.fold_more(unit, &mut self.ops)? {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Makes the next step of some work of a unit (see [`Ftl::step`]), of a set of dies with up to a page for each of its planes:
    /// `is_ahead`, only as long as that needs no block that a collection keeps for itself.
    pub(crate) fn step(
        &mut self,
        now_ns: u64,
        unit: u32,
        (work, is_ahead): (Work, bool),
        executor: &mut impl Executor,
    ) -> Result<Option<Step>, RunError> {
        self.begin_refresh(now_ns, unit, work);
        let step = self.ftl.step(unit, work, &mut self.ops)?;
        self.fold_row(unit, step)?;
        if step == Some(Step::Copy) && work != Work::WriteBack {
            for _ in 1..self.pages_of_step() {
                let has_room = !is_ahead || self.ftl.can_step_ahead(unit);
                if !has_room
                    || !self.ftl.moves_next(unit)
                    || self.ftl.step(unit, work, &mut self.ops)?.is_none()
                {
                    break;
                }
            }
        }
        self.issue(now_ns, Made { part: Part::Step, ..Made::default() }, executor);
        Ok(step)
    }

    /// Does what a follower does while another unit makes the step (see [`Ftl::follow_copy`]). Returns whether it did anything.
    pub(crate) fn follow(
        &mut self,
        now_ns: u64,
        unit: u32,
        action: Action,
        executor: &mut impl Executor,
    ) -> Result<bool, RunError> {
        let most = self.pages_of_step();
        let (ftl, ops) = (&mut self.ftl, &mut self.ops);
        let acted = match action {
            Action::Idle => false,
            Action::Copy => {
                let acted = ftl.follow_copy(unit, ops)?;
                let mut more = acted;
                for _ in 1..most {
                    more = more && ftl.follow_copy(unit, ops)?;
                }
                acted
            }
            Action::Merge { block } => ftl.merge(unit, block, ops)?,
            Action::Move => ftl.follow_move(unit, ops)?,
            Action::Erase => ftl.follow_erase(unit, ops)?,
        };
        self.issue(now_ns, Made { part: Part::Step, ..Made::default() }, executor);
        Ok(acted)
    }

    /// The pages that a request touches, in order.
    #[inline]
    pub(crate) fn parts(&self, request: &Request) -> impl Iterator<Item = PageSlice> + use<C> {
        let (lba, end, stream, handle) = (request.lba, request.end(), request.stream, request.handle);
        let page_sectors = self.page_sectors.get() as u32;
        let (lpn, first) = self.page_sectors.split(lba);
        let (last, last_sector) = self.page_sectors.split(end - 1);
        (lpn..=last).map(move |page| PageSlice {
            lpn: page,
            first: if page == lpn { first as u32 } else { 0 },
            end: if page == last { last_sector as u32 + 1 } else { page_sectors },
            stream,
            handle,
        })
    }

    /// Sectors of a page of flash, or of a mapping unit where that is smaller.
    pub(crate) fn flash_page_sectors(&self) -> u32 {
        self.geometry.flash_page_sectors()
    }

    /// Pages of flash that a part of a page touches.
    #[inline]
    pub(crate) fn flash_pages(&self, part: PageSlice) -> u64 {
        if self.geometry.bound_pages * self.geometry.mapped_pages == 1 {
            return 1;
        }
        // With mapping units smaller than a page of flash, it is one of these.
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

    /// Hands over what waits to be grouped. To be called when a request, or a flush of the buffer, is complete.
    #[inline]
    pub(crate) fn flush(&mut self, now_ns: u64, executor: &mut impl Executor) {
        if self.pending.grouping() {
            self.flush_pending(now_ns, None, executor);
            self.read_stripes(now_ns, executor);
        }
    }

    /// Tags that wait for the command of another tag: that one, then the companion. Cleared by the call.
    pub(crate) fn take_companions(&mut self) -> Vec<(u32, u32)> {
        self.pending.take_companions()
    }

    /// As [`Core::take_companions`], whose memory is kept.
    pub(crate) fn companions(&mut self) -> impl Iterator<Item = (u32, u32)> {
        self.pending.companions()
    }

    pub(crate) fn snapshot(&mut self) -> Self {
        Self {
            geometry: self.geometry.clone(),
            written: self.written.clone(),
            alloc: self.alloc.snapshot(),
            superblocks: self.superblocks.clone(),
            shares: Vec::new(),
            erased: self.erased.clone(),
            ftl: self.ftl.snapshot(),
            counters: self.counters.clone(),
            collections: self.collections.clone(),
            content: self.content.clone(),
            timing: self.timing.clone(),
            pending: self.pending.clone(),
            ops: self.ops.clone(),
            trimmed: self.trimmed.snapshot(),
            ageing: self.ageing.clone(),
            unread: Vec::new(),
            rebuilds: self.rebuilds.clone(),
            worn: self.worn.clone(),
            failing: self.failing.clone(),
            backlog: self.backlog.clone(),
            zones: self.zones.clone(),
            copybacks: self.copybacks.as_mut().map(Copybacks::snapshot),
            ..*self
        }
    }
}
