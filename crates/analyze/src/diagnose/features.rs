//! Features of a log that the detectors use: some fifty numbers. All but those named `..._us` and `..._ms` are ratios
//! to the drive's own averages, so they mean the same on a slow drive and on a fast one.

use super::log::{Log, Write};
use super::measure::{autocorrelation, evenness, log_ratio, mean, quantile, ratio, sorted, variation};
use super::numbers::Features;
use super::synthesis;
use super::usual::{Usual, run_costs};

/// Regions in which written addresses are counted, bytes: about what one collection or merge is about.
const REGION_BYTES: u64 = 512 * 1024;

/// Cost below which a write needs no flash: a transfer into memory, with the jitter of a host, ns.
const AT_ONCE_NS: f64 = 100_000.0;
/// Bytes at the beginning of a log, KiB.
const FIRST_KIB: [u64; 6] = [32, 64, 128, 256, 512, 1024];
/// Slices of what was written, in multiples of the addresses.
const FILLED: [f64; 10] = [0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 1.2, 1.5, 2.0, 3.0];
/// The slice before which the addresses were not written once.
const FULL: usize = 5;

impl Features {
    /// Those of a log with at least one write.
    pub(super) fn of(log: &Log, usual: &Usual) -> Self {
        let mut features = Self::default();
        let costs = sorted(log.writes.iter().map(|write| write.cost_ns as f64));
        let total: f64 = costs.iter().sum();
        let middle = ratio(total, costs.len() as f64);
        features.shape(&costs, total, middle);
        features.sizes(log, middle);
        features.rewriting(log, middle);
        features.course(log, total);
        features.swings(log);
        features.stalls(log, usual, middle);
        features.physics(log, middle);
        features.absorbing(log, middle);
        synthesis::add(&mut features, log);
        features
    }

    /// Distribution of costs.
    fn shape(&mut self, costs: &[f64], total: f64, middle: f64) {
        for (name, share) in [
            ("01", 0.01),
            ("10", 0.1),
            ("25", 0.25),
            ("50", 0.5),
            ("75", 0.75),
            ("90", 0.9),
            ("95", 0.95),
            ("99", 0.99),
            ("999", 0.999),
            ("max", 1.0),
        ] {
            self.add(format!("cost_q{name}"), log_ratio(quantile(costs, share), middle));
        }
        for (name, at_least) in
            [("3", 3.0), ("10", 10.0), ("30", 30.0), ("100", 100.0), ("300", 300.0), ("1000", 1000.0)]
        {
            let from = costs.partition_point(|cost| *cost <= at_least * middle);
            self.add(format!("time_over_{name}"), ratio(costs[from..].iter().sum(), total));
            self.add(format!("count_over_{name}"), ratio((costs.len() - from) as f64, costs.len() as f64));
        }
        for (name, at_least_ns) in [("10ms", 1e7), ("100ms", 1e8), ("1s", 1e9)] {
            let from = costs.partition_point(|cost| *cost <= at_least_ns);
            self.add(format!("time_over_{name}"), ratio(costs[from..].iter().sum(), total));
        }
        for (name, at_most_ns) in [("20us", 2e4), ("100us", 1e5), ("300us", 3e5)] {
            let below = costs.partition_point(|cost| *cost <= at_most_ns);
            self.add(format!("count_below_{name}"), ratio(below as f64, costs.len() as f64));
        }
        self.add("mean_us", log_ratio(middle, 1e3));
        self.add("median_us", log_ratio(quantile(costs, 0.5), 1e3));
        self.add("p05_us", log_ratio(quantile(costs, 0.05), 1e3));
    }

    /// Cost of short writes compared with long ones.
    fn sizes(&mut self, log: &Log, middle: f64) {
        let sizes = sorted(log.writes.iter().map(|write| write.bytes as f64));
        let (short, long) = (quantile(&sizes, 0.25), quantile(&sizes, 0.75));
        let costs = |keep: &dyn Fn(f64) -> bool| {
            sorted(
                log.writes.iter().filter(|write| keep(write.bytes as f64)).map(|write| write.cost_ns as f64),
            )
        };
        let (cheap, dear) = (costs(&|bytes| bytes <= short), costs(&|bytes| bytes >= long));
        self.add("size_spread", log_ratio(long, short));
        self.add("size_mean", log_ratio(ratio(log.bytes as f64, sizes.len() as f64), 1024.0));
        for (name, share) in [("10", 0.1), ("50", 0.5), ("90", 0.9)] {
            self.add(
                format!("short_to_long_q{name}"),
                log_ratio(quantile(&cheap, share), quantile(&dear, share).max(middle / 1e3)),
            );
        }
        self.add("short_q10_us", log_ratio(quantile(&cheap, 0.1), 1e3));
        self.add("short_q50_us", log_ratio(quantile(&cheap, 0.5), 1e3));
        self.add("long_q50_us", log_ratio(quantile(&dear, 0.5), 1e3));
        self.add(
            "short_fast",
            ratio(cheap.partition_point(|cost| *cost < middle / 10.0) as f64, cheap.len() as f64),
        );
    }

    /// Amount of rewriting, bytes written since the previous write of the same data, and the cost.
    fn rewriting(&mut self, log: &Log, middle: f64) {
        let count = log.writes.len() as f64;
        let mean_of = |keep: &dyn Fn(&Write) -> bool| {
            let costs: Vec<f64> =
                log.writes.iter().filter(|write| keep(write)).map(|write| write.cost_ns as f64).collect();
            (
                ratio(costs.len() as f64, count),
                if costs.is_empty() { 0.0 } else { log_ratio(mean(&costs), middle) },
            )
        };
        self.add("written_to_distinct", log_ratio(log.bytes as f64, log.distinct_bytes as f64));
        let (_, first) = mean_of(&|write| write.since.is_none());
        self.add("first_cost", first);
        for (name, from, to) in [
            ("256k", 0, 256 << 10),
            ("4m", 256 << 10, 4 << 20),
            ("64m", 4 << 20, 64 << 20),
            ("far", 64 << 20, u64::MAX),
        ] {
            let (share, cost) =
                mean_of(&|write| write.since.is_some_and(|since| (from..to).contains(&since)));
            self.add(format!("again_{name}"), share);
            self.add(format!("again_{name}_cost"), cost);
        }
        let (sequential, cost) = mean_of(&|write| write.sequential);
        self.add("sequential", sequential);
        self.add("sequential_cost", cost);
        let misaligned =
            log.writes.iter().filter(|write| write.lba % 8 != 0 || write.bytes % 4096 != 0).count();
        self.add("misaligned", ratio(misaligned as f64, count));
        let mut regions: Vec<u64> = log
            .writes
            .iter()
            .map(|write| write.lba / (REGION_BYTES / flashweir_trace::SECTOR_BYTES))
            .collect();
        regions.sort_unstable();
        let mut counts = sorted(regions.chunk_by(|left, right| left == right).map(|same| same.len() as f64));
        counts.reverse();
        for (name, share) in [("1", 0.01), ("10", 0.1), ("30", 0.3)] {
            let top = ((counts.len() as f64 * share).ceil() as usize).min(counts.len());
            self.add(format!("hottest_{name}"), ratio(counts[..top].iter().sum(), count));
        }
        self.add("distinct_mib", log_ratio(log.distinct_bytes as f64, 1_048_576.0));
        self.add("idle", ratio(log.idle_ns as f64, log.span_ns as f64));
        self.add("depth", log_ratio(log.depth(), 1.0));
    }

    /// Cost of a byte over the log, and cost before the drive can have been full. Until as much was written as the
    /// drive is seen to hold, a map that uses all of its space needs no collection (if the drive was empty).
    fn course(&mut self, log: &Log, total: f64) {
        let overall = ratio(total, log.bytes as f64);
        let mut eighths = [(0.0, 0.0); 8];
        let (mut before, mut early) = (0u64, (0.0, 0.0));
        for write in &log.writes {
            let eighth = (before as f64 * 8.0 / log.bytes as f64) as usize;
            let (cost, bytes) = (write.cost_ns as f64, write.bytes as f64);
            let slot = &mut eighths[eighth.min(7)];
            *slot = (slot.0 + cost, slot.1 + bytes);
            if before <= log.distinct_bytes {
                early = (early.0 + cost, early.1 + bytes);
            }
            before = before.saturating_add(write.bytes);
        }
        for (number, (cost, bytes)) in eighths.into_iter().enumerate() {
            self.add(format!("eighth_{number}"), log_ratio(ratio(cost, bytes), overall));
        }
        self.add("early_time", ratio(early.0, total));
        self.add("early_cost", log_ratio(ratio(early.0, early.1), overall));
    }

    /// Differences in the cost of a byte between runs of writes.
    fn swings(&mut self, log: &Log) {
        for length in [16, 64, 256, 1024] {
            let runs = run_costs(&log.writes, length);
            let ordered = sorted(runs.iter().copied());
            let middle = mean(&runs);
            self.add(format!("run_{length}_variation"), variation(&runs));
            for (name, share) in [("10", 0.1), ("50", 0.5), ("90", 0.9)] {
                self.add(format!("run_{length}_q{name}"), log_ratio(quantile(&ordered, share), middle));
            }
            self.add(format!("run_{length}_memory"), autocorrelation(&runs));
        }
    }

    /// Anomalies: how many, how strong, where, after what.
    fn stalls(&mut self, log: &Log, usual: &Usual, middle: f64) {
        let overall = ratio(log.writes.iter().map(|write| write.cost_ns as f64).sum(), log.bytes as f64);
        self.add("usual", log_ratio(usual.per_byte_ns, overall));
        let (mut costs, mut gaps, mut regions) = (Vec::new(), Vec::new(), Vec::new());
        let (mut first_writes, mut sequential, mut lost, mut early_lost) = (0.0, 0.0, 0.0, 0.0);
        let (mut bytes, mut last, mut first_at) = (0u64, 0u64, None);
        for write in &log.writes {
            if usual.is_anomaly(write) {
                let cost = usual.lost_ns(write);
                lost += cost;
                if bytes <= log.distinct_bytes {
                    early_lost += cost;
                }
                costs.push(cost);
                gaps.push((bytes - last) as f64);
                regions.push((write.lba, cost));
                first_writes += f64::from(u8::from(write.since.is_none()));
                sequential += f64::from(u8::from(write.sequential));
                first_at.get_or_insert(bytes);
                last = bytes;
            }
            bytes = bytes.saturating_add(write.bytes);
        }
        let (count, all) = (costs.len() as f64, log.writes.len() as f64);
        let ordered = sorted(costs.iter().copied());
        self.add("anomalies", ratio(count, all));
        self.add("anomalies_lost", ratio(lost, middle * all));
        self.add("anomalies_early", ratio(early_lost, lost));
        self.add("anomaly_cost", log_ratio(mean(&costs), middle));
        self.add("anomaly_ms", log_ratio(quantile(&ordered, 0.5), 1e6));
        self.add("anomaly_variation", variation(&costs));
        self.add("anomaly_q90_to_q50", log_ratio(quantile(&ordered, 0.9), quantile(&ordered, 0.5)));
        self.add("gap_variation", variation(&gaps));
        self.add("gap_median", log_ratio(quantile(&sorted(gaps.iter().copied()), 0.5), mean(&gaps)));
        self.add("gap_mib", log_ratio(mean(&gaps), 1_048_576.0));
        self.add("anomalies_at_first_writes", ratio(first_writes, count));
        self.add("anomalies_sequential", ratio(sequential, count));
        let first = first_at.map_or((9.0, 1.0), |at| {
            (ratio(at as f64, log.distinct_bytes as f64).min(9.0), ratio(at as f64, log.bytes as f64))
        });
        self.add("first_to_distinct", first.0);
        self.add("first_to_written", first.1);
        // ms for each MiB written in between: what a merge or a collection gained.
        self.add("lost_ms_per_mib", log_ratio(lost / 1e6, log.bytes as f64 / 1_048_576.0));
        self.places(log, &regions);
    }

    /// Over which addresses the anomalies lie, in 64 parts that were written equally often.
    fn places(&mut self, log: &Log, regions: &[(u64, f64)]) {
        let addresses = sorted(log.writes.iter().map(|write| write.lba as f64));
        let parts = 64.min(addresses.len());
        let borders: Vec<f64> = (1..parts).map(|part| addresses[part * addresses.len() / parts]).collect();
        let (mut counts, mut costs, mut all) = (vec![0.0; parts], vec![0.0; parts], vec![0.0; parts]);
        let part = |lba: u64| borders.partition_point(|border| *border <= lba as f64).min(parts - 1);
        for (lba, cost) in regions {
            counts[part(*lba)] += 1.0;
            costs[part(*lba)] += cost;
        }
        for write in &log.writes {
            all[part(write.lba)] += write.cost_ns as f64;
        }
        self.add("spread_of_counts", evenness(&counts));
        self.add("spread_of_costs", evenness(&costs));
        self.add("spread_of_time", evenness(&all));
        let lost: f64 = costs.iter().sum();
        self.add("worst_part", ratio(costs.iter().copied().fold(0.0, f64::max), lost));
        let span = quantile(&addresses, 0.95) - quantile(&addresses, 0.05);
        let at = sorted(regions.iter().map(|(lba, _)| *lba as f64));
        self.add("range_to_written", ratio(quantile(&at, 0.9) - quantile(&at, 0.1), span).min(2.0));
    }

    /// Cost of the flash itself, compared with the cost on the drive. The *quantum* is the most frequent cost of a
    /// short write that has to wait: programming a page, or the rest of it. A drive with a buffer and several dies
    /// takes much less than that for a page; a drive with much management takes more.
    fn physics(&mut self, log: &Log, middle: f64) {
        let sizes = sorted(log.writes.iter().map(|write| write.bytes as f64));
        let short = quantile(&sizes, 0.25);
        let waits = sorted(
            log.writes
                .iter()
                .filter(|write| write.bytes as f64 <= short && write.cost_ns as f64 > AT_ONCE_NS)
                .map(|write| write.cost_ns as f64),
        );
        let quantum = mode(&waits);
        let near = waits.iter().filter(|cost| (quantum * 0.9..=quantum * 1.1).contains(*cost)).count();
        let count = log.writes.len() as f64;
        let pages = log.bytes as f64 / 4096.0;
        let total = middle * count;
        self.add("quantum_us", log_ratio(quantum, 1e3));
        self.add("quantum_share", ratio(near as f64, waits.len() as f64));
        self.add(
            "waits",
            ratio(
                waits.len() as f64,
                log.writes.iter().filter(|write| write.bytes as f64 <= short).count() as f64,
            ),
        );
        self.add("page_to_quantum", log_ratio(ratio(total, pages), quantum));
        for (name, share) in [("50", 0.5), ("90", 0.9), ("99", 0.99)] {
            self.add(format!("waits_q{name}_to_quantum"), log_ratio(quantile(&waits, share), quantum));
        }
        for (name, times) in
            [("half", 0.5), ("2", 2.0), ("5", 5.0), ("20", 20.0), ("100", 100.0), ("1000", 1000.0)]
        {
            let over = log.writes.iter().filter(|write| {
                write.cost_ns as f64 > times * quantum * (write.bytes as f64 / 4096.0).max(1.0)
            });
            let (number, time) =
                over.fold((0.0, 0.0), |(number, time), write| (number + 1.0, time + write.cost_ns as f64));
            self.add(format!("count_over_{name}_quanta"), ratio(number, count));
            self.add(format!("time_over_{name}_quanta"), ratio(time, total));
        }
        self.filling(log, quantum);
    }

    /// Cost of the first bytes. An idle buffer takes them in at once, and the number taken shows its size.
    fn absorbing(&mut self, log: &Log, middle: f64) {
        let mut slices = [(0.0, 0.0); FIRST_KIB.len()];
        let mut before = 0;
        for write in &log.writes {
            for (slice, kib) in slices.iter_mut().zip(FIRST_KIB) {
                if before < kib << 10 {
                    *slice = (slice.0 + write.cost_ns as f64, slice.1 + 1.0);
                }
            }
            before += write.bytes.min(1 << 40);
            if before >= FIRST_KIB[FIRST_KIB.len() - 1] << 10 {
                break;
            }
        }
        for ((cost, count), kib) in slices.into_iter().zip(FIRST_KIB) {
            self.add(format!("first_{kib}k_cost"), log_ratio(ratio(cost, count), middle));
            self.add(format!("first_{kib}k_us"), log_ratio(ratio(cost, count), 1e3));
        }
    }

    /// Cost of a byte while more and more is written, in multiples of the range of addresses, which the drive holds at least. Until that
    /// much was written an empty drive needs no collection, whatever comes later; a map that runs out of log space slows down long before.
    fn filling(&mut self, log: &Log, quantum: f64) {
        let low = log.writes.iter().map(|write| write.lba).min().unwrap_or(0);
        let high = log
            .writes
            .iter()
            .map(|write| write.lba.saturating_add(write.bytes / flashweir_trace::SECTOR_BYTES))
            .max()
            .unwrap_or(0);
        for (name, whole) in [
            ("range", (high - low) as f64 * flashweir_trace::SECTOR_BYTES as f64),
            ("distinct", log.distinct_bytes as f64),
        ] {
            let mut slices = [(0.0, 0.0); FILLED.len() + 1];
            let mut before = 0.0;
            for write in &log.writes {
                let at = FILLED.partition_point(|filled| filled * whole <= before);
                slices[at].0 += write.cost_ns as f64;
                slices[at].1 += write.bytes as f64;
                before += write.bytes as f64;
            }
            let costs: Vec<f64> = slices.iter().map(|(cost, bytes)| ratio(*cost, *bytes) * 4096.0).collect();
            let seen = |at: &usize| slices[*at].1 > 0.0;
            // Behind the first one, in which the buffer fills.
            let least = (1..costs.len()).filter(seen).map(|at| costs[at]).fold(f64::MAX, f64::min);
            let least = if least < f64::MAX { least.max(quantum / 1000.0) } else { costs[0] };
            self.add(format!("{name}_least_to_quantum"), log_ratio(least, quantum));
            for (at, cost) in costs.iter().enumerate() {
                let value = if seen(&at) { log_ratio(*cost, least) } else { -9.0 };
                self.add(format!("{name}_filled_{at}"), value);
            }
            let part = |from: usize, to: usize| {
                let (cost, bytes) =
                    slices[from..to].iter().fold((0.0, 0.0), |sum, slice| (sum.0 + slice.0, sum.1 + slice.1));
                ratio(cost, bytes) * 4096.0
            };
            // Before it was filled once, and after.
            self.add(format!("{name}_before_to_quantum"), log_ratio(part(1, FULL + 1), quantum));
            self.add(format!("{name}_after_to_quantum"), log_ratio(part(FULL + 1, costs.len()), quantum));
            self.add(
                format!("{name}_after_to_before"),
                log_ratio(part(FULL + 1, costs.len()), part(1, FULL + 1)),
            );
        }
    }
}

/// The value round which most of sorted positive values lie, within a tenth; 0 of none.
fn mode(values: &[f64]) -> f64 {
    let (mut best, mut most, mut to) = (0.0, 0, 0);
    for (from, value) in values.iter().enumerate() {
        while to < values.len() && values[to] <= value * 1.1 {
            to += 1;
        }
        if to - from > most {
            (most, best) = (to - from, values[usize::midpoint(from, to - 1)]);
        }
    }
    best
}
