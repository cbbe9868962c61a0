//! Processes that queued sectors which are issued later: a scheduler, or a worker of the kernel, may submit a request
//! to the driver.

use std::collections::BTreeMap;

/// Ranges kept. Every request is issued at some time, so there are no more unless issues are missing.
const MOST: usize = 1 << 16;

/// Sectors that processes asked for and that have not been issued yet: first sector; one past the last, and the process.
#[derive(Debug, Default)]
pub(super) struct Askers(BTreeMap<u64, (u64, u32)>);

impl Askers {
    /// Process `pid` asks for `sectors` from `first` on.
    pub(super) fn asked(&mut self, first: u64, sectors: u64, pid: u32) {
        if self.0.len() >= MOST {
            self.0.pop_first();
        }
        self.0.insert(first, (first.saturating_add(sectors), pid));
    }

    /// `sectors` from `first` on are issued: who asked for the first of them, if that is known. What was merged into one request
    /// goes with it, and of what is split the rest stays.
    pub(super) fn issued(&mut self, first: u64, sectors: u64) -> Option<u32> {
        let end = first.saturating_add(sectors);
        let (&start, &(last, pid)) = self.0.range(..=first).next_back()?;
        let found = last > first;
        while let Some((&start, &(last, pid))) = self.0.range(first..end).next() {
            self.0.remove(&start);
            if last > end {
                self.0.insert(end, (last, pid));
            }
        }
        if found && start < first {
            if last <= end {
                self.0.remove(&start);
            } else {
                self.0.insert(end, (last, pid));
            }
        }
        found.then_some(pid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_and_merges_find_who_asked() {
        let mut askers = Askers::default();
        askers.asked(0, 16, 1);
        askers.asked(16, 8, 2);
        askers.asked(100, 8, 3);
        assert_eq!(askers.issued(8, 8), Some(1), "a later piece first");
        assert_eq!(askers.issued(50, 8), None);
        assert_eq!(askers.issued(16, 8), Some(2));
        askers.asked(200, 8, 4);
        askers.asked(208, 8, 5);
        assert_eq!(askers.issued(200, 16), Some(4), "two in one");
        assert_eq!(askers.issued(208, 8), None);
        askers.asked(300, 24, 6);
        assert_eq!([300, 308, 316].map(|first| askers.issued(first, 8)), [Some(6); 3]);
        assert_eq!(askers.issued(300, 8), None);
        assert_eq!(askers.issued(100, 8), Some(3));
    }
}
