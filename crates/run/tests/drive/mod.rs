//! A drive that its caller steps is the drive that `simulate` runs, whatever the steps are.

mod errors;
mod failures;
mod limits;
mod saved;
mod slices;

use flashweir_run::{Completion, Drive, DriveOptions, DriveSpec};
use flashweir_trace::{Op, Request};
use serde_json::Value;

/// A setting, as on the command line.
type Setting<'a> = (&'a str, &'a str);

const SMALL: [Setting<'_>; 4] =
    [("channels", "2"), ("capacity", "2MiB"), ("page", "4KiB"), ("pages_per_block", "8")];

fn spec(settings: &[Setting<'_>]) -> DriveSpec {
    let overrides = SMALL.iter().chain(settings);
    DriveSpec {
        overrides: overrides.map(|(key, value)| ((*key).into(), Value::String((*value).into()))).collect(),
        options: DriveOptions { verify: true, ..DriveOptions::default() },
        ..DriveSpec::default()
    }
}

fn drive(settings: &[Setting<'_>]) -> Drive {
    Drive::open(&spec(settings), None, &mut |_| true).unwrap_or_else(|error| panic!("{settings:?}: {error}"))
}

/// A page write or read.
fn request(op: Op, time_ns: u64, page: u64) -> Request {
    Request { time_ns, lba: page * 8, sectors: 8, stream: 0, op, handle: 0 }
}

fn poll(drive: &mut Drive) -> Vec<Completion> {
    let mut completions = Vec::new();
    drive.poll(&mut completions);
    completions
}

/// The drive that comes back from a file.
fn reloaded(drive: &Drive) -> Drive {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("saved.drive");
    drive.save(&path).expect("saved");
    Drive::load(&path, None).expect("loaded")
}

/// Settings that a host with one request at a time would not notice act with the caller's host, and others are named.
#[test]
fn settings_are_judged_by_the_host_that_there_is() {
    let buffer = [
        ("buffer.bytes", "64KiB"),
        ("buffer.ack", "flash"),
        ("buffer.replacement", "fab"),
        ("buffer.coalesce", "false"),
    ];
    let result = drive(&buffer).result();
    let kept = &result["config"]["buffer"];
    assert_eq!((&kept["replacement"], &kept["coalesce"]), (&Value::from("fab"), &Value::from(false)));
    assert_eq!(result["no_effect"], Value::Array(Vec::new()));

    let idle = drive(&[("gc.planner", "forwarding")]);
    assert_eq!(
        idle.result()["no_effect"].as_array().expect("a list").len(),
        1,
        "{}",
        idle.result()["no_effect"]
    );
    assert_eq!(reloaded(&idle).result()["no_effect"], idle.result()["no_effect"]);
}
