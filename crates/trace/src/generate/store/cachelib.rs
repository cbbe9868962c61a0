//! A flash cache of objects, as CacheLib's Navy lays it out (Berg et al., OSDI 2020): small objects are hashed into buckets that
//! are written whole, each anywhere in their part; large ones are gathered into regions, which are written one behind the
//! other, the oldest over again.

use std::collections::VecDeque;

use super::super::draw::{Draw, Purpose};
use super::super::share::Share;
use super::super::volume::Place;
use super::{Engine, Item, Options, run};
use crate::Op;

/// Handle of buckets of small objects, and of regions of large ones.
const SMALL: u8 = 0;
const LARGE: u8 = 1;

#[derive(Clone, Debug)]
pub(super) struct Cachelib {
    start: u64,
    bucket: u64,
    buckets: u64,
    /// Where regions begin, their length and number, and the next one.
    regions_start: u64,
    region: u64,
    regions: u64,
    next: u64,
    /// Regions that have been written once at least.
    filled: u64,
    request: u64,
    small_writes: Share,
    draw: Draw,
    /// Where reads go.
    read_draw: Draw,
    /// Sectors written of small objects and in all.
    small: u64,
    all: u64,
}

impl Cachelib {
    pub(super) fn new(options: &Options, range: Place, seed: u64) -> Self {
        let Engine::Cachelib { small, small_writes, bucket_sectors, region_sectors } = options.engine else {
            unreachable!("made for this engine")
        };
        let buckets = small.of(range.sectors / bucket_sectors);
        let regions_start = range.lba + buckets * bucket_sectors;
        Self {
            start: range.lba,
            bucket: bucket_sectors,
            buckets,
            regions_start,
            region: region_sectors,
            regions: (range.sectors - buckets * bucket_sectors) / region_sectors,
            next: 0,
            filled: 0,
            request: options.request_sectors,
            small_writes,
            draw: Draw::new(seed, Purpose::Addresses),
            read_draw: Draw::new(seed, Purpose::Layout),
            small: 0,
            all: 0,
        }
    }

    /// Writes what is behind its share of the bytes: a bucket, or a region.
    pub(super) fn step(&mut self, queue: &mut VecDeque<Item>) {
        if self.small < self.small_writes.of(self.all + self.bucket) {
            let lba = self.start + self.draw.below(self.buckets) * self.bucket;
            queue.push_back(Item { op: Op::Write, lba, sectors: self.bucket, handle: SMALL });
            self.small += self.bucket;
            self.all += self.bucket;
            return;
        }
        let lba = self.regions_start + self.next * self.region;
        run(queue, Op::Write, LARGE, lba, self.region, self.request);
        self.all += self.region;
        self.next = (self.next + 1) % self.regions;
        self.filled = (self.filled + 1).min(self.regions);
    }

    /// A lookup: a bucket, or a part of a region that holds something.
    pub(super) fn read(&mut self) -> Item {
        if self.filled == 0 || self.small_writes.hit(self.read_draw.bits()) {
            let lba = self.start + self.read_draw.below(self.buckets) * self.bucket;
            return Item { op: Op::Read, lba, sectors: self.bucket, handle: SMALL };
        }
        let sectors = self.request.min(self.region);
        let region = self.regions_start + self.read_draw.below(self.filled) * self.region;
        let lba = region + self.read_draw.below(self.region / sectors) * sectors;
        Item { op: Op::Read, lba, sectors, handle: LARGE }
    }
}
