//! Warm-up removal: cuts the beginning off a run by a named method, so that its result is about the rest.
//!
//! The cut is the moment at which the first request that stays enters the drive. Requests before it and their latencies
//! are removed, whenever they end; so are flash operations made before it (docs/concepts/warm-up.md).

mod histogram;
mod methods;
mod parts;
mod windows;

use flashweir_ssd::{Completion, RunError, Simulation, Stats};
use flashweir_trace::Request;
use serde::Serialize;
use serde_json::Value;

use crate::error::Error;
use crate::refusals::{NOTHING_LEFT, refused};
pub use methods::{WINDOW_ROUNDS, steady};
pub(crate) use parts::{Before, since};
use parts::{Cuts, Parts};
use windows::Windows;

/// Requests served at a time: few enough for their completions to stay in the cache.
const MAX_SERVED: usize = 512;

/// Method that finds the cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    /// The marginal standard error rule on batches of five windows.
    Mser5,
    /// The steady-state rule of the SNIA.
    Steady,
    /// After so many requests.
    Requests(u64),
}

impl Method {
    /// A method by its name.
    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        let requests = text.strip_prefix("requests=").and_then(|number| number.parse().ok());
        match (text, requests) {
            ("mser-5", _) => Ok(Method::Mser5),
            ("steady", _) => Ok(Method::Steady),
            (_, Some(requests)) => Ok(Method::Requests(requests)),
            _ => Err(Error::Setting {
                what: format!("warm-up method {text:?}"),
                expected: "expected mser-5, steady, or requests=N with a whole number N".into(),
            }),
        }
    }

    /// Refuses to remove all of a run of `count` requests.
    pub(crate) fn check(self, count: u64) -> Result<(), Error> {
        match self {
            Method::Requests(requests) if requests > 0 && requests >= count => Err(refused(
                &NOTHING_LEFT,
                format!("warm-up method requests={requests}"),
                format!("expected fewer than the {count} requests of the run"),
            )),
            _ => Ok(()),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Method::Mser5 => "mser-5",
            Method::Steady => "steady",
            Method::Requests(_) => "requests",
        }
    }
}

/// The part that was removed: `warmup` in the result.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Removed {
    method: &'static str,
    found: bool,
    requests: u64,
    of_requests: u64,
    simulated_s: f64,
}

/// A run without its warm-up.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) rest: Stats,
    pub(crate) removed: Removed,
    /// `series` in the result: of the whole run.
    pub(crate) series: Value,
}

/// Follows a run.
#[derive(Debug)]
pub(crate) struct Warmup {
    method: Method,
    served: u64,
    windows: Windows,
    parts: Parts,
    completions: Vec<Completion>,
}

impl Warmup {
    /// Follows a run from here on.
    pub(crate) fn new(method: Method, simulation: &mut Simulation) -> Self {
        simulation.keep_completions();
        let windows = Windows::new();
        let cuts = match method {
            Method::Requests(requests) => Cuts::At(requests),
            Method::Mser5 | Method::Steady => Cuts::Every(windows.size() * methods::BATCH as u64),
        };
        Self { method, served: 0, windows, parts: Parts::new(cuts), completions: Vec::new() }
    }

    /// Serves requests, stopping where a window or a part begins.
    pub(crate) fn serve(
        &mut self,
        simulation: &mut Simulation,
        requests: &[Request],
    ) -> Result<(), RunError> {
        if simulation.holds_back() {
            simulation.hold(requests)?;
            return self.serve_held(simulation);
        }
        let mut left = requests;
        while let Some(next) = left.first() {
            self.begin(simulation, next)?;
            let count = left.len().min(self.most_at_once());
            simulation.serve(&left[..count])?;
            self.served += count as u64;
            left = &left[count..];
            self.book(simulation);
        }
        Ok(())
    }

    /// No request comes any more: serves those that are held back until their window is complete.
    pub(crate) fn end(&mut self, simulation: &mut Simulation) -> Result<(), RunError> {
        simulation.end_of_held();
        self.serve_held(simulation)
    }

    /// Serves requests that were held back. The drive takes them with the allocation of their window, so a part begins where
    /// the first of them enters, as elsewhere.
    fn serve_held(&mut self, simulation: &mut Simulation) -> Result<(), RunError> {
        while let Some(next) = simulation.next_held()? {
            self.begin(simulation, &next)?;
            self.served += simulation.serve_held(self.most_at_once())? as u64;
            self.book(simulation);
        }
        Ok(())
    }

    /// Requests up to the next window or part.
    fn most_at_once(&self) -> usize {
        let size = self.windows.size();
        let end = ((self.served / size + 1) * size).min(self.parts.cuts.next_after(self.served));
        usize::try_from(end - self.served).unwrap_or(usize::MAX).min(MAX_SERVED)
    }

    /// Begins the window and the part that begin with the next request.
    fn begin(&mut self, simulation: &mut Simulation, next: &Request) -> Result<(), RunError> {
        let window = self.served.is_multiple_of(self.windows.size());
        let part = self.parts.cuts.begins_at(self.served);
        if !window && !part {
            return Ok(());
        }
        let start_ns = simulation.enter(next)?;
        self.book(simulation);
        if window {
            if self.windows.are_full() {
                self.windows.join();
                if matches!(self.parts.cuts, Cuts::Every(_)) {
                    self.parts.end();
                    self.parts.join();
                }
            }
            self.windows.begin(start_ns, simulation.counters().flash().programs);
        }
        if part {
            self.parts.end();
            self.parts.begin(self.served, start_ns, Before::of(simulation));
        }
        Ok(())
    }

    /// Books the requests that have ended.
    fn book(&mut self, simulation: &mut Simulation) {
        simulation.take_completions(&mut self.completions);
        for completion in &self.completions {
            self.windows.book(completion);
            self.parts.book(completion);
        }
    }

    /// Finds the cut of a run that is finished.
    pub(crate) fn finish(mut self, simulation: &mut Simulation) -> Result<Outcome, Error> {
        self.method.check(self.served)?;
        self.book(simulation);
        self.parts.finish();
        let mut stats = simulation.stats();
        let windows = match self.method {
            Method::Mser5 => self.windows.mser5(),
            Method::Steady => self.windows.steady(stats.simulated_ns),
            Method::Requests(_) => None,
        };
        let found = match self.method {
            Method::Requests(requests) => Some(requests),
            Method::Mser5 | Method::Steady => windows.map(|windows| windows as u64 * self.windows.size()),
        };
        let requests = found.unwrap_or(0);
        let start_ns = if requests == 0 { 0 } else { self.parts.start_ns(requests) };
        if requests == 0 {
            stats.latencies = self.parts.latencies(0);
        }
        Ok(Outcome {
            series: self.windows.series(&stats, simulation.geometry().program_bytes()),
            removed: Removed {
                method: self.method.name(),
                found: found.is_some(),
                requests,
                of_requests: self.served,
                simulated_s: start_ns as f64 / 1e9,
            },
            rest: if requests == 0 { stats } else { self.parts.rest(requests, &stats) },
        })
    }
}

#[cfg(test)]
mod tests;
