//! Zones: writes at the write pointer, failures, resets and what they erase; and a host's log over them.

use flashweir_ssd::CommandKind::{Erase, Program, Read};
use flashweir_ssd::zones::{Action, Status, ZoneState, Zones};
use flashweir_trace::{Op, Request};

use super::rig::{
    ERASE, PAGE, PROGRAM, READ, Setting, TRANSFER, drive, pages, read, run_both, sectors, write,
};

/// Four dies; a zone is a block of four pages of each of them, so 16 pages; 128 pages are 8 zones.
const ZONES: [Setting; 5] = [
    ("channels", "4"),
    ("capacity", "512KiB"),
    ("alloc.kind", "superblock"),
    ("ftl.kind", "zones"),
    ("ftl.host", "none"),
];

pub(super) fn with(more: &[Setting]) -> Vec<Setting> {
    ZONES.into_iter().chain(more.iter().copied()).collect()
}

fn reset(time_ns: u64, zone: u64) -> Request {
    pages(time_ns, Op::Trim, zone * 16, 16)
}

/// The failures of a run, by status.
pub(super) fn errors(counts: &flashweir_ssd::ZoneCounts) -> Vec<(Status, u64)> {
    counts.errors().filter(|(_, count)| *count > 0).collect()
}

#[test]
fn pages_of_a_zone_go_to_its_dies_in_turn_and_a_write_elsewhere_fails_at_once() {
    let requests = [
        pages(0, Op::Write, 0, 5),
        write(1_000_000, 7),
        sectors(1_000_000, Op::Write, 5 * PAGE, 1),
        pages(2_000_000, Op::Write, 5, 12),
        read(3_000_000, 1),
        read(4_000_000, 5),
    ];
    let outcome = run_both(&with(&[]), &requests);
    let dies: Vec<_> = outcome.commands.iter().map(|(kind, die, ..)| (*kind, *die)).collect();
    let expected = [(Program, 0), (Program, 1), (Program, 2), (Program, 3), (Program, 0), (Read, 1)];
    assert_eq!(dies, expected, "nothing is done for writes that fail");
    let at_once = 0;
    let latencies = [2 * (TRANSFER + PROGRAM), at_once, at_once, at_once, READ + TRANSFER, at_once];
    assert_eq!(outcome.latencies(), latencies);
    let failed = [(Status::InvalidField, 1), (Status::ZoneBoundary, 1), (Status::InvalidWrite, 1)];
    assert_eq!(errors(&outcome.counters.zones), failed);
    assert_eq!(outcome.counters.zones.refused_bytes, 4096 + 512 + 12 * 4096);
    assert_eq!(outcome.counters.unmapped_page_reads, 1, "behind the write pointer is nothing");
}

#[test]
fn a_reset_erases_the_blocks_that_were_written_and_no_others() {
    let requests = [
        pages(0, Op::Write, 16, 2),
        reset(1_000_000, 1),
        reset(5_000_000, 1),
        pages(6_000_000, Op::Trim, 16, 4),
        pages(7_000_000, Op::Write, 16, 16),
        write(9_000_000, 16),
        reset(10_000_000, 1),
        write(20_000_000, 16),
    ];
    let outcome = run_both(&with(&[]), &requests);
    let erased: Vec<_> =
        outcome.commands.iter().filter(|command| command.0 == Erase).map(|command| command.1).collect();
    assert_eq!(erased, [0, 1, 0, 1, 2, 3], "two of four blocks, then all of them");
    let latencies = outcome.latencies();
    assert_eq!(
        [latencies[1], latencies[2], latencies[3]],
        [ERASE, 0, 0],
        "an empty zone has nothing to erase"
    );
    assert_eq!(latencies[6], ERASE);
    assert_eq!(errors(&outcome.counters.zones), [(Status::ZoneFull, 1)]);
    let counters = &outcome.counters;
    assert_eq!((counters.zones.resets, counters.host.erases, counters.gc.erases), (2, 6, 0));
    assert_eq!(counters.flash().programs, 2 + 16 + 1, "each page is programmed once");
}

#[test]
fn open_and_active_zones_are_limited() {
    use ZoneState::{Closed, Empty, ImplicitlyOpened};
    let first = |zone: u64| write(zone * 1_000_000, zone * 16);
    let requests: Vec<_> = (0..4).map(first).collect();
    let limited = with(&[("ftl.max_open", "2"), ("ftl.max_active", "3")]);
    let outcome = run_both(&limited, &requests);
    assert_eq!(errors(&outcome.counters.zones), [(Status::TooManyActive, 1)]);
    assert_eq!(outcome.counters.zones.closed, 1);
    let mut simulation = drive(&limited);
    simulation.serve(&requests).expect("served");
    let states: Vec<_> = simulation.zones().expect("zones").report().iter().map(|zone| zone.state).collect();
    assert_eq!(states[..4], [Closed, ImplicitlyOpened, ImplicitlyOpened, Empty]);
}

#[test]
fn a_hosts_log_in_one_zone_makes_the_commands_of_a_page_map() {
    let requests: Vec<_> = (0..400_u64)
        .map(|number| match number % 5 {
            4 => read(number * 300_000, number * 13 % 128),
            3 if number % 20 == 3 => pages(number * 300_000, Op::Trim, number * 3 % 120, 2),
            _ => pages(number * 300_000, Op::Write, number * 7 % 127, 1 + (number % 2) as u32),
        })
        .collect();
    let base =
        [("channels", "4"), ("capacity", "512KiB"), ("alloc.kind", "superblock"), ("precondition", "full")];
    for more in
        [&[("op_ratio", "0.4")][..], &[("op_ratio", "0.6"), ("gc.frontiers", "2"), ("gc.victim", "fifo")]]
    {
        let drive = |own: &[Setting]| run_both(&[&base, more, own].concat(), &requests);
        let page_map = drive(&[]);
        let mut zones = drive(&[("ftl.kind", "zones"), ("ftl.separate", "none")]);
        assert!(page_map.counters.gc.programs > 0 && zones.counters.zones.resets > 0);
        assert_eq!(zones.counters.zones.resets, zones.counters.collections);
        zones.counters.zones = page_map.counters.zones;
        assert_eq!(zones, page_map);
    }
}

/// Zones after requests, one after the other, by the rules alone.
struct Expected {
    zones: Zones,
    refused: u64,
}

impl Expected {
    fn take(&mut self, request: &Request) {
        let zone_sectors = self.zones.layout().capacity * PAGE;
        let page = request.lba / PAGE;
        let manage = |zones: &mut Zones, action| {
            let is_zone =
                request.lba.is_multiple_of(zone_sectors) && u64::from(request.sectors) == zone_sectors;
            if is_zone { zones.manage(action, page, false).map(drop) } else { Err(Status::InvalidField) }
        };
        let outcome = match request.op {
            Op::Write | Op::Append if request.lba % PAGE + u64::from(request.sectors) % PAGE > 0 => {
                Err(Status::InvalidField)
            }
            Op::Append => self.zones.append(page, u64::from(request.sectors) / PAGE).map(drop),
            Op::Open => manage(&mut self.zones, Action::Open { zrwa: false }),
            Op::Close => manage(&mut self.zones, Action::Close),
            Op::Finish => manage(&mut self.zones, Action::Finish),
            Op::Reset => manage(&mut self.zones, Action::Reset),
            Op::Offline => manage(&mut self.zones, Action::Offline),
            Op::Write => self.zones.write(page, u64::from(request.sectors) / PAGE).map(drop),
            Op::Trim if request.lba % zone_sectors + u64::from(request.sectors) % zone_sectors == 0 => {
                let mut zones = request.lba / zone_sectors..request.end() / zone_sectors;
                zones.try_for_each(|zone| {
                    let start = self.zones.start_of(zone as u32);
                    self.zones.manage(Action::Reset, start, false).map(drop)
                })
            }
            _ => Ok(()),
        };
        self.refused += u64::from(outcome.is_err());
    }
}

/// A request of a host that mostly keeps the rules.
fn next(zones: &Zones, seed: &mut u64, time_ns: u64) -> Request {
    let mut below = |bound: u64| {
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*seed >> 33) % bound
    };
    let layout = *zones.layout();
    let zone = below(layout.zones.into()) as u32;
    let start = zones.start_of(zone);
    let written = zones.report()[zone as usize].written;
    let all = u64::from(layout.zones) * layout.size;
    let size = layout.size as u32;
    match below(28) {
        20..22 => pages(time_ns, Op::Append, start + below(20) / 19, 1 + below(4) as u32),
        22..26 => {
            let ops = [Op::Open, Op::Close, Op::Finish, Op::Finish, Op::Reset, Op::Offline];
            pages(time_ns, ops[below(6) as usize], start, size - (below(20) / 19) as u32)
        }
        26..28 => pages(time_ns, Op::Append, start, 1),
        0 => pages(time_ns, Op::Trim, start, layout.size as u32),
        1 if written == layout.capacity => pages(time_ns, Op::Trim, start, layout.size as u32),
        2..6 => {
            let page = below(all);
            pages(time_ns, Op::Read, page, (1 + below(5)).min(all - page) as u32)
        }
        6 => {
            let lba = below(all * PAGE);
            let op = if below(2) == 0 { Op::Write } else { Op::Trim };
            sectors(time_ns, op, lba, (1 + below(40)).min(all * PAGE - lba) as u32)
        }
        7 => sectors(time_ns, Op::Flush, 0, 0),
        _ => {
            let page = (start + written).min(all - 1);
            pages(time_ns, Op::Write, page, (1 + below(4)).min(all - page) as u32)
        }
    }
}

#[test]
fn a_hundred_thousand_random_requests_leave_the_zones_that_the_rules_say() {
    let drives: [&[Setting]; 8] = [
        &[],
        &[("ftl.finish", "mark"), ("ftl.max_open", "3")],
        &[("buffer.bytes", "32KiB"), ("ftl.max_open", "2"), ("ftl.max_active", "5")],
        &[("alloc.superblock_dies", "2"), ("planes", "2"), ("timing.multi_plane", "true")],
        &[("alloc.superblock_dies", "1"), ("ftl.zone_map", "dynamic"), ("ftl.finish", "mark")],
        &[
            ("alloc.superblock_dies", "2"),
            ("ftl.zone_map", "dynamic"),
            ("buffer.bytes", "32KiB"),
            ("alloc.parity", "1"),
        ],
        &[("alloc.kind", "striped"), ("precondition", "full"), ("sched.kind", "suspend")],
        &[("alloc.parity", "3"), ("buffer.bytes", "16KiB"), ("buffer.ack", "flash")],
    ];
    for more in drives {
        let mut simulation = drive(&with(more));
        let mut expected = Expected { zones: simulation.zones().expect("zones").clone(), refused: 0 };
        let (mut seed, mut time_ns, mut failed) = (7, 0, 0);
        for slice in 0..1000_u64 {
            let requests: Vec<_> = (0..20)
                .map(|_| {
                    time_ns += 20_000 * (slice % 40);
                    let request = next(&expected.zones, &mut seed, time_ns);
                    expected.take(&request);
                    request
                })
                .collect();
            simulation.serve(&requests).expect("served");
            drop(simulation.take_recorded());
        }
        let mut fork = simulation.snapshot();
        for simulation in [&mut simulation, &mut fork] {
            simulation.finish().expect("verified");
            assert_eq!(simulation.zones().expect("zones").report(), expected.zones.report(), "{more:?}");
            let counters = simulation.counters();
            failed = counters.zones.errors.iter().sum::<u64>();
            assert_eq!(counters.requests.iter().sum::<u64>(), 20_000);
            assert_eq!(failed, expected.refused, "{more:?}");
            let programs = counters.flash().programs - counters.parity_programs;
            let written = counters.host_pages_written;
            // A reset drops pages that wait in the buffer.
            let is_buffered = more.iter().any(|(key, _)| *key == "buffer.bytes");
            let (padded, finished) = (counters.zones.padded_pages, counters.zones.finished);
            let marks = more.contains(&("ftl.finish", "mark"));
            assert!(finished > 100 && (padded > 0) != marks, "{finished} zones, {padded} pages, {more:?}");
            let made = written + padded;
            assert!(programs == made || is_buffered && programs < made, "each page is programmed once");
        }
        assert!(failed > 100, "some requests break the rules");
    }
}
