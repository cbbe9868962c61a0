//! Life spans and life cycles of addresses, in request numbers (Yang 2009, section 5.2.2): how hot data is, and how hot and
//! cold data mix; and the time between two touches of an address.
//!
//! Exact to the sector, and yet not a record a sector: neighbours with the same history are one piece. Chunks of 256
//! sectors hold their pieces in order. If pieces get too many, half of the units of space are forgotten, chosen by hash:
//! those that are left were followed from their first request on, whole.

use super::life_report::{self, Life};
use super::pieces::{CHUNK, Intervals, Piece, Touch, touched};
use super::powers::Powers;
use super::sample::{Sample, hash};
use super::table::Table;
use flashweir_trace::Request;

/// Pieces at most, of 32 bytes each.
const PIECES: usize = 1 << 20;
/// Room that a chunk takes without its pieces, in pieces.
const OVERHEAD: usize = 3;

/// The lives of all addresses that one operation touches.
pub(super) struct Lives {
    unit_chunks: u64,
    sample: Sample,
    /// Inverse of the share that is followed.
    weight: u64,
    limit: usize,
    chunks: Table<Vec<Piece>>,
    pieces: usize,
    number: u64,
    intervals: Intervals,
    scratch: Vec<Piece>,
}

impl Lives {
    /// Nothing touched yet; units of space are `unit_chunks` chunks.
    pub(super) fn new(unit_chunks: u64) -> Self {
        Self::with_limit(unit_chunks, PIECES)
    }

    pub(super) fn with_limit(unit_chunks: u64, limit: usize) -> Self {
        Self {
            unit_chunks,
            sample: Sample::all(),
            weight: 1,
            limit,
            chunks: Table::new(),
            pieces: 0,
            number: 0,
            intervals: Intervals { requests: Powers::new(), ns: Powers::new() },
            scratch: Vec::new(),
        }
    }

    /// Looks up what a request will need soon.
    #[inline]
    pub(super) fn look(&self, request: &Request) -> u64 {
        let chunk = request.lba / CHUNK;
        if !self.sample.has(hash(chunk / self.unit_chunks)) {
            return 0;
        }
        self.chunks.look(chunk, |pieces| pieces.first().map_or(0, |piece| piece.last))
    }

    /// The next request of the operation.
    pub(super) fn observe(&mut self, request: &Request, time_ns: u64) {
        let number = self.number;
        self.number += 1;
        let (first, last) = (request.lba / CHUNK, (request.end() - 1) / CHUNK);
        for unit in first / self.unit_chunks..=last / self.unit_chunks {
            if !self.sample.has(hash(unit)) {
                continue;
            }
            let from = first.max(unit.saturating_mul(self.unit_chunks));
            let to = last.min(unit.saturating_mul(self.unit_chunks).saturating_add(self.unit_chunks - 1));
            for chunk in from..=to {
                let low = if chunk == first { request.lba % CHUNK } else { 0 } as u16;
                let high = if chunk == last { (request.end() - 1) % CHUNK + 1 } else { CHUNK } as u16;
                let touch = Touch { low, high, number, time_ns, weight: self.weight };
                let pieces = self.chunks.entry(chunk);
                let before = pieces.len();
                touched(pieces, &touch, &mut self.intervals, &mut self.scratch);
                self.pieces = self.pieces + pieces.len() - before;
            }
            if self.pieces + self.chunks.len() * OVERHEAD > self.limit {
                self.forget();
            }
        }
    }

    /// Forgets half of all units, until what is left fits.
    #[cold]
    fn forget(&mut self) {
        while self.pieces + self.chunks.len() * OVERHEAD > self.limit && self.weight < 1 << 40 {
            self.sample.halve();
            self.weight *= 2;
            let out = |chunk: &u64| !self.sample.has(hash(chunk / self.unit_chunks));
            let leaving: Vec<u64> = self.chunks.keys().filter(out).collect();
            for chunk in leaving {
                self.pieces -= self.chunks.remove(chunk).map_or(0, |pieces| pieces.len());
            }
        }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.chunks.memory_bytes() + self.pieces * size_of::<Piece>()
    }

    pub(super) fn finish(&self) -> Life {
        let chunks = self.chunks.sorted();
        life_report::life(&chunks, self.unit_chunks, self.number, self.sample.rate(), &self.intervals)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use flashweir_trace::Op;

    #[derive(Clone, Debug, Default, PartialEq)]
    struct Naive {
        count: u32,
        first: u64,
        last: u64,
        last_ns: u64,
    }

    fn request(lba: u64, sectors: u32) -> Request {
        Request { time_ns: 0, lba, sectors, stream: 0, op: Op::Write, handle: 0 }
    }

    proptest! {
        #[test]
        fn every_sector_has_its_own_history(steps in proptest::collection::vec((0u64..2000, 1u32..600), 1..150)) {
            let mut lives = Lives::new(8);
            let mut model = vec![Naive::default(); 2600];
            let mut intervals = Powers::new();
            for (number, (lba, sectors)) in (0u64..).zip(steps) {
                // Many start where others do, or are short.
                let lba = if number % 3 == 0 { lba / 64 * 64 } else { lba };
                let sectors = if number % 2 == 0 { sectors % 16 + 1 } else { sectors };
                lives.observe(&request(lba, sectors), number * 10);
                for sector in &mut model[lba as usize..(lba + u64::from(sectors)) as usize] {
                    if sector.count == 0 {
                        sector.first = number;
                    } else {
                        intervals.add(number - sector.last, 1);
                    }
                    *sector = Naive { count: sector.count + 1, first: sector.first, last: number, last_ns: number * 10 };
                }
            }
            let mut found = vec![Naive::default(); 2600];
            for (chunk, pieces) in lives.chunks.sorted() {
                prop_assert!(pieces.windows(2).all(|pair| pair[0].end <= pair[1].start));
                for piece in pieces {
                    let from = (chunk * CHUNK) as usize;
                    let history = Naive { count: piece.count, first: piece.first, last: piece.last, last_ns: piece.last_ns };
                    found[from + usize::from(piece.start)..from + usize::from(piece.end)].fill(history);
                }
            }
            prop_assert_eq!(found, model);
            prop_assert_eq!(lives.intervals.requests.finish(1), intervals.finish(1));
            prop_assert_eq!(lives.pieces, lives.chunks.sorted().iter().map(|(_, pieces)| pieces.len()).sum::<usize>());
        }
    }

    #[test]
    fn too_many_pieces_are_halved_by_unit() {
        let mut lives = Lives::with_limit(8, 10_000);
        for round in 0..3u64 {
            for n in 0..100_000u64 {
                lives.observe(&request(n * 7919 % 100_000 * 16, 8), round);
            }
        }
        assert!(lives.pieces <= 10_000 && lives.memory_bytes() < 2_000_000);
        let found = lives.finish();
        assert!(found.followed_share < 0.2 && found.followed_share > 0.02, "{}", found.followed_share);
        let full = 800_000.0 * 512.0;
        let estimated = found.followed_bytes as f64 / found.followed_share;
        assert!((estimated / full - 1.0).abs() < 0.1, "{estimated} bytes of {full}");
        let again: u64 = found.interval_requests.iter().map(|bin| bin.count).sum();
        assert!((again as f64 / (2.0 * full) - 1.0).abs() < 0.1, "{again} bytes again");
    }

    #[test]
    fn memory_does_not_grow_with_requests() {
        let mut lives = Lives::new(8);
        for n in 0..300_000u64 {
            lives.observe(&request(n % 1000 * 8, 8), n);
        }
        assert!(lives.memory_bytes() < 400_000, "{} bytes", lives.memory_bytes());
    }

    fn lives(starts: impl Iterator<Item = u64>) -> Life {
        let mut lives = Lives::new(8);
        for (n, lba) in (0..).zip(starts) {
            lives.observe(&Request { time_ns: 0, lba, sectors: 8, stream: 0, op: Op::Write, handle: 0 }, n);
        }
        lives.finish()
    }

    /// The paper's definitions: span = last - first, cycle = span / writes, 0 without an update.
    #[test]
    fn spans_and_cycles_are_those_of_the_definition() {
        // Written as requests 0, 2 and 3; 8 is written once, as request 1.
        let found = lives([0, 8, 0, 0].into_iter());
        assert_eq!(
            (found.mean_span, found.mean_cycle, found.updated_share),
            (Some(3.0), Some(1.0), Some(0.5))
        );
        assert_eq!(
            found.cycles.iter().map(|bin| (bin.from, bin.count)).collect::<Vec<_>>(),
            [(0, 4096), (1, 4096)]
        );
        assert_eq!(
            found.interval_requests.iter().map(|bin| (bin.from, bin.count)).collect::<Vec<_>>(),
            [(1, 4096), (2, 4096)]
        );
        let hottest = found.hottest.expect("something was written");
        assert!((hottest.percent_20 - 0.3).abs() < 1e-12, "{}", hottest.percent_20);
    }

    /// 1 MiB of hot data, 1 MiB of cold: in units of their own, or alternating within each.
    #[test]
    fn mixing_is_what_lies_within_units() {
        let hot = |place: fn(u64) -> u64| {
            let again = (0..2560u64).map(move |n| place(n % 256));
            lives((0..256u64).map(|n| place(n + 256)).chain(again))
        };
        let apart = hot(|n| n * 8);
        let mixed = hot(|n| if n < 256 { n * 16 } else { (n - 256) * 16 + 8 });
        assert!(apart.mixing.is_some_and(|mixing| mixing < 0.01), "{:?}", apart.mixing);
        assert!(mixed.mixing.is_some_and(|mixing| mixing > 0.99), "{:?}", mixed.mixing);
        let spread = |life: &Life| life.spread_octaves.unwrap_or(0.0);
        assert!((spread(&apart) - spread(&mixed)).abs() < 1e-9 && spread(&apart) > 0.1);
    }

    #[test]
    fn nothing_and_equal_data_do_not_mix() {
        assert!(lives(std::iter::empty()).mixing.is_none());
        let once = lives((0..1000).map(|n| n * 8));
        assert!(once.mixing.is_none() && once.spread_octaves == Some(0.0) && once.mean_cycle.is_none());
    }

    #[test]
    fn cells_add_up_to_the_histogram() {
        let found = lives((0..5000).map(|n| n * n % 3001 * 64));
        for (number, bin) in (0u32..).zip(&found.cycles) {
            let sum: u64 = found.cells.iter().filter(|cell| cell.1 == number).map(|cell| cell.2).sum();
            assert_eq!(sum, bin.count);
        }
        assert_eq!(found.over_space.iter().map(|row| row.bytes).sum::<u64>(), found.followed_bytes);
    }
}
