//! Promises to the host, checked against the contents of flash.
//!
//! A sector has a history of versions: writes and discards, in the order in which they took effect. Two of them count: the
//! newest one that was *acknowledged*, and the newest one that a flush has *promised*, which is the newest that was
//! acknowledged before the flush was issued. A version is lost if an older one is found on flash. A request is *open*
//! until each of its sectors is found in its own version or a newer one. It *survives* while at least one of its
//! sectors is found in its own version.
//!
//! Requests are ordered by the drive's entry: a *rank* is the place of a request among those that entered, whatever their
//! order in the workload. Writes that overlap in time have the order in which the drive took them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;

use flashweir_ssd::{HostEntry, Trim};

use super::flash::Found;

/// Sectors of a logical page that a request changes.
#[derive(Clone, Debug)]
struct Part {
    rank: u64,
    lpn: u64,
    sectors: Range<u32>,
    version: u64,
}

impl Part {
    fn range(&self) -> Range<usize> {
        self.sectors.start as usize..self.sectors.end as usize
    }
}

/// A write of which something is not on flash.
#[derive(Clone, Copy, Debug)]
struct Open {
    sectors: u32,
    covered: u32,
    acknowledged: bool,
}

/// A logical page that the host has changed, or that was found changed. Versions by sector.
#[derive(Clone, Debug)]
struct Logical {
    /// Sequence of what is found.
    sequence: u64,
    found: Vec<u64>,
    acknowledged: Vec<u64>,
    promised: Vec<u64>,
    /// Parts of writes that are not covered, with the number of sectors that are.
    open: Vec<(Part, u32)>,
    /// Sectors of which the acknowledged version is lost, and the promised one.
    lost: [u64; 2],
}

/// Why a version is not that of a write of this run.
const NO_WRITE: u64 = u64::MAX;

/// Requests of the host, and their acknowledgements.
#[derive(Clone, Debug)]
pub(super) struct Host {
    /// True if capacitors write to flash what is in the buffer when power fails.
    pub(super) is_protected: bool,
    page_sectors: usize,
    /// Versions up to this one were there before the run.
    last_version: u64,
    /// Ranks given so far.
    entered: u64,
    /// Rank of each request that entered and is not done.
    ranks: BTreeMap<u64, u64>,
    /// Sectors of each write that was issued and has not entered.
    issued: BTreeMap<u64, u32>,
    /// By version: the rank of the write, or [`NO_WRITE`].
    writers: Vec<u64>,
    pages: BTreeMap<u64, Logical>,
    /// Changes of requests that are not acknowledged.
    under_way: BTreeMap<u64, Vec<Part>>,
    /// Changes of requests that are acknowledged but not promised, by time of acknowledgement, ns.
    unflushed: VecDeque<(u64, Part)>,
    open: BTreeMap<u64, Open>,
    /// The highest rank of an acknowledged write.
    newest: Option<u64>,
    /// Those open that are acknowledged.
    lost: BTreeSet<u64>,
    /// Sectors found of each write of which any is found.
    survivors: BTreeMap<u64, u32>,
    /// Discards that are not journalled.
    trims: BTreeMap<u64, Trim>,
    totals: [u64; 2],
}

/// Outcome of a power cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// When, ns.
    pub time_ns: u64,
    /// Sectors whose last acknowledged write is not found.
    pub acknowledged_sectors_lost: u64,
    /// Sectors that are older than a completed flush promised. Always 0, or the drive is broken.
    pub flushed_sectors_lost: u64,
    /// Acknowledged writes of which a sector is lost, unless a newer write or a TRIM made up for it.
    pub writes_lost: u64,
    /// Writes that survive, at least in part, though an older acknowledged one is lost.
    pub violations: u64,
    /// Writes that survive in part.
    pub torn_requests: u64,
    /// True if the surviving writes are a prefix of all writes; the last one may be torn.
    pub is_prefix: bool,
}

impl Host {
    pub(super) fn new(page_sectors: u32, last_version: u64) -> Self {
        Self {
            is_protected: false,
            page_sectors: page_sectors as usize,
            last_version,
            entered: 0,
            ranks: BTreeMap::new(),
            issued: BTreeMap::new(),
            writers: Vec::new(),
            pages: BTreeMap::new(),
            under_way: BTreeMap::new(),
            unflushed: VecDeque::new(),
            open: BTreeMap::new(),
            newest: None,
            lost: BTreeSet::new(),
            survivors: BTreeMap::new(),
            trims: BTreeMap::new(),
            totals: [0; 2],
        }
    }

    /// The write that a version is of; `None` for what was there before the run, and for trims.
    fn writer(&self, version: u64) -> Option<u64> {
        let place = version.checked_sub(self.last_version + 1)?;
        self.writers.get(place as usize).copied().filter(|writer| *writer != NO_WRITE)
    }

    /// A write was issued.
    pub(super) fn issue(&mut self, request: u64, sectors: u32) {
        self.issued.insert(request, sectors);
    }

    /// The drive begins to work at a request, or at one more part of it.
    pub(super) fn enter(&mut self, request: u64) {
        if self.ranks.contains_key(&request) {
            return;
        }
        self.ranks.insert(request, self.entered);
        if let Some(sectors) = self.issued.remove(&request) {
            self.open.insert(self.entered, Open { sectors, covered: 0, acknowledged: false });
        }
        self.entered += 1;
    }

    /// Rank of a request that is done: no part of it enters any more. `None` if it entered before the run was followed.
    pub(super) fn leave(&mut self, request: u64) -> Option<u64> {
        self.ranks.remove(&request)
    }

    /// A request changed sectors of a page, of which `found` is found.
    pub(super) fn change(&mut self, entry: &HostEntry, found: impl FnOnce() -> Found) {
        let HostEntry { request, lpn, version, trim, ref sectors, .. } = *entry;
        let Some(rank) = self.ranks.get(&request).copied() else { return };
        let place = (version - self.last_version - 1) as usize;
        self.writers.resize(place.max(self.writers.len()), NO_WRITE);
        self.writers.push(if trim.is_some() { NO_WRITE } else { rank });
        let part = Part { rank, lpn, sectors: sectors.clone(), version };
        let page_sectors = self.page_sectors;
        let page = self.pages.entry(lpn).or_insert_with(|| Logical::new(&found(), page_sectors));
        if trim.is_none() {
            page.open.push((part.clone(), 0));
        }
        self.under_way.entry(rank).or_default().push(part);
    }

    /// The trim of a page takes effect: what was written before need not be found any more.
    pub(super) fn trim(&mut self, lpn: u64, trim: Trim) {
        self.trims.insert(lpn, trim);
        self.cover(lpn, |write, _| (write.version < trim.version).then_some(u32::MAX));
        // Pages that a buffer held are gone, though a reset of a zone ends with its erases.
        if let Some(page) = self.pages.get_mut(&lpn) {
            raise(&mut page.acknowledged, trim.version);
        }
        self.recount(lpn);
    }

    /// The trim of a page that is not journalled and newer than an image of it.
    pub(super) fn unjournalled(&mut self, lpn: u64, sequence: u64) -> Option<Trim> {
        let trim = self.trims.get(&lpn).copied().filter(|trim| trim.sequence > sequence)?;
        self.trims.remove(&lpn);
        Some(trim)
    }

    /// The request of a rank is acknowledged.
    pub(super) fn acknowledge(&mut self, now_ns: u64, rank: u64) {
        let Some(parts) = self.under_way.remove(&rank) else {
            // A write that failed, such as one that is not at the write pointer of its zone.
            self.open.remove(&rank);
            return;
        };
        if let Some(open) = self.open.get_mut(&rank) {
            open.acknowledged = true;
            self.newest = self.newest.max(Some(rank));
            self.lost.insert(rank);
        }
        for part in parts {
            if let Some(page) = self.pages.get_mut(&part.lpn) {
                raise(&mut page.acknowledged[part.range()], part.version);
            }
            self.recount(part.lpn);
            self.unflushed.push_back((now_ns, part));
        }
    }

    /// The flush of a rank, issued at `issue_ns`, is done. Returns the trims that it journals.
    pub(super) fn flush(&mut self, issue_ns: u64, rank: u64) -> BTreeMap<u64, Trim> {
        // Of what is acknowledged at the instant of the flush, it promises what entered before it.
        let is_before = |(time_ns, part): &(u64, Part)| (*time_ns, part.rank) < (issue_ns, rank);
        while self.unflushed.front().is_some_and(is_before)
            && let Some((_, part)) = self.unflushed.pop_front()
        {
            if let Some(page) = self.pages.get_mut(&part.lpn) {
                raise(&mut page.promised[part.range()], part.version);
            }
            self.recount(part.lpn);
        }
        std::mem::take(&mut self.trims)
    }

    /// Of a page `before` was found, and now `found` is.
    pub(super) fn find(&mut self, lpn: u64, before: &Found, found: &Found) {
        let page_sectors = self.page_sectors;
        let page = self.pages.entry(lpn).or_insert_with(|| Logical::new(before, page_sectors));
        page.sequence = found.sequence();
        let versions: Vec<_> = (0..page_sectors).map(|sector| found.version(sector)).collect();
        let before = std::mem::replace(&mut page.found, versions.clone());
        for (before, after) in before.into_iter().zip(versions) {
            if before == after {
                continue;
            }
            if let Some(writer) = self.writer(before)
                && let Some(sectors) = self.survivors.get_mut(&writer)
            {
                *sectors -= 1;
                if *sectors == 0 {
                    self.survivors.remove(&writer);
                }
            }
            if let Some(writer) = self.writer(after) {
                *self.survivors.entry(writer).or_default() += 1;
            }
        }
        self.cover(lpn, |write, found| {
            Some(found[write.range()].iter().filter(|found| **found >= write.version).count() as u32)
        });
        self.recount(lpn);
    }

    /// The sequence of what is found of a page, if the host or a cut has ever looked at it.
    pub(super) fn sequence(&self, lpn: u64) -> Option<u64> {
        self.pages.get(&lpn).map(|page| page.sequence)
    }

    /// Counts again how much of the open writes to a page is found, or need not be any more; `None` is as much as before.
    fn cover(&mut self, lpn: u64, covered: impl Fn(&Part, &[u64]) -> Option<u32>) {
        let Some(page) = self.pages.get_mut(&lpn) else { return };
        let found = &page.found;
        page.open.retain_mut(|(part, before)| {
            let sectors = part.sectors.end - part.sectors.start;
            let now = covered(part, found).unwrap_or(*before).min(sectors);
            if let Some(open) = self.open.get_mut(&part.rank) {
                open.covered = open.covered + now - *before;
                if open.covered == open.sectors {
                    self.open.remove(&part.rank);
                    self.lost.remove(&part.rank);
                }
            }
            *before = now;
            now < sectors
        });
    }

    /// Counts again what is lost of a page.
    fn recount(&mut self, lpn: u64) {
        let Some(page) = self.pages.get(&lpn) else { return };
        let is_write = |version: u64| version <= self.last_version || self.writer(version).is_some();
        let versions = || page.found.iter().zip(&page.acknowledged).zip(&page.promised);
        let acknowledged =
            versions().filter(|((found, acknowledged), _)| found < acknowledged && is_write(**acknowledged));
        let promised = versions().filter(|((found, _), promised)| found < promised);
        let lost = [acknowledged.count() as u64, promised.count() as u64];
        if let Some(page) = self.pages.get_mut(&lpn) {
            for ((total, before), lost) in self.totals.iter_mut().zip(&mut page.lost).zip(lost) {
                *total = *total + lost - *before;
                *before = lost;
            }
        }
    }

    /// Outcome of a power cut now.
    pub(super) fn outcome(&self, time_ns: u64) -> Outcome {
        if self.is_protected {
            return self.protected_outcome(time_ns);
        }
        let first_open = self.open.first_key_value().map_or(u64::MAX, |(request, _)| *request);
        let first_lost = self.lost.first().copied().unwrap_or(u64::MAX);
        let torn = self.survivors.range(first_open..).filter(|(request, _)| self.open.contains_key(request));
        Outcome {
            time_ns,
            acknowledged_sectors_lost: self.totals[0],
            flushed_sectors_lost: self.totals[1],
            writes_lost: self.lost.len() as u64,
            violations: self.survivors.range(first_lost.saturating_add(1)..).count() as u64,
            torn_requests: torn.count() as u64,
            is_prefix: self.survivors.last_key_value().is_none_or(|(last, _)| *last <= first_open),
        }
    }
}

impl Host {
    /// Outcome of a power cut now where all that is acknowledged outlives it. Of a write that is not acknowledged yet, pages may
    /// be on flash.
    fn protected_outcome(&self, time_ns: u64) -> Outcome {
        let is_torn = |rank: &u64| self.open.get(rank).is_some_and(|open| !open.acknowledged);
        let torn_requests = self.survivors.keys().filter(|rank| is_torn(rank)).count() as u64;
        let missing =
            self.open.iter().find(|(_, open)| !open.acknowledged).map_or(u64::MAX, |(rank, _)| *rank);
        let found = self.survivors.last_key_value().map(|(last, _)| *last).max(self.newest);
        Outcome {
            time_ns,
            torn_requests,
            is_prefix: found.is_none_or(|last| last <= missing),
            ..Outcome::default()
        }
    }
}

impl Logical {
    fn new(found: &Found, page_sectors: usize) -> Self {
        let versions: Vec<_> = (0..page_sectors).map(|sector| found.version(sector)).collect();
        Self {
            sequence: found.sequence(),
            found: versions.clone(),
            acknowledged: versions.clone(),
            promised: versions,
            open: Vec::new(),
            lost: [0; 2],
        }
    }
}

/// Raises versions to at least this one.
fn raise(versions: &mut [u64], version: u64) {
    for before in versions {
        *before = version.max(*before);
    }
}
