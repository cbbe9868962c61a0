//! Tables of lines.

use super::columns::{Columns, MAX_COLUMNS, Places, Separator};
use crate::FieldError;
use crate::format::line::{Fields, LineDecoder, Words};
use crate::format::sink::Sink;

/// Decoder of a table.
#[derive(Debug)]
pub(crate) struct Table {
    columns: Columns,
    header_left: u64,
    /// Known from the start where no column is named, else from the line of headings on.
    places: Option<Places>,
}

impl Table {
    /// A decoder of a table with `columns`.
    pub(crate) fn new(columns: &Columns) -> Self {
        Self { places: columns.places(&[]).ok(), header_left: columns.header_lines, columns: columns.clone() }
    }

    fn headings(&self, line: &[u8]) -> Vec<String> {
        let text = |field: &[u8]| String::from_utf8_lossy(unquoted(field)).into_owned();
        match self.columns.separator {
            Separator::Byte(separator) => line.split(|byte| *byte == separator).map(text).collect(),
            Separator::White => {
                line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).map(text).collect()
            }
        }
    }
}

/// A field without spaces and quotes around it.
fn unquoted(field: &[u8]) -> &[u8] {
    let field = field.trim_ascii();
    field.strip_prefix(b"\"").and_then(|field| field.strip_suffix(b"\"")).unwrap_or(field)
}

impl LineDecoder for Table {
    fn line(&mut self, line: &[u8], sink: &mut Sink) -> Result<(), FieldError> {
        if self.header_left > 0 {
            self.header_left -= 1;
            if self.header_left == 0 && self.places.is_none() {
                self.places = Some(self.columns.places(&self.headings(line))?);
            }
            return Ok(());
        }
        let places = match &self.places {
            Some(places) => places,
            None => &self.columns.places(&[])?,
        };
        let count = places.count();
        if count > MAX_COLUMNS {
            return Err(FieldError::new("columns", count.to_string().as_bytes(), "at most 64 columns"));
        }
        let mut fields = [&b""[..]; MAX_COLUMNS];
        match self.columns.separator {
            Separator::Byte(separator) => {
                let mut rest = Fields::new(line, separator);
                for (read, field) in fields.iter_mut().take(count).enumerate() {
                    let next = rest.next("column").map_err(|_| self.columns.missing(places, read))?;
                    *field = unquoted(next);
                }
            }
            Separator::White => {
                let mut rest = Words::new(line);
                for (read, field) in fields.iter_mut().take(count).enumerate() {
                    *field = rest.next("column").map_err(|_| self.columns.missing(places, read))?;
                }
            }
        }
        sink.push(self.columns.row(places, &fields)?)
    }
}
