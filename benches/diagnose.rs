//! Speed of diagnosis: writes a second on one core, and its time as a multiple of taking the log in, in the same run.
//!
//! `cargo bench -p flashweir-analyze --bench diagnose`. The logs are generated; every write takes as long as it is, and every
//! fiftieth a hundred times as long, so that there is something to explain.
#![expect(clippy::disallowed_methods, reason = "a benchmark looks at the clock")]

use std::sync::OnceLock;
use std::time::Instant;

use flashweir_analyze::diagnose::{Log, diagnose};
use flashweir_trace::LogRecord;
use flashweir_trace::generate::Spec;

/// Runs of each measurement, of which the fastest counts.
const RUNS: usize = 3;

const WORKLOADS: [(&str, &str); 4] = [
    ("random", "random:span=256MiB,size=4KiB,count=200000"),
    ("sizes", "random:span=512MiB,size=4KiB|64KiB:0.2,count=200000"),
    ("hotcold", "hotcold:span=256MiB,size=4KiB,count=200000"),
    ("sequential", "sequential:span=512MiB,size=32KiB,count=200000"),
];

/// Seconds that this thread had a processor; those on the clock where the kernel does not say.
fn seconds() -> f64 {
    static START: OnceLock<Instant> = OnceLock::new();
    let on_clock = || START.get_or_init(Instant::now).elapsed().as_secs_f64();
    let schedstat = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanos = schedstat.and_then(|text| text.split(' ').next()?.parse::<u64>().ok());
    nanos.map_or_else(on_clock, |nanos| nanos as f64 / 1e9)
}

fn main() {
    println!("{:14} {:>8} {:>10} {:>10} {:>8}", "log", "writes", "ms", "writes/s", "ratio");
    for (name, spec) in WORKLOADS {
        let records = records(spec);
        let mut best = [f64::INFINITY; 2];
        for _ in 0..RUNS {
            let start = seconds();
            let mut log = Log::default();
            for record in &records {
                log.push(record);
            }
            best[0] = best[0].min(seconds() - start);
            let start = seconds();
            std::hint::black_box(diagnose(&log));
            best[1] = best[1].min(seconds() - start);
        }
        let writes = records.len() as f64;
        println!(
            "{name:14} {writes:>8} {:>10.1} {:>10.0} {:>8.1}",
            best[1] * 1e3,
            writes / best[1],
            best[1] / best[0]
        );
    }
}

/// The writes of a generator, one behind the other.
fn records(spec: &str) -> Vec<LogRecord> {
    let mut generator = Spec::parse(spec).expect("a good spec").generator();
    let (mut requests, mut more) = (Vec::new(), true);
    while more {
        more = generator.read(&mut requests, 1 << 13);
    }
    let (mut records, mut now) = (Vec::with_capacity(requests.len()), 0);
    for (number, request) in requests.into_iter().enumerate() {
        let takes = request.bytes() * 25 * if number.is_multiple_of(50) { 100 } else { 1 };
        let mut record = LogRecord::bare(request);
        (record.issue_ns, record.completion_ns) = (Some(now), Some(now + takes));
        now += takes;
        records.push(record);
    }
    records
}
