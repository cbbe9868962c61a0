//! Settings that change nothing are noted, one example for each entry of the table.

use flashweir_run::plan;
use flashweir_ssd::config::layers::{Layer, resolve_noting};
use flashweir_ssd::config::no_effect;
use serde_json::json;

use super::{Setting, spec};

const DIRECT: Setting<'static> = ("ftl.kind", "direct");
const STEP: Setting<'static> = ("clock", "lock-step");
const AHEAD: Setting<'static> = ("gc.planner", "forwarding");
const DYNAMIC: Setting<'static> = ("alloc.kind", "dynamic");
const DEPTH: Setting<'static> = ("host.queue_depth", "2");
const STREAMS: [Setting<'static>; 3] =
    [("ftl.classifier", "stream"), ("ftl.groups", "2"), ("ftl.isolated", "true")];
const ZONES: Setting<'static> = ("ftl.kind", "zones");

const AGES: Setting<'static> = ("ageing.kind", "power-law");
const FOGGY: Setting<'static> = ("nand.programs", "foggy-fine");

/// Settings without effect, one for each entry of their table, in its order.
const WITHOUT_EFFECT: [&[Setting<'static>]; 111] = [
    &[ZONES, ("ftl.host", "none"), ("ftl.separate", "handles")],
    &[ZONES, ("ftl.handles", "2")],
    &[ZONES, ("ftl.finish", "mark")],
    &[ZONES, ("ftl.zone_map", "dynamic")],
    &[ZONES, ("ftl.zrwa_size", "8KiB")],
    &[ZONES, ("ftl.host", "none"), ("ftl.zrwa_resources", "2")],
    &[ZONES, ("ftl.host", "none"), ("gc.victim", "fifo")],
    &[ZONES, ("ftl.host", "none"), ("precondition", "steady")],
    &[ZONES, ("ftl.host", "none"), ("buffer.bytes", "32KiB"), ("buffer.replacement", "lru")],
    &[("slc.kind", "dynamic")],
    &[("ageing.cycles", "100")],
    &[AGES, ("ageing.cell", "tlc")],
    &[AGES, ("ageing.reads_of", "page")],
    &[AGES, ("ageing.retention", "30"), ("precondition", "empty")],
    &[AGES, ("ageing.temperature", "60"), ("ageing.pace", "0")],
    &[AGES, ("ageing.retries", "0"), ("ageing.decode_time", "5us")],
    &[AGES, ("ageing.soft_bits", "0"), ("ageing.soft_reads", "2")],
    &[AGES, ZONES, ("ftl.host", "none"), ("ageing.retire", "2"), ("ageing.max_retired", "2")],
    &[AGES, ("ageing.max_retired", "2")],
    &[("gc.frontiers", "2"), ("ftl.classifier", "host-and-collected")],
    &[("gc.victims_of", "group"), ("ftl.classifier", "age-groups"), ("op_ratio", "1")],
    &[("gc.shares", "best")],
    &[
        STREAMS[0],
        STREAMS[1],
        STREAMS[2],
        ("op_ratio", "1"),
        ("gc.victims_of", "group"),
        ("gc.shares", "3,2,1"),
    ],
    &[("ftl.groups", "2"), ("ftl.classifier", "death-time"), ("op_ratio", "1")],
    &[("ftl.isolated", "true")],
    &[("ftl.open_time", "50ms")],
    &[("ftl.classifier_file", "own.py:f")],
    &[AHEAD, STEP, ("buffer.bytes", "32KiB")],
    &[("gc.planner", "super-data-block")],
    &[("gc.planner", "selective-filling")],
    &[("gc.planner", "selective-filling"), ("ftl.kind", "fast"), ("gc.throttle", "2")],
    &[FOGGY, ("nand.cell", "mlc"), ("timing.program", "1ms,2ms"), ("gc.copyback", "1")],
    &[("alloc.kind", "superblock"), ("gc.copyback", "2")],
    &[("buffer.bytes", "4095")],
    &[("buffer.replacement", "block-lru")],
    &[("buffer.replacement", "fab"), ("buffer.bytes", "32KiB"), ("buffer.ack", "flash")],
    &[STEP, ("buffer.order", "in-order"), ("buffer.bytes", "32KiB"), ("buffer.replacement", "lru")],
    &[STEP, ("buffer.order", "in-order"), ("buffer.bytes", "32KiB"), ("buffer.coalesce", "false")],
    &[("wear.dynamic", "true")],
    &[DIRECT, ("gc.free_blocks", "2")],
    &[("fill", "0.9"), ("precondition", "empty")],
    &[("ftl.kind", "fast"), ("gc.victim", "fifo")],
    &[("ftl.kind", "fast"), DYNAMIC, ("precondition", "full"), ("dies", "2")],
    &[("ftl.kind", "bast"), ("gc.throttle", "4")],
    &[STEP, ("gc.planner", "cycle-stealing"), ("units", "synchronized")],
    &[STEP, ("gc.planner", "cycle-stealing"), ("alloc.kind", "superblock")],
    &[AHEAD],
    &[("gc.spare_blocks", "7")],
    &[("tenants.channels", "shared"), DYNAMIC, ("channels", "1"), ("dies", "2")],
    &[("tenants.window_requests", "7")],
    &[("alloc.kind", "hybrid")],
    &[("tenants.channels", "shared"), DYNAMIC, ("tenants.window_time", "1s")],
    &[("tenants.channels", "shared"), DYNAMIC, ("tenants.min_channels", "2")],
    &[("tenants.channels", "isolated"), DYNAMIC, ("tenants.applies", "same")],
    &[("tenants.turns", "shortest"), DYNAMIC, DEPTH, ("gc.planner", "cycle-filling")],
    &[("tenants.channels", "look-ahead"), DYNAMIC, ("tenants.turns", "shortest"), DEPTH],
    &[("tenants.max_late_share", "0.5")],
    &[("background.collect.until", "3")],
    &[("background.collect.pace", "free")],
    &[("background.level.after", "1ms")],
    &[("background.write_back.after", "1ms")],
    &[("background.refresh.after", "1ms"), ("background.refresh.reads", "10")],
    &[AGES, ("background.refresh.reads", "10")],
    &[("buffer.bytes", "32KiB"), ("buffer.destage", "eager"), ("buffer.ack", "flash"), DEPTH],
    &[("buffer.bytes", "32KiB"), ("buffer.backpressure", "free"), DIRECT],
    &[("buffer.bytes", "32KiB"), ("buffer.protected", "true"), ("buffer.ack", "flash"), DEPTH],
    &[("background.file", "own.py:f")],
    &[("background.kind", "external"), ("background.level.after", "1ms"), ("wear.static_gap", "4")],
    &[("host.mode", "open"), ("host.arbitration", "fair")],
    &[("host.arbitration", "weighted"), ("host.arbitration_burst", "4")],
    &[("host.arbitration", "round-robin"), ("host.weights", "4,2")],
    &[("host.iops_burst", "2")],
    &[("host.bytes_burst", "1MiB"), ("host.iops_limit", "900")],
    &[("host.latency_window", "1ms")],
    &[("host.queues", "2")],
    &[("host.doorbell_wait", "1us")],
    &[("firmware.cores", "2")],
    &[("firmware.hmb_miss_time", "1us")],
    &[("planes_bound", "true")],
    &[("planes_bound", "true"), ("planes", "2"), ("timing.multi_plane", "true")],
    &[("nand.transfer", "codeword"), ("timing.bus", "0")],
    &[("nand.codeword", "512")],
    &[("nand.programs", "one-shot"), ("nand.cell", "mlc"), ("nand.page_order", "shadow")],
    &[("nand.page_order", "shadow")],
    &[("nand.programs", "one-shot")],
    &[("nand.cell", "tlc")],
    &[("nand.erase_growth", "0.5"), ("timing.erase", "0")],
    &[("nand.cache_read", "true"), ("timing.bus", "0")],
    &[("nand.seed", "7")],
    &[STEP, ("nand.cache_read", "true")],
    &[("timing.cache_program", "true"), ("timing.bus", "0")],
    &[("timing.cache_program", "true"), ("alloc.kind", "dynamic")],
    &[STEP, ("timing.cache_program", "true")],
    &[("timing.cache_program", "true"), ("buffer.bytes", "1MiB")],
    &[("sched.kind", "read-priority"), ("sched.write_bound", "1ms"), ("host.queue_depth", "2")],
    &[("sched.preempt_gc", "true")],
    &[("sched.kind", "read-first"), ("sched.preempt_gc", "true"), DIRECT, ("host.queue_depth", "2")],
    &[("sched.kind", "suspend"), ("sched.bus_reads_first", "false"), ("host.queue_depth", "2")],
    &[("sched.kind", "out-of-order")],
    &[("sched.dispatch", "immediate")],
    &[("gc.batch", "2")],
    &[("sched.kind", "suspend"), ("sched.suspends", "program"), ("sched.erase_suspend_time", "9us"), DEPTH],
    &[("sched.kind", "suspend"), ("sched.min_run", "9us"), ("sched.max_suspensions", "1"), DEPTH],
    &[("sched.kind", "flin"), ("sched.fair_insertion", "false"), ("sched.min_fairness", "0"), DEPTH],
    &[("sched.kind", "flin"), ("sched.priorities", "1"), DEPTH],
    &[("slc.static_blocks", "2")],
    &[("nand.cell", "tlc"), ("slc.kind", "dynamic"), ("slc.static_blocks", "2")],
    &[("nand.cell", "tlc"), ("slc.kind", "static"), ("slc.dynamic_share", "0.5")],
    &[DIRECT, DEPTH, ("trim.backlog", "4")],
    &[ZONES, ("ftl.host", "none"), ("trim.granularity", "64KiB")],
    &[("trim.granularity", "64KiB"), ("trim.batch", "2")],
];

#[test]
fn what_has_no_effect_is_noted_and_set_back() {
    assert_eq!(WITHOUT_EFFECT.len(), no_effect::all().count());
    for (example, entry) in WITHOUT_EFFECT.iter().zip(no_effect::all()) {
        let plan =
            plan(&spec(None, example, "random")).unwrap_or_else(|error| panic!("{example:?}: {error}"));
        let noted = json!({"keys": entry.keys, "reason": entry.reason});
        let all = plan["no_effect"].as_array().expect("a list");
        assert!(all.contains(&noted), "{example:?}: {all:?}");
        // The configuration that it amounts to notes nothing.
        let layer = Layer::from_table("result", &plan["config"]).expect("a table");
        assert_eq!(resolve_noting(&[layer]).expect("legal").1, [], "{example:?}");
    }
}
