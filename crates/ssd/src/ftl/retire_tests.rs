//! Units whose blocks wear out at any time go on: random reads, writes and TRIMs never fail, no page is lost, and every worn block
//! leaves. Blocks are drawn at random, in whatever state they are. So a unit never comes to where it needs a block, and all full ones
//! are valid throughout: with the open block of old data left out of account it did.

use std::collections::BTreeSet;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use super::*;
use crate::config::layers::{Layer, resolve};
use crate::random::below;

/// Units of a drive, and logical pages of each.
const UNITS: u32 = 2;
const PAGES: u32 = 64;

/// A drive, and where its pages are.
struct Drive {
    ftl: Ftl,
    ops: Ops,
    blocks: Vec<u32>,
    /// By logical page.
    there: Vec<Option<Home>>,
    /// Blocks that are to leave, and those that did.
    worn: BTreeSet<(u32, u32)>,
    retired: BTreeSet<(u32, u32)>,
    is_read_only: bool,
    /// A page gets its unit when it is written.
    sharing: bool,
    /// Collections are made step by step from outside.
    steps: bool,
    rng: Xoshiro256PlusPlus,
}

impl Drive {
    fn new(
        settings: &[(&str, &str)],
        more: &[(&str, &str)],
        (sharing, steps, turn): (bool, bool, u32),
        seed: u64,
    ) -> Option<Self> {
        let capacity = (UNITS * PAGES * 512).to_string();
        let shape = [("channels", "2"), ("page", "512"), ("capacity", capacity.as_str())];
        let kind = [("alloc.kind", if sharing { "dynamic" } else { "striped" })];
        let layers =
            [&shape[..], &kind, settings, more].map(|part| Layer::from_assignments("test", part.to_vec()));
        let config = resolve(&layers).ok()?;
        let geometry = Geometry { turn_pages: turn, ..Geometry::new(&config).ok()? };
        let logical = geometry.logical_pages as usize;
        let units = sharing.then(|| geometry.units());
        Some(Self {
            ftl: Ftl::new(&config.ftl, &config.upkeep(), &geometry, units, seed),
            ops: Ops::new(true),
            blocks: (0..UNITS).map(|unit| geometry.unit_blocks(unit) as u32).collect(),
            there: vec![None; logical],
            worn: BTreeSet::new(),
            retired: BTreeSet::new(),
            is_read_only: false,
            sharing,
            steps,
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
        })
    }

    fn below(&mut self, bound: u64) -> u32 {
        below(&mut self.rng, bound) as u32
    }

    /// Where the next version of a page goes, if a unit has room for it.
    fn place(&mut self, lpn: u32) -> Option<Home> {
        if !self.sharing {
            return Some(Home { unit: lpn % UNITS, key: lpn / UNITS });
        }
        let before = self.there[lpn as usize];
        let first = self.below(UNITS.into());
        let mut units = (0..UNITS).map(|step| (first + step) % UNITS);
        let has_room = |unit: &u32| before.is_some_and(|home| home.unit == *unit) || self.ftl.has_room(*unit);
        units.find(has_room).map(|unit| Home { unit, key: lpn })
    }

    fn write(&mut self, lpn: u32) -> Result<(), RunError> {
        let Some(home) = self.place(lpn) else { return Ok(()) };
        while self.steps && self.ftl.must_collect(home) {
            if self.ftl.step(home.unit, Work::Collect, &mut self.ops)?.is_none() {
                return Err(self.ftl.stuck(home.unit));
            }
        }
        let before = if self.sharing { self.there[lpn as usize] } else { None };
        self.ftl.write(home, before, 0, &mut self.ops)?;
        self.there[lpn as usize] = Some(home);
        Ok(())
    }

    fn read(&mut self, lpn: u32) -> Result<(), RunError> {
        if self.there[lpn as usize].is_none()
            && let Some(home) = self.place(lpn)
        {
            self.ftl.lay(home, &mut self.ops)?;
            self.there[lpn as usize] = Some(home);
        }
        Ok(())
    }

    /// Any block wears out that did not yet.
    fn wear_out(&mut self) {
        let unit = self.below(UNITS.into());
        let block = self.below(self.blocks[unit as usize].into());
        if self.worn.contains(&(unit, block)) || self.retired.contains(&(unit, block)) {
            return;
        }
        match self.ftl.wear_out(unit, block) {
            Fate::Leaves => _ = self.worn.insert((unit, block)),
            Fate::Stays => assert!(self.sharing, "a unit of its own has spare or none"),
            Fate::Needed => self.is_read_only = true,
        }
    }

    fn turn(&mut self, (writes, wear): (u64, u64), keys: u64) -> Result<(), RunError> {
        self.ops.clear();
        let unit = self.below(UNITS.into());
        let lpn = self.below(keys);
        match u64::from(self.below(1000)) {
            dice if dice < wear => self.wear_out(),
            dice if dice < wear + 30 && self.steps && self.ftl.can_step_ahead(unit) => {
                self.ftl.step(unit, Work::Collect, &mut self.ops)?;
            }
            dice if dice < wear + 40 && self.steps => self.ftl.suspend(unit),
            dice if dice < wear + 50 && self.steps => _ = self.ftl.follow_copy(unit, &mut self.ops)?,
            dice if dice < wear + 60 && self.steps => _ = self.ftl.follow_erase(unit, &mut self.ops)?,
            dice if dice < wear + 65 && self.steps => _ = self.ftl.step(unit, Work::Fold, &mut self.ops)?,
            dice if dice < wear + 85 => {
                if let Some(home) = self.there[lpn as usize].take() {
                    self.ftl.trim(home, &mut self.ops)?;
                }
            }
            _ if u64::from(self.below(100)) < writes => self.write(lpn)?,
            _ => self.read(lpn)?,
        }
        for at in self.ftl.take_retired() {
            assert!(self.worn.remove(&at), "only a worn block leaves, once");
            self.retired.insert(at);
        }
        Ok(())
    }

    fn check(&self) {
        let mut found = BTreeSet::new();
        for (lpn, home) in self.there.iter().enumerate() {
            if let Some(home) = home {
                let ppn = self.ftl.lookup(*home).unwrap_or_else(|| panic!("page {lpn} is lost"));
                assert!(found.insert((home.unit, ppn)), "two pages at one place");
            }
        }
    }
}

/// Victims, pages of a block, `gc.free_blocks`, `gc.frontiers` and `wear.static_gap`.
const SHAPES: [[&str; 5]; 10] = [
    ["greedy", "4", "1", "1", "0"],
    ["greedy", "8", "1", "1", "3"],
    ["fifo", "7", "2", "1", "0"],
    ["fifo", "4", "1", "2", "0"],
    ["random", "16", "1", "1", "0"],
    ["random", "4", "2", "2", "2"],
    ["d-choices", "8", "1", "1", "0"],
    ["d-choices", "4", "1", "2", "3"],
    ["cost-benefit", "4", "1", "1", "2"],
    ["cost-benefit", "8", "2", "2", "0"],
];

const MLC: (&str, &str) = ("nand.cell", "mlc");
const SMALL_CACHE: (&str, &str) = ("ftl.cache_bytes", "64");

/// Settings, and shares of spare space with which they go.
type Policy = (&'static [(&'static str, &'static str)], [&'static str; 3]);

/// Other policies.
const POLICIES: [Policy; 9] = [
    (&[], ["0.2", "0.5", "1.4"]),
    (&[("ftl.kind", "dftl")], ["0.9", "1.4", "2"]),
    (&[("ftl.kind", "dftl"), SMALL_CACHE], ["0.9", "1.4", "2"]),
    (&[("ftl.classifier", "generations")], ["1", "1.4", "2"]),
    (&[("ftl.map_unit", "512"), ("page", "1024")], ["0.5", "1", "2"]),
    (&[MLC, ("slc.kind", "static"), ("slc.static_blocks", "3")], ["0.4", "0.8", "1.4"]),
    (&[MLC, ("slc.kind", "dynamic"), ("slc.when_full", "direct")], ["0.4", "0.8", "1.4"]),
    (&[MLC, ("slc.kind", "both"), ("slc.static_blocks", "2")], ["0.4", "0.8", "1.4"]),
    (&[MLC, ("slc.kind", "both"), ("slc.static_blocks", "2"), ("ftl.kind", "dftl")], ["0.9", "1.4", "2"]),
];

/// Operations of a drive, with blocks that wear out so often in 1,000 operations, as often as pages are written.
fn live(drive: &mut Drive, shares: (u64, u64)) -> Result<(), RunError> {
    let keys = drive.there.len() as u64;
    for _ in 0..1500 {
        drive.turn(shares, keys)?;
    }
    drive.check();
    // Where the host goes on to write, every block leaves that is to.
    for _ in 0..4000 {
        drive.turn((100, 0), keys)?;
    }
    drive.check();
    Ok(())
}

#[test]
fn a_unit_goes_on_whenever_its_blocks_wear_out() {
    let (mut drives, mut retired, mut ends) = (0, 0, 0);
    for (policy, (more, ratios)) in (0..).zip(POLICIES) {
        for ([victim, pages, held_back, frontiers, gap], op_ratio) in
            SHAPES.into_iter().zip(ratios.into_iter().cycle())
        {
            for (number, shares) in (0..).zip([(85, 5), (50, 20), (90, 100), (30, 10), (10, 40)]) {
                for (sharing, steps) in [(false, false), (false, true), (true, false), (true, true)] {
                    let settings = [
                        ("op_ratio", op_ratio),
                        ("pages_per_block", pages),
                        ("gc.victim", victim),
                        ("gc.free_blocks", held_back),
                        ("wear.static_gap", gap),
                        ("gc.frontiers", frontiers),
                    ];
                    let has_groups = more.iter().any(|(key, _)| *key == "ftl.classifier");
                    let settings = &settings[..settings.len() - usize::from(has_groups)];
                    let turn = if more.contains(&MLC) { 1 } else { 1 + number % 3 };
                    let seed = policy * 100 + u64::from(number);
                    let Some(mut drive) = Drive::new(settings, more, (sharing, steps, turn), seed) else {
                        continue;
                    };
                    drives += 1;
                    let at = format!("{more:?}, {settings:?}, sharing {sharing}, steps {steps}, {shares:?}");
                    live(&mut drive, shares).unwrap_or_else(|error| panic!("{at}: {error}"));
                    // Few translation pages are written where the cache holds all of the map.
                    let stays = more.contains(&("ftl.kind", "dftl")) && !more.contains(&SMALL_CACHE);
                    assert!(stays || drive.worn.is_empty(), "{at}: {:?} stay", drive.worn);
                    retired += drive.retired.len();
                    ends += usize::from(drive.is_read_only);
                }
            }
        }
    }
    assert!(
        drives > 1000 && retired > 10_000 && ends > 500,
        "{drives} drives, {retired} blocks, {ends} ends"
    );
}
