//! Preconditioning: brings a drive into the state in which a run starts, in steps, so that the caller can show progress.

use flashweir_trace::Request;

use crate::config::Precondition;
use crate::error::{Amplification, RunError};
use crate::sim::Simulation;
use crate::stats::Counters;

/// Pages that one step of filling writes.
const STEP_PAGES: u64 = 1 << 18;
/// Windows of one capacity after which steady state is given up.
const MAX_CAPACITIES: u64 = 200;
/// The same of each longer window: of a drive with fewer than [`LONG_PAGES`] pages a capacity says little.
const MAX_LONGER: u64 = 16;
/// Pages of a window from which on chance moves write amplification by less than [`STEADY`].
const LONG_PAGES: u64 = 1 << 16;
/// Relative difference between successive windows that counts as steady.
const STEADY: f64 = 0.005;

/// Requests without a page written after which there will never be one.
const MAX_IDLE: u64 = 1 << 18;

/// Next step for the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Call again.
    Again,
    /// Call [`Preconditioner::overwrite`] with the next requests of the workload's address stream.
    NeedsRequests,
    /// The drive is ready.
    Done,
}

/// Brings a drive into its starting state.
#[derive(Clone, Debug)]
pub struct Preconditioner {
    state: Precondition,
    filled: u64,
    pages: u64,
    /// Counters at the start of the current window of one capacity.
    window: Counters,
    windows: u64,
    /// Capacities of a window: twice as many when none of so many is steady.
    span: u64,
    /// Capacities written in shorter windows.
    earlier: u64,
    /// Requests since the last one that wrote.
    idle: u64,
    last: f64,
    done: bool,
}

impl Preconditioner {
    /// For a new drive of `pages` logical pages.
    pub fn new(state: Precondition, pages: u64) -> Self {
        let done = matches!(state, Precondition::Empty | Precondition::OnRead);
        let (window, last) = (Counters::default(), f64::INFINITY);
        Self { state, filled: 0, pages, window, windows: 0, span: 1, earlier: 0, idle: 0, last, done }
    }

    /// Logical pages written so far.
    pub fn written(&self, simulation: &Simulation) -> u64 {
        simulation.counters().host_pages_written
    }

    /// Fills the next part of the drive, or says what is needed.
    pub fn step(&mut self, simulation: &mut Simulation) -> Result<Step, RunError> {
        if self.done {
            return Ok(Step::Done);
        }
        if self.filled < self.pages {
            let end = (self.filled + STEP_PAGES).min(self.pages);
            simulation.fill(self.filled..end)?;
            self.filled = end;
            if end == self.pages {
                self.window = simulation.counters();
                self.done = self.state == Precondition::Full;
            }
            return Ok(Step::Again);
        }
        Ok(Step::NeedsRequests)
    }

    /// Overwrites the drive with requests; `everything`: reads count as writes. Finds out whether it is steady.
    pub fn overwrite(
        &mut self,
        simulation: &mut Simulation,
        requests: &[Request],
        everything: bool,
    ) -> Result<(), RunError> {
        let before = simulation.counters().host_pages_written;
        simulation.overwrite(requests, everything)?;
        let now = simulation.counters();
        self.idle = if now.host_pages_written > before { 0 } else { self.idle + requests.len() as u64 };
        if self.idle >= MAX_IDLE || requests.is_empty() {
            return Err(RunError::NothingWritten { requests: self.idle });
        }
        let written = now.host_pages_written - self.window.host_pages_written;
        if written < self.pages * self.span {
            return Ok(());
        }
        let programs = now.flash().programs - self.window.flash().programs;
        let geometry = simulation.geometry();
        let per_page = f64::from(geometry.units_per_page) / f64::from(geometry.mapped_pages);
        let amplification = per_page * programs as f64 / written as f64;
        self.windows += 1;
        self.window = now;
        let settled = (amplification - self.last).abs() < STEADY * self.last;
        let most = if self.span == 1 { MAX_CAPACITIES } else { MAX_LONGER };
        if self.windows >= 2 && settled {
            self.done = true;
        } else if self.windows >= most && self.pages * self.span < LONG_PAGES {
            self.earlier = self.capacities();
            (self.span, self.windows) = (2 * self.span, 0);
        } else if self.windows >= most {
            return Err(RunError::Unsteady {
                capacities: self.capacities(),
                last: Amplification(amplification),
                before: Amplification(self.last),
            });
        }
        self.last = amplification;
        Ok(())
    }

    /// Capacities written in the search for steady state.
    pub fn capacities(&self) -> u64 {
        self.earlier + self.windows * self.span
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::layers::{Layer, resolve};
    use crate::sim::Options;
    use flashweir_trace::Op;

    /// Overwrites a drive by turns in order and here and there, a capacity each.
    fn by_turns(pages: u64) -> Result<u64, RunError> {
        let capacity = (pages * 4096).to_string();
        let settings = [("channels", "1"), ("capacity", capacity.as_str()), ("op_ratio", "0.3")];
        let config = resolve(&[Layer::from_assignments("test", settings)]).expect("a legal drive");
        let mut simulation = Simulation::new(&config, Options::default()).expect("a drive");
        let mut state = Preconditioner::new(Precondition::Steady, pages);
        let mut count = 0;
        loop {
            match state.step(&mut simulation)? {
                Step::Done => return Ok(state.capacities()),
                Step::Again => continue,
                Step::NeedsRequests => {}
            }
            let batch: Vec<_> = (count..count + 64)
                .map(|at| {
                    let scattered = (at * 7919 + at / pages * 31) % pages / 3;
                    let page = if (at / pages).is_multiple_of(2) { at % pages } else { scattered };
                    Request { time_ns: 0, lba: page * 8, sectors: 8, stream: 0, op: Op::Write, handle: 0 }
                })
                .collect();
            count += 64;
            state.overwrite(&mut simulation, &batch, false)?;
        }
    }

    #[test]
    fn of_a_small_drive_longer_windows_are_compared() {
        // Capacities differ by turns, and pairs of them do not.
        let capacities = by_turns(1024).expect("steady over two capacities");
        assert!((MAX_CAPACITIES + 4..=MAX_CAPACITIES + 2 * MAX_LONGER).contains(&capacities), "{capacities}");
    }
}
