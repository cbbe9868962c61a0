//! Speed of the simulation, as a share of a bare page-mapped FTL loop that runs in turn with it.
//!
//! `cargo bench -p flashweir-run --bench speed` measures and prints; under `cargo test` a small drive runs once, so
//! that the benchmark itself is known to work. Measurements are kept in `benches/HISTORY.md`.
//!
//! Both sides overwrite 4 KiB pages of a full drive at random, in steady state, with greedy victims and 10%
//! over-provisioning, and are rated in flash operations a second: pages read and programmed, blocks erased. The
//! reference is one FTL over the whole drive: eight of them, one a channel as in the simulated drive, were 3% slower.

use std::time::Instant;

mod bare;
#[path = "../crates/run/tests/theory/closed_forms/mod.rs"]
#[allow(dead_code, unused_imports, reason = "the theory tests use all of it, and test it")]
mod closed_forms;
mod simulated;

use bare::{BareFtl, Counts};
use closed_forms::write_amplification::{effective_space_ratio, greedy};
use simulated::Simulated;

/// Pages of a block, as in the default device.
const PAGES_PER_BLOCK: u32 = 128;

/// Size of the drive and of the workload in one run of the benchmark.
#[derive(Clone, Copy, Debug)]
struct Size {
    /// Pages of the drive.
    logical_pages: u32,
    /// Requests of one measurement.
    requests: u64,
    /// Pairs of measurements; the median counts.
    pairs: usize,
}

/// The drive of the default device, 16 GiB.
const FULL: Size = Size { logical_pages: 4 << 20, requests: 2_000_000, pairs: 5 };
/// A drive that runs in a moment even in a debug build.
const SMALL: Size = Size { logical_pages: 256 << 10, requests: 200_000, pairs: 1 };

/// Flash operations and the seconds they took.
#[derive(Clone, Copy, Debug)]
struct Measurement {
    operations: u64,
    seconds: f64,
    write_amplification: f64,
}

impl Measurement {
    fn rate(&self) -> f64 {
        self.operations as f64 / self.seconds
    }
}

/// The reference in steady state.
struct Reference {
    ftl: BareFtl,
    random: Random,
    size: Size,
}

impl Reference {
    /// A full drive, overwritten until amplification no longer changes.
    fn steady(size: Size) -> Self {
        let pages = size.logical_pages;
        let ftl = BareFtl::full(pages, blocks_for(pages), PAGES_PER_BLOCK);
        let mut reference = Self { ftl, random: Random(1), size };
        for _ in 0..3 {
            reference.overwrite(u64::from(pages));
        }
        reference
    }

    /// Overwrites pages at random and returns what that took.
    fn overwrite(&mut self, requests: u64) -> Counts {
        let before = self.ftl.counts;
        for _ in 0..requests {
            self.ftl.write(self.random.below(self.size.logical_pages));
        }
        self.ftl.counts.since(&before)
    }

    fn measure(&mut self) -> Measurement {
        let start = Instant::now();
        let counts = self.overwrite(self.size.requests);
        Measurement {
            operations: counts.flash_operations(),
            seconds: start.elapsed().as_secs_f64(),
            write_amplification: counts.write_amplification(),
        }
    }

    /// Panics unless `measured` amplifies writes as theory says, within a relative `tolerance`.
    fn check(&self, measured: &Measurement, tolerance: f64) {
        let pages = self.size.logical_pages;
        let physical = u64::from(blocks_for(pages) * PAGES_PER_BLOCK);
        let ratio = effective_space_ratio(pages.into(), physical, 1, PAGES_PER_BLOCK.into());
        let expected = greedy(ratio, PAGES_PER_BLOCK);
        let found = measured.write_amplification;
        assert!((found / expected - 1.0).abs() < tolerance, "write amplification {found}, not {expected}");
    }
}

/// Blocks of an FTL: its data, a tenth more, and the erased one that collections write to.
fn blocks_for(pages: u32) -> u32 {
    let data_blocks = pages.div_ceil(PAGES_PER_BLOCK);
    data_blocks + data_blocks.div_ceil(10) + 1
}

/// Knuth's linear congruential generator: of its upper half nobody here asks more than uniformity, and a better one
/// would cost the reference time.
struct Random(u64);

impl Random {
    #[inline]
    fn below(&mut self, limit: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (((self.0 >> 32) * u64::from(limit)) >> 32) as u32
    }
}

/// The middle one by rate.
fn median(mut measurements: Vec<Measurement>) -> Measurement {
    measurements.sort_by(|a, b| a.rate().total_cmp(&b.rate()));
    measurements[measurements.len() / 2]
}

/// Model and number of processors.
fn machine() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!("{cores} x {}", model.map_or("unknown processor", |(_, name)| name))
}

fn report(name: &str, measured: &Measurement, reference: &Measurement) {
    println!(
        "{name:<26} {:>7.1} M flash operations/s  ratio {:.3}  (A {:.3}, {} operations in {:.3} s)",
        measured.rate() / 1e6,
        measured.rate() / reference.rate(),
        measured.write_amplification,
        measured.operations,
        measured.seconds
    );
}

fn main() {
    // Without `--bench` this is a test run of all targets.
    let measuring = std::env::args().any(|argument| argument == "--bench");
    let (size, tolerance) = if measuring { (FULL, 0.005) } else { (SMALL, 0.02) };
    println!("machine: {}", machine());
    println!("command: cargo bench -p flashweir-run --bench speed");
    println!("4 KiB random overwrites of {} pages, {} a measurement", size.logical_pages, size.requests);
    let mut reference = Reference::steady(size);
    for engine in ["busy-until", "event"] {
        let mut simulated = Simulated::steady(&[("engine", engine)], 1.0, false, size);
        let (bare, ours) = in_turn(size, || reference.measure(), || simulated.measure());
        report("bare loop", &bare, &bare);
        report(&format!("simulation, {engine} path"), &ours, &bare);
        reference.check(&bare, tolerance);
        reference.check(&ours, tolerance);
    }
    let mut fifo = half_reads(&[], false, size);
    let (bare, ours) = in_turn(size, || reference.measure(), || fifo.measure());
    report("bare loop", &bare, &bare);
    report("half reads, 32 outstanding", &ours, &bare);
    schedulers(&mut fifo, size);
    breakdown(&mut fifo, size);
    overloads(size);
    superblocks(&mut reference, size);
    own_work(size);
    ageing(&mut fifo, size);
}

/// Superblocks over 8 channels of 4 dies, 4 KiB units in pages of 16 KiB.
const SUPERBLOCKS: [(&str, &str); 7] = [
    ("channels", "8"),
    ("dies", "4"),
    ("page", "16KiB"),
    ("pages_per_block", "32"),
    ("ftl.map_unit", "4KiB"),
    ("buffer.bytes", "2MiB"),
    ("alloc.kind", "superblock"),
];

/// Superblocks, rated in units: written, read and programmed by collections, and blocks erased.
fn superblocks(reference: &mut Reference, size: Size) {
    let drive = SUPERBLOCKS;
    for (name, more) in
        [("events", &[][..]), ("busy-until", &[("timing.bus", "0"), ("engine", "busy-until")])]
    {
        let mut simulated = Simulated::steady(&[&drive[..], more].concat(), 1.0, false, size);
        let (bare, ours) = in_turn(size, || reference.measure(), || simulated.measure_units());
        report("bare loop", &bare, &bare);
        report(&format!("superblocks, {name}"), &ours, &bare);
    }
}

/// Cost of an SLC cache, and of collection in the background, on the drive of superblocks; likewise in units.
fn own_work(size: Size) {
    let cells = [("nand.cell", "mlc")];
    let slc = [("slc.kind", "static"), ("slc.static_blocks", "2")];
    let ahead = [("background.collect.after", "100us"), ("background.collect.should_below", "3")];
    let with = |more: &[(&'static str, &'static str)]| {
        let settings: Vec<_> = SUPERBLOCKS.iter().chain(&cells).chain(more).copied().collect();
        Simulated::steady(&settings, 1.0, false, size)
    };
    for (name, more) in [
        ("with an SLC cache", &slc[..]),
        ("with background work", &ahead),
        ("with both", &[&slc[..], &ahead].concat()),
    ] {
        let (mut without, mut with) = (with(&[]), with(more));
        let (without, with) = in_turn(size, || without.measure_units(), || with.measure_units());
        report("superblocks, events", &without, &without);
        report(name, &with, &without);
    }
}

/// Cost of cells that age: of half reads on new blocks, and on worn ones whose pages need retries.
fn ageing(fifo: &mut Simulated, size: Size) {
    let aged = ("ageing.kind", "power-law");
    let worn = [("ageing.cycles", "3000"), ("ageing.spread", "0.2"), ("ageing.pace", "1000")];
    for (name, more) in [("with ageing, new blocks", &[][..]), ("with ageing, worn blocks", &worn)] {
        let mut other = half_reads(&[&[aged], more].concat(), false, size);
        let (without, with) = in_turn(size, || fifo.measure(), || other.measure());
        report("event path, fifo", &without, &without);
        report(name, &with, &without);
    }
}

/// Medians of measurements of two in turn.
fn in_turn(
    size: Size,
    mut first: impl FnMut() -> Measurement,
    mut second: impl FnMut() -> Measurement,
) -> (Measurement, Measurement) {
    let (first, second) = (0..size.pairs).map(|_| (first(), second())).unzip();
    (median(first), median(second))
}

/// Reads and writes in equal parts, 32 outstanding, on dies that share buses.
fn half_reads(settings: &[(&'static str, &'static str)], parts: bool, size: Size) -> Simulated {
    let drive = [("dies", "2"), ("host.queue_depth", "32"), ("engine", "event")];
    let settings: Vec<_> = drive.iter().chain(settings).copied().collect();
    Simulated::steady(&settings, 0.5, parts, size)
}

/// Cost of the latency breakdown.
fn breakdown(half: &mut Simulated, size: Size) {
    for engine in ["busy-until", "event"] {
        let settings = [("engine", engine)];
        let mut without = Simulated::steady(&settings, 1.0, false, size);
        let mut with = Simulated::steady(&settings, 1.0, true, size);
        let (without, with) = in_turn(size, || without.measure(), || with.measure());
        report(&format!("{engine} path"), &without, &without);
        report("with latency breakdown", &with, &without);
    }
    let mut with = half_reads(&[], true, size);
    let (without, with) = in_turn(size, || half.measure(), || with.measure());
    report("half reads, 32 outstanding", &without, &without);
    report("with latency breakdown", &with, &without);
}

/// Time of a request where more and more wait: four times as many requests should take four times as long.
fn overloads(size: Size) {
    let small = Size { logical_pages: SMALL.logical_pages, requests: size.requests / 50, pairs: 1 };
    let long = Size { requests: small.requests * 4, ..small };
    let arrivals =
        [("dies", "2"), ("engine", "event"), ("host.mode", "open"), ("sched.kind", "read-priority")];
    let [few, many] = [small, long]
        .map(|size| Simulated::serving(&arrivals, "write=0.5,rate=1000000", false, size).measure_until(true));
    report("read-priority, overload", &few, &few);
    report("four times as long", &many, &few);
    let [few, many] = ["4096", "16384"].map(|depth| {
        let window = [("sched.kind", "out-of-order"), ("sched.window", "1024"), ("host.queue_depth", depth)];
        let drive = [("dies", "2"), ("engine", "event")];
        let settings: Vec<_> = drive.iter().chain(&window).copied().collect();
        let mut drive = Simulated::steady(&settings, 0.5, false, small);
        drive.measure();
        drive.measure()
    });
    report("window 1024, 4096 deep", &few, &few);
    report("window 1024, 16384 deep", &many, &few);
}

/// Cost of the schedulers.
fn schedulers(fifo: &mut Simulated, size: Size) {
    for kind in ["read-first", "read-priority", "suspend", "out-of-order"] {
        let mut other = half_reads(&[("sched.kind", kind)], false, size);
        let (fifo, other) = in_turn(size, || fifo.measure(), || other.measure());
        report("event path, fifo", &fifo, &fifo);
        report(&format!("event path, {kind}"), &other, &fifo);
    }
}
