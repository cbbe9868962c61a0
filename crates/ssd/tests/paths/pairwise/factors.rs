//! Factors of the covering array. Policies come from the schema, so that a new one joins by itself; the one table here has the
//! keys without which some of them have no effect or are refused.

use flashweir_ssd::config::keys::{self, Key};
use serde_json::Value;

/// Policy keys that are no factor, with the reason.
const NO_FACTORS: [(&str, &str); 1] =
    [("engine", "each drive of the array runs on every time path that is exact for it")];

/// Values that are left out, with the reason.
pub(super) const LEFT_OUT: (&str, &str) =
    ("external", "it calls a function in Python: python/tests runs each of them");

/// Settings of every drive of the array.
pub(super) const BASE: [(&str, &str); 7] = [
    ("channels", "4"),
    ("page", "1KiB"),
    ("pages_per_block", "4"),
    ("capacity", "128KiB"),
    ("op_ratio", "2.5"),
    ("tenants.window_requests", "20"),
    ("tenants.level_requests", "4"),
];

/// Keys that are no policy, with a value beside the default: policies of the schema need them to have an effect.
const NEEDED: [(&str, &str); 33] = [
    ("chips", "2"),
    ("planes", "2"),
    ("dies", "2"),
    ("timing.read", "10us,31us"),
    ("timing.bus", "0"),
    ("buffer.bytes", "8KiB"),
    ("ftl.cache_bytes", "256"),
    ("ftl.map_unit", "512"),
    ("alloc.mode", "1"),
    ("alloc.superblock_dies", "1"),
    ("gc.throttle", "2"),
    ("gc.spare_blocks", "2"),
    ("gc.frontiers", "2"),
    ("gc.free_blocks", "2"),
    ("wear.static_gap", "3"),
    ("sched.write_bound", "1ms"),
    ("sched.suspend_time", "9us"),
    ("host.queue_depth", "5"),
    ("host.slots", "3"),
    ("host.iops_limit", "3000"),
    ("host.bytes_limit", "9MiB"),
    ("host.latency_target", "200us,none"),
    ("host.link", "pcie3x4"),
    ("host.queues", "2"),
    ("host.queue_entries", "2"),
    ("host.doorbell", "2"),
    ("firmware.read_time", "5us"),
    ("firmware.cores", "2"),
    ("background.collect.after", "20us"),
    ("background.collect.should_below", "4"),
    ("background.level.after", "20us"),
    ("background.write_back.after", "20us"),
    ("slc.fold_after", "20us"),
];

/// A key with the values that the array gives it: first its default.
pub(super) struct Factor {
    pub(super) key: &'static Key,
    pub(super) values: Vec<String>,
    /// True if the schema lists its values.
    pub(super) is_policy: bool,
}

/// A value as on the command line.
pub(super) fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), Into::into)
}

/// Values that the schema lists for a key: those of a choice, or of a switch.
pub(super) fn listed(key: &Key) -> Vec<String> {
    if key.value_type == "boolean" {
        return vec!["false".into(), "true".into()];
    }
    key.choices.iter().filter(|choice| *choice != LEFT_OUT.0).cloned().collect()
}

/// The policy keys of the schema, but for those of policies that are left out.
pub(super) fn policies() -> impl Iterator<Item = &'static Key> {
    keys::keys().iter().filter(|key| {
        let is_left_out = key.acts_with.as_ref().is_some_and(|(_, choice)| choice == LEFT_OUT.0);
        let is_no_factor = NO_FACTORS.iter().any(|(name, _)| *name == key.name);
        !listed(key).is_empty() && !is_left_out && !is_no_factor
    })
}

/// All factors.
pub(super) fn factors() -> Vec<Factor> {
    let policies = policies().map(|key| {
        let default = text(&key.default);
        let others = listed(key).into_iter().filter(|value| *value != default);
        Factor { key, values: [default.clone()].into_iter().chain(others).collect(), is_policy: true }
    });
    let needed = NEEDED.iter().map(|(name, value)| {
        let key = keys::find(name).unwrap_or_else(|| panic!("{name} is no key of the schema"));
        Factor { key, values: vec![text(&key.default), (*value).into()], is_policy: false }
    });
    policies.chain(needed).collect()
}
