//! Work in the background: what the drive does that no request waits for.
//!
//! Glossary. *Task*: one piece of such work of one unit, which goes on step by step ([`Task`]). Between two steps the unit may
//! serve requests; where nothing can get in between, all steps are made at once. *Urgency*: *must*, before the unit can take
//! another page; *should*, as soon as the unit has done what it does now; *idle*, when nobody else wants its die.
//!
//! The contract. A policy of this slot is a pure function from a [`View`] of a unit to a [`Wish`]; the engine makes the step,
//! asks again when it is done, and never lets one take the blocks that a collection keeps for itself. The translation layer
//! itself says what a unit *must* do, and a planner which units do it together.

mod collect;
mod destage;
mod level;
mod pace;
mod refresh;
mod standing;
mod write_back;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::buffer::DestageConfig;
use crate::external::{External, Idle, Outside, Steps, check_units};
use crate::op::{Step, Work};
use crate::quantity::{Bound, Nanos};
pub(crate) use destage::{BufferView, Leaving};
pub(crate) use standing::{Candidate, Standing};

/// Work ahead of need. All of it is off by default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct BackgroundConfig {
    /// Source of the decisions on which unit makes a step of its background work.
    pub kind: Kind,
    /// For kind=external: the function, as `FILE.py:FUNCTION` (docs/guide/python-policies.md). Empty: given to `simulate`.
    pub file: String,
    /// Garbage collection ahead.
    pub collect: collect::Config,
    /// Static wear levelling ahead: moves cold data as `wear.static_gap` says.
    pub level: level::Config,
    /// Moving data before its bit errors are too many, with `ageing.kind`.
    pub refresh: refresh::Config,
    /// Writing changed entries of a map on flash ahead.
    pub write_back: write_back::Config,
}

/// Source of the decisions about work in the background.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The keys of this slot.
    #[default]
    Rules,
    /// A function in Python.
    External,
}

/// Urgency of a piece of work, least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Urgency {
    /// When nobody else wants the die.
    Idle,
    /// As soon as the unit has done what it does now.
    Should,
    /// Before the unit can take another page.
    Must,
}

impl Urgency {
    /// The name in timelines.
    pub const fn name(self) -> &'static str {
        match self {
            Urgency::Idle => "idle",
            Urgency::Should => "should",
            Urgency::Must => "must",
        }
    }
}

/// The wish of a policy for a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    /// Nothing, as things stand.
    Nothing,
    /// To be asked again at this time, ns, if the unit stays idle until then.
    NotBefore(u64),
    /// A step of its work.
    Step(Urgency),
}

/// The view of a unit that policies and planners get.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct View {
    /// The present, ns.
    pub(crate) now_ns: u64,
    /// Since when its die has done nothing for anybody but the background, ns; `None` if it does.
    pub(crate) idle_since_ns: Option<u64>,
    /// Pages of the unit that wait in the write buffer (where a page has its unit; otherwise all that wait).
    pub(crate) dirty_pages: u32,
    /// True if the write buffer is full.
    pub(crate) buffer_full: bool,
    /// True if another unit is in mandatory collection.
    pub(crate) others_must: bool,
    /// Erased blocks that the unit may fill before it must collect.
    pub(crate) spare_blocks: u64,
    /// True if the unit is in the middle of a victim that was begun ahead.
    pub(crate) under_way: bool,
    /// Blocks of the unit's SLC cache that could be folded.
    pub(crate) foldable: u32,
    /// Pages of flash that the host wrote to the unit so far.
    pub(crate) written: u64,
    /// When a block of the unit is due to be moved because of its bit errors, ns.
    pub(crate) refresh_ns: Option<u64>,
}

impl View {
    /// A step when the die has been idle for `after`; nothing without such a time.
    pub(crate) fn once_idle(&self, after: Bound) -> Wish {
        after.0.map_or(Wish::Nothing, |after| self.idle_for(after))
    }

    /// A step when the die has been idle for `after`.
    pub(crate) fn idle_for(&self, after: Nanos) -> Wish {
        let Some(since_ns) = self.idle_since_ns else { return Wish::Nothing };
        let due_ns = since_ns.saturating_add(after.0);
        if due_ns > self.now_ns { Wish::NotBefore(due_ns) } else { Wish::Step(Urgency::Idle) }
    }
}

/// A piece of work that is in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Task {
    /// Whose blocks or pages it is about.
    pub(crate) unit: u32,
    pub(crate) work: Work,
    pub(crate) urgency: Urgency,
    /// The step made last; an erase to begin with.
    pub(crate) last: Step,
    /// Data blocks merged since the last erase.
    pub(crate) merged: u64,
}

impl Task {
    pub(crate) fn new(unit: u32, work: Work, urgency: Urgency) -> Self {
        Self { unit, work, urgency, last: Step::Erase, merged: 0 }
    }

    /// A step was made. Returns the data blocks merged, if that was the last one of a collection. A write-back has one step, and so
    /// has folding, asked for or on the way of a collection: they leave nothing in progress.
    pub(crate) fn made(&mut self, step: Step) -> Option<u64> {
        if self.work == Work::WriteBack || matches!(step, Step::Fold { .. }) {
            return None;
        }
        self.last = step;
        self.merged += u64::from(matches!(step, Step::Merge { .. }));
        (step == Step::Erase).then(|| std::mem::take(&mut self.merged))
    }
}

/// The policies of a drive.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Background {
    #[serde(with = "crate::as_text")]
    config: BackgroundConfig,
    /// Time for which a unit's die is idle before it folds blocks of its SLC cache.
    fold_after: Bound,
    #[serde(skip)]
    steps: Outside<Idle, Steps>,
    /// True if units may have something to do, and not the buffer alone.
    of_units: bool,
    destage: destage::Policy,
    /// By unit.
    credits: Vec<pace::Credit>,
}

impl Background {
    /// `None` if no policy ever wants anything.
    pub(crate) fn new(config: &BackgroundConfig, destage: &DestageConfig, fold_after: Bound) -> Option<Self> {
        let of_units = *config != BackgroundConfig::default() || fold_after.0.is_some();
        (of_units || *destage != DestageConfig::default()).then(|| Self {
            config: config.clone(),
            fold_after,
            steps: Outside::default(),
            of_units,
            destage: destage::Policy::new(destage),
            credits: Vec::new(),
        })
    }

    /// From now on wants what these settings say. Functions outside the engine stay.
    pub(crate) fn change(&mut self, config: &BackgroundConfig, destage: &DestageConfig) {
        self.config = config.clone();
        self.of_units = *config != BackgroundConfig::default() || self.fold_after.0.is_some();
        self.destage.change(destage);
    }

    /// True if units may have something to do, and not the buffer alone.
    pub(crate) fn is_of_units(&self) -> bool {
        self.of_units
    }

    /// Gives policies outside the engine their functions.
    pub(crate) fn attach(&mut self, external: &External) {
        if self.config.kind == Kind::External {
            self.steps = external.background.clone();
        }
        self.destage.attach(external);
    }

    /// True if units may collect though they need not yet.
    pub(crate) fn collects_ahead(&self) -> bool {
        self.is_external() || self.config.collect.after.0.is_some() || self.config.collect.should_below > 0
    }

    /// True if a function outside the engine decides which units make steps.
    pub(crate) fn is_external(&self) -> bool {
        self.config.kind == Kind::External
    }

    /// True if units make no steps but those that such a function wishes.
    pub(crate) fn is_of_plan_alone(&self) -> bool {
        let has_rules = self.fold_after.0.is_some() || self.config.refresh != refresh::Config::default();
        self.is_external() && !has_rules
    }

    /// The steps that a function outside the engine wishes of a view of all units. `makes`: kinds of work that the drive has.
    pub(crate) fn plan(&self, makes: impl Fn(Work) -> bool, fill: impl FnOnce(&mut Idle)) -> Steps {
        let check = |view: &Idle, answer: &Steps| {
            check_units(answer.steps.iter().map(|step| step.unit), view.spare_blocks.len())?;
            answer.steps.iter().find(|step| !makes(step.work)).map_or(Ok(()), |step| Err(step.not_made()))
        };
        self.steps.ask(fill, check).unwrap_or_default()
    }

    /// The wishes for a unit. Of equally urgent work the first that there is to do is done.
    pub(crate) fn wishes(&mut self, unit: u32, view: &View) -> [(Work, Wish); 3] {
        if self.credits.len() <= unit as usize {
            self.credits.resize(unit as usize + 1, pace::Credit::default());
        }
        let credit = &mut self.credits[unit as usize];
        [
            (Work::Collect, self.config.collect.wish(view, credit)),
            (Work::Level, self.config.level.wish(view)),
            (Work::WriteBack, self.config.write_back.wish(view)),
        ]
    }

    /// The wish to fold a block of the unit's SLC cache.
    pub(crate) fn fold_wish(&self, view: &View) -> Wish {
        if view.foldable > 0 { view.once_idle(self.fold_after) } else { Wish::Nothing }
    }

    /// The wish to move the data of a block because of its bit errors.
    pub(crate) fn refresh_wish(&self, view: &View) -> Wish {
        self.config.refresh.wish(view)
    }

    /// A unit made a step of collection between the commands of others: it copied so many pages, and takes so much time of the flash,
    /// ns.
    pub(crate) fn pay(&mut self, unit: u32, copies: u64, flash_ns: u64) {
        if let Some(credit) = self.credits.get_mut(unit as usize) {
            credit.pay(&self.config.collect.pace, copies, flash_ns);
        }
    }

    /// True if a unit that has made such a step makes another one at once: its pace says so.
    pub(crate) fn goes_on(&mut self, unit: u32, view: &View) -> bool {
        let collect = &self.config.collect;
        let is_paced = !self.is_external() && collect.pace != pace::PaceConfig::default();
        let credit = self.credits.get_mut(unit as usize);
        is_paced && credit.is_some_and(|credit| credit.grow(&collect.pace, view, collect.should_below))
    }

    /// True if pages may leave the buffer though nobody needs room.
    pub(crate) fn destages_ahead(&self) -> bool {
        self.destage.is_ahead()
    }

    /// Decides if pages of the buffer are to leave it, and which ones; of all dies together.
    pub(crate) fn destages(&mut self, view: &BufferView) -> (Wish, Leaving) {
        self.destage.decide(view)
    }
}
