//! The recording of a live run: arrivals, in a journal as they come, and a Parquet trace at the end.

use std::path::{Path, PathBuf};

use flashweir_trace::format::journal::JournalWriter;
use flashweir_trace::{LogRecord, Request};

use crate::Error;
use crate::replay::{finish_log, journal_of};

/// A trace under construction.
#[derive(Debug)]
pub(super) struct Recording {
    path: PathBuf,
    journal: JournalWriter,
}

impl Recording {
    /// Begins a trace. Until it is finished, its journal is beside it.
    pub(super) fn create(path: &Path) -> Result<Self, Error> {
        let journal = journal_of(path);
        if journal.exists() {
            let what = format!("--record {}", path.display());
            let expected = format!(
                "{} is there, the arrivals of a run that was killed or goes on; expected another name, or that file to be removed",
                journal.display()
            );
            return Err(Error::Setting { what, expected });
        }
        Ok(Self { path: path.to_owned(), journal: JournalWriter::create(&journal)? })
    }

    /// Removes what there is of it: the drive is not served.
    pub(super) fn remove(&self) {
        let _ = std::fs::remove_file(journal_of(&self.path));
    }

    /// Arrivals so far outlive the process.
    pub(super) fn flush(&mut self) -> Result<(), Error> {
        self.journal.flush().map_err(Error::of_output)
    }

    /// Adds an arrival.
    pub(super) fn push(&mut self, request: &Request) -> Result<(), Error> {
        self.journal.push(&LogRecord::bare(*request)).map_err(Error::of_output)
    }

    /// Makes the trace. Returns the number of its requests.
    pub(super) fn finish(mut self) -> Result<u64, Error> {
        self.journal.flush().map_err(Error::of_output)?;
        finish_log(&self.path)
    }
}
