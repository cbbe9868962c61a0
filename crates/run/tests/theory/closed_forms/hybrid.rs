//! Write amplification of log-block mapping under uniform single-page overwrites of a full drive.
//!
//! D data blocks, R log blocks, b pages a block.

/// FAST whose sequential log block is completed with copies when another block's turn comes. Data blocks merged for each
/// victim are `m b`; a write to the first page of a block (one in b) costs b - 1 copies.
pub(crate) fn fast(data_blocks: f64, pages_per_block: f64, log_blocks: f64) -> f64 {
    let pages = pages_per_block;
    // Pages that a data block collects in the log between two merges, if nothing were merged early.
    let logged = (log_blocks - 0.5) * pages / data_blocks;
    let early = logged / (pages - 1.0);
    let survives = (-early).exp();
    let merged = survives / (1.0 + logged * (1.0 - survives) / early);
    1.0 + (pages - 1.0) * merged + (pages - 1.0) / pages
}

/// BAST: a write whose data block is not among the R that were written last and have a log block costs a full merge. Exact
/// where log blocks are seldom full when they are collected.
pub(crate) fn bast(data_blocks: f64, pages_per_block: f64, log_blocks: f64) -> f64 {
    1.0 + pages_per_block * (1.0 - log_blocks / data_blocks)
}

#[test]
fn the_printed_numbers_of_fast() {
    use super::assert_printed;
    for ([d, b, r], printed) in [
        ([2000.0, 64.0, 15.0], 44.75),
        ([2000.0, 64.0, 60.0], 23.24),
        ([1000.0, 128.0, 30.0], 28.11),
        ([500.0, 64.0, 100.0], 6.09),
    ] {
        assert_printed(fast(d, b, r), printed, 2);
    }
}
