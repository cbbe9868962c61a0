//! A map on flash: what a look-up costs, in which order, and that it costs nothing where all of the map is in RAM.

use flashweir_ssd::CommandKind::{Copies, Erase, Program, Read, Rewrite};
use flashweir_ssd::{CommandKind, MapCounts};
use flashweir_trace::Op;

use super::rig::{PROGRAM, READ, Setting, TRANSFER, flush, pages, read, run, run_both, sectors, write};

const FETCH: u64 = READ + TRANSFER;
const WRITE: u64 = TRANSFER + PROGRAM;

/// One entry is cached: after the drive was filled, that of its last page, which is newer than on flash.
/// There are more blocks than will ever be collected.
const MAP: [Setting; 4] =
    [("ftl.kind", "dftl"), ("ftl.cache_bytes", "8B"), ("op_ratio", "3"), ("precondition", "full")];

/// Kinds, and lengths in ns.
fn lengths(spans: &[(CommandKind, u64, u64)]) -> Vec<(CommandKind, u64)> {
    spans.iter().map(|(kind, start, end)| (*kind, end - start)).collect()
}

#[test]
fn a_miss_costs_a_read_and_a_changed_entry_that_makes_room_a_read_and_a_program_more() {
    let second = 1_000_000;
    let requests = [
        read(0, 9),
        read(second, 9),
        read(2 * second, 10),
        write(3 * second, 11),
        write(4 * second, 11),
        write(5 * second, 12),
        sectors(6 * second, Op::Write, 13 * 8 + 2, 3),
    ];
    let outcome = run_both(&MAP, &requests);
    let load = (Read, FETCH);
    let write_back = [(Read, FETCH), (Program, WRITE)];
    let rewrite = (Rewrite, FETCH + WRITE);
    let expected: [&[(CommandKind, u64)]; 7] = [
        &[load, write_back[0], write_back[1], (Read, FETCH)],
        &[(Read, FETCH)],
        &[load, (Read, FETCH)],
        &[load, (Program, WRITE)],
        &[(Program, WRITE)],
        &[load, write_back[0], write_back[1], (Program, WRITE)],
        &[load, write_back[0], write_back[1], rewrite],
    ];
    assert_eq!(lengths(&outcome.spans()), expected.concat());
    let sums = expected.map(|commands| commands.iter().map(|(_, length)| length).sum::<u64>());
    assert_eq!(outcome.latencies(), sums);
    let counters = &outcome.counters;
    assert_eq!((counters.mapping.reads, counters.mapping.programs, counters.mapping.erases), (8, 3, 0));
    assert_eq!(
        counters.map,
        MapCounts { lookups: 7, hits: 2, loads: 5, write_backs: 3, updates: 0, moves: 0 }
    );
    assert_eq!((counters.host.reads, counters.host.programs), (4, 4));
    assert_eq!(counters.flash().reads, 12);
    assert_eq!(counters.flash().programs, 7);
}

#[test]
fn looking_for_a_page_that_was_never_written_ends_with_the_translation_page() {
    let empty = [MAP[0], MAP[1], MAP[2]];
    let second = 1_000_000;
    let requests = [
        read(0, 5),
        write(second, 0),
        write(2 * second, 1),
        read(3 * second, 5),
        pages(4 * second, Op::Read, 6, 2),
    ];
    let outcome = run_both(&empty, &requests);
    // The directory knows that there is no translation page; the first one has nothing before it to be read.
    assert_eq!(outcome.latencies(), [0, WRITE, 2 * WRITE, FETCH, 2 * FETCH]);
    let expected = [
        (Program, WRITE),
        (Program, WRITE),
        (Program, WRITE),
        (Read, FETCH),
        (Read, FETCH),
        (Program, WRITE),
        (Read, FETCH),
        (Read, FETCH),
    ];
    assert_eq!(lengths(&outcome.spans()), expected);
    assert_eq!(outcome.counters.unmapped_page_reads, 4);
}

#[test]
fn the_map_of_what_was_there_before_the_run_was_on_flash() {
    let old = [MAP[0], MAP[1], MAP[2], ("precondition", "on-read")];
    // Two pages of one translation page, of which one entry is cached at a time; then the first one again.
    let outcome = run_both(&old, &[read(0, 1), read(1_000_000, 1), read(2_000_000, 2), read(3_000_000, 1)]);
    assert_eq!(outcome.latencies(), [2 * FETCH, FETCH, 2 * FETCH, 2 * FETCH]);
    assert_eq!((outcome.counters.map.loads, outcome.counters.mapping.programs), (3, 0));
}

#[test]
fn a_trim_takes_no_time_but_has_its_entries_read() {
    let outcome = run_both(&MAP, &[pages(0, Op::Trim, 8, 2), read(1, 8), read(1_000_000, 9)]);
    // Load, write-back of the last page of the drive; load, write-back of the page trimmed first; page 8 again.
    let work = 2 * (2 * FETCH + WRITE);
    assert_eq!(outcome.completions(), [0, work + FETCH, 1_000_000 + FETCH]);
    assert_eq!((outcome.counters.trimmed_pages, outcome.counters.unmapped_page_reads), (2, 2));
}

#[test]
fn a_read_that_goes_first_takes_the_look_up_with_it() {
    let settings = [MAP[0], MAP[1], MAP[2], MAP[3], ("sched.kind", "read-priority")];
    // Two writes to the entry that is cached: the second one waits.
    let outcome = run(&settings, &[write(0, 63), write(1, 63), read(2, 9)]);
    let expected = [
        (Program, 0, WRITE),
        // The load, and the page: neither the write nor the write-back of page 63 is waited for.
        (Read, WRITE, WRITE + FETCH),
        (Read, WRITE + FETCH, WRITE + 2 * FETCH),
        (Program, WRITE + 2 * FETCH, 2 * WRITE + 2 * FETCH),
        (Read, 2 * WRITE + 2 * FETCH, 2 * WRITE + 3 * FETCH),
        (Program, 2 * WRITE + 3 * FETCH, 3 * WRITE + 3 * FETCH),
    ];
    assert_eq!(outcome.spans(), expected);
    assert_eq!(outcome.completions(), [WRITE, 2 * WRITE + 2 * FETCH, WRITE + 2 * FETCH]);
    // A look-up in a translation page that is still to be written has to wait for it, and so has the read.
    let outcome = run(&settings, &[read(0, 9), read(1, 10), read(2, 11)]);
    let kinds: Vec<_> = outcome.spans().iter().map(|span| span.0).collect();
    assert_eq!(kinds, [Read, Read, Read, Program, Read, Read, Read, Read]);
    assert_eq!(outcome.completions()[0], 2 * FETCH);
    assert_eq!(outcome.completions()[1], 3 * FETCH + WRITE + 2 * FETCH);
}

#[test]
fn a_collection_updates_the_translation_pages_of_what_it_moves_once() {
    // 128 entries in a translation page of 512 bytes; blocks of 8 pages.
    let settings = [
        MAP[0],
        MAP[3],
        ("page", "512"),
        ("pages_per_block", "8"),
        ("capacity", "128KiB"),
        ("op_ratio", "0.3"),
        ("ftl.cache_bytes", "16B"),
    ];
    let requests: Vec<_> =
        (0..600u64).map(|number| sectors(number, Op::Write, number * 97 % 256, 1)).collect();
    let outcome = run_both(&settings, &requests);
    let spans = outcome.spans();
    let mut updates = 0;
    for (at, _) in spans.iter().enumerate().filter(|(_, span)| span.0 == Copies) {
        // Between the copies and the erase: at most one read and one program for each of the two translation pages.
        let erase = spans[at..].iter().position(|span| span.0 == Erase).expect("a victim is erased");
        let between: Vec<_> = spans[at + 1..at + erase].iter().map(|span| span.0).collect();
        assert!([0, 2, 4].contains(&between.len()), "{between:?}");
        assert!(between.chunks(2).all(|pair| pair == [Read, Program]), "{between:?}");
        updates += between.len() as u64 / 2;
    }
    assert!(updates > 10);
    assert_eq!(outcome.counters.map.updates, updates);
}

/// Reads, writes in whole and in part, and TRIMs over `span` pages.
fn mixed(span: u64) -> Vec<flashweir_trace::Request> {
    (0..1500u64)
        .map(|number| {
            let place = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20;
            let (time, page) = (number * 20_000, place % span);
            match place / span % 10 {
                0..=1 => read(time, page),
                2..=3 => sectors(time, Op::Write, page * 8 + 3, 4),
                4 => pages(time, Op::Trim, page, 1),
                _ => write(time, page),
            }
        })
        .collect()
}

#[test]
fn with_all_of_its_map_in_ram_it_is_page_mapping_with_fewer_blocks() {
    // Blocks of 4 pages: two for a translation page and one kept erased are what page mapping has more.
    for victim in ["greedy", "fifo", "random", "d-choices", "cost-benefit"] {
        for held_back in ["1", "2"] {
            let common = [("precondition", "full"), ("gc.victim", victim), ("gc.free_blocks", held_back)];
            let mut settings = common.to_vec();
            settings.extend([("ftl.kind", "dftl"), ("ftl.cache_bytes", "512B"), ("op_ratio", "0.5")]);
            let mut cached = run_both(&settings, &mixed(64));
            assert_eq!(cached.counters.map.hits, cached.counters.map.lookups);
            assert_eq!(cached.counters.mapping.reads + cached.counters.mapping.programs, 0);
            cached.counters.map = MapCounts::default();
            settings = common.to_vec();
            settings.push(("op_ratio", "0.3125"));
            let page = run_both(&settings, &mixed(64));
            assert!(page.counters.collections > 50);
            assert!(cached == page, "{victim}, {held_back} held back");
        }
    }
}

#[test]
fn with_all_of_its_map_in_ram_it_has_the_frontiers_and_the_wear_levelling_of_page_mapping() {
    // As many blocks, and as many of them erased: two for a translation page and one more.
    let mut levelled = 0;
    for victim in ["greedy", "fifo", "random", "d-choices", "cost-benefit"] {
        for (frontiers, gap, dynamic) in
            [("2", "0", "false"), ("2", "3", "false"), ("2", "3", "true"), ("1", "3", "false")]
        {
            let outcome = |own: &[Setting]| {
                let common = [
                    ("precondition", "full"),
                    ("op_ratio", "0.75"),
                    ("gc.victim", victim),
                    ("gc.frontiers", frontiers),
                    ("wear.static_gap", gap),
                    ("wear.dynamic", dynamic),
                ];
                run_both(&common.iter().chain(own).copied().collect::<Vec<_>>(), &mixed(20))
            };
            let mut cached = outcome(&[("ftl.kind", "dftl"), ("ftl.cache_bytes", "512B")]);
            assert_eq!(cached.counters.mapping.reads + cached.counters.mapping.programs, 0);
            cached.counters.map = MapCounts::default();
            let page = outcome(&[("gc.free_blocks", "4")]);
            assert!(page.counters.collections > 50);
            assert!(cached == page, "{victim}, {frontiers} frontiers, a gap of {gap}");
            levelled += u32::from(gap == "3" && page.counters.gc.programs > 200);
        }
    }
    assert!(levelled > 5, "{levelled}");
}

#[test]
fn what_two_planes_need_of_their_maps_goes_as_one_and_does_not_part_their_pages() {
    let planes = [("planes", "2"), ("timing.multi_plane", "true"), ("buffer.bytes", "16KiB")];
    let settings: Vec<_> = MAP.into_iter().chain(planes).chain([("ftl.cache_bytes", "16B")]).collect();
    // Pages 0 and 1 are of the two planes, and neither's entry is in RAM.
    let outcome = run(&settings, &[write(0, 0), write(0, 1), flush(0)]);
    let commands: Vec<_> = outcome.commands.iter().map(|command| (command.0, command.2)).collect();
    // Look-ups, changed entries that make room, and the pages.
    assert_eq!(commands, [(Read, 2), (Read, 2), (Program, 2), (Program, 2)]);
}

/// One entry is cached, of a drive of two channels that share a map: its only translation page is on die 0, page 9 on die 1.
const SHARED: [Setting; 2] = [("channels", "2"), ("alloc.kind", "dynamic")];

#[test]
fn a_read_of_a_shared_map_waits_for_its_entry_on_another_die() {
    let settings: Vec<_> = MAP.into_iter().chain(SHARED).collect();
    let outcome = run(&settings, &[read(0, 9), read(FETCH / 2, 11)]);
    let expected = [
        (Read, 0, 1, 0, FETCH),
        // The entry that made room has changed.
        (Read, 0, 1, FETCH, 2 * FETCH),
        // Its page is read when it is known where it is; until then its die is free.
        (Read, 1, 1, FETCH, 2 * FETCH),
        (Program, 0, 1, 2 * FETCH, 2 * FETCH + WRITE),
        (Read, 0, 1, 2 * FETCH + WRITE, 3 * FETCH + WRITE),
        (Read, 1, 1, 3 * FETCH + WRITE, 4 * FETCH + WRITE),
    ];
    assert_eq!(outcome.commands, expected);
    assert_eq!(outcome.completions(), [2 * FETCH, 4 * FETCH + WRITE]);
    assert_eq!((outcome.counters.map.lookups, outcome.counters.map.loads), (2, 2));
}

#[test]
fn a_page_written_in_part_is_looked_up_then_read_then_gets_a_unit() {
    let settings: Vec<_> = MAP.into_iter().chain(SHARED).collect();
    let outcome = run(&settings, &[sectors(0, Op::Write, 9 * 8 + 2, 3), write(1, 20)]);
    let expected = [
        (Read, 0, 1, 0, FETCH),
        // A whole page waits for no entry.
        (Program, 1, 1, 1, 1 + WRITE),
        (Read, 0, 1, FETCH, 2 * FETCH),
        (Program, 0, 1, 2 * FETCH, 2 * FETCH + WRITE),
    ];
    assert_eq!(outcome.commands[..4], expected);
    // Each page is looked up once.
    assert_eq!(outcome.counters.map.lookups, 2);
    let read_old = outcome.commands.iter().find(|command| command.0 == Read && command.1 == 1);
    assert_eq!(read_old.map(|command| command.3), Some(1 + WRITE), "behind the page written there");
}

#[test]
fn with_all_of_a_shared_map_in_ram_it_is_page_mapping_with_fewer_blocks() {
    // Of each unit: two blocks for a translation page, one to collect those with, and one for what others write.
    for victim in ["greedy", "fifo", "random", "d-choices", "cost-benefit"] {
        for (held_back, gap) in [("1", "0"), ("2", "0"), ("1", "3")] {
            let common = [("precondition", "full"), ("gc.victim", victim), ("wear.static_gap", gap)];
            let outcome = |own: &[Setting]| {
                let settings = common.iter().chain(&SHARED).chain(own).copied();
                run(&settings.collect::<Vec<_>>(), &mixed(64))
            };
            let mut cached = outcome(&[
                ("ftl.kind", "dftl"),
                ("ftl.cache_bytes", "512B"),
                ("op_ratio", "0.75"),
                ("gc.free_blocks", held_back),
            ]);
            assert_eq!(cached.counters.map.hits, cached.counters.map.lookups);
            assert_eq!(cached.counters.mapping.reads + cached.counters.mapping.programs, 0);
            cached.counters.map = MapCounts::default();
            // Wear levelling takes turns with the erased blocks: as many of them then.
            let page = if gap == "0" {
                outcome(&[("op_ratio", "0.25"), ("gc.free_blocks", held_back)])
            } else {
                outcome(&[("op_ratio", "0.75"), ("gc.free_blocks", "5")])
            };
            assert!(page.counters.collections > 50);
            assert!(cached == page, "{victim}, {held_back} held back, a gap of {gap}");
        }
    }
}

#[test]
fn what_a_shared_map_writes_does_not_change_what_becomes_of_data() {
    // One request at a time, in units that have more room than they fill: pages go to the units in turn, whatever else is done.
    let requests: Vec<_> = (0..900u64).map(|number| write(number * 20_000_000, number * 37 % 64)).collect();
    let outcome = |own: &[Setting]| {
        let settings: Vec<_> = [("precondition", "full"), ("op_ratio", "40")]
            .iter()
            .chain(&SHARED)
            .chain(own)
            .copied()
            .collect();
        run(&settings, &requests).counters
    };
    let page = outcome(&[]);
    for cache in ["8B", "64B", "512B"] {
        let cached = outcome(&[("ftl.kind", "dftl"), ("ftl.cache_bytes", cache)]);
        assert_eq!((cached.host.programs, cached.host.reads), (page.host.programs, page.host.reads));
        let written = cached.map.write_backs + cached.map.updates;
        assert_eq!(cached.mapping.programs, written);
        assert_eq!(cached.mapping.reads, cached.map.loads + written);
        assert_eq!(cached.map.lookups, page.host.programs);
        assert_eq!(written > 0, cache != "512B");
    }
}

#[test]
fn a_drive_of_one_unit_that_allocates_dynamically_is_the_striped_one() {
    let one =
        [("ftl.kind", "dftl"), ("ftl.cache_bytes", "8B"), ("op_ratio", "0.75"), ("precondition", "full")];
    let outcome =
        |alloc| run(&one.into_iter().chain([("alloc.kind", alloc)]).collect::<Vec<_>>(), &mixed(64));
    let dynamic = outcome("dynamic");
    assert!(dynamic.counters.map.updates + dynamic.counters.map.write_backs > 50);
    assert!(dynamic == outcome("striped"));
}
