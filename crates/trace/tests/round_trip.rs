//! Records are read back as they were written: every writer, over random requests, up to the limits of its format.

use flashweir_trace::format::{Format, Options, Trace, Writer, convert};
use flashweir_trace::{LogRecord, Op, Request};
use proptest::prelude::*;

/// A format, the step of its clock in ns, and whether it holds discards and flushes.
const FORMATS: [(Format, u64, bool); 9] = [
    (Format::Msr, 100, false),
    (Format::Spc, 1, false),
    (Format::Disksim, 1, false),
    (Format::Ssdsim, 1, false),
    (Format::Mqsim, 1, false),
    (Format::FioV2, 100_000, true),
    (Format::FioV3, 1_000, true),
    (Format::Blktrace, 1, true),
    (Format::Parquet, 1, true),
];

fn requests(step_ns: u64, all_ops: bool) -> impl Strategy<Value = Vec<Request>> {
    let request = (0..2_000_000u64, 0..1u64 << 40, 1..1u32 << 16, 0..if all_ops { 4usize } else { 2 });
    prop::collection::vec(request, 1..60).prop_map(move |drawn| {
        let mut time_ns = 0;
        let mut first = true;
        drawn
            .into_iter()
            .map(|(gap, lba, sectors, op)| {
                time_ns += if first { 0 } else { gap * step_ns };
                first = false;
                let op = Op::ALL[op];
                let (lba, sectors) = if op == Op::Flush { (0, 0) } else { (lba, sectors) };
                Request { time_ns, lba, sectors, stream: 0, op, handle: 0 }
            })
            .collect()
    })
}

fn read(path: &std::path::Path, format: Format) -> Vec<Request> {
    let mut trace =
        Trace::open(path, &Options { format: Some(format), ..Options::default() }).expect("a good trace");
    let mut out = Vec::new();
    while trace.read(&mut out, 10).expect("good lines") {}
    out
}

fn scratch(name: &str) -> std::path::PathBuf {
    std::env::temp_dir().join(format!("flashweir-round-{}-{name}", std::process::id()))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_writer_is_read_back((index, requests) in (0..FORMATS.len())
        .prop_flat_map(|index| (Just(index), requests(FORMATS[index].1, FORMATS[index].2))))
    {
        let (format, ..) = FORMATS[index];
        for end in ["", ".gz", ".zst"] {
            let path = scratch(&format!("{format}{end}"));
            let mut writer = Writer::create(&path, format).expect("writable");
            for request in &requests {
                writer.write_request(request).expect("holds it");
            }
            prop_assert!(!path.exists(), "no file before it is whole");
            writer.finish().expect("written");
            let again = read(&path, format);
            std::fs::remove_file(&path).expect("there");
            prop_assert_eq!(&again, &requests);
        }
    }
}

#[test]
fn response_times_survive_msr() {
    let path = scratch("log.msr.csv");
    let request = Request { time_ns: 0, lba: 8, sectors: 8, stream: 0, op: Op::Read, handle: 0 };
    let record = LogRecord { completion_ns: Some(12_300), ..LogRecord::bare(request) };
    let mut writer = Writer::create(&path, Format::Msr).expect("writable");
    writer.write(&record).expect("holds it");
    writer.finish().expect("written");
    let mut trace = Trace::open(&path, &Options::default()).expect("a good trace");
    let mut out = Vec::new();
    while trace.read_log(&mut out, 10).expect("good lines") {}
    std::fs::remove_file(&path).expect("there");
    assert_eq!(out[0].completion_ns, Some(12_300));
    assert_eq!(out[0].request, request);
}

/// Room for a request (G), and its place in the queue of its device (I), as the kernel numbers them.
const ALLOCATE: u32 = 4;
const INSERT: u32 = 12;

#[test]
fn blktrace_has_every_stage_of_a_request() {
    use flashweir_trace::format::blktrace::{COMPLETE, Event, HEAD_BYTES, ISSUE, QUEUE};
    let path = scratch("stages.blktrace");
    let mut writer = Writer::create(&path, Format::Blktrace).expect("writable");
    for (time_ns, issue_ns, completion_ns) in
        [(0, Some(700), Some(900)), (500, None, Some(800)), (600, Some(650), None)]
    {
        let request = Request { time_ns, lba: time_ns, sectors: 8, stream: 0, op: Op::Write, handle: 0 };
        writer.write(&LogRecord { issue_ns, completion_ns, ..LogRecord::bare(request) }).expect("holds it");
    }
    writer.finish().expect("written");
    let bytes = std::fs::read(&path).expect("there");
    std::fs::remove_file(&path).expect("there");
    let events = bytes.chunks(HEAD_BYTES).map(|head| Event::from_bytes(head).expect("an event"));
    let found: Vec<_> = events.map(|event| (event.time_ns, event.what().unwrap(), event.sector)).collect();
    let stages = |time, sector| [(time, QUEUE, sector), (time, ALLOCATE, sector), (time, INSERT, sector)];
    let expected = [
        &stages(0, 0)[..],
        &stages(500, 500),
        &[(500, ISSUE, 500)],
        &stages(600, 600),
        &[(650, ISSUE, 600), (700, ISSUE, 0), (800, COMPLETE, 500), (900, COMPLETE, 0)],
    ];
    assert_eq!(found, expected.concat());
}

#[test]
fn conversion_keeps_requests_and_takes_the_format_from_the_name() {
    let (input, output) = (scratch("in.spc"), scratch("out.ssdsim.zst"));
    std::fs::write(&input, "1,100,512,r,5.0\n2,0,1024,w,5.5\n").expect("a scratch file");
    let report = convert(&input, &Options::default(), &output, None).expect("convertible");
    assert_eq!((report.report.requests, report.report.devices.len()), (2, 2));
    assert_eq!((report.written_as, report.not_written.len()), (Format::Ssdsim, 0));
    let again = read(&output, Format::Ssdsim);
    assert_eq!(again, read(&input, Format::Spc));
    assert_eq!((again[1].lba, again[1].time_ns), (2048, 500_000_000));
    std::fs::remove_file(&input).expect("there");
    std::fs::remove_file(&output).expect("there");
}
