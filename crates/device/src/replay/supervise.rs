//! Work on a thread of its own, while the caller's tells how far it is and looks whether to stop.

use std::thread::Scope;
use std::time::{Duration, Instant};

use flashweir_run::{Phase, Progress};

use crate::{Error, Stop};

/// Between two reports.
const EVERY: Duration = Duration::from_millis(100);

/// Tells the caller.
pub(super) struct Tell<'a> {
    call: &'a mut dyn FnMut(&Progress) -> bool,
    started: Instant,
    last: Option<Instant>,
}

impl<'a> Tell<'a> {
    pub(super) fn new(call: &'a mut dyn FnMut(&Progress) -> bool) -> Self {
        Self { call, started: Instant::now(), last: None }
    }

    /// Returns whether to go on.
    pub(super) fn tell(&mut self, phase: Phase, done: u64, total: Option<u64>) -> bool {
        self.last = Some(Instant::now());
        let fraction = total.filter(|total| *total > 0).map(|total| (done as f64 / total as f64).min(1.0));
        let elapsed_s = self.started.elapsed().as_secs_f64();
        (self.call)(&Progress { phase, tenant: None, done, total, fraction, elapsed_s })
    }

    /// While a trace is looked through: now and then.
    pub(super) fn looking(&mut self, requests: u64) -> Result<(), Error> {
        if self.last.is_some_and(|last| last.elapsed() < EVERY) || self.tell(Phase::Trace, requests, None) {
            return Ok(());
        }
        let progress = format!("{requests} requests were looked at; nothing was done to the target");
        Err(Error::Cancelled { doing: "going through the trace".into(), progress })
    }
}

/// Does `work` on a thread of its own; `count` says how far it is.
pub(super) fn supervised<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    stop: &Stop,
    tell: &mut Tell<'_>,
    count: impl Fn() -> (Phase, u64, Option<u64>),
    work: impl FnOnce() -> T + Send + 'scope,
) -> T {
    let caller = std::thread::current();
    let worker = scope.spawn(move || {
        let done = work();
        caller.unpark();
        done
    });
    while !worker.is_finished() {
        std::thread::park_timeout(EVERY);
        if worker.is_finished() {
            break;
        }
        let (phase, done, total) = count();
        if !stop.is_asked() && !tell.tell(phase, done, total) {
            stop.ask();
        }
    }
    worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
