//! Contents of a mix: its tenants as they would be served, before they get their parts of a drive.

use flashweir_trace::Op;
use serde_json::{Map, Value, json};

use crate::error::Error;
use crate::progress::{Phase, Reporter};
use crate::spec::RunSpec;
use crate::tenant::WorkloadSpec;
use crate::trace_options::TraceOptions;
use crate::workload::Workloads;

/// Requests looked at together.
const BATCH: usize = 1 << 14;

#[derive(Default)]
struct Seen {
    counts: [u64; Op::COUNT],
    bytes: u64,
    first_ns: Option<u64>,
    last_ns: u64,
}

impl Seen {
    fn add(&mut self, other: &Self) {
        (0..Op::ALL.len()).for_each(|op| self.counts[op] += other.counts[op]);
        self.bytes += other.bytes;
        self.first_ns = [self.first_ns, other.first_ns].into_iter().flatten().min();
        self.last_ns = self.last_ns.max(other.last_ns);
    }

    fn summary(&self) -> Map<String, Value> {
        let reads = self.counts[Op::Read as usize];
        let writes = self.counts[Op::Write as usize] + self.counts[Op::Append as usize];
        let moved = reads + writes;
        let first_ns = self.first_ns.unwrap_or(0);
        let summary = json!({
            "requests": self.counts.iter().sum::<u64>(),
            "reads": reads,
            "writes": writes,
            "read_ratio": (moved > 0).then(|| reads as f64 / moved as f64),
            "bytes": self.bytes,
            "first_s": first_ns as f64 / 1e9,
            "duration_s": (self.last_ns - first_ns) as f64 / 1e9,
        });
        summary.as_object().cloned().unwrap_or_default()
    }
}

/// Requests, reads and times of each tenant and of all, and each tenant's share of the requests.
pub(crate) fn info(mix: &str, options: &TraceOptions, reporter: &mut Reporter<'_>) -> Result<Value, Error> {
    let run = RunSpec {
        workloads: vec![WorkloadSpec { spec: mix.into(), ..WorkloadSpec::default() }],
        format: options.format.clone(),
        columns: options.columns.clone(),
        skip_bad: options.skip_bad,
        hint: options.hint.clone(),
        ..RunSpec::default()
    }
    .expanded(None)?;
    let workloads = Workloads::open(&run, None, reporter)?;
    let mut whole = Seen::default();
    let mut tenants = Vec::new();
    let mut batch = Vec::with_capacity(BATCH);
    for (stream, description) in (0..=u16::MAX).zip(&workloads.descriptions) {
        let mut opened = workloads.again(stream)?;
        let mut source = workloads.alone(stream, &mut opened, None);
        let mut seen = Seen::default();
        let mut more = true;
        while more {
            batch.clear();
            more = source.read(&mut batch, BATCH)?;
            for request in &batch {
                seen.counts[request.op as usize] += 1;
                seen.bytes += if request.op.moves_data() { request.bytes() } else { 0 };
                seen.first_ns =
                    Some(seen.first_ns.map_or(request.time_ns, |first| first.min(request.time_ns)));
                seen.last_ns = seen.last_ns.max(request.time_ns);
            }
            let done = seen.counts.iter().chain(&whole.counts).sum();
            reporter.report_share(Phase::Trace, done, None)?;
        }
        whole.add(&seen);
        tenants.push((description, seen));
    }
    let mut summary = whole.summary();
    let all: u64 = whole.counts.iter().sum();
    let one = |(description, seen): (&crate::workload::Description, Seen)| {
        let mut tenant = seen.summary();
        let own: u64 = seen.counts.iter().sum();
        tenant.insert("share".into(), json!((all > 0).then(|| own as f64 / all as f64)));
        tenant.insert("workload".into(), json!(description.workload));
        (description.name.clone(), Value::Object(tenant))
    };
    summary.insert("tenants".into(), Value::Object(tenants.into_iter().map(one).collect()));
    Ok(Value::Object(summary))
}
