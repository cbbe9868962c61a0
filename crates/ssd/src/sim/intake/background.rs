//! The background of a drive: asks its policies about units that have nothing to do, and makes the steps that they wish.
//!
//! Whoever has something to do is asked about first: this comes last of all that happens at an instant. Managed channels ask
//! when a station is idle (`stations/collect.rs`); all others here, one step of a die at a time. Nothing is begun any more once
//! the last request has come, so that a run ends with its requests.

mod held;
mod plan;

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use super::Intake;
use super::stations::TASK_TAG;
use super::steps::Running;
use crate::config::Config;
use crate::content::Content;
use crate::core::Crew;
use crate::error::RunError;
use crate::external::External;
use crate::nand::{Probe, TimePath};
use crate::op::Work;
use crate::task::{self, BufferView, Leaving, Standing, Urgency, View, Wish};

/// The background's view of a die.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Watch {
    /// Commands that it was handed, those of the background included.
    handed: u64,
    /// Since when it has had none of anybody else, ns, as far as was seen.
    idle_since_ns: Option<u64>,
    /// It makes a step of the background.
    is_stepping: bool,
}

/// Policies, and what they have begun.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Background {
    /// `None` if there is none, or the last request has come.
    policies: Option<task::Background>,
    dies: Vec<Watch>,
    crews: Vec<Crew>,
    /// When to ask again though nothing happens, ns.
    due_ns: Option<u64>,
    /// Number before which entries of the buffer are to leave it now.
    destages_before: Option<u64>,
    /// Steps that a function outside the engine wishes of all units.
    plan: Vec<(u32, Work, Urgency)>,
    /// Sets of dies that must collect before a page of the buffer goes to them, and one that has no step to make.
    held: Vec<u32>,
    stepless: Option<u32>,
    /// Sets of dies that have made such steps since they last took a page.
    begun: Vec<u32>,
    /// The answer with these steps, if it stands when its view changes.
    standing: Option<Standing>,
    /// Steps in progress that are recorded.
    #[serde(skip)]
    pub(super) running: Running,
}

impl Background {
    pub(super) fn new(config: &Config, dies: u32, crews: impl Iterator<Item = Crew>) -> Self {
        let policies =
            task::Background::new(&config.background, &config.buffer.destage, config.slc.fold_after);
        let dies = if policies.is_some() { dies } else { 0 };
        let crews = if policies.is_some() { crews.collect() } else { Vec::new() };
        Self {
            crews,
            due_ns: policies.as_ref().map(|_| 0),
            policies,
            dies: vec![Watch::default(); dies as usize],
            destages_before: None,
            plan: Vec::new(),
            held: Vec::new(),
            stepless: None,
            begun: Vec::new(),
            standing: None,
            running: Running::default(),
        }
    }

    /// Gives policies outside the engine their functions.
    pub(super) fn attach(&mut self, external: &External) {
        if let Some(policies) = &mut self.policies {
            policies.attach(external);
        }
    }

    /// From now on works ahead as these settings say, if it did anything before.
    pub(super) fn change(&mut self, config: &Config, now_ns: u64) {
        if let Some(policies) = &mut self.policies {
            policies.change(&config.background, &config.buffer.destage);
            self.standing = None;
            self.due_ns = Some(now_ns);
        }
    }

    /// True if there are policies for background work.
    #[inline]
    pub(super) fn is_on(&self) -> bool {
        self.policies.is_some()
    }

    /// When to ask again though nothing happens, ns.
    #[inline]
    pub(super) fn due_ns(&self) -> Option<u64> {
        self.due_ns
    }

    /// Something changes at the present: the background is asked when all of this instant has happened.
    #[inline]
    pub(super) fn wake(&mut self, now_ns: u64) {
        if self.policies.is_some() {
            self.due_ns = Some(now_ns);
        }
    }

    /// True if pages of the buffer are to leave it now.
    #[inline]
    pub(super) fn destages(&self) -> bool {
        self.destages_before.is_some()
    }

    /// Number before which entries of the buffer are to leave it now.
    pub(super) fn destages_before(&self) -> Option<u64> {
        self.destages_before
    }

    /// Pages have left the buffer as far as they can now.
    pub(super) fn end_of_destage(&mut self) {
        self.destages_before = None;
    }

    /// The last request has come.
    pub(super) fn end(&mut self) {
        (self.policies, self.due_ns, self.destages_before) = (None, None, None);
        self.plan.clear();
        self.standing = None;
    }

    /// A die has made its part of a step.
    pub(super) fn step_done(&mut self, die: u32) {
        self.dies[die as usize].is_stepping = false;
    }

    /// True if a unit may have a step to make.
    pub(super) fn may_step(&self) -> bool {
        let Some(policies) = &self.policies else { return false };
        let plans_nothing = policies.is_of_plan_alone() && self.plan.is_empty();
        policies.is_of_units() && (!plans_nothing || !self.held.is_empty())
    }

    /// The steps wished of a unit, the most urgent first; notes when to ask again.
    pub(super) fn steps(&mut self, unit: u32, view: &View) -> impl Iterator<Item = (Work, Urgency)> + use<> {
        let policies = self.policies.as_ref();
        let folds = policies.map(|policies| (Work::Fold, policies.fold_wish(view)));
        let refreshes = policies.map(|policies| (Work::Refresh, policies.refresh_wish(view)));
        let rules = self.policies.as_mut().filter(|policies| !policies.is_external());
        let wishes = rules.map(|policies| policies.wishes(unit, view));
        let is_idle = view.idle_since_ns.is_some();
        let planned = self.plan.iter().filter(|step| step.0 == unit && (is_idle || step.2 > Urgency::Idle));
        let mut steps: Vec<(Work, Urgency)> = planned.map(|step| (step.1, step.2)).collect();
        for (work, wish) in wishes.into_iter().flatten().chain(refreshes).chain(folds) {
            if let Some(urgency) = self.heed(wish) {
                steps.push((work, urgency));
            }
        }
        if self.held.contains(&unit) {
            steps.push((Work::Collect, Urgency::Must));
        }
        steps.sort_by_key(|(_, urgency)| Reverse(*urgency));
        steps.into_iter()
    }

    /// The urgency of a step, if one is wished now.
    fn heed(&mut self, wish: Wish) -> Option<Urgency> {
        match wish {
            Wish::Nothing => None,
            Wish::Step(urgency) => Some(urgency),
            Wish::NotBefore(time_ns) => {
                self.due_ns = Some(self.due_ns.map_or(time_ns, |due_ns| due_ns.min(time_ns)));
                None
            }
        }
    }
}

impl<A: TimePath, C: Content> Intake<A, C> {
    /// True if something happens by then: in the array, or because the background policies decide, which they do when
    /// all of an instant has happened.
    #[inline]
    pub(super) fn is_due_by(&self, time_ns: u64) -> bool {
        self.array.next_ns().is_some_and(|next| next <= time_ns)
            || self.background.due_ns().is_some_and(|due| due < time_ns)
    }

    /// True if the background policies decide next, before anything happens in the array.
    #[inline]
    pub(super) fn background_is_next(&self) -> bool {
        let Some(due) = self.background.due_ns() else { return false };
        self.array.next_ns().is_none_or(|next| next > due)
    }

    /// Sees which dies are idle, and whether the buffer is to be destaged. All that is wished before is forgotten.
    pub(super) fn look_around(&mut self) {
        let now = self.array.now_ns();
        self.background.due_ns = None;
        while let Some(die) = self.array.next_changed_die() {
            let Some(watch) = self.background.dies.get_mut(die as usize) else { continue };
            let handed = self.array.handed(die);
            if handed != watch.handed {
                (watch.handed, watch.idle_since_ns) = (handed, None);
            }
            if watch.idle_since_ns.is_none() && self.array.die_is_idle(die, now) {
                watch.idle_since_ns = Some(now);
            }
        }
        self.look_at_buffer();
        self.plan();
    }

    /// Asks if pages are to leave the buffer.
    fn look_at_buffer(&mut self) {
        if !self.background.policies.as_ref().is_some_and(task::Background::destages_ahead) {
            self.background.destages_before = None;
            return;
        }
        let idle_since_ns = self.idle_since_ns(0..self.core.geometry.total_dies());
        let Some(buffer) = &mut self.buffer else { return };
        let Some(policies) = self.background.policies.as_mut().filter(|_| self.is_buffered) else { return };
        let view = BufferView {
            now_ns: self.array.now_ns(),
            idle_since_ns,
            entries: buffer.all_waiting(),
            waiting: buffer.waiting_pages(),
            pages: buffer.pages(),
            oldest_ns: buffer.oldest_ns(),
        };
        let (wish, leaving) = policies.destages(&view);
        let now = self.background.heed(wish).is_some();
        self.background.destages_before = now.then(|| match leaving {
            Leaving::All => u64::MAX,
            Leaving::Since(time_ns) => buffer.let_leave(time_ns),
        });
    }

    /// Pages of a unit that wait in the write buffer; all that may go to it where a page has no unit before it is written.
    pub(super) fn dirty_pages(&self, unit: u32) -> u32 {
        if self.core.shares_map {
            return self.waiting_late(unit);
        }
        self.buffer.as_ref().map_or(0, |buffer| buffer.waiting(unit))
    }

    /// Since when dies have all been idle, ns.
    pub(super) fn idle_since_ns(&self, dies: impl IntoIterator<Item = u32>) -> Option<u64> {
        let now = self.array.now_ns();
        let since_ns = |die: u32| {
            let watch = self.background.dies.get(die as usize)?;
            watch.idle_since_ns.filter(|_| self.array.die_is_idle(die, now))
        };
        dies.into_iter().map(since_ns).try_fold(0, |latest, since_ns| Some(latest.max(since_ns?)))
    }

    /// Commands of the background that dies were handed are nobody else's.
    pub(super) fn own_commands(&mut self, dies: impl IntoIterator<Item = u32>) {
        for die in dies {
            if let Some(watch) = self.background.dies.get_mut(die as usize) {
                watch.handed = self.array.handed(die);
            }
        }
    }

    /// Commands of the background that the dies of a station were handed are nobody else's.
    pub(super) fn own_station(&mut self, station: u32) {
        let dies: Vec<u32> = self.stations.dies_of(station).collect();
        self.own_commands(dies);
    }

    /// The background is to be asked, though nothing has happened.
    #[cold]
    pub(super) fn ask_again(&mut self) -> Result<(), RunError> {
        let due_ns = self.background.due_ns().unwrap_or(0);
        self.array.set_now_ns(due_ns.max(self.array.now_ns()));
        if self.stations.are_managed() { self.decide_ahead() } else { self.ask_background() }
    }

    /// Everything else of this instant has happened: asks about all dies that make no step yet.
    #[cold]
    pub(super) fn ask_background(&mut self) -> Result<(), RunError> {
        self.look_around();
        if self.background.may_step() {
            let crews = std::mem::take(&mut self.background.crews);
            let asked = crews.iter().try_for_each(|crew| self.ask_about(crew));
            self.background.crews = crews;
            asked?;
        }
        self.let_held_go()?;
        if let Some(limit) = self.background.destages_before.take() {
            self.pump_before(limit, true)?;
            self.own_commands(0..self.core.geometry.total_dies());
        }
        Ok(())
    }

    /// Asks about dies that make their steps together, unless they make one: the first unit that has one makes it.
    fn ask_about(&mut self, (dies, units): &Crew) -> Result<(), RunError> {
        if dies.iter().any(|die| self.background.dies[*die as usize].is_stepping) {
            return Ok(());
        }
        for unit in units.clone() {
            if self.step_ahead(dies, unit)? {
                break;
            }
        }
        Ok(())
    }

    /// Makes the step that is wished most of a unit, if there is any to make.
    fn step_ahead(&mut self, dies: &[u32], unit: u32) -> Result<bool, RunError> {
        let (can_step, foldable) = (self.core.ftl.can_step_ahead(unit), self.core.ftl.foldable(unit));
        if !can_step && foldable == 0 && !self.background.held.contains(&unit) {
            return Ok(false);
        }
        let now = self.array.now_ns();
        let view = View {
            now_ns: now,
            idle_since_ns: self.idle_since_ns(dies.iter().copied()),
            dirty_pages: self.dirty_pages(unit),
            spare_blocks: self.core.ftl.spare_blocks(unit),
            under_way: self.core.ftl.is_collecting(unit),
            foldable,
            written: self.core.written(unit),
            refresh_ns: self.core.refresh_ns(unit),
            ..View::default()
        };
        for (work, urgency) in self.background.steps(unit, &view) {
            let merges = self.core.counters.merges.full;
            let takes_kept = urgency == Urgency::Must || work == Work::Fold;
            if !can_step && !takes_kept || !self.make_step(unit, work, urgency)? {
                continue;
            }
            while urgency == Urgency::Should && self.goes_on(unit) && self.make_step(unit, work, urgency)? {}
            self.let_go(unit, true);
            if urgency == Urgency::Must {
                self.note_begun(unit);
            }
            self.core.counters.merges.early += self.core.counters.merges.full - merges;
            for die in dies.iter().copied() {
                self.array.fence(std::iter::once(die), TASK_TAG + die);
                self.background.dies[die as usize].is_stepping = true;
            }
            if <A::Probe as Probe>::ON {
                self.background.running.begin(dies, (unit, work, urgency), now);
            }
            self.own_commands(dies.iter().copied());
            return Ok(true);
        }
        self.let_go(unit, false);
        Ok(false)
    }

    /// Makes a step of a unit, and pays for it. Returns false if there is none to make.
    fn make_step(&mut self, unit: u32, work: Work, urgency: Urgency) -> Result<bool, RunError> {
        let now = self.array.now_ns();
        let spent = self.spent();
        let made = self.core.step(now, unit, (work, urgency < Urgency::Must), &mut self.array)?.is_some();
        self.core.flush(now, &mut self.array);
        if made {
            self.pay(unit, urgency, spent);
        }
        Ok(made)
    }

    /// Pages copied and time of the flash so far, ns.
    pub(super) fn spent(&self) -> (u64, u64) {
        (self.core.counters.gc.programs, self.core.flash_time().total())
    }

    /// A unit made a step of its work before which so much was spent.
    pub(super) fn pay(&mut self, unit: u32, urgency: Urgency, before: (u64, u64)) {
        let (copies, flash_ns) = self.spent();
        if let Some(policies) = self.background.policies.as_mut().filter(|_| urgency == Urgency::Should) {
            policies.pay(unit, copies - before.0, flash_ns - before.1);
        }
    }

    /// True if a unit that has made a step between the commands of others makes another one at once.
    fn goes_on(&mut self, unit: u32) -> bool {
        let (spare_blocks, written) = (self.core.ftl.spare_blocks(unit), self.core.written(unit));
        let view = View { spare_blocks, written, ..View::default() };
        let policies = self.background.policies.as_mut();
        self.core.ftl.can_step_ahead(unit) && policies.is_some_and(|policies| policies.goes_on(unit, &view))
    }
}
