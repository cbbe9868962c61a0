//! Power cuts: what would be lost if power failed at an instant of the run, which itself goes on as if nothing were.
//!
//! The drive only records: its journal has every change of the flash and everything that the host writes, with times. The
//! files here evaluate it: `flash.rs` is the flash at an instant, and the rebuild of the mapping from spare areas;
//! `host.rs` compares what is found with what the host was promised; `cuts.rs` says when power is cut; `refusals.rs` has the
//! drives that can't be evaluated; `result.rs` reads the setting of a run and writes the JSON. [`PowerCuts`] takes what was
//! recorded and brings it into the order of time.
//!
//! Rules for an instant: a page can be read once its program has ended. A page that a command of many copies writes
//! can be read once its own copy has ended (the command's last one, if the command made way for reads in between). A
//! block is gone from the start of its erase. Discards are journalled when a flush is done, and before an erase takes an
//! image that one of them made stale. A page in a random write area is in memory that outlives the cut, and is found there from
//! the time at which it is written, until it is written there again or discarded as a page of flash is: after a commit the
//! newer image on flash counts, once its program has ended. All events at the instant of a cut take effect before it.

mod cuts;
mod flash;
mod host;
mod refusals;
mod result;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use flashweir_ssd::{
    Baseline, Change, Config, ConfigError, Geometry, HeldEntry, Image, Recorded, RunError, Simulation, Trim,
    TrimEntry,
};
use flashweir_trace::Op;

pub use cuts::Cuts;
pub use host::Outcome;
pub(crate) use result::{Power, parse};

use cuts::Plan;
use flash::Flash;
use host::Host;

/// Event at an instant. Events at the same one take effect in this order: discards, random write areas, flash, acknowledgements,
/// flushes.
#[derive(Clone, Debug)]
enum Event {
    Trim { lpn: u64, trim: Trim },
    Held(Arc<Image>),
    Flash(Change),
    Acknowledge { rank: u64 },
    Flush { issue_ns: u64, rank: u64 },
}

impl Event {
    fn rank(&self) -> u8 {
        match self {
            Event::Trim { .. } => 0,
            Event::Held(_) => 1,
            Event::Flash(_) => 2,
            Event::Acknowledge { .. } => 3,
            Event::Flush { .. } => 4,
        }
    }
}

/// Cuts the power of a run again and again.
#[derive(Debug)]
pub struct PowerCuts {
    plan: Plan,
    /// Recorded events that have not taken effect, by time, rank and number.
    events: BTreeMap<(u64, u8, u64), Event>,
    flash: Flash,
    host: Host,
    /// True if every cut is checked by a rebuild from nothing.
    verify: bool,
    /// True if something came to pass, or was recorded, since the last such check.
    news: bool,
    /// Requests taken so far.
    requests: u64,
    failure: Option<RunError>,
}

/// Why there is no outcome of a cut.
#[derive(Debug, thiserror::Error)]
pub enum CutError {
    /// The run was over before.
    #[error("the run ended before {time_ns} ns")]
    Beyond {
        /// When power was to be cut, ns.
        time_ns: u64,
    },
    /// The mapping that was kept differs from the one that a rebuild finds.
    #[error(transparent)]
    Verify(RunError),
}

impl PowerCuts {
    /// Refuses drives on which what is on flash says nothing. To be called before a drive is made.
    pub fn check(config: &Config, geometry: &Geometry) -> Result<(), ConfigError> {
        refusals::check(config, geometry)
    }

    /// Begins to follow a drive made with [`flashweir_ssd::Options::journal`], before its first request. `seed`: of random
    /// cuts. `verify`: at each cut, all spare areas are read.
    pub fn begin(simulation: &mut Simulation, cuts: Cuts, seed: u64, verify: bool) -> Self {
        let is_protected = simulation.protects_buffer();
        Self::from_baseline(simulation.begin_journal(), cuts, seed, verify).of_buffer(is_protected)
    }

    /// Capacitors write the buffer to flash at a cut, or they do not.
    fn of_buffer(mut self, is_protected: bool) -> Self {
        self.host.is_protected = is_protected;
        self
    }

    fn from_baseline(baseline: Baseline, cuts: Cuts, seed: u64, verify: bool) -> Self {
        Self {
            plan: Plan::new(cuts, seed),
            events: BTreeMap::new(),
            host: Host::new(baseline.page_sectors, baseline.last_version),
            flash: Flash::new(baseline),
            verify,
            news: true,
            requests: 0,
            failure: None,
        }
    }

    /// As [`PowerCuts::begin`], for a drive that is stepped, whose power is cut at its present.
    pub(crate) fn follow(simulation: &mut Simulation) -> Self {
        Self::begin(simulation, Cuts::At(Vec::new()), 0, false)
    }

    /// Outcome of a cut now, at the present of a drive of which everything recorded was taken.
    pub(crate) fn cut(&mut self, now_ns: u64) -> Outcome {
        self.advance(now_ns.saturating_add(1));
        self.host.outcome(now_ns)
    }

    /// Everything up to the present has come to pass.
    pub(crate) fn advance_to(&mut self, now_ns: u64) {
        self.advance(now_ns.saturating_add(1));
    }

    /// The version of a sector of a logical page that a rebuild finds now.
    pub(crate) fn found(&self, lpn: u64, sector: u32) -> u64 {
        self.flash.find(lpn).version(sector as usize)
    }

    /// Takes what was recorded since the last call, and cuts power where nothing is missing any more.
    pub fn take(&mut self, recorded: &Recorded) {
        self.news = true;
        for issue in &recorded.issues {
            self.requests = issue.number + 1;
            if issue.request.op.writes() && issue.request.sectors > 0 {
                self.host.issue(issue.number, issue.request.sectors);
            }
        }
        for request in &recorded.entered {
            self.host.enter(*request);
        }
        for entry in &recorded.host {
            self.host.change(entry, || self.flash.find(entry.lpn));
            if let Some(TrimEntry { time_ns, sequence }) = entry.trim {
                let trim = Trim { sequence, version: entry.version };
                self.add(time_ns, entry.version, Event::Trim { lpn: entry.lpn, trim });
            }
            if let Some(HeldEntry { time_ns, image }) = &entry.held {
                self.add(*time_ns, entry.version, Event::Held(Arc::clone(image)));
            }
        }
        for entry in &recorded.pages {
            self.add(entry.time_ns, entry.number, Event::Flash(entry.change.clone()));
        }
        for record in &recorded.requests {
            let Some(rank) = self.host.leave(record.number) else { continue };
            let done = match record.request.op {
                Op::Read => continue,
                Op::Flush => Event::Flush { issue_ns: record.issue_ns, rank },
                _ => Event::Acknowledge { rank },
            };
            self.add(record.completion_ns, rank, done);
        }
        // No command starts before it is settled, and no request is done before it is issued.
        let issued_ns = recorded.issues.last().map_or(0, |issue| issue.issue_ns);
        self.advance(recorded.settled_ns.min(issued_ns));
    }

    fn add(&mut self, time_ns: u64, number: u64, event: Event) {
        self.events.insert((time_ns, event.rank(), number), event);
    }

    /// Everything before `end_ns` comes to pass, cuts included.
    fn advance(&mut self, end_ns: u64) {
        loop {
            let cut_ns = self.plan.next_ns().unwrap_or(u64::MAX).min(end_ns);
            while let Some(event) = self.events.first_entry()
                && (event.key().0 < end_ns && event.key().0 <= cut_ns)
            {
                let now_ns = event.key().0;
                let event = event.remove();
                self.news = true;
                self.happen(now_ns, event);
            }
            if cut_ns == end_ns {
                return;
            }
            // Many more cuts than were asked for are tried (cuts.rs), most of them where nothing happened in between.
            if self.verify && std::mem::take(&mut self.news) {
                self.check_rebuild(cut_ns);
            }
            self.plan.put(self.host.outcome(cut_ns));
        }
    }

    fn happen(&mut self, now_ns: u64, event: Event) {
        match event {
            Event::Trim { lpn, trim } => self.host.trim(lpn, trim),
            Event::Acknowledge { rank } => self.host.acknowledge(now_ns, rank),
            Event::Flush { issue_ns, rank } => {
                for (lpn, trim) in self.host.flush(issue_ns, rank) {
                    self.change(lpn, |flash| flash.trim(lpn, trim));
                }
            }
            Event::Held(image) => self.change(image.lpn, |flash| flash.hold(Arc::clone(&image))),
            Event::Flash(Change::Programmed { page, image }) => {
                if let Some(image) = image {
                    self.change(image.lpn, |flash| flash.program(page, image.clone()));
                }
            }
            Event::Flash(Change::Erased(pages)) => {
                for page in pages {
                    let Some(image) = self.flash.image(page) else { continue };
                    let (lpn, sequence) = (image.lpn, image.sequence);
                    if let Some(trim) = self.host.unjournalled(lpn, sequence) {
                        self.change(lpn, |flash| flash.trim(lpn, trim));
                    }
                    self.change(lpn, |flash| flash.erase(page));
                }
            }
        }
    }

    /// Changes the flash so that something else may be found of a logical page.
    fn change(&mut self, lpn: u64, change: impl FnOnce(&mut Flash)) {
        let before = self.flash.find(lpn);
        change(&mut self.flash);
        let found = self.flash.find(lpn);
        if found.sequence() != before.sequence() {
            self.host.find(lpn, &before, &found);
        }
    }

    /// Holds what is known of the mapping against a rebuild of all of it.
    fn check_rebuild(&mut self, time_ns: u64) {
        let mapping = self.flash.rebuild();
        for (lpn, sequence) in mapping {
            let known = self.host.sequence(lpn).unwrap_or_else(|| self.flash.find(lpn).sequence());
            if known != sequence && self.failure.is_none() {
                let detail = format!(
                    "a rebuild at {time_ns} ns finds sequence {sequence} of page {lpn}, where {known} was expected"
                );
                self.failure = Some(RunError::Verify { number: self.requests, detail });
            }
        }
    }

    /// The run is over, at `end_ns`, and everything recorded was taken. Returns the outcomes of all cuts, by time.
    pub fn finish(mut self, end_ns: u64) -> Result<Vec<Outcome>, CutError> {
        self.advance(end_ns.saturating_add(1));
        if let Some(failure) = self.failure {
            return Err(CutError::Verify(failure));
        }
        let instead = self.host.outcome(end_ns);
        self.plan.finish(instead).map_err(|time_ns| CutError::Beyond { time_ns })
    }
}
