//! Zones over part of the dies, and their mapping to these: by number, or as they are written.

use flashweir_ssd::CommandKind::Erase;
use flashweir_ssd::zones::ZoneState;
use flashweir_trace::{Op, Request};

use super::rig::{
    MS, PROGRAM, READ, Setting, TRANSFER, drive, ends_in_slices, pages, read, run, run_both, write,
};
use super::zones::with;

/// Four dies on a channel each; a zone of four pages of each of so many of them.
fn on(dies: &'static str, more: &[Setting]) -> Vec<Setting> {
    with(&[&[("alloc.superblock_dies", dies)], more].concat())
}

const DYNAMIC: Setting = ("ftl.zone_map", "dynamic");
/// A page on its die.
const WRITE: u64 = TRANSFER + PROGRAM;

#[test]
fn a_zone_has_the_share_of_throughput_that_its_dies_have() {
    for (dies, count) in [("1", 1), ("2", 2), ("4", 4)] {
        for more in [&[][..], &[DYNAMIC]] {
            let pages_of = 4 * count;
            let zone = [pages(0, Op::Write, 0, pages_of), pages(20 * MS, Op::Read, 0, pages_of)];
            let outcome = run_both(&on(dies, more), &zone);
            let reads = READ + TRANSFER;
            assert_eq!(outcome.latencies(), [4 * WRITE, 4 * reads], "{dies} dies: four pages on each");
            let mut used: Vec<_> = outcome.commands.iter().map(|command| command.1).collect();
            used.sort_unstable();
            used.dedup();
            assert_eq!(used.len() as u32, count);
        }
    }
}

#[test]
fn zones_on_different_dies_do_not_delay_each_other_and_zones_on_the_same_do() {
    // Zones 0 and 1 lie on other sets of two dies, 0 and 2 on the same.
    let settings = on("2", &[]);
    let together = |other: u64| {
        run_both(&settings, &[pages(0, Op::Write, 0, 8), pages(0, Op::Write, other * 8, 8)]).latencies()
    };
    assert_eq!(together(1), [4 * WRITE, 4 * WRITE]);
    let shared = together(2);
    assert_eq!(shared[0], 4 * WRITE);
    // The bus of a die transfers the next page once the one before is programmed.
    assert_eq!(shared[1], 8 * WRITE, "one after the other");
}

#[test]
fn dynamic_mapping_spreads_zones_that_static_mapping_puts_on_the_same_dies() {
    let both = [pages(0, Op::Write, 0, 8), pages(0, Op::Write, 16, 8)];
    let latest = |more: &[Setting]| run_both(&on("2", more), &both).latencies().into_iter().max();
    assert_eq!((latest(&[]), latest(&[DYNAMIC])), (Some(8 * WRITE), Some(4 * WRITE)));
    // A zone that is full, or finished without padding, does not count any more.
    let mark = [DYNAMIC, ("ftl.finish", "mark")];
    let requests = [
        pages(0, Op::Write, 0, 2),
        pages(0, Op::Write, 8, 2),
        pages(10 * MS, Op::Finish, 0, 8),
        pages(20 * MS, Op::Write, 16, 2),
        pages(20 * MS, Op::Write, 8 + 2, 2),
    ];
    assert_eq!(run_both(&on("2", &mark), &requests).latencies()[3..], [WRITE, WRITE]);
}

#[test]
fn zones_written_one_by_one_in_order_lie_where_static_mapping_puts_them() {
    let requests: Vec<_> = (0..128).map(|page| write(page * MS, page)).collect();
    let commands = |more: &[Setting]| run_both(&on("1", more), &requests).commands;
    assert_eq!(commands(&[]), commands(&[DYNAMIC]));
}

/// A zone is filled and reset so many times.
fn cycles(zone: u64, count: u64) -> Vec<Request> {
    let one = |at: u64| {
        let start_ns = at * 20 * MS;
        [pages(start_ns, Op::Write, zone * 8, 8), pages(start_ns + 10 * MS, Op::Reset, zone * 8, 8)]
    };
    (0..count).flat_map(one).collect()
}

#[test]
fn blocks_of_dynamic_zones_take_turns_with_those_that_are_spare() {
    // 16 zones on 2 sets of dies, and 13 superblocks on each of these.
    let requests = cycles(3, 24);
    let wear = |more: &[Setting]| {
        let mut simulation = drive(&on("2", more));
        simulation.serve(&requests).expect("served");
        simulation.finish().expect("verified");
        (simulation.counters().host.erases, simulation.wear().all.max)
    };
    assert_eq!(wear(&[]), (48, 24), "always the same two blocks");
    assert_eq!(wear(&[DYNAMIC]), (48, 1), "none of the 26 twice");
}

#[test]
fn capacity_and_spare_are_the_same_however_zones_are_mapped() {
    let all = |dies, more: &[Setting]| {
        let mut simulation = drive(&on(dies, &[more, &[("precondition", "full")]].concat()));
        let report = simulation.zones().expect("zones").report();
        assert!(report.iter().all(|zone| zone.state == ZoneState::Full), "{dies} dies");
        let capacity: u64 = report.iter().map(|zone| zone.written).sum();
        let free: u64 = (0..4).map(|channel| simulation.free_blocks(channel)).sum();
        let last = pages(0, Op::Read, capacity - 8, 8);
        simulation.serve(&[last, read(MS, 0)]).expect("served");
        assert_eq!(simulation.counters().unmapped_page_reads, 0);
        (capacity, free)
    };
    for dies in ["1", "2", "4"] {
        let (capacity, free) = all(dies, &[]);
        assert_eq!((capacity, free), all(dies, &[DYNAMIC]), "{dies} dies");
        assert_eq!(capacity, 128, "pages");
        assert_eq!(free, 20, "of 52 blocks of four pages, 32 have data");
    }
}

#[test]
fn a_zone_written_after_its_reset_has_other_dies_and_reads_find_it_there() {
    let requests = [
        pages(0, Op::Write, 0, 8),
        pages(0, Op::Write, 8, 4),
        pages(10 * MS, Op::Reset, 0, 8),
        read(20 * MS, 0),
        // Zone 2 takes the set that zone 0 had, and zone 0 the one with zone 1.
        pages(21 * MS, Op::Write, 16, 4),
        pages(30 * MS, Op::Write, 0, 2),
        pages(40 * MS, Op::Read, 0, 2),
    ];
    for more in [&[DYNAMIC][..], &[DYNAMIC, ("buffer.bytes", "16KiB")]] {
        let settings = on("2", more);
        let outcome =
            if more.len() == 1 { run_both(&settings, &requests) } else { run(&settings, &requests) };
        assert_eq!(outcome.counters.unmapped_page_reads, 1, "{more:?}");
        assert!(outcome.commands.iter().any(|command| command.0 == Erase));
        assert_eq!(ends_in_slices(&settings, &requests, 2), outcome.completions(), "{more:?}");
    }
}
