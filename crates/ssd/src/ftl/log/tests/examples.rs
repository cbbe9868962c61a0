//! The worked example of the planners (huang2010, figures 11, 13 and 17): two channels, blocks of 4 pages. Page p is on
//! channel p mod 2, in the data block 2 floor(p / 8) + p mod 2.

use super::*;

const SHAPE: [(&str, &str); 6] = [
    ("channels", "2"),
    ("pages_per_block", "4"),
    // Pages 0 to 439: data blocks 0 to 109.
    ("capacity", "225280"),
    // Three log blocks each.
    ("op_ratio", "0.0546"),
    ("ftl.kind", "log-block"),
    ("host.queue_depth", "1"),
];

/// Data blocks as the figures number them.
fn named(unit: u32, block: u32) -> u32 {
    2 * block + unit
}

/// The state of the figures. The oldest log block of channel 1 holds pages 423, 405 and 431, that of channel 0 pages 410, 414
/// and 404; the second one there holds 434 and 418. All log blocks of channel 1 are full.
fn state(more: &[(&str, &str)]) -> Bench {
    let settings: Vec<_> = SHAPE.iter().chain(more).copied().collect();
    let mut bench = Bench::full(&settings);
    let mut write = |pages: &[u32]| pages.iter().for_each(|page| bench.write(page % 2, page / 2));
    // The fourth page of each oldest block is overwritten later.
    write(&[423, 405, 431, 1, 410, 414, 404, 2]);
    write(&[1, 3, 9, 11, 2, 434, 418, 4]);
    write(&[17, 19, 25, 27, 12]);
    let on_0 = [vec![205, 207, 202], vec![1, 217, 209, 2], vec![6]];
    assert_eq!(bench.in_log(0), on_0);
    let on_1 = [vec![211, 202, 215], vec![0, 1, 4, 5], vec![8, 9, 12, 13]];
    assert_eq!(bench.in_log(1), on_1);
    bench
}

/// Makes the collection of channel 1, and what `follow` says meanwhile. Returns the blocks merged by channel 1.
fn collect(bench: &mut Bench, mut follow: impl FnMut(&mut Bench, Step)) -> Vec<u32> {
    // Page 433 has to be appended.
    assert!(bench.must_collect(1, 216) && !bench.must_collect(0, 216));
    let mut merged = Vec::new();
    while let Some(step) = bench.collect_step(1) {
        follow(bench, step);
        bench.check();
        if let Step::Merge { block } = step {
            merged.push(named(1, block));
        }
        assert_eq!(bench.must_collect(1, 216), step != Step::Erase && step != Step::Move);
        if step == Step::Erase {
            break;
        }
    }
    merged
}

#[test]
fn a_collection_merges_the_data_block_of_each_valid_page_in_order() {
    let mut bench = state(&[]);
    assert_eq!(collect(&mut bench, |_, _| {}), [105, 101, 107]);
    let merge = |block: u32| [Event::Copies(1, 4), Event::Erased(1, block / 2), merged(MergeKind::Full)];
    let log_block = 55;
    let expected: Vec<Event> =
        [105, 101, 107].into_iter().flat_map(merge).chain([Event::Erased(1, log_block), COLLECTED]).collect();
    assert_eq!(bench.take_events(), expected);
    assert_eq!((bench.ftl.spare_blocks(1), bench.ftl.free_blocks(1)), (1, 2));
    bench.write(1, 216);
    assert_eq!(bench.in_log(1)[2], [216]);
    assert_eq!((bench.ftl.spare_blocks(1), bench.ftl.free_blocks(1)), (0, 1));
}

#[test]
fn super_data_blocks_are_merged_early_or_for_nothing() {
    let mut bench = state(&[]);
    let mut copies = Vec::new();
    collect(&mut bench, |bench, step| {
        if let Step::Merge { block } = step {
            bench.take_events();
            assert!(bench.merge(0, block));
            copies.push((named(0, block), bench.take_events()[0].clone()));
        }
    });
    let all = Event::Copies(0, 4);
    assert_eq!(copies, [(104, all.clone()), (100, all.clone()), (106, all)]);
    // Pages 418 (early) and 404 have left the log; merging 106 did nothing.
    assert_eq!(bench.in_log(0), [vec![205, 207], vec![1, 217, 2], vec![6]]);
    assert!(!bench.follow_erase(0), "the oldest block still holds a valid page");
    assert!(!bench.merge(0, 55), "there is no data block 110");
}

#[test]
fn cycles_are_stolen_from_the_oldest_valid_page_on() {
    let mut bench = state(&[]);
    let mut stolen = Vec::new();
    let mut erased = Vec::new();
    collect(&mut bench, |bench, step| match step {
        Step::Merge { .. } => {
            let oldest = bench.in_log(0).concat()[0];
            stolen.push(named(0, oldest / 4));
            assert!(bench.follow_copy(0));
        }
        _ => erased.push(bench.follow_erase(0)),
    });
    assert_eq!((stolen, erased), (vec![102, 100, 0], vec![true]));
}

#[test]
fn stealing_goes_on_to_the_second_oldest_log_block() {
    let mut bench = state(&[]);
    // Page 2 of data block 0 is written again, so that page 434 is the oldest after those of log block 0A.
    bench.write(0, 1);
    let mut stolen = Vec::new();
    collect(&mut bench, |bench, step| match step {
        Step::Merge { .. } => {
            stolen.push(named(0, bench.in_log(0).concat()[0] / 4));
            assert!(bench.follow_copy(0));
        }
        // While channel 1 erases 1A, 0A holds nothing valid any more.
        _ => assert!(bench.follow_erase(0) && !bench.follow_erase(0)),
    });
    assert_eq!(stolen, [102, 100, 108]);
    assert_eq!(bench.ftl.spare_blocks(0), 1);
    // The remaining pages are walked to their end, the open block included.
    let mut left = 0;
    while bench.follow_copy(0) {
        left += 1;
    }
    assert_eq!((left, bench.in_log(0).concat().len()), (3, 0));
    assert!(bench.follow_erase(0), "the block after it is empty by now, too");
    assert!(!bench.follow_erase(0), "the open block is not erased");
}

#[test]
fn a_throttled_collection_moves_what_is_left_to_the_newest_log_block() {
    let mut bench = state(&[("gc.throttle", "2")]);
    let mut steps = Vec::new();
    assert_eq!(collect(&mut bench, |_, step| steps.push(step)), [105, 101]);
    assert_eq!(steps[2..], [Step::Move, Step::Erase]);
    // Page 431 is the first of what was the erased block, which log block 1A replaces.
    assert_eq!(bench.in_log(1), [vec![0, 1, 4, 5], vec![8, 9, 12, 13], vec![215]]);
    let events = bench.take_events();
    assert_eq!(events[6..], [Event::Copies(1, 1), Event::Erased(1, 55), COLLECTED]);
    assert_eq!((bench.ftl.spare_blocks(1), bench.ftl.free_blocks(1)), (0, 1));
    bench.write_all(1, [216, 218, 219]);
    assert!(bench.must_collect(1, 217), "the block has three pages free, and no more");
    bench.check();
}

#[test]
fn a_collection_that_is_left_goes_on_where_it_was() {
    let mut bench = state(&[("gc.throttle", "2")]);
    assert_eq!(bench.collect_step(1), Some(Step::Merge { block: 52 }));
    // Not forced: what it merges by itself meanwhile does not count towards the limit.
    assert!(bench.merge(1, 3));
    assert_eq!(bench.collect_step(1), Some(Step::Merge { block: 50 }));
    assert_eq!(bench.collect_step(1), Some(Step::Move));
    bench.write(1, 216);
    assert_eq!(bench.collect_step(1), Some(Step::Erase));
    // The next collection counts from zero.
    bench.write_all(1, [218, 219]);
    assert_eq!(bench.collect_step(1), Some(Step::Merge { block: 0 }));
    bench.check();
}
