//! Dry run: says what a replay would do, without doing it.

use std::path::Path;

use flashweir_trace::reason::without_code;
use flashweir_trace::{Op, SECTOR_BYTES};
use serde_json::{Map, Value, json};

use super::source::{self, Outline};
use super::spec::ReplaySpec;
use super::supervise::Tell;
use crate::precondition::{Method, Preconditioning};
use crate::safety::{Kind, Survey, glance, survey};
use crate::simulated::SimTarget;
use crate::{Began, EXTERNAL, Error, Stop, Target, Timing, open};

/// Size of the target, and what it is, if it is real.
pub(super) struct Capacity {
    pub(super) size_bytes: u64,
    pub(super) survey: Option<Survey>,
    /// A target that had to be made to know its size.
    pub(super) made: Option<Box<dyn Target>>,
}

/// Size and kind of the target.
pub(super) fn capacity(spec: &ReplaySpec, stop: &Stop, began: &Began) -> Result<Capacity, Error> {
    if spec.target.starts_with(EXTERNAL) {
        let made = open(&spec.target, &spec.open_options(true, stop, began)?)?;
        return Ok(Capacity { size_bytes: made.size_bytes(), survey: None, made: Some(made) });
    }
    if spec.is_simulated() {
        let size_bytes = SimTarget::size_of(&spec.target)?;
        return Ok(Capacity { size_bytes, survey: None, made: None });
    }
    let path = Path::new(&spec.target);
    let survey = if spec.dry_run { survey(path) } else { glance(path) }?;
    let size_bytes = match (survey.kind, spec.size_bytes()?) {
        (Kind::Missing, None) => {
            let detail = "there is no such file; expected one, or --size to make it".into();
            return Err(Error::Target { path: path.into(), detail });
        }
        (Kind::Missing, Some(size)) => size,
        (Kind::File, Some(size)) => size.max(survey.size_bytes),
        _ => survey.size_bytes,
    };
    Ok(Capacity { size_bytes, survey: Some(survey), made: None })
}

/// Refuses TRIMs for a drive that knows none, before anything else is done to it.
pub(super) fn check_trims(spec: &ReplaySpec, capacity: &Capacity, outline: &Outline) -> Result<(), Error> {
    let trims = outline.by_op[Op::Trim as usize];
    if trims == 0 || capacity.survey.as_ref().is_none_or(|survey| survey.discards) {
        return Ok(());
    }
    let detail =
        format!("it knows no TRIM, and {trims} come; expected another drive, or --only read,write,flush");
    Err(Error::Target { path: spec.target.clone().into(), detail })
}

/// Looks the workload through.
pub(super) fn outline(spec: &ReplaySpec, size_bytes: u64, tell: &mut Tell<'_>) -> Result<Outline, Error> {
    let capacity_sectors = size_bytes / SECTOR_BYTES;
    let wrap = spec.wrap.then_some(capacity_sectors).filter(|capacity| *capacity > 0);
    Outline::of(source::open(spec, wrap)?, capacity_sectors, &mut |requests| tell.looking(requests))
}

/// Says what would be done, and what would be refused.
pub(super) fn run(spec: &ReplaySpec, tell: &mut Tell<'_>) -> Result<Value, Error> {
    let capacity = capacity(spec, &Stop::default(), &Began::default())?;
    let outline = outline(spec, capacity.size_bytes, tell)?;
    let trims = check_trims(spec, &capacity, &outline);
    let Capacity { size_bytes, survey, .. } = capacity;
    let writes = outline.writes() || spec.precondition != Method::None;
    let mut refused = None;
    if let Some(survey) = survey.as_ref().filter(|_| writes || spec.erase.is_some()) {
        refused = survey.permit(spec.erase.as_deref()).err();
    }
    refused = refused.or(trims.err());
    if !spec.wrap {
        refused = refused.or(outline.check_size(&spec.target, size_bytes).err());
    }
    let (method, until_steady, seed) = (spec.precondition, spec.until_steady, spec.seed);
    let first = Preconditioning { method, until_steady, depth: 1, seed }.first_bytes(size_bytes);
    let planned_s = match spec.timing() {
        Timing::Times { scale } => Some(outline.duration_ns as f64 * scale / 1e9),
        Timing::Closed { .. } => None,
    };
    let by_op = |values: &[u64; Op::COUNT]| -> Map<String, Value> {
        let shown = Op::shown(outline.by_op);
        shown.map(|op| (op.name().to_owned(), json!(values[op as usize]))).collect()
    };
    Ok(json!({
        "version": flashweir_run::VERSION,
        "command": "replay",
        "dry_run": true,
        "trace": spec.trace,
        "target": {
            "name": spec.target,
            "simulated": spec.is_simulated(),
            "size_bytes": size_bytes,
            "resolved": survey.as_ref().map(|survey| survey.resolved.clone()),
            "found": survey.map(|survey| survey.findings.into_iter().map(|f| f.what).collect::<Vec<_>>()),
        },
        "opens": if writes { "to write" } else { "to read" },
        "requests": outline.requests,
        "by_op": by_op(&outline.by_op),
        "bytes": by_op(&outline.bytes_by_op),
        "range_bytes": [outline.first_sector * SECTOR_BYTES, outline.end_sector * SECTOR_BYTES],
        "planned_s": planned_s,
        "trace_report": outline.report,
        "precondition_bytes": first,
        "until_steady": spec.until_steady,
        "refused": refused.map(|error| without_code(&error.to_string())),
    }))
}
