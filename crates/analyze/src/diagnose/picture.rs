//! The picture of Yang (2009, figure 6): request number x address x PBR. A bounded number of cells, of each of which the write with the
//! largest PBR is kept, so that no anomaly is lost however long the log is.

use serde::Serialize;

use super::log::Log;

/// Cells along request numbers, and along addresses.
const CELLS: (usize, usize) = (128, 96);

/// The points, a list a coordinate; at most 12,288.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Picture {
    /// Number of the request among all of the log, from 0.
    pub request: Vec<u64>,
    /// First byte.
    pub address_bytes: Vec<u64>,
    /// Response time by bytes, ns a byte.
    pub pbr_ns_per_byte: Vec<f64>,
    /// Writes in the cell, of which this is the one with the largest PBR.
    pub writes: Vec<u64>,
}

impl Picture {
    pub(super) fn of(log: &Log) -> Self {
        let (Some(first), Some(last)) = (log.writes.first(), log.writes.last()) else {
            return Self::default();
        };
        let low = log.writes.iter().map(|write| write.lba).min().unwrap_or(0);
        let high = log.writes.iter().map(|write| write.lba).max().unwrap_or(0);
        let cell = |value: u64, low: u64, high: u64, cells: usize| {
            let share = (value - low) as f64 / ((high - low) as f64 + 1.0);
            ((share * cells as f64) as usize).min(cells - 1)
        };
        let mut cells: Vec<(u64, usize, f64)> = vec![(0, 0, -1.0); CELLS.0 * CELLS.1];
        for (index, write) in log.writes.iter().enumerate() {
            let at = cell(write.number, first.number, last.number, CELLS.0) * CELLS.1
                + cell(write.lba, low, high, CELLS.1);
            let pbr = write.response_ns as f64 / write.bytes as f64;
            let (count, best, most) = &mut cells[at];
            *count += 1;
            if pbr > *most {
                (*best, *most) = (index, pbr);
            }
        }
        let mut picture = Self::default();
        for (count, index, pbr) in cells.into_iter().filter(|cell| cell.0 > 0) {
            let write = &log.writes[index];
            picture.request.push(write.number);
            picture.address_bytes.push(write.lba.saturating_mul(flashweir_trace::SECTOR_BYTES));
            picture.pbr_ns_per_byte.push(pbr);
            picture.writes.push(count);
        }
        picture
    }
}
