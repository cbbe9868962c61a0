//! Lengths of the pieces of a list: where a piece begins, and in which one a place lies, in steps that grow with the logarithm
//! of their number (Fenwick 1994).

use serde::{Deserialize, Serialize};

use super::work;

/// Sums of lengths: place `i` has those of the pieces from `i & (i + 1)` to `i`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Lengths(Vec<usize>);

impl Lengths {
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// One more piece at the end.
    pub(super) fn push(&mut self, length: usize) {
        let at = self.0.len();
        let (begin, mut sum, mut end) = (at & (at + 1), length, at);
        while end > begin {
            sum += self.0[end - 1];
            end &= end - 1;
        }
        self.0.push(sum);
    }

    /// A piece has `more` commands more than before.
    pub(super) fn add(&mut self, piece: usize, more: usize) {
        self.change(piece, |sum| *sum += more);
    }

    /// A piece has `less` commands less than before.
    pub(super) fn take(&mut self, piece: usize, less: usize) {
        self.change(piece, |sum| *sum -= less);
    }

    /// Changes all sums that have a piece.
    #[inline]
    fn change(&mut self, piece: usize, change: impl Fn(&mut usize)) {
        let mut at = piece;
        while let Some(sum) = self.0.get_mut(at) {
            change(sum);
            at |= at + 1;
        }
    }

    /// Commands of all pieces before this one.
    pub(super) fn before(&self, piece: usize) -> usize {
        let (mut sum, mut end) = (0, piece);
        while end > 0 {
            work::look_at(1);
            sum += self.0[end - 1];
            end &= end - 1;
        }
        sum
    }

    /// The piece that has a place, and the place in it.
    pub(super) fn find(&self, mut place: usize) -> Option<(usize, usize)> {
        let (mut piece, mut step) = (0, self.0.len().checked_ilog2().map_or(0, |log| 1 << log));
        while step > 0 {
            work::look_at(1);
            if let Some(sum) = self.0.get(piece + step - 1)
                && *sum <= place
            {
                place -= sum;
                piece += step;
            }
            step /= 2;
        }
        (piece < self.0.len()).then_some((piece, place))
    }
}

impl FromIterator<usize> for Lengths {
    fn from_iter<I: IntoIterator<Item = usize>>(lengths: I) -> Self {
        let mut sums: Vec<_> = lengths.into_iter().collect();
        for at in 0..sums.len() {
            let above = at | (at + 1);
            if above < sums.len() {
                sums[above] += sums[at];
            }
        }
        Self(sums)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::draws;
    use super::*;

    #[test]
    fn sums_and_places_are_those_of_the_list() {
        let mut draw = draws(1);
        let mut list: Vec<usize> = Vec::new();
        let mut lengths = Lengths::default();
        for step in 0..300 {
            match draw(4) {
                0 if !list.is_empty() => {
                    let at = draw(list.len() as u64) as usize;
                    lengths.take(at, list[at]);
                    list[at] = 0;
                }
                1 if !list.is_empty() => {
                    let at = draw(list.len() as u64) as usize;
                    list[at] += 3;
                    lengths.add(at, 3);
                }
                _ => {
                    list.push(draw(5) as usize);
                    lengths.push(list[list.len() - 1]);
                }
            }
            if step % 50 == 0 {
                lengths = list.iter().copied().collect();
            }
            let all =
                list.iter().enumerate().flat_map(|(piece, length)| (0..*length).map(move |at| (piece, at)));
            let mut count = 0;
            for (place, expected) in all.enumerate() {
                assert_eq!(lengths.find(place), Some(expected));
                count += 1;
            }
            assert_eq!(lengths.find(count), None);
            for piece in 0..=list.len() {
                assert_eq!(lengths.before(piece), list[..piece].iter().sum::<usize>());
            }
        }
    }
}
