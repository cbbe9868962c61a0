//! Analysis by synthesis: the log's time is fitted as so much a page written and so much a page moved, by each of the drives of
//! `reference`. The detectors look at which of them explains the log best, how well, and how much longer that takes than a good
//! drive would.

use super::log::Log;
use super::measure::{log_ratio, mean, quantile, ratio, sorted};
use super::numbers::Features;
use super::reference::{Kind, Range, Victim, Work, costs, work};

/// Parts of equal bytes into which the log is cut.
const PARTS: u64 = 96;
/// Written before anything is fitted, bytes: by then a buffer is full.
const SKIPPED: u64 = 4 << 20;
/// Space of the page maps that are tried, in multiples of what the owner can write. A drive of coarse blocks has less than all of it.
const SPACES: [f64; 6] = [0.98, 1.02, 1.07, 1.13, 1.2, 1.3];
/// Page sizes that are tried, bytes.
const PAGES: [u64; 5] = [4096, 2048, 8192, 16_384, 32_768];
/// Space for logs that is tried, in shares of the range.
const LOGS: [f64; 4] = [0.03, 0.07, 0.15, 0.28];
/// The same of drives that collect other blocks.
const FEW_SPACES: [f64; 3] = [1.02, 1.1, 1.2];
/// Buffers of good drives and of a bad one, bytes.
const BUFFERS: [&str; 3] = ["none", "1m", "4m"];
/// Their sizes, bytes.
const BUFFER_BYTES: [u64; 3] = [0, 1 << 20, 4 << 20];
/// Entries of a map that is kept on flash.
const ENTRIES: [u32; 3] = [1024, 2048, 4096];
/// Ratio of later to earlier cost of a byte above which there is a step: more than rounding makes of equal costs.
const MIN_STEP: f64 = 1.000_001;
/// Space of a good drive, in multiples of what its owner can write.
const GOOD: f64 = 1.2;

/// One explanation of the log's time.
#[derive(Clone, Copy, Debug)]
struct Fit {
    /// Time of a page written and of a page moved, ns.
    page_ns: f64,
    moved_ns: f64,
    /// Time that is left over, in shares of the mean time of a part.
    left: f64,
    /// The same, if every page written costs alike.
    flat_left: f64,
    /// Pages moved for each that was written.
    moved: f64,
}

impl Fit {
    /// Least squares with no time below 0, over the parts that were followed.
    fn of(work: &[Work], time_ns: &[f64]) -> Self {
        let time_ns = &time_ns[..work.len()];
        if work.is_empty() {
            return Self { page_ns: 0.0, moved_ns: 0.0, left: 1.0, flat_left: 1.0, moved: 0.0 };
        }
        let sum = |of: &dyn Fn(&Work, f64) -> f64| -> f64 {
            work.iter().zip(time_ns).map(|(work, time)| of(work, *time)).sum()
        };
        let (pp, pm, mm) =
            (sum(&|w, _| w.pages * w.pages), sum(&|w, _| w.pages * w.moved), sum(&|w, _| w.moved * w.moved));
        let (pt, mt) = (sum(&|w, t| w.pages * t), sum(&|w, t| w.moved * t));
        let determinant = pp * mm - pm * pm;
        let (mut page_ns, mut moved_ns) = (ratio(pt, pp), 0.0);
        if determinant > 1e-9 * pp * mm {
            let (page, moved) = ((pt * mm - mt * pm) / determinant, (mt * pp - pt * pm) / determinant);
            if moved > 0.0 {
                (page_ns, moved_ns) = if page > 0.0 { (page, moved) } else { (0.0, ratio(mt, mm)) };
            }
        }
        let left = |page_ns: f64, moved_ns: f64| {
            let squares = sum(&|w, t| (t - page_ns * w.pages - moved_ns * w.moved).powi(2));
            ratio((squares / work.len() as f64).sqrt(), mean(time_ns))
        };
        Self {
            page_ns,
            moved_ns,
            left: left(page_ns, moved_ns),
            flat_left: left(ratio(pt, pp), 0.0),
            moved: ratio(sum(&|w, _| w.moved), sum(&|w, _| w.pages)),
        }
    }

    /// Logarithm of what is left over, against the same if every page written costs alike. (Only fits over the same parts can
    /// be compared by what they leave over.)
    fn gain(&self) -> f64 {
        log_ratio(self.left, self.flat_left)
    }

    /// Time of a page with all that is moved for it, ns.
    fn total(&self, moved: f64) -> f64 {
        self.page_ns + self.moved_ns * moved
    }
}

/// The log in parts.
struct Parts {
    /// With which write each ends.
    ends: Vec<usize>,
    time_ns: Vec<f64>,
    /// Bytes written before each.
    before: Vec<u64>,
}

impl Parts {
    fn of(log: &Log) -> Self {
        let mut parts = Self { ends: Vec::new(), time_ns: Vec::new(), before: Vec::new() };
        let (mut bytes, mut time, mut start) = (0u64, 0.0, 0u64);
        for (index, write) in log.writes.iter().enumerate() {
            bytes = bytes.saturating_add(write.bytes);
            time += write.cost_ns as f64;
            if u128::from(bytes) * u128::from(PARTS) >= u128::from(log.bytes) * (parts.ends.len() as u128 + 1)
            {
                parts.ends.push(index + 1);
                parts.time_ns.push(time);
                parts.before.push(start);
                (time, start) = (0.0, bytes);
            }
        }
        parts
    }

    /// The first part that is fitted.
    fn first(&self) -> usize {
        self.before.partition_point(|before| *before < SKIPPED).min(self.ends.len() / 4)
    }
}

/// Adds what was found to the features.
pub(super) fn add(features: &mut Features, log: &Log) {
    let parts = Parts::of(log);
    let first = parts.first();
    let time = &parts.time_ns[first..];
    let addresses = Range::of(log);
    let log_of = (log, &addresses);
    let mut explainer = Explainer { log: log_of, ends: &parts.ends, first, time, done: Vec::new() };
    let range = addresses.bytes();
    let capacity = log.capacity_bytes.map_or(range, |capacity| (capacity as f64).max(range));
    features.add("range_to_capacity", ratio(range, capacity));
    features.add("written_to_capacity", log_ratio(log.bytes as f64, capacity));
    let room = capacity / range;
    let page = page_size(features, &mut explainer, room);
    let good = explainer.fit(page, Kind::Pages(GOOD * room, Victim::Greedy));
    features.add("fit_flat_left", good.flat_left);
    features.add("good_moved", good.moved);
    features.add("good_left", good.left);
    features.add("good_gain", good.gain());
    features.add("good_moved_to_page", log_ratio(good.moved_ns, good.page_ns));
    let (kind, pages) = page_maps(features, &mut explainer, page, room, &good);
    waits(features, log_of, page, [Kind::Pages(GOOD * room, Victim::Greedy), kind], &pages);
    excess(features, "pages", &pages, &good);
    let mut blocks: Option<Fit> = None;
    for (name, kind) in [("own", Kind::OwnLogs as fn(f64) -> Kind), ("shared", Kind::SharedLogs)] {
        let (space, fit) = least(&LOGS.map(|space| (space, explainer.fit(page, kind(space * room)))));
        features.add(format!("{name}_space"), space);
        excess(features, name, &fit, &good);
        if blocks.is_none_or(|blocks| fit.gain() < blocks.gain()) {
            blocks = Some(fit);
        }
    }
    let blocks = blocks.unwrap_or(good);
    features.add("blocks_to_pages", blocks.gain() - pages.gain());
    cached_maps(features, &mut explainer, page, room, &good);
    onset(features, &parts, log, range, capacity);
    early(features, log, range);
}

/// Work of drives under the writes of the log, kept because some are asked for twice.
struct Explainer<'log> {
    log: (&'log Log, &'log Range),
    /// With which write each part ends.
    ends: &'log [usize],
    /// The first part that is fitted, and the time of all from there on.
    first: usize,
    time: &'log [f64],
    done: Vec<(u64, Kind, Vec<Work>)>,
}

impl Explainer<'_> {
    /// Work in the parts that are fitted.
    fn work(&mut self, page: u64, kind: Kind) -> &[Work] {
        let known = self.done.iter().position(|(of, as_kind, _)| (*of, *as_kind) == (page, kind));
        let at = known.unwrap_or_else(|| {
            let mut work = work(self.log, page, kind, self.ends);
            work.drain(..self.first.min(work.len()));
            self.done.push((page, kind, work));
            self.done.len() - 1
        });
        &self.done[at].2
    }

    fn fit(&mut self, page: u64, kind: Kind) -> Fit {
        let time = self.time;
        Fit::of(self.work(page, kind), time)
    }
}

/// The page size that explains most, by the drives that are likeliest.
fn page_size(features: &mut Features, explainer: &mut Explainer<'_>, room: f64) -> u64 {
    let sizes = PAGES.map(|page| {
        let tries =
            [1.07, 1.2].map(|space| explainer.fit(page, Kind::Pages(space * room, Victim::Greedy)).left);
        (page, tries[0].min(tries[1]))
    });
    let plain = sizes[0];
    let best =
        sizes.iter().copied().fold(plain, |best, next| if next.1 < 0.9 * best.1 { next } else { best });
    features.add("fit_page_kib", log_ratio(best.0 as f64, 1024.0));
    features.add("fit_page_gain", log_ratio(best.1, plain.1));
    best.0
}

/// Page maps by victim policy and space. Returns the one that explains most.
fn page_maps(
    features: &mut Features,
    explainer: &mut Explainer<'_>,
    page: u64,
    room: f64,
    good: &Fit,
) -> (Kind, Fit) {
    let mut best = (Kind::Pages(GOOD * room, Victim::Greedy), *good);
    for (name, victim, spaces) in [
        ("greedy", Victim::Greedy, &SPACES[..]),
        ("fifo", Victim::Fifo, &FEW_SPACES),
        ("random", Victim::Random, &FEW_SPACES),
    ] {
        let tried: Vec<(f64, Fit)> = spaces
            .iter()
            .map(|space| (*space, explainer.fit(page, Kind::Pages(space * room, victim))))
            .collect();
        for (space, fit) in &tried {
            features.add(format!("{name}_{:.0}_gain", space * 100.0), fit.gain());
            // Copies that such a drive would make under these writes, whatever this one does.
            features.add(
                format!("{name}_{:.0}_work", space * 100.0),
                log_ratio(1.0 + fit.moved, 1.0 + good.moved),
            );
        }
        let (space, fit) = least(&tried);
        features.add(format!("{name}_space"), space);
        excess(features, name, &fit, good);
        if fit.gain() < best.1.gain() {
            best = (Kind::Pages(space * room, victim), fit);
        }
    }
    best
}

/// Page maps on flash: `cached` is explained by translation pages alone, `dftl` by all that is moved.
fn cached_maps(features: &mut Features, explainer: &mut Explainer<'_>, page: u64, room: f64, good: &Fit) {
    for (name, copies) in [("cached", 0.0), ("dftl", 1.0)] {
        let tried = ENTRIES.map(|entries| {
            let time = explainer.time;
            let work: Vec<Work> = explainer
                .work(page, Kind::CachedMap(GOOD * room, entries))
                .iter()
                .map(|work| Work { moved: work.mapped + copies * work.moved, ..*work })
                .collect();
            (f64::from(entries), Fit::of(&work, time))
        });
        excess(features, name, &least(&tried).1, good);
    }
}

/// The one that explains most.
fn least(tried: &[(f64, Fit)]) -> (f64, Fit) {
    tried.iter().copied().fold(tried[0], |best, next| if next.1.gain() < best.1.gain() { next } else { best })
}

fn excess(features: &mut Features, name: &str, fit: &Fit, good: &Fit) {
    features.add(format!("{name}_left"), fit.left);
    features.add(format!("{name}_best_gain"), fit.gain());
    features.add(format!("{name}_moved"), fit.moved);
    features.add(format!("{name}_moved_to_page"), log_ratio(fit.moved_ns, fit.page_ns));
    features.add(format!("{name}_excess"), log_ratio(fit.total(fit.moved), fit.total(good.moved)));
    features.add(format!("{name}_share"), ratio(fit.moved_ns * fit.moved, fit.total(fit.moved)));
}

/// Longest waits of writes, relative to those on a good drive of the same flash and on the drive that explains the log
/// best.
fn waits(features: &mut Features, log: (&Log, &Range), page: u64, kinds: [Kind; 2], fit: &Fit) {
    let real = sorted(log.0.writes.iter().map(|write| write.cost_ns as f64));
    for (kind, name) in kinds.into_iter().zip(["good", "best"]) {
        let costs = costs(log, page, kind, (fit.page_ns, fit.moved_ns), BUFFER_BYTES);
        for (buffer, costs) in BUFFERS.into_iter().zip(costs) {
            let costs = sorted(costs.into_iter());
            for (share, value) in [("90", 0.9), ("99", 0.99), ("999", 0.999)] {
                let (real, modelled) = (quantile(&real, value), quantile(&costs, value));
                features
                    .add(format!("q{share}_to_{name}_{buffer}"), log_ratio(real.max(1e3), modelled.max(1e3)));
            }
        }
    }
}

/// When a byte begins to cost more than early on for good, and how much more.
fn onset(features: &mut Features, parts: &Parts, log: &Log, range: f64, capacity: f64) {
    let first = parts.first();
    let mut costs = Vec::new();
    for part in first..parts.ends.len() {
        let from = parts.before[part];
        let to = parts.before.get(part + 1).copied().unwrap_or(log.bytes);
        costs.push((from as f64, ratio(parts.time_ns[part], (to - from) as f64)));
    }
    // The cut that explains most of the squares by two levels.
    let all: f64 = costs.iter().map(|cost| cost.1).sum();
    let count = costs.len() as f64;
    let (mut sum, mut best) = (0.0, (0.0, 0usize));
    for (at, cost) in costs.iter().enumerate().take(costs.len().saturating_sub(2)) {
        sum += cost.1;
        let left = at as f64 + 1.0;
        if at < 2 {
            continue;
        }
        let (low, high) = (sum / left, (all - sum) / (count - left));
        let explained = (high - low).powi(2) * left * (count - left);
        if high > low * MIN_STEP && explained > best.0 {
            best = (explained, at + 1);
        }
    }
    let cut = best.1;
    let at = if cut > 0 { costs[cut].0 } else { 9.0 * capacity.max(log.bytes as f64) };
    features.add("onset_to_range", ratio(at, range).min(9.0));
    features.add("onset_to_capacity", ratio(at, capacity).min(9.0));
    features.add("onset_to_written", ratio(at, log.bytes as f64).min(9.0));
    let middle =
        |values: &[(f64, f64)], share: f64| quantile(&sorted(values.iter().map(|value| value.1)), share);
    features.add("onset_step", log_ratio(middle(&costs[cut..], 0.5), middle(&costs[..cut], 0.5)));
    features.add("onset_noise", log_ratio(middle(&costs[..cut], 0.9), middle(&costs[..cut], 0.1)));
    // Where a part first costs so many times what the cheapest quarter of all parts do.
    let cheap = middle(&costs, 0.1);
    for (name, times) in [("12", 1.2), ("15", 1.5), ("20", 2.0), ("40", 4.0)] {
        let at = costs
            .iter()
            .find(|cost| cost.1 > times * cheap)
            .map_or(9.0, |cost| ratio(cost.0, capacity).min(9.0));
        features.add(format!("slow_{name}_at_capacity"), at);
        features.add(
            format!("slow_{name}_at_range"),
            if at < 9.0 { at * capacity / range.max(1.0) } else { 9.0 },
        );
        let over = costs.iter().filter(|cost| cost.1 > times * cheap).count();
        features.add(format!("slow_{name}_share"), ratio(over as f64, count));
    }
}

/// Cost of a byte early on, compared with later but before the drive can be full. A map with only a small part in
/// memory is quick until that part is used up.
fn early(features: &mut Features, log: &Log, range: f64) {
    const MIB: f64 = 1_048_576.0;
    let later = (48.0 * MIB).min(range / 2.0);
    let mut slices = [(0.0, 0.0); 6];
    let mut before = 0.0;
    for write in &log.writes {
        let slot = match before / MIB {
            _ if before >= 0.95 * range => break,
            _ if before >= later => 5,
            written => [4.0, 8.0, 12.0, 20.0].partition_point(|from| *from <= written),
        };
        slices[slot].0 += write.cost_ns as f64;
        slices[slot].1 += write.bytes as f64;
        before += write.bytes as f64;
    }
    let cost = |at: usize| ratio(slices[at].0, slices[at].1);
    for (at, name) in [(1, "4m"), (2, "8m"), (3, "12m"), (4, "20m")] {
        features.add(format!("later_to_{name}"), log_ratio(cost(5), cost(at)));
    }
}
