//! Formats of binary records: what their decoders promise, and which bytes they start with.

use std::path::Path;

use super::Format;
use super::encode::Encoder;
use super::input::Input;
use super::sink::{Order, Sink};
use crate::TraceError;

/// Decodes a binary format.
///
/// A decoder reads `input`, or whatever it opened itself (archives, files that must be sought in), and pushes into
/// the sink. A bad record goes through [`Sink::bad`], known damage through [`Sink::repaired`]. An [`Sink::push`] may
/// leave an error in `sink.failed`: the caller looks after each [`fill`](Self::fill), so return soon.
pub(crate) trait RecordDecoder: Send {
    /// Decodes about `budget` records; false once the end was reached.
    fn fill(&mut self, input: &mut Input, sink: &mut Sink, budget: usize) -> Result<bool, TraceError>;

    /// How far records may stand from their place in time.
    fn order(&self) -> Order {
        Order::AsIs
    }

    /// What was assumed about the file, in sentences for people.
    fn assumptions(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The decoder of `format`, which is binary, for the file at `path`.
#[expect(clippy::unnecessary_wraps, reason = "decoders that open files of their own can fail")]
pub(crate) fn decoder(format: Format, path: &Path) -> Result<Option<Box<dyn RecordDecoder>>, TraceError> {
    let _ = (format, path);
    Ok(None)
}

/// The encoder of `format`, if it is written and binary.
pub(crate) fn encoder(format: Format) -> Option<Box<dyn Encoder>> {
    let _ = format;
    None
}

/// Whether `start`, the first bytes of a file, can be the binary `format`.
pub(crate) fn fits(format: Format, start: &[u8]) -> bool {
    let little_endian_magic = start.starts_with(&[0x07, 0x74, 0x61, 0x65]);
    let big_endian_magic = start.starts_with(&[0x65, 0x61, 0x74, 0x07]);
    match format {
        Format::Parquet => start.starts_with(b"PAR1"),
        Format::Blktrace => little_endian_magic || big_endian_magic,
        Format::BlktraceTar => start.get(257..262) == Some(b"ustar"),
        _ => false,
    }
}
