//! Pages that share a die or a channel, found by pairs of reads at the same time. Reads on different channels do not
//! slow each other down. Reads on one channel do so by a transfer, reads on one die by all of a read.

use flashweir_ssd::quantity::round_to_u64;

use super::ask::{Asked, mean, median, quantile, read, write};
use crate::Error;

/// Pages whose place is looked at.
const WINDOW: u64 = 1024;
/// Reads of one page by which noise is measured, and repetitions of a question that noise makes necessary.
const NOISE_READS: usize = 33;
const REPEATS: usize = 7;
/// Noise below which a measurement is made once, and share of a time by which two times are alike without noise.
pub(super) const QUIET: f64 = 0.002;
const ALIKE: f64 = 0.003;
/// With noise, one of so many pages may seem to be elsewhere.
const MAY_STRAY: usize = 64;
/// Times that a page is written again for each die, and after which one that has stayed will.
const ROUNDS: u64 = 3;
const STAYS: u64 = 5;
/// A write that takes less than this share of one to flash was taken in by a buffer.
const TAKEN: f64 = 0.3;

/// Resource that two pages share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shared {
    /// The die.
    Die,
    /// The channel, but not the die.
    Channel,
    /// Nothing that was seen.
    Nothing,
}

/// Placing of a page that is written again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Placing {
    /// It stays where its address says.
    Fixed,
    /// It stays on its channel.
    FixedChannel,
    /// It goes where there is room.
    Free,
}

/// Resources that pages share with the first page.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    /// Resources that pages 0 to `period` share with page 0; places repeat after that.
    pub(super) shared: Vec<Shared>,
    /// Dies of the drive, and channels; one channel a die where no two dies are seen to share one.
    pub(super) dies: u64,
    pub(super) channels: u64,
    /// Time of a page on the bus of its channel, ns; `None` where no two dies share one.
    pub(super) transfer_ns: Option<f64>,
    /// Response time of a page read alone, ns.
    pub(super) read_ns: f64,
    /// Part of it in which neither die nor channel is busy with it: firmware, link, completion.
    pub(super) outside_ns: f64,
    /// Likewise of a page written through.
    pub(super) write_outside_ns: f64,
    /// Time until a page is on flash, ns.
    pub(super) write_ns: f64,
    /// Placing of pages that are written again.
    pub(super) placing: Placing,
    /// Spread of the response times of one read, as a share.
    pub(super) noise: f64,
    /// Pages that were written for it, from the first on.
    pub(super) window: u64,
    /// True if places repeated.
    pub(super) regular: bool,
}

impl Layout {
    /// Pages of page 0's die among the first of a period.
    pub(super) fn same_die(&self) -> Vec<u64> {
        let on_die = self.shared.iter().zip(0..).filter(|(shared, _)| **shared == Shared::Die);
        on_die.map(|(_, at)| at).collect()
    }
}

/// Asks pairs of pages, with times that a real drive makes longer now and then.
struct Pairs {
    page: u64,
    repeats: usize,
    /// Share of a time within which two are alike.
    alike: f64,
    alone: Vec<f64>,
    outside: Outside,
}

/// Times of reads that neither dies nor channels take, ns.
#[derive(Clone, Copy, Debug, Default)]
struct Outside {
    /// Of each read, and at the same time for several: firmware, link, completion. Two reads of one die take
    /// both their times less this.
    each_ns: f64,
    /// From one read to the next where they share nothing but link and firmware.
    next_ns: f64,
}

impl Outside {
    /// By two reads of one page at a time, and by reads of pages without data from `empty` on, which need no flash.
    /// Nothing where these disagree: a die that reads on during a transfer is busy for less than a read without them.
    fn measured(asked: &mut Asked<'_>, pairs: &Pairs, empty: u64) -> Result<Self, Error> {
        let (alone, nothing) = (pairs.alone(asked, 0)?, pairs.alone(asked, empty)?);
        let each_ns = 2.0 * alone - pairs.both(asked, 0, 0)?;
        if each_ns <= alone * pairs.alike || (each_ns - nothing).abs() > alone * pairs.alike {
            return Ok(Self::default());
        }
        let next_ns = pairs.both(asked, empty, empty + 1)? - nothing;
        Ok(Self { each_ns, next_ns: next_ns.max(0.0) })
    }
}

impl Pairs {
    fn alone(&self, asked: &mut Asked<'_>, at: u64) -> Result<f64, Error> {
        let times = (0..self.repeats).map(|_| asked.one(read(at * self.page, self.page)));
        Ok(median(&times.collect::<Result<Vec<_>, _>>()?))
    }

    /// Time that reads of both pages take together, ns.
    fn both(&self, asked: &mut Asked<'_>, left: u64, right: u64) -> Result<f64, Error> {
        let pair = [read(left * self.page, self.page), read(right * self.page, self.page)];
        let times = (0..self.repeats).map(|_| asked.both(pair));
        Ok(median(&times.collect::<Result<Vec<_>, _>>()?))
    }

    fn is_one_die(&self, asked: &mut Asked<'_>, left: u64, right: u64) -> Result<bool, Error> {
        let sum = self.alone(asked, left)? + self.alone(asked, right)?;
        Ok(self.both(asked, left, right)? > (sum - self.outside.each_ns) * (1.0 - self.alike))
    }
}

/// Writes a window of pages, one after the other, and looks at it. `forgets`: reads of data that was discarded, as all
/// behind the window is, need no flash.
pub(super) fn layout(asked: &mut Asked<'_>, page: u64, forgets: bool) -> Result<Layout, Error> {
    let window = WINDOW.min(asked.size_bytes() / page / 2);
    let writes: Vec<_> = (0..window).map(|at| write(at * page, page)).collect();
    let write_ns = median(&asked.through(&writes)?);
    let of_one = (0..NOISE_READS).map(|_| asked.one(read(0, page))).collect::<Result<Vec<_>, _>>()?;
    let spread = quantile(&of_one, 0.9) - quantile(&of_one, 0.1);
    let noise = spread / median(&of_one).max(1.0);
    let repeats = if noise < QUIET { 1 } else { REPEATS };
    let alike = if noise < QUIET { ALIKE } else { (noise / 2.0).clamp(0.02, 0.1) };
    let mut pairs = Pairs { page, repeats, alike, alone: Vec::new(), outside: Outside::default() };
    let last = asked.size_bytes() / page - 2;
    if forgets && last >= window {
        pairs.outside = Outside::measured(asked, &pairs, last)?;
    }
    for at in 0..window {
        let alone = pairs.alone(asked, at)?;
        pairs.alone.push(alone);
    }
    let mut together = vec![2.0 * pairs.alone[0]];
    for at in 1..window {
        together.push(pairs.both(asked, 0, at)?);
    }
    let mut layout = of_pairs(&pairs.alone, &together, pairs.outside, pairs.alike, noise);
    layout.write_ns = write_ns;
    if layout.outside_ns > 0.0 {
        layout.write_outside_ns = write_outside(asked, page, &layout)?;
    }
    if layout.dies > 1 && layout.regular {
        let (placing, channels) = placing(asked, &pairs, &layout)?;
        (layout.placing, layout.channels) = (placing, channels);
    }
    Ok(layout)
}

/// Time of a page written through in which neither its die nor its channel works, ns.
fn write_outside(asked: &mut Asked<'_>, page: u64, layout: &Layout) -> Result<f64, Error> {
    let (mut taken, mut flushes) = (Vec::new(), Vec::new());
    for at in 0..REPEATS as u64 {
        taken.push(asked.one(write(at * page, page))?);
        asked.flush()?;
        flushes.push(asked.flush()?);
    }
    // Without a buffer the write itself waits for its die.
    let buffered = median(&taken) < layout.write_ns * TAKEN;
    Ok(median(&flushes) + if buffered { median(&taken) } else { layout.outside_ns })
}

/// From times of page 0 with each other page to what they share.
fn of_pairs(alone: &[f64], together: &[f64], outside: Outside, alike: f64, noise: f64) -> Layout {
    let window = alone.len();
    let first = alone[0];
    let die: Vec<bool> = (0..window)
        .map(|at| at == 0 || together[at] > (first + alone[at] - outside.each_ns) * (1.0 - alike))
        .collect();
    let strays = if noise < QUIET { 0 } else { window / MAY_STRAY };
    let repeats = |step: &usize| (0..window - step).filter(|at| die[*at] != die[at + step]).count() <= strays;
    let found = (1..=window / 2).find(repeats);
    let period = found.unwrap_or(window);
    // The majority of the pages at a place decides.
    let die: Vec<bool> = (0..window)
        .map(|at| {
            let places = (at % period..window).step_by(period);
            let (yes, all) = places.fold((0, 0), |(yes, all), at| (yes + usize::from(die[at]), all + 1));
            2 * yes > all
        })
        .collect();
    let waits: Vec<Option<f64>> = (0..period)
        .map(|place| {
            // Of pages at this place, those that take as long as page 0: only they end their reads together.
            let alike_ones = (place..window).step_by(period).filter(|at| !die[*at]);
            let alike_ones = alike_ones.filter(|at| (alone[*at] / first - 1.0).abs() < alike);
            let late: Vec<f64> = alike_ones.map(|at| together[at] - first.max(alone[at])).collect();
            (!late.is_empty()).then(|| median(&late)).filter(|late| *late > outside.next_ns + first * alike)
        })
        .collect();
    let seen: Vec<f64> = waits.iter().flatten().copied().collect();
    let shared: Vec<Shared> = (0..period)
        .map(|place| match (die[place], waits[place]) {
            (true, _) => Shared::Die,
            (false, Some(_)) => Shared::Channel,
            (false, None) => Shared::Nothing,
        })
        .collect();
    let count = |wanted: &[Shared]| {
        let having = shared.iter().filter(|shared| wanted.contains(shared)).count().max(1);
        round_to_u64((period as f64 / having as f64).max(1.0))
    };
    let dies = count(&[Shared::Die]);
    let channels = if seen.is_empty() { dies } else { count(&[Shared::Die, Shared::Channel]) };
    Layout {
        dies,
        channels,
        transfer_ns: (!seen.is_empty()).then(|| median(&seen)),
        read_ns: mean(alone),
        outside_ns: outside.each_ns,
        write_outside_ns: 0.0,
        write_ns: 0.0,
        placing: Placing::Fixed,
        noise,
        window: window as u64,
        regular: found.is_some(),
        shared,
    }
}

/// Writes a page again and again, and looks which dies it visits: where its address says, there is one; on a fixed channel, those of
/// that channel. Returns the channels that follow from that.
fn placing(asked: &mut Asked<'_>, pairs: &Pairs, layout: &Layout) -> Result<(Placing, u64), Error> {
    let period = layout.shared.len() as u64;
    let (written, fixed) = (period, (Placing::Fixed, layout.channels));
    if written >= layout.window {
        return Ok(fixed);
    }
    // A page of each die that stays where it is.
    let mut marks: Vec<u64> = Vec::new();
    for page in 0..period {
        let mut is_new = true;
        for mark in &marks {
            is_new = is_new && !pairs.is_one_die(asked, page, *mark)?;
        }
        if is_new {
            marks.push(page);
        }
    }
    let mut visited = vec![false; marks.len()];
    for round in 0..ROUNDS * layout.dies {
        asked.through(&[write(written * pairs.page, pairs.page)])?;
        for (mark, visited) in marks.iter().zip(&mut visited) {
            if !*visited && pairs.is_one_die(asked, written, *mark)? {
                *visited = true;
            }
        }
        let dies = visited.iter().filter(|visited| **visited).count();
        if round + 1 == STAYS && dies == 1 {
            return Ok(fixed);
        }
    }
    let dies = visited.iter().filter(|visited| **visited).count().max(1) as u64;
    if dies == 1 {
        return Ok(fixed);
    }
    if dies < layout.dies && layout.dies.is_multiple_of(dies) {
        return Ok((Placing::FixedChannel, layout.dies / dies));
    }
    Ok((Placing::Free, layout.channels))
}
