//! Reference drives: simulated drives that take the writes of a log in no time, and what each had to move meanwhile.
//!
//! A drive's own slowing down is compared with theirs: random writing over a full drive costs the best of drives copies,
//! rewriting in a small range costs it hardly any.

use flashweir_ssd::config::layers::{Layer, resolve};
use flashweir_ssd::quantity::Bytes;
use flashweir_ssd::{Config, Options, Simulation};
use flashweir_trace::{Op, Request, SECTOR_BYTES};

use super::log::{Log, Write};

/// Bytes of a block where there are not too many of them: as coarse as flash was in 2009, finer than it is today.
const BLOCK_BYTES: u64 = 512 * 1024;
/// Blocks beyond which they are taken larger.
const MAX_BLOCKS: u64 = 2048;
/// Pages written and moved from which on no more is followed, because it would take long: 16 GiB of 4 KiB.
const MAX_PAGES: u64 = 1 << 22;
/// Writes that a drive takes at a time.
const TOGETHER: usize = 64;
/// Over-provisioning beyond which a drive never collects within as many pages; shares of logical.
const MAX_SPARE: f64 = 64.0;
/// Bytes of an entry of a map on flash, and of one in memory.
const MAP_ENTRY_BYTES: u64 = 4;
const CACHED_ENTRY_BYTES: u32 = 8;
/// Blocks of a page map beside those that the addresses fill: one that is written, one that is kept erased, one to gain from.
const MIN_SPARE_BLOCKS: u64 = 3;
/// Blocks of the smallest log.
const MIN_LOG_BLOCKS: f64 = 3.0;

/// Management of a drive. Spaces are shares of the range of addresses that were written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    /// A page map with so much space in all, and its victim policy.
    Pages(f64, Victim),
    /// A block map with a log block for each data block (BAST); space for logs.
    OwnLogs(f64),
    /// A block map with log blocks for all data blocks (FAST); space for logs.
    SharedLogs(f64),
    /// A page map on flash (DFTL) with so much space in all; entries in memory.
    CachedMap(f64, u32),
}

/// Policy that picks the block to collect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Victim {
    /// Fewest valid pages.
    Greedy,
    /// Filled longest ago.
    Fifo,
    /// Drawn at random.
    Random,
}

/// Pages that a drive wrote, and that it moved or wrote on its own account meanwhile.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Work {
    pub(super) pages: f64,
    /// Copies of collections and merges.
    pub(super) moved: f64,
    /// Translation pages.
    pub(super) mapped: f64,
}

impl Work {
    fn add(&mut self, other: &Self) {
        self.pages += other.pages;
        self.moved += other.moved;
        self.mapped += other.mapped;
    }
}

/// Addresses between the first and the last that were written, sectors.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    low: u64,
    end: u64,
}

impl Range {
    pub(super) fn of(log: &Log) -> Self {
        let end = |write: &Write| write.lba.saturating_add(write.bytes / SECTOR_BYTES);
        Self {
            low: log.writes.iter().map(|write| write.lba).min().unwrap_or(0),
            end: log.writes.iter().map(end).max().unwrap_or(0),
        }
    }

    pub(super) fn bytes(&self) -> f64 {
        ((self.end - self.low) as f64 * SECTOR_BYTES as f64).max(1.0)
    }
}

/// The same in pages.
#[derive(Clone, Copy, Debug)]
struct Pages {
    /// First sector, of a whole page.
    low: u64,
    count: u64,
    bytes: u64,
    per_block: u64,
}

impl Pages {
    /// `None` where nothing was written, or the range is too long to follow.
    fn of(range: &Range, bytes: u64) -> Option<Self> {
        let sectors = bytes / SECTOR_BYTES;
        let low = range.low / sectors;
        let count = range.end.div_ceil(sectors) - low;
        let per_block = (BLOCK_BYTES / bytes).max(count.div_ceil(MAX_BLOCKS)).next_power_of_two();
        (1..=MAX_PAGES).contains(&count).then_some(Self { low: low * sectors, count, bytes, per_block })
    }

    /// The drive, new: it holds the range, or a block if that is shorter.
    fn drive(&self, kind: Kind) -> Option<Simulation> {
        let mut config = kind.config()?;
        let logical = self.count.max(self.per_block);
        config.page = Bytes(self.bytes);
        config.pages_per_block = self.per_block as u32;
        config.capacity = Bytes(logical * self.bytes);
        config.op_ratio = match kind {
            Kind::OwnLogs(space) | Kind::SharedLogs(space) => self.log(logical, space.min(MAX_SPARE)),
            Kind::Pages(space, _) => self.spare(logical, space, MIN_SPARE_BLOCKS),
            Kind::CachedMap(space, _) => {
                let translation_pages = logical.div_ceil(self.bytes / MAP_ENTRY_BYTES);
                let more = 2 + translation_pages.div_ceil(self.per_block);
                self.spare(logical, space, MIN_SPARE_BLOCKS + more)
            }
        };
        Simulation::new(&config, Options::default()).ok()
    }

    /// Over-provisioning of a block map whose log has a share `space` of the data blocks, or the fewest blocks of a log.
    fn log(&self, logical: u64, space: f64) -> f64 {
        let data = logical.div_ceil(self.per_block) as f64;
        // A ratio such as 0.07 is a little less than it says.
        (data * space + 1e-6).floor().max(MIN_LOG_BLOCKS) / data
    }

    /// Over-provisioning of a page map whose blocks, the one that is kept erased included, come to `space`; or to so many more
    /// than the logical pages fill, if that is more.
    fn spare(&self, logical: u64, space: f64, more: u64) -> f64 {
        let least = logical.div_ceil(self.per_block) + more;
        let blocks = ((self.count as f64 * space) as u64).div_ceil(self.per_block).max(least);
        let spare = ((blocks - 1) * self.per_block - logical) as f64 / logical as f64;
        spare.min(MAX_SPARE)
    }
}

impl Kind {
    /// A drive of one unit that is so managed.
    fn config(self) -> Option<Config> {
        let cache_bytes =
            if let Kind::CachedMap(_, entries) = self { entries * CACHED_ENTRY_BYTES } else { 0 }.to_string();
        let policy = match self {
            Kind::Pages(_, Victim::Greedy) => ("gc.victim", "greedy"),
            Kind::Pages(_, Victim::Fifo) => ("gc.victim", "fifo"),
            Kind::Pages(_, Victim::Random) => ("gc.victim", "random"),
            Kind::OwnLogs(_) => ("ftl.kind", "bast"),
            Kind::SharedLogs(_) => ("ftl.kind", "fast"),
            Kind::CachedMap(..) => ("ftl.kind", "dftl"),
        };
        let mut settings = vec![("channels", "1"), policy];
        if matches!(self, Kind::CachedMap(..)) {
            settings.push(("ftl.cache_bytes", &cache_bytes));
        }
        resolve(&[Layer::from_assignments("reference", settings)]).ok()
    }
}

/// A drive that takes the writes of a log.
struct Follower {
    drive: Simulation,
    /// The sector of the log that is the drive's first.
    low: u64,
    capacity: u64,
    /// Pages written, moved and written for the map so far.
    total: [u64; 3],
    requests: Vec<Request>,
}

impl Follower {
    fn new(range: &Range, page_bytes: u64, kind: Kind) -> Option<Self> {
        let pages = Pages::of(range, page_bytes)?;
        let drive = pages.drive(kind)?;
        let capacity = drive.geometry().capacity_sectors();
        Some(Self { drive, low: pages.low, capacity, total: [0; 3], requests: Vec::new() })
    }

    /// Takes more writes and says what they made. `None` if the drive has done enough, or has no room left.
    fn take(&mut self, writes: &[Write]) -> Option<Work> {
        let [pages, moved, mapped] = self.total;
        if pages + moved > MAX_PAGES {
            return None;
        }
        self.requests.clear();
        self.requests.extend(writes.iter().map(|write| {
            let lba = write.lba - self.low;
            let sectors = (write.bytes / SECTOR_BYTES).clamp(1, self.capacity - lba) as u32;
            Request { time_ns: 0, lba, sectors, stream: 0, op: Op::Write, handle: 0 }
        }));
        self.drive.overwrite(&self.requests, false).ok()?;
        let counters = self.drive.counters();
        self.total = [counters.host.programs, counters.gc.programs, counters.mapping.programs];
        let since = |now: u64, then: u64| (now - then) as f64;
        Some(Work {
            pages: since(self.total[0], pages),
            moved: since(self.total[1], moved),
            mapped: since(self.total[2], mapped),
        })
    }
}

/// The work of each part of the log; `ends` says with which write each part ends. Parts that are not followed to their end
/// are missing; all are, if nothing was written or the range is too long.
pub(super) fn work((log, range): (&Log, &Range), page_bytes: u64, kind: Kind, ends: &[usize]) -> Vec<Work> {
    let (mut found, mut start) = (Vec::with_capacity(ends.len()), 0);
    let Some(mut drive) = Follower::new(range, page_bytes, kind) else { return found };
    for end in ends {
        let mut part = Work::default();
        // The last one alone: a part that ends with the write by which the drive has done enough is complete.
        let (most, last) = log.writes[start..*end].split_at(end - start - 1);
        for writes in most.chunks(TOGETHER).chain([last]) {
            let Some(work) = drive.take(writes) else { return found };
            part.add(&work);
        }
        found.push(part);
        start = *end;
    }
    found
}

/// Cost of each write, ns, on a drive that takes `page_ns` for a page written and `moved_ns` for a page moved, for each
/// of several buffer sizes in bytes. A write waits for the flash for as much work as exceeds the buffer. Requests come
/// one at a time, as in logs of drives under test.
pub(super) fn costs<const N: usize>(
    (log, range): (&Log, &Range),
    page_bytes: u64,
    kind: Kind,
    (page_ns, moved_ns): (f64, f64),
    buffer_bytes: [u64; N],
) -> [Vec<f64>; N] {
    let mut buffers = buffer_bytes.map(|bytes| ((bytes / page_bytes) as f64 * page_ns, 0.0, Vec::new()));
    let mut drive = Follower::new(range, page_bytes, kind);
    for write in log.writes.chunks(1) {
        let Some(work) = drive.as_mut().and_then(|drive| drive.take(write)) else { break };
        let takes_ns = work.pages * page_ns + work.moved * moved_ns;
        for (held_ns, left_ns, found) in &mut buffers {
            *left_ns += takes_ns;
            let waits_ns = f64::max(*left_ns - *held_ns, 0.0);
            *left_ns -= waits_ns;
            found.push(waits_ns);
        }
    }
    buffers.map(|(_, _, found)| found)
}

#[cfg(test)]
mod tests {
    use flashweir_trace::{LogRecord, Op, Request};

    use super::*;

    const KINDS: [Kind; 6] = [
        Kind::Pages(1.1, Victim::Greedy),
        Kind::Pages(1.1, Victim::Fifo),
        Kind::Pages(1.1, Victim::Random),
        Kind::OwnLogs(0.1),
        Kind::SharedLogs(0.1),
        Kind::CachedMap(1.2, 1024),
    ];

    /// A log of writes of so many sectors each.
    fn written(writes: impl Iterator<Item = (u64, u32)>) -> Log {
        let mut log = Log::default();
        for (number, (lba, sectors)) in (0..).zip(writes) {
            let request = Request { time_ns: number, lba, sectors, stream: 0, op: Op::Write, handle: 0 };
            log.push(&LogRecord { completion_ns: Some(number + 1), ..LogRecord::bare(request) });
        }
        log
    }

    /// Pages of 4 KiB, written at random all over a range.
    fn random(pages: u64, count: u64) -> Log {
        written((0..count).scan(1u64, move |state, _| {
            *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            Some((1_000_000 + (*state >> 33) % pages * 8, 8))
        }))
    }

    fn moved(log: &Log, kind: Kind) -> Work {
        let end = [log.writes.len()];
        work((log, &Range::of(log)), 4096, kind, &end).pop().expect("it is followed to its end")
    }

    #[test]
    fn drives_are_as_large_as_what_was_written() {
        for kind in KINDS {
            for (space, sectors) in [(1, 1), (1, 8), (3, 8), (1000, 8), (100_001, 64)] {
                let log = written([(5, 1), (5 + space * 8, sectors)].into_iter());
                let range = Range::of(&log);
                for page_bytes in [2048, 4096, 32_768] {
                    let pages = Pages::of(&range, page_bytes).expect("a short range");
                    let drive =
                        pages.drive(kind).unwrap_or_else(|| panic!("{kind:?}, {space}, {page_bytes}"));
                    assert!(drive.geometry().capacity_sectors() >= range.end - pages.low);
                    assert_eq!(drive.geometry().units(), 1);
                }
            }
        }
    }

    #[test]
    fn space_is_that_of_all_blocks() {
        let log = random(12_800, 20_000);
        let pages = Pages::of(&Range::of(&log), 4096).expect("a short range");
        let drive = pages.drive(Kind::Pages(1.2, Victim::Greedy)).expect("a drive");
        let blocks = drive.geometry().blocks as f64;
        assert!((blocks - 120.0).abs() <= 1.0, "{blocks}");
    }

    #[test]
    fn a_first_sequential_pass_moves_nothing() {
        let log = written((0..8192).map(|page| (page * 8, 8)));
        for kind in KINDS {
            let work = moved(&log, kind);
            assert_eq!((work.pages, work.moved), (8192.0, 0.0), "{kind:?}");
        }
    }

    #[test]
    fn management_schemes_are_distinguished_by_relocations() {
        let log = random(8192, 40_000);
        let [greedy, fifo, random, own, shared, cached] = KINDS.map(|kind| moved(&log, kind));
        assert!(greedy.moved > 0.0 && greedy.moved < fifo.moved && fifo.moved <= 1.05 * random.moved);
        assert!(own.moved > 5.0 * greedy.moved && shared.moved > 2.0 * greedy.moved);
        assert!(greedy.mapped < 1.0);
        assert!(cached.mapped > 1000.0);
        // More room, fewer copies; more entries in memory, fewer translation pages.
        assert!(moved(&log, Kind::Pages(1.3, Victim::Greedy)).moved < greedy.moved);
        assert!(moved(&log, Kind::CachedMap(1.2, 4096)).mapped < cached.mapped);
    }

    #[test]
    fn parts_add_up_and_end_where_it_would_take_too_long() {
        let log = random(4096, 20_000);
        let range = Range::of(&log);
        let kind = Kind::Pages(1.1, Victim::Greedy);
        let parts = work((&log, &range), 4096, kind, &[100, 7000, 20_000]);
        let pages: Vec<f64> = parts.iter().map(|part| part.pages).collect();
        assert_eq!(pages, [100.0, 6900.0, 13_000.0]);
        let sum: f64 = parts.iter().map(|part| part.moved).sum();
        assert!((sum - moved(&log, kind).moved).abs() < 0.5);
        let all = written((0..1100).map(|_| (0, 4096 * 8)));
        let ends = [1000, all.writes.len()];
        assert_eq!(work((&all, &Range::of(&all)), 4096, kind, &ends).len(), 1);
        let far = written([(0, 8), (u64::MAX - 8, 8)].into_iter());
        assert!(work((&far, &Range::of(&far)), 4096, kind, &[2]).is_empty());
    }

    #[test]
    fn a_write_waits_for_what_the_buffer_does_not_hold() {
        let log = written((0..4).map(|page| (page * 8, 8)));
        let kind = Kind::Pages(1.2, Victim::Greedy);
        let [none, one] = costs((&log, &Range::of(&log)), 4096, kind, (10.0, 1.0), [0, 4096]);
        assert_eq!(none, [10.0; 4]);
        assert_eq!(one, [0.0, 10.0, 10.0, 10.0]);
    }
}
