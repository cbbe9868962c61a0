//! Preconditioning: brings a drive into its starting state, untimed and uncounted, with reports of progress.

use flashweir_ssd::config::Precondition;
use flashweir_ssd::precondition::{Preconditioner, Step};
use flashweir_ssd::{Config, Geometry, Simulation};
use flashweir_trace::transform::Wrap;
use flashweir_trace::{Source, TraceError};

use crate::error::Error;
use crate::progress::{Phase, Reporter};
use crate::workload;

/// Requests between two reports.
const SLICE: usize = 4096;

/// Opens the stream of requests that `steady` writes.
pub(crate) type Writes<'a> = dyn FnMut(&Geometry) -> Result<Box<dyn Source>, TraceError> + 'a;

/// The stream with addresses beyond the first `pages` folded into them: the rest of the drive stays as new.
fn within(writes: Box<dyn Source>, pages: u64, geometry: &Geometry) -> Box<dyn Source> {
    if pages == geometry.logical_pages {
        return writes;
    }
    Box::new(Wrap::new(writes, pages * u64::from(geometry.page_sectors)))
}

/// Brings the drive into its starting state. Returns how many capacities were overwritten to find it steady.
pub(crate) fn precondition(
    config: &Config,
    simulation: &mut Simulation,
    writes: &mut Writes<'_>,
    reporter: &mut Reporter<'_>,
) -> Result<u64, Error> {
    let pages = config.filled_pages(simulation.geometry().logical_pages);
    let mut preconditioner = Preconditioner::new(config.precondition, pages);
    let mut stream = None;
    let mut batch = Vec::with_capacity(SLICE);
    let mut everything = None;
    // Steady state takes at least two capacities after filling; how many more is not known before.
    let total = if config.precondition == Precondition::Steady { 3 * pages } else { pages };
    loop {
        match preconditioner.step(simulation)? {
            Step::Done => break,
            Step::Again => {}
            Step::NeedsRequests => {
                if stream.is_none() {
                    stream = Some(within(writes(simulation.geometry())?, pages, simulation.geometry()));
                }
                batch.clear();
                if let Some(stream) = &mut stream {
                    stream.read(&mut batch, SLICE)?;
                }
                let everything = *everything.get_or_insert_with(|| !workload::writes(&batch));
                preconditioner.overwrite(simulation, &batch, everything)?;
            }
        }
        let written = preconditioner.written(simulation);
        reporter.report(Phase::Precondition, written, total.max(written))?;
    }
    simulation.end_of_preconditioning();
    Ok(preconditioner.capacities())
}
