//! Disk table of Windows Performance Analyzer, in a locale with decimal commas: 14 columns between semicolons.
//!
//! `IO Type;Priority;Process;Init Time (s);Complete Time (s);IO Time (us);Disk Service Time (us);Size (B);Min Offset;
//! Max Offset;QD/I;QD/C;Disk;Count`. Numbers have dots between thousands, offsets are hexadecimal bytes. Flushes have
//! no address. Rows are sorted by type, so the whole table is sorted by time in memory: 24 bytes a row.

use super::line::{Fields, LineDecoder};
use super::number::{decimal, hex, whole};
use super::op;
use super::sink::{Order, Raw, Sink};
use crate::FieldError;

/// Decoder of the export.
#[derive(Debug)]
pub(crate) struct Wpa;

impl LineDecoder for Wpa {
    fn line(&mut self, line: &[u8], sink: &mut Sink) -> Result<(), FieldError> {
        let mut fields = Fields::new(line, b';');
        let kind = fields.next("IO Type")?;
        if kind == b"IO Type" {
            return Ok(());
        }
        fields.next("Priority")?;
        let process = fields.next("Process")?;
        let time_ns = local("Init Time", fields.next("Init Time")?, 9)?;
        let completion_ns = local("Complete Time", fields.next("Complete Time")?, 9)?;
        fields.next("IO Time")?;
        fields.next("Disk Service Time")?;
        let size = local("Size", fields.next("Size")?, 0)?;
        let offset = hex("Min Offset", fields.next("Min Offset")?)?;
        fields.next("Max Offset")?;
        fields.next("QD/I")?;
        fields.next("QD/C")?;
        let device = fields.next("Disk")?;
        whole("Disk", device)?;
        fields.next("Count")?;
        fields.end("14 fields")?;
        let raw = if kind == b"Flush" {
            Raw::flush(time_ns)
        } else {
            Raw { device, ..Raw::bytes(time_ns, op::word("IO Type", kind)?, offset, size)? }
        };
        sink.push(Raw { completion_ns: Some(completion_ns), process, ..raw })
    }

    fn order(&self) -> Order {
        Order::Whole
    }

    fn assumptions(&self) -> Vec<String> {
        vec![
            "numbers are written with decimal commas and dots between thousands".to_owned(),
            "rows are sorted by type: the whole table was sorted by Init Time in memory".to_owned(),
        ]
    }
}

/// A number with a decimal comma and dots between thousands, times `10^power`.
fn local(field: &'static str, text: &[u8], power: u32) -> Result<u64, FieldError> {
    let mut plain = [0u8; 40];
    let mut length = 0;
    for &byte in text.iter().filter(|byte| **byte != b'.') {
        let Some(place) = plain.get_mut(length) else {
            return Err(FieldError::new(field, text, "a number of at most 40 digits"));
        };
        *place = if byte == b',' { b'.' } else { byte };
        length += 1;
    }
    // The message quotes what stands in the file.
    decimal(field, &plain[..length], power).map_err(|error| FieldError::new(field, text, error.expected))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{decode, decode_err, decode_log};
    use super::*;
    use crate::Op;

    const TEXT: &str = "IO Type;Priority;Process (Name);Init Time (s)\r\n\
        Write;Normal;System;1,500000000;1,600000000;1.795,900;87,200;16.384;0x0000000000000400;0x43FF;0;0;1;1\r\n\
        Read;Normal;a.exe;1,079943800;1,080031000;87,200;87,200;512;0x0000000000000000;0x1FF;0;0;1;1\r\n\
        Flush;Normal;System;1,7;1,8;45,700;45,700;0;0xFFFFFFFFFFFFFFFF;0xFFFFFFFFFFFFFFFF;0;1;1;1\r\n";

    #[test]
    fn rows_are_sorted_by_time() {
        let log = decode_log(Box::new(Wpa), TEXT);
        assert_eq!(
            (log[0].request.op, log[0].request.sectors, log[0].process.as_str()),
            (Op::Read, 1, "a.exe")
        );
        assert_eq!(
            (log[1].request.lba, log[1].request.sectors, log[1].request.time_ns),
            (2, 32, 420_056_200)
        );
        assert_eq!(log[1].completion_ns, Some(520_056_200));
        let (_, report) = decode(Box::new(Wpa), TEXT);
        assert_eq!((report.requests, report.flushes, report.reordered), (2, 1, 1));
    }

    #[test]
    fn bad_fields_say_what_was_expected() {
        let line = "Read;N;p;1,0;1,1;1;1;512;zz;0x1FF;0;0;1;1";
        assert!(decode_err(Box::new(Wpa), line).contains("Min Offset: found \"zz\", expected a hexadecimal"));
        let line = "Read;N;p;1,0;1,1;1;1;-512;0x0;0x1FF;0;0;1;1";
        assert!(
            decode_err(Box::new(Wpa), line)
                .contains("Size: found \"-512\", expected a number that is not negative")
        );
    }
}
