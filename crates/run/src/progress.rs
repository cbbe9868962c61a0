//! How far work is, told about ten times a second, and whether it is to go on: the same for runs and for work on traces.

use std::time::{Duration, Instant};

use serde::Serialize;

use crate::error::Error;

/// Between two calls of the progress function.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);

/// What is being done.
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
    /// What is being done, and what is counted.
    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Phase::Precondition => ("preconditioning", "pages"),
            Phase::Run => ("running", "requests"),
            Phase::Alone => ("running alone", "requests"),
            Phase::Trace => ("going through the trace", "requests"),
        }
    }
}

/// How far the work is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Progress {
    /// What is being done.
    pub phase: Phase,
    /// The tenant that runs alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// Pages written in preconditioning, else requests.
    pub done: u64,
    /// Of how many, if that is known.
    pub total: Option<u64>,
    /// How much of the phase is done, from 0 to 1: `done` of `total`, or what has been read of a trace's file. `None` where
    /// neither is known, as with a pipe.
    pub fraction: Option<f64>,
    /// Seconds since the work was started.
    pub elapsed_s: f64,
}

/// Tells the caller how far the work is, and asks whether to go on.
pub(crate) struct Reporter<'a> {
    call: &'a mut dyn FnMut(&Progress) -> bool,
    started: Instant,
    last: Instant,
    tenant: Option<String>,
    /// Whether the next report is told at once.
    news: bool,
}

impl<'a> Reporter<'a> {
    /// Reports to `call` on work that began at `started`.
    pub(crate) fn new(call: &'a mut dyn FnMut(&Progress) -> bool, started: Instant) -> Self {
        Self { call, started, last: started, tenant: None, news: false }
    }

    /// What comes is about one tenant, which is told at once, or about all again.
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
