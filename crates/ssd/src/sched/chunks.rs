//! A list of commands into whose middle one can be put at little cost, however many it has: pieces of bounded length.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::Queued;

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
            }
            if let Some(last) = self.more.back_mut() {
                last.push_back(queued);
                self.in_more += 1;
            }
        } else if place < self.first.len() {
            self.first.insert(place, queued);
            if self.first.len() > LENGTH {
                let split = self.first.split_off(LENGTH / 2);
                self.in_more += split.len();
                self.more.push_front(split);
            }
        } else if let Some((piece, place)) = self.find(place - self.first.len()) {
            let into = &mut self.more[piece];
            into.insert(place, queued);
            if into.len() > LENGTH {
                let split = into.split_off(LENGTH / 2);
                self.more.insert(piece + 1, split);
            }
            self.in_more += 1;
        }
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
            self.first = next;
        }
    }

    /// The piece of `more`, and the place in it, of the command at a place of `more`.
    fn find(&self, mut place: usize) -> Option<(usize, usize)> {
        for (piece, commands) in self.more.iter().enumerate() {
            if place < commands.len() {
                return Some((piece, place));
            }
            place -= commands.len();
        }
        None
    }

    /// The place of the command of that number. Requires that all were appended.
    pub(super) fn place_of(&self, number: u64) -> Option<usize> {
        let mut start = 0;
        for piece in [&self.first].into_iter().chain(&self.more) {
            if piece.back().is_some_and(|last| last.number >= number) {
                return Some(start + piece.binary_search_by_key(&number, |queued| queued.number).ok()?);
            }
            start += piece.len();
        }
        None
    }

    /// True if the command of that number is in the list. Requires that all were appended.
    pub(super) fn has(&self, number: u64) -> bool {
        let begins = |piece: &VecDeque<Queued>| piece.front().is_some_and(|first| first.number <= number);
        let piece = match self.more.partition_point(begins) {
            0 => &self.first,
            piece => &self.more[piece - 1],
        };
        piece.binary_search_by_key(&number, |queued| queued.number).is_ok()
    }

    /// The command of a number, and its place, if it is there. All that are no awaited reads are in the order of their numbers.
    pub(super) fn find_number(&self, number: u64) -> Option<(usize, &Queued)> {
        let in_order = |queued: &Queued| (!queued.is_awaited_read()).then_some(queued.number);
        let begins = |piece: usize| self.more[piece].iter().find_map(in_order);
        let (piece, start) = match last_up_to(number, self.more.len(), begins) {
            None => (&self.first, 0),
            Some(piece) => {
                let before = self.more.iter().take(piece).map(VecDeque::len);
                (&self.more[piece], self.first.len() + before.sum::<usize>())
            }
        };
        let place = last_up_to(number, piece.len(), |place| in_order(&piece[place]))?;
        (piece[place].number == number).then(|| (start + place, &piece[place]))
    }

    /// Awaited reads that follow one another from a place on.
    pub(super) fn reads_from(&self, place: usize) -> usize {
        let mut start = 0;
        let mut reads = 0;
        for piece in [&self.first].into_iter().chain(&self.more) {
            if start + piece.len() > place {
                let from = place.saturating_sub(start);
                let here = piece.iter().skip(from).take_while(|queued| queued.is_awaited_read()).count();
                reads += here;
                if from + here < piece.len() {
                    break;
                }
            }
            start += piece.len();
        }
        reads
    }
}

/// The last of `len` places whose number is no larger than `number`. The numbers are in order; places may have none.
fn last_up_to(number: u64, len: usize, number_at: impl Fn(usize) -> Option<u64>) -> Option<usize> {
    let (mut found, mut low, mut high) = (None, 0, len);
    while low < high {
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
