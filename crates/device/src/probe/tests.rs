//! Simulated drives, of which it is known what they are made of.

use serde_json::Value;

use super::{ProbeSpec, Probed, ask_all, probe};
use crate::{OpenOptions, open};

fn probed(name: &str) -> Probed {
    let mut target = open(name, &OpenOptions { write: true, ..OpenOptions::default() }).expect(name);
    ask_all(target.as_mut(), 1, &mut |_| true).expect(name)
}

fn number(found: &Probed, key: &str) -> f64 {
    match &found.answers.iter().find(|answer| answer.key == key).expect(key).value {
        Value::String(text) => text.trim_end_matches("ns").parse().expect("ns"),
        value => value.as_f64().expect("a number"),
    }
}

fn near(found: &Probed, key: &str, expected: f64) {
    let value = number(found, key);
    assert!((value / expected - 1.0).abs() <= 0.1, "{key}: {value}, not {expected}\n{}", found.device_file());
}

#[test]
fn a_drive_with_two_dies_a_channel_is_found_out() {
    let found = probed("sim:mlc-2006,capacity=128MiB,channels=4,dies=2,op_ratio=0.2,buffer.bytes=1MiB");
    for (key, expected) in [
        ("page", 4096.0),
        ("channels", 4.0),
        ("dies", 2.0),
        ("timing.read", 60_000.0),
        ("timing.program", 800_000.0),
        ("timing.bus", 25.0),
        ("timing.erase", 1_500_000.0),
        ("pages_per_block", 128.0),
        ("op_ratio", 0.2),
        ("buffer.bytes", 1_048_576.0),
    ] {
        near(&found, key, expected);
    }
}

#[test]
fn a_drive_without_a_buffer_has_none() {
    let found = probed("sim:slc-2006,capacity=64MiB,channels=2,dies=2,op_ratio=0.25");
    near(&found, "page", 2048.0);
    assert!(number(&found, "buffer.bytes") < 1.0);
    near(&found, "pages_per_block", 64.0);
    near(&found, "op_ratio", 0.25);
}

#[test]
fn the_device_file_is_one() {
    let found = probed("sim:mlc-2006,capacity=64MiB,channels=2");
    let file = found.device_file();
    assert!(file.contains("[timing]\nread = \""), "{file}");
}

#[test]
fn a_real_drive_is_not_probed_unless_its_name_is_typed() {
    let spec = ProbeSpec { target: "disk.img".into(), erase: None, seed: 0 };
    let error = probe(&spec, &mut |_| true).expect_err("refused").to_string();
    assert!(error.contains("--erase disk.img"), "{error}");
}
