//! Reading a journal, in the order of times, in memory that grows with how far records stand from their place and not with their number.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::super::spool;
use super::{BYTES, MAGIC, decode};
use crate::{LogRecord, Position, TraceError};

/// Records read at once.
const BLOCK: usize = 4096;

/// The records of a journal.
#[derive(Debug)]
pub struct JournalReader {
    path: PathBuf,
    file: File,
    records: u64,
    /// Bytes behind the last good record.
    left_out_bytes: u64,
    /// For each block the earliest time in it and in all behind it, ns.
    earliest_ns: Vec<u64>,
    next_block: usize,
    /// Records that may come before others of the blocks ahead, by time and place.
    waiting: BinaryHeap<Reverse<(u64, u64)>>,
    /// The records of those.
    held: std::collections::HashMap<u64, LogRecord>,
}

impl JournalReader {
    /// The journal at `path`. What stands behind the first record that is cut off or damaged is left out.
    ///
    /// # Errors
    /// [`TraceError::Truncated`] for a file that is no journal.
    pub fn open(path: &Path) -> Result<Self, TraceError> {
        let failed = |source| TraceError::Io { path: path.to_owned(), source };
        let file = spool::open(path)?;
        let bytes = file.metadata().map_err(failed)?.len();
        let mut header = [0; BYTES];
        let is_journal = bytes >= BYTES as u64
            && file.read_exact_at(&mut header, 0).map(|()| header.starts_with(MAGIC)).map_err(failed)?;
        if !is_journal {
            let detail = "no journal of a log starts so".to_owned();
            return Err(TraceError::Truncated { path: path.to_owned(), position: Position::Byte(0), detail });
        }
        let mut reader = Self {
            path: path.to_owned(),
            file,
            records: (bytes - BYTES as u64) / BYTES as u64,
            left_out_bytes: 0,
            earliest_ns: Vec::new(),
            next_block: 0,
            waiting: BinaryHeap::new(),
            held: std::collections::HashMap::new(),
        };
        reader.survey()?;
        reader.left_out_bytes = bytes - (reader.records + 1) * BYTES as u64;
        Ok(reader)
    }

    /// Number of records.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Bytes that are no whole record, at the end.
    pub fn left_out_bytes(&self) -> u64 {
        self.left_out_bytes
    }

    /// Appends the next records, about `limit`, by the time of their requests; false at the end.
    ///
    /// # Errors
    /// [`TraceError::Io`] if the file can't be read.
    pub fn read(&mut self, out: &mut Vec<LogRecord>, limit: usize) -> Result<bool, TraceError> {
        let enough = out.len().saturating_add(limit);
        while out.len() < enough {
            let settled_ns = self.earliest_ns.get(self.next_block).copied();
            if let Some(Reverse((time_ns, place))) = self.waiting.peek().copied()
                && settled_ns.is_none_or(|settled_ns| time_ns <= settled_ns)
            {
                self.waiting.pop();
                out.extend(self.held.remove(&place));
                continue;
            }
            if settled_ns.is_none() {
                return Ok(false);
            }
            let first = (self.next_block * BLOCK) as u64;
            for (record, place) in self.block(self.next_block)?.into_iter().zip(first..) {
                self.waiting.push(Reverse((record.request.time_ns, place)));
                self.held.insert(place, record);
            }
            self.next_block += 1;
        }
        Ok(true)
    }

    /// Finds the last good record, and the earliest times.
    fn survey(&mut self) -> Result<(), TraceError> {
        let blocks = usize::try_from(self.records).unwrap_or(usize::MAX).div_ceil(BLOCK);
        let mut good = 0;
        for number in 0..blocks {
            let block = self.block(number)?;
            good += block.len() as u64;
            if !block.is_empty() {
                self.earliest_ns.push(block.iter().map(|r| r.request.time_ns).fold(u64::MAX, u64::min));
            }
            if block.len() < BLOCK {
                break;
            }
        }
        self.records = good;
        let mut earliest_ns = u64::MAX;
        for own in self.earliest_ns.iter_mut().rev() {
            earliest_ns = earliest_ns.min(*own);
            *own = earliest_ns;
        }
        Ok(())
    }

    /// The records of a block, up to the first that is none.
    fn block(&self, number: usize) -> Result<Vec<LogRecord>, TraceError> {
        let first = (number * BLOCK) as u64;
        let count = usize::try_from(self.records.saturating_sub(first)).unwrap_or(BLOCK).min(BLOCK);
        let mut bytes = vec![0; count * BYTES];
        let read = self.file.read_exact_at(&mut bytes, (first + 1) * BYTES as u64);
        read.map_err(|source| TraceError::Io { path: self.path.clone(), source })?;
        let (records, _) = bytes.as_chunks::<BYTES>();
        Ok(records.iter().map_while(decode).collect())
    }
}
