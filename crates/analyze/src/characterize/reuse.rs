//! Reuse distances and working sets of 4 KiB blocks, reads and writes together: how large a cache that drops what was
//! used longest ago would have to be, and how much is in use at a time.
//!
//! SHARDS (Waldspurger et al., FAST 2015): blocks are followed whose hash is below a threshold. It starts above all hashes,
//! and falls so that no more blocks are followed than there is room for: small workloads are exact, and large ones take
//! constant memory. Weights are the inverse of the share that was followed when a touch was counted.

use std::collections::BinaryHeap;

use serde::Serialize;

use super::distances::{Distances, MissRatio, PARTS};
use super::sample::{Sample, hash, whole};
use super::stamps::Stamps;
use super::table::Table;
use super::working_set::{BLOCK_BYTES, Touched, WorkingSet, WorkingSets};
use flashweir_trace::{Op, Request};

/// Sectors of a block.
const BLOCK_SECTORS: u64 = BLOCK_BYTES / flashweir_trace::SECTOR_BYTES;

/// Limit on the blocks that are followed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Sampling {
    /// At most so many blocks: all of them, as long as there are no more.
    Blocks(u32),
    /// This share of all blocks, above 0 and up to 1, however many that are.
    Rate(f64),
}

/// When a block was touched last.
#[derive(Clone, Copy, Default)]
struct Last {
    stamp: u32,
    touched: Touched,
}

/// Reuse so far.
pub(super) struct Reuse {
    sample: Sample,
    /// Blocks at most; `None` where the share is fixed.
    limit: Option<usize>,
    weight: f64,
    blocks: Table<Last>,
    /// Followed blocks by hash, where some may have to go.
    order: BinaryHeap<(u64, u64)>,
    stamps: Stamps,
    reads: Distances,
    writes: Distances,
    touches: [u64; 2],
    working: WorkingSets,
}

/// Reuse distances of blocks, and the miss ratios of caches that follow from them.
#[derive(Clone, Debug, Serialize)]
pub struct ReuseDistance {
    /// Bytes of a block.
    pub block_bytes: u64,
    /// Blocks touched by reads and writes, each time counted.
    pub touches: u64,
    /// Share of the blocks that was followed; 1 is all, and exact.
    pub followed_share: f64,
    /// Blocks that were followed.
    pub followed_blocks: u64,
    /// Largest standard error of the miss ratios; 0 where they are exact.
    pub error: f64,
    /// Touches by how many other blocks were touched since the last time.
    pub distances: Vec<DistanceBin>,
    /// Touches of blocks that were not touched before.
    pub first_touches: f64,
    /// Misses of all touches in a cache of the last blocks touched.
    pub miss_ratios: Vec<MissRatio>,
    /// Misses of the reads in the same cache.
    pub read_miss_ratios: Vec<MissRatio>,
}

/// Touches of one bin of distances.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DistanceBin {
    /// Smallest distance in the bin, bytes of other blocks; it reaches to the next one's.
    pub from_bytes: u64,
    /// Touches, as estimated from the blocks that were followed.
    pub touches: f64,
}

impl Reuse {
    pub(super) fn new(sampling: Sampling) -> Self {
        let (sample, limit) = match sampling {
            Sampling::Blocks(blocks) => (Sample::all(), Some(blocks as usize)),
            Sampling::Rate(rate) => (Sample::share(rate), None),
        };
        Self {
            sample,
            limit,
            weight: 1.0 / sample.rate(),
            blocks: Table::new(),
            order: BinaryHeap::new(),
            stamps: Stamps::new(limit.unwrap_or(1 << 14)),
            reads: Distances::new(),
            writes: Distances::new(),
            touches: [0; 2],
            working: WorkingSets::new(),
        }
    }

    /// Looks up what a request will need soon.
    #[inline]
    pub(super) fn look(&self, request: &Request) -> u64 {
        let block = request.lba / BLOCK_SECTORS;
        if !self.sample.has(hash(block)) {
            return 0;
        }
        self.blocks.look(block, |last| last.touched.number)
    }

    /// Request `number` of all, which is a read or a write.
    pub(super) fn observe(&mut self, request: &Request, time_ns: u64, number: u64) {
        let (first, last) = (request.lba / BLOCK_SECTORS, (request.end() - 1) / BLOCK_SECTORS);
        self.touches[usize::from(request.op == Op::Read)] += last - first + 1;
        let now = Touched { time_ns, number };
        for block in first..=last {
            let hash = hash(block);
            if self.sample.has(hash) {
                self.touch(block, hash, request.op, now);
            }
        }
    }

    fn touch(&mut self, block: u64, hash: u64, op: Op, now: Touched) {
        if self.stamps.is_full() {
            self.renumber();
        }
        // Hashes below the threshold differ in their lower bits however low it is.
        let part = hash as usize % PARTS;
        let distances = if op == Op::Read { &mut self.reads } else { &mut self.writes };
        if let Some(last) = self.blocks.get_mut(block) {
            let distance = f64::from(self.stamps.since(last.stamp)) * self.weight;
            distances.add(part, whole(distance), self.weight);
            self.working.again(last.touched, now, self.weight);
            self.stamps.release(last.stamp);
            *last = Last { stamp: self.stamps.stamp(block), touched: now };
            return;
        }
        distances.add_fresh(part, self.weight);
        self.working.fresh(now, self.weight);
        *self.blocks.entry(block) = Last { stamp: self.stamps.stamp(block), touched: now };
        if let Some(limit) = self.limit {
            self.order.push((hash, block));
            if self.blocks.len() > limit {
                self.forget();
            }
        }
    }

    /// Gives the blocks with the highest hash up, and all with higher ones from now on.
    fn forget(&mut self) {
        let Some((highest, _)) = self.order.peek().copied() else { return };
        self.sample.fall_to(highest);
        self.weight = 1.0 / self.sample.rate();
        while let Some((_, block)) = self.order.peek().filter(|(hash, _)| *hash >= highest).copied() {
            self.order.pop();
            if let Some(last) = self.blocks.remove(block) {
                self.stamps.release(last.stamp);
            }
        }
    }

    #[cold]
    fn renumber(&mut self) {
        let blocks = &mut self.blocks;
        let mut renumbered = |block: u64, stamp: u32| {
            if let Some(last) = blocks.get_mut(block) {
                last.stamp = stamp;
            }
        };
        if self.limit.is_none() {
            self.stamps.make_room();
        }
        self.stamps.renumber(&mut renumbered);
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.blocks.memory_bytes() + self.order.capacity() * 16 + self.stamps.memory_bytes()
    }

    /// Distances, and working sets over time (`timed`) or over request numbers.
    pub(super) fn finish(&self, timed: bool) -> (ReuseDistance, WorkingSet) {
        let exact = self.sample.rate() >= 1.0;
        let all = self.reads.plus(&self.writes);
        let [writes, reads] = self.touches;
        let curve = |distances: &Distances, touches: u64| {
            if touches == 0 { Vec::new() } else { distances.curve(touches as f64, exact, BLOCK_BYTES) }
        };
        let (histogram, first_touches) = all.histogram();
        let miss_ratios = curve(&all, reads + writes);
        let bin = |(blocks, touches): (u64, f64)| DistanceBin {
            from_bytes: blocks.saturating_mul(BLOCK_BYTES),
            touches,
        };
        let reuse = ReuseDistance {
            block_bytes: BLOCK_BYTES,
            touches: reads + writes,
            followed_share: self.sample.rate(),
            followed_blocks: self.blocks.len() as u64,
            error: miss_ratios.iter().map(|point| point.error).fold(0.0, f64::max),
            distances: histogram.into_iter().map(bin).collect(),
            first_touches,
            read_miss_ratios: curve(&self.reads, reads),
            miss_ratios,
        };
        (reuse, self.working.finish(timed, self.sample.rate()))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn windows_have_the_blocks_that_they_have(steps in proptest::collection::vec((0u64..50, 0u64..2000), 1..1500)) {
            let mut reuse = Reuse::new(Sampling::Blocks(1000));
            let (mut time_ns, mut touched) = (0, Vec::new());
            for (number, (block, pause)) in (0..).zip(steps) {
                time_ns += pause;
                let request = Request { time_ns, lba: block * 8, sectors: 8, stream: 0, op: Op::Write, handle: 0 };
                reuse.observe(&request, time_ns, number);
                touched.push((time_ns, block));
            }
            let (_, found) = reuse.finish(true);
            let width = whole((found.window * 1e9).round());
            for (number, bytes) in (0u64..).zip(&found.bytes) {
                let distinct: HashSet<u64> =
                    touched.iter().filter(|(time, _)| time / width == number).map(|(_, block)| *block).collect();
                prop_assert_eq!(whole(*bytes), distinct.len() as u64 * 4096);
            }
            let all: HashSet<u64> = touched.iter().map(|(_, block)| *block).collect();
            prop_assert_eq!(found.so_far_bytes.last().copied(), Some(all.len() as f64 * 4096.0));
        }
    }
}
