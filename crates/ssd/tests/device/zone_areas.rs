//! Random write areas of zones (ZRWA): written in any order and again, committed by command, by writes beyond them and by a finish.

use flashweir_ssd::CommandKind::Program;
use flashweir_ssd::zones::{Status, ZoneState};
use flashweir_trace::{Op, Request};

use super::rig::{ERASE, MS, PROGRAM, READ, Setting, TRANSFER, drive, pages, read, run, run_both, write};
use super::zones::{errors, with};

/// An area of four pages, committed in parts of two.
const AREA: [Setting; 3] =
    [("ftl.zrwa_size", "16KiB"), ("ftl.zrwa_granularity", "8KiB"), ("ftl.zrwa_resources", "2")];

fn manage(time_ns: u64, op: Op, zone: u64) -> Request {
    pages(time_ns, op, zone * 16, 16)
}

fn areas(more: &[Setting]) -> Vec<Setting> {
    with(&[&AREA[..], more].concat())
}

#[test]
fn pages_of_an_area_are_written_in_any_order_and_again_and_cost_no_flash() {
    let requests = [
        manage(0, Op::OpenZrwa, 1),
        write(MS, 19),
        write(2 * MS, 16),
        write(3 * MS, 19),
        pages(4 * MS, Op::Write, 18, 2),
        read(5 * MS, 19),
        read(5 * MS, 17),
        pages(6 * MS, Op::Read, 16, 4),
    ];
    let outcome = run_both(&areas(&[]), &requests);
    assert_eq!((outcome.commands.len(), outcome.latencies()), (0, vec![0; 8]));
    let counters = &outcome.counters;
    assert_eq!((counters.zones.rewritten_pages, counters.host_pages_written), (2, 5));
    assert_eq!((counters.buffer_hits, counters.unmapped_page_reads), (4, 2), "page 17 was not written");
    assert_eq!(errors(&counters.zones), []);
    let mut simulation = drive(&areas(&[]));
    simulation.serve(&requests).expect("served");
    let zone = simulation.zones().expect("zones").report()[1];
    assert_eq!((zone.state, zone.written, zone.has_zrwa), (ZoneState::ExplicitlyOpened, 0, true));
}

#[test]
fn a_write_beyond_the_area_commits_as_many_parts_as_it_needs() {
    let requests = [
        manage(0, Op::OpenZrwa, 0),
        pages(MS, Op::Write, 0, 3),
        pages(2 * MS, Op::Write, 4, 1),
        read(3 * MS, 1),
        read(4 * MS, 2),
        write(5 * MS, 1),
        write(5 * MS, 10),
        write(6 * MS, 2),
    ];
    let outcome = run_both(&areas(&[]), &requests);
    let programs: Vec<_> = outcome.commands.iter().filter(|command| command.0 == Program).collect();
    assert_eq!(programs.iter().map(|command| command.1).collect::<Vec<_>>(), [0, 1], "pages 0 and 1");
    let latencies = outcome.latencies();
    assert_eq!(latencies[2], TRANSFER + PROGRAM, "the write waits for what it commits");
    assert_eq!((latencies[3], latencies[4]), (READ + TRANSFER, 0));
    assert_eq!(
        errors(&outcome.counters.zones),
        [(Status::InvalidWrite, 2)],
        "behind the pointer, too far on"
    );
    let counts = outcome.counters.zones;
    assert_eq!((counts.implicit_commits, counts.commits, counts.committed_pages), (1, 0, 2));
    assert_eq!(counts.rewritten_pages, 1, "page 2");
}

#[test]
fn a_commit_programs_pages_that_were_not_written_without_data() {
    let commit = |time_ns, page| pages(time_ns, Op::Commit, page, 1);
    let requests = [
        manage(0, Op::OpenZrwa, 0),
        write(MS, 1),
        write(MS, 3),
        commit(2 * MS, 2),
        commit(3 * MS, 3),
        read(4 * MS, 0),
        read(5 * MS, 1),
        commit(6 * MS, 3),
        write(7 * MS, 4),
        manage(8 * MS, Op::Close, 0),
        write(9 * MS, 7),
        commit(10 * MS, 7),
    ];
    let outcome = run_both(&areas(&[]), &requests);
    let latencies = outcome.latencies();
    assert_eq!((latencies[3], latencies[4]), (0, TRANSFER + PROGRAM), "half a part is refused");
    assert_eq!((latencies[5], latencies[6]), (READ + TRANSFER, READ + TRANSFER));
    assert_eq!(errors(&outcome.counters.zones), [(Status::InvalidField, 2)]);
    let counts = outcome.counters.zones;
    assert_eq!((counts.commits, counts.committed_pages, counts.padded_pages), (2, 4, 4));
    assert_eq!(outcome.counters.host.programs, 8);
}

#[test]
fn an_area_is_refused_where_the_specification_refuses_it() {
    let requests = [
        manage(0, Op::OpenZrwa, 0),
        manage(0, Op::OpenZrwa, 1),
        manage(0, Op::OpenZrwa, 2),
        pages(0, Op::Append, 0, 1),
        pages(0, Op::Commit, 32, 2),
        pages(0, Op::Commit, 15, 2),
        pages(0, Op::OpenZrwa, 0, 128),
        write(0, 48),
        manage(0, Op::OpenZrwa, 3),
        manage(MS, Op::Reset, 0),
        manage(MS, Op::OpenZrwa, 2),
    ];
    let failed = [
        (Status::InvalidField, 2),
        (Status::InvalidZoneOperation, 2),
        (Status::ZrwaUnavailable, 1),
        (Status::ZoneBoundary, 1),
    ];
    assert_eq!(errors(&run_both(&areas(&[]), &requests).counters.zones), failed);
    let without = run_both(&with(&[]), &[manage(0, Op::OpenZrwa, 0), pages(0, Op::Commit, 0, 1)]);
    assert_eq!(errors(&without.counters.zones), [(Status::InvalidZoneOperation, 2)]);
}

/// Pages 16, 18 and 19 lie in the area of a zone that is finished; then it is read, and reset.
fn finishing() -> [Request; 8] {
    [
        manage(0, Op::OpenZrwa, 1),
        write(0, 18),
        pages(0, Op::Write, 16, 1),
        write(0, 19),
        manage(MS, Op::Finish, 1),
        pages(4 * MS, Op::Read, 16, 4),
        read(5 * MS, 20),
        manage(6 * MS, Op::Reset, 1),
    ]
}

#[test]
fn a_finish_writes_the_area_and_pads_the_rest_as_it_is_set() {
    for (finish, padded, programs) in [("pad", 13, 16), ("mark", 1, 4)] {
        let settings = areas(&[("ftl.finish", finish)]);
        for more in [&[][..], &[("buffer.bytes", "16KiB")]] {
            let settings = [&settings[..], more].concat();
            let outcome = if more.is_empty() {
                run_both(&settings, &finishing())
            } else {
                run(&settings, &finishing())
            };
            let counts = outcome.counters.zones;
            assert_eq!((counts.finished, counts.resets, counts.committed_pages), (1, 1, 3), "{settings:?}");
            assert_eq!((counts.padded_pages, outcome.counters.host.programs), (padded, programs));
            assert_eq!((outcome.counters.host.reads, outcome.counters.unmapped_page_reads), (4, 1));
        }
    }
}

#[test]
fn a_reset_drops_the_area_and_the_zone_is_opened_anew() {
    let requests = [
        manage(0, Op::OpenZrwa, 1),
        write(0, 17),
        manage(MS, Op::Reset, 1),
        read(2 * MS, 17),
        pages(3 * MS, Op::Write, 16, 2),
        manage(4 * MS, Op::OpenZrwa, 1),
        pages(5 * MS, Op::Write, 18, 2),
        pages(6 * MS, Op::Commit, 18, 2),
        pages(7 * MS, Op::Read, 16, 4),
    ];
    for more in [&[][..], &[("buffer.bytes", "16KiB")], &[("buffer.bytes", "4KiB"), ("buffer.ack", "flash")]]
    {
        let counters = run(&areas(more), &requests).counters;
        assert_eq!(errors(&counters.zones), [], "{more:?}");
        assert_eq!((counters.unmapped_page_reads, counters.host.programs), (1, 4), "{more:?}");
        assert_eq!((counters.zones.resets, counters.zones.commits), (1, 1));
    }
}

#[test]
fn commands_to_all_zones_manage_those_that_they_apply_to() {
    use ZoneState::{Closed, Empty, ExplicitlyOpened, Full};
    let all = |time_ns, op| pages(time_ns, op, 0, 128);
    let mut simulation = drive(&with(&[("ftl.max_open", "3")]));
    let mut time_ns = 0;
    let mut then = |requests: &[Request]| {
        time_ns += 10 * MS;
        let at: Vec<_> = requests.iter().map(|request| Request { time_ns, ..*request }).collect();
        simulation.serve(&at).expect("served");
        let report = simulation.zones().expect("zones").report();
        let states: Vec<_> = report.iter().map(|zone| zone.state).collect();
        (states[..4].to_vec(), simulation.counters().clone())
    };
    let (states, _) = then(&[write(0, 0), write(0, 16), pages(0, Op::Write, 32, 16), all(0, Op::Close)]);
    assert_eq!(states, [Closed, Closed, Full, Empty]);
    assert_eq!(then(&[all(0, Op::Open)]).0, [ExplicitlyOpened, ExplicitlyOpened, Full, Empty]);
    let (states, counters) = then(&[all(0, Op::Finish)]);
    assert_eq!((states, counters.zones.finished), (vec![Full, Full, Full, Empty], 2));
    assert_eq!((counters.zones.padded_pages, counters.host.programs), (30, 48));
    let (states, counters) = then(&[all(0, Op::Offline), all(0, Op::Reset)]);
    assert_eq!((states, counters.zones.resets, counters.host.erases), (vec![Empty; 4], 3, 12));
    assert_eq!(errors(&counters.zones), []);
    // Too many to open at once: none is.
    let fill: Vec<_> = (0..4).map(|zone| write(0, zone * 16)).collect();
    let (states, _) = then(&[&fill[..], &[all(0, Op::Close), all(0, Op::Open)]].concat());
    assert_eq!(states, [Closed; 4]);
    simulation.finish().expect("finished");
    assert_eq!(errors(&simulation.counters().zones), [(Status::TooManyOpen, 1)]);
    // Both have a page on the first die, which erases one block after the other.
    let resets = run_both(&with(&[]), &[write(0, 0), write(0, 16), all(MS, Op::Reset), read(9 * MS, 16)]);
    assert_eq!((resets.latencies()[2], resets.counters.unmapped_page_reads), (2 * ERASE, 1));
}
