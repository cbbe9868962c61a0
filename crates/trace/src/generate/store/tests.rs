use std::collections::BTreeMap;

use crate::generate::Spec;
use crate::{Op, Request};

fn requests(spec: &str, count: usize) -> Vec<Request> {
    let spec = Spec::parse(spec).unwrap();
    let mut out = Vec::new();
    let mut generator = spec.generator();
    let mut more = true;
    while more && out.len() < count {
        let left = count - out.len();
        more = generator.read(&mut out, left);
    }
    for request in &out {
        assert!(request.end() <= spec.span_end_bytes() / 512, "{request:?}");
    }
    out
}

fn sectors(requests: &[Request], op: Op, handle: u8) -> u64 {
    let mine = requests.iter().filter(|request| request.op == op && request.handle == handle);
    mine.map(|request| u64::from(request.sectors)).sum()
}

/// Bytes follow `small_writes`; buckets stay in their part, regions are written in order and over again.
#[test]
fn a_cache_writes_buckets_anywhere_and_regions_in_order() {
    let spec = "cachelib:span=1GiB,small=0.05,small_writes=0.3,count=200000";
    let all = requests(spec, 200_000);
    let (small, large) = (sectors(&all, Op::Write, 0), sectors(&all, Op::Write, 1));
    let share = small as f64 / (small + large) as f64;
    assert!((share - 0.3).abs() < 0.001, "{share}");
    let border = (1u64 << 30) / 4096 * 5 / 100 * 8;
    assert!(all.iter().all(|request| (request.handle == 0) == (request.lba < border)));
    let regions: Vec<&Request> = all.iter().filter(|request| request.handle == 1).collect();
    // Where a region does not follow the one before, the first one follows the last.
    let breaks: Vec<_> = regions.windows(2).filter(|pair| pair[0].end() != pair[1].lba).collect();
    assert!(!breaks.is_empty() && breaks.iter().all(|pair| pair[1].lba == border));
}

#[test]
fn a_cache_reads_what_it_holds() {
    let all = requests("cachelib:span=1GiB,write=0.4,count=50000", 50_000);
    let reads = all.iter().filter(|request| request.op == Op::Read).count();
    assert!(reads.abs_diff(30_000) < 600, "{reads}");
}

/// A log with a record of 16 KiB, each flushed; of a database two pages of 8 KiB beside it.
#[test]
fn a_log_goes_around_and_pages_are_written_in_place() {
    let log = requests("wal:span=1MiB,record=16KiB,count=300", 300);
    assert!(log.chunks(2).all(|pair| pair[0].op == Op::Write && pair[1].op == Op::Flush));
    assert_eq!(log[64 * 2].lba, 0);
    assert!(
        requests("wal:span=1MiB,flush_every=0,count=99", 99).iter().all(|request| request.op == Op::Write)
    );
    let all = requests("btree:span=1GiB,page=8KiB,pages=2,count=40000", 40_000);
    assert_eq!(sectors(&all, Op::Write, 0), sectors(&all, Op::Write, 1));
    let mut counts: BTreeMap<u64, u32> = BTreeMap::new();
    for request in all.iter().filter(|request| request.handle == 1) {
        *counts.entry(request.lba).or_default() += 1;
    }
    assert!(counts.values().max().unwrap() > &1000, "popular pages are written more often");
}

/// No compaction reads or discards what was not written, none writes over what is still there, and the tree keeps its size.
#[test]
fn a_tree_writes_only_free_space_and_reads_only_what_is_there() {
    for spec in [
        "lsm:span=1GiB,table=4MiB,count=2000000",
        "lsm:span=1GiB,table=4MiB,fanout=2,fill=0.4,count=2000000",
        "lsm:span=544MiB,table=4MiB,fanout=10,fill=0.72,count=2000000",
        "lsm:span=1GiB,table=3MiB,fanout=100,fill=0.79,record=4KiB,count=2000000",
    ] {
        let table = if spec.contains("3MiB") { 3u64 << 11 } else { 4 << 11 };
        let mut held: BTreeMap<u64, bool> = BTreeMap::new();
        let (mut most, mut flushed) = (0, true);
        for request in requests(spec, 2_000_000) {
            if request.op == Op::Flush {
                flushed = true;
                continue;
            }
            if request.handle == 0 && request.op == Op::Write {
                continue;
            }
            let slot = (request.lba - 2 * table) / table;
            match request.op {
                Op::Write => {
                    flushed = false;
                    if (request.lba - 2 * table).is_multiple_of(table) {
                        assert_eq!(held.insert(slot, true), None, "{spec}: {request:?}");
                    }
                    assert!(held.contains_key(&slot), "{spec}: {request:?}");
                }
                Op::Read => assert!(held.contains_key(&slot), "{spec}: {request:?}"),
                _ => {
                    assert!(flushed, "{spec}: new files are flushed before old ones are discarded");
                    assert!(held.remove(&slot).is_some(), "{spec}: {request:?}");
                }
            }
            most = most.max(held.len());
        }
        assert!(most > 40, "{spec}: {most}");
    }
}

/// Each level writes about the same for a byte of the log: half of the fanout and what it takes along, as the arithmetic of leveled
/// compaction says (a file is merged with `fanout` files of the next level when that is full, half of them on the mean).
#[test]
fn the_write_amplification_of_a_tree_is_that_of_its_levels() {
    let all = requests("lsm:span=4GiB,table=4MiB,fanout=10,fill=0.6,count=6000000", 6_000_000);
    let half = &all[all.len() / 2..];
    let log = sectors(half, Op::Write, 0) as f64;
    let levels: Vec<f64> = (1..8).map(|handle| sectors(half, Op::Write, handle) as f64 / log).collect();
    assert!((levels[0] - 1.0).abs() < 0.05, "level 0 takes each table once: {levels:?}");
    let below: f64 = levels[2..].iter().sum();
    assert!(below > 3.0 && levels[2..].iter().all(|level| *level < 12.0), "{levels:?}");
}

#[test]
fn hints_count_from_the_stream_or_are_off() {
    let handles = |spec: &str| {
        let mut handles: Vec<u8> = requests(spec, 5000).iter().map(|request| request.handle).collect();
        handles.sort_unstable();
        handles.dedup();
        handles
    };
    assert_eq!(handles("cachelib:span=1GiB,stream=3,count=5000"), [3, 4]);
    assert_eq!(handles("cachelib:span=1GiB,stream=3,hints=false,count=5000"), [3]);
    assert_eq!(handles("random:stream=7,count=5000"), [7]);
    assert_eq!(handles("vm-boot:scale=0.1,stream=7"), [7]);
}

#[test]
fn bad_options_say_what_was_expected() {
    for (spec, said) in [
        ("cachelib:small=0", "`small` \"0\": expected a share above 0 and below 1"),
        ("cachelib:span=16MiB", "`span` \"16MiB\": expected at least"),
        ("cachelib:stream=255", "`stream` \"255\": expected at most 254"),
        ("lsm:fill=0.8", "with fanout=10 the levels would take more than 0.8"),
        ("lsm:span=1GiB", "expected at least 8320MiB: 130 tables"),
        ("lsm:flush_every=1", "has no effect in lsm"),
        ("wal:theta=1", "has no effect in wal"),
        ("btree:log=0.0000001", "leaves the log no room"),
        ("random:stream=256", "`stream` \"256\": expected a whole number from 0 to 255"),
        ("random:hints=true", "has no effect in random, it is a key of cachelib and lsm and wal and btree"),
    ] {
        let error = Spec::parse(spec).expect_err(spec).to_string();
        assert!(error.contains(said), "{spec}: {error}");
    }
}
