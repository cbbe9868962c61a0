//! Where, when and how strongly a log shows a symptom, and what that means to somebody who knows nothing of drives.

use serde::Serialize;

use super::log::{Log, Write};
use super::measure::{quantile, ratio, sorted};
use super::model::Symptom;
use super::usual::{Usual, run_costs};

/// Part of the lost time that the place of evidence holds at least; the rest are stragglers.
const MOST: (f64, f64) = (0.05, 0.95);
/// Parts of the log among which the densest is looked for.
const PARTS: usize = 32;
/// Anomalies below which the costliest writes stand for them.
const FEW: usize = 8;
/// Share of the writes that then do.
const COSTLIEST: f64 = 0.01;
/// Writes of a run whose cost is compared with other runs: a buffer fills and empties over more than these.
const RUN: usize = 64;

/// Evidence of a symptom in a log.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Evidence {
    /// Addresses from which most of the lost time comes, first byte.
    pub from_bytes: u64,
    /// The same, first byte behind.
    pub to_bytes: u64,
    /// Requests between which most of it lies, numbered from 0: the first.
    pub first_request: u64,
    /// The last.
    pub last_request: u64,
    /// When the first was issued, s from the first write.
    pub from_s: f64,
    /// When the last was issued, s.
    pub to_s: f64,
    /// Cost as a multiple of the usual PBR. For the buffer: cost of slow runs of writes as a multiple of the cost of
    /// quick ones.
    pub times_usual: f64,
    /// Share of the time that writes took which is lost so.
    pub lost_share: f64,
    /// Writes that show it.
    pub writes: u64,
}

impl Evidence {
    pub(super) fn of(symptom: Symptom, log: &Log, usual: &Usual) -> Self {
        let shown = shown(log, usual);
        match symptom {
            Symptom::Mapping => Self::over(log, usual, &shown),
            Symptom::Collection => Self::over(log, usual, &densest(log, usual, &shown)),
            Symptom::Buffer => Self { times_usual: swing(log), ..Self::over(log, usual, &shown) },
        }
    }

    /// That of a log without symptoms: its anomalies, few as they are.
    pub(super) fn of_all(log: &Log, usual: &Usual) -> Self {
        Self::over(log, usual, &shown(log, usual))
    }

    fn over(log: &Log, usual: &Usual, writes: &[&Write]) -> Self {
        let total: f64 = log.writes.iter().map(|write| write.cost_ns as f64).sum();
        let lost: f64 = writes.iter().map(|write| usual.lost_ns(write)).sum();
        let addresses =
            sorted(writes.iter().map(|write| write.lba as f64 * flashweir_trace::SECTOR_BYTES as f64));
        let at = |share: f64| {
            let place = (share * writes.len().saturating_sub(1) as f64).round() as usize;
            writes.get(place).map_or((0, 0), |write| (write.number, write.issue_ns))
        };
        let start_ns = log.writes.first().map_or(0, |write| write.issue_ns);
        let seconds = |time_ns: u64| time_ns.saturating_sub(start_ns) as f64 / 1e9;
        let times: f64 = writes.iter().map(|write| usual.times(write)).sum();
        let longest = writes.iter().map(|write| write.bytes).max().unwrap_or(0);
        Self {
            from_bytes: quantile(&addresses, MOST.0) as u64,
            to_bytes: (quantile(&addresses, MOST.1) as u64).saturating_add(longest),
            first_request: at(MOST.0).0,
            last_request: at(MOST.1).0,
            from_s: seconds(at(MOST.0).1),
            to_s: seconds(at(MOST.1).1),
            times_usual: ratio(times, writes.len() as f64),
            lost_share: ratio(lost, total).min(1.0),
            writes: writes.len() as u64,
        }
    }
}

/// The anomalies, in order; where there are hardly any, the costliest writes.
fn shown<'log>(log: &'log Log, usual: &Usual) -> Vec<&'log Write> {
    let anomalies: Vec<&Write> = log.writes.iter().filter(|write| usual.is_anomaly(write)).collect();
    if anomalies.len() >= FEW {
        return anomalies;
    }
    let costs = sorted(log.writes.iter().map(|write| write.cost_ns as f64));
    let least = quantile(&costs, 1.0 - COSTLIEST);
    log.writes.iter().filter(|write| write.cost_ns as f64 >= least).collect()
}

/// Those of the part of the log in which most time is lost, with its neighbours as long as they lose at least half as much.
fn densest<'log>(log: &Log, usual: &Usual, shown: &[&'log Write]) -> Vec<&'log Write> {
    let last = log.writes.last().map_or(0, |write| write.number) as f64 + 1.0;
    let part = |write: &Write| ((write.number as f64 / last * PARTS as f64) as usize).min(PARTS - 1);
    let mut lost = [0.0; PARTS];
    for write in shown {
        lost[part(write)] += usual.lost_ns(write);
    }
    let Some(most) = (0..PARTS).max_by(|left, right| lost[*left].total_cmp(&lost[*right])) else {
        return Vec::new();
    };
    let enough = |at: usize| lost[at] >= lost[most] / 2.0;
    let from = (0..=most).rev().take_while(|at| enough(*at)).last().unwrap_or(most);
    let to = (most..PARTS).take_while(|at| enough(*at)).last().unwrap_or(most);
    shown.iter().copied().filter(|write| (from..=to).contains(&part(write))).collect()
}

/// Cost of runs of writes: its 90th percentile as a multiple of its 10th, which counts as at least a thousandth of the
/// mean.
fn swing(log: &Log) -> f64 {
    let runs = sorted(run_costs(&log.writes, RUN.min(log.writes.len() / 16).max(1)).into_iter());
    let mean = ratio(runs.iter().sum(), runs.len() as f64);
    ratio(quantile(&runs, 0.9), quantile(&runs, 0.1).max(mean / 1000.0))
}
