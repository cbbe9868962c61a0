//! Properties over random operations, checked after each of them against a model of the array that knows only which
//! pages were programmed and erased.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use crate::config::Config as DeviceConfig;
use crate::config::layers::{Layer, resolve};
use crate::ftl::blocks::Index;
use crate::op::Effect;

/// Expected array, from the operations of the layer alone: pages programmed of each block, by unit.
struct Array {
    programmed: Vec<Vec<u32>>,
    pages_per_block: u32,
    /// Mapping units in a page of flash.
    per_page: u32,
}

impl Array {
    fn program(&mut self, unit: u32, ppn: u32) {
        let (block, page) = (ppn / self.pages_per_block, ppn % self.pages_per_block);
        let next = &mut self.programmed[unit as usize][block as usize];
        let begins_page = *next < page && page == next.next_multiple_of(self.per_page);
        assert!(page == *next || begins_page, "pages of a block are programmed once and in order");
        *next = page + 1;
    }

    /// The last page of each block is padded.
    fn close(&mut self, unit: u32) {
        let per_page = self.per_page;
        self.programmed[unit as usize].iter_mut().for_each(|next| *next = next.next_multiple_of(per_page));
    }

    /// The last page of a block is padded.
    fn pad(&mut self, unit: u32, block: u32) {
        let next = &mut self.programmed[unit as usize][block as usize];
        *next = next.next_multiple_of(self.per_page);
    }

    fn holds(&self, unit: u32, ppn: u32) -> bool {
        ppn % self.pages_per_block < self.programmed[unit as usize][(ppn / self.pages_per_block) as usize]
    }

    /// Makes the operations, in order.
    fn replay(&mut self, ops: &Ops) {
        let (mut moved, mut erased) = (0, 0);
        for op in ops.list() {
            match &op.effect {
                Effect::Moved(range) => {
                    assert_eq!(range.start, moved, "every page moved goes with one operation");
                    moved = range.end;
                    let pairs = ops.moves(range);
                    for (at, pages) in [(0, op.reads), (1, op.pages)] {
                        let page = |(from, to): &(u32, u32)| [*from, *to][at] / self.per_page;
                        let found: BTreeSet<u32> = pairs.iter().map(page).collect();
                        assert_eq!(pages as usize, found.len(), "pages of flash read (0) or programmed (1)");
                    }
                    for (from, to) in pairs {
                        self.moved(op.unit, *from, *to);
                    }
                    // The host may be filling pages of other groups meanwhile.
                    for (_, to) in pairs {
                        self.pad(op.unit, to / self.pages_per_block);
                    }
                }
                Effect::Erased { block } => {
                    self.erased(op.unit, *block);
                    erased += 1;
                }
                other => panic!("a page map in RAM needs no such operation: {other:?}"),
            }
        }
        assert_eq!(ops.tally.merges, [0; 3], "a page map merges nothing");
        assert_eq!(ops.tally.collections.len(), erased, "a collection erases one block");
    }

    fn moved(&mut self, unit: u32, from: u32, to: u32) {
        assert!(self.holds(unit, from), "only programmed pages are moved");
        self.program(unit, to);
    }

    fn erased(&mut self, unit: u32, victim: u32) {
        let programmed = &mut self.programmed[unit as usize][victim as usize];
        assert_eq!(*programmed, self.pages_per_block, "only full blocks are collected");
        *programmed = 0;
    }
}

/// The layer, the model of its array, and where every logical page must be.
struct Bench {
    ftl: PageFtl,
    ops: Ops,
    array: Array,
    units_of: BTreeMap<u32, u32>,
    kind: Index,
    static_gap: u32,
    /// Pages that overdue blocks had left.
    unwritten: u64,
}

impl Bench {
    fn new(config: &DeviceConfig, shared: bool) -> Self {
        let geometry = Geometry::new(config).expect("legal");
        let ftl = PageFtl::new(&config.upkeep(), &geometry, shared.then(|| geometry.units()), 3);
        let blocks = |unit| vec![0; geometry.unit_blocks(unit) as usize];
        let programmed = (0..geometry.units()).map(blocks).collect();
        let array = Array {
            programmed,
            pages_per_block: geometry.pages_per_block,
            per_page: geometry.units_per_page,
        };
        let ops = Ops::new(true).packing(geometry.units_per_page);
        let kind = Victim::new(&config.gc.victim).index();
        Self {
            ftl,
            ops,
            array,
            units_of: BTreeMap::new(),
            kind,
            static_gap: config.wear.static_gap,
            unwritten: 0,
        }
    }

    /// Key of a page in the map of its unit: with a map of their own units know different pages by the same key.
    fn home(&self, lpn: u32, unit: u32) -> Home {
        let units = self.ftl.units.len() as u32;
        if self.ftl.rules.shared_map {
            Home { unit, key: lpn }
        } else {
            Home { unit: lpn % units, key: lpn / units }
        }
    }

    fn write(&mut self, lpn: u32, wish: u32) {
        let units = self.ftl.units.len() as u32;
        let before = self.units_of.get(&lpn).copied();
        let free = |unit: &u32| before == Some(*unit) || self.ftl.has_room(*unit);
        let unit = (0..units).map(|step| (wish + step) % units).find(free).expect("the drive has room");
        let home = self.home(lpn, unit);
        let handle = (wish % 5) as u8;
        let old = before.map(|unit| self.home(lpn, unit));
        let expected = old.and_then(|home| Some((home.unit, self.ftl.lookup(home)?)));
        let written = self.ftl.write(home, old, handle, &mut self.ops).expect("a page can always be written");
        self.array.replay(&self.ops);
        self.ops.clear();
        // The version before may have been moved by the collection that made room, but never to another unit.
        assert_eq!(written.old.map(|(unit, _)| unit), expected.map(|(unit, _)| unit));
        self.array.program(home.unit, written.ppn);
        assert_eq!(self.ftl.lookup(home), Some(written.ppn));
        self.units_of.insert(lpn, home.unit);
    }

    /// A flush: pages that are being filled are padded.
    fn close(&mut self, unit: u32) {
        let unit = unit % self.ftl.units.len() as u32;
        let next = self.ftl.units[unit as usize].host.next;
        let missing = next.next_multiple_of(self.array.per_page) - next;
        if self.ftl.groups.is_some() {
            self.ftl.close_pages(unit);
            return self.array.close(unit);
        }
        let open = self.ftl.open_page_of(unit).is_some();
        let padded = self.ftl.close_page(unit);
        assert_eq!(padded, if open { missing } else { 0 });
        self.array.close(unit);
    }

    /// Time passes: open blocks that are overdue end as they are, and what is left of them counts as programmed.
    fn pass(&mut self, now_ns: u64) {
        self.ftl.close_overdue(now_ns, |_, _| true);
        let per_block = self.array.pages_per_block;
        let mut left = 0;
        for (unit, programmed) in self.ftl.units.iter().zip(&mut self.array.programmed) {
            for (_, next) in (0..).zip(programmed).filter(|(block, _)| unit.blocks.is_full(*block)) {
                left += u64::from(per_block - *next);
                *next = per_block;
            }
        }
        let events = self.ftl.placement().map(|placement| placement.events).unwrap_or_default();
        self.unwritten += left;
        assert_eq!(events.unwritten_pages, self.unwritten);
    }

    fn trim(&mut self, lpn: u32) {
        let unit = self.units_of.remove(&lpn);
        let home = self.home(lpn, unit.unwrap_or(0));
        assert_eq!(self.ftl.trim(home), unit.is_some());
        assert_eq!(self.ftl.lookup(home), None);
    }

    fn check(&self) {
        let mut mapped = vec![BTreeMap::new(); self.ftl.units.len()];
        for (lpn, unit) in &self.units_of {
            let home = self.home(*lpn, *unit);
            let ppn = self.ftl.lookup(home).expect("what was written is mapped");
            let twice = mapped[home.unit as usize].insert(ppn, home.key);
            assert_eq!(twice, None, "two logical pages on one physical page");
        }
        for (number, unit) in self.ftl.units.iter().enumerate() {
            self.check_unit(number as u32, unit, &mapped[number]);
        }
    }

    fn check_unit(&self, number: u32, unit: &Unit, mapped: &BTreeMap<u32, u32>) {
        let rules = &self.ftl.rules;
        let pages_per_block = self.array.pages_per_block;
        let programmed = &self.array.programmed[number as usize];
        let mut valid = BTreeMap::new();
        for block in 0..unit.blocks.count() as u32 {
            let words = &unit.valid_bits[block as usize * rules.words_per_block..][..rules.words_per_block];
            let in_block: Vec<u32> = (0..rules.words_per_block as u32 * 64)
                .filter(|page| words[(page / 64) as usize] >> (page % 64) & 1 == 1)
                .collect();
            assert_eq!(unit.blocks.valid(block), in_block.len() as u32, "valid count of block {block}");
            for page in in_block {
                assert!(
                    page < programmed[block as usize],
                    "a valid page in the erased part of block {block}"
                );
                let ppn = block * pages_per_block + page;
                valid.insert(ppn, unit.owner.get(ppn.into()));
            }
        }
        assert_eq!(&valid, mapped, "valid pages are exactly the mapped ones");
        assert_eq!(unit.valid_pages, mapped.len() as u64);
        let erased = programmed.iter().filter(|next| **next == 0).count() as u64;
        assert_eq!(unit.blocks.free(), erased, "erased blocks");
        assert!(erased >= rules.held_back, "blocks held back stay erased");
        self.check_index(unit, programmed);
    }

    /// The index of full blocks has all of them and no other.
    fn check_index(&self, unit: &Unit, programmed: &[u32]) {
        let pages_per_block = self.array.pages_per_block;
        let full: Vec<u32> = (0..programmed.len() as u32)
            .filter(|block| programmed[*block as usize] == pages_per_block)
            .collect();
        assert_eq!(unit.blocks.full_count(), full.len() as u64);
        match self.kind {
            Index::ByValid => {
                let fewest = unit.blocks.fewest_valid().map(|block| unit.blocks.valid(block));
                assert_eq!(fewest, full.iter().map(|block| unit.blocks.valid(*block)).min());
            }
            Index::ByAge => {
                let oldest = unit.blocks.oldest().map(|block| unit.blocks.filled_at(block));
                assert_eq!(oldest, full.iter().map(|block| unit.blocks.filled_at(*block)).min());
            }
            Index::Unordered => {
                let mut listed = unit.blocks.unordered().to_vec();
                listed.sort_unstable();
                assert_eq!(listed, full);
            }
        }
        if let Some(least) = unit.blocks.least_worn_full() {
            let fewest = full.iter().map(|block| unit.blocks.erases(*block)).min();
            assert_eq!(Some(unit.blocks.erases(least)), fewest);
        }
        assert!(self.static_gap > 0 || unit.fewest_erases == 0);
    }
}

/// A small drive: pages of a block, logical pages of a unit, units, and policies.
fn configs() -> impl Strategy<Value = DeviceConfig> {
    let shape = (prop::sample::select(vec![1, 2, 3, 5, 64, 65, 130]), 1..90u64, 1..4u32, 0..90u32);
    let units_per_page = prop::sample::select(vec![1_u64, 1, 2, 3, 4, 8]);
    let victims = prop::sample::select(vec!["greedy", "fifo", "random", "d-choices", "cost-benefit"]);
    let rest = (1..3u32, 1..4u32, any::<bool>(), prop::sample::select(vec![0, 0, 1, 4]));
    let classifiers =
        "one one host-and-collected stream generations frequency death-time interval age-groups external";
    let groups = (prop::sample::select(classifiers.split(' ').collect::<Vec<_>>()), 1..5u32, any::<bool>());
    let parts = (shape, units_per_page, victims, rest, groups);
    parts.prop_filter_map("the drive has no spare page", |(shape, units_per_page, victim, rest, groups)| {
        let (pages_per_block, pages, channels, op_percent) = shape;
        let (frontiers, free_blocks, dynamic, gap) = rest;
        let (classifier, groups, isolated) = groups;
        let kind: Classifier = serde_json::from_value(classifier.into()).expect("a classifier");
        let counts = kind.counts(Some(groups), isolated);
        let open = counts.map_or(frontiers, |counts| counts.open_blocks() + counts.kept_blocks());
        let held_back = (free_blocks + open) * pages_per_block;
        let spare = f64::from(op_percent) / 100.0 + f64::from(held_back) / pages as f64;
        let settings = [
            ("channels", channels.to_string()),
            ("page", (512 * units_per_page).to_string()),
            ("ftl.map_unit", "512".into()),
            ("pages_per_block", pages_per_block.to_string()),
            ("capacity", (pages * units_per_page * 512 * u64::from(channels)).to_string()),
            ("op_ratio", spare.to_string()),
            ("gc.victim", victim.into()),
            ("gc.frontiers", frontiers.to_string()),
            ("ftl.classifier", classifier.into()),
            ("ftl.groups", groups.to_string()),
            ("ftl.isolated", isolated.to_string()),
            ("ftl.open_time", if isolated { "40ns" } else { "none" }.into()),
            ("gc.free_blocks", free_blocks.to_string()),
            ("wear.dynamic", dynamic.to_string()),
            ("wear.static_gap", gap.to_string()),
        ];
        resolve(&[Layer::from_assignments(
            "test",
            settings.iter().map(|(key, value)| (*key, value.as_str())),
        )])
        .ok()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_invariants_hold_after_every_operation(
        config in configs(),
        shared in any::<bool>(),
        operations in prop::collection::vec((any::<u32>(), any::<u32>(), 0..10u32), 1..400),
    ) {
        let mut bench = Bench::new(&config, shared);
        let pages = Geometry::new(&config).expect("legal").logical_pages as u32;
        // Full first, so that every operation after it works at the limit.
        for lpn in 0..pages {
            bench.write(lpn, lpn);
        }
        bench.check();
        for (now_ns, (page, wish, kind)) in (0..).zip(operations) {
            bench.pass(now_ns);
            match kind {
                0 => bench.trim(page % pages),
                8 => bench.close(wish),
                // Most writes go to a fifth of the pages.
                1..=7 => bench.write(page % pages.div_ceil(5), wish),
                _ => bench.write(page % pages, wish),
            }
            bench.check();
        }
    }
}

#[test]
fn a_unit_that_no_collection_can_help_says_in_what_state_it_is() {
    for victim in ["greedy", "fifo", "random", "d-choices", "cost-benefit"] {
        for (frontiers, held_back) in [("1", "1"), ("2", "1"), ("1", "3")] {
            let layer = Layer::from_assignments(
                "test",
                [("gc.victim", victim), ("gc.frontiers", frontiers), ("gc.free_blocks", held_back)],
            );
            let config = resolve(&[layer]).expect("legal");
            // As many blocks as hold the logical pages, and those held back: refused as a configuration.
            let mut geometry = Geometry::for_test(1, 1, 1, 1);
            geometry.unit_reserved_blocks = config.gc.free_blocks.of(16);
            geometry.blocks = 16 + u64::from(geometry.unit_reserved_blocks);
            let mut ftl = PageFtl::new(&config.upkeep(), &geometry, None, 1);
            let blocks = vec![vec![0; geometry.blocks as usize]];
            let mut array = Array { programmed: blocks, pages_per_block: 4, per_page: 1 };
            let mut ops = Ops::new(true);
            let mut error = None;
            for key in (0..64).chain(0..64) {
                let result = ftl.write(Home { unit: 0, key }, None, 0, &mut ops);
                array.replay(&ops);
                ops.clear();
                match result {
                    Ok(written) => array.program(0, written.ppn),
                    Err(found) => {
                        error = Some(found);
                        break;
                    }
                }
            }
            let message = error.expect("it can't go on").to_string();
            assert!(message.starts_with("unit 0 can't go on: "), "{message}");
            assert!(message.contains(&format!("({held_back} blocks held back)")), "{message}");
            assert!(message.ends_with("raise op_ratio or lower gc.free_blocks"), "{message}");
        }
    }
}
