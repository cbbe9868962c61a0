//! Touch history of the sectors of a chunk: neighbours with the same history form one piece.

use super::powers::Powers;

/// Sectors in a chunk: 128 KiB. Units of space are whole chunks.
pub(super) const CHUNK: u64 = 256;

/// Sectors of a chunk that have the same history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) start: u16,
    pub(super) end: u16,
    /// Number of touches.
    pub(super) count: u32,
    /// Number of the first request that did, and of the last.
    pub(super) first: u64,
    pub(super) last: u64,
    pub(super) last_ns: u64,
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
pub(super) struct Touch {
    pub(super) low: u16,
    pub(super) high: u16,
    pub(super) number: u64,
    pub(super) time_ns: u64,
    /// Weight of a sector, which also stands for sectors that are not followed.
    pub(super) weight: u64,
}

/// Reuse distances of sectors, in sectors.
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

/// Sectors of a chunk are touched: their pieces get older, new ones fill the gaps, and neighbours that have become the same
/// are one.
pub(super) fn touched(
    pieces: &mut Vec<Piece>,
    touch: &Touch,
    intervals: &mut Intervals,
    scratch: &mut Vec<Piece>,
) {
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
