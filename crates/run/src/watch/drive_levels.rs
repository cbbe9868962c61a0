//! Levels of the whole drive: superblocks of which all blocks are erased, and data in the SLC cache.

use std::collections::BTreeMap;

use flashweir_ssd::{FlashLevel, LevelEntry};

use super::levels::Levels;

/// A superblock: its set of dies, and its number there.
type Superblock = (u32, u32);

/// Levels by time. A superblock is free while all its blocks are erased.
#[derive(Debug)]
pub(super) struct DriveLevels {
    /// Number of each superblock among the levels.
    superblocks: BTreeMap<Superblock, usize>,
    /// Blocks that are not erased, by superblock; then bytes in the SLC cache.
    levels: Levels,
    /// Superblocks with a block that is not erased.
    used: Vec<bool>,
    free: i64,
}

/// A level that changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Changed {
    FreeSuperblocks(i64),
    SlcBytes(i64),
}

impl DriveLevels {
    /// The levels of superblocks at the start; the cache is empty then.
    pub(super) fn new(start: &[LevelEntry]) -> Self {
        let mut values = Vec::new();
        let mut superblocks = BTreeMap::new();
        for entry in start {
            if let FlashLevel::Superblock { set, block } = entry.level {
                superblocks.insert((set, block), values.len());
                values.push(entry.change);
            }
        }
        let used: Vec<bool> = values.iter().map(|blocks| *blocks > 0).collect();
        let free = used.iter().filter(|used| !**used).count().cast_signed() as i64;
        values.push(0);
        Self { superblocks, levels: Levels::new(values), used, free }
    }

    /// Free superblocks; `None` on a drive without any.
    pub(super) fn free_superblocks(&self) -> Option<i64> {
        (!self.superblocks.is_empty()).then_some(self.free)
    }

    /// A level changes.
    pub(super) fn change(&mut self, entry: &LevelEntry) {
        let level = match entry.level {
            FlashLevel::Superblock { set, block } => self.superblocks.get(&(set, block)).copied(),
            FlashLevel::SlcCache => Some(self.used.len()),
        };
        if let Some(level) = level {
            self.levels.change(entry.time_ns, level, entry.change);
        }
    }

    /// Everything before `end_ns` is known: passes on the levels that changed, by time.
    pub(super) fn settle<E>(
        &mut self,
        end_ns: u64,
        mut tell: impl FnMut(u64, Changed) -> Result<(), E>,
    ) -> Result<(), E> {
        let Self { levels, used, free, .. } = self;
        levels.settle(end_ns, |time_ns, level, value| {
            let Some(used) = used.get_mut(level) else { return tell(time_ns, Changed::SlcBytes(value)) };
            let before = std::mem::replace(used, value > 0);
            *free += i64::from(before) - i64::from(*used);
            if before == *used { Ok(()) } else { tell(time_ns, Changed::FreeSuperblocks(*free)) }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_superblock_is_free_while_all_its_blocks_are_erased() {
        let entry = |time_ns, block, change| LevelEntry {
            time_ns,
            level: FlashLevel::Superblock { set: 0, block },
            change,
        };
        let mut levels = DriveLevels::new(&[entry(0, 0, 2), entry(0, 1, 0), entry(0, 2, 0)]);
        assert_eq!(levels.free_superblocks(), Some(2));
        // Block 1 is opened on both dies; block 0 is erased on one, and on the other only when it is open again.
        let changes = [(10, 1, 1), (15, 1, 1), (20, 0, -1), (30, 0, 1), (40, 0, -1), (50, 0, -1)];
        for (time_ns, block, change) in changes {
            levels.change(&entry(time_ns, block, change));
        }
        let slc = LevelEntry { time_ns: 35, level: FlashLevel::SlcCache, change: 4096 };
        levels.change(&slc);
        let mut passed = Vec::new();
        let settled = levels.settle(u64::MAX, |time, changed| {
            passed.push((time, changed));
            Ok::<_, ()>(())
        });
        assert_eq!(settled, Ok(()));
        let expected = [
            (10, Changed::FreeSuperblocks(1)),
            (35, Changed::SlcBytes(4096)),
            (50, Changed::FreeSuperblocks(2)),
        ];
        assert_eq!(passed, expected);
    }
}
