//! Commands to zones: append, open, close, finish and reset, what they cost, and who refuses them.

use flashweir_ssd::CommandKind::{Program, Read};
use flashweir_ssd::config::layers::{Layer, resolve};
use flashweir_ssd::config::presets::Preset;
use flashweir_ssd::zones::{Status, ZoneState};
use flashweir_ssd::{Options, RequestRecord, Simulation};
use flashweir_trace::{Op, Request};

use super::rig::{
    ERASE, MS, PAGE, PROGRAM, READ, TRANSFER, drive, pages, read, run, run_both, sectors, write,
};
use super::zones::{errors, with};

/// A command that manages a zone.
fn manage(time_ns: u64, op: Op, zone: u64) -> Request {
    pages(time_ns, op, zone * 16, 16)
}

/// Appends pages to a zone.
fn append(time_ns: u64, zone: u64, count: u32) -> Request {
    pages(time_ns, Op::Append, zone * 16, count)
}

#[test]
fn appended_data_lie_at_the_write_pointer() {
    let requests = [
        append(0, 1, 3),
        append(1_000_000, 1, 2),
        read(2_000_000, 18),
        read(2_000_000, 20),
        read(2_000_000, 21),
        write(3_000_000, 21),
        pages(4_000_000, Op::Append, 17, 1),
        sectors(4_000_000, Op::Append, 16 * PAGE, 1),
        append(5_000_000, 1, 11),
        append(6_000_000, 1, 10),
        append(8_000_000, 1, 1),
    ];
    let outcome = run_both(&with(&[]), &requests);
    let dies: Vec<_> = outcome.commands.iter().map(|(kind, die, ..)| (*kind, *die)).take(8).collect();
    let first = [(Program, 0), (Program, 1), (Program, 2), (Program, 0), (Program, 3), (Read, 0), (Read, 2)];
    assert_eq!(dies[..7], first, "pages 16 to 18, then 19 and 20");
    let latencies = outcome.latencies();
    assert_eq!([latencies[0], latencies[1]], [TRANSFER + PROGRAM; 2]);
    assert_eq!(latencies[4], 0, "behind the write pointer is nothing");
    let failed = [(Status::InvalidField, 2), (Status::ZoneBoundary, 1), (Status::ZoneFull, 1)];
    assert_eq!(errors(&outcome.counters.zones), failed);
    let counters = &outcome.counters;
    assert_eq!(counters.zones.refused_bytes, 4096 + 512 + 11 * 4096 + 4096);
    assert_eq!((counters.requests[Op::Append as usize], counters.written_bytes()), (7, 29 * 4096 + 512));
    assert_eq!(counters.host.programs, 16);
}

#[test]
fn zones_are_opened_and_closed_by_commands() {
    use ZoneState::{Closed, Empty, ExplicitlyOpened, ImplicitlyOpened};
    let limited = with(&[("ftl.max_open", "2"), ("ftl.max_active", "3")]);
    let requests = [
        manage(0, Op::Open, 0),
        manage(0, Op::Open, 1),
        manage(0, Op::Open, 2),
        write(1_000_000, 32),
        manage(2_000_000, Op::Close, 1),
        write(3_000_000, 32),
        manage(4_000_000, Op::Close, 3),
        manage(4_000_000, Op::Offline, 3),
        pages(4_000_000, Op::Open, 49, 16),
        pages(4_000_000, Op::Open, 48, 32),
    ];
    let outcome = run_both(&limited, &requests);
    let failed = [(Status::InvalidField, 2), (Status::TooManyOpen, 2), (Status::InvalidTransition, 2)];
    assert_eq!(errors(&outcome.counters.zones), failed);
    assert_eq!(outcome.commands.len(), 1, "nothing but the last write reaches the flash");
    let mut simulation = drive(&limited);
    simulation.serve(&requests).expect("served");
    let states: Vec<_> = simulation.zones().expect("zones").report().iter().map(|zone| zone.state).collect();
    assert_eq!(states[..4], [ExplicitlyOpened, Closed, ImplicitlyOpened, Empty]);
}

/// A zone with five pages of data is finished; with pages of data and padding read, and the zone reset.
fn finishing() -> [Request; 7] {
    [
        pages(0, Op::Write, 16, 5),
        manage(1_000_000, Op::Finish, 1),
        read(2_000_000, 20),
        read(3_000_000, 21),
        write(4_000_000, 21),
        manage(4_000_000, Op::Finish, 1),
        manage(5_000_000, Op::Reset, 1),
    ]
}

#[test]
fn a_finish_programs_the_pages_that_are_left_and_nothing_is_read_there() {
    let outcome = run_both(&with(&[]), &finishing());
    let latencies = outcome.latencies();
    // Of 11 pages three go to each die but the first of a stripe, which has its page: 21 to 31 on dies 1, 2, 3, 0, ...
    assert_eq!(latencies[1], 3 * (TRANSFER + PROGRAM));
    assert_eq!((latencies[2], latencies[3]), (READ + TRANSFER, 0));
    assert_eq!((latencies[4], latencies[5]), (0, 0), "a full zone is refused a write, and finished already");
    assert_eq!(latencies[6], ERASE);
    let counters = &outcome.counters;
    assert_eq!(errors(&counters.zones), [(Status::ZoneFull, 1)]);
    assert_eq!((counters.zones.finished, counters.zones.padded_pages, counters.zones.resets), (1, 11, 1));
    assert_eq!((counters.host.programs, counters.host.erases), (16, 4));
    assert_eq!((counters.host_pages_written, counters.unmapped_page_reads), (5, 1));
}

#[test]
fn a_finish_that_only_marks_the_zone_takes_no_time() {
    let outcome = run_both(&with(&[("ftl.finish", "mark")]), &finishing());
    let latencies = outcome.latencies();
    assert_eq!((latencies[1], latencies[2], latencies[3]), (0, READ + TRANSFER, 0));
    let counters = &outcome.counters;
    assert_eq!(errors(&counters.zones), [(Status::ZoneFull, 1)]);
    assert_eq!((counters.zones.finished, counters.zones.padded_pages), (1, 0));
    assert_eq!((counters.host.programs, counters.host.erases), (5, 4));
}

#[test]
fn a_finish_comes_after_the_data_of_its_zone_in_the_buffer_and_ends_on_flash() {
    let buffered = with(&[("buffer.bytes", "16KiB")]);
    let outcome = run(&buffered, &finishing());
    assert!(
        outcome.latencies()[1] >= 3 * (TRANSFER + PROGRAM),
        "three pages on each die: {:?}",
        outcome.latencies()
    );
    let counters = &outcome.counters;
    assert_eq!((counters.host.programs, counters.zones.padded_pages), (16, 11));
    // A reset right behind drops what is left of it.
    let requests = [
        pages(0, Op::Write, 16, 5),
        manage(0, Op::Finish, 1),
        manage(0, Op::Reset, 1),
        append(0, 1, 16),
        read(9_000_000, 31),
    ];
    let counters = run(&buffered, &requests).counters;
    assert_eq!((counters.zones.finished, counters.zones.resets, counters.unmapped_page_reads), (1, 1, 0));
}

#[test]
fn parity_is_programmed_with_padding() {
    let outcome = run_both(&with(&[("alloc.parity", "3")]), &[write(0, 12), pages(0, Op::Finish, 12, 12)]);
    assert_eq!(outcome.counters.zones.padded_pages, 11);
    assert_eq!((outcome.counters.host.programs, outcome.counters.parity_programs), (12, 4));
}

#[test]
fn a_command_to_a_zone_is_refused_where_there_is_none() {
    for settings in [&[][..], &[("alloc.kind", "superblock"), ("ftl.kind", "zones")]] {
        let mut simulation = drive(settings);
        let error = simulation.serve(&[write(0, 0), append(0, 0, 1)]).expect_err("no zones");
        let expected = "request 2 is append, a command to a zone, which the drive does not take: expected ftl.kind=zones \
                        with ftl.host=none, or requests without it";
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn all_parts_of_a_long_append_go_to_its_zone() {
    let settings = with(&[("host.max_transfer", "4KiB"), ("host.link", "pcie3x4")]);
    let requests = [append(0, 1, 6), read(5 * MS, 16), read(5 * MS, 21), read(5 * MS, 22)];
    let counters = run(&settings, &requests).counters;
    assert_eq!(errors(&counters.zones), []);
    assert_eq!((counters.host.programs, counters.host.reads, counters.unmapped_page_reads), (6, 2, 1));
}

/// Pages of 32 KiB of a zone of a WD ZN540, and sectors of each.
const ZONE: u64 = 34_464;
const PAGE_SECTORS: u64 = 64;

/// Milliseconds that a finish and then a reset take when so many pages of a zone are written; on the preset, or with zones of the
/// same size over so many of its dies.
fn finish_and_reset(dies: &'static str, pages_per_block: &'static str, written: &[u64]) -> Vec<[f64; 2]> {
    let preset = Preset::find("zn540").expect("there").layer().expect("a layer");
    let own = [
        ("ftl.kind", "zones"),
        ("ftl.host", "none"),
        ("capacity", "8GiB"),
        ("precondition", "empty"),
        ("host.mode", "open"),
        ("engine", "auto"),
        ("alloc.superblock_dies", dies),
        ("pages_per_block", pages_per_block),
    ];
    let config = resolve(&[preset, Layer::from_assignments("test", own)]).expect("a legal drive");
    let options = Options { seed: 1, record: true, ..Options::default() };
    let mut simulation = Simulation::new(&config, options).expect("a legal drive");
    let mut requests = Vec::new();
    for (zone, pages) in (0..).zip(written) {
        let (start_ns, lba) = (zone * 20_000 * MS, zone * ZONE * PAGE_SECTORS);
        let mut add = |time_ns: u64, op: Op, pages: u64| {
            let sectors = (pages * PAGE_SECTORS) as u32;
            requests.push(Request { time_ns: start_ns + time_ns, lba, sectors, stream: 0, op, handle: 0 });
        };
        (0..pages / 8).for_each(|_| add(0, Op::Append, 8));
        (0..pages % 8).for_each(|_| add(0, Op::Append, 1));
        add(10_000 * MS, Op::Finish, ZONE);
        add(15_000 * MS, Op::Reset, ZONE);
    }
    simulation.serve(&requests).expect("served");
    simulation.finish().expect("finished");
    let mut records = simulation.take_recorded().requests;
    records.sort_by_key(|record| record.number);
    assert_eq!(errors(&simulation.counters().zones), []);
    let of = |op: Op| records.iter().filter(move |record| record.request.op == op);
    let ms = |record: &RequestRecord| (record.completion_ns - record.issue_ns) as f64 / 1e6;
    of(Op::Finish).zip(of(Op::Reset)).map(|(finish, reset)| [ms(finish), ms(reset)]).collect()
}

/// WD ZN540 (stonet-research/NVMeBenchmarks): a finish takes 908, 848, 793, 681, 457 and 2.6 ms with 1, 17232, 34464, 68928,
/// 137856 and 275711 of 275712 x 4 KiB written: in proportion to what is left. So it does here.
#[test]
fn a_finish_of_a_zn540_takes_time_by_what_is_left() {
    let written = [1, 2154, 4308, 8616, 17_232, 34_463];
    let published = [908.0, 848.0, 793.0, 681.0, 457.0, 2.6];
    let found = finish_and_reset("32", "1077", &written);
    for ((pages, ms), [finish, reset]) in written.iter().zip(published).zip(&found) {
        println!("{pages} pages: finish {finish:.2} ms ({ms} ms), reset {reset:.2} ms");
    }
    let left = |at: usize| (ZONE - written[at]) as f64 / (ZONE - 1) as f64;
    for at in 0..6 {
        let [by_model, by_drive] =
            [found.iter().map(|times| times[0]).collect::<Vec<_>>(), published.to_vec()]
                .map(|ms| ms[at] - (ms[5] + (ms[0] - ms[5]) * left(at)));
        assert!(by_model.abs() < 0.01 * found[0][0], "model off a line by {by_model} ms at {at}");
        assert!(by_drive.abs() < 0.02 * 908.0, "drive off a line by {by_drive} ms at {at}");
    }
}

#[test]
fn a_zn540_with_zones_over_fewer_dies_would_finish_them_later_and_reset_them_in_the_same_time() {
    let all = [("32", "1077", 437.1), ("16", "2154", 664.3), ("8", "4308", 1119.3)];
    for (dies, pages_per_block, expected) in all {
        let found = finish_and_reset(dies, pages_per_block, &[1])[0];
        println!(
            "{dies} dies: finish {:.2} ms (908 ms), reset {:.2} ms (6.8 to 16.6 ms)",
            found[0], found[1]
        );
        assert!((found[0] - expected).abs() < 0.1 && (found[1] - 5.0).abs() < 0.01, "{dies} dies: {found:?}");
    }
}
