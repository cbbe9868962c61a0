//! Promises by time alone: a model that knows when requests were issued and completed, and what is on flash, but no order in which
//! the drive took them.

use std::collections::{BTreeMap, BTreeSet};

use flashweir_ssd::{Baseline, Change, Recorded};
use flashweir_trace::Op;

/// Times of a write: issue and completion, ns.
type Times = (u64, u64);

/// Records of a run, all of them.
pub(super) struct Model {
    baseline: Baseline,
    recorded: Recorded,
}

impl Model {
    pub(super) fn new(baseline: Baseline) -> Self {
        Self { baseline, recorded: Recorded::default() }
    }

    pub(super) fn take(&mut self, recorded: &Recorded) {
        self.recorded.pages.extend_from_slice(&recorded.pages);
        self.recorded.host.extend_from_slice(&recorded.host);
        self.recorded.requests.extend_from_slice(&recorded.requests);
    }

    /// Versions of each logical page that a rebuild finds at `now_ns`.
    fn found(&self, now_ns: u64) -> BTreeMap<u64, (u64, Vec<u64>)> {
        let mut images = self.baseline.images.clone();
        let mut pages: Vec<_> = self.recorded.pages.iter().filter(|entry| entry.time_ns <= now_ns).collect();
        pages.sort_by_key(|entry| (entry.time_ns, entry.number));
        for entry in pages {
            match &entry.change {
                Change::Programmed { page, image } => images[*page as usize].clone_from(image),
                Change::Erased(pages) => images[pages.start as usize..pages.end as usize].fill(None),
            }
        }
        let mut found: BTreeMap<u64, (u64, Vec<u64>)> = BTreeMap::new();
        for image in images.iter().flatten() {
            let newest = found.entry(image.lpn).or_default();
            if image.sequence >= newest.0 {
                let versions = (0..self.baseline.page_sectors as usize).map(|sector| image.version(sector));
                *newest = (image.sequence, versions.collect());
            }
        }
        found
    }

    /// The first sector whose content at `now_ns` ended before a promised write of it began. `in_flash`: an acknowledgement is a
    /// promise; otherwise a flush that was issued after it and is done makes it one. Pages that were ever trimmed are left out.
    pub(super) fn broken(&self, now_ns: u64, in_flash: bool) -> Option<(u64, u32)> {
        let times: BTreeMap<u64, Times> = self
            .recorded
            .requests
            .iter()
            .map(|record| (record.number, (record.issue_ns, record.completion_ns)))
            .collect();
        let flushes = self.recorded.requests.iter().filter(|record| record.request.op == Op::Flush);
        let flushed_ns =
            flushes.filter(|record| record.completion_ns <= now_ns).map(|record| record.issue_ns).max();
        let promised = |(_, end_ns): Times| {
            if in_flash { end_ns <= now_ns } else { flushed_ns.is_some_and(|flush_ns| end_ns < flush_ns) }
        };
        let host = || self.recorded.host.iter();
        let trimmed: BTreeSet<u64> =
            host().filter(|entry| entry.trim.is_some()).map(|entry| entry.lpn).collect();
        let writers: BTreeMap<u64, Times> =
            host().map(|entry| (entry.version, times[&entry.request])).collect();
        let found = self.found(now_ns);
        // By sector, the latest issue of a promised write.
        let mut latest: BTreeMap<(u64, u32), u64> = BTreeMap::new();
        for entry in host().filter(|entry| !trimmed.contains(&entry.lpn) && promised(times[&entry.request])) {
            for sector in entry.sectors.clone() {
                let issue_ns = latest.entry((entry.lpn, sector)).or_default();
                *issue_ns = times[&entry.request].0.max(*issue_ns);
            }
        }
        latest
            .into_iter()
            .find(|((lpn, sector), issue_ns)| {
                let version = found.get(lpn).map_or(0, |(_, versions)| versions[*sector as usize]);
                // Content from before the run ended before everything.
                writers.get(&version).is_none_or(|(_, end_ns)| end_ns < issue_ns)
            })
            .map(|(place, _)| place)
    }
}
