//! Speed of characterizing workloads: requests a second on one core, beside reading the same trace alone in the same
//! run, so that machines compare.
//!
//! `cargo bench -p flashweir-analyze --bench characterize [-- FILE...]`. Each generated workload is written as an `ssdsim` file
//! and read from the page cache; a figure is the best of several runs. `M req/s alone` is what characterizing takes
//! without the reading. A file named instead is measured as it is, compressed or not.
#![expect(clippy::disallowed_methods, reason = "a benchmark looks at the clock")]

use std::path::Path;
use std::sync::OnceLock;
use std::time::Instant;

use flashweir_analyze::characterize::{Characterizer, Settings};
use flashweir_trace::format::{Format, Options, Trace, Writer};
use flashweir_trace::generate::Spec;

/// Runs of each measurement, of which the fastest counts.
const RUNS: usize = 3;

const WORKLOADS: [(&str, &str); 5] = [
    ("sequential", "sequential:span=64GiB,size=64KiB,count=2000000"),
    ("random 4K", "random:span=64GiB,size=4KiB,count=2000000"),
    ("hot and cold", "hotcold:span=16GiB,size=4KiB,count=2000000,write=0.7"),
    ("zipf mixed", "zipf:span=32GiB,size=4KiB:0.6|16KiB:0.2|64KiB,count=2000000,write=0.5"),
    ("misaligned", "random:span=8GiB,size=4KiB,align=512,count=2000000"),
];

/// Seconds that this thread has had a processor, where the system says so, else those on the clock: other work then only
/// shows through the caches.
fn seconds() -> f64 {
    static BEGUN: OnceLock<Instant> = OnceLock::new();
    let on_clock = || BEGUN.get_or_init(Instant::now).elapsed().as_secs_f64();
    let schedstat = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanos = schedstat.and_then(|text| text.split(' ').next()?.parse::<u64>().ok());
    nanos.map_or_else(on_clock, |nanos| nanos as f64 / 1e9)
}

/// The fewest seconds that reading takes, with `settings` for characterizing, and how many requests there are.
fn best(path: &Path, options: &Options, settings: Option<&Settings>) -> (f64, u64, usize) {
    let (mut fastest, mut count, mut memory) = (f64::INFINITY, 0, 0);
    let mut batch = Vec::with_capacity(1 << 13);
    for _ in 0..RUNS {
        let start = seconds();
        let mut trace = Trace::open(path, options).expect("a good trace");
        let mut characterizer =
            settings.map(|settings| Characterizer::new(settings.clone()).expect("good settings"));
        let mut more = true;
        while more {
            batch.clear();
            more = trace.read(&mut batch, 1 << 12).expect("a good trace");
            if let Some(characterizer) = &mut characterizer {
                characterizer.observe_all(&batch);
            }
        }
        memory = characterizer.as_ref().map_or(0, Characterizer::memory_bytes);
        let _ = characterizer.map(Characterizer::finish);
        fastest = fastest.min(seconds() - start);
        count = trace.report().requests;
    }
    (fastest, count, memory)
}

fn measure(name: &str, path: &Path, options: &Options) {
    let macroscopic = Settings { macroscopic: true, ..Settings::default() };
    let (read, count, _) = best(path, options, None);
    let million = |seconds: f64| count as f64 / seconds / 1e6;
    print!("{name:14} {:10.2}", million(read));
    for settings in [&macroscopic, &Settings::default()] {
        let (seconds, _, memory) = best(path, options, Some(settings));
        print!(
            " | {:8.2} {:8.2} {:7.3} {:8.1}",
            million(seconds),
            million((seconds - read).max(1e-9)),
            read / seconds,
            memory as f64 / f64::from(1 << 20)
        );
    }
    println!();
}

fn main() {
    let files: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    println!("{:14} {:>10} | {:^34} | {:^34}", "M req/s", "reading", "macroscopic", "everything");
    println!(
        "{:14} {:>10} |     with    alone   ratio      MiB |     with    alone   ratio      MiB",
        "", ""
    );
    for file in &files {
        measure(&file[file.len().saturating_sub(14)..], Path::new(file), &Options::default());
    }
    if !files.is_empty() {
        return;
    }
    let path = std::env::temp_dir().join(format!("flashweir-characterize-{}.ssdsim", std::process::id()));
    for (name, spec) in WORKLOADS {
        let mut generator = Spec::parse(spec).expect("a good spec").generator();
        let mut writer = Writer::create(&path, Format::Ssdsim).expect("room for a temporary file");
        let (mut batch, mut more) = (Vec::new(), true);
        while more {
            batch.clear();
            more = generator.read(&mut batch, 1 << 13);
            for request in &batch {
                writer.write_request(request).expect("room for a temporary file");
            }
        }
        writer.finish().expect("room for a temporary file");
        let options = Options { format: Some(Format::Ssdsim), ..Options::default() };
        measure(name, &path, &options);
        let _ = std::fs::remove_file(&path);
    }
}
