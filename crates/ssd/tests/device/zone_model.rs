//! Random commands to the zones of simulated drives, against the second model of the specification's state machine that the state
//! machine itself is held against.

#[path = "../../src/zones/tests/model.rs"]
mod model;

use flashweir_ssd::zones::{Action, Status};
use flashweir_trace::{Op as RequestOp, Request};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::rig::{Setting, drive, pages};
use super::zones::with;
use model::{Model, Op, draw};

/// A command as a request; none if no request says it, because it goes beyond the drive or is a failure of the media.
fn request(op: Op, time_ns: u64, zone: u64, all: u64) -> Option<Request> {
    let (op, page, count) = match op {
        Op::Read(lba, blocks) => (RequestOp::Read, lba, blocks),
        Op::Write(lba, blocks) => (RequestOp::Write, lba, blocks),
        Op::Append(lba, blocks) => (RequestOp::Append, lba, blocks),
        Op::Commit(lba) => (RequestOp::Commit, lba, 1),
        Op::Fail(..) => return None,
        Op::Manage(action, lba, every) => {
            let op = match action {
                Action::Open { zrwa: false } => RequestOp::Open,
                Action::Open { zrwa: true } => RequestOp::OpenZrwa,
                Action::Close => RequestOp::Close,
                Action::Finish => RequestOp::Finish,
                Action::Reset => RequestOp::Reset,
                Action::Offline => RequestOp::Offline,
            };
            if every { (op, 0, all) } else { (op, lba, zone.min(all.saturating_sub(lba))) }
        }
    };
    let fits = count > 0 && page.checked_add(count).is_some_and(|end| end <= all);
    fits.then(|| pages(time_ns, op, page, count as u32))
}

/// Drives with and without a buffer, of superblocks and of planes, on events and on busy-until times.
const DRIVES: [&[Setting]; 8] = [
    &[("ftl.zrwa_size", "16KiB"), ("ftl.zrwa_granularity", "8KiB"), ("ftl.zrwa_resources", "1")],
    &[
        ("ftl.zrwa_size", "24KiB"),
        ("ftl.zrwa_granularity", "8KiB"),
        ("ftl.max_open", "2"),
        ("ftl.max_active", "3"),
        ("buffer.bytes", "16KiB"),
    ],
    &[("ftl.zrwa_size", "8KiB"), ("ftl.finish", "mark"), ("ftl.max_open", "1"), ("engine", "event")],
    &[
        ("ftl.zrwa_size", "64KiB"),
        ("ftl.finish", "mark"),
        ("ftl.max_active", "2"),
        ("ftl.max_open", "2"),
        ("buffer.bytes", "8KiB"),
        ("buffer.ack", "flash"),
    ],
    &[
        ("ftl.zrwa_size", "8KiB"),
        ("ftl.zrwa_granularity", "8KiB"),
        ("ftl.zrwa_resources", "2"),
        ("alloc.superblock_dies", "2"),
        ("ftl.zone_map", "dynamic"),
        ("planes", "2"),
        ("timing.multi_plane", "true"),
        ("buffer.bytes", "64KiB"),
    ],
    &[("alloc.parity", "3"), ("ftl.zrwa_size", "12KiB"), ("ftl.max_open", "3"), ("ftl.max_active", "3")],
    &[
        ("alloc.kind", "striped"),
        ("ftl.zrwa_size", "4KiB"),
        ("ftl.zone_map", "dynamic"),
        ("precondition", "full"),
        ("sched.kind", "suspend"),
    ],
    &[("ftl.max_open", "2"), ("ftl.max_active", "4"), ("buffer.bytes", "16KiB")],
];

/// Gives a drive and the model so many commands, and compares their answers. Returns the codes of the failures.
fn compare(settings: &[Setting], seed: u64, count: u32) -> Vec<u8> {
    let mut simulation = drive(settings);
    let layout = *simulation.zones().expect("zones").layout();
    let (size, all) = (layout.size, layout.size * u64::from(layout.zones));
    let mut model = Model::new(&layout);
    if settings.contains(&("precondition", "full")) {
        for lba in 0..all {
            model.answer(Op::Write(lba, 1)).expect("in order");
        }
    }
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let (mut time_ns, mut served, mut failed) = (0, 0, Vec::new());
    while served < count {
        let op = draw(&mut rng, &layout, &model);
        let Some(request) = request(op, time_ns, size, all) else { continue };
        let expected = model.answer(op);
        let before = simulation.counters().zones.errors;
        simulation.serve(&[request]).unwrap_or_else(|error| panic!("command {served}, {op:?}: {error}"));
        drop(simulation.take_recorded());
        let after = simulation.counters().zones.errors;
        let found = (0..after.len()).find(|at| after[*at] > before[*at]).map(|at| Status::ALL[at].code());
        assert_eq!(found, expected.err(), "command {served}: {op:?} of {layout:?}, {settings:?}");
        let zones = simulation.zones().expect("zones");
        let report = zones.report().iter().map(|zone| (zone.state, zone.written, zone.has_zrwa));
        assert!(report.eq(model.report()), "command {served}: {op:?} of {layout:?}, {settings:?}");
        assert_eq!((zones.open(), zones.active()), model.counts(), "command {served}");
        failed.extend(expected.err());
        (served, time_ns) = (served + 1, time_ns + rng.next_u64() % 400_000);
    }
    let mut fork = simulation.snapshot();
    for simulation in [&mut simulation, &mut fork] {
        // All that is left can be read, and every read of the run was held against the last write.
        simulation.serve(&[pages(time_ns, RequestOp::Read, 0, all as u32)]).expect("served");
        simulation.finish().expect("verified");
    }
    assert_eq!(fork.counters(), simulation.counters());
    failed
}

#[test]
fn thirty_thousand_random_commands_to_drives_do_what_a_model_of_the_specification_does() {
    let mut seen = std::collections::BTreeSet::new();
    for (seed, more) in (0..).zip(DRIVES) {
        for round in 0..2 {
            seen.extend(compare(&with(more), 100 * round + seed, 2000));
        }
    }
    // The simulated drive has no limit of appends, and ends a run at an address beyond it.
    let media = [Status::LbaOutOfRange, Status::ZoneReadOnly, Status::ZoneOffline].map(Status::code);
    let all: std::collections::BTreeSet<_> =
        Status::ALL.iter().map(|status| status.code()).filter(|code| !media.contains(code)).collect();
    assert_eq!(seen, all, "every status but those of failed zones was returned");
}
