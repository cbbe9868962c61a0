//! RocksDB's own traces, as its tools print them: lookups of the block cache (`block_cache_trace_analyzer` with
//! `-human_readable_trace_file_path`), and operations on files (`io_tracer_parser`).
//!
//! Files are devices: each has a range of addresses of its own.

use std::collections::HashMap;

use super::line::{Fields, LineDecoder};
use super::number::{scaled, whole};
use super::sink::{Order, Raw, Sink};
use crate::{FieldError, Op};

/// Callers of the block cache by their number, from 1 (`TableReaderCaller`).
const CALLERS: [&str; 14] = [
    "get",
    "multiget",
    "iterator",
    "approximate-size",
    "verify-checksum",
    "sst-dump",
    "ingestion",
    "repair",
    "prefetch",
    "compaction",
    "compaction-refill",
    "flush",
    "sst-file-reader",
    "uncategorized",
];

/// Threads note operations when they end, so they stand about that far from the order of their starts.
const WINDOW: usize = 4096;

/// Decoder of lookups of the block cache: 21 columns, of which those are read that say what the drive had to.
#[derive(Debug)]
pub(crate) struct RocksdbBlock;

impl LineDecoder for RocksdbBlock {
    fn line(&mut self, line: &[u8], sink: &mut Sink) -> Result<(), FieldError> {
        let mut fields = Fields::new(line, b',');
        let time_ns = fields.scaled("access timestamp", 1000)?;
        fields.whole("block id")?;
        fields.whole("block type")?;
        let size = fields.whole("block size")?;
        fields.whole("column family id")?;
        fields.next("column family name")?;
        fields.whole("level")?;
        let file = fields.next("SST file number")?;
        whole("SST file number", file)?;
        let caller = fields.next("caller")?;
        let process = CALLERS.get((whole("caller", caller)? as usize).wrapping_sub(1));
        let process = process.map_or(caller, |name| name.as_bytes());
        fields.whole("no insert")?;
        fields.whole("get id")?;
        fields.whole("key id")?;
        fields.whole("referenced data size")?;
        let hit = fields.next("is cache hit")?;
        let hit = match hit {
            b"0" => false,
            b"1" => true,
            _ => return Err(FieldError::new("is cache hit", hit, "0 or 1")),
        };
        for name in ["key exists in block", "keys in block", "table id", "sequence number"] {
            fields.whole(name)?;
        }
        fields.whole("block key size")?;
        fields.whole("key size")?;
        let offset = fields.whole("block offset")?;
        fields.end("21 fields")?;
        if hit {
            sink.left_out("block that the cache held");
        } else if size == 0 {
            sink.left_out("block that was not read");
        } else {
            sink.push(Raw { device: file, process, ..Raw::bytes(time_ns, Op::Read, offset, size)? })?;
        }
        Ok(())
    }

    fn assumptions(&self) -> Vec<String> {
        vec![
            "lookups of a block cache: the drive reads what it does not hold; writes are not in this trace"
                .to_owned(),
        ]
    }
}

/// Decoder of operations on files.
#[derive(Debug, Default)]
pub(crate) struct RocksdbIo {
    /// Bytes of each file: an append begins there.
    lengths: HashMap<Box<[u8]>, u64>,
}

/// An operation on a file, as a line has it.
#[derive(Debug, Default)]
struct Operation<'a> {
    time: Option<&'a [u8]>,
    name: Option<&'a [u8]>,
    latency: Option<&'a [u8]>,
    status: Option<&'a [u8]>,
    file: Option<&'a [u8]>,
    length: Option<&'a [u8]>,
    offset: Option<&'a [u8]>,
    size: Option<&'a [u8]>,
}

impl<'a> Operation<'a> {
    /// Fields `Name: value` between commas; others, such as the rest of a message, say nothing.
    fn parse(line: &'a [u8]) -> Self {
        let mut found = Self::default();
        for part in line.split(|byte| *byte == b',') {
            let Some(colon) = part.iter().position(|byte| *byte == b':') else { continue };
            let (name, value) = (part[..colon].trim_ascii(), part[colon + 1..].trim_ascii());
            let place = match name {
                b"Access Time" => &mut found.time,
                b"File Operation" => &mut found.name,
                b"Latency" => &mut found.latency,
                b"IO Status" => &mut found.status,
                b"File Name" => &mut found.file,
                b"Length" => &mut found.length,
                b"Offset" => &mut found.offset,
                b"File Size" => &mut found.size,
                _ => continue,
            };
            place.get_or_insert(value);
        }
        found
    }
}

impl RocksdbIo {
    /// The request of an operation with its offset and length; `None` of one without data.
    fn request(
        &mut self,
        name: &[u8],
        file: &[u8],
        said: &Operation<'_>,
    ) -> Result<Option<(Op, u64, u64)>, FieldError> {
        let number = |field: &'static str, text: Option<&[u8]>| {
            text.map_or_else(|| Err(FieldError::missing(field)), |text| whole(field, text))
        };
        Ok(match name {
            b"Read" | b"MultiRead" => {
                let found = (Op::Read, number("Offset", said.offset)?, number("Length", said.length)?);
                Some(found).filter(|(.., length)| *length > 0)
            }
            b"Append" | b"PositionedAppend" | b"Write" => {
                let length = number("Length", said.length)?;
                let end = self.lengths.get(file).copied().unwrap_or_default();
                let offset = if name == b"Append" { end } else { number("Offset", said.offset)? };
                let Some(reached) = offset.checked_add(length) else {
                    let text = said.length.unwrap_or_default();
                    return Err(FieldError::new("Length", text, "an end below 2^64 bytes"));
                };
                self.lengths.insert(file.into(), end.max(reached));
                Some((Op::Write, offset, length)).filter(|_| length > 0)
            }
            b"Truncate" => {
                self.lengths.insert(file.into(), number("File Size", said.size)?);
                None
            }
            b"NewWritableFile" | b"NewRandomRWFile" => {
                self.lengths.insert(file.into(), 0);
                None
            }
            b"DeleteFile" => {
                self.lengths.remove(file).filter(|length| *length > 0).map(|length| (Op::Trim, 0, length))
            }
            b"Sync" | b"Fsync" => Some((Op::Flush, 0, 0)),
            _ => None,
        })
    }
}

impl LineDecoder for RocksdbIo {
    fn line(&mut self, line: &[u8], sink: &mut Sink) -> Result<(), FieldError> {
        let heads: [&[u8]; 3] = [b"Start Time:", b"RocksDB Major Version:", b"RocksDB Minor Version:"];
        if heads.iter().any(|head| line.starts_with(head)) {
            sink.repaired("header line");
            return Ok(());
        }
        let said = Operation::parse(line);
        let time = said
            .time
            .ok_or_else(|| FieldError::new("Access Time", line, "Access Time : N, File Name: ..."))?;
        let end_ns = whole("Access Time", time)?;
        let name = said.name.ok_or_else(|| FieldError::missing("File Operation"))?;
        let latency = said.latency.ok_or_else(|| FieldError::missing("Latency"))?;
        // The clock is read when an operation has ended.
        let start_ns = end_ns.checked_sub(scaled("Latency", latency, 1)?);
        let time_ns =
            start_ns.ok_or_else(|| FieldError::new("Latency", latency, "at most the access time, ns"))?;
        if said.status.ok_or_else(|| FieldError::missing("IO Status"))? != b"OK" {
            sink.left_out("operation that failed");
            return Ok(());
        }
        let file = said.file.ok_or_else(|| FieldError::missing("File Name"))?;
        let Some((op, offset, length)) = self.request(name, file, &said)? else {
            sink.left_out("operation on a file without data");
            return Ok(());
        };
        let raw =
            if op == Op::Flush { Raw::flush(time_ns) } else { Raw::bytes(time_ns, op, offset, length)? };
        sink.push(Raw { device: file, completion_ns: Some(end_ns), ..raw })
    }

    fn order(&self) -> Order {
        Order::Window(WINDOW)
    }

    fn assumptions(&self) -> Vec<String> {
        vec![
            "each file has addresses of its own, which no later file takes over".to_owned(),
            "what is appended is written when it is appended, and a sync is a flush".to_owned(),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{decode, decode_err, decode_log, extents};
    use super::*;

    fn lookup(hit: u8, size: u32, caller: u8) -> String {
        format!("1000005,7,9,{size},0,default,2,12,{caller},0,5,6,100,{hit},1,30,13,0,24,20,8192\n")
    }

    #[test]
    fn what_the_block_cache_holds_is_not_read() {
        let text = [lookup(0, 4096, 10), lookup(1, 4096, 1), lookup(0, 0, 1), lookup(0, 5000, 99)].concat();
        let log = decode_log(Box::new(RocksdbBlock), &text);
        let found: Vec<_> =
            log.iter().map(|one| (one.request.lba, one.request.sectors, &*one.process)).collect();
        assert_eq!(found, [(16, 8, "compaction"), (16, 10, "99")]);
        let (_, report) = decode(Box::new(RocksdbBlock), &text);
        assert_eq!(report.left_out.iter().map(|one| one.count).collect::<Vec<_>>(), [1, 1]);
        assert_eq!(extents(Box::new(RocksdbBlock), &text)[&b"12"[..]], 26);
    }

    #[test]
    fn appends_go_to_the_end_of_their_file() {
        let line = |time: u64, file: &str, operation: &str, rest: &str| {
            format!(
                "Access Time : {time:<20}, File Name: {file:<20}, File Operation: {operation:<18}, \
                 Latency: 10        , IO Status: OK{rest}\n"
            )
        };
        let text = [
            "Start Time: 1\nRocksDB Major Version: 8\nRocksDB Minor Version: 1\n".to_owned(),
            line(1000, "000004.log", "NewWritableFile", ""),
            line(2000, "000004.log", "Append", ", Length: 512, Request Id: 7"),
            line(3000, "000004.log", "Append", ", Length: 1024"),
            line(2500, "000009.sst", "Read", ", Length: 4096, Offset: 8192"),
            line(4000, "000004.log", "Sync", ""),
            line(5000, "000004.log", "DeleteFile", ""),
            "Access Time : 6000 , File Name: x, File Operation: Read, Latency: 1, IO Status: IO error: a, b, \
             Length: 1, Offset: 0\n"
                .to_owned(),
        ]
        .concat();
        let log = decode_log(Box::<RocksdbIo>::default(), &text);
        let found: Vec<_> =
            log.iter().map(|one| (one.request.op, one.request.lba, one.request.sectors)).collect();
        assert_eq!(
            found,
            [(Op::Write, 0, 1), (Op::Read, 16, 8), (Op::Write, 1, 2), (Op::Flush, 0, 0), (Op::Trim, 0, 3)]
        );
        assert_eq!((log[1].request.time_ns, log[1].completion_ns), (500, Some(510)));
    }

    #[test]
    fn bad_lines_say_what_was_expected() {
        let good = lookup(0, 4096, 10);
        for (text, said) in [
            ("1,2,3\n".to_owned(), "block size: found the end of the line"),
            (good.replace(",0,1,30,", ",2,1,30,"), "is cache hit: found \"2\", expected 0 or 1"),
            (good.replace('\n', ",1\n"), "expected 21 fields"),
            (good.replace("1000005", "x"), "access timestamp: found \"x\""),
        ] {
            let error = decode_err(Box::new(RocksdbBlock), &text);
            assert!(error.contains(said), "{text}: {error}");
        }
        let head = "Access Time : 5, File Name: f, File Operation: Append, Latency: ";
        for (text, said) in [
            ("nonsense\n".to_owned(), "Access Time: found \"nonsense\""),
            (format!("{head}9, IO Status: OK, Length: 1\n"), "Latency: found \"9\", expected at most"),
            (format!("{head}1, IO Status: OK\n"), "Length: found the end of the line"),
            (format!("{head}1\n"), "IO Status: found the end of the line"),
            (
                "Access Time : 5, File Operation: Read, Latency: 1, IO Status: OK\n".to_owned(),
                "File Name: found",
            ),
        ] {
            let error = decode_err(Box::<RocksdbIo>::default(), &text);
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
