//! Waits of reads on a die that always collects: a single command of copies without end stands in for the collections, so the
//! die makes one whenever it has nothing to read.

use super::*;
use crate::config::layers::{Layer, resolve};
use crate::nand::probe::Recorder;
use crate::op::{Link, NO_EFFECT};
use crate::sched::Shape;

/// Mean wait of reads that arrive in a Poisson stream, ns; and the share of the die's time that they take.
fn mean_wait(
    scheduler: &[(&'static str, &'static str)],
    read_ns: u64,
    copy_ns: u64,
    gap_ns: f64,
    count: u32,
) -> (f64, f64) {
    let base = [("channels", "1"), ("host.mode", "open"), ("capacity", "64MiB")];
    let settings = base.iter().chain(scheduler).copied();
    let config = resolve(&[Layer::from_assignments("test", settings)]).expect("a legal drive");
    let geometry = Geometry::new(&config).expect("a legal drive");
    let mut events = Events::new(
        &geometry,
        false,
        Cache::default(),
        Scheduler::new(&config.sched, Shape::default()),
        Recorder::default(),
    );
    let read = Command {
        die: 0,
        kind: CommandKind::Read,
        purpose: Purpose::Host,
        opens: 0,
        pages: 1,
        read_ns: read_ns - 5_000,
        bus_ns: 5_000,
        program_ns: 0,
        tag: NOBODY,
        effect: NO_EFFECT,
        link: Link::NONE,
        awaited: true,
    };
    let copies = u64::from(u32::MAX);
    let collection = Command {
        kind: CommandKind::Copies,
        purpose: Purpose::Gc,
        pages: u32::MAX,
        read_ns: copies * 20_000,
        bus_ns: copies * 10_000,
        program_ns: copies * (copy_ns - 30_000),
        awaited: false,
        ..read
    };
    events.submit(0, collection, Pages::default());
    let (mut state, mut arrival_ns) = (9_u64, 0.0);
    for _ in 0..count {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let uniform = ((state >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
        arrival_ns -= libm::log(uniform) * gap_ns;
        let now_ns = crate::quantity::round_to_u64(arrival_ns);
        events.run_until(now_ns);
        events.submit(now_ns, read, Pages::default());
    }
    let reads = events.probe.take().commands;
    // The last ones are still in progress.
    assert!(reads.len() + 1000 > count as usize && reads.iter().all(|read| read.kind == CommandKind::Read));
    let waits: u64 = reads.iter().map(|read| read.start_ns - read.arrived_ns).sum();
    (waits as f64 / reads.len() as f64, read_ns as f64 / gap_ns)
}

/// `lambda E[S^2] / (2 (1 - rho)) + E[V^2] / (2 E[V])`: a server that takes slices V of background work whenever it is idle
/// (Doshi 1986).
#[test]
fn a_read_waits_for_half_a_copy_more_than_on_a_die_without_collections() {
    let is_full = std::env::var_os("FLASHWEIR_FULL").is_some_and(|value| value == "1");
    let count = if is_full { 3_000_000 } else { 400_000 };
    let loads = [
        (125_000, 300_000, 800_000.0),
        (125_000, 1_000_000, 400_000.0),
        (60_000, 230_000, 100_000.0),
        (80_000, 900_000, 110_000.0),
    ];
    for kind in ["read-first", "read-priority"] {
        for (read_ns, copy_ns, gap_ns) in loads {
            let scheduler = [("sched.kind", kind), ("sched.preempt_gc", "true")];
            let (found, load) = mean_wait(&scheduler, read_ns, copy_ns, gap_ns, count);
            let expected = load * read_ns as f64 / (2.0 * (1.0 - load)) + copy_ns as f64 / 2.0;
            let error = found / expected - 1.0;
            println!(
                "{kind}, load {load:.3}, slices of {copy_ns}: {found:.0}, expected {expected:.0}, {:+.3}%",
                error * 100.0
            );
            assert!(error.abs() < 0.02, "{kind}, load {load}: waits {found} ns, expected {expected}");
        }
    }
}
