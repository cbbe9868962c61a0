//! The recording of a live run: arrivals, in a journal as they come, and a Parquet trace at the end.

use std::path::{Path, PathBuf};

use flashweir_run::requests::RequestLog;
use flashweir_trace::format::journal::{JournalReader, JournalWriter};
use flashweir_trace::output::OutputError;
use flashweir_trace::{LogRecord, Request};

use crate::Error;
use crate::replay::journal_of;

/// Records converted at a time.
const BATCH: usize = 8192;

/// A trace under construction.
#[derive(Debug)]
pub(super) struct Recording {
    path: PathBuf,
    journal: JournalWriter,
}

impl Recording {
    /// Begins a trace. Until it is finished, its journal is beside it.
    pub(super) fn create(path: &Path) -> Result<Self, Error> {
        Ok(Self { path: path.to_owned(), journal: JournalWriter::create(&journal_of(path))? })
    }

    /// Adds an arrival.
    pub(super) fn push(&mut self, request: &Request) -> Result<(), Error> {
        self.journal.push(&LogRecord::bare(*request)).map_err(Error::of_output)
    }

    /// Makes the trace. Returns the number of its requests.
    pub(super) fn finish(mut self) -> Result<u64, Error> {
        self.journal.flush().map_err(Error::of_output)?;
        let journal = journal_of(&self.path);
        let mut reader = JournalReader::open(&journal)?;
        let mut writer = RequestLog::create(&self.path).map_err(flashweir_run::Error::from)?;
        let mut batch = Vec::with_capacity(BATCH);
        let mut more = true;
        while more {
            more = reader.read(&mut batch, BATCH)?;
            for record in batch.drain(..) {
                writer.push(record).map_err(flashweir_run::Error::from)?;
            }
        }
        writer.finish().map_err(flashweir_run::Error::from)?;
        std::fs::remove_file(&journal).map_err(|source| OutputError { path: journal, source })?;
        Ok(reader.records())
    }
}
