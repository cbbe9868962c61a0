//! Workloads as one stream of requests, and the stream that preconditioning writes.

mod checks;
mod origin;

use std::collections::BTreeSet;

use flashweir_ssd::Geometry;
use flashweir_trace::format::{Gauge, Report};
use flashweir_trace::generate::{Generator, Spec};
use flashweir_trace::transform::{Filter, Interleave, Merge, Numbered, OpSet, Wrap};
use flashweir_trace::{Request, SECTOR_BYTES, Source, TraceError};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::error::Error;
use crate::progress::{Phase, Reporter};
use crate::pull::{Feed, Pull};
use crate::refusals::{GENERATED, refused};
use crate::spec::RunSpec;
use crate::tenant::{Boxed, Shape, WorkloadSpec};
use crate::trace_options::TraceOptions;
use crate::traces::Traces;
pub(crate) use checks::{check_count, check_generated, check_place, generator, name_of, parse_shape};
use origin::{Opened, Origin};

/// Requests looked at together.
const BATCH: usize = 4096;
/// Distance between the seed of a generator and that of its preconditioning: any odd constant does.
const OTHER_SEED: u64 = 0x9e37_79b9_7f4a_7c15;

/// A workload with what is done to its requests.
struct Tenant {
    origin: Origin,
    shape: Shape,
    opened: Opened,
}

/// Length of all workloads together.
pub(crate) enum Length {
    /// So many requests.
    Requests(u64),
    /// There are traces, whose lengths are known only at their ends: gauges of the share of each that was read.
    Files(Vec<Gauge>),
}

/// Description of a workload in the result.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Description {
    /// Name of its stream.
    pub(crate) name: String,
    /// The generator's complete spec, or the trace's file name.
    pub(crate) workload: String,
    /// Options that were set for its requests.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub(crate) options: Map<String, Value>,
    /// Report on the reading of a trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) trace: Option<Report>,
}

/// All workloads of a run.
pub(crate) struct Workloads<'a> {
    tenants: Vec<Tenant>,
    pub(crate) descriptions: Vec<Description>,
    shared: Option<&'a Traces>,
}

impl<'a> Workloads<'a> {
    /// Opens every workload of a run; traces out of those that are shared, where there are such.
    pub(crate) fn open(
        run: &RunSpec,
        shared: Option<&'a Traces>,
        reporter: &mut Reporter<'_>,
    ) -> Result<Self, Error> {
        check_count(run.workloads.len())?;
        let options = run.trace_options();
        options.parse()?;
        let mut all = Self { tenants: Vec::new(), descriptions: Vec::new(), shared };
        let mut names = BTreeSet::new();
        for (stream, workload) in (0u64..).zip(&run.workloads) {
            let name = name_of(workload, stream, run.workloads.len());
            if workload.name.as_deref().is_some_and(|name| name.trim().is_empty())
                || name.chars().any(char::is_control)
            {
                let expected = "expected some characters, and none that control a terminal";
                return Err(Error::setting(format!("workload name {name:?}"), expected));
            }
            if !names.insert(name.clone()) {
                let expected = "expected a name of its own for each workload";
                return Err(Error::setting(format!("workload name {name:?}"), expected));
            }
            let shape = parse_shape(workload, &name)?;
            all.add(name, workload, shape, &options, run.seed.map(|seed| seed.wrapping_add(stream)))?;
        }
        if all.specs().all(|spec| spec.is_some()) && options.are_of_traces() {
            return Err(checks::reading_of_generator());
        }
        all.stretch(reporter)?;
        all.align()?;
        Ok(all)
    }

    fn add(
        &mut self,
        name: String,
        workload: &WorkloadSpec,
        shape: Shape,
        of_run: &TraceOptions,
        seed: Option<u64>,
    ) -> Result<(), Error> {
        let origin = match generator(workload, seed)? {
            Some(spec) => {
                check_generated(workload, &spec).map_err(|error| error.of(&format!("workload {name}")))?;
                Origin::Generator(spec)
            }
            None => Origin::Trace {
                path: workload.spec.path().to_owned(),
                content: workload.content.clone(),
                options: workload.trace_options(of_run),
            },
        };
        let file = || {
            let name = workload.spec.path().file_name();
            name.map_or_else(|| workload.spec.to_string(), |name| name.to_string_lossy().into_owned())
        };
        let described = origin.spec().map_or_else(file, Spec::canonical);
        let opened = origin.open(self.shared)?;
        self.tenants.push(Tenant { origin, shape, opened });
        self.descriptions.push(Description {
            name,
            workload: described,
            options: workload.options(),
            trace: None,
        });
        Ok(())
    }

    /// Number of workloads.
    pub(crate) fn count(&self) -> u16 {
        // More were refused when they were opened.
        u16::try_from(self.descriptions.len()).unwrap_or(u16::MAX)
    }

    /// Their names, by stream.
    pub(crate) fn names(&self) -> Vec<String> {
        self.descriptions.iter().map(|description| description.name.clone()).collect()
    }

    /// Sectors of their parts of the drive, by stream, if these lie one behind the other from its begin. Empty otherwise.
    pub(crate) fn volumes(&self, geometry: &Geometry) -> Vec<u64> {
        let mut next = 0;
        let part = |Tenant { shape, .. }: &Tenant| {
            let sectors = shape.volume_sectors.filter(|_| shape.offset_sectors == next)?;
            next += sectors.next_multiple_of(geometry.page_sectors.into());
            Some(sectors.next_multiple_of(geometry.page_sectors.into()))
        };
        self.tenants.iter().map(part).collect::<Option<_>>().unwrap_or_default()
    }

    /// Goes through the workloads that are to last for some time, to find out how long they last as they are.
    fn stretch(&mut self, reporter: &mut Reporter<'_>) -> Result<(), Error> {
        for (tenant, description) in self.tenants.iter_mut().zip(&self.descriptions) {
            if tenant.shape.duration_ns.is_none() {
                continue;
            }
            tenant.origin.check_reread("duration")?;
            let mut opened = tenant.origin.open(self.shared)?;
            let gauge = opened.gauge();
            let mut source = tenant.shape.chosen(opened.source());
            let mut batch = Vec::with_capacity(BATCH);
            let (mut last_ns, mut done, mut more) = (0, 0, true);
            while more {
                batch.clear();
                more = source.read(&mut batch, BATCH)?;
                last_ns = batch.iter().fold(last_ns, |last, request| request.time_ns.max(last));
                done += batch.len() as u64;
                reporter.report_share(Phase::Trace, done, gauge.as_ref().and_then(Gauge::fraction))?;
            }
            let named = |error: Error| error.of(&format!("workload {}", description.name));
            tenant.shape.stretch(last_ns).map_err(named)?;
        }
        Ok(())
    }

    /// Keeps traces apart as they were recorded, where that is asked for.
    fn align(&mut self) -> Result<(), Error> {
        let mut began: Vec<(usize, i128)> = Vec::new();
        for (at, tenant) in self.tenants.iter().enumerate().filter(|(_, tenant)| tenant.shape.clock) {
            let name = format!("workload {}", self.descriptions[at].name);
            let no_clock = |what: &str| {
                let expected = format!(
                    "align = clock needs a trace whose times count from a known date: {what}; expected align = start"
                );
                refused(&GENERATED, &name, expected)
            };
            let Origin::Trace { path, .. } = &tenant.origin else {
                return Err(no_clock("a generator has none"));
            };
            tenant.origin.check_reread("align = clock")?;
            let mut opened = tenant.origin.open(self.shared)?;
            let mut first = Vec::new();
            while first.is_empty() && opened.source().read(&mut first, 1)? {}
            let Some(report) = opened.report() else { continue };
            let Some(epoch_ns) = report.format.epoch_ns() else {
                return Err(no_clock(&format!(
                    "{} is {}, whose times do not",
                    path.display(),
                    report.format
                )));
            };
            began.push((at, i128::from(report.first_time_ns) - i128::from(epoch_ns)));
        }
        let Some(least) = began.iter().map(|(_, began)| *began).min() else { return Ok(()) };
        for (at, began) in began {
            // Two times of 64 bits: their distance is below 2^65, and what is beyond 2^64 can't be simulated anyway.
            self.tenants[at].shape.later_ns = u64::try_from(began - least).unwrap_or(u64::MAX);
        }
        Ok(())
    }

    fn specs(&self) -> impl Iterator<Item = Option<&Spec>> {
        self.tenants.iter().map(|tenant| tenant.origin.spec())
    }

    /// Refuses workloads that reach beyond the drive, before anything runs. Traces are checked request by request.
    pub(crate) fn check_places(&self, geometry: &Geometry, wrap: bool) -> Result<(), Error> {
        for (tenant, description) in self.tenants.iter().zip(&self.descriptions) {
            check_place(tenant.origin.spec(), &tenant.shape, geometry, wrap).map_err(|error| {
                if tenant.shape.volume_sectors.is_some() {
                    error.of(&format!("workload {}", description.name))
                } else {
                    error
                }
            })?;
        }
        Ok(())
    }

    /// Length of the workloads together.
    pub(crate) fn length(&self) -> Length {
        let count = |tenant: &Tenant| {
            let all = match &tenant.opened {
                Opened::Shared(shared) => Some(shared.len()),
                Opened::Generator(_) | Opened::Trace(_) => tenant.origin.spec().map(Spec::count),
            };
            all.map(|all| all.min(tenant.shape.limit.unwrap_or(u64::MAX)))
        };
        let counts: Option<Vec<u64>> = self.tenants.iter().map(count).collect();
        match counts {
            Some(counts) => Length::Requests(counts.into_iter().fold(0, u64::saturating_add)),
            None => Length::Files(self.tenants.iter().filter_map(|tenant| tenant.opened.gauge()).collect()),
        }
    }

    /// The workloads, each for itself.
    fn sources(&mut self) -> Vec<Boxed<'_>> {
        self.tenants.iter_mut().map(|tenant| tenant.shape.applied(tenant.opened.source())).collect()
    }

    /// The requests to serve: workload by workload if the drive's host `arbitrates` among several of them, else as one stream.
    pub(crate) fn feed(
        &mut self,
        wrap: bool,
        capacity_sectors: u64,
        arbitrates: bool,
    ) -> Result<Feed<'_>, TraceError> {
        if !arbitrates || self.tenants.len() == 1 {
            return Ok(Feed::Stream(self.stream(wrap, capacity_sectors)?));
        }
        let wrapped = |source| -> Boxed<'_> {
            if wrap { Box::new(Wrap::new(source, capacity_sectors)) } else { source }
        };
        Ok(Feed::Pull(Pull::new(self.sources().into_iter().map(wrapped).collect())?))
    }

    /// The stream to serve. Timed workloads are merged by time; workloads without times take turns.
    fn stream(&mut self, wrap: bool, capacity_sectors: u64) -> Result<Box<dyn Source + '_>, TraceError> {
        let timed = self.specs().any(|spec| spec.is_none_or(Spec::is_timed));
        let mut sources = self.sources();
        let stream: Box<dyn Source + '_> = if sources.len() == 1 {
            sources.remove(0)
        } else if timed {
            Box::new(Merge::new(sources)?)
        } else {
            Box::new(Interleave::new(sources)?)
        };
        Ok(if wrap { Box::new(Wrap::new(stream, capacity_sectors)) } else { stream })
    }

    /// One of them from its beginning.
    pub(crate) fn again(&self, stream: u16) -> Result<Opened, Error> {
        let origin = &self.tenants[usize::from(stream)].origin;
        origin.check_reread("alone")?;
        Ok(origin.open(self.shared)?)
    }

    /// One of them by itself, with its own number, at its own times and addresses.
    pub(crate) fn alone<'b>(&self, stream: u16, opened: &'b mut Opened, wrap: Option<u64>) -> Boxed<'b> {
        let shape = &self.tenants[usize::from(stream)].shape;
        let source = Numbered::new(shape.applied(opened.source()), stream);
        match wrap {
            None => Box::new(source),
            Some(capacity_sectors) => Box::new(Wrap::new(source, capacity_sectors)),
        }
    }

    /// The stream that preconditioning writes: every workload's own addresses, taking turns. Of a generator they come from
    /// another seed; of a trace they are uniform over its volume. If a trace has none, all are uniform over the drive. It
    /// never ends.
    pub(crate) fn preconditioning(
        &self,
        seed: u64,
        wrap: bool,
        geometry: &Geometry,
    ) -> Result<Box<dyn Source>, TraceError> {
        let known = |tenant: &Tenant| tenant.origin.spec().is_some() || tenant.shape.volume_sectors.is_some();
        let capacity = geometry.capacity_sectors();
        let mut sources: Vec<Boxed<'static>> = Vec::new();
        if self.tenants.iter().all(known) {
            for (rank, tenant) in (0u64..).zip(&self.tenants) {
                let endless = if let Some(spec) = tenant.origin.spec() {
                    spec.clone().with_seed(spec.seed() ^ OTHER_SEED).endless()
                } else {
                    let volume = tenant.shape.volume_sectors.unwrap_or(capacity);
                    uniform(seed.wrapping_add(rank), volume, geometry)?
                };
                let all: Boxed<'static> = Box::new(endless);
                sources.push(tenant.shape.placed(match (tenant.origin.spec(), tenant.shape.ops) {
                    (Some(spec), Some(ops)) if occurs(spec, ops) => Box::new(Filter::new(all, ops)),
                    _ => all,
                }));
            }
        } else {
            sources.push(Box::new(uniform(seed, capacity, geometry)?));
        }
        let stream = Interleave::new(sources)?;
        Ok(if wrap { Box::new(Wrap::new(stream, capacity)) } else { Box::new(stream) })
    }

    /// Descriptions of the workloads; those of traces are complete once the stream has been read.
    pub(crate) fn describe(&self) -> Vec<Description> {
        let mut descriptions = self.descriptions.clone();
        for (description, tenant) in descriptions.iter_mut().zip(&self.tenants) {
            description.trace = tenant.opened.report().cloned();
        }
        descriptions
    }
}

/// True if these operations occur among the first requests of a generator.
fn occurs(spec: &Spec, ops: OpSet) -> bool {
    let mut first = Vec::new();
    spec.generator().read(&mut first, BATCH);
    first.iter().any(|request| ops.contains(request.op))
}

/// Page writes, uniform over the first sectors of the drive.
pub(crate) fn uniform(seed: u64, sectors: u64, geometry: &Geometry) -> Result<Generator, TraceError> {
    let page = u64::from(geometry.page_sectors) * SECTOR_BYTES;
    let span = sectors * SECTOR_BYTES;
    let spec = Spec::parse(&format!("random:span={span},size={page},seed={}", seed ^ OTHER_SEED))?;
    Ok(spec.endless())
}

/// True if a stream has writes among these first requests.
pub(crate) fn writes(requests: &[Request]) -> bool {
    requests.iter().any(|request| request.op.writes())
}
