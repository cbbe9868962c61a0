//! Progress of work, reported about ten times a second, and its cancellation: for runs and for work on traces alike.

use std::time::{Duration, Instant};

use serde::Serialize;

use crate::error::Error;

/// Between two calls of the progress function.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);

/// Phase of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// Writing the drive into its starting state.
    Precondition,
    /// Serving the workload.
    Run,
    /// Serving one tenant of the workload alone.
    Alone,
    /// Reading, converting or writing a trace.
    Trace,
}

impl Phase {
    /// Name of the phase and unit of its progress.
    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Phase::Precondition => ("preconditioning", "pages"),
            Phase::Run => ("running", "requests"),
            Phase::Alone => ("running alone", "requests"),
            Phase::Trace => ("going through the trace", "requests"),
        }
    }
}

/// Progress of the work.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Progress {
    /// Phase of the work.
    pub phase: Phase,
    /// The tenant that runs alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// Pages written in preconditioning, else requests.
    pub done: u64,
    /// Total of `done`, if it is known.
    pub total: Option<u64>,
    /// Share of the phase that is done, from 0 to 1: `done` of `total`, or the share of a trace's file that has been
    /// read. `None` where neither is known, as with a pipe.
    pub fraction: Option<f64>,
    /// Seconds since the work was started.
    pub elapsed_s: f64,
}

/// Reports progress to the caller, and stops the work if the caller says so.
pub(crate) struct Reporter<'a> {
    call: &'a mut dyn FnMut(&Progress) -> bool,
    started: Instant,
    last: Instant,
    tenant: Option<String>,
    /// True if the next report is made at once.
    news: bool,
}

impl<'a> Reporter<'a> {
    /// Reports to `call` on work that began at `started`.
    pub(crate) fn new(call: &'a mut dyn FnMut(&Progress) -> bool, started: Instant) -> Self {
        Self { call, started, last: started, tenant: None, news: false }
    }

    /// Sets the tenant of the next reports, the first of which is made at once. `None`: reports are about all tenants.
    pub(crate) fn is_about(&mut self, tenant: Option<&str>) {
        self.tenant = tenant.map(str::to_owned);
        self.news = tenant.is_some();
    }

    /// Reports that `done` of `total` is done.
    pub(crate) fn report(&mut self, phase: Phase, done: u64, total: u64) -> Result<(), Error> {
        let fraction = (total > 0).then(|| done as f64 / total as f64);
        self.tell(phase, done, Some(total), fraction)
    }

    /// Reports that `done` is done, which is a `share` of all if that is known.
    pub(crate) fn report_share(&mut self, phase: Phase, done: u64, share: Option<f64>) -> Result<(), Error> {
        self.tell(phase, done, None, share)
    }

    fn tell(
        &mut self,
        phase: Phase,
        done: u64,
        total: Option<u64>,
        fraction: Option<f64>,
    ) -> Result<(), Error> {
        let now = Instant::now();
        if now - self.last < PROGRESS_EVERY && !self.news {
            return Ok(());
        }
        (self.last, self.news) = (now, false);
        let elapsed_s = (now - self.started).as_secs_f64();
        if (self.call)(&Progress { phase, tenant: self.tenant.clone(), done, total, fraction, elapsed_s }) {
            return Ok(());
        }
        let (doing, unit) = phase.words();
        let progress = match (total, fraction) {
            (Some(total), _) => format!("{done} of {total} {unit}"),
            (None, Some(fraction)) => format!("{done} {unit}, {:.0}% of the file,", fraction * 100.0),
            (None, None) => format!("{done} {unit}"),
        };
        let doing = match &self.tenant {
            None => doing.to_owned(),
            Some(tenant) => format!("{doing} ({tenant})"),
        };
        Err(Error::Cancelled { doing, progress })
    }
}
