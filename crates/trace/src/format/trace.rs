//! Reading a trace: from an open file to requests.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::binary;
use super::devices::{Extents, Unplaced};
use super::input::Input;
use super::line::LineDecoder;
use super::record::RecordDecoder;
use super::report::Report;
use super::sink::{Sink, Want};
use super::source::Source;
use super::table::{ParquetTable, is_parquet};
use super::{Format, Options, blktrace, detect, text};
use crate::{LogRecord, Request, TraceError};

/// Lines read before the caller is heard again, however few of them are requests.
const LINES_AT_ONCE: usize = 1 << 15;

/// The same of the records of a binary file.
const RECORDS_AT_ONCE: usize = 1 << 16;

/// A trace being read, in constant memory unless its format says otherwise.
pub struct Trace {
    body: Body,
    input: Input,
    sink: Sink,
    state: State,
    /// The same trace, being read for how far its devices go.
    survey: Option<Box<Trace>>,
    surveyed: bool,
    gauge: Gauge,
}

/// Progress of reading a trace: stays readable while the trace is lent to another owner.
#[derive(Clone, Debug, Default)]
pub struct Gauge(Arc<AtomicU64>);

impl Gauge {
    /// From 0 to 1; `None` where the length is not known, as in a pipe.
    pub fn fraction(&self) -> Option<f64> {
        // Zero bits stand for nothing known yet, and are the number 0.0 as well, which says no more.
        let fraction = f64::from_bits(self.0.load(Ordering::Relaxed));
        (fraction > 0.0).then_some(fraction)
    }

    fn set(&self, fraction: Option<f64>) {
        self.0.store(fraction.unwrap_or_default().to_bits(), Ordering::Relaxed);
    }
}

enum Body {
    Lines(Box<dyn LineDecoder>),
    Records(Box<dyn RecordDecoder>),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Fresh,
    Running,
    Ended,
}

impl Trace {
    /// Opens `path`. The format is that of `options`, else what the file's name says, else what its content fits.
    pub fn open(path: &Path, options: &Options) -> Result<Self, TraceError> {
        let (format, detected_by) = match (options.format, &options.columns) {
            (Some(format), _) => (format, "option"),
            (None, Some(_)) => (Format::Table, "option"),
            (None, None) => match Format::of_path(path) {
                Some(format) => (format, "name"),
                None if blktrace::is_set(path) => (Format::Blktrace, "name"),
                None => (detect::by_content(path)?, "content"),
            },
        };
        let columns = options.columns.clone();
        let (skip_bad, hints) = (options.skip_bad, options.hints.clone());
        let source = Source { path: path.to_owned(), format, detected_by, columns, skip_bad, hints };
        Self::open_source(source, Want::Requests)
    }

    /// Opens `source` for what is wanted of it.
    pub(crate) fn open_source(source: Source, want: Want) -> Result<Self, TraceError> {
        let table =
            source.columns.as_ref().filter(|_| source.format == Format::Table && is_parquet(&source.path));
        let input = if binary::opens_itself(source.format) || table.is_some() {
            Input::from_reader(&source.path, Box::new(std::io::empty()), false)
        } else {
            let mut input = Input::open(&source.path)?;
            if want != Want::Extents && input.peek(1)?.is_empty() {
                return Err(TraceError::Empty { path: source.path });
            }
            input
        };
        let body = if let Some(columns) = table {
            Body::Records(Box::new(ParquetTable::open(&source.path, columns)?))
        } else if source.format.is_text() {
            let Some(mut decoder) = text::decoder(source.format, source.columns.as_ref()) else {
                return Err(TraceError::Spec {
                    what: "format".to_owned(),
                    found: source.format.name().to_owned(),
                    expected: "a description of its columns as well, such as time=0:us,op=1,lba=2,size=3"
                        .to_owned(),
                });
            };
            if decoder.looks_ahead() && source.is_rereadable() {
                decoder.look_ahead(&mut Input::open(&source.path)?)?;
            }
            Body::Lines(decoder)
        } else if let Some(decoder) = binary::decoder(source.format, &source.path)? {
            Body::Records(decoder)
        } else {
            let detail = format!("{} is not read by this build", source.format);
            return Err(TraceError::UnknownFormat { path: source.path, detail });
        };
        let mut report = Report::new(source.format, source.detected_by);
        let order = match &body {
            Body::Lines(decoder) => decoder.order(),
            Body::Records(decoder) => decoder.order(),
        };
        report.assumptions = match &body {
            Body::Lines(decoder) => decoder.assumptions(),
            Body::Records(decoder) => decoder.assumptions(),
        };
        let skip_bad = source.skip_bad;
        let mut sink = Sink::new(want, report, skip_bad, Some(source));
        sink.set_order(order);
        match &body {
            Body::Lines(decoder) => sink.set_clock_offset_ns(decoder.clock_offset_ns()),
            Body::Records(decoder) if decoder.starts_at_zero() => sink.keep_clock(),
            Body::Records(_) => {}
        }
        Ok(Self::new(body, input, sink))
    }

    /// A trace of lines from anywhere.
    #[cfg(test)]
    pub(crate) fn from_parts(decoder: Box<dyn LineDecoder>, input: Input, sink: Sink) -> Self {
        Self::new(Body::Lines(decoder), input, sink)
    }

    fn new(body: Body, input: Input, sink: Sink) -> Self {
        let gauge = Gauge::default();
        Self { body, input, sink, state: State::Fresh, survey: None, surveyed: false, gauge }
    }

    /// Appends about `limit` requests to `out` (a few more if one line holds several); false once the end was
    /// reached. A call takes milliseconds: it may append nothing although more will come. Requests that were appended
    /// before an error stay.
    pub fn read(&mut self, out: &mut Vec<Request>, limit: usize) -> Result<bool, TraceError> {
        self.start(Want::Requests)?;
        std::mem::swap(&mut self.sink.requests, out);
        let enough = self.sink.requests.len().saturating_add(limit);
        let more = self.step(enough);
        std::mem::swap(&mut self.sink.requests, out);
        more
    }

    /// Like [`read`](Self::read), with processes, issue and completion times where the format has them. A trace is
    /// read one way or the other, not both.
    pub fn read_log(&mut self, out: &mut Vec<LogRecord>, limit: usize) -> Result<bool, TraceError> {
        self.start(Want::Log)?;
        std::mem::swap(&mut self.sink.records, out);
        let enough = self.sink.records.len().saturating_add(limit);
        let more = self.step(enough);
        std::mem::swap(&mut self.sink.records, out);
        more
    }

    /// Takes a request of blktrace that waited again after it was issued (R) as one, issued where it was issued last, and not as one
    /// a time; names the process that asked for it (Q) and not the one that ran when it was issued. Before the first is read.
    pub fn follow_requests(&mut self) {
        self.sink.follow_requests();
    }

    /// Report on the part read so far.
    pub const fn report(&self) -> &Report {
        &self.sink.report
    }

    /// Progress of the reading, for a caller that lends the trace away.
    pub fn gauge(&self) -> Gauge {
        self.gauge.clone()
    }

    /// Share of the stored file that has been read, from 0 to 1; `None` where its length is not known. The first half
    /// is the reading for devices, where there are several.
    pub fn fraction(&self) -> Option<f64> {
        let (read, all) = match &self.body {
            Body::Lines(_) => self.input.bytes_read()?,
            Body::Records(decoder) => decoder.position(&self.input)?,
        };
        let own = if all == 0 { 1.0 } else { (read as f64 / all as f64).min(1.0) };
        Some(match &self.survey {
            Some(survey) => survey.fraction()? / 2.0,
            None if self.surveyed => f64::midpoint(1.0, own),
            None => own,
        })
    }

    /// Extent of the addresses of each device.
    pub(crate) fn extents(&self) -> Extents {
        self.sink.extents()
    }

    /// Decodes until `enough` requests or records are ready, or the caller should be heard; false at the end.
    pub(crate) fn step(&mut self, enough: usize) -> Result<bool, TraceError> {
        let more = match (self.state, &mut self.survey) {
            (State::Ended, _) => return Ok(false),
            (_, Some(survey)) => {
                // A bad line ends it early and silently: the reading that asked will stop there, and say why.
                let surveying = matches!(survey.step(usize::MAX), Ok(true));
                if surveying { Ok(true) } else { self.start_again() }
            }
            _ => self.decode(enough),
        };
        let more = if matches!(more, Ok(false)) { self.finish() } else { more };
        self.state = if matches!(more, Ok(true)) { State::Running } else { State::Ended };
        self.gauge.set(self.fraction());
        more
    }

    /// Ends the reading; false, or the error of a trace without a request.
    fn finish(&mut self) -> Result<bool, TraceError> {
        self.sink.finish();
        let report = &self.sink.report;
        if self.sink.want() != Want::Requests || report.requests + report.flushes > 0 {
            return Ok(false);
        }
        let left_out: u64 = report.left_out.iter().map(|tally| tally.count).sum();
        let detail = match (report.skipped_bad, left_out) {
            (0, 0) => String::new(),
            (bad, 0) => format!(" (bad lines or records that were skipped: {bad})"),
            (bad, others) => format!(" (lines or records that are no requests: {})", bad + others),
        };
        Err(TraceError::NoRequests { path: self.input.path().to_owned(), detail })
    }

    fn decode(&mut self, enough: usize) -> Result<bool, TraceError> {
        let (input, sink) = (&mut self.input, &mut self.sink);
        let more = match &mut self.body {
            Body::Lines(decoder) => read_lines(decoder.as_mut(), input, sink, enough),
            Body::Records(decoder) => read_records(decoder.as_mut(), input, sink, enough),
        }?;
        match self.sink.failed.take() {
            None => Ok(more),
            Some(Unplaced::Failed(error)) => Err(error),
            Some(Unplaced::NeedsExtents) => {
                let survey = self.sink.source().map(survey).transpose()?;
                self.survey = survey.map(Box::new);
                Ok(true)
            }
        }
    }

    /// Reads the trace from its start, now that the extents of its devices are known.
    fn start_again(&mut self) -> Result<bool, TraceError> {
        let (Some(survey), Some(source)) = (self.survey.take(), self.sink.source().cloned()) else {
            return Ok(true);
        };
        let mut again = Self::open_source(source, self.sink.want())?;
        again.sink.go_on_from(&mut self.sink, survey.extents());
        again.surveyed = true;
        again.gauge = self.gauge();
        *self = again;
        Ok(true)
    }

    fn start(&mut self, want: Want) -> Result<(), TraceError> {
        if self.state == State::Fresh {
            self.sink.set_want(want);
        } else if self.sink.want() != want {
            return Err(TraceError::Spec {
                what: "trace".to_owned(),
                found: "read and read_log".to_owned(),
                expected: "one of them; open the trace once more for the other".to_owned(),
            });
        }
        Ok(())
    }
}

fn read_records(
    decoder: &mut dyn RecordDecoder,
    input: &mut Input,
    sink: &mut Sink,
    enough: usize,
) -> Result<bool, TraceError> {
    /// Records decoded between two looks at the sink.
    const STEP: usize = 4096;
    let mut left = RECORDS_AT_ONCE;
    while sink.ready() < enough && sink.failed.is_none() && left > 0 {
        let budget = STEP.min(enough - sink.ready());
        if !decoder.fill(input, sink, budget)? {
            return Ok(false);
        }
        left = left.saturating_sub(budget);
    }
    Ok(true)
}

fn read_lines(
    decoder: &mut dyn LineDecoder,
    input: &mut Input,
    sink: &mut Sink,
    enough: usize,
) -> Result<bool, TraceError> {
    if input.is_at_start() && input.peek(3)?.starts_with(b"\xef\xbb\xbf") {
        input.advance(3);
        sink.repaired("byte order mark");
    }
    for _ in 0..LINES_AT_ONCE {
        if sink.ready() >= enough {
            break;
        }
        let Some((mut line, ended)) = input.next_line()? else {
            if let Err(field) = decoder.finish(sink) {
                sink.bad(input.path(), input.line_position(), field)?;
            }
            return Ok(false);
        };
        if let [rest @ .., b'\r'] = line {
            line = rest;
            sink.repaired("CRLF line end");
        }
        if !ended {
            sink.repaired("no newline at the end of the file");
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            sink.repaired("blank line");
        } else if let Err(field) = decoder.line(line, sink) {
            let position = input.line_position();
            sink.bad(input.path(), position, field)?;
        }
        if sink.failed.is_some() {
            break;
        }
    }
    Ok(true)
}

/// The trace once more, to be read for how far the addresses of each device go.
fn survey(source: &Source) -> Result<Trace, TraceError> {
    if !source.is_rereadable() {
        return Err(TraceError::Io {
            path: source.path.clone(),
            source: std::io::Error::new(
                std::io::ErrorKind::Unsupported,
                "a trace of several devices is read twice, so it must be a regular file",
            ),
        });
    }
    Trace::open_source(source.clone(), Want::Extents)
}
