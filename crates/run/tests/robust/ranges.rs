//! Every key's range: one beyond it is refused with one line, its bounds are taken.

use flashweir_ssd::config::keys::{find, keys};
use flashweir_ssd::config::ranges::Range;
use flashweir_ssd::quantity::round_to_u64;
use flashweir_ssd::{Config, Options, Simulation};

use super::Setting;
use super::messages::error;

#[test]
fn every_count_has_its_range() {
    for (key, least, most) in [
        ("channels", 1, 4096u64),
        ("chips", 1, 1024),
        ("dies", 1, 1024),
        ("planes", 1, 64),
        ("pages_per_block", 1, 1 << 20),
        ("gc.free_blocks", 1, 1 << 20),
    ] {
        for value in [0, most + 1, u64::from(u32::MAX)] {
            let text = value.to_string();
            let or = if key == "gc.free_blocks" { ", or a share such as 5%" } else { "" };
            let expected = format!("--set: `{key}` = {value}: expected {least} to {most}{or}");
            assert_eq!(error(&[(key, &text)]), Some(expected));
        }
        let beyond = error(&[(key, "4294967296")]).expect("no 32 bits");
        assert!(beyond.starts_with(&format!("--set: `{key}` = 4294967296: ")), "{beyond}");
    }
    for page in ["0", "511", "513", "262656", "1GiB"] {
        let message = error(&[("page", page)]).expect("no page");
        assert!(message.ends_with("expected 512B to 256KiB, a multiple of 512B"), "{message}");
    }
    for capacity in ["0", "4095", "1025PiB", "2000000000000000000"] {
        let message = error(&[("capacity", capacity)]).expect("no capacity");
        assert!(message.contains("`capacity`"), "{message}");
    }
    for ratio in ["-0.1", "100.1", "1e300"] {
        let message = error(&[("op_ratio", ratio)]).expect("no ratio");
        assert!(message.ends_with(": expected 0 to 100"), "{message}");
    }
}

/// The keys with a range, and the settings without which each does not exist.
fn ranges() -> impl Iterator<Item = (&'static str, &'static Range, Vec<Setting<'static>>)> {
    keys().iter().filter_map(|key| {
        let policy = key.acts_with.iter().map(|(of, choice)| (of.as_str(), choice.as_str()));
        Some((key.name.as_str(), key.range.as_ref()?, policy.collect()))
    })
}

/// The number after the largest of a range: of whole numbers the next one, of shares one that is close.
fn beyond(range: &Range, is_whole: bool) -> Option<String> {
    let max = Some(range.max).filter(|max| max.is_finite())?;
    Some(if is_whole { (round_to_u64(max) + 1).to_string() } else { (max * (1.0 + 1e-9) + 1e-9).to_string() })
}

#[test]
fn a_number_out_of_the_range_of_its_key_is_refused() {
    let mut checked = 0;
    for (key, range, policy) in ranges() {
        let is_whole = find(key).is_some_and(|key| key.value_type != "number");
        let below = if range.excludes_min { range.min } else { range.min - 1.0 };
        let below = Some(below).filter(|below| *below >= 0.0 && !(range.or_zero && *below == 0.0));
        let between = (range.multiple_of > 0).then(|| range.min.max(0.0) + 1.0);
        let small = below.into_iter().chain(between).map(|number| number.to_string());
        for text in small.chain(beyond(range, is_whole)) {
            let message = error(&[&policy[..], &[(key, &text)]].concat()).expect("out of range");
            assert_eq!(message, format!("--set: `{key}` = {text}: {range}"));
            checked += 1;
        }
    }
    assert!(checked > 80, "{checked}");
}

#[test]
fn the_bounds_of_a_key_are_in_its_range() {
    // The shortest form of a large number is another one.
    let text = |bound: f64| {
        if bound.fract() == 0.0 { round_to_u64(bound).to_string() } else { bound.to_string() }
    };
    let mut checked = 0;
    for (key, range, policy) in ranges() {
        let least = Some(range.min).filter(|_| !range.excludes_min);
        let most = Some(range.max).filter(|max| max.is_finite());
        let bounds = [least, most, range.or_zero.then_some(0.0)].into_iter().flatten().map(text);
        for text in bounds.chain(range.or_word.clone()) {
            // It may not go with other keys; its own number is right.
            let message = error(&[&policy[..], &[(key, &text)]].concat()).unwrap_or_default();
            assert!(!message.starts_with("--set"), "{message}");
            checked += 1;
        }
    }
    assert!(checked > 100, "{checked}");
}

#[test]
fn a_configuration_that_no_layer_made_is_checked_too() {
    let message = |change: fn(&mut Config)| {
        let mut config = Config::default();
        change(&mut config);
        Simulation::new(&config, Options::default()).err().expect("out of range").to_string()
    };
    for (found, expected) in [
        (message(|config| config.channels = 0), "device: `channels` = 0: expected 1 to 4096"),
        (message(|config| config.op_ratio = f64::NAN), "device: `op_ratio` = null: expected 0 to 100"),
        (message(|config| config.timing.bus = -1.0), "device: `timing.bus` = -1.0: expected 0 to 1000000"),
        (
            message(|config| config.timing.erase.0 = 3_600_000_000_001),
            "device: `timing.erase` = \"3600000000001ns\": expected at most 1h",
        ),
    ] {
        assert!(found.ends_with(expected), "{found}");
    }
}

#[test]
fn every_time_has_its_range() {
    for key in ["timing.read", "timing.program", "timing.erase", "timing.command"] {
        assert_eq!(error(&[(key, "3600s")]), None);
        let message = error(&[(key, "3600000000001")]).expect("more than an hour");
        assert_eq!(message, format!("--set: `{key}` = 3600000000001: expected at most 1h"));
    }
    let message = error(&[("timing.read", "1us,2h")]).expect("one of two is more than an hour");
    assert_eq!(message, "--set: `timing.read` = \"1us,2h\": expected at most 1h");
    let types = vec!["1us"; 65].join(",");
    assert!(error(&[("timing.read", &types)]).expect("65 types").contains("1 to 64"));
    for bus in ["-1", "1000001", "1e300"] {
        let message = error(&[("timing.bus", bus)]).expect("no bus");
        assert!(message.ends_with("expected 0 to 1000000"), "{message}");
    }
}
