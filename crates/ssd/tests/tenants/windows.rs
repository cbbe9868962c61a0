//! Where windows end, what is said of them, and when an allocation begins to act.

use flashweir_ssd::config::layers::{Layer, resolve};
use flashweir_ssd::tenants::{Allocation, Features, Group};
use flashweir_ssd::{Allocator, Completion, Options, RunError, Simulation};
use flashweir_trace::{Op, Request};

type Setting = (&'static str, &'static str);

/// Two channels with a die each. A page takes 100 us to program and 10 us to read, and no time on the bus.
const BASE: [Setting; 13] = [
    ("channels", "2"),
    ("page", "4KiB"),
    ("pages_per_block", "4"),
    ("capacity", "1MiB"),
    ("op_ratio", "0.5"),
    ("alloc.kind", "dynamic"),
    ("timing.read", "10us"),
    ("timing.program", "100us"),
    ("timing.bus", "0"),
    ("timing.command", "0"),
    ("host.mode", "open"),
    ("tenants.channels", "external"),
    ("precondition", "empty"),
];
const WRITE: u64 = 100_000;

fn new(settings: &[Setting], allocator: Allocator) -> Simulation {
    let layers =
        [Layer::from_assignments("base", BASE), Layer::from_assignments("test", settings.iter().copied())];
    let config = resolve(&layers).expect("a legal drive");
    let options = Options { verify: true, tenants: 2, windows: true, ..Options::default() };
    let mut simulation = Simulation::new(&config, options).expect("a legal drive");
    simulation.keep_completions();
    simulation.set_allocator(allocator);
    simulation
}

fn one(time_ns: u64, op: Op, page: u64, stream: u16) -> Request {
    let sectors = if op == Op::Flush { 0 } else { 8 };
    Request { time_ns, lba: page * 8, sectors, stream, op, handle: 0 }
}

fn served(settings: &[Setting], allocator: Allocator, requests: &[Request]) -> (Simulation, Vec<u64>) {
    let mut simulation = new(settings, allocator);
    simulation.serve(requests).expect("served");
    simulation.finish().expect("finished");
    let mut completions = Vec::new();
    simulation.take_completions(&mut completions);
    completions.sort_by_key(|completion: &Completion| completion.number);
    let ends = completions.iter().map(|completion| completion.issue_ns + completion.latency_ns).collect();
    (simulation, ends)
}

fn everything() -> Allocator {
    Box::new(|features, channels| Ok(Allocation::everything(features.tenants.len(), channels)))
}

/// These channels for all, after the first window.
fn only(channels: &'static [u32]) -> Allocator {
    Box::new(move |features, _| {
        let group = Group { channels: channels.to_vec(), placement: None };
        let tenants = features.tenants.len();
        Ok(Allocation { groups: vec![group], reads: vec![0; tenants], writes: vec![0; tenants], turns: None })
    })
}

fn features(settings: &[Setting], requests: &[Request]) -> Vec<Features> {
    let (simulation, _) = served(settings, everything(), requests);
    let kept = &simulation.allocations().expect("tenants.channels is set").kept;
    kept.iter().map(|window| window.features.clone()).collect()
}

#[test]
fn a_window_ends_with_its_last_request_or_before_the_first_that_is_too_late() {
    for late in [999, 1000, 1001] {
        let times = [5, 6, 5 + late, 2000 + 5, 9000].map(|us| us * 1000);
        let writes = times.map(|time| one(time, Op::Write, 0, 0));
        let found = features(&[("tenants.window_time", "1ms")], &writes);
        let first: Vec<_> = found.iter().map(|window| window.start_ns / 1000).collect();
        let expected: Vec<u64> = match late {
            999 => vec![5, 2005, 9000],
            1000 => vec![5, 1005, 2005, 9000],
            // The third request begins a window that the fourth, 999 us later, is in.
            _ => vec![5, 1006, 9000],
        };
        assert_eq!(first, expected, "{late}");
        assert!(found.iter().enumerate().all(|(at, window)| window.window == at as u64));
    }
    let writes: Vec<_> = (0..25).map(|at| one(at * 1000, Op::Write, at % 3, 0)).collect();
    let found = features(&[("tenants.window_requests", "10")], &writes);
    assert_eq!(found.iter().map(|window| window.requests).collect::<Vec<_>>(), [10, 10, 5]);
    assert_eq!((found[1].start_ns, found[1].end_ns), (10_000, 19_000));
    let whole = features(&[("tenants.window_requests", "25")], &writes);
    assert_eq!(whole.len(), 1, "no window without a request");
}

#[test]
fn times_of_windows_are_those_at_which_requests_arrive() {
    let writes = [0, 600, 1200].map(|us| one(us * 1000, Op::Write, 0, 0));
    for (scale, windows) in [("1", 2), ("0.5", 1), ("2", 3)] {
        let found = features(&[("tenants.window_time", "1ms"), ("host.time_scale", scale)], &writes);
        assert_eq!(found.len(), windows, "{scale}");
    }
}

#[test]
fn gaps_longer_than_a_window_are_no_windows() {
    let writes = [0, 1, 3_600_000_000, 3_600_000_001].map(|us| one(us * 1000, Op::Write, us % 7, 0));
    let found = features(&[("tenants.window_time", "1us")], &writes);
    assert_eq!(found.len(), 4);
    let found = features(&[("tenants.window_time", "1ms")], &writes);
    assert_eq!(found.iter().map(|window| window.requests).collect::<Vec<_>>(), [2, 2]);
}

#[test]
fn features_count_what_each_tenant_asked_for() {
    let requests = [
        one(10, Op::Write, 0, 0),
        one(20, Op::Read, 0, 1),
        Request { sectors: 20, ..one(30, Op::Write, 4, 1) },
        one(40, Op::Trim, 4, 1),
        one(50, Op::Flush, 0, 0),
        one(60, Op::Read, 1, 1),
    ];
    for (level_requests, level) in [("1", 6), ("5", 2), ("6", 1), ("7", 1)] {
        let [found] = &features(&[("tenants.level_requests", level_requests)], &requests)[..] else {
            panic!("one window")
        };
        assert_eq!((found.requests, found.reads, found.writes, found.level), (6, 2, 2, level));
        assert_eq!((found.start_ns, found.end_ns), (10, 60));
        let [a, b] = &found.tenants[..] else { panic!("two tenants") };
        assert_eq!((a.reads, a.writes, a.read_sectors, a.write_sectors), (0, 1, 0, 8));
        assert_eq!((b.reads, b.writes, b.read_sectors, b.write_sectors), (2, 1, 16, 20));
        assert_eq!((a.requests(), b.requests(), b.sectors()), (1, 3, 36));
    }
}

#[test]
fn in_a_closed_loop_windows_end_by_requests_only() {
    let writes: Vec<_> = (0..7).map(|at| one(at * 3_600_000_000_000, Op::Write, at, 0)).collect();
    let closed = [("host.mode", "closed"), ("tenants.window_requests", "4")];
    let found = features(&closed, &writes);
    assert_eq!(
        found.iter().map(|window| (window.requests, window.end_ns)).collect::<Vec<_>>(),
        [(4, 0), (3, 0)]
    );
}

#[test]
fn an_allocation_acts_from_the_request_on_that_ends_the_window() {
    // Both channels are busy when the window ends; the third page and all after it go to channel 1.
    let writes: Vec<_> = (0..5).map(|page| one(0, Op::Write, page, 0)).collect();
    let (simulation, ends) = served(&[("tenants.window_requests", "2")], only(&[1]), &writes);
    assert_eq!(ends, [WRITE, WRITE, 2 * WRITE, 3 * WRITE, 4 * WRITE]);
    // The end of the run cuts the last window short: the allocator does not decide after it.
    let allocations = simulation.allocations().expect("tenants.channels is set");
    assert_eq!((allocations.windows, allocations.changes, allocations.kept.len()), (3, 1, 3));
    let channels: Vec<_> = allocations.kept.iter().map(|window| window.allocation.write_channels()).collect();
    assert_eq!(channels, [2, 1, 1]);
    // Applied to the window itself, it acts from the first request on.
    let same = [("tenants.window_requests", "2"), ("tenants.applies", "same")];
    let (_, ends) = served(&same, only(&[1]), &writes);
    assert_eq!(ends, [1, 2, 3, 4, 5].map(|count| count * WRITE));
}

#[test]
fn pages_that_wait_take_idle_channels_that_they_are_given() {
    // Channel 0 alone at first, then both: the third page, which waits, starts when the window ends and not later.
    let allocator: Allocator = Box::new(|features, _| {
        let channels = if features.window == 0 { vec![0] } else { vec![0, 1] };
        let group = Group { channels, placement: None };
        Ok(Allocation { groups: vec![group], reads: vec![0; 2], writes: vec![0; 2], turns: None })
    });
    let times = [0, 300_000, 300_000, 300_000, 320_000];
    let writes: Vec<_> = (0..).zip(times).map(|(page, time)| one(time, Op::Write, page, 0)).collect();
    let settings = [("tenants.window_requests", "1")];
    let (_, ends) = served(&settings, allocator, &writes[..3]);
    assert_eq!(ends, [WRITE, 400_000, 400_000]);
}

#[test]
fn a_window_that_ends_by_time_leaves_its_allocation_in_force_until_the_next_request() {
    // Of four pages at once two wait. What comes long after them changes nothing of where they go.
    let writes = [0, 0, 0, 0, 5_000_000].map(|time| one(time, Op::Write, time % 1000, 0));
    let writes: Vec<_> =
        (0..).zip(writes).map(|(page, request)| Request { lba: page * 8, ..request }).collect();
    let (_, ends) = served(&[("tenants.window_time", "1ms")], only(&[1]), &writes);
    assert_eq!(ends, [WRITE, WRITE, 2 * WRITE, 2 * WRITE, 5_000_000 + WRITE]);
}

#[test]
fn what_preconditioning_spills_is_not_counted() {
    let mut simulation = new(&[("tenants.window_requests", "1")], only(&[1]));
    let write = one(0, Op::Write, 0, 0);
    simulation.serve(&[write]).expect("served");
    let pages = simulation.geometry().logical_pages;
    let everything = Request { sectors: (pages * 8) as u32, lba: 0, ..write };
    simulation.overwrite(&[everything], false).expect("fits");
    assert!(simulation.spilled_pages() > 0);
    simulation.end_of_preconditioning();
    assert_eq!(simulation.spilled_pages(), 0);
}

#[test]
fn streams_beyond_the_tenants_are_named() {
    let mut simulation = new(&[], everything());
    simulation.serve(&[one(0, Op::Write, 0, 1)]).expect("served");
    let error = simulation.serve(&[one(1, Op::Read, 0, 0), one(2, Op::Write, 0, 2)]).expect_err("no tenant");
    assert_eq!(error, RunError::NoSuchTenant { number: 3, stream: 2, tenants: 2 });
    assert_eq!(
        error.to_string(),
        "request 3: stream 2, and the run has 2 tenants: expected a stream below that"
    );
}
