//! What the command line offers besides simulating: presets, schema, and work on traces. All answers are JSON.

use std::path::Path;

use flashweir_ssd::Config;
use flashweir_ssd::config::layers::to_value;
use flashweir_ssd::config::presets::PRESETS;
use flashweir_ssd::config::refusals::REFUSALS;
use flashweir_trace::TraceError;
use flashweir_trace::format::{self, Format, Writer};
use flashweir_trace::generate::Spec;
use serde_json::{Value, json};

use crate::error::Error;
use crate::spec::TraceOptions;

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
    REFUSALS.iter().map(|refusal| json!({"keys": refusal.keys, "reason": refusal.reason})).collect()
}

/// What a trace holds.
pub fn trace_info(path: &Path, options: &TraceOptions) -> Result<Value, Error> {
    Ok(json!(format::info(path, &options.parse()?)?))
}

/// Writes a trace in another format. Returns what was read, and what the format has no operation for.
pub fn trace_convert(input: &Path, output: &Path, options: &TraceOptions) -> Result<Value, Error> {
    let to = options.to.as_deref().map(Format::from_name).transpose()?;
    Ok(json!(format::convert(input, &options.parse()?, output, to)?))
}

/// Writes a generator's requests as a trace. Returns the spec, the number of its requests, the format, and what it has no
/// operation for.
pub fn trace_generate(spec: &str, output: &Path, options: &TraceOptions) -> Result<Value, Error> {
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
    let mut more = true;
    while more {
        batch.clear();
        more = generator.read(&mut batch, BATCH);
        batch.iter().try_for_each(|request| writer.write_request(request))?;
    }
    let not_written = writer.finish()?;
    Ok(json!({
        "workload": spec.canonical(),
        "requests": spec.count(),
        "written_as": format.name(),
        "not_written": not_written,
    }))
}
