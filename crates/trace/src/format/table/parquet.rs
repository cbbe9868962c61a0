//! Tables in Parquet that somebody else wrote: columns of numbers and texts, found by their names.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use ::parquet::errors::ParquetError;
use ::parquet::file::reader::{FileReader, SerializedFileReader};
use ::parquet::record::reader::RowIter;
use ::parquet::record::{Field, Row};

use super::columns::{Columns, Places};
use crate::format::input::Input;
use crate::format::record::RecordDecoder;
use crate::format::sink::Sink;
use crate::format::spool;
use crate::{FieldError, Position, TraceError};

/// True if a file is Parquet. Pipes are never tested, since they can be read only once.
pub(crate) fn is_parquet(path: &Path) -> bool {
    let mut start = [0; 4];
    let regular = std::fs::metadata(path).is_ok_and(|meta| meta.is_file());
    regular && File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok() && &start == b"PAR1"
}

/// Decoder of such a table.
pub(crate) struct ParquetTable {
    path: PathBuf,
    columns: Columns,
    places: Places,
    rows: RowIter<'static>,
    read: u64,
    count: u64,
    texts: Vec<Vec<u8>>,
}

impl ParquetTable {
    /// Opens the table at `path` and finds its columns.
    pub(crate) fn open(path: &Path, columns: &Columns) -> Result<Self, TraceError> {
        let damaged =
            |error: &ParquetError| TraceError::Corrupt { path: path.to_owned(), detail: error.to_string() };
        let reader = SerializedFileReader::new(spool::open(path)?).map_err(|error| damaged(&error))?;
        let metadata = reader.metadata().file_metadata();
        let schema = metadata.schema();
        let names: Vec<String> = schema.get_fields().iter().map(|field| field.name().to_owned()).collect();
        let count = metadata.num_rows().unsigned_abs();
        let places = columns.places(&names).and_then(|places| {
            let enough = places.count() <= names.len();
            let found = places.count().to_string();
            enough
                .then_some(places)
                .ok_or_else(|| FieldError::new("columns", found.as_bytes(), "as many as it has"))
        });
        let places = places.map_err(|field| TraceError::Record {
            path: path.to_owned(),
            position: Position::Record(0),
            field,
        })?;
        let rows = RowIter::from_file_into(Box::new(reader));
        let texts = vec![Vec::new(); names.len()];
        Ok(Self { path: path.to_owned(), columns: columns.clone(), places, rows, read: 0, count, texts })
    }

    fn push(&mut self, row: &Row, sink: &mut Sink) -> Result<(), FieldError> {
        for (text, (_, field)) in self.texts.iter_mut().zip(row.get_column_iter()) {
            text.clear();
            write_field(field, text);
        }
        let fields: Vec<&[u8]> = self.texts.iter().map(Vec::as_slice).collect();
        sink.push(self.columns.row(&self.places, &fields)?)
    }
}

/// A value as text; null and nested values have none. Timestamps are numbers in the unit of their column.
fn write_field(field: &Field, text: &mut Vec<u8>) {
    let written = match field {
        Field::Null | Field::Group(_) | Field::ListInternal(_) | Field::MapInternal(_) => String::new(),
        Field::Str(value) => value.clone(),
        Field::Bytes(value) => return text.extend_from_slice(value.data()),
        Field::Bool(value) => u8::from(*value).to_string(),
        Field::Byte(value) => value.to_string(),
        Field::Short(value) => value.to_string(),
        Field::Int(value) => value.to_string(),
        Field::Long(value) | Field::TimestampMillis(value) | Field::TimestampMicros(value) => {
            value.to_string()
        }
        Field::UByte(value) => value.to_string(),
        Field::UShort(value) => value.to_string(),
        Field::UInt(value) => value.to_string(),
        Field::ULong(value) => value.to_string(),
        Field::Float(value) => value.to_string(),
        Field::Double(value) => value.to_string(),
        other => other.to_string(),
    };
    text.extend_from_slice(written.as_bytes());
}

impl RecordDecoder for ParquetTable {
    fn fill(&mut self, _: &mut Input, sink: &mut Sink, budget: usize) -> Result<bool, TraceError> {
        for _ in 0..budget {
            let Some(row) = self.rows.next() else { return Ok(false) };
            let row = row.map_err(|error| TraceError::Corrupt {
                path: self.path.clone(),
                detail: error.to_string(),
            })?;
            self.read += 1;
            if let Err(field) = self.push(&row, sink) {
                sink.bad(&self.path, Position::Record(self.read), field)?;
            }
            if sink.failed.is_some() {
                return Ok(true);
            }
        }
        Ok(true)
    }

    fn position(&self, _: &Input) -> Option<(u64, u64)> {
        Some((self.read, self.count))
    }
}
