//! Logs whose diagnosis is known, and logs that are rubbish.

use proptest::prelude::*;

use super::{Log, diagnose};
use flashweir_trace::{LogRecord, Op, Request};

fn write(issue_ns: u64, lba: u64, sectors: u32, response_ns: u64) -> LogRecord {
    let request = Request { time_ns: issue_ns, lba, sectors, stream: 0, op: Op::Write, handle: 0 };
    LogRecord {
        issue_ns: Some(issue_ns),
        completion_ns: issue_ns.checked_add(response_ns),
        ..LogRecord::bare(request)
    }
}

/// One write behind the other, of which `stalled` says how long it takes and where it goes.
fn log(count: u64, one: impl Fn(u64) -> (u64, u64)) -> Log {
    let (mut log, mut now) = (Log::default(), 0);
    for number in 0..count {
        let (lba, response_ns) = one(number);
        log.push(&write(now, lba, 8, response_ns));
        now += response_ns;
    }
    log
}

#[test]
fn an_empty_log_is_unknown() {
    let diagnosis = diagnose(&Log::default());
    assert_eq!((diagnosis.verdict, diagnosis.writes, diagnosis.symptoms.len()), ("unknown", 0, 0));
    assert!(diagnosis.picture.request.is_empty());
}

#[test]
fn one_write_is_unknown_and_is_in_the_picture() {
    let diagnosis = diagnose(&log(1, |_| (7, 5_000)));
    assert_eq!(diagnosis.verdict, "unknown");
    assert_eq!(diagnosis.picture.address_bytes, [7 * 512]);
    assert!(diagnosis.sentence.contains("There are 1 writes"), "{}", diagnosis.sentence);
}

#[test]
fn equal_response_times_have_no_anomaly() {
    let diagnosis = diagnose(&log(4000, |number| (number * 8, 100_000)));
    assert_eq!((diagnosis.anomalies, diagnosis.lost_share), (0.0, 0.0));
    assert!((diagnosis.usual_pbr_ns_per_byte - 100_000.0 / 4096.0).abs() < 1e-9);
}

#[test]
fn anomalies_are_counted_and_placed() {
    // Every hundredth write takes 10 ms and not 100 us, and is at 1 GiB.
    let stalled = |number: u64| number.is_multiple_of(100);
    let diagnosis =
        diagnose(&log(
            4000,
            |number| if stalled(number) { (1 << 21, 10_000_000) } else { (number * 8, 100_000) },
        ));
    assert!((diagnosis.anomalies - 0.01).abs() < 1e-9);
    let lost = 40.0 * 9.9 / (40.0 * 10.0 + 3960.0 * 0.1);
    assert!((diagnosis.lost_share - lost).abs() < 1e-9);
    let evidence = &diagnosis.symptoms[0].evidence;
    assert_eq!((evidence.from_bytes, evidence.to_bytes), (1 << 30, (1 << 30) + 4096));
    assert!((evidence.times_usual - 100.0).abs() < 1e-6);
}

#[test]
fn a_stall_counts_once_for_all_that_wait_behind_it() {
    // Eight writes are issued together while the drive stalls for 8 ms.
    let mut log = Log::default();
    for number in 0..8 {
        log.push(&write(0, number * 8, 8, 8_000_000 + number));
    }
    assert_eq!(log.writes.iter().map(|write| write.cost_ns).sum::<u64>(), 8_000_007);
    assert!((log.depth() - 8.0).abs() < 0.01);
}

#[test]
fn reads_are_no_writes_and_requests_without_an_end_are_counted() {
    let mut log = Log::default();
    let read = Request { time_ns: 0, lba: 0, sectors: 8, stream: 0, op: Op::Read, handle: 0 };
    log.push(&LogRecord { completion_ns: Some(5), ..LogRecord::bare(read) });
    log.push(&LogRecord::bare(Request { op: Op::Write, ..read }));
    let diagnosis = diagnose(&log);
    assert_eq!((diagnosis.requests, diagnosis.writes, diagnosis.without_response_time), (2, 0, 1));
}

#[test]
fn rewriting_is_exact() {
    let mut log = Log::default();
    log.push(&write(0, 0, 16, 1));
    log.push(&write(1, 8, 8, 1));
    log.push(&write(2, 16, 8, 1));
    assert_eq!(log.distinct_bytes, 3 * 4096);
    assert_eq!(log.writes.iter().map(|write| write.since).collect::<Vec<_>>(), [None, Some(8192), None]);
}

#[test]
fn the_picture_is_bounded_and_keeps_the_largest() {
    let diagnosis = diagnose(&log(200_000, |number| {
        (number * 7919 % 1_000_000, if number == 123_456 { 1 << 40 } else { 1000 })
    }));
    let picture = diagnosis.picture;
    assert!(picture.request.len() <= 128 * 96);
    assert_eq!(picture.writes.iter().sum::<u64>(), 200_000);
    assert!(picture.request.contains(&123_456));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_log_has_a_diagnosis_of_finite_numbers(
        rows in prop::collection::vec((any::<u64>(), any::<u64>(), any::<u32>(), any::<Option<u64>>(), 0u8..4), 0..60),
        repeat in 1usize..40,
    ) {
        let mut log = Log::default();
        for (time_ns, lba, sectors, completion_ns, op) in rows.iter().cycle().take(rows.len() * repeat) {
            let op = [Op::Read, Op::Write, Op::Trim, Op::Flush][usize::from(*op)];
            // Some as long as a real request, some as long as can be.
            let sectors = if *lba % 3 == 0 { *sectors } else { *sectors % 4096 };
            let request = Request { time_ns: *time_ns, lba: *lba, sectors, stream: 0, op, handle: 0 };
            log.push(&LogRecord { completion_ns: *completion_ns, ..LogRecord::bare(request) });
        }
        let diagnosis = diagnose(&log);
        prop_assert!(diagnosis.features.values().all(|value| value.is_finite()));
        for finding in &diagnosis.symptoms {
            prop_assert!((0.0..=1.0).contains(&finding.probability));
            prop_assert!(finding.evidence.times_usual.is_finite() && finding.evidence.lost_share <= 1.0);
            prop_assert!(finding.evidence.from_bytes <= finding.evidence.to_bytes);
        }
    }

    #[test]
    fn a_slower_clock_changes_no_ratio(factor in 2u64..50) {
        let one = |number: u64| (number * 7919 % 100_000, if number.is_multiple_of(50) { 16_000_000 } else { 200_000 });
        let quick = diagnose(&log(3000, one));
        let slow = diagnose(&log(3000, |number| (one(number).0, one(number).1 * factor)));
        for (name, value) in &quick.features {
            if !(name.contains("_us") || name.contains("_ms") || name.ends_with("ms") || name.ends_with("us") || name.ends_with("1s")) {
                prop_assert!((value - slow.features[name]).abs() < 1e-6, "{name}");
            }
        }
    }
}
