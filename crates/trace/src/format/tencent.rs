//! Tencent CBS: `Timestamp,Offset,Size,IOType,VolumeID`: seconds, sectors, sectors, 0 for a read.
//!
//! The clock has steps of one second, so thousands of requests share a time; now and then it goes back by one, which
//! is clamped.

use super::line::{Fields, LineDecoder};
use super::number::whole;
use super::op;
use super::sink::{Raw, Sink};
use crate::FieldError;

/// Decoder of the table.
#[derive(Debug)]
pub(crate) struct Tencent;

impl LineDecoder for Tencent {
    fn line(&mut self, line: &[u8], sink: &mut Sink) -> Result<(), FieldError> {
        let mut fields = Fields::new(line, b',');
        if line.starts_with(b"Timestamp,") {
            sink.repaired("header line");
            return Ok(());
        }
        let time_ns = fields.scaled("Timestamp", 1_000_000_000)?;
        let lba = fields.whole("Offset")?;
        let sectors = fields.whole("Size")?;
        let op = op::digit("IOType", fields.next("IOType")?, b'0')?;
        let device = fields.next("VolumeID")?.trim_ascii();
        whole("VolumeID", device)?;
        fields.end("5 fields")?;
        sink.push(Raw { device, ..Raw::sectors(time_ns, op, lba, sectors) })
    }

    fn assumptions(&self) -> Vec<String> {
        vec![
            "the clock has steps of 1 s: requests of one second arrive together, in the order of the file"
                .to_owned(),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{decode, decode_err};
    use super::*;
    use crate::Op;

    #[test]
    fn sectors_and_seconds_that_step_back() {
        let text = "1538323200,4247200,128,1,1058\n1538323199,13896880,128,0,1058\n1538323201,1,8,0,1058\n";
        let (requests, report) = decode(Box::new(Tencent), text);
        assert_eq!((requests[0].lba, requests[0].sectors, requests[0].op), (4_247_200, 128, Op::Write));
        assert_eq!(requests.iter().map(|request| request.time_ns).collect::<Vec<_>>(), [0, 0, 1_000_000_000]);
        assert_eq!(report.clamped_times, 1);
    }

    #[test]
    fn bad_fields_say_what_was_expected() {
        assert!(
            decode_err(Box::new(Tencent), "1,2,3,R,5").contains("IOType: found \"R\", expected 0 (read)")
        );
        assert!(decode_err(Box::new(Tencent), "99999999999,2,3,1,5").contains("Timestamp"));
    }
}
