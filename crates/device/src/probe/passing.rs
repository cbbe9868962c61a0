//! Waiting between writes and reads: whether reads pass writes to the same die, and whether writes wait for a die in
//! the drive or before it. On drives whose channels have one die each, free placing shows by nothing else.

use super::ask::{Asked, mean, median, read, write};
use super::layout::{Layout, Shared};
use crate::Error;

/// Writes before a read, and number of measurements.
const WRITES: u64 = 3;
const ATTEMPTS: u64 = 7;
/// Blocks that are written before a read, so that some have to be erased; most pages.
const BLOCKS: u64 = 3;
const MOST: u64 = 1024;
/// Pages of each of two dies that are buffered.
const BUFFERED: u64 = 4;

/// Where writes wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waiting {
    /// At their die, and reads behind them.
    InOrder,
    /// At their die, but reads pass them.
    ReadsPass,
    /// Before the drive knows where they go.
    Unplaced,
}

/// Where writes of a drive wait that puts pages where their address says; `block`: pages of a block, and time of an erase, ns.
pub(super) fn waiting(
    asked: &mut Asked<'_>,
    page: u64,
    layout: &Layout,
    write_ns: &[f64],
    (block, erase_ns): (u64, f64),
    buffer: u64,
) -> Result<Waiting, Error> {
    let period = layout.shared.len() as u64;
    let pages = asked.size_bytes() / page / period;
    if !layout.regular || pages <= WRITES + BUFFERED {
        return Ok(Waiting::InOrder);
    }
    if buffer > 0 {
        // Where channels have several dies, pages that move were seen to.
        let room = buffer / page >= 2 * BUFFERED && layout.dies == layout.channels;
        let in_line = room && waits_in_line(asked, page, layout)?;
        return Ok(if in_line { Waiting::Unplaced } else { Waiting::InOrder });
    }
    asked.through(&[write(0, page)])?;
    let mut behind = |count: u64| -> Result<f64, Error> {
        let mut waits = Vec::new();
        for _ in 0..ATTEMPTS {
            let writes = (1..=count).map(|number| write(number % pages * period * page, page));
            let requests: Vec<_> = writes.filter(|write| write.lba > 0).chain([read(0, page)]).collect();
            waits.push(asked.read_behind(&requests)? - layout.read_ns);
        }
        Ok(median(&waits))
    };
    // Between one write and all of them.
    if behind(WRITES)? > mean(write_ns) * (1 + WRITES) as f64 / 2.0 {
        return Ok(Waiting::InOrder);
    }
    let blocks = (BLOCKS * block).min(MOST);
    let longest = write_ns.iter().copied().fold(0.0, f64::max);
    Ok(if behind(blocks)? < 2.0 * longest + erase_ns { Waiting::Unplaced } else { Waiting::ReadsPass })
}

/// Buffers pages of one die, then pages of another one: whether the latter leave behind the former, and not beside them.
fn waits_in_line(asked: &mut Asked<'_>, page: u64, layout: &Layout) -> Result<bool, Error> {
    let period = layout.shared.len() as u64;
    let Some(other) = layout.shared.iter().position(|shared| *shared != Shared::Die) else {
        return Ok(false);
    };
    let mut emptied = |firsts: &[u64]| -> Result<f64, Error> {
        let mut times = Vec::new();
        for _ in 0..ATTEMPTS {
            asked.flush()?;
            for first in firsts {
                let pages = (0..BUFFERED).map(|number| (first + number * period) * page);
                asked.run(&pages.map(|from| write(from, page)).collect::<Vec<_>>(), 1)?;
            }
            times.push(asked.flush()?);
        }
        Ok(mean(&times))
    };
    let (one, two) = (emptied(&[0])?, emptied(&[0, other as u64])?);
    // Between the time of one die and that of both, one after the other.
    Ok(two > one * 1.5)
}
