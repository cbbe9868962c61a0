//! Summary of a whole trace in one pass: its counts, addresses, sizes and footprint.

use std::collections::HashMap;
use std::path::Path;

use serde::Serialize;

use super::{Options, Report, Trace};
use crate::{Op, Request, TraceError};

/// Requests decoded at once.
const BATCH: usize = 1 << 14;

/// Sectors in a page of the footprint.
const PAGE_SECTORS: u64 = 8;

/// Bytes in a page of the footprint.
const PAGE_BYTES: u64 = 4096;

/// Summary of a whole trace.
#[derive(Clone, Debug, Serialize)]
pub struct Info {
    /// Format, counts, repairs and assumptions.
    #[serde(flatten)]
    pub report: Report,
    /// Lowest sector touched; 0 in a trace without requests.
    pub min_lba: u64,
    /// Highest sector touched.
    pub max_lba: u64,
    /// From the lowest to the end of the highest sector touched, in bytes.
    pub span_bytes: u64,
    /// Reads in reads and writes; `None` where there are neither.
    pub read_ratio: Option<f64>,
    /// Mean size of a read, bytes.
    pub mean_read_bytes: f64,
    /// Mean size of a write, bytes.
    pub mean_write_bytes: f64,
    /// From first to last request, seconds.
    pub duration_s: f64,
    /// Distinct 4 KiB pages that reads and writes touch, in bytes.
    pub footprint_bytes: u64,
}

/// Reads all of the trace at `path` and says what it is like. Memory grows with the footprint, a bit a page.
pub fn info(path: &Path, options: &Options) -> Result<Info, TraceError> {
    let mut inspection = Inspection::open(path, options)?;
    while inspection.step()? {}
    Ok(inspection.finish())
}

/// An [`info`] in progress.
pub struct Inspection {
    trace: Trace,
    batch: Vec<Request>,
    seen: Seen,
}

impl Inspection {
    /// Opens the trace at `path`.
    pub fn open(path: &Path, options: &Options) -> Result<Self, TraceError> {
        let trace = Trace::open(path, options)?;
        Ok(Self { trace, batch: Vec::with_capacity(BATCH), seen: Seen::default() })
    }

    /// Reads the next requests; false once the end was reached.
    pub fn step(&mut self) -> Result<bool, TraceError> {
        self.batch.clear();
        let more = self.trace.read(&mut self.batch, BATCH)?;
        self.batch.iter().for_each(|request| self.seen.observe(request));
        Ok(more)
    }

    /// The trace that is read.
    pub const fn trace(&self) -> &Trace {
        &self.trace
    }

    /// Sums up what has been read.
    pub fn finish(self) -> Info {
        sum_up(self.trace.report().clone(), &self.seen)
    }
}

fn sum_up(report: Report, seen: &Seen) -> Info {
    let mean =
        |sectors: u128, count: u64| if count == 0 { 0.0 } else { sectors as f64 * 512.0 / count as f64 };
    let moved = report.reads + report.writes;
    Info {
        min_lba: seen.min_lba.unwrap_or(0),
        max_lba: seen.end_lba.saturating_sub(1),
        span_bytes: (seen.end_lba - seen.min_lba.unwrap_or(0)).saturating_mul(crate::SECTOR_BYTES),
        read_ratio: (moved > 0).then(|| report.reads as f64 / moved as f64),
        mean_read_bytes: mean(seen.read_sectors, report.reads),
        mean_write_bytes: mean(seen.written_sectors, report.writes),
        duration_s: report.duration_ns as f64 / 1e9,
        footprint_bytes: seen.pages.count.saturating_mul(PAGE_BYTES),
        report,
    }
}

#[derive(Default)]
struct Seen {
    min_lba: Option<u64>,
    end_lba: u64,
    read_sectors: u128,
    written_sectors: u128,
    pages: Pages,
}

impl Seen {
    fn observe(&mut self, request: &Request) {
        match request.op {
            Op::Flush => return,
            Op::Read => self.read_sectors += u128::from(request.sectors),
            Op::Write | Op::Append => self.written_sectors += u128::from(request.sectors),
            _ => {}
        }
        self.min_lba = Some(self.min_lba.map_or(request.lba, |lowest| lowest.min(request.lba)));
        self.end_lba = self.end_lba.max(request.end());
        // Of an append only its zone is known.
        if matches!(request.op, Op::Read | Op::Write) {
            self.pages.insert(request.lba / PAGE_SECTORS, (request.end() - 1) / PAGE_SECTORS);
        }
    }
}

/// Words of 64 pages in a chunk: 16 MiB of addresses.
const CHUNK_WORDS: u64 = 64;

/// A set of pages: bitmaps of the chunks that were touched.
#[derive(Default)]
struct Pages {
    chunks: HashMap<u64, [u64; CHUNK_WORDS as usize]>,
    count: u64,
}

impl Pages {
    /// Adds pages `first` to `last`.
    fn insert(&mut self, first: u64, last: u64) {
        let (first_word, last_word) = (first / 64, last / 64);
        for chunk in first_word / CHUNK_WORDS..=last_word / CHUNK_WORDS {
            let words = self.chunks.entry(chunk).or_insert([0; CHUNK_WORDS as usize]);
            for (word, bits) in (chunk * CHUNK_WORDS..).zip(words) {
                if word < first_word || word > last_word {
                    continue;
                }
                let low = if word == first_word { first % 64 } else { 0 };
                let high = if word == last_word { last % 64 } else { 63 };
                let mask = (u64::MAX << low) & (u64::MAX >> (63 - high));
                self.count += u64::from((mask & !*bits).count_ones());
                *bits |= mask;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_counted_once() {
        let mut pages = Pages::default();
        pages.insert(10, 10);
        pages.insert(5, 200);
        pages.insert(4096 * 3 - 1, 4096 * 3);
        pages.insert(0, 63);
        assert_eq!(pages.count, 196 + 2 + 5);
    }

    #[test]
    fn a_trace_is_summed_up() {
        let path = super::super::testing::scratch(".ssdsim");
        std::fs::write(&path, "1000 0 8 8 1\n2000 0 16 8 0\n3000 0 17 2 0\n").expect("a scratch file");
        let info = info(&path, &Options::default()).expect("a good trace");
        std::fs::remove_file(&path).expect("removable");
        assert_eq!((info.min_lba, info.max_lba, info.span_bytes), (8, 23, 8192));
        assert_eq!((info.read_ratio, info.mean_read_bytes), (Some(1.0 / 3.0), 4096.0));
        assert_eq!((info.mean_write_bytes, info.footprint_bytes), (2560.0, 8192));
        assert_eq!(
            (info.report.requests, info.report.first_time_ns, info.report.duration_ns),
            (3, 1000, 2000)
        );
    }
}
