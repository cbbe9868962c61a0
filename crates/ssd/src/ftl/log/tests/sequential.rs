//! The sequential log block of FAST.

use super::*;

const SHAPE: [(&str, &str); 4] =
    [("pages_per_block", "4"), ("capacity", "20480"), ("op_ratio", "0.3"), ("ftl.kind", "fast")];

fn fast(sw_full: &str) -> Bench {
    let settings: Vec<_> = SHAPE.iter().copied().chain([("ftl.sw_full", sw_full)]).collect();
    Bench::full(&settings)
}

#[test]
fn a_sequential_overwrite_is_switched_in() {
    for sw_full in ["reuse", "partial-merge"] {
        let mut bench = fast(sw_full);
        for _ in 0..3 {
            for unit_page in 0..bench.unit_pages {
                assert!(!bench.must_collect(0, unit_page));
                bench.write(0, unit_page);
            }
        }
        bench.check();
        let events = bench.take_events();
        // The last block of all is switched in with the unit's next write.
        assert_eq!(events.len(), 2 * (3 * 10 - 1));
        for pair in events.chunks(2) {
            assert!(matches!(pair[0], Event::Erased(0, _)));
            assert_eq!(pair[1], merged(MergeKind::Switch));
        }
    }
}

#[test]
fn a_reused_block_is_filled_after_the_open_one() {
    let mut bench = fast("reuse");
    bench.write_all(0, [1, 0, 1, 5, 4]);
    // Block 0 holds pages 0 and 1 of data block 0; data block 1 has the sequential log block now.
    assert_eq!(bench.in_log(0), [vec![5], vec![0, 1]]);
    bench.write_all(0, [9, 13, 17, 21]);
    assert_eq!(bench.in_log(0), [vec![5, 9, 13], vec![0, 1, 17, 21]]);
    // A later page of the owner and an earlier one go to the random log; the next one still follows.
    bench.write_all(0, [7, 5]);
    assert_eq!(bench.in_log(0)[2], [7]);
    bench.write(0, 5);
    assert_eq!(bench.in_log(0)[2], [7, 5]);
    assert_eq!(bench.take_events(), []);
    bench.check();
    // So it can be completed and switched in; pages that were written again stay where they are newest.
    bench.write_all(0, [6, 7, 6]);
    assert_eq!(bench.take_merges(), [0, 0, 1]);
    assert_eq!(bench.in_log(0)[2], [5, 6]);
    bench.check();
}

#[test]
fn reuse_takes_a_place_of_the_log_and_so_may_need_a_collection() {
    let mut bench = fast("reuse");
    bench.write(0, 0);
    bench.write_all(0, [5, 9, 13, 17, 21, 25, 29, 33, 37]);
    // No block is free, but pages are: the first page of a data block is like any other then.
    assert_eq!((bench.ftl.spare_blocks(0), bench.must_collect(0, 4)), (0, false));
    bench.write_all(0, [4, 6]);
    assert_eq!(bench.in_log(0)[2], [37, 4, 6]);
    bench.write(0, 10);
    // Three log blocks are full: nothing needs one until another block wants the sequential log block.
    assert_eq!((bench.ftl.spare_blocks(0), bench.in_log(0).len()), (0, 3));
    assert!(!bench.must_collect(0, 1) && bench.must_collect(0, 4) && bench.must_collect(0, 39));
    assert_eq!(bench.take_events(), []);
    bench.write(0, 4);
    assert_eq!(bench.in_log(0).last(), Some(&vec![0]));
    assert_eq!(bench.take_merges()[0], 4);
    bench.check();
}

#[test]
fn classic_fast_merges_what_can_not_be_switched() {
    let erases = |events: &[Event]| events.iter().filter(|event| matches!(event, Event::Erased(..))).count();
    // Another block's turn: the rest is copied.
    let mut bench = fast("partial-merge");
    bench.write_all(0, [0, 1, 4]);
    let events = bench.take_events();
    assert_eq!((&events[0], erases(&events)), (&Event::Copies(0, 2), 1));
    assert_eq!(events.last(), Some(&merged(MergeKind::Partial)));
    // A later page than the next: the same, and then the page goes to the random log.
    bench.write(0, 7);
    let events = bench.take_events();
    assert_eq!((&events[0], erases(&events)), (&Event::Copies(0, 3), 1));
    assert_eq!(events.last(), Some(&merged(MergeKind::Partial)));
    assert_eq!(bench.in_log(0), [vec![7]]);
    // An earlier one: all pages are copied, and both blocks erased.
    bench.write_all(0, [8, 9, 10, 9]);
    let events = bench.take_events();
    assert_eq!((&events[0], erases(&events)), (&Event::Copies(0, 4), 2));
    assert_eq!(events.last(), Some(&merged(MergeKind::Full)));
    assert_eq!(bench.in_log(0), [vec![7, 9]]);
    // Pages that do not exist are not copied: a block of which nothing else is left is switched in as it is.
    bench.trim(0, 14);
    bench.trim(0, 15);
    bench.write_all(0, [12, 13, 16]);
    assert_eq!(bench.take_merges(), [0, 0, 1]);
    bench.check();
}

#[test]
fn a_collection_completes_the_sequential_log_block_of_its_data_block() {
    for sw_full in ["reuse", "partial-merge"] {
        let mut bench = fast(sw_full);
        bench.write_all(0, [3, 9, 13, 17, 0, 1]);
        assert_eq!(bench.collect_step(0), Some(Step::Merge { block: 0 }));
        let events = bench.take_events();
        assert_eq!(events[0], Event::Copies(0, 2));
        assert_eq!(events.last(), Some(&merged(MergeKind::Partial)));
        bench.check();
    }
    // Not if it holds an older version: then both blocks are erased.
    let mut bench = fast("reuse");
    bench.write_all(0, [3, 9, 13, 0, 1, 0, 1, 3]);
    bench.write_all(0, [0]);
    assert_eq!(bench.in_log(0), [vec![9, 13, 3], vec![], vec![1]]);
    bench.write_all(0, [1, 1]);
    bench.take_events();
    assert!(bench.merge(0, 0));
    let erased = bench.take_events().iter().filter(|event| matches!(event, Event::Erased(..))).count();
    assert_eq!(erased, 2);
    bench.check();
}
