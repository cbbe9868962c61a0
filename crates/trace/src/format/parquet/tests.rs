//! Round trips, and files that are not what they should be.

use bytes::Bytes;
use proptest::prelude::*;

use super::*;
use crate::{LogRecord, Op, Request, TraceError};

fn write(records: &[LogRecord]) -> Vec<u8> {
    let mut writer = LogWriter::new(Vec::new(), "log.parquet").unwrap();
    for record in records {
        writer.push(record.clone()).unwrap();
    }
    writer.finish().unwrap()
}

fn read(bytes: &[u8], batch: usize) -> Result<Vec<LogRecord>, TraceError> {
    let path = std::path::Path::new("log.parquet");
    let mut reader = LogReader::open(Bytes::copy_from_slice(bytes), path)?;
    let mut out = Vec::new();
    while reader.read(&mut out, batch)? {}
    Ok(out)
}

fn any_record() -> impl Strategy<Value = LogRecord> {
    let time = || 0..=i64::MAX as u64;
    let request = (time(), time(), any::<u32>(), any::<u16>(), 0usize..4).prop_map(
        |(time_ns, lba, sectors, stream, op)| Request {
            time_ns,
            lba,
            sectors,
            stream,
            op: Op::ALL[op],
            handle: 0,
        },
    );
    let optional = || prop::option::of(time());
    (request, optional(), optional(), optional(), any::<u32>(), "\\PC{0,12}").prop_map(
        |(request, due_ns, issue_ns, completion_ns, flags, process)| LogRecord {
            request,
            due_ns,
            issue_ns,
            completion_ns,
            flags,
            process,
        },
    )
}

fn some_records(count: u64) -> Vec<LogRecord> {
    let request = |i: u64| Request {
        time_ns: i * 7,
        lba: i * 8,
        sectors: 8,
        stream: 0,
        op: Op::ALL[i as usize % 3],
        handle: 0,
    };
    (0..count)
        .map(|i| LogRecord { completion_ns: (i % 2 == 0).then_some(i * 9), ..LogRecord::bare(request(i)) })
        .collect()
}

proptest! {
    #[test]
    fn records_come_back(records in prop::collection::vec(any_record(), 0..50), batch in 1usize..60) {
        prop_assert_eq!(read(&write(&records), batch).unwrap(), records);
    }

    #[test]
    fn damage_never_panics(at in 0usize..3000, byte: u8, cut in 0usize..3000) {
        let mut bytes = write(&some_records(300));
        let at = at % bytes.len();
        bytes[at] = byte;
        let _ = read(&bytes, 64);
        let cut = cut % bytes.len();
        prop_assert!(read(&bytes[..cut], 64).is_err());
    }
}

#[test]
fn row_groups_are_bounded_and_files_reproducible() {
    let records = some_records(150_000);
    let bytes = write(&records);
    assert_eq!(bytes, write(&records));
    assert!(bytes.len() < 1_000_000, "{}", bytes.len());
    assert_eq!(read(&bytes, 10_000).unwrap(), records);
}

#[test]
fn every_cut_is_an_error() {
    let bytes = write(&some_records(20));
    for cut in 0..bytes.len() {
        let message = read(&bytes[..cut], 7).unwrap_err().to_string();
        assert!(message.starts_with("log.parquet, "), "{message}");
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let mut writer = LogWriter::new(Vec::new(), "log.parquet").unwrap();
    let far = Request { time_ns: 0, lba: 1 << 63, sectors: 1, stream: 0, op: Op::Read, handle: 0 };
    let message = writer.push(LogRecord::bare(far)).unwrap_err().to_string();
    assert!(message.contains("sector 9223372036854775808 does not fit"), "{message}");
}

#[test]
fn other_tables_and_versions_are_refused() {
    let bytes = write(&some_records(3));
    let replaced = |from: &[u8], to: &[u8]| {
        let mut bytes = bytes.clone();
        let at = bytes.windows(from.len()).position(|window| window == from).unwrap();
        bytes[at..at + to.len()].copy_from_slice(to);
        read(&bytes, 5).unwrap_err().to_string()
    };
    let message = replaced(b"requests", b"somewhat");
    assert!(message.contains("flashweir.schema: found \"somewhat\", expected \"requests\""), "{message}");
    let message = replaced(b"schema_version\x18\x011", b"schema_version\x18\x012");
    assert!(message.contains("flashweir.schema_version: found \"2\", expected version 1"), "{message}");
    let message = replaced(b"completion_ns", b"competition_n");
    assert!(message.contains("columns: found"), "{message}");
    let message = read(b"PAR1 and no more than that", 5).unwrap_err().to_string();
    assert!(message.contains("log.parquet"), "{message}");
}
