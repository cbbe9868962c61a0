//! Applications write what they are known to write, from any seed and at any scale.

use super::{App, Tracker};
use crate::generate::{Spec, tests::hash};
use std::collections::HashMap;

/// Published values: megabytes, shares of sequential, rewritten and aligned bytes, and the frequent lengths in sectors.
const PUBLISHED: [(App, f64, [f64; 3], &[u32]); 8] = [
    (App::CopyMp3, 816.0, [0.96, 0.001, 0.0], &[128]),
    (App::Pcmark05, 2130.0, [0.82, 0.81, 0.0], &[128, 8]),
    (App::Browser, 477.0, [0.04, 0.80, 0.31], &[8]),
    (App::Email, 40.0, [0.35, 0.56, 0.40], &[8]),
    (App::InstallWindows, 1888.0, [0.56, 0.21, 0.0], &[128, 8, 1]),
    (App::InstallLinux, 2387.0, [0.25, 0.18, 0.0], &[8, 256]),
    (App::Emule, 9437.0, [0.55, 0.05, 0.0], &[1024, 8, 24]),
    (App::Bittorrent, 12_587.0, [0.73, 0.05, 0.0], &[1024, 128, 8]),
];

#[derive(Debug, Default)]
struct Measured {
    requests: u64,
    sectors: u64,
    shares: [f64; 3],
    lengths: HashMap<u32, u64>,
}

fn measure(text: &str) -> Measured {
    let spec = Spec::parse(text).unwrap();
    let first = spec.offset_bytes() / 512;
    let end = spec.span_end_bytes() / 512;
    let mut tracker = Tracker::new(first, end - first);
    let (mut found, mut batch, mut generator) = (Measured::default(), Vec::new(), spec.generator());
    let mut sums = [0u64; 2];
    loop {
        batch.clear();
        let more = generator.read(&mut batch, 4096);
        for request in &batch {
            assert!(request.lba >= first && request.end() <= end && request.sectors > 0, "{request:?}");
            let class = tracker.class(request.lba, request.sectors.into());
            sums[0] += if class.is_run() { u64::from(request.sectors) } else { 0 };
            sums[1] += if class.is_again() { u64::from(request.sectors) } else { 0 };
            *found.lengths.entry(request.sectors).or_default() += 1;
            tracker.record(request.lba, request.sectors.into());
            found.requests += 1;
        }
        if !more {
            break;
        }
    }
    found.sectors = tracker.sectors;
    let share = |sum: u64| sum as f64 / tracker.sectors as f64;
    found.shares = [share(sums[0]), share(sums[1]), share(tracker.aligned_sectors)];
    found
}

fn requests(text: &str) -> Vec<crate::Request> {
    let (mut out, mut generator) = (Vec::new(), Spec::parse(text).unwrap().generator());
    while generator.read(&mut out, 777) {}
    out
}

/// Two points of every share, 2 % of the volume, and the frequent lengths most frequent: what was published.
#[test]
fn recorded_applications_are_met_at_every_scale_and_seed() {
    for (app, megabytes, shares, lengths) in PUBLISHED {
        for (scale, seed) in [(1.0, 1), (0.4, 2), (0.1, 3), (0.1, 4), (0.03, 5)] {
            let text = format!("{}:scale={scale},seed={seed}", app.name());
            let found = measure(&text);
            let written = found.sectors as f64 * 512e-6 / scale;
            assert!((written / megabytes - 1.0).abs() < 0.02, "{text}: {written}");
            // Small amounts are rounded to whole requests.
            let slack = 0.02f64.max(2.0 * 65536.0 / (megabytes * 1e6 * scale));
            for (share, published) in found.shares.iter().zip(shares) {
                assert!((share - published).abs() < slack, "{text}: {:?}", found.shares);
            }
            let mut counts: Vec<(u64, u32)> = found.lengths.iter().map(|(l, count)| (*count, *l)).collect();
            counts.sort_unstable_by(|one, other| other.cmp(one));
            assert!(counts[..lengths.len()].iter().all(|(_, l)| lengths.contains(l)), "{text}: {counts:?}");
        }
    }
}

/// Applications without a recording are as designed: aligned, and with their characteristic shares.
#[test]
fn servers_are_aligned_and_as_designed() {
    let designed = [
        (App::Ext4Install, 0.69, 0.08),
        (App::PackageBuild, 0.50, 0.49),
        (App::SqliteWal, 0.56, 0.93),
        (App::Postgresql, 0.53, 0.78),
        (App::Rocksdb, 0.94, 0.57),
        (App::VmBoot, 0.24, 0.60),
    ];
    for (app, sequential, rewrites) in designed {
        for (scale, seed) in [(1.0, 1), (0.1, 2)] {
            let text = format!("{}:scale={scale},seed={seed}", app.name());
            let found = measure(&text);
            assert!(found.shares[2] > 0.99, "{text}: {found:?}");
            let off = (found.shares[0] - sequential).abs().max((found.shares[1] - rewrites).abs());
            assert!(off < 0.06, "{text}: {:?}", found.shares);
        }
    }
}

#[test]
fn the_number_of_requests_is_about_what_is_expected() {
    for app in App::ALL {
        let spec = Spec::parse(&format!("{}:scale=0.1", app.name())).unwrap();
        let (expected, found) = (spec.count() as f64, measure(&spec.canonical()).requests as f64);
        assert!((0.5..2.0).contains(&(found / expected)), "{}: {found} {expected}", app.name());
    }
}

/// Headers of groups are written all over the disk; surfing stays in a small area.
#[test]
fn places_are_those_of_the_application() {
    let all = requests("install-linux:scale=0.2");
    let span = Spec::parse("install-linux:scale=0.2").unwrap().span_end_bytes() / 512;
    let mut hundredths: Vec<u64> =
        all.iter().filter(|request| request.sectors == 8).map(|request| request.lba * 100 / span).collect();
    hundredths.sort_unstable();
    hundredths.dedup();
    assert!(hundredths.len() > 95, "{}", hundredths.len());
    let all = requests("browser");
    let (low, high) = all.iter().fold((u64::MAX, 0), |(l, h), r| (l.min(r.lba), h.max(r.end())));
    assert!((high - low) * 512 < 256 << 20, "{}", high - low);
    // Chunks are filled at once: 200 writes in a row go to a few of them.
    let all = requests("emule:scale=0.1,phase=chunks");
    let parts: Vec<usize> = all
        .chunks(200)
        .map(|some| {
            let mut chunks: Vec<u64> = some.iter().map(|request| request.lba * 512 / 9_728_000).collect();
            chunks.sort_unstable();
            chunks.dedup();
            chunks.len()
        })
        .collect();
    assert!(
        parts.iter().filter(|count| (4..=22).contains(*count)).count() * 10 > parts.len() * 9,
        "{parts:?}"
    );
}

#[test]
fn a_phase_is_what_the_whole_has_there() {
    for app in ["emule", "bittorrent", "package-build"] {
        let whole = requests(&format!("{app}:scale=0.02"));
        let phases = if app == "emule" { ["reserve", "chunks"] } else { ["reserve", "pieces"] };
        let phases = if app == "package-build" { ["unpack", "build"] } else { phases };
        let parts: Vec<_> =
            phases.iter().flat_map(|name| requests(&format!("{app}:scale=0.02,phase={name}"))).collect();
        assert_eq!(parts, whole, "{app}");
    }
}

#[test]
fn streams_repeat_and_go_on() {
    for app in App::ALL {
        let text = format!("{}:scale=0.02", app.name());
        let all = requests(&text);
        assert_eq!(requests(&text), all);
        assert_ne!(requests(&format!("{text},seed=2")), all);
        let spec = Spec::parse(&text).unwrap();
        let (mut endless, mut generator) = (Vec::new(), spec.endless());
        assert!(generator.read(&mut endless, all.len() + 100));
        assert_eq!((endless.len(), &endless[..all.len()]), (all.len() + 100, &all[..]));
        let moved = requests(&format!("{text},offset=1GiB,period=1us"));
        assert!(moved.iter().zip(&all).all(|(moved, plain)| moved.lba == plain.lba + (1 << 21)));
        assert!(moved.iter().zip(0..).all(|(request, at)| request.time_ns == at * 1000));
        assert_eq!(Spec::parse(&spec.canonical()).unwrap(), spec);
    }
}

#[test]
fn golden_streams() {
    let golden = [
        ("browser:scale=0.05", 0x5f99_4c9b_16d2_3d6c),
        ("install-linux:scale=0.02", 0x6478_d66f_8e0a_de4b),
        ("emule:scale=0.01", 0xecbc_81b1_0a33_0afd),
        ("rocksdb:scale=0.01", 0x7a64_8bcd_ff95_b9ee),
    ];
    let found: Vec<(&str, u64)> = golden.iter().map(|(spec, _)| (*spec, hash(&requests(spec)))).collect();
    assert_eq!(found, golden);
}

#[test]
fn every_refusal_says_what_is_right() {
    let cases = [
        ("browser:scale=0", "`scale` \"0\": expected a share from 0.01 to 1"),
        ("browser:scale=2", "`scale` \"2\": expected a share from 0.01 to 1"),
        ("browser:span=1GiB", "`span` \"1GiB\": expected"),
        ("browser:count=7", "\"count\": has no effect in browser"),
        ("browser:phase=chunks", "`phase` \"chunks\": expected all: browser has no phases"),
        ("emule:phase=chunk", "`phase` \"chunk\": expected all, reserve, chunks"),
        ("browser:partition=7", "`partition` \"7\": expected a size in whole sectors"),
        ("random:scale=0.5", "\"scale\": has no effect in random, it is a key of applications"),
        ("broser:scale=0.5", "no such kind (did you mean `browser`?)"),
    ];
    for (text, message) in cases {
        let error = Spec::parse(text).unwrap_err().to_string();
        assert!(error.contains(message) && !error.contains('\n'), "{text}: {error}");
    }
}
