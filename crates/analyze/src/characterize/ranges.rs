//! Sectors that were touched before, exactly. Memory grows with the distinct ranges and not with the requests.
//!
//! The address space is cut into chunks of 512 sectors. A chunk that was touched in part is a bitmap of one cache line;
//! one that was touched whole is part of a run of such chunks, and neighbouring runs are one. So a drive that was
//! written from end to end is a single run, and 4 KiB written anywhere are at most 100 bytes.

use std::collections::BTreeMap;

use super::table::Table;

/// Sectors in a chunk.
const CHUNK: u64 = 512;
const WORDS: usize = CHUNK as usize / 64;

/// A set of sectors.
pub(super) struct Ranges {
    partial: Table<[u64; WORDS]>,
    /// Runs of whole chunks: first chunk to the one behind the last. Never touching.
    whole: BTreeMap<u64, u64>,
    /// The run that was met last: requests stay near.
    last: (u64, u64),
    sectors: u64,
}

impl Ranges {
    pub(super) fn new() -> Self {
        Self { partial: Table::new(), whole: BTreeMap::new(), last: (0, 0), sectors: 0 }
    }

    /// Sectors in the set.
    pub(super) const fn sectors(&self) -> u64 {
        self.sectors
    }

    /// Bytes that it takes.
    pub(super) fn memory_bytes(&self) -> usize {
        // A node of the map holds 5 to 11 runs of 16 bytes, a header, and its share of the nodes above.
        self.partial.memory_bytes() + self.whole.len() * 48
    }

    /// Looks up what [`Ranges::insert`] will need soon.
    #[inline]
    pub(super) fn look(&self, from: u64) -> u64 {
        self.partial.look(from / CHUNK, |bits| bits[0])
    }

    /// Adds sectors `from..to`, and says how many of them were in the set before. `from < to`.
    pub(super) fn insert(&mut self, from: u64, to: u64) -> u64 {
        let (first, last) = (from / CHUNK, (to - 1) / CHUNK);
        let before = if first == last {
            self.insert_in(first, from % CHUNK, (to - 1) % CHUNK)
        } else {
            let head = self.insert_in(first, from % CHUNK, CHUNK - 1);
            let middle = if last - first > 1 { self.insert_whole(first + 1, last) } else { 0 };
            head + middle + self.insert_in(last, 0, (to - 1) % CHUNK)
        };
        self.sectors += (to - from) - before;
        before
    }

    /// Adds sectors `low..=high` of one chunk.
    #[inline]
    fn insert_in(&mut self, chunk: u64, low: u64, high: u64) -> u64 {
        if low == 0 && high == CHUNK - 1 {
            return self.insert_whole(chunk, chunk + 1);
        }
        if self.is_whole(chunk) {
            return high - low + 1;
        }
        let bits = self.partial.entry(chunk);
        let (first_word, last_word) = ((low / 64) as usize, (high / 64) as usize);
        let (left, right) = (u64::MAX << (low % 64), u64::MAX >> (63 - high % 64));
        let mut set = |at: usize, mask: u64| {
            let before = (mask & bits[at]).count_ones();
            bits[at] |= mask;
            before
        };
        let before = if first_word == last_word {
            set(first_word, left & right)
        } else {
            let middle: u32 = (first_word + 1..last_word).map(|at| set(at, u64::MAX)).sum();
            set(first_word, left) + middle + set(last_word, right)
        };
        if bits[last_word] == u64::MAX && bits.iter().all(|word| *word == u64::MAX) {
            self.partial.remove(chunk);
            self.join(chunk, chunk + 1);
        }
        u64::from(before)
    }

    #[inline]
    fn is_whole(&mut self, chunk: u64) -> bool {
        if self.last.0 <= chunk && chunk < self.last.1 {
            return true;
        }
        match self.whole.range(..=chunk).next_back() {
            Some((start, end)) if chunk < *end => {
                self.last = (*start, *end);
                true
            }
            _ => false,
        }
    }

    /// Adds whole chunks, and says how many sectors of them were in the set.
    fn insert_whole(&mut self, first: u64, end: u64) -> u64 {
        if self.last.0 <= first && end <= self.last.1 {
            return (end - first) * CHUNK;
        }
        let before = self.take_partial(first, end);
        before + self.join(first, end) * CHUNK
    }

    /// Takes out what is known of chunks that are about to be whole; how many sectors that were.
    fn take_partial(&mut self, first: u64, end: u64) -> u64 {
        if self.partial.len() == 0 {
            return 0;
        }
        let ones = |bits: [u64; WORDS]| bits.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
        if end - first <= self.partial.len() as u64 {
            return (first..end).filter_map(|chunk| self.partial.remove(chunk)).map(ones).sum();
        }
        let met: Vec<u64> = self.partial.keys().filter(|chunk| (first..end).contains(chunk)).collect();
        met.into_iter().filter_map(|chunk| self.partial.remove(chunk)).map(ones).sum()
    }

    /// Adds a run, and joins it with those that it touches; how many of its chunks were in runs before.
    fn join(&mut self, first: u64, end: u64) -> u64 {
        let (mut from, mut to, mut before) = (first, end, 0);
        while let Some((start, stop)) =
            self.whole.range(..=to).next_back().map(|(start, stop)| (*start, *stop))
        {
            if stop < from {
                break;
            }
            before += stop.min(end).saturating_sub(start.max(first));
            (from, to) = (from.min(start), to.max(stop));
            self.whole.remove(&start);
        }
        self.whole.insert(from, to);
        self.last = (from, to);
        before
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_a_set_of_sectors(steps in proptest::collection::vec((0u64..6000, 1u64..2500), 1..300)) {
            let (mut ranges, mut model) = (Ranges::new(), vec![false; 10_000]);
            for (from, sectors) in steps {
                // Most requests are short, some span several chunks.
                let to = from + if sectors > 2000 { sectors } else { sectors % 70 + 1 };
                let span = &mut model[from as usize..to as usize];
                let expected = span.iter().filter(|touched| **touched).count() as u64;
                span.fill(true);
                prop_assert_eq!(ranges.insert(from, to), expected);
                prop_assert_eq!(ranges.sectors(), model.iter().filter(|touched| **touched).count() as u64);
            }
        }
    }

    #[test]
    fn memory_is_that_of_distinct_ranges() {
        let mut ranges = Ranges::new();
        for n in 0..1_000_000u64 {
            ranges.insert(n % 100_000 * 8, n % 100_000 * 8 + 8);
        }
        assert_eq!(ranges.sectors(), 800_000);
        assert!(ranges.memory_bytes() < 20_000, "one range took {} bytes", ranges.memory_bytes());
        let mut apart = Ranges::new();
        for n in 0..50_000u64 {
            apart.insert(n * 1_000_003, n * 1_000_003 + 8);
        }
        assert!(apart.memory_bytes() < 50_000 * 160, "{} bytes", apart.memory_bytes());
    }

    #[test]
    fn the_whole_address_space_is_one_run() {
        let mut ranges = Ranges::new();
        ranges.insert(100, 200);
        assert_eq!(ranges.insert(0, u64::MAX), 100);
        assert_eq!(ranges.insert(u64::MAX - 4096, u64::MAX), 4096);
        assert_eq!(ranges.insert(7, 9), 2);
        assert!(ranges.memory_bytes() < 4096);
    }
}
