//! A model of the array, and of what the layer must remember: every test runs on it.

mod examples;
mod own;
mod properties;
mod sequential;

use std::collections::BTreeMap;

use super::*;
use crate::config::layers::{Layer, resolve};
use crate::ftl::blocks::pages_of;
use crate::op::{Effect, MergeKind};

/// Events of the layer, in order: operations, and the counts of a call that merged or collected, after its operations.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Event {
    Copies(u32, u32),
    Erased(u32, u32),
    Counted { merges: [u64; 3], collections: usize },
}

/// One merge was counted.
fn merged(kind: MergeKind) -> Event {
    let mut merges = [0; 3];
    merges[kind as usize] = 1;
    Event::Counted { merges, collections: 0 }
}

/// The end of a collection was counted.
const COLLECTED: Event = Event::Counted { merges: [0; 3], collections: 1 };

/// Content of a page of flash: a logical page, and its version.
type Stored = (u32, u64);

/// The array: what each page holds, and up to where each block is programmed.
#[derive(Clone, Debug)]
struct Array {
    stored: Vec<BTreeMap<u32, Stored>>,
    programmed: Vec<Vec<u32>>,
    pages_per_block: u32,
    events: Vec<Event>,
}

impl Array {
    fn program(&mut self, unit: u32, ppn: u32, stored: Stored) {
        let (block, page) = (ppn / self.pages_per_block, ppn % self.pages_per_block);
        let next = &mut self.programmed[unit as usize][block as usize];
        assert!(page >= *next, "pages of a block are programmed once and in order");
        *next = page + 1;
        self.stored[unit as usize].insert(ppn, stored);
    }

    /// Makes the operations, in order.
    fn replay(&mut self, ops: &Ops) {
        let mut moved = 0;
        for op in ops.list() {
            match &op.effect {
                Effect::Moved(range) => {
                    assert_eq!(range.start, moved, "every page moved goes with one operation");
                    moved = range.end;
                    assert!(op.pages > 0);
                    let listed = if ops.follows_pages() { op.pages as usize } else { 0 };
                    assert_eq!(range.len(), listed, "every page moved is listed");
                    ops.moves(range).iter().for_each(|(from, to)| self.moved(op.unit, *from, *to));
                    self.events.push(Event::Copies(op.unit, op.pages));
                }
                Effect::Erased { block } => self.erased(op.unit, *block, ops.follows_pages()),
                other => panic!("a block map needs no such operation: {other:?}"),
            }
        }
        let (merges, collections) = (ops.tally.merges, ops.tally.collections.len());
        let in_collections: u64 = ops.tally.collections.iter().sum();
        assert!(in_collections <= merges[MergeKind::Full as usize], "full merges of this call");
        if merges != [0; 3] || collections > 0 {
            self.events.push(Event::Counted { merges, collections });
        }
    }

    fn moved(&mut self, unit: u32, from: u32, to: u32) {
        let stored = *self.stored[unit as usize].get(&from).expect("only programmed pages are moved");
        self.program(unit, to, stored);
    }

    fn erased(&mut self, unit: u32, block: u32, follows: bool) {
        let programmed = &mut self.programmed[unit as usize][block as usize];
        assert!(!follows || *programmed > 0, "an erased block is not erased again");
        *programmed = 0;
        let first = block * self.pages_per_block;
        self.stored[unit as usize].retain(|ppn, _| !(first..first + self.pages_per_block).contains(ppn));
        self.events.push(Event::Erased(unit, block));
    }
}

/// The layer, the model of its array, and the newest version of every logical page (by unit and key).
#[derive(Clone, Debug)]
struct Bench {
    ftl: LogFtl,
    ops: Ops,
    array: Array,
    newest: BTreeMap<(u32, u32), u64>,
    versions: u64,
    unit_pages: u32,
    /// Units that have a collection in progress.
    under_way: Vec<bool>,
}

impl Bench {
    fn new(settings: &[(&str, &str)]) -> Self {
        let fixed = [("page", "512"), ("channels", "1")];
        let layers =
            [fixed.as_slice(), settings].map(|settings| Layer::from_assignments("test", settings.to_vec()));
        let config = resolve(&layers).expect("legal");
        let geometry = Geometry::new(&config).expect("legal");
        let units = geometry.units() as usize;
        let blocks = |unit| vec![0; geometry.unit_blocks(unit) as usize];
        let array = Array {
            stored: vec![BTreeMap::new(); units],
            programmed: (0..geometry.units()).map(blocks).collect(),
            pages_per_block: geometry.pages_per_block,
            events: Vec::new(),
        };
        Self {
            ftl: LogFtl::new(&config.ftl, &config.upkeep(), &geometry),
            ops: Ops::new(true),
            array,
            newest: BTreeMap::new(),
            versions: 0,
            unit_pages: geometry.unit_logical_pages as u32,
            under_way: vec![false; units],
        }
    }

    /// Such a bench with every page written once, in order.
    fn full(settings: &[(&str, &str)]) -> Self {
        let mut bench = Self::new(settings);
        for unit in 0..bench.ftl.units.len() as u32 {
            for key in 0..bench.unit_pages {
                bench.write(unit, key);
            }
        }
        assert_eq!(bench.take_events(), [], "filling a drive moves nothing");
        bench
    }

    fn write(&mut self, unit: u32, key: u32) {
        let home = Home { unit, key };
        let must_collect = self.ftl.must_collect(home);
        let written = self.ftl.write(home, &mut self.ops).expect("a page can always be written");
        let has_collected = !self.ops.tally.collections.is_empty();
        self.replay();
        let was_under_way = std::mem::replace(&mut self.under_way[unit as usize], false) && !must_collect;
        assert!(
            was_under_way || has_collected == must_collect,
            "a collection is made if and only if it must be"
        );
        self.under_way[unit as usize] = was_under_way && !has_collected;
        let before = self.newest.get(&(unit, key)).map(|version| (key, *version));
        let old = written.old.map(|(unit, ppn)| self.array.stored[unit as usize].get(&ppn).copied());
        if self.ops.follows_pages() {
            assert_eq!(old, before.map(Some), "the version before can still be read");
        }
        self.versions += 1;
        self.newest.insert((unit, key), self.versions);
        self.array.program(unit, written.ppn, (key, self.versions));
        assert_eq!(self.ftl.lookup(home), Some(written.ppn));
    }

    fn write_all(&mut self, unit: u32, keys: impl IntoIterator<Item = u32>) {
        keys.into_iter().for_each(|key| self.write(unit, key));
    }

    fn trim(&mut self, unit: u32, key: u32) {
        let existed = self.newest.remove(&(unit, key)).is_some();
        assert_eq!(self.ftl.trim(Home { unit, key }), existed);
    }

    fn must_collect(&self, unit: u32, key: u32) -> bool {
        self.ftl.must_collect(Home { unit, key })
    }

    fn collect_step(&mut self, unit: u32) -> Option<Step> {
        let step = self.ftl.collect_step(unit, &mut self.ops).expect("a step can be made");
        self.replay();
        self.under_way[unit as usize] = step.is_some_and(|step| step != Step::Erase);
        step
    }

    fn follow_copy(&mut self, unit: u32) -> bool {
        let has_merged = self.ftl.follow_copy(unit, &mut self.ops).expect("a follower can merge");
        self.replay();
        has_merged
    }

    fn follow_erase(&mut self, unit: u32) -> bool {
        let has_erased = self.ftl.follow_erase(unit, &mut self.ops);
        self.replay();
        has_erased
    }

    fn merge(&mut self, unit: u32, block: u32) -> bool {
        let is_there = self.ftl.merge(unit, block, &mut self.ops).expect("a data block can be merged");
        self.replay();
        is_there
    }

    /// Brings the array up to what the layer has done.
    fn replay(&mut self) {
        self.array.replay(&self.ops);
        self.ops.clear();
    }

    fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.array.events)
    }

    /// Merges since the last call: full, partial, switch.
    fn take_merges(&mut self) -> [u64; 3] {
        let events = self.take_events();
        [MergeKind::Full, MergeKind::Partial, MergeKind::Switch].map(|kind| {
            let of_call = |event: &Event| match event {
                Event::Counted { merges, .. } => merges[kind as usize],
                _ => 0,
            };
            events.iter().map(of_call).sum()
        })
    }

    /// Keys that the log holds the newest version of, oldest block first: those of its queue, block by block.
    fn in_log(&self, unit: u32) -> Vec<Vec<u32>> {
        let unit = &self.ftl.units[unit as usize];
        let keys = |slot: u32| {
            let mut log = unit.log.clone();
            let valid = std::iter::from_fn(|| {
                let position = log.first_valid(slot)?;
                log.invalidate(position);
                Some(log.key(position))
            });
            valid.collect()
        };
        unit.log.queue().into_iter().map(keys).collect()
    }

    /// Every page is where the layer says, in its newest version, and the tables agree with each other.
    fn check(&mut self) {
        for unit in 0..self.ftl.units.len() as u32 {
            for key in 0..self.unit_pages {
                let ppn = self.ftl.lookup(Home { unit, key });
                let stored = ppn.map(|ppn| self.array.stored[unit as usize].get(&ppn).copied());
                let newest = self.newest.get(&(unit, key)).map(|version| Some((key, *version)));
                assert_eq!(stored, newest, "page {key} of unit {unit}");
            }
            let erased = self.array.programmed[unit as usize].iter().filter(|next| **next == 0).count();
            assert_eq!(self.ftl.free_blocks(unit), erased as u64, "erased blocks");
            self.check_log(unit);
        }
    }

    fn check_log(&mut self, unit: u32) {
        let queue = self.in_log(unit);
        let rules = self.ftl.rules;
        let moving = u32::from(rules.throttle > 0);
        let state = &mut self.ftl.units[unit as usize];
        assert!(state.log.len() <= state.log_blocks + moving, "the log has its own blocks only");
        let slots = state.log.queue();
        let slots_of_pages = slots.iter().copied().chain(state.sequential.map(|sequential| sequential.slot));
        let valid: u32 = slots_of_pages.map(|slot| state.log.valid(slot)).sum();
        let mapped: u32 = state.pages.iter().map(|bits| bits[unit::IN_LOG].count_ones()).sum();
        assert_eq!(valid, mapped, "valid pages of the log");
        for (slot, keys) in slots.iter().zip(&queue) {
            assert_eq!(state.log.valid(*slot), keys.len() as u32);
        }
        let oldest = state.log.oldest_valid().map(|position| state.log.key(position));
        assert_eq!(
            oldest,
            queue.iter().flatten().next().copied(),
            "the walk starts at the oldest valid page"
        );
        match rules.kind {
            Kind::LogBlock | Kind::Fast(_) => {
                let open = slots.iter().find(|slot| !state.log.is_closed(**slot)).copied();
                assert!(state.log.open() == open, "the oldest block with room is the one written");
            }
            Kind::Bast => {
                let blocks = queue.iter().map(|keys| data_blocks(keys, self.array.pages_per_block));
                assert!(blocks.max() <= Some(1), "a log block belongs to one data block");
            }
            Kind::Kast { associativity } => {
                let blocks = queue.iter().map(|keys| data_blocks(keys, self.array.pages_per_block));
                assert!(
                    blocks.max() <= Some(associativity as usize),
                    "no more data blocks in a log block than may be"
                );
            }
        }
        if let Some(sequential) = state.sequential {
            let next = state.log.next(sequential.slot);
            let words = state.words(sequential.owner);
            let in_data = (0..).zip(&state.pages[words]);
            let mut pages = in_data
                .flat_map(|(word, bits)| pages_of(bits[unit::IN_DATA]).map(move |bit| word * 64 + bit));
            assert!(
                pages.all(|page| page >= next),
                "what the sequential log block holds is not in the data block"
            );
        }
    }
}

/// Number of data blocks that some pages belong to.
fn data_blocks(keys: &[u32], pages_per_block: u32) -> usize {
    keys.iter().map(|key| key / pages_per_block).collect::<std::collections::BTreeSet<_>>().len()
}
