//! Binary formats: what they keep in logs, sets and archives of per-CPU files, and every damage as an error.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use flashweir_trace::format::{Format, Options, Report, Trace, Writer};
use flashweir_trace::{LogRecord, Op, Request, TraceError};
use proptest::prelude::*;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// A folder of the test's own, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("flashweir-binary-{}-{test}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a scratch folder");
        Self(path)
    }

    fn file(&self, name: &str, content: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, content).expect("a scratch file");
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn read(path: &Path, format: Option<Format>) -> Result<(Vec<Request>, Report), TraceError> {
    let mut trace = Trace::open(path, &Options { format, ..Options::default() })?;
    let mut out = Vec::new();
    while trace.read(&mut out, 100)? {}
    Ok((out, trace.report().clone()))
}

fn read_log(path: &Path) -> Result<Vec<LogRecord>, TraceError> {
    let mut trace = Trace::open(path, &Options::default())?;
    let mut out = Vec::new();
    while trace.read_log(&mut out, 100)? {}
    Ok(out)
}

fn message(path: &Path) -> String {
    read(path, None).expect_err("an error").to_string()
}

/// An event of blktrace in either byte order.
struct Event {
    time_ns: u64,
    sector: u64,
    bytes: u32,
    action: u32,
    pid: u32,
    device: u32,
    payload: &'static [u8],
}

const ISSUE_READ: u32 = 7 | 1 << 16 | 1 << 22;
const ISSUE_WRITE: u32 = 7 | 1 << 17 | 1 << 22;
const COMPLETE_READ: u32 = 8 | 1 << 16 | 1 << 23;
const QUEUE_WRITE: u32 = 1 | 1 << 17;
const NAME: u32 = 1 << 26;
const SDA: u32 = 8 << 20;

impl Event {
    const fn new(time_ns: u64, action: u32, sector: u64, bytes: u32) -> Self {
        Self { time_ns, sector, bytes, action, pid: 42, device: SDA, payload: b"" }
    }

    fn encode(&self, big: bool) -> Vec<u8> {
        let mut out = Vec::new();
        let mut word = |value: u64, bytes: usize| {
            let little = value.to_le_bytes();
            let mut field = little[..bytes].to_vec();
            if big {
                field.reverse();
            }
            out.extend(field);
        };
        word(0x6561_7407, 4);
        word(1, 4);
        word(self.time_ns, 8);
        word(self.sector, 8);
        for value in [self.bytes, self.action, self.pid, self.device, 0] {
            word(value.into(), 4);
        }
        word(0, 2);
        word(self.payload.len() as u64, 2);
        out.extend(self.payload);
        out
    }
}

fn events(events: &[Event], big: bool) -> Vec<u8> {
    events.iter().flat_map(|event| event.encode(big)).collect()
}

fn two_cpus() -> [Vec<Event>; 2] {
    let name = Event { payload: b"java\0\0\0\0", ..Event::new(0, NAME, 0, 0) };
    [
        vec![
            name,
            Event::new(1000, ISSUE_READ | 1 << 19, 8, 4096),
            Event { payload: b"\0\0\x02\0", ..Event::new(1500, 15 | 1 << 16, 8, 4096) },
            Event::new(5000, ISSUE_WRITE | 1 << 18 | 1 << 31, 100, 1024),
        ],
        vec![
            Event::new(2000, 7 | 1 << 18, 0, 0),
            Event::new(3000, ISSUE_WRITE | 1 << 29, 0, 1 << 20),
            Event::new(3500, 7 | 1 << 25, 0, 512),
            Event::new(4000, COMPLETE_READ, 8, 4096),
        ],
    ]
}

fn check_two_cpus(path: &Path, format: Format) {
    let (requests, report) = read(path, None).expect("good events");
    let found: Vec<_> = requests.iter().map(|r| (r.time_ns, r.op, r.lba, r.sectors)).collect();
    let expected =
        [(0, Op::Read, 8, 8), (1000, Op::Flush, 0, 0), (2000, Op::Trim, 0, 2048), (4000, Op::Write, 100, 2)];
    assert_eq!(found, expected);
    assert_eq!((report.format, report.requests, report.flushes), (format, 3, 1));
    assert_eq!(report.left_out[0].count, 1);
    assert!(report.assumptions.iter().any(|said| said.contains("D: handed to the driver")), "{report:?}");
    let log = read_log(path).expect("good events");
    assert_eq!((log[0].completion_ns, log[0].flags, log[0].process.as_str()), (Some(3000), 1, "java"));
    assert_eq!((log[3].completion_ns, log[3].flags), (None, 1 << 3 | 1 << 4));
}

#[test]
fn sets_of_files_are_merged_by_time_under_their_base_name() {
    let folder = Folder::new("set");
    let [first, second] = two_cpus();
    // Per-CPU files may be compressed and of either byte order.
    folder.file("sda.blktrace.0", &events(&first, true));
    let packed = zstd::stream::encode_all(&events(&second, false)[..], 1).expect("memory");
    folder.file("sda.blktrace.11.zst", &packed);
    folder.file("sda.blktrace.2", b"");
    folder.file("sda.blktrace.notes", b"not a CPU");
    check_two_cpus(&folder.0.join("sda"), Format::Blktrace);
    check_two_cpus(&folder.0.join("sda.blktrace"), Format::Blktrace);
    let (requests, _) = read(&folder.0.join("sda.blktrace.0"), None).expect("one CPU's");
    assert_eq!(requests.len(), 2);
}

#[test]
fn archives_hold_sets_of_files() {
    let folder = Folder::new("archive");
    let mut archive = tar::Builder::new(Vec::new());
    for (cpu, content) in two_cpus().iter().enumerate() {
        let content = events(content, cpu == 1);
        let mut header = tar::Header::new_ustar();
        header.set_size(content.len() as u64);
        archive.append_data(&mut header, format!("run/sdb.blktrace.{cpu}"), &content[..]).expect("memory");
    }
    let mut header = tar::Header::new_ustar();
    header.set_size(5);
    archive.append_data(&mut header, "run/readme", &b"notes"[..]).expect("memory");
    let bytes = archive.into_inner().expect("memory");
    check_two_cpus(&folder.file("a.blktrace.tar", &bytes), Format::BlktraceTar);
    let packed = zstd::stream::encode_all(&bytes[..], 1).expect("memory");
    check_two_cpus(&folder.file("b.tar.zst", &packed), Format::BlktraceTar);
    // The zeros at the end may be cut by half, nothing else may.
    for cut in (0..bytes.len() - 1024).step_by(61).chain([512, 1024, 1536]) {
        let path = folder.file("c.blktrace.tar", &bytes[..cut]);
        let error = read(&path, None).expect_err("cut off");
        assert!(matches!(error, TraceError::Truncated { .. } | TraceError::Record { .. }), "{cut}: {error}");
    }
    let said = message(&folder.file("d.blktrace.tar", &bytes[512..]));
    assert!(said.contains("d.blktrace.tar"), "{said}");
    let mut none = tar::Builder::new(Vec::new());
    none.append_data(&mut header, "readme", &b"notes"[..]).expect("memory");
    let said = message(&folder.file("e.blktrace.tar", &none.into_inner().expect("memory")));
    assert!(said.contains("expected members called like sda.blktrace.0"), "{said}");
}

#[test]
fn the_best_event_there_is_makes_requests() {
    let folder = Folder::new("best");
    let queued = [Event::new(1, QUEUE_WRITE, 8, 512), Event::new(2, QUEUE_WRITE, 9, 512)];
    let (requests, report) = read(&folder.file("q.blktrace.0", &events(&queued, false)), None).expect("good");
    assert_eq!(requests.len(), 2);
    assert!(report.assumptions[0].contains("Q: queued, since there is neither D nor C"), "{report:?}");
    let completed = [Event::new(1, QUEUE_WRITE, 8, 512), Event::new(2, COMPLETE_READ, 9, 512)];
    let path = folder.file("c.blktrace.0", &events(&completed, false));
    let (requests, report) = read(&path, None).expect("good");
    assert_eq!((requests.len(), requests[0].lba), (1, 9));
    assert!(report.assumptions[0].contains("C: completed, since there is no D"), "{report:?}");
    assert_eq!(read_log(&path).expect("good")[0].completion_ns, Some(0));
}

#[test]
fn devices_of_events_get_ranges_of_their_own() {
    let folder = Folder::new("devices");
    let other = Event { device: 259 << 20 | 3, ..Event::new(2, ISSUE_READ, 0, 512) };
    let path = folder.file("a.blktrace.0", &events(&[Event::new(1, ISSUE_READ, 100, 512), other], false));
    let (requests, report) = read(&path, None).expect("good");
    assert_eq!(requests[1].lba, 2048);
    let names: Vec<&str> = report.devices.iter().map(|device| device.name.as_str()).collect();
    assert_eq!(names, ["8,0", "259,3"]);
    // A set has no file under its own name, and is read twice all the same.
    let (again, _) = read(&folder.0.join("a"), None).expect("good");
    assert_eq!(again, requests);
}

#[test]
fn damaged_events_say_where_and_what() {
    let folder = Folder::new("damaged");
    let good = events(&two_cpus()[0], false);
    for cut in 1..good.len() {
        let read = read(&folder.file("a.blktrace.0", &good[..cut]), None);
        // Between two events nothing shows that more is missing: the format has no end.
        let boundary = [56, 104, 156].contains(&cut);
        assert_eq!(read.is_ok(), boundary, "{cut}");
        assert!(boundary || read.expect_err("cut").to_string().contains("the file is cut off here"));
    }
    let mut version = good.clone();
    version[56] = 6;
    let said = message(&folder.file("b.blktrace.0", &version));
    assert!(said.contains("b.blktrace.0, record 2: version: found \"6\", expected version 7"), "{said}");
    let mut magic = good.clone();
    magic[58] = 0;
    let said = message(&folder.file("c.blktrace.0", &magic));
    assert!(said.contains("record 2: magic: found \"0x65007407\", expected 0x65617407"), "{said}");
    let mut length = good;
    length[47] = 0xff;
    let said = message(&folder.file("d.blktrace.0", &length));
    assert!(said.contains("the payload of an event takes 65288 bytes"), "{said}");
}

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
fn vscsi_of_both_versions_is_told_apart_by_content() {
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
            // Distinct addresses: of two requests to one, only the last is paired.
            let (lba, sectors) = if op == Op::Flush { (0, 0) } else { (lba << 8 | number as u64, sectors) };
            let request =
                Request { time_ns, lba, sectors, stream: if parquet { process.into() } else { 0 }, op };
            let kept = parquet || op != Op::Flush;
            LogRecord {
                request,
                due_ns: response.filter(|_| parquet),
                issue_ns: (!parquet && kept).then_some(time_ns),
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
    let request = |i: u64| Request { time_ns: i * 3 + 5, lba: i * 8, sectors: 8, stream: 1, op: Op::Write };
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
    let request =
        |i: u64| Request { time_ns: i * 7, lba: i * 8, sectors: 8, stream: 0, op: Op::ALL[i as usize % 4] };
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

#[test]
fn pipes_are_copied_first() {
    let folder = Folder::new("pipe");
    let path = folder.0.join("sda.blktrace.0");
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    if !made.is_ok_and(|status| status.success()) {
        println!("skipped: no pipes here");
        return;
    }
    let content = events(&two_cpus()[0], false);
    let mut writer = std::process::Command::new("sh")
        .args(["-c", "cat > \"$0\""])
        .arg(&path)
        .stdin(std::process::Stdio::piped())
        .spawn()
        .expect("a shell");
    writer.stdin.take().expect("piped").write_all(&content).expect("small enough to be held");
    let (requests, _) = read(&path, None).expect("good");
    assert_eq!(requests.len(), 2);
    writer.wait().expect("ended");
}
