//! Groups that never mix, each with spare space of its own: `gc.victims_of=group`.
//!
//! Spare space is what is stale in the blocks of a group. So a group of `U` valid pages with a share `w` of all `S` stale pages is
//! a drive of its own, of the space ratio `1 + w S / U`, and amplifies as that one, whatever is written elsewhere.

use crate::theory::closed_forms::write_amplification::{fifo, greedy};
use crate::theory::drive::{Drive, Shape, assert_close, full};
use crate::theory::popularity::{Numbers, filled, writes};

/// Tolerance of amplifications.
const TOLERANCE: f64 = 0.005;
const BLOCK: u64 = 32;

/// Many small blocks: a block is a small part of the spare space of a group.
fn shape() -> Shape {
    Shape {
        units: 1,
        blocks: if full() { 4096 } else { 1024 },
        held_back: 1,
        pages_per_block: BLOCK,
        spare: 0.2,
    }
}

/// Two handles, each with its groups of pages of the host and of relocated ones.
fn drive(victim: &str, shares: &str) -> Drive {
    let drive = shape().drive().set("gc.victim", victim).set("precondition", "empty");
    let drive = drive.set("ftl.classifier", "stream").set("ftl.groups", 2).set("ftl.isolated", true);
    drive.set("gc.victims_of", "group").set("gc.shares", shares)
}

/// Two streams: in a thousand writes those to the hot pages, and the share of the pages that are hot.
#[derive(Clone, Copy)]
struct Streams {
    hot: u64,
    data: f64,
}

impl Streams {
    /// Amplification of both groups in steady state.
    fn measure(self, drive: &Drive) -> [f64; 2] {
        let mut run = drive.start(&shape().workload("random", "write=1.0", 1));
        let mut numbers = Numbers(7);
        let pages = shape().logical_pages();
        // Each page once, or those that are hardly written would never come to their group.
        run.amplification_by_group([filled((self.split(), pages))].into_iter());
        let mut measured = |overwrites: u64| {
            let slices =
                (0..overwrites).map(|_| writes(&mut numbers, pages, self.hot, (self.split(), pages)));
            run.amplification_by_group(slices)
        };
        measured(10);
        let found = measured(12);
        [found[0], found[1]]
    }

    #[expect(clippy::cast_sign_loss, clippy::cast_possible_truncation, reason = "a share of the pages")]
    fn split(self) -> u64 {
        (shape().logical_pages() as f64 * self.data) as u64
    }

    /// Space ratios of both groups, the first one having a share `first` of the spare space.
    fn ratios(self, first: f64) -> [f64; 2] {
        let pages = shape().logical_pages() as f64;
        // A block is kept for the second group of relocated pages; of four open blocks three more than one group has are half empty.
        let spare = (shape().blocks as f64 - 1.0 - 1.5) * BLOCK as f64 - pages;
        let hot = self.split() as f64;
        [1.0 + first * spare / hot, 1.0 + (1.0 - first) * spare / (pages - hot)]
    }

    /// Pages programmed for each that the host writes, the groups having such amplifications.
    fn total(self, [hot, cold]: [f64; 2]) -> f64 {
        let heat = self.hot as f64 / 1000.0;
        heat * hot + (1.0 - heat) * cold
    }
}

const STREAMS: [Streams; 2] = [Streams { hot: 800, data: 0.2 }, Streams { hot: 400, data: 0.6 }];

/// Amplification by space ratio.
fn form(victim: &str, ratio: f64) -> f64 {
    if victim == "fifo" { fifo(ratio) } else { greedy(ratio, BLOCK as u32) }
}

#[test]
fn each_group_amplifies_by_its_own_spare_space() {
    for streams in STREAMS {
        for (victim, shares, first) in
            [("fifo", "0.5,0.5", 0.5), ("greedy", "3,1", 0.75), ("greedy", "0.3,0.7", 0.3)]
        {
            let found = streams.measure(&drive(victim, shares));
            for (group, ratio) in streams.ratios(first).into_iter().enumerate() {
                let what = format!("{victim}, {shares}, {} to {}, group {group}", streams.hot, streams.data);
                assert_close(&what, found[group], form(victim, ratio), TOLERANCE);
            }
        }
    }
}

#[test]
fn by_data_each_group_has_the_over_provisioning_of_the_drive() {
    for (streams, victim) in STREAMS.into_iter().zip(["greedy", "fifo"]) {
        let [hot, cold] = streams.measure(&drive(victim, "data"));
        let [ratio, same] = streams.ratios(streams.split() as f64 / shape().logical_pages() as f64);
        assert!((ratio - same).abs() < 1e-9);
        assert_close(&format!("{victim}, hot"), hot, form(victim, ratio), TOLERANCE);
        assert_close(&format!("{victim}, cold"), cold, form(victim, ratio), TOLERANCE);
    }
}

/// The division by worth is as good as the best one found by search over the closed form.
#[test]
fn the_best_division_is_that_of_a_search() {
    for victim in ["fifo", "greedy"] {
        for streams in STREAMS {
            let total = |first: f64| streams.total(streams.ratios(first).map(|ratio| form(victim, ratio)));
            let searched = (1..200).map(|step| total(f64::from(step) / 200.0)).fold(f64::INFINITY, f64::min);
            let found = streams.total(streams.measure(&drive(victim, "best")));
            let what = format!("{victim}, {} to {}", streams.hot, streams.data);
            assert_close(&what, found, searched, TOLERANCE);
            let by_data = total(streams.split() as f64 / shape().logical_pages() as f64);
            assert!(found < by_data * 1.002, "{what}: {found}, by data {by_data}");
        }
    }
}
