//! Pages that were there before the run find room whatever the host writes, the policies collect and the spare is: random
//! reads and writes over the whole capacity never fail, and no page is lost.

use std::collections::BTreeSet;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use super::*;
use crate::config::layers::{Layer, resolve};
use crate::op::Effect;
use crate::random::below;

/// Logical pages of the unit.
const PAGES: u32 = 64;

/// A drive of one unit, and what is there.
struct Drive {
    ftl: Ftl,
    ops: Ops,
    there: Vec<bool>,
    rng: Xoshiro256PlusPlus,
    /// Collections are made step by step from outside.
    steps: bool,
}

impl Drive {
    fn new(settings: &[(&str, &str)], seed: u64, steps: bool) -> Option<Self> {
        Self::with_turn(settings, 1, seed, steps)
    }

    /// As a superblock of so many pages of flash from one die to the same one.
    fn with_turn(settings: &[(&str, &str)], turn: u32, seed: u64, steps: bool) -> Option<Self> {
        let capacity = (PAGES * 512).to_string();
        let shape = [("channels", "1"), ("page", "512"), ("capacity", capacity.as_str())];
        let layers = [&shape, settings].map(|part| Layer::from_assignments("test", part.to_vec()));
        let config = resolve(&layers).ok()?;
        let geometry = Geometry { turn_pages: turn, ..Geometry::new(&config).ok()? };
        let logical = geometry.unit_logical_pages as usize;
        Some(Self {
            ftl: Ftl::new(&config.ftl, &config.upkeep(), &geometry, None, seed),
            ops: Ops::new(true),
            there: vec![false; logical],
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            steps,
        })
    }

    fn below(&mut self, bound: u64) -> u64 {
        below(&mut self.rng, bound)
    }

    fn write(&mut self, home: Home) {
        while self.steps && self.ftl.must_collect(home) {
            let step = self.ftl.step(home.unit, Work::Collect, &mut self.ops).expect("a step");
            assert!(step.is_some(), "it must collect and can't");
        }
        self.ftl.write(home, None, 0, &mut self.ops).expect("there is room");
        self.there[home.key as usize] = true;
    }

    /// Returns whether the page had to be put there.
    fn read(&mut self, home: Home) -> bool {
        if self.ftl.lookup(home).is_some() {
            return false;
        }
        self.ops.clear();
        self.ftl.lay(home, &mut self.ops).expect("there always is a place");
        let timed = self.ops.list().iter().filter(|op| !matches!(op.effect, Effect::Laid { .. })).count();
        assert!(timed == 0 || !matches!(self.ftl, Ftl::Page(_)), "a page moves or erases nothing");
        self.there[home.key as usize] = true;
        true
    }

    fn turn(&mut self, writes: u64, keys: u64) -> bool {
        let home = Home { unit: 0, key: self.below(keys) as u32 };
        self.ops.clear();
        match self.below(100) {
            0..3 if self.steps && self.ftl.can_step_ahead(0) => {
                self.ftl.step(0, Work::Collect, &mut self.ops).expect("a step");
            }
            3 if self.steps => self.ftl.suspend(0),
            4 if self.steps => _ = self.ftl.follow_copy(0, &mut self.ops).expect("a step"),
            5 if self.steps => _ = self.ftl.follow_erase(0, &mut self.ops).expect("a step"),
            6 => {
                self.ftl.trim(home, &mut self.ops).expect("forgotten");
                self.there[home.key as usize] = false;
            }
            dice if dice < 7 + writes * 93 / 100 => self.write(home),
            _ => return self.read(home),
        }
        false
    }

    fn check(&self) {
        let home = |key: usize| Home { unit: 0, key: key as u32 };
        let found: Vec<_> = (0..self.there.len()).filter_map(|key| self.ftl.lookup(home(key))).collect();
        let distinct: BTreeSet<_> = found.iter().collect();
        assert_eq!(distinct.len(), found.len(), "two pages at one place");
        for (key, there) in self.there.iter().enumerate() {
            assert_eq!(self.ftl.lookup(home(key)).is_some(), *there, "page {key}");
        }
        if let Ftl::Page(page) = &self.ftl {
            assert_eq!(page.units[0].valid_pages, found.len() as u64);
            let bits: u32 = page.units[0].valid_bits.iter().map(|bits| bits.count_ones()).sum();
            assert_eq!(u64::from(bits), page.units[0].valid_pages);
        }
    }
}

#[test]
fn a_drive_that_is_read_everywhere_never_runs_out_of_space() {
    let (mut drives, mut laid) = (0, 0);
    for (ftl, ratios) in [
        ("page", ["0.03", "0.07", "0.13", "0.3", "1"]),
        ("dftl", ["0.4", "0.6", "0.8", "1", "2"]),
        ("log-block", ["0.05", "0.1", "0.3", "0.6", "1"]),
        ("fast", ["0.05", "0.1", "0.3", "0.6", "1"]),
        ("bast", ["0.05", "0.1", "0.3", "0.6", "1"]),
        ("kast", ["0.05", "0.1", "0.3", "0.6", "1"]),
    ] {
        for (seed, op_ratio) in (1..).zip(ratios) {
            for victim in ["greedy", "fifo", "random", "d-choices", "cost-benefit"] {
                for (pages, held_back, frontiers) in
                    [("2", "1", "1"), ("4", "1", "1"), ("7", "2", "1"), ("4", "1", "2"), ("3", "2", "2")]
                {
                    for (steps, writes, keys) in
                        [(false, 50, 1), (true, 50, 1), (false, 90, 1), (true, 90, 1), (true, 30, 2)]
                    {
                        let settings = [
                            ("ftl.kind", ftl),
                            ("op_ratio", op_ratio),
                            ("pages_per_block", pages),
                            ("gc.victim", victim),
                            ("gc.free_blocks", held_back),
                            ("gc.frontiers", frontiers),
                        ];
                        let log = ftl != "page" && ftl != "dftl";
                        let settings = if log { &settings[..3] } else { &settings[..] };
                        let turn = if log { 1 } else { 1 + seed as u32 % 3 };
                        let Some(mut drive) = Drive::with_turn(settings, turn, seed, steps) else { continue };
                        drives += 1;
                        let keys = drive.there.len() as u64 / keys;
                        for number in 0..1200 {
                            laid += u64::from(drive.turn(writes, keys));
                            // Half way all that is not there is read, then a while nothing new.
                            if number == 600 {
                                for key in 0..drive.there.len() as u32 {
                                    laid += u64::from(drive.read(Home { unit: 0, key }));
                                }
                                drive.check();
                            }
                        }
                        drive.check();
                    }
                }
            }
        }
    }
    assert!(drives > 500 && laid > 20_000, "{drives} drives, {laid} pages");
}

#[test]
fn mapping_units_of_old_data_always_find_room() {
    let mut drives = 0;
    for (seed, (page, op_ratio)) in
        (1..).zip([("1024", "0.3"), ("1024", "1"), ("2048", "0.5"), ("2048", "1"), ("4096", "2")])
    {
        for victim in ["greedy", "fifo", "random", "d-choices", "cost-benefit"] {
            for (pages, held_back, frontiers) in
                [("2", "1", "1"), ("4", "1", "1"), ("4", "1", "2"), ("3", "2", "2")]
            {
                for (steps, writes) in [(false, 50), (true, 50), (true, 90)] {
                    let settings = [
                        ("page", page),
                        ("ftl.map_unit", "512"),
                        ("op_ratio", op_ratio),
                        ("pages_per_block", pages),
                        ("gc.victim", victim),
                        ("gc.free_blocks", held_back),
                        ("gc.frontiers", frontiers),
                    ];
                    let turn = 1 + seed as u32 % 3;
                    let Some(mut drive) = Drive::with_turn(&settings, turn, seed, steps) else { continue };
                    drives += 1;
                    let keys = drive.there.len() as u64;
                    for number in 0..1200 {
                        drive.turn(writes, keys);
                        // A request ends, and its page is programmed.
                        if number % 3 == 0
                            && let Ftl::Page(page) = &mut drive.ftl
                        {
                            page.close_page(0);
                        }
                    }
                    drive.check();
                }
            }
        }
    }
    assert!(drives > 100, "{drives} drives");
}

#[test]
fn old_data_has_a_block_of_its_own_and_the_host_takes_it_over_before_it_collects() {
    let mut drive =
        Drive::new(&[("pages_per_block", "4"), ("op_ratio", "0.07")], 1, false).expect("a legal drive");
    let lookup = |drive: &Drive, key| drive.ftl.lookup(Home { unit: 0, key });
    for key in [0, 40, 1, 41] {
        let home = Home { unit: 0, key };
        if key < 40 {
            drive.write(home);
        } else {
            drive.read(home);
        }
    }
    assert_eq!([0, 1, 40, 41].map(|key| lookup(&drive, key)), [Some(0), Some(1), Some(4), Some(5)]);
    // 18 blocks, one of them kept erased: all others are written before anything is moved.
    for key in (2..40).chain(42..64).chain([0, 1, 2, 3]) {
        drive.ops.clear();
        drive.write(Home { unit: 0, key });
        assert!(drive.ops.list().is_empty(), "page {key}");
    }
    drive.write(Home { unit: 0, key: 0 });
    assert!(!drive.ops.list().is_empty(), "17 blocks are full");
}

#[test]
fn old_data_of_a_full_superblock_lies_on_the_die_of_its_address() {
    for ftl in ["page", "dftl"] {
        let settings = [("ftl.kind", ftl), ("op_ratio", "1"), ("pages_per_block", "8")];
        let mut drive = Drive::with_turn(&settings, 4, 1, false).expect("a legal drive");
        for _ in 0..600 {
            let key = drive.below(56) as u32;
            drive.ops.clear();
            drive.write(Home { unit: 0, key });
        }
        for key in (56..64).rev() {
            let home = Home { unit: 0, key };
            assert!(drive.read(home), "{ftl}: it was not there");
            assert_eq!(drive.ftl.lookup(home).map(|ppn| ppn % 4), Some(key % 4), "{ftl}: page {key}");
        }
        drive.check();
    }
}

#[test]
fn blocks_of_old_data_are_the_oldest() {
    let mut drive =
        Drive::new(&[("pages_per_block", "4"), ("op_ratio", "0.07"), ("gc.victim", "fifo")], 1, false)
            .expect("a legal drive");
    for key in 0..8 {
        drive.write(Home { unit: 0, key });
    }
    for key in 8..12 {
        drive.read(Home { unit: 0, key });
    }
    let Ftl::Page(page) = &drive.ftl else { unreachable!() };
    assert_eq!((page.units[0].blocks.oldest(), page.units[0].blocks.filled_at(2)), (Some(2), 0));
}

#[test]
fn a_page_put_before_those_that_a_victim_has_lost_moves_with_the_rest() {
    let settings = [("capacity", "131072"), ("pages_per_block", "128"), ("op_ratio", "0.5")];
    let mut drive = Drive::new(&settings, 1, true).expect("a drive");
    // Of the first block two pages of its second word of valid bits are left; the next one is full of valid pages.
    let overwritten = (0..128).filter(|key| ![100, 110].contains(key));
    for key in (0..128).chain(overwritten).chain(128..140) {
        drive.write(Home { unit: 0, key });
    }
    let step = |drive: &mut Drive| drive.ftl.step(0, Work::Collect, &mut drive.ops).expect("a step");
    assert_eq!(step(&mut drive), Some(Step::Copy));
    let home = Home { unit: 0, key: 200 };
    assert!(drive.read(home));
    assert_eq!(drive.ftl.lookup(home), Some(0), "in the victim");
    while step(&mut drive) != Some(Step::Erase) {}
    drive.check();
    assert!(drive.ftl.lookup(home).is_some_and(|ppn| ppn >= 128));
}
