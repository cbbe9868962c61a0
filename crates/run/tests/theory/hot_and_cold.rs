//! Write amplification when part of the data is written more often than the rest, with one and two frontiers.
//!
//! For FIFO victims there is a closed form. For greedy and d-choices there are numbers from another simulation of large
//! drives; small drives are compared with [`reference`], since two frontiers feel the number of blocks.

mod reference;

use crate::theory::amplification::{blocks, tolerance};
use crate::theory::closed_forms::write_amplification::fifo_mixed;
use crate::theory::drive::{Shape, assert_close, full};
use reference::Reference;

#[test]
fn fifo_victims_mix_hot_and_cold() {
    for hot in [0.80, 0.90, 0.95, 0.70] {
        let shape = Shape { units: 1, blocks: blocks(64), held_back: 1, pages_per_block: 64, spare: 0.10 };
        let keys = format!("write=1.0,hot_share={},hot_writes={hot},seed=2", 1.0 - hot);
        let outcome = shape.drive().set("gc.victim", "fifo").run(&shape.workload("hotcold", &keys, 24));
        let expected = fifo_mixed(outcome.space_ratio(), &[(hot, 1.0 - hot), (1.0 - hot, hot)]);
        let found = outcome.write_amplification();
        assert_close(&format!("hot {hot}"), found, expected, tolerance());
    }
}

/// Frontiers, choices (none: greedy) and what another simulation found: 95% of the writes to 5% of the data, blocks of
/// 64 pages, Sf = 0.10 of all blocks, four of them held back, and so many that their number does not matter.
const PRINTED: [(u32, Option<u32>, f64); 4] =
    [(1, None, 6.96), (2, None, 5.83), (1, Some(10), 6.82), (2, Some(10), 2.67)];

/// The drive for [`PRINTED`] at test size.
fn shape() -> Shape {
    let (blocks, held_back) = if full() { (8192, 4) } else { (384, 4) };
    let usable = blocks - held_back;
    let spare = 1.0 - 0.9 * blocks as f64 / usable as f64;
    Shape { units: 1, blocks: usable, held_back, pages_per_block: 64, spare }
}

#[test]
fn greedy_and_d_choices_with_one_and_two_frontiers() {
    let shape = shape();
    for (frontiers, choices, printed) in PRINTED {
        let mut drive = shape.drive().set("gc.frontiers", frontiers);
        if let Some(choices) = choices {
            drive = drive.set("gc.victim", "d-choices").set("gc.choices", choices);
        }
        // Cold data takes long to settle.
        let (settling, measured) = if full() { (20, 20) } else { (40, 60) };
        let keys = "write=1.0,hot_share=0.05,hot_writes=0.95,seed=2";
        let mut run = drive.start(&shape.workload("hotcold", keys, settling + measured));
        run.amplification_over(settling * shape.logical_pages());
        let found = run.amplification_over(measured * shape.logical_pages());
        let what = format!("{frontiers} frontiers, {choices:?} choices");
        if full() {
            assert_close(&format!("{what}, printed"), found, printed, tolerance());
        } else {
            let mut reference = Reference::new(&shape, frontiers == 2, choices, 50);
            reference.write_capacities(settling);
            assert_close(&what, found, reference.write_capacities(measured), tolerance());
        }
    }
}
