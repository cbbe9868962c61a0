//! Golden tests: exact counts of every policy on the trace that ships. They say that something changed, not what is
//! right; theory and device tests do that. `FLASHWEIR_BLESS=1` writes the counts anew, to be read before they are committed.

use std::fmt::Write;
use std::path::Path;

use flashweir_run::{RunSpec, WorkloadSpec, simulate};
use serde_json::json;

/// A small drive that the trace makes collect, and one change to it.
const DRIVES: [(&str, &[(&str, &str)]); 21] = [
    ("greedy", &[]),
    ("fifo", &[("gc.victim", "fifo")]),
    ("random", &[("gc.victim", "random")]),
    ("d-choices", &[("gc.victim", "d-choices"), ("gc.choices", "4")]),
    ("cost-benefit", &[("gc.victim", "cost-benefit")]),
    ("two frontiers", &[("gc.frontiers", "2")]),
    ("held back", &[("gc.free_blocks", "5")]),
    ("wear levelling", &[("wear.dynamic", "true"), ("wear.static_gap", "4"), ("gc.free_blocks", "4")]),
    ("events", &[("engine", "event")]),
    ("open loop", &[("host.mode", "open")]),
    ("queue", &[("host.queue_depth", "16")]),
    ("buffer", &[("buffer.bytes", "256KiB")]),
    ("buffer to flash", &[("buffer.bytes", "256KiB"), ("buffer.ack", "flash")]),
    ("dynamic", &[("alloc.kind", "dynamic"), ("host.queue_depth", "16")]),
    (
        "read priority",
        &[("sched.kind", "read-priority"), ("host.queue_depth", "16"), ("channels", "2"), ("dies", "2")],
    ),
    (
        "read first",
        &[
            ("sched.kind", "read-first"),
            ("sched.write_bound", "20ms"),
            ("host.queue_depth", "16"),
            ("channels", "2"),
            ("dies", "2"),
        ],
    ),
    ("suspend", &[("sched.kind", "suspend"), ("host.queue_depth", "16"), ("channels", "2"), ("dies", "2")]),
    (
        "out of order",
        &[("sched.kind", "out-of-order"), ("host.queue_depth", "16"), ("channels", "2"), ("dies", "2")],
    ),
    (
        "planes",
        &[
            ("planes", "2"),
            ("dies", "2"),
            ("timing.multi_plane", "true"),
            ("alloc.order", "CPDW"),
            ("channels", "4"),
        ],
    ),
    ("map on flash", &[("ftl.kind", "dftl"), ("ftl.cache_bytes", "32KiB")]),
    ("large pages", &[("page", "16KiB"), ("pages_per_block", "60")]),
];

fn counts(changes: &[(&str, &str)]) -> String {
    let trace = concat!(env!("CARGO_MANIFEST_DIR"), "/../../traces/package-build.blktrace.0.zst");
    let base = [("capacity", "4GiB"), ("op_ratio", "0.07"), ("precondition", "full")];
    let overrides =
        base.iter().chain(changes).map(|(key, value)| ((*key).to_owned(), json!(value))).collect();
    let workloads = vec![WorkloadSpec { spec: trace.into(), ..WorkloadSpec::default() }];
    let run = RunSpec { workloads, overrides, verify: true, ..RunSpec::default() };
    let result = simulate(&run, &mut |_| true).unwrap_or_else(|error| panic!("{changes:?}: {error}"));
    let (flash, counters) = (&result["flash"], &result["counters"]);
    format!(
        "requests {} reads {} programs {} erases {} collections {} rewrites {} unmapped {} hits {} joined {} trimmed {} \
         simulated_s {} read_us {} write_us {}",
        result["requests"],
        flash["reads"],
        flash["programs"],
        flash["erases"],
        counters["collections"],
        counters["rewrite_reads"],
        counters["unmapped_page_reads"],
        counters["buffer_hits"],
        counters["coalesced_pages"],
        counters["trimmed_pages"],
        result["simulated_s"],
        result["latency_us"]["read"]["mean"],
        result["latency_us"]["write"]["mean"],
    )
}

#[test]
fn every_policy_counts_what_it_counted_before() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/package-build.txt");
    let mut found = String::new();
    for (name, changes) in DRIVES {
        writeln!(found, "{name}: {}", counts(changes)).expect("a string takes everything");
    }
    if std::env::var_os("FLASHWEIR_BLESS").is_some() {
        std::fs::write(&path, &found).expect("the golden file can be written");
    }
    let golden = std::fs::read_to_string(&path).expect("the golden file is there");
    for (golden, found) in golden.lines().zip(found.lines()) {
        assert_eq!(golden, found);
    }
    assert_eq!(golden.lines().count(), DRIVES.len());
}

/// What the two time paths and the closed loop of depth 1 have in common must not differ between golden lines.
#[test]
fn paths_agree_on_the_trace() {
    assert_eq!(counts(&[]), counts(&[("engine", "event")]));
}
