//! Helpers that the tests of decoders share: text in, requests or a message out.

use std::sync::atomic::{AtomicU64, Ordering};

use super::devices::Extents;
use super::input::Input;
use super::line::LineDecoder;
use super::report::Report;
use super::sink::{Sink, Want};
use super::{Format, Trace};
use crate::{LogRecord, Request, TraceError};

fn trace(decoder: Box<dyn LineDecoder>, text: &[u8], want: Want) -> Trace {
    let reader = Box::new(std::io::Cursor::new(text.to_vec()));
    let input = Input::from_reader(std::path::Path::new("test"), reader, false);
    let order = decoder.order();
    let mut sink = Sink::new(want, Report::new(Format::Table, "option"), 0, None);
    sink.set_order(order);
    sink.set_clock_offset_ns(decoder.clock_offset_ns());
    Trace::from_parts(decoder, input, sink)
}

/// Decodes all of `text`, which must be good.
pub(crate) fn decode(decoder: Box<dyn LineDecoder>, text: &str) -> (Vec<Request>, Report) {
    let mut trace = trace(decoder, text.as_bytes(), Want::Requests);
    let mut out = Vec::new();
    while trace.read(&mut out, 7).expect("good lines") {}
    let report = trace.report().clone();
    (out, report)
}

/// Decodes all of `text`, which must be good, with completion times.
pub(crate) fn decode_log(decoder: Box<dyn LineDecoder>, text: &str) -> Vec<LogRecord> {
    let mut trace = trace(decoder, text.as_bytes(), Want::Log);
    let mut out = Vec::new();
    while trace.read_log(&mut out, 7).expect("good lines") {}
    out
}

/// The message of the first bad line of `text`.
pub(crate) fn decode_err(decoder: Box<dyn LineDecoder>, text: &str) -> String {
    let mut trace = trace(decoder, text.as_bytes(), Want::Requests);
    let mut out = Vec::new();
    loop {
        match trace.read(&mut out, 7) {
            Ok(true) => {}
            Ok(false) => return format!("no error, but {out:?}"),
            Err(error @ TraceError::Record { .. }) => return error.to_string(),
            Err(other) => return format!("another error: {other}"),
        }
    }
}

/// Extent of the addresses of each device of `text`.
pub(crate) fn extents(decoder: Box<dyn LineDecoder>, text: &str) -> Extents {
    let mut trace = trace(decoder, text.as_bytes(), Want::Extents);
    while trace.step(usize::MAX).expect("good lines") {}
    trace.extents()
}

/// A new path for a test's own file; its name ends in `suffix`.
pub(crate) fn scratch(suffix: &str) -> std::path::PathBuf {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!("flashweir-{}-{number}{suffix}", std::process::id()))
}
