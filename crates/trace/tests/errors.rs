//! Every way in which a trace can be unusable has a message of its own, which says where and what would be right.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use flashweir_trace::format::{Columns, Format, Options, Report, Trace, Writer, convert, info};
use flashweir_trace::{Op, Request, TraceError};

/// A folder of the test's own, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("flashweir-errors-{}-{test}", std::process::id()));
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

fn read(path: &Path, options: &Options) -> Result<(Vec<Request>, Report), TraceError> {
    let mut trace = Trace::open(path, options)?;
    let mut out = Vec::new();
    while trace.read(&mut out, 100)? {}
    Ok((out, trace.report().clone()))
}

fn message(path: &Path) -> String {
    read(path, &Options::default()).expect_err("an error").to_string()
}

fn msr_lines(count: u64) -> String {
    (0..count).fold(String::new(), |mut text, n| {
        let _ = writeln!(text, "{},hm,0,Write,{},4096,100", 128_166_385_295_514_663 + n * 977, n * 8192);
        text
    })
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(content).expect("memory");
    encoder.finish().expect("memory")
}

fn zstd(content: &[u8]) -> Vec<u8> {
    zstd::stream::encode_all(content, 1).expect("memory")
}

#[test]
fn a_bad_line_has_file_line_field_and_expectation() {
    let folder = Folder::new("line");
    let path = folder.file("a.msr.csv", format!("{}1,hm,0,Write,x,4096,1\n", msr_lines(3)).as_bytes());
    let said = message(&path);
    assert!(said.contains("a.msr.csv, line 4: Offset: found \"x\", expected a whole number"), "{said}");
}

#[test]
fn skipping_is_counted_and_bounded() {
    let folder = Folder::new("skip");
    let text = format!("{}bad\n{}-5,hm,0,Write,0,4096,1\n", msr_lines(3), msr_lines(1));
    let path = folder.file("a.msr.csv", text.as_bytes());
    let options = |skip_bad| Options { skip_bad, ..Options::default() };
    let (requests, report) = read(&path, &options(2)).expect("two may be skipped");
    assert_eq!((requests.len(), report.skipped_bad), (4, 2));
    assert!(report.skipped_messages[0].starts_with("line 4: Timestamp: found \"bad\""), "{report:?}");
    let said = read(&path, &options(1)).expect_err("one is too few").to_string();
    assert!(
        said.contains("line 6: Timestamp: found \"-5\", expected a number that is not negative"),
        "{said}"
    );
}

#[test]
fn truncated_archives_are_never_a_short_read() {
    let folder = Folder::new("truncated");
    let text = msr_lines(5000);
    for (name, whole) in [("a.msr.csv.gz", gzip(text.as_bytes())), ("a.msr.csv.zst", zstd(text.as_bytes()))] {
        let path = folder.file(name, &whole);
        assert_eq!(read(&path, &Options::default()).expect("whole").0.len(), 5000);
        for cut in [whole.len() / 2, whole.len() - 1, whole.len() - 9] {
            let path = folder.file(name, &whole[..cut]);
            let error = read(&path, &Options::default()).expect_err("cut off");
            assert!(matches!(error, TraceError::Truncated { .. }), "{name} {cut}: {error}");
            assert!(
                error.to_string().contains("the file is cut off here (its compressed stream has no end)")
            );
        }
    }
}

#[test]
fn archives_of_several_parts_are_read_to_the_end() {
    let folder = Folder::new("parts");
    let text = msr_lines(100);
    for (name, part) in [("a.msr.csv.gz", gzip(text.as_bytes())), ("b.msr.csv.zst", zstd(text.as_bytes()))] {
        let path = folder.file(name, &[&part[..], &part[..], &part[..]].concat());
        assert_eq!(read(&path, &Options::default()).expect("whole").0.len(), 300, "{name}");
    }
    // The name needs not say that it is compressed.
    let path = folder.file("c.msr.csv", &zstd(text.as_bytes()));
    assert_eq!(read(&path, &Options::default()).expect("whole").0.len(), 100);
}

#[test]
fn damaged_archives_are_distinguished_from_truncated_ones() {
    let folder = Folder::new("damaged");
    let mut bytes = gzip(msr_lines(5000).as_bytes());
    let middle = bytes.len() / 2;
    for byte in &mut bytes[middle..middle + 64] {
        *byte ^= 0x5a;
    }
    let error = read(&folder.file("a.msr.csv.gz", &bytes), &Options::default()).expect_err("damaged");
    let said = error.to_string();
    assert!(said.contains("its compressed data is damaged") || said.contains("line "), "{said}");
    let mut bytes = zstd(msr_lines(5000).as_bytes());
    bytes[9] ^= 0xff;
    bytes[10] ^= 0xff;
    let said = message(&folder.file("a.msr.csv.zst", &bytes));
    assert!(said.contains("its compressed data is damaged"), "{said}");
}

#[test]
fn files_of_no_format_say_what_was_looked_at() {
    let folder = Folder::new("unknown");
    for (name, content, said) in [
        ("a.bin", &b"\x7fELF\0\0\0\0"[..], "no known trace format (it is binary"),
        ("b.txt", b"hello world\n", "its first lines fit none, such as \"hello world\""),
        ("c", b"", "no known trace format (it is empty)"),
    ] {
        let found = message(&folder.file(name, content));
        assert!(found.contains(said) && found.contains("--columns"), "{found}");
    }
    for (name, content) in [
        ("c.blkparse", &b""[..]),
        ("d.blkparse.gz", &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
    ] {
        let found = message(&folder.file(name, content));
        assert!(found.ends_with("it is empty; expected a trace of requests"), "{found}");
    }
}

#[test]
fn a_few_bad_lines_do_not_hide_the_format() {
    let folder = Folder::new("few");
    let said = message(&folder.file("trace.txt", format!("{}bad\n", msr_lines(30)).as_bytes()));
    assert!(said.contains("trace.txt, line 31: Timestamp: found \"bad\", expected a whole number"), "{said}");
}

#[test]
fn wrong_formats_fail_on_their_first_line() {
    let folder = Folder::new("wrong");
    let path = folder.file("a.spc", msr_lines(3).as_bytes());
    let said = message(&path);
    assert!(said.contains("a.spc, line 1: LBA: found \"hm\", expected a whole number"), "{said}");
    let options = Options { format: Some(Format::Fiu), ..Options::default() };
    let said = read(&path, &options).expect_err("no FIU").to_string();
    assert!(said.contains("line 1"), "{said}");
}

#[test]
fn files_that_cannot_be_opened_say_why() {
    let folder = Folder::new("open");
    let said = message(&folder.0.join("absent.spc"));
    assert!(said.ends_with("absent.spc: No such file or directory; expected a trace of requests"), "{said}");
    let said = message(&folder.0);
    assert!(said.contains("this is a folder, not a trace"), "{said}");
}

#[test]
fn endless_lines_are_refused() {
    let folder = Folder::new("endless");
    let said = message(&folder.file("a.spc", &vec![b'7'; 3 << 20]));
    assert!(said.contains("line 1: line: found \"7777") && said.contains("at most 1 MiB"), "{said}");
}

#[test]
fn addresses_that_overflow_are_refused() {
    let folder = Folder::new("overflow");
    for (line, said) in [
        ("0 0 18446744073709551615 8 1", "expected a request that ends below sector 2^64"),
        (
            "0 0 18446744073709551616 8 1",
            "address: found \"18446744073709551616\", expected a number below 2^64",
        ),
        ("0 0 0 4294967296 1", "size: found \"4294967296\", expected at most 4294967295 sectors"),
        ("0 0 0 -8 1", "size: found \"-8\", expected a number that is not negative"),
        ("0 0 0 0 1", "size: found \"0\", expected a length above zero"),
        ("18446744073709551616 0 0 8 1", "time: found \"18446744073709551616\""),
    ] {
        let found = message(&folder.file("a.ssdsim", format!("{line}\n").as_bytes()));
        assert!(found.contains(said), "{line}: {found}");
    }
    let two = "0 0 18446744073709551000 8 1\n1 1 9999 8 1\n";
    let found = message(&folder.file("b.ssdsim", two.as_bytes()));
    assert!(found.contains("its devices together have more than 2^64 sectors"), "{found}");
}

#[test]
fn names_of_formats_are_suggested() {
    let said = Format::from_name("mqsin").expect_err("no format").to_string();
    assert!(said.contains("format \"mqsin\": did you mean \"mqsim\"?"), "{said}");
    let said = Format::from_name("nothing-like-it").expect_err("no format").to_string();
    assert!(said.contains("formats are alibaba, "), "{said}");
    for format in Format::ALL {
        assert_eq!(Format::from_name(format.name()).expect("its own name"), format);
    }
}

#[test]
fn tables_need_columns() {
    let folder = Folder::new("table");
    let path = folder.file("a.txt", b"1|r|0|8\n");
    let options = Options { format: Some(Format::Table), ..Options::default() };
    let said = read(&path, &options).expect_err("no columns").to_string();
    assert!(said.contains("a description of its columns as well"), "{said}");
    let columns = Some(Columns::parse("sep=|,time=0,op=1,lba=2,size=3").expect("a good spec"));
    let (requests, report) = read(&path, &Options { columns, ..Options::default() }).expect("a good table");
    assert_eq!((requests.len(), report.format), (1, Format::Table));
}

#[test]
fn traces_and_writers_may_move_between_threads() {
    const fn is_send<T: Send>() {}
    is_send::<Trace>();
    is_send::<Writer>();
}

#[test]
fn a_trace_is_read_one_way_only() {
    let folder = Folder::new("ways");
    let path = folder.file("a.msr.csv", msr_lines(10).as_bytes());
    let mut trace = Trace::open(&path, &Options::default()).expect("a good trace");
    trace.read(&mut Vec::new(), 3).expect("good lines");
    let said = trace.read_log(&mut Vec::new(), 3).expect_err("the other way").to_string();
    assert!(said.contains("open the trace once more"), "{said}");
}

#[test]
fn what_a_format_cannot_hold_is_refused_and_leaves_no_file() {
    let folder = Folder::new("unwritable");
    let trim = Request { time_ns: 0, lba: 0, sectors: 8, stream: 0, op: Op::Trim, handle: 0 };
    let mut writer = Writer::create(&folder.0.join("out"), Format::FioV3).expect("a writable format");
    let said = writer.write_request(&Request { lba: u64::MAX - 8, ..trim }).expect_err("too far").to_string();
    assert!(said.contains("counts bytes in 64 bits"), "{said}");
    drop(writer);
    let said = Writer::create(&folder.0.join("out"), Format::Tencent).err().expect("not written").to_string();
    assert!(said.contains("tencent is read but not written; formats that are written: "), "{said}");
    let input = folder.file("a.msr.csv", msr_lines(1).as_bytes());
    let said =
        convert(&input, &Options::default(), &folder.0.join("out"), None).expect_err("no name").to_string();
    assert!(said.contains("its name says no format"), "{said}");
    let left: Vec<_> = std::fs::read_dir(&folder.0).expect("readable").filter_map(Result::ok).collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn a_command_to_a_zone_is_written_by_logs_and_refused_by_all_other_formats() {
    let folder = Folder::new("zoned");
    let zoned = Op::ALL.into_iter().filter(|op| op.is_zoned());
    let zoned: Vec<_> =
        zoned.map(|op| Request { time_ns: 0, lba: 64, sectors: 8, stream: 0, op, handle: 0 }).collect();
    let first = Request { op: Op::Read, ..zoned[0] };
    for format in Format::ALL.into_iter().filter(|format| format.is_writable()) {
        let path = folder.0.join("out");
        let mut writer = Writer::create(&path, format).expect("a writable format");
        writer.write_request(&first).expect("a read");
        if format == Format::Parquet {
            zoned.iter().try_for_each(|request| writer.write_request(request)).expect("written");
            writer.finish().expect("written");
            let options = Options { format: Some(format), ..Options::default() };
            let (requests, report) = read(&path, &options).expect("a good trace");
            assert_eq!(requests[1..], zoned);
            assert_eq!((report.requests, report.writes, report.zone_commands), (9, 1, 7));
            continue;
        }
        for (request, number) in zoned.iter().zip(2..) {
            let error = writer.write_request(request).expect_err("no such command").to_string();
            let expected = format!(
                "request {number} is {}, a command to a zone, which {format} does not have: expected the format parquet",
                request.op.name()
            );
            assert!(error.ends_with(&expected), "{error}");
        }
    }
}

#[test]
fn operations_that_a_format_does_not_have_are_left_out_and_counted() {
    let folder = Folder::new("left-out");
    let ops = [Op::Flush, Op::Read, Op::Trim, Op::Flush, Op::Write];
    let request = |op| match op {
        Op::Flush => Request { time_ns: 0, lba: 0, sectors: 0, stream: 0, op, handle: 0 },
        _ => Request { time_ns: 0, lba: 64, sectors: 8, stream: 0, op, handle: 0 },
    };
    for format in Format::ALL.into_iter().filter(|format| format.is_writable()) {
        let path = folder.0.join("out");
        let mut writer = Writer::create(&path, format).expect("a writable format");
        ops.iter().try_for_each(|op| writer.write_request(&request(*op))).expect("left out or written");
        let not_written = writer.finish().expect("written");
        let counts: Vec<_> = not_written.iter().map(|tally| (tally.reason.as_str(), tally.count)).collect();
        let holds_all = matches!(format, Format::FioV2 | Format::FioV3 | Format::Blktrace | Format::Parquet);
        assert_eq!(counts, if holds_all { vec![] } else { vec![("flush", 2), ("discard", 1)] }, "{format}");
        let options = Options { format: Some(format), ..Options::default() };
        let (requests, _) = read(&path, &options).expect("a good trace");
        let kept: Vec<Op> = requests.iter().map(|request| request.op).collect();
        assert_eq!(kept, if holds_all { ops.to_vec() } else { vec![Op::Read, Op::Write] }, "{format}");
    }
}

#[test]
fn line_ends_marks_and_blank_lines_are_repaired() {
    let folder = Folder::new("repaired");
    let text = format!("\u{feff}{}\r\n\n{}", msr_lines(1).trim_end(), msr_lines(1).trim_end());
    let (requests, report) =
        read(&folder.file("a.msr.csv", text.as_bytes()), &Options::default()).expect("repaired");
    let reasons: Vec<&str> = report.repaired.iter().map(|tally| tally.reason.as_str()).collect();
    assert_eq!(requests.len(), 2);
    assert_eq!(
        reasons,
        ["byte order mark", "CRLF line end", "blank line", "no newline at the end of the file"]
    );
}

#[test]
fn devices_get_ranges_of_their_own_in_order_of_appearance() {
    let folder = Folder::new("devices");
    let text = "5,100,512,r,0\n7,0,512,r,1\n5,4095,512,w,2\n7,10,512,r,3\n2,0,512,r,4\n";
    let (requests, report) = read(&folder.file("a.spc", text.as_bytes()), &Options::default()).expect("good");
    let addresses: Vec<u64> = requests.iter().map(|request| request.lba).collect();
    assert_eq!(addresses, [100, 4096, 4095, 4106, 6144]);
    let devices: Vec<_> =
        report.devices.iter().map(|device| (device.name.as_str(), device.base_lba, device.sectors)).collect();
    assert_eq!(devices, [("5", 0, 4096), ("7", 4096, 11), ("2", 6144, 1)]);
    // However little is read at once.
    let mut trace = Trace::open(&folder.0.join("a.spc"), &Options::default()).expect("good");
    let mut again = Vec::new();
    while trace.read(&mut again, 1).expect("good") {}
    assert_eq!(again, requests);
}

#[test]
fn a_second_device_late_in_the_file_changes_nothing_before_it() {
    let folder = Folder::new("late");
    let lines = (0..70_000).map(|line| format!("0,{},512,r,{line}.0\r\n", line % 5000));
    let mut text: String = std::iter::once("\u{feff}".to_owned()).chain(lines).collect();
    text += "1,7,512,w,70000.0\r\n0,5999,512,r,70001.0\r\n";
    let path = folder.file("a.spc", text.as_bytes());
    let (requests, report) = read(&path, &Options::default()).expect("good");
    assert_eq!((requests.len(), report.requests, report.writes), (70_002, 70_002, 1));
    assert!(requests.iter().zip(0..).take(70_000).all(|(request, line)| request.lba == line % 5000));
    assert_eq!((requests[70_000].lba, requests[70_001].lba), (6144 + 7, 5999));
    assert!(requests.iter().zip(0..).all(|(request, second)| request.time_ns == second * 1_000_000_000));
    assert_eq!(report.repaired_count(), 70_003);
    let mut trace = Trace::open(&path, &Options::default()).expect("good");
    let (mut log, mut fractions) = (Vec::new(), Vec::new());
    while trace.read_log(&mut log, 1000).expect("good") {
        fractions.push(trace.fraction().expect("a file has a length"));
    }
    assert!(log.iter().map(|record| record.request).eq(requests));
    assert!(fractions.last().is_some_and(|last| *last > 0.9), "{fractions:?}");
    assert_eq!(trace.gauge().fraction(), Some(1.0));
}

#[test]
fn look_alikes_are_found_by_content_and_the_assumption_is_said() {
    let folder = Folder::new("alike");
    for (text, format) in [
        ("0 0 303567 7 0\n5 0 8 8 1\n", Format::Ssdsim),
        ("0.5 0 303567 7 0\n5.25 0 8 8 1\n", Format::Disksim),
        ("0,303567,3584,w,0.000000\n", Format::Spc),
        ("fio version 3 iolog\n5 f add\n6 f read 0 512\n", Format::FioV3),
        ("1538323200,4247200,128,1,1058\n", Format::Tencent),
        ("0,R,126703644672,4096,1577808000000626\n", Format::Alibaba),
        ("  8,16   3   4  0.000011950  3645  D   R 4938888 + 256 [java]\n", Format::Blkparse),
    ] {
        let info = info(&folder.file("trace.txt", text.as_bytes()), &Options::default()).expect("good");
        assert_eq!((info.report.format, info.report.detected_by), (format, "content"));
        if matches!(format, Format::Ssdsim | Format::Disksim) {
            assert!(info.report.assumptions[0].contains("look alike"), "{:?}", info.report.assumptions);
        }
    }
}
