//! Blocks whose pages need too many retries are retired, until the drive is read-only.

use flashweir_ssd::{Counters, Simulation, Spare};
use flashweir_trace::Request;

use super::ageing::{LIMIT, SECOND, aged, text};
use super::rig::{MS, Setting, drive, ends_in_slices, read, run, run_both, write};

/// A block needs a retry from its sixth erase on, and is retired then.
fn worn_by_cycles(more: &[Setting]) -> Vec<Setting> {
    let law = [("ageing.alpha", text(LIMIT / 5.5)), ("ageing.retire", "1")];
    aged(&[&law[..], more].concat())
}

/// All pages, then random ones: a drive of 16 blocks of data is written so many times over.
fn overwrites(count: u64) -> Vec<Request> {
    let random = (0..count).map(|number| (number * number * 31 + number * 7) % 64);
    (0..64).chain(random).enumerate().map(|(number, page)| write(number as u64 * 10 * MS, page)).collect()
}

const MLC: Setting = ("nand.cell", "mlc");
const STATIC: [Setting; 2] = [("slc.kind", "static"), ("slc.static_blocks", "2")];

/// Drives of one or several units, with groups, two frontiers, mapping units, superblocks, parity, and SLC caches.
const DRIVES: [&[Setting]; 17] = [
    &[],
    &[("gc.frontiers", "2"), ("gc.victim", "fifo")],
    &[("gc.victim", "cost-benefit"), ("gc.free_blocks", "3")],
    &[("channels", "4"), ("wear.dynamic", "true")],
    &[("channels", "4"), ("alloc.kind", "superblock"), ("op_ratio", "1")],
    &[("channels", "4"), ("alloc.kind", "superblock"), ("alloc.parity", "3"), ("op_ratio", "1.5")],
    &[("ftl.map_unit", "1KiB"), ("op_ratio", "1"), ("pages_per_block", "8")],
    &[("ftl.classifier", "generations"), ("op_ratio", "1")],
    &[("channels", "4"), ("alloc.kind", "dynamic"), ("op_ratio", "1")],
    &[("channels", "2"), ("dies", "2"), ("alloc.kind", "dynamic"), ("alloc.mode", "1"), ("op_ratio", "1")],
    &[("ftl.kind", "dftl"), ("ftl.cache_bytes", "64"), ("op_ratio", "1")],
    &[("channels", "2"), ("ftl.kind", "dftl"), ("ftl.cache_bytes", "128"), ("op_ratio", "2")],
    &[
        ("channels", "2"),
        ("ftl.kind", "dftl"),
        ("ftl.cache_bytes", "64"),
        ("alloc.kind", "dynamic"),
        ("op_ratio", "2"),
    ],
    &[MLC, STATIC[0], STATIC[1], ("op_ratio", "1")],
    &[MLC, ("slc.kind", "dynamic"), ("slc.when_full", "direct"), ("op_ratio", "1")],
    &[MLC, ("slc.kind", "both"), STATIC[1], ("ftl.kind", "dftl"), ("op_ratio", "1.5")],
    &[
        MLC,
        ("slc.kind", "both"),
        STATIC[1],
        ("channels", "4"),
        ("alloc.kind", "superblock"),
        ("op_ratio", "1.5"),
    ],
];

fn served(settings: &[Setting], requests: &[Request]) -> (Simulation, Counters, Spare) {
    let mut simulation = drive(settings);
    simulation.serve(requests).expect("served");
    simulation.finish().expect("finished");
    let (counters, spare) = (simulation.counters(), simulation.spare().expect("blocks are retired"));
    (simulation, counters, spare)
}

#[test]
fn worn_blocks_leave_until_the_drive_is_read_only_and_its_data_stays() {
    for more in DRIVES {
        let settings = worn_by_cycles(more);
        let requests: Vec<_> =
            overwrites(4000).into_iter().chain((0..64).map(|page| read(60 * SECOND, page))).collect();
        // Verified: every read finds what was written last and not refused.
        let (simulation, counters, spare) = served(&settings, &requests);
        let counts = counters.ageing;
        let end = spare.read_only.unwrap_or_else(|| panic!("{more:?}: {spare:?}, {counts:?}"));
        assert_eq!(spare.fewest, 0, "{more:?}");
        assert!(counts.retired_blocks > 0 && counts.refused_requests > 0, "{more:?}: {counts:?}");
        assert_eq!(counts.refused_bytes, counts.refused_requests * 4096, "{more:?}");
        let first = requests.len() as u64 - 64 - counts.refused_requests;
        let (before, after) = ((first - 1) * 10 * MS, first * 10 * MS);
        assert!((before..=after).contains(&end.at_ns), "{more:?}: {} in {before}..={after}", end.at_ns);
        let most = simulation.wear().all.max;
        // A block stays while its unit is too full to do without it, which only units that share their pages are.
        let stays = more.contains(&("alloc.kind", "dynamic"));
        assert!((6..=if stays { 12 } else { 8 }).contains(&most), "{more:?}: a block had {most} erases");
        let slices = ends_in_slices(&settings, &requests, 97);
        assert_eq!(slices, run(&settings, &requests).completions(), "{more:?}");
    }
}

#[test]
fn both_paths_retire_alike() {
    for more in [DRIVES[0], DRIVES[3], DRIVES[5], DRIVES[13], DRIVES[16]] {
        let counts = run_both(&worn_by_cycles(more), &overwrites(1000)).counters.ageing;
        assert!(counts.retired_blocks > 0, "{more:?}");
    }
}

/// Blocks of MLC never wear out, and those always in SLC mode when they were read, or erased for the first time.
fn worn_in_slc(more: &[Setting]) -> Vec<Setting> {
    let law = [MLC, STATIC[0], STATIC[1], ("ageing.cycles", "100000000"), ("ageing.retire", "1")];
    aged(&[&law[..], more].concat())
}

#[test]
fn static_blocks_leave_the_cache_and_no_spare_block_takes_their_place() {
    for full in ["fold", "direct"] {
        for (of_unit, more) in [
            (1, &[][..]),
            (1, &[("ageing.max_retired", "0")]),
            (1, &[("ftl.kind", "dftl"), ("op_ratio", "1")]),
            (4, &[("channels", "4"), ("alloc.kind", "superblock"), ("op_ratio", "1")]),
        ] {
            let settings = worn_in_slc(&[&[("slc.when_full", full)], more].concat());
            let (_, _, before) = served(&settings, &[]);
            let writes = overwrites(1000);
            // The drive finds them worn when it reads them at the latest: with `direct` nothing need ever be erased.
            let reads = (0..64).map(|page| read(635 * MS, page));
            let requests: Vec<_> =
                writes[..64].iter().copied().chain(reads).chain(writes[64..].iter().copied()).collect();
            let (simulation, counters, spare) = served(&settings, &requests);
            let at = format!("{full}, {more:?}: {:?}, {:?}", counters.ageing, counters.slc);
            assert_eq!((counters.ageing.retired_blocks, spare), (2 * of_unit, before), "{at}");
            let state = simulation.slc().expect("a cache");
            assert_eq!((state.blocks, state.room, state.kept_blocks), (0, 0, 2 * of_unit), "{at}");
            // Each block is written once or twice: it is found worn when it was erased.
            let cached = 2 * 2 * of_unit;
            assert!((cached..=2 * cached).contains(&counters.slc.written), "{at}");
            assert_eq!(counters.slc.written + counters.slc.direct, writes.len() as u64, "{at}");
            assert_eq!(
                ends_in_slices(&settings, &requests, 97),
                run(&settings, &requests).completions(),
                "{at}"
            );
        }
    }
}

#[test]
fn what_is_valid_in_a_worn_static_block_is_folded_when_the_cache_is_full() {
    // Two blocks of two pages; the first one is found worn by a read. Nothing is folded for its own sake.
    for (reads, folded) in [(&[][..], 0), (&[read(5 * MS, 0)], 2)] {
        let settings = worn_in_slc(&[("slc.when_full", "direct")]);
        let writes = |pages: std::ops::Range<u64>, at| pages.map(move |page| write(at + page * MS, page));
        let requests: Vec<_> = writes(0..4, 0).chain(reads.iter().copied()).chain(writes(8..10, 0)).collect();
        let (_, counters, _) = served(&settings, &requests);
        assert_eq!((counters.slc.folded, counters.slc.direct), (folded, 2), "{reads:?}");
        assert_eq!(counters.ageing.retired_blocks, folded / 2, "{reads:?}");
    }
}

#[test]
fn a_unit_loses_all_blocks_but_those_that_it_needs() {
    // 64 pages and one that is stale are 17 blocks of four; one is held back.
    let (simulation, counters, spare) = served(&worn_by_cycles(&[]), &overwrites(4000));
    let blocks = simulation.geometry().blocks;
    assert_eq!(spare.fewest, 0);
    let retired = counters.ageing.retired_blocks;
    assert!((blocks - 18 - 1..=blocks - 18).contains(&retired), "{retired} of {blocks}");
    let (_, counters, spare) = served(&worn_by_cycles(&[("ageing.max_retired", "2")]), &overwrites(4000));
    assert!(counters.ageing.retired_blocks <= 2 && spare.read_only.is_some());
    let (_, counters, spare) = served(&worn_by_cycles(&[("ageing.max_retired", "0")]), &overwrites(4000));
    assert_eq!((counters.ageing.retired_blocks, spare.fewest), (0, 0));
    assert!(counters.ageing.refused_requests > 3000);
}

#[test]
fn nothing_retires_by_default_and_none_before_its_retries() {
    let law = [("ageing.alpha", text(LIMIT / 5.5))];
    let (_, counters, spare) = served(&aged(&law), &overwrites(1000));
    assert_eq!((counters.ageing.retired_blocks, spare.read_only), (0, None));
    let later = aged(&[law[0], ("ageing.retire", "2")]);
    let (simulation, counters, _) = served(&later, &overwrites(1000));
    assert!(counters.ageing.retired_blocks > 0);
    assert!((11..=13).contains(&simulation.wear().all.max), "two retries from the eleventh erase on");
}

#[test]
fn a_block_with_a_page_that_is_lost_moves_and_retires() {
    // A day in each second, and data that can't be read when it is 3.5 days old; a refresh task moves what is due.
    let law = [
        ("ageing.pace", "86400"),
        ("ageing.beta", text(LIMIT / 3.5)),
        ("ageing.retries", "0"),
        ("ageing.soft_bits", "0"),
        ("ageing.retire", "2"),
    ];
    let requests: Vec<_> = (0..8)
        .map(|page| write(0, page))
        .chain([read(4 * SECOND, 1), read(5 * SECOND, 5), read(6 * SECOND, 1)])
        .collect();
    let (_, counters, spare) = served(&aged(&law), &requests);
    assert_eq!(
        (counters.ageing.uncorrectable_pages, counters.ageing.retired_blocks),
        (3, 0),
        "nothing moves it"
    );
    let refresh = [("background.refresh.after", "0ns"), ("background.refresh.reads", "1000000")];
    let (_, moved, left) = served(&aged(&[&law[..], &refresh].concat()), &requests);
    assert_eq!((moved.ageing.retired_blocks, moved.ageing.moved_units), (2, 8));
    assert_eq!((left.fewest, left.read_only), (spare.fewest, None));
}

#[test]
fn a_superblock_with_a_page_that_is_rebuilt_moves_and_retires() {
    // A block can't be read after 20 readings. Pages of its stripes can, and it moves before another one has as many.
    let law = [
        ("ageing.gamma", text(LIMIT / 20.5)),
        ("ageing.reads_of", "block"),
        ("ageing.retries", "0"),
        ("ageing.soft_bits", "0"),
        ("ageing.retire", "2"),
        ("background.refresh.after", "0ns"),
        ("background.refresh.reads", "1000000"),
        ("channels", "4"),
        ("alloc.kind", "superblock"),
        ("alloc.parity", "3"),
        ("op_ratio", "1.5"),
    ];
    let reads = (1..=30).map(|number| read(number * 100 * MS, 0));
    let requests: Vec<_> = (0..48).map(|page| write(0, page)).chain(reads).collect();
    let (_, counters, _) = served(&aged(&law), &requests);
    let counts = counters.ageing;
    assert!(counts.rebuilt_pages > 0, "{counts:?}");
    assert_eq!((counts.uncorrectable_pages, counts.retired_blocks), (0, 4), "{counts:?}");
}
