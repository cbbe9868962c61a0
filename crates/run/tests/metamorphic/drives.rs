//! All keys on many drives: none is silently without effect on any of them.

use super::table::settings;
use super::{MIXED, SMALL, Setting, over, result};

/// Settings that change nothing on a drive although they are not refused.
fn silent(drive: &[Setting]) -> Vec<String> {
    let base = over(&SMALL, drive);
    let before = result(&base, MIXED).unwrap_or_else(|error| panic!("{drive:?}: {error}"));
    let mut silent = Vec::new();
    for setting in settings() {
        let changed = over(&base, &[setting]);
        if changed == base {
            continue;
        }
        match result(&changed, MIXED) {
            Ok(after) if after != before => {}
            Ok(_) => silent.push(format!("{}={}", setting.0, setting.1)),
            Err(error) => {
                let message = error.to_string();
                assert!(message.len() > setting.0.len(), "{setting:?} on {drive:?}: {message}");
            }
        }
    }
    silent
}

#[test]
fn explore() {
    let drives: [&[Setting]; 16] = [
        &[],
        &[("host.queue_depth", "8")],
        &[("host.mode", "open")],
        &[("dies", "2"), ("host.queue_depth", "4")],
        &[("planes", "2")],
        &[("planes", "2"), ("timing.multi_plane", "true"), ("host.queue_depth", "4")],
        &[("buffer.bytes", "64KiB")],
        &[("buffer.bytes", "64KiB"), ("host.queue_depth", "4"), ("dies", "2")],
        &[("buffer.bytes", "64KiB"), ("buffer.ack", "flash")],
        &[("buffer.bytes", "64KiB"), ("planes", "2")],
        &[("alloc.kind", "dynamic")],
        &[("alloc.kind", "dynamic"), ("host.queue_depth", "8"), ("planes", "2"), ("gc.victim", "d-choices")],
        &[("alloc.kind", "dynamic"), ("buffer.bytes", "64KiB")],
        &[("ftl.kind", "direct"), ("precondition", "empty")],
        &[("timing.bus", "0"), ("dies", "2"), ("host.mode", "open")],
        &[("sched.kind", "read-first"), ("host.mode", "open")],
    ];
    for drive in drives {
        eprintln!("{drive:?}: {:?}", silent(drive));
    }
}
