//! Where the requests of a workload come from.

use std::path::PathBuf;

use flashweir_trace::TraceError;
use flashweir_trace::format::{Gauge, Report, Trace};
use flashweir_trace::generate::{Generator, Spec};
use flashweir_trace::output::is_standard;

use crate::error::Error;
use crate::tenant::Boxed;
use crate::trace_options::TraceOptions;
use crate::traces::{Shared, Traces};

/// One workload, opened.
pub(crate) enum Opened {
    Generator(Box<Generator>),
    Trace(Box<Trace>),
    Shared(Shared),
}

impl Opened {
    pub(crate) fn gauge(&self) -> Option<Gauge> {
        match self {
            Opened::Generator(_) | Opened::Shared(_) => None,
            Opened::Trace(trace) => Some(trace.gauge()),
        }
    }

    pub(super) fn source(&mut self) -> Boxed<'_> {
        match self {
            Opened::Generator(generator) => Box::new(generator.as_mut()),
            Opened::Trace(trace) => Box::new(trace.as_mut()),
            Opened::Shared(shared) => Box::new(shared),
        }
    }

    /// Report on the part read so far, if this is a trace.
    pub(super) fn report(&self) -> Option<&Report> {
        match self {
            Opened::Generator(_) => None,
            Opened::Trace(trace) => Some(trace.report()),
            Opened::Shared(shared) => Some(&shared.trace.report),
        }
    }
}

/// Where the requests of a workload come from: enough to begin once more.
pub(super) enum Origin {
    Generator(Spec),
    Trace { path: PathBuf, content: Option<String>, options: TraceOptions },
}

impl Origin {
    pub(super) fn open(&self, shared: Option<&Traces>) -> Result<Opened, TraceError> {
        Ok(match (self, shared) {
            (Origin::Generator(spec), _) => Opened::Generator(Box::new(spec.generator())),
            (Origin::Trace { path, content, options }, Some(traces)) => {
                Opened::Shared(traces.open(path, content.as_deref(), options)?)
            }
            (Origin::Trace { path, options, .. }, None) => {
                Opened::Trace(Box::new(Trace::open(path, &options.parse()?)?))
            }
        })
    }

    /// Refuses a trace that can be read once only; `why` says what it would be read twice for.
    pub(super) fn check_reread(&self, why: &str) -> Result<(), Error> {
        match self {
            // A path without a file is the base name of a set of files.
            Origin::Trace { path, .. }
                if is_standard(path) || path.metadata().is_ok_and(|meta| !meta.is_file()) =>
            {
                let expected = "expected a regular file: the trace is read twice";
                Err(Error::setting(format!("{why}: {}", path.display()), expected))
            }
            _ => Ok(()),
        }
    }

    pub(super) const fn spec(&self) -> Option<&Spec> {
        match self {
            Origin::Generator(spec) => Some(spec),
            Origin::Trace { .. } => None,
        }
    }
}
