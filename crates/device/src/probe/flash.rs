//! Times of the flash, the size of what is erased, and how much spare there is: one die is written over in order, and each write is
//! followed by a read on the same die, which says what the die was busy with.

use super::ask::{Asked, read, typical, write};
use super::layout::Layout;
use crate::Error;

/// Writes by which the time of a program is measured.
const PROGRAMS: usize = 48;
/// Erases after which enough is known, and writes after which there are none to be seen.
const ERASES: usize = 24;
const MOST_WRITES: usize = 400_000;
/// Time after which a die has nothing left to do, ns.
const REST_NS: u64 = 50_000_000;

/// What is learned from one die.
pub(super) struct Flash {
    /// From the host to the cells: transfer and program, ns.
    pub(super) write_ns: f64,
    /// An erase, ns, and how many were seen.
    pub(super) erase_ns: Option<f64>,
    pub(super) erases: usize,
    /// Pages of a block, and planes of a die that are collected each on their own.
    pub(super) block_pages: Option<u64>,
    pub(super) planes: u64,
    /// Spare / logical.
    pub(super) op_ratio: Option<f64>,
}

/// Pages of the die of page 0, in order, from the first again at the end.
struct Pages<'a> {
    layout: &'a Layout,
    count: u64,
}

impl Pages<'_> {
    fn of(&self, number: u64) -> u64 {
        let (number, each) = (number % self.count, self.layout.same_die.len() as u64);
        number / each * self.layout.period + self.layout.same_die[(number % each) as usize]
    }
}

pub(super) fn flash(asked: &mut Asked<'_>, page: u64, layout: &Layout) -> Result<Flash, Error> {
    let each = layout.same_die.len() as u64;
    let count = (asked.size_bytes() / page / layout.period * each).max(2);
    let pages = Pages { layout, count };
    let took = |asked: &mut Asked<'_>, number: u64| -> Result<f64, Error> {
        asked.rest(REST_NS)?;
        let written = asked.one(write(pages.of(number) * page, page))?;
        let seen = asked.one(read(pages.of(number + count / 2) * page, page))?;
        Ok(written + (seen - layout.read_ns).max(0.0))
    };
    let mut times = Vec::new();
    for number in 0..PROGRAMS as u64 {
        times.push(took(asked, number)?);
    }
    let write_ns = typical(&times);
    let mut erased: Vec<(u64, f64)> = Vec::new();
    let spike = |time: f64| time > write_ns * 1.3 + 100_000.0;
    for (number, time) in times.iter().enumerate().filter(|(_, time)| spike(**time)) {
        erased.push((number as u64, time - write_ns));
    }
    let most = MOST_WRITES.min(2 * count as usize) as u64;
    let mut number = PROGRAMS as u64;
    while number < most && erased.len() < ERASES {
        let time = took(asked, number)?;
        if spike(time) {
            erased.push((number, time - write_ns));
        }
        number += 1;
    }
    let (period, planes) = clusters(&erased);
    let block_pages = period.map(|pages| (pages / planes as f64).round().max(1.0) as u64);
    let op_ratio = erased.first().zip(block_pages).map(|((first, _), block_pages)| {
        // What was written before the first erase is spare, but for the block that the fill left unfinished.
        let (first, block) = (*first as f64 / planes as f64, block_pages as f64);
        let logical = count as f64 / planes as f64;
        let unfinished = (block - logical % block) % block;
        ((first - unfinished) / block).round().max(0.0) * block / logical
    });
    let erase =
        (erased.len() >= 3).then(|| typical(&erased.iter().map(|(_, time)| *time).collect::<Vec<_>>()));
    Ok(Flash { write_ns, erase_ns: erase, erases: erased.len(), block_pages, planes, op_ratio })
}

/// Writes from one group of erases to the next, and erases of a group: planes that were filled alike are erased one behind the other.
fn clusters(erased: &[(u64, f64)]) -> (Option<f64>, u64) {
    let gaps: Vec<u64> = erased.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    let Some(longest) = gaps.iter().copied().max() else { return (None, 1) };
    let starts: Vec<usize> = std::iter::once(0)
        .chain(gaps.iter().enumerate().filter(|(_, gap)| **gap * 2 > longest).map(|(at, _)| at + 1))
        .collect();
    let Some((first, last)) = starts.first().zip(starts.last()).filter(|(first, last)| first < last) else {
        return (None, 1);
    };
    let groups = (starts.len() - 1) as f64;
    let period = (erased[*last].0 - erased[*first].0) as f64 / groups;
    (Some(period), ((last - first) as f64 / groups).round().max(1.0) as u64)
}

/// Bytes that an idle drive takes in before a write has to wait: pages one behind the other, so that they spread over all dies.
pub(super) fn buffer_bytes(asked: &mut Asked<'_>, page: u64, write_ns: f64) -> Result<u64, Error> {
    let pages = asked.size_bytes() / page;
    let mut found = Vec::new();
    for attempt in 0..5u64 {
        asked.rest(20 * REST_NS)?;
        let start = pages / 8 * attempt;
        let mut taken = 0;
        while taken < pages / 16 {
            if asked.one(write((start + taken) * page, page))? > write_ns * 0.05 {
                break;
            }
            taken += 1;
        }
        found.push(taken as f64);
    }
    Ok(typical(&found).round() as u64 * page)
}
