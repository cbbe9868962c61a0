//! Power cuts over a matrix of drives: every FTL, planner, clock, scheduler, buffer, order and acknowledgement. The long mode
//! (`just power-cuts`) cuts the power of every drive ten thousand times; without it, some of the drives a few times.

mod ftls;

use std::collections::BTreeMap;

use flashweir_run::{Cuts, Outcome, PowerCuts};
use flashweir_ssd::config::Precondition;
use flashweir_ssd::{Config, Geometry, Options, Simulation};
use flashweir_trace::{Op, Request};

use super::drives::config;
use ftls::FTLS;

const PLANNERS: [&str; 5] = ["none", "super-data-block", "cycle-stealing", "forwarding", "cycle-filling"];
/// Schedulers, and what such a drive has besides.
const SCHEDULERS: [&[(&str, &str)]; 6] = [
    &[("sched.kind", "fifo"), ("channels", "4")],
    &[("sched.kind", "read-first"), ("channels", "2"), ("dies", "2"), ("sched.write_bound", "5ms")],
    &[("sched.kind", "read-first"), ("channels", "2"), ("dies", "2"), ("sched.preempt_gc", "true")],
    &[("sched.kind", "suspend"), ("channels", "2"), ("dies", "2"), ("sched.write_weight", "0")],
    &[("sched.kind", "out-of-order"), ("channels", "2"), ("dies", "2")],
    &[("sched.kind", "flin"), ("channels", "2"), ("dies", "2")],
];
/// Units, planes and whether these are bound.
const SHAPES: [(&str, &str, &str); 4] = [
    ("independent", "1", "false"),
    ("independent", "2", "false"),
    ("independent", "2", "true"),
    ("synchronized", "1", "false"),
];
/// Size, acknowledgement and order of the buffer, and the most sectors that a cut may lose.
const BUFFERS: [(&str, &str, &str, u64); 6] = [
    ("0", "buffer", "any", 0),
    ("4KiB", "buffer", "any", 8),
    ("32KiB", "buffer", "any", 64),
    ("32KiB", "flash", "any", 0),
    ("8KiB", "buffer", "in-order", 16),
    ("32KiB", "buffer", "in-order", 64),
];

/// A drive of the matrix: its buffer, and all its settings.
type Drive = (usize, Vec<(&'static str, String)>);

/// Planner, clock, and scheduler with what comes with it.
type Channels = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

fn channels() -> Vec<Channels> {
    let planners = PLANNERS.into_iter().flat_map(|planner| [(planner, "async"), (planner, "lock-step")]);
    let scheduled = SCHEDULERS.into_iter().skip(1).map(|scheduler| ("none", "async", scheduler));
    let planned = planners.map(|(planner, clock)| (planner, clock, SCHEDULERS[0]));
    let both = [
        ("cycle-filling", "async", SCHEDULERS[2]),
        ("forwarding", "async", SCHEDULERS[3]),
        ("cycle-stealing", "lock-step", SCHEDULERS[4]),
    ];
    planned.chain(scheduled).chain(both).collect()
}

fn drives() -> Vec<Drive> {
    let mut drives = Vec::new();
    for (ftl, own) in FTLS {
        for (planner, clock, scheduler) in channels() {
            for (units, planes, bound) in SHAPES {
                for (number, (bytes, ack, order, _)) in BUFFERS.into_iter().enumerate() {
                    for depth in ["1", "8"] {
                        let settings = [
                            ("ftl.kind", ftl),
                            ("gc.planner", planner),
                            ("clock", clock),
                            ("units", units),
                            ("planes", planes),
                            ("planes_bound", bound),
                            (
                                "timing.multi_plane",
                                if planes == "2" && bound == "false" { "true" } else { "false" },
                            ),
                            ("buffer.bytes", bytes),
                            ("buffer.ack", ack),
                            ("buffer.order", order),
                            ("host.queue_depth", depth),
                            ("page", "1KiB"),
                            ("pages_per_block", "8"),
                            ("capacity", "256KiB"),
                            // Translation pages come out of the spare blocks; a log has three.
                            (
                                "op_ratio",
                                match ftl {
                                    "dftl" => "1.5",
                                    "page" => "0.3",
                                    _ => "0.75",
                                },
                            ),
                            ("precondition", if depth == "8" { "on-read" } else { "full" }),
                        ];
                        let settings =
                            settings.into_iter().chain(own.iter().copied()).chain(scheduler.iter().copied());
                        drives.push((number, settings.map(|(key, value)| (key, value.to_owned())).collect()));
                    }
                }
            }
        }
    }
    drives
}

/// Small and large writes, at random and in sequence, with flushes, discards and this percentage of reads.
fn requests(count: u64, sectors: u64, seed: u64, reads: u64) -> Vec<Request> {
    let mut state = seed;
    let mut below = |bound: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % bound
    };
    let mut next = 0;
    let request = |_| {
        let op = match below(100) {
            0..=2 => Op::Flush,
            3..=6 => Op::Trim,
            kind if (7..7 + reads).contains(&kind) => Op::Read,
            _ => Op::Write,
        };
        // A third of the requests go on where the last one ended.
        let lba = if below(3) == 0 { next % sectors } else { below(sectors) };
        let length = if below(8) == 0 { 1 + below(40) } else { 1 + below(5) };
        let length = length.min(sectors - lba) as u32;
        next = lba + u64::from(length);
        let (lba, sectors) = if op == Op::Flush { (0, 0) } else { (lba, length) };
        Request { time_ns: 0, lba, sectors, stream: 0, op, handle: 0 }
    };
    (0..count).map(request).collect()
}

fn cut(config: &Config, requests: u64, cuts: u64, seed: u64) -> Vec<Outcome> {
    // There is nothing to schedule without reads.
    let reads = if config.sched == Config::default().sched { 5 } else { 30 };
    let sectors = Geometry::new(config).expect("a checked configuration").capacity_sectors();
    cut_in(config, &self::requests(requests, sectors, seed, reads), cuts, seed)
}

fn cut_in(config: &Config, requests: &[Request], cuts: u64, seed: u64) -> Vec<Outcome> {
    let options = Options { seed, verify: true, journal: true, ..Options::default() };
    let mut simulation = Simulation::new(config, options).expect("a checked configuration");
    PowerCuts::check(config, simulation.geometry()).expect("power can be cut");
    if config.precondition == Precondition::Full {
        simulation.fill(0..simulation.geometry().logical_pages).expect("a new drive takes its capacity");
        simulation.end_of_preconditioning();
    }
    let mut power = PowerCuts::begin(&mut simulation, Cuts::Random(cuts), seed, false);
    for slice in requests.chunks(64) {
        simulation.serve(slice).expect("served");
        power.take(&simulation.take_recorded());
    }
    simulation.finish().expect("finished");
    power.take(&simulation.take_recorded());
    power.finish(simulation.stats().simulated_ns).expect("random cuts lie within the run")
}

/// Figures of all drives with one buffer.
#[derive(Default)]
struct Sum {
    drives: u64,
    cuts: u64,
    lost: (u64, u64),
    flushed: u64,
    violations: (u64, u64),
    torn: (u64, u64),
    no_prefix: u64,
}

impl Sum {
    fn add(&mut self, outcomes: &[Outcome]) {
        let add = |sum: &mut (u64, u64), value: u64| *sum = (sum.0 + value, sum.1.max(value));
        self.drives += 1;
        self.cuts += outcomes.len() as u64;
        for outcome in outcomes {
            add(&mut self.lost, outcome.acknowledged_sectors_lost);
            add(&mut self.violations, outcome.violations);
            add(&mut self.torn, outcome.torn_requests);
            self.flushed += outcome.flushed_sectors_lost;
            self.no_prefix += u64::from(!outcome.is_prefix);
        }
    }

    fn line(&self) -> String {
        let mean = |sum: u64| sum as f64 / self.cuts as f64;
        format!(
            "{:4} drives {:8} cuts | sectors lost {:7.3} max {:3} | flushed lost {} | violations {:7.3} max {:3} | torn \
             {:6.3} max {} | no prefix {:.4}",
            self.drives,
            self.cuts,
            mean(self.lost.0),
            self.lost.1,
            self.flushed,
            mean(self.violations.0),
            self.violations.1,
            mean(self.torn.0),
            self.torn.1,
            mean(self.no_prefix)
        )
    }
}

#[test]
fn a_trim_does_not_come_between_the_pages_of_a_cycle() {
    // The map reads and collections of a TRIM wait for the groups of a common clock that were made before.
    for (order, planes) in [("in-order", "1"), ("any", "2")] {
        let settings = [
            ("ftl.kind", "dftl"),
            ("ftl.cache_bytes", "512"),
            ("clock", "lock-step"),
            ("channels", "4"),
            ("planes", planes),
            ("planes_bound", if planes == "2" { "true" } else { "false" }),
            ("buffer.bytes", "8KiB"),
            ("buffer.order", order),
            ("host.queue_depth", "8"),
            ("page", "1KiB"),
            ("pages_per_block", "8"),
            ("capacity", "256KiB"),
            ("op_ratio", "1.5"),
            ("precondition", "full"),
        ];
        let settings = settings.map(|(key, value)| (key, value.to_owned()));
        let config = config(&settings, "auto").expect("a legal drive");
        let mut requests = requests(3000, 512, 5, 5);
        let writes = requests.iter_mut().filter(|request| request.op == Op::Write);
        writes.step_by(3).for_each(|request| request.op = Op::Trim);
        for outcome in cut_in(&config, &requests, 2000, 5) {
            assert_eq!(outcome.flushed_sectors_lost, 0, "{outcome:?}");
            assert!(order == "any" || outcome.is_prefix, "{outcome:?}");
        }
    }
}

/// Cuts a drive whose cycles are in order, with settings of its own; a prefix of the writes survives each cut.
fn check_cycles_in_order(own: &[(&'static str, &str)], (requests, cuts): (u64, u64), seed: u64) {
    let settings = [
        ("clock", "lock-step"),
        ("channels", "4"),
        ("buffer.bytes", "8KiB"),
        ("buffer.order", "in-order"),
        ("host.queue_depth", "8"),
        ("page", "1KiB"),
        ("pages_per_block", "8"),
        ("capacity", "256KiB"),
        ("op_ratio", "1"),
        ("precondition", "full"),
    ];
    let settings = settings.into_iter().chain(own.iter().copied());
    let settings: Vec<_> = settings.map(|(key, value)| (key, value.to_owned())).collect();
    let config = config(&settings, "auto").expect("a legal drive");
    for outcome in cut(&config, requests, cuts, seed) {
        assert!(outcome.is_prefix && outcome.torn_requests <= 1, "{own:?} {outcome:?}");
    }
}

#[test]
fn a_superblock_of_old_data_that_the_host_takes_over_gets_one_page_a_die_in_a_cycle() {
    // It begins on any die, perhaps on one that has a page of the cycle.
    let old = [
        ("alloc.kind", "superblock"),
        ("precondition", "on-read"),
        ("trim.granularity", "2KiB"),
        ("trim.backlog", "8"),
        ("trim.idle_after", "50us"),
    ];
    let planes = [("planes", "2"), ("planes_bound", "true"), ("buffer.bytes", "32KiB")];
    check_cycles_in_order(&old, (2000, 400), 113);
    check_cycles_in_order(&[&old[..], &planes].concat(), (2000, 400), 153);
}

#[test]
fn in_order_nothing_that_a_page_of_a_cycle_needs_lets_a_younger_one_pass() {
    // Reads of old versions on other dies, of the map, of parts of a page, and again with other voltages.
    let needs: [&[(&str, &str)]; 5] = [
        &[("alloc.kind", "dynamic")],
        &[("alloc.kind", "dynamic"), ("ftl.kind", "dftl"), ("op_ratio", "2")],
        &[("alloc.kind", "hybrid"), ("tenants.channels", "isolated")],
        &[("nand.transfer", "codeword"), ("nand.codeword", "512")],
        &[("ageing.kind", "power-law"), ("ageing.cycles", "2500"), ("ageing.retention", "300")],
    ];
    for own in needs {
        (1..30).for_each(|seed| check_cycles_in_order(own, (1000, 300), seed));
    }
}

#[test]
fn no_drive_of_the_matrix_breaks_a_promise() {
    let long: Option<u64> = std::env::var("FLASHWEIR_POWER_CUTS").ok().and_then(|text| text.parse().ok());
    let (cuts, requests, every) = long.map_or((50, 300, 11), |cuts| (cuts, 2000, 1));
    let mut sums: BTreeMap<usize, Sum> = BTreeMap::new();
    // Number of drives with each FTL and each planner.
    let mut kinds = BTreeMap::new();
    let legal = drives()
        .into_iter()
        .filter_map(|(buffer, settings)| Some((buffer, config(&settings, "auto")?, settings)));
    for (number, (buffer, config, settings)) in (1..).zip(legal).filter(|(number, _)| number % every == 0) {
        let outcomes = cut(&config, requests, cuts, number);
        let (.., order, most_lost) = BUFFERS[buffer];
        for outcome in &outcomes {
            assert_eq!(outcome.flushed_sectors_lost, 0, "{settings:?} {outcome:?}");
            assert!(outcome.acknowledged_sectors_lost <= most_lost, "{settings:?} {outcome:?}");
            assert!(most_lost > 0 || outcome.violations == 0, "{settings:?} {outcome:?}");
            let orders = order == "any"
                || (outcome.is_prefix && outcome.violations == 0 && outcome.torn_requests <= 1);
            assert!(orders, "{settings:?} {outcome:?}");
        }
        sums.entry(buffer).or_default().add(&outcomes);
        for (_, kind) in
            settings.iter().filter(|(key, _)| ["ftl.kind", "gc.planner", "sched.kind"].contains(key))
        {
            *kinds.entry(kind.clone()).or_insert(0) += 1;
        }
    }
    for (buffer, sum) in &sums {
        println!("{:?}: {}", BUFFERS[*buffer], sum.line());
    }
    println!("{kinds:?}");
    let mut all = FTLS
        .iter()
        .map(|(ftl, _)| ftl)
        .chain(&PLANNERS)
        .chain(SCHEDULERS.iter().map(|scheduler| &scheduler[0].1));
    assert!(
        all.all(|kind| kinds.contains_key(*kind)),
        "some FTL, planner or scheduler is never legal: {kinds:?}"
    );
    assert_eq!(sums.len(), BUFFERS.len(), "some buffer is never legal");
    assert!(
        sums[&1].violations.0 > 0 && sums[&2].violations.0 > 0,
        "in any order, writes overtake older ones"
    );
    assert!(
        sums[&5].lost.0 > 0 && sums[&5].torn.0 > 0,
        "in order, too, the buffer is lost, and a request torn"
    );
}
