//! Properties over random operations, checked after each of them against a model that knows what is on flash: which pages
//! were programmed and erased, and what the newest version of each translation page says.

mod array;
mod frontiers;

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::config::Config as DeviceConfig;
use crate::config::layers::{Layer, resolve};
use crate::ftl::FtlConfig;
use crate::op::{PageAt, Step, Work};
use array::Array;

/// The layer, the model of its array, where every logical page must be, and what translation pages say.
struct Bench {
    ftl: Dftl,
    ops: Ops,
    array: Array,
    units: u32,
    shared: bool,
    /// Unit and physical page of each logical page.
    mapped: BTreeMap<u32, PageAt>,
    /// By map and key: the entry in the newest version of its translation page.
    on_flash: BTreeMap<(u32, u32), PageAt>,
    capacity: usize,
    /// Turns of writes, where a page may go to any unit.
    turn: u32,
}

impl Bench {
    fn new(config: &DeviceConfig) -> Self {
        let geometry = Geometry::new(config).expect("legal");
        let FtlConfig::Dftl(own) = &config.ftl else { panic!("of this layer") };
        let shared = config.binds_late();
        Self {
            ftl: Dftl::new(&config.upkeep(), own, &geometry, shared.then(|| geometry.units()), 3),
            ops: Ops::new(true),
            array: Array::new(&geometry, shared),
            units: geometry.units(),
            shared,
            mapped: BTreeMap::new(),
            on_flash: BTreeMap::new(),
            capacity: own.entries(if shared { 1 } else { geometry.units() }) as usize,
            turn: 0,
        }
    }

    /// Where a page is, or belongs.
    fn home(&self, lpn: u32) -> Home {
        if self.shared {
            let at = self.mapped.get(&lpn);
            return Home { unit: at.map_or(0, |at| at.0), key: lpn };
        }
        Home { unit: lpn % self.units, key: lpn / self.units }
    }

    /// Where the next version of a page goes: to units in turn, in steps that are not always the same.
    fn next_home(&mut self, lpn: u32) -> Home {
        let home = self.home(lpn);
        if !self.shared {
            return home;
        }
        self.turn += 1 + lpn % 2;
        let mut units = (0..self.units).map(|unit| (unit + self.turn) % self.units);
        let takes =
            |unit: &u32| self.ftl.has_room(*unit) || self.mapped.get(&lpn).is_some_and(|at| at.0 == *unit);
        Home { unit: units.find(takes).expect("some unit has room"), ..home }
    }

    fn write(&mut self, lpn: u32) {
        let home = self.next_home(lpn);
        self.write_to(lpn, home);
    }

    fn write_to(&mut self, lpn: u32, home: Home) {
        let old = self.mapped.get(&lpn).copied();
        let before = self.shared.then(|| self.home(lpn));
        let written = self.ftl.write(home, before, &mut self.ops).expect("a page can always be written");
        self.replay();
        // A collection may have moved it before.
        assert_eq!(written.old.map(|old| old.0), old.map(|old| old.0));
        self.array.program(home.unit, written.ppn, false);
        self.array.place(home.unit, home.key, Some(written.ppn));
        assert_eq!(self.ftl.lookup(home), Some(written.ppn));
        assert!(self.ftl.map(home.unit).cache.is_dirty(home.key));
        self.mapped.insert(lpn, (home.unit, written.ppn));
        self.note();
        let kept = self.ftl.free(home.unit) >= self.ftl.reserve(home.unit);
        assert!(kept, "after a write a unit has what it needs to collect");
    }

    fn read(&mut self, lpn: u32) {
        let home = self.home(lpn);
        let was_cached = self.ftl.map(home.unit).cache.has(home.key);
        let loads = self.array.reads[MapWork::Load as usize];
        let loaded = self.ftl.translate(home, &mut self.ops).expect("a page can always be looked up");
        assert_eq!(
            (self.ops.tally.looked_up, self.ops.tally.hits),
            (1, u64::from(was_cached)),
            "an entry is looked up once"
        );
        self.replay();
        let loads = self.array.reads[MapWork::Load as usize] - loads;
        assert_eq!(u64::from(loaded.is_some()), loads);
        assert!(!was_cached || loads == 0);
        if self.ftl.lookup(home).is_some() {
            assert!(self.ftl.map(home.unit).cache.has(home.key), "what is mapped can be looked up");
        }
        self.note();
    }

    fn trim(&mut self, lpn: u32) {
        let home = self.home(lpn);
        let trimmed = self.ftl.trim(home, &mut self.ops).expect("a page can always be trimmed");
        self.replay();
        assert_eq!(trimmed, self.mapped.remove(&lpn).is_some());
        self.array.place(home.unit, home.key, None);
        assert_eq!(self.ftl.lookup(home), None);
        self.note();
    }

    /// Brings the array up to what the layer has done.
    fn replay(&mut self) {
        self.array.replay(&self.ops);
        self.ops.clear();
    }

    /// Brings the model up to the translation pages written since the last time.
    fn note(&mut self) {
        assert!(!self.array.rewriting, "what is read to be written anew is written");
        for (map, key, place) in std::mem::take(&mut self.array.written) {
            // Without batch updates other changes stay in RAM.
            if key < self.ftl.rules.logical && !self.ftl.maps[map as usize].cache.is_dirty(key) {
                self.on_flash.remove(&(map, key));
                self.on_flash.extend(place.map(|place| ((map, key), place)));
            }
        }
    }

    fn check(&self) {
        for unit in 0..self.units {
            self.check_unit(unit);
        }
        for map in 0..self.ftl.maps.len() as u32 {
            self.check_map(map);
        }
        for lpn in self.mapped.keys() {
            let home = self.home(*lpn);
            let ppn = self.ftl.lookup(home).expect("what was written is mapped");
            assert_eq!(self.array.holds(home.unit, ppn), Some(false));
        }
    }

    /// The unit that a key of the map of `unit` is on.
    fn unit_of(&self, unit: u32, key: u32) -> u32 {
        match key.checked_sub(self.ftl.rules.logical) {
            Some(page) => self.ftl.unit_of(page, unit),
            None if self.shared => self.home(key).unit,
            None => unit,
        }
    }

    fn check_unit(&self, number: u32) {
        let rules = self.ftl.rules;
        let page = &self.ftl.page.units[number as usize];
        let state = &self.ftl.units[number as usize];
        let map = &self.ftl.page.maps[self.array.map_of(number) as usize];
        let pages = self.ftl.map(number).pending.len() as u32;
        let mut valid = BTreeMap::new();
        for key in 0..rules.logical + pages {
            let ppn = map.get(key.into());
            if ppn == CowVec::EMPTY || self.unit_of(number, key) != number {
                continue;
            }
            assert_eq!(self.array.holds(number, ppn), Some(key >= rules.logical));
            assert_eq!(valid.insert(ppn, key), None, "two keys on one physical page");
        }
        assert_eq!(page.valid_pages, valid.len() as u64);
        let words = self.ftl.page.rules.words_per_block;
        let mut counts = vec![0; page.valid_bits.len() / words];
        for ppn in valid.keys() {
            counts[(ppn / rules.pages_per_block) as usize] += 1;
        }
        for (block, count) in (0..).zip(counts) {
            assert_eq!(page.blocks.valid(block), count, "valid pages of block {block}");
            let bits = &page.valid_bits[block as usize * words..][..words];
            assert_eq!(bits.iter().map(|bits| bits.count_ones()).sum::<u32>(), count);
        }
        for (ppn, key) in &valid {
            assert_eq!(page.owner.get((*ppn).into()), *key);
        }
        let programmed = &self.array.programmed[number as usize];
        // A block may have been opened for pages of the SLC cache that the collection before then moved: it waits for others.
        let (erased, opened) = (programmed.iter().filter(|pages| **pages == 0), page.host.next == 0);
        assert!(!opened || programmed[page.host.block as usize] == 0);
        assert_eq!(self.ftl.free_blocks(number) + u64::from(opened), erased.count() as u64);
        let map_blocks = (0..programmed.len() as u32)
            .filter(|block| self.array.holds(number, block * rules.pages_per_block) == Some(true));
        assert_eq!(state.blocks, map_blocks.count() as u64, "blocks of translation pages");
        let of_map = valid.values().filter(|key| **key >= rules.logical).count() as u64;
        assert_eq!(state.translation_pages, of_map);
        assert!(of_map <= rules.translation_pages);
        if self.shared && page.steps.victim.is_none_or(|block| !self.ftl.holds_map(number, block)) {
            assert!(page.blocks.free() >= 1, "a unit can always make room for a translation page");
        }
    }

    fn check_map(&self, number: u32) {
        let (rules, state) = (self.ftl.rules, &self.ftl.maps[number as usize]);
        let map = &self.ftl.page.maps[number as usize];
        let mut cached = 0;
        for key in 0..rules.logical {
            cached += usize::from(state.cache.has(key));
            let ppn = map.get(key.into());
            let truth = (ppn != CowVec::EMPTY).then(|| (self.unit_of(number, key), ppn));
            let written = self.on_flash.get(&(number, key)).copied();
            let page = rules.entries.split(key.into()).0 as usize;
            assert!(
                truth == written || state.cache.is_dirty(key) || state.pending[page] > 0,
                "the entry of {key} is neither right on flash nor kept in RAM"
            );
        }
        assert!(cached <= self.capacity);
        for (page, listed_by) in (0..).zip(&state.pending) {
            if let Some(unit) = listed_by.checked_sub(1) {
                assert!(self.ftl.units[unit as usize].pending.contains(&page));
            }
        }
    }

    fn step(&mut self, unit: u32, work: Work) -> Option<Step> {
        let before = (self.array.moved, self.array.programs[MapWork::Update as usize]);
        let step = self.ftl.collect_step(unit, work, &mut self.ops).expect("a collection can be completed");
        self.replay();
        let after = (self.array.moved, self.array.programs[MapWork::Update as usize]);
        let copies = after.0 - before.0 + after.1 - before.1;
        // Where units share a map, an update may have to make room first.
        let is_move = matches!(step, Some(Step::Copy | Step::Fold { erased: false }));
        assert!(
            copies == u64::from(is_move) || self.shared && is_move,
            "a step is one copy, or one update, or an erase"
        );
        self.note();
        step
    }

    /// Folds a step ahead, with the collections that it needs.
    fn fold(&mut self, unit: u32) {
        self.ftl.fold_step(unit, &mut self.ops).expect("what is in the cache can be folded");
        self.replay();
        self.note();
    }
}

/// SLC caches, and twice none.
const SLC: [&[(&str, &str)]; 6] = [
    &[],
    &[],
    &[("nand.cell", "mlc"), ("slc.kind", "static"), ("slc.static_blocks", "2")],
    &[("nand.cell", "tlc"), ("slc.kind", "dynamic"), ("slc.when_full", "direct")],
    &[("nand.cell", "tlc"), ("slc.kind", "dynamic"), ("slc.dynamic_share", "0.5")],
    &[("nand.cell", "mlc"), ("slc.kind", "both"), ("slc.static_blocks", "1"), ("slc.when_full", "direct")],
];

/// A small drive that has at least as many blocks as it has to have, and up to some more.
fn configs() -> impl Strategy<Value = DeviceConfig> {
    let shape = (prop::sample::select(vec![1, 2, 3, 5, 64, 65]), 1..400u64, 1..4u32, 0..3u64, 0..60u64);
    let victims = prop::sample::select(vec!["greedy", "fifo", "random", "d-choices", "cost-benefit"]);
    let wear = (any::<bool>(), prop::sample::select(vec![0, 0, 1, 4]));
    let blocks = (1..4u32, 1..3u32, wear);
    let rest = (blocks, prop::sample::select(vec![1, 2, 7, 60, 400]), any::<(bool, bool)>());
    let slc = prop::sample::select(SLC.to_vec());
    (shape, victims, rest, slc).prop_filter_map(
        "the drive has no spare page",
        |(shape, victim, rest, slc)| {
            let (pages_per_block, pages, channels, tight, percent) = shape;
            let ((free_blocks, frontiers, (dynamic, gap)), cached, (batch, shared)) = rest;
            let shared = shared && channels > 1;
            let held_back = u64::from(free_blocks + frontiers)
                + 1
                + u64::from(shared)
                + (pages.div_ceil(128)).div_ceil(pages_per_block);
            let percent = if tight == 0 { 0 } else { percent };
            let spare = (held_back * pages_per_block + 1 + pages * percent / 100) as f64 / pages as f64;
            let settings = [
                ("channels", channels.to_string()),
                ("page", "512".into()),
                ("pages_per_block", pages_per_block.to_string()),
                ("capacity", (pages * 512 * u64::from(channels)).to_string()),
                ("op_ratio", spare.to_string()),
                ("gc.victim", victim.into()),
                ("gc.free_blocks", free_blocks.to_string()),
                ("gc.frontiers", frontiers.to_string()),
                ("wear.dynamic", dynamic.to_string()),
                ("wear.static_gap", gap.to_string()),
                ("alloc.kind", if shared { "dynamic" } else { "striped" }.into()),
                ("ftl.kind", "dftl".into()),
                ("ftl.cache_bytes", (cached * 8 * u64::from(channels)).to_string()),
                ("ftl.batch_update", batch.to_string()),
            ];
            // A cache where blocks have pages for it, else none.
            let slc = if pages_per_block < 3 { &[] } else { slc };
            let settings = settings.iter().map(|(key, value)| (*key, value.as_str()));
            resolve(&[Layer::from_assignments("test", settings.chain(slc.iter().copied()))]).ok()
        },
    )
}

fn cases() -> ProptestConfig {
    ProptestConfig { cases: 120, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn the_invariants_hold_after_every_operation(
        config in configs(),
        operations in prop::collection::vec((any::<u32>(), 0..12u32), 1..300),
    ) {
        let mut bench = Bench::new(&config);
        let pages = Geometry::new(&config).expect("legal").logical_pages as u32;
        // Full first, so that every operation after it works at the limit.
        for lpn in 0..pages {
            bench.write(lpn);
        }
        bench.check();
        for (page, kind) in operations {
            match kind {
                0 => bench.trim(page % pages),
                1..=3 => bench.read(page % pages),
                // Most writes go to a fifth of the pages.
                4..=9 => bench.write(page % pages.div_ceil(5)),
                _ => bench.write(page % pages),
            }
            bench.check();
        }
    }

    #[test]
    fn the_invariants_hold_between_steps(
        config in configs(),
        operations in prop::collection::vec((any::<u32>(), 0..16u32), 1..400),
    ) {
        let mut bench = Bench::new(&config);
        let pages = Geometry::new(&config).expect("legal").logical_pages as u32;
        for lpn in 0..pages {
            bench.write(lpn);
        }
        for (page, kind) in operations {
            let unit = page % bench.units;
            match kind {
                0 => bench.trim(page % pages),
                1..=2 => bench.read(page % pages),
                3..=7 => {
                    // The steps of an engine before it writes a page: nothing else is left to do then.
                    let lpn = page % if kind < 6 { pages.div_ceil(5) } else { pages };
                    let home = bench.next_home(lpn);
                    while bench.ftl.must_collect(home.unit) {
                        assert!(bench.step(home.unit, Work::Collect).is_some(), "there is something to collect");
                    }
                    let moved = (bench.array.moved, bench.array.programs[MapWork::Update as usize]);
                    bench.write_to(lpn, home);
                    let after = (bench.array.moved, bench.array.programs[MapWork::Update as usize]);
                    // Of a shared map another unit may have to make room for a translation page.
                    assert!(bench.shared || after == moved);
                }
                8..=9 => {
                    bench.step(unit, Work::Collect);
                }
                10 if bench.ftl.can_step_ahead(unit) => {
                    bench.step(unit, Work::Level);
                }
                10 => bench.fold(unit),
                11..=12 => {
                    bench.ftl.follow_copy(unit, &mut bench.ops).expect("it can be left any time");
                    bench.replay();
                }
                13 => {
                    bench.ftl.follow_erase(unit, &mut bench.ops).expect("it can be left any time");
                    bench.replay();
                }
                _ => bench.ftl.suspend(unit),
            }
            bench.note();
            bench.check();
        }
    }
}
