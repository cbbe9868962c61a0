//! Classifiers: which group of open blocks a page goes to, by how long it is expected to live.
//!
//! The contract: pages of the host go to one of the host's groups, pages that a collection moves to one of the moved ones;
//! the two never share a block. [`Classes::of_host`] and [`Classes::of_moved`] say which, and change nothing;
//! [`Classes::written`] and [`Classes::collected`] tell what happened. Time is counted in pages that the host wrote to the
//! map's units. State is a number of 32 bits a page where a classifier needs one, and a byte a block.
//!
//! - *stream*: the placement handle of the request. Relocated pages go to one group (*initially isolated*), or to one a handle
//!   (*persistently isolated*), in the words of NVMe's Flexible Data Placement (TP4146).
//! - *generations*: a page that is moved for the n-th time goes to group n, or the last one.
//! - *frequency*: the number of writes of a page, halved each time that as many pages were written as the map has; a group for
//!   each power of two (as the counters of Hsieh, Kuo and Chang 2006, without their hashing).
//! - *death-time*: SepBIT (Wang et al., FAST 2022, algorithm 1): a page that overwrites one that lived shorter than the mean
//!   life of recent blocks of such pages is short-lived. Relocated pages go by their age; those that were short-lived
//!   have a group of their own.
//! - *interval*: by the mean interval between writes, in a byte a page (`classifier/interval.rs`).
//! - *age-groups*: a chain whose groups are queues of sizes that follow a model (`classifier/age_groups.rs`).
//! - *learned*: by the time until a page is written again, as a model predicts it (`classifier/learned.rs`).
//! - *external*: a function outside the engine labels the pages of each block of writes (`classifier/external.rs`).

mod age_groups;
mod external;
mod interval;
mod kinds;
mod learned;

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

pub(crate) use age_groups::Chain;
pub(crate) use kinds::{Classifier, GroupCounts, MAX_GROUPS};
pub use learned::Predictions;

use crate::cow::CowVec;
use crate::external::{Outside, Writes};
use learned::Learner;

/// Collected blocks of short-lived pages over which their life is averaged (SepBIT's n_c).
const RECENT: usize = 16;
/// Ages, in mean lives of short-lived blocks, at which relocated pages go to the next group (SepBIT's thresholds).
const AGES: [u64; 2] = [4, 16];

/// State of a classifier.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Classes {
    classifier: Classifier,
    pub(crate) counts: GroupCounts,
    isolated: bool,
    /// Pages of a block.
    block: u32,
    /// A map of pages each, as the maps of the layer.
    maps: Vec<Pages>,
    /// Lives of the short-lived blocks collected last, pages written.
    lives: VecDeque<u64>,
}

/// Writes of the pages of a map.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Pages {
    /// Pages of the map.
    count: u64,
    /// Pages that the host wrote.
    now: u64,
    /// Time of the last write, or counter and period of that (`frequency`).
    table: CowVec,
    /// Pages that the function outside the engine was not shown yet (`external`).
    recent: external::Recent,
    /// The chain of `age-groups`.
    chain: Option<Box<Chain>>,
    /// The model of `learned`.
    learner: Option<Box<Learner>>,
}

impl Classes {
    pub(crate) fn new(
        classifier: Classifier,
        counts: GroupCounts,
        isolated: bool,
        block: u32,
        (maps, map_pages, physical): (usize, u64, u64),
    ) -> Self {
        let table = match classifier {
            Classifier::Frequency
            | Classifier::DeathTime
            | Classifier::AgeGroups
            | Classifier::Learned
            | Classifier::External => map_pages,
            Classifier::Interval => interval::table_len(map_pages),
            _ => 0,
        };
        let recent = external::Recent::default;
        let groups = counts.host + counts.moved;
        let chain = || (classifier == Classifier::AgeGroups).then(|| Box::new(Chain::new(groups, physical)));
        let learner = || (classifier == Classifier::Learned).then(|| Box::new(Learner::new(counts.host)));
        let pages = || {
            let (count, table) = (map_pages.max(1), CowVec::new(table));
            Pages { count, now: 0, table, recent: recent(), chain: chain(), learner: learner() }
        };
        Self {
            block,
            classifier,
            counts,
            isolated,
            maps: (0..maps).map(|_| pages()).collect(),
            lives: VecDeque::new(),
        }
    }

    /// Gives the classifier its function, if it is one outside the engine.
    pub(crate) fn attach(&mut self, function: &Outside<Writes, Vec<u32>>) {
        if self.classifier == Classifier::External {
            for pages in &mut self.maps {
                pages.recent.function = function.clone();
            }
        }
    }

    /// Pools of groups that collect together, where groups collect their own.
    pub(crate) fn pools(&self) -> u32 {
        self.classifier.pools(self.counts, self.isolated)
    }

    /// The pool of a group, counted over all.
    pub(crate) fn pool_of(&self, group: u32) -> u32 {
        if group >= self.pools() { group - self.counts.host } else { group }
    }

    /// Pages of all maps.
    pub(crate) fn pages(&self) -> u64 {
        self.maps.iter().map(|pages| pages.count).sum()
    }

    /// Pages that the host wrote to a map.
    pub(crate) fn now(&self, map: usize) -> u64 {
        self.maps[map].now
    }

    /// True unless handles have groups and this one has none.
    pub(crate) fn knows(&self, handle: u8) -> bool {
        self.classifier != Classifier::Stream || u32::from(handle) < self.counts.host
    }

    /// The group of a page that the host writes with a placement handle.
    pub(crate) fn of_host(&self, map: usize, key: u32, handle: u8) -> u32 {
        if let Pages { now, count, table, learner: Some(learner), .. } = &self.maps[map] {
            return learner.of_host(table, key, (*now, *count));
        }
        match self.classifier {
            // A handle that there is none of stands for the first one.
            Classifier::Stream if u32::from(handle) < self.counts.host => handle.into(),
            Classifier::Frequency => self.frequency(map, key, 1),
            Classifier::Interval => {
                let Pages { now, count, table, .. } = &self.maps[map];
                interval::of_host(table, key, (*now, *count), self.counts.host)
            }
            Classifier::External => external::label(&self.maps[map].table, key),
            Classifier::DeathTime => {
                let pages = &self.maps[map];
                let written = pages.table.get(key.into());
                let lived = (pages.now as u32).wrapping_sub(written);
                let is_short = written != CowVec::EMPTY && u64::from(lived) < self.mean_life();
                u32::from(!is_short)
            }
            _ => 0,
        }
    }

    /// The group, among those of relocated pages, of a page that is moved out of a block of group `from` (counted over all).
    pub(crate) fn of_moved(&self, map: usize, key: u32, from: u32) -> u32 {
        let host = self.counts.host;
        if let Pages { now, count, table, learner: Some(learner), .. } = &self.maps[map] {
            return learner.of_moved(table, key, (*now, *count));
        }
        match self.classifier {
            Classifier::Stream if self.isolated => {
                if from < host {
                    from
                } else {
                    from - host
                }
            }
            Classifier::Generations if from < host => 0,
            Classifier::Generations => (from - host + 1).min(self.counts.moved - 1),
            Classifier::Frequency => self.frequency(map, key, 0),
            Classifier::Interval => {
                let Pages { now, count, table, .. } = &self.maps[map];
                interval::of_moved(table, key, (*now, *count), self.counts.moved)
            }
            Classifier::External => external::label(&self.maps[map].table, key),
            Classifier::AgeGroups => self.chain(map).map_or(0, |chain| chain.next(from) - host),
            // Groups of relocated pages: the short-lived, then by age.
            Classifier::DeathTime if from == 0 => 0,
            Classifier::DeathTime => {
                let pages = &self.maps[map];
                let age = u64::from((pages.now as u32).wrapping_sub(pages.table.get(key.into())));
                let life = self.mean_life();
                1 + AGES.iter().filter(|times| age >= life.saturating_mul(**times)).count() as u32
            }
            _ => 0,
        }
    }

    /// A page of the host was written with a placement handle.
    pub(crate) fn written(&mut self, map: usize, key: u32, handle: u8) {
        let Pages { now, count, table, recent, chain, learner } = &mut self.maps[map];
        if let Some(chain) = chain {
            chain.written(table, key, (*now, *count));
        }
        if let Some(learner) = learner {
            learner.written(table, key, (*now, *count));
        }
        match self.classifier {
            Classifier::Interval => interval::written(table, key, (*now, *count)),
            Classifier::External => {
                recent.written((key, handle), table, (map, *now, self.block), self.counts.host);
            }
            _ => {}
        }
        let value = match self.classifier {
            Classifier::DeathTime => Some(self.maps[map].now as u32),
            Classifier::Frequency => {
                let (count, period) = self.counter(map, key);
                Some(period << 8 | (count + 1).min(255))
            }
            _ => None,
        };
        let pages = &mut self.maps[map];
        if let Some(value) = value {
            // The value that stands for none is one early.
            pages.table.set(key.into(), value.min(CowVec::EMPTY - 1));
        }
        pages.now += 1;
    }

    /// The chain of a map, of `age-groups`.
    pub(crate) fn chain(&self, map: usize) -> Option<&Chain> {
        self.maps[map].chain.as_deref()
    }

    /// A page was moved out of a block of a group.
    pub(crate) fn moved_out(&mut self, map: usize, group: u32, key: u32) {
        let Pages { now, count, table, chain, learner, .. } = &mut self.maps[map];
        if let Some(chain) = chain {
            chain.moved_out(group, 1);
        }
        if let Some(learner) = learner {
            learner.moved(table, key, (*now, *count));
        }
    }

    /// Predictions of the models of all maps, if there are any.
    pub(crate) fn predictions(&self) -> Option<Predictions> {
        let mut learners = self.maps.iter().filter_map(|pages| pages.learner.as_ref()).peekable();
        learners.peek()?;
        let mut all = Predictions::default();
        learners.for_each(|learner| all.add(&learner.predictions));
        Some(all)
    }

    /// Forgets what was counted.
    pub(crate) fn forget_counts(&mut self) {
        for learner in self.maps.iter_mut().filter_map(|pages| pages.learner.as_mut()) {
            learner.predictions = Predictions::default();
        }
    }

    /// A block of a group that was opened at a time of its map was collected. Returns true if a chain has new sizes since.
    pub(crate) fn collected(&mut self, map: usize, group: u32, opened: u64) -> bool {
        let Pages { now, count, table, chain, .. } = &mut self.maps[map];
        if let Some(chain) = chain {
            chain.collected(group, self.block);
            return chain.adapt(table, (*now, *count));
        }
        if self.classifier == Classifier::DeathTime && group == 0 {
            if self.lives.len() == RECENT {
                self.lives.pop_front();
            }
            self.lives.push_back(self.maps[map].now.saturating_sub(opened));
        }
        false
    }

    /// Mean life of the short-lived blocks collected last; before there are enough of them, any life is short.
    fn mean_life(&self) -> u64 {
        if self.lives.len() < RECENT { u64::MAX } else { self.lives.iter().sum::<u64>() / RECENT as u64 }
    }

    /// Writes of a page, halved for each period since, and the present period.
    fn counter(&self, map: usize, key: u32) -> (u32, u32) {
        let pages = &self.maps[map];
        let period = (pages.now / pages.count) as u32 & 0x00ff_ffff;
        let value = pages.table.get(key.into());
        if value == CowVec::EMPTY {
            return (0, period);
        }
        let since = (period.wrapping_sub(value >> 8) & 0x00ff_ffff).min(31);
        ((value & 255) >> since, period)
    }

    /// The group of a page that was written so many times more than it is known.
    fn frequency(&self, map: usize, key: u32, more: u32) -> u32 {
        let writes = self.counter(map, key).0 + more;
        writes.max(1).ilog2().min(self.counts.host - 1)
    }

    pub(crate) fn snapshot(&mut self) -> Self {
        let maps = self.maps.iter_mut();
        let maps = maps.map(|pages| Pages {
            table: pages.table.snapshot(),
            recent: pages.recent.clone(),
            chain: pages.chain.clone(),
            learner: pages.learner.clone(),
            ..*pages
        });
        Self { maps: maps.collect(), lives: self.lives.clone(), ..*self }
    }
}
