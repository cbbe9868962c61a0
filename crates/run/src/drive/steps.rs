//! The steps: submit, advance, poll, finish.

use std::ops::Range;

use flashweir_ssd::{Parts, RunError};
use flashweir_trace::{Op, Request, SECTOR_BYTES};
use serde_json::Value;

use super::outstanding::{Ended, Held};
use super::{Completion, Drive, Later};
use crate::error::Error;

/// Requests served between two questions whether to go on.
const SLICE: usize = 4096;
/// The last time that there is, ns (146 years).
const LAST_NS: u64 = 1 << 62;

impl Drive {
    /// Submits requests. Their times are on the drive's clock, in any order, and none lies before the present; those for later are
    /// kept until then. Returns their numbers. All are submitted, or none: the error says which one is refused and why.
    pub fn submit(&mut self, requests: &[Request]) -> Result<Range<u64>, Error> {
        self.submit_after(requests, 0)
    }

    /// As [`Drive::submit`], of requests that enter at their times and waited for `waited_ns` before: their latency has the wait.
    pub fn submit_after(&mut self, requests: &[Request], waited_ns: u64) -> Result<Range<u64>, Error> {
        self.check_goes_on()?;
        for (at, request) in requests.iter().enumerate() {
            let which = || format!("request {} of {}", at + 1, requests.len());
            self.check(request).map_err(|detail| Error::Submitted { which: which(), detail })?;
        }
        let first = self.state.submitted;
        self.state.submitted += requests.len() as u64;
        self.queue(requests, first, waited_ns);
        self.serve_due(self.state.now_ns, &mut || true)?;
        Ok(first..self.state.submitted)
    }

    /// Advances the present to `time_ns`: everything due by then happens. Idempotent.
    pub fn advance_to(&mut self, time_ns: u64) -> Result<(), Error> {
        self.advance_while(time_ns, &mut || true).map(drop)
    }

    /// As [`Drive::advance_to`], and asks now and then whether to go on. If not, it returns false, and the present lies somewhere on the
    /// way.
    pub fn advance_while(&mut self, time_ns: u64, go_on: &mut dyn FnMut() -> bool) -> Result<bool, Error> {
        self.check_goes_on()?;
        self.check_time("advance_to", time_ns)?;
        if !self.serve_due(time_ns, go_on)? {
            return Ok(false);
        }
        self.arrive(time_ns)?;
        Ok(true)
    }

    /// Advances the present to the next completion, but not beyond `limit_ns` (`u64::MAX`: no limit). Returns false if none comes by
    /// then: the present is then the limit, or without one what it was, as nothing is outstanding.
    ///
    /// Completions at the present that were not polled count as next.
    pub fn advance_to_completion(&mut self, limit_ns: u64) -> Result<bool, Error> {
        self.check_goes_on()?;
        if limit_ns != u64::MAX {
            self.check_time("the limit", limit_ns)?;
        }
        loop {
            if !self.state.ready.is_empty() {
                return Ok(true);
            }
            let arrival_ns = self.state.later.front().map_or(u64::MAX, |later| later.request.time_ns);
            let end_ns = self.state.ended.peek().map_or(u64::MAX, |ended| ended.0.end_ns);
            if end_ns != u64::MAX && end_ns <= limit_ns.min(arrival_ns) {
                self.arrive(end_ns)?;
                continue;
            }
            if limit_ns.min(arrival_ns) == u64::MAX && self.state.with_simulation.len() == 0 {
                // Nobody waits for anything: time does not move.
                return Ok(false);
            }
            // Of the busy-until path the ends are known; of the others none is until it has happened.
            let moved = self.simulation.proceed_by(limit_ns.min(arrival_ns));
            if self.ran(moved)? {
                self.collect();
                continue;
            }
            if arrival_ns <= limit_ns && arrival_ns != u64::MAX {
                self.serve_due(arrival_ns, &mut || true)?;
                continue;
            }
            if limit_ns != u64::MAX {
                self.arrive(limit_ns)?;
                return Ok(!self.state.ready.is_empty());
            }
            if self.state.with_simulation.len() > 0 {
                let waiting = self.state.with_simulation.len() as u64;
                return self.ran(Err(RunError::NoRoom { waiting }));
            }
            return Ok(false);
        }
    }

    /// Advances until nothing is outstanding; asks now and then whether to go on, and returns false if not. Flash commands that no
    /// request waits for may still be outstanding, and pages that wait in the write buffer stay there.
    pub fn drain_while(&mut self, go_on: &mut dyn FnMut() -> bool) -> Result<bool, Error> {
        self.check_goes_on()?;
        let mut kept = std::collections::VecDeque::new();
        let mut count = 0;
        let drained = loop {
            kept.append(&mut self.state.ready);
            match self.advance_to_completion(u64::MAX) {
                Ok(true) => {}
                Ok(false) => break Ok(true),
                Err(error) => break Err(error),
            }
            count += 1;
            if count % SLICE == 0 && !go_on() {
                break Ok(false);
            }
        };
        kept.append(&mut self.state.ready);
        self.state.ready = kept;
        drained
    }

    /// When the next completion is due, as far as that is known before it happens.
    pub fn next_end_ns(&self) -> Option<u64> {
        self.state.ended.peek().map(|ended| ended.0.end_ns)
    }

    /// When the next event happens of a request whose end is not known, ns: nothing is decided before it, unless another request
    /// comes.
    pub fn next_event_ns(&self) -> Option<u64> {
        let arrival_ns = self.state.later.front().map(|later| later.request.time_ns);
        self.simulation.next_event_ns().into_iter().chain(arrival_ns).min()
    }

    /// True if requests are outstanding of which the end is known only once it has happened.
    pub fn awaits_events(&self) -> bool {
        self.state.with_simulation.len() > 0
    }

    /// Appends the completions by the present that were not polled yet, in the order of their ends, then of submission.
    pub fn poll(&mut self, into: &mut Vec<Completion>) {
        into.extend(self.state.ready.drain(..));
    }

    /// The next completion by the present that was not polled yet.
    pub fn next_completion(&mut self) -> Option<Completion> {
        self.state.ready.pop_front()
    }

    /// Ends the run as `simulate` does: everything submitted completes. Returns the result of the whole run.
    pub fn finish(mut self) -> Result<Value, Error> {
        self.check_goes_on()?;
        if let Some(last) = self.state.later.back() {
            self.serve_due(last.request.time_ns, &mut || true)?;
        }
        let done = self.simulation.finish();
        self.ran(done)?;
        self.collect();
        self.state.now_ns = self.state.now_ns.max(self.simulation.stats().simulated_ns);
        self.release();
        Ok(self.result())
    }

    /// Everything that is due by `time_ns` happens, and it is the present; requests for later that arrive by then have been served.
    fn arrive(&mut self, time_ns: u64) -> Result<(), Error> {
        let time_ns = self.state.now_ns.max(time_ns);
        let done = self.simulation.advance_to(time_ns);
        self.ran(done)?;
        self.state.now_ns = time_ns;
        self.collect();
        self.release();
        Ok(())
    }

    /// Serves the requests that arrive by `time_ns`. The present is then the last arrival. Returns false if it is not to go on.
    fn serve_due(&mut self, time_ns: u64, go_on: &mut dyn FnMut() -> bool) -> Result<bool, Error> {
        while self.state.later.front().is_some_and(|later| later.request.time_ns <= time_ns) {
            if !go_on() {
                return Ok(false);
            }
            self.batch.clear();
            while let Some(later) = self.state.later.front()
                && later.request.time_ns <= time_ns
                && self.batch.len() < SLICE
            {
                let Later { number, request, waited_ns } = *later;
                self.state.with_simulation.push(Held { number, lba: request.lba, waited_ns });
                self.batch.push(request);
                self.state.later.pop_front();
            }
            let done = self.simulation.serve(&self.batch);
            self.ran(done)?;
            let last_ns = self.batch.last().map_or(0, |request| request.time_ns);
            self.state.now_ns = self.state.now_ns.max(last_ns);
            self.collect();
            self.release();
        }
        Ok(true)
    }

    /// Keeps requests for later: by their times, of one time in the order of submission.
    fn queue(&mut self, requests: &[Request], first: u64, waited_ns: u64) {
        let last_ns = self.state.later.back().map_or(0, |later| later.request.time_ns);
        let in_order = requests.first().is_none_or(|request| request.time_ns >= last_ns)
            && requests.is_sorted_by_key(|request| request.time_ns);
        let later = |number, request: &Request| Later { number, request: *request, waited_ns };
        let numbered = (first..).zip(requests).map(|(number, request)| later(number, request));
        if let ([request], false) = (requests, in_order) {
            let at = self.state.later.partition_point(|later| later.request.time_ns <= request.time_ns);
            self.state.later.insert(at, later(first, request));
            return;
        }
        self.state.later.extend(numbered);
        if !in_order {
            self.state.later.make_contiguous().sort_by_key(|later| later.request.time_ns);
        }
    }

    /// Takes over what the simulation has worked out.
    fn collect(&mut self) {
        self.simulation.take_completions(&mut self.completions);
        for done in self.completions.drain(..) {
            let held = self.state.with_simulation.take(done.number);
            let Some(Held { number, lba, waited_ns }) = held else { continue };
            let waited = Parts { host_queue: done.parts.host_queue + waited_ns, ..done.parts };
            let parts = self.options.latency_parts.then(|| Box::new(waited));
            self.state.ended.push(Ended(Completion {
                number,
                issue_ns: done.issue_ns - waited_ns,
                end_ns: done.issue_ns + done.latency_ns,
                lba: done.appended_lba.unwrap_or(lba),
                sectors: done.sectors,
                stream: done.stream,
                op: done.op,
                failure: done.failure,
                parts,
            }));
        }
    }

    /// Requests that have ended by the present are complete.
    fn release(&mut self) {
        while let Some(ended) = self.state.ended.peek()
            && ended.0.end_ns <= self.state.now_ns
            && let Some(Ended(done)) = self.state.ended.pop()
        {
            self.state.counts.add(&done);
            self.state.ready.push_back(done);
        }
    }

    /// An error of the simulation ends the drive: every later call returns it again.
    fn ran<T>(&mut self, done: Result<T, RunError>) -> Result<T, Error> {
        done.map_err(|error| {
            self.failed = Some(error.clone());
            error.into()
        })
    }

    pub(super) fn check_goes_on(&self) -> Result<(), Error> {
        self.failed.clone().map_or(Ok(()), |error| Err(error.into()))
    }

    fn check_time(&self, what: &str, time_ns: u64) -> Result<(), Error> {
        if time_ns < self.state.now_ns {
            let expected = format!(
                "lies before the present, {} ns: time does not go back (fork() keeps an earlier state)",
                self.state.now_ns
            );
            return Err(Error::setting(format!("{what} {time_ns} ns"), &expected));
        }
        if time_ns > LAST_NS {
            return Err(Error::setting(
                format!("{what} {time_ns} ns"),
                "expected at most 2^62 ns, 146 years",
            ));
        }
        Ok(())
    }

    /// Refuses a request: says why.
    fn check(&self, request: &Request) -> Result<(), String> {
        let Request { time_ns, lba, sectors, stream, op, handle: _ } = *request;
        if time_ns < self.state.now_ns {
            let now_ns = self.state.now_ns;
            return Err(format!(
                "it arrives at {time_ns} ns, before the present, {now_ns} ns; expected a time from then on"
            ));
        }
        if time_ns > LAST_NS {
            return Err(format!("it arrives at {time_ns} ns; expected at most 2^62 ns, 146 years"));
        }
        if usize::from(stream) >= self.names.len() {
            return Err(format!(
                "tenant {stream}, and the drive has {}; expected one below that",
                self.names.len()
            ));
        }
        if op == Op::Flush {
            let empty = lba == 0 && sectors == 0;
            return if empty { Ok(()) } else { Err("a flush has no address and no length".into()) };
        }
        if op.is_zoned() && !self.config.takes_zone_commands() {
            let op = op.name();
            return Err(format!("{op} is a command to a zone; expected ftl.kind=zones with ftl.host=none"));
        }
        if sectors == 0 {
            return Err(format!("a {} of 0 bytes; expected at least {SECTOR_BYTES}", op.name()));
        }
        let end = lba.saturating_add(sectors.into());
        if end > self.geometry().capacity_sectors() {
            let bytes = |sectors: u64| sectors.saturating_mul(SECTOR_BYTES);
            return Err(format!(
                "bytes {} to {} lie beyond the drive, which has {}",
                bytes(lba),
                bytes(end),
                self.capacity_bytes()
            ));
        }
        Ok(())
    }
}
