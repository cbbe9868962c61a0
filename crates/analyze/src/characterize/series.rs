//! Something over time, when nobody knows how long it will last: windows that double and join pair by pair as it grows.

/// Values of a window that can be joined with those of the next.
pub(super) trait Join: Default + Clone {
    /// Adds the window that follows.
    fn join(&mut self, later: &Self);

    /// All windows have been doubled, of which this is one.
    fn doubled(&mut self) {}
}

/// Values by window. All windows are as wide as each other, a power of two, and the first begins at 0.
#[derive(Clone)]
pub(super) struct Series<T> {
    shift: u32,
    limit: usize,
    windows: Vec<T>,
}

impl<T: Join> Series<T> {
    /// At most `limit` windows, and from half of that on once there is that much; `limit` is even.
    pub(super) const fn new(limit: usize) -> Self {
        Self { shift: 0, limit, windows: Vec::new() }
    }

    /// The same, with windows that are `1 << shift` wide from the beginning.
    pub(super) const fn of_width(limit: usize, shift: u32) -> Self {
        Self { shift, limit, windows: Vec::new() }
    }

    /// Width of a window.
    pub(super) const fn width(&self) -> u64 {
        1 << self.shift
    }

    /// The windows so far.
    pub(super) fn windows(&self) -> &[T] {
        &self.windows
    }

    /// Changes every window in itself.
    pub(super) fn change(&mut self, change: impl FnMut(&mut T)) {
        self.windows.iter_mut().for_each(change);
    }

    /// The number of the window that `position` lies in, as wide as they are now.
    #[inline]
    pub(super) const fn number(&self, position: u64) -> u64 {
        position >> self.shift
    }

    /// The window of `position`, made where there is none.
    pub(super) fn at(&mut self, position: u64) -> &mut T {
        while position >> self.shift >= self.limit as u64 {
            self.widen();
        }
        let number = (position >> self.shift) as usize;
        if number >= self.windows.len() {
            self.windows.resize(number + 1, T::default());
        }
        &mut self.windows[number]
    }

    #[cold]
    fn widen(&mut self) {
        self.shift += 1;
        let pairs = self.windows.len().div_ceil(2);
        for pair in 0..pairs {
            let mut both = std::mem::take(&mut self.windows[2 * pair]);
            if let Some(later) = self.windows.get(2 * pair + 1) {
                both.join(later);
            }
            both.doubled();
            self.windows[pair] = both;
        }
        self.windows.truncate(pairs);
    }

    /// The windows in `parts` groups of neighbours, as even as windows allow: where each
    /// begins and ends, and what is in it.
    pub(super) fn groups(&self, parts: usize) -> Vec<(u64, u64, T)> {
        let count = self.windows.len();
        let parts = parts.min(count);
        let bounds = (0..parts).map(|part| (part * count / parts, (part + 1) * count / parts));
        let joined = bounds.map(|(from, to)| {
            let mut all = T::default();
            self.windows[from..to].iter().for_each(|window| all.join(window));
            ((from as u64) << self.shift, (to as u64) << self.shift, all)
        });
        joined.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Join for u64 {
        fn join(&mut self, later: &Self) {
            *self += later;
        }
    }

    #[test]
    fn nothing_gets_lost_when_windows_join() {
        let mut series = Series::<u64>::new(8);
        for position in [0, 1, 5, 7, 8, 100, 101, 1000, 1000] {
            *series.at(position) += 1;
        }
        assert_eq!((series.width(), series.windows()), (128, [7u64, 0, 0, 0, 0, 0, 0, 2].as_slice()));
        assert_eq!(series.groups(2), [(0, 512, 7), (512, 1024, 2)]);
        assert_eq!(series.groups(100).len(), 8);
        assert!(Series::<u64>::new(8).groups(3).is_empty());
    }

    #[test]
    fn a_leap_to_the_end_of_time_is_a_window() {
        let mut series = Series::<u64>::new(8);
        *series.at(3) += 1;
        *series.at(u64::MAX) += 1;
        assert_eq!((series.windows().iter().sum::<u64>(), series.width()), (2, 1 << 61));
    }
}
