//! CSV twin of VMware's vscsiStats: `version,time,op,size,lbn`: seconds, a hexadecimal SCSI operation code, bytes,
//! 512-byte blocks. Commands that move no data are left out, counted by kind.

use super::line::{Fields, LineDecoder};
use super::number::{hex, whole};
use super::op;
use super::sink::{Raw, Sink};
use crate::{FieldError, Op, SECTOR_BYTES};

/// Decoder of the table.
#[derive(Debug)]
pub(crate) struct VscsiCsv;

impl LineDecoder for VscsiCsv {
    fn line(&mut self, line: &[u8], sink: &mut Sink) -> Result<(), FieldError> {
        let mut fields = Fields::new(line, b',');
        let version = fields.next("version")?;
        if version == b"version" {
            return Ok(());
        }
        whole("version", version)?;
        let time_ns = fields.decimal("time", 9)?;
        let code = fields.next("op")?;
        let code_number = hex("op", code)?;
        if code_number > 0xff {
            return Err(FieldError::new("op", code, "a SCSI operation code of one byte"));
        }
        let bytes = fields.whole("size")?;
        let lba = fields.whole("lbn")?;
        fields.end("5 fields")?;
        match op::scsi(code_number) {
            None => sink.left_out("SCSI command without data"),
            Some(Op::Flush) => sink.push(Raw::flush(time_ns))?,
            Some(_) if bytes == 0 => sink.left_out("SCSI command of no length"),
            Some(op) => sink.push(Raw::sectors(time_ns, op, lba, bytes.div_ceil(SECTOR_BYTES)))?,
        }
        Ok(())
    }

    fn assumptions(&self) -> Vec<String> {
        vec!["the clock has steps of 1 s where times are whole seconds".to_owned()]
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{decode, decode_err};
    use super::*;

    #[test]
    fn operations_are_scsi_codes() {
        let text = "version,time,op,size,lbn\n1,5633898,2a,512,42932745\n1,5633898,28,6656,7\n1,5633899,35,0,0\n1,5633899,12,36,0\n";
        let (requests, report) = decode(Box::new(VscsiCsv), text);
        assert_eq!((requests[0].op, requests[0].lba, requests[0].sectors), (Op::Write, 42_932_745, 1));
        assert_eq!((requests[1].op, requests[1].sectors), (Op::Read, 13));
        assert_eq!((report.requests, report.flushes, report.left_out[0].count), (2, 1, 1));
    }

    #[test]
    fn bad_fields_say_what_was_expected() {
        assert!(
            decode_err(Box::new(VscsiCsv), "1,2,zz,512,0")
                .contains("op: found \"zz\", expected a hexadecimal")
        );
        assert!(decode_err(Box::new(VscsiCsv), "1,2,fff,512,0").contains("one byte"));
    }
}
