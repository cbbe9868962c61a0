//! Seek distance: from the end of one request to the start of the next of its operation (Yang 2009, section 5.2.1). On a
//! drive without heads it costs nothing by itself; how much it varies says how scattered requests are.

use serde::Serialize;

use super::series::{Join, Series};
use flashweir_trace::{Request, SECTOR_BYTES};

/// Windows of requests at most.
const WINDOWS: usize = 256;
/// Requests in a window at least, as a power of two: fewer say little of how they vary.
const LEAST: u32 = 6;
/// Bins: backwards by powers of two, none, forwards by powers of two.
const BINS: usize = 129;
/// The bin of no distance.
const NONE: usize = 64;

/// Distances of one window of requests.
#[derive(Clone)]
struct Window {
    count: u64,
    /// Of the distance with its sign, in sectors.
    sum: f64,
    squares: f64,
    /// Of the distance without its sign, in sectors.
    length: f64,
    bins: [u32; BINS],
}

impl Default for Window {
    fn default() -> Self {
        Self { count: 0, sum: 0.0, squares: 0.0, length: 0.0, bins: [0; BINS] }
    }
}

impl Join for Window {
    fn join(&mut self, later: &Self) {
        self.count += later.count;
        self.sum += later.sum;
        self.squares += later.squares;
        self.length += later.length;
        for (bin, more) in self.bins.iter_mut().zip(&later.bins) {
            *bin = bin.saturating_add(*more);
        }
    }
}

impl Window {
    /// Standard deviation in sectors: the root of the mean of squares without the square of the mean.
    fn spread(&self) -> f64 {
        let (count, mean) = (self.count as f64, self.sum / self.count as f64);
        (self.squares / count - mean * mean).max(0.0).sqrt()
    }
}

/// Distances so far.
pub(super) struct Seeks {
    last_end: Option<u64>,
    number: u64,
    windows: Series<Window>,
}

/// Seek distance: from the end of a request to the start of the next.
#[derive(Clone, Debug, Serialize)]
pub struct SeekDistance {
    /// Distances: one less than requests.
    pub count: u64,
    /// Share of distances that are zero.
    pub zero_share: Option<f64>,
    /// Mean distance without its sign, bytes.
    pub mean_bytes: Option<f64>,
    /// Half of the distances without their sign are no more than this, bytes: to a power of two.
    pub median_bytes: Option<u64>,
    /// Share of the windows of `over_requests` in which distances vary by more than a chunk: 0 where all stays together.
    pub scattered_share: Option<f64>,
    /// Counts by distance in powers of two.
    pub histogram: Vec<SeekBin>,
    /// Over the numbers of requests.
    pub over_requests: Vec<SeekWindow>,
    /// Counts over request numbers and distances: number of the window, number of the bin of `histogram`, distances.
    pub cells: Vec<(u32, u32, u32)>,
}

/// Distances in one bin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SeekBin {
    /// Shortest distance, bytes; negative where it goes back.
    pub from_bytes: i128,
    /// Longest distance, bytes.
    pub to_bytes: i128,
    /// Distances.
    pub count: u64,
}

/// Distances of some requests that follow each other.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SeekWindow {
    /// Number of the first request, of those of its operation.
    pub from: u64,
    /// Distances.
    pub count: u64,
    /// Mean, bytes; negative where most go back.
    pub mean_bytes: f64,
    /// Standard deviation, bytes.
    pub spread_bytes: f64,
}

impl Seeks {
    pub(super) fn new() -> Self {
        Self { last_end: None, number: 0, windows: Series::of_width(WINDOWS, LEAST) }
    }

    #[inline]
    pub(super) fn observe(&mut self, request: &Request) {
        let number = self.number;
        self.number += 1;
        let Some(last) = self.last_end.replace(request.end()) else { return };
        let window = self.windows.at(number);
        let forward = request.lba >= last;
        let distance = request.lba.abs_diff(last);
        let signed = if forward { distance as f64 } else { -(distance as f64) };
        window.count += 1;
        window.sum += signed;
        window.squares += signed * signed;
        window.length += distance as f64;
        let bin = &mut window.bins[bin_of(forward, distance)];
        *bin = bin.saturating_add(1);
    }

    pub(super) fn finish(&self, chunk_bytes: u64) -> SeekDistance {
        let all = self.windows.groups(1).pop().map(|(_, _, all)| all).unwrap_or_default();
        let share = |part: u64, of: u64| (of > 0).then(|| part as f64 / of as f64);
        let bytes = SECTOR_BYTES as f64;
        let used = |window: &&Window| window.count > 0;
        let over_requests: Vec<SeekWindow> = (0u64..)
            .zip(self.windows.windows())
            .filter(|(_, window)| window.count > 0)
            .map(|(number, window)| SeekWindow {
                from: number * self.windows.width(),
                count: window.count,
                mean_bytes: window.sum / window.count as f64 * bytes,
                spread_bytes: window.spread() * bytes,
            })
            .collect();
        let wide = over_requests.iter().filter(|window| window.spread_bytes > chunk_bytes as f64).count();
        let (first, last) = bounds(&all.bins);
        let cells = (0u32..).zip(self.windows.windows().iter().filter(used)).flat_map(|(column, window)| {
            let bins = (0u32..).zip(&window.bins[first..last]).filter(|(_, count)| **count > 0);
            bins.map(move |(bin, count)| (column, bin, *count))
        });
        SeekDistance {
            count: all.count,
            zero_share: share(u64::from(all.bins[NONE]), all.count),
            mean_bytes: (all.count > 0).then(|| all.length / all.count as f64 * bytes),
            median_bytes: median(&all),
            scattered_share: share(wide as u64, over_requests.len() as u64),
            histogram: (first..last).map(|bin| seek_bin(bin, all.bins[bin])).collect(),
            cells: cells.collect(),
            over_requests,
        }
    }
}

/// The bin of a distance in sectors: 2^k up to 2^(k+1) - 1 forwards is `NONE + 1 + k`, backwards `NONE - 1 - k`.
#[inline]
const fn bin_of(forward: bool, distance: u64) -> usize {
    if distance == 0 {
        return NONE;
    }
    let power = distance.ilog2() as usize;
    if forward { NONE + 1 + power } else { NONE - 1 - power }
}

/// The first bin that holds any, and the one behind the last.
fn bounds(bins: &[u32; BINS]) -> (usize, usize) {
    let used = |count: &u32| *count > 0;
    match (bins.iter().position(used), bins.iter().rposition(used)) {
        (Some(first), Some(last)) => (first, last + 1),
        _ => (0, 0),
    }
}

fn seek_bin(bin: usize, count: u32) -> SeekBin {
    let edges = |power: usize| {
        let least = i128::from(SECTOR_BYTES) << power;
        (least, 2 * least - i128::from(SECTOR_BYTES))
    };
    let (from_bytes, to_bytes) = match bin.cmp(&NONE) {
        std::cmp::Ordering::Equal => (0, 0),
        std::cmp::Ordering::Greater => edges(bin - NONE - 1),
        std::cmp::Ordering::Less => {
            let (near, far) = edges(NONE - 1 - bin);
            (-far, -near)
        }
    };
    SeekBin { from_bytes, to_bytes, count: u64::from(count) }
}

/// The longest distance of the bin, of distances without their sign, in which half of them are reached.
fn median(all: &Window) -> Option<u64> {
    let mut seen = u64::from(all.bins[NONE]);
    if all.count == 0 || seen * 2 >= all.count {
        return (all.count > 0).then_some(0);
    }
    (0..NONE).find_map(|power| {
        seen += u64::from(all.bins[NONE + 1 + power]) + u64::from(all.bins[NONE - 1 - power]);
        (seen * 2 >= all.count).then(|| (1u64 << power).saturating_mul(2 * SECTOR_BYTES) - SECTOR_BYTES)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashweir_trace::Op;

    fn seeks(places: &[(u64, u32)]) -> SeekDistance {
        let mut seeks = Seeks::new();
        for (lba, sectors) in places {
            seeks.observe(&Request {
                time_ns: 0,
                lba: *lba,
                sectors: *sectors,
                stream: 0,
                op: Op::Write,
                handle: 0,
            });
        }
        seeks.finish(1 << 20)
    }

    #[test]
    fn distance_is_from_end_to_start() {
        let found = seeks(&[(100, 8), (108, 8), (0, 8), (1008, 8)]);
        assert_eq!((found.count, found.zero_share), (3, Some(1.0 / 3.0)));
        assert_eq!(found.mean_bytes, Some((116.0 + 1000.0) / 3.0 * 512.0));
        let used: Vec<(i128, i128)> = found
            .histogram
            .iter()
            .filter(|bin| bin.count > 0)
            .map(|bin| (bin.from_bytes, bin.to_bytes))
            .collect();
        assert_eq!(used, [(-127 * 512, -64 * 512), (0, 0), (512 * 512, 1023 * 512)]);
        assert_eq!(found.median_bytes, Some(127 * 512));
    }

    #[test]
    fn what_stays_together_is_not_scattered() {
        let near: Vec<(u64, u32)> = (0..1000).map(|n| (n * n * 7919 % 1000, 8)).collect();
        assert_eq!(seeks(&near).scattered_share, Some(0.0));
        let far: Vec<(u64, u32)> = (0..1000).map(|n| (n * n * 7919 % 1009 * 100_000, 8)).collect();
        assert!(seeks(&far).scattered_share.is_some_and(|share| share > 0.9));
    }

    #[test]
    fn one_request_has_no_distance() {
        let found = seeks(&[(1, 1)]);
        assert_eq!((found.count, found.zero_share, found.median_bytes), (0, None, None));
        assert!(found.histogram.is_empty() && found.cells.is_empty());
    }
}
