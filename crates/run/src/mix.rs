//! Mixes: files that name the tenants of a drive and what is done to their requests (docs/reference/mix.md). A mix is
//! nothing but several workloads with options; here it becomes them.

mod info;

use std::path::{Path, PathBuf};

use flashweir_ssd::Geometry;
use flashweir_trace::generate::Spec;
use flashweir_trace::reason::expecting;
use flashweir_trace::transform::Factor;
use flashweir_trace::{SECTOR_BYTES, quantity};
use serde_json::{Map, Value};

use crate::error::Error;
use crate::spec::{MIX_PREFIX as PREFIX, RunSpec, mix_file as file};
use crate::tenant::{Shape, WorkloadSpec};
use crate::workload::{check_count, check_generated};

pub(crate) use info::info;

/// Keys of the file.
const KEYS: [&str; 5] = ["align", "duration", "time_scale", "volumes", "tenants"];
/// Keys of a tenant.
const TENANT_KEYS: [&str; 13] = [
    "workload",
    "time_scale",
    "duration",
    "start",
    "align",
    "volume",
    "offset",
    "ops",
    "limit",
    "format",
    "columns",
    "skip_bad",
    "hint",
];

impl RunSpec {
    /// The same run with the tenants of its mix as workloads. Their volumes are shares of the drive, if there is one.
    pub(crate) fn expanded(&self, geometry: Option<&Geometry>) -> Result<Self, Error> {
        let Some(path) = self.workloads.iter().find_map(|workload| file(&workload.spec)) else {
            return Ok(self.clone());
        };
        if let [WorkloadSpec { name: Some(_), .. }] | [_, _, ..] = self.workloads.as_slice() {
            let expected =
                "expected the mix alone and without a name: its tenants are the workloads, and named in it";
            return Err(Error::setting(format!("{PREFIX}{path}"), expected));
        }
        if self.workloads.iter().any(|workload| !workload.options().is_empty()) {
            let expected = "expected options in the mix, those of single tenants under [tenants.NAME]";
            return Err(Error::setting(format!("{PREFIX}{path}"), expected));
        }
        let mix = Mix::read(Path::new(path))?;
        let workloads = mix.workloads(geometry).map_err(|error| error.of(path))?;
        Ok(Self { workloads, ..self.clone() })
    }
}

/// A mix as its file has it.
struct Mix {
    folder: PathBuf,
    table: Map<String, Value>,
}

impl Mix {
    fn read(path: &Path) -> Result<Self, Error> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| expecting(&error, "a mix of workloads in TOML or JSON"))
            .map_err(|source| Error::DeviceFile { path: path.to_owned(), source })?;
        let table: Value = if text.trim_start().starts_with('{') {
            crate::json::parse(&text).map_err(|detail| Error::setting(path.display(), detail))?
        } else {
            toml::from_str(&text).map_err(|error: toml::de::Error| {
                let line = error
                    .span()
                    .map_or(0, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
                Error::setting(
                    format!("{}: line {line}", path.display()),
                    error.message().replace('\n', ", "),
                )
            })?
        };
        let Value::Object(table) = table else {
            return Err(Error::setting(path.display(), "expected a table with tenants"));
        };
        Ok(Self { folder: path.parent().map(Path::to_owned).unwrap_or_default(), table })
    }

    /// A value of the whole mix as text.
    fn text(&self, key: &str) -> Result<Option<String>, Error> {
        match self.table.get(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(Value::Number(number)) => Ok(Some(number.as_f64().map_or_else(
                || number.to_string(),
                |float| {
                    if number.is_f64() { float.to_string() } else { number.to_string() }
                },
            ))),
            Some(other) => Err(Error::setting(format!("{key} = {other}"), "expected a text or a number")),
        }
    }

    fn workloads(&self, geometry: Option<&Geometry>) -> Result<Vec<WorkloadSpec>, Error> {
        check_keys(&self.table, &KEYS, "")?;
        let none = "expected tables [tenants.NAME], each with a workload";
        let tenants = match self.table.get("tenants") {
            Some(Value::Object(tenants)) if !tenants.is_empty() => tenants,
            Some(Value::Object(_)) | None => return Err(Error::setting("tenants", none)),
            Some(other) => return Err(Error::setting(format!("tenants = {other}"), none)),
        };
        check_count(tenants.len()).map_err(|error| error.of("tenants"))?;
        let separate = match self.text("volumes")?.as_deref() {
            None | Some("separate") => true,
            Some("shared") => false,
            Some(other) => {
                return Err(Error::setting(format!("volumes {other:?}"), "expected separate or shared"));
            }
        };
        let mut workloads = Vec::with_capacity(tenants.len());
        for (name, tenant) in tenants {
            let part = format!("tenants.{name}");
            let workload = self.tenant(name, tenant).map_err(|error| error.of(&part))?;
            if separate && workload.offset.is_some() {
                let expected =
                    "expected volumes = \"shared\" at the top: separate volumes lie one behind the other";
                return Err(Error::setting(format!("{part}.offset"), expected));
            }
            workloads.push(workload);
        }
        match geometry {
            Some(geometry) if separate => lay_out(&mut workloads, geometry)?,
            _ => {}
        }
        Ok(workloads)
    }

    /// One tenant, with what the mix says of all.
    fn tenant(&self, name: &str, tenant: &Value) -> Result<WorkloadSpec, Error> {
        let Value::Object(tenant) = tenant else {
            return Err(Error::setting(tenant, "expected a table with a workload"));
        };
        check_keys(tenant, &TENANT_KEYS, "")?;
        let mut options = tenant.clone();
        let Some(Value::String(text)) = options.shift_remove("workload") else {
            return Err(Error::setting("workload", "expected a trace file or a generator, as a text"));
        };
        for (key, value) in &options {
            let numeric = matches!(key.as_str(), "limit" | "skip_bad");
            if !(value.is_number() || value.is_string() && !numeric) || numeric && !value.is_u64() {
                let expected =
                    if numeric { "expected a whole number" } else { "expected a text or a number" };
                return Err(Error::setting(format!("{key} = {value}"), expected));
            }
        }
        let mut workload: WorkloadSpec = serde_json::from_value(Value::Object(options))
            .map_err(|error| Error::setting("options", error.to_string()))?;
        Shape::parse(&workload)?;
        workload.name = Some(name.to_owned());
        workload.spec = self.place(&text)?.into();
        for (own, key) in [(&mut workload.align, "align"), (&mut workload.duration, "duration")] {
            if own.is_none() {
                *own = self.text(key)?;
            }
        }
        if let Some(all) = self.text("time_scale")? {
            let expected = "expected a number above 0 such as 0.01, or a fraction such as 1/100";
            let wrong = || Error::setting(format!("time_scale {all:?} of all tenants"), expected);
            let all = Factor::parse(&all).map_err(|_| wrong())?;
            let own = workload.time_scale.as_deref().map(Factor::parse).transpose()?;
            let both = own.map_or(Some(all), |own| own.times(all)).ok_or_else(|| {
                Error::setting("time_scale", "times that of all tenants has too many digits; expected fewer")
            })?;
            workload.time_scale = Some(both.to_string());
        }
        Shape::parse(&workload)?;
        if let Some(spec) = crate::workload::generator(&workload, None)? {
            check_generated(&workload, &spec)?;
        }
        Ok(workload)
    }

    /// A trace relative to the mix, or a generator as it is.
    fn place(&self, text: &str) -> Result<String, Error> {
        let path = self.folder.join(text);
        // A path without a file may be the base name of a set of files.
        let set = self.folder.join(format!("{text}.blktrace.0"));
        if path.exists() || set.exists() {
            return Ok(path.to_string_lossy().into_owned());
        }
        let expected = if file(text).is_some() {
            "expected a trace file or a generator: a mix holds no mixes"
        } else if Spec::is_spec(text) {
            return Ok(text.to_owned());
        } else {
            "no such file beside the mix, and no generator"
        };
        Err(Error::setting(format!("workload {text:?}"), expected))
    }
}

fn check_keys(table: &Map<String, Value>, known: &[&str], part: &str) -> Result<(), Error> {
    match table.keys().find(|key| !known.contains(&key.as_str())) {
        None => Ok(()),
        Some(key) => Err(Error::setting(
            format!("{part}{key}"),
            format!("unknown key; expected one of {}", known.join(", ")),
        )),
    }
}

/// Gives every workload a part of the drive in whole pages, one behind the other: as large as it says, or an even share of
/// what the others leave.
fn lay_out(workloads: &mut [WorkloadSpec], geometry: &Geometry) -> Result<(), Error> {
    let page = u64::from(geometry.page_sectors);
    let pages = geometry.capacity_sectors() / page;
    let mut own = Vec::with_capacity(workloads.len());
    for workload in workloads.iter() {
        let shape = Shape::parse(workload)?;
        let name = workload.name.as_deref().unwrap_or_default();
        shape.check_place(geometry, true).map_err(|error| error.of(&format!("tenants.{name}")))?;
        own.push(shape.volume_sectors.map(|sectors| sectors.div_ceil(page)));
    }
    let taken = own.iter().flatten().fold(0, |sum: u64, pages| sum.saturating_add(*pages));
    let others = own.iter().filter(|own| own.is_none()).count() as u64;
    let size = |pages: u64| quantity::format_bytes(pages.saturating_mul(page * SECTOR_BYTES));
    if taken > pages || (others > 0 && (pages - taken) / others == 0) {
        let expected = format!(
            "their volumes take {}, which leaves less than a page for each of the other {others}: the drive has {}",
            size(taken),
            size(pages)
        );
        return Err(Error::setting(format!("{} tenants", workloads.len()), expected));
    }
    let share = (pages - taken).checked_div(others).unwrap_or(0);
    let mut at = 0;
    for (workload, own) in workloads.iter_mut().zip(own) {
        if workload.volume.is_none() {
            workload.volume = Some(size(share));
        }
        if at > 0 {
            workload.offset = Some(size(at));
        }
        at += own.unwrap_or(share);
    }
    Ok(())
}
