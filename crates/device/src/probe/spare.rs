//! Spare space and the block: when a drive that is full must collect, and how long each collection takes.
//!
//! Pages of one die, or of a drive that puts them anywhere all of its pages, are written one by one and each is timed. Every second
//! group of them is written over first: what is collected then is half valid, so the first collection that moves pages shows when the
//! spare space is used up, and from one to the next half a block is written. Then nothing else than a few blocks is
//! written over in order: what is collected is not valid at all, and what remains of its time is the erase.

use std::time::Duration;

use flashweir_ssd::quantity::round_to_u64;

use super::ask::{Asked, mean, median, quantile, read, write};
use super::fold::{self, Fold};
use super::layout::{Layout, Placing, QUIET};
use crate::Error;

/// Pages of a plane that are written one behind the other in a group.
const GROUP: u64 = 4;
/// Writes by which the usual time is found, and those that are made at a time.
const FIRST: usize = 64;
const BATCH: u64 = 64;
/// Factor on the usual time above which a write waited for a collection.
const SPIKE: f64 = 1.25;
/// Likewise for an erase, where nothing else is waited for.
const ERASE: f64 = 1.1;
/// Share of the time that moving pages must take for which a collection waits at least.
const MOVES: f64 = 0.7;
/// Of collections on a drive that was used: the shortest wait for an erase, if they are so much shorter than others; those that wait so
/// much longer move pages.
const ERASES: f64 = 0.5;
const MORE: f64 = 1.3;
/// Collections of each plane after which enough is known.
const COLLECTIONS: usize = 6;
/// Blocks of each plane that are written in order, and those that are written over and over before where nothing can be discarded.
const BLOCKS: u64 = 6;
const OVER: u64 = 4;
/// Most writes, and most time on a real drive, of each of the two parts.
const MAX_WRITES: u64 = 600_000;
const MAX_TIME: Duration = Duration::from_secs(60);
/// Planes whose blocks are looked at.
const UNITS: usize = 32;
/// Planes of a die that are thought of.
const PLANES: [u64; 4] = [1, 2, 4, 8];
/// Factor within which distances of collections are the same, of so many of them.
const SAME_DISTANCE: f64 = 0.03;
const MOSTLY: f64 = 0.8;
/// Pages whose reads are timed.
const READS: u64 = 96;

/// Observations of collections.
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
    /// True if relocated pages have a block of their own.
    pub(super) two_frontiers: bool,
    /// True if pages of a die go to its planes in turn, and not by their address.
    pub(super) turns: bool,
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

/// Measures the spare space of a full drive. `forgets`: reads of discarded data are answered at once.
pub(super) fn spare(
    asked: &mut Asked<'_>,
    page: u64,
    layout: &Layout,
    forgets: bool,
) -> Result<Spare, Error> {
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
    let Some(mut halves) = halves(asked, &pages, layout.noise, &mut found)? else { return Ok(found) };
    if forgets {
        asked.discard()?;
    }
    in_order(asked, &pages, &mut halves, layout, forgets, &mut found)?;
    let units = pages.dies * halves.planes;
    found.planes = Some(halves.planes);
    if forgets && on_one_die && halves.planes > 1 {
        turns(asked, &pages, halves.planes, &mut found)?;
    }
    let of_unit = pages.count as f64 / units as f64;
    if let Some(block) = found.block_pages {
        // Blocks are whole: what fills them all but for what is valid was spare, and a few pages may have lain idle. Planes
        // whose numbers of blocks differ are of a drive whose spare blocks do not divide evenly: the mean is nearest to it.
        let blocks = |before: f64| ((before + of_unit) / block as f64 - 0.02).ceil();
        let firsts = halves.firsts(units);
        let most = blocks(firsts.iter().copied().fold(0.0, f64::max));
        let sum: f64 = firsts.iter().map(|before| blocks(*before).max(most - 1.0)).sum();
        let mean = if firsts.is_empty() { most } else { sum / firsts.len() as f64 };
        found.op_ratio = Some((mean * block as f64 / of_unit - 1.0).max(0.0));
    }
    Ok(found)
}

/// Results of overwriting every second group.
struct Halves {
    planes: u64,
    /// Numbers of the writes that waited for pages to be moved.
    moved: Vec<usize>,
    /// Writes from one collection to the next, of all planes or of one: each gets as many of the writes as of the collections.
    distance: f64,
}

impl Halves {
    /// Writes of each plane before its first collection that relocated pages.
    fn firsts(&self, units: u64) -> Vec<f64> {
        let units = units as usize;
        let first = |unit: usize| self.moved.iter().find(|number| *number % units == unit);
        (0..units).filter_map(first).map(|number| (number / units) as f64).collect()
    }

    /// The most of these of all planes.
    fn before(&self, units: u64) -> f64 {
        self.firsts(units).into_iter().fold(0.0, f64::max)
    }
}

/// True if no time is left.
fn is_late(asked: &Asked<'_>, started: Duration) -> bool {
    asked.real && asked.elapsed().saturating_sub(started) > MAX_TIME
}

fn halves(
    asked: &mut Asked<'_>,
    pages: &Pages<'_>,
    noise: f64,
    found: &mut Spare,
) -> Result<Option<Halves>, Error> {
    let group = GROUP * pages.dies;
    let half = pages.count / (2 * group) * group;
    let number = |step: u64| step / group * 2 * group + step % group;
    let enough = COLLECTIONS * 2 * pages.dies as usize;
    let started = asked.elapsed();
    // The first times, what is usual of them and what it is at most; later writes only if they waited.
    let (mut times, mut usual, mut most, mut late) = (Vec::new(), 0.0, 0.0, Vec::new());
    let (mut first, mut seen) = (0, None);
    while first < half.min(MAX_WRITES) && !is_late(asked, started) {
        let writes: Vec<_> =
            (first..half.min(first + BATCH)).map(|step| write(pages.at(number(step)), pages.page)).collect();
        let took = asked.through(&writes)?;
        if times.len() < FIRST {
            times.extend_from_slice(&took);
            most = quantile(&times, 0.9);
            usual = mean(&times.iter().copied().filter(|time| *time <= most).collect::<Vec<_>>());
            found.write_ns = vec![median(&times)];
        }
        let waited = (first..).zip(&took).filter(|(_, time)| **time > most * SPIKE);
        let before = late.len();
        late.extend(waited.map(|(number, time)| (number as usize, time - usual)));
        first += took.len() as u64;
        if late.len() > before {
            seen = steady(&late, pages.dies, found.write_ns[0].min(usual), noise);
            if late.len() >= 16 * enough || late.len() >= enough && seen.is_some() {
                break;
            }
        }
    }
    if seen.is_none() {
        found.missing = Some(if late.is_empty() {
            "no write waited for a collection"
        } else {
            "collections did not come at regular distances"
        });
    }
    Ok(seen)
}

/// Evaluates regular collections that move pages; `late`: writes that waited, by number, each with its wait.
fn steady(late: &[(usize, f64)], dies: u64, write_ns: f64, noise: f64) -> Option<Halves> {
    let moving = moving(late);
    let spikes: Vec<usize> = moving.iter().map(|(number, _)| *number).collect();
    let (planes, distance) = planes(&spikes, dies)?;
    let waits: Vec<f64> = moving.iter().map(|(_, wait)| *wait).collect();
    // As many pages are moved as are written in between; if not, that were erases of what was not valid before.
    if median(&waits) < MOVES * distance * write_ns {
        return None;
    }
    // Writes that waited about as long as the shortest waited for an erase, if others waited longer.
    let shortest = late.iter().map(|(_, wait)| *wait).fold(f64::INFINITY, f64::min);
    let erases = shortest < median(&waits) * ERASES;
    // With noise, what waited a little waited for nothing that is known.
    let limit = match erases {
        _ if noise >= QUIET => median(&waits) * ERASES / 2.0,
        true => shortest * MORE,
        false => 0.0,
    };
    let moved = late.iter().filter(|(_, wait)| *wait > limit).map(|(number, _)| *number).collect();
    Some(Halves { planes, moved, distance })
}

/// Writes that waited for pages to be moved. Where some waited much less than others, these waited for an erase only.
fn moving(late: &[(usize, f64)]) -> Vec<(usize, f64)> {
    let mut sorted: Vec<f64> = late.iter().map(|(_, wait)| *wait).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let widest =
        sorted.windows(2).max_by(|left, right| (left[1] / left[0]).total_cmp(&(right[1] / right[0])));
    let limit = widest.filter(|pair| pair[1] > pair[0] * 1.5).map_or(0.0, |pair| pair[1]);
    late.iter().copied().filter(|(_, wait)| *wait >= limit).collect()
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

/// Writes pages in order, so that each collection is an erase and no more. `empty`: nothing else is on the drive.
fn in_order(
    asked: &mut Asked<'_>,
    pages: &Pages<'_>,
    halves: &mut Halves,
    layout: &Layout,
    empty: bool,
    found: &mut Spare,
) -> Result<(), Error> {
    let units = pages.dies * halves.planes;
    // Half a block, or all of one if relocated pages have blocks of their own.
    let block = round_to_u64(2.2 * halves.distance) * units;
    let counted = (block * BLOCKS).min(pages.count / units * units).min(MAX_WRITES);
    // Overwriting the same pages again and again gathers invalid pages, until there is nothing else to collect.
    let over = (block * OVER).min(pages.count / 4 / units * units).max(units);
    let spare = round_to_u64(halves.before(units)) * units;
    let before = if empty { 0 } else { (3 * spare).div_ceil(over) * over + 2 * over };
    let number = |step: u64| if empty { step } else { step % over };
    let (first, end) = (before, (before + counted).min(MAX_WRITES));
    let started = asked.elapsed();
    let (mut times, mut at) = (Vec::new(), 0);
    while at < end && !is_late(asked, started) {
        let writes: Vec<_> =
            (at..(at + BATCH).min(end)).map(|step| write(pages.at(number(step)), pages.page)).collect();
        let took = asked.through(&writes)?;
        let skipped = first.saturating_sub(at).min(took.len() as u64);
        times.extend_from_slice(&took[skipped as usize..]);
        at += took.len() as u64;
    }
    let most = quantile(&times, 0.9) * ERASE;
    let erases: Vec<usize> = (0..times.len()).filter(|at| times[*at] > most).collect();
    if let Some((planes, _)) = planes(&erases, pages.dies) {
        // Nothing else happens here, so this is more certain than what came between moves.
        halves.planes = planes;
    }
    let units = pages.dies * halves.planes;
    let tolerance = layout.noise.max(0.005) * 3.0;
    let (unit, fold) = blocks(&times, units as usize, halves.distance, tolerance);
    let guess = round_to_u64(2.0 * halves.distance);
    found.block_pages = Some(fold.as_ref().map_or(guess, |fold| fold.period));
    if let Some(Fold { erase, times, .. }) = &fold {
        found.erase_ns = (*erase > 0.0).then_some(*erase);
        found.write_ns.clone_from(times);
    } else if found.missing.is_none() {
        found.missing = Some("no write waited for an erase");
    }
    found.two_frontiers = fold.as_ref().is_some_and(|fold| (fold.period as f64) < 1.3 * halves.distance);
    let place = |step: u64| pages.at(number(first + unit as u64 + step * units));
    read_times(asked, pages.page, &place, times.len() as u64 / units, fold.as_ref(), tolerance, found)
}

/// The blocks that most planes have, with the number of a plane that has them.
fn blocks(times: &[f64], units: usize, distance: f64, tolerance: f64) -> (usize, Option<Fold>) {
    let of_unit = |unit: usize| times.iter().copied().skip(unit).step_by(units).collect::<Vec<_>>();
    let asked = (0..units).step_by(units.div_ceil(UNITS));
    let found: Vec<(usize, Fold)> =
        asked.filter_map(|unit| Some((unit, fold::fold(&of_unit(unit), distance, tolerance)?))).collect();
    let alike = |fold: &Fold| {
        found
            .iter()
            .filter(|(_, other)| (other.period, other.erase > 0.0) == (fold.period, fold.erase > 0.0))
            .count()
    };
    let most = found.iter().max_by_key(|(unit, fold)| (fold.erase > 0.0, alike(fold), units - unit));
    most.map_or((0, None), |(unit, fold)| (*unit, Some(fold.clone())))
}

/// Writes pages of one plane only. If erases come in pairs all the same, they went to other planes as well.
fn turns(asked: &mut Asked<'_>, pages: &Pages<'_>, planes: u64, found: &mut Spare) -> Result<(), Error> {
    let (Some(block), Some(erase)) = (found.block_pages, found.erase_ns) else { return Ok(()) };
    let count = (block * planes * BLOCKS).min(pages.count / planes);
    let writes: Vec<_> = (0..count).map(|step| write(pages.at(step * planes), pages.page)).collect();
    let times = asked.through(&writes)?;
    let limit = found.write_ns.iter().copied().fold(0.0, f64::max) + erase / 2.0;
    let erases: Vec<usize> = (0..times.len()).filter(|at| times[*at] > limit).collect();
    let near = erases.windows(2).filter(|pair| ((pair[1] - pair[0]) as u64) < block / 2).count();
    found.turns = near * 3 > erases.len();
    Ok(())
}

/// Times of reads of pages of one plane that were just written, from the beginning of a block on.
fn read_times(
    asked: &mut Asked<'_>,
    page: u64,
    place: &dyn Fn(u64) -> u64,
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
        let from = place(start + step);
        let repeats = if tolerance > 0.02 { 5 } else { 1 };
        let of_one = (0..repeats).map(|_| asked.one(read(from, page)));
        times.push(median(&of_one.collect::<Result<Vec<_>, _>>()?));
    }
    found.read_ns = fold::types(&times, tolerance);
    Ok(())
}
