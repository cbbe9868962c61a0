//! A log-structured merge tree with leveled compaction (O'Neil et al. 1996; RocksDB's default style).
//!
//! Records go to a log and to a table in memory; a full table becomes a file of level 0, and its log is not needed any more. Four
//! files of level 0 are merged with all of level 1. The last level holds nearly all of the data, each level above it 1/`fanout` of
//! the one below. A level that holds more than that gives one file, going round by key, to the level below, where it is merged with the files whose keys
//! overlap. Files that were merged are read, and discarded once the new ones are flushed.
//!
//! Keys are uniform. A file is a range of keys and the share of them that it holds (its *density*); a merge of densities d and
//! e has 1 - (1 - d)(1 - e), since versions of the same key are one. So the files of each level, and how long each lives,
//! follow without a single key. Everything is counted in integers, so every machine makes the same requests.

use std::collections::VecDeque;

use super::super::volume::Place;
use super::{Engine, Item, Options, Ring, run};
use crate::Op;

/// Files of level 0 at which they are merged.
const LEVEL0_FILES: usize = 4;
/// Handle of the log; those of level n are `FIRST_LEVEL + n`.
const LOG: u8 = 0;
const FIRST_LEVEL: u8 = 1;
/// All keys.
const KEYS: u64 = 1 << 32;
/// Density of a range of which every key is there.
const DENSE: u64 = 1 << 32;
/// Requests of compactions for each record of the log while there are any.
const COMPACTION_REQUESTS: usize = 8;

/// A file: the keys from `low` to before `high`, of which it holds a share.
#[derive(Clone, Copy, Debug)]
struct File {
    low: u64,
    high: u64,
    density: u64,
    slot: u64,
    sectors: u64,
}

/// A range of keys and the share of them that is there.
#[derive(Clone, Copy, Debug)]
struct Segment {
    low: u64,
    high: u64,
    density: u64,
}

#[derive(Clone, Debug)]
pub(super) struct Lsm {
    log: Ring,
    record: u64,
    /// Sectors of the log since the last table was written.
    logged: u64,
    files_start: u64,
    /// Sectors of a table, which is the length of a file too.
    table: u64,
    request: u64,
    fanout: u64,
    /// Sectors of the data if each key is there once.
    data: u64,
    free: VecDeque<u64>,
    /// Level 0: the newest last. All others: by key.
    levels: Vec<Vec<File>>,
    /// Key at which each level goes on when it gives a file away.
    cursors: Vec<u64>,
    /// Requests of compactions that are still to come.
    background: VecDeque<Item>,
}

impl Lsm {
    pub(super) fn new(options: &Options, range: Place) -> Self {
        let Engine::Lsm { table_sectors, fanout, fill } = options.engine else {
            unreachable!("made for this engine")
        };
        let log_sectors = 2 * table_sectors;
        let slots = (range.sectors - log_sectors) / table_sectors;
        let data = fill.of(range.sectors - log_sectors);
        let mut levels = 2;
        let mut first_target = data;
        while first_target > LEVEL0_FILES as u64 * table_sectors {
            first_target /= fanout;
            levels += 1;
        }
        Self {
            log: Ring::new(range.lba, log_sectors),
            record: options.record_sectors,
            logged: 0,
            files_start: range.lba + log_sectors,
            table: table_sectors,
            request: options.request_sectors,
            fanout,
            data,
            free: (0..slots).collect(),
            levels: vec![Vec::new(); levels],
            cursors: vec![0; levels],
            background: VecDeque::new(),
        }
    }

    /// A record of the log, and compactions beside it; these alone where level 0 has no room.
    pub(super) fn step(&mut self, queue: &mut VecDeque<Item>) {
        let take = self.background.len().min(COMPACTION_REQUESTS);
        queue.extend(self.background.drain(..take));
        if self.background.is_empty() {
            self.compact();
        }
        if self.levels[0].len() >= 2 * LEVEL0_FILES && !self.background.is_empty() {
            return;
        }
        let lba = self.log.append(self.record);
        queue.push_back(Item { op: Op::Write, lba, sectors: self.record, handle: LOG });
        self.logged += self.record;
        if self.logged >= self.table {
            self.logged = 0;
            self.write_table();
        }
    }

    /// The table in memory becomes a file of level 0.
    fn write_table(&mut self) {
        let density = (u128::from(self.table) * u128::from(DENSE) / u128::from(self.data)) as u64;
        let whole = Segment { low: 0, high: KEYS, density: density.min(DENSE) };
        if let Some(file) = self.write_file(whole, self.table, 0) {
            self.levels[0].push(file);
            self.background.push_back(Item::FLUSH);
        }
    }

    /// Writes a file of a level behind the other work of compactions.
    fn write_file(&mut self, keys: Segment, sectors: u64, level: u8) -> Option<File> {
        let slot = self.free.pop_front()?;
        let lba = self.files_start + slot * self.table;
        run(&mut self.background, Op::Write, FIRST_LEVEL + level, lba, sectors, self.request);
        Some(File { low: keys.low, high: keys.high, density: keys.density, slot, sectors })
    }

    /// Sectors that a level may hold.
    fn target(&self, level: usize) -> u64 {
        self.data / self.fanout.pow((self.levels.len() - 1 - level) as u32)
    }

    /// Begins the compaction that is most due, if any is.
    fn compact(&mut self) {
        if self.levels[0].len() >= LEVEL0_FILES {
            let upper = std::mem::take(&mut self.levels[0]);
            return self.merge(upper, 0);
        }
        for level in 1..self.levels.len() - 1 {
            let held: u64 = self.levels[level].iter().map(|file| file.sectors).sum();
            if held > self.target(level) {
                let cursor = self.cursors[level];
                let at = self.levels[level].iter().position(|file| file.low >= cursor).unwrap_or(0);
                let file = self.levels[level].remove(at);
                self.cursors[level] = file.high;
                return self.merge(vec![file], level);
            }
        }
    }

    /// Merges files of a level with those of the next whose keys overlap.
    fn merge(&mut self, upper: Vec<File>, level: usize) {
        let low = upper.iter().map(|file| file.low).min().unwrap_or(0);
        let high = upper.iter().map(|file| file.high).max().unwrap_or(KEYS);
        let next = &mut self.levels[level + 1];
        let first = next.partition_point(|file| file.high <= low);
        let last = next.partition_point(|file| file.low < high);
        let lower: Vec<File> = next.drain(first..last).collect();
        let merged = segments(&upper, &lower);
        for file in upper.iter().chain(&lower) {
            let lba = self.files_start + file.slot * self.table;
            run(&mut self.background, Op::Read, LOG, lba, file.sectors, self.request);
        }
        let mut made = Vec::new();
        for (keys, sectors) in self.cut(&merged) {
            made.extend(self.write_file(keys, sectors, level as u8 + 1));
        }
        self.background.push_back(Item::FLUSH);
        for file in upper.into_iter().chain(lower) {
            let lba = self.files_start + file.slot * self.table;
            self.background.push_back(Item { op: Op::Trim, lba, sectors: file.sectors, handle: LOG });
            self.free.push_back(file.slot);
        }
        let next = &mut self.levels[level + 1];
        next.splice(first..first, made);
    }

    /// Cuts merged keys into files of the same length: each range, and its length in sectors.
    fn cut(&self, merged: &[Segment]) -> Vec<(Segment, u64)> {
        let amount = |keys: u64, density: u64| {
            let share = (u128::from(keys) * u128::from(density)) >> 32;
            ((share * u128::from(self.data)) >> 32) as u64
        };
        let total: u64 =
            merged.iter().map(|segment| amount(segment.high - segment.low, segment.density)).sum();
        // Files of the same length: a short one at the end would take as much room as a whole one.
        let length = total.div_ceil(total.div_ceil(self.table).max(1)).max(1);
        let mut files: Vec<(Segment, u64)> = Vec::new();
        let mut open: Option<(u64, u64)> = None;
        for segment in merged {
            let mut low = segment.low;
            while low < segment.high {
                let (start, held) = open.unwrap_or((low, 0));
                let room = length - held;
                let all = amount(segment.high - low, segment.density);
                if all <= room {
                    open = Some((start, held + all));
                    break;
                }
                let keys = u128::from(segment.high - low) * u128::from(room) / u128::from(all);
                let end = low + (keys as u64).max(1);
                files.push((self.range(start, end, length), length));
                (open, low) = (None, end);
            }
        }
        if let (Some((start, held)), Some(last)) = (open, merged.last())
            && held > 0
        {
            files.push((self.range(start, last.high, held), held));
        }
        files
    }

    /// Keys of a file with their mean density.
    fn range(&self, low: u64, high: u64, sectors: u64) -> Segment {
        let all = (u128::from(high - low) * u128::from(self.data)) >> 32;
        let density = (u128::from(sectors) << 32) / all.max(1);
        Segment { low, high, density: (density as u64).min(DENSE) }
    }
}

/// The keys of all files together: at each, one version is left.
fn segments(upper: &[File], lower: &[File]) -> Vec<Segment> {
    let mut ends: Vec<u64> = upper.iter().chain(lower).flat_map(|file| [file.low, file.high]).collect();
    ends.sort_unstable();
    ends.dedup();
    let density_at = |key: u64| {
        let missing = upper
            .iter()
            .chain(lower)
            .filter(|file| file.low <= key && key < file.high)
            .fold(DENSE, |missing, file| {
                ((u128::from(missing) * u128::from(DENSE - file.density)) >> 32) as u64
            });
        DENSE - missing
    };
    ends.windows(2)
        .map(|pair| Segment { low: pair[0], high: pair[1], density: density_at(pair[0]) })
        .filter(|segment| segment.density > 0)
        .collect()
}
