//! The models against closed forms: single-page overwrites all over one full channel.

use crate::models::channels::{Drive, Method};
use crate::models::fast::{Fast, SwFull};
use crate::models::ftl::Ftl;
use crate::models::lockstep::Times;
use crate::models::page::PageMap;
use crate::models::stream::Striping;

/// Only writes take time, one nanosecond each.
const COUNTING: Times = Times { read: 0, write: 1, erase: 0 };

/// Pages written for each that the host writes, once the first `requests` of three times as many are over.
fn amplification<F: Ftl>(pages: u32, requests: u64, ftl: impl Fn() -> F) -> f64 {
    let drive = Drive {
        striping: Striping::independent(1, 1, 8),
        times: COUNTING,
        method: Method::None,
        buffer: 0,
        spare_blocks: 0,
        coalesce: false,
    };
    let run = |requests: u64| {
        let span = u64::from(pages) * 4096;
        let spec = format!("random:span={span},size=4KiB,align=4KiB,count={requests},write=1,seed=3");
        let out = drive.run(&spec, &ftl);
        ((out.host + out.gc) as f64, out.host as f64)
    };
    let (start, end) = (run(requests), run(3 * requests));
    (end.0 - start.0) / (end.1 - start.1)
}

/// Data blocks, pages a block, RW log blocks beside the SW one, closed form.
#[test]
fn fast_with_partial_merges() {
    for (data, per_block, logs, expected) in
        [(2000, 64, 15, 44.75), (2000, 64, 60, 23.24), (1000, 128, 30, 28.11), (500, 64, 100, 6.09)]
    {
        let ftl = || Fast::new(data, logs + 1, per_block, COUNTING, SwFull::PartialMerge);
        let found = amplification(data * per_block, 150_000, ftl);
        println!("D {data}, b {per_block}, R {logs}: {found:.3}, closed form {expected}");
        assert!((found / expected - 1.0).abs() < 0.015);
    }
}

/// Greedy victims at spare factors of 0.07 and 0.20 and 64 pages a block.
#[test]
fn greedy_page_mapping() {
    for (data, spare, expected) in [(930, 70, 6.6155), (800, 200, 2.5993)] {
        let found = amplification(data * 64, 300_000, || PageMap::new(data, spare, 64, COUNTING));
        println!("D {data}, spare {spare}: {found:.3}, closed form {expected}");
        assert!((found / expected - 1.0).abs() < 0.015);
    }
}
