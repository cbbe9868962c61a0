//! Presets of drives of today use all that their drives have: each mechanism that the source of a preset names is set by it, and
//! every key that it sets changes what the drive does.

use std::collections::BTreeMap;

use flashweir_ssd::config::keys::keys;
use flashweir_ssd::config::layers::{Layer, resolve, to_value};
use flashweir_ssd::config::presets::Preset;
use flashweir_ssd::{Counters, Options, Simulation};
use flashweir_trace::{Op, Request};
use serde_json::Value;

const MS: u64 = 1_000_000;
/// Sectors of a KiB.
const KIB: u64 = 2;
/// Sectors of the drives below.
const SECTORS: u64 = 256 * 1024 * KIB;

/// Mechanisms that sources name, with their keys: a preset has one if it sets all of these.
const MECHANISMS: [(&str, &[&str]); 20] = [
    ("link", &["host.link"]),
    ("largest command", &["host.max_transfer"]),
    ("firmware", &["firmware.read_time", "firmware.write_time"]),
    ("longer reads in firmware", &["firmware.long_read_time"]),
    ("cores", &["firmware.cores"]),
    ("map in the host's memory", &["firmware.hmb_bytes", "firmware.hmb_miss_time"]),
    ("queue of commands", &["host.queue_entries"]),
    ("write buffer", &["buffer.bytes"]),
    ("codewords", &["nand.transfer", "nand.codeword"]),
    ("page types", &["timing.read"]),
    ("cells", &["nand.cell"]),
    ("one-shot programs", &["nand.programs"]),
    ("foggy and fine passes", &["nand.programs"]),
    ("shadow order", &["nand.page_order"]),
    ("mapping unit", &["ftl.map_unit"]),
    ("superblocks", &["alloc.kind"]),
    ("bound planes", &["planes", "planes_bound"]),
    ("SLC cache", &["slc.kind", "slc.static_blocks", "slc.read_time", "slc.program_time", "slc.fold_after"]),
    ("cache by what is free", &["slc.dynamic_share"]),
    ("writes past a full cache", &["slc.when_full"]),
];

/// Presets and the mechanisms that their sources name.
const NAMED: [(&str, &[&str]); 8] = [
    (
        "970-pro",
        &[
            "link",
            "largest command",
            "firmware",
            "longer reads in firmware",
            "cores",
            "write buffer",
            "codewords",
            "mapping unit",
            "page types",
        ],
    ),
    (
        "enterprise-tlc",
        &[
            "link",
            "largest command",
            "firmware",
            "longer reads in firmware",
            "cores",
            "write buffer",
            "mapping unit",
            "codewords",
            "cells",
            "one-shot programs",
        ],
    ),
    (
        "consumer-tlc",
        &[
            "link",
            "firmware",
            "cores",
            "map in the host's memory",
            "write buffer",
            "mapping unit",
            "codewords",
            "page types",
            "shadow order",
            "SLC cache",
            "cache by what is free",
            "writes past a full cache",
        ],
    ),
    (
        "zn540",
        &[
            "link",
            "largest command",
            "firmware",
            "longer reads in firmware",
            "cores",
            "write buffer",
            "codewords",
            "cells",
            "one-shot programs",
            "mapping unit",
            "superblocks",
        ],
    ),
    ("z-nand", &["link", "firmware", "cores", "write buffer", "codewords", "mapping unit", "bound planes"]),
    (
        "qlc",
        &[
            "link",
            "firmware",
            "cores",
            "write buffer",
            "codewords",
            "page types",
            "cells",
            "foggy and fine passes",
        ],
    ),
    (
        "ufs",
        &[
            "link",
            "firmware",
            "map in the host's memory",
            "queue of commands",
            "write buffer",
            "codewords",
            "cells",
            "mapping unit",
            "bound planes",
            "SLC cache",
            "writes past a full cache",
        ],
    ),
    (
        "emmc",
        &[
            "link",
            "firmware",
            "queue of commands",
            "write buffer",
            "codewords",
            "cells",
            "mapping unit",
            "bound planes",
            "SLC cache",
            "writes past a full cache",
        ],
    ),
];

/// Counts of the drives below: small blocks and little room, so that a short run fills, collects and folds.
const SMALL: [(&str, &str); 2] = [("host.mode", "open"), ("precondition", "full")];

/// Pages of a block and capacity, if they are not 12 and 256 MiB: as many as leave room for SLC caches, dies and their spare blocks.
const SHAPES: [(&str, &str, &str); 7] = [
    ("970-pro", "24", "384MiB"),
    ("enterprise-tlc", "24", "384MiB"),
    ("consumer-tlc", "48", "512MiB"),
    ("zn540", "24", "1280MiB"),
    ("z-nand", "12", "1GiB"),
    ("ufs", "48", "256MiB"),
    ("emmc", "48", "256MiB"),
];

/// Keys that are at their defaults together or not at all.
const TOGETHER: [(&str, &[&str]); 1] = [("qlc", &["nand.programs", "timing.program"])];

/// Keys at whose defaults a preset is the same drive, with the reason.
const THE_SAME: [(&str, &str, &str); 1] = [("qlc", "nand.cell", "four times of reads are four bits a cell")];

/// Keys whose value is the drive's size: the test replaces it, or there would be too many dies for it.
const SIZES: [&str; 4] = ["capacity", "pages_per_block", "channels", "dies"];

/// The keys that a preset sets, dotted.
fn settings(name: &str) -> BTreeMap<String, Value> {
    let text = Preset::find(name).expect("there").text;
    let table: toml::Table = text.parse().expect("TOML");
    let value = serde_json::to_value(table).expect("plain data");
    let known = |name: &str| keys().iter().any(|key| key.name == name);
    let mut found = BTreeMap::new();
    for (name, value) in value.as_object().expect("a table") {
        if known(name) {
            found.insert(name.clone(), value.clone());
        }
        for (inner, value) in value.as_object().into_iter().flatten() {
            found.insert(format!("{name}.{inner}"), value.clone());
        }
    }
    found
}

/// Bursts of every size, hot and cold, with idle time between them.
fn requests() -> Vec<Request> {
    let mut requests = Vec::new();
    let mut burst = |time_ns: u64, op: Op, count: u64, kib: u64, stride: u64| {
        requests.extend((0..count).map(|number| {
            let lba = number * stride * kib * KIB % (SECTORS - kib * KIB);
            Request { time_ns, lba: lba / KIB * KIB, sectors: (kib * KIB) as u32, stream: 0, op, handle: 0 }
        }));
    };
    burst(0, Op::Read, 60, 4, 977);
    burst(5 * MS, Op::Write, 60, 4, 1531);
    burst(50 * MS, Op::Read, 30, 512, 37);
    // More than buffers and SLC caches hold.
    burst(150 * MS, Op::Write, 280, 512, 1);
    burst(150 * MS, Op::Read, 40, 4, 7919);
    burst(700 * MS, Op::Read, 40, 1, 7919);
    burst(900 * MS, Op::Write, 1500, 4, 6151);
    burst(901 * MS, Op::Read, 40, 128, 101);
    burst(20_000 * MS, Op::Write, 64, 512, 3);
    burst(20_400 * MS, Op::Read, 40, 16, 1013);
    burst(40_000 * MS, Op::Write, 40, 4, 389);
    burst(40_001 * MS, Op::Read, 80, 4, 57);
    requests
}

/// Ends of all requests, and all counters, of a preset on the small drive with these settings more.
fn outcome(name: &str, without: &[&str]) -> Result<(Vec<(u64, u64)>, Counters), String> {
    let preset = Preset::find(name).expect("there");
    let mut layers = vec![preset.layer().expect("a layer"), Layer::from_assignments("small", SMALL)];
    let shape = SHAPES.iter().find(|(preset, ..)| *preset == name);
    let (_, pages, capacity) = shape.copied().unwrap_or((name, "12", "256MiB"));
    let shape = [("pages_per_block", pages), ("capacity", capacity)];
    layers.push(Layer::from_assignments("shape", shape));
    for key in without {
        // Without a share of raw its op_ratio stays: spare at its default is that key's.
        let key = if *key == "op_raw" { &"op_ratio" } else { key };
        let default = &keys().iter().find(|known| known.name == *key).expect("a key").default;
        layers.push(Layer::from_assignments("without", [(*key, default.to_string().trim_matches('"'))]));
    }
    let config = resolve(&layers).map_err(|error| error.to_string())?;
    let mut simulation = Simulation::new(&config, Options { record: true, ..Options::default() })
        .map_err(|error| error.to_string())?;
    let pages = simulation.geometry().logical_pages;
    simulation.fill(0..pages).expect("its capacity fits");
    simulation.end_of_preconditioning();
    simulation.serve(&requests()).expect("served");
    simulation.finish().expect("finished");
    let mut ends: Vec<_> = simulation
        .take_recorded()
        .requests
        .iter()
        .map(|record| (record.number, record.completion_ns))
        .collect();
    ends.sort_unstable();
    Ok((ends, simulation.counters()))
}

#[test]
fn presets_set_all_that_their_sources_name() {
    for (name, mechanisms) in NAMED {
        let set = settings(name);
        for mechanism in mechanisms {
            let (_, keys) = MECHANISMS.iter().find(|(known, _)| known == mechanism).expect(mechanism);
            for key in *keys {
                assert!(set.contains_key(*key), "{name} does not set `{key}`: {mechanism}");
            }
        }
        // A mechanism that a preset sets and that is not among those of its source would be an invention.
        for (mechanism, keys) in MECHANISMS {
            let is_list = mechanism != "page types" || set.get("timing.read").is_some_and(Value::is_array);
            let sets_all = is_list && keys.iter().all(|key| set.contains_key(*key));
            let is_other = ["one-shot programs", "foggy and fine passes"].contains(&mechanism);
            let is_named = mechanisms.contains(&mechanism) || is_other;
            assert!(!sets_all || is_named, "{name} sets {keys:?}: {mechanism} is not named");
        }
    }
}

/// True if a preset names the value that a key has anyway.
fn is_default(name: &str, key: &str) -> bool {
    let config = to_value(&Preset::find(name).expect("there").config().expect("legal"));
    let value = key.split('.').fold(&config, |value, part| &value[part]);
    keys().iter().any(|known| known.name == key && known.default == *value)
}

/// Each key of the preset at its default changes when requests end, or what is counted.
fn every_key_counts(name: &str) {
    let whole = outcome(name, &[]).unwrap_or_else(|error| panic!("{name}: {error}"));
    let (mut refused, mut idle) = (Vec::new(), Vec::new());
    for key in settings(name).keys().filter(|key| !SIZES.contains(&key.as_str()) && !is_default(name, key)) {
        let is_same = THE_SAME.iter().any(|(preset, known, _)| *preset == name && known == key);
        let together = TOGETHER.iter().find(|(preset, keys)| *preset == name && keys.contains(&key.as_str()));
        match outcome(name, together.map_or(&[key.as_str()], |(_, keys)| keys)) {
            Ok(other) if is_same => assert!(other == whole, "{name}: `{key}` does change it"),
            Err(error) => refused.push((key.clone(), error)),
            Ok(other) if other == whole => idle.push(key.clone()),
            Ok(_) => {}
        }
    }
    assert!(idle.is_empty(), "{name}: {idle:?} at their defaults change nothing");
    assert!(refused.is_empty(), "{name}: {refused:?} can't be at their defaults");
    // The test itself: a key that the preset does not set changes nothing at its default.
    let set = settings(name);
    let unset = keys().iter().find(|key| key.name == "wear.dynamic").expect("a key");
    assert!(!set.contains_key(&unset.name));
    assert!(outcome(name, &[&unset.name]).expect("legal") == whole, "{name}: two runs differ");
}

macro_rules! every_key {
    ($($test:ident $name:literal),+ $(,)?) => {
        $(#[test]
        fn $test() {
            every_key_counts($name);
        })+
    };
}

every_key!(
    every_key_of_970_pro "970-pro",
    every_key_of_enterprise_tlc "enterprise-tlc",
    every_key_of_consumer_tlc "consumer-tlc",
    every_key_of_zn540 "zn540",
    every_key_of_z_nand "z-nand",
    every_key_of_qlc "qlc",
    every_key_of_ufs "ufs",
    every_key_of_emmc "emmc",
);
