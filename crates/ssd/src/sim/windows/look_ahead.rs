//! Looking ahead: every candidate for a window is tried on a fork of the drive, and the cheapest is taken.

use super::{Held, Tried, Windows};
use crate::error::RunError;
use crate::sim::Drive;
use crate::tenants::candidates::{Candidate, candidates};
use crate::tenants::{Allocation, inputs};

impl Windows {
    /// Tries every candidate for the oldest window held back. Returns the best one, and what each cost.
    pub(super) fn best(&self, drive: &mut dyn Drive) -> Result<(Allocation, Vec<Tried>), RunError> {
        let windows: Vec<&Held> = self.held.iter().take(self.depth()).collect();
        let mut costs = Vec::new();
        let mut best: Option<(u64, Allocation)> = None;
        for candidate in self.candidates(windows[0]) {
            let cost = self.cost(drive, &windows, self.current.as_ref(), &candidate.allocation)?;
            let inputs = inputs(&self.last, self.channels, &candidate).to_vec();
            let Candidate { name, allocation, .. } = candidate;
            costs.push(Tried { name, cost_ns: cost, inputs });
            if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                best = Some((cost, allocation));
            }
        }
        let allocation = best.map(|(_, allocation)| allocation);
        let everything = || Allocation::everything(self.tenants.into(), self.channels);
        Ok((allocation.unwrap_or_else(everything), costs))
    }

    fn candidates(&self, window: &Held) -> Vec<Candidate> {
        candidates(&window.features, self.channels, self.is_hybrid(), self.config.shortest())
    }

    /// The sum of the latencies, ns, of what is in progress and of these windows, if the first is served under this allocation
    /// and the others under whatever is best for them. `before`: the allocation in force. A drive that can't go on costs more than any other.
    fn cost(
        &self,
        drive: &mut dyn Drive,
        windows: &[&Held],
        before: Option<&Allocation>,
        allocation: &Allocation,
    ) -> Result<u64, RunError> {
        let mut fork = drive.snapshot();
        // Only the fork's own: what ended before is not its doing.
        fork.ledger_mut().completions = Some(Vec::new());
        let mut allocation = allocation.clone();
        allocation.settle(&windows[0].features, self.placing, self.config.turns);
        let changes = before != Some(&allocation);
        if changes {
            fork.allocate(&allocation);
        }
        let mut completions = Vec::new();
        let mut run = |fork: &mut Box<dyn Drive>, last: bool| -> Result<u64, RunError> {
            if changes {
                fork.resume()?;
            }
            fork.serve(&windows[0].requests)?;
            if last {
                fork.complete()?;
            }
            fork.ledger_mut().take_completions(&mut completions);
            Ok(completions.iter().map(|completion| completion.latency_ns).fold(0, u64::saturating_add))
        };
        let last = windows.len() == 1;
        let cost = match run(&mut fork, last) {
            // A policy that failed stops the run itself.
            Err(RunError::NoRoom { .. } | RunError::Stuck { .. } | RunError::Policy { .. }) => {
                return Ok(u64::MAX);
            }
            other => other?,
        };
        if last {
            return Ok(cost);
        }
        let mut cheapest = u64::MAX;
        for Candidate { allocation: next, .. } in self.candidates(windows[1]) {
            cheapest = cheapest.min(self.cost(fork.as_mut(), &windows[1..], Some(&allocation), &next)?);
        }
        Ok(cost.saturating_add(cheapest))
    }
}
