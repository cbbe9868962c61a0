//! Small drives with all keys of the schema drawn at random, ranges included.

use std::collections::{BTreeMap, BTreeSet};

use flashweir_ssd::config::keys::{Key, keys};
use flashweir_ssd::config::layers::{Layer, resolve, to_value};
use flashweir_ssd::quantity::round_to_u64;
use serde_json::Value;

use super::array::Draw;
use super::factors::{LEFT_OUT, listed, text};
use super::space::get;
use super::workloads::Workload;
use super::{compare, long};

/// Keys that are not drawn, with the reason.
const NOT_DRAWN: [(&str, &str); 8] = [
    ("engine", "each drive runs on every time path that is exact for it"),
    ("gc.victim_file", LEFT_OUT.1),
    ("gc.planner_file", LEFT_OUT.1),
    ("gc.planner_together", LEFT_OUT.1),
    ("background.file", LEFT_OUT.1),
    ("buffer.destage_file", LEFT_OUT.1),
    ("ftl.classifier_file", LEFT_OUT.1),
    ("tenants.channels_file", LEFT_OUT.1),
];

/// Values of keys that neither list them nor have a small range, or that make a drive too large for a test.
const VALUES: [(&str, &[&str]); 102] = [
    ("channels", &["1", "2", "3", "4"]),
    ("chips", &["1", "2"]),
    ("dies", &["1", "2"]),
    ("planes", &["1", "2", "3"]),
    ("page", &["512", "1KiB", "2KiB"]),
    ("pages_per_block", &["1", "2", "3", "4", "7", "11"]),
    ("capacity", &["32KiB", "64KiB", "100KiB", "256KiB"]),
    ("op_ratio", &["0.4", "0.7", "1.3", "2.5", "4"]),
    ("op_raw", &["auto", "0.4", "0.7"]),
    ("blocks_per_unit", &["auto", "12", "40"]),
    ("timing.read", &["20us", "10us,13us,31us", "1ns"]),
    ("timing.program", &["200us", "100us,300us", "1ns"]),
    ("timing.bus", &["0", "0.3", "25"]),
    ("nand.codeword", &["512", "1KiB", "2KiB"]),
    ("nand.spread", &["0", "0.05", "0.3"]),
    ("buffer.high_mark", &["0.5", "0.7", "1"]),
    ("buffer.low_mark", &["0", "0.3", "0.6"]),
    ("buffer.admit_rate", &["1MiB", "20MiB"]),
    ("buffer.fill_from", &["0", "0.4", "1"]),
    ("buffer.free_below", &["2", "4", "30"]),
    ("buffer.hold_share", &["0.01", "0.5", "1"]),
    ("buffer.refill_left", &["0", "1", "1000"]),
    ("nand.die_spread", &["0", "0.1"]),
    ("nand.erase_growth", &["0", "0.2", "90"]),
    ("nand.bad_blocks", &["0", "0.03", "0.1"]),
    ("energy.read_uj", &["0", "50"]),
    ("energy.program_uj", &["0", "220"]),
    ("energy.erase_uj", &["0", "1500"]),
    ("energy.bus_mw", &["0", "40"]),
    ("energy.idle_mw", &["0", "8"]),
    ("gc.free_blocks", &["1", "2", "3", "4%"]),
    ("gc.shares", &["data", "best", "1", "3,1", "0.2,1,2"]),
    ("background.collect.pace_copies", &["0.1", "2", "30"]),
    ("background.collect.pace_max_copies", &["0.5", "8"]),
    ("ftl.cache_bytes", &["512", "1KiB", "64KiB"]),
    ("ftl.groups", &["auto", "1", "2", "3"]),
    ("ftl.open_time", &["none", "1us", "3ms"]),
    ("ftl.map_unit", &["auto", "512", "1KiB", "2KiB"]),
    ("ftl.handles", &["1", "2", "3"]),
    ("ftl.log_unit", &["auto", "512", "1KiB", "2KiB"]),
    ("ftl.max_open", &["auto", "1", "2"]),
    ("ftl.max_active", &["auto", "2", "9", "20"]),
    ("ftl.zrwa_size", &["0", "2KiB", "4KiB"]),
    ("ftl.zrwa_granularity", &["auto", "512", "2KiB"]),
    ("ftl.zrwa_resources", &["auto", "1", "2"]),
    ("slc.static_blocks", &["1", "2", "5"]),
    ("slc.dynamic_share", &["1", "0.6", "0.2"]),
    ("sched.write_weight", &["0", "0.5", "3"]),
    ("sched.interval", &["1ns", "50us", "2ms"]),
    ("sched.low_read_rate", &["0", "1MiB", "1GiB"]),
    ("sched.low_write_rate", &["0", "1MiB", "1GiB"]),
    ("sched.min_fairness", &["0", "0.6", "1"]),
    ("sched.priorities", &["none", "2", "1,4", "3,2"]),
    ("sched.protected_start", &["0", "0.1", "0.6"]),
    ("sched.protected_end", &["0", "0.2", "1"]),
    ("host.arbitration_burst", &["1", "2", "7"]),
    ("host.weights", &["1", "1,3", "urgent,1"]),
    ("host.iops_limit", &["none", "3000", "none,20000"]),
    ("host.iops_burst", &["none", "2", "1,7"]),
    ("host.bytes_limit", &["none", "9MiB", "none,70MiB"]),
    ("host.bytes_burst", &["none", "512", "4KiB,9KiB"]),
    ("host.latency_target", &["none", "300us", "none,90us", "2ms,200us,none"]),
    ("host.latency_window", &["1ns", "700us", "9ms"]),
    ("host.link", &["none", "pcie3x4", "sata3", "20MB/s"]),
    ("host.queues", &["none", "1", "2", "3"]),
    ("host.queue_entries", &["none", "1", "2", "5"]),
    ("host.slots", &["none", "1", "2", "5"]),
    ("host.time_scale", &["0.5", "2"]),
    ("alloc.superblock_dies", &["auto", "1", "2", "4"]),
    ("alloc.parity", &["0", "1", "3"]),
    ("host.max_transfer", &["0", "512", "3KiB"]),
    ("fill", &["1", "0.9", "0.3"]),
    ("ageing.rated_cycles", &["auto", "30"]),
    ("ageing.cycles", &["0", "20", "3000"]),
    ("ageing.retire", &["none", "1", "2"]),
    ("ageing.max_retired", &["none", "0", "2"]),
    ("ageing.retention", &["0", "30", "900"]),
    ("ageing.temperature", &["25", "30", "60"]),
    ("ageing.pace", &["0", "1", "10000000"]),
    ("ageing.spread", &["0", "0.2", "1"]),
    ("ageing.ecc_bits", &["auto", "20", "60"]),
    ("ageing.margin", &["0", "3", "5"]),
    ("ageing.retry_gain", &["0.5", "0.8", "1"]),
    ("ageing.soft_bits", &["auto", "0", "90"]),
    ("ageing.program_growth", &["0", "-0.1", "20"]),
    ("ageing.epsilon", &["auto", "0.003"]),
    ("ageing.alpha", &["auto", "0", "0.0001"]),
    ("ageing.k", &["auto", "1"]),
    ("ageing.beta", &["auto", "0", "0.0001"]),
    ("ageing.m", &["auto", "0"]),
    ("ageing.n", &["auto", "0.5"]),
    ("ageing.gamma", &["auto", "0", "0.0001"]),
    ("ageing.p", &["auto", "0"]),
    ("ageing.q", &["auto", "1"]),
    ("background.refresh.age", &["auto", "0.5", "40"]),
    ("background.refresh.reads", &["none", "3", "40"]),
    ("background.refresh.retries", &["none", "1", "2"]),
    ("firmware.hmb_bytes", &["0", "4KiB", "8KiB"]),
    ("tenants.max_late_share", &["0", "0.05", "0.7"]),
    ("tenants.dominant_share", &["0", "0.5", "1"]),
    ("tenants.window_time", &["30us", "1ms", "100ms"]),
    ("tenants.window_requests", &["1", "5", "17", "60"]),
];
/// Times of all other keys.
const TIMES: [&str; 6] = ["0ns", "1ns", "700ns", "9us", "300us", "2ms"];

pub(super) type Settings = BTreeMap<&'static str, String>;

/// A value of a key. Panics if there is no way to draw one: a new key is listed above, then.
fn value(key: &Key, draw: &mut Draw) -> String {
    let mut one_of = |values: &[&str]| values[draw.below(values.len() as u64) as usize].to_owned();
    if let Some((_, values)) = VALUES.iter().find(|(name, _)| *name == key.name) {
        return one_of(values);
    }
    let listed = listed(key);
    if !listed.is_empty() {
        return listed[draw.below(listed.len() as u64) as usize].clone();
    }
    match (key.value_type, key.unit.as_deref()) {
        (_, Some("ns")) if key.default == "none" && one_of(&["none", ""]) == "none" => "none".into(),
        (_, Some("ns")) => one_of(&TIMES),
        (_, Some("bytes")) => one_of(&["0", "2KiB", "5KiB", "8KiB"]),
        ("integer", _) => {
            let (min, max) = key
                .range
                .as_ref()
                .map_or((0, u64::MAX), |range| (round_to_u64(range.min), round_to_u64(range.max)));
            // Both ends of a range, where they are not too far apart, and small numbers.
            (min + draw.below((max - min).saturating_add(1).min(8))).to_string()
        }
        _ => panic!("`{}` can't be drawn: give it values", key.name),
    }
}

/// Settings of a legal drive: those that are refused were taken back.
pub(super) fn drive(draw: &mut Draw) -> Settings {
    let mut settings = Settings::from(super::factors::BASE.map(|(key, value)| (key, value.to_owned())));
    // Some drives have few settings beside the defaults, others many.
    let share = 1 + draw.below(10);
    for key in keys().iter().filter(|key| NOT_DRAWN.iter().all(|(name, _)| *name != key.name)) {
        // Keys of policies come after them in the schema.
        let exists = key.acts_with.as_ref().is_none_or(|(owner, choice)| {
            let default = || keys().iter().find(|key| key.name == *owner).map(|key| text(&key.default));
            settings.get(owner.as_str()).cloned().or_else(default).as_ref() == Some(choice)
        });
        if exists && draw.below(10) < share {
            settings.insert(key.name.as_str(), value(key, draw));
        }
    }
    loop {
        let assignments = settings.iter().map(|(key, value)| (*key, value.as_str()));
        let Err(error) = resolve(&[Layer::from_assignments("test", assignments)]) else { return settings };
        // Takes one of those back that the message names.
        let message = error.to_string();
        let mut words: BTreeSet<_> = message.split([',', ' ', '=', ';', ':', '`']).collect();
        if message.contains("over-provisioning") || message.contains("blocks") {
            words.extend(["op_ratio", "op_raw", "blocks_per_unit", "capacity"]);
        }
        let mut named: Vec<_> = settings.keys().copied().filter(|key| words.contains(key)).collect();
        let base = |key: &&str| {
            super::factors::BASE.iter().any(|(name, value)| name == key && settings[name] == *value)
        };
        named.retain(|key| !base(key));
        let all: Vec<_> = settings.keys().copied().filter(|key| !base(key)).collect();
        let from = if named.is_empty() { all } else { named };
        assert!(!from.is_empty(), "the base is refused: {message}");
        let key = from[draw.below(from.len() as u64) as usize];
        settings.remove(key);
        if let Some((_, value)) = super::factors::BASE.iter().find(|(name, _)| *name == key) {
            settings.insert(key, (*value).to_owned());
        }
    }
}

/// Keys whose values are not the default on the drive, after all that has no effect is set back.
fn set_on(settings: &Settings) -> BTreeSet<&'static str> {
    let assignments = settings.iter().map(|(key, value)| (*key, value.as_str()));
    let config = to_value(&resolve(&[Layer::from_assignments("test", assignments)]).expect("a legal drive"));
    let is_set = |key: &&Key| get(&config, &key.name).is_some_and(|value: &Value| *value != key.default);
    keys().iter().filter(is_set).map(|key| key.name.as_str()).collect()
}

#[test]
fn drives_with_all_keys_at_random_do_what_they_should() {
    let (cases, count) = long().map_or((60, 40), |cases| (cases, 150));
    let mut draw = Draw(7);
    let (mut seen, mut both) = (BTreeSet::new(), 0);
    for case in 0..cases {
        let settings = drive(&mut draw);
        seen.extend(set_on(&settings));
        let settings: Vec<_> = settings.into_iter().collect();
        let config = super::config(&settings, "auto").expect("a legal drive");
        let workload = Workload::ALL[(case % 5) as usize];
        both += u64::from(compare(&settings, &workload.requests(&config, count, case)));
    }
    let drawn = keys().iter().filter(|key| NOT_DRAWN.iter().all(|(name, _)| *name != key.name));
    // A choice of one value, but for what is left out, can only be its default.
    let drawn = drawn.filter(|key| listed(key).len() != 1);
    let never: Vec<_> = drawn.map(|key| key.name.as_str()).filter(|name| !seen.contains(name)).collect();
    println!("{cases} drives, {both} of them on both time paths; never other than their default: {never:?}");
    assert!(cases < 5000 || never.is_empty(), "keys that no drive has: {never:?}");
}

/// The block that is folded is collected for the room that folding it needs: the block opened for its pages is counted.
#[test]
fn a_fold_whose_block_is_collected_counts_the_block_it_opened() {
    let settings = [
        ("alloc.kind", "dynamic"),
        ("capacity", "128KiB"),
        ("chips", "2"),
        ("fill", "0.9"),
        ("gc.frontiers", "2"),
        ("op_ratio", "2.5"),
        ("page", "2KiB"),
        ("pages_per_block", "4"),
        ("slc.fold_after", "700ns"),
        ("slc.kind", "dynamic"),
        ("timing.program", "100us,300us"),
    ];
    let settings = settings.map(|(key, value)| (key, value.to_owned()));
    let config = super::config(&settings, "auto").expect("a legal drive");
    compare(&settings, &Workload::ALL[0].requests(&config, 40, 30));
}
