//! Hosts of zones: their commands keep the rules of zones.

use std::collections::BTreeMap;

use crate::generate::Spec;
use crate::{Op, Request};

fn requests(spec: &str) -> Vec<Request> {
    let mut out = Vec::new();
    let mut generator = Spec::parse(spec).unwrap().generator();
    while generator.read(&mut out, 4096) {}
    out
}

/// Write pointers of zones of 128 sectors, by the commands; a zone that is not there is finished.
fn follow(spec: &str, window: u64) -> BTreeMap<Op, u64> {
    let (mut pointers, mut counts, mut most) = (BTreeMap::new(), BTreeMap::new(), 0);
    // Sectors of each zone up to which something was written.
    let mut readable: BTreeMap<u64, u64> = BTreeMap::new();
    for request in requests(spec) {
        let (zone, end) = (request.lba / 128, request.end() - request.lba / 128 * 128);
        *counts.entry(request.op).or_insert(0) += 1;
        let written: Option<u64> = pointers.get(&zone).copied();
        match request.op {
            Op::Reset => {
                assert_eq!((request.lba % 128, request.sectors, written), (0, 128, None), "{request:?}");
                pointers.insert(zone, 0);
            }
            Op::OpenZrwa => assert_eq!((request.sectors, written), (128, Some(0))),
            Op::Append => {
                assert_eq!((request.lba % 128, window), (0, 0));
                pointers.insert(zone, written.unwrap() + u64::from(request.sectors));
            }
            Op::Write if window == 0 => {
                assert_eq!(request.lba % 128, written.unwrap());
                pointers.insert(zone, end);
            }
            Op::Write => {
                assert!(request.lba % 128 >= written.unwrap() && end <= written.unwrap() + 2 * window);
                pointers.insert(zone, written.unwrap().max(end.saturating_sub(window)));
            }
            Op::Commit => {
                assert_eq!(request.lba % 128, written.unwrap());
                pointers.insert(zone, end);
            }
            Op::Finish => assert!(pointers.remove(&zone).is_some_and(|written| written > 0)),
            op => {
                assert_eq!(op, Op::Read);
                let readable = readable.get(&zone).copied().unwrap_or(0);
                assert!(readable == 0 || end <= readable.max(8), "{spec}: {request:?} of {readable}");
            }
        }
        match request.op {
            Op::Read | Op::Finish | Op::OpenZrwa => {}
            Op::Reset => {
                readable.insert(zone, 0);
            }
            Op::Append => *readable.entry(zone).or_insert(0) += u64::from(request.sectors),
            _ => {
                let known = readable.entry(zone).or_insert(0);
                *known = end.max(*known);
            }
        }
        if pointers.get(&zone) == Some(&128) {
            pointers.remove(&zone);
        }
        assert!(end <= 128);
        most = most.max(pointers.len());
    }
    assert!(most <= 3, "{spec}: {most} zones at a time");
    counts
}

#[test]
fn zones_are_written_at_their_write_pointers_and_filled_or_finished() {
    let base = "zones:span=1MiB,zone=64KiB,open=3,count=20000,request=4KiB";
    let counts = follow(base, 0);
    assert!(!counts.contains_key(&Op::Finish) && counts[&Op::Append].abs_diff(counts[&Op::Write]) < 600);
    let counts = follow(&format!("{base},finish_at=0.5,append=0,write=0.5"), 0);
    assert!(!counts.contains_key(&Op::Append) && counts[&Op::Read].abs_diff(10_000) < 300);
    // Eight writes, a reset and a finish of each zone.
    assert!(counts[&Op::Write].abs_diff(8 * counts[&Op::Finish]) < 30, "{counts:?}");
    let counts = follow(&base.replace("=4KiB", "=12KiB"), 0);
    assert!(counts[&Op::Reset] > 1000, "the last request of a zone is shorter: {counts:?}");
}

#[test]
fn windows_are_written_in_any_order_and_again_and_committed_in_both_ways() {
    let base = "zones:span=1MiB,zone=64KiB,open=3,request=4KiB,count=20000,window=16KiB";
    let counts = follow(base, 32);
    let (writes, commits) = (counts[&Op::Write], counts[&Op::Commit]);
    assert_eq!(counts[&Op::OpenZrwa].abs_diff(counts[&Op::Reset]), 0);
    // Of four windows of a zone the last one is committed by a command, and half of the others.
    assert!((commits as f64 / counts[&Op::Reset] as f64 - 2.5).abs() < 0.1, "{counts:?}");
    let expected = (16.0 * 1.2 + 1.5) / 2.5;
    assert!((writes as f64 / commits as f64 - expected).abs() < 0.2, "{counts:?}");
    assert!(follow(&format!("{base},finish_at=0.75,commit=0"), 32)[&Op::Finish] > 100);
}

#[test]
fn specs_of_zones_print_whole_and_wrong_ones_say_why() {
    let spec = Spec::parse("zones:zone=2MiB,open=2,window=64KiB,write=0.7").unwrap();
    assert_eq!(Spec::parse(&spec.to_string()).unwrap(), spec);
    for (spec, expected) in [
        ("zones:span=4MiB,zone=1MiB", "`span` \"4MiB\": expected at least 5MiB"),
        ("zones:zone=1MiB,window=2MiB", "larger than the zone, 1MiB"),
        ("zones:zone=1MiB,request=2MiB", "larger than the zone, 1MiB"),
        ("zones:zone=1MiB,finish_at=0.1", "leaves no request of a zone of 1MiB"),
        ("zones:span=64TiB,zone=512B,request=512B", "makes more than 16777216 zones of the span"),
        ("zones:open=0", "expected a whole number from 1 to 1000"),
        ("zones:append=2", "expected a share from 0 to 1"),
        ("zones:hints=false", "zones"),
    ] {
        let message = Spec::parse(spec).unwrap_err().to_string();
        assert!(message.contains(expected), "{spec}: {message}");
    }
}
