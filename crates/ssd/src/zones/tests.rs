//! The state machine of zones: each rule by an example, and 100,000 random commands against a model of the specification.

mod model;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::*;
use model::{Model, Op, draw};

fn layout() -> Layout {
    Layout {
        zones: 4,
        size: 16,
        capacity: 12,
        max_open: Some(2),
        max_active: Some(3),
        max_append: Some(6),
        reads_across: false,
        zrwa: Some(Zrwa { size: 4, granularity: 2, resources: 1 }),
    }
}

fn states(zones: &Zones) -> Vec<ZoneState> {
    zones.report().iter().map(|zone| zone.state).collect()
}

const OPEN: Action = Action::Open { zrwa: false };

#[test]
fn a_zone_takes_writes_at_its_write_pointer_until_its_capacity() {
    let mut zones = Zones::new(layout());
    assert_eq!(zones.write(17, 1), Err(Status::InvalidWrite));
    assert_eq!(zones.write(16, 13), Err(Status::ZoneBoundary));
    assert_eq!(states(&zones), [ZoneState::Empty; 4], "a refused write changes nothing");
    let change = zones.write(16, 11).expect("at the write pointer");
    assert_eq!((change.zone, change.after.state, change.after.written), (1, ZoneState::ImplicitlyOpened, 11));
    assert_eq!(zones.write(16, 1), Err(Status::InvalidWrite));
    assert_eq!(zones.write(27, 1).expect("the last block").after.state, ZoneState::Full);
    assert_eq!(zones.write(28, 1), Err(Status::ZoneFull));
    assert_eq!((zones.open(), zones.active()), (0, 0));
    assert_eq!(zones.write(64, 1), Err(Status::LbaOutOfRange));
    assert_eq!(zones.write(63, 2), Err(Status::LbaOutOfRange));
    assert_eq!(zones.write(u64::MAX, 2), Err(Status::LbaOutOfRange));
    assert_eq!(zones.write(0, 0), Err(Status::InvalidField));
}

#[test]
fn an_append_returns_its_address() {
    let mut zones = Zones::new(layout());
    assert_eq!(zones.append(32, 5).expect("appended").0, 32);
    assert_eq!(zones.append(32, 5).expect("appended").0, 37);
    assert_eq!(zones.append(33, 1).map(|_| ()), Err(Status::InvalidField), "not the first block of a zone");
    assert_eq!(zones.append(32, 7).map(|_| ()), Err(Status::InvalidField), "longer than max_append");
    assert_eq!(zones.append(32, 5).map(|_| ()), Err(Status::ZoneBoundary));
}

#[test]
fn the_zone_opened_by_a_write_longest_ago_makes_room_and_one_opened_by_a_command_does_not() {
    use ZoneState::{Closed, Empty, ExplicitlyOpened, ImplicitlyOpened};
    let mut zones = Zones::new(layout());
    zones.write(0, 1).expect("zone 0");
    zones.write(16, 1).expect("zone 1");
    zones.write(32, 1).expect("zone 2");
    assert_eq!(states(&zones), [Closed, ImplicitlyOpened, ImplicitlyOpened, Empty]);
    assert_eq!(zones.write(48, 1), Err(Status::TooManyActive));
    for zone in [16, 32] {
        zones.manage(OPEN, zone, false).expect("open already");
    }
    assert_eq!(states(&zones), [Closed, ExplicitlyOpened, ExplicitlyOpened, Empty]);
    assert_eq!(zones.write(1, 1), Err(Status::TooManyOpen));
    assert_eq!(zones.manage(OPEN, 0, false), Err(Status::TooManyOpen));
    assert_eq!(zones.manage(OPEN, 0, true), Err(Status::TooManyOpen));
    zones.manage(Action::Close, 0, true).expect("all open ones");
    assert_eq!((zones.open(), zones.active()), (0, 3));
    zones.write(1, 1).expect("a closed zone opens again");
}

#[test]
fn finish_reset_and_offline_make_the_transitions_of_the_specification() {
    let mut zones = Zones::new(layout());
    zones.write(0, 3).expect("zone 0");
    let finished = zones.manage(Action::Finish, 0, false).expect("active")[0];
    assert_eq!(
        (finished.after.state, finished.after.written),
        (ZoneState::Full, 3),
        "what was written is known"
    );
    assert_eq!(zones.manage(Action::Finish, 0, false), Ok(Vec::new()), "full already");
    assert_eq!(zones.manage(Action::Close, 0, false), Err(Status::InvalidTransition));
    assert_eq!(zones.manage(Action::Reset, 1, false), Err(Status::InvalidField));
    assert_eq!(zones.manage(Action::Reset, 0, true).expect("all").len(), 1);
    assert_eq!(states(&zones), [ZoneState::Empty; 4]);
    zones.write(16, 2).expect("zone 1");
    zones.fail(1, true);
    assert_eq!(zones.write(18, 1), Err(Status::ZoneReadOnly));
    assert_eq!(zones.read(16, 2), Ok(()));
    assert_eq!(zones.manage(Action::Reset, 16, false), Err(Status::InvalidTransition));
    zones.manage(Action::Offline, 16, false).expect("read only");
    assert_eq!(zones.read(16, 2), Err(Status::ZoneOffline));
    assert_eq!(zones.write(18, 1), Err(Status::ZoneOffline));
    assert_eq!(zones.read(15, 2), Err(Status::ZoneBoundary));
}

#[test]
fn a_random_write_area_moves_with_writes_behind_it_and_with_commits() {
    let mut zones = Zones::new(layout());
    let with_area = Action::Open { zrwa: true };
    zones.manage(with_area, 0, false).expect("one area");
    assert_eq!(zones.manage(with_area, 16, false), Err(Status::ZrwaUnavailable));
    for lba in [3, 0, 1, 0] {
        assert_eq!(zones.write(lba, 1).expect("in the area").after.written, 0);
    }
    assert_eq!(zones.append(0, 1).map(|_| ()), Err(Status::InvalidZoneOperation));
    assert_eq!(zones.write(4, 1).expect("just behind it").after.written, 2, "commits whole granules");
    assert_eq!(zones.write(1, 1), Err(Status::InvalidWrite));
    assert_eq!(zones.write(10, 1), Err(Status::InvalidWrite), "beyond the area behind the area");
    assert_eq!(zones.commit(2), Err(Status::InvalidField), "half a granule");
    assert_eq!(zones.commit(5).expect("two granules").after.written, 6);
    assert_eq!(zones.commit(5), Err(Status::InvalidField), "committed already");
    zones.write(6, 6).expect("up to the capacity");
    assert_eq!(zones.commit(11).expect("the rest").after.state, ZoneState::Full);
    zones.manage(with_area, 16, false).expect("a full zone has given its area back");
}

/// Does it in the state machine. Returns the address of an append, or the code of the status.
fn answer(zones: &mut Zones, op: Op) -> Result<Option<u64>, u8> {
    let done = match op {
        Op::Read(lba, blocks) => zones.read(lba, blocks).map(|()| None),
        Op::Write(lba, blocks) => zones.write(lba, blocks).map(|_| None),
        Op::Append(lba, blocks) => zones.append(lba, blocks).map(|(at, _)| Some(at)),
        Op::Commit(lba) => zones.commit(lba).map(|_| None),
        Op::Manage(action, lba, all) => zones.manage(action, lba, all).map(|_| None),
        Op::Fail(zone, readable) => {
            zones.fail(zone as u32, readable);
            Ok(None)
        }
    };
    done.map_err(Status::code)
}

#[test]
fn a_hundred_thousand_random_commands_do_what_a_model_of_the_specification_does() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(20);
    let mut seen = std::collections::BTreeSet::new();
    for round in 0..100u32 {
        let mut below = |bound: u64| rng.next_u64() % bound;
        let capacity = 4 + below(13);
        let granularity = 1 + below(2);
        let limit = |value: u64| (value > 0).then_some(value as u32);
        let max_open = limit(below(4));
        let layout = Layout {
            zones: 3 + below(6) as u32,
            size: capacity + below(3),
            capacity,
            max_open,
            max_active: limit(below(3)).map(|more| more + max_open.unwrap_or(1)),
            max_append: (below(2) == 0).then_some(3),
            reads_across: below(2) == 0,
            zrwa: (below(3) > 0).then(|| Zrwa {
                size: granularity * (1 + below(3)),
                granularity,
                resources: 1 + below(2) as u32,
            }),
        };
        let (mut zones, mut model) = (Zones::new(layout), Model::new(&layout));
        for step in 0..1000 {
            let op = draw(&mut rng, &layout, &model);
            let (found, expected) = (answer(&mut zones, op), model.answer(op));
            assert_eq!(found, expected, "round {round}, command {step}: {op:?} of {layout:?}");
            let report = zones.report().iter().map(|zone| (zone.state, zone.written, zone.has_zrwa));
            assert!(report.eq(model.report()), "round {round}, command {step}: {op:?} of {layout:?}");
            assert_eq!((zones.open(), zones.active()), model.counts(), "round {round}, command {step}");
            seen.insert(found.err());
        }
    }
    let all: std::collections::BTreeSet<_> =
        Status::ALL.iter().map(|status| Some(status.code())).chain([None]).collect();
    assert_eq!(seen, all, "every status was returned");
}
