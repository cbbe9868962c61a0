//! Numbers that go up and down, such as dirty pages: changes come in any order, levels go out by time.

use std::collections::BTreeMap;

/// Levels, counted through from 0.
#[derive(Debug)]
pub(super) struct Levels {
    values: Vec<i64>,
    /// Changes whose instant may not be complete: time in ns and level.
    pending: BTreeMap<(u64, usize), i64>,
}

impl Levels {
    /// Levels with these values at the start.
    pub(super) fn new(values: Vec<i64>) -> Self {
        Self { values, pending: BTreeMap::new() }
    }

    /// A level changes by so much.
    pub(super) fn change(&mut self, time_ns: u64, level: usize, by: i64) {
        *self.pending.entry((time_ns, level)).or_default() += by;
    }

    /// Everything before `end_ns` is known: passes on the levels that changed, by time, an instant at once.
    pub(super) fn settle<E>(
        &mut self,
        end_ns: u64,
        mut tell: impl FnMut(u64, usize, i64) -> Result<(), E>,
    ) -> Result<(), E> {
        while let Some(entry) = self.pending.first_entry() {
            let (time_ns, level) = *entry.key();
            if time_ns >= end_ns {
                break;
            }
            let by = entry.remove();
            if by != 0 {
                self.values[level] += by;
                tell(time_ns, level, self.values[level])?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_is_one_change_and_comes_when_it_is_complete() {
        let mut levels = Levels::new(vec![5, 0]);
        let mut changes = Vec::new();
        let mut settle = |levels: &mut Levels, end_ns| {
            let tell = |time, level, value| {
                changes.push((time, level, value));
                Ok::<_, ()>(())
            };
            levels.settle(end_ns, tell).expect("no error");
            std::mem::take(&mut changes)
        };
        for (time, level, by) in [(20, 0, -1), (10, 1, 2), (10, 0, 1), (10, 0, -1), (30, 0, 1)] {
            levels.change(time, level, by);
        }
        assert_eq!(settle(&mut levels, 20), [(10, 1, 2)], "up and down at once is nothing");
        levels.change(20, 0, -1);
        assert_eq!(settle(&mut levels, u64::MAX), [(20, 0, 3), (30, 0, 4)]);
    }
}
