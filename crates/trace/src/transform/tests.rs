//! Each transform alone and in a chain, whatever the size of the batches.

use super::*;
use crate::{Op, Request, Source, TraceError, generate::Spec};
use proptest::prelude::*;

/// Requests from memory, and an error at the end if asked for.
struct Given {
    requests: Vec<Request>,
    next: usize,
    fails: bool,
}

impl Source for Given {
    fn read(&mut self, out: &mut Vec<Request>, limit: usize) -> Result<bool, TraceError> {
        let end = self.requests.len().min(self.next + limit);
        out.extend_from_slice(&self.requests[self.next..end]);
        self.next = end;
        if self.fails && end == self.requests.len() {
            return Err(TraceError::Spec {
                what: "test".into(),
                found: String::new(),
                expected: String::new(),
            });
        }
        Ok(end < self.requests.len())
    }
}

fn given(requests: &[Request]) -> Given {
    Given { requests: requests.to_vec(), next: 0, fails: false }
}

fn write(time_ns: u64, lba: u64, sectors: u32) -> Request {
    Request { time_ns, lba, sectors, stream: 0, op: Op::Write, handle: 0 }
}

fn drain(mut source: impl Source, batch: usize) -> Result<Vec<Request>, TraceError> {
    let mut out = Vec::new();
    loop {
        let before = out.len();
        let more = source.read(&mut out, batch)?;
        assert!(out.len() - before <= batch);
        if !more {
            assert!(!source.read(&mut out, batch)?);
            return Ok(out);
        }
    }
}

fn factor(text: &str) -> Factor {
    Factor::parse(text).unwrap()
}

#[test]
fn factors_are_exact() {
    assert_eq!(factor("0.1").apply(10_000_000_000_000_000_003), Some(1_000_000_000_000_000_000));
    assert_eq!(factor("1/3").apply(10), Some(3));
    assert_eq!(factor("2").apply(u64::MAX), None);
    assert_eq!(factor("2.50"), Factor::new(5, 2).unwrap());
    for bad in ["0", "", "-1", "1/0", "0/1", "a", ".5", "1e3", "1.0000000000000000000001", "+1"] {
        let message = Factor::parse(bad).unwrap_err().to_string();
        assert!(message.contains("expected a number above 0"), "{bad}: {message}");
    }
}

#[test]
fn scale_keeps_all_but_time() {
    let scaled = drain(Scale::new(given(&[write(7, 1, 2), write(9, 3, 4)]), factor("0.5")), 1).unwrap();
    assert_eq!(scaled, [write(3, 1, 2), write(4, 3, 4)]);
    let error = drain(Scale::new(given(&[write(u64::MAX / 2, 0, 1)]), factor("3")), 5).unwrap_err();
    assert!(error.to_string().contains("takes a time of 9223372036854775807 ns beyond 2^64 ns"), "{error}");
}

#[test]
fn wrap_folds_and_neither_loses_nor_doubles() {
    let flush = Request { time_ns: 5, lba: 0, sectors: 0, stream: 0, op: Op::Flush, handle: 0 };
    let requests = [write(0, 3, 2), write(1, 23, 4), write(2, 8, 4), flush, write(6, 5, 25)];
    let expected = [write(0, 3, 2), write(1, 3, 4), write(2, 6, 4), flush, write(6, 0, 10)];
    for batch in 1..10 {
        assert_eq!(drain(Wrap::new(given(&requests), 10), batch).unwrap(), expected, "{batch}");
    }
}

#[test]
fn limit_delay_offset_and_number_do_what_they_say() {
    let flush = Request { time_ns: 2, lba: 0, sectors: 0, stream: 0, op: Op::Flush, handle: 0 };
    let requests = [write(0, 3, 2), flush, write(4, 8, 1), write(5, 9, 1)];
    for batch in 1..6 {
        let chain = Offset::new(Delay::new(Limit::new(given(&requests), 3), 10), 100);
        let found = drain(Numbered::new(chain, 7), batch).unwrap();
        let expected = [write(10, 103, 2), Request { time_ns: 12, ..flush }, write(14, 108, 1)];
        assert_eq!(found, expected.map(|request| Request { stream: 7, ..request }), "{batch}");
    }
    assert!(drain(Limit::new(given(&requests), 0), 2).unwrap().is_empty());
    assert_eq!(drain(Limit::new(given(&requests), 9), 2).unwrap(), requests);
    let late = drain(Delay::new(given(&[write(u64::MAX, 0, 1)]), 1), 1).unwrap_err().to_string();
    assert!(late.contains("beyond 2^64 ns"), "{late}");
    let far = drain(Offset::new(given(&[write(0, u64::MAX - 2, 2)]), 1), 1).unwrap_err().to_string();
    assert!(far.contains("beyond 2^64 sectors"), "{far}");
}

#[test]
fn factors_multiply_exactly() {
    assert_eq!(factor("1/3").times(factor("0.75")), Factor::new(1, 4));
    let large = Factor::new(u64::MAX, 2).unwrap();
    assert_eq!(large.times(Factor::new(2, u64::MAX).unwrap()), Factor::new(1, 1));
    assert_eq!(large.times(large), None);
}

#[test]
fn filter_keeps_what_is_named() {
    let spec = Spec::parse("random:count=1000,write=0.3,trim=0.1,flush=0.1").unwrap();
    let all = drain(spec.generator(), 100).unwrap();
    for (text, ops) in [("read,write", vec![Op::Read, Op::Write]), ("flush", vec![Op::Flush])] {
        let kept: Vec<Request> = all.iter().filter(|request| ops.contains(&request.op)).copied().collect();
        for batch in [1, 7, 5000] {
            let filter = Filter::new(spec.generator(), OpSet::parse(text).unwrap());
            assert_eq!(drain(filter, batch).unwrap(), kept);
        }
    }
    assert!(
        OpSet::parse("read,erase").unwrap_err().to_string().contains("list of read, write, trim and flush")
    );
    assert!(OpSet::parse("").is_err());
    assert!(Filter::new(spec.generator(), OpSet::of(&[Op::Read])).read(&mut Vec::new(), 0).unwrap());
}

#[test]
fn merge_goes_by_time_and_numbers_the_streams() {
    let [a, b] =
        [[write(0, 1, 1), write(5, 2, 1), write(5, 3, 1)], [write(0, 4, 1), write(3, 5, 1), write(9, 6, 1)]];
    for batch in 1..8 {
        let merge = Merge::new(vec![Box::new(given(&a)), Box::new(given(&b)), Box::new(given(&[]))]).unwrap();
        let merged = drain(merge, batch).unwrap();
        let found: Vec<(u64, u64, u16)> = merged.iter().map(|r| (r.time_ns, r.lba, r.stream)).collect();
        assert_eq!(found, [(0, 1, 0), (0, 4, 1), (3, 5, 1), (5, 2, 0), (5, 3, 0), (9, 6, 1)]);
    }
    assert!(drain(Merge::new(Vec::new()).unwrap(), 1).unwrap().is_empty());
}

#[test]
fn errors_come_through_after_the_requests_before_them() {
    let failing = || Given { requests: vec![write(0, 0, 1); 3], next: 0, fails: true };
    let sources: [Box<dyn Source + Send>; 3] = [
        Box::new(Scale::new(failing(), factor("2"))),
        Box::new(Wrap::new(failing(), 100)),
        Box::new(Filter::new(failing(), OpSet::of(&[Op::Write]))),
    ];
    for mut source in sources {
        let mut out = Vec::new();
        assert!(source.read(&mut out, 10).is_err());
        assert_eq!(out.len(), 3);
    }
    assert!(drain(Merge::new(vec![Box::new(failing())]).unwrap(), 10).is_err());
}

proptest! {
    #[test]
    fn chains_do_not_depend_on_the_batch(
        batch in 1usize..600,
        capacity in 1u64..2000,
        (a, b) in (1u64..50, 1u64..50),
        seed: u64,
    ) {
        let chain = |batch| {
            let one = format!("random:span=1MiB,count=500,write=0.5,flush=0.1,period={a}us,seed={seed}");
            let two = format!("zipf:span=1MiB,count=300,size=512B|64KiB,rate={b}000,seed={seed}");
            let source = |text: &str| -> Box<dyn Source + Send> { Box::new(Spec::parse(text).unwrap().generator()) };
            let merge = Merge::new(vec![source(&one), source(&two)]).unwrap();
            drain(Wrap::new(Scale::new(merge, Factor::new(a, b).unwrap()), capacity), batch)
        };
        let whole = chain(100_000).unwrap();
        prop_assert_eq!(chain(batch).unwrap(), whole.clone());
        prop_assert!(whole.windows(2).all(|pair| pair[0].time_ns <= pair[1].time_ns));
    }

    #[test]
    fn wrapping_keeps_every_request(requests in prop::collection::vec((0u64..1 << 40, 1u32..5000), 0..50), capacity in 1u64..5000) {
        let requests: Vec<Request> = requests.into_iter().map(|(lba, sectors)| write(0, lba, sectors)).collect();
        let wrapped = drain(Wrap::new(given(&requests), capacity), 16).unwrap();
        let lengths = |requests: &[Request]| requests.iter().map(|one| u64::from(one.sectors).min(capacity)).collect::<Vec<_>>();
        prop_assert_eq!(lengths(&wrapped), lengths(&requests));
        prop_assert!(wrapped.iter().all(|request| request.sectors > 0 && request.end() <= capacity));
    }
}

#[test]
fn taking_turns_loses_nothing_when_all_others_have_ended() {
    let request =
        |number: u64| Request { time_ns: 0, lba: number, sectors: 1, stream: 0, op: Op::Write, handle: 0 };
    let long: Vec<Request> = (0..5000).map(request).collect();
    for limit in [1, 7, 1000, 1 << 20] {
        let sources: Vec<Box<dyn Source + Send>> = vec![Box::new(given(&long)), Box::new(given(&long[..3]))];
        let mut turns = Interleave::new(sources).expect("two sources");
        let mut out = Vec::new();
        while turns.read(&mut out, limit).expect("no errors") {}
        assert_eq!(out.len(), 5003, "limit {limit}");
        let first: Vec<u64> =
            out.iter().filter(|request| request.stream == 0).map(|request| request.lba).collect();
        assert_eq!(first, (0..5000).collect::<Vec<u64>>(), "limit {limit}");
    }
}
