//! The indices of full blocks.

use super::*;

#[test]
fn buckets_follow_invalidations() {
    let mut blocks = Blocks::new(4, 4, Index::ByValid);
    for block in 0..3 {
        assert_eq!(blocks.take_free(false), Some(block));
        blocks.add_valid(block, 4);
        blocks.fill(block, 0);
    }
    blocks.invalidate(1);
    blocks.invalidate(2);
    blocks.invalidate(2);
    assert_eq!(blocks.fewest_valid(), Some(2));
    blocks.claim(2);
    assert_eq!(blocks.fewest_valid(), Some(1));
    blocks.erase(2);
    assert_eq!((blocks.free(), blocks.full_count(), blocks.erases(2), blocks.valid(2)), (2, 2, 1, 0));
}

#[test]
fn the_queue_keeps_the_order_of_filling() {
    let mut blocks = Blocks::new(4, 4, Index::ByAge);
    for block in [2, 0, 1] {
        blocks.fill(block, 0);
    }
    blocks.claim(0);
    assert_eq!(blocks.oldest(), Some(2));
    blocks.claim(2);
    assert_eq!(blocks.oldest(), Some(1));
    blocks.claim(1);
    assert_eq!(blocks.oldest(), None);
}

#[test]
fn another_index_has_the_same_blocks() {
    let mut blocks = Blocks::new(5, 4, Index::ByValid);
    for (block, now) in [(2, 7), (0, 3), (1, 9), (4, 1)] {
        blocks.add_valid(block, block);
        blocks.fill(block, now);
    }
    blocks.claim(4);
    blocks.change_index(Index::ByAge);
    assert_eq!(blocks.oldest(), Some(0));
    blocks.claim(0);
    blocks.change_index(Index::Unordered);
    assert_eq!(blocks.unordered(), [2, 1]);
    blocks.change_index(Index::ByValid);
    assert_eq!((blocks.fewest_valid(), blocks.full_count(), blocks.valid(4)), (Some(1), 2, 4));
    blocks.claim(1);
    assert_eq!(blocks.fewest_valid(), Some(2));
}
