//! Log blocks of one data block (BAST) or of a few (KAST).

use super::*;

fn bench(kind: &'static str, more: &[(&'static str, &'static str)]) -> Bench {
    let shape = [("pages_per_block", "4"), ("capacity", "20480"), ("op_ratio", "0.3"), ("ftl.kind", kind)];
    let settings: Vec<_> = shape.iter().chain(more).copied().collect();
    Bench::full(&settings)
}

fn erases(events: &[Event]) -> usize {
    events.iter().filter(|event| matches!(event, Event::Erased(..))).count()
}

#[test]
fn each_data_block_has_a_log_block_of_its_own_as_long_as_there_are_enough() {
    let mut bench = bench("bast", &[]);
    bench.write_all(0, [1, 5, 9, 2, 6]);
    // In the order in which they were written last.
    assert_eq!(bench.in_log(0), [vec![9], vec![1, 2], vec![5, 6]]);
    assert!(bench.must_collect(0, 13) && !bench.must_collect(0, 10));
    bench.write(0, 13);
    let events = bench.take_events();
    assert_eq!((&events[0], erases(&events)), (&Event::Copies(0, 4), 2));
    assert_eq!(bench.in_log(0), [vec![1, 2], vec![5, 6], vec![13]]);
    bench.check();
}

#[test]
fn a_log_block_in_order_becomes_the_data_block() {
    let mut bench = bench("bast", &[]);
    // Complete: nothing is copied, and one block erased, before the next page is written.
    bench.write_all(0, 0..4);
    assert!(bench.must_collect(0, 39) && bench.must_collect(0, 0));
    assert_eq!(bench.collect_step(0), Some(Step::Erase));
    let events = bench.take_events();
    let switched = Event::Counted { merges: [0, 0, 1], collections: 1 };
    assert_eq!((events.len(), erases(&events), &events[1]), (2, 1, &switched));
    bench.check();
    // The first pages: the others are copied, in a step of their own.
    bench.write_all(0, [4, 5, 9, 13]);
    assert!(bench.must_collect(0, 17));
    assert_eq!(bench.collect_step(0), Some(Step::Merge { block: 1 }));
    assert_eq!(bench.take_events(), [Event::Copies(0, 2), merged(MergeKind::Partial)]);
    bench.check();
    // Another page may take the place meanwhile: what was replaced is erased when its block is needed.
    bench.write(0, 17);
    assert_eq!((bench.take_events(), bench.ftl.free_blocks(0)), (vec![], 0));
    assert_eq!(bench.collect_step(0), Some(Step::Erase));
    assert_eq!((erases(&bench.take_events()), bench.ftl.free_blocks(0)), (1, 1));
    bench.check();
    // All pages, but not in order: a full merge, and two erases.
    bench.write_all(0, [10, 11, 9, 5]);
    let events = bench.take_events();
    assert_eq!((&events[0], erases(&events)), (&Event::Copies(0, 4), 2));
    bench.check();
}

#[test]
fn followers_erase_the_log_block_that_would_be_next() {
    let mut bench = bench("bast", &[]);
    bench.write_all(0, [1, 5, 9]);
    assert!(!bench.follow_erase(0));
    assert!(bench.follow_copy(0) && bench.follow_erase(0) && !bench.follow_erase(0));
    assert_eq!((bench.in_log(0), bench.ftl.spare_blocks(0)), (vec![vec![5], vec![9]], 1));
    assert!(bench.collect_step(0).is_none(), "nothing must be collected, and no log block is full");
    // Merged with its log block in order, it needs no erase of that.
    bench.write(0, 12);
    bench.take_events();
    assert!(bench.merge(0, 3));
    let events = bench.take_events();
    assert_eq!((&events[0], erases(&events)), (&Event::Copies(0, 3), 1));
    assert_eq!(bench.ftl.spare_blocks(0), 1);
    bench.check();
}

#[test]
fn a_collection_merges_no_more_data_blocks_than_share_a_log_block() {
    let mut bench = bench("kast", &[("ftl.associativity", "2")]);
    // Free log blocks first, then the one with the fewest data blocks; a data block stays where it is.
    bench.write_all(0, [1, 5, 9, 2]);
    assert_eq!(bench.in_log(0), [vec![1, 2], vec![5], vec![9]]);
    bench.write_all(0, [13, 17, 21]);
    let queue = bench.in_log(0);
    assert_eq!(queue.concat().len(), 7);
    assert_eq!(queue.iter().map(|keys| data_blocks(keys, 4)).collect::<Vec<_>>(), [2, 2, 2]);
    // There is room for pages, but for none of a seventh data block.
    assert!(bench.must_collect(0, 25) && !bench.must_collect(0, 6) && !bench.must_collect(0, 22));
    bench.write(0, 25);
    assert_eq!(bench.take_merges(), [2, 0, 0]);
    bench.check();
    // When a data block has left the log, another one may take its place.
    assert!(bench.merge(0, 1));
    assert!(!bench.must_collect(0, 29));
    bench.check();
}

#[test]
fn a_sequential_log_block_that_others_join() {
    let mut bench = bench("kast", &[("ftl.associativity", "2")]);
    bench.write_all(0, [0, 1, 4, 5, 6, 7]);
    // Data block 1 is complete; that of data block 0 is a log block among others now.
    bench.write_all(0, [2]);
    assert_eq!(bench.take_merges(), [0, 0, 1]);
    assert_eq!(bench.in_log(0), [vec![0, 1, 2]]);
    bench.write_all(0, [9, 13]);
    assert_eq!(bench.in_log(0), [vec![0, 1, 2], vec![9], vec![13]]);
    bench.write_all(0, [17, 21, 25]);
    assert_eq!(bench.in_log(0)[0][..3], [0, 1, 2]);
    assert_eq!(bench.in_log(0).concat().len(), 8);
    bench.check();
}
