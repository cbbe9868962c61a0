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
mod write_back;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::external::{Buffered, Destage, External, Idle, Outside, Steps, check_units};
use crate::op::{Step, Work};
use crate::quantity::Bound;

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
    /// Writing changed entries of a map on flash ahead.
    pub write_back: write_back::Config,
    /// Writing pages of the buffer ahead.
    pub destage: destage::Config,
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
pub(crate) enum Urgency {
    /// When nobody else wants the die.
    Idle,
    /// As soon as the unit has done what it does now.
    Should,
    /// Before the unit can take another page.
    Must,
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
    /// Since when its die has done nothing for anybody but the background, ns (of the buffer: all dies); `None` if it does.
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
}

impl View {
    /// A step when the die has been idle for `after`; nothing without such a time.
    pub(crate) fn once_idle(&self, after: Bound) -> Wish {
        let (Some(after), Some(since_ns)) = (after.0, self.idle_since_ns) else { return Wish::Nothing };
        let due_ns = since_ns.saturating_add(after.0);
        if due_ns > self.now_ns { Wish::NotBefore(due_ns) } else { Wish::Step(Urgency::Idle) }
    }
}

/// A piece of work that is under way.
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

    /// A step was made. Returns the data blocks merged, if that was the last one of a collection. A write-back has one step, and
    /// leaves nothing under way.
    pub(crate) fn made(&mut self, step: Step) -> Option<u64> {
        if self.work == Work::WriteBack {
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
    config: BackgroundConfig,
    #[serde(skip)]
    steps: Outside<Idle, Steps>,
    #[serde(skip)]
    destage: Outside<Buffered, Destage>,
}

impl Background {
    /// `None` if no policy ever wants anything.
    pub(crate) fn new(config: &BackgroundConfig) -> Option<Self> {
        (*config != BackgroundConfig::default()).then(|| Self {
            config: config.clone(),
            steps: Outside::default(),
            destage: Outside::default(),
        })
    }

    /// From now on wants what these settings say. Functions outside the engine stay.
    pub(crate) fn change(&mut self, config: &BackgroundConfig) {
        self.config = config.clone();
    }

    /// Gives policies outside the engine their functions.
    pub(crate) fn attach(&mut self, external: &External) {
        if self.config.kind == Kind::External {
            self.steps = external.background.clone();
        }
        if self.config.destage.kind == Kind::External {
            self.destage = external.destage.clone();
        }
    }

    /// True if a function outside the engine decides which units make steps.
    pub(crate) fn is_external(&self) -> bool {
        self.config.kind == Kind::External
    }

    /// The steps that a function outside the engine wishes of a view of all units.
    pub(crate) fn plan(&self, fill: impl FnOnce(&mut Idle)) -> Steps {
        let check = |view: &Idle, answer: &Steps| {
            check_units(answer.steps.iter().map(|step| step.unit), view.spare_blocks.len())
        };
        self.steps.ask(fill, check).unwrap_or_default()
    }

    /// The wishes for a unit. Of equally urgent work the first that there is to do is done.
    pub(crate) fn wishes(&self, view: &View) -> [(Work, Wish); 3] {
        [
            (Work::Collect, self.config.collect.wish(view)),
            (Work::Level, self.config.level.wish(view)),
            (Work::WriteBack, self.config.write_back.wish(view)),
        ]
    }

    /// Decides if pages of the buffer are to leave it; of all dies together.
    pub(crate) fn destages(&self, view: &View, pages: u64) -> Wish {
        if self.config.destage.kind != Kind::External {
            return self.config.destage.wish(view);
        }
        let fill = |question: &mut Buffered| {
            *question = Buffered {
                now_ns: view.now_ns,
                idle_since_ns: view.idle_since_ns,
                dirty_pages: view.dirty_pages,
                pages,
            };
        };
        if view.dirty_pages == 0 {
            return Wish::Nothing;
        }
        match self.destage.ask(fill, |_, _| Ok(())) {
            None | Some(Destage::No) => Wish::Nothing,
            Some(Destage::Now) => Wish::Step(Urgency::Idle),
            Some(Destage::NotBefore(time_ns)) => Wish::NotBefore(time_ns),
        }
    }
}
