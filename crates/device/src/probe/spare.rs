//! Spare space and the block: when a drive that is full must collect, and how long each collection takes.
//!
//! Pages of one die, or of a drive that puts them anywhere all of its pages, are written one by one and each is timed. Every second
//! group of them is written over first: what is collected then is half valid, so the first collection that moves pages shows when the
//! spare space is used up, and from one to the next half a block is written. Then all are written over in order: what is collected
//! is not valid at all, and what remains of its time is the erase.

use std::time::Duration;

use flashweir_ssd::quantity::round_to_u64;

use super::ask::{Asked, median, quantile, read, write};
use super::fold::{self, Fold};
use super::layout::{Layout, Placing};
use crate::Error;

/// Pages of a plane that are written one behind the other in a group.
const GROUP: u64 = 4;
/// Writes by which the usual time is found, and those that are made at a time.
const FIRST: usize = 64;
const BATCH: u64 = 64;
/// Factor on the usual time above which a write waited for a collection.
const SPIKE: f64 = 1.25;
/// Collections of each plane after which enough is known.
const COLLECTIONS: usize = 6;
/// Blocks of each plane that are written in order.
const BLOCKS: u64 = 6;
/// Most writes, and most time on a real drive, of each of the two parts.
const MOST_WRITES: u64 = 600_000;
const MOST_TIME: Duration = Duration::from_secs(90);
/// Planes of a die that are thought of.
const PLANES: [u64; 4] = [1, 2, 4, 8];
/// Factor within which distances of collections are the same, of so many of them.
const SAME_DISTANCE: f64 = 0.03;
const MOSTLY: f64 = 0.8;
/// Pages whose reads are timed.
const READS: u64 = 96;

/// What was seen of collections.
#[derive(Clone, Debug, Default)]
pub(super) struct Spare {
    /// From the host to the cells, by the place of a page in its block, ns.
    pub(super) write_ns: Vec<f64>,
    /// From the cells to the host, likewise.
    pub(super) read_ns: Vec<f64>,
    pub(super) erase_ns: Option<f64>,
    pub(super) block_pages: Option<u64>,
    /// Planes of a die that are collected each on their own.
    pub(super) planes: Option<u64>,
    /// Spare / logical: the middle of what makes so many blocks.
    pub(super) op_ratio: Option<f64>,
    /// Whether moved pages have a block of their own.
    pub(super) two_frontiers: bool,
    /// Why something is missing.
    pub(super) missing: Option<&'static str>,
}

/// The pages that are asked, by number.
struct Pages<'a> {
    page: u64,
    period: u64,
    places: &'a [u64],
    count: u64,
    /// Dies that they lie on.
    dies: u64,
}

impl Pages<'_> {
    fn at(&self, number: u64) -> u64 {
        let (number, each) = (number % self.count, self.places.len() as u64);
        (number / each * self.period + self.places[(number % each) as usize]) * self.page
    }
}

/// Looks at the spare space of a drive whose first `written` pages are written.
pub(super) fn spare(asked: &mut Asked<'_>, page: u64, layout: &Layout) -> Result<Spare, Error> {
    let total = asked.size_bytes() / page;
    let (same_die, everywhere) = (layout.same_die(), [0]);
    let on_one_die = layout.placing == Placing::Fixed && layout.regular;
    let pages = if on_one_die {
        let period = layout.shared.len() as u64;
        let count = total / period * same_die.len() as u64;
        Pages { page, period, places: &same_die, count, dies: 1 }
    } else {
        Pages { page, period: 1, places: &everywhere, count: total, dies: layout.dies }
    };
    let mut found = Spare::default();
    let Some(halves) = halves(asked, &pages, &mut found)? else { return Ok(found) };
    in_order(asked, &pages, &halves, layout, &mut found)?;
    let units = pages.dies * halves.planes;
    found.planes = Some(halves.planes);
    let of_unit = pages.count as f64 / units as f64;
    if let Some(block) = found.block_pages {
        // Blocks are whole: what fills them all but for what is valid was spare, and a few pages may have lain idle.
        let blocks = ((halves.before + of_unit) / block as f64 - 0.02).ceil();
        let most = (blocks * block as f64 - of_unit) / of_unit;
        let middle = ((blocks - 0.5) * block as f64 - of_unit) / of_unit;
        found.op_ratio = Some(if middle > 0.0 { middle } else { most.max(0.0) });
    }
    Ok(found)
}

/// What writing every second group over showed.
struct Halves {
    planes: u64,
    /// Writes of a plane before the first collection that moved pages, and from one collection to the next.
    before: f64,
    distance: f64,
}

/// Whether there is no more time.
fn is_late(asked: &Asked<'_>, started: Duration) -> bool {
    asked.real && asked.elapsed().saturating_sub(started) > MOST_TIME
}

fn halves(asked: &mut Asked<'_>, pages: &Pages<'_>, found: &mut Spare) -> Result<Option<Halves>, Error> {
    let group = GROUP * pages.dies;
    let half = pages.count / (2 * group) * group;
    let number = |step: u64| step / group * 2 * group + step % group;
    let enough = COLLECTIONS * 2 * pages.dies as usize;
    let started = asked.elapsed();
    let (mut times, mut usual, mut spikes) = (Vec::new(), 0.0, Vec::new());
    while (times.len() as u64) < half.min(MOST_WRITES) && !is_late(asked, started) {
        let first = times.len() as u64;
        let writes: Vec<_> =
            (first..half.min(first + BATCH)).map(|step| write(pages.at(number(step)), pages.page)).collect();
        times.extend(asked.through(&writes)?);
        if usual == 0.0 && (times.len() >= FIRST || times.len() as u64 >= half) {
            usual = quantile(&times, 0.9);
            found.write_ns = vec![median(&times)];
        }
        spikes = moving(&times, usual);
        // Of each plane that a die may have.
        if spikes.len() >= 4 * enough || spikes.len() >= enough && planes(&spikes, pages.dies).is_some() {
            break;
        }
    }
    let Some((planes, distance)) = planes(&spikes, pages.dies) else {
        found.missing = Some(if spikes.is_empty() {
            "no write waited for a collection"
        } else {
            "collections did not come at regular distances"
        });
        return Ok(None);
    };
    let units = (planes * pages.dies) as usize;
    let before = spikes.get(units - 1).map_or(0, |last| last / units) as f64;
    Ok(Some(Halves { planes, before, distance }))
}

/// Writes that waited for pages to be moved. Where some waited much less than others, these waited for an erase only.
fn moving(times: &[f64], usual: f64) -> Vec<usize> {
    let late: Vec<usize> = (0..times.len()).filter(|at| times[*at] > usual * SPIKE).collect();
    let mut sorted: Vec<f64> = late.iter().map(|at| times[*at] - usual).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let widest =
        sorted.windows(2).max_by(|left, right| (left[1] / left[0]).total_cmp(&(right[1] / right[0])));
    let limit = widest.filter(|pair| pair[1] > pair[0] * 1.5).map_or(0.0, |pair| pair[1]);
    late.into_iter().filter(|at| times[*at] - usual >= limit).collect()
}

/// Planes of a die, and writes to a plane from one collection to the next: with so many planes, each collection comes at the same
/// distance after the one that is as many collections before.
fn planes(spikes: &[usize], dies: u64) -> Option<(u64, f64)> {
    PLANES.into_iter().find_map(|planes| {
        let units = (planes * dies) as usize;
        // The first round is of the spare space, and not of what was collected.
        let steady = spikes.get(units..).filter(|steady| steady.len() >= units + 3)?;
        let distances: Vec<f64> =
            (units..steady.len()).map(|at| (steady[at] - steady[at - units]) as f64).collect();
        let typical = median(&distances);
        let same = distances.iter().filter(|one| (*one / typical - 1.0).abs() < SAME_DISTANCE).count();
        (same as f64 >= MOSTLY * distances.len() as f64 && distances.len() >= 3)
            .then(|| (planes, typical / units as f64))
    })
}

/// Writes all pages over in order, twice: the second time, each collection is an erase.
fn in_order(
    asked: &mut Asked<'_>,
    pages: &Pages<'_>,
    halves: &Halves,
    layout: &Layout,
    found: &mut Spare,
) -> Result<(), Error> {
    let units = pages.dies * halves.planes;
    // Half a block, or all of one if moved pages have blocks of their own.
    let most_block = 2.2 * halves.distance;
    let counted = (round_to_u64(most_block * units as f64) * BLOCKS).min(MOST_WRITES);
    let started = asked.elapsed();
    let mut times = Vec::new();
    let mut at = 0;
    while at < pages.count + counted && !is_late(asked, started) {
        let writes: Vec<_> = (at..(at + BATCH).min(pages.count + counted))
            .map(|number| write(pages.at(number), pages.page))
            .collect();
        at += writes.len() as u64;
        let took = asked.through(&writes)?;
        if at > pages.count {
            times.extend(took);
        }
    }
    let first = at - times.len() as u64;
    let of_unit: Vec<f64> = times.iter().copied().step_by(units as usize).collect();
    let tolerance = layout.noise.max(0.005) * 3.0;
    let fold = fold::fold(&of_unit, halves.distance, tolerance);
    let guess = round_to_u64(2.0 * halves.distance);
    found.block_pages = Some(fold.as_ref().map_or(guess, |fold| fold.period));
    if let Some(Fold { erase, times, .. }) = &fold {
        found.erase_ns = (*erase > 0.0).then_some(*erase);
        found.write_ns.clone_from(times);
    } else if found.missing.is_none() {
        found.missing = Some("no write waited for an erase");
    }
    found.two_frontiers = fold.as_ref().is_some_and(|fold| (fold.period as f64) < 1.3 * halves.distance);
    read_times(asked, pages, units, first, of_unit.len() as u64, fold.as_ref(), tolerance, found)
}

/// Times of reads of pages of one plane that were just written, from the beginning of a block on.
#[expect(clippy::too_many_arguments, reason = "where pages lie is known by all of them")]
fn read_times(
    asked: &mut Asked<'_>,
    pages: &Pages<'_>,
    units: u64,
    first: u64,
    written: u64,
    fold: Option<&Fold>,
    tolerance: f64,
    found: &mut Spare,
) -> Result<(), Error> {
    let block = found.block_pages.unwrap_or(READS);
    let start = fold.map_or(0, |fold| fold.boundary);
    // The last whole block that was written.
    let skipped = written.saturating_sub(start + 1) / block.max(1);
    let start = start + skipped.saturating_sub(1) * block;
    let count = READS.min(block).min(written.saturating_sub(start));
    let mut times = Vec::new();
    for step in 0..count {
        let page = pages.at(first + (start + step) * units);
        let repeats = if tolerance > 0.02 { 5 } else { 1 };
        let of_one = (0..repeats).map(|_| asked.one(read(page, pages.page)));
        times.push(median(&of_one.collect::<Result<Vec<_>, _>>()?));
    }
    found.read_ns = fold::types(&times, tolerance);
    Ok(())
}
