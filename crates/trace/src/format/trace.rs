//! Reading a trace: from an open file to requests.

use std::path::Path;

use super::binary::{self, RecordDecoder};
use super::devices::Extents;
use super::input::Input;
use super::line::LineDecoder;
use super::report::Report;
use super::sink::{Sink, Want};
use super::source::Source;
use super::{Format, Options, blktrace, detect};
use crate::{LogRecord, Request, TraceError};

/// A trace being read, in constant memory unless its format says otherwise.
pub struct Trace {
    body: Body,
    input: Input,
    sink: Sink,
    state: State,
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
            (None, None) => match detect::by_name(path) {
                Some(format) => (format, "name"),
                None if blktrace::is_set(path) => (Format::Blktrace, "name"),
                None => (detect::by_content(path)?, "content"),
            },
        };
        let columns = options.columns.clone();
        let source =
            Source { path: path.to_owned(), format, detected_by, columns, skip_bad: options.skip_bad };
        Self::open_source(source, Want::Requests)
    }

    /// Opens `source` for what is wanted of it.
    pub(crate) fn open_source(source: Source, want: Want) -> Result<Self, TraceError> {
        let input = if binary::opens_itself(source.format) {
            Input::from_reader(&source.path, Box::new(std::io::empty()), false)
        } else {
            Input::open(&source.path)?
        };
        let body = if source.format.is_text() {
            let Some(mut decoder) = source.format.line_decoder(source.columns.as_ref()) else {
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
        Ok(Self { body, input, sink, state: State::Fresh })
    }

    /// A trace of lines from anywhere.
    #[cfg(test)]
    pub(crate) fn from_parts(decoder: Box<dyn LineDecoder>, input: Input, sink: Sink) -> Self {
        Self { body: Body::Lines(decoder), input, sink, state: State::Fresh }
    }

    /// Appends about `limit` requests to `out` (a few more if one line holds several); false once the end was
    /// reached. Requests that were appended before an error stay.
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

    /// What has been read so far, and how.
    pub const fn report(&self) -> &Report {
        &self.sink.report
    }

    /// How far the addresses of each device go.
    pub(crate) fn extents(&self) -> Extents {
        self.sink.extents()
    }

    /// Decodes until `enough` requests or records are ready; false at the end.
    pub(crate) fn step(&mut self, enough: usize) -> Result<bool, TraceError> {
        if self.state == State::Ended {
            return Ok(false);
        }
        let more = match &mut self.body {
            Body::Lines(decoder) => read_lines(
                decoder.as_mut(),
                &mut self.input,
                &mut self.sink,
                enough,
                self.state == State::Fresh,
            ),
            Body::Records(decoder) => read_records(decoder.as_mut(), &mut self.input, &mut self.sink, enough),
        };
        self.state = if matches!(more, Ok(true)) { State::Running } else { State::Ended };
        if matches!(more, Ok(false)) {
            self.sink.finish();
        }
        more
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
    const AT_ONCE: usize = 4096;
    while sink.ready() < enough {
        let more = decoder.fill(input, sink, AT_ONCE.min(enough - sink.ready()))?;
        if let Some(error) = sink.failed.take() {
            return Err(error);
        }
        if !more {
            return Ok(false);
        }
    }
    Ok(true)
}

fn read_lines(
    decoder: &mut dyn LineDecoder,
    input: &mut Input,
    sink: &mut Sink,
    enough: usize,
    first: bool,
) -> Result<bool, TraceError> {
    if first && input.peek(3)?.starts_with(b"\xef\xbb\xbf") {
        input.advance(3);
        sink.repaired("byte order mark");
    }
    while sink.ready() < enough {
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
        // Taking it moves it, which is worth avoiding once a line.
        if sink.failed.is_some()
            && let Some(error) = sink.failed.take()
        {
            return Err(error);
        }
    }
    Ok(true)
}
