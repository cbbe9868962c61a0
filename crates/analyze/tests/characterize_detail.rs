//! Reuse distances against a list of blocks, samples against what is exact, and both on requests that hardly fit.

use flashweir_analyze::characterize::{Character, Characterizer, Detail, MissRatio, Sampling, Settings};
use flashweir_trace::generate::Spec;
use flashweir_trace::{Op, Request};
use proptest::prelude::*;

fn characterized(requests: &[Request], sampling: Sampling) -> Character {
    let settings = Settings { sampling, ..Settings::default() };
    let mut characterizer = Characterizer::new(settings).expect("good settings");
    characterizer.observe_all(requests);
    characterizer.finish()
}

fn detail(requests: &[Request], sampling: Sampling) -> Detail {
    characterized(requests, sampling).detail.expect("everything was asked for")
}

fn generated(spec: &str) -> Vec<Request> {
    let (mut requests, mut generator) = (Vec::new(), Spec::parse(spec).expect("a good spec").generator());
    while generator.read(&mut requests, 1 << 16) {}
    requests
}

/// Misses of an LRU cache of so many blocks, by doing what it does.
fn misses(requests: &[Request], blocks: usize, only: Option<Op>) -> (u64, u64) {
    let mut cache: Vec<u64> = Vec::new();
    let (mut missed, mut touches) = (0, 0);
    for request in requests {
        for block in request.lba / 8..=(request.end() - 1) / 8 {
            let counts = u64::from(only.is_none_or(|op| op == request.op));
            touches += counts;
            match cache.iter().position(|other| *other == block) {
                Some(place) => drop(cache.remove(place)),
                None => missed += counts,
            }
            cache.insert(0, block);
            cache.truncate(blocks);
        }
    }
    (missed, touches)
}

proptest! {
    #[test]
    fn miss_ratios_are_those_of_the_cache(steps in proptest::collection::vec((0u64..400, 1u32..40, any::<bool>()), 1..300)) {
        let requests: Vec<Request> = steps
            .into_iter()
            .map(|(lba, sectors, read)| {
                let op = if read { Op::Read } else { Op::Write };
                Request { time_ns: 0, lba, sectors, stream: 0, op, handle: 0 }
            })
            .collect();
        let found = detail(&requests, Sampling::Blocks(64)).reuse;
        prop_assert_eq!((found.followed_share, found.error), (1.0, 0.0));
        for (curve, only) in [(&found.miss_ratios, None), (&found.read_miss_ratios, Some(Op::Read))] {
            for point in curve {
                let (missed, touches) = misses(&requests, (point.cache_bytes / 4096) as usize, only);
                prop_assert!((point.miss_ratio - missed as f64 / touches as f64).abs() < 1e-12);
            }
        }
    }
}

/// The miss ratio at a size, of a curve that has the nearest size below.
fn at(curve: &[MissRatio], cache_bytes: u64) -> &MissRatio {
    let behind = curve.partition_point(|point| point.cache_bytes <= cache_bytes);
    &curve[behind.max(1) - 1]
}

#[test]
fn a_sample_is_as_far_off_as_it_says() {
    let specs = [
        "zipf:span=1GiB,size=4KiB,count=100000,theta=0.9,write=0.5",
        "hotcold:span=512MiB,size=4KiB,count=100000,write=0.7",
        "zipf:span=1GiB,size=16KiB,count=30000,theta=0.8,seed=5",
    ];
    for spec in specs {
        let requests = generated(spec);
        let exact = detail(&requests, Sampling::Blocks(1 << 22)).reuse;
        assert!((exact.followed_share, exact.error) == (1.0, 0.0), "{spec}");
        for sampling in [Sampling::Blocks(4096), Sampling::Rate(0.05)] {
            let sampled = detail(&requests, sampling).reuse;
            assert!(
                sampled.followed_share < 0.3 && sampled.error > 0.0 && sampled.error < 0.2,
                "{spec}: {}",
                sampled.error
            );
            let sizes = (0..12).map(|power| (1u64 << power) << 20);
            let differences: Vec<(f64, f64)> = sizes
                .map(|size| {
                    let point = at(&sampled.miss_ratios, size);
                    (point.miss_ratio - at(&exact.miss_ratios, size).miss_ratio, point.error)
                })
                .collect();
            let worst = differences.iter().map(|(off, _)| off.abs()).fold(0.0, f64::max);
            assert!(worst < 4.0 * sampled.error + 0.01, "{spec}: {differences:?}");
        }
    }
}

#[test]
fn samples_take_constant_memory() {
    let grown = |count: u64| {
        let spec = format!("random:span=64GiB,size=4KiB,count={count},seed=3");
        let mut characterizer =
            Characterizer::new(Settings { sampling: Sampling::Blocks(4096), ..Settings::default() })
                .expect("good");
        characterizer.observe_all(&generated(&spec));
        characterizer.memory_bytes()
    };
    // Ranges still grow, by 100 bytes a distinct one at most; nothing else does.
    let (small, large) = (grown(400_000), grown(800_000));
    assert!(large < small + 400_000 * 100, "{small} bytes, then {large}");
}

#[test]
fn working_sets_of_a_sample_are_near() {
    let requests = generated("zipf:span=1GiB,size=4KiB,count=100000,rate=10000");
    let exact = detail(&requests, Sampling::Blocks(1 << 22)).working_set;
    let sampled = detail(&requests, Sampling::Blocks(8192)).working_set;
    assert_eq!((exact.by, exact.bytes.len()), ("time", sampled.bytes.len()));
    let last = |set: &[f64]| set.last().copied().unwrap_or(0.0);
    assert!((last(&sampled.so_far_bytes) / last(&exact.so_far_bytes) - 1.0).abs() < 0.05);
    let mean = |set: &[f64]| set.iter().sum::<f64>() / set.len() as f64;
    assert!((mean(&sampled.bytes) / mean(&exact.bytes) - 1.0).abs() < 0.1);
}

#[test]
fn everything_is_the_same_however_requests_are_handed_over() {
    let requests = generated("zipf:span=1GiB,size=4KiB:0.5|32KiB,count=20000,write=0.6,rate=5000");
    let mut one_by_one = Characterizer::new(Settings::default()).expect("good settings");
    for request in &requests {
        one_by_one.observe(request);
    }
    let together = characterized(&requests, Settings::default().sampling);
    assert_eq!(format!("{:?}", one_by_one.finish()), format!("{together:?}"));
}

#[test]
fn the_macroscopic_view_is_the_same_alone() {
    let requests = generated("hotcold:span=1GiB,size=4KiB,count=20000,write=0.6");
    let mut alone =
        Characterizer::new(Settings { macroscopic: true, ..Settings::default() }).expect("good settings");
    alone.observe_all(&requests);
    let (alone, all) = (alone.finish(), characterized(&requests, Settings::default().sampling));
    assert!(alone.detail.is_none());
    assert_eq!(format!("{:?}{:?}", alone.writes, alone.reads), format!("{:?}{:?}", all.writes, all.reads));
}
