//! Saved drives: what is loaded is what was saved.

use flashweir_run::{Drive, DriveOptions, DriveSpec, ErrorKind, Place, RunSpec, WorkloadSpec, simulate};
use flashweir_ssd::config::layers::to_value;
use flashweir_trace::{Op, Request};
use serde_json::json;

use super::{drive, poll, reloaded, request, spec};

const AGED: [(&str, &str); 2] = [("precondition", "full"), ("op_ratio", "0.3")];

/// Some writes, as many reads, at one instant and later.
fn requests(from_ns: u64, seed: u64) -> Vec<Request> {
    let one = |at: u64| {
        let op = if (at * seed).is_multiple_of(3) { Op::Read } else { Op::Write };
        request(op, from_ns + at / 3 * 20_000, at * seed % 512)
    };
    (0..300).map(one).collect()
}

/// Of every kind of state: translation layers, schedulers, buffers, planners, tenants, the checks.
/// Drives that are saved in the middle of a run.
const DRIVES: &[&[(&str, &str)]] = &[
    &[],
    &[("chips", "2"), ("planes", "2"), ("timing.multi_plane", "true")],
    &[("gc.victim", "cost-benefit"), ("gc.frontiers", "2"), ("wear.static_gap", "3")],
    &[("gc.victim", "d-choices"), ("chips", "2")],
    &[
        ("host.link", "20MB/s"),
        ("host.max_transfer", "4KiB"),
        ("host.doorbell", "3"),
        ("host.queue_entries", "9"),
    ],
    &[("host.iops_limit", "900"), ("host.bytes_limit", "9MiB"), ("host.bytes_burst", "64KiB")],
    &[("host.latency_target", "150us"), ("host.latency_window", "3ms")],
    &[("firmware.read_time", "30us"), ("firmware.hmb_bytes", "4KiB"), ("firmware.hmb_miss_time", "9us")],
    &[("ftl.kind", "dftl"), ("op_ratio", "0.6"), ("ftl.cache_bytes", "256")],
    &[("ftl.kind", "dftl"), ("op_ratio", "0.9"), ("ftl.cache_bytes", "256"), ("alloc.kind", "dynamic")],
    &[("ftl.kind", "fast"), ("buffer.bytes", "16KiB")],
    &[("ftl.kind", "kast"), ("engine", "event")],
    &[("ftl.kind", "bast")],
    &[("ftl.kind", "log-block")],
    &[("ftl.kind", "zones"), ("op_ratio", "0.6")],
    &[("ftl.kind", "zones"), ("ftl.host", "none"), ("precondition", "on-read"), ("ftl.max_open", "2")],
    &[("alloc.kind", "dynamic"), ("chips", "2"), ("buffer.bytes", "64KiB"), ("buffer.ack", "flash")],
    &[("sched.kind", "suspend"), ("sched.suspend_time", "7us"), ("sched.resume_time", "5us")],
    &[("sched.kind", "out-of-order"), ("chips", "2"), ("host.slots", "4")],
    &[("buffer.bytes", "64KiB"), ("buffer.backpressure", "rate"), ("buffer.admit_rate", "9MiB")],
    &[("sched.kind", "flin"), ("sched.interval", "1ms"), ("sched.priorities", "1,2")],
    &[("clock", "lock-step"), ("buffer.bytes", "32KiB")],
    &[("gc.planner", "cycle-filling"), ("buffer.bytes", "32KiB")],
    &[("ftl.kind", "fast"), ("gc.planner", "selective-filling"), ("buffer.bytes", "64KiB")],
    &[("alloc.kind", "dynamic"), ("tenants.channels", "learned"), ("tenants.window_requests", "20")],
    &[("alloc.kind", "superblock"), ("chips", "2"), ("alloc.parity", "1"), ("op_ratio", "0.6")],
    &[("alloc.kind", "superblock"), ("chips", "2"), ("buffer.bytes", "64KiB")],
    &[("alloc.kind", "superblock"), ("clock", "lock-step"), ("buffer.bytes", "32KiB")],
    &[
        ("alloc.kind", "superblock"),
        ("chips", "2"),
        ("alloc.superblock_dies", "2"),
        ("gc.planner", "cycle-filling"),
        ("buffer.bytes", "32KiB"),
    ],
    &[("buffer.bytes", "32KiB"), ("buffer.replacement", "block-lru")],
    &[("timing.cache_program", "true")],
    &[("slc.kind", "static"), ("nand.cell", "tlc")],
    &[("slc.kind", "both"), ("nand.cell", "mlc"), ("slc.fold_after", "30us"), ("slc.when_full", "direct")],
    &[
        ("slc.kind", "both"),
        ("slc.static_blocks", "1"),
        ("nand.cell", "mlc"),
        ("alloc.kind", "superblock"),
        ("alloc.parity", "1"),
        ("op_ratio", "1.5"),
        ("slc.fold_after", "30us"),
    ],
    &[
        ("slc.kind", "both"),
        ("slc.static_blocks", "1"),
        ("nand.cell", "mlc"),
        ("ftl.kind", "dftl"),
        ("ftl.cache_bytes", "512"),
        ("op_ratio", "1.5"),
        ("slc.fold_after", "30us"),
    ],
];

#[test]
fn a_loaded_drive_goes_on_as_the_saved_one() {
    for settings in DRIVES {
        let settings = [&AGED[..], settings].concat();
        let mut saved = drive(&settings);
        saved.submit(&requests(0, 7)).expect("submitted");
        saved.advance_to(700_123).expect("advanced");
        saved.reset_stats();
        let mut loaded = reloaded(&saved);
        assert_eq!((loaded.now_ns(), loaded.outstanding()), (saved.now_ns(), saved.outstanding()));
        assert_eq!(to_value(loaded.config()), to_value(saved.config()));
        for seed in [11, 13] {
            let more = requests(saved.now_ns(), seed);
            assert_eq!(saved.submit(&more).expect("submitted"), loaded.submit(&more).expect("submitted"));
            for drive in [&mut saved, &mut loaded] {
                drive.advance_to(drive.now_ns() + 1_000_000).expect("advanced");
            }
            assert_eq!(poll(&mut saved), poll(&mut loaded), "{settings:?}");
        }
        let finished = |drive: Drive| {
            let mut result = drive.finish().expect("finished");
            result.as_object_mut().expect("an object").retain(|key, _| !key.ends_with("wall_s"));
            result
        };
        assert_eq!(finished(saved), finished(loaded), "{settings:?}");
    }
}

#[test]
fn options_are_saved_too() {
    let options = DriveOptions {
        seed: Some(5),
        latency_parts: true,
        tenants: vec!["web".into(), "db".into()],
        windows: true,
        ..DriveOptions::default()
    };
    let saved = Drive::open(&DriveSpec { options: options.clone(), ..spec(&AGED) }, None, &mut |_| true);
    let mut saved = saved.expect("a drive");
    saved.submit(&requests(0, 3)).expect("submitted");
    let mut loaded = reloaded(&saved);
    assert_eq!((loaded.options(), loaded.tenants()), (&options, &["web".to_owned(), "db".to_owned()][..]));
    assert!(loaded.drain_while(&mut || true).expect("drained"));
    assert!(poll(&mut loaded).iter().all(|done| done.parts.is_some()));
    assert_eq!(loaded.result()["seed"], json!(5));
}

/// An allocator outside stays with its process: who loads the drive gives it one.
#[test]
fn an_allocator_outside_is_given_again() {
    let settings =
        [("alloc.kind", "dynamic"), ("tenants.channels", "external"), ("tenants.window_requests", "10")];
    let allocator = || {
        let answer = |_: &str| Ok::<String, String>("{\"workload\": [1]}".into());
        Some(Box::new(answer) as flashweir_run::Decide)
    };
    let mut saved = Drive::open(&spec(&settings), allocator(), &mut |_| true).expect("a drive");
    saved.submit(&requests(0, 5)).expect("submitted");
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("saved.drive");
    saved.save(&path).expect("saved");
    let refused = Drive::load(&path, None).expect_err("without an allocator").to_string();
    assert!(refused.contains("expected an allocator"), "{refused}");
    let mut loaded = Drive::load(&path, allocator()).expect("loaded");
    for drive in [&mut saved, &mut loaded] {
        assert!(drive.drain_while(&mut || true).expect("drained"));
    }
    assert_eq!(poll(&mut saved), poll(&mut loaded));
    assert!(Drive::load(&path, allocator()).is_ok(), "as often as one likes");
    drive(&[]).save(&path).expect("saved");
    assert!(Drive::load(&path, allocator()).is_err(), "nobody asks it");
}

#[test]
fn damaged_drives_are_refused_wherever_they_are_damaged() {
    let mut saved = drive(&AGED);
    saved.submit(&requests(0, 7)).expect("submitted");
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("saved.drive");
    saved.save(&path).expect("saved");
    let file = std::fs::read(&path).expect("a file");
    // A drive takes far less than its maps could: parts that were never written take none.
    assert!(file.len() < 60_000, "{}", file.len());
    for at in (0..file.len()).step_by(211) {
        let mut other = file.clone();
        other[at] ^= 0x04;
        std::fs::write(&path, other).expect("written");
        let error = Drive::load(&path, None).expect_err("damaged");
        assert_eq!((error.kind(), error.to_string().lines().count()), (ErrorKind::Config, 1), "{error}");
        std::fs::write(&path, &file[..at]).expect("written");
        assert!(Drive::load(&path, None).is_err(), "{at}");
    }
    let nowhere = saved.save(std::path::Path::new("/nowhere/saved.drive")).expect_err("no folder");
    assert!(nowhere.to_string().starts_with("/nowhere/saved.drive: "), "{nowhere}");
}

/// Records belong to the run: its drive goes on as that of a run which was not recorded.
/// Asks a run for a record at a place.
type Record = fn(&mut RunSpec, Option<Place>);

#[test]
fn the_drive_of_a_recorded_run_goes_on_as_that_of_another() {
    let dir = tempfile::tempdir().expect("a folder");
    let place = |name: &str| Some(Place::from(dir.path().join(name)));
    let records: [(&str, Record); 6] = [
        ("requests", |run, place| run.requests = place),
        ("timeline", |run, place| run.timeline = place),
        ("activity", |run, _| run.activity = Some(json!(true))),
        ("explain", |run, _| run.explain = Some("p99".into())),
        ("samples", |run, place| run.samples = place),
        ("power cuts", |run, _| run.power_cut = Some(json!(5))),
    ];
    let drives: [&[(&str, &str)]; 4] = [
        &[],
        &[("engine", "event"), ("chips", "2"), ("sched.kind", "read-first")],
        &[("host.queue_depth", "4"), ("buffer.bytes", "32KiB")],
        &[("alloc.kind", "dynamic"), ("host.queue_depth", "4")],
    ];
    for (settings, verify) in drives.into_iter().flat_map(|settings| [(settings, false), (settings, true)]) {
        let ended = |record: Option<fn(&mut RunSpec, Option<Place>)>| {
            let mut run = RunSpec {
                workloads: vec![WorkloadSpec {
                    spec: "random:span=2MiB,size=4KiB,count=900,write=0.7,trim=0.05,flush=0.02".into(),
                    ..WorkloadSpec::default()
                }],
                save_state: place("saved"),
                verify,
                overrides: spec(&[&AGED, settings].concat()).overrides,
                ..RunSpec::default()
            };
            if let Some(record) = record {
                record(&mut run, place("record"));
            }
            let result =
                simulate(&run, &mut |_| true).unwrap_or_else(|error| panic!("{settings:?}: {error}"));
            let mut drive = Drive::load(&dir.path().join("saved"), None).expect("loaded");
            drive.submit(&requests(drive.now_ns(), 11)).expect("submitted");
            assert!(drive.drain_while(&mut || true).expect("drained"));
            let mut done = poll(&mut drive);
            for done in &mut done {
                done.parts = None;
            }
            let counted = drive.finish().expect("finished");
            (result["flash"].clone(), done, counted["flash"].clone(), counted["wear"].clone())
        };
        let plain = ended(None);
        assert_eq!(plain.1.len(), 300);
        for (name, record) in records {
            assert_eq!(ended(Some(record)), plain, "{name}, verify={verify}: {settings:?}");
        }
    }
}
