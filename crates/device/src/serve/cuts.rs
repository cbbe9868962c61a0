//! Bytes as the flash holds them: what was there before each write that may not be on flash yet, so that a cut of the power brings
//! back exactly the versions that the drive would find.
//!
//! The store has the newest bytes in the order in which the drive takes writes, whatever order its host and firmware make of them:
//! a request waits here with its bytes (`waiting`) until the drive gives its pages their versions. Then the store has them, and
//! what they replaced is kept by page (`old`) until a rebuild would find the version or a newer one.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Range;
use std::sync::Arc;

use flashweir_run::{Drive, HostChanges, Outcome};
use flashweir_ssd::HostEntry;
use flashweir_trace::SECTOR_BYTES;
use serde_json::{Value, json};

use super::store::Store;
use crate::Error;

/// Entries that are kept without a look whether they are still needed.
const SLACK: usize = 1024;

/// Change of the bytes that a request makes.
#[derive(Debug)]
pub(super) enum Bytes {
    /// They are written.
    Write(Vec<u8>),
    /// They become zero. `keep`: the space stays allocated.
    Zero {
        /// See above.
        keep: bool,
    },
}

/// When power is to be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trigger {
    /// At this simulated time, ns.
    At(u64),
    /// After so many flushes.
    AfterFlushes(u64),
}

/// A cut that happened.
#[derive(Clone, Copy, Debug)]
pub(super) struct Report {
    pub(super) time_ns: u64,
    pub(super) rebuild_ns: u64,
    outcome: Outcome,
    /// Requests that got no answer.
    outstanding: u64,
    /// Sectors that went back to an older version.
    restored: u64,
}

impl Report {
    pub(super) fn json(&self) -> Value {
        json!({
            "time_s": self.time_ns as f64 / 1e9,
            "rebuild_s": self.rebuild_ns as f64 / 1e9,
            "outstanding": self.outstanding,
            "restored_sectors": self.restored,
            "acknowledged_sectors_lost": self.outcome.acknowledged_sectors_lost,
            "flushed_sectors_lost": self.outcome.flushed_sectors_lost,
            "writes_lost": self.outcome.writes_lost,
            "violations": self.outcome.violations,
            "torn_requests": self.outcome.torn_requests,
        })
    }
}

/// Bytes of a part of a page before a request wrote over them.
#[derive(Debug)]
struct Before {
    sectors: Range<u32>,
    /// The request.
    request: u64,
    /// Version that it gave the part.
    version: u64,
    /// A flush that was answered without effect promised it.
    is_promised: bool,
    bytes: Vec<u8>,
}

/// Change of a request that the drive has not taken in full.
#[derive(Debug)]
struct Waiting {
    lba: u64,
    change: Bytes,
    /// Sectors that it has not taken, from `lba` on, apart and in order.
    left: Vec<Range<u64>>,
}

impl Waiting {
    /// Takes those out of `left` that lie within `sectors`.
    fn take(&mut self, sectors: &Range<u64>) -> Vec<Range<u64>> {
        let mut taken = Vec::new();
        let mut left = Vec::new();
        for part in self.left.drain(..) {
            let inner = part.start.max(sectors.start)..part.end.min(sectors.end);
            if inner.is_empty() {
                left.push(part);
                continue;
            }
            let around = [part.start..inner.start, inner.end..part.end];
            left.extend(around.into_iter().filter(|rest| !rest.is_empty()));
            taken.push(inner);
        }
        self.left = left;
        taken
    }

    /// Puts the bytes of some of its sectors into the store.
    fn put(&self, store: &Store, sectors: &Range<u64>) -> io::Result<()> {
        let bytes = |from: &Range<u64>| (from.end - from.start) * SECTOR_BYTES;
        match &self.change {
            Bytes::Write(data) => {
                let first = bytes(&(self.lba..sectors.start)) as usize;
                store.write(sectors.start * SECTOR_BYTES, &data[first..first + bytes(sectors) as usize])
            }
            Bytes::Zero { keep } => store.zero(sectors.start * SECTOR_BYTES, bytes(sectors), *keep),
        }
    }
}

/// See the module.
#[derive(Debug)]
pub(super) struct Cuts {
    store: Arc<Store>,
    page_sectors: u64,
    /// When power is to be cut.
    pub(super) trigger: Option<Trigger>,
    /// By request.
    waiting: BTreeMap<u64, Waiting>,
    /// Requests whose bytes the store could not take.
    failed: BTreeMap<u64, io::Error>,
    /// By logical page, by version.
    old: BTreeMap<u64, Vec<Before>>,
    count: usize,
    /// Entries with which the next look is due.
    look_at: usize,
    changes: HostChanges,
    /// Cuts so far.
    pub(super) reports: Vec<Report>,
}

impl Cuts {
    pub(super) fn new(store: Arc<Store>, page_sectors: u32) -> Self {
        Self {
            store,
            page_sectors: page_sectors.into(),
            trigger: None,
            waiting: BTreeMap::new(),
            failed: BTreeMap::new(),
            old: BTreeMap::new(),
            count: 0,
            look_at: SLACK,
            changes: HostChanges::default(),
            reports: Vec::new(),
        }
    }

    /// A flush is answered without effect: the drive lies about all requests but those that are outstanding.
    pub(super) fn ignore_flush(&mut self, is_outstanding: impl Fn(u64) -> bool) {
        for part in self.old.values_mut().flatten().filter(|part| !part.is_promised) {
            part.is_promised = !is_outstanding(part.request);
        }
    }

    /// A request is submitted, and changes bytes when the drive takes it.
    pub(super) fn submit(&mut self, number: u64, lba: u64, sectors: u32, change: Bytes) {
        let whole = lba..lba + u64::from(sectors);
        let left = Vec::from([whole]);
        self.waiting.insert(number, Waiting { lba, change, left });
    }

    /// Why the store could not take the bytes of a request, if it could not. To be asked once the request is complete.
    pub(super) fn failure(&mut self, number: u64) -> Option<io::Error> {
        self.failed.remove(&number)
    }

    /// Takes the versions that pages were given, with their bytes, and forgets what is no longer needed.
    pub(super) fn note(&mut self, drive: &mut Drive) {
        let mut changes = std::mem::take(&mut self.changes);
        drive.host_changes(&mut changes);
        for entry in &changes.entries {
            if let Err(error) = self.take(entry) {
                self.failed.insert(entry.request, error);
            }
        }
        for number in &changes.refused {
            self.waiting.remove(number);
        }
        for number in &changes.done {
            // A TRIM leaves parts of pages as they are: bytes of which the drive keeps no version.
            let Some(waiting) = self.waiting.remove(number) else { continue };
            if let Err(error) = waiting.left.iter().try_for_each(|part| waiting.put(&self.store, part)) {
                self.failed.insert(*number, error);
            }
        }
        self.changes = changes;
        if self.count >= self.look_at {
            self.old.retain(|lpn, parts| {
                parts.retain(|part| {
                    part.sectors.clone().any(|sector| drive.version_on_flash(*lpn, sector) < part.version)
                });
                !parts.is_empty()
            });
            self.count = self.old.values().map(Vec::len).sum();
            self.look_at = 2 * self.count + SLACK;
        }
    }

    /// The drive takes a part of a page: the store has its bytes from now on.
    fn take(&mut self, entry: &HostEntry) -> io::Result<()> {
        let Some(waiting) = self.waiting.get_mut(&entry.request) else { return Ok(()) };
        let first = entry.lpn * self.page_sectors;
        let sectors = first + u64::from(entry.sectors.start)..first + u64::from(entry.sectors.end);
        for part in waiting.take(&sectors) {
            let mut bytes = vec![0; ((part.end - part.start) * SECTOR_BYTES) as usize];
            self.store.read(part.start * SECTOR_BYTES, &mut bytes)?;
            waiting.put(&self.store, &part)?;
            let sectors = (part.start - first) as u32..(part.end - first) as u32;
            let (request, version) = (entry.request, entry.version);
            let before = Before { sectors, request, version, is_promised: false, bytes };
            self.old.entry(entry.lpn).or_default().push(before);
            self.count += 1;
        }
        Ok(())
    }

    /// Power fails: bytes go back to the versions that flash holds. `protected`: all that entered the drive is kept.
    pub(super) fn cut(
        &mut self,
        drive: &mut Drive,
        protected: bool,
        outstanding: u64,
    ) -> Result<Report, Error> {
        self.note(drive);
        self.trigger = None;
        let lied_about = self.lied_about(drive);
        let restored = self.restore(drive, protected).map_err(|error| Error::Setting {
            what: "power cut".into(),
            expected: format!("the bytes can't be brought back: {error}"),
        })?;
        let time_ns = drive.now_ns();
        let cut = drive.cut_power()?;
        let mut outcome = if protected { Outcome { time_ns, ..Outcome::default() } } else { cut.outcome };
        // The drive knows nothing of flushes that it never got.
        outcome.flushed_sectors_lost += lied_about;
        let report = Report { time_ns, rebuild_ns: cut.rebuild_ns, outcome, outstanding, restored };
        self.waiting.clear();
        self.failed.clear();
        self.old.clear();
        (self.count, self.look_at) = (0, SLACK);
        self.reports.push(report);
        Ok(report)
    }

    /// Sectors that are not on flash, though a flush after their last complete write was answered without effect.
    fn lied_about(&self, drive: &Drive) -> u64 {
        let mut lost = 0;
        for (lpn, parts) in &self.old {
            let promised = parts.iter().filter(|part| part.is_promised);
            let gone = promised.flat_map(|part| {
                part.sectors.clone().filter(|sector| drive.version_on_flash(*lpn, *sector) < part.version)
            });
            lost += gone.collect::<BTreeSet<u32>>().len() as u64;
        }
        lost
    }

    /// Brings older bytes back, newest change first. Returns the number of sectors, with those that the drive had not taken.
    fn restore(&self, drive: &Drive, protected: bool) -> io::Result<u64> {
        let not_taken = self.waiting.values().flat_map(|waiting| &waiting.left);
        let mut restored = not_taken.map(|part| part.end - part.start).sum();
        if protected {
            return Ok(restored);
        }
        for (lpn, parts) in &self.old {
            for part in parts.iter().rev() {
                for (sector, bytes) in part.sectors.clone().zip(part.bytes.chunks(SECTOR_BYTES as usize)) {
                    if drive.version_on_flash(*lpn, sector) < part.version {
                        restored += 1;
                        self.store
                            .write((lpn * self.page_sectors + u64::from(sector)) * SECTOR_BYTES, bytes)?;
                    }
                }
            }
        }
        Ok(restored)
    }
}
