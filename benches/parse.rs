//! Speed of parsing text formats: requests a second on one core, and the time they take against counting the newlines
//! of the same bytes with `memchr` in the same run, so that machines compare.
//!
//! `cargo bench -p flashweir-trace --bench parse [-- FORMAT-OR-FILE...]`. Lines are made here, in the shape of real ones; the
//! file is read from the page cache, uncompressed. Each figure is the best of several runs. A file named instead is
//! measured as it is, compressed or not; the last column then is blank.
#![allow(clippy::disallowed_methods, reason = "a benchmark looks at the clock")]

use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

use flashweir_trace::format::{Format, Options, Trace};

/// Requests in each file.
const REQUESTS: u64 = 1_000_000;

/// Runs of each measurement, of which the fastest counts.
const RUNS: usize = 5;

/// Numbers drawn for one line.
struct Draw {
    n: u64,
    lba: u64,
    sectors: u64,
    read: bool,
}

type Line = fn(&Draw, &mut String) -> std::fmt::Result;

/// Formats, and a line of each.
const FORMATS: [(Format, Line); 12] = [
    (Format::Msr, |d, out| {
        let (ticks, kind) = (128_166_385_295_514_663 + d.n * 977, if d.read { "Read" } else { "Write" });
        writeln!(out, "{ticks},hm,0,{kind},{},{},{}", d.lba * 512, d.sectors * 512, 1000 + d.lba % 90_000)
    }),
    (Format::Spc, |d, out| {
        let kind = if d.read { 'r' } else { 'w' };
        writeln!(
            out,
            "{},{},{},{kind},{}.{:06}",
            d.lba % 3,
            d.lba,
            d.sectors * 512,
            d.n / 1000,
            d.n % 1000 * 1000
        )
    }),
    (Format::Disksim, |d, out| {
        writeln!(out, "{}.{:03} 0 {} {} {}", d.n / 9, d.n % 9 * 111, d.lba, d.sectors, u8::from(d.read))
    }),
    (Format::Ssdsim, |d, out| {
        writeln!(out, "{} 0 {} {} {}", d.n * 97_003, d.lba, d.sectors, u8::from(d.read))
    }),
    (Format::Flashsim, |d, out| {
        writeln!(
            out,
            "{}.{:06}\t0\t{}\t{}\t{}",
            d.n / 9,
            d.n % 9 * 111,
            d.lba,
            d.sectors / 8,
            u8::from(d.read)
        )
    }),
    (Format::Blkparse, |d, out| {
        let (seconds, nanos, kind) = (d.n / 9000, d.n % 9000 * 111_111, if d.read { "RA" } else { "WS" });
        writeln!(
            out,
            "  8,16  {:2} {:8} {seconds:5}.{nanos:09} {:5}  D  {kind:>2} {} + {} [kworker/3:1H]",
            d.lba % 40,
            d.n,
            1000 + d.lba % 30_000,
            d.lba,
            d.sectors,
        )
    }),
    (Format::FioV3, |d, out| {
        let kind = if d.read { "read" } else { "write" };
        writeln!(out, "{} /dev/sdx {kind} {} {}", d.n * 13, d.lba * 512, d.sectors * 512)
    }),
    (Format::Alibaba, |d, out| {
        let kind = if d.read { 'R' } else { 'W' };
        writeln!(
            out,
            "{},{kind},{},{},{}",
            d.n % 7,
            d.lba * 512,
            d.sectors * 512,
            1_577_808_000_000_626 + d.n * 13
        )
    }),
    (Format::Tencent, |d, out| {
        writeln!(
            out,
            "{},{},{},{},{}",
            1_538_323_200 + d.n / 50_000,
            d.lba,
            d.sectors,
            u8::from(!d.read),
            d.lba % 2038
        )
    }),
    (Format::Systor, |d, out| {
        let kind = if d.read { 'R' } else { 'W' };
        let nanos = d.n % 9000 * 111_000;
        writeln!(
            out,
            "{}.{nanos:09},0.{:06}000,{kind},0,{},{}",
            1_456_095_145 + d.n / 9000,
            d.lba % 99_999,
            d.lba * 512,
            d.sectors * 512,
        )
    }),
    (Format::Fiu, |d, out| {
        let kind = if d.read { 'R' } else { 'W' };
        let time = 89_966_527_950_584 + d.n * 977;
        writeln!(out, "{time} 4253 nfsd {} {} {kind} 6 0 88b93b628d84082186026d9da044f173", d.lba, d.sectors)
    }),
    (Format::Pixel, |d, out| {
        let kind = if d.read { 'R' } else { 'W' };
        let micros = d.n % 9000 * 111;
        writeln!(
            out,
            "kworker/4:1H-225,8388608,{kind},{},{},{}.{micros:06}",
            d.lba,
            d.sectors,
            159_273 + d.n / 9000
        )
    }),
];

fn make(line: Line, start: &str) -> String {
    let mut out = start.to_owned();
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    for n in 0..REQUESTS {
        // A plain linear congruence: only the shape of the lines matters.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let draw =
            Draw { n, lba: (state >> 30) & !7, sectors: 8 << (state >> 61), read: state >> 60 & 1 == 1 };
        line(&draw, &mut out).expect("strings take everything");
    }
    out
}

/// The fewest seconds that `run` takes, and what it counts.
fn best(mut run: impl FnMut() -> u64) -> (f64, u64) {
    let mut fastest = f64::INFINITY;
    let mut count = 0;
    for _ in 0..RUNS {
        let start = Instant::now();
        count = run();
        fastest = fastest.min(start.elapsed().as_secs_f64());
    }
    (fastest, count)
}

fn print(name: &str, requests: u64, bytes: u64, seconds: f64, ratio: &str) {
    println!(
        "{name:10} {:10.2} {:8.0} {:12.1} {ratio:>22}",
        requests as f64 / seconds / 1e6,
        bytes as f64 / seconds / 1e6,
        seconds / requests as f64 * 1e9,
    );
}

fn read_all(path: &Path, options: &Options, batch: &mut Vec<flashweir_trace::Request>) -> u64 {
    let mut trace = Trace::open(path, options).expect("lines made here are good");
    loop {
        batch.clear();
        if !trace.read(batch, 1 << 14).expect("lines made here are good") {
            return trace.report().requests;
        }
    }
}

fn main() {
    let wanted: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let path = std::env::temp_dir().join(format!("flashweir-bench-{}", std::process::id()));
    println!(
        "{:10} {:>10} {:>8} {:>12} {:>22}",
        "format", "M req/s", "MB/s", "ns/request", "against newline count"
    );
    let mut batch = Vec::with_capacity(1 << 15);
    for (format, line) in FORMATS {
        if !wanted.is_empty() && !wanted.iter().any(|name| name == format.name()) {
            continue;
        }
        let text = make(line, if format == Format::FioV3 { "fio version 3 iolog\n" } else { "" });
        std::fs::write(&path, &text).expect("room for a temporary file");
        let (count, lines) = best(|| memchr::memchr_iter(b'\n', text.as_bytes()).count() as u64);
        let options = Options { format: Some(format), ..Options::default() };
        let (parse, requests) = best(|| read_all(&path, &options, &mut batch));
        assert_eq!((requests, lines - requests), (REQUESTS, u64::from(format == Format::FioV3)));
        print(format.name(), requests, text.len() as u64, parse, &format!("{:.1}x", parse / count));
    }
    for file in wanted.iter().map(Path::new).filter(|file| file.is_file()) {
        let (parse, requests) = best(|| read_all(file, &Options::default(), &mut batch));
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        print(&name, requests, file.metadata().map_or(0, |meta| meta.len()), parse, "");
    }
    // Absent if nothing but files was measured.
    let _ = std::fs::remove_file(&path);
}
