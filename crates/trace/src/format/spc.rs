//! SPC trace format 1, as of the UMass traces: `ASU,LBA,Size,Opcode,Timestamp[,more]`.
//!
//! The address counts 512-byte blocks of its application storage unit, which is a device here; the size is in bytes
//! and rounded up to sectors; the time is decimal seconds. White space around fields and further fields are allowed,
//! as the specification asks.

use super::line::{Fields, LineDecoder};
use super::number::whole;
use super::op;
use super::sink::{Raw, Sink};
use crate::{FieldError, Op, SECTOR_BYTES};

/// Decoder of SPC lines.
#[derive(Debug)]
pub(crate) struct Spc;

impl LineDecoder for Spc {
    fn line(&mut self, line: &[u8], sink: &mut Sink) -> Result<(), FieldError> {
        let mut fields = Fields::new(line, b',');
        let device = fields.next("ASU")?.trim_ascii();
        whole("ASU", device)?;
        let lba = fields.whole("LBA")?;
        let bytes = fields.whole("Size")?;
        let op = op::letter("Opcode", fields.next("Opcode")?)?;
        if op == Op::Trim {
            return Err(FieldError::new("Opcode", b"d", "R or W"));
        }
        let time_ns = fields.decimal("Timestamp", 9)?;
        sink.push(Raw { device, ..Raw::sectors(time_ns, op, lba, bytes.div_ceil(SECTOR_BYTES)) })
    }

    fn assumptions(&self) -> Vec<String> {
        vec!["addresses count blocks of 512 bytes".to_owned()]
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{decode, decode_err};
    use super::*;

    #[test]
    fn sizes_are_bytes_and_rounded_up() {
        let (requests, _) =
            decode(Box::new(Spc), "0,303567,3584,w,0.000000\n 0 , 55590 , 513 , R , 0.026214 ,x,y\n");
        assert_eq!((requests[0].lba, requests[0].sectors, requests[0].op), (303_567, 7, Op::Write));
        assert_eq!((requests[1].sectors, requests[1].op, requests[1].time_ns), (2, Op::Read, 26_214_000));
    }

    #[test]
    fn bad_fields_say_what_was_expected() {
        for (line, said) in [
            ("a,1,512,w,0", "ASU: found \"a\""),
            ("0,1,512,x,0", "Opcode: found \"x\", expected R, W or D"),
            ("0,1,512,d,0", "expected R or W"),
            ("0,1,512,w", "Timestamp: found the end of the line"),
            ("0,1,512,w,-1.0", "Timestamp: found \"-1.0\", expected a number that is not negative"),
        ] {
            assert!(decode_err(Box::new(Spc), line).contains(said), "{line}");
        }
    }
}
