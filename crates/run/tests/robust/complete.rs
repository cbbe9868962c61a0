//! Every request completes, on every drive, in both loops.

use flashweir_run::simulate;
use flashweir_ssd::config::presets::PRESETS;
use flashweir_trace::Op;
use serde_json::Value;

use super::{requests, run, spare_of, spec};

const MIXED: &str = "zipf:span=48MiB,size=512B|4KiB|24KiB|128KiB:0.1,align=512,count=1500,write=0.5,trim=0.04,flush=0.03,rate=3000";

/// Requests and bytes by operation are those of the workload.
#[track_caller]
fn assert_complete(result: &Value, workload: &str) {
    let requests = requests(workload);
    assert_eq!(result["requests"], requests.len());
    for op in Op::ALL.into_iter().filter(|op| !op.is_zoned()) {
        let of_op = || requests.iter().filter(move |request| request.op == op);
        let name = op.name();
        assert_eq!(result["counters"]["requests"][name], of_op().count(), "{name}");
        assert_eq!(result["latency_us"][name]["count"], of_op().count(), "{name}");
        assert_eq!(
            result["counters"]["bytes"][name],
            of_op().map(flashweir_trace::Request::bytes).sum::<u64>()
        );
    }
}

#[test]
fn on_every_preset_open_and_closed() {
    for preset in PRESETS {
        for host in [("host.mode", "open"), ("host.queue_depth", "1"), ("host.queue_depth", "32")] {
            let settings = [
                ("capacity", "64MiB"),
                ("op_ratio", spare_of(preset.name)),
                ("pages_per_block", "24"),
                ("precondition", "full"),
                host,
            ];
            let result = simulate(&spec(Some(preset.name), &settings, MIXED), &mut |_| true)
                .unwrap_or_else(|error| panic!("{} {host:?}: {error}", preset.name));
            assert_complete(&result, MIXED);
        }
    }
}

#[test]
fn under_an_overload_that_never_ends() {
    // All requests at once, on every way to wait: dies, buses, idle channels, the buffer.
    let burst =
        "random:span=4MiB,size=4KiB|16KiB,align=512,count=2000,write=0.6,trim=0.05,flush=0.02,period=1ns";
    for settings in [
        &[("dies", "2")] as &[_],
        &[("dies", "2"), ("sched.kind", "read-first")],
        &[("dies", "2"), ("alloc.kind", "dynamic")],
        &[("planes", "2"), ("alloc.kind", "dynamic"), ("alloc.mode", "1")],
        &[("dies", "2"), ("alloc.kind", "superblock")],
        &[("dies", "2"), ("alloc.kind", "superblock"), ("buffer.bytes", "4KiB"), ("buffer.ack", "flash")],
        &[("ftl.kind", "dftl"), ("ftl.cache_bytes", "128"), ("op_ratio", "0.5"), ("dies", "2")],
        &[("buffer.bytes", "4KiB")],
        &[("buffer.bytes", "4KiB"), ("buffer.ack", "flash"), ("alloc.kind", "dynamic")],
    ] {
        let base = [
            ("capacity", "4MiB"),
            ("op_ratio", "0.3"),
            ("pages_per_block", "8"),
            ("precondition", "full"),
            ("host.mode", "open"),
        ];
        let settings: Vec<_> = base.iter().chain(settings).copied().collect();
        let result = run(&settings, burst).unwrap_or_else(|error| panic!("{settings:?}: {error}"));
        assert_complete(&result, burst);
    }
}
