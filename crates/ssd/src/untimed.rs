//! A drive without time: the flash operations that its translation layer makes for each write and discard.
//!
//! Allocation, translation and collection are those of every other run. The host, the write buffer, planners and schedulers
//! have no part: each unit collects when it must, and pages go to flash in the order in which they are written.

use flashweir_trace::{Op, Request};

use crate::alloc::{Alloc, AllocView};
use crate::config::Config;
use crate::divisor::Divisor;
use crate::error::{ConfigError, RunError};
use crate::ftl::{Flash, Ftl, MapWork, MergeKind};
use crate::geometry::Geometry;
use crate::stats::{FlashCounts, MergeCounts};

/// Flash operations made for one request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Pages of the request itself; its reads complete pages that it writes in part.
    pub host: FlashCounts,
    /// Garbage collection: relocated pages and erased blocks, merges included.
    pub gc: FlashCounts,
    /// Translation pages, where the map lies on flash.
    pub mapping: FlashCounts,
    /// Collections.
    pub collections: u64,
    /// Merges of data blocks with the log.
    pub merges: MergeCounts,
}

/// A simulated drive that takes writes and discards in no time.
#[derive(Clone, Debug)]
pub struct Untimed {
    geometry: Geometry,
    page_sectors: Divisor,
    alloc: Alloc,
    ftl: Ftl,
    total: Work,
    requests: u64,
}

impl Untimed {
    /// A new drive, nothing written; `seed` is that of random victims.
    ///
    /// # Errors
    /// The configuration makes no drive.
    pub fn new(config: &Config, seed: u64) -> Result<Self, ConfigError> {
        crate::config::refusals::check(config)?;
        let geometry = Geometry::new(config)?;
        let alloc = Alloc::new(&config.alloc, None, &geometry);
        Ok(Self {
            ftl: Ftl::new(config, &geometry, alloc.shares_map(), seed),
            page_sectors: Divisor::new(geometry.page_sectors.into()),
            alloc,
            geometry,
            total: Work::default(),
            requests: 0,
        })
    }

    /// The drive's shape.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Writes `sectors` sectors from sector `lba` on. Returns the work that it made.
    ///
    /// # Errors
    /// The sectors lie beyond the drive, or it has no room left.
    #[inline]
    pub fn write(&mut self, lba: u64, sectors: u32) -> Result<Work, RunError> {
        let before = self.total();
        self.execute(Request { time_ns: 0, lba, sectors, stream: 0, op: Op::Write })?;
        Ok(self.total().since(&before))
    }

    /// Discards `sectors` sectors from sector `lba` on; a page covered in part keeps its data. Returns the work that it made.
    ///
    /// # Errors
    /// As [`Untimed::write`].
    #[inline]
    pub fn trim(&mut self, lba: u64, sectors: u32) -> Result<Work, RunError> {
        let before = self.total();
        self.execute(Request { time_ns: 0, lba, sectors, stream: 0, op: Op::Trim })?;
        Ok(self.total().since(&before))
    }

    fn execute(&mut self, request: Request) -> Result<(), RunError> {
        self.requests += 1;
        if request.sectors == 0 {
            return Ok(());
        }
        let capacity_sectors = self.geometry.capacity_sectors();
        let Request { lba, op, .. } = request;
        let end = lba.saturating_add(request.sectors.into());
        if end > capacity_sectors {
            return Err(RunError::BeyondDrive { number: self.requests, lba, end, capacity_sectors });
        }
        let (first, skipped) = self.page_sectors.split(lba);
        let (last, last_sector) = self.page_sectors.split(end - 1);
        for lpn in first..=last {
            let whole =
                (lpn > first || skipped == 0) && (lpn < last || last_sector + 1 == self.page_sectors.get());
            match op {
                Op::Trim if whole => self.trim_page(lpn)?,
                Op::Write => self.write_page(lpn, whole)?,
                _ => {}
            }
        }
        Ok(())
    }

    #[inline]
    fn write_page(&mut self, lpn: u64, whole: bool) -> Result<(), RunError> {
        let before = if self.alloc.shares_map() { self.alloc.locate(lpn) } else { None };
        let mapped = before.filter(|home| self.ftl.lookup(*home).is_some());
        let view = View { ftl: &self.ftl, before: mapped.map(|home| home.unit) };
        let home = self.alloc.place(0, Op::Write, lpn, &view).ok_or(RunError::NoRoom { waiting: 1 })?;
        let written = self.ftl.write(home, before, &mut Count(&mut self.total))?;
        self.total.host.programs += 1;
        self.total.host.reads += u64::from(!whole && written.old.is_some());
        Ok(())
    }

    fn trim_page(&mut self, lpn: u64) -> Result<(), RunError> {
        if let Some(home) = self.alloc.locate(lpn) {
            self.ftl.trim(home, &mut Count(&mut self.total))?;
        }
        Ok(())
    }

    /// Work since the drive was new.
    #[inline]
    pub fn total(&self) -> Work {
        self.total
    }
}

/// What allocation may see: every die is idle.
struct View<'a> {
    ftl: &'a Ftl,
    /// Unit of the version that the write replaces: it can always take the next one.
    before: Option<u32>,
}

impl AllocView for View<'_> {
    fn die_is_idle(&self, _: u32) -> bool {
        true
    }
    fn has_room(&self, unit: u32) -> bool {
        self.before == Some(unit) || self.ftl.has_room(unit)
    }
}

/// Counts what the translation layer does.
struct Count<'a>(&'a mut Work);

impl Flash for Count<'_> {
    fn follows_pages(&self) -> bool {
        false
    }
    #[inline]
    fn moved(&mut self, _: u32, _: u32, _: u32) {}
    #[inline]
    fn copies(&mut self, _: u32, pages: u32) {
        self.0.gc.reads += u64::from(pages);
        self.0.gc.programs += u64::from(pages);
    }
    #[inline]
    fn erased(&mut self, _: u32, _: u32) {
        self.0.gc.erases += 1;
    }
    fn merged(&mut self, kind: MergeKind) {
        let merges = &mut self.0.merges;
        *match kind {
            MergeKind::Full => &mut merges.full,
            MergeKind::Partial => &mut merges.partial,
            MergeKind::Switch => &mut merges.switch,
        } += 1;
    }
    fn collected(&mut self) {
        self.0.collections += 1;
    }
    fn read_map(&mut self, _: u32, _: u32, _: MapWork) {
        self.0.mapping.reads += 1;
    }
    fn program_map(&mut self, _: u32, _: u32, _: u32, _: MapWork) {
        self.0.mapping.programs += 1;
    }
}

impl Work {
    /// Operations added since `earlier`.
    #[must_use]
    #[inline]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            host: self.host.since(&earlier.host),
            gc: self.gc.since(&earlier.gc),
            mapping: self.mapping.since(&earlier.mapping),
            collections: self.collections - earlier.collections,
            merges: self.merges.since(&earlier.merges),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quantity::Bytes;
    use crate::sim::{Options, Simulation};

    fn config() -> Config {
        let mut config = Config::default();
        (config.channels, config.pages_per_block, config.op_ratio) = (2, 16, 0.3);
        config.capacity = Bytes(256 * 4096);
        config
    }

    #[test]
    fn work_is_that_of_the_same_writes_in_a_run() {
        let mut untimed = Untimed::new(&config(), 7).expect("a drive");
        let mut run = Simulation::new(&config(), Options { seed: 7, ..Options::default() }).expect("a drive");
        let (mut sum, mut state) = (Work::default(), 1u64);
        for _ in 0..4000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let (lba, sectors) = ((state >> 33) % 2000, 1 + (state >> 60) as u32);
            let request = Request { time_ns: 0, lba, sectors, stream: 0, op: Op::Write };
            run.serve(&[request]).expect("room");
            let work = untimed.write(lba, sectors).expect("room");
            assert!(work.host.programs >= 1);
            sum.gc.programs += work.gc.programs;
            sum.gc.erases += work.gc.erases;
            sum.host.reads += work.host.reads;
        }
        run.finish().expect("an end");
        let counters = run.counters();
        assert_eq!((untimed.total().host, untimed.total().gc), (counters.host, counters.gc));
        assert_eq!(untimed.total().collections, counters.collections);
        assert_eq!(sum.gc, FlashCounts { reads: 0, ..counters.gc });
        assert_eq!(sum.host.reads, counters.rewrite_reads);
        assert!(sum.gc.programs > 1000);
    }

    #[test]
    fn a_discarded_page_is_not_relocated() {
        let mut drive = Untimed::new(&config(), 0).expect("a drive");
        let capacity = drive.geometry().capacity_sectors();
        for lba in (0..capacity).step_by(8) {
            drive.write(lba, 8).expect("room");
        }
        assert_eq!(drive.trim(0, capacity as u32).expect("a drive"), Work::default());
        for lba in (0..capacity).step_by(8) {
            assert_eq!(drive.write(lba, 8).expect("room").gc.programs, 0);
        }
    }

    #[test]
    fn sectors_beyond_the_drive_are_refused() {
        let mut drive = Untimed::new(&config(), 0).expect("a drive");
        let capacity = drive.geometry().capacity_sectors();
        assert_eq!(drive.write(capacity - 1, 1).expect("the last sector").host.programs, 1);
        assert!(matches!(drive.write(capacity, 1), Err(RunError::BeyondDrive { number: 2, .. })));
        assert!(matches!(drive.write(u64::MAX, 1), Err(RunError::BeyondDrive { .. })));
        assert_eq!(drive.write(0, 0).expect("nothing"), Work::default());
    }
}
