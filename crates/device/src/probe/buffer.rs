//! The write buffer: what an idle drive takes in before a write has to wait.

use flashweir_ssd::quantity::round_to_u64;

use super::ask::{Asked, median, write};
use crate::Error;

/// Number of measurements.
const ATTEMPTS: u64 = 3;
/// A write that takes less than this share of one to flash was taken in by a buffer.
const TAKEN: f64 = 0.3;
/// Largest buffer that is looked for, bytes, and share of the drive beyond which nothing is.
const LARGEST: u64 = 1 << 30;
const SHARE: u64 = 4;
/// Writes that are made at a time.
const BATCH: u64 = 256;
/// Time for a drive to settle, ns.
const SETTLE_NS: u64 = 20_000_000;

/// Bytes that the buffer holds; `None` if there was room for all that was tried.
pub(super) fn buffer_bytes(asked: &mut Asked<'_>, page: u64, write_ns: f64) -> Result<Option<u64>, Error> {
    let pages = asked.size_bytes() / page;
    let most = (pages / SHARE).min(LARGEST / page);
    let mut found = Vec::new();
    for attempt in 0..ATTEMPTS {
        asked.flush()?;
        asked.pause(SETTLE_NS)?;
        let start = pages / SHARE * attempt;
        let mut taken = 0;
        let ended = loop {
            if taken >= most {
                break false;
            }
            let writes: Vec<_> =
                (taken..most.min(taken + BATCH)).map(|at| write((start + at) * page, page)).collect();
            let (times, _) = asked.run(&writes, 1)?;
            let waited = times.iter().position(|time| *time > write_ns * TAKEN);
            taken += waited.unwrap_or(times.len()) as u64;
            if waited.is_some() {
                break true;
            }
        };
        if !ended {
            asked.flush()?;
            return Ok(None);
        }
        found.push(taken as f64);
    }
    asked.flush()?;
    Ok(Some(round_to_u64(median(&found)) * page))
}
