//! Reading the log, a batch of rows at a time.

use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
};

use parquet::{
    column::reader::{ColumnReaderImpl, get_typed_column_reader},
    data_type::{ByteArray, ByteArrayType, DataType, Int32Type, Int64Type},
    errors::ParquetError,
    file::{
        metadata::ParquetMetaData,
        reader::{ChunkReader, FileReader, RowGroupReader, SerializedFileReader},
    },
    schema::{parser::parse_message_type, types::SchemaDescriptor},
};

use super::{SCHEMA, SCHEMA_KEY, SCHEMA_NAME, VERSION, VERSION_KEY};
use crate::{FieldError, LogRecord, Op, Position, Request, TraceError};

/// Reads a file that [`LogWriter`](super::LogWriter) wrote.
pub struct LogReader<R: ChunkReader + 'static> {
    path: std::path::PathBuf,
    file: SerializedFileReader<R>,
    next_group: usize,
    group: Option<Group>,
    rows_read: u64,
    /// True if only the requests themselves are wanted: half of the columns, and the slower half, stay unread.
    requests_only: bool,
    batch: Batch,
}

/// The columns of a row group, all read at the same pace, and the rows still to come.
struct Group {
    rows_left: u64,
    time_ns: ColumnReaderImpl<Int64Type>,
    op: ColumnReaderImpl<ByteArrayType>,
    lba: ColumnReaderImpl<Int64Type>,
    sectors: ColumnReaderImpl<Int32Type>,
    stream: ColumnReaderImpl<Int32Type>,
    times: [ColumnReaderImpl<Int64Type>; 3],
    flags: ColumnReaderImpl<Int32Type>,
    process: ColumnReaderImpl<ByteArrayType>,
    /// `None` in files from before requests had one.
    handle: Option<ColumnReaderImpl<Int32Type>>,
}

/// Values of the rows read last; kept for its memory.
#[derive(Default)]
struct Batch {
    time_ns: Vec<i64>,
    op: Vec<ByteArray>,
    lba: Vec<i64>,
    sectors: Vec<i32>,
    stream: Vec<i32>,
    times: [Optional; 3],
    flags: Vec<i32>,
    process: Vec<ByteArray>,
    /// Empty if the file has none.
    handle: Vec<i32>,
}

/// Values of an optional column: those there are, and which rows have one.
#[derive(Default)]
struct Optional {
    values: Vec<i64>,
    levels: Vec<i16>,
}

impl<R: ChunkReader + 'static> std::fmt::Debug for LogReader<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LogReader").field("path", &self.path).finish_non_exhaustive()
    }
}

impl<R: ChunkReader + 'static> LogReader<R> {
    /// A log in `file`; `path` is its name in messages.
    ///
    /// # Errors
    /// [`TraceError::Truncated`] and [`TraceError::Record`] for a file that is no log of this version.
    pub fn open(file: R, path: &Path) -> Result<Self, TraceError> {
        let length = file.len();
        let reader = guarded(|| SerializedFileReader::new(file)).map_err(|error| match error {
            ParquetError::EOF(detail) | ParquetError::General(detail) => {
                TraceError::Truncated { path: path.to_owned(), position: Position::Byte(length), detail }
            }
            other => broken(path, 0, &other),
        })?;
        check(reader.metadata()).map_err(|field| TraceError::Record {
            path: path.to_owned(),
            position: Position::Byte(length),
            field,
        })?;
        let path = path.to_owned();
        Ok(Self {
            path,
            file: reader,
            next_group: 0,
            group: None,
            rows_read: 0,
            requests_only: false,
            batch: Batch::default(),
        })
    }

    /// Number of records according to the file.
    pub(crate) fn rows(&self) -> u64 {
        self.file.metadata().file_metadata().num_rows().unsigned_abs()
    }

    /// Reads only the requests themselves from here on; before the first record.
    pub(crate) fn set_requests_only(&mut self) {
        self.requests_only = true;
    }

    /// Appends the next records, at most `limit`; false at the end. After an error the reader is of no more use.
    ///
    /// # Errors
    /// [`TraceError::Truncated`] and [`TraceError::Record`] for damaged rows.
    pub fn read(&mut self, out: &mut Vec<LogRecord>, limit: usize) -> Result<bool, TraceError> {
        let mut left = limit;
        while left > 0 {
            let Some(group) = &mut self.group else {
                if self.next_group == self.file.num_row_groups() {
                    return Ok(false);
                }
                let group = guarded(|| Group::open(&self.file, self.next_group));
                self.group = Some(group.map_err(|error| broken(&self.path, self.rows_read, &error))?);
                self.next_group += 1;
                continue;
            };
            let rows = usize::try_from(group.rows_left).unwrap_or(usize::MAX).min(left);
            if rows == 0 {
                self.group = None;
                continue;
            }
            let filled = guarded(|| self.batch.fill(group, rows, self.requests_only));
            filled.map_err(|error| broken(&self.path, self.rows_read, &error))?;
            for row in self.batch.rows(self.requests_only) {
                self.rows_read += 1;
                out.push(row.map_err(|field| TraceError::Record {
                    path: self.path.clone(),
                    position: Position::Record(self.rows_read),
                    field,
                })?);
            }
            group.rows_left -= rows as u64;
            left -= rows;
        }
        Ok(true)
    }
}

/// Runs a step of the Parquet library, which asserts where some damage should be an error. Whoever gets an error
/// drops the reader, so a half-done step is never seen. The panic's own message is kept off the screen by the hook that
/// the extension module sets for all panics; a library has no business with the process's hook.
fn guarded<T>(step: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, ParquetError> {
    catch_unwind(AssertUnwindSafe(step))
        .unwrap_or_else(|_| Err(ParquetError::General("damaged beyond what the reader can name".to_owned())))
}

impl Group {
    fn open<R: ChunkReader + 'static>(
        file: &SerializedFileReader<R>,
        index: usize,
    ) -> Result<Self, ParquetError> {
        let group = file.get_row_group(index)?;
        let rows = group.metadata().num_rows();
        let rows_left =
            u64::try_from(rows).map_err(|_| ParquetError::General(format!("a row group of {rows} rows")))?;
        let group = group.as_ref();
        Ok(Self {
            rows_left,
            time_ns: column(group, 0)?,
            op: column(group, 1)?,
            lba: column(group, 2)?,
            sectors: column(group, 3)?,
            stream: column(group, 4)?,
            times: [column(group, 5)?, column(group, 6)?, column(group, 7)?],
            flags: column(group, 8)?,
            process: column(group, 9)?,
            handle: has_handle(group).then(|| column(group, 10)).transpose()?,
        })
    }
}

fn column<T: DataType>(
    group: &dyn RowGroupReader,
    index: usize,
) -> Result<ColumnReaderImpl<T>, ParquetError> {
    Ok(get_typed_column_reader(group.get_column_reader(index)?))
}

/// Reads exactly `rows` of a column whose rows all have a value.
fn all<T: DataType>(
    column: &mut ColumnReaderImpl<T>,
    rows: usize,
    values: &mut Vec<T::T>,
) -> Result<(), ParquetError> {
    values.clear();
    column.read_records(rows, None, None, values)?;
    enough(values.len(), rows)
}

fn enough(found: usize, rows: usize) -> Result<(), ParquetError> {
    if found == rows {
        return Ok(());
    }
    Err(ParquetError::EOF(format!("a column has {found} values where its row group has {rows}")))
}

impl Batch {
    fn fill(&mut self, group: &mut Group, rows: usize, requests_only: bool) -> Result<(), ParquetError> {
        all(&mut group.time_ns, rows, &mut self.time_ns)?;
        all(&mut group.op, rows, &mut self.op)?;
        all(&mut group.lba, rows, &mut self.lba)?;
        all(&mut group.sectors, rows, &mut self.sectors)?;
        all(&mut group.stream, rows, &mut self.stream)?;
        self.handle.clear();
        if let Some(column) = &mut group.handle {
            all(column, rows, &mut self.handle)?;
        }
        if requests_only {
            return Ok(());
        }
        for (column, Optional { values, levels }) in group.times.iter_mut().zip(&mut self.times) {
            values.clear();
            levels.clear();
            column.read_records(rows, Some(levels), None, values)?;
            enough(levels.len(), rows)?;
            enough(values.len(), levels.iter().filter(|level| **level != 0).count())?;
        }
        all(&mut group.flags, rows, &mut self.flags)?;
        all(&mut group.process, rows, &mut self.process)
    }

    fn handle(&self, row: usize) -> Result<u8, FieldError> {
        let handle = self.handle.get(row).copied().unwrap_or(0).cast_unsigned();
        u8::try_from(handle)
            .map_err(|_| FieldError::new("handle", handle.to_string().as_bytes(), "a number of 8 bits"))
    }

    fn rows(&self, requests_only: bool) -> impl Iterator<Item = Result<LogRecord, FieldError>> {
        let mut times = self.times.each_ref().map(|column| column.values.iter());
        (0..self.time_ns.len()).map(move |row| {
            let stream = self.stream[row].cast_unsigned();
            let request = Request {
                time_ns: unsigned("time_ns", self.time_ns[row])?,
                op: op(self.op[row].data())?,
                lba: unsigned("lba", self.lba[row])?,
                sectors: self.sectors[row].cast_unsigned(),
                stream: u16::try_from(stream).map_err(|_| {
                    FieldError::new("stream", stream.to_string().as_bytes(), "a number of 16 bits")
                })?,
                handle: self.handle(row)?,
            };
            if requests_only {
                return Ok(LogRecord::bare(request));
            }
            let mut next = [None; 3];
            for (slot, (values, column)) in next.iter_mut().zip(times.iter_mut().zip(&self.times)) {
                if column.levels[row] != 0 {
                    *slot = values.next().map(|value| unsigned("time", *value)).transpose()?;
                }
            }
            let [due_ns, issue_ns, completion_ns] = next;
            let flags = self.flags[row].cast_unsigned();
            let process = String::from_utf8_lossy(self.process[row].data()).into_owned();
            Ok(LogRecord { request, due_ns, issue_ns, completion_ns, flags, process })
        })
    }
}

/// True if the column after those of every version is that of placement handles.
fn has_handle(group: &dyn RowGroupReader) -> bool {
    let columns = group.metadata().columns();
    columns.get(10).is_some_and(|column| column.column_path().string() == "handle")
}

fn unsigned(field: &'static str, value: i64) -> Result<u64, FieldError> {
    u64::try_from(value)
        .map_err(|_| FieldError::new(field, value.to_string().as_bytes(), "a number that is not negative"))
}

fn op(name: &[u8]) -> Result<Op, FieldError> {
    Op::ALL.into_iter().find(|op| op.name().as_bytes() == name).ok_or_else(|| {
        FieldError::new("op", name, "read, write, trim, flush or a command to zones such as append")
    })
}

/// Checks that the file declares itself a request log of this version, and has the columns of one.
fn check(metadata: &ParquetMetaData) -> Result<(), FieldError> {
    let file = metadata.file_metadata();
    let entries: BTreeMap<&str, &str> = file
        .key_value_metadata()
        .into_iter()
        .flatten()
        .filter_map(|entry| Some((entry.key.as_str(), entry.value.as_deref()?)))
        .collect();
    let entry = |key: &str| entries.get(key).copied().unwrap_or_default().as_bytes();
    if entry(SCHEMA_KEY) != SCHEMA_NAME.as_bytes() {
        let expected = "\"requests\": a log that flashweir wrote, not another Parquet table";
        return Err(FieldError::new(SCHEMA_KEY, entry(SCHEMA_KEY), expected));
    }
    if entry(VERSION_KEY) != VERSION.as_bytes() {
        return Err(FieldError::new(
            VERSION_KEY,
            entry(VERSION_KEY),
            "version 1, the only one that this build reads",
        ));
    }
    let columns = |schema: &SchemaDescriptor| -> Vec<_> {
        let column = |c: &parquet::schema::types::ColumnDescPtr| {
            (c.path().string(), c.physical_type(), c.max_def_level(), c.max_rep_level())
        };
        schema.columns().iter().map(column).collect()
    };
    let found = columns(file.schema_descr());
    let mut wanted = parse_message_type(SCHEMA).map(|schema| columns(&SchemaDescriptor::new(schema.into())));
    // Files from before requests had a placement handle have all columns but that.
    if let (Ok(wanted), false) = (&mut wanted, found.iter().any(|(name, ..)| name == "handle")) {
        wanted.pop();
    }
    // Columns after those are for other readers.
    if wanted.is_ok_and(|wanted| found.starts_with(&wanted)) {
        return Ok(());
    }
    let names: Vec<&str> = found.iter().map(|(name, ..)| name.as_str()).collect();
    Err(FieldError::new("columns", names.join(",").as_bytes(), "the columns of version 1, in their order"))
}

/// An error of the file below the level of rows.
fn broken(path: &Path, rows_read: u64, error: &ParquetError) -> TraceError {
    let position = Position::Record(rows_read + 1);
    if let ParquetError::EOF(detail) = error {
        return TraceError::Truncated { path: path.to_owned(), position, detail: detail.clone() };
    }
    let found = error.to_string();
    let field = FieldError::new("row group", found.as_bytes(), "intact column data");
    TraceError::Record { path: path.to_owned(), position, field }
}
