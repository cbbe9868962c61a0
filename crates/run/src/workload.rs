//! Workloads as one stream of requests, and the stream that preconditioning writes.

use std::path::Path;

use flashweir_ssd::Geometry;
use flashweir_trace::format::{Gauge, Options, Report, Trace};
use flashweir_trace::generate::{Generator, Spec};
use flashweir_trace::transform::{Interleave, Merge, Wrap};
use flashweir_trace::{Request, SECTOR_BYTES, Source, TraceError};
use serde::Serialize;

use crate::error::Error;
use crate::pull::{Feed, Pull};
use crate::spec::{RunSpec, TraceOptions, WorkloadSpec};
use crate::traces::{Shared, Traces};

/// Distance between the seed of a generator and that of its preconditioning: any odd constant does.
const OTHER_SEED: u64 = 0x9e37_79b9_7f4a_7c15;

/// One workload, opened.
enum Opened {
    Generator(Box<Generator>),
    Trace(Box<Trace>),
    Shared(Shared),
}

impl Opened {
    fn source(&mut self) -> Box<dyn Source + Send + '_> {
        match self {
            Opened::Generator(generator) => Box::new(generator.as_mut()),
            Opened::Trace(trace) => Box::new(trace.as_mut()),
            Opened::Shared(shared) => Box::new(shared),
        }
    }

    fn gauge(&self) -> Option<Gauge> {
        match self {
            Opened::Generator(_) | Opened::Shared(_) => None,
            Opened::Trace(trace) => Some(trace.gauge()),
        }
    }

    /// What was read so far, if this is a trace.
    fn report(&self) -> Option<&Report> {
        match self {
            Opened::Generator(_) => None,
            Opened::Trace(trace) => Some(trace.report()),
            Opened::Shared(shared) => Some(&shared.trace.report),
        }
    }
}

/// How the traces of a run are read.
struct Reading<'a> {
    options: TraceOptions,
    parsed: Options,
    shared: Option<&'a Traces>,
}

impl Reading<'_> {
    fn open(&self, path: &Path, content: Option<&str>) -> Result<Opened, TraceError> {
        Ok(match self.shared {
            Some(traces) => Opened::Shared(traces.open(path, content, &self.options)?),
            None => Opened::Trace(Box::new(Trace::open(path, &self.parsed)?)),
        })
    }
}

/// How long all workloads together are.
pub(crate) enum Length {
    /// So many requests.
    Requests(u64),
    /// There are traces, whose lengths are known only at their ends; this tells how much of each was read.
    Files(Vec<Gauge>),
}

/// What is said of a workload in the result.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Description {
    /// Name of its stream.
    pub(crate) name: String,
    /// The generator's complete spec, or the trace's file name.
    pub(crate) workload: String,
    /// What was read of a trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) trace: Option<Report>,
}

/// All workloads of a run.
pub(crate) struct Workloads {
    sources: Vec<Opened>,
    specs: Vec<Option<Spec>>,
    pub(crate) descriptions: Vec<Description>,
}

impl Workloads {
    /// Opens every workload of a run; traces out of those that are shared, where there are such.
    pub(crate) fn open(run: &RunSpec, shared: Option<&Traces>) -> Result<Self, Error> {
        if run.workloads.is_empty() || run.workloads.len() > usize::from(u16::MAX) {
            return Err(Error::Setting {
                what: format!("{} workloads", run.workloads.len()),
                expected: "expected a trace file or a generator such as random:span=1GiB,count=100000".into(),
            });
        }
        let options = run.trace_options();
        let reading = Reading { parsed: options.parse()?, options, shared };
        let mut all = Self { sources: Vec::new(), specs: Vec::new(), descriptions: Vec::new() };
        for (stream, workload) in (0u64..).zip(&run.workloads) {
            let name = workload.name.clone().unwrap_or_else(|| match run.workloads.len() {
                1 => "workload".into(),
                _ => format!("workload {stream}"),
            });
            if all.descriptions.iter().any(|other| other.name == name) {
                let expected = "expected a name of its own for each workload".into();
                return Err(Error::Setting { what: format!("workload name {name:?}"), expected });
            }
            all.add(name, workload, &reading, run.seed.map(|seed| seed.wrapping_add(stream)))?;
        }
        if all.specs.iter().all(Option::is_some)
            && (run.format.is_some() || run.columns.is_some() || run.skip_bad > 0)
        {
            let expected = "expected a trace: a generator has no format, no columns and no bad lines".into();
            return Err(Error::Setting { what: "format, columns or skip_bad".into(), expected });
        }
        Ok(all)
    }

    fn add(
        &mut self,
        name: String,
        workload: &WorkloadSpec,
        reading: &Reading<'_>,
        seed: Option<u64>,
    ) -> Result<(), TraceError> {
        let text = workload.spec.as_str();
        let path = Path::new(text);
        let description = |workload: String| Description { name, workload, trace: None };
        if path.exists() || !Spec::is_spec(text) {
            let file =
                path.file_name().map_or_else(|| text.into(), |file| file.to_string_lossy().into_owned());
            self.sources.push(reading.open(path, workload.content.as_deref())?);
            self.specs.push(None);
            self.descriptions.push(description(file));
            return Ok(());
        }
        let spec = Spec::parse(text)?;
        let spec = match seed {
            Some(seed) => spec.with_seed(seed),
            None => spec,
        };
        self.sources.push(Opened::Generator(Box::new(spec.generator())));
        self.descriptions.push(description(spec.canonical()));
        self.specs.push(Some(spec));
        Ok(())
    }

    /// How many there are.
    pub(crate) fn count(&self) -> u16 {
        // More were refused when they were opened.
        u16::try_from(self.sources.len()).unwrap_or(u16::MAX)
    }

    /// Their names, by stream.
    pub(crate) fn names(&self) -> Vec<String> {
        self.descriptions.iter().map(|description| description.name.clone()).collect()
    }

    /// Refuses generators that reach beyond the drive, before anything runs. Traces are checked request by request.
    pub(crate) fn check_spans(&self, geometry: &Geometry) -> Result<(), Error> {
        self.specs.iter().flatten().try_for_each(|spec| check_span(spec, geometry))
    }

    /// How long they are together.
    pub(crate) fn length(&self) -> Length {
        let count = |(opened, spec): (&Opened, &Option<Spec>)| match opened {
            Opened::Shared(shared) => Some(shared.len()),
            Opened::Generator(_) | Opened::Trace(_) => spec.as_ref().map(Spec::count),
        };
        let counts: Option<Vec<u64>> = self.sources.iter().zip(&self.specs).map(count).collect();
        match counts {
            Some(counts) => Length::Requests(counts.into_iter().fold(0, u64::saturating_add)),
            None => Length::Files(self.sources.iter().filter_map(Opened::gauge).collect()),
        }
    }

    /// The workloads, each for itself.
    fn sources(&mut self) -> Vec<Box<dyn Source + Send + '_>> {
        self.sources.iter_mut().map(Opened::source).collect()
    }

    /// The requests to serve: workload by workload if the drive's host `arbitrates` among several of them, else as one stream.
    pub(crate) fn feed(
        &mut self,
        wrap: bool,
        capacity_sectors: u64,
        arbitrates: bool,
    ) -> Result<Feed<'_>, TraceError> {
        if !arbitrates || self.sources.len() == 1 {
            return Ok(Feed::Stream(self.stream(wrap, capacity_sectors)?));
        }
        let wrapped = |source| -> Box<dyn Source + Send + '_> {
            if wrap { Box::new(Wrap::new(source, capacity_sectors)) } else { source }
        };
        Ok(Feed::Pull(Pull::new(self.sources().into_iter().map(wrapped).collect())?))
    }

    /// The stream to serve. Timed workloads are merged by time; workloads without times take turns.
    fn stream(&mut self, wrap: bool, capacity_sectors: u64) -> Result<Box<dyn Source + '_>, TraceError> {
        let timed = self.specs.iter().any(|spec| spec.as_ref().is_none_or(Spec::is_timed));
        let mut sources = self.sources();
        let stream: Box<dyn Source + '_> = if sources.len() == 1 {
            Box::new(sources.remove(0))
        } else if timed {
            Box::new(Merge::new(sources)?)
        } else {
            Box::new(Interleave::new(sources)?)
        };
        Ok(if wrap { Box::new(Wrap::new(stream, capacity_sectors)) } else { stream })
    }

    /// The stream that preconditioning writes: every generator's own addresses with another seed, taking turns; uniform
    /// over the drive if there is a trace. It never ends.
    pub(crate) fn preconditioning(
        &self,
        seed: u64,
        wrap: bool,
        geometry: &Geometry,
    ) -> Result<Box<dyn Source>, TraceError> {
        let other = |spec: &Spec| {
            let seed = spec.seed() ^ OTHER_SEED;
            spec.clone().with_seed(seed).endless()
        };
        let specs: Option<Vec<&Spec>> = self.specs.iter().map(Option::as_ref).collect();
        let generators: Vec<Generator> = match specs {
            Some(specs) => specs.into_iter().map(other).collect(),
            None => vec![uniform(seed, geometry)?],
        };
        let sources = generators.into_iter().map(|generator| Box::new(generator) as Box<dyn Source + Send>);
        let stream = Interleave::new(sources.collect())?;
        let capacity = geometry.capacity_sectors();
        Ok(if wrap { Box::new(Wrap::new(stream, capacity)) } else { Box::new(stream) })
    }

    /// What was read, once the stream has been.
    pub(crate) fn describe(&self) -> Vec<Description> {
        let mut descriptions = self.descriptions.clone();
        for (description, opened) in descriptions.iter_mut().zip(&self.sources) {
            description.trace = opened.report().cloned();
        }
        descriptions
    }
}

/// Refuses a generator that reaches beyond the drive.
pub(crate) fn check_span(spec: &Spec, geometry: &Geometry) -> Result<(), Error> {
    let capacity = geometry.capacity_sectors() * SECTOR_BYTES;
    if spec.span_end_bytes() <= capacity {
        return Ok(());
    }
    Err(Error::Setting {
        what: format!("workload {}", spec.canonical()),
        expected: format!(
            "its span ends at byte {}, the drive has {capacity}: use a smaller span or offset, a larger capacity, or \
             --wrap to fold addresses",
            spec.span_end_bytes()
        ),
    })
}

/// Page writes, uniform over the whole drive.
fn uniform(seed: u64, geometry: &Geometry) -> Result<Generator, TraceError> {
    let page = u64::from(geometry.page_sectors) * SECTOR_BYTES;
    let span = geometry.capacity_sectors() * SECTOR_BYTES;
    let spec = Spec::parse(&format!("random:span={span},size={page},seed={}", seed ^ OTHER_SEED))?;
    Ok(spec.endless())
}

/// Whether a stream writes at all, as far as its first requests say.
pub(crate) fn writes(requests: &[Request]) -> bool {
    requests.iter().any(|request| request.op == flashweir_trace::Op::Write)
}
