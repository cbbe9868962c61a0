//! The blocks of a drive as a map of cells, for people who watch it.

use super::Ftl;
use super::blocks::Blocks;

/// Bins of the histogram of valid shares.
const BINS: usize = 10;

/// Neighbouring blocks of a unit, or of neighbouring units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockCell {
    /// Blocks that it stands for.
    pub blocks: u64,
    /// Erased ones.
    pub free: u64,
    /// Those that are written or being collected: neither erased nor full.
    pub open: u64,
    /// Valid pages (mapping units, where pages hold several).
    pub valid: u64,
    /// Erases since the drive was new.
    pub erases: u64,
}

/// The blocks of a drive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockMap {
    /// Rows of cells: a unit of the translation layer each (a plane, bound planes, or a set of dies), or several neighbours.
    pub rows: Vec<Vec<BlockCell>>,
    /// Units of a row.
    pub units_per_row: u64,
    /// Blocks of a cell, at most, of each unit.
    pub blocks_per_cell: u64,
    /// Pages (mapping units) of a block.
    pub pages_per_block: u64,
    /// Full blocks by their share of valid pages, in tenths; the last bin has those that are entirely valid, too.
    pub full_by_valid: [u64; BINS],
    /// True if valid pages are counted by block: log-block translation layers do not.
    pub counts_valid: bool,
}

impl BlockCell {
    fn add(&mut self, other: &Self) {
        self.blocks += other.blocks;
        self.free += other.free;
        self.open += other.open;
        self.valid += other.valid;
        self.erases += other.erases;
    }
}

impl Ftl {
    /// See [`crate::Simulation::block_map`].
    pub(crate) fn block_map(&self, max_cells: u64, pages_per_block: u32) -> BlockMap {
        let units = match self {
            Ftl::Page(page) => page.tables().map(OfUnit::new).collect(),
            Ftl::Dftl(dftl) => dftl.tables().map(OfUnit::new).collect(),
            Ftl::Log(log) => log.tables().map(OfUnit::new).collect(),
            Ftl::Zones(zones) => zones.cells().collect(),
            Ftl::Direct => Vec::new(),
        };
        map_of(units, max_cells, pages_per_block.into(), !matches!(self, Ftl::Log(_)))
    }
}

/// The blocks of a unit, each as a cell of its own.
pub(super) struct OfUnit<'a> {
    pub(super) count: u64,
    pub(super) cells: Box<dyn Iterator<Item = BlockCell> + 'a>,
}

impl<'a> OfUnit<'a> {
    fn new(blocks: &'a Blocks) -> Self {
        Self { count: blocks.count(), cells: Box::new(cells(blocks)) }
    }
}

fn map_of(mut units: Vec<OfUnit<'_>>, max_cells: u64, pages_per_block: u64, counts_valid: bool) -> BlockMap {
    let units_per_row = (units.len() as u64).div_ceil(max_cells.max(1)).max(1);
    let rows = (units.len() as u64).div_ceil(units_per_row);
    let most = units.iter().map(|unit| unit.count).max().unwrap_or(0);
    let blocks_per_cell = most.div_ceil((max_cells / rows.max(1)).max(1)).max(1);
    let mut map =
        BlockMap { units_per_row, blocks_per_cell, pages_per_block, counts_valid, ..BlockMap::default() };
    for units in units.chunks_mut(units_per_row as usize) {
        let mut row = Vec::new();
        for unit in units {
            for (block, one) in unit.cells.by_ref().enumerate() {
                let at = block / blocks_per_cell as usize;
                if at >= row.len() {
                    row.resize(at + 1, BlockCell::default());
                }
                row[at].add(&one);
                if one.free + one.open == 0 && counts_valid {
                    let bin = (one.valid * BINS as u64 / pages_per_block.max(1)).min(BINS as u64 - 1);
                    map.full_by_valid[bin as usize] += 1;
                }
            }
        }
        map.rows.push(row);
    }
    map
}

/// Each block of a unit, by number, as a cell of its own.
fn cells(unit: &Blocks) -> impl Iterator<Item = BlockCell> {
    (0..).zip(unit.erased_ones()).map(|(block, free)| BlockCell {
        blocks: 1,
        free: free.into(),
        open: (!free && !unit.is_full(block)).into(),
        valid: unit.valid(block).into(),
        erases: unit.erases(block).into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ftl::blocks::Index;

    /// A unit of blocks with 4 pages: the first full with so many valid pages, the second open, the others erased.
    fn unit(count: u32, valid: u32) -> Blocks {
        let mut blocks = Blocks::new(count, 4, Index::ByValid);
        let first = blocks.take_free(false).expect("an erased block");
        blocks.add_valid(first, valid);
        blocks.fill(first, 1);
        let second = blocks.take_free(false).expect("another one");
        blocks.add_valid(second, 1);
        blocks
    }

    #[test]
    fn each_block_is_in_one_cell_and_cells_are_bounded() {
        let units = [unit(6, 3), unit(5, 4)];
        let all = || units.iter().map(OfUnit::new).collect();
        let fine = map_of(all(), 100, 4, true);
        assert_eq!(fine.rows.iter().map(Vec::len).collect::<Vec<_>>(), [6, 5]);
        assert_eq!(fine.rows[0][0], BlockCell { blocks: 1, valid: 3, ..BlockCell::default() });
        assert_eq!(fine.rows[0][1], BlockCell { blocks: 1, open: 1, valid: 1, ..BlockCell::default() });
        assert_eq!(fine.rows[0][2], BlockCell { blocks: 1, free: 1, ..BlockCell::default() });
        assert_eq!(fine.full_by_valid, [0, 0, 0, 0, 0, 0, 0, 1, 0, 1]);
        for max_cells in [1, 2, 3, 4, 7] {
            let coarse = map_of(all(), max_cells, 4, true);
            let cells: Vec<_> = coarse.rows.iter().flatten().collect();
            assert!(cells.len() as u64 <= max_cells, "{max_cells}");
            assert_eq!(cells.iter().map(|cell| cell.blocks).sum::<u64>(), 11);
            assert_eq!(cells.iter().map(|cell| cell.free).sum::<u64>(), 7);
            assert_eq!(cells.iter().map(|cell| cell.valid).sum::<u64>(), 9);
            assert_eq!(coarse.full_by_valid, fine.full_by_valid);
        }
    }
}
