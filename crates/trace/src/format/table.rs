//! Any other table: columns named by the user, `time=3:us,op=1,lba=4:bytes,size=5:bytes,stream=0`.

use super::line::{Fields, LineDecoder, Words, missing};
use super::number::{decimal, scaled, whole};
use super::op;
use super::sink::{Raw, Sink};
use crate::{FieldError, Op, SECTOR_BYTES, TraceError};

/// Columns a table may have.
const MOST_COLUMNS: usize = 64;

/// Which columns of a table hold what, and in which units.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns {
    separator: Separator,
    header_lines: u64,
    time: Column<u32>,
    op: Column<Digits>,
    lba: Column<u64>,
    size: Column<u64>,
    stream: Option<usize>,
    device: Option<usize>,
}

/// A column and its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Column<U> {
    index: usize,
    unit: U,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Separator {
    Byte(u8),
    White,
}

/// What the digits 0 and 1 mean as an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Digits {
    Unsaid,
    ReadIs(u8),
}

/// Units of time: names, and the power of ten in ns; 100 ns ticks have a factor of their own.
const TIME_UNITS: [(&str, u32); 5] = [("ns", 0), ("us", 3), ("ms", 6), ("s", 9), ("100ns", 2)];

/// Units of addresses and sizes, in bytes.
const SIZE_UNITS: [(&str, u64); 3] = [("bytes", 1), ("sectors", SECTOR_BYTES), ("4k-pages", 4096)];

impl Columns {
    /// Parses a spec: `key=column[:unit]` between commas, columns counted from 0.
    ///
    /// Keys are `time` (unit `s`, `ms`, `us`, `ns` or `100ns`; default `ns`), `op` (`:read1` or `:write1` if it is a
    /// digit), `lba` and `size` (unit `bytes`, `sectors` or `4k-pages`; default `sectors`), and optionally `stream`
    /// (a number), `device` (anything), `sep` (`comma`, `tab`, `space` or one character) and `header` (lines to skip).
    pub fn parse(spec: &str) -> Result<Self, TraceError> {
        let wrong = |found: &str, expected: &str| TraceError::Spec {
            what: "columns".to_owned(),
            found: found.to_owned(),
            expected: expected.to_owned(),
        };
        let (mut time, mut op, mut lba, mut size) = (None, None, None, None);
        let (mut stream, mut device, mut separator, mut header_lines) =
            (None, None, Separator::Byte(b','), 0);
        for part in spec.split(',') {
            let (key, value) =
                part.split_once('=').ok_or_else(|| wrong(part, "key=column[:unit], such as time=3:us"))?;
            let (index, unit) = value.split_once(':').unwrap_or((value, ""));
            let index = || {
                let column = index.trim().parse().ok().filter(|column| *column < MOST_COLUMNS);
                column.ok_or_else(|| wrong(part, "a column number from 0 to 63"))
            };
            match key.trim() {
                "time" => time = Some(Column { index: index()?, unit: pick(&TIME_UNITS, unit, part)? }),
                "op" => {
                    let unit = match unit {
                        "" => Digits::Unsaid,
                        "read1" => Digits::ReadIs(b'1'),
                        "write1" => Digits::ReadIs(b'0'),
                        _ => return Err(wrong(part, "read1 or write1 after the colon")),
                    };
                    op = Some(Column { index: index()?, unit });
                }
                "lba" => lba = Some(Column { index: index()?, unit: pick_size(unit, part)? }),
                "size" => size = Some(Column { index: index()?, unit: pick_size(unit, part)? }),
                "stream" => stream = Some(index()?),
                "device" => device = Some(index()?),
                "sep" => {
                    separator = parse_separator(value)
                        .ok_or_else(|| wrong(part, "comma, tab, space or one character"))?
                }
                "header" => header_lines = value.parse().map_err(|_| wrong(part, "a number of lines"))?,
                _ => return Err(wrong(part, "one of time, op, lba, size, stream, device, sep and header")),
            }
        }
        let needed = |key: &str| wrong(spec, &format!("a column for {key} as well"));
        Ok(Self {
            separator,
            header_lines,
            time: time.ok_or_else(|| needed("time"))?,
            op: op.ok_or_else(|| needed("op"))?,
            lba: lba.ok_or_else(|| needed("lba"))?,
            size: size.ok_or_else(|| needed("size"))?,
            stream,
            device,
        })
    }

    /// One past the last column needed.
    fn count(&self) -> usize {
        let needed = [self.time.index, self.op.index, self.lba.index, self.size.index];
        needed.into_iter().chain(self.stream).chain(self.device).max().map_or(0, |last| last + 1)
    }
}

fn pick<U: Copy>(units: &[(&str, U)], name: &str, part: &str) -> Result<U, TraceError> {
    let found = if name.is_empty() { units.first() } else { units.iter().find(|(known, _)| *known == name) };
    found.map(|(_, unit)| *unit).ok_or_else(|| TraceError::Spec {
        what: "columns".to_owned(),
        found: part.to_owned(),
        expected: format!(
            "a unit of {}",
            units.iter().map(|(known, _)| *known).collect::<Vec<_>>().join(", ")
        ),
    })
}

fn pick_size(name: &str, part: &str) -> Result<u64, TraceError> {
    pick(&SIZE_UNITS, if name.is_empty() { "sectors" } else { name }, part)
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

/// Decoder of a table.
#[derive(Debug)]
pub(crate) struct Table {
    columns: Columns,
    count: usize,
    header_left: u64,
}

impl Table {
    /// A decoder of a table with `columns`.
    pub(crate) fn new(columns: &Columns) -> Self {
        Self { count: columns.count(), header_left: columns.header_lines, columns: columns.clone() }
    }

    fn op(&self, text: &[u8]) -> Result<Op, FieldError> {
        let text = text.trim_ascii();
        let is = |names: &[&str]| names.iter().any(|name| text.eq_ignore_ascii_case(name.as_bytes()));
        if let Digits::ReadIs(read) = self.columns.op.unit
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
        } else {
            const EXPECTED: &str =
                "r, w, d, f, read, write, trim, discard, flush, or a SCSI code such as 0x28";
            let code = text.strip_prefix(b"0x").and_then(|code| super::number::hex("op", code).ok());
            code.and_then(op::scsi).ok_or_else(|| FieldError::new("op", text, EXPECTED))
        }
    }
}

impl LineDecoder for Table {
    fn line(&mut self, line: &[u8], sink: &mut Sink) -> Result<(), FieldError> {
        if self.header_left > 0 {
            self.header_left -= 1;
            return Ok(());
        }
        let columns = &self.columns;
        let mut fields = [&b""[..]; MOST_COLUMNS];
        match columns.separator {
            Separator::Byte(separator) => {
                let mut rest = Fields::new(line, separator);
                for field in fields.iter_mut().take(self.count) {
                    *field = rest.next("column")?.trim_ascii();
                }
            }
            Separator::White => {
                let mut rest = Words::new(line);
                for field in fields.iter_mut().take(self.count) {
                    *field = rest.next("column")?;
                }
            }
        }
        let field =
            |index: usize, name: &'static str| fields.get(index).copied().ok_or_else(|| missing(name));
        let time_ns = decimal("time", field(columns.time.index, "time")?, columns.time.unit)?;
        let op = self.op(field(columns.op.index, "op")?)?;
        if op == Op::Flush {
            return sink.push(Raw::flush(time_ns));
        }
        let lba = field(columns.lba.index, "lba")?;
        let size = field(columns.size.index, "size")?;
        let raw = if columns.lba.unit == 1 || columns.size.unit == 1 {
            let offset = scaled("lba", lba, columns.lba.unit)?;
            Raw::bytes(time_ns, op, offset, scaled("size", size, columns.size.unit)?)?
        } else {
            let lba = scaled("lba", lba, columns.lba.unit / SECTOR_BYTES)?;
            Raw::sectors(time_ns, op, lba, scaled("size", size, columns.size.unit / SECTOR_BYTES)?)
        };
        let stream = match columns.stream {
            None => 0,
            Some(index) => {
                let text = field(index, "stream")?;
                u16::try_from(whole("stream", text)?)
                    .map_err(|_| FieldError::new("stream", text, "a number below 65536"))?
            }
        };
        let device = columns.device.map_or(Ok(&b""[..]), |index| field(index, "device"))?;
        sink.push(Raw { stream, device, ..raw })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{decode, decode_err};
    use super::*;

    fn table(spec: &str) -> Box<Table> {
        Box::new(Table::new(&Columns::parse(spec).expect("a good spec")))
    }

    #[test]
    fn columns_have_units_and_separators() {
        let (requests, _) = decode(
            table("time=3:us,op=1,lba=4:bytes,size=5:bytes,stream=0"),
            "7,Read,x,1000,4096,512\n9,w,x,1001.5,0,1\n9,F,x,1002,,\n9,0x28,,1003,8,8\n",
        );
        assert_eq!((requests[0].stream, requests[0].lba, requests[0].sectors), (7, 8, 1));
        assert_eq!((requests[1].time_ns, requests[1].op, requests[1].sectors), (1_500, Op::Write, 1));
        assert_eq!((requests[2].op, requests[3].op), (Op::Flush, Op::Read));
        let (requests, _) = decode(
            table("sep=space,header=1,time=0:100ns,op=1:read1,lba=2:4k-pages,size=3"),
            "t o l s\n 5  1  2  8\n6 0 2 9\n",
        );
        assert_eq!((requests[0].op, requests[0].lba, requests[0].sectors), (Op::Read, 16, 8));
        assert_eq!((requests[1].op, requests[1].time_ns), (Op::Write, 100));
        let (requests, _) = decode(table("sep=;,time=0,op=1:write1,lba=2,size=3"), "5;1;2;8\n");
        assert_eq!(requests[0].op, Op::Write);
    }

    #[test]
    fn bad_specs_say_what_was_expected() {
        for (spec, said) in [
            ("time", "key=column[:unit]"),
            ("time=x,op=1,lba=2,size=3", "a column number from 0 to 63"),
            ("time=64,op=1,lba=2,size=3", "a column number from 0 to 63"),
            ("time=0:weeks,op=1,lba=2,size=3", "a unit of ns, us, ms, s, 100ns"),
            ("time=0,op=1:maybe,lba=2,size=3", "read1 or write1"),
            ("time=0,op=1,lba=2:miles,size=3", "a unit of bytes, sectors, 4k-pages"),
            ("time=0,op=1,lba=2", "a column for size as well"),
            ("time=0,op=1,lba=2,size=3,sep=ab", "comma, tab, space or one character"),
            ("time=0,op=1,lba=2,size=3,header=x", "a number of lines"),
            ("time=0,op=1,lba=2,size=3,colour=4", "one of time, op, lba"),
        ] {
            let error = Columns::parse(spec).expect_err(spec).to_string();
            assert!(error.contains(said), "{spec}: {error}");
        }
    }

    #[test]
    fn bad_fields_say_what_was_expected() {
        let spec = "time=0,op=1,lba=2,size=3,stream=4";
        for (line, said) in [
            ("1,1,0,8,0", "op=COLUMN:read1"),
            ("1,x,0,8,0", "op: found \"x\""),
            ("1,r,0,8,70000", "stream: found \"70000\", expected a number below 65536"),
            ("1,r,0,8", "column: found the end of the line"),
            ("-1,r,0,8,0", "time: found \"-1\", expected a number that is not negative"),
        ] {
            assert!(decode_err(table(spec), line).contains(said), "{line}");
        }
    }
}
