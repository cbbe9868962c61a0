//! Memory: none for a request that is over, none for space that is never touched. One test, so that nothing else runs in
//! this process.

use flashweir_ssd::config::layers::{Layer, resolve};
use flashweir_ssd::{Options, Simulation};
use flashweir_trace::generate::{Generator, Spec};

/// Resident memory of this process, KiB.
fn resident_kib() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("Linux");
    let pages: u64 = statm.split(' ').nth(1).and_then(|pages| pages.parse().ok()).expect("a number");
    pages * 4
}

fn simulation(settings: &[(&str, &str)], full: bool) -> Simulation {
    let config =
        resolve(&[Layer::from_assignments("test", settings.iter().copied())]).expect("a legal drive");
    let mut simulation = Simulation::new(&config, Options::default()).expect("a legal drive");
    if full {
        let pages = simulation.geometry().logical_pages;
        simulation.fill(0..pages).expect("its capacity fits");
    }
    simulation
}

fn serve(simulation: &mut Simulation, generator: &mut Generator, count: usize) {
    let mut batch = Vec::with_capacity(4096);
    for _ in 0..count / 4096 {
        batch.clear();
        generator.read(&mut batch, 4096);
        simulation.serve(&batch).expect("served");
    }
}

fn requests_leave_nothing_behind() {
    let base = [("capacity", "8MiB"), ("op_ratio", "0.2"), ("pages_per_block", "16")];
    let workload = "random:span=8MiB,size=4KiB|8KiB,align=512,write=0.6,trim=0.03,flush=0.02,rate=500";
    for more in [
        &[("host.queue_depth", "16")] as &[_],
        &[("engine", "event"), ("host.mode", "open")],
        &[("dies", "2"), ("sched.kind", "read-first"), ("host.queue_depth", "32")],
        &[("planes", "2"), ("timing.multi_plane", "true"), ("buffer.bytes", "256KiB")],
        &[
            ("planes", "2"),
            ("timing.multi_plane", "true"),
            ("buffer.bytes", "256KiB"),
            ("host.queue_depth", "8"),
        ],
        &[("alloc.kind", "dynamic"), ("host.queue_depth", "8")],
    ] {
        let settings: Vec<_> = base.iter().chain(more).copied().collect();
        let mut simulation = simulation(&settings, true);
        let mut generator = Spec::parse(workload).expect("a spec").endless();
        serve(&mut simulation, &mut generator, 40_000);
        let before = resident_kib();
        serve(&mut simulation, &mut generator, 160_000);
        let grown = resident_kib().saturating_sub(before);
        assert!(grown < 800, "{settings:?}: {grown} KiB more after 160 thousand requests");
        simulation.finish().expect("finished");
    }
}

fn untouched_space_costs_nothing() {
    for capacity in ["16TiB", "1TiB"] {
        let before = resident_kib();
        let mut drive = simulation(&[("capacity", capacity)], false);
        let workload = format!("random:span={capacity},size=4KiB,align=4KiB,write=0.7");
        serve(&mut drive, &mut Spec::parse(&workload).expect("a spec").generator(), 4096);
        drive.finish().expect("finished");
        let counters = drive.counters();
        assert_eq!(counters.requests.iter().sum::<u64>(), 4096);
        assert_eq!(drive.wear().all.max, 0);
        let grown = resident_kib().saturating_sub(before) >> 10;
        // A page written anywhere brings 64 KiB of the map with it.
        assert!(grown < 300, "{capacity}: {grown} MiB");
    }
}

#[test]
fn memory_follows_what_is_there() {
    untouched_space_costs_nothing();
    requests_leave_nothing_behind();
}
