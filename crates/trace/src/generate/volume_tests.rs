//! Workloads of file systems: volume, mean, shape, and what their specs refuse.

use super::*;
use crate::{SECTOR_BYTES, TraceError};
use std::collections::VecDeque;

/// Known properties of traces (sequential: starts where one of the last eleven writes ended; rewritten: covers a sector
/// that was written before; aligned: starts and ends on 4 KiB), as shares of the bytes, and some more.
#[derive(Debug, Default)]
struct Shape {
    requests: u64,
    bytes: u64,
    sequential: f64,
    rewritten: f64,
    aligned: f64,
    /// Share of the requests of at most 4 KiB.
    small: f64,
    /// Share of the span's sectors that was written.
    touched: f64,
}

impl Shape {
    fn mean(&self) -> f64 {
        self.bytes as f64 / self.requests as f64
    }
}

fn shape(text: &str) -> Shape {
    let spec = Spec::parse(text).unwrap();
    let (first, end) = (spec.offset_bytes() / SECTOR_BYTES, spec.span_end_bytes() / SECTOR_BYTES);
    let mut written = vec![0u64; ((end - first) / 64 + 1) as usize];
    let (mut shape, mut ends, mut touched) = (Shape::default(), VecDeque::new(), 0u64);
    let (mut generator, mut batch, mut more) = (spec.generator(), Vec::new(), true);
    while more {
        batch.clear();
        more = generator.read(&mut batch, 1000);
        for request in &batch {
            assert!(
                request.op == Op::Write
                    && request.sectors > 0
                    && request.lba >= first
                    && request.end() <= end
            );
            let bytes = request.bytes() as f64;
            let mut again = false;
            for sector in request.lba - first..request.end() - first {
                let (word, bit) = (&mut written[(sector / 64) as usize], 1 << (sector % 64));
                again |= *word & bit != 0;
                touched += u64::from(*word & bit == 0);
                *word |= bit;
            }
            let aligned = request.lba.is_multiple_of(8) && request.end().is_multiple_of(8);
            let add = |share: &mut f64, yes: bool| *share += if yes { bytes } else { 0.0 };
            add(&mut shape.rewritten, again);
            add(&mut shape.aligned, aligned);
            add(&mut shape.sequential, ends.contains(&request.lba));
            shape.small += if request.sectors <= 8 { 1.0 } else { 0.0 };
            shape.requests += 1;
            shape.bytes += request.bytes();
            ends.push_back(request.end());
            if ends.len() > 11 {
                ends.pop_front();
            }
        }
    }
    for share in [&mut shape.sequential, &mut shape.rewritten, &mut shape.aligned] {
        *share /= shape.bytes as f64;
    }
    shape.small /= shape.requests as f64;
    shape.touched = touched as f64 / (end - first) as f64;
    shape
}

fn requests(text: &str) -> Vec<Request> {
    let (mut out, mut generator) = (Vec::new(), Spec::parse(text).unwrap().generator());
    while generator.read(&mut out, 777) {}
    out
}

#[test]
fn the_mean_is_met_and_the_volume_exact() {
    let cases = [
        ("filecopy:span=20GiB,written=5GB", 61_440),
        ("filecopy:span=1GiB,written=5GB,mean=24KiB,fill=0.9", 24_576),
        ("filecopy:fs=fat,span=20GiB,written=5GB,seed=2", 61_440),
        ("filecopy:fs=fat,span=4GiB,written=5GB,mean=32000,partition=31.5KiB", 32_000),
        ("desktop:span=40GiB,mean=11.46KiB,written=3GB", 11_735),
        ("desktop:span=40GiB,mean=23KiB,written=5GB,seed=3", 23_552),
        ("desktop:span=1GiB,mean=10KiB,fill=0.9,written=3GB", 10_240),
        ("desktop:span=1GiB,mean=48KiB,fill=0.3,written=5GB,offset=3GiB", 49_152),
        ("desktop:os=ubuntu,span=30GiB,mean=20.01KiB,written=5GB", 20_490),
        ("desktop:os=ubuntu,span=1GiB,mean=16KiB,written=5GB,fill=0.9", 16_384),
        ("desktop:os=ubuntu,span=1GiB,mean=128KiB,written=5GB,fill=0.3", 131_072),
    ];
    for (text, mean) in cases {
        let shape = shape(text);
        let written = Spec::parse(text).unwrap().canonical();
        let written = written.split("written=").nth(1).and_then(|rest| rest.split(',').next()).unwrap();
        assert_eq!(shape.bytes, crate::quantity::parse_bytes(written).unwrap(), "{text}");
        let deviation = shape.mean() / f64::from(mean) - 1.0;
        assert!(deviation.abs() < 0.02, "{text}: {deviation}");
        assert!(shape.requests.abs_diff(Spec::parse(text).unwrap().count()) < shape.requests / 49, "{text}");
    }
}

/// Wide bounds: what makes these workloads what they are, not what a seed makes of them.
#[test]
fn each_has_its_shape() {
    let music = shape("filecopy:span=20GiB,written=10GB");
    assert!(music.sequential > 0.97 && music.small > 0.03 && music.small < 0.08, "{music:?}");
    assert!(music.aligned < 0.001 && music.rewritten < 0.1 && music.touched > 0.35, "{music:?}");
    let card = shape("filecopy:fs=fat,span=20GiB,written=10GB");
    assert!(card.sequential > 0.97 && card.aligned > 0.99 && card.touched > 0.35, "{card:?}");
    let moved = shape("filecopy:fs=fat,span=20GiB,written=1GB,partition=31.5KiB");
    assert!(moved.aligned < 0.001, "{moved:?}");
    let windows = shape("desktop:span=40GiB,mean=11.46KiB,written=10GB");
    assert!((0.25..0.75).contains(&windows.sequential) && windows.small > 0.6, "{windows:?}");
    assert!((0.3..0.8).contains(&windows.rewritten) && windows.aligned < 0.001, "{windows:?}");
    let ubuntu = shape("desktop:os=ubuntu,span=30GiB,mean=20.01KiB,written=10GB");
    assert!(ubuntu.small < windows.small && ubuntu.aligned < 0.001, "{ubuntu:?}");
    assert!((0.3..0.8).contains(&ubuntu.sequential) && (0.3..0.8).contains(&ubuntu.rewritten), "{ubuntu:?}");
    let aligned = shape("desktop:os=ubuntu,span=30GiB,partition=1MiB,count=100000");
    assert!(aligned.aligned > 0.999, "{aligned:?}");
}

/// Data in pieces of 64 KiB and, between them, the same sectors of both tables and one of a directory.
#[test]
fn a_card_is_written_in_pieces_with_both_tables_between() {
    let all = requests("filecopy:fs=fat,span=20GiB,count=100000");
    // 655232 clusters of 32 KiB: 5120 sectors a table, before the first cluster, at 12 MiB.
    let (table, first_cluster) = (5120, 3 * 8192);
    let [first, second] = [2, 1].map(|copies| {
        let (from, end) = (first_cluster - copies * table, first_cluster - (copies - 1) * table);
        let inside = all.iter().filter(|r| r.lba >= from && r.lba < end);
        inside.map(|r| (r.lba - from, r.sectors)).collect::<Vec<_>>()
    });
    // The last request may come between the two.
    assert!(first.starts_with(&second) && first.len() < second.len() + 9, "both tables are written alike");
    assert!(all.iter().all(|request| request.lba >= first_cluster - 2 * table));
    let share = first.len() as f64 / all.len() as f64;
    assert!((0.01..0.03).contains(&share), "{share}");
    let whole = all.iter().filter(|r| r.sectors == 128).count() as f64 / all.len() as f64;
    assert!(whole > 0.9, "{whole}");
    assert!(all.iter().all(|r| r.sectors <= 128));
}

#[test]
fn pieces_of_a_file_follow_each_other_from_arbitrary_clusters() {
    let all = requests("filecopy:fs=fat,span=20GiB,count=50000");
    let data: Vec<&Request> = all.iter().filter(|request| request.sectors == 128).collect();
    let starts: Vec<u64> =
        data.windows(2).filter(|pair| pair[0].end() != pair[1].lba).map(|pair| pair[1].lba).collect();
    assert!(starts.len() > 50 && starts.len() < data.len() / 10, "{}", starts.len());
    // Clusters of 32 KiB: half of the pieces start in the middle of 64 KiB, and few at blocks of 512 KiB.
    let middle = starts.iter().filter(|lba| **lba % 128 == 64).count();
    assert!(middle * 4 > starts.len() && middle * 4 < starts.len() * 3, "{middle} of {}", starts.len());
}

#[test]
fn the_same_seed_gives_the_same_requests_and_another_one_others() {
    for text in ["filecopy:", "filecopy:fs=fat,", "desktop:", "desktop:os=ubuntu,"] {
        let text = |rest: &str| format!("{text}span=2GiB,{rest}");
        let all = requests(&text("count=30000"));
        assert_eq!(all.len(), 30_000);
        assert_eq!(requests(&text("count=30000")), all);
        assert_ne!(requests(&text("count=30000,seed=2")), all);
        let spec = Spec::parse(&text("count=30000")).unwrap();
        let (mut endless, mut generator) = (Vec::new(), spec.endless());
        assert!(generator.read(&mut endless, 10_000));
        let mut fork = generator.clone();
        let (mut one, mut other) = (Vec::new(), Vec::new());
        assert!(generator.read(&mut one, 20_000) && fork.read(&mut other, 20_000));
        assert_eq!((&one, &endless[..]), (&other, &all[..10_000]));
        assert_eq!(one, &all[10_000..]);
        // An offset moves everything, arrivals only times.
        let moved = requests(&text("count=30000,offset=1GiB,period=1us"));
        assert!(moved.iter().zip(&all).all(|(moved, plain)| moved.lba == plain.lba + (1 << 21)));
        assert!(moved.iter().zip(0..).all(|(request, at)| request.time_ns == at * 1000));
        // So many bytes are the requests of a count, the last one cut.
        let some: u64 = all[..777].iter().map(Request::bytes).sum();
        let written = requests(&text(&format!("written={}", some - 512)));
        assert_eq!((written.len(), &written[..776]), (777, &all[..776]));
        assert_eq!(written[776].sectors + 1, all[776].sectors.max(2));
    }
}

#[test]
fn golden_streams() {
    let golden = [
        ("filecopy:span=20GiB,count=20000", 0x5cdb_f082_c93d_11c5),
        ("filecopy:fs=fat,span=20GiB,count=20000", 0xfb75_48ce_5023_02f5),
        ("desktop:span=40GiB,count=20000", 0x32ba_50c1_d906_835b),
        ("desktop:os=ubuntu,span=30GiB,count=20000", 0x948a_b542_de3c_fa22),
    ];
    let found: Vec<(&str, u64)> =
        golden.iter().map(|(spec, _)| (*spec, super::tests::hash(&requests(spec)))).collect();
    assert_eq!(found, golden);
}

#[test]
fn canonical_specs_are_complete() {
    for (text, canonical) in [
        (
            "filecopy",
            "filecopy:span=16GiB,offset=0B,fs=ntfs,partition=32256B,mean=60KiB,fill=0.8,count=1000000,seed=1",
        ),
        (
            "desktop:os=ubuntu,mean=20.01KiB,written=18.6GB,rate=10",
            "desktop:span=16GiB,offset=0B,os=ubuntu,partition=32256B,mean=20490B,fill=0.5,written=18600000000B,\
             rate=10,seed=1",
        ),
        (
            "filecopy:fs=fat,written=700",
            "filecopy:span=16GiB,offset=0B,fs=fat,partition=4MiB,mean=60KiB,fill=0.8,written=512B,seed=1",
        ),
    ] {
        let spec = Spec::parse(text).unwrap();
        assert_eq!(spec.canonical(), canonical);
        assert_eq!(Spec::parse(canonical).unwrap(), spec);
    }
    let spec = Spec::parse("desktop:written=2GiB,mean=16KiB").unwrap();
    assert_eq!((spec.count(), spec.largest_sectors(), spec.is_timed()), (131_072, 128, false));
}

#[test]
fn the_smallest_and_the_largest_volumes_work() {
    for kind in ["filecopy:", "filecopy:fs=fat,", "desktop:", "desktop:os=ubuntu,"] {
        for rest in
            ["span=1GiB,fill=0.9,partition=512MiB", "span=1GiB,fill=0.3,partition=0", "span=1073742336"]
        {
            let text = format!("{kind}{rest},count=20000");
            assert_eq!(shape(&text).requests, 20_000, "{text}");
        }
        let all = requests(&format!("{kind}span=300GiB,count=20000"));
        assert!(all.iter().all(|request| request.end() <= 300 << 21));
        assert!(all.iter().map(|request| request.lba).max() > Some(8 << 21), "{kind}");
    }
}

#[test]
fn every_refusal_says_what_is_right() {
    let cases = [
        ("filecopy:span=1023MiB", "`span` \"1023MiB\": expected 1GiB to 2TiB"),
        ("desktop:span=3TiB", "`span` \"3TiB\": expected 1GiB to 2TiB"),
        ("desktop:offset=16777215TiB,span=1TiB", "`offset`"),
        ("filecopy:fs=exfat", "`fs` \"exfat\": expected ntfs or fat"),
        ("desktop:os=mac", "`os` \"mac\": expected windows or ubuntu"),
        (
            "desktop:fs=fat",
            "\"fs\": has no effect in desktop, it is a key of filecopy; the keys of desktop are",
        ),
        ("filecopy:mean=61KiB", "`mean` \"61KiB\": expected a size from 24KiB to 60KiB, such as 60KiB"),
        ("filecopy:mean=23KiB", "`mean` \"23KiB\": expected a size from 24KiB"),
        ("desktop:mean=9KiB", "`mean` \"9KiB\": expected a size from 10KiB to 48KiB, such as 20KiB"),
        ("desktop:os=ubuntu,mean=1MiB", "`mean` \"1MiB\": expected a size from 16KiB to 128KiB"),
        ("desktop:mean=much", "`mean` \"much\": expected a size"),
        ("desktop:fill=1", "`fill` \"1\": expected a share from 0.3 to 0.9"),
        ("desktop:fill=nan", "`fill` \"nan\": expected a share from 0.3 to 0.9"),
        ("desktop:written=0", "`written` \"0\": expected a size of at least a sector"),
        ("desktop:written=255", "`written` \"255\": expected a size of at least a sector"),
        ("desktop:written=18446744073709551615", "`written`"),
        ("desktop:written=1GiB,count=5", "`written` \"1GiB\": give either written or count, not both"),
        ("desktop:count=0", "`count` \"0\": expected a whole number from 1"),
        ("desktop:partition=100", "`partition` \"100\": expected a size in whole sectors"),
        (
            "filecopy:span=2GiB,partition=1.5GiB",
            "`partition` \"1536MiB\": expected at most half of the span, 2GiB",
        ),
        (
            "filecopy:size=4KiB",
            "\"size\": has no effect in filecopy, it is a key of random and sequential and",
        ),
        ("desktop:write=0.5", "\"write\": has no effect in desktop"),
        ("random:written=1GiB", "\"written\": has no effect in random, it is a key of filecopy and desktop"),
        ("desktop:written=1GiB,period=1000000000s", "the last of so many requests would arrive after"),
        ("filecoyp:span=1GiB", "no such kind (did you mean `filecopy`?)"),
    ];
    for (text, message) in cases {
        let error = Spec::parse(text).unwrap_err();
        assert!(matches!(error, TraceError::Spec { .. }));
        let error = error.to_string();
        assert!(error.contains(message) && !error.contains('\n'), "{text}: {error}");
    }
}
