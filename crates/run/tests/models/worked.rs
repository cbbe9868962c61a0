//! The worked examples of the papers' figures.

use std::collections::VecDeque;

use crate::models::lockstep::{Drive, Planner, Run, Times};
use crate::models::stream::{Piece, Striping};

/// Two channels with four pages a block; pages as in figures 11, 13 and 17 are logical pages of the drive.
fn two_channels(planner: Planner, throttle: u32) -> Run {
    let mut run = Run::new(Drive {
        striping: Striping::independent(2, 1, 8),
        data_blocks: 64,
        log_blocks: 3,
        per_block: 4,
        times: Times::MLC,
        planner,
        throttle,
        buffer: 0,
        in_order: false,
        coalesce: true,
    });
    // 0A: 410, 404, 414, an outdated page; 0B: 434, 416, 418, 420. 1A: 423, 405, 431 and an outdated page.
    for page in [410, 404, 414, 420, 434, 416, 418, 420] {
        run.log(0).append(page / 2);
    }
    for page in [423, 405, 431, 401, 401, 407, 409, 411, 413, 419, 425, 427] {
        run.log(1).append(page / 2);
    }
    run
}

/// Those of these pages that are in the log.
fn logged(run: &mut Run, pages: &[u32]) -> Vec<u32> {
    pages.iter().copied().filter(|page| run.log(*page as usize % 2).holds(page / 2)).collect()
}

const CHANNEL_0: [u32; 7] = [404, 410, 414, 416, 418, 420, 434];

#[test]
fn super_data_block_merges_neighbours_early_and_pointlessly() {
    let mut run = two_channels(Planner::SuperDataBlock, 0);
    run.collect(1);
    // Data blocks 104 (416, 418, 420), 100 (404) and 106 (nothing).
    assert_eq!(logged(&mut run, &CHANNEL_0), [410, 414, 434]);
    assert_eq!(run.outcome.merges, [3]);
    assert_eq!(run.outcome.collecting, 3 * (4 * 1_072_000 + 1_500_000) + 1_500_000);
}

#[test]
fn cycle_stealing_merges_from_the_oldest_page_on() {
    let mut run = two_channels(Planner::CycleStealing, 0);
    run.collect(1);
    // Data blocks 102 (410, 414), 100 (404) and 108 (434), and log block 0A is erased.
    assert_eq!(logged(&mut run, &CHANNEL_0), [416, 418, 420]);
    assert_eq!(run.log(0).free_blocks(), 2);
    assert_eq!(run.log(1).free_blocks(), 1);
}

#[test]
fn a_throttled_collection_moves_the_rest() {
    let mut run = two_channels(Planner::None, 2);
    run.collect(1);
    assert_eq!(logged(&mut run, &[423, 405, 431]), [431]);
    assert_eq!(run.outcome.merges, [2]);
    assert_eq!(run.outcome.collecting, 2 * (4 * 1_072_000 + 1_500_000) + 1_072_000 + 1_500_000);
    assert_eq!(logged(&mut run, &CHANNEL_0), CHANNEL_0);
}

/// Figures 14 and 28: requests on channels {1,2}, {0,1}, {0,3}, {1,2}, {2,3} and an 8-page buffer. Returns the write
/// cycles and the pages that wait once all have entered, and the write cycles in total.
fn gate(in_order: bool) -> (u64, usize, u64) {
    let mut run = Run::new(Drive {
        striping: Striping::independent(4, 1, 8),
        data_blocks: 64,
        log_blocks: 3,
        per_block: 4,
        times: Times::MLC,
        planner: Planner::CycleStealing,
        throttle: 0,
        buffer: 8,
        in_order,
        coalesce: true,
    });
    let requests = [[1, 2], [0, 1], [0, 3], [1, 2], [2, 3]];
    for (number, units) in requests.into_iter().enumerate() {
        let piece =
            |unit| Piece { request: number as u64, unit, page: number as u32, lane: 0, sectors: 0xff };
        run.serve(&mut units.into_iter().map(piece).collect::<VecDeque<_>>());
    }
    let (cycles, waiting) = (run.outcome.write_cycles, run.waiting());
    run.drain();
    (cycles, waiting, run.outcome.write_cycles)
}

#[test]
fn the_fifth_request_makes_one_flush_of_a_page_of_every_channel() {
    // Channels 1, 2, 0, 3; then 1, 0, 2, 3; at last 1 and 2.
    assert_eq!(gate(false), (1, 8 - 4 + 2, 3));
}

#[test]
fn in_order_no_page_overtakes_an_older_request() {
    // Channels 1, 2, 0: the second request's 1 has to wait, so channel 3 stays idle. Then 1, 0, 3, and 2 of the fourth
    // request, whose 1 has to wait; at last 1, 2, 3.
    assert_eq!(gate(true), (1, 8 - 3 + 2, 3));
}
