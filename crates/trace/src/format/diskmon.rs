//! DiskMon: `index time duration disk request sector length` between tabs: seconds, seconds, 512-byte sectors.
//!
//! The duration is often zero or not to be trusted; a completion time is given where it is above zero. A time of day
//! (an option of the tool) is refused, since it does not say the date.

use super::line::{Fields, LineDecoder};
use super::number::{decimal, end, whole};
use super::op;
use super::sink::{Raw, Sink};
use crate::FieldError;

/// Decoder of the log.
#[derive(Debug)]
pub(crate) struct Diskmon;

impl LineDecoder for Diskmon {
    fn line(&mut self, line: &[u8], sink: &mut Sink) -> Result<(), FieldError> {
        let mut fields = Fields::new(line, b'\t');
        fields.whole("index")?;
        let time = fields.next("time")?;
        if time.contains(&b':') {
            return Err(FieldError::new("time", time, "seconds from the start, not a time of day"));
        }
        let time_ns = decimal("time", time, 9)?;
        let duration = fields.next("duration")?;
        let duration_ns = decimal("duration", duration, 9)?;
        let completion_ns = match duration_ns {
            0 => None,
            _ => Some(end("duration", duration, time_ns, duration_ns)?),
        };
        let device = fields.next("disk")?.trim_ascii();
        whole("disk", device)?;
        let op = op::word("request", fields.next("request")?)?;
        let lba = fields.whole("sector")?;
        let sectors = fields.whole("length")?;
        fields.end("7 fields")?;
        sink.push(Raw { device, completion_ns, ..Raw::sectors(time_ns, op, lba, sectors) })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{decode_err, decode_log};
    use super::*;

    #[test]
    fn seconds_and_sectors() {
        let text =
            "0\t0.500000\t0.00001544\t0\tWrite\t49339162\t3\n1\t0.800423\t0.00000000\t0\tRead\t13108142\t8\n";
        let log = decode_log(Box::new(Diskmon), text);
        assert_eq!(
            (log[0].request.lba, log[0].request.sectors, log[0].completion_ns),
            (49_339_162, 3, Some(15_440))
        );
        assert_eq!((log[1].request.time_ns, log[1].completion_ns), (300_423_000, None));
    }

    #[test]
    fn bad_fields_say_what_was_expected() {
        assert!(decode_err(Box::new(Diskmon), "0\t10:22:01\t0\t0\tRead\t1\t1").contains("not a time of day"));
        assert!(
            decode_err(Box::new(Diskmon), "0\t1.0\t0\t0\tReads\t1\t1").contains("expected Read or Write")
        );
    }
}
