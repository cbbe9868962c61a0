//! The log of a run: every request with when it was issued and when it was done, as flashweir's own Parquet table.
//!
//! The format is [`flashweir_trace::format::parquet`]'s; this only ties it to a file that is whole or absent.

use std::path::Path;

use flashweir_ssd::Parts;
use flashweir_trace::format::parquet::LogWriter;
use flashweir_trace::{LogRecord, TraceError};

use flashweir_trace::output::{OutputError, PartFile};

/// Writes the requests of a run. Memory is bounded by a row group.
#[derive(Debug)]
pub struct RequestLog {
    writer: LogWriter<PartFile>,
}

/// The log can't be written.
#[derive(Debug, thiserror::Error)]
pub enum RequestLogError {
    /// The file can't be made, or can't get its name.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// A record can't be written.
    #[error(transparent)]
    Trace(#[from] TraceError),
}

impl RequestLog {
    /// Starts a log at `path`.
    pub fn create(path: &Path) -> Result<Self, RequestLogError> {
        Ok(Self { writer: LogWriter::new(PartFile::create(path)?, path)? })
    }

    /// Starts a log that also has a column for each part of the latency, such as `wait_gc_ns`.
    pub fn create_with_parts(path: &Path) -> Result<Self, RequestLogError> {
        let names = Parts::default().named().map(|(name, _)| format!("{name}_ns"));
        Ok(Self { writer: LogWriter::with_columns(PartFile::create(path)?, path, &names)? })
    }

    /// Appends a request and the parts of its latency, which are left out where the log has no columns for them.
    pub fn push_with_parts(&mut self, record: LogRecord, parts: &Parts) -> Result<(), RequestLogError> {
        Ok(self.writer.push_with(record, &parts.named().map(|(_, ns)| ns))?)
    }

    /// Appends a request.
    pub fn push(&mut self, record: LogRecord) -> Result<(), RequestLogError> {
        Ok(self.writer.push(record)?)
    }

    /// Ends the log and gives the file its name. A log that is dropped instead leaves no file.
    pub fn finish(self) -> Result<(), RequestLogError> {
        Ok(self.writer.finish()?.finish()?)
    }
}

#[cfg(test)]
mod tests {
    use flashweir_trace::{Op, Request};
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::RowAccessor;

    use super::*;

    fn record(index: u64) -> LogRecord {
        let op = Op::ALL[index as usize % 2];
        let request = Request { time_ns: index * 10, lba: index * 8, sectors: 8, stream: 1, op, handle: 0 };
        let completion_ns = Some(index * 10 + 7);
        LogRecord { issue_ns: Some(index * 10 + 2), completion_ns, ..LogRecord::bare(request) }
    }

    #[test]
    fn every_request_comes_back() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("requests.parquet");
        let mut log = RequestLog::create(&path).unwrap();
        let count = 100_000; // more than a row group
        for index in 0..count {
            log.push(record(index)).unwrap();
        }
        assert!(!path.exists());
        log.finish().unwrap();
        let reader = SerializedFileReader::try_from(path.as_path()).unwrap();
        let mut rows = 0;
        for row in reader.get_row_iter(None).unwrap() {
            let (row, expected) = (row.unwrap(), record(rows));
            let columns =
                (row.get_long(0).unwrap(), row.get_string(1).unwrap().as_str(), row.get_long(7).unwrap());
            let completion = (rows * 10 + 7).cast_signed();
            assert_eq!(columns, ((rows * 10).cast_signed(), expected.request.op.name(), completion));
            rows += 1;
        }
        assert_eq!(rows, count);
    }

    #[test]
    fn a_run_that_stops_leaves_no_log() {
        let dir = tempfile::tempdir().unwrap();
        let mut log = RequestLog::create(&dir.path().join("requests.parquet")).unwrap();
        log.push(record(0)).unwrap();
        drop(log);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        let error = RequestLog::create(Path::new("/nowhere/requests.parquet")).unwrap_err();
        assert!(error.to_string().starts_with("/nowhere/requests.parquet: "), "{error}");
    }
}
