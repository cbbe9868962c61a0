//! The run loop. [`Simulation`] is a drive and its host; the caller feeds it requests in slices of any size, so that it can
//! show progress and stop, and asks for the statistics at the end. The result does not depend on the slices.

mod build;
mod goes_on;
mod intake;
mod ledger;
mod state;
mod untimed;
mod view;
mod windows;

use std::ops::Range;

use flashweir_trace::{Op, Request};

use crate::config::Config;
use crate::content::{Baseline, Observers, Unchecked};
use crate::core::Broken;
use crate::error::{ConfigError, RunError};
use crate::external::{External, Policies};
use crate::ftl::{FtlConfig, Wear};
use crate::geometry::Geometry;
use crate::host::Arbiter;
use crate::nand::DieWorkTimes;
use crate::nand::die_use::DieUse;
use crate::nand::probe::{Off, Recorded, Recorder};
use crate::op::LevelEntry;
use crate::stats::{Completion, Counters, LatencyParts, Stats, Times};
use crate::tenants::Allocation;

use build::{build, check_tenants, check_versions, levels_of};
use ledger::Ledger;
pub use state::StateReader;
use untimed::State;
use windows::Windows;
pub use windows::{Allocations, Allocator, Level, Tried, Window};

/// In a closed loop a request enters when there is a place, whichever it is.
const WHICHEVER: Request = Request { time_ns: 0, lba: 0, sectors: 0, stream: 0, op: Op::Flush, handle: 0 };

/// Options of a run, apart from the drive and the workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a thing of its own that a run may do or not")]
pub struct Options {
    /// Seed of the drive's own randomness (random victims).
    pub seed: u64,
    /// Check every read against the last write, and the rules of the array.
    pub verify: bool,
    /// Keep records of commands and requests for [`Simulation::take_recorded`].
    pub record: bool,
    /// Add up the time of each die by kind of work (see [`Simulation::die_use`]); without memory that grows, unlike `record`.
    pub die_use: bool,
    /// Keep account of where latencies go (see [`Stats::parts`]).
    pub latency_parts: bool,
    /// Keep a journal of what is on flash at any time (see [`Simulation::begin_journal`]). Implies `record`.
    pub journal: bool,
    /// Number of tenants: with `tenants.channels`, requests have streams below that.
    pub tenants: u16,
    /// Keep what was in each window of requests and what it was given (see [`Simulation::allocations`]).
    pub windows: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            seed: 0,
            verify: false,
            record: false,
            die_use: false,
            latency_parts: false,
            journal: false,
            tenants: 1,
            windows: false,
        }
    }
}

/// A drive with its host: one of the time paths, with or without probe and checks.
trait Drive: Send {
    /// Gives policies outside the engine their functions.
    fn attach(&mut self, external: &External);
    /// From now on follows another value of [`crate::config::keys::LIVE`].
    fn change(&mut self, config: &Config);
    /// When the next event happens, ns; `None` where times are worked out at once.
    fn next_event_ns(&self) -> Option<u64>;
    fn serve(&mut self, requests: &[Request]) -> Result<(), RunError>;
    /// Lets all requests complete.
    fn complete(&mut self) -> Result<(), RunError>;
    /// The same, then drains the buffer and lets all commands end. Idempotent.
    fn finish(&mut self) -> Result<(), RunError>;
    /// In a closed loop with rate limits: advances until there is a place for a request. Returns the tenants, of those with a
    /// request (`has_next`, by stream), whose request passes its limit first.
    fn first_to_pass(&mut self, has_next: &[bool]) -> Result<Option<Vec<bool>>, RunError>;
    /// Pages that wait in the write buffer.
    fn buffered_pages(&self) -> u64;
    /// From now on the buffer outlives a loss of power, or does not.
    fn protect_buffer(&mut self, is_on: bool);
    fn protects_buffer(&self) -> bool;
    fn enter(&mut self, request: &Request) -> Result<u64, RunError>;
    /// Lets the next thing happen that is due by `limit_ns`. False if there was nothing. A request that completes at once when it
    /// enters is a thing of its own: time does not move on.
    fn proceed_by(&mut self, limit_ns: u64) -> Result<bool, RunError>;
    fn ledger_mut(&mut self) -> &mut Ledger;
    fn keep_parts(&mut self);
    fn times(&self) -> Times;
    fn state(&self) -> &dyn State;
    fn state_mut(&mut self) -> &mut dyn State;
    fn stats(&self) -> Stats;
    fn take_recorded(&mut self) -> Recorded;
    /// Time of each die by kind of work.
    fn die_use(&mut self) -> Vec<DieWorkTimes>;
    /// From now on pages of tenants go to these channels.
    fn allocate(&mut self, _: &Allocation) {}
    /// Pages that wait may go to other channels than before: those that are idle take them.
    fn resume(&mut self) -> Result<(), RunError> {
        Ok(())
    }
    /// Blocks of flash break. Returns the sectors that are lost.
    fn break_blocks(&mut self, broken: &Broken) -> Vec<Range<u64>>;
    fn snapshot(&mut self) -> Box<dyn Drive>;
    /// The host becomes one of open arrivals (see [`Simulation::open_arrivals`]).
    fn open_arrivals(&mut self, config: &Config);
    /// The complete state, to be saved.
    fn saved(&self) -> &dyn erased_serde::Serialize;
    /// Replaces the state by a saved one.
    fn restore(&mut self, from: &mut StateReader<'_>) -> Result<(), postcard::Error>;
}

/// A simulated drive and its host.
pub struct Simulation {
    drive: Box<dyn Drive>,
    /// Says whose request comes next in a closed loop, if anyone does.
    arbiter: Option<Arbiter>,
    /// True if that depends on what the drive did so far.
    arbitrates_late: bool,
    /// Windows of requests, with `tenants.channels`.
    windows: Option<Box<Windows>>,
    external: External,
}

impl Simulation {
    /// A new drive, nothing written. The configuration must come from [`crate::config::layers::resolve`], which checks it.
    pub fn new(config: &Config, options: Options) -> Result<Self, ConfigError> {
        crate::config::refusals::check(config)?;
        check_tenants(config, options.tenants)?;
        if options.verify {
            check_versions(&Geometry::new(config)?)?;
        }
        let Options { verify, journal, .. } = options;
        let in_order = !matches!(config.ftl, FtlConfig::Direct(_));
        let record = options.record || journal || (options.die_use && verify);
        let drive = if verify || record {
            let levels = record.then(|| levels_of(config)).transpose()?.flatten();
            let content =
                |geometry: &Geometry| Observers::new(geometry, verify, journal, in_order).with_levels(levels);
            if record {
                build(config, options, content, Recorder::default())?
            } else {
                build(config, options, content, Off)?
            }
        } else if options.die_use {
            build(config, options, |_| Unchecked, DieUse::default())?
        } else {
            build(config, options, |_| Unchecked, Off)?
        };
        let mut drive = drive;
        let windows = config.tenants.are_on().then(|| {
            let mut windows = Windows::new(config, options.tenants, options.windows);
            windows.start(drive.as_mut());
            Box::new(windows)
        });
        let mut simulation = Self {
            drive,
            windows,
            arbiter: config.host.arbiter_of_closed_loop(),
            arbitrates_late: config.host.arbitrates_late(),
            external: External::default(),
        };
        if options.latency_parts {
            simulation.drive.ledger_mut().parts = Some(LatencyParts::default());
            simulation.drive.keep_parts();
        }
        Ok(simulation)
    }

    /// Serves requests, in order. Times of an open loop must not go back.
    pub fn serve(&mut self, requests: &[Request]) -> Result<(), RunError> {
        let outcome = match &mut self.windows {
            None => self.drive.serve(requests),
            Some(windows) => windows.serve(self.drive.as_mut(), requests),
        };
        self.checked(outcome)
    }

    /// An outcome, or the failure of a policy outside the engine, which comes before all that it led to.
    fn checked<T>(&self, outcome: Result<T, RunError>) -> Result<T, RunError> {
        self.external.failure().map_or(outcome, Err)
    }

    /// Gives the run the functions of its policies outside the engine. They stay when a state is restored.
    pub fn set_policies(&mut self, policies: Policies) {
        self.external = External::new(policies);
        self.drive.attach(&self.external);
    }

    /// From now on follows a configuration that differs in keys of [`crate::config::keys::LIVE`] only.
    pub fn change(&mut self, config: &Config) {
        self.drive.change(config);
    }

    /// When the next event happens, ns, if any does without another request.
    pub fn next_event_ns(&self) -> Option<u64> {
        self.drive.next_event_ns()
    }

    /// True if the host of a closed loop decides whose request comes next: the caller then calls
    /// [`Simulation::next_stream`] before each request, and serves that one.
    pub fn arbitrates(&self) -> bool {
        self.arbiter.is_some()
    }

    /// True if [`Simulation::next_stream`] depends on the drive's work for the requests before: each must then be
    /// served before the next call. Otherwise it may be called ahead.
    pub fn arbitrates_late(&self) -> bool {
        self.arbitrates_late
    }

    /// Whose request comes next, of the streams that have one (`has_next`, by stream); `None` if none has, or nobody arbitrates.
    pub fn next_stream(&mut self, has_next: &[bool]) -> Result<Option<u16>, RunError> {
        let Some(arbiter) = &mut self.arbiter else { return Ok(None) };
        let mut drive: &mut dyn Drive = self.drive.as_mut();
        if let Some(windows) = self.windows.as_mut().filter(|windows| windows.has_scout()) {
            drive = windows.scout(drive)?;
        }
        let mut first = None;
        if has_next.contains(&true) {
            first = drive.first_to_pass(has_next)?;
            if first.is_none() && arbiter.heeds_flash_time() {
                let entered = drive.enter(&WHICHEVER);
                self.external.failure().map_or(entered, Err)?;
            }
        }
        let flash_time = drive.state().flash_time();
        for (stream, has_next) in first.as_deref().unwrap_or(has_next).iter().enumerate() {
            arbiter.set_waiting(stream, *has_next, flash_time);
        }
        Ok(arbiter.pick(flash_time).map(|stream| stream as u16))
    }

    /// Lets all requests complete, then writes to flash what the write buffer still holds ([`Stats::drain`]). To be called once,
    /// after the last request.
    pub fn finish(&mut self) -> Result<(), RunError> {
        if let Some(windows) = &mut self.windows {
            let outcome = windows.finish(self.drive.as_mut());
            self.checked(outcome)?;
        }
        let outcome = self.drive.finish();
        self.checked(outcome)
    }

    /// Lets everything happen that comes before `next` can enter, which is to be served after that. Returns when it enters, ns.
    pub fn enter(&mut self, next: &Request) -> Result<u64, RunError> {
        let outcome = self.drive.enter(next);
        self.checked(outcome)
    }

    /// Lets the next event happen if it is due by `limit_ns`, ns; with open arrivals only. Returns false if none is, as always where
    /// times are worked out at once. Requests that arrive at the present instant must have been served: those that wait for a slot
    /// enter before time moves on. A completion of the present is reported before time moves on (see
    /// [`Simulation::keep_completions`]).
    pub fn proceed_by(&mut self, limit_ns: u64) -> Result<bool, RunError> {
        let outcome = self.drive.proceed_by(limit_ns);
        self.checked(outcome)
    }

    /// Lets everything happen that is due by `time_ns`, ns, which is the present from then on; with open arrivals only. No later
    /// request may arrive before that. Requests served in any slices of time complete as those served at once. Idempotent.
    pub fn advance_to(&mut self, time_ns: u64) -> Result<(), RunError> {
        self.enter(&Request { time_ns, ..WHICHEVER }).map(drop)
    }

    /// Times of dies and buses so far: of all commands made yet on the busy-until path, of what has run yet on events.
    pub fn times(&self) -> Times {
        self.drive.times()
    }

    /// Keeps completions from now on for [`Simulation::take_completions`]. Their latencies are the caller's to count, and not
    /// in the statistics.
    pub fn keep_completions(&mut self) {
        self.drive.ledger_mut().completions.get_or_insert_default();
    }

    /// Replaces the content of `into` by the requests that ended since the last call.
    pub fn take_completions(&mut self, into: &mut Vec<Completion>) {
        self.drive.ledger_mut().take_completions(into);
    }

    /// Writes logical pages, untimed and uncounted.
    pub fn fill(&mut self, pages: Range<u64>) -> Result<(), RunError> {
        let outcome = self.drive.state_mut().fill(pages);
        self.checked(outcome)
    }

    /// Applies the writes and TRIMs of requests, untimed, counting pages only. `everything`: reads count as writes.
    pub fn overwrite(&mut self, requests: &[Request], everything: bool) -> Result<(), RunError> {
        let outcome = self.drive.state_mut().overwrite(requests, everything);
        self.checked(outcome)
    }

    /// Forgets what preconditioning counted. The drive's state, its wear included, stays.
    pub fn end_of_preconditioning(&mut self) {
        self.drive.state_mut().forget_counts();
    }

    /// Counters so far.
    pub fn counters(&self) -> Counters {
        self.drive.state().counters().clone()
    }

    /// Pages that wait in the write buffer: written by the host, and not yet programmed.
    pub fn buffered_pages(&self) -> u64 {
        self.drive.buffered_pages()
    }

    /// True if what is in the write buffer outlives a loss of power (`buffer.protected`): a flush then waits for nothing.
    pub fn protects_buffer(&self) -> bool {
        self.drive.protects_buffer()
    }

    /// From now on a flush waits as if the write buffer were protected, or were not: its capacitors empty it when power fails.
    pub fn protect_buffer(&mut self, is_on: bool) {
        self.drive.protect_buffer(is_on);
    }

    /// The drive's shape.
    pub fn geometry(&self) -> &Geometry {
        self.drive.state().geometry()
    }

    /// Statistics of the run. Complete after [`Simulation::finish`].
    pub fn stats(&self) -> Stats {
        self.drive.stats()
    }

    /// Erase counts since the drive was new.
    pub fn wear(&self) -> Wear {
        self.drive.state().wear()
    }

    /// Erased blocks of a channel, those held back included, as the translation layer counts them: from when a command
    /// is made, not from when it is done.
    pub fn free_blocks(&self, channel: u32) -> u64 {
        self.drive.state().free_blocks(channel)
    }

    /// From now on, what commands do to the flash and what the host changes is recorded as [`Recorded::pages`] and
    /// [`Recorded::host`], if [`Options::journal`] was given. Returns what is on flash at this point. Of a drive that was restored, no
    /// request may be outstanding and no page in the write buffer.
    pub fn begin_journal(&mut self) -> Baseline {
        self.drive.state_mut().begin_journal()
    }

    /// From now on, levels are recorded as [`Recorded::levels`]. Returns those of superblocks; the SLC cache is empty before a run.
    pub fn begin_levels(&mut self) -> Vec<LevelEntry> {
        self.drive.state_mut().begin_levels()
    }

    /// Records since the last call (see [`Options::record`]).
    pub fn take_recorded(&mut self) -> Recorded {
        self.drive.take_recorded()
    }

    /// Pages that went to another group's channels because those of their own had no room.
    pub fn spilled_pages(&self) -> u64 {
        self.drive.state().spilled()
    }
}
