//! Policies outside the engine: functions that its caller gives, asked where the call rate allows (once a collection, for
//! the units that have nothing to do; never for a flash operation).
//!
//! The contract. A function is pure: its answer depends only on its view. It is asked again when that view has changed,
//! or at the time for which it asked; a change of the time alone, or of how many pages of a unit wait as long as some do,
//! is none. Answers to views that came before are remembered. An answer that can't be carried out, or none at all, stops
//! the run with [`RunError::Policy`]. Forks of a simulation ask the same functions.

mod remembered;
mod viewed;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::RunError;
use crate::op::Work;
use remembered::Remembered;
use viewed::{Answer, Viewed};

/// A function from a view to an answer, or to the reason why there is none.
pub type Ask<V, A> = Box<dyn FnMut(&V) -> Result<A, String> + Send>;

/// The functions of a run, by slot; none where the configuration names none.
#[derive(Default)]
pub struct Policies {
    /// `gc.victim=external`: the number of the block to collect, or `None` for no block.
    pub victim: Option<Ask<Victims, Option<u32>>>,
    /// `gc.planner=external`: the units that take part, in any order.
    pub planner: Option<Ask<Units, Vec<u32>>>,
    /// `background.kind=external`: the steps to make.
    pub background: Option<Ask<Idle, Steps>>,
    /// `buffer.destage=external`.
    pub destage: Option<Ask<Buffered, Destage>>,
    /// `ftl.classifier=external`: a group for each page.
    pub classifier: Option<Ask<Writes, Vec<u32>>>,
}

/// The policies outside the engine that a configuration names: the file and function of each, which may be empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Files<'a> {
    /// Of `gc.victim=external`.
    pub victim: Option<&'a str>,
    /// Of `gc.planner=external`.
    pub planner: Option<&'a str>,
    /// Of `background.kind=external`.
    pub background: Option<&'a str>,
    /// Of `buffer.destage=external`.
    pub destage: Option<&'a str>,
    /// Of `ftl.classifier=external`.
    pub classifier: Option<&'a str>,
    /// Of `tenants.channels=external`.
    pub channels: Option<&'a str>,
}

/// The view for `gc.victim`: one unit, with the full blocks that a collection may take. Arrays have one element a block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Victims {
    /// The unit.
    pub unit: u32,
    /// Host pages written to the unit so far: the clock of `filled_at`.
    pub now: u64,
    /// Pages of a block.
    pub pages_per_block: u32,
    /// Numbers of the blocks, in no order.
    pub blocks: Vec<u32>,
    /// Their valid pages.
    pub valid: Vec<u32>,
    /// Host pages written to the unit when they were filled.
    pub filled_at: Vec<u64>,
    /// Their erases.
    pub erases: Vec<u32>,
}

/// The view for `gc.planner`. Arrays have one element a unit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Units {
    /// The unit that must collect before it can write, if the question is which units collect with it, step by step; `None`
    /// if it is which units make a step ahead when they have nothing to write.
    pub must: Option<u32>,
    /// True if the write buffer is full.
    pub buffer_full: bool,
    /// True if a unit is in mandatory collection.
    pub others_must: bool,
    /// Pages of the unit that wait in the write buffer.
    pub dirty_pages: Vec<u32>,
    /// Erased blocks that the unit may fill before it must collect.
    pub spare_blocks: Vec<u64>,
    /// True for each unit that is in the middle of a victim that was begun ahead.
    pub under_way: Vec<bool>,
}

/// The view for `background`. Arrays have one element a unit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Idle {
    /// The present, ns.
    pub now_ns: u64,
    /// Since when the unit's dies have done nothing for the host, ns; `None` if they do.
    pub idle_since_ns: Vec<Option<u64>>,
    /// Pages that wait in the write buffer for the unit; of all units where a page has none before it is written.
    pub dirty_pages: Vec<u32>,
    /// Erased blocks that the unit may fill before it must collect.
    pub spare_blocks: Vec<u64>,
    /// True for each unit that is in the middle of a victim.
    pub under_way: Vec<bool>,
}

/// The answer for `background`. It holds until the view changes; with `spare_below` or `idle_ns` until a unit becomes *ready*:
/// it has few spare blocks or is in the middle of a victim, and has been idle long enough.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Steps {
    /// Steps by unit; of several for one unit the most urgent that there is to make is made.
    pub steps: Vec<Wished>,
    /// When to be asked again though nothing changes, ns.
    pub ask_again_ns: Option<u64>,
    /// Spare blocks below which a unit may be ready; `None`: with any number of them.
    pub ask_spare_below: Option<u64>,
    /// Time for which a unit that is ready has been idle, ns; `None`: it may be busy.
    pub ask_idle_ns: Option<u64>,
}

/// A step that the background is to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wished {
    /// The unit.
    pub unit: u32,
    /// The kind of work.
    pub work: Work,
    /// Between the commands of others, instead of when the unit is idle.
    pub should: bool,
}

impl Wished {
    /// The reason why a drive that has no such work can't make the step.
    pub(crate) fn not_made(self) -> String {
        let (name, needs) = match self.work {
            Work::Level => ("level", "wear.static_gap above 0 and ftl.kind=page or dftl"),
            Work::WriteBack => ("write_back", "ftl.kind=dftl, whose map is on flash"),
            _ => ("collect", "an FTL that collects blocks"),
        };
        format!("step ({}, '{name}'): expected {needs}", self.unit)
    }
}

/// The view for `buffer.destage`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Buffered {
    /// The present, ns.
    pub now_ns: u64,
    /// Since when all dies have done nothing for the host, ns; `None` if one does.
    pub idle_since_ns: Option<u64>,
    /// Pages that wait in the write buffer.
    pub dirty_pages: u32,
    /// Pages that the write buffer holds.
    pub pages: u64,
}

/// The answer for `buffer.destage`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destage {
    /// Not as things stand.
    No,
    /// Now.
    Now,
    /// Not before this time, ns.
    NotBefore(u64),
}

/// The view for `ftl.classifier`: the last block of writes to a map. Arrays have one element a write, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Writes {
    /// The map: that of a unit, or 0 where all units share one.
    pub map: u32,
    /// Host pages written to the map so far.
    pub now: u64,
    /// Groups that can be named: 0 to one less.
    pub groups: u32,
    /// Numbers of the pages in the map.
    pub pages: Vec<u32>,
    /// Host pages written to the map since the version before, to a block of writes; the largest number if there was none.
    pub lived: Vec<u64>,
    /// Placement handles of the requests.
    pub handles: Vec<u8>,
}

/// The function of one slot, answers that it gave, and the reason why it can't be asked any more.
struct Asked<V, A> {
    slot: &'static str,
    ask: Ask<V, A>,
    view: V,
    /// The answer to `view`.
    last: Option<A>,
    remembered: Remembered<V, A>,
    failure: Option<String>,
}

/// The place of a function in the engine. Empty after a simulation was loaded, until its functions are given again.
pub(crate) struct Outside<V, A>(Option<Arc<Mutex<Asked<V, A>>>>);

impl<V, A> Clone for Outside<V, A> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<V, A> Default for Outside<V, A> {
    fn default() -> Self {
        Self(None)
    }
}

impl<V, A> fmt::Debug for Outside<V, A> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(if self.0.is_some() { "Outside(given)" } else { "Outside(none)" })
    }
}

impl<V: Viewed, A: Answer> Outside<V, A> {
    fn new(slot: &'static str, ask: Option<Ask<V, A>>) -> Self {
        let asked = |ask| Asked {
            slot,
            ask,
            view: V::default(),
            last: None,
            remembered: Remembered::default(),
            failure: None,
        };
        Self(ask.map(|ask| Arc::new(Mutex::new(asked(ask)))))
    }

    fn lock(&self) -> Option<MutexGuard<'_, Asked<V, A>>> {
        Some(self.0.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The answer to the view that `fill` writes over the last one; `None` without a function, or after one has failed.
    /// `check` says what is wrong with an answer.
    pub(crate) fn ask(
        &self,
        fill: impl FnOnce(&mut V),
        check: impl FnOnce(&V, &A) -> Result<(), String>,
    ) -> Option<A> {
        let mut asked = self.lock()?;
        let Asked { ask, view, last, remembered, failure, .. } = &mut *asked;
        if failure.is_some() {
            return None;
        }
        fill(view);
        *last = None;
        if let Some(answer) = remembered.find(view) {
            return Some(answer.clone());
        }
        let answer = ask(view).and_then(|answer| check(view, &answer).map(|()| answer));
        match answer {
            Ok(answer) => {
                remembered.keep(view, &answer);
                *last = Some(answer.clone());
                Some(answer)
            }
            Err(detail) => {
                *failure = Some(detail);
                None
            }
        }
    }

    /// The error that the last answer led to, if `fault` says a reason. None if that answer was remembered from before.
    pub(crate) fn fault(&self, fault: impl FnOnce(&V, &A) -> Option<String>) -> Option<RunError> {
        let asked = self.lock()?;
        let detail = fault(&asked.view, asked.last.as_ref()?)?;
        Some(RunError::Policy { slot: asked.slot, detail })
    }

    fn failure(&self) -> Option<RunError> {
        let asked = self.lock()?;
        let detail = asked.failure.clone()?;
        Some(RunError::Policy { slot: asked.slot, detail })
    }
}

/// The functions of a simulation.
#[derive(Clone, Debug, Default)]
pub(crate) struct External {
    pub(crate) victim: Outside<Victims, Option<u32>>,
    pub(crate) planner: Outside<Units, Vec<u32>>,
    pub(crate) background: Outside<Idle, Steps>,
    pub(crate) destage: Outside<Buffered, Destage>,
    pub(crate) classifier: Outside<Writes, Vec<u32>>,
}

impl External {
    pub(crate) fn new(policies: Policies) -> Self {
        Self {
            victim: Outside::new("gc.victim", policies.victim),
            planner: Outside::new("gc.planner", policies.planner),
            background: Outside::new("background.kind", policies.background),
            destage: Outside::new("buffer.destage", policies.destage),
            classifier: Outside::new("ftl.classifier", policies.classifier),
        }
    }

    /// The first function that failed.
    pub(crate) fn failure(&self) -> Option<RunError> {
        let failures = [
            self.victim.failure(),
            self.planner.failure(),
            self.background.failure(),
            self.destage.failure(),
            self.classifier.failure(),
        ];
        failures.into_iter().flatten().next()
    }
}

/// Refuses units that a drive does not have.
pub(crate) fn check_units(units: impl IntoIterator<Item = u32>, count: usize) -> Result<(), String> {
    match units.into_iter().find(|unit| *unit as usize >= count) {
        Some(unit) => Err(format!("unit {unit}: expected units from 0 to {}", count.saturating_sub(1))),
        None => Ok(()),
    }
}
