//! Pages by the mean interval between their writes, in one byte a page.
//!
//! Time is counted in *epochs*, eight for as many writes as the map has pages. A byte has the epoch of the page's last write
//! modulo 15, or 15 if that is 15 epochs ago or more, and in its other half the class of the mean interval: half octaves up to
//! twice the map. The mean is exponential: a new interval counts a quarter. Groups are powers of two: group 0 has pages whose
//! interval is unknown or at least twice the map, group 1 those from the map on, and so on. A relocated page that has not been
//! written for longer than its mean interval goes by that time instead.

use crate::cow::CowVec;

/// Epochs in as many writes as the map has pages.
const EPOCHS: u64 = 8;
/// Number of epochs that a byte distinguishes; the number itself stands for a write longer ago.
const OLD: u8 = 15;
/// Intervals of the classes 1 to 14, in 1/64 epochs: half octaves. The last one is twice the map.
const CLASSES: [u32; 14] = [11, 16, 23, 32, 45, 64, 91, 128, 181, 256, 362, 512, 724, LONGEST];
const EPOCH: u32 = 64;
const LONGEST: u32 = 1024;
/// Interval of a page that was written 15 epochs ago or more: four times the map.
const LONG_AGO: u32 = 2 * LONGEST;
/// A page that was never written.
const NEVER: u8 = u8::MAX;

/// Numbers of 32 bits for the bytes of so many pages.
pub(super) fn table_len(pages: u64) -> u64 {
    pages.div_ceil(4)
}

fn byte(table: &CowVec, key: u32) -> u8 {
    // One that was never written is all ones, as is the byte of such a page.
    table.get((key / 4).into()).to_le_bytes()[key as usize % 4]
}

/// The epoch of a time, the map having `count` pages.
fn epoch(now: u64, count: u64) -> u64 {
    now.saturating_mul(EPOCHS) / count
}

/// Epochs since the last write, if a byte distinguishes them.
fn epochs_since(state: u8, now: u64, count: u64) -> Option<u32> {
    let written = state >> 4;
    let present = (epoch(now, count) % u64::from(OLD)) as u32;
    (written < OLD).then(|| (present + u32::from(OLD) - u32::from(written)) % u32::from(OLD))
}

/// Mean interval of a class, 1/64 epochs; none is known of class 0.
fn interval(class: u8) -> Option<u32> {
    CLASSES.get(usize::from(class.checked_sub(1)?)).copied()
}

/// The nearest class, by ratio.
fn class_of(interval: u32) -> u8 {
    let is_above = |pair: &&[u32]| interval * interval > pair[0] * pair[1];
    1 + CLASSES.windows(2).filter(is_above).count() as u8
}

/// The class of a page that is written now.
fn next_class(state: u8, now: u64, count: u64) -> u8 {
    if state == NEVER {
        return 0;
    }
    let since = epochs_since(state, now, count);
    let last = since.map_or(LONG_AGO, |epochs| (epochs * EPOCH).max(EPOCH / 2));
    class_of(interval(state & 15).map_or(last, |mean| (3 * mean + last) / 4))
}

fn group_of(interval: u32, groups: u32) -> u32 {
    match LONGEST.checked_div(interval) {
        Some(times @ 1..) if interval < LONGEST => (times.ilog2() + 1).min(groups - 1),
        _ => 0,
    }
}

/// The group of a page that is written now.
pub(super) fn of_host(table: &CowVec, key: u32, (now, count): (u64, u64), groups: u32) -> u32 {
    let class = next_class(byte(table, key), now, count);
    interval(class).map_or(0, |interval| group_of(interval, groups))
}

/// The group of a page that is relocated now.
pub(super) fn of_moved(table: &CowVec, key: u32, (now, count): (u64, u64), groups: u32) -> u32 {
    let state = byte(table, key);
    let age = epochs_since(state, now, count).map_or(LONG_AGO, |epochs| epochs * EPOCH);
    interval(state & 15).map_or(0, |interval| group_of(interval.max(age), groups))
}

/// A page is written. In the first write of an epoch, those written 15 epochs ago become old ones.
pub(super) fn written(table: &mut CowVec, key: u32, (now, count): (u64, u64)) {
    let class = next_class(byte(table, key), now, count);
    let present = epoch(now, count);
    let place = u64::from(key / 4);
    let mut bytes = table.get(place).to_le_bytes();
    bytes[key as usize % 4] = ((present % u64::from(OLD)) as u8) << 4 | class;
    table.set(place, u32::from_le_bytes(bytes));
    let passed = epoch(now + 1, count) - present;
    if passed > 0 {
        let pages = table_len(count);
        for place in 0..pages {
            let before = table.get(place);
            if before != CowVec::EMPTY {
                let aged = before.to_le_bytes().map(|state| match epochs_since(state, now, count) {
                    Some(since) if u64::from(since) + passed >= u64::from(OLD) => OLD << 4 | state & 15,
                    _ => state,
                });
                // A part that a fork shares stays shared where nothing in it ages.
                let aged = u32::from_le_bytes(aged);
                if aged != before {
                    table.set(place, aged);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGES: u64 = 800;

    /// Writes pages at their turn: page `key` each `every` writes, the rest of the time page 0.
    fn run(pages: &[(u32, u64)], writes: u64) -> CowVec {
        let mut table = CowVec::new(table_len(PAGES));
        for now in 0..writes {
            let due = pages.iter().find(|(key, every)| now % every == u64::from(*key));
            written(&mut table, due.map_or(0, |(key, _)| *key), (now, PAGES));
        }
        table
    }

    #[test]
    fn groups_are_powers_of_two_of_the_interval() {
        let table = run(&[(1, 200), (2, 500), (3, 1000), (4, 2000)], 9000);
        let groups = |key| of_moved(&table, key, (9000, PAGES), 4);
        assert_eq!([0, 1, 2, 3, 4, 5].map(groups), [3, 3, 2, 1, 0, 0]);
        let host = |key| of_host(&table, key, (9000, PAGES), 4);
        assert_eq!([0, 1, 2, 3, 4, 5].map(host), [3, 3, 2, 1, 0, 0]);
        assert_eq!(of_host(&table, 0, (9000, PAGES), 1), 0, "one group takes all");
    }

    #[test]
    fn a_page_that_is_not_written_any_more_gets_cold() {
        let mut table = run(&[(1, 200)], 4000);
        for (writes, group) in [(100, 3), (800, 1), (2000, 0), (40_000, 0)] {
            let until = 4000 + writes;
            for now in 4000..until {
                written(&mut table, 0, (now, PAGES));
            }
            assert_eq!(of_moved(&table, 1, (until, PAGES), 4), group, "{writes}");
            table = run(&[(1, 200)], 4000);
        }
    }

    #[test]
    fn a_map_of_a_page_passes_several_epochs_with_each_write() {
        let mut table = CowVec::new(table_len(1));
        for now in 0..100 {
            written(&mut table, 0, (now, 1));
        }
        assert_eq!(of_host(&table, 0, (100, 1), 4), 2);
    }
}
