//! Write amplification under uniform writes: every victim policy, several spare factors and block sizes, TRIM.

use crate::theory::closed_forms::write_amplification::{
    d_choices, fifo, greedy, random, space_ratio_with_trim,
};
use crate::theory::drive::{Drive, Shape, assert_close, full};

/// Tolerance of amplifications.
pub(crate) fn tolerance() -> f64 {
    if full() { 0.005 } else { 0.01 }
}

/// Blocks of a drive of the size that the tests run at: as many pages, whatever the block.
pub(crate) fn blocks(pages_per_block: u64) -> u64 {
    let pages = if full() { 1 << 18 } else { 1 << 15 };
    (pages / pages_per_block).max(if full() { 1024 } else { 192 })
}

/// A drive of one unit at test size.
fn shape(pages_per_block: u64, spare: f64) -> Shape {
    Shape { units: 1, blocks: blocks(pages_per_block), held_back: 1, pages_per_block, spare }
}

/// Capacities written before amplification is measured: with two choices it swings for some time around its limit.
const SETTLING: u64 = 16;
/// Capacities over which it is measured, so that chance stays well below the tolerance.
const MEASURED: u64 = 16;

/// Write amplification and space ratio of a drive in steady state.
fn measure(drive: &Drive, shape: Shape, keys: &str, measured: u64) -> (f64, f64) {
    let mut run = drive.start(&shape.workload("random", keys, SETTLING + measured));
    run.amplification_over(SETTLING * shape.logical_pages());
    let found = run.amplification_over(measured * shape.logical_pages());
    (found, run.finish().space_ratio())
}

#[track_caller]
fn check(drive: &Drive, shape: Shape, measured: u64, expected: impl Fn(f64) -> f64) {
    let (found, ratio) = measure(drive, shape, "write=1.0,seed=7", measured);
    assert_close("spare factor", 1.0 - 1.0 / ratio, shape.spare, 0.002);
    assert_close(&format!("{shape:?}"), found, expected(ratio), tolerance());
}

#[test]
fn fifo_victims() {
    for (spare, pages_per_block) in [(0.05, 64), (0.10, 64), (0.28, 64), (0.15, 96), (0.40, 32)] {
        let shape = shape(pages_per_block, spare);
        check(&shape.drive().set("gc.victim", "fifo"), shape, MEASURED, fifo);
    }
}

/// The log of a host in one open zone collects zones as a drive collects blocks.
#[test]
fn greedy_victims_of_a_host_that_collects_zones() {
    for (spare, pages_per_zone) in [(0.10, 64), (0.20, 128)] {
        let shape = shape(pages_per_zone, spare);
        let drive = shape.drive().set("ftl.kind", "zones").set("ftl.separate", "none");
        check(&drive, shape, MEASURED, |ratio| greedy(ratio, pages_per_zone as u32));
    }
}

/// Greedy victims of blocks of `b` mapping units that have `padding` of them empty in the mean.
#[expect(clippy::cast_sign_loss, reason = "less of a block is padded than it has")]
fn greedy_padded(a: f64, b: u32, padding: f64) -> f64 {
    let (units, used) = (f64::from(b), f64::from(b) - padding);
    let at = |used: f64| greedy(a * used / units, used as u32) * units / used;
    let below = used.floor();
    at(below) + (used - below) * (at(below + 1.0) - at(below))
}

/// Collections pack mapping units into pages, and pad the last page of each victim.
#[test]
fn greedy_victims_of_mapping_units() {
    let units = 128;
    for per_page in [1, 2, 4, 8_u32] {
        let shape = shape(units, 0.20);
        // The buffer gathers what the host writes: only collections pad.
        let drive = shape
            .drive()
            .set("page", per_page * 4096)
            .set("ftl.map_unit", 4096)
            .set("pages_per_block", units / u64::from(per_page))
            .set("buffer.bytes", 16 * 4096)
            .set("buffer.coalesce", false);
        let mut run = drive.start(&shape.workload("random", "write=1.0,seed=7", SETTLING + MEASURED));
        let before = run.counters_after(SETTLING * shape.logical_pages());
        let counts = run.counters_after(MEASURED * shape.logical_pages()).since(&before);
        let ratio = run.finish().space_ratio();
        let padding = counts.padded_units as f64 / counts.collections as f64;
        let units_programmed = f64::from(per_page) * counts.flash().programs as f64;
        let found = units_programmed / counts.host_pages_written as f64;
        assert_close(
            &format!("{per_page} units a page, {padding:.2} padded"),
            found,
            greedy_padded(ratio, units as u32, padding),
            tolerance(),
        );
    }
}

#[test]
fn greedy_victims() {
    for (spare, pages_per_block) in
        [(0.05, 64), (0.10, 64), (0.07, 128), (0.20, 128), (0.10, 256), (0.28, 256), (0.15, 96), (0.40, 32)]
    {
        let shape = shape(pages_per_block, spare);
        check(&shape.drive(), shape, MEASURED, |ratio| greedy(ratio, pages_per_block as u32));
    }
}

#[test]
fn d_choices_victims() {
    for (spare, pages_per_block, choices) in
        [(0.07, 64, 2), (0.20, 64, 2), (0.10, 64, 10), (0.28, 64, 10), (0.15, 128, 5), (0.10, 32, 3)]
    {
        let shape = shape(pages_per_block, spare);
        let drive = shape.drive().set("gc.victim", "d-choices").set("gc.choices", choices);
        check(&drive, shape, MEASURED, |ratio| d_choices(ratio, pages_per_block as u32, choices));
    }
}

#[test]
fn random_victims() {
    for (spare, pages_per_block) in [(0.10, 64), (0.20, 64), (0.28, 64), (0.40, 32)] {
        let shape = shape(pages_per_block, spare);
        // Chance weighs most where victims are chosen by it.
        check(&shape.drive().set("gc.victim", "random"), shape, 4 * MEASURED, random);
    }
}

#[test]
fn units_collect_on_their_own() {
    let shape = Shape { units: 4, blocks: blocks(64) / 2, held_back: 1, pages_per_block: 64, spare: 0.10 };
    check(&shape.drive(), shape, MEASURED, |ratio| greedy(ratio, 64));
    check(&shape.drive().set("gc.victim", "fifo"), shape, MEASURED, fifo);
}

/// Superblocks: a block of each die, collected as one block of their pages.
#[test]
fn superblocks_amplify_as_blocks_of_their_size() {
    for (units, pages_per_block, spare) in [(4, 16, 0.10), (8, 16, 0.20), (8, 8, 0.07), (3, 32, 0.28)] {
        let together = units * pages_per_block;
        let shape = Shape { units, blocks: 2 * blocks(together), held_back: 1, pages_per_block, spare };
        let drive = shape.drive().set("alloc.kind", "superblock");
        let (found, ratio) = measure(&drive, shape, "write=1.0,seed=7", MEASURED);
        assert_close(&format!("{shape:?}"), found, greedy(ratio, together as u32), 0.005);
    }
}

/// Of n + 1 pages one is parity: they amplify as blocks of the others, times (n + 1) / n.
#[test]
fn parity_amplifies_by_its_share() {
    let shape = Shape { units: 4, blocks: 2 * blocks(48), held_back: 1, pages_per_block: 16, spare: 0.20 };
    let logical = shape.logical_pages() as f64;
    let drive = shape.drive().set("alloc.kind", "superblock").set("alloc.parity", 3);
    let mut run = drive.start(&shape.workload("random", "write=1.0,seed=7", SETTLING + MEASURED));
    run.amplification_over(SETTLING * shape.logical_pages());
    let found = run.amplification_over(MEASURED * shape.logical_pages());
    let outcome = run.finish();
    // op_ratio counts pages of data: parity takes more blocks, and no spare.
    let blocks = (outcome.geometry.blocks / 4 - 1) as f64;
    let ratio = blocks * 48.0 / logical;
    assert_close("spare", outcome.geometry.op_ratio() + 1.0, ratio, 1e-9);
    assert_close("parity", found, greedy(ratio, 48) * 4.0 / 3.0, 0.005);
}

#[test]
fn blocks_held_back_count_as_missing() {
    // The example of the closed forms: 512 blocks of 64 pages, 8 of them held back, 7% spare with them.
    let logical: u64 = 30_474;
    let drive = Drive::one_die()
        .set("pages_per_block", 64)
        .set("capacity", logical * 4096)
        .set("op_ratio", (511 * 64 - logical) as f64 / logical as f64)
        .set("gc.free_blocks", 8)
        .set("precondition", "steady");
    let workload = format!(
        "random:span={},size=4KiB,align=4KiB,count={},write=1.0,seed=3",
        logical * 4096,
        logical * 20
    );
    let outcome = drive.run(&workload);
    assert_eq!(outcome.geometry.physical_pages(), 512 * 64);
    assert_eq!(outcome.geometry.reserved_blocks(), 8);
    let found = outcome.write_amplification();
    assert_close("theory", found, greedy(outcome.space_ratio(), 64), tolerance().max(0.008));
    assert_close("the printed simulation", found, 8.14, 0.008);
}

#[test]
fn trimmed_pages_are_spare() {
    for (victim, trims) in [("greedy", 0.05), ("fifo", 0.10), ("greedy", 0.25)] {
        let shape = shape(64, 0.10);
        let drive = shape.drive().set("gc.victim", victim);
        let keys = format!("write={},trim={trims},seed=5", 1.0 - trims);
        let (found, ratio) = measure(&drive, shape, &keys, 2 * MEASURED);
        // A request that discards hits a mapped page only as often as one is mapped: s q of q hit, so that those that
        // do are q' = q / (1 + q) of the requests that count, and s = (1 - 2q') / (1 - q') is 1 - q.
        let ratio = space_ratio_with_trim(ratio, trims / (1.0 + trims));
        let expected = if victim == "fifo" { fifo(ratio) } else { greedy(ratio, 64) };
        assert_close(&format!("{victim}, {trims} trimmed"), found, expected, tolerance());
    }
}
