//! The columns of a table as a user describes them: where each field of a row stands, and its unit.

use crate::format::number::{self, decimal, end, scaled, whole};
use crate::format::op;
use crate::format::raw::Raw;
use crate::{FieldError, Op, SECTOR_BYTES, TraceError};

/// Columns a table may have.
pub(super) const MAX_COLUMNS: usize = 64;

/// Columns of a table: their meaning and units.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns {
    pub(super) separator: Separator,
    pub(super) header_lines: u64,
    time: Column<u32>,
    op: Column<Digits>,
    lba: Column<u64>,
    size: Column<u64>,
    response: Option<Column<u32>>,
    stream: Option<At>,
    handle: Option<At>,
    device: Option<At>,
}

/// A column and its unit.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Column<U> {
    at: At,
    unit: U,
}

/// Place of a column: its number from 0, or its heading.
#[derive(Clone, Debug, PartialEq, Eq)]
enum At {
    Number(usize),
    Name(String),
}

/// The numbers of all columns, once the headings are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Places {
    time: usize,
    op: usize,
    lba: usize,
    size: usize,
    response: Option<usize>,
    stream: Option<usize>,
    handle: Option<usize>,
    device: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Separator {
    Byte(u8),
    White,
}

/// Meaning of the digits 0 and 1 as an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Digits {
    Unsaid,
    ReadIs(u8),
}

/// Units of time: names, and the power of ten in ns; 100 ns ticks have a factor of their own.
const TIME_UNITS: [(&str, u32); 5] = [("ns", 0), ("us", 3), ("ms", 6), ("s", 9), ("100ns", 2)];

/// Units of addresses and sizes, in bytes.
const SIZE_UNITS: [(&str, u64); 3] = [("sectors", SECTOR_BYTES), ("bytes", 1), ("4k-pages", 4096)];

impl Columns {
    /// Parses a spec: `key=column[:unit]` between commas; columns are counted from 0, or named as their heading is.
    ///
    /// Keys are `time` (unit `s`, `ms`, `us`, `ns` or `100ns`; default `ns`), `op` (`:read1` or `:write1` if it is a
    /// digit), `lba` and `size` (unit `bytes`, `sectors` or `4k-pages`; default `sectors`; a name that ends in a unit, such as
    /// `size_bytes`, has it without a colon), and optionally `response` (a time as
    /// `time`), `stream` (the tenant's number), `handle` (the placement handle), `device` (anything), `sep` (`comma`, `tab`, `space` or one character) and `header`
    /// (lines to skip, the last of which has the headings; 1 where a column is named).
    pub fn parse(spec: &str) -> Result<Self, TraceError> {
        let wrong = |found: &str, expected: &str| TraceError::Spec {
            what: "columns".to_owned(),
            found: found.to_owned(),
            expected: expected.to_owned(),
        };
        let (mut time, mut op, mut lba, mut size) = (None, None, None, None);
        let (mut stream, mut handle, mut device, mut response) = (None, None, None, None);
        let (mut separator, mut header_lines) = (Separator::Byte(b','), None);
        if let Some(part) = repeated(spec) {
            return Err(wrong(part, "each key once"));
        }
        for part in spec.split(',') {
            let (key, value) =
                part.split_once('=').ok_or_else(|| wrong(part, "key=column[:unit], such as time=3:us"))?;
            let (column, unit) = value.rsplit_once(':').unwrap_or((value, ""));
            let at = || {
                parse_at(column.trim()).ok_or_else(|| wrong(part, "a column number from 0 to 63, or a name"))
            };
            match key.trim() {
                "time" => time = Some(Column { at: at()?, unit: pick(&TIME_UNITS, unit, part, column)? }),
                "op" => {
                    let unit = match unit {
                        "" => Digits::Unsaid,
                        "read1" => Digits::ReadIs(b'1'),
                        "write1" => Digits::ReadIs(b'0'),
                        _ => return Err(wrong(part, "read1 or write1 after the colon")),
                    };
                    op = Some(Column { at: at()?, unit });
                }
                "lba" => lba = Some(Column { at: at()?, unit: pick(&SIZE_UNITS, unit, part, column)? }),
                "size" => size = Some(Column { at: at()?, unit: pick(&SIZE_UNITS, unit, part, column)? }),
                "response" => {
                    response = Some(Column { at: at()?, unit: pick(&TIME_UNITS, unit, part, column)? });
                }
                "stream" => stream = Some(at()?),
                "handle" => handle = Some(at()?),
                "device" => device = Some(at()?),
                "sep" => {
                    separator = parse_separator(value)
                        .ok_or_else(|| wrong(part, "comma, tab, space or one character"))?;
                }
                "header" => header_lines = Some(value.parse().map_err(|_| wrong(part, "a number of lines"))?),
                _ => {
                    let keys = "one of time, op, lba, size, response, stream, handle, device, sep and header";
                    return Err(wrong(part, keys));
                }
            }
        }
        let needed = |key: &str| wrong(spec, &format!("a column for {key} as well"));
        let mut columns = Self {
            separator,
            header_lines: header_lines.unwrap_or(0),
            time: time.ok_or_else(|| needed("time"))?,
            op: op.ok_or_else(|| needed("op"))?,
            lba: lba.ok_or_else(|| needed("lba"))?,
            size: size.ok_or_else(|| needed("size"))?,
            response,
            stream,
            handle,
            device,
        };
        if columns.places(&[]).is_err() {
            if header_lines == Some(0) {
                return Err(wrong("header=0", "a line of headings, in which columns have names"));
            }
            columns.header_lines = columns.header_lines.max(1);
        }
        Ok(columns)
    }

    /// The numbers of the columns in a table with these headings.
    pub(super) fn places(&self, headings: &[String]) -> Result<Places, FieldError> {
        let place = |at: &At| match at {
            At::Number(number) => Ok(*number),
            At::Name(name) => find(name, headings),
        };
        Ok(Places {
            time: place(&self.time.at)?,
            op: place(&self.op.at)?,
            lba: place(&self.lba.at)?,
            size: place(&self.size.at)?,
            response: self.response.as_ref().map(|column| place(&column.at)).transpose()?,
            stream: self.stream.as_ref().map(place).transpose()?,
            handle: self.handle.as_ref().map(place).transpose()?,
            device: self.device.as_ref().map(place).transpose()?,
        })
    }

    /// The error of a line that has `read` fields: names the first column that it lacks.
    #[cold]
    pub(super) fn missing(&self, places: &Places, read: usize) -> FieldError {
        let columns = [
            ("time", Some(places.time), Some(&self.time.at)),
            ("op", Some(places.op), Some(&self.op.at)),
            ("lba", Some(places.lba), Some(&self.lba.at)),
            ("size", Some(places.size), Some(&self.size.at)),
            ("response", places.response, self.response.as_ref().map(|column| &column.at)),
            ("stream", places.stream, self.stream.as_ref()),
            ("handle", places.handle, self.handle.as_ref()),
            ("device", places.device, self.device.as_ref()),
        ];
        let known = columns.into_iter().filter_map(|(field, place, at)| Some((place?, field, at?)));
        let Some((place, field, at)) = known.filter(|(place, ..)| *place >= read).min_by_key(|one| one.0)
        else {
            return FieldError::missing("column");
        };
        let name = match at {
            At::Number(number) => format!("column {number} of --columns"),
            At::Name(name) => format!("{name:?}"),
        };
        let found = format!("the end of the line in place of field {}, {name}", place + 1);
        FieldError { field, found, expected: "one more field" }
    }

    /// The request of a row, whose fields stand at their places.
    pub(super) fn row<'a>(&self, places: &Places, fields: &[&'a [u8]]) -> Result<Raw<'a>, FieldError> {
        let field = |index: usize, name: &'static str| {
            fields.get(index).copied().ok_or_else(|| FieldError::missing(name))
        };
        let time_ns = decimal("time", field(places.time, "time")?, self.time.unit)?;
        let op = self.op.unit.op(field(places.op, "op")?)?;
        let response = places.response.map(|index| field(index, "response")).transpose()?;
        let completion_ns = match (response, &self.response) {
            (Some(text), Some(column)) if !text.is_empty() => {
                Some(end("response", text, time_ns, decimal("response", text, column.unit)?)?)
            }
            _ => None,
        };
        if op == Op::Flush {
            return Ok(Raw { completion_ns, ..Raw::flush(time_ns) });
        }
        let (lba, size) = (field(places.lba, "lba")?, field(places.size, "size")?);
        let raw = if self.lba.unit == 1 || self.size.unit == 1 {
            let offset = scaled("lba", lba, self.lba.unit)?;
            Raw::bytes(time_ns, op, offset, scaled("size", size, self.size.unit)?)?
        } else {
            let lba = scaled("lba", lba, self.lba.unit / SECTOR_BYTES)?;
            Raw::sectors(time_ns, op, lba, scaled("size", size, self.size.unit / SECTOR_BYTES)?)
        };
        let stream = match places.stream {
            None => 0,
            Some(index) => {
                let text = field(index, "stream")?;
                u16::try_from(whole("stream", text)?)
                    .map_err(|_| FieldError::new("stream", text, "a number below 65536"))?
            }
        };
        let handle = match places.handle {
            None => 0,
            Some(index) => {
                let text = field(index, "handle")?;
                u8::try_from(whole("handle", text)?)
                    .map_err(|_| FieldError::new("handle", text, "a number below 256"))?
            }
        };
        let device = places.device.map_or(Ok(&b""[..]), |index| field(index, "device"))?;
        Ok(Raw { device, stream, handle, completion_ns, ..raw })
    }
}

impl Places {
    /// One past the last column needed.
    pub(super) fn count(&self) -> usize {
        let optional = [self.response, self.stream, self.handle, self.device].into_iter().flatten();
        let last = [self.time, self.op, self.lba, self.size].into_iter().chain(optional).max();
        last.map_or(0, |last| last + 1)
    }
}

/// The first part of a spec whose key stands there before.
fn repeated(spec: &str) -> Option<&str> {
    let key = |part: &str| part.split_once('=').map(|(key, _)| key.trim().to_owned());
    let mut known = Vec::new();
    spec.split(',').find(|part| {
        let key = key(part);
        let is_known = key.is_some() && known.contains(&key);
        known.push(key);
        is_known
    })
}

/// The number of the column called `name`: exactly so, else but for upper and lower case.
fn find(name: &str, headings: &[String]) -> Result<usize, FieldError> {
    let exact = headings.iter().position(|heading| heading == name);
    let alike = || headings.iter().position(|heading| heading.eq_ignore_ascii_case(name));
    exact.or_else(alike).ok_or_else(|| FieldError {
        field: "columns",
        found: format!("no {name:?} among {}", headings.join(", ")),
        expected: "the name of a column, as the line of headings has it",
    })
}

fn parse_at(text: &str) -> Option<At> {
    if let Ok(number) = text.parse() {
        return (number < MAX_COLUMNS).then_some(At::Number(number));
    }
    (!text.is_empty()).then(|| At::Name(text.to_owned()))
}

/// The unit called `name`; without a name that of the last word of the column's name, else the first.
fn pick<U: Copy>(units: &[(&str, U)], name: &str, part: &str, column: &str) -> Result<U, TraceError> {
    let last = column.rsplit(|letter: char| !letter.is_alphanumeric()).find(|word| !word.is_empty());
    let found = if name.is_empty() {
        units
            .iter()
            .find(|(known, _)| last.is_some_and(|word| known.eq_ignore_ascii_case(word)))
            .or(units.first())
    } else {
        units.iter().find(|(known, _)| *known == name)
    };
    found.map(|(_, unit)| *unit).ok_or_else(|| TraceError::Spec {
        what: "columns".to_owned(),
        found: part.to_owned(),
        expected: format!(
            "a unit of {}",
            units.iter().map(|(known, _)| *known).collect::<Vec<_>>().join(", ")
        ),
    })
}

fn parse_separator(name: &str) -> Option<Separator> {
    Some(match name {
        "comma" => Separator::Byte(b','),
        "tab" => Separator::Byte(b'\t'),
        "space" => Separator::White,
        _ => match name.as_bytes() {
            [byte] if !byte.is_ascii_alphanumeric() => Separator::Byte(*byte),
            _ => return None,
        },
    })
}

impl Digits {
    /// The operation that a text names.
    fn op(self, text: &[u8]) -> Result<Op, FieldError> {
        let text = text.trim_ascii();
        let is = |names: &[&str]| names.iter().any(|name| text.eq_ignore_ascii_case(name.as_bytes()));
        if let Digits::ReadIs(read) = self
            && matches!(text, b"0" | b"1")
        {
            op::digit("op", text, read)
        } else if matches!(text, b"0" | b"1") {
            Err(FieldError::new("op", text, "a meaning of 0 and 1: say op=COLUMN:read1 or op=COLUMN:write1"))
        } else if is(&["r", "read"]) {
            Ok(Op::Read)
        } else if is(&["w", "write"]) {
            Ok(Op::Write)
        } else if is(&["d", "t", "trim", "discard", "unmap"]) {
            Ok(Op::Trim)
        } else if is(&["f", "flush", "sync"]) {
            Ok(Op::Flush)
        } else if let Some(op) = Op::ALL.into_iter().find(|op| op.is_zoned() && is(&[op.name()])) {
            Ok(op)
        } else {
            const EXPECTED: &str = "r, w, d, f, read, write, trim, discard, flush, append, open, close, finish, reset, \
                                    offline, open_zrwa, commit, or a SCSI code such as 0x28";
            let code = text.strip_prefix(b"0x").and_then(|code| number::hex("op", code).ok());
            code.and_then(op::scsi).ok_or_else(|| FieldError::new("op", text, EXPECTED))
        }
    }
}
