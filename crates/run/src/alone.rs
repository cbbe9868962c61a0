//! Runs of each tenant alone: on the drive as preconditioning left it, with its own requests at their own times. The
//! slowdown that the others cause is then a quotient of two means. Power is cut in the run of all only.

use flashweir_ssd::{Simulation, Stats};
use flashweir_trace::Op;
use flashweir_trace::format::Gauge;
use serde_json::{Value, json};

use crate::error::Error;
use crate::progress::{Phase, Reporter};
use crate::spec::RunSpec;
use crate::warmup::{Method, Outcome, Warmup};
use crate::workload::Workloads;

/// Requests served between two looks at the clock.
const SLICE: usize = 4096;

/// Statistics of the tenants' runs alone, by stream; `None` for a tenant without requests.
pub(crate) type Alone = Vec<Option<Stats>>;

/// The drive as the tenants find it, if they are to be run alone.
pub(crate) fn fresh(run: &RunSpec, simulation: &mut Simulation) -> Option<Simulation> {
    (run.alone && run.workloads.len() > 1).then(|| {
        let mut fresh = simulation.snapshot();
        // Alone on the drive, a tenant has all of its channels, whatever the allocator gives it among others.
        fresh.share_all_channels();
        fresh
    })
}

/// Runs each tenant alone. `together` is what is left of the run of all without its warm-up, and `whole` all of it: of
/// each tenant the same requests are removed.
pub(crate) fn run(
    run: &RunSpec,
    fresh: Option<Simulation>,
    workloads: &Workloads<'_>,
    whole: &Stats,
    warmup: Option<&Outcome>,
    reporter: &mut Reporter<'_>,
) -> Result<Option<Alone>, Error> {
    let together = warmup.map_or(whole, |warmup| &warmup.rest);
    let Some(mut fresh) = fresh else {
        // Of one tenant this is its run alone; of a trace with several streams nothing is known.
        return Ok((run.alone && together.latencies.streams() == [0]).then(|| vec![Some(together.clone())]));
    };
    let capacity_sectors = fresh.geometry().capacity_sectors();
    let mut alone = Vec::new();
    for stream in (0..=u16::MAX).take(run.workloads.len()) {
        let (all, kept) = (whole.streams.of(stream).count(), together.streams.of(stream).count());
        if kept == 0 {
            alone.push(None);
            continue;
        }
        let mut simulation = fresh.snapshot();
        let removed = Method::Requests(all - kept);
        let mut warmup = (all > kept).then(|| Warmup::new(removed, &mut simulation));
        let mut opened = workloads.again(stream)?;
        let gauge = opened.gauge();
        let mut source = workloads.alone(stream, &mut opened, run.wrap.then_some(capacity_sectors));
        reporter.is_about(Some(&workloads.descriptions[usize::from(stream)].name));
        let (mut batch, mut done, mut more) = (Vec::with_capacity(SLICE), 0, true);
        while more {
            batch.clear();
            more = source.read(&mut batch, SLICE)?;
            match &mut warmup {
                None => simulation.serve(&batch)?,
                Some(warmup) => warmup.serve(&mut simulation, &batch)?,
            }
            // The drive records if the drive of the run of all does. The records are not needed here.
            drop(simulation.take_recorded());
            done += batch.len() as u64;
            match gauge.as_ref().and_then(Gauge::fraction) {
                None => reporter.report(Phase::Alone, done, all)?,
                share => reporter.report_share(Phase::Alone, done, share)?,
            }
        }
        simulation.finish()?;
        reporter.is_about(None);
        alone.push(Some(match warmup {
            None => simulation.stats(),
            Some(warmup) => warmup.finish(&mut simulation)?.rest,
        }));
    }
    Ok(Some(alone))
}

/// Slowdown of requests against the run alone: the quotient of mean latencies. `None` where there is nothing to
/// compare, or nothing took time alone.
pub(crate) fn slowdown(together: &Stats, alone: &Stats, stream: u16, ops: &[Op]) -> Option<f64> {
    let (together, alone) = (mean(together, stream, ops)?, mean(alone, stream, ops)?);
    #[expect(clippy::float_cmp, reason = "what is the same is not slower, even where both are 0")]
    let same = together == alone;
    if same { Some(1.0) } else { (alone > 0.0).then(|| together / alone) }
}

/// Mean latency of a stream's requests with these operations, us.
fn mean(stats: &Stats, stream: u16, ops: &[Op]) -> Option<f64> {
    let summaries = ops.iter().filter_map(|op| stats.latencies.summary(Some(stream), *op));
    let (count, sum) = summaries
        .fold((0u64, 0.0), |(count, sum), one| (count + one.count, sum + one.mean * one.count as f64));
    (count > 0).then(|| sum / count as f64)
}

/// Jain's index of the tenants' speeds, which are the inverse of their slowdowns, and the largest slowdown.
pub(crate) fn fairness(together: &Stats, alone: Option<&Alone>) -> Value {
    let Some(alone) = alone else { return Value::Null };
    let one = |(stream, alone): (u16, &Option<Stats>)| slowdown(together, alone.as_ref()?, stream, &Op::ALL);
    let slowdowns: Vec<f64> = (0..=u16::MAX).zip(alone).filter_map(one).collect();
    let speeds = || slowdowns.iter().map(|slowdown| 1.0 / slowdown);
    let (sum, squares) = (speeds().sum::<f64>(), speeds().map(|speed| speed * speed).sum::<f64>());
    let jain = (squares > 0.0).then(|| sum * sum / (slowdowns.len() as f64 * squares));
    json!({"jain": jain, "max_slowdown": slowdowns.iter().copied().reduce(f64::max)})
}
