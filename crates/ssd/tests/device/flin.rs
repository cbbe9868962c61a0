//! FLIN: fairness of flows that share a drive, levels of priority, and the balance of reads and writes.

use flashweir_ssd::CommandKind::{Program, Read};
use flashweir_trace::Request;

use super::rig::{PROGRAM, READ, Setting, TRANSFER, ends_in_slices, read, run, write};

const ONE: u64 = READ + TRANSFER;
const WRITE: u64 = TRANSFER + PROGRAM;
const FLIN: Setting = ("sched.kind", "flin");
const FULL: Setting = ("precondition", "full");

fn of(stream: u16, request: Request) -> Request {
    Request { stream, ..request }
}

/// Requests in the order of their times.
fn merged(flows: &[Vec<Request>]) -> Vec<Request> {
    let mut all: Vec<Request> = flows.iter().flatten().copied().collect();
    all.sort_by_key(|request| request.time_ns);
    all
}

/// Mean latency of each flow, ns, and the end of the last request.
fn means_and_end(settings: &[Setting], requests: &[Request]) -> ([f64; 2], u64) {
    let outcome = run(settings, requests);
    let mean = |flow: u16| {
        let all = requests.iter().zip(outcome.latencies());
        let own: Vec<u64> =
            all.filter(|(request, _)| request.stream == flow).map(|(_, latency)| latency).collect();
        own.iter().sum::<u64>() as f64 / own.len().max(1) as f64
    };
    ([0, 1].map(mean), outcome.completions().into_iter().max().unwrap_or(0))
}

/// Fairness (smallest by largest slowdown of the flows, as in the paper) and the time that all takes.
fn fairness(settings: &[Setting], flows: &[Vec<Request>; 2]) -> (f64, u64) {
    let (together, end_ns) = means_and_end(settings, &merged(flows));
    let slowdowns = [0, 1].map(|flow| together[flow] / means_and_end(settings, &flows[flow]).0[flow]);
    (slowdowns[0].min(slowdowns[1]) / slowdowns[0].max(slowdowns[1]), end_ns)
}

/// Four dies that share two buses, 1 MiB.
const SHARED: [Setting; 5] =
    [("channels", "2"), ("dies", "2"), ("capacity", "1MiB"), ("pages_per_block", "16"), FULL];

/// Pages in an order without a pattern.
fn scattered(number: u64) -> u64 {
    number * 37 % 251
}

/// Bursts of 250 reads every 2 ms (half of what the dies can do), and a read every 200 us.
fn by_intensity() -> [Vec<Request>; 2] {
    let heavy = (0..5_000).map(|number| of(0, read(number / 250 * 2_000_000, scattered(number))));
    let light = (0..140).map(|number| of(1, read(11_000_000 + number * 200_000, scattered(number * 5))));
    [heavy.collect(), light.collect()]
}

/// Bursts of 40 writes every 2.5 ms, and a read every 90 us: both flows have high intensity.
fn by_kind() -> [Vec<Request>; 2] {
    let writes = (0..480).map(|number| of(0, write(number / 40 * 2_500_000, scattered(number) % 100)));
    let reads = (0..320).map(|number| of(1, read(17_000 + number * 90_000, 100 + scattered(number) % 150)));
    [writes.collect(), reads.collect()]
}

/// Fairness first come first served, out-of-order, with FLIN, and with FLIN where a stage is off. FLIN takes as long as the others.
fn compared(flows: &[Vec<Request>; 2], off: Setting) -> [f64; 4] {
    let kinds: [&[Setting]; 4] =
        [&[("sched.kind", "fifo")], &[("sched.kind", "out-of-order")], &[FLIN], &[FLIN, off]];
    let all = kinds.map(|kind| fairness(&[&SHARED[..], kind].concat(), flows));
    let best_ns = all[0].1.min(all[1].1) as f64;
    assert!((all[2].1 as f64) < 1.03 * best_ns, "throughput: {all:?}");
    all.map(|(fairness, _)| fairness)
}

/// The first source of interference of the paper (section 3): a flow of low intensity beside one of high.
#[test]
fn a_flow_of_low_intensity_is_not_slowed_by_one_of_high() {
    let [fifo, out_of_order, flin, off] = compared(&by_intensity(), ("sched.fair_insertion", "false"));
    assert!(fifo < 0.1 && out_of_order < 0.1, "it is unfair otherwise: {fifo}, {out_of_order}");
    assert!(flin > 0.5, "{flin}");
    assert!(off < 0.1, "without the stage that does it: {off}");
}

/// The third one: reads beside writes.
#[test]
fn a_flow_of_reads_is_not_slowed_by_one_of_writes() {
    let [fifo, out_of_order, flin, off] = compared(&by_kind(), ("sched.balance_waits", "false"));
    assert!(flin > 3.0 * fifo.max(out_of_order), "{fifo}, {out_of_order}, {flin}");
    assert!(off < 1.2 * fifo.max(out_of_order), "{off}");
}

#[test]
fn slices_of_any_size_and_forks_give_the_same_run() {
    let settings = [&SHARED[..], &[FLIN, ("sched.priorities", "1,2"), ("sched.interval", "1ms")]].concat();
    for flows in [by_intensity(), by_kind()] {
        let requests: Vec<Request> = merged(&flows).into_iter().take(900).collect();
        let whole = run(&settings, &requests).completions();
        for size in [1, 7, 400] {
            assert_eq!(ends_in_slices(&settings, &requests, size), whole, "slices of {size}");
        }
    }
}

#[test]
fn a_level_has_twice_the_turns_of_the_one_below() {
    // The first starts at once; by then nobody else waits.
    let reads =
        |stream: u16| (0..30).map(move |page| of(stream, read(1, u64::from(stream) * 16 + page % 16)));
    let shares = |priorities: &'static str, of_first: &[usize]| {
        let mut requests = vec![of(2, read(0, 60))];
        requests.extend(reads(0).chain(reads(1)));
        let settings = [FULL, FLIN, ("sched.priorities", priorities)];
        let ends = run(&settings, &requests).completions();
        let mut order: Vec<_> = ends.iter().zip(&requests).skip(1).collect();
        order.sort_by_key(|(end, _)| **end);
        let turns: Vec<usize> = order.iter().map(|(_, request)| usize::from(request.stream)).collect();
        // As long as both have commands.
        for (count, expected) in of_first.iter().enumerate() {
            let round = &turns[count * 9..(count + 1) * 9];
            assert_eq!(round.iter().filter(|stream| **stream == 0).count(), *expected, "{turns:?}");
        }
    };
    shares("4,1", &[8, 8, 8]);
    shares("1,4", &[1, 1, 1]);
    shares("3,2", &[6, 6, 6]);
    shares("2", &[6, 6, 6]);
}

#[test]
fn the_one_of_a_read_and_a_write_runs_that_has_waited_longer_for_its_own_time() {
    // When the eighth write could start it has waited for seven others. A read that has waited for t goes first if (t + W) / R is
    // (7 W + R) / W or more, with W = 105 us and R = 15 us: from 2142.9 ns on.
    let writes: Vec<_> = (0..9).map(|page| write(0, page)).collect();
    for (waited, kind) in [(2_142, Program), (2_143, Read)] {
        let requests = [&writes[..], &[read(7 * WRITE - waited, 20)]].concat();
        let outcome = run(&[FULL, FLIN], &requests);
        assert_eq!(outcome.spans()[7].0, kind, "it has waited for {waited} ns");
    }
    // Without that stage the older one goes first.
    let requests = [&writes[..], &[read(WRITE, 20)]].concat();
    let outcome = run(&[FULL, FLIN, ("sched.balance_waits", "false")], &requests);
    assert_eq!(outcome.completions()[9], 9 * WRITE + ONE);
    assert_eq!(run(&[FULL, FLIN], &requests).completions()[9], WRITE + ONE);
}

#[test]
fn a_write_of_a_higher_level_takes_those_along_that_it_depends_on() {
    // All are for one plane, and its pages are programmed in order.
    let requests = [of(0, write(0, 0)), of(0, write(1, 1)), of(1, write(2, 2)), of(0, write(3, 3))];
    let outcome = run(&[FULL, FLIN, ("sched.priorities", "1,4")], &requests);
    assert_eq!(outcome.completions(), [WRITE, 2 * WRITE, 3 * WRITE, 4 * WRITE]);
}
