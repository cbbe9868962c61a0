//! Whether reads pass writes that wait for the same die. With a buffer they do anyway, for writes wait there.

use super::ask::{Asked, median, read, write};
use super::layout::Layout;
use crate::Error;

/// Writes before the read, and times that it is asked.
const WRITES: u64 = 3;
const ATTEMPTS: u64 = 7;

/// Whether a read behind several writes to its die waits for one of them only.
pub(super) fn reads_pass(
    asked: &mut Asked<'_>,
    page: u64,
    layout: &Layout,
    write_ns: f64,
) -> Result<bool, Error> {
    let period = layout.shared.len() as u64;
    if !layout.regular || (WRITES + 2) * period > asked.size_bytes() / page {
        return Ok(false);
    }
    asked.through(&[write(0, page)])?;
    let mut waits = Vec::new();
    for _ in 0..ATTEMPTS {
        let writes = (1..=WRITES).map(|number| write(number * period * page, page));
        let requests: Vec<_> = writes.chain([read(0, page)]).collect();
        waits.push(asked.read_behind(&requests)? - layout.read_ns);
    }
    // Between one write and all of them.
    Ok(median(&waits) < write_ns * (1 + WRITES) as f64 / 2.0)
}
