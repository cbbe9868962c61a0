//! Values to try for every key: all choices of a policy, and at least one other value for everything else.

use std::collections::BTreeSet;

use flashweir_ssd::Config;
use flashweir_ssd::config::keys::{find, keys};
use flashweir_ssd::config::layers::{Layer, resolve, to_value};
use serde_json::Value;

use super::Setting;

/// Legal values other than the default, for keys that are no choice.
const VALUES: [(&str, &[&str]); 200] = [
    ("channels", &["4", "3"]),
    ("chips", &["2"]),
    ("dies", &["2"]),
    ("planes", &["2"]),
    ("planes_bound", &["true"]),
    ("page", &["2KiB", "16KiB"]),
    ("pages_per_block", &["4", "7"]),
    ("capacity", &["5MiB"]),
    ("op_ratio", &["0.75"]),
    ("op_raw", &["0.4"]),
    ("blocks_per_unit", &["27"]),
    ("timing.read", &["61us", "50us,70us"]),
    ("timing.program", &["801us", "500us,1100us"]),
    ("timing.erase", &["1501us", "0"]),
    ("timing.bus", &["24", "0"]),
    ("timing.command", &["1us"]),
    ("timing.cache_program", &["true"]),
    ("timing.multi_plane", &["true"]),
    ("nand.codeword", &["512"]),
    ("nand.cell", &["mlc", "tlc", "qlc"]),
    ("nand.programs", &["one-shot"]),
    ("nand.cache_read", &["true"]),
    ("nand.spread", &["0.1"]),
    ("nand.die_spread", &["0.1"]),
    ("nand.erase_growth", &["0.5"]),
    ("nand.bad_blocks", &["0.05"]),
    ("nand.seed", &["2"]),
    ("energy.read_uj", &["50"]),
    ("energy.program_uj", &["220"]),
    ("energy.erase_uj", &["1500"]),
    ("energy.bus_mw", &["40"]),
    ("energy.idle_mw", &["8"]),
    ("ftl.associativity", &["2"]),
    ("ftl.handles", &["2"]),
    ("ftl.log_unit", &["1KiB", "2KiB"]),
    ("ftl.max_open", &["1", "2"]),
    ("ftl.max_active", &["1"]),
    ("ftl.zrwa_size", &["8KiB", "16KiB"]),
    ("ftl.zrwa_granularity", &["16KiB"]),
    ("ftl.zrwa_resources", &["1"]),
    ("ftl.map_unit", &["1KiB", "2KiB"]),
    ("alloc.mode", &["1"]),
    ("alloc.superblock_dies", &["2"]),
    ("alloc.parity", &["1", "3"]),
    ("ftl.cache_bytes", &["512", "1KiB"]),
    ("ftl.batch_update", &["false"]),
    ("ftl.groups", &["3"]),
    ("ftl.isolated", &["true"]),
    ("ftl.open_time", &["1us", "300us"]),
    ("ftl.classifier_file", &["one"]),
    ("gc.choices", &["2"]),
    ("gc.shares", &["best", "5,1"]),
    ("gc.victim_file", &["oldest"]),
    ("gc.planner_file", &["filling"]),
    ("gc.planner_together", &["true"]),
    ("background.file", &["never"]),
    ("buffer.destage_file", &["never"]),
    ("gc.frontiers", &["2"]),
    ("gc.free_blocks", &["2", "25%"]),
    ("gc.copyback", &["1", "1000"]),
    ("gc.batch", &["3"]),
    ("gc.merged_percent", &["60"]),
    ("gc.moved_percent", &["10"]),
    ("gc.throttle", &["1"]),
    ("gc.spare_blocks", &["0"]),
    ("sched.write_bound", &["1ms"]),
    ("sched.preempt_gc", &["true"]),
    ("sched.dispatch", &["immediate"]),
    ("sched.suspend_time", &["10us"]),
    ("sched.resume_time", &["10us"]),
    ("sched.max_suspensions", &["1"]),
    ("sched.erase_suspend_time", &["100us"]),
    ("sched.erase_resume_time", &["100us"]),
    ("sched.min_run", &["300us"]),
    ("sched.protected_start", &["0.5"]),
    ("sched.protected_end", &["0.5"]),
    ("sched.write_weight", &["0", "2"]),
    ("sched.bus_reads_first", &["false"]),
    ("sched.window", &["1"]),
    ("sched.interval", &["1ms"]),
    ("sched.low_read_rate", &["10MiB"]),
    ("sched.low_write_rate", &["10MiB"]),
    ("sched.min_fairness", &["0"]),
    ("sched.priorities", &["1,4"]),
    ("sched.fair_insertion", &["false"]),
    ("sched.balance_waits", &["false"]),
    ("buffer.coalesce", &["false"]),
    ("buffer.protected", &["true"]),
    ("buffer.high_mark", &["0.55"]),
    ("buffer.low_mark", &["0.1"]),
    ("buffer.idle_after", &["0"]),
    ("buffer.admit_rate", &["2MiB"]),
    ("buffer.fill_from", &["0.1"]),
    ("buffer.fill_delay", &["7ms"]),
    ("buffer.free_below", &["30"]),
    ("buffer.free_delay", &["7ms"]),
    ("buffer.reserve", &["64KiB"]),
    ("buffer.refill_rate", &["1MiB"]),
    ("buffer.refill_left", &["9"]),
    ("buffer.refill_always", &["300KiB"]),
    ("buffer.hold_share", &["0.3"]),
    ("buffer.max_age", &["1us", "100s"]),
    ("buffer.replacement", &["lru", "block-lru", "fab"]),
    ("buffer.bytes", &["16KiB", "64KiB"]),
    ("host.queue_depth", &["4"]),
    ("host.time_scale", &["0.5"]),
    ("host.arbitration_burst", &["4"]),
    ("host.weights", &["1,5"]),
    ("host.slots", &["2"]),
    ("host.iops_limit", &["800", "none,500"]),
    ("host.iops_burst", &["30"]),
    ("host.bytes_limit", &["4MiB"]),
    ("host.bytes_burst", &["256KiB"]),
    ("host.latency_target", &["100us,none"]),
    ("host.latency_window", &["1ms"]),
    ("host.link", &["100MB/s", "pcie3x4", "sata3"]),
    ("host.max_transfer", &["8KiB"]),
    ("host.submit_time", &["3us"]),
    ("host.complete_time", &["2us"]),
    ("host.queues", &["1"]),
    ("host.queue_entries", &["1"]),
    ("host.doorbell", &["3"]),
    ("host.doorbell_wait", &["50us"]),
    ("firmware.cores", &["2"]),
    ("firmware.read_time", &["40us"]),
    ("firmware.long_read_time", &["60us"]),
    ("firmware.write_time", &["40us"]),
    ("firmware.trim_time", &["40us"]),
    ("firmware.flush_time", &["40us"]),
    ("firmware.complete_time", &["3us"]),
    ("firmware.lookup_time", &["300ns"]),
    ("firmware.hmb_bytes", &["4KiB"]),
    ("firmware.hmb_miss_time", &["2us"]),
    ("firmware.memory_time", &["30us"]),
    ("firmware.memory_rate", &["100MB"]),
    ("slc.static_blocks", &["2"]),
    ("slc.dynamic_share", &["0.5"]),
    ("slc.read_time", &["30us"]),
    ("slc.program_time", &["250us"]),
    ("slc.fold_after", &["0"]),
    ("ageing.rated_cycles", &["2000"]),
    ("ageing.cycles", &["2900"]),
    ("ageing.retention", &["400"]),
    ("ageing.temperature", &["40"]),
    ("ageing.pace", &["100000000"]),
    ("ageing.spread", &["0.4"]),
    ("ageing.ecc_bits", &["60"]),
    ("ageing.margin", &["0"]),
    ("ageing.retries", &["1"]),
    ("ageing.retry_gain", &["0.7"]),
    ("ageing.decode_time", &["5us"]),
    ("ageing.soft_bits", &["0"]),
    ("ageing.soft_reads", &["3"]),
    ("ageing.soft_time", &["9us"]),
    ("ageing.program_growth", &["-0.1"]),
    ("ageing.epsilon", &["0.004"]),
    ("ageing.alpha", &["1e-9"]),
    ("ageing.k", &["2.2"]),
    ("ageing.beta", &["0.0002"]),
    ("ageing.m", &["0.4"]),
    ("ageing.n", &["0.7"]),
    ("ageing.gamma", &["0.001"]),
    ("ageing.p", &["1.3"]),
    ("ageing.q", &["3"]),
    ("ageing.retire", &["2"]),
    ("ageing.max_retired", &["0"]),
    ("trim.granularity", &["16KiB"]),
    ("trim.backlog", &["4"]),
    ("trim.batch", &["2"]),
    ("trim.page_time", &["50us"]),
    ("trim.idle_after", &["3ms"]),
    ("wear.dynamic", &["true"]),
    ("wear.static_gap", &["2"]),
    ("fill", &["0.6"]),
    ("background.collect.after", &["0", "300us"]),
    ("background.collect.until", &["12"]),
    ("background.collect.should_below", &["5"]),
    ("background.collect.pace_copies", &["0.5"]),
    ("background.collect.pace_max_copies", &["1"]),
    ("background.collect.pace_delay", &["100us"]),
    ("background.level.after", &["0"]),
    ("background.write_back.after", &["0"]),
    ("background.refresh.after", &["0"]),
    ("background.refresh.overdue", &["0"]),
    ("background.refresh.age", &["20"]),
    ("background.refresh.reads", &["3"]),
    ("background.refresh.retries", &["1"]),
    ("precondition", &["empty", "steady", "on-read"]),
    ("engine", &["busy-until", "event"]),
    ("tenants.channels_file", &["everything"]),
    ("tenants.window_requests", &["200"]),
    ("tenants.window_time", &["30ms"]),
    ("tenants.level_requests", &["25"]),
    ("tenants.min_channels", &["2"]),
    ("tenants.max_late_share", &["0", "0.5"]),
    ("tenants.two_groups_up_to", &["20"]),
    ("tenants.dominant_share", &["0.4"]),
    ("tenants.most_groups", &["3"]),
    ("tenants.depth", &["2"]),
    ("alloc.order", &["CDWP", "CPDW", "CPWD", "CWDP", "WDPC"]),
];

/// Every setting to try: all keys, each with all its choices or the values above.
pub(crate) fn settings() -> Vec<Setting> {
    let listed = |name: &str| VALUES.iter().find(|(key, _)| *key == name).map(|(_, values)| *values);
    let mut all = Vec::new();
    for key in keys() {
        let choices: Vec<&'static str> = key.choices.iter().map(String::as_str).collect();
        let values = match listed(&key.name) {
            Some(values) => values.to_vec(),
            None if !choices.is_empty() => choices,
            None => {
                panic!("`{}` is new: give it values in this table, and a drive on which it acts", key.name)
            }
        };
        all.extend(values.into_iter().map(|value| (key.name.as_str(), value)));
    }
    all
}

#[test]
fn the_table_has_every_key_and_no_other() {
    for (name, _) in VALUES {
        assert!(find(name).is_some(), "`{name}` is in the table but in no schema");
    }
    let named: BTreeSet<_> = settings().into_iter().map(|(name, _)| name).collect();
    assert_eq!(named.len(), keys().len());
}

#[test]
fn the_schema_has_every_key_that_a_configuration_writes() {
    let mut written = BTreeSet::new();
    leaves("", &to_value(&Config::default()), &mut written);
    for key in keys().iter().filter(|key| key.is_policy) {
        for choice in &key.choices {
            let chosen = (key.name.as_str(), choice.as_str());
            let several = Layer::from_assignments("test", [("chips", "2"), chosen]);
            let managed =
                Layer::from_assignments("test", [("ftl.kind", "fast"), ("buffer.bytes", "64KiB"), chosen]);
            let dynamic = Layer::from_assignments("test", [("alloc.kind", "dynamic"), chosen]);
            let needed = [("buffer.bytes", "64KiB"), ("background.collect.should_below", "9"), chosen];
            let acting = Layer::from_assignments("test", needed);
            // Some refuse other settings; their keys then appear with another choice.
            for layer in [several, managed, dynamic, acting] {
                if let Ok(config) = resolve(&[layer]) {
                    leaves("", &to_value(&config), &mut written);
                }
            }
        }
    }
    let declared: BTreeSet<_> = keys().iter().map(|key| key.name.clone()).collect();
    assert_eq!(written, declared);
}

/// Dotted names of everything that is no table.
fn leaves(prefix: &str, value: &Value, into: &mut BTreeSet<String>) {
    let Value::Object(table) = value else {
        into.insert(prefix.into());
        return;
    };
    for (key, value) in table {
        let path = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        leaves(&path, value, into);
    }
}
