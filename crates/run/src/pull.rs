//! Requests of a closed loop whose host says whose comes next: they are fetched one by one, each from its own workload.

use flashweir_ssd::Simulation;
use flashweir_trace::{Request, Source, TraceError};

use crate::error::Error;

/// Requests read ahead of each workload.
const BATCH: usize = 1024;

/// Where the requests of a run come from.
pub(crate) enum Feed<'a> {
    /// All workloads as one stream, in its order.
    Stream(Box<dyn Source + 'a>),
    /// From the workload that the drive's host asks for.
    Pull(Pull<'a>),
}

impl Feed<'_> {
    /// Appends the next requests, at most `limit` and possibly none. What was appended before must have been served. False
    /// once the last one has been appended.
    pub(crate) fn read(
        &mut self,
        simulation: &mut Simulation,
        out: &mut Vec<Request>,
        limit: usize,
    ) -> Result<bool, Error> {
        match self {
            Feed::Stream(stream) => Ok(stream.read(out, limit)?),
            Feed::Pull(pull) => {
                let limit = if simulation.arbitrates_late() { 1 } else { limit };
                pull.read(simulation, out, limit)
            }
        }
    }
}

/// One workload, and what has been read of it but not served.
struct Tenant<'a> {
    source: Box<dyn Source + Send + 'a>,
    batch: Vec<Request>,
    next: usize,
    more: bool,
}

impl Tenant<'_> {
    /// Reads on, if all that was read has been served. Returns whether there is a request.
    fn fill(&mut self) -> Result<bool, TraceError> {
        while self.next == self.batch.len() && self.more {
            self.batch.clear();
            self.next = 0;
            self.more = self.source.read(&mut self.batch, BATCH)?;
        }
        Ok(self.next < self.batch.len())
    }
}

/// Workloads of which each has a request waiting until it ends. All requests of the n-th are stream n, from 0.
pub(crate) struct Pull<'a> {
    tenants: Vec<Tenant<'a>>,
    has_next: Vec<bool>,
}

impl<'a> Pull<'a> {
    pub(crate) fn new(sources: Vec<Box<dyn Source + Send + 'a>>) -> Result<Self, TraceError> {
        let tenant = |source| Tenant { source, batch: Vec::new(), next: 0, more: true };
        let mut tenants: Vec<_> = sources.into_iter().map(tenant).collect();
        let has_next = tenants.iter_mut().map(Tenant::fill).collect::<Result<_, _>>()?;
        Ok(Self { tenants, has_next })
    }

    fn read(
        &mut self,
        simulation: &mut Simulation,
        out: &mut Vec<Request>,
        limit: usize,
    ) -> Result<bool, Error> {
        for _ in 0..limit {
            let Some(stream) = simulation.next_stream(&self.has_next)? else { return Ok(false) };
            let tenant = &mut self.tenants[usize::from(stream)];
            if let Some(request) = tenant.batch.get(tenant.next) {
                out.push(Request { stream, ..*request });
                tenant.next += 1;
            }
            self.has_next[usize::from(stream)] = tenant.fill()?;
        }
        Ok(self.has_next.contains(&true))
    }
}
