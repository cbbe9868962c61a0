//! The map on flash: translation pages read and written for a request, without those that collections cause.

use crate::theory::closed_forms::mapping::{Traffic, by_entry, by_page};
use crate::theory::drive::{Drive, assert_close, full};

/// Uniform requests over a full drive that is so large that it never collects: what a request costs after the first ones.
fn measure(hits: f64, writes: f64, batch: bool) -> (f64, Traffic, f64) {
    let pages: u64 = if full() { 200 << 10 } else { 40 << 10 };
    let requests = 8 * pages;
    let drive = Drive::one_die()
        .set("capacity", pages * 4096)
        .set("op_ratio", if writes > 0.7 { 24 } else { 16 })
        .set("precondition", "full")
        .set("ftl.kind", "dftl")
        .set("ftl.cache_bytes", (hits * pages as f64).round() * 8.0)
        .set("ftl.batch_update", batch);
    let workload = format!(
        "random:span={},size=4KiB,align=4KiB,write={writes},seed=5,count={}",
        pages * 4096,
        requests + 4 * pages
    );
    let mut run = drive.start(&workload);
    let before = run.counters_after(4 * pages);
    let now = run.counters_after(requests);
    assert_eq!(now.collections, 0);
    let (map, flash) = (now.map.since(&before.map), now.mapping.since(&before.mapping));
    assert_eq!(flash.programs, map.write_backs);
    assert_eq!(flash.reads, map.loads + map.write_backs, "every translation page was there");
    let each = |count: u64| count as f64 / requests as f64;
    (each(map.hits), Traffic { reads: each(flash.reads), writes: each(flash.programs) }, each(map.lookups))
}

#[test]
fn by_entry_traffic_is_that_of_the_closed_form() {
    let tolerance = if full() { 0.003 } else { 0.005 };
    for (hits, writes) in [(0.1, 0.5), (0.3, 0.5), (0.1, 1.0), (0.5, 0.2)] {
        let (found_hits, found, lookups) = measure(hits, writes, false);
        let expected = by_entry(hits, writes);
        let what = format!("h = {hits}, w = {writes}");
        assert_close(&format!("{what}: look-ups"), lookups, 1.0, 1e-9);
        assert_close(&format!("{what}: hits"), found_hits, hits, tolerance);
        assert_close(&format!("{what}: reads"), found.reads, expected.reads, tolerance);
        assert_close(&format!("{what}: writes"), found.writes, expected.writes, tolerance);
    }
}

#[test]
fn batch_updates_write_a_page_once_for_all_its_entries() {
    for (hits, writes) in [(0.1, 0.5), (0.05, 1.0)] {
        let (_, found, _) = measure(hits, writes, true);
        let expected = by_page(hits, writes, 1024.0);
        let what = format!("h = {hits}, w = {writes}");
        assert_close(&format!("{what}: reads"), found.reads, expected.reads, 0.01);
        assert_close(&format!("{what}: writes"), found.writes, expected.writes, 0.01);
    }
}
