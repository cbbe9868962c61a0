//! Content of the flash by the operations of the layer.

use std::collections::BTreeMap;

use crate::geometry::Geometry;
use crate::op::{Effect, MapWork, Ops, PageAt};

/// Content of the units' flash, from the operations of the layer alone.
#[derive(Default)]
pub(super) struct Array {
    /// Pages programmed of each block, by unit.
    pub(super) programmed: Vec<Vec<u32>>,
    pages_per_block: u32,
    /// Kind of each page: true for a translation page, false for one of data.
    maps: Vec<Vec<bool>>,
    /// True if all units share a map.
    shared: bool,
    /// Key of each valid page of data, by unit and physical page.
    keys: BTreeMap<PageAt, u32>,
    /// Unit and physical page of each key, by map.
    places: BTreeMap<(u32, u32), PageAt>,
    /// Writes to translation pages since the model last looked: map, key and entry.
    pub(super) written: Vec<(u32, u32, Option<PageAt>)>,
    entries: u32,
    pub(super) reads: [u64; 3],
    pub(super) programs: [u64; 3],
    pub(super) moved: u64,
    /// True if the command before was a translation page read that has to be followed by its program.
    pub(super) rewriting: bool,
}

impl Array {
    pub(super) fn new(geometry: &Geometry, shared: bool) -> Self {
        let blocks = |unit| vec![0; geometry.unit_blocks(unit) as usize];
        Self {
            programmed: (0..geometry.units()).map(blocks).collect(),
            maps: vec![vec![false; geometry.max_unit_pages() as usize]; geometry.units() as usize],
            pages_per_block: geometry.pages_per_block,
            shared,
            entries: geometry.entries_per_translation_page() as u32,
            ..Self::default()
        }
    }

    pub(super) fn program(&mut self, unit: u32, ppn: u32, is_map: bool) {
        let (block, page) = (ppn / self.pages_per_block, ppn % self.pages_per_block);
        let next = &mut self.programmed[unit as usize][block as usize];
        assert_eq!(page, *next, "pages of a block are programmed once and in order");
        *next += 1;
        self.maps[unit as usize][ppn as usize] = is_map;
        if page > 0 {
            assert_eq!(
                self.maps[unit as usize][ppn as usize - 1],
                is_map,
                "a block holds data or translation pages"
            );
        }
    }

    /// The map of a unit.
    pub(super) fn map_of(&self, unit: u32) -> u32 {
        if self.shared { 0 } else { unit }
    }

    /// A page of data is at `ppn` of a unit from now on, or nowhere.
    pub(super) fn place(&mut self, unit: u32, key: u32, ppn: Option<u32>) {
        let map = self.map_of(unit);
        if let Some(old) = self.places.remove(&(map, key)) {
            self.keys.remove(&old);
        }
        if let Some(ppn) = ppn {
            self.places.insert((map, key), (unit, ppn));
            self.keys.insert((unit, ppn), key);
        }
    }

    /// Content of the page, if it was programmed since its block was erased.
    pub(super) fn holds(&self, unit: u32, ppn: u32) -> Option<bool> {
        let programmed = self.programmed[unit as usize][(ppn / self.pages_per_block) as usize];
        (ppn % self.pages_per_block < programmed).then(|| self.maps[unit as usize][ppn as usize])
    }
}

impl Array {
    /// Makes the operations, in order.
    pub(super) fn replay(&mut self, ops: &Ops) {
        let (mut moved, mut erased, mut folded, mut map_moves) = (0, 0, 0, 0);
        for op in ops.list() {
            match &op.effect {
                Effect::Moved(range) => {
                    assert_eq!(range.start, moved, "every page moved goes with one operation");
                    moved = range.end;
                    assert_eq!(op.pages as usize, range.len());
                    for (from, to) in ops.moves(range) {
                        self.moved(op.unit, *from, *to);
                        map_moves += u64::from(self.maps[op.unit as usize][*to as usize]);
                    }
                }
                Effect::Erased { block } => {
                    self.erased(op.unit, *block, op.slc);
                    erased += usize::from(!op.slc);
                    folded += usize::from(op.slc);
                }
                Effect::MapRead { ppn, work } => self.read_map(op.unit, *ppn, *work),
                Effect::MapProgrammed { page, ppn, work, .. } => {
                    self.program_map(op.unit, *page, *ppn, *work);
                }
                other => panic!("the host's own operations are not the layer's: {other:?}"),
            }
        }
        assert_eq!(ops.tally.merges, [0; 3], "a page map merges nothing");
        let collected = ops.tally.collections.len();
        assert!((erased..=erased + folded).contains(&collected), "a collection erases one block");
        assert_eq!(ops.tally.map_moves, map_moves, "translation pages moved");
    }

    fn moved(&mut self, unit: u32, from: u32, to: u32) {
        let is_map = self.holds(unit, from).expect("only programmed pages are moved");
        self.program(unit, to, is_map);
        if let Some(key) = self.keys.get(&(unit, from)).copied() {
            assert!(!is_map);
            self.place(unit, key, Some(to));
        }
        self.moved += 1;
    }

    fn erased(&mut self, unit: u32, victim: u32, slc: bool) {
        let valid = self.keys.range((unit, victim * self.pages_per_block)..);
        let valid = valid.take_while(|((of, ppn), _)| *of == unit && ppn / self.pages_per_block == victim);
        assert_eq!(valid.count(), 0, "nothing valid is erased");
        let programmed = &mut self.programmed[unit as usize][victim as usize];
        let full = if slc { 1..self.pages_per_block } else { self.pages_per_block..self.pages_per_block + 1 };
        assert!(full.contains(programmed), "only full blocks are collected");
        *programmed = 0;
    }

    fn read_map(&mut self, unit: u32, ppn: u32, work: MapWork) {
        assert_eq!(self.holds(unit, ppn), Some(true), "{work:?} reads a translation page");
        assert!(!self.rewriting);
        self.rewriting = work != MapWork::Load;
        self.reads[work as usize] += 1;
    }

    fn program_map(&mut self, unit: u32, page: u32, ppn: u32, work: MapWork) {
        self.program(unit, ppn, true);
        let map = self.map_of(unit);
        for key in page * self.entries..(page + 1) * self.entries {
            self.written.push((map, key, self.places.get(&(map, key)).copied()));
        }
        self.rewriting = false;
        self.programs[work as usize] += 1;
    }
}
