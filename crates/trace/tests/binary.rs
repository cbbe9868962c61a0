//! Binary formats: what they keep in logs, and every damage as an error.

use std::path::Path;

use crate::support::*;
use flashweir_trace::format::{Format, Options, Trace, Writer};
use flashweir_trace::{LogRecord, Op, Request};
use proptest::prelude::*;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

fn vscsi1(cmd: u16, version: u16, bytes: u32, lbn: u64, micros: u64) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend([7u32, bytes, 1].iter().flat_map(|word| word.to_le_bytes()));
    out.extend([cmd, version].iter().flat_map(|word| word.to_le_bytes()));
    out.extend([lbn, micros].iter().flat_map(|word| word.to_le_bytes()));
    out
}

fn vscsi2(cmd: u16, version: u16, bytes: u32, lbn: u64, micros: u64, response: u64) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend([cmd, version].iter().flat_map(|word| word.to_le_bytes()));
    out.extend([7u32, bytes, 1].iter().flat_map(|word| word.to_le_bytes()));
    out.extend([lbn, micros, response].iter().flat_map(|word| word.to_le_bytes()));
    out
}

fn oracle(seconds: u32, object: u64, bytes: u32, next: i64) -> Vec<u8> {
    [&seconds.to_le_bytes()[..], &object.to_le_bytes(), &bytes.to_le_bytes(), &next.to_le_bytes()].concat()
}

#[test]
fn vscsi_versions_are_distinguished_by_content() {
    let folder = Folder::new("vscsi");
    let one =
        [vscsi1(0x2a, 0x100, 513, 9, 50), vscsi1(0x12, 0x100, 36, 0, 51), vscsi1(0x28, 0x1ff, 512, 8, 60)];
    let path = folder.file("one.vscsi", &one.concat());
    let (requests, report) = read(&path, None).expect("good");
    assert_eq!(
        (report.format, report.detected_by, report.left_out[0].count),
        (Format::VscsiV1, "content", 1)
    );
    let found: Vec<_> = requests.iter().map(|r| (r.time_ns, r.op, r.lba, r.sectors)).collect();
    assert_eq!(found, [(0, Op::Write, 9, 2), (10_000, Op::Read, 8, 1)]);
    let two = [vscsi2(0x88, 0x200, 4096, 9, 50, 7), vscsi2(0x35, 0x200, 0, 0, 60, 1)];
    let path = folder.file("two.vscsi", &two.concat());
    let (requests, report) = read(&path, None).expect("good");
    assert_eq!((report.format, requests.len(), report.flushes), (Format::VscsiV2, 2, 1));
    assert_eq!(read_log(&path).expect("good")[0].completion_ns, Some(7000));
    for (name, bytes, said) in [
        (
            "a.vscsi1",
            &one.concat()[..40],
            "byte 32: the file is cut off here (a record takes 32 bytes, 8 are left)",
        ),
        ("b.vscsi1", &two.concat(), "record 1: version: found \"0x0\", expected 0x100, version 1"),
        ("c.vscsi2", &one.concat(), "record 1: version: found \"0x0\", expected 0x200, version 2"),
        (
            "d.vscsi1",
            &vscsi1(0x28, 0x100, 512, 8, u64::MAX),
            "ts: found \"18446744073709551615\", expected a time",
        ),
        (
            "e.vscsi1",
            &vscsi1(0x28, 0x100, 512, u64::MAX, 1),
            "record 1: address: found \"18446744073709551615\"",
        ),
    ] {
        let found = message(&folder.file(name, bytes));
        assert!(found.contains(said), "{name}: {found}");
    }
}

#[test]
fn oracle_general_is_all_reads_and_says_so() {
    let folder = Folder::new("oracle");
    let bytes = [oracle(5, 100, 512, 2), oracle(5, 200, 4097, -1), oracle(7, 100, 512, i64::MAX)].concat();
    let (requests, report) = read(&folder.file("a.bin", &bytes), None).expect("good");
    assert_eq!((report.format, report.detected_by), (Format::OracleGeneral, "content"));
    let found: Vec<_> = requests.iter().map(|r| (r.time_ns, r.op, r.lba, r.sectors)).collect();
    assert_eq!(found, [(0, Op::Read, 100, 1), (0, Op::Read, 200, 9), (2_000_000_000, Op::Read, 100, 1)]);
    assert!(report.assumptions[0].contains("all requests are taken as reads"), "{report:?}");
    let said = message(&folder.file("b.oracleGeneral", &oracle(5, 100, 0, 2)));
    assert!(said.contains("record 1: size: found \"0\", expected a length above zero"), "{said}");
    let said = message(&folder.file("c.oracleGeneral", &bytes[..25]));
    assert!(said.contains("byte 24: the file is cut off here"), "{said}");
}

/// Gap, address, sectors, operation, flags, response and process of a record.
type Drawn = (u64, u64, u32, usize, u32, Option<u64>, u8);

/// Records in time order, with completions and names, as far as `format` keeps them.
fn records(parquet: bool) -> impl Strategy<Value = Vec<LogRecord>> {
    let drawn = (
        0u64..3000,
        0u64..1 << 40,
        1u32..1 << 16,
        0usize..4,
        0u32..32,
        prop::option::of(1u64..1 << 20),
        0u8..9,
    );
    prop::collection::vec(drawn, 1..80).prop_map(move |drawn| {
        let mut time_ns = 0;
        let record = |(number, drawn): (usize, Drawn)| {
            let (gap, lba, sectors, op, flags, response, process) = drawn;
            time_ns += if parquet || number > 0 { gap } else { 0 };
            let op = Op::ALL[op];
            // Distinct addresses: equal outstanding requests are completed in their order. Flushes all are equal.
            let (lba, sectors) = if op == Op::Flush { (0, 0) } else { (lba << 8 | number as u64, sectors) };
            let request = Request {
                time_ns,
                lba,
                sectors,
                stream: if parquet { process.into() } else { 0 },
                op,
                handle: 0,
            };
            let kept = parquet || op != Op::Flush;
            LogRecord {
                request,
                due_ns: response.filter(|_| parquet),
                issue_ns: (!parquet).then_some(time_ns),
                completion_ns: response.filter(|_| kept).map(|response| time_ns + response),
                flags: if kept { flags } else { flags & 15 },
                process: if kept && process > 0 { format!("proc/{process} ü") } else { String::new() },
            }
        };
        drawn.into_iter().enumerate().map(record).collect()
    })
}

fn write(path: &Path, format: Format, records: &[LogRecord]) {
    let mut writer = Writer::create(path, format).expect("writable");
    for record in records {
        writer.write(record).expect("holds it");
    }
    writer.finish().expect("written");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn logs_survive_blktrace(records in records(false)) {
        let folder = Folder::new("log-blktrace");
        let path = folder.0.join("a.blktrace.0.zst");
        write(&path, Format::Blktrace, &records);
        prop_assert_eq!(read_log(&path).expect("good"), records);
    }

    #[test]
    fn logs_survive_parquet(records in records(true)) {
        let folder = Folder::new("log-parquet");
        for name in ["a.parquet", "b.parquet.gz"] {
            let path = folder.0.join(name);
            write(&path, Format::Parquet, &records);
            prop_assert_eq!(read_log(&path).expect("good"), records.clone());
            let requests: Vec<Request> = records.iter().map(|record| record.request).collect();
            prop_assert_eq!(read(&path, None).expect("good").0, requests);
        }
    }
}

#[test]
fn parquet_is_found_by_content_and_written_in_pieces() {
    let folder = Folder::new("parquet");
    let request =
        |i: u64| Request { time_ns: i * 3 + 5, lba: i * 8, sectors: 8, stream: 1, op: Op::Write, handle: 0 };
    let records: Vec<LogRecord> = (0..140_000).map(|i| LogRecord::bare(request(i))).collect();
    let path = folder.0.join("log");
    write(&path, Format::Parquet, &records);
    let (requests, report) = read(&path, None).expect("good");
    assert_eq!((report.format, report.detected_by, requests.len()), (Format::Parquet, "content", 140_000));
    assert_eq!((requests[0].time_ns, requests[139_999]), (5, request(139_999)));
}

/// Good files of every binary format, to be mutated.
fn seeds() -> Vec<(Format, Vec<u8>)> {
    let folder = Folder::new("seeds");
    let request = |i: u64| Request {
        time_ns: i * 7,
        lba: i * 8,
        sectors: 8,
        stream: 0,
        op: Op::ALL[i as usize % 4],
        handle: 0,
    };
    let bare = |i| match request(i) {
        request @ Request { op: Op::Flush, .. } => LogRecord::bare(Request { lba: 0, sectors: 0, ..request }),
        request => {
            LogRecord { completion_ns: Some(i * 9 + 1), process: "x".into(), ..LogRecord::bare(request) }
        }
    };
    let records: Vec<LogRecord> = (0..50).map(bare).collect();
    let written = |format| {
        let path = folder.0.join("seed");
        write(&path, format, &records);
        std::fs::read(path).expect("there")
    };
    let mut archive = tar::Builder::new(Vec::new());
    for (cpu, content) in two_cpus().iter().enumerate() {
        let content = events(content, cpu == 1);
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        archive.append_data(&mut header, format!("sdb.blktrace.{cpu}"), &content[..]).expect("memory");
    }
    vec![
        (Format::Parquet, written(Format::Parquet)),
        (Format::Blktrace, written(Format::Blktrace)),
        (Format::Blktrace, events(&two_cpus()[0], true)),
        (Format::BlktraceTar, archive.into_inner().expect("memory")),
        (Format::VscsiV1, vscsi1(0x2a, 0x100, 513, 9, 50).repeat(5)),
        (Format::VscsiV2, vscsi2(0x2a, 0x200, 513, 9, 50, 6).repeat(5)),
        (Format::OracleGeneral, oracle(5, 100, 512, 2).repeat(5)),
    ]
}

fn mutate(random: &mut Xoshiro256PlusPlus, seed: &[u8]) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for _ in 0..=random.next_u64() % 4 {
        let at = (random.next_u64() % (bytes.len() as u64 + 1)) as usize;
        match random.next_u64() % 6 {
            0 | 1 if at < bytes.len() => bytes[at] = random.next_u64() as u8,
            2 if at < bytes.len() => bytes[at] = [0, 0xff, 0x7f, 0x80][(random.next_u64() % 4) as usize],
            3 if at < bytes.len() => drop(bytes.remove(at)),
            4 => bytes.truncate(at),
            _ => bytes.insert(at, random.next_u64() as u8),
        }
    }
    bytes
}

#[test]
fn mutated_files_never_panic() {
    let cases =
        std::env::var("FLASHWEIR_FUZZ_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(2_000u64);
    let folder = Folder::new("fuzz");
    let (seeds, mut random) = (seeds(), Xoshiro256PlusPlus::seed_from_u64(17));
    for case in 0..cases {
        let (format, seed) = &seeds[(case % seeds.len() as u64) as usize];
        let bytes = mutate(&mut random, seed);
        let path = folder.file("fuzzed", &bytes);
        for (format, skip_bad) in [(Some(*format), 0), (Some(*format), 1000), (None, 0)] {
            let options = Options { format, skip_bad, ..Options::default() };
            let Ok(mut trace) = Trace::open(&path, &options) else { continue };
            let (mut requests, mut calls) = (Vec::new(), 0);
            while let Ok(true) = trace.read(&mut requests, 3) {
                calls += 1;
                assert!(calls <= bytes.len() + 10, "no end: {format:?} of {}", bytes.escape_ascii());
            }
            assert!(requests.windows(2).all(|pair| pair[0].time_ns <= pair[1].time_ns));
            assert!(requests.iter().all(|r| r.lba.checked_add(u64::from(r.sectors)).is_some()));
            let Ok(mut trace) = Trace::open(&path, &options) else { continue };
            let mut records = Vec::new();
            while let Ok(true) = trace.read_log(&mut records, 3) {}
        }
    }
}
