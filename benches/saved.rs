//! Saving and loading a drive of 1 TB, all of it written, and what a step costs over a run.
//!
//! `cargo bench --package flashweir-run --bench saved -- [CAPACITY] [FOLDER]`

use std::path::PathBuf;
use std::time::Instant;

use flashweir_run::{Drive, DriveSpec, RunSpec, WorkloadSpec, simulate};
use flashweir_trace::Request;
use flashweir_trace::generate::Spec;
use serde_json::Value;

/// Requests of the run that is stepped.
const REQUESTS: usize = 2_000_000;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let capacity = words.first().map_or("1TB", String::as_str);
    let folder = words.get(1).map_or_else(std::env::temp_dir, PathBuf::from);
    saved(capacity, &folder.join(format!("flashweir-{}.drive", std::process::id())));
    stepped();
}

fn spec(settings: &[(&str, &str)]) -> DriveSpec {
    let overrides = settings.iter().map(|(key, value)| ((*key).into(), Value::String((*value).into())));
    DriveSpec { overrides: overrides.collect(), ..DriveSpec::default() }
}

fn open(settings: &[(&str, &str)]) -> Drive {
    Drive::open(&spec(settings), None, &mut |_| true).unwrap_or_else(|error| panic!("{settings:?}: {error}"))
}

/// Memory of this process, MB.
fn memory_mb() -> f64 {
    let pages = std::fs::read_to_string("/proc/self/statm").expect("memory");
    let resident = pages.split(' ').nth(1).and_then(|pages| pages.parse::<f64>().ok()).expect("a number");
    resident * 4096.0 / 1e6
}

fn saved(capacity: &str, path: &std::path::Path) {
    let started = Instant::now();
    let before = memory_mb();
    let mut drive = open(&[("capacity", capacity), ("precondition", "full")]);
    let pages = drive.geometry().logical_pages;
    // Some of it again at random places, so that the map has no order there.
    let again =
        Spec::parse(&format!("random:span={},size=4KiB,count={REQUESTS},write=1", drive.capacity_bytes()));
    let mut writes = requests(&again.expect("a workload"));
    for request in &mut writes {
        request.time_ns = drive.now_ns();
    }
    drive.submit(&writes).expect("submitted");
    println!("{capacity}: {pages} pages, made in {:.1} s, {:.0} MB", elapsed(started), memory_mb() - before);

    let (started, memory) = (Instant::now(), memory_mb());
    drive.save(path).expect("saved");
    let bytes = std::fs::metadata(path).expect("a file").len();
    println!(
        "saved in {:.1} s: {:.0} MB, {:.2} bytes a page, {:.0} MB more memory",
        elapsed(started),
        bytes as f64 / 1e6,
        bytes as f64 / pages as f64,
        memory_mb() - memory
    );
    let counters = drive.counters();
    drop(drive);
    let (started, memory) = (Instant::now(), memory_mb());
    let loaded = Drive::load(path, None).expect("loaded");
    println!("loaded in {:.1} s, {:.0} MB", elapsed(started), memory_mb() - memory);
    assert_eq!(loaded.counters(), counters);
    std::fs::remove_file(path).expect("removed");
}

/// Cost of stepping: the same requests as one run, in one slice, and one by one.
fn stepped() {
    let settings = [("capacity", "1GiB"), ("precondition", "full"), ("host.mode", "open")];
    let workload = format!("random:span=1GiB,size=4KiB,count={REQUESTS},write=0.5,rate=5000");
    let run = RunSpec {
        workloads: vec![WorkloadSpec { spec: workload.clone().into(), ..WorkloadSpec::default() }],
        overrides: spec(&settings).overrides,
        ..RunSpec::default()
    };
    let result = simulate(&run, &mut |_| true).expect("a run");
    let whole = result["wall_s"].as_f64().expect("a number");
    let requests = requests(&Spec::parse(&workload).expect("a workload"));
    let mut drive = open(&settings);
    let started = Instant::now();
    drive.submit(&requests).expect("submitted");
    drive.finish().expect("finished");
    let once = elapsed(started);
    let mut drive = open(&settings);
    let started = Instant::now();
    for request in &requests {
        drive.submit(std::slice::from_ref(request)).expect("submitted");
        drive.advance_to(request.time_ns).expect("advanced");
        while drive.next_completion().is_some() {}
    }
    drive.finish().expect("finished");
    let ns = |seconds: f64| seconds * 1e9 / REQUESTS as f64;
    println!(
        "a request: {:.0} ns in a run, {:.0} ns in one slice, {:.0} ns in a step of its own",
        ns(whole),
        ns(once),
        ns(elapsed(started))
    );
}

fn requests(spec: &Spec) -> Vec<Request> {
    let mut requests = Vec::new();
    let mut generator = spec.generator();
    while generator.read(&mut requests, 4096) {}
    requests
}

fn elapsed(started: Instant) -> f64 {
    started.elapsed().as_secs_f64()
}
