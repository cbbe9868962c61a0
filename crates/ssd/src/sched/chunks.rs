//! A list of commands into whose middle one can be put at little cost, however many it has: pieces of bounded length.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::lengths::Lengths;
use super::{Queued, work};

/// Commands of a piece, at most.
const LENGTH: usize = 128;

/// Commands in order. A short list is one piece.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Chunks {
    first: VecDeque<Queued>,
    /// None of them is empty.
    more: VecDeque<VecDeque<Queued>>,
    /// Commands of `more`.
    in_more: usize,
    /// Lengths of the pieces of `more`, behind those of pieces that are gone.
    lengths: Lengths,
    gone: usize,
}

impl Chunks {
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.first.len() + self.in_more
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.first.is_empty()
    }

    /// The first command.
    #[inline]
    pub(super) fn front(&self) -> Option<&Queued> {
        self.first.front()
    }

    /// The last command.
    pub(super) fn back(&self) -> Option<&Queued> {
        self.more.back().unwrap_or(&self.first).back()
    }

    /// All of them, in order.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &Queued> {
        self.first.iter().chain(self.more.iter().flatten())
    }

    /// The command at a place.
    #[inline]
    pub(super) fn get(&self, place: usize) -> Option<&Queued> {
        if self.more.is_empty() || place < self.first.len() {
            return self.first.get(place);
        }
        if place + 1 == self.len() {
            return self.back();
        }
        let (piece, place) = self.find(place - self.first.len())?;
        self.more[piece].get(place)
    }

    /// Puts a command at a place, which is no later than the end.
    #[inline]
    pub(super) fn insert(&mut self, place: usize, queued: Queued) {
        if self.more.is_empty() && self.first.len() < LENGTH {
            return self.first.insert(place, queued);
        }
        self.insert_into_many(place, queued);
    }

    fn insert_into_many(&mut self, place: usize, queued: Queued) {
        if place == self.len() {
            if self.more.back().is_none_or(|last| last.len() == LENGTH) {
                self.more.push_back(VecDeque::with_capacity(LENGTH));
                self.lengths.push(0);
            }
            if let Some(last) = self.more.back_mut() {
                last.push_back(queued);
                self.in_more += 1;
                self.lengths.add(self.gone + self.more.len() - 1, 1);
            }
        } else if place < self.first.len() {
            self.first.insert(place, queued);
            if self.first.len() > LENGTH {
                let split = self.first.split_off(LENGTH / 2);
                self.in_more += split.len();
                self.more.push_front(split);
                self.measure();
            }
        } else if let Some((piece, place)) = self.find(place - self.first.len()) {
            let into = &mut self.more[piece];
            into.insert(place, queued);
            self.in_more += 1;
            if into.len() > LENGTH {
                let split = into.split_off(LENGTH / 2);
                self.more.insert(piece + 1, split);
                self.measure();
            } else {
                self.lengths.add(self.gone + piece, 1);
            }
        }
    }

    /// Measures all pieces anew, as they are now: lengths alone, and at most once for half a piece of commands that were put into
    /// the middle.
    #[cold]
    fn measure(&mut self) {
        (self.lengths, self.gone) = (self.more.iter().map(VecDeque::len).collect(), 0);
    }

    /// Takes out the first command.
    #[inline]
    pub(super) fn pop_front(&mut self) -> Option<Queued> {
        let queued = self.first.pop_front();
        self.refill();
        queued
    }

    /// Takes out the command at a place.
    pub(super) fn remove(&mut self, place: usize) -> Option<Queued> {
        if place < self.first.len() {
            let queued = self.first.remove(place);
            self.refill();
            return queued;
        }
        let (piece, place) = self.find(place - self.first.len())?;
        let queued = self.more[piece].remove(place);
        self.in_more -= 1;
        if self.more[piece].is_empty() {
            self.more.remove(piece);
            self.measure();
        } else {
            self.lengths.take(self.gone + piece, 1);
        }
        queued
    }

    /// The first piece is empty only if all are.
    #[inline]
    fn refill(&mut self) {
        if self.first.is_empty()
            && let Some(next) = self.more.pop_front()
        {
            self.in_more -= next.len();
            self.lengths.take(self.gone, next.len());
            self.gone += 1;
            if self.more.is_empty() {
                self.lengths.clear();
                self.gone = 0;
            } else if self.gone > 2 * self.more.len() + 16 {
                self.measure();
            }
            self.first = next;
        }
    }

    /// The piece of `more`, and the place in it, of the command at a place of `more`.
    fn find(&self, place: usize) -> Option<(usize, usize)> {
        let (piece, place) = self.lengths.find(place)?;
        Some((piece - self.gone, place))
    }

    /// Commands before a piece of `more`.
    fn before(&self, piece: usize) -> usize {
        self.first.len() + self.lengths.before(self.gone + piece)
    }

    /// The place of the command of that number. Requires that all were appended.
    pub(super) fn place_of(&self, number: u64) -> Option<usize> {
        let (piece, start) = match self.piece_of(number) {
            None => (&self.first, 0),
            Some(piece) => (&self.more[piece], self.before(piece)),
        };
        Some(start + piece.binary_search_by_key(&number, |queued| queued.number).ok()?)
    }

    /// The command of that number. Requires that all were appended.
    pub(super) fn of_number(&self, number: u64) -> Option<&Queued> {
        let piece = self.piece_of(number).map_or(&self.first, |piece| &self.more[piece]);
        Some(&piece[piece.binary_search_by_key(&number, |queued| queued.number).ok()?])
    }

    /// The piece of `more` that has a number, if any has, where all were appended; `None`: the first of all.
    fn piece_of(&self, number: u64) -> Option<usize> {
        let begins = |piece: &VecDeque<Queued>| piece.front().is_some_and(|first| first.number <= number);
        self.more.partition_point(begins).checked_sub(1)
    }

    /// True if the command of that number is in the list. Requires that all were appended.
    pub(super) fn has(&self, number: u64) -> bool {
        self.of_number(number).is_some()
    }

    /// The command of a number, and its place, if it is there. All that are no awaited reads are in the order of their numbers.
    pub(super) fn find_number(&self, number: u64) -> Option<(usize, &Queued)> {
        let in_order = |queued: &Queued| (!queued.is_awaited_read()).then_some(queued.number);
        let begins = |piece: usize| self.more[piece].iter().find_map(in_order);
        let (piece, start) = match last_up_to(number, self.more.len(), begins) {
            None => (&self.first, 0),
            Some(piece) => (&self.more[piece], self.before(piece)),
        };
        let place = last_up_to(number, piece.len(), |place| in_order(&piece[place]))?;
        (piece[place].number == number).then(|| (start + place, &piece[place]))
    }

    /// Awaited reads that follow one another from a place on.
    pub(super) fn reads_from(&self, place: usize) -> usize {
        let is_read = |queued: &&Queued| {
            work::look_at(1);
            queued.is_awaited_read()
        };
        let Some(of_more) = place.checked_sub(self.first.len()) else {
            let reads = self.first.iter().skip(place).take_while(is_read).count();
            let all = place + reads == self.first.len();
            return if all { reads + self.more.iter().flatten().take_while(is_read).count() } else { reads };
        };
        let Some((piece, place)) = self.find(of_more) else { return 0 };
        self.more.range(piece..).flatten().skip(place).take_while(is_read).count()
    }
}

/// The last of `len` places whose number is no larger than `number`. The numbers are in order; places may have none.
fn last_up_to(number: u64, len: usize, number_at: impl Fn(usize) -> Option<u64>) -> Option<usize> {
    let (mut found, mut low, mut high) = (None, 0, len);
    while low < high {
        work::look_at(1);
        let middle = low + (high - low) / 2;
        match (low..=middle).rev().find_map(|place| Some((place, number_at(place)?))) {
            Some((place, there)) if there > number => high = place,
            Some((place, _)) => (found, low) = (Some(place), middle + 1),
            None => low = middle + 1,
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::last_up_to;

    #[test]
    fn a_number_is_found_among_places_without_one() {
        for gaps in [0, 1, 5, 11, 32, 62, 63, u64::MAX] {
            let places: Vec<_> =
                (0..70).map(|place| (gaps >> (place % 64) & 1 == 0).then_some(3 * place)).collect();
            for number in 0..220 {
                let expected = places.iter().rposition(|there| there.is_some_and(|there| there <= number));
                assert_eq!(
                    last_up_to(number, places.len(), |place| places[place]),
                    expected,
                    "{gaps}, {number}"
                );
            }
        }
        assert_eq!(last_up_to(5, 0, |_| None), None);
    }
}
