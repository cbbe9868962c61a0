//! Rules that the translation layers take from other slots.

use super::classifier::{Classifier, GroupCounts};
use crate::gc::{Division, VictimConfig};
use crate::slc::SlcRules;
use crate::wear::WearConfig;

/// Rules of collection and wear levelling, as the layers take them from other slots.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Upkeep<'a> {
    /// The choice of the block to collect.
    pub(crate) victim: &'a VictimConfig,
    /// The division of spare space among groups, if these collect their own.
    pub(crate) division: Option<&'a Division>,
    /// Write frontiers of a unit.
    pub(crate) frontiers: u32,
    /// Group of open blocks that a page goes to, the number of groups if it was set, and whether handles stay apart when
    /// their pages are moved.
    pub(crate) classifier: Classifier,
    pub(crate) groups: Option<u32>,
    pub(crate) isolated: bool,
    /// Longest time that a block of a handle takes pages of the host, ns.
    pub(crate) open_time: Option<u64>,
    /// Most data blocks that one collection merges; 0 is no limit.
    pub(crate) throttle: u32,
    /// Pages in the log with which a data block is merged, and most pages of a victim that are moved instead, where not every
    /// data block of a victim is merged.
    pub(crate) selection: Option<(u32, u32)>,
    /// Wear levelling.
    pub(crate) wear: &'a WearConfig,
    /// Most blocks of a unit that are retired, if that is limited.
    pub(crate) max_retired: Option<u32>,
    /// The SLC cache, if there is one.
    pub(crate) slc: Option<SlcRules>,
}

impl Upkeep<'_> {
    /// Groups of open blocks, where there are more than two.
    pub(crate) fn groups(&self) -> Option<GroupCounts> {
        self.classifier.counts(self.groups, self.isolated)
    }
}
