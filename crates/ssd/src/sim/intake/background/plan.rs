//! The steps that a function outside the engine wishes. It sees all units, and is asked when its last answer holds no more.

use super::Intake;
use crate::content::Content;
use crate::external::{Idle, Steps};
use crate::nand::TimePath;
use crate::task::{Background, Candidate, Standing, Urgency, Wish};

impl<A: TimePath, C: Content> Intake<A, C> {
    /// Brings the plan of all units up to date.
    pub(super) fn plan(&mut self) {
        if !self.background.policies.as_ref().is_some_and(Background::is_external) {
            return;
        }
        if let Some(mut standing) = self.background.standing.take()
            && !self.is_asked(&mut standing)
        {
            self.background.plan.retain(|step| standing.is_ready(step.0));
            self.background.standing = Some(standing);
            return;
        }
        let answer = self.ask_function();
        let urgency = |should| if should { Urgency::Should } else { Urgency::Idle };
        let steps = answer.steps.iter().map(|step| (step.unit, step.work, urgency(step.should)));
        self.background.plan.clear();
        self.background.plan.extend(steps);
        if let Some(mut standing) = Standing::new(&answer) {
            self.is_asked(&mut standing);
            self.background.plan.retain(|step| standing.is_ready(step.0));
            self.background.standing = Some(standing);
        } else if let Some(time_ns) = answer.ask_again_ns.filter(|time_ns| *time_ns > self.array.now_ns()) {
            self.background.heed(Wish::NotBefore(time_ns));
        }
    }

    /// True if the function is to be asked though its answer stood; notes when to look again.
    fn is_asked(&mut self, standing: &mut Standing) -> bool {
        let candidate = |unit| Candidate {
            idle_since_ns: self.free_of_host_since_ns(unit),
            spare_blocks: self.core.ftl.spare_blocks(unit),
            under_way: self.core.ftl.is_collecting(unit),
        };
        let look = standing.look(self.array.now_ns(), (0..self.core.mapped_units()).map(candidate));
        if let Some(due_ns) = look.due_ns.filter(|_| !look.asks) {
            self.background.heed(Wish::NotBefore(due_ns));
        }
        look.asks
    }

    /// The answer to the present view of all units.
    fn ask_function(&self) -> Steps {
        let Some(policies) = &self.background.policies else { return Steps::default() };
        let units = || 0..self.core.mapped_units();
        let makes = |work| self.core.ftl.makes(work);
        policies.plan(makes, |view: &mut Idle| {
            view.now_ns = self.array.now_ns();
            view.idle_since_ns.clear();
            view.idle_since_ns.extend(units().map(|unit| self.free_of_host_since_ns(unit)));
            view.dirty_pages.clear();
            view.dirty_pages.extend(units().map(|unit| self.dirty_pages(unit)));
            view.spare_blocks.clear();
            view.spare_blocks.extend(units().map(|unit| self.core.ftl.spare_blocks(unit)));
            view.under_way.clear();
            view.under_way.extend(units().map(|unit| self.core.ftl.is_collecting(unit)));
        })
    }

    /// Since when the dies that are busy when a unit is have done nothing for the host, ns: steps of their own aside.
    fn free_of_host_since_ns(&self, unit: u32) -> Option<u64> {
        let since_ns = |die: u32| self.background.dies.get(die as usize)?.idle_since_ns;
        let latest = |latest: u64, die: u32| Some(latest.max(since_ns(die)?));
        if self.stations.are_managed() {
            return self.stations.dies_of(self.stations.station_of(unit)).try_fold(0, latest);
        }
        let (dies, _) = self.background.crews.get(self.crew_of(unit))?;
        dies.iter().copied().try_fold(0, latest)
    }

    /// The number of the crew that makes the steps of a unit.
    fn crew_of(&self, unit: u32) -> usize {
        let crews = &self.background.crews;
        crews.partition_point(|(_, units)| units.end <= unit)
    }
}
