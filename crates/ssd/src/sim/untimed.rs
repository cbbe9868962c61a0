//! The part of a drive that does not depend on the time path: preconditioning, counters, wear.

use std::ops::Range;

use flashweir_trace::{Op, Request};

use super::ledger;
use crate::content::{Baseline, Content};
use crate::core::{AHEAD, Core, Spare};
use crate::error::RunError;
use crate::ftl::{BlockMap, Placement, Wear};
use crate::geometry::Geometry;
use crate::op::{BlockAt, LevelEntry};
use crate::slc::SlcState;
use crate::stats::{Counters, FlashTime};
use crate::zones::Zones;

/// Stream of pages that no tenant wrote: the last one, which no run has.
const NO_TENANT: u16 = u16::MAX;

/// The part of a drive that does not depend on the time path, whatever its checks.
pub(super) trait State {
    fn fill(&mut self, pages: Range<u64>) -> Result<(), RunError>;
    fn overwrite(&mut self, requests: &[Request], everything: bool) -> Result<(), RunError>;
    fn counters(&self) -> &Counters;
    fn flash_time(&self) -> &FlashTime;
    fn forget_counts(&mut self);
    fn begin_journal(&mut self) -> Baseline;
    fn begin_levels(&mut self) -> Vec<LevelEntry>;
    fn geometry(&self) -> &Geometry;
    fn wear(&self) -> Wear;
    fn groups(&self) -> Option<Placement>;
    fn slc(&self) -> Option<SlcState>;
    fn trim_backlog(&self) -> Option<u64>;
    fn zones(&self) -> Option<&Zones>;
    fn spare(&self) -> Option<Spare>;
    fn free_blocks(&self, channel: u32) -> u64;
    fn block_map(&self, max_cells: u64) -> BlockMap;
    fn spilled(&self) -> u64;
    /// The block that holds a sector, if one does.
    fn block_of(&self, lba: u64) -> Option<BlockAt>;
}

impl<C: Content> State for Core<C> {
    fn fill(&mut self, pages: Range<u64>) -> Result<(), RunError> {
        pages.into_iter().try_for_each(|lpn| self.place_untimed(lpn, NO_TENANT))
    }

    fn overwrite(&mut self, requests: &[Request], everything: bool) -> Result<(), RunError> {
        let capacity = self.geometry.capacity_sectors();
        let mut number = 0;
        for requests in requests.chunks(AHEAD) {
            self.look_ahead(requests);
            for request in requests {
                number += 1;
                ledger::check_address(request, number, capacity)?;
                match request.op {
                    _ if ledger::is_empty(request) => {}
                    op if op.is_zoned() && !self.takes_zone_commands() => {
                        return Err(RunError::NotZoned { number, op: op.name() });
                    }
                    Op::Flush => {}
                    Op::Read if !everything => {}
                    Op::Read | Op::Write => {
                        for part in self.parts(request) {
                            self.place_untimed(part.lpn, part.stream)?;
                        }
                    }
                    _ => self.manage_untimed(request)?,
                }
            }
        }
        Ok(())
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn flash_time(&self) -> &FlashTime {
        Core::flash_time(self)
    }

    fn forget_counts(&mut self) {
        Core::forget_counts(self);
    }

    fn begin_journal(&mut self) -> Baseline {
        self.content.begin(&self.geometry).unwrap_or_default()
    }

    fn begin_levels(&mut self) -> Vec<LevelEntry> {
        self.content.begin_levels()
    }

    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    fn wear(&self) -> Wear {
        self.ftl.wear().of_each(u64::from(self.geometry.units() / self.mapped_units()))
    }

    fn groups(&self) -> Option<Placement> {
        self.ftl.placement()
    }

    fn slc(&self) -> Option<SlcState> {
        let blocks = u64::from(self.geometry.units() / self.mapped_units());
        self.ftl.slc_state().map(|state| state.of_each(blocks))
    }

    fn trim_backlog(&self) -> Option<u64> {
        self.defers_trims().then(|| Core::trim_backlog(self))
    }

    fn zones(&self) -> Option<&Zones> {
        Core::zones(self)
    }

    fn spare(&self) -> Option<Spare> {
        Core::spare(self)
    }

    fn free_blocks(&self, channel: u32) -> u64 {
        let units = self.geometry.units() / self.geometry.channels;
        let of_channel = channel * units..(channel + 1) * units;
        of_channel.map(|unit| Core::unopened_blocks(self, unit)).sum()
    }

    fn block_map(&self, max_cells: u64) -> BlockMap {
        self.ftl.block_map(max_cells, self.geometry.pages_per_block)
    }

    fn spilled(&self) -> u64 {
        self.alloc.spilled()
    }

    fn block_of(&self, lba: u64) -> Option<BlockAt> {
        let (lpn, _) = self.page_sectors.split(lba);
        Some(Core::block_of(self, self.place_of(lpn)?))
    }
}
