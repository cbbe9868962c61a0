//! Summary of the life cycles of addresses: temperature of data, its place, and the mixing of hot and cold data.

use serde::Serialize;

use super::pieces::{CHUNK, Intervals, Piece};
use super::powers::{PowerBin, Powers};
use flashweir_trace::SECTOR_BYTES;

/// Maximum number of rows into which a report divides the address space.
const ROWS: u64 = 128;

/// Life cycles of what one operation touches.
#[derive(Clone, Debug, Serialize)]
pub struct Life {
    /// Share of all units of space that was followed: 1, or less where following all takes too much memory. What is said of
    /// bytes below is of those, but for intervals, which are estimates for all.
    pub followed_share: f64,
    /// Distinct bytes that were followed.
    pub followed_bytes: u64,
    /// Share of those that were touched more than once.
    pub updated_share: Option<f64>,
    /// Mean life span of those, in requests of the operation.
    pub mean_span: Option<f64>,
    /// Mean life cycle of those, in requests of the operation.
    pub mean_cycle: Option<f64>,
    /// Mixing of hot and cold data within a unit of space: the share of the variance of the logarithm of life cycles
    /// that lies within units and not between them. 0: each unit is of one temperature; 1: every unit has the full
    /// range. `None` where all data is equally hot.
    pub mixing: Option<f64>,
    /// Difference between hot and cold data: standard deviation of the logarithm of life cycles, in powers of two.
    pub spread_octaves: Option<f64>,
    /// Share of all that was carried which went to the hottest hundredth, tenth and fifth of the bytes.
    pub hottest: Option<Hottest>,
    /// Bytes by life cycle, rounded up to whole requests: 0 is what was touched once.
    pub cycles: Vec<PowerBin>,
    /// Bytes by how many requests of the operation later they were reused.
    pub interval_requests: Vec<PowerBin>,
    /// Bytes by how many nanoseconds later they were reused.
    pub interval_ns: Vec<PowerBin>,
    /// Half of all bytes that were reused were after no more requests, to a power of two.
    pub median_interval_requests: Option<u64>,
    /// Half of all bytes that were reused were after no more nanoseconds, to a power of two.
    pub median_interval_ns: Option<u64>,
    /// Life cycles over the address space.
    pub over_space: Vec<LifeRow>,
    /// Bytes over the address space and life cycles: row of `over_space`, bin of `cycles`, bytes.
    pub cells: Vec<(u32, u32, u64)>,
}

/// Skew: shares of an operation's bytes that went to the hottest addresses.
#[derive(Clone, Debug, Serialize)]
pub struct Hottest {
    /// Share that went to the hottest hundredth of the bytes.
    pub percent_1: f64,
    /// To the hottest tenth.
    pub percent_10: f64,
    /// To the hottest fifth.
    pub percent_20: f64,
}

/// Life cycles in one stretch of the address space.
#[derive(Clone, Debug, Serialize)]
pub struct LifeRow {
    /// Where it begins.
    pub from_bytes: u64,
    /// Distinct bytes in it.
    pub bytes: u64,
    /// Mean life cycle, requests; what was touched once counts 0.
    pub mean_cycle: f64,
    /// Standard deviation of life cycles.
    pub spread_cycle: f64,
    /// Longest life cycle.
    pub max_cycle: f64,
}

/// Weighted mean and variance.
#[derive(Clone, Copy, Default)]
struct Moments {
    weight: f64,
    mean: f64,
    /// Weighted sum of squared differences from the mean.
    squares: f64,
}

impl Moments {
    /// West 1979: exact where sums of squares would cancel.
    fn add(&mut self, value: f64, weight: f64) {
        self.weight += weight;
        let change = value - self.mean;
        self.mean += change * weight / self.weight;
        self.squares += weight * change * (value - self.mean);
    }

    fn spread(&self) -> f64 {
        if self.weight > 0.0 { (self.squares / self.weight).max(0.0).sqrt() } else { 0.0 }
    }
}

/// Sums up `chunks`, which are in order; `requests` is how many the operation had, `rate` the share that was followed.
pub(super) fn life(
    chunks: &[(u64, &Vec<Piece>)],
    unit_chunks: u64,
    requests: u64,
    rate: f64,
    intervals: &Intervals,
) -> Life {
    let mut cycles = Powers::new();
    let (mut all, mut unit, mut within) = (Moments::default(), Moments::default(), 0.0);
    let (mut updated, mut spans, mut sums, mut sectors) = (0u64, 0.0, 0.0, 0u64);
    let mut touches: Vec<(u32, u64)> = Vec::new();
    let mut current = None;
    // Data touched once counts as the coldest: nothing indicates another touch before the end.
    let coldest = (requests.max(1) as f64).log2();
    for (chunk, pieces) in chunks {
        if current.replace(chunk / unit_chunks) != Some(chunk / unit_chunks) {
            within += std::mem::take(&mut unit).squares;
        }
        for piece in *pieces {
            let (cycle, weight) = (piece.cycle(), piece.sectors());
            cycles.add(piece.whole_cycle(), weight);
            sectors += weight;
            touches.push((piece.count, weight));
            if piece.count > 1 {
                updated += weight;
                spans += piece.span() as f64 * weight as f64;
                sums += cycle * weight as f64;
            }
            let coldness = if piece.count > 1 { cycle.log2() } else { coldest };
            unit.add(coldness, weight as f64);
            all.add(coldness, weight as f64);
        }
    }
    within += unit.squares;
    let of_updated = |sum: f64| (updated > 0).then(|| sum / updated as f64);
    // Less than a rounding error is no difference.
    let differ = all.squares > 1e-9 * all.weight;
    let (over_space, cells) = over_space(chunks, &cycles);
    Life {
        followed_share: rate,
        followed_bytes: sectors.saturating_mul(SECTOR_BYTES),
        updated_share: (sectors > 0).then(|| updated as f64 / sectors as f64),
        mean_span: of_updated(spans),
        mean_cycle: of_updated(sums),
        mixing: differ.then(|| (within / all.squares).clamp(0.0, 1.0)),
        spread_octaves: (sectors > 0).then(|| all.spread()),
        hottest: hottest(touches, sectors),
        cycles: cycles.finish(SECTOR_BYTES),
        interval_requests: intervals.requests.finish(SECTOR_BYTES),
        interval_ns: intervals.ns.finish(SECTOR_BYTES),
        median_interval_requests: intervals.requests.median(),
        median_interval_ns: intervals.ns.median(),
        over_space,
        cells,
    }
}

/// The share of all touches that the hottest sectors have.
fn hottest(mut touches: Vec<(u32, u64)>, sectors: u64) -> Option<Hottest> {
    touches.sort_unstable_by_key(|(count, _)| std::cmp::Reverse(*count));
    let carried = |count: u32, sectors: f64| f64::from(count) * sectors;
    let all: f64 = touches.iter().map(|(count, sectors)| carried(*count, *sectors as f64)).sum();
    let share = |part: f64| {
        let (mut left, mut sum) = (sectors as f64 * part, 0.0);
        for (count, sectors) in &touches {
            let taken = left.min(*sectors as f64);
            (left, sum) = (left - taken, sum + carried(*count, taken));
            if left <= 0.0 {
                break;
            }
        }
        sum / all
    };
    (sectors > 0).then(|| Hottest { percent_1: share(0.01), percent_10: share(0.1), percent_20: share(0.2) })
}

type Cells = Vec<(u32, u32, u64)>;

/// Life cycles by rows of addresses; those rows that nothing is in are left out.
fn over_space(chunks: &[(u64, &Vec<Piece>)], cycles: &Powers) -> (Vec<LifeRow>, Cells) {
    let (Some((first, _)), Some((last, _))) = (chunks.first(), chunks.last()) else {
        return (Vec::new(), Vec::new());
    };
    let width = ((last - first) / ROWS + 1).next_power_of_two();
    // The histogram leaves out bins before the first that is used.
    let skipped = cycles.first_used();
    let (mut rows, mut cells) = (Vec::new(), Cells::new());
    for part in chunks.chunk_by(|one, next| one.0 / width == next.0 / width) {
        let (mut moments, mut longest, mut bins) = (Moments::default(), 0.0f64, Powers::new());
        for piece in part.iter().flat_map(|(_, pieces)| pieces.iter()) {
            moments.add(piece.cycle(), piece.sectors() as f64);
            longest = longest.max(piece.cycle());
            bins.add(piece.whole_cycle(), piece.sectors());
        }
        let used = bins.used().map(|(bin, sectors)| {
            ((rows.len()) as u32, (bin - skipped) as u32, sectors.saturating_mul(SECTOR_BYTES))
        });
        cells.extend(used);
        rows.push(LifeRow {
            from_bytes: (part[0].0 / width * width).saturating_mul(CHUNK * SECTOR_BYTES),
            bytes: bins.total().saturating_mul(SECTOR_BYTES),
            mean_cycle: moments.mean,
            spread_cycle: moments.spread(),
            max_cycle: longest,
        });
    }
    (rows, cells)
}
