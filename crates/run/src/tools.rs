//! Functions of the command line besides simulating: presets, schema, and work on traces. All answers are JSON.

use std::path::Path;
use std::time::Instant;

use flashweir_ssd::Config;
use flashweir_ssd::config::layers::to_value;
use flashweir_ssd::config::presets::PRESETS;
use flashweir_ssd::config::renamed;
use flashweir_trace::TraceError;
use flashweir_trace::format::{Conversion, Format, Inspection, Trace, Writer};
use flashweir_trace::generate::Spec;
use serde_json::{Value, json};

use crate::error::Error;
use crate::mix;
use crate::progress::{Phase, Progress, Reporter};
use crate::trace_options::TraceOptions;

/// Requests generated at a time.
const BATCH: usize = 8192;

/// All presets: name, source and configuration.
pub fn presets() -> Result<Value, Error> {
    let one = |preset: &flashweir_ssd::config::presets::Preset| {
        Ok(json!({"name": preset.name, "source": preset.source(), "config": to_value(&preset.config()?)}))
    };
    Ok(Value::Array(PRESETS.iter().map(one).collect::<Result<_, Error>>()?))
}

/// The JSON Schema of a device.
pub fn schema() -> Value {
    Config::schema()
}

/// Combinations that are refused, each with its reason.
pub fn refusals() -> Value {
    crate::refusals::all().map(|refusal| json!({"keys": refusal.keys, "reason": refusal.reason})).collect()
}

/// Names that have changed: `kind`, `old` and `new` of each.
pub fn renamed() -> Value {
    json!(renamed::RENAMED)
}

/// Contents of a trace, or of a mix: `mix:FILE`. `progress` is called about ten times a second, and ends the reading
/// when it returns false.
pub fn trace_info(
    path: &Path,
    options: &TraceOptions,
    progress: &mut dyn FnMut(&Progress) -> bool,
) -> Result<Value, Error> {
    let mut reporter = Reporter::new(progress, Instant::now());
    if let Some(mix) = path.to_str().filter(|text| crate::spec::mix_file(text).is_some()) {
        return mix::info(mix, options, &mut reporter);
    }
    let mut inspection = Inspection::open(path, &options.parse()?)?;
    while inspection.step()? {
        report(&mut reporter, inspection.trace())?;
    }
    Ok(json!(inspection.finish()))
}

/// Writes a trace in another format. Returns what was read, and what the format has no operation for.
/// `progress` is called about ten times a second; when it returns false, no file is left behind.
pub fn trace_convert(
    input: &Path,
    output: &Path,
    options: &TraceOptions,
    progress: &mut dyn FnMut(&Progress) -> bool,
) -> Result<Value, Error> {
    let mut reporter = Reporter::new(progress, Instant::now());
    let to = options.to.as_deref().map(Format::from_name).transpose()?;
    let mut conversion = Conversion::open(input, &options.parse()?, output, to)?;
    while conversion.step()? {
        report(&mut reporter, conversion.trace())?;
    }
    Ok(json!(conversion.finish()?))
}

fn report(reporter: &mut Reporter<'_>, trace: &Trace) -> Result<(), Error> {
    let read = trace.report();
    reporter.report_share(Phase::Trace, read.requests + read.flushes, trace.fraction())
}

/// Writes a generator's requests as a trace. Returns the spec, the number of its requests, the format, and what it has no
/// operation for. `progress` is as in [`trace_convert`].
pub fn trace_generate(
    spec: &str,
    output: &Path,
    options: &TraceOptions,
    progress: &mut dyn FnMut(&Progress) -> bool,
) -> Result<Value, Error> {
    let mut reporter = Reporter::new(progress, Instant::now());
    let spec = Spec::parse(spec)?;
    let format = match &options.to {
        Some(name) => Format::from_name(name)?,
        None => Format::of_path(output).ok_or_else(|| TraceError::Unwritable {
            path: output.to_owned(),
            detail: "its name says no format: name one with --to, or end it in .parquet, .msr.csv, ..."
                .into(),
        })?,
    };
    let mut writer = Writer::create(output, format)?;
    let mut generator = spec.generator();
    let mut batch = Vec::with_capacity(BATCH);
    let (mut more, mut done) = (true, 0);
    while more {
        batch.clear();
        more = generator.read(&mut batch, BATCH);
        batch.iter().try_for_each(|request| writer.write_request(request))?;
        done += batch.len() as u64;
        reporter.report(Phase::Trace, done, spec.count())?;
    }
    let not_written = writer.finish()?;
    Ok(json!({
        "workload": spec.canonical(),
        "requests": done,
        "written_as": format.name(),
        "not_written": not_written,
    }))
}
