//! Where requests go over time: counts by request number and start address, coarsened as either grows, so that ten
//! requests and ten thousand million take the same room.

use serde::Serialize;

use super::series::{Join, Series};
use flashweir_trace::SECTOR_BYTES;

/// Columns at most.
const COLUMNS: usize = 128;
/// Rows at most.
pub(super) const ROWS: usize = 128;

/// A column: counts by row.
#[derive(Clone)]
struct Column([u32; ROWS]);

impl Default for Column {
    fn default() -> Self {
        Self([0; ROWS])
    }
}

impl Join for Column {
    fn join(&mut self, later: &Self) {
        for (count, more) in self.0.iter_mut().zip(&later.0) {
            *count = count.saturating_add(*more);
        }
    }
}

/// Counts by number and address.
pub(super) struct Map {
    columns: Series<Column>,
    /// Sectors in a row, as a power of two.
    shift: u32,
    /// Number of the first row, in rows from address 0.
    base: u64,
    /// Lowest and highest start so far.
    span: Option<(u64, u64)>,
}

/// Where requests of an operation start, over their numbers.
#[derive(Clone, Debug, Serialize)]
pub struct AddressMap {
    /// Requests in a column.
    pub column_requests: u64,
    /// Bytes in a row.
    pub row_bytes: u128,
    /// Address at which row 0 begins.
    pub from_bytes: u128,
    /// Rows, and columns.
    pub rows: u32,
    /// Columns.
    pub columns: u32,
    /// Column, row, requests: for those that have any.
    pub cells: Vec<(u32, u32, u32)>,
}

impl Map {
    pub(super) const fn new() -> Self {
        Self { columns: Series::new(COLUMNS), shift: 0, base: 0, span: None }
    }

    /// Request `number` starts at `sector`.
    #[inline]
    pub(super) fn observe(&mut self, number: u64, sector: u64) {
        let row = (sector >> self.shift).checked_sub(self.base);
        if row.is_none_or(|row| row >= ROWS as u64) || self.span.is_none() {
            self.make_room(sector);
        }
        let span = self.span.get_or_insert((sector, sector));
        (span.0, span.1) = (span.0.min(sector), span.1.max(sector));
        let row = ((sector >> self.shift) - self.base) as usize;
        let count = &mut self.columns.at(number).0[row];
        *count = count.saturating_add(1);
    }

    /// Moves or coarsens rows so that `sector` has one.
    #[cold]
    fn make_room(&mut self, sector: u64) {
        let (low, high) =
            self.span.map_or((sector, sector), |(low, high)| (low.min(sector), high.max(sector)));
        let (old_shift, old_base) = (self.shift, self.base);
        while (high >> self.shift) - (low >> self.shift) >= ROWS as u64 {
            self.shift += 1;
        }
        let used = (high >> self.shift) - (low >> self.shift) + 1;
        self.base = (low >> self.shift).saturating_sub((ROWS as u64 - used) / 2);
        self.span = Some((low, high));
        let (shift, base) = (self.shift, self.base);
        self.columns.change(|column| {
            let mut moved = Column::default();
            for (row, count) in (0u64..).zip(&column.0).filter(|(_, count)| **count > 0) {
                let at = &mut moved.0[(((old_base + row) >> (shift - old_shift)) - base) as usize];
                *at = at.saturating_add(*count);
            }
            *column = moved;
        });
    }

    pub(super) fn finish(&self) -> AddressMap {
        let (low, high) = self.span.unwrap_or_default();
        let first = low >> self.shift;
        let cells = (0u32..).zip(self.columns.windows()).flat_map(|(at, column)| {
            let rows = (0u64..).zip(&column.0).filter(|(_, count)| **count > 0);
            rows.map(move |(row, count)| (at, (self.base + row - first) as u32, *count))
        });
        AddressMap {
            column_requests: self.columns.width(),
            row_bytes: u128::from(SECTOR_BYTES) << self.shift,
            from_bytes: (u128::from(first) << self.shift) * u128::from(SECTOR_BYTES),
            rows: self.span.map_or(0, |_| ((high >> self.shift) - first + 1) as u32),
            columns: self.columns.windows().len() as u32,
            cells: cells.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_request_is_in_its_cell(starts in proptest::collection::vec((any::<u64>(), 0u32..63), 1..500)) {
            let mut map = Map::new();
            let starts: Vec<u64> = starts.into_iter().map(|(sector, shift)| (1 << 40) + (sector >> 23 >> shift)).collect();
            for (number, sector) in (0..).zip(&starts) {
                map.observe(number, *sector);
            }
            let found = map.finish();
            prop_assert!(found.rows <= ROWS as u32 && found.columns <= COLUMNS as u32);
            let mut model = std::collections::BTreeMap::new();
            for (number, sector) in (0u64..).zip(&starts) {
                let row = (u128::from(*sector) * 512 - found.from_bytes) / found.row_bytes;
                *model.entry(((number / found.column_requests) as u32, row as u32)).or_insert(0u32) += 1;
            }
            let model: Vec<_> = model.into_iter().map(|((column, row), count)| (column, row, count)).collect();
            prop_assert_eq!(found.cells, model);
        }
    }

    #[test]
    fn rows_are_no_coarser_than_needed() {
        let mut map = Map::new();
        for (number, sector) in [(0, 1 << 40), (1, (1 << 40) + 127), (2, (1 << 40) + 3)] {
            map.observe(number, sector);
        }
        assert_eq!((map.finish().row_bytes, map.finish().rows), (512, 128));
        map.observe(3, u64::MAX);
        map.observe(4, 0);
        assert_eq!(map.finish().rows, 128);
    }
}
