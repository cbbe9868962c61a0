//! Life spans and life cycles of addresses, in request numbers (Yang 2009, section 5.2.2): how hot data is, and how hot and
//! cold data mix; and after how long an address is touched again.
//!
//! Exact to the sector, and yet not a record a sector: neighbours with the same history are one piece. Chunks of 256
//! sectors hold their pieces in order. If pieces get too many, half of the units of space are forgotten, chosen by hash:
//! those that are left were followed from their first request on, whole.

use super::life_report::{self, Life};
use super::powers::Powers;
use super::sample::{Sample, hash};
use super::table::Table;
use flashweir_trace::Request;

/// Sectors in a chunk: 128 KiB. Units of space are whole chunks.
pub(super) const CHUNK: u64 = 256;
/// Pieces at most, of 32 bytes each.
const PIECES: usize = 1 << 20;
/// Room that a chunk takes without its pieces, in pieces.
const OVERHEAD: usize = 3;

/// Sectors of a chunk that have the same history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    start: u16,
    end: u16,
    /// How often they were touched.
    pub(super) count: u32,
    /// Number of the first request that did, and of the last.
    first: u64,
    last: u64,
    last_ns: u64,
}

impl Piece {
    pub(super) const fn sectors(&self) -> u64 {
        (self.end - self.start) as u64
    }

    /// Life span, in request numbers.
    pub(super) const fn span(&self) -> u64 {
        self.last - self.first
    }

    /// Life cycle, span by touches, rounded up; 0 if it was touched once.
    pub(super) const fn whole_cycle(&self) -> u64 {
        self.span().div_ceil(self.count as u64)
    }

    /// Life cycle: span by touches; 0 if it was touched once.
    pub(super) fn cycle(&self) -> f64 {
        self.span() as f64 / f64::from(self.count)
    }

    const fn follows(&self, earlier: &Self) -> bool {
        earlier.end == self.start
            && earlier.count == self.count
            && earlier.first == self.first
            && earlier.last == self.last
            && earlier.last_ns == self.last_ns
    }
}

/// A request as a chunk sees it.
#[derive(Clone, Copy)]
struct Touch {
    low: u16,
    high: u16,
    number: u64,
    time_ns: u64,
    /// What a sector stands for, since others are not followed.
    weight: u64,
}

/// After how long sectors are touched again, in sectors.
pub(super) struct Intervals {
    pub(super) requests: Powers,
    pub(super) ns: Powers,
}

impl Intervals {
    fn add(&mut self, piece: &Piece, sectors: u16, touch: &Touch) {
        let weight = u64::from(sectors) * touch.weight;
        self.requests.add(touch.number - piece.last, weight);
        self.ns.add(touch.time_ns - piece.last_ns, weight);
    }
}

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

/// Sectors of a chunk are touched: their pieces get older, new ones fill the gaps, and neighbours that have become the same
/// are one.
fn touched(pieces: &mut Vec<Piece>, touch: &Touch, intervals: &mut Intervals, scratch: &mut Vec<Piece>) {
    let (low, high) = (touch.low, touch.high);
    let fresh = |start: u16, end: u16| Piece {
        start,
        end,
        count: 1,
        first: touch.number,
        last: touch.number,
        last_ns: touch.time_ns,
    };
    let from = pieces.partition_point(|piece| piece.end <= low);
    match pieces.get_mut(from) {
        None => return pieces.push(fresh(low, high)),
        Some(piece) if piece.start >= high => return pieces.insert(from, fresh(low, high)),
        Some(piece) if piece.start == low && piece.end == high => {
            intervals.add(piece, high - low, touch);
            *piece = older(piece, low, high, touch);
            return;
        }
        Some(_) => {}
    }
    scratch.clear();
    let (mut at, mut to) = (low, from);
    for piece in pieces[from..].iter().take_while(|piece| piece.start < high) {
        let (start, end) = (piece.start.max(low), piece.end.min(high));
        if piece.start < low {
            scratch.push(Piece { end: low, ..*piece });
        }
        if at < start {
            scratch.push(fresh(at, start));
        }
        intervals.add(piece, end - start, touch);
        scratch.push(older(piece, start, end, touch));
        if piece.end > high {
            scratch.push(Piece { start: high, ..*piece });
        }
        (at, to) = (end, to + 1);
    }
    if at < high {
        scratch.push(fresh(at, high));
    }
    scratch.dedup_by(|later, earlier| {
        let same = later.follows(earlier);
        if same {
            earlier.end = later.end;
        }
        same
    });
    pieces.splice(from..to, scratch.iter().copied());
}

fn older(piece: &Piece, start: u16, end: u16, touch: &Touch) -> Piece {
    let count = piece.count.saturating_add(1);
    Piece { start, end, count, first: piece.first, last: touch.number, last_ns: touch.time_ns }
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
        Request { time_ns: 0, lba, sectors, stream: 0, op: Op::Write }
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
}
