//! Each key on a drive made so that it can act.

use flashweir_ssd::config::keys::keys;

use super::table::settings;
use super::{AGED, MIXED, SMALL, Setting, TENANTS, is_noted, is_there, over, result, result_and_engine};

/// Settings that a key needs besides the small drive in order to act. Keys not named here need nothing.
const NEEDS: [(&str, &[Setting]); 140] = [
    ("ageing.max_retired", &[AGED[0], AGED[1], AGED[3], ROOM, ("ageing.retire", "2")]),
    ("timing.multi_plane", &[("planes", "2")]),
    ("nand.codeword", &[("nand.transfer", "codeword")]),
    ("nand.cell", &[("nand.programs", "one-shot"), ("pages_per_block", "12"), ("op_ratio", "0.75")]),
    ("nand.page_order", &[("timing.read", "50us,70us"), ("timing.program", "500us,1100us")]),
    ("nand.programs", &[("timing.read", "50us,70us"), ("timing.program", "500us")]),
    ("nand.seed", &[("nand.spread", "0.1")]),
    ("nand.cache_read", &[("host.queue_depth", "8")]),
    ("alloc.mode", &[("alloc.kind", "dynamic"), ("dies", "2")]),
    ("alloc.superblock_dies", &[("alloc.kind", "superblock"), ("channels", "4")]),
    ("alloc.parity", &[("alloc.kind", "superblock"), ("channels", "4")]),
    ("alloc.order", &[("channels", "2"), ("chips", "2"), ("dies", "2"), ("planes", "2")]),
    ("ftl.classifier", &[("op_ratio", "1")]),
    ("ftl.groups", &[("ftl.classifier", "generations"), ("op_ratio", "1")]),
    ("ftl.classifier_file", &[("ftl.classifier", "external"), ("op_ratio", "1")]),
    ("ftl.isolated", &[("ftl.classifier", "stream"), ("ftl.groups", "2"), ("op_ratio", "1")]),
    ("ftl.open_time", &[("ftl.classifier", "stream"), ("ftl.groups", "2"), ("op_ratio", "1")]),
    ("gc.victims_of", &[("ftl.classifier", "frequency"), ("ftl.groups", "2"), ("op_ratio", "1")]),
    (
        "gc.shares",
        &[
            ("ftl.classifier", "frequency"),
            ("ftl.groups", "2"),
            ("op_ratio", "1"),
            ("gc.victims_of", "group"),
        ],
    ),
    ("gc.choices", &[("gc.victim", "d-choices")]),
    ("gc.victim_file", &[("gc.victim", "external")]),
    ("gc.planner_file", &[("gc.planner", "external"), ("buffer.bytes", "64KiB"), ("op_ratio", "0.5")]),
    ("gc.planner_together", &[("gc.planner", "external"), ("buffer.bytes", "64KiB"), ("op_ratio", "0.5")]),
    ("background.kind", &[("op_ratio", "0.5")]),
    ("background.file", &[("background.kind", "external"), ("op_ratio", "0.5")]),
    ("buffer.protected", &[("buffer.bytes", "64KiB")]),
    ("buffer.destage", &DESTAGING),
    ("buffer.backpressure", &DESTAGING),
    ("buffer.admit_rate", &[DESTAGING[0], DESTAGING[1], ("buffer.backpressure", "rate")]),
    ("buffer.fill_from", &[DESTAGING[0], DESTAGING[1], ("buffer.backpressure", "fill")]),
    ("buffer.fill_delay", &[DESTAGING[0], DESTAGING[1], ("buffer.backpressure", "fill")]),
    ("buffer.free_below", &[DESTAGING[0], DESTAGING[1], ("buffer.backpressure", "free")]),
    ("buffer.free_delay", &[DESTAGING[0], DESTAGING[1], ("buffer.backpressure", "free")]),
    ("buffer.reserve", &RESERVE),
    ("buffer.refill_rate", &RESERVE),
    ("buffer.refill_left", &RESERVE),
    ("buffer.refill_always", &RESERVE),
    ("buffer.hold_share", &RESERVE),
    ("buffer.high_mark", &[("buffer.bytes", "64KiB"), ("host.mode", "open"), ("buffer.destage", "marks")]),
    ("buffer.low_mark", &[("buffer.bytes", "64KiB"), ("host.mode", "open"), ("buffer.destage", "marks")]),
    ("buffer.idle_after", &[("buffer.bytes", "64KiB"), ("host.mode", "open"), ("buffer.destage", "idle")]),
    ("buffer.max_age", &[("buffer.bytes", "64KiB"), ("host.mode", "open"), ("buffer.destage", "age")]),
    (
        "buffer.destage_file",
        &[("buffer.bytes", "64KiB"), ("host.mode", "open"), ("buffer.destage", "external")],
    ),
    ("buffer.ack", &[("buffer.bytes", "64KiB")]),
    ("sched.kind", &[("host.queue_depth", "8"), ("dies", "2")]),
    ("sched.write_bound", &[("host.queue_depth", "8"), ("sched.kind", "read-first")]),
    ("sched.preempt_gc", &[("host.queue_depth", "8"), ("sched.kind", "read-first")]),
    ("sched.dispatch", &[("host.queue_depth", "8"), ("sched.kind", "read-first")]),
    ("sched.suspend_time", &[("host.queue_depth", "8"), ("sched.kind", "suspend")]),
    ("sched.resume_time", &[("host.queue_depth", "8"), ("sched.kind", "suspend")]),
    ("sched.write_weight", &[("host.queue_depth", "8"), ("sched.kind", "suspend")]),
    ("sched.max_suspensions", &[("host.queue_depth", "8"), ("sched.kind", "suspend")]),
    ("sched.suspends", &SUSPENDING),
    ("sched.erase_suspend_time", &SUSPENDING),
    ("sched.erase_resume_time", &SUSPENDING),
    ("sched.min_run", &SUSPENDING),
    ("sched.protected_start", &SUSPENDING),
    ("sched.protected_end", &SUSPENDING),
    ("gc.batch", &SUSPENDING),
    (
        "sched.bus_reads_first",
        &[("host.queue_depth", "8"), ("channels", "1"), ("dies", "4"), ("sched.kind", "suspend")],
    ),
    ("sched.window", &[("host.queue_depth", "16"), ("dies", "2"), ("sched.kind", "out-of-order")]),
    ("sched.interval", &FLIN),
    ("sched.low_read_rate", &FLIN),
    ("sched.low_write_rate", &[FLIN[0], FLIN[1], ("planes", "2")]),
    ("sched.min_fairness", &FLIN),
    ("sched.priorities", &FLIN),
    ("sched.fair_insertion", &FLIN),
    ("sched.balance_waits", &FLIN),
    ("host.time_scale", &[("host.mode", "open")]),
    ("host.arbitration_burst", &[("host.arbitration", "round-robin")]),
    ("host.weights", &[("host.arbitration", "weighted")]),
    ("host.iops_burst", &[("host.iops_limit", "800")]),
    ("host.bytes_burst", &[("host.bytes_limit", "4MiB")]),
    ("host.latency_window", &[("host.latency_target", "100us,none")]),
    ("host.slots", &[("host.mode", "open")]),
    ("host.queues", &[("host.mode", "open"), ("host.slots", "2"), ("host.arbitration", "round-robin")]),
    ("host.queue_entries", &[("host.queue_depth", "4")]),
    ("host.doorbell_wait", &[("host.doorbell", "3")]),
    ("firmware.cores", &[("firmware.read_time", "40us"), ("host.queue_depth", "8")]),
    ("firmware.hmb_miss_time", &[("firmware.hmb_bytes", "4KiB")]),
    ("ftl.sw_full", &[("ftl.kind", "fast")]),
    ("ftl.associativity", &[("ftl.kind", "kast")]),
    ("ftl.host", &[("ftl.kind", "zones"), ("op_ratio", "1")]),
    ("ftl.separate", &[("ftl.kind", "zones"), ("op_ratio", "1")]),
    ("ftl.handles", &[("ftl.kind", "zones"), ("ftl.separate", "handles"), ("op_ratio", "1")]),
    ("ftl.log_unit", &[("ftl.kind", "zones"), ("op_ratio", "1")]),
    ("ftl.max_open", &[("ftl.kind", "zones"), ("op_ratio", "1")]),
    ("ftl.max_active", &[("ftl.kind", "zones"), ("ftl.host", "none"), ("precondition", "on-read")]),
    ("ftl.finish", &COMMANDED),
    ("ftl.zone_map", &COMMANDED),
    ("ftl.zrwa_size", &COMMANDED),
    ("ftl.zrwa_granularity", &[COMMANDED[0], COMMANDED[1], ("ftl.zrwa_size", "16KiB")]),
    ("ftl.zrwa_resources", &[COMMANDED[0], COMMANDED[1], ("ftl.zrwa_size", "16KiB")]),
    ("planes_bound", &[("planes", "2")]),
    ("buffer.coalesce", &[("buffer.bytes", "64KiB")]),
    ("buffer.replacement", &[("buffer.bytes", "64KiB")]),
    ("buffer.order", &[("buffer.bytes", "64KiB"), ("clock", "lock-step")]),
    (
        "gc.merged_percent",
        &[("gc.planner", "selective-filling"), ("ftl.kind", "fast"), ("buffer.bytes", "64KiB")],
    ),
    (
        "gc.moved_percent",
        &[("gc.planner", "selective-filling"), ("ftl.kind", "fast"), ("buffer.bytes", "64KiB")],
    ),
    ("gc.throttle", &[("ftl.kind", "log-block")]),
    ("gc.spare_blocks", &[("gc.planner", "cycle-filling"), ("buffer.bytes", "64KiB")]),
    ("ftl.kind", &[("precondition", "empty"), ("op_ratio", "0.5")]),
    ("ftl.cache_bytes", &[("ftl.kind", "dftl"), ("op_ratio", "0.5")]),
    ("ftl.batch_update", &[("ftl.kind", "dftl"), ("op_ratio", "0.5"), ("ftl.cache_bytes", "1KiB")]),
    ("tenants.channels", &[("alloc.kind", "dynamic"), ("op_ratio", "0.5")]),
    (
        "tenants.channels_file",
        &[
            ("alloc.kind", "dynamic"),
            ("tenants.channels", "external"),
            ("tenants.window_requests", "300"),
            ("op_ratio", "0.5"),
        ],
    ),
    ("tenants.window_requests", &KEEPER),
    (
        "tenants.window_time",
        &[
            ("alloc.kind", "dynamic"),
            ("tenants.channels", "ssdkeeper"),
            ("host.mode", "open"),
            ("op_ratio", "0.5"),
        ],
    ),
    ("tenants.level_requests", &KEEPER),
    ("tenants.min_channels", &KEEPER),
    ("tenants.applies", &KEEPER),
    ("tenants.turns", &[("alloc.kind", "dynamic"), ("host.queue_depth", "8")]),
    (
        "tenants.max_late_share",
        &[("alloc.kind", "dynamic"), ("host.queue_depth", "8"), ("tenants.turns", "shortest-fair")],
    ),
    ("tenants.two_groups_up_to", &KEEPER),
    ("tenants.dominant_share", &KEEPER),
    ("tenants.most_groups", &KEEPER),
    (
        "tenants.depth",
        &[
            ("alloc.kind", "dynamic"),
            ("tenants.channels", "look-ahead"),
            ("tenants.window_requests", "300"),
            ("op_ratio", "0.5"),
            ("channels", "2"),
            ("host.queue_depth", "8"),
        ],
    ),
    ("background.collect.until", &[("background.collect.after", "0"), ("op_ratio", "0.5")]),
    ("background.collect.pace", &PACING),
    ("background.collect.pace_copies", &[PACING[0], PACING[1], ("background.collect.pace", "writes")]),
    ("background.collect.pace_max_copies", &[PACING[0], PACING[1], ("background.collect.pace", "free")]),
    ("background.collect.pace_delay", &[PACING[0], PACING[1], ("background.collect.pace", "latency")]),
    ("background.level.after", &[("wear.static_gap", "2")]),
    (
        "background.write_back.after",
        &[("ftl.kind", "dftl"), ("op_ratio", "0.5"), ("ftl.cache_bytes", "1KiB"), ("host.mode", "open")],
    ),
    ("background.refresh.after", &REFRESHING),
    ("background.refresh.overdue", &REFRESHING),
    ("background.refresh.age", &[AGED[0], AGED[2], OPEN, ROOM, REFRESHED]),
    ("background.refresh.reads", &[AGED[0], AGED[4], OPEN, ROOM, REFRESHED]),
    ("background.refresh.retries", &[AGED[0], AGED[1], AGED[2], OPEN, ROOM, REFRESHED]),
    ("wear.dynamic", &[("gc.free_blocks", "3"), ("op_ratio", "0.5")]),
    ("slc.kind", &[("nand.cell", "tlc")]),
    ("slc.static_blocks", &CACHED),
    ("slc.dynamic_share", &[("nand.cell", "tlc"), ("slc.kind", "dynamic"), ("op_ratio", "1")]),
    ("slc.read_time", &CACHED),
    ("slc.program_time", &CACHED),
    ("slc.when_full", &CACHED),
    ("slc.fold_after", &[("nand.cell", "tlc"), ("slc.kind", "static"), ("host.mode", "open")]),
    ("trim.batch", &BACKLOG),
    ("trim.page_time", &BACKLOG),
    ("trim.idle_after", &[("trim.backlog", "100"), ("host.mode", "open")]),
];

/// A backlog that TRIMs wait for.
const BACKLOG: [Setting; 3] =
    [("trim.backlog", "1"), ("trim.idle_after", "10ms"), ("trim.page_time", "20us")];

/// Two tenants that write zones from their first page on.
const IN_ORDER: &str = "sequential:span=1MiB,size=4KiB,count=100,write=1 + \
                        sequential:span=1MiB,offset=2MiB,size=4KiB,count=100,write=1";

/// Zones whose host is the workload.
const COMMANDED: [Setting; 2] = [("ftl.kind", "zones"), ("ftl.host", "none")];

/// Commands to them, with random write areas.
const COMMANDS: &str =
    "zones:span=4MiB,zone=32KiB,open=3,request=4KiB,window=8KiB,finish_at=0.5,write=0.9,count=600,rate=1500";

/// Writes go to blocks in SLC mode.
const CACHED: [Setting; 2] = [("nand.cell", "tlc"), ("slc.kind", "static")];

/// Operations are suspended whatever is left of them.
const SUSPENDING: [Setting; 3] =
    [("host.queue_depth", "8"), ("sched.kind", "suspend"), ("sched.write_weight", "0")];

/// Commands of two tenants wait.
const FLIN: [Setting; 2] = [("host.queue_depth", "32"), ("sched.kind", "flin")];

/// Units that collect between the commands of others.
const PACING: [Setting; 2] = [("background.collect.should_below", "9"), ("op_ratio", "0.5")];

/// Requests come at their own times.
const OPEN: Setting = ("host.mode", "open");

/// Units with erased blocks, which work ahead may fill.
const ROOM: Setting = ("op_ratio", "1");

/// Blocks that are due are moved when their die is idle.
const REFRESHED: Setting = ("background.refresh.after", "100us");

/// Blocks that are due, and not moved.
const REFRESHING: [Setting; 6] = [AGED[0], AGED[1], AGED[2], OPEN, ROOM, ("background.refresh.retries", "1")];

/// A buffer that is not always full.
const DESTAGING: [Setting; 2] = [("buffer.bytes", "64KiB"), ("host.mode", "open")];

/// A reserve that is used up many times.
const RESERVE: [Setting; 5] = [
    DESTAGING[0],
    DESTAGING[1],
    ("buffer.backpressure", "reserve"),
    ("buffer.reserve", "32KiB"),
    ("buffer.refill_rate", "3MiB"),
];

/// Channels by the features of windows, of which every run has some.
const KEEPER: [Setting; 6] = [
    ("alloc.kind", "dynamic"),
    ("tenants.channels", "ssdkeeper"),
    ("tenants.window_requests", "300"),
    ("tenants.level_requests", "20"),
    ("host.queue_depth", "8"),
    ("op_ratio", "0.5"),
];

/// A drive on which a planner is legal: it goes with one clock or the other.
fn clock_of(planner: Setting) -> Vec<Setting> {
    let drive = |clock| over(&SMALL, &[("ftl.kind", "fast"), ("buffer.bytes", "64KiB"), ("clock", clock)]);
    let drives = ["async", "lock-step"].map(drive);
    let legal = |drive: &Vec<Setting>| result(&over(drive, &[planner]), MIXED).is_ok();
    drives.into_iter().find(legal).expect("with one of the clocks")
}

/// Settings with which a key acts.
fn needs(key: &str) -> &'static [Setting] {
    let of_ageing = key.starts_with("ageing.") && key != "ageing.kind";
    let others: &[Setting] = if of_ageing { &AGED } else { &[] };
    NEEDS.iter().find(|(name, _)| *name == key).map_or(others, |(_, needs)| needs)
}

#[test]
fn every_key_acts_where_it_can() {
    for key in keys().iter().filter(|key| key.name != "engine") {
        let needs = needs(&key.name);
        let base = over(&SMALL, needs);
        let workload = match key.name.as_str() {
            "ftl.max_active" => IN_ORDER,
            name if name == "ftl.finish" || name.starts_with("ftl.z") => COMMANDS,
            name if name.starts_with("tenants.") => TENANTS,
            _ => MIXED,
        };
        let before = result(&base, workload).unwrap_or_else(|error| panic!("{}: {error}", key.name));
        let mut acted = 0;
        for setting in settings().into_iter().filter(|(name, _)| *name == key.name) {
            let (base, before) = if key.name == "gc.planner" {
                let base = clock_of(setting);
                (base.clone(), result(&base, MIXED).expect("legal"))
            } else {
                (base.clone(), before.clone())
            };
            if setting == ("alloc.kind", "hybrid") || setting == ("buffer.backpressure", "reserve") {
                // One needs tenants: tests of these have them. The other's reserve outlasts the workload: its keys have a smaller one.
                continue;
            }
            let after = result(&over(&base, &[setting]), workload);
            let after = after.unwrap_or_else(|error| panic!("{setting:?}: {error}"));
            // Cells that age are of one kind, said or not.
            let is_same = is_there(&base, setting)
                || setting.0.starts_with("ageing.") && is_noted(&over(&base, &[setting]), setting);
            assert_eq!(is_same, before == after, "{setting:?} on {base:?}");
            acted += u32::from(before != after);
        }
        assert!(acted > 0, "`{}` was never changed", key.name);
    }
}

#[test]
fn the_engine_changes_its_name_and_nothing_else() {
    let expected = [("auto", "busy-until"), ("busy-until", "busy-until"), ("event", "event")];
    let results = expected.map(|(engine, name)| {
        let (result, used) = result_and_engine(&over(&SMALL, &[("engine", engine)]), MIXED).expect("legal");
        assert_eq!(used, name);
        result
    });
    assert_eq!(results[0], results[1]);
    assert_eq!(results[0], results[2]);
}
