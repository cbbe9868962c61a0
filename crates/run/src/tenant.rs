//! One workload of a run, as data, and what its options do to its requests.

use std::fmt::Display;

use flashweir_ssd::Geometry;
use flashweir_trace::transform::{Delay, Factor, Filter, Limit, Offset, OpSet, Scale, Wrap};
use flashweir_trace::{SECTOR_BYTES, Source, quantity};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::error::Error;
use crate::place::Place;
use crate::refusals::{BEYOND_DRIVE, refused};
use crate::trace_options::TraceOptions;

/// One workload. Its options apply to its requests in this order: operations, limit, duration, scale, start, volume,
/// offset.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WorkloadSpec {
    /// Name of its stream.
    pub name: Option<String>,
    /// A trace file or a generator spec; `mix:FILE` stands for the tenants of a file.
    pub spec: Place,
    /// Name of the file's content, in any words: runs that share traces share only those with the same name of content.
    pub content: Option<String>,
    /// Factor on its times: `0.01` or `1/100`.
    #[serde(deserialize_with = "text", skip_serializing_if = "Option::is_none")]
    pub time_scale: Option<String>,
    /// Duration up to its last request, before `time_scale`: its times are stretched or squeezed to it.
    #[serde(deserialize_with = "text", skip_serializing_if = "Option::is_none")]
    pub duration: Option<String>,
    /// Added to its times, after scaling.
    #[serde(deserialize_with = "text", skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
    /// `start`: its trace begins at time 0; `clock`: as much later than the first of those with `clock` as it was recorded.
    #[serde(deserialize_with = "text", skip_serializing_if = "Option::is_none")]
    pub align: Option<String>,
    /// Its addresses are folded into so many bytes.
    #[serde(deserialize_with = "text", skip_serializing_if = "Option::is_none")]
    pub volume: Option<String>,
    /// Bytes added to its addresses, after folding.
    #[serde(deserialize_with = "text", skip_serializing_if = "Option::is_none")]
    pub offset: Option<String>,
    /// Only these operations, as `read,write`.
    #[serde(deserialize_with = "text", skip_serializing_if = "Option::is_none")]
    pub ops: Option<String>,
    /// Only the first so many requests, of those that `ops` leaves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Trace format; otherwise that of the run.
    #[serde(deserialize_with = "text", skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// Description of a table that no format fits; otherwise that of the run.
    #[serde(deserialize_with = "text", skip_serializing_if = "Option::is_none")]
    pub columns: Option<String>,
    /// Unreadable records to tolerate; otherwise as many as the run says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skip_bad: Option<u64>,
    /// Rules that give its requests a placement handle, between `;`; otherwise those of the run.
    #[serde(deserialize_with = "text", skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// A text, or a number as text.
fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text)),
        // As a decimal number: JSON would write small ones with an exponent.
        Value::Number(number) if number.is_f64() => Ok(number.as_f64().map(|number| number.to_string())),
        Value::Number(number) => Ok(Some(number.to_string())),
        other => Err(D::Error::custom(format!("{other}: expected a text or a number"))),
    }
}

impl WorkloadSpec {
    /// The options of it that are set, by name.
    pub(crate) fn options(&self) -> Map<String, Value> {
        let mut all = match serde_json::to_value(self) {
            Ok(Value::Object(all)) => all,
            _ => Map::new(),
        };
        all.retain(|key, _| !["name", "spec", "content"].contains(&key.as_str()));
        all
    }

    /// Options for reading it if it is a trace.
    pub(crate) fn trace_options(&self, of_run: &TraceOptions) -> TraceOptions {
        TraceOptions {
            format: self.format.clone().or_else(|| of_run.format.clone()),
            columns: self.columns.clone().or_else(|| of_run.columns.clone()),
            skip_bad: self.skip_bad.unwrap_or(of_run.skip_bad),
            hint: self.hint.clone().map_or_else(|| of_run.hint.clone(), |own| vec![own]),
            to: None,
        }
    }

    /// True if it sets an option for reading a trace.
    pub(crate) fn reads_specially(&self) -> bool {
        self.trace_options(&TraceOptions::default()).are_of_traces()
    }
}

/// Changes that the options of a workload make to its requests.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shape {
    pub(crate) ops: Option<OpSet>,
    pub(crate) limit: Option<u64>,
    /// Duration that it is stretched or squeezed to, ns.
    pub(crate) duration_ns: Option<u64>,
    /// True if its trace keeps its recorded distance in time from others.
    pub(crate) clock: bool,
    pub(crate) volume_sectors: Option<u64>,
    pub(crate) offset_sectors: u64,
    scale: Option<Factor>,
    start_ns: u64,
    /// Factor on its times that gives it this duration.
    stretch: Option<Factor>,
    /// Time by which its trace began later than the first one, ns.
    pub(crate) later_ns: u64,
}

impl Shape {
    /// Reads the options of `workload`.
    pub(crate) fn parse(workload: &WorkloadSpec) -> Result<Self, Error> {
        let WorkloadSpec { time_scale, duration, start, align, volume, offset, ops, limit, .. } = workload;
        let wrong =
            |key: &str, text: &str, expected: &str| Error::setting(format!("{key} {text:?}"), expected);
        let time = |key: &str, text: &Option<String>| {
            let Some(text) = text else { return Ok(None) };
            let expected = "expected a time such as 10s or 1h";
            quantity::parse_nanos(text).map(Some).ok_or_else(|| wrong(key, text, expected))
        };
        let sectors = |key: &str, text: &Option<String>| {
            let Some(text) = text else { return Ok(None) };
            let bytes = quantity::parse_bytes(text).filter(|bytes| bytes.is_multiple_of(SECTOR_BYTES));
            let expected = "expected a size in whole sectors of 512 bytes, such as 4GiB";
            bytes.map(|bytes| Some(bytes / SECTOR_BYTES)).ok_or_else(|| wrong(key, text, expected))
        };
        let scale = time_scale.as_deref().map(|text| {
            let expected = "expected a number above 0 such as 0.01, or a fraction such as 1/100";
            Factor::parse(text).map_err(|_| wrong("time_scale", text, expected))
        });
        let duration_ns = time("duration", duration)?;
        if let (Some(0), Some(text)) = (duration_ns, duration) {
            return Err(wrong("duration", text, "expected a time above 0"));
        }
        let clock = match align.as_deref() {
            None | Some("start") => false,
            Some("clock") => true,
            Some(other) => return Err(wrong("align", other, "expected start or clock")),
        };
        if let (true, Some(text)) = (clock, duration) {
            let expected =
                "expected align = start: stretched one by one, traces no longer keep their distances";
            return Err(wrong("duration", text, expected));
        }
        let ops = ops.as_deref().map(|text| {
            let expected = "expected a list of operations, such as read,write";
            OpSet::parse(text).map_err(|_| wrong("ops", text, expected))
        });
        if *limit == Some(0) {
            return Err(Error::setting("limit 0", "expected at least 1 request"));
        }
        let volume_sectors = sectors("volume", volume)?;
        if let (Some(0), Some(text)) = (volume_sectors, volume) {
            return Err(wrong("volume", text, "expected at least a page"));
        }
        Ok(Self {
            ops: ops.transpose()?,
            limit: *limit,
            duration_ns,
            clock,
            volume_sectors,
            offset_sectors: sectors("offset", offset)?.unwrap_or(0),
            scale: scale.transpose()?,
            start_ns: time("start", start)?.unwrap_or(0),
            stretch: None,
            later_ns: 0,
        })
    }

    /// The option that does something with times, if there is one.
    pub(crate) fn timing(workload: &WorkloadSpec) -> Option<&'static str> {
        let WorkloadSpec { time_scale, duration, start, .. } = workload;
        [("time_scale", time_scale), ("duration", duration), ("start", start)]
            .into_iter()
            .find_map(|(key, value)| value.as_ref().map(|_| key))
    }

    /// Refuses a volume that is smaller than a page, or that lies beyond the drive.
    pub(crate) fn check_place(&self, geometry: &Geometry, wrap: bool) -> Result<(), Error> {
        let capacity = geometry.capacity_sectors();
        let bytes = |sectors: u64| quantity::format_bytes(sectors.saturating_mul(SECTOR_BYTES));
        let Some(volume) = self.volume_sectors else { return Ok(()) };
        if volume < u64::from(geometry.page_sectors) {
            let expected =
                format!("smaller than a page of the drive, {}", bytes(geometry.page_sectors.into()));
            return Err(refused(&BEYOND_DRIVE, format!("volume {}", bytes(volume)), expected));
        }
        if volume > capacity || (!wrap && volume.saturating_add(self.offset_sectors) > capacity) {
            let at = if self.offset_sectors == 0 {
                String::new()
            } else {
                format!(" from {} on", bytes(self.offset_sectors))
            };
            let expected = format!("larger than the drive, which has {} bytes", capacity * SECTOR_BYTES);
            return Err(refused(&BEYOND_DRIVE, format!("volume {}{at}", bytes(volume)), expected));
        }
        Ok(())
    }

    /// A workload whose last request comes at `last_ns` is to last as long as it should.
    pub(crate) fn stretch(&mut self, last_ns: u64) -> Result<(), Error> {
        let Some(duration_ns) = self.duration_ns else { return Ok(()) };
        self.stretch = Some(Factor::new(duration_ns, last_ns).ok_or_else(|| {
            let what = format!("duration {:?}", quantity::format_nanos(duration_ns));
            Error::setting(what, "expected a workload with requests after its first one")
        })?);
        Ok(())
    }

    /// Those of `source` that are meant.
    pub(crate) fn chosen<'a>(&self, source: Boxed<'a>) -> Boxed<'a> {
        let mut source = source;
        if let Some(ops) = self.ops {
            source = Box::new(Filter::new(source, ops));
        }
        if let Some(limit) = self.limit {
            source = Box::new(Limit::new(source, limit));
        }
        source
    }

    /// `source` where it is meant to lie.
    pub(crate) fn placed<'a>(&self, source: Boxed<'a>) -> Boxed<'a> {
        let mut source = source;
        if let Some(volume) = self.volume_sectors {
            source = Box::new(Wrap::new(source, volume));
        }
        if self.offset_sectors > 0 {
            source = Box::new(Offset::new(source, self.offset_sectors));
        }
        source
    }

    /// `source` with everything done to it.
    pub(crate) fn applied<'a>(&self, source: Boxed<'a>) -> Boxed<'a> {
        let mut source = self.chosen(source);
        if self.later_ns > 0 {
            source = Box::new(Delay::new(source, self.later_ns));
        }
        source = match (self.stretch, self.scale) {
            (Some(stretch), Some(scale)) => match stretch.times(scale) {
                Some(factor) => Box::new(Scale::new(source, factor)),
                None => Box::new(Scale::new(Scale::new(source, stretch), scale)),
            },
            (Some(factor), None) | (None, Some(factor)) => Box::new(Scale::new(source, factor)),
            (None, None) => source,
        };
        if self.start_ns > 0 {
            source = Box::new(Delay::new(source, self.start_ns));
        }
        self.placed(source)
    }
}

/// A source of any kind.
pub(crate) type Boxed<'a> = Box<dyn Source + Send + 'a>;

impl Error {
    /// An error about a setting of the run.
    pub(crate) fn setting(what: impl Display, expected: impl Into<String>) -> Self {
        Error::Setting { what: what.to_string(), expected: expected.into() }
    }

    /// The same error, said of a part of the run.
    #[must_use]
    pub(crate) fn of(self, part: &str) -> Self {
        Error::Setting { what: part.to_owned(), expected: self.to_string() }
    }
}
