//! Repetition in a series of times: blocks, and the kinds of pages in them.

use flashweir_ssd::quantity::round_to_u64;

use super::ask::median;

/// Kinds of pages that are thought of: cells of one to four bits.
const KINDS: usize = 4;
/// Share of the pages of a block that may not be of their kind.
const STRAY: f64 = 0.02;
/// Maximum deviation of a block's length from one or two distances of collections, as a share.
const AROUND: f64 = 0.12;

/// A row of times of writes, as blocks.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fold {
    /// Pages of a block.
    pub(super) period: u64,
    /// Number of the first write that begins one.
    pub(super) boundary: u64,
    /// Time by kind of page, from the first of a block on, ns.
    pub(super) times: Vec<f64>,
    /// Extra time of the first page of a block, ns.
    pub(super) erase: f64,
}

/// Finds blocks in the times of writes to one plane, each block of which waits once for an erase. `distance`: blocks are once or twice
/// as long, about. `None` if nothing repeats, or everything does.
pub(super) fn fold(times: &[f64], distance: f64, tolerance: f64) -> Option<Fold> {
    let differs = |left: f64, right: f64| (left - right).abs() > tolerance * left.max(right);
    let around = |middle: f64| {
        let (low, high) = (middle * (1.0 - AROUND), middle * (1.0 + AROUND) + 1.0);
        (round_to_u64(low.floor().max(1.0)) as usize)..=(round_to_u64(high.ceil()) as usize)
    };
    let candidates: Vec<(usize, f64)> = around(distance)
        .chain(around(2.0 * distance))
        .filter(|period| 2 * period <= times.len())
        .map(|period| {
            let pairs = times.len() - period;
            let unlike = (0..pairs).filter(|at| differs(times[*at], times[at + period])).count();
            (period, unlike as f64 / pairs as f64)
        })
        .collect();
    let least = candidates.iter().map(|(_, unlike)| *unlike).min_by(f64::total_cmp)?;
    let most = candidates.iter().map(|(_, unlike)| *unlike).max_by(f64::total_cmp)?;
    if most == 0.0 {
        return None;
    }
    let (period, _) = *candidates.iter().find(|(period, unlike)| *unlike <= least + 0.2 / *period as f64)?;
    let folded: Vec<f64> = (0..period)
        .map(|place| median(&times[place..].iter().copied().step_by(period).collect::<Vec<_>>()))
        .collect();
    let page = |boundary: usize, number: usize| folded[(boundary + number) % period];
    (1..=KINDS.min(period / 4)).find_map(|kinds| {
        let stray = |boundary: usize| {
            let pages = 1..period - kinds;
            pages.filter(|at| differs(page(boundary, *at), page(boundary, at + kinds))).count()
        };
        // Of several, that which makes the first page longest.
        let boundary = (0..period).min_by(|left, right| {
            let by_time = page(*right, 0).total_cmp(&page(*left, 0));
            stray(*left).cmp(&stray(*right)).then(by_time)
        })?;
        if stray(boundary) as f64 > STRAY * period as f64 {
            return None;
        }
        let of_kind = |kind: usize| {
            let pages = (0..period).skip(if kind == 0 { kinds } else { kind }).step_by(kinds);
            median(&pages.map(|at| page(boundary, at)).collect::<Vec<_>>())
        };
        let times: Vec<f64> = (0..kinds).map(of_kind).collect();
        let erase = page(boundary, 0) - times[0];
        Some(Fold { period: period as u64, boundary: boundary as u64, times, erase })
    })
}

/// Times by kind of page, from those of pages one behind the other: as few kinds as explain nearly all; one if none do.
pub(super) fn types(times: &[f64], tolerance: f64) -> Vec<f64> {
    let differs = |left: f64, right: f64| (left - right).abs() > tolerance * left.max(right);
    let explains = |kinds: &usize| {
        let pairs = times.len() - kinds;
        let unlike = (0..pairs).filter(|at| differs(times[*at], times[at + kinds])).count();
        // A block that ends among them is one place where kinds begin anew.
        unlike as f64 <= (STRAY * pairs as f64).max(*kinds as f64)
    };
    let most = KINDS.min(times.len() / 8);
    let kinds = (1..=most).find(explains).unwrap_or(1);
    (0..kinds)
        .map(|kind| median(&times.iter().copied().skip(kind).step_by(kinds).collect::<Vec<_>>()))
        .collect()
}
