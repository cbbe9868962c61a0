//! Bytes as the flash holds them: what was there before each write that may not be on flash yet, so that a cut of the power brings
//! back exactly the versions that the drive would find.
//!
//! The store has the newest bytes. A request that enters leaves here what it writes over (`waiting`). When the drive gives its pages
//! their versions, that moves to the page (`old`), and is forgotten once a rebuild would find the version or a newer one.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use flashweir_run::{Drive, HostChanges, Outcome};
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
    lpn: u64,
    sectors: Range<u32>,
    /// Version that the request gave the part; 0 until it did.
    version: u64,
    bytes: Vec<u8>,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Cuts {
    store: Arc<Store>,
    page_sectors: u64,
    /// When power is to be cut.
    pub(super) trigger: Option<Trigger>,
    /// By request.
    waiting: BTreeMap<u64, Vec<Before>>,
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
            old: BTreeMap::new(),
            count: 0,
            look_at: SLACK,
            changes: HostChanges::default(),
            reports: Vec::new(),
        }
    }

    /// A request enters and changes bytes.
    pub(super) fn enter(&mut self, number: u64, lba: u64, sectors: u32, change: Bytes) -> io::Result<()> {
        let mut parts = Vec::new();
        let (mut at, end) = (lba, lba + u64::from(sectors));
        while at < end {
            let lpn = at / self.page_sectors;
            let to = ((lpn + 1) * self.page_sectors).min(end);
            let mut bytes = vec![0; ((to - at) * SECTOR_BYTES) as usize];
            self.store.read(at * SECTOR_BYTES, &mut bytes)?;
            let first = (at - lpn * self.page_sectors) as u32;
            parts.push(Before { lpn, sectors: first..first + (to - at) as u32, version: 0, bytes });
            at = to;
        }
        match change {
            Bytes::Write(data) => self.store.write(lba * SECTOR_BYTES, &data)?,
            Bytes::Zero { keep } => {
                self.store.zero(lba * SECTOR_BYTES, u64::from(sectors) * SECTOR_BYTES, keep)?;
            }
        }
        self.waiting.insert(number, parts);
        Ok(())
    }

    /// Takes the versions that pages were given, and forgets what is no longer needed.
    pub(super) fn note(&mut self, drive: &mut Drive) {
        let mut changes = std::mem::take(&mut self.changes);
        drive.host_changes(&mut changes);
        for entry in &changes.entries {
            let Some(parts) = self.waiting.get_mut(&entry.request) else { continue };
            let Some(at) = parts.iter().position(|part| part.lpn == entry.lpn) else { continue };
            let part = Before { version: entry.version, ..parts.swap_remove(at) };
            self.old.entry(entry.lpn).or_default().push(part);
            self.count += 1;
        }
        for number in &changes.done {
            self.waiting.remove(number);
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

    /// Power fails: bytes go back to the versions that flash holds. `protected`: all that entered the drive is kept.
    pub(super) fn cut(
        &mut self,
        drive: &mut Drive,
        protected: bool,
        outstanding: u64,
    ) -> Result<Report, Error> {
        self.note(drive);
        self.trigger = None;
        let restored = self.restore(drive, protected).map_err(|error| Error::Setting {
            what: "power cut".into(),
            expected: format!("the bytes can't be brought back: {error}"),
        })?;
        let time_ns = drive.now_ns();
        let cut = drive.cut_power()?;
        let outcome = if protected { Outcome { time_ns, ..Outcome::default() } } else { cut.outcome };
        let report = Report { time_ns, rebuild_ns: cut.rebuild_ns, outcome, outstanding, restored };
        self.waiting.clear();
        self.old.clear();
        (self.count, self.look_at) = (0, SLACK);
        self.reports.push(report);
        Ok(report)
    }

    /// Brings older bytes back, newest change first. Returns the number of sectors.
    fn restore(&self, drive: &Drive, protected: bool) -> io::Result<u64> {
        let mut restored = 0;
        for part in self.waiting.values().rev().flatten() {
            restored += u64::from(part.sectors.end - part.sectors.start);
            self.store.write(
                (part.lpn * self.page_sectors + u64::from(part.sectors.start)) * SECTOR_BYTES,
                &part.bytes,
            )?;
        }
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
