//! Specification of a replay, as data: filled in by the command line and Python.

use std::path::PathBuf;

use flashweir_run::{TraceOptions, texts};
use flashweir_trace::generate::Spec;
use flashweir_trace::output::same_file;
use flashweir_trace::quantity::parse_bytes;
use flashweir_trace::transform::OpSet;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::precondition::Method;
use crate::real::Engine;
use crate::{Began, Error, OpenOptions, Stop, Timing};

/// When requests are issued.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pace {
    /// At the trace's times, stretched by a factor.
    #[default]
    Original,
    /// As fast as the drive takes them, many outstanding.
    Asap,
    /// As soon as fewer than a number are outstanding.
    Closed,
}

/// Outstanding requests as fast as possible, where nothing else is said.
const ASAP_DEPTH: u32 = 64;

/// A replay.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is a thing of its own that a replay may do or not")]
pub struct ReplaySpec {
    /// A trace file or a generator's spec.
    pub trace: String,
    /// A block device, a file, `sim:PRESET`, or `py:FILE.py:CLASS`.
    pub target: String,
    /// When requests are issued.
    pub timing: Pace,
    /// Factor on the trace's times.
    pub scale: f64,
    /// Most outstanding requests; `None` is what the timing implies.
    pub depth: Option<u32>,
    /// I/O engine for real drives.
    pub engine: Engine,
    /// True if requests go through the page cache.
    pub buffered: bool,
    /// Only these operations, such as `read,write`.
    pub only: Option<String>,
    /// Only so many requests.
    pub limit: Option<u64>,
    /// Fold addresses beyond the target into it.
    pub wrap: bool,
    /// Seed of what is written, of preconditioning, and of a simulated drive.
    pub seed: u64,
    /// The target's own name: what is on it may be destroyed.
    pub erase: Option<String>,
    /// Size of a file to be made: bytes, or text such as `1GiB`.
    pub size: Option<Value>,
    /// Preconditioning of the target before the replay.
    pub precondition: Method,
    /// True if preconditioning goes on until it is steady.
    pub until_steady: bool,
    /// Where the log of requests goes.
    pub log: Option<PathBuf>,
    /// Format of the trace.
    pub format: Option<String>,
    /// Description of a table that no format fits.
    pub columns: Option<String>,
    /// Unreadable records to tolerate.
    pub skip_bad: u64,
    /// Rules that give requests a placement handle.
    #[serde(deserialize_with = "texts")]
    pub hint: Vec<String>,
    /// Only say what would be done.
    pub dry_run: bool,
}

impl Default for ReplaySpec {
    fn default() -> Self {
        Self {
            trace: String::new(),
            target: String::new(),
            timing: Pace::default(),
            scale: 1.0,
            depth: None,
            engine: Engine::default(),
            buffered: false,
            only: None,
            limit: None,
            wrap: false,
            seed: 1,
            erase: None,
            size: None,
            precondition: Method::default(),
            until_steady: false,
            log: None,
            format: None,
            columns: None,
            skip_bad: 0,
            hint: Vec::new(),
            dry_run: false,
        }
    }
}

impl ReplaySpec {
    /// Refuses settings that make no replay.
    pub(super) fn check(&self) -> Result<(), Error> {
        let refuse = |what: &str, expected: &str| {
            Err(Error::Setting { what: what.into(), expected: format!("expected {expected}") })
        };
        if !(self.scale.is_finite() && self.scale >= 0.0) {
            return refuse(
                &format!("scale {}", self.scale),
                "a factor on the trace's times that is not negative",
            );
        }
        #[expect(clippy::float_cmp, reason = "1 is what is there if nobody asked for another one")]
        let scaled = self.scale != 1.0;
        if scaled && self.timing != Pace::Original {
            return refuse("scale", "it with timing original: otherwise the trace's times are not used");
        }
        if self.depth == Some(0) {
            return refuse("depth 0", "at least 1 outstanding request");
        }
        if self.engine == Engine::Sync && self.depth.is_some_and(|depth| depth > 1) {
            return refuse("engine sync with a depth above 1", "depth 1, or engine io_uring");
        }
        if self.until_steady && self.precondition == Method::None {
            return refuse(
                "until-steady",
                "a precondition, snia or random, to be repeated until it is steady",
            );
        }
        if let Some(log) = &self.log {
            for other in [self.trace.as_str(), file_of(&self.target)] {
                if same_file(std::path::Path::new(other), log) {
                    let expected = format!("a file of its own: {other} is read or written already");
                    return refuse(&format!("log {}", log.display()), &expected);
                }
            }
        }
        if same_file(std::path::Path::new(&self.trace), std::path::Path::new(&self.target)) {
            return refuse(&format!("target {}", self.target), "another file than the trace");
        }
        if Spec::is_spec(&self.trace)
            && self.timing == Pace::Original
            && !Spec::parse(&self.trace)?.is_timed()
        {
            return refuse(
                &format!("timing original: {}", self.trace),
                "timing asap or closed, or a generator with times, such as with rate=1000",
            );
        }
        Ok(())
    }

    /// When requests are issued.
    pub(super) fn timing(&self) -> Timing {
        let most = if self.engine == Engine::Sync && !self.is_simulated() { 1 } else { ASAP_DEPTH };
        match self.timing {
            Pace::Original => Timing::Times { scale: self.scale },
            Pace::Asap => Timing::Closed { depth: self.depth.unwrap_or(most) },
            Pace::Closed => Timing::Closed { depth: self.depth.unwrap_or(1) },
        }
    }

    pub(super) fn is_simulated(&self) -> bool {
        crate::is_simulated(&self.target)
    }

    pub(super) fn ops(&self) -> Result<Option<OpSet>, Error> {
        Ok(self.only.as_deref().map(OpSet::parse).transpose()?)
    }

    pub(super) fn size_bytes(&self) -> Result<Option<u64>, Error> {
        let Some(value) = &self.size else { return Ok(None) };
        let parsed = value.as_u64().or_else(|| value.as_str().and_then(parse_bytes));
        let refused = || Error::Setting {
            what: format!("size {value}"),
            expected: "expected a number of bytes, or text such as 1GiB".into(),
        };
        parsed.map(Some).ok_or_else(refused)
    }

    pub(super) fn trace_options(&self) -> TraceOptions {
        let (format, columns, hint) = (self.format.clone(), self.columns.clone(), self.hint.clone());
        TraceOptions { format, columns, skip_bad: self.skip_bad, hint, to: None }
    }

    /// Options for opening the target; `write`: true if anything is going to be written.
    pub(super) fn open_options(&self, write: bool, stop: &Stop, began: &Began) -> Result<OpenOptions, Error> {
        let default = OpenOptions::default();
        let under_way =
            if self.target.starts_with(crate::SIMULATED) { u32::MAX } else { default.max_outstanding };
        Ok(OpenOptions {
            write,
            erase: self.erase.clone(),
            seen: None,
            ours: false,
            size_bytes: self.size_bytes()?,
            engine: self.engine,
            max_outstanding: self.depth.unwrap_or(under_way),
            direct: !self.buffered,
            seed: self.seed,
            stop: stop.clone(),
            began: began.clone(),
        })
    }
}

/// The file that a target names: itself, or that of a simulated drive.
fn file_of(target: &str) -> &str {
    let head = |text: &'_ str| text.split(',').next().unwrap_or_default().len();
    if let Some(text) = target.strip_prefix(crate::SIMULATED) {
        return &text[..head(text)];
    }
    let Some(text) = target.strip_prefix(crate::EXTERNAL) else { return target };
    let place = &text[..head(text)];
    place.rsplit_once(':').map_or(place, |(file, _)| file)
}
