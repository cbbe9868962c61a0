//! The page: the unit in which a drive maps and moves data.

use super::ask::{Asked, median, read, write};
use crate::Error;

/// Largest page that is looked for, bytes.
const LARGEST: u64 = 256 * 1024;
/// A read of a page that was never written takes less than this share of one that was; both take commands and link.
const NOTHING_THERE: f64 = 0.75;
/// A write of a whole page takes less than this share of one that must read what it leaves.
const WHOLE: f64 = 0.99;
/// Reads or writes of each size.
const READS: usize = 1500;
const WRITES: usize = 9;
/// Outstanding reads, so that every die is busy.
const DEPTH: u32 = 256;
/// Share of the requests a second at one block below which a size takes more than one page.
const ONE_PAGE: f64 = 0.75;

/// A page size, and how sure it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Page {
    pub(super) bytes: u64,
    pub(super) sure: f64,
    pub(super) how: &'static str,
    /// True if reads of discarded data are answered at once.
    pub(super) forgets: bool,
}

/// Page size of a drive. `discarded`: nothing is on it, and it knows that.
pub(super) fn page(asked: &mut Asked<'_>, discarded: bool) -> Result<Page, Error> {
    if discarded && let Some(bytes) = by_what_is_there(asked)? {
        return Ok(Page {
            bytes,
            sure: 1.0,
            forgets: true,
            how: "what else a drive without data has once a block is written",
        });
    }
    let span = (asked.size_bytes() / 4).min(64 << 20);
    asked.fill((0..span).step_by(LARGEST as usize).map(|from| (from, LARGEST.min(span - from))))?;
    let (rewrites, reads) = (by_rewrites(asked, span)?, by_reads(asked, span)?);
    let how = "writes of less than a page wait for a read; reads of more than a page cost two";
    Ok(match rewrites {
        Some(bytes) if bytes == reads => Page { bytes, sure: 0.9, how, forgets: false },
        Some(bytes) => Page { bytes, sure: 0.4, how, forgets: false },
        None => Page { bytes: reads, sure: 0.3, how, forgets: false },
    })
}

/// A drive without data answers reads from its map alone. When one block is written, what then has to be read from flash is its page.
fn by_what_is_there(asked: &mut Asked<'_>) -> Result<Option<u64>, Error> {
    let block = asked.block_bytes();
    let at = asked.size_bytes() / 2 / LARGEST * LARGEST + LARGEST / 2;
    if at + 2 * LARGEST > asked.size_bytes() {
        return Ok(None);
    }
    let far = read(at + LARGEST, block);
    asked.through(&[write(at, block)])?;
    let time = |asked: &mut Asked<'_>, request| -> Result<f64, Error> {
        let times = (0..5).map(|_| asked.one(request)).collect::<Result<Vec<_>, _>>()?;
        Ok(median(&times))
    };
    let (there, nothing) = (time(asked, read(at, block))?, time(asked, far)?);
    if nothing >= there * NOTHING_THERE {
        return Ok(None);
    }
    let limit = f64::midpoint(there, nothing);
    let mut blocks = 1;
    for before in [true, false] {
        for step in 1..=LARGEST / block {
            let from = if before { at.saturating_sub(step * block) } else { at + step * block };
            if time(asked, read(from, block))? < limit {
                break;
            }
            blocks += 1;
        }
    }
    Ok(Some(blocks * block))
}

fn sizes(asked: &Asked<'_>) -> impl Iterator<Item = u64> + use<> {
    let block = asked.block_bytes();
    (0..10).map(move |doubling| block << doubling).take_while(|bytes| *bytes <= LARGEST)
}

/// The smallest aligned write over data that is faster than one of a block: nothing of it has to be read before.
fn by_rewrites(asked: &mut Asked<'_>, span: u64) -> Result<Option<u64>, Error> {
    let mut of_block = 0.0;
    for (number, bytes) in sizes(asked).enumerate() {
        let writes: Vec<_> =
            (0..WRITES).map(|_| write(asked.draw(span / LARGEST) * LARGEST, bytes)).collect();
        let took = median(&asked.through(&writes)?);
        if number == 0 {
            of_block = took;
        } else if took < of_block * WHOLE {
            return Ok(Some(bytes));
        }
    }
    Ok(None)
}

/// The largest aligned reads of which a drive does as many a second as of single blocks: a larger one takes two pages' time of its
/// dies. That is the staircase of latency over request size (Bouganim et al. 2009), seen where parallelism can't hide it.
fn by_reads(asked: &mut Asked<'_>, span: u64) -> Result<u64, Error> {
    let (mut page, mut most) = (asked.block_bytes(), 0.0);
    for (number, bytes) in sizes(asked).enumerate() {
        let requests: Vec<_> = (0..READS).map(|_| read(asked.draw(span / bytes) * bytes, bytes)).collect();
        let (_, took) = asked.run(&requests, DEPTH)?;
        let rate = READS as f64 / took.max(1.0);
        if number == 0 {
            most = rate;
        } else if rate < ONE_PAGE * most {
            break;
        }
        page = bytes;
    }
    Ok(page)
}
