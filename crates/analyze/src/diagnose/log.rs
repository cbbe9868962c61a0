//! The writes of a request log, with what each cost the drive.

use std::collections::HashMap;

use flashweir_trace::{LogRecord, Op};

/// Size of the pages in which rewriting is followed, sectors: 4 KiB, what file systems write at least.
const PAGE_SECTORS: u64 = 8;
/// Pages of one entry of the map of what was written.
const CHUNK: u64 = 16;
/// Most pages of one request that are followed, 64 MiB: what is longer is no request of a file system.
const MAX_PAGES: u64 = 16_384;

/// One write of the log.
#[derive(Clone, Copy, Debug)]
pub(super) struct Write {
    /// Its place among all requests of the log, from 0.
    pub(super) number: u64,
    /// When it was issued, ns.
    pub(super) issue_ns: u64,
    /// First sector.
    pub(super) lba: u64,
    /// Bytes.
    pub(super) bytes: u64,
    /// From issue to completion, ns.
    pub(super) response_ns: u64,
    /// Time by which it put off the end of all that was issued before, ns. With one outstanding request that is its response time; with
    /// several, what one stall takes counts once and not for each that waits behind it.
    pub(super) cost_ns: u64,
    /// Bytes written since its first page was last written; `None` for a first write.
    pub(super) since: Option<u64>,
    /// True if it starts where one of the last few writes ended.
    pub(super) sequential: bool,
}

/// The log, compact: 64 bytes a write, and 4 for each 4 KiB of the addresses that were written.
#[derive(Debug, Default)]
pub struct Log {
    /// Capacity of the drive as its owner knows it, bytes; `None` if it was not given.
    pub capacity_bytes: Option<u64>,
    pub(super) writes: Vec<Write>,
    pub(super) requests: u64,
    /// Requests without an issue or a completion time, which are left out.
    pub(super) untimed: u64,
    pub(super) bytes: u64,
    pub(super) distinct_bytes: u64,
    /// Time in which no request was outstanding, between the first and the last, ns.
    pub(super) idle_ns: u64,
    /// From the first issue to the last completion, ns.
    pub(super) span_ns: u64,
    /// Sum of response times of all requests, ns.
    response_ns: u64,
    first_ns: Option<u64>,
    frontier_ns: u64,
    ends: [u64; 8],
    next_end: usize,
    pages: HashMap<u64, [u32; CHUNK as usize]>,
}

impl Log {
    /// Takes the next record, in the order in which requests were issued. Records without response time are counted and left out.
    pub fn push(&mut self, record: &LogRecord) {
        let number = self.requests;
        self.requests += 1;
        let issue_ns = record.issue_ns.unwrap_or(record.request.time_ns);
        let Some(completion_ns) = record.completion_ns.filter(|completion| *completion >= issue_ns) else {
            self.untimed += 1;
            return;
        };
        let first_ns = *self.first_ns.get_or_insert(issue_ns);
        let frontier = if number == 0 { issue_ns } else { self.frontier_ns.max(first_ns) };
        self.idle_ns = self.idle_ns.saturating_add(issue_ns.saturating_sub(frontier));
        let response_ns = completion_ns - issue_ns;
        let cost_ns = completion_ns.saturating_sub(issue_ns.max(frontier));
        self.frontier_ns = frontier.max(completion_ns);
        self.span_ns = self.frontier_ns - first_ns.min(self.frontier_ns);
        self.response_ns = self.response_ns.saturating_add(response_ns);
        let request = record.request;
        if request.op != Op::Write || request.sectors == 0 {
            return;
        }
        let sequential = self.ends.contains(&request.lba) && !self.writes.is_empty();
        self.ends[self.next_end] = request.lba.saturating_add(request.sectors.into());
        self.next_end = (self.next_end + 1) % self.ends.len();
        let since = self.rewrite(request.lba, request.sectors.into());
        self.bytes = self.bytes.saturating_add(request.bytes());
        self.writes.push(Write {
            number,
            issue_ns,
            lba: request.lba,
            bytes: request.bytes(),
            response_ns,
            cost_ns,
            since,
            sequential,
        });
    }

    /// Mean number of outstanding requests while there was one.
    pub(super) fn depth(&self) -> f64 {
        let busy = self.span_ns.saturating_sub(self.idle_ns);
        if busy == 0 { 1.0 } else { self.response_ns as f64 / busy as f64 }
    }

    /// Notes that pages are written now; bytes since the first of them was written.
    fn rewrite(&mut self, lba: u64, sectors: u64) -> Option<u64> {
        // In units of 4 KiB written, so that 32 bits last for 16 TiB.
        let now = u32::try_from(self.bytes / 4096 + 1).unwrap_or(u32::MAX);
        let first = lba / PAGE_SECTORS;
        let last = (lba.saturating_add(sectors) - 1) / PAGE_SECTORS;
        let mut since = None;
        for page in first..=last.min(first.saturating_add(MAX_PAGES - 1)) {
            let chunk = self.pages.entry(page / CHUNK).or_insert([0; CHUNK as usize]);
            let slot = &mut chunk[(page % CHUNK) as usize];
            if *slot == 0 {
                self.distinct_bytes += PAGE_SECTORS * flashweir_trace::SECTOR_BYTES;
            } else if page == first {
                since = Some(u64::from(now - (*slot).min(now)) * 4096);
            }
            *slot = now;
        }
        since
    }
}
