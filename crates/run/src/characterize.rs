//! Characterizes a workload: opens it, passes it to `flashweir_analyze::characterize`, and reports progress.

use std::time::Instant;

use flashweir_analyze::characterize::{Characterizer, Sampling, Settings};
use flashweir_trace::Source;
use flashweir_trace::format::Gauge;
use flashweir_trace::quantity::parse_bytes;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::error::Error;
use crate::place::Place;
use crate::progress::{Phase, Progress, Reporter};
use crate::pull::Feed;
use crate::spec::RunSpec;
use crate::tenant::WorkloadSpec;
use crate::trace_options::texts;
use crate::workload::{Length, Workloads};

/// Requests looked at together.
const BATCH: usize = 4096;

/// The workload to characterize, and the settings for it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CharacterizeSpec {
    /// A trace file, a generator spec or `mix:FILE`.
    pub workload: Place,
    /// Trace format, where detection is not to be trusted.
    pub format: Option<String>,
    /// Description of a table that no format fits.
    pub columns: Option<String>,
    /// Unreadable records to tolerate.
    pub skip_bad: u64,
    /// Rules that give requests a placement handle.
    #[serde(deserialize_with = "texts")]
    pub hint: Vec<String>,
    /// Replaces the seed of a generator.
    pub seed: Option<u64>,
    /// Most other requests that may come between two of a sequential run.
    pub gap: Option<usize>,
    /// Longest request that counts as small: bytes, or a text such as `4KiB`. The next two alike.
    pub small: Option<Value>,
    /// Size to which requests are aligned.
    pub align: Option<Value>,
    /// Largest distance at which requests still count as near.
    pub chunk: Option<Value>,
    /// Number of parts into which the workload is cut.
    pub segments: Option<usize>,
    /// Unit of space in which hot and cold data mix.
    pub unit: Option<Value>,
    /// Number of blocks that are followed for reuse distances, or, above 0 and up to 1, their share.
    pub sample: Option<f64>,
    /// True if only the macroscopic view is taken.
    pub macroscopic: bool,
}

impl CharacterizeSpec {
    fn settings(&self) -> Result<Settings, Error> {
        let default = Settings::default();
        Ok(Settings {
            gap: self.gap.unwrap_or(default.gap),
            small_bytes: bytes("small", self.small.as_ref(), default.small_bytes)?,
            align_bytes: bytes("align", self.align.as_ref(), default.align_bytes)?,
            chunk_bytes: bytes("chunk", self.chunk.as_ref(), default.chunk_bytes)?,
            segments: self.segments.unwrap_or(default.segments),
            unit_bytes: bytes("unit", self.unit.as_ref(), default.unit_bytes)?,
            sampling: self.sample.map_or(Ok(default.sampling), sampling)?,
            macroscopic: self.macroscopic,
        })
    }
}

/// A share of the blocks, or a number of them.
fn sampling(given: f64) -> Result<Sampling, Error> {
    if given > 0.0 && given <= 1.0 {
        return Ok(Sampling::Rate(given));
    }
    if (64.0..=f64::from(1u32 << 26)).contains(&given) && given.fract() == 0.0 {
        #[expect(clippy::cast_sign_loss, reason = "it is between 64 and 2^26")]
        return Ok(Sampling::Blocks(given as u32));
    }
    let expected = "expected a number of blocks from 64 to 67108864, or a share of them above 0 and up to 1";
    Err(Error::setting(format!("sample = {given}"), expected))
}

/// A size as it was given, or the `default` where it was not.
fn bytes(what: &str, given: Option<&Value>, default: u64) -> Result<u64, Error> {
    let parsed = match given {
        None | Some(Value::Null) => return Ok(default),
        Some(Value::String(text)) => parse_bytes(text),
        Some(other) => other.as_u64(),
    };
    parsed.ok_or_else(|| {
        Error::setting(
            format!("{what} = {}", given.unwrap_or(&Value::Null)),
            "expected a size such as 4KiB, or a whole number of bytes",
        )
    })
}

/// Characterizes a workload (docs/reference/characterize.md). `progress` is called about ten times a second, and ends
/// the reading when it returns false.
pub fn characterize(
    spec: &CharacterizeSpec,
    progress: &mut dyn FnMut(&Progress) -> bool,
) -> Result<Value, Error> {
    let mut reporter = Reporter::new(progress, Instant::now());
    let mut characterizer = Characterizer::new(spec.settings()?)?;
    let run = RunSpec {
        workloads: vec![WorkloadSpec { spec: spec.workload.clone(), ..WorkloadSpec::default() }],
        seed: spec.seed,
        format: spec.format.clone(),
        columns: spec.columns.clone(),
        skip_bad: spec.skip_bad,
        hint: spec.hint.clone(),
        ..RunSpec::default()
    }
    .expanded(None)?;
    let mut workloads = Workloads::open(&run, None, &mut reporter)?;
    let length = workloads.length();
    // Addresses are those of the workload: no drive folds them.
    let Feed::Stream(mut source) = workloads.feed(false, u64::MAX, false)? else {
        return Err(Error::setting(&spec.workload, "expected workloads that are one stream"));
    };
    let mut batch = Vec::with_capacity(BATCH);
    let mut more = true;
    while more {
        batch.clear();
        more = source.read(&mut batch, BATCH)?;
        characterizer.observe_all(&batch);
        tell(&mut reporter, &length, characterizer.requests())?;
    }
    drop(source);
    let mut descriptions = workloads.describe();
    let mut all = Map::new();
    all.insert("flashweir".into(), json!(crate::VERSION));
    if descriptions.len() == 1 {
        let only = descriptions.remove(0);
        all.insert("workload".into(), json!(only.workload));
        all.insert("trace".into(), json!(only.trace));
    } else {
        all.insert("workload".into(), json!(spec.workload));
        all.insert("tenants".into(), json!(descriptions));
    }
    if let Value::Object(character) = json!(characterizer.finish()) {
        all.extend(character);
    }
    Ok(Value::Object(all))
}

fn tell(reporter: &mut Reporter<'_>, length: &Length, done: u64) -> Result<(), Error> {
    match length {
        Length::Requests(total) => reporter.report(Phase::Trace, done, *total),
        Length::Files(gauges) => {
            let shares: Option<Vec<f64>> = gauges.iter().map(Gauge::fraction).collect();
            let share = shares.filter(|shares| !shares.is_empty());
            let mean = share.map(|shares| shares.iter().sum::<f64>() / shares.len() as f64);
            reporter.report_share(Phase::Trace, done, mean)
        }
    }
}
