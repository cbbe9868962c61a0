//! The macroscopic numbers against a model that was written from their definition alone: a bitmap of sectors, a list of
//! ends, and sums.

use std::collections::{HashSet, VecDeque};

use flashweir_analyze::characterize::{Character, Characterizer, Macroscopic, Settings, Suite};
use flashweir_trace::{Op, Request};
use proptest::prelude::*;

/// The model: everything by its definition, nothing fast.
struct Naive {
    touched: HashSet<u64>,
    ends: VecDeque<u64>,
    gap: usize,
    requests: u64,
    sectors: u64,
    covered: u64,
    /// Sectors: sequential, again, aligned, small, then the four classes.
    parts: [u64; 8],
    bins: [u64; 32],
}

impl Naive {
    fn new(gap: usize) -> Self {
        Self {
            touched: HashSet::new(),
            ends: VecDeque::new(),
            gap,
            requests: 0,
            sectors: 0,
            covered: 0,
            parts: [0; 8],
            bins: [0; 32],
        }
    }

    fn observe(&mut self, request: &Request, small: u64) {
        let (from, to, sectors) = (request.lba, request.end(), u64::from(request.sectors));
        let before = (from..to).filter(|sector| self.touched.contains(sector)).count() as u64;
        self.touched.extend(from..to);
        let sequential = self.ends.iter().rev().take(self.gap + 1).any(|end| *end == from);
        self.ends.push_back(to);
        let class = 4 + usize::from(before > 0) * 2 + usize::from(!sequential);
        let holds = [sequential, before > 0, from % 8 == 0 && to % 8 == 0, sectors * 512 <= small];
        for (part, _) in self.parts.iter_mut().zip(holds).filter(|(_, holds)| *holds) {
            *part += sectors;
        }
        self.parts[class] += sectors;
        self.requests += 1;
        self.sectors += sectors;
        self.covered += before;
        self.bins[request.sectors.ilog2() as usize] += 1;
    }

    fn check(&self, found: &Macroscopic) {
        assert_eq!((found.requests, found.bytes), (self.requests, self.sectors * 512));
        assert_eq!(found.footprint_bytes, self.touched.len() as u64 * 512);
        assert_eq!(found.covered_bytes, self.covered * 512);
        let shares = &found.shares;
        let shares = [
            shares.sequential,
            shares.again,
            shares.aligned,
            shares.small,
            shares.first_sequential,
            shares.first_random,
            shares.again_sequential,
            shares.again_random,
        ];
        for (part, share) in self.parts.iter().zip(shares) {
            assert_eq!(share, (self.sectors > 0).then(|| *part as f64 / self.sectors as f64));
        }
        for bin in &found.sizes {
            assert_eq!(bin.requests, self.bins[(bin.from_bytes / 512).ilog2() as usize]);
        }
        assert_eq!(found.sizes.iter().map(|bin| bin.requests).sum::<u64>(), self.requests);
    }
}

fn characterized(requests: &[Request], settings: Settings) -> Character {
    let mut characterizer = Characterizer::new(settings).expect("good settings");
    characterizer.observe_all(requests);
    characterizer.finish()
}

fn compare(requests: &[Request], gap: usize, small: u64) -> Character {
    let (mut reads, mut writes) = (Naive::new(gap), Naive::new(gap));
    for request in requests {
        match request.op {
            Op::Read => reads.observe(request, small),
            Op::Write => writes.observe(request, small),
            _ => {}
        }
    }
    let settings = Settings { gap, small_bytes: small, macroscopic: true, ..Settings::default() };
    let found = characterized(requests, settings);
    reads.check(&found.reads);
    writes.check(&found.writes);
    let parts: u64 = found.segments.iter().map(|segment| segment.requests).sum();
    assert_eq!(parts, requests.len() as u64);
    found
}

fn write(n: u64, lba: u64, sectors: u32) -> Request {
    Request { time_ns: n * 1000, lba, sectors, stream: 0, op: Op::Write, handle: 0 }
}

prop_compose! {
    /// Streams that go on, jump, and come back, of all operations.
    fn streams()(steps in proptest::collection::vec((0u64..6, 0u64..3000, 1u32..700, 0u64..10, 0u64..4), 1..400)) -> Vec<Request> {
        let mut requests: Vec<Request> = Vec::new();
        let mut time_ns = 0;
        for (kind, place, sectors, back, op) in steps {
            time_ns += place * 100;
            let earlier = requests.iter().rev().nth(back as usize).copied();
            let lba = match (kind, earlier) {
                (0..=2, Some(earlier)) => earlier.end(),
                (3, Some(earlier)) => earlier.lba,
                (4, _) => place * 8,
                _ => place,
            };
            let op = if op == 3 && place % 10 == 0 { Op::Flush } else { [Op::Read, Op::Write, Op::Write, Op::Trim][op as usize] };
            let sectors = if kind == 4 { sectors / 8 * 8 + 8 } else { sectors };
            let (lba, sectors) = if op == Op::Flush { (0, 0) } else { (lba, sectors) };
            requests.push(Request { time_ns, lba, sectors, stream: 0, op, handle: 0 });
        }
        requests
    }
}

proptest! {
    #[test]
    fn numbers_are_those_of_the_definition(requests in streams(), gap in 0usize..13, small in 1u64..20) {
        compare(&requests, gap, small * 512);
    }
}

#[test]
fn nothing_has_no_shares() {
    let found = characterized(&[], Settings::default());
    assert_eq!((found.requests, found.writes.requests, found.writes.shares.sequential), (0, 0, None));
    assert!(found.segments.is_empty() && found.suite.name.is_none());
}

#[test]
fn only_reads_have_no_suite() {
    let requests: Vec<Request> = (0..100).map(|n| Request { op: Op::Read, ..write(n, n * 8, 8) }).collect();
    let found = compare(&requests, 10, 4096);
    assert_eq!((found.suite.name, found.reads.shares.sequential), (None, Some(0.99)));
}

#[test]
fn the_ends_of_the_address_space_are_addresses() {
    let requests = [
        write(0, u64::MAX - 8, 8),
        write(1, 0, u32::MAX),
        write(2, u64::MAX - u64::from(u32::MAX), u32::MAX),
        write(3, u64::MAX - 1, 1),
    ];
    // All of it but one request of 2 TiB, whose blocks would be gone through one by one.
    assert_eq!(
        characterized(&[requests[0], requests[3], write(4, 0, 8)], Settings::default()).writes.requests,
        3
    );
    let found = characterized(&requests, Settings { macroscopic: true, ..Settings::default() });
    assert_eq!(found.writes.footprint_bytes, 2 * u64::from(u32::MAX) * 512);
    assert_eq!(found.writes.covered_bytes, 9 * 512);
}

#[test]
fn times_that_go_back_are_taken_as_they_can_be() {
    let mut requests: Vec<Request> = (0..10).map(|n| write(100 - n, n * 8, 8)).collect();
    requests[0].time_ns = u64::MAX;
    let found = characterized(&requests, Settings::default());
    assert_eq!((found.requests, found.duration_s), (10, 0.0));
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    let refused = |settings: Settings| match settings.check() {
        Err(error) => error.to_string(),
        Ok(()) => String::new(),
    };
    let one = Settings { small_bytes: 1000, ..Settings::default() };
    assert_eq!(refused(one), "small \"1000\": expected a positive multiple of 512 bytes");
    assert!(refused(Settings { gap: 1001, ..Settings::default() }).starts_with("gap \"1001\""));
    assert!(refused(Settings { segments: 0, ..Settings::default() }).starts_with("segments \"0\""));
    assert_eq!(refused(Settings::default()), "");
}

/// Requests that match each suite's own description.
#[test]
fn the_textbook_case_of_each_suite_is_recognised() {
    let suite = |requests: &[Request]| compare(requests, 10, 4096).suite;
    let long: Vec<Request> = (0..500).map(|n| write(n, 63 + n * 128, 128)).collect();
    assert_eq!(suite(&long).name, Some(Suite::Transfer));
    assert!(
        suite(&long)
            .reason
            .starts_with("Data comes one piece after the other (100% of it) and in long pieces (100%")
    );
    // The same pieces in any order.
    let pieces: Vec<Request> = (0..500).map(|n| write(n, 63 + n * 7919 % 503 * 200_000, 128)).collect();
    assert_eq!(suite(&pieces).name, Some(Suite::Transfer));
    assert!(suite(&pieces).reason.starts_with("Data comes in long pieces (100% of it), and"));
    let again: Vec<Request> = (0..2000).map(|n| write(n, n * 7919 % 500 * 8, 8)).collect();
    assert_eq!(suite(&again).name, Some(Suite::Gc));
    // Three chunks filled at once, each out of order.
    let chunks: Vec<Request> =
        (0..3000).map(|n| write(n, n % 3 * 50_000_000 + n / 3 * 499 % 1000 * 16, 16)).collect();
    assert_eq!(suite(&chunks).name, Some(Suite::Buffer));
    let spread: Vec<Request> = (0..2000).map(|n| write(n, n * 7919 % 2003 * 200_000, 8)).collect();
    assert_eq!(suite(&spread).name, Some(Suite::Mapping));
    // Copies, some rewriting of them, and scattered small writes besides.
    let mixed: Vec<Request> = (0..3000)
        .map(|n| match n % 10 {
            0..6 => write(n, (n / 10 * 6 + n % 10) * 16, 16),
            6 | 7 => write(n, (n / 10) % 50 * 16, 16),
            _ => write(n, 100_000 + n * 7919 % 3001 * 60_000, 8),
        })
        .collect();
    let verdict = suite(&mixed);
    assert_eq!(verdict.name, Some(Suite::Overall), "{}", verdict.reason);
}
