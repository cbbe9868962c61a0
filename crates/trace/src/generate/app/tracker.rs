//! Account of the writes: every request is a first write or an overwrite, sequential or not. The definitions are those
//! of docs/concepts/scores.md; `flashweir_analyze::characterize` measures the same from outside.

/// Writes that may come between two of one sequential run, and the end of the run itself.
const ENDS: usize = 11;

/// Class of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// To sectors never written before, where one of the last writes ended.
    Run = 0,
    /// To sectors never written before, elsewhere.
    Jump = 1,
    /// To at least one sector that was written before, where one of the last writes ended.
    RunAgain = 2,
    /// To at least one sector that was written before, elsewhere.
    JumpAgain = 3,
}

impl Class {
    pub(super) const ALL: [Class; 4] = [Class::Run, Class::Jump, Class::RunAgain, Class::JumpAgain];

    pub(super) const fn is_run(self) -> bool {
        matches!(self, Class::Run | Class::RunAgain)
    }

    pub(super) const fn is_again(self) -> bool {
        matches!(self, Class::RunAgain | Class::JumpAgain)
    }
}

/// One bit a sector, and where the last writes ended.
#[derive(Clone, Debug)]
pub(super) struct Tracker {
    first_lba: u64,
    words: Vec<u64>,
    ends: [u64; ENDS],
    at: usize,
    pub(super) sectors: u64,
    pub(super) aligned_sectors: u64,
}

impl Tracker {
    pub(super) fn new(first_lba: u64, sectors: u64) -> Self {
        let words = vec![0; sectors.div_ceil(64) as usize];
        Self { first_lba, words, ends: [u64::MAX; ENDS], at: 0, sectors: 0, aligned_sectors: 0 }
    }

    /// True if one of the last writes ended at `lba`.
    pub(super) fn is_recent(&self, lba: u64) -> bool {
        self.ends.contains(&lba)
    }

    /// True if any of these sectors was written before.
    pub(super) fn is_written(&self, lba: u64, sectors: u64) -> bool {
        let mut found = false;
        masks(lba - self.first_lba, sectors, |word, mask| found |= self.words[word] & mask != 0);
        found
    }

    pub(super) fn class(&self, lba: u64, sectors: u64) -> Class {
        match (self.is_written(lba, sectors), self.is_recent(lba)) {
            (false, true) => Class::Run,
            (false, false) => Class::Jump,
            (true, true) => Class::RunAgain,
            (true, false) => Class::JumpAgain,
        }
    }

    pub(super) fn record(&mut self, lba: u64, sectors: u64) {
        let words = &mut self.words;
        masks(lba - self.first_lba, sectors, |word, mask| words[word] |= mask);
        self.ends[self.at] = lba + sectors;
        self.at = (self.at + 1) % ENDS;
        self.sectors += sectors;
        if lba.is_multiple_of(8) && sectors.is_multiple_of(8) {
            self.aligned_sectors += sectors;
        }
    }
}

fn masks(first: u64, sectors: u64, mut each: impl FnMut(usize, u64)) {
    let (mut at, end) = (first, first + sectors);
    while at < end {
        let len = (64 - at % 64).min(end - at);
        each((at / 64) as usize, (u64::MAX >> (64 - len)) << (at % 64));
        at += len;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_survives_ten_writes_between_and_no_more() {
        let mut tracker = Tracker::new(63, 100_000);
        tracker.record(63, 128);
        assert_eq!(tracker.class(191, 1), Class::Run);
        assert_eq!(tracker.class(190, 2), Class::JumpAgain);
        for step in 0..10 {
            tracker.record(5000 + step * 100, 8);
        }
        assert_eq!(tracker.class(191, 70), Class::Run);
        tracker.record(9000, 8);
        assert_eq!(tracker.class(191, 70), Class::Jump);
        tracker.record(192, 8);
        assert_eq!((tracker.sectors, tracker.aligned_sectors), (128 + 11 * 8 + 8, 5 * 8 + 8 + 8));
    }
}
