//! TRIM beyond its command: its granularity, and pages that are forgotten later.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::quantity::{Bytes, LONGEST_NS, Nanos};

/// TRIM. By default it forgets all whole pages (mapping units) of its range at once; its time is that of the firmware.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TrimConfig {
    /// Size of the aligned ranges that a TRIM can forget: those that it covers in part keep their data. 0: single pages.
    #[schemars(extend("multipleOf" = 512))]
    pub granularity: Bytes,
    /// Pages that may wait to be forgotten after their TRIM is complete. A TRIM that leaves more waits until no more than these are
    /// left. 0: a TRIM forgets its pages itself.
    pub backlog: u32,
    /// Pages that one step of this work forgets.
    #[schemars(range(min = 1))]
    pub batch: u32,
    /// Time that each page of a step takes.
    #[schemars(range(max = LONGEST_NS))]
    pub page_time: Nanos,
    /// Time for which no request was outstanding before a step that no TRIM waits for.
    #[schemars(range(max = LONGEST_NS))]
    pub idle_after: Nanos,
}

impl Default for TrimConfig {
    fn default() -> Self {
        Self { granularity: Bytes(0), backlog: 0, batch: 256, page_time: Nanos(0), idle_after: Nanos(0) }
    }
}

impl TrimConfig {
    /// True if TRIM is anything but the default.
    pub(crate) fn is_on(&self) -> bool {
        self.granularity.0 > 0 || self.backlog > 0
    }
}

/// Logical pages that wait to be forgotten, as ranges: start and end. They hold nothing for the host, and are valid to collection.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Backlog {
    ranges: BTreeMap<u64, u64>,
    pages: u64,
}

impl Backlog {
    /// Pages that wait.
    #[inline]
    pub(crate) fn len(&self) -> u64 {
        self.pages
    }

    /// True if a page waits.
    pub(crate) fn has(&self, lpn: u64) -> bool {
        self.ranges.range(..=lpn).next_back().is_some_and(|(_, end)| lpn < *end)
    }

    /// A page waits from now on, if it did not.
    pub(crate) fn add(&mut self, lpn: u64) {
        if self.has(lpn) {
            return;
        }
        self.pages += 1;
        let before =
            self.ranges.range(..lpn).next_back().filter(|(_, end)| **end == lpn).map(|(start, _)| *start);
        let end = self.ranges.remove(&(lpn + 1)).unwrap_or(lpn + 1);
        self.ranges.insert(before.unwrap_or(lpn), end);
    }

    /// A page waits no more. Returns whether it did.
    pub(crate) fn take(&mut self, lpn: u64) -> bool {
        let range = self.ranges.range(..=lpn).next_back().map(|(start, end)| (*start, *end));
        let Some((start, end)) = range.filter(|(_, end)| lpn < *end) else { return false };
        self.pages -= 1;
        self.ranges.remove(&start);
        if start < lpn {
            self.ranges.insert(start, lpn);
        }
        if lpn + 1 < end {
            self.ranges.insert(lpn + 1, end);
        }
        true
    }

    /// The page with the lowest address.
    pub(crate) fn first(&self) -> Option<u64> {
        self.ranges.first_key_value().map(|(start, _)| *start)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn ranges_are_the_set_of_their_pages(steps in prop::collection::vec((any::<bool>(), 0..30u64), 1..200)) {
            let (mut backlog, mut model) = (Backlog::default(), BTreeSet::new());
            for (adds, lpn) in steps {
                if adds {
                    backlog.add(lpn);
                    model.insert(lpn);
                } else {
                    prop_assert_eq!(backlog.take(lpn), model.remove(&lpn));
                }
                prop_assert_eq!(backlog.len(), model.len() as u64);
                prop_assert_eq!(backlog.first(), model.first().copied());
                prop_assert!((0..31).all(|lpn| backlog.has(lpn) == model.contains(&lpn)));
                let apart = backlog.ranges.iter().zip(backlog.ranges.iter().skip(1)).all(|(one, next)| one.1 < next.0);
                prop_assert!(apart, "neighbours are one range");
            }
        }
    }
}
