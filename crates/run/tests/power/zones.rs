//! Power cuts of drives with zones at every instant at which something changes, and just before it: what is in a random write area
//! is never lost, whatever buffer it passes on its way to the flash; other writes are lost as on any drive.

use std::collections::BTreeSet;

use flashweir_run::{Cuts, Outcome, PowerCuts};
use flashweir_ssd::config::Precondition;
use flashweir_ssd::{Config, Options, Simulation};
use flashweir_trace::generate::Spec;
use flashweir_trace::{Op, Request, SECTOR_BYTES};

use super::drives::config;

type Setting = (&'static str, &'static str);

const DRIVE: [Setting; 9] = [
    ("channels", "4"),
    ("page", "1KiB"),
    ("pages_per_block", "4"),
    ("capacity", "128KiB"),
    ("op_ratio", "0.5"),
    ("ftl.kind", "zones"),
    ("ftl.host", "none"),
    ("precondition", "empty"),
    ("host.queue_depth", "4"),
];
/// Zones on planes, on all dies, on part of them, with parity; finished without padding, and with blocks that wear out.
const ZONES: [&[Setting]; 7] = [
    &[],
    &[("alloc.kind", "superblock")],
    &[("alloc.kind", "superblock"), ("alloc.superblock_dies", "2"), ("ftl.zone_map", "dynamic")],
    &[("ftl.zone_map", "dynamic"), ("ftl.finish", "mark")],
    &[("alloc.kind", "superblock"), ("alloc.parity", "3"), ("ftl.finish", "mark")],
    &WORN,
    &[WORN[0], WORN[1], WORN[2], WORN[3], WORN[4], ("ftl.zone_map", "dynamic")],
];
const WORN: [Setting; 5] = [
    ("ageing.kind", "power-law"),
    ("ageing.alpha", "0.0003"),
    ("ageing.k", "1"),
    ("ageing.spread", "0.5"),
    ("ageing.retire", "1"),
];
/// Buffers, with the most sectors that a cut may lose of what did not go through an area.
const BUFFERS: [(&[Setting], u64); 5] = [
    (&[], 0),
    (&[("buffer.bytes", "8KiB")], 16),
    (&[("buffer.bytes", "2KiB"), ("buffer.order", "in-order")], 4),
    (&[("buffer.bytes", "8KiB"), ("buffer.protected", "true")], 0),
    (&[("buffer.bytes", "8KiB"), ("buffer.ack", "flash")], 0),
];
/// Random write areas: none, and of two pages.
const AREAS: [&[Setting]; 2] = [&[], &[("ftl.zrwa_size", "2KiB")]];

fn simulation(config: &Config) -> Simulation {
    let options = Options { seed: 3, verify: true, journal: true, record: true, ..Options::default() };
    let simulation = Simulation::new(config, options).expect("a checked configuration");
    PowerCuts::check(config, simulation.geometry()).expect("power can be cut");
    simulation
}

/// Commands to the zones of a drive, with a flush in the place of every other read.
fn commands(config: &Config, count: u64) -> Vec<Request> {
    let simulation = simulation(config);
    let layout = *simulation.zones().expect("zones").layout();
    let page = u64::from(simulation.geometry().page_sectors) * SECTOR_BYTES;
    let [span, zone] = [layout.size * u64::from(layout.zones), layout.size].map(|pages| pages * page);
    let window = layout.zrwa.map_or(0, |zrwa| zrwa.size * page);
    let own = format!("open=2,write=0.85,finish_at=0.7,rewrite=0.4,window={window},seed=5");
    let spec = format!("zones:span={span},zone={zone},request={page},count={count},{own}");
    let mut generator = Spec::parse(&spec).expect("a spec of zones").generator();
    let mut requests = Vec::new();
    while generator.read(&mut requests, 100) {}
    for request in requests.iter_mut().filter(|request| request.op == Op::Read).step_by(2) {
        (request.op, request.lba, request.sectors) = (Op::Flush, 0, 0);
    }
    requests
}

/// Cuts power at every instant of a run at which a command or request begins or ends, and a nanosecond before.
fn cut_everywhere(config: &Config, requests: &[Request]) -> (Vec<Outcome>, u64) {
    let mut first = simulation(config);
    first.begin_journal();
    first.serve(requests).expect("served");
    first.finish().expect("finished");
    let recorded = first.take_recorded();
    let of_commands = recorded.commands.iter().flat_map(|record| [record.start_ns, record.end_ns]);
    let of_requests = recorded.requests.iter().flat_map(|record| [record.issue_ns, record.completion_ns]);
    let end_ns = first.stats().simulated_ns;
    let instants = of_commands.chain(of_requests).flat_map(|at| [at.saturating_sub(1), at]);
    let instants: BTreeSet<u64> = instants.filter(|at| *at <= end_ns).collect();
    let mut simulation = simulation(config);
    let cuts = Cuts::At(instants.into_iter().collect());
    let mut power = PowerCuts::begin(&mut simulation, cuts, 1, true);
    for slice in requests.chunks(32) {
        simulation.serve(slice).expect("served");
        power.take(&simulation.take_recorded());
    }
    simulation.finish().expect("finished");
    power.take(&simulation.take_recorded());
    let failed = simulation.counters().zones.errors.iter().sum();
    (power.finish(end_ns).expect("within the run"), failed)
}

#[test]
fn what_is_in_a_random_write_area_outlives_a_cut_at_any_instant() {
    let (mut drives, mut cuts, mut most, mut failed) = (0, 0, 0, 0);
    for zones in ZONES {
        for (buffer, most_lost) in BUFFERS {
            for area in AREAS {
                let settings = DRIVE.iter().chain(zones).chain(buffer).chain(area);
                let settings: Vec<_> = settings.map(|(key, value)| (*key, (*value).to_owned())).collect();
                let config = config(&settings, "auto").expect("a legal drive");
                assert_eq!(config.precondition, Precondition::OnRead, "nothing was there before the run");
                let (outcomes, errors) = cut_everywhere(&config, &commands(&config, 300));
                let held = !area.is_empty();
                for outcome in &outcomes {
                    let case = || format!("{settings:?} {outcome:?}");
                    assert_eq!(outcome.flushed_sectors_lost, 0, "{}", case());
                    let most_lost = if held { 0 } else { most_lost };
                    assert!(outcome.acknowledged_sectors_lost <= most_lost, "{}", case());
                    let all = most_lost > 0 || outcome.writes_lost + outcome.violations == 0;
                    assert!(all, "{}", case());
                    most = most.max(outcome.acknowledged_sectors_lost);
                }
                (drives, cuts, failed) = (drives + 1, cuts + outcomes.len(), failed + errors);
            }
        }
    }
    println!("{drives} drives, {cuts} cuts, {failed} commands failed, at most {most} sectors lost");
    assert!(most > 4 && failed > 0 && cuts > 15_000, "{most} sectors, {failed} failed commands, {cuts} cuts");
}
