//! Every check of geometry and combinations has its message; values beyond all reason are errors or cheap.

use flashweir_run::{RunSpec, plan};
use flashweir_ssd::config::layers::{Layer, resolve_noting};
use flashweir_ssd::config::refusals;
use flashweir_ssd::{Options, Simulation};

use super::{Setting, spec};

pub(super) fn error(settings: &[Setting<'_>]) -> Option<String> {
    spec(None, settings, "random").config().err().map(|error| error.to_string())
}

const DIRECT: Setting<'static> = ("ftl.kind", "direct");
const DYNAMIC: Setting<'static> = ("alloc.kind", "dynamic");
const MLC: Setting<'static> = ("nand.cell", "mlc");
const SUPERBLOCK: Setting<'static> = ("alloc.kind", "superblock");
/// Settings that each rule of the table refuses, in its order.
const EXAMPLES: [&[&[Setting<'static>]]; 11] = [
    &[&[("buffer.bytes", "64KiB"), ("buffer.destage", "marks"), ("buffer.low_mark", "0.8")]],
    &[&[("buffer.bytes", "64KiB"), ("buffer.backpressure", "free"), ("buffer.free_below", "1")]],
    &[&[("nand.transfer", "codeword"), ("nand.codeword", "3KiB")]],
    &[
        &[DIRECT, DYNAMIC],
        &[DIRECT, SUPERBLOCK],
        &[("ftl.kind", "zones"), DYNAMIC],
        &[DIRECT, ("tenants.channels", "shared")],
        &[("ftl.kind", "kast"), SUPERBLOCK],
    ],
    &[&[("tenants.channels", "shared"), SUPERBLOCK]],
    &[
        &[("nand.cell", "tlc"), ("timing.read", "50us,70us")],
        &[("nand.programs", "one-shot"), MLC, ("timing.program", "1ms,2ms")],
        &[("nand.programs", "foggy-fine"), MLC],
    ],
    &[&[("nand.programs", "one-shot"), ("nand.cell", "tlc")]],
    &[&[("nand.programs", "one-shot"), MLC, ("ftl.kind", "fast")]],
    &[&[("slc.kind", "static"), ("nand.cell", "tlc"), ("ftl.kind", "fast")]],
    &[&[("slc.kind", "both"), ("nand.cell", "tlc"), ("pages_per_block", "2")]],
    &[&[("ageing.kind", "power-law"), ("ageing.retire", "3"), ("ftl.kind", "fast")]],
];

/// Rules whose messages have values: they are tested by these beside the tests below.
const OF_SHAPE: [(&str, &[Setting<'static>], &str); 14] = [
    (
        "capacity, page, channels",
        &[SUPERBLOCK, ("capacity", "16TiB")],
        "alloc.superblock_dies = 8, capacity: ",
    ),
    (
        "capacity, page, pages_per",
        &[("channels", "4096"), ("chips", "1024")],
        "channels x chips x dies x planes = ",
    ),
    ("op_ratio, op_raw", &[("op_ratio", "0"), ("capacity", "1MiB")], "op_ratio = 0, gc.free_blocks = 1, "),
    (
        "ftl.classifier",
        &[
            ("ftl.classifier", "death-time"),
            ("ftl.groups", "4"),
            ("ftl.map_unit", "512"),
            ("pages_per_block", "2"),
            ("op_ratio", "9"),
        ],
        "ftl.classifier, ftl.map_unit, pages_per_block: each group",
    ),
    (
        "units, planes_bound",
        &[("units", "synchronized"), ("page", "64KiB")],
        "units, planes_bound: 8 pages of ",
    ),
    ("ftl.map_unit", &[("ftl.map_unit", "1536")], "device: `ftl.map_unit` = 1536: "),
    ("capacity, page", &[("capacity", "512")], "device: `capacity` = 512: "),
    (
        "capacity, blocks_per_unit",
        &[("capacity", "1GiB"), ("blocks_per_unit", "9"), ("op_ratio", "1")],
        "--set: capacity = 1GiB, blocks_per_unit = 9, ",
    ),
    (
        "alloc.superblock_dies",
        &[SUPERBLOCK, ("alloc.superblock_dies", "3")],
        "device: `alloc.superblock_dies` = 3: expected a divisor",
    ),
    (
        "tenants.channels=isolated",
        &[("tenants.channels", "ssdkeeper"), DYNAMIC, ("tenants.min_channels", "9")],
        "tenants.min_channels = 9, channels = 8: ",
    ),
    ("ftl.cache_bytes", &[("ftl.kind", "dftl"), ("ftl.cache_bytes", "63")], "ftl.cache_bytes = 63: "),
    (
        "ftl.max_active",
        &[("ftl.kind", "zones"), ("ftl.host", "log"), ("ftl.max_active", "1")],
        "ftl.max_active = 1, ",
    ),
    (
        "ftl.zrwa_size",
        &[("ftl.kind", "zones"), ("ftl.host", "none"), ("ftl.zrwa_size", "3KiB")],
        "device: `ftl.zrwa_size` = 3072: expected whole pages of 4096 bytes, at most ",
    ),
    ("engine=busy-until", &[("engine", "busy-until"), ("dies", "2")], "engine=busy-until: dies that share"),
];

#[test]
fn every_refusal_of_the_table_is_reached() {
    assert_eq!(EXAMPLES.len(), refusals::table().count());
    for (examples, refusal) in EXAMPLES.iter().zip(refusals::table()) {
        for example in *examples {
            assert_eq!(error(example), Some(format!("{}: {}", refusal.keys, refusal.reason)), "{example:?}");
        }
        for key in refusal.keys.split(", ").filter_map(|key| key.split('=').next()) {
            let parts: Vec<_> = key.split('.').collect();
            assert!(!parts[0].is_empty(), "a refusal names its keys");
        }
    }
    assert_eq!(OF_SHAPE.len(), refusals::all().count() - EXAMPLES.len());
    for ((start, example, expected), refusal) in OF_SHAPE.iter().zip(refusals::all().skip(EXAMPLES.len())) {
        assert!(refusal.keys.starts_with(start), "{} of {start}", refusal.keys);
        let message = error(example).unwrap_or_else(|| panic!("{example:?} is not refused"));
        assert!(message.starts_with(expected), "{message}");
    }
}

#[test]
fn no_more_is_refused_than_physics_and_arithmetic() {
    let listed = flashweir_run::refusals();
    let rules = listed.as_array().expect("a list");
    assert!(rules.len() <= 40, "{} rules refuse combinations", rules.len());
    let mut keys: Vec<_> = rules.iter().map(|rule| rule["keys"].as_str().expect("text")).collect();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), rules.len(), "one rule for the same keys");
}

#[test]
fn refusals_of_tenants_that_need_the_shape_say_it() {
    let on = [("alloc.kind", "dynamic"), ("tenants.channels", "ssdkeeper")];
    let with = |more: &[Setting<'_>]| error(&[&on, more].concat()).expect("refused");
    assert_eq!(
        with(&[("tenants.min_channels", "9")]),
        "tenants.min_channels = 9, channels = 8: a group can't have more channels than there are"
    );
}

#[test]
fn refusals_that_need_the_shape_say_it() {
    let noted = |settings: &[Setting<'_>]| {
        let noted = plan(&spec(None, settings, "random")).expect("legal")["no_effect"].clone();
        format!(
            "{}: {}",
            noted[0]["keys"].as_str().expect("text"),
            noted[0]["reason"].as_str().expect("text")
        )
    };
    let message = noted(&[("alloc.order", "CWDP")]);
    assert_eq!(message, "alloc.order: on this geometry CWDP and CDPW place every page alike");
    let message = noted(&[("channels", "1"), ("alloc.kind", "dynamic")]);
    assert_eq!(message, "alloc.kind: there is one parallel unit, so there is nothing to choose");
    let one = [("channels", "1"), ("chips", "2"), ("alloc.kind", "dynamic"), ("alloc.mode", "1")];
    assert_eq!(noted(&one), "alloc.mode: mode 1 fixes the channel, and there is only one");
    let message = noted(&[("channels", "1"), SUPERBLOCK]);
    assert_eq!(message, "alloc.kind: there is one parallel unit: its blocks are superblocks of one block");
    let message = error(&[SUPERBLOCK, ("alloc.superblock_dies", "3")]).expect("three of eight dies");
    assert_eq!(
        message,
        "device: `alloc.superblock_dies` = 3: expected a divisor of the 8 dies of the drive, or auto for all of them"
    );
    let message = error(&[SUPERBLOCK, ("alloc.parity", "2")]).expect("three of eight dies");
    assert!(
        message.starts_with("device: `alloc.parity` = 2: expected 0, or a number of pages that with one of"),
        "{message}"
    );
    let message = error(&[SUPERBLOCK, ("capacity", "16TiB")]).expect("too many pages");
    assert!(
        message.starts_with("alloc.superblock_dies = 8, capacity: a set of 8 dies would have"),
        "{message}"
    );
    let message = error(&[("alloc.kind", "dynamic"), ("capacity", "16TiB")]).expect("too many pages");
    assert!(
        message.starts_with("alloc.kind=dynamic or hybrid, capacity: one map serves all units"),
        "{message}"
    );
    let message = error(&[("engine", "busy-until"), ("dies", "2")]).expect("needs events");
    assert!(message.starts_with("engine=busy-until: dies that share a channel"), "{message}");
    let message =
        error(&[("ftl.kind", "dftl"), ("ftl.cache_bytes", "63")]).expect("seven entries for eight units");
    assert_eq!(
        message,
        "ftl.cache_bytes = 63: each of the 8 units caches entries of 8 bytes, at least one: use at least 64"
    );
    let message = error(&[("ftl.kind", "dftl"), ("alloc.kind", "dynamic"), ("ftl.cache_bytes", "7")]);
    assert_eq!(
        message.expect("no entry for the drive"),
        "ftl.cache_bytes = 7: the drive caches entries of 8 bytes, at least one: use at least 8"
    );
    let small = [("ftl.kind", "dftl"), ("capacity", "64MiB")];
    let message = error(&small).expect("18 blocks to spare are too few");
    assert_eq!(
        message,
        "op_ratio = 0.1, gc.free_blocks = 1, ftl.kind = dftl: 3 of the 8 planes would have 18 blocks for 2048 logical pages \
         (128 a block) and need 21: 4 are held back, 3 of them for translation pages, so no page could ever be overwritten: \
         use op_ratio of at least 0.2461"
    );
    assert_eq!(error(&[small[0], small[1], ("op_ratio", "0.2461")]), None);
    for settings in [
        &[("host.queue_depth", "2"), ("sched.kind", "read-first")] as &[_],
        &[("alloc.kind", "dynamic")],
        &[("buffer.bytes", "1MiB"), ("host.mode", "open")],
    ] {
        let settings: Vec<_> = settings.iter().copied().chain([("engine", "busy-until")]).collect();
        assert!(error(&settings).expect("needs events").ends_with("use engine=auto or engine=event"));
    }
}

#[test]
fn blocks_held_back_beyond_the_spare_are_refused() {
    let message = error(&[("gc.free_blocks", "1000000")]).expect("more than the drive has");
    assert!(message.starts_with(
        "op_ratio = 0.1, gc.free_blocks = 1000000, gc.frontiers = 1: 3 of the 8 planes would have "
    ));
    assert!(message.contains(": 1000000 are held back, so no page could ever be overwritten"), "{message}");
}

#[test]
fn what_the_refusal_of_too_little_spare_suggests_works() {
    for capacity in ["1MiB", "3000KiB", "16GiB", "1TiB"] {
        for free_blocks in ["1", "2", "17", "1000", "0.5%", "4%", "30%"] {
            for frontiers in ["1", "2"] {
                let settings =
                    [("capacity", capacity), ("gc.free_blocks", free_blocks), ("gc.frontiers", frontiers)];
                let without: Vec<_> = settings.iter().copied().chain([("op_ratio", "0")]).collect();
                let message = error(&without).filter(|message| !message.contains("up to 100 is enough"));
                let Some(message) = message else { continue };
                let ratio = message.split("at least ").nth(1).unwrap_or_else(|| panic!("{message}"));
                let with: Vec<_> = settings.iter().copied().chain([("op_ratio", ratio)]).collect();
                assert_eq!(error(&with), None, "{settings:?}");
            }
        }
    }
}

/// Resident memory of this process, bytes.
fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * 4096
}

#[test]
fn values_beyond_all_reason_are_errors_or_cheap() {
    let nasty: [&[Setting<'_>]; 15] = [
        &[("capacity", "1024TiB")],
        &[("capacity", "1152921504606846976"), ("page", "256KiB"), ("channels", "4096"), ("planes", "64")],
        &[("capacity", "1152921504606846976"), ("page", "512"), ("channels", "1")],
        &[("capacity", "1024TiB"), ("page", "256KiB"), ("pages_per_block", "1048576")],
        &[("channels", "4096"), ("chips", "1024"), ("dies", "1024"), ("planes", "64")],
        &[("channels", "4096"), ("chips", "64"), ("pages_per_block", "1048576")],
        &[("channels", "4096"), ("chips", "256"), ("capacity", "4KiB")],
        &[("channels", "4096"), ("chips", "64"), ("pages_per_block", "4096"), ("capacity", "4KiB")],
        &[("pages_per_block", "1048576"), ("op_ratio", "100")],
        &[("pages_per_block", "1"), ("capacity", "16TiB")],
        &[("op_ratio", "100"), ("capacity", "16TiB"), ("channels", "1")],
        &[("buffer.bytes", "1152921504606846976")],
        &[("host.queue_depth", "1000000"), ("dies", "2")],
        &[("gc.free_blocks", "1048576"), ("pages_per_block", "1048576"), ("capacity", "1024TiB")],
        &[
            ("ftl.kind", "direct"),
            ("capacity", "1152921504606846976"),
            ("channels", "4096"),
            ("page", "256KiB"),
        ],
    ];
    for settings in nasty {
        let run: RunSpec = spec(None, settings, "random");
        let before = resident();
        for verify in [false, true] {
            let built = run
                .config()
                .ok()
                .map(|config| Simulation::new(&config, Options { verify, ..Options::default() }));
            let outcome = match &built {
                None => "refused",
                Some(Err(_)) => "refused for its verification",
                Some(Ok(_)) => "built",
            };
            let grown = resident().saturating_sub(before) >> 20;
            assert!(grown < 400, "{settings:?} was {outcome} and took {grown} MiB");
        }
    }
}

#[test]
fn settings_of_schedulers_say_what_they_expect() {
    let with = |kind, key, value| error(&[("sched.kind", kind), ("host.mode", "open"), (key, value)]);
    for legal in ["none", "0", "400us", "1e3", "3600s"] {
        assert_eq!(with("read-first", "sched.write_bound", legal), None, "{legal}");
    }
    for value in ["-1us", "-1", "nonsense", "NONE", "", "1.5", "inf", "1us2", "99999999999999999999", "true"]
    {
        let message = with("read-first", "sched.write_bound", value).expect("no bound");
        assert!(message.starts_with("--set: `sched.write_bound` = "), "{message}");
        assert!(
            message.ends_with(": expected a time such as \"400us\" (ns, us, ms, s), or \"none\""),
            "{message}"
        );
    }
    let times = [
        "sched.suspend_time",
        "sched.resume_time",
        "sched.erase_suspend_time",
        "sched.erase_resume_time",
        "sched.min_run",
    ];
    for key in times {
        assert_eq!(with("suspend", key, "3600s"), None);
        for value in ["3600000000001", "9223372036854775807"] {
            let message = with("suspend", key, value).expect("more than an hour");
            let none = if key.starts_with("sched.erase") { ", or none" } else { "" };
            assert_eq!(message, format!("--set: `{key}` = {value}: expected at most 1h{none}"));
        }
        assert!(with("suspend", key, "true").expect("no time").contains("expected a time such as"));
    }
    for (key, acts) in [
        ("sched.window", "sched.kind=out-of-order"),
        ("sched.suspend_time", "sched.kind=suspend"),
        ("sched.low_read_rate", "sched.kind=flin"),
        ("sched.bus_reads_first", "sched.kind=suspend"),
    ] {
        // Of another policy it has no effect, which the result notes; a wrong value is refused all the same.
        let value = if key.ends_with("first") { "true" } else { "3" };
        assert_eq!(with("read-first", key, value), None);
        let layer = Layer::from_assignments("--set", [(key, value)]);
        let (_, notes) = resolve_noting(&[layer]).expect("legal");
        assert_eq!(notes[0].reason, format!("it acts only with {acts}"));
        let wrong = with("read-first", key, "-1").expect("no value of it");
        assert!(wrong.starts_with(&format!("--set: `{key}` = ")), "{wrong}");
    }
    let message = error(&[("sched.kind", "readfirst")]).expect("no scheduler");
    assert!(
        message.contains("expected one of `fifo`, `read-first`, `read-priority`, `suspend`"),
        "{message}"
    );
}

#[test]
fn settings_of_the_host_say_what_they_expect() {
    let with = |key, value| error(&[("host.mode", "open"), (key, value)]);
    for legal in ["none", "1", "1000000"] {
        assert_eq!(with("host.slots", legal), None, "{legal}");
    }
    for value in ["0", "1000001", "4294967295"] {
        let message = with("host.slots", value).expect("no number of slots");
        assert_eq!(message, format!("--set: `host.slots` = {value}: expected 1 to 1000000, or none"));
    }
    for value in ["-1", "4294967296", "1.5", "many", "", "true"] {
        let message = with("host.slots", value).expect("no number");
        assert!(message.starts_with("--set: `host.slots` = "), "{message}");
        assert!(message.ends_with(": expected a whole number of at most 32 bits, or \"none\""), "{message}");
    }
    assert_eq!(error(&[("host.slots", "3")]), None, "a closed loop has no slots, which the result notes");
    let weigh = |value| error(&[("host.arbitration", "weighted"), ("host.weights", value)]);
    for legal in ["1", "1000", "4,2,1", " 4, 2"] {
        assert_eq!(weigh(legal), None, "{legal}");
    }
    for value in ["0", "1001", "4,0", "4,,1", "-1", "2.5", "heavy", "", "true"] {
        let message = weigh(value).expect("no weights");
        assert!(message.starts_with("--set: `host.weights` = "), "{message}");
        let expected =
            ": expected whole numbers from 1 to 1000 or urgent, one for each tenant, such as \"4,2,1\"";
        assert!(message.ends_with(expected), "{message}");
    }
    // Equal weights are no weights.
    assert_eq!(error(&[("host.weights", "1,1")]), None);
    let message = error(&[("host.arbitration", "wrr")]).expect("no arbitration");
    assert!(message.contains("expected one of `arrival`, `round-robin`, `weighted`, `fair`"), "{message}");
    let slots = [("host.mode", "open"), ("host.slots", "4"), ("engine", "busy-until")];
    let message = error(&slots).expect("needs events");
    assert_eq!(
        message,
        "engine=busy-until: a request that waits for a slot enters when another one ends: use engine=auto or engine=event"
    );
}
