//! MSR Cambridge: `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`, and the same after a spreadsheet.
//!
//! Times are Windows FILETIME, ticks of 100 ns since 1601, read as whole numbers since a double can't hold them.
//! Offset and size are bytes, the response time is in ticks. A device is a host and its disk.
//!
//! Known damage: header lines, which some copies have, are left out and counted. The spreadsheet variant has four
//! columns, `FILETIME Type Offset Size`, between tabs; large offsets stand there as `1.82083E+11`, of which the
//! lost digits are taken as zero and the sector as the one before.

use super::line::{Fields, LineDecoder};
use super::number::{end, rounded, scaled, whole};
use super::op;
use super::sink::{Raw, Sink};
use crate::{FieldError, SECTOR_BYTES};

/// Nanoseconds in a tick of a FILETIME.
pub(crate) const TICK_NS: u64 = 100;

/// Decoder of the table as published.
#[derive(Debug)]
pub(crate) struct Msr;

impl LineDecoder for Msr {
    fn line(&mut self, line: &[u8], sink: &mut Sink) -> Result<(), FieldError> {
        let mut fields = Fields::new(line, b',');
        if is_header(line) {
            sink.repaired("header line");
            return Ok(());
        }
        let time_ns = fields.scaled("Timestamp", TICK_NS)?;
        let volume = fields.rest().unwrap_or_default();
        let host = fields.next("Hostname")?;
        let disk = fields.next("DiskNumber")?;
        whole("DiskNumber", disk)?;
        let op = op::word("Type", fields.next("Type")?)?;
        let offset = fields.whole("Offset")?;
        let size = fields.whole("Size")?;
        let response = fields.next("ResponseTime")?;
        let completion_ns =
            end("ResponseTime", response, time_ns, scaled("ResponseTime", response, TICK_NS)?)?;
        fields.end("7 fields")?;
        let device = volume.get(..=host.len() + disk.len()).unwrap_or(volume);
        sink.push(Raw {
            device,
            completion_ns: Some(completion_ns),
            ..Raw::bytes(time_ns, op, offset, size)?
        })
    }
}

fn is_header(line: &[u8]) -> bool {
    let text = line.trim_ascii_start();
    text.first().is_some_and(u8::is_ascii_alphabetic)
        && text.get(..10).is_some_and(|start| start.eq_ignore_ascii_case(b"timestamp,"))
}

/// Decoder of the table that a spreadsheet had.
#[derive(Debug)]
pub(crate) struct MsrExcel;

impl LineDecoder for MsrExcel {
    fn line(&mut self, line: &[u8], sink: &mut Sink) -> Result<(), FieldError> {
        let mut fields = Fields::new(line, b'\t');
        let time_ns = fields.scaled("Timestamp", TICK_NS)?;
        let op = op::word("Type", fields.next("Type")?)?;
        let text = fields.next("Offset")?;
        let mut offset = rounded("Offset", text)?;
        if text.iter().any(|byte| matches!(byte, b'e' | b'E')) {
            offset -= offset % SECTOR_BYTES;
            sink.repaired("offset rounded by a spreadsheet");
        }
        let size = fields.whole("Size")?;
        fields.end("4 fields")?;
        sink.push(Raw::bytes(time_ns, op, offset, size)?)
    }

    fn assumptions(&self) -> Vec<String> {
        vec![
            "a spreadsheet zeroed the last digits of times and of large offsets: addresses are approximate"
                .to_owned(),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{decode, decode_err, decode_log};
    use super::*;
    use crate::Op;

    const LINE: &str = "128166385295514663,hm,0,Write,9056014336,2048,2833\n";

    #[test]
    fn a_line_is_a_request_with_its_completion() {
        let log = decode_log(Box::new(Msr), LINE);
        assert_eq!(
            (log[0].request.lba, log[0].request.sectors, log[0].request.op),
            (17_687_528, 4, Op::Write)
        );
        assert_eq!(log[0].completion_ns, Some(283_300));
    }

    #[test]
    fn ticks_are_exact_beyond_the_precision_of_a_double() {
        let text = format!("{LINE}128166385295514664,hm,0,Read,1,512,1\n");
        let (requests, _) = decode(Box::new(Msr), &text);
        assert_eq!(requests[1].time_ns, 100);
        // Bytes 1 to 513 touch two sectors.
        assert_eq!((requests[1].lba, requests[1].sectors), (0, 2));
    }

    #[test]
    fn header_lines_are_repaired() {
        let text = format!("Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n{LINE}");
        let (requests, report) = decode(Box::new(Msr), &text);
        assert_eq!((requests.len(), report.repaired_count()), (1, 1));
    }

    #[test]
    fn bad_fields_say_what_was_expected() {
        for (line, said) in [
            ("x,hm,0,Write,0,512,1", "Timestamp: found \"x\", expected a whole number"),
            ("1,hm,0,Wrote,0,512,1", "Type: found \"Wrote\", expected Read or Write"),
            ("1,hm,0,Write,-4096,512,1", "Offset: found \"-4096\", expected a number that is not negative"),
            ("1,hm,0,Write,0,-512,1", "Size: found \"-512\", expected a number that is not negative"),
            ("1,hm,0,Write,0,0,1", "size: found \"0\", expected a length above zero"),
            ("1,hm,0,Write,0,512", "ResponseTime: found the end of the line, expected one more field"),
            ("1,hm,0,Write,0,512,1,2", "line end: found \"2\", expected 7 fields"),
            ("1,hm,0,Write,99999999999999999999,512,1", "expected a number below 2^64"),
            ("1,hm,0,Write,18446744073709551615,512,1", "expected an end below 2^64 bytes"),
            ("1,hm,0,Write,0,18446744073709551615,1", "expected at most 4294967295 sectors"),
        ] {
            let error = decode_err(Box::new(Msr), line);
            assert!(error.contains(said), "{line}: {error}");
        }
    }

    #[test]
    fn offsets_from_a_spreadsheet_are_rounded_to_a_sector() {
        let text = "128166465299039000 \tRead\t32256\t8192\n128166465299119000 \tRead\t1.82083E+11\t4096\n";
        let (requests, report) = decode(Box::new(MsrExcel), text);
        assert_eq!((requests[0].lba, requests[0].sectors), (63, 16));
        assert_eq!((requests[1].lba, requests[1].sectors), (182_083_000_000 / 512, 8));
        assert_eq!(report.repaired_count(), 1);
        assert_eq!(requests[1].time_ns, 8_000_000);
    }
}
