//! The test rig: a small drive with round times, requests at chosen times, and what came of them.

use flashweir_ssd::config::Precondition;
use flashweir_ssd::config::layers::{Layer, resolve};
use flashweir_ssd::{CommandKind, Counters, Options, Simulation};
use flashweir_trace::{Op, Request};

/// Array read of a page, ns.
pub(crate) const READ: u64 = 10_000;
/// Array program of a page, ns.
pub(crate) const PROGRAM: u64 = 100_000;
/// Block erase, ns.
pub(crate) const ERASE: u64 = 1_000_000;
/// A page over the bus: 4096 bytes at 1 ns, and 904 ns of command.
pub(crate) const TRANSFER: u64 = 5_000;
/// Array times in SLC mode of the drives with an SLC cache.
pub(crate) const SLC_READ: u64 = 3_000;
pub(crate) const SLC_PROGRAM: u64 = 20_000;
pub(crate) const MS: u64 = 1_000_000;
/// Sectors of a page.
pub(crate) const PAGE: u64 = 8;

/// A setting, as on the command line.
pub(crate) type Setting = (&'static str, &'static str);

/// One die, 64 pages in blocks of 4, nothing written, requests at their own times.
const BASE: [Setting; 13] = [
    ("channels", "1"),
    ("page", "4KiB"),
    ("pages_per_block", "4"),
    ("capacity", "256KiB"),
    ("op_ratio", "0.5"),
    ("host.mode", "open"),
    ("timing.read", "10us"),
    ("timing.program", "100us"),
    ("timing.erase", "1ms"),
    ("timing.bus", "1"),
    ("timing.command", "904ns"),
    ("engine", "auto"),
    ("precondition", "empty"),
];

/// Results of a run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// Kind, die, pages, start and end of every command, by start, then die.
    pub(crate) commands: Vec<(CommandKind, u32, u32, u64, u64)>,
    /// Issue and completion of every request, in their order.
    pub(crate) requests: Vec<(u64, u64)>,
    pub(crate) counters: Counters,
}

impl Outcome {
    /// Kind, start and end of every command.
    pub(crate) fn spans(&self) -> Vec<(CommandKind, u64, u64)> {
        self.commands.iter().map(|(kind, _, _, start, end)| (*kind, *start, *end)).collect()
    }

    /// When every request was done, ns.
    pub(crate) fn completions(&self) -> Vec<u64> {
        self.requests.iter().map(|(_, completion)| *completion).collect()
    }

    /// Latency of every request, ns.
    pub(crate) fn latencies(&self) -> Vec<u64> {
        self.requests.iter().map(|(issue, completion)| completion - issue).collect()
    }
}

/// A request of whole pages.
pub(crate) fn pages(time_ns: u64, op: Op, page: u64, count: u32) -> Request {
    sectors(time_ns, op, page * PAGE, count * PAGE as u32)
}

/// A request of sectors.
pub(crate) fn sectors(time_ns: u64, op: Op, lba: u64, sectors: u32) -> Request {
    Request { time_ns, lba, sectors, stream: 0, op, handle: 0 }
}

pub(crate) fn read(time_ns: u64, page: u64) -> Request {
    pages(time_ns, Op::Read, page, 1)
}

pub(crate) fn write(time_ns: u64, page: u64) -> Request {
    pages(time_ns, Op::Write, page, 1)
}

/// Writes of pages one after the other, each when the one before is long done.
pub(crate) fn slow(count: u64) -> Vec<Request> {
    (0..count).map(|page| write(page * 10 * MS, page)).collect()
}

pub(crate) fn flush(time_ns: u64) -> Request {
    sectors(time_ns, Op::Flush, 0, 0)
}

/// A drive over the base, verified and recorded.
pub(crate) fn drive(settings: &[Setting]) -> Simulation {
    let config = resolve(&[
        Layer::from_assignments("base", BASE),
        Layer::from_assignments("test", settings.iter().copied()),
    ])
    .expect("a legal drive");
    let full = config.precondition == Precondition::Full;
    let options = Options { seed: 1, verify: true, record: true, ..Options::default() };
    let mut simulation = Simulation::new(&config, options).expect("a legal drive");
    if full {
        let pages = simulation.geometry().logical_pages;
        simulation.fill(0..pages).expect("its capacity fits");
        simulation.end_of_preconditioning();
    }
    simulation
}

/// Serves the requests.
pub(crate) fn run(settings: &[Setting], requests: &[Request]) -> Outcome {
    let mut simulation = drive(settings);
    simulation.serve(requests).expect("served");
    simulation.finish().expect("finished");
    let mut recorded = simulation.take_recorded();
    recorded.requests.sort_by_key(|record| record.number);
    if simulation.stats().drain.is_some_and(|drain| drain.pages > 0) {
        // The tests are about what comes before the drain.
        let end_ns = recorded.requests.iter().map(|record| record.completion_ns).max().unwrap_or(0);
        recorded.commands.retain(|record| record.start_ns < end_ns);
    }
    recorded.commands.sort_by_key(|record| (record.start_ns, record.die));
    let counters = simulation.counters();
    assert_eq!(counters.requests.iter().sum::<u64>(), requests.len() as u64, "every request completes");
    Outcome {
        commands: recorded
            .commands
            .iter()
            .map(|record| (record.kind, record.die, record.pages, record.start_ns, record.end_ns))
            .collect(),
        requests: recorded.requests.iter().map(|record| (record.issue_ns, record.completion_ns)).collect(),
        counters,
    }
}

/// When every request is done if they come in slices of this size, with a fork made after the first.
pub(crate) fn ends_in_slices(settings: &[Setting], requests: &[Request], size: usize) -> Vec<u64> {
    let mut simulation = drive(settings);
    let mut slices = requests.chunks(size);
    simulation.serve(slices.next().expect("some")).expect("served");
    let _fork = simulation.snapshot();
    slices.for_each(|slice| simulation.serve(slice).expect("served"));
    simulation.finish().expect("finished");
    let mut records = simulation.take_recorded().requests;
    records.sort_by_key(|record| record.number);
    records.iter().map(|record| record.completion_ns).collect()
}

/// Serves the requests on both time paths, which must agree in everything.
#[track_caller]
pub(crate) fn run_both(settings: &[Setting], requests: &[Request]) -> Outcome {
    let on = |engine| {
        let settings: Vec<_> = settings.iter().copied().chain([("engine", engine)]).collect();
        run(&settings, requests)
    };
    let events = on("event");
    assert_eq!(on("busy-until"), events, "both paths agree");
    events
}
