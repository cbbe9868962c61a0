//! Page size, and which pages share a die or a channel.

use super::ask::{Asked, mean, read};
use crate::Error;

/// Reads of each size, at a depth that keeps every die busy.
const READS: usize = 1500;
const DEPTH: u32 = 256;
/// Share of the requests a second at one sector below which a size takes more than one page.
const ONE_PAGE: f64 = 0.75;
/// Pages whose place is looked at.
const WINDOW: usize = 1024;

/// Page size, bytes: the largest aligned reads of which a drive does as many a second as of single blocks. A larger read takes two
/// pages' time on its dies. That is the staircase of latency over request size (Bouganim 2009), seen where parallelism can't hide it.
pub(super) fn page_bytes(asked: &mut Asked<'_>) -> Result<u64, Error> {
    let (size, block) = (asked.size_bytes(), asked.block_bytes());
    let (mut page, mut most) = (block, 0.0);
    for doubling in 0..11 {
        let bytes = block << doubling;
        if bytes > size / 8 || bytes > 256 * 1024 {
            break;
        }
        let requests: Vec<_> = (0..READS).map(|_| read(asked.draw(size / bytes) * bytes, bytes)).collect();
        let (_, took) = asked.run(&requests, DEPTH)?;
        let rate = READS as f64 / took.max(1.0);
        if doubling == 0 {
            most = rate;
        } else if rate < ONE_PAGE * most {
            break;
        }
        page = bytes;
    }
    Ok(page)
}

/// Which pages share what with the first.
pub(super) struct Layout {
    /// Channels; together with `dies` as many dies as were found. One channel a die where none are seen to share one.
    pub(super) channels: u64,
    /// Dies of each channel.
    pub(super) dies: u64,
    /// Time of a page on the bus of its channel, ns; `None` where no two dies share one.
    pub(super) transfer_ns: Option<f64>,
    /// Response time of a page read alone, ns.
    pub(super) read_ns: f64,
    /// Pages on the die of page 0, among the first `period`.
    pub(super) same_die: Vec<u64>,
    /// After how many pages places repeat.
    pub(super) period: u64,
}

/// Pairs of concurrent reads: on other channels they do not slow each other down, on one channel by a transfer, on one die by all of a read.
pub(super) fn layout(asked: &mut Asked<'_>, page: u64) -> Result<Layout, Error> {
    let window = WINDOW.min((asked.size_bytes() / page / 2) as usize).max(2);
    let mut alone = Vec::with_capacity(window);
    for at in 0..window {
        alone.push(asked.one(read(at as u64 * page, page))?);
    }
    let (mut die, mut channel, mut waits) = (vec![true], vec![true], Vec::new());
    for at in 1..window {
        let took = asked.both([read(0, page), read(at as u64 * page, page)])?;
        let (both, longer) = (alone[0] + alone[at], alone[0].max(alone[at]));
        die.push(took > both * 0.97);
        channel.push(took > longer + both * 0.01);
        if channel[at] && !die[at] {
            waits.push(took - longer);
        }
    }
    let count = |shared: &[bool]| shared.iter().filter(|same| **same).count().max(1) as f64;
    let all = (window as f64 / count(&die)).round().max(1.0) as u64;
    let (channels, transfer_ns) = if waits.is_empty() {
        (all, None)
    } else {
        ((window as f64 / count(&channel)).round().max(1.0) as u64, Some(mean(&waits)))
    };
    let dies = (all as f64 / channels as f64).round().max(1.0) as u64;
    let period =
        (1..window / 2).find(|step| (0..window - step).all(|at| die[at] == die[at + step])).unwrap_or(window);
    let same_die = (0..period).filter(|at| die[*at]).map(|at| at as u64).collect();
    Ok(Layout { channels, dies, transfer_ns, read_ns: mean(&alone), same_die, period: period as u64 })
}
