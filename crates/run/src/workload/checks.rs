//! Options of a workload, and checks that refuse wrong ones before anything is opened.

use flashweir_ssd::Geometry;
use flashweir_trace::generate::Spec;
use flashweir_trace::{SECTOR_BYTES, TraceError};

use crate::error::Error;
use crate::refusals::{BEYOND_DRIVE, GENERATED, refused};
use crate::tenant::{Shape, WorkloadSpec};

/// The generator that a workload is, with the seed of the run; none if it is a trace.
pub(crate) fn generator(workload: &WorkloadSpec, seed: Option<u64>) -> Result<Option<Spec>, TraceError> {
    if workload.spec.path().exists() || !Spec::is_spec(&workload.spec) {
        return if workload.spec.path().exists() {
            Ok(None)
        } else {
            check_name(&workload.spec).map(|()| None)
        };
    }
    let spec = Spec::parse(&workload.spec)?;
    Ok(Some(match seed {
        Some(seed) => spec.with_seed(seed),
        None => spec,
    }))
}

/// Refuses the name of a file that is not there, where it is a named generator.
fn check_name(text: &str) -> Result<(), TraceError> {
    match text.split_once('=') {
        Some((name, spec)) if !name.contains([':', '/']) && Spec::is_spec(spec) => Err(TraceError::Spec {
            what: "workload".to_owned(),
            found: text.to_owned(),
            expected: format!("expected the workload alone, {spec}, or --workload {text} to name it"),
        }),
        _ => Ok(()),
    }
}

/// The name of the stream that a workload is.
pub(crate) fn name_of(workload: &WorkloadSpec, stream: u64, of: usize) -> String {
    workload.name.clone().unwrap_or_else(|| match of {
        1 => "workload".into(),
        _ => format!("workload {stream}"),
    })
}

/// Parses the options of a workload.
pub(crate) fn parse_shape(workload: &WorkloadSpec, name: &str) -> Result<Shape, Error> {
    Shape::parse(workload).map_err(|error| error.of(&format!("workload {name}")))
}

/// The refusal of options for reading a trace where there is none.
pub(super) fn reading_of_generator() -> Error {
    let expected =
        "expected a trace: a generator has no format, no columns, no bad lines, and handles of its own";
    refused(&GENERATED, "format, columns, skip_bad or hint", expected)
}

/// Refuses what does nothing to a generator.
pub(crate) fn check_generated(workload: &WorkloadSpec, spec: &Spec) -> Result<(), Error> {
    if workload.reads_specially() {
        return Err(reading_of_generator());
    }
    match Shape::timing(workload) {
        Some(key) if !spec.is_timed() => {
            let expected =
                format!("expected requests with times: {} needs rate=... or period=...", spec.kind().name());
            Err(refused(&GENERATED, key, expected))
        }
        _ => Ok(()),
    }
}

/// Refuses a number of workloads of which there can be no run.
pub(crate) fn check_count(count: usize) -> Result<(), Error> {
    if count > 0 && u16::try_from(count).is_ok() {
        return Ok(());
    }
    let expected = match count {
        0 => "expected a trace file or a generator such as random:span=1GiB,count=100000".to_owned(),
        _ => format!("expected at most {}", u16::MAX),
    };
    Err(Error::setting(format!("{count} workloads"), expected))
}

/// Refuses a workload that reaches beyond the drive.
pub(crate) fn check_place(
    spec: Option<&Spec>,
    shape: &Shape,
    geometry: &Geometry,
    wrap: bool,
) -> Result<(), Error> {
    shape.check_place(geometry, wrap)?;
    match spec {
        Some(spec) if !wrap && shape.volume_sectors.is_none() => {
            check_span(spec, shape.offset_sectors * SECTOR_BYTES, geometry)
        }
        _ => Ok(()),
    }
}

/// Refuses a generator that reaches beyond the drive.
fn check_span(spec: &Spec, offset_bytes: u64, geometry: &Geometry) -> Result<(), Error> {
    let capacity = geometry.capacity_sectors() * SECTOR_BYTES;
    let end = spec.span_end_bytes().saturating_add(offset_bytes);
    if end <= capacity {
        return Ok(());
    }
    let expected = format!(
        "its span ends at byte {end}, the drive has {capacity}: use a smaller span or offset, a larger capacity, or --wrap \
         to fold addresses"
    );
    Err(refused(&BEYOND_DRIVE, format!("workload {}", spec.canonical()), expected))
}
