//! Writing a journal.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use super::{BYTES, MAGIC, encode};
use crate::output::OutputError;
use crate::{LogRecord, TraceError};

/// Bytes that are collected before they go to the system.
const BUFFER_BYTES: usize = 64 << 10;

/// A journal under construction. What was flushed stays, whatever becomes of the process.
#[derive(Debug)]
pub struct JournalWriter {
    path: PathBuf,
    file: BufWriter<File>,
}

impl JournalWriter {
    /// Starts a journal at `path`, where no file may be: it would be the log of a run that was killed.
    ///
    /// # Errors
    /// The file is there, or can't be made.
    pub fn create(path: &Path) -> Result<Self, OutputError> {
        let failed = |source| OutputError { path: path.to_owned(), source };
        let file = File::create_new(path).map_err(failed)?;
        let mut file = BufWriter::with_capacity(BUFFER_BYTES, file);
        let mut header = [0; BYTES];
        header[..MAGIC.len()].copy_from_slice(MAGIC);
        file.write_all(&header).and_then(|()| file.flush()).map_err(failed)?;
        Ok(Self { path: path.to_owned(), file })
    }

    /// The file, for its lock.
    pub fn file(&self) -> &File {
        self.file.get_ref()
    }

    /// Appends a record. Its process is left out.
    ///
    /// # Errors
    /// [`TraceError::Io`] if the file can't be written.
    pub fn push(&mut self, record: &LogRecord) -> Result<(), TraceError> {
        let written = self.file.write_all(&encode(record));
        written.map_err(|source| TraceError::Io { path: self.path.clone(), source })
    }

    /// Hands what was collected to the system.
    ///
    /// # Errors
    /// As [`push`](Self::push).
    pub fn flush(&mut self) -> Result<(), TraceError> {
        self.file.flush().map_err(|source| TraceError::Io { path: self.path.clone(), source })
    }
}
