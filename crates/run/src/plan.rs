//! Plan of a run, without running it: its complete configuration and workloads, and an estimate of its memory.

use flashweir_ssd::config::Precondition;
use flashweir_ssd::config::layers::to_value;
use flashweir_ssd::{Config, Geometry};
use flashweir_trace::SECTOR_BYTES;
use flashweir_trace::output::is_standard;
use flashweir_trace::reason::expecting;
use serde_json::{Value, json};

use crate::activity::Window;
use crate::error::Error;
use crate::explain::Percentile;
use crate::power;
use crate::simulate::check_times;
use crate::spec::RunSpec;
use crate::warmup::Method;
use crate::watch::timeline_window;
use crate::workload;

/// Memory of a run besides that of its drive: histograms, buffers, the result.
const BASE_BYTES: u64 = 4 << 20;
/// Maps and block tables, per physical page that is written.
const PAGE_BYTES: u64 = 9;
/// The same for the versions of a sector, under `verify`.
const VERIFY_SECTOR_BYTES: u64 = 8;
/// With power cuts, lists of the images on the pages of flash, and of the versions of their sectors.
const JOURNAL_PAGE_BYTES: u64 = 120;
const JOURNAL_SECTOR_BYTES: u64 = 8;
/// An entry of the map.
const ENTRY_BYTES: u64 = 4;
/// Memory that the first page used in a region of a map brings with it.
const TOUCH_BYTES: u64 = 64 << 10;

/// Says what `run` would be, as a JSON object; docs/reference/python.md has its keys. Checks what can be checked without
/// reading a trace.
pub fn plan(run: &RunSpec) -> Result<Value, Error> {
    let (config, ineffective) = run.config_noting()?;
    let geometry = Geometry::new(&config)?;
    let run = &run.expanded(Some(&geometry))?;
    run.trace_options().parse()?;
    check_times(run, &config)?;
    let mut workloads = Vec::new();
    let mut requests = Some(0u64);
    let mut pages = Some(0u64);
    let mut generated = false;
    for (stream, workload) in (0u64..).zip(&run.workloads) {
        let name = workload::name_of(workload, stream, run.workloads.len());
        let shape = workload::parse_shape(workload, &name)?;
        let spec = workload::generator(workload, run.seed.map(|seed| seed.wrapping_add(stream)))?;
        let named = |error: Error| error.of(&format!("workload {name}"));
        if shape.volume_sectors.is_some() || spec.is_none() {
            workload::check_place(None, &shape, &geometry, run.wrap).map_err(named)?;
        }
        let mut entry = json!({"name": workload.name, "spec": workload.spec, "options": workload.options()});
        if let Some(spec) = spec {
            generated = true;
            workload::check_generated(workload, &spec).map_err(named)?;
            workload::check_place(Some(&spec), &shape, &geometry, run.wrap)?;
            let count = spec.count().min(shape.limit.unwrap_or(u64::MAX));
            let most = count.saturating_mul(u64::from(spec.largest_sectors() / geometry.page_sectors) + 1);
            requests = requests.filter(|_| shape.ops.is_none()).map(|sum| sum.saturating_add(count));
            pages = pages.map(|sum| sum.saturating_add(most));
            entry["workload"] = json!(spec.canonical());
        } else {
            let path = workload.spec.path();
            if is_standard(path) {
                let expected = "expected a file: what runs several times reads its traces several times";
                return Err(Error::setting("workload -", expected));
            }
            path.metadata()
                .map_err(|error| expecting(&error, "a trace of requests"))
                .map_err(|source| Error::DeviceFile { path: path.into(), source })?;
            (requests, pages) = (None, None);
            entry["path"] = json!(workload.spec);
        }
        workloads.push(entry);
    }
    Window::parse(run.activity.as_ref())?;
    timeline_window(run)?;
    run.explain.as_deref().map(Percentile::parse).transpose()?;
    power::parse(run.power_cut.as_ref())?;
    // While all run together, the drive is kept as each will find it alone.
    let drives = if run.alone && run.workloads.len() > 1 { 2 } else { 1 };
    let method = run.warmup.as_deref().map(Method::parse).transpose()?;
    if let (Some(method), Some(count)) = (method, requests) {
        method.check(count)?;
    }
    let journal_bytes = JOURNAL_PAGE_BYTES + JOURNAL_SECTOR_BYTES * u64::from(geometry.page_sectors);
    let journal = if run.power_cut.is_some() { geometry.physical_pages() * journal_bytes } else { 0 };
    Ok(json!({
        "config": to_value(&config),
        "no_effect": ineffective,
        "workloads": workloads,
        "requests": requests,
        "pages": pages,
        "logical_pages": geometry.logical_flash_pages(),
        "physical_pages": geometry.flash_pages(),
        "memory_bytes": drives * memory_bytes(&config, &geometry, pages, run.verify) + journal,
        "alone": if drives > 1 { run.workloads.len() } else { 0 },
        "engine": config.engine_name(),
        "seed": run.seed.unwrap_or(1),
        "seeded": generated || config.draws(),
    }))
}

/// An estimate from above of what a run takes, without its traces.
fn memory_bytes(config: &Config, geometry: &Geometry, pages: Option<u64>, verify: bool) -> u64 {
    let versions = if verify { u64::from(geometry.page_sectors) * VERIFY_SECTOR_BYTES } else { 0 };
    let whole = geometry.physical_pages() * (PAGE_BYTES + versions);
    let buffer = config.buffer.bytes.0 / SECTOR_BYTES;
    let written = match pages {
        // The map is touched where the workload writes or reads, everything else from the start on.
        Some(pages) if matches!(config.precondition, Precondition::Empty | Precondition::OnRead) => {
            let map = pages.saturating_mul(TOUCH_BYTES).min(geometry.logical_pages * ENTRY_BYTES);
            pages.saturating_mul(PAGE_BYTES + versions).saturating_add(map)
        }
        _ => u64::MAX,
    };
    BASE_BYTES + whole.min(written) + buffer
}
