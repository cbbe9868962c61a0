//! Mean waits at one die under Poisson arrivals.

use flashweir_trace::Op;

use crate::theory::closed_forms::queueing::{Class, fifo_wait, preemptive_responses, priority_waits};
use crate::theory::drive::{Drive, Outcome, assert_close, full};

/// Tolerance of mean waits.
const TOLERANCE: f64 = 0.02;

/// Poisson reads and writes, arrivals a microsecond: from a die that is idle more often than not to one that is hardly ever.
const LOADS: [(f64, f64); 4] = [(0.001, 0.000_5), (0.002, 0.001_5), (0.004, 0.001), (0.001_5, 0.002)];

/// One die that reads a page in 125 us and writes one in 300 us, transfer included, and never collects garbage: its
/// spare blocks outlast the test.
fn die() -> Drive {
    Drive::one_die()
        .set("capacity", "128MiB")
        .set("op_ratio", 100.0)
        .set("precondition", "full")
        .set("timing.bus", 0)
        .set("timing.command", "25us")
        .set("timing.read", "100us")
        .set("timing.program", "275us")
        .set("host.mode", "open")
}

/// Runs reads and writes that arrive at these rates a microsecond.
fn run(drive: &Drive, reads: f64, writes: f64) -> Outcome {
    let count = if full() { 3_000_000 } else { 1_000_000 };
    let (rate, share) = ((reads + writes) * 1e6, writes / (reads + writes));
    let workload =
        format!("random:span=128MiB,size=4KiB,align=4KiB,write={share:.9},rate={rate},count={count},seed=11");
    let outcome = drive.run(&workload);
    assert_eq!(outcome.counters().flash().erases, 0, "no collections");
    outcome
}

fn mean_wait(outcome: &Outcome, op: Op, service: f64) -> f64 {
    outcome.mean_latency(op) - service
}

#[test]
fn first_come_first_served() {
    for (reads, writes) in LOADS.into_iter().chain([(0.004, 0.0), (0.0, 0.002)]) {
        let outcome = run(&die(), reads, writes);
        let expected = fifo_wait(&[Class::fixed(reads, 125.0), Class::fixed(writes, 300.0)]);
        for (op, rate, service) in [(Op::Read, reads, 125.0), (Op::Write, writes, 300.0)] {
            if rate > 0.0 {
                assert_close(&format!("{op:?} wait"), mean_wait(&outcome, op, service), expected, TOLERANCE);
            }
        }
    }
}

#[test]
fn service_times_that_differ() {
    // Pages of three types, in turn.
    let times = [40.0, 100.0, 220.0];
    let drive = die().set("timing.read", "15us,75us,195us").set("pages_per_block", 129);
    let outcome = run(&drive, 0.005, 0.0);
    let mean = times.iter().sum::<f64>() / 3.0;
    let mean_square = times.iter().map(|time| time * time).sum::<f64>() / 3.0;
    let expected = fifo_wait(&[Class { rate: 0.005, mean, mean_square }]);
    assert_close("wait", mean_wait(&outcome, Op::Read, mean), expected, TOLERANCE);
}

#[test]
fn reads_before_writes() {
    for (reads, writes) in LOADS {
        let outcome = run(&die().set("sched.kind", "read-priority"), reads, writes);
        let (read, write) = priority_waits(Class::fixed(reads, 125.0), Class::fixed(writes, 300.0));
        assert_close("read wait", mean_wait(&outcome, Op::Read, 125.0), read, TOLERANCE);
        assert_close("write wait", mean_wait(&outcome, Op::Write, 300.0), write, TOLERANCE);
    }
}

/// Reads ahead of writes that wait are the same thing where each read finds its page written: `read-first` without a bound.
#[test]
fn reads_pass_writes_without_a_bound() {
    for (reads, writes) in LOADS {
        let outcome = run(&die().set("sched.kind", "read-first"), reads, writes);
        let (read, write) = priority_waits(Class::fixed(reads, 125.0), Class::fixed(writes, 300.0));
        assert_close("read wait", mean_wait(&outcome, Op::Read, 125.0), read, TOLERANCE);
        assert_close("write wait", mean_wait(&outcome, Op::Write, 300.0), write, TOLERANCE);
    }
}

/// A suspension that costs nothing, and as many as there are reads. The bus takes no time: it is not interrupted.
#[test]
fn reads_suspend_writes() {
    for (reads, writes) in LOADS {
        let drive = die()
            .set("timing.command", 0)
            .set("timing.read", "125us")
            .set("timing.program", "300us")
            .set("sched.kind", "suspend")
            .set("sched.resume_time", 0)
            .set("sched.write_weight", 0)
            .set("sched.max_suspensions", u32::MAX);
        let outcome = run(&drive, reads, writes);
        let (read, write) = preemptive_responses(Class::fixed(reads, 125.0), Class::fixed(writes, 300.0));
        assert_close("read response", outcome.mean_latency(Op::Read), read, TOLERANCE);
        assert_close("write response", outcome.mean_latency(Op::Write), write, TOLERANCE);
    }
}
