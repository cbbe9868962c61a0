//! Binary blktrace: sets and archives of per-CPU files, which events are requests, and every damage as an error.

use std::io::Write as _;
use std::path::Path;

use crate::support::*;
use flashweir_trace::format::Format;
use flashweir_trace::{Op, TraceError};

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
    let flushed = [Event::new(1, 1 | 1 << 18, 0, 0), Event::new(2, 7 | 1 << 18, 0, 0)];
    let (requests, report) =
        read(&folder.file("f.blktrace.0", &events(&flushed, false)), None).expect("good");
    assert_eq!((requests.len(), requests[0].op), (1, Op::Flush));
    assert!(report.assumptions[0].contains("D: handed to the driver"), "{report:?}");
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
        // Between two events nothing shows that more is missing: the format has no end. The first one is no request.
        let said = read.err().map(|error| error.to_string()).unwrap_or_default();
        match cut {
            56 => assert!(said.ends_with("it has no requests; expected a trace of requests"), "{said}"),
            104 | 156 => assert_eq!(said, "", "{cut}"),
            _ => assert!(said.contains("the file is cut off here"), "{cut}: {said}"),
        }
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

#[test]
fn completions_find_their_requests_by_sector_operation_and_length() {
    use flashweir_trace::format::blktrace::{COMPLETE, Event, ISSUE, REQUEUE};
    use flashweir_trace::format::{Options, Trace};
    let folder = Folder::new("pairs");
    let mut bytes = Vec::new();
    let mut event = |time_ns: u64, what: u32, op: Op, sector: u64, sectors: u32, flags: u32| {
        let action = Event::action_of(what, op, flags);
        let device = 7 << 20;
        Event { time_ns, sector, bytes: sectors * 512, action, device, ..Event::default() }.write(&mut bytes);
    };
    // Two reads of one sector outstanding, and a write of it; the second read completes as well.
    event(10, ISSUE, Op::Read, 8, 8, 0);
    event(11, ISSUE, Op::Read, 8, 8, 0);
    event(12, ISSUE, Op::Write, 8, 8, 1 << 3);
    event(20, COMPLETE, Op::Write, 8, 8, 1 << 3);
    event(21, COMPLETE, Op::Read, 8, 8, 0);
    event(22, COMPLETE, Op::Read, 8, 8, 0);
    // A write that completes in two parts, a discard, a flush.
    event(30, ISSUE, Op::Write, 64, 16, 0);
    event(31, ISSUE, Op::Trim, 128, 2048, 0);
    event(32, ISSUE, Op::Flush, 0, 0, 1 << 4);
    event(40, COMPLETE, Op::Write, 64, 8, 0);
    event(41, COMPLETE, Op::Flush, 0, 0, 1 << 4);
    event(42, COMPLETE, Op::Write, 72, 8, 0);
    event(43, COMPLETE, Op::Trim, 128, 2048, 0);
    // Issued, queued again, grown by a merge, issued again.
    event(50, ISSUE, Op::Read, 256, 8, 0);
    event(51, REQUEUE, Op::Read, 256, 8, 0);
    event(52, ISSUE, Op::Read, 256, 16, 0);
    event(60, COMPLETE, Op::Read, 256, 16, 0);
    // Never completed, and completed but never issued.
    event(70, ISSUE, Op::Read, 512, 8, 0);
    event(71, COMPLETE, Op::Read, 1024, 8, 0);
    let path = folder.file("a.blktrace.0", &bytes);
    assert_eq!(read_log(&path).expect("good").len(), 9, "each issue by itself");
    let mut trace = Trace::open(&path, &Options::default()).expect("good");
    trace.follow_requests();
    let mut log = Vec::new();
    while trace.read_log(&mut log, 100).expect("good") {}
    let found: Vec<_> = log
        .iter()
        .map(|r| {
            (
                r.issue_ns.expect("issued") + 10,
                r.request.op,
                r.request.sectors,
                r.completion_ns.map(|t| t + 10),
            )
        })
        .collect();
    let expected = [
        (10, Op::Read, 8, Some(21)),
        (11, Op::Read, 8, Some(22)),
        (12, Op::Write, 8, Some(20)),
        (30, Op::Write, 16, Some(42)),
        (31, Op::Trim, 2048, Some(43)),
        (32, Op::Flush, 0, Some(41)),
        // Made at 50.
        (52, Op::Read, 16, Some(60)),
        (70, Op::Read, 8, None),
    ];
    assert_eq!(found, expected);
}

#[test]
fn whoever_asked_is_named_where_requests_are_followed() {
    use flashweir_trace::format::blktrace::{Event, ISSUE, QUEUE};
    use flashweir_trace::format::{Options, Trace};
    let folder = Folder::new("askers");
    let mut bytes = Vec::new();
    Event::write_name(5, 1, b"fio", &mut bytes);
    Event::write_name(6, 1, b"kworker", &mut bytes);
    for (time_ns, what, pid) in [(2, QUEUE, 5), (3, ISSUE, 6)] {
        let action = Event::action_of(what, Op::Trim, 0);
        Event { time_ns, sector: 8, bytes: 4096, action, pid, ..Event::default() }.write(&mut bytes);
    }
    let path = folder.file("a.blktrace.0", &bytes);
    assert_eq!(read_log(&path).expect("good")[0].process, "kworker");
    let mut trace = Trace::open(&path, &Options::default()).expect("good");
    trace.follow_requests();
    let mut log = Vec::new();
    while trace.read_log(&mut log, 100).expect("good") {}
    assert_eq!((log.len(), log[0].process.as_str(), log[0].issue_ns), (1, "fio", Some(0)));
}

#[test]
fn fillers_and_names_are_no_requests() {
    use flashweir_trace::format::blktrace::{Event, HEAD_BYTES, ISSUE};
    let folder = Folder::new("fillers");
    let mut bytes = Vec::new();
    Event::write_filler(1, HEAD_BYTES, &mut bytes);
    Event::write_name(5, 2, b"a name of more than fifteen bytes", &mut bytes);
    let action = Event::action_of(ISSUE, Op::Write, 0);
    Event { time_ns: 3, sector: 1, bytes: 512, action, pid: 5, ..Event::default() }.write(&mut bytes);
    Event::write_filler(4, 100, &mut bytes);
    assert_eq!(bytes.len(), HEAD_BYTES + 64 + HEAD_BYTES + 100);
    assert_eq!(Event::from_bytes(&bytes[112..]).expect("good").pid, 5);
    assert!(Event::from_bytes(b"no event").is_err());
    let log = read_log(&folder.file("a.blktrace.0", &bytes)).expect("good");
    assert_eq!((log.len(), log[0].process.as_str()), (1, "a name of more "));
}
