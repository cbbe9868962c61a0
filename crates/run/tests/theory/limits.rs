//! Throughput limits: what a channel of several dies does when it never waits for the host, to the nanosecond.

use crate::theory::closed_forms::timing::{Times, closed_queue_rate};
use crate::theory::closed_forms::write_amplification::greedy;
use crate::theory::drive::{Drive, Outcome, Shape, assert_close, full};

/// Outstanding requests: more than any of these drives can use.
const DEEP: u32 = 256;

/// One channel of so many dies with these times, in whole nanoseconds.
fn channel(dies: u32, times: &Times) -> Drive {
    let nanos = |time: f64| format!("{time}ns");
    Drive::one_die()
        .set("dies", dies)
        .set("capacity", "64MiB")
        .set("timing.bus", 0)
        .set("timing.command", nanos(times.transfer))
        .set("timing.read", nanos(times.read))
        .set("timing.program", nanos(times.program))
        .set("timing.erase", nanos(times.erase))
        .set("host.queue_depth", DEEP)
}

/// Asserts that a run took exactly so many nanoseconds.
#[track_caller]
fn assert_took(outcome: &Outcome, expected_ns: f64) {
    let found = outcome.nanos();
    assert!((found - expected_ns).abs() < 0.5, "took {found} ns, expected {expected_ns} ns");
}

/// Transfer and program times, ns, that are limited by the dies, by the bus, and by both alike.
const WRITES: [(u32, f64, f64); 6] = [
    (4, 100_000.0, 200_000.0),
    (8, 50_000.0, 800_000.0),
    (1, 50_000.0, 800_000.0),
    (2, 30_000.0, 70_000.0),
    (3, 100_000.0, 200_000.0),
    (16, 12_345.0, 67_891.0),
];

#[test]
fn writes_with_and_without_cache_program() {
    for (dies, transfer, program) in WRITES {
        let times = Times { transfer, read: 60_000.0, program, erase: 1_500_000.0 };
        for cache_program in [false, true] {
            let pages = f64::from(1000 * dies);
            let drive = channel(dies, &times).set("op_ratio", 0.2).set("timing.cache_program", cache_program);
            let outcome = drive.run(&format!("sequential:span=64MiB,size=4KiB,write=1.0,count={pages}"));
            // The first pages reach their dies one transfer apart; the last is done a program after its transfer.
            let held = if cache_program { program } else { transfer + program };
            let first = if cache_program { f64::from(dies) } else { f64::from(dies) - 1.0 } * transfer;
            let by_dies = first + 1000.0 * held;
            let by_bus = pages * transfer + program;
            assert_took(&outcome, by_dies.max(by_bus));
            let rate = pages / outcome.nanos();
            assert_close("rate", rate, times.write_rate(dies, cache_program), 0.005);
        }
    }
}

#[test]
fn reads() {
    for (dies, transfer, read) in
        [(1, 50_000.0, 60_000.0), (2, 100_000.0, 60_000.0), (4, 10_000.0, 60_000.0), (8, 25_000.0, 25_000.0)]
    {
        let times = Times { transfer, read, program: 800_000.0, erase: 1_500_000.0 };
        let pages = f64::from(1000 * dies);
        let drive = channel(dies, &times).set("precondition", "full");
        let outcome = drive.run(&format!("sequential:span=64MiB,size=4KiB,write=0.0,count={pages}"));
        let by_dies = 1000.0 * (read + transfer) + (f64::from(dies) - 1.0) * transfer;
        let by_bus = read + pages * transfer;
        assert_took(&outcome, by_dies.max(by_bus));
        assert_close("rate", pages / outcome.nanos(), times.read_rate(dies), 0.005);
    }
}

/// A drive in steady state of `units` dies on one channel.
fn steady(units: u64, times: &Times) -> (Shape, Drive) {
    let blocks = if full() { 2048 } else { 384 } / units;
    let shape = Shape { units, blocks, held_back: 1, pages_per_block: 64, spare: 0.10 };
    let mut drive = shape.drive().set("channels", 1).set("dies", units).set("host.queue_depth", DEEP);
    for (key, time) in [
        ("command", times.transfer),
        ("read", times.read),
        ("program", times.program),
        ("erase", times.erase),
    ] {
        drive = drive.set(&format!("timing.{key}"), format!("{time}ns"));
    }
    (shape, drive.set("timing.bus", 0))
}

#[test]
fn sustained_random_writes_of_one_die() {
    let times = Times { transfer: 100_000.0, read: 60_000.0, program: 800_000.0, erase: 1_500_000.0 };
    let (shape, drive) = steady(1, &times);
    let outcome = drive.run(&shape.workload("random", "write=1.0", 16));
    // A die that never idles spends its time on commands, and on nothing else.
    let flash = outcome.counters().flash();
    let expected = flash.reads as f64 * (times.read + times.transfer)
        + flash.programs as f64 * (times.transfer + times.program)
        + flash.erases as f64 * times.erase;
    assert_took(&outcome, expected);
    let amplification = greedy(1.0 / (1.0 - shape.spare), 64);
    let per_page = outcome.nanos() / outcome.counters().host_pages_written as f64;
    assert_close("die time of a page", per_page, times.die_time_of_write(amplification, 64), 0.01);
}

#[test]
fn sustained_random_writes_fill_the_channel() {
    // Arrays so fast that only the bus counts.
    let times = Times { transfer: 50_000.0, read: 100.0, program: 100.0, erase: 100.0 };
    let (shape, drive) = steady(4, &times);
    let outcome = drive.run(&shape.workload("random", "write=1.0", 8));
    let rate = outcome.counters().host_pages_written as f64 / outcome.nanos();
    let limit = times.channel_limit_of_writes(outcome.write_amplification());
    assert!(rate <= limit, "{rate} pages/ns, the channel lets {limit} through");
    assert_close("rate", rate, limit, 0.01);
}

#[test]
fn a_closed_queue_of_random_reads() {
    // Exponential service: every page of a block has a time of its own, the mean of one of as many equally likely parts
    // of the distribution.
    let (mean_ns, parts) = (100_000.0, 64);
    let quantile = |at: u32| -(1.0 - f64::from(at) / f64::from(parts)).ln();
    // Mean of the exponential between two quantiles: it loses (x + 1) e^-x between them.
    let survival = |x: f64| if x.is_finite() { (x + 1.0) * (-x).exp() } else { 0.0 };
    let time =
        |part: u32| (survival(quantile(part)) - survival(quantile(part + 1))) * f64::from(parts) * mean_ns;
    let list: Vec<_> = (0..parts).map(|part| format!("{:.0}ns", time(part))).collect();
    for (dies, depth) in [(4, 1), (4, 4), (8, 16), (8, 64)] {
        let drive = Drive::one_die()
            .set("dies", dies)
            .set("pages_per_block", parts)
            .set("capacity", "256MiB")
            .set("timing.bus", 0)
            .set("timing.read", list.join(","))
            .set("precondition", "full")
            .set("host.queue_depth", depth);
        let count = if full() { 4_000_000 } else { 400_000 };
        let outcome = drive.run(&format!("random:span=256MiB,size=4KiB,write=0.0,count={count},seed=4"));
        let rate = f64::from(count) / outcome.nanos();
        let expected = closed_queue_rate(dies, mean_ns, depth);
        assert_close(&format!("{dies} dies, depth {depth}"), rate, expected, 0.01);
    }
}
