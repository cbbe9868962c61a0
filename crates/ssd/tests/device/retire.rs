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

/// Drives of one or several units, with groups, two frontiers, mapping units, superblocks, and parity.
const DRIVES: [&[Setting]; 13] = [
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
    for more in [DRIVES[0], DRIVES[3], DRIVES[5]] {
        let counts = run_both(&worn_by_cycles(more), &overwrites(1000)).counters.ageing;
        assert!(counts.retired_blocks > 0, "{more:?}");
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
