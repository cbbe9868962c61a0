//! Writing the log: rows are gathered until a row group is full, then go out column by column.

use std::{io::Write, path::PathBuf, sync::Arc};

use parquet::{
    basic::{Compression, Encoding, ZstdLevel},
    data_type::{ByteArray, ByteArrayType, DataType, Int32Type, Int64Type},
    errors::ParquetError,
    file::{
        metadata::KeyValue,
        properties::{EnabledStatistics, WriterProperties},
        writer::{SerializedFileWriter, SerializedRowGroupWriter},
    },
    schema::{parser::parse_message_type, types::ColumnPath},
};

use super::{SCHEMA, SCHEMA_KEY, SCHEMA_NAME, VERSION, VERSION_KEY};
use crate::{LogRecord, TraceError};

/// Rows of a row group: about 8 MB of memory.
const GROUP_ROWS: usize = 1 << 16;

/// Writes [`LogRecord`]s as a Parquet file. A file is complete only after [`finish`](Self::finish).
pub struct LogWriter<W: Write + Send> {
    path: PathBuf,
    file: SerializedFileWriter<W>,
    rows: Vec<LogRecord>,
    /// Values of the columns after those of the schema.
    more: Vec<Vec<i64>>,
}

impl<W: Write + Send> LogWriter<W> {
    /// A log in `out`; `path` is its name in messages.
    ///
    /// # Errors
    /// [`TraceError::Io`] if the file can't be written.
    pub fn new(out: W, path: impl Into<PathBuf>) -> Result<Self, TraceError> {
        Self::with_columns(out, path, &[])
    }

    /// A log with further columns, times in ns: each record comes with a value for each (see [`Self::push_with`]). Whoever reads
    /// requests passes over them.
    ///
    /// # Errors
    /// [`TraceError::Io`] if the file can't be written.
    pub fn with_columns(out: W, path: impl Into<PathBuf>, names: &[String]) -> Result<Self, TraceError> {
        let path = path.into();
        let open = || {
            let columns: Vec<String> = names.iter().map(|name| format!("required int64 {name};")).collect();
            let schema = format!("{} {} }}", SCHEMA.trim_end_matches('}'), columns.concat());
            let schema = Arc::new(parse_message_type(&schema)?);
            SerializedFileWriter::new(out, schema, Arc::new(properties()?))
        };
        let file = open().map_err(|error| failed(&path, error))?;
        Ok(Self { path, file, rows: Vec::new(), more: vec![Vec::new(); names.len()] })
    }

    /// Appends a record.
    ///
    /// # Errors
    /// [`TraceError::Unwritable`] for a time or an address of 2^63 or more, [`TraceError::Io`] if the file can't be
    /// written.
    pub fn push(&mut self, record: LogRecord) -> Result<(), TraceError> {
        self.push_with(record, &[])
    }

    /// Appends a record with the values of the further columns, ns; those left out are 0.
    ///
    /// # Errors
    /// As [`Self::push`].
    pub fn push_with(&mut self, record: LogRecord, values: &[u64]) -> Result<(), TraceError> {
        let request = record.request;
        let times =
            [Some(request.time_ns), record.due_ns, record.issue_ns, record.completion_ns, Some(request.lba)];
        if times.into_iter().flatten().any(|value| i64::try_from(value).is_err()) {
            let detail = format!(
                "a request at {} ns, sector {} does not fit: times and addresses must be below 2^63",
                request.time_ns, request.lba
            );
            return Err(TraceError::Unwritable { path: self.path.clone(), detail });
        }
        self.rows.push(record);
        for (rank, column) in self.more.iter_mut().enumerate() {
            column.push(values.get(rank).map_or(0, |value| i64::try_from(*value).unwrap_or(i64::MAX)));
        }
        if self.rows.len() == GROUP_ROWS { self.flush() } else { Ok(()) }
    }

    /// Adds an entry to the file's key-value metadata, for whoever reads it with other tools.
    pub fn note(&mut self, key: &str, value: String) {
        self.file.append_key_value_metadata(KeyValue::new(key.to_owned(), value));
    }

    /// Writes what is left and the footer, and gives the destination back.
    ///
    /// # Errors
    /// [`TraceError::Io`] if the file can't be written.
    pub fn finish(mut self) -> Result<W, TraceError> {
        self.flush()?;
        self.file.into_inner().map_err(|error| failed(&self.path, error))
    }

    fn flush(&mut self) -> Result<(), TraceError> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let result = self.file.next_row_group().and_then(|group| write_group(group, &self.rows, &self.more));
        self.rows.clear();
        self.more.iter_mut().for_each(Vec::clear);
        result.map_err(|error| failed(&self.path, error))
    }
}

impl LogWriter<Vec<u8>> {
    /// Moves what has been written so far to the end of `out`.
    pub(crate) fn drain(&mut self, out: &mut Vec<u8>) -> Result<(), TraceError> {
        // Between row groups only: what is written counts its own bytes, so taking them away moves no offset.
        if self.rows.is_empty() {
            self.file.flush().map_err(|source| TraceError::Io { path: self.path.clone(), source })?;
            out.append(self.file.inner_mut());
        }
        Ok(())
    }
}

impl<W: Write + Send> std::fmt::Debug for LogWriter<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LogWriter").field("path", &self.path).finish_non_exhaustive()
    }
}

fn properties() -> Result<WriterProperties, ParquetError> {
    let entry = |key: &str, value: &str| KeyValue::new(key.to_owned(), value.to_owned());
    let mut properties = WriterProperties::builder()
        .set_created_by("flashweir".to_owned())
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_key_value_metadata(Some(vec![entry(SCHEMA_KEY, SCHEMA_NAME), entry(VERSION_KEY, VERSION)]));
    // Times grow by small steps; a dictionary of them would only be thrown away.
    for column in ["time_ns", "due_ns", "issue_ns", "completion_ns", "lba"] {
        let column = ColumnPath::from(column);
        properties = properties
            .set_column_dictionary_enabled(column.clone(), false)
            .set_column_encoding(column, Encoding::DELTA_BINARY_PACKED);
    }
    Ok(properties.build())
}

/// Columns in the order of the schema.
fn write_group<W: Write + Send>(
    mut group: SerializedRowGroupWriter<'_, W>,
    rows: &[LogRecord],
    more: &[Vec<i64>],
) -> Result<(), ParquetError> {
    let all = |value: fn(&LogRecord) -> i64| rows.iter().map(value).collect::<Vec<i64>>();
    let small =
        |value: fn(&LogRecord) -> u32| rows.iter().map(|row| value(row).cast_signed()).collect::<Vec<i32>>();
    let op = |row: &LogRecord| ByteArray::from(row.request.op.name());
    put::<Int64Type, W>(&mut group, &all(|row| row.request.time_ns.cast_signed()), None)?;
    put::<ByteArrayType, W>(&mut group, &rows.iter().map(op).collect::<Vec<_>>(), None)?;
    put::<Int64Type, W>(&mut group, &all(|row| row.request.lba.cast_signed()), None)?;
    put::<Int32Type, W>(&mut group, &small(|row| row.request.sectors), None)?;
    put::<Int32Type, W>(&mut group, &small(|row| row.request.stream.into()), None)?;
    for time in
        [|row: &LogRecord| row.due_ns, |row: &LogRecord| row.issue_ns, |row: &LogRecord| row.completion_ns]
    {
        let values: Vec<i64> = rows.iter().filter_map(time).map(u64::cast_signed).collect();
        let levels: Vec<i16> = rows.iter().map(|row| i16::from(time(row).is_some())).collect();
        put::<Int64Type, W>(&mut group, &values, Some(&levels))?;
    }
    put::<Int32Type, W>(&mut group, &small(|row| row.flags), None)?;
    let processes: Vec<ByteArray> = rows.iter().map(|row| ByteArray::from(row.process.as_str())).collect();
    put::<ByteArrayType, W>(&mut group, &processes, None)?;
    put::<Int32Type, W>(&mut group, &small(|row| row.request.handle.into()), None)?;
    for column in more {
        put::<Int64Type, W>(&mut group, column, None)?;
    }
    group.close().map(|_| ())
}

/// Writes the next column: its values, and for an optional one which rows have any.
fn put<T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: &[T::T],
    levels: Option<&[i16]>,
) -> Result<(), ParquetError> {
    let mut column =
        group.next_column()?.ok_or_else(|| ParquetError::General("a column too many".to_owned()))?;
    column.typed::<T>().write_batch(values, levels, None)?;
    column.close()
}

fn failed(path: &std::path::Path, error: ParquetError) -> TraceError {
    let source = match error {
        ParquetError::External(inner) => match inner.downcast::<std::io::Error>() {
            Ok(inner) => *inner,
            Err(inner) => std::io::Error::other(inner),
        },
        other => std::io::Error::other(other),
    };
    TraceError::Io { path: path.to_owned(), source }
}
