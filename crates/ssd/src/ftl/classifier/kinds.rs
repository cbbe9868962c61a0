//! The classifiers as the configuration names them, and their groups.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Group of open blocks that a page goes to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Classifier {
    /// One group: pages of the host and relocated ones share their block. With `gc.frontiers=2` they don't.
    #[default]
    One,
    /// Pages of the host, and relocated ones.
    HostAndCollected,
    /// By the placement handle of the request.
    Stream,
    /// By the number of times that a page was moved.
    Generations,
    /// By the number of times that a page was written lately.
    Frequency,
    /// By the life of the version that a page overwrites, and its age when it is moved (`SepBIT`).
    DeathTime,
    /// By the mean interval between the writes of a page.
    Interval,
    /// By age: a chain of queues whose number and sizes follow a model of when pages are written again (`MiDAS`).
    AgeGroups,
    /// By the time until the next write of a page, predicted by a model that learns while the drive runs.
    Learned,
    /// By a function in Python, asked once a block of writes.
    External,
}

/// Groups of the host, and those of relocated pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct GroupCounts {
    pub(crate) host: u32,
    pub(crate) moved: u32,
}

impl GroupCounts {
    /// Blocks of a unit that may be open.
    pub(crate) fn open_blocks(self) -> u32 {
        self.host + self.moved
    }

    /// Blocks that a unit keeps erased beyond `gc.free_blocks`: a collection may open one for each group of relocated pages. See
    /// `page/groups.rs` for why this is enough.
    pub(crate) fn kept_blocks(self) -> u32 {
        self.moved - 1
    }
}

/// Most groups of a kind.
pub(crate) const MAX_GROUPS: u32 = 128;

impl Classifier {
    /// The number of groups: `groups` as it was set, and `isolated` if handles are persistently isolated. `None` if one or
    /// two open blocks a unit do.
    pub(crate) fn counts(self, groups: Option<u32>, isolated: bool) -> Option<GroupCounts> {
        let own = groups.unwrap_or(self.default_groups()).clamp(1, MAX_GROUPS);
        match self {
            Classifier::One | Classifier::HostAndCollected => None,
            Classifier::Stream => Some(GroupCounts { host: own, moved: if isolated { own } else { 1 } }),
            Classifier::Generations => Some(GroupCounts { host: 1, moved: own }),
            Classifier::Frequency | Classifier::Interval | Classifier::Learned | Classifier::External => {
                Some(GroupCounts { host: own, moved: own })
            }
            Classifier::DeathTime => Some(GroupCounts { host: 2, moved: 4 }),
            Classifier::AgeGroups => Some(GroupCounts { host: 1, moved: own.max(2) - 1 }),
        }
    }

    const fn default_groups(self) -> u32 {
        match self {
            Classifier::Stream => 8,
            Classifier::Generations => 2,
            Classifier::AgeGroups => 6,
            _ => 4,
        }
    }

    /// Pools of groups that collect together: a group of the host and one of relocated pages that take the same pages are one, every
    /// other group is alone.
    pub(crate) fn pools(self, counts: GroupCounts, isolated: bool) -> u32 {
        match self {
            Classifier::Stream if isolated => counts.host,
            Classifier::Frequency | Classifier::Interval | Classifier::Learned | Classifier::External => {
                counts.host
            }
            _ => counts.open_blocks(),
        }
    }

    /// True if it has a number of groups that can be set.
    pub(crate) fn has_groups(self) -> bool {
        !matches!(self, Classifier::One | Classifier::HostAndCollected | Classifier::DeathTime)
    }
}
