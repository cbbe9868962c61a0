//! Zones whose blocks are retired: read-only where data is, offline where none is.

use flashweir_ssd::zones::{Status, ZoneState};
use flashweir_trace::{Op, Request};

use super::ageing::{LIMIT, aged, text};
use super::rig::{MS, Setting, drive, ends_in_slices, pages, read, run, run_both, write};
use super::zones::errors;

/// Zones of 16 pages on four dies; a block needs a retry from its third erase on, and is retired then.
fn worn(more: &[Setting]) -> Vec<Setting> {
    let own = [
        ("channels", "4"),
        ("capacity", "512KiB"),
        ("alloc.kind", "superblock"),
        ("ftl.kind", "zones"),
        ("ftl.host", "none"),
        ("ageing.alpha", text(LIMIT / 2.5)),
        ("ageing.retire", "1"),
    ];
    aged(&[&own[..], more].concat())
}

fn manage(time_ns: u64, op: Op, zone: u64) -> Request {
    pages(time_ns, op, zone * 16, 16)
}

/// A zone is filled and reset so many times.
fn cycles(zone: u64, count: u64) -> Vec<Request> {
    let one = |at: u64| {
        let start_ns = at * 20 * MS;
        [pages(start_ns, Op::Write, zone * 16, 16), manage(start_ns + 10 * MS, Op::Reset, zone)]
    };
    (0..count).flat_map(one).collect()
}

fn states(settings: &[Setting], requests: &[Request]) -> Vec<ZoneState> {
    let mut simulation = drive(settings);
    simulation.serve(requests).expect("served");
    simulation.zones().expect("zones").report().iter().map(|zone| zone.state).collect()
}

#[test]
fn a_zone_that_wears_out_when_it_is_reset_is_offline_and_fails_reads_and_writes() {
    let later = 200 * MS;
    let requests = [
        cycles(1, 4),
        vec![
            write(later, 0),
            read(later + MS, 16),
            write(later + MS, 16),
            pages(later + MS, Op::Append, 16, 2),
            manage(later + MS, Op::Reset, 1),
            manage(later + MS, Op::Trim, 1),
            pages(later + MS, Op::Read, 15, 2),
            read(later + 2 * MS, 0),
        ],
    ]
    .concat();
    for more in [&[][..], &[("buffer.bytes", "16KiB")], &[("host.link", "pcie3x4")]] {
        let settings = worn(more);
        let outcome =
            if more.is_empty() { run_both(&settings, &requests) } else { run(&settings, &requests) };
        let counters = &outcome.counters;
        // The third reset is the last one: the write, and the reset, after it fail, too.
        let failed = [(Status::ZoneOffline, 5), (Status::InvalidTransition, 3)];
        assert_eq!(errors(&counters.zones), failed, "{more:?}");
        assert_eq!((counters.zones.resets, counters.ageing.retired_blocks), (3, 4), "{more:?}");
        assert_eq!(counters.zones.refused_bytes, (16 + 1 + 2) * 4096);
        let states = states(&settings, &requests);
        assert_eq!(states[..3], [ZoneState::ImplicitlyOpened, ZoneState::Offline, ZoneState::Empty]);
        assert_eq!(ends_in_slices(&settings, &requests, 3), outcome.completions(), "{more:?}");
    }
}

#[test]
fn a_zone_that_wears_out_with_data_is_read_only_until_it_is_taken_offline() {
    // Cells wear out by reads here.
    let by_reads = [("ageing.gamma", text(LIMIT / 20.0)), ("ageing.q", "1"), ("ageing.p", "0")];
    let settings = worn(&[&by_reads[..], &[("ageing.alpha", "0"), ("ageing.reads_of", "block")]].concat());
    let reads = (0..60).map(|at| read((20 + at) * MS, 16));
    let later = 200 * MS;
    let more = [
        read(later, 17),
        write(later, 24),
        manage(later, Op::Reset, 1),
        manage(later, Op::Finish, 1),
        pages(later, Op::Reset, 0, 128),
        read(later + MS, 18),
        manage(later + 2 * MS, Op::Offline, 1),
        read(later + 3 * MS, 18),
    ];
    let requests: Vec<_> = [pages(0, Op::Write, 16, 8)].into_iter().chain(reads).chain(more).collect();
    let counters = run_both(&settings, &requests).counters;
    let failed = [(Status::ZoneReadOnly, 1), (Status::ZoneOffline, 1), (Status::InvalidTransition, 2)];
    assert_eq!(errors(&counters.zones), failed);
    assert_eq!((counters.ageing.retired_blocks, counters.zones.resets), (4, 0));
    assert_eq!(states(&settings, &requests[..requests.len() - 2])[1], ZoneState::ReadOnly);
    assert_eq!(states(&settings, &requests)[1], ZoneState::Offline);
}

#[test]
fn a_zone_that_is_mapped_when_it_is_written_has_spare_blocks_before_one_is_lost() {
    // 8 zones and 13 superblocks, of which each takes three erases in turn: the 27th wears the first one out.
    let settings = worn(&[("ftl.zone_map", "dynamic")]);
    let state = |count: u64| states(&settings, &cycles(1, count));
    assert!(
        state(31).iter().all(|state| *state == ZoneState::Empty),
        "five worn, and eight left for as many zones"
    );
    let lost: Vec<_> = state(32).into_iter().map(|state| state == ZoneState::Offline).collect();
    assert_eq!(lost, [false, false, false, false, false, false, false, true]);
    for more in [&[][..], &[("buffer.bytes", "16KiB")]] {
        let settings = worn(&[&[("ftl.zone_map", "dynamic")], more].concat());
        let requests = cycles(1, 50);
        let outcome =
            if more.is_empty() { run_both(&settings, &requests) } else { run(&settings, &requests) };
        let counters = &outcome.counters;
        // With the twelfth the zone is lost that was written; the first one keeps the last superblock.
        assert_eq!((counters.zones.resets, counters.ageing.retired_blocks), (38, 12 * 4), "{more:?}");
        assert_eq!(errors(&counters.zones), [(Status::ZoneOffline, 12), (Status::InvalidTransition, 12)]);
        let lost = states(&settings, &requests);
        assert!(lost[0] == ZoneState::Empty && lost[1..].iter().all(|state| *state == ZoneState::Offline));
    }
}
