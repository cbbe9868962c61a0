//! FIFO victims under any popularity of pages, and groups of blocks whose pages never mix.
//!
//! With FIFO victims every block is collected at the same age, whatever group it belongs to. So groups that never mix
//! amplify in all as one group does, and each by its own share of that: `1 / (1 - exp(-T r / f))` for a group that has a
//! share `r` of the writes and `f` of the data, where `T` is that age in overwrites of the drive.

use flashweir_trace::{Op, Request};

use crate::theory::closed_forms::write_amplification::fifo_mixed;
use crate::theory::drive::{Shape, assert_close};

/// Tolerance of amplifications: half a percent at any size.
const TOLERANCE: f64 = 0.005;

/// Small blocks, and many of them: the closed form is that of blocks of which none counts.
fn shape(blocks: u64) -> Shape {
    Shape { units: 1, blocks, held_back: 1, pages_per_block: 32, spare: 0.1 }
}

#[test]
fn fifo_victims_under_a_zipf_popularity() {
    let shape = shape(512);
    for theta in [0.5, 0.8, 1.0, 1.2] {
        let keys = format!("write=1.0,theta={theta},seed=2");
        let outcome = shape.drive().set("gc.victim", "fifo").run(&shape.workload("zipf", &keys, 60));
        let pages = shape.logical_pages();
        let weights: Vec<f64> = (1..=pages).map(|rank| (rank as f64).powf(-theta)).collect();
        let all: f64 = weights.iter().sum();
        let parts: Vec<(f64, f64)> =
            weights.iter().map(|weight| (weight / all, 1.0 / pages as f64)).collect();
        let expected = fifo_mixed(outcome.space_ratio(), &parts);
        assert_close(&format!("Zipf {theta}"), outcome.write_amplification(), expected, TOLERANCE);
    }
}

/// Numbers below a limit (xorshift64*).
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        ((self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32) * limit) >> 32
    }
}

/// The write of a page, those from `split` on with handle 1.
fn write(page: u64, split: u64) -> Request {
    Request {
        time_ns: 0,
        lba: page * 8,
        sectors: 8,
        stream: 0,
        op: Op::Write,
        handle: u8::from(page >= split),
    }
}

/// A write of each page, as [`writes`] has them.
pub(crate) fn filled((split, pages): (u64, u64)) -> Vec<Request> {
    (0..pages).map(|page| write(page, split)).collect()
}

/// Writes of one page each: a share of `hot` in a thousand goes, with handle 0, to the first `split` pages, the others,
/// with handle 1, to the rest.
pub(crate) fn writes(
    numbers: &mut Numbers,
    count: u64,
    hot: u64,
    (split, pages): (u64, u64),
) -> Vec<Request> {
    let page = |_| {
        let is_hot = numbers.below(1000) < hot;
        if is_hot { numbers.below(split) } else { split + numbers.below(pages - split) }
    };
    (0..count).map(page).map(|page| write(page, split)).collect()
}

#[test]
fn groups_that_never_mix_amplify_as_one_under_fifo() {
    let shape = shape(1024);
    let pages = shape.logical_pages();
    for (hot, data) in [(500, 0.3), (800, 0.2), (900, 0.1)] {
        let drive = shape.drive().set("gc.victim", "fifo").set("precondition", "full");
        let drive = drive.set("ftl.classifier", "stream").set("ftl.groups", 2).set("ftl.isolated", true);
        let mut run = drive.start(&shape.workload("random", "write=1.0", 1));
        #[expect(clippy::cast_sign_loss, clippy::cast_possible_truncation, reason = "a share of the pages")]
        let split = (pages as f64 * data) as u64;
        let mut numbers = Numbers(7);
        let mut measured = |overwrites: u64| {
            let slices = (0..overwrites).map(|_| writes(&mut numbers, pages, hot, (split, pages)));
            run.amplification_of(slices)
        };
        measured(20);
        let found = measured(30);
        // Of four open blocks three more than one group has are half empty, and a block is kept for the second group of
        // relocated pages.
        let blocks = shape.blocks as f64 - 1.0 - 1.5;
        let ratio = blocks * shape.pages_per_block as f64 / pages as f64;
        let heat = hot as f64 / 1000.0;
        let data = split as f64 / pages as f64;
        let expected = fifo_mixed(ratio, &[(heat, data), (1.0 - heat, 1.0 - data)]);
        assert_close(&format!("{hot} in 1000 to {data:.2}"), found, expected, TOLERANCE);
    }
}
