//! All keys on many drives: none is silently without effect on any of them. One that has none is refused, or noted.

use flashweir_run::plan;

use super::table::settings;
use super::{AGED, MIXED, SMALL, Setting, TENANTS, is_there, lists, over, result, run_of};

/// Settings that change nothing on a drive although they are not refused.
///
/// A setting without effect is set back before the run, so that a drive with it has the configuration of the drive without it.
/// If it is noted, too, such a drive is not run again, except over the default drive, where all run.
fn silent(drive: &[Setting]) -> Vec<Setting> {
    let base = over(&SMALL, drive);
    let tells_apart = base.iter().any(|(key, _)| *key == "tenants.channels");
    let workload = if tells_apart { TENANTS } else { MIXED };
    let before = result(&base, workload).unwrap_or_else(|error| panic!("{drive:?}: {error}"));
    let config = plan(&run_of(&base, workload)).expect("it ran")["config"].take();
    let mut silent = Vec::new();
    for setting in settings() {
        // The engine never changes a result.
        if is_there(&base, setting) || setting.0 == "engine" {
            continue;
        }
        // A closed loop may leave nothing idle, and send no write early enough to be held back.
        let is_for_idle_time = setting.0.starts_with("background.")
            || ["buffer.destage", "buffer.backpressure"].contains(&setting.0);
        if is_for_idle_time && !drive.contains(&("host.mode", "open")) {
            continue;
        }
        // There no two requests arrive at one instant.
        if setting.0 == "sched.dispatch" && drive.contains(&("host.mode", "open")) {
            continue;
        }
        let changed = over(&base, &[setting]);
        let plan = plan(&run_of(&changed, workload));
        let is_noted = plan.as_ref().is_ok_and(|plan| lists(plan, setting));
        if is_noted && !drive.is_empty() && plan.is_ok_and(|plan| plan["config"] == config) {
            continue;
        }
        match result(&changed, workload) {
            Ok(after) if after != before => {}
            Ok(_) if is_noted => {}
            Ok(_) => silent.push(setting),
            Err(error) => {
                let message = error.to_string();
                let names_it =
                    message.contains(setting.0) || drive.iter().any(|(key, _)| message.contains(key));
                assert!(names_it, "{setting:?} on {drive:?}: {message}");
            }
        }
    }
    silent
}

#[track_caller]
fn assert_every_key_acts(drives: &[&[Setting]]) {
    for drive in drives {
        assert_eq!(silent(drive), [], "without effect on {drive:?}, and not refused");
    }
}

#[test]
fn on_the_default_drive_and_with_more_requests_under_way() {
    assert_every_key_acts(&[
        &[],
        &[("host.queue_depth", "8")],
        &[("host.mode", "open")],
        &[("sched.kind", "read-first"), ("host.mode", "open")],
        &[("host.mode", "open"), ("host.slots", "3")],
    ]);
}

#[test]
fn on_several_dies_and_planes() {
    assert_every_key_acts(&[
        &[("dies", "2"), ("host.queue_depth", "4")],
        &[("planes", "2")],
        &[("planes", "2"), ("timing.multi_plane", "true"), ("host.queue_depth", "4")],
        &[("timing.bus", "0"), ("dies", "2"), ("host.mode", "open")],
    ]);
}

#[test]
fn with_a_write_buffer() {
    assert_every_key_acts(&[
        &[("buffer.bytes", "64KiB")],
        &[("buffer.bytes", "64KiB"), ("host.queue_depth", "4"), ("dies", "2")],
        &[("buffer.bytes", "64KiB"), ("buffer.ack", "flash")],
        &[("buffer.bytes", "64KiB"), ("planes", "2")],
    ]);
}

#[test]
fn where_blocks_are_mapped() {
    assert_every_key_acts(&[
        &[("ftl.kind", "log-block")],
        &[("ftl.kind", "bast"), ("planes", "2")],
        &[("ftl.kind", "kast"), ("host.mode", "open")],
        &[("ftl.kind", "fast"), ("ftl.sw_full", "partial-merge"), ("buffer.bytes", "64KiB")],
    ]);
}

#[test]
fn with_managed_channels() {
    const FAST: Setting = ("ftl.kind", "fast");
    const STEP: Setting = ("clock", "lock-step");
    assert_every_key_acts(&[
        &[FAST],
        &[
            ("ftl.kind", "log-block"),
            STEP,
            ("gc.planner", "cycle-stealing"),
            ("buffer.bytes", "64KiB"),
            // Where there is more than that, cycle filling leaves units out.
            ("gc.spare_blocks", "1"),
        ],
        &[
            FAST,
            STEP,
            ("gc.planner", "super-data-block"),
            ("buffer.bytes", "64KiB"),
            ("buffer.order", "in-order"),
        ],
        &[FAST, ("gc.planner", "forwarding"), ("buffer.bytes", "64KiB")],
        &[
            FAST,
            ("gc.planner", "cycle-filling"),
            ("buffer.bytes", "64KiB"),
            ("planes", "2"),
            // By default all units take part, as none has 200 spare blocks: that is cycle stealing.
            ("gc.spare_blocks", "1"),
        ],
        &[("gc.planner", "cycle-filling"), ("buffer.bytes", "64KiB"), ("gc.spare_blocks", "1")],
        &[("units", "synchronized"), FAST, ("channels", "2")],
        &[STEP, ("host.queue_depth", "4"), ("planes", "2"), ("planes_bound", "true")],
    ]);
}

#[test]
fn with_cells_that_age() {
    assert_every_key_acts(&[&AGED]);
    let refresh =
        [("host.mode", "open"), ("background.refresh.after", "1ms"), ("background.refresh.retries", "4")];
    assert_every_key_acts(&[&[&AGED[..], &refresh].concat()]);
}

#[test]
fn with_a_map_on_flash() {
    let drive = [("ftl.kind", "dftl"), ("ftl.cache_bytes", "2KiB"), ("op_ratio", "0.75")];
    assert_every_key_acts(&[
        &drive,
        &[drive[0], drive[1], drive[2], ("host.queue_depth", "8"), ("dies", "2")],
    ]);
}

#[test]
fn with_dynamic_allocation() {
    assert_every_key_acts(&[
        &[("alloc.kind", "dynamic")],
        &[("alloc.kind", "dynamic"), ("host.queue_depth", "8"), ("planes", "2"), ("gc.victim", "d-choices")],
        &[("alloc.kind", "dynamic"), ("buffer.bytes", "64KiB")],
    ]);
}

#[test]
fn with_tenants_on_channels_of_their_own() {
    let windows = [("tenants.window_requests", "300"), ("tenants.level_requests", "20"), ("op_ratio", "0.5")];
    let drive = |more: &[Setting]| [&windows, more].concat();
    let open = ("host.mode", "open");
    assert_every_key_acts(&[
        &drive(&[("alloc.kind", "dynamic"), ("tenants.channels", "isolated"), open]),
        &drive(&[("alloc.kind", "hybrid"), ("tenants.channels", "isolated"), ("dies", "2"), open]),
    ]);
    // A group of reads alone places nothing, so `hybrid` is `dynamic` where groups are of reads or of writes.
    let by_type = drive(&[("alloc.kind", "dynamic"), ("tenants.channels", "ssdkeeper"), open]);
    assert_eq!(silent(&by_type), [("alloc.kind", "hybrid")]);
}

#[test]
fn with_physical_addresses_only_the_shape_of_blocks_means_nothing() {
    let drive = [("ftl.kind", "direct"), ("precondition", "empty")];
    // Presets describe hardware, so these can't be refused; they still show in the result's `geometry`.
    // One request at a time then takes as long whatever came before it, and every page is there.
    let hardware = [
        "planes",
        "pages_per_block",
        "capacity",
        "op_ratio",
        "op_raw",
        "blocks_per_unit",
        "timing.erase",
        "nand.bad_blocks",
        "host.arbitration",
        "precondition",
    ];
    for (key, value) in silent(&drive) {
        assert!(hardware.contains(&key), "{key}={value} is without effect, and not refused");
    }
    // With page types the place of a page in its block counts.
    let typed = [drive[0], drive[1], ("timing.program", "500us,1100us")];
    let silent = silent(&typed);
    assert!(!silent.contains(&("planes", "2")) && !silent.contains(&("pages_per_block", "7")), "{silent:?}");
}
