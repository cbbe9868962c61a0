//! Streams as a whole: inside the span, reproducible, with the shares asked for; and what a spec refuses.

use super::*;
use crate::{SECTOR_BYTES, TraceError};
use proptest::prelude::*;

fn requests(spec: &str) -> Vec<Request> {
    let mut out = Vec::new();
    let mut generator = Spec::parse(spec).unwrap().generator();
    while generator.read(&mut out, 777) {}
    out
}

fn share_of(requests: &[Request], predicate: impl Fn(&Request) -> bool) -> f64 {
    requests.iter().filter(|request| predicate(request)).count() as f64 / requests.len() as f64
}

/// FNV-1a over every field: pins the streams across machines and versions.
pub(super) fn hash(requests: &[Request]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    let fields = |r: &Request| [r.time_ns, r.lba, r.sectors.into(), r.stream.into(), r.op as u64];
    for byte in requests.iter().flat_map(fields).flat_map(u64::to_le_bytes) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    hash
}

#[test]
fn golden_streams() {
    let golden = [
        ("random:count=1000", 0xf181_fcd4_5175_10c3),
        (
            "random:count=1000,size=4KiB|16KiB:0.3,align=512,write=0.5,trim=0.1,flush=0.01,rate=10000",
            0xf6f0_ab08_620f_8d0f,
        ),
        ("sequential:count=1000,span=1MiB", 0x5d65_6c9e_44a7_6da5),
        ("zipf:count=1000", 0x262d_eace_5a0c_dbab),
        (
            "zipf:count=1000,theta=1,layout=together,period=40us,burst=10,burst_period=1200us",
            0x2954_dfad_8c16_2939,
        ),
        ("hotcold:count=1000", 0x7fee_eaea_77d4_60ac),
        ("hotcold:count=1000,layout=scattered,seed=2,flush_every=10", 0x8703_b980_d051_1111),
    ];
    let found: Vec<(&str, u64)> = golden.iter().map(|(spec, _)| (*spec, hash(&requests(spec)))).collect();
    assert_eq!(found, golden);
}

fn any_spec() -> impl Strategy<Value = String> {
    let kind = prop_oneof![
        Just("random:"),
        Just("sequential:"),
        Just("zipf:theta=0.5,"),
        Just("zipf:layout=together,theta=1.2,"),
        Just("hotcold:"),
        Just("hotcold:layout=scattered,hot_writes=0.99,")
    ];
    let sizes = prop_oneof![Just("4KiB"), Just("512B|4KiB:0.5|6KiB"), Just("1.5KiB")];
    let arrivals = prop_oneof![Just(""), Just("rate=1000,"), Just("period=1us,burst=3,burst_period=10us,")];
    let mix = prop_oneof![Just(""), Just("write=0.3,trim=0.2,flush=0.1,"), Just("flush_every=3,")];
    (kind, sizes, arrivals, mix, 100u64..5000, 0u64..1000, 1u64..20, any::<u64>()).prop_map(
        |(kind, sizes, arrivals, mix, span, offset, align, seed)| {
            let bytes = |sectors| sectors * SECTOR_BYTES;
            format!(
                "{kind}size={sizes},{arrivals}{mix}span={},offset={},align={},count=300,seed={seed}",
                bytes(span),
                bytes(offset),
                bytes(align)
            )
        },
    )
}

proptest! {
    #[test]
    fn inside_the_span_aligned_and_in_time_order(text in any_spec()) {
        let spec = Spec::parse(&text).unwrap();
        let requests = requests(&text);
        prop_assert_eq!(requests.len(), 300);
        for request in requests.iter().filter(|request| request.op != Op::Flush) {
            prop_assert!(request.sectors > 0 && request.lba * SECTOR_BYTES >= spec.offset_bytes());
            prop_assert!(request.end() * SECTOR_BYTES <= spec.span_end_bytes());
            prop_assert_eq!((request.lba - spec.offset_sectors) % spec.align_sectors, 0);
        }
        prop_assert!(requests.iter().all(|r| r.op != Op::Flush || (r.lba == 0 && r.sectors == 0)));
        prop_assert!(requests.windows(2).all(|pair| pair[0].time_ns <= pair[1].time_ns));
    }

    #[test]
    fn canonical_parses_back_to_itself(text in any_spec()) {
        let spec = Spec::parse(&text).unwrap();
        let again: Spec = spec.canonical().parse().unwrap();
        prop_assert_eq!(again.canonical(), spec.canonical());
        prop_assert_eq!(again, spec);
    }

    #[test]
    fn batches_and_endless_give_the_same_stream(text in any_spec(), batch in 1usize..400) {
        let whole = requests(&text);
        let spec = Spec::parse(&text).unwrap();
        let (mut pieces, mut generator) = (Vec::new(), spec.generator());
        while generator.read(&mut pieces, batch) {}
        prop_assert_eq!(&pieces, &whole);
        prop_assert!(!generator.read(&mut pieces, batch) && pieces.len() == whole.len());
        let mut endless = Vec::new();
        prop_assert!(spec.endless().read(&mut endless, 400));
        prop_assert_eq!(&endless[..300], &whole[..]);
    }

    #[test]
    fn no_text_panics(text in "(random|zipf|hotcold|sequential|filecopy|desktop)?:?\
                                    ([a-z_]{3,6}=[0-9KiB.us|:]{0,8},?){0,4}") {
        let _ = Spec::parse(&text);
    }
}

#[test]
fn operations_and_arrivals_leave_addresses_alone() {
    let places = |spec: &str| -> Vec<u64> {
        requests(spec).into_iter().filter(|r| r.op != Op::Flush).map(|r| r.lba).take(500).collect()
    };
    for kind in ["random:", "zipf:", "hotcold:", "sequential:"] {
        let plain = places(&format!("{kind}count=1000"));
        for change in ["write=0.3", "trim=0.5", "rate=100", "flush=0.2", "flush_every=3"] {
            assert_eq!(places(&format!("{kind}count=1000,{change}")), plain, "{kind}{change}");
        }
        if kind != "sequential:" {
            assert_ne!(places(&format!("{kind}count=1000,seed=2")), plain);
        }
    }
}

#[test]
fn shares_are_those_asked_for() {
    let all = requests("random:count=200000,write=0.6,trim=0.1,flush=0.05,size=4KiB:0.25|8KiB");
    for (op, share) in [(Op::Write, 0.6), (Op::Trim, 0.1), (Op::Flush, 0.05), (Op::Read, 0.25)] {
        let found = share_of(&all, |request| request.op == op);
        // Six standard deviations.
        let bound = 6.0 * (share * (1.0 - share) / 200_000.0f64).sqrt();
        assert!((found - share).abs() < bound, "{op:?}: {found}");
    }
    let addressed: Vec<Request> = all.into_iter().filter(|request| request.op != Op::Flush).collect();
    assert!((share_of(&addressed, |request| request.sectors == 8) - 0.25).abs() < 0.006);
    let every = requests("random:count=100,flush_every=10");
    assert!(every.iter().enumerate().all(|(i, request)| (request.op == Op::Flush) == (i % 10 == 9)));
    assert!(requests("random:count=100,write=0").iter().all(|request| request.op == Op::Read));
    assert!(requests("random:count=100,trim=1").iter().all(|request| request.op == Op::Trim));
    assert!(requests("random:count=100,flush=1").iter().all(|request| request.op == Op::Flush));
}

#[test]
fn hot_places_get_their_share() {
    let together = requests("hotcold:count=200000,span=4000KiB,hot_share=0.1,hot_writes=0.9");
    assert!((share_of(&together, |request| request.lba < 100 * 8) - 0.9).abs() < 0.004);
    let scattered =
        requests("hotcold:count=200000,span=4000KiB,hot_share=0.1,hot_writes=0.9,layout=scattered");
    let mut counts = vec![0u32; 1000];
    for request in &scattered {
        counts[(request.lba / 8) as usize] += 1;
    }
    // Hot ones get 1800 each on average, cold ones 22.
    assert_eq!(counts.iter().filter(|&&count| count > 900).count(), 100);
    assert!(counts[..500].iter().filter(|&&count| count > 900).count().abs_diff(50) < 25);
}

#[test]
fn zipf_is_scattered_and_its_first_rank_has_its_probability() {
    let all = requests("zipf:count=200000,span=4000KiB,theta=1");
    let mut counts = vec![0u32; 1000];
    for request in &all {
        counts[(request.lba / 8) as usize] += 1;
    }
    let top = counts.iter().max().copied().unwrap();
    // 1 / H(1000) = 1 / 7.48547.
    assert!((f64::from(top) / 200_000.0 - 0.133_592).abs() < 0.005, "{top}");
    assert_ne!(counts[0], top);
}

#[test]
fn sequential_is_gapless_and_wraps() {
    let all = requests("sequential:count=9,span=20KiB,offset=1MiB,size=4KiB");
    let expected: Vec<u64> = [0, 8, 16, 24, 32, 0, 8, 16, 24].iter().map(|lba| 2048 + lba).collect();
    assert_eq!(all.iter().map(|request| request.lba).collect::<Vec<_>>(), expected);
    let mixed = requests("sequential:count=50,size=4KiB|1.5KiB,flush=0.2");
    let ends: Vec<&Request> = mixed.iter().filter(|request| request.op != Op::Flush).collect();
    assert!(ends.windows(2).all(|pair| pair[0].end() == pair[1].lba));
}

#[test]
fn defaults_are_those_documented() {
    let spec = Spec::parse("random").unwrap();
    assert_eq!(
        spec.canonical(),
        "random:span=16GiB,offset=0B,size=4KiB,align=4KiB,count=1000000,write=1.0,trim=0.0,flush=0.0,seed=1"
    );
    assert_eq!(spec, Spec::parse(" random: ").unwrap());
    assert_eq!(Spec::parse("zipf:trim=0.3").unwrap().canonical().split(',').nth(5), Some("write=0.7"));
    assert!(
        Spec::parse("hotcold").unwrap().canonical().contains("hot_share=0.2,hot_writes=0.8,layout=together")
    );
    assert_eq!(
        (spec.seed(), spec.count(), spec.span_end_bytes(), spec.is_timed()),
        (1, 1_000_000, 16 << 30, false)
    );
    assert_eq!(spec.with_seed(9).seed(), 9);
}

#[test]
fn texts_that_are_meant_as_specs() {
    for text in ["random", "zipf:", "random:span=1GiB", "randm:span=1GiB", "zipf: theta=1"] {
        assert!(Spec::is_spec(text), "{text}");
    }
    for text in ["trace.csv", "./random", "dir/random:a=b", "C:\\a=b", "random.csv", "", "Random:x"] {
        assert!(!Spec::is_spec(text), "{text}");
    }
}

/// Each specification is refused with a message that holds this.
fn refused(cases: &[(&str, &str)]) {
    for (text, message) in cases {
        let error = Spec::parse(text).unwrap_err();
        assert!(matches!(error, TraceError::Spec { .. }));
        assert!(error.to_string().contains(message), "{text}: {error}");
    }
}

#[test]
fn every_refusal_says_what_is_right() {
    let keys = "the keys of random are span, offset, size, align, count, write, trim, flush, flush_every, rate, \
                period, burst, burst_period, stream, seed";
    let cases = [
        (
            "randm:span=1GiB",
            "workload \"randm\": no such kind (did you mean `random`?); the kinds are random,",
        ),
        (
            "fancy",
            "no such kind; the kinds are random, sequential, zipf, hotcold, cachelib, lsm, wal, btree, zones, filecopy",
        ),
        (
            "random:spam=1GiB",
            "workload key \"spam\": no such key (did you mean `span`?); the keys of random are",
        ),
        ("random:xylophone=1", keys),
        (
            "random:theta=1",
            "\"theta\": has no effect in random, it is a key of zipf and btree; the keys of random are",
        ),
        ("sequential:layout=together", "has no effect in sequential, it is a key of zipf and hotcold"),
        ("random:span", "workload \"span\": expected key=value"),
        ("random:seed=1,seed=2", "workload key \"seed\": given twice"),
        ("random:span=16", "workload key `span` \"16\": expected a size in whole sectors of 512 bytes"),
        ("random:span=0", "`span` \"0B\": expected at least one sector"),
        ("random:align=0", "`align` \"0B\": expected at least one sector"),
        ("random:offset=100", "`offset` \"100\": expected a size in whole sectors"),
        ("random:offset=16777215TiB,span=2TiB", "`offset`"),
        ("random:size=0", "`size` \"0\": expected a size from 512B"),
        ("random:size=1000", "`size` \"1000\": expected a size from 512B"),
        ("random:size=4KiB|", "a list such as 4KiB|16KiB:0.3"),
        ("random:size=32MiB,span=16MiB", "`size` \"32MiB\": larger than the span, 16MiB"),
        ("random:size=4KiB:0.5", "the shares sum to less than 1"),
        ("random:size=4KiB:0.7|8KiB:0.7", "the shares sum to more than 1"),
        ("random:size=4KiB:0|8KiB", "each share must be above 0"),
        ("random:size=4KiB:1|8KiB", "leave nothing to the sizes without one"),
        ("random:count=0", "`count` \"0\": expected a whole number from 1"),
        ("random:count=1e6", "`count` \"1e6\": expected a whole number from 1"),
        ("random:write=1.5", "`write` \"1.5\": expected a share from 0 to 1"),
        ("random:trim=nan", "`trim` \"nan\": expected a share from 0 to 1"),
        ("random:write=0.9,trim=0.2", "`write` \"0.9\": write, trim=0.2 and flush=0 sum above 1"),
        ("random:trim=0.9,flush=0.2", "`trim` \"0.9\": trim and flush=0.2 sum above 1"),
        ("random:flush_every=1", "`flush_every` \"1\": expected a whole number from 2"),
        ("random:flush_every=5,flush=0.1", "give either flush_every or flush"),
    ];
    refused(&cases);
}

#[test]
fn every_refusal_of_times_and_skew_says_what_is_right() {
    let cases = [
        ("random:rate=0", "`rate` \"0\": expected a number of requests per second"),
        ("random:rate=10,period=1us", "`period` \"1us\": has no effect with rate"),
        ("random:rate=10,burst=2", "`burst` \"2\": has no effect with rate"),
        ("random:period=0", "`period` \"0\": expected a time above 0"),
        ("random:burst=4", "`burst` \"4\": needs period"),
        ("random:burst=0,period=1s", "`burst` \"0\": expected a whole number from 1"),
        ("random:burst=4,burst_period=1ms", "`burst_period` \"1ms\": needs period"),
        ("random:period=1us,burst_period=1ms", "`burst_period` \"1ms\": needs burst"),
        (
            "random:period=1000000000s,count=100",
            "`count` \"100\": the last of so many requests would arrive after",
        ),
        ("random:rate=0.000001,count=100000", "`count` \"100000\": the last of so many"),
        ("random:seed=-1", "`seed` \"-1\": expected a whole number below 2^64"),
        (
            "zipf:theta=0",
            "`theta` \"0\": expected a number above 0 and at most 5 (for 0, every start alike, use",
        ),
        ("zipf:theta=6", "`theta` \"6\": expected"),
        ("zipf:layout=wild", "`layout` \"wild\": expected scattered or together"),
        ("hotcold:hot_share=2", "`hot_share` \"2\": expected a share from 0 to 1"),
        ("hotcold:hot_writes=x", "`hot_writes` \"x\": expected a share from 0 to 1"),
        (
            "hotcold:hot_share=0",
            "`hot_share` \"0.0\": makes 0 of 4194304 starts hot; at least one must be hot",
        ),
        ("hotcold:hot_share=1", "makes 4194304 of 4194304 starts hot"),
    ];
    refused(&cases);
}

#[test]
fn keys_and_kinds_are_documented() {
    for kind in Kind::ALL {
        assert!(!kind.help().is_empty() && kind.keys().count() >= 10);
    }
    assert!(KEYS.iter().all(|key| !key.help.is_empty() && !key.unit.is_empty() && !key.default.is_empty()));
}

/// The reference page lists every kind and key as the code has them.
#[test]
fn the_reference_page_is_complete() {
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/workloads.md");
    let page = std::fs::read_to_string(page).unwrap();
    for kind in Kind::ALL {
        assert!(page.contains(&format!("| `{}` | {} |", kind.name(), kind.help())), "{}", kind.name());
    }
    for key in KEYS {
        let all = key.kinds.len() == Kind::ALL.len();
        let kinds = if all { "all".into() } else { key.owners().join(", ") };
        let help = key.help.replace('|', "\\|");
        let row = format!("| `{}` | {kinds} | {} | {} | {help} |", key.name, key.unit, key.default);
        assert!(page.contains(&row), "{row}");
    }
    for example in page.split('`').filter(|text| Spec::is_spec(text) && !text.starts_with("kind:")) {
        Spec::parse(example.trim()).unwrap_or_else(|error| panic!("{example}: {error}"));
    }
}
