//! Writing a trace: under a temporary name until it is whole, compressed if its name says so.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::encode::{Encoder, line_encoder};
use super::report::{self, Tally};
use super::{Format, binary};
use crate::output::PartFile;
use crate::{LogRecord, Op, Request, TraceError};

/// Bytes gathered before they are handed on.
const BLOCK: usize = 256 << 10;

/// A trace being written. Until [`finish`](Self::finish) it has a temporary name beside its own, and is removed if it
/// never gets there.
pub struct Writer {
    path: PathBuf,
    format: Format,
    /// Records so far.
    taken: u64,
    encoder: Box<dyn Encoder>,
    output: Output,
    block: Vec<u8>,
    not_written: Vec<Tally>,
}

enum Output {
    Plain(PartFile),
    Gzip(flate2::write::GzEncoder<PartFile>),
    Zstd(zstd::stream::write::Encoder<'static, PartFile>),
}

impl Writer {
    /// Starts to write `path` as `format`; a name that ends in `.gz` or `.zst` is compressed.
    pub fn create(path: &Path, format: Format) -> Result<Self, TraceError> {
        let unwritable = |detail: String| TraceError::Unwritable { path: path.to_owned(), detail };
        let encoder = match line_encoder(format) {
            Some(encoder) => encoder,
            None => binary::encoder(format).ok_or_else(|| unwritable(refusal(format)))?,
        };
        let name = path.file_name().ok_or_else(|| unwritable("this is no file name".to_owned()))?;
        let failed = |source| TraceError::Io { path: path.to_owned(), source };
        let file = PartFile::create(path)?;
        let ends_in = |end: &str| name.to_string_lossy().ends_with(end);
        let output = if ends_in(".gz") {
            Output::Gzip(flate2::write::GzEncoder::new(file, flate2::Compression::default()))
        } else if ends_in(".zst") {
            Output::Zstd(zstd::stream::write::Encoder::new(file, 0).map_err(failed)?)
        } else {
            Output::Plain(file)
        };
        let block = Vec::with_capacity(BLOCK + 4096);
        let path = path.to_owned();
        let mut writer = Self { path, format, taken: 0, encoder, output, block, not_written: Vec::new() };
        writer.encoder.start(&mut writer.block).map_err(unwritable)?;
        Ok(writer)
    }

    /// Writes a record with all of it that the format can hold. Times finer than the format's clock are cut off; flushes
    /// and discards are left out and counted where the format has no such operation; sizes and addresses that it can't
    /// hold are an error.
    pub fn write(&mut self, record: &LogRecord) -> Result<(), TraceError> {
        self.taken += 1;
        if !self.encoder.holds(record.request.op) {
            if record.request.op.is_zoned() {
                return Err(self.refuse(record.request.op));
            }
            let reason = if record.request.op == Op::Trim { "discard" } else { record.request.op.name() };
            report::count(&mut self.not_written, reason);
            return Ok(());
        }
        let encoded = self.encoder.encode(record, &mut self.block);
        encoded.map_err(|detail| TraceError::Unwritable { path: self.path.clone(), detail })?;
        if self.block.len() >= BLOCK { self.hand_on() } else { Ok(()) }
    }

    /// A command to zones in a format without them.
    fn refuse(&self, op: Op) -> TraceError {
        let (path, format) = (self.path.clone(), self.format);
        let detail = format!(
            "request {} is {}, a command to a zone, which {format} does not have: expected the format {}",
            self.taken,
            op.name(),
            Format::Parquet
        );
        TraceError::Unwritable { path, detail }
    }

    /// Writes a request of which nothing more is known.
    pub fn write_request(&mut self, request: &Request) -> Result<(), TraceError> {
        self.write(&LogRecord::bare(*request))
    }

    /// Writes what is left and gives the file its name. Returns the operations that were left out, by their names.
    pub fn finish(mut self) -> Result<Vec<Tally>, TraceError> {
        let ended = self.encoder.finish(&mut self.block);
        ended.map_err(|detail| TraceError::Unwritable { path: self.path.clone(), detail })?;
        self.hand_on()?;
        let Self { path, output, not_written, .. } = self;
        let failed = |source| TraceError::Io { path, source };
        let file = match output {
            Output::Plain(file) => file,
            Output::Gzip(encoder) => encoder.finish().map_err(failed)?,
            Output::Zstd(encoder) => encoder.finish().map_err(failed)?,
        };
        file.finish()?;
        Ok(not_written)
    }

    fn hand_on(&mut self) -> Result<(), TraceError> {
        let written = match &mut self.output {
            Output::Plain(file) => file.write_all(&self.block),
            Output::Gzip(encoder) => encoder.write_all(&self.block),
            Output::Zstd(encoder) => encoder.write_all(&self.block),
        };
        self.block.clear();
        written.map_err(|source| TraceError::Io { path: self.path.clone(), source })
    }
}

fn refusal(format: Format) -> String {
    let written: Vec<&str> =
        Format::ALL.into_iter().filter(|format| format.is_writable()).map(Format::name).collect();
    format!("{format} is read but not written; formats that are written: {}", written.join(", "))
}
