//! Allocated clusters of a volume: a bitmap, searched from any place on, as file systems do.

/// Clusters that follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::generate) struct Run {
    pub(in crate::generate) start: u64,
    pub(in crate::generate) len: u64,
}

/// One bit a cluster, set where it is taken. Clusters past the end count as taken.
#[derive(Clone, Debug)]
pub(in crate::generate) struct Clusters {
    words: Vec<u64>,
    count: u64,
    free: u64,
    /// Nothing before it is free.
    low: u64,
}

impl Clusters {
    /// So many clusters, all free.
    pub(in crate::generate) fn new(count: u64) -> Self {
        let mut words = vec![0; count.div_ceil(64) as usize];
        if let (Some(last), rest @ 1..) = (words.last_mut(), count % 64) {
            *last = u64::MAX << rest;
        }
        Self { words, count, free: count, low: 0 }
    }

    pub(in crate::generate) fn count(&self) -> u64 {
        self.count
    }

    pub(in crate::generate) fn free(&self) -> u64 {
        self.free
    }

    /// Takes the first free run at or after `near`, around the end if need be, and at most `wanted` of it. Runs
    /// shorter than `at_least` are passed over unless there is no other. Nothing if all is taken.
    pub(in crate::generate) fn take(&mut self, near: u64, at_least: u64, wanted: u64) -> Option<Run> {
        let near = if near < self.count { near.max(self.low) } else { self.low };
        let at_least = at_least.min(wanted);
        let run =
            self.find(near, self.count, at_least, wanted).or_else(|| self.find(0, near, at_least, wanted));
        let run = run.or_else(|| self.find(0, self.count, 1, wanted))?;
        self.reserve(run);
        if at_least == 1 && near == self.low {
            self.low = run.start + run.len;
        }
        Some(run)
    }

    /// Marks a run as taken, whatever it was, as far as it lies inside.
    pub(in crate::generate) fn reserve(&mut self, run: Run) {
        self.change(run, |word, mask| {
            let changed = (!*word & mask).count_ones();
            *word |= mask;
            -i64::from(changed)
        });
    }

    /// Gives a run back.
    pub(in crate::generate) fn release(&mut self, run: Run) {
        self.low = self.low.min(run.start);
        self.change(run, |word, mask| {
            let changed = (*word & mask).count_ones();
            *word &= !mask;
            i64::from(changed)
        });
    }

    fn change(&mut self, run: Run, change: impl Fn(&mut u64, u64) -> i64) {
        let end = run.start.saturating_add(run.len).min(self.count);
        let mut at = run.start;
        while at < end {
            let (bit, len) = (at % 64, (64 - at % 64).min(end - at));
            let mask = (u64::MAX >> (64 - len)) << bit;
            self.free = self.free.wrapping_add_signed(change(&mut self.words[(at / 64) as usize], mask));
            at += len;
        }
    }

    /// The first free run of at least `at_least` clusters that starts in `from..end`, cut at `wanted`.
    fn find(&self, from: u64, end: u64, at_least: u64, wanted: u64) -> Option<Run> {
        let mut at = from;
        while let Some(start) = self.next(at).filter(|start| *start < end) {
            let len = self.length(start, wanted);
            if len >= at_least {
                return Some(Run { start, len });
            }
            at = start + len;
        }
        None
    }

    /// Number of consecutive free clusters from `start` on, counted up to `wanted`.
    fn length(&self, start: u64, wanted: u64) -> u64 {
        let mut at = start;
        while at < self.count && at - start < wanted {
            let taken = (self.words[(at / 64) as usize] >> (at % 64)).trailing_zeros();
            let here = u64::from(taken).min(64 - at % 64);
            at += here;
            if here == 0 || !at.is_multiple_of(64) {
                break;
            }
        }
        (at - start).min(wanted)
    }

    /// The first cluster from `from` on that is free.
    fn next(&self, from: u64) -> Option<u64> {
        if from >= self.count {
            return None;
        }
        let mut index = (from / 64) as usize;
        let mut open = !self.words[index] & (u64::MAX << (from % 64));
        while open == 0 {
            index += 1;
            open = !*self.words.get(index)?;
        }
        Some(index as u64 * 64 + u64::from(open.trailing_zeros()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(start: u64, len: u64) -> Run {
        Run { start, len }
    }

    #[test]
    fn takes_the_first_run_from_a_place_on_and_goes_round() {
        let mut clusters = Clusters::new(200);
        clusters.reserve(run(60, 10));
        assert_eq!(clusters.take(50, 1, 100), Some(run(50, 10)));
        assert_eq!(clusters.take(50, 1, 1000), Some(run(70, 130)));
        assert_eq!(clusters.take(190, 1, 7), Some(run(0, 7)));
        assert_eq!((clusters.free(), clusters.count()), (43, 200));
        assert_eq!(clusters.take(999, 1, 100), Some(run(7, 43)));
        assert_eq!(clusters.take(0, 1, 1), None);
        clusters.release(run(120, 3));
        assert_eq!(clusters.take(0, 1, 5), Some(run(120, 3)));
    }

    #[test]
    fn short_runs_are_the_last_resort() {
        let mut clusters = Clusters::new(64);
        clusters.reserve(run(0, 64));
        clusters.release(run(3, 2));
        clusters.release(run(40, 8));
        assert_eq!(clusters.take(0, 4, 4), Some(run(40, 4)));
        assert_eq!(clusters.take(0, 4, 4), Some(run(44, 4)));
        assert_eq!(clusters.take(0, 4, 4), Some(run(3, 2)));
        assert_eq!(clusters.free(), 0);
    }

    #[test]
    fn agrees_with_a_list_of_flags() {
        let mut clusters = Clusters::new(130);
        let mut flags = [false; 130];
        let mut state = 12345u64;
        let mut number = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        for _ in 0..5000 {
            let (near, wanted) = (number(130), 1 + number(40));
            if number(2) == 0 {
                let given = run(near, wanted.min(130 - near));
                clusters.release(given);
                flags[near as usize..][..given.len as usize].fill(false);
                continue;
            }
            let first = (0..130).map(|step| ((near + step) % 130) as usize).find(|at| !flags[*at]);
            let taken = clusters.take(near, 1, wanted);
            assert_eq!(taken.map(|run| run.start as usize), first);
            if let Some(taken) = taken {
                let len = flags[taken.start as usize..].iter().take_while(|flag| !**flag).count();
                assert_eq!(taken.len, wanted.min(len as u64));
                flags[taken.start as usize..][..taken.len as usize].fill(true);
            }
            assert_eq!(clusters.free(), flags.iter().filter(|flag| !**flag).count() as u64);
        }
    }
}
