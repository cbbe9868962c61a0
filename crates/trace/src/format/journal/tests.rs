//! Journals: what is written comes back, whatever the file lost at its end.

use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::super::{Options, Trace};
use super::*;

fn journal(folder: &Path, records: &[LogRecord]) -> PathBuf {
    let path = folder.join("log.parquet.part");
    let mut writer = JournalWriter::create(&path).expect("created");
    for record in records {
        writer.push(record).expect("written");
    }
    writer.flush().expect("written");
    path
}

fn all(path: &Path) -> Vec<LogRecord> {
    let mut reader = JournalReader::open(path).expect("a journal");
    let mut records = Vec::new();
    while reader.read(&mut records, 1000).expect("read") {}
    assert_eq!(records.len() as u64, reader.records());
    records
}

fn record(number: u64) -> LogRecord {
    // Every hundredth request takes so long that thousands complete before it.
    let late = if number.is_multiple_of(100) { 9_000_000 } else { 900 };
    let request = Request {
        time_ns: number * 1000,
        lba: number,
        sectors: 8,
        stream: 3,
        op: Op::ALL[number as usize % 4],
        handle: 0,
    };
    LogRecord {
        due_ns: (!number.is_multiple_of(3)).then_some(number * 1000),
        issue_ns: Some(number * 1000 + 5),
        completion_ns: Some(number * 1000 + late),
        flags: 1,
        ..LogRecord::bare(request)
    }
}

#[test]
fn records_come_back_by_time_though_they_were_written_as_they_completed() {
    let folder = tempfile::tempdir().expect("a folder");
    let expected: Vec<LogRecord> = (0..30_000).map(record).collect();
    let mut written = expected.clone();
    written.sort_by_key(|record| record.completion_ns);
    assert_eq!(all(&journal(folder.path(), &written)), expected);
}

#[test]
fn a_file_that_was_cut_off_keeps_its_whole_records() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = journal(folder.path(), &(0..5).map(record).collect::<Vec<_>>());
    let whole = std::fs::read(&path).expect("read");
    for length in (BYTES..=whole.len()).rev().step_by(7) {
        std::fs::write(&path, &whole[..length]).expect("written");
        assert_eq!(all(&path).len(), length / BYTES - 1);
    }
    // Space that the file system gave but that was never written.
    let mut zeros = whole.clone();
    zeros.extend([0; 300]);
    std::fs::write(&path, &zeros).expect("written");
    let mut trace = Trace::open(&path, &Options::default()).expect("a trace");
    let mut requests = Vec::new();
    while trace.read(&mut requests, 100).expect("read") {}
    assert_eq!(requests.len(), 5);
    let assumed = trace.report().assumptions.join("; ");
    assert!(assumed.contains("was not finished") && assumed.contains("last 300 bytes"), "{assumed}");
    for wrong in [&whole[..BYTES - 1], b"", b"PAR1"] {
        std::fs::write(&path, wrong).expect("written");
        assert!(JournalReader::open(&path).expect_err("no journal").to_string().contains("no journal"));
    }
}

#[test]
fn a_journal_is_never_replaced() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = journal(folder.path(), &[record(1)]);
    let error = JournalWriter::create(&path).expect_err("it is there").to_string();
    assert!(error.contains("log.parquet.part"), "{error}");
    assert_eq!(all(&path).len(), 1);
}

proptest! {
    #[test]
    fn any_record_is_what_it_was(
        numbers in any::<[u64; 5]>(), small in any::<(u32, u32, u16)>(), op in 0..4usize, there in any::<[bool; 3]>(),
        damage in 0..BYTES, bit in 0..8u32,
    ) {
        let [time_ns, lba, due, issue, completion] = numbers;
        let request = Request { time_ns, lba, sectors: small.0, stream: small.2, op: Op::ALL[op], handle: 0 };
        let record = LogRecord {
            due_ns: there[0].then_some(due),
            issue_ns: there[1].then_some(issue),
            completion_ns: there[2].then_some(completion),
            flags: small.1,
            ..LogRecord::bare(request)
        };
        let mut bytes = encode(&record);
        prop_assert_eq!(decode(&bytes), Some(record));
        bytes[damage] ^= 1 << bit;
        prop_assert_eq!(decode(&bytes), None);
    }
}
