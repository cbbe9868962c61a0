//! Real traces: every file of the folder of public traces reads with the request count of that folder's index.
//!
//! The folder is FLASHWEIR_TRACES, or `../shared/traces` or `../../shared/traces` beside the repository; where it is
//! absent these tests say so and pass.

use std::path::{Path, PathBuf};

use flashweir_trace::format::{Format, Info, Options, Trace, info};
use flashweir_trace::{LogRecord, Request};

fn folder() -> Option<PathBuf> {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let named = std::env::var_os("FLASHWEIR_TRACES").map(PathBuf::from);
    let beside = ["../shared/traces", "../../shared/traces"].map(|path| repository.join(path));
    let found = named.into_iter().chain(beside).find(|path| path.join("INDEX.md").is_file());
    if found.is_none() {
        println!("skipped: no folder of public traces (set FLASHWEIR_TRACES)");
    }
    found
}

/// One row of the index.
struct Row {
    file: String,
    requests: u64,
    read_ratio: Option<f64>,
    footprint_mb: f64,
}

/// Rows of the index's table: file, class, requests, read ratio, duration, footprint, ...
fn index(folder: &Path) -> Vec<Row> {
    let text = std::fs::read_to_string(folder.join("INDEX.md")).expect("a readable index");
    let rows: Vec<Row> = text
        .lines()
        .filter_map(|line| {
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            let requests = cells.get(3)?.replace(',', "").parse().ok()?;
            Some(Row {
                file: (*cells.get(1)?).to_owned(),
                requests,
                read_ratio: cells.get(4)?.parse().ok(),
                footprint_mb: cells.get(6)?.replace(',', "").parse().ok()?,
            })
        })
        .collect();
    assert!(rows.len() > 50, "the index's table was not understood");
    rows
}

fn info_of(path: &Path) -> Info {
    info(path, &Options::default()).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn every_file_has_the_counts_of_the_index() {
    let Some(folder) = folder() else { return };
    let mut wrong = Vec::new();
    for row in index(&folder) {
        let path = folder.join(format!("{}.zst", row.file));
        let info = info_of(&path);
        let report = &info.report;
        let line = format!(
            "{}: {} via {}, {} requests ({}), ratio {:?} ({:?}), {:.1} MB ({}), {:.3} s, repaired {:?}, left out {:?}, clamped {}, reordered {}, flushes {}, trims {}, {} devices",
            row.file,
            report.format,
            report.detected_by,
            report.requests,
            row.requests,
            info.read_ratio,
            row.read_ratio,
            info.footprint_bytes as f64 / 1e6,
            row.footprint_mb,
            info.duration_s,
            report.repaired,
            report.left_out,
            report.clamped_times,
            report.reordered,
            report.flushes,
            report.trims,
            report.devices.len(),
        );
        println!("{line}");
        let ratio_differs = match (row.read_ratio, info.read_ratio) {
            (Some(index), Some(read)) => (index - read).abs() > 0.0001,
            _ => false,
        };
        // Padding that is taken off BIOTracer's sizes is the one thing that changes the footprint.
        let footprint_mb = info.footprint_bytes as f64 / 1e6;
        let slack = if report.format == Format::Biotracer { 0.15 } else { 0.06 };
        let footprint_differs = (footprint_mb - row.footprint_mb).abs() > slack;
        if report.requests != row.requests || ratio_differs || footprint_differs {
            wrong.push(line);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn requests(path: &Path) -> Vec<Request> {
    let mut trace = Trace::open(path, &Options::default()).expect("a good trace");
    let mut out = Vec::new();
    while trace.read(&mut out, 1000).expect("good lines") {}
    out
}

fn log(path: &Path) -> Vec<LogRecord> {
    let mut trace = Trace::open(path, &Options::default()).expect("a good trace");
    let mut out = Vec::new();
    while trace.read_log(&mut out, 1000).expect("good records") {}
    out
}

#[test]
fn twins_agree() {
    let Some(folder) = folder() else { return };
    // The same 10,000 requests as SPC and as SSDsim, whose times were rounded on the way.
    let spc = requests(&folder.join("umass-financial1_snippet.spc.zst"));
    let ssdsim = requests(&folder.join("umass-financial1_ssdsim_example.ssdsim.zst"));
    assert_eq!(spc.len(), ssdsim.len());
    for (a, b) in spc.iter().zip(&ssdsim) {
        assert_eq!((a.op, a.lba, a.sectors), (b.op, b.lba, b.sectors));
        assert!(a.time_ns.abs_diff(b.time_ns) <= 20_000, "{a:?} {b:?}");
    }
    // The same records as vscsi version 1 and as CSV, where times are whole seconds.
    let binary = requests(&folder.join("cloudphysics-lcs_sample.vscsi.zst"));
    let csv = requests(&folder.join("cloudphysics-lcs_sample.csv.zst"));
    assert_eq!(binary.len(), csv.len());
    for (a, b) in binary.iter().zip(&csv) {
        assert_eq!((a.op, a.lba, a.sectors), (b.op, b.lba, b.sectors));
    }
}

/// The same run as a tar of binary blktrace and through blkparse: requests, times, flags, processes, completions.
#[test]
fn blktrace_and_blkparse_agree_on_every_event() {
    let Some(folder) = folder() else { return };
    let [binary, text] = ["blktrace.tar", "blkparse"]
        .map(|end| log(&folder.join(format!("hadoop-eternity8_39of40cpus.{end}.zst"))));
    assert_eq!(binary.len(), text.len());
    for (a, mut b) in binary.into_iter().zip(text) {
        // Name that blkparse prints for a process whose name was not traced.
        if b.process == "(null)" {
            b.process.clear();
        }
        assert_eq!(a, b);
    }
}

#[test]
fn logs_have_as_many_requests_and_completions_where_they_should() {
    let Some(folder) = folder() else { return };
    for (file, at_least) in [
        ("msr-hm_0-first1000.msr.csv", 1.0),
        ("blkparse-java_ext4.blkparse", 0.99),
        ("netapp-hfplayer_raw.csv", 0.5),
        ("windows-etw_boot.wpa.csv", 1.0),
        ("nexus5-booting.phone.tsv", 1.0),
    ] {
        let path = folder.join(format!("{file}.zst"));
        let log = log(&path);
        assert_eq!(log.len(), requests(&path).len(), "{file}");
        let completed = log.iter().filter(|record| record.completion_ns.is_some()).count();
        assert!(completed as f64 >= at_least * log.len() as f64, "{file}: {completed} of {}", log.len());
        let inverted =
            log.iter().filter(|r| r.completion_ns.is_some_and(|end| end < r.request.time_ns)).count();
        assert!(inverted * 100 <= log.len(), "{file}: {inverted} completions before their request");
    }
}

#[test]
fn content_alone_tells_the_formats_apart_but_for_look_alikes() {
    let Some(folder) = folder() else { return };
    let alike = [Format::Ssdsim, Format::Mqsim, Format::MqsimMs, Format::Disksim, Format::Flashsim];
    // A name that says nothing; the files are small.
    let path = std::env::temp_dir().join(format!("flashweir-corpus-{}", std::process::id()));
    for row in index(&folder) {
        let named = folder.join(format!("{}.zst", row.file));
        let Some(format) = Trace::open(&named, &Options::default()).ok().map(|trace| trace.report().format)
        else {
            continue;
        };
        std::fs::copy(&named, &path).expect("room for a copy");
        let trace =
            Trace::open(&path, &Options::default()).unwrap_or_else(|error| panic!("{}: {error}", row.file));
        let found = trace.report().format;
        assert!(
            found == format || (alike.contains(&found) && alike.contains(&format)),
            "{}: {found}",
            row.file
        );
        let _ = std::fs::remove_file(&path);
    }
}

/// The counts that the shipped trace's own page states, and response times worked out by another program.
#[test]
fn the_trace_that_ships_has_the_counts_of_its_page() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../traces/package-build.blktrace.0.zst");
    let info = info_of(&path);
    let report = &info.report;
    assert_eq!((report.requests, report.reads, report.writes), (59_616, 29_076, 30_035));
    assert_eq!((report.trims, report.flushes, report.left_out.len()), (505, 4_033, 0));
    assert_eq!((report.clamped_times, report.first_time_ns, info.span_bytes), (0, 0, 4 << 30));
    let mut responses: Vec<u64> = log(&path)
        .iter()
        .filter(|record| record.request.sectors > 0)
        .map(|record| record.completion_ns.expect("completed") - record.request.time_ns)
        .collect();
    responses.sort_unstable();
    assert_eq!(responses.len(), 59_616);
    assert_eq!((responses[responses.len() / 2], responses[responses.len() - 1]), (65_066, 38_357_710));
}
