//! Formats of binary records: their decoders, their encoders, and the bytes that their files start with.

use std::path::Path;

use super::Format;
use super::blktrace::{self, Blktrace};
use super::encode::Encoder;
use super::input::Input;
use super::journal::JournalDecoder;
use super::oracle::OracleGeneral;
use super::parquet::{LogDecoder, LogEncoder};
use super::record::{FixedRecord, RecordDecoder};
use super::sink::Sink;
use super::vscsi;
use crate::{Position, TraceError};

/// A decoder of records of one size.
struct Fixed<D> {
    decoder: D,
    records: u64,
}

impl<D: FixedRecord> RecordDecoder for Fixed<D> {
    fn fill(&mut self, input: &mut Input, sink: &mut Sink, budget: usize) -> Result<bool, TraceError> {
        for _ in 0..budget {
            let Some(record) = input.take(D::BYTES, "a record")? else { return Ok(false) };
            self.records += 1;
            if let Err(field) = self.decoder.decode(record, sink) {
                sink.bad(input.path(), Position::Record(self.records), field)?;
            }
            if sink.failed.is_some() {
                return Ok(true);
            }
        }
        Ok(true)
    }

    fn assumptions(&self) -> Vec<String> {
        self.decoder.assumptions()
    }
}

/// The decoder of `format`, which is binary, for the file at `path`.
pub(crate) fn decoder(format: Format, path: &Path) -> Result<Option<Box<dyn RecordDecoder>>, TraceError> {
    Ok(Some(match format {
        Format::Blktrace => Box::new(Blktrace::open(path)?),
        Format::BlktraceTar => Box::new(Blktrace::open_archive(path)?),
        Format::VscsiV1 => Box::new(Fixed { decoder: vscsi::V1, records: 0 }),
        Format::VscsiV2 => Box::new(Fixed { decoder: vscsi::V2, records: 0 }),
        Format::OracleGeneral => Box::new(Fixed { decoder: OracleGeneral, records: 0 }),
        Format::Parquet => Box::new(LogDecoder::open(path)?),
        Format::Journal => Box::new(JournalDecoder::open(path)?),
        _ => return Ok(None),
    }))
}

/// True if the decoder of `format` opens its file, or files, itself.
pub(crate) const fn opens_itself(format: Format) -> bool {
    matches!(format, Format::Blktrace | Format::BlktraceTar | Format::Parquet | Format::Journal)
}

/// The encoder of `format`, if it is written and binary.
pub(crate) fn encoder(format: Format) -> Option<Box<dyn Encoder>> {
    Some(match format {
        Format::Blktrace => Box::new(blktrace::BlktraceEncoder::default()),
        Format::Parquet => Box::new(LogEncoder::default()),
        _ => return None,
    })
}

/// True if `start`, the first bytes of a file, can be the binary `format`.
pub(crate) fn fits(format: Format, start: &[u8]) -> bool {
    match format {
        Format::Parquet => start.starts_with(b"PAR1"),
        Format::Journal => JournalDecoder::fits(start),
        Format::Blktrace => blktrace::fits(start),
        Format::BlktraceTar => start.get(257..262) == Some(b"ustar"),
        Format::VscsiV1 => records_fit::<vscsi::V1>(start),
        Format::VscsiV2 => records_fit::<vscsi::V2>(start),
        Format::OracleGeneral => records_fit::<OracleGeneral>(start),
        _ => false,
    }
}

/// True if all whole records of `start` look right, and there is at least one.
fn records_fit<D: FixedRecord>(start: &[u8]) -> bool {
    start.len() >= D::BYTES && start.chunks_exact(D::BYTES).all(D::fits)
}
