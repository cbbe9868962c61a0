//! Pixel phones: `proces,device,rw_flag,sector,size,timestamp` (spelt so), sectors and seconds of uptime.
//!
//! Times were printed from floats (`159273.83748699998`) and are rounded to whole nanoseconds. The files have CRLF
//! line ends. A process name may hold commas, so fields are taken from the end.

use super::line::LineDecoder;
use super::number::{decimal, whole};
use super::op;
use super::sink::{Raw, Sink};
use crate::FieldError;

/// Decoder of the table.
#[derive(Debug)]
pub(crate) struct Pixel;

impl LineDecoder for Pixel {
    fn line(&mut self, line: &[u8], sink: &mut Sink) -> Result<(), FieldError> {
        if line.starts_with(b"proces") && line.ends_with(b",timestamp") {
            return Ok(());
        }
        let (rest, time) = split_last(line, "timestamp")?;
        let (rest, size) = split_last(rest, "size")?;
        let (rest, sector) = split_last(rest, "sector")?;
        let (rest, op) = split_last(rest, "rw_flag")?;
        let (process, device) = split_last(rest, "device")?;
        whole("device", device)?;
        let op = op::letter("rw_flag", op)?;
        let lba = whole("sector", sector)?;
        let sectors = whole("size", size)?;
        let time_ns = decimal("timestamp", time, 9)?;
        sink.push(Raw { device, process, ..Raw::sectors(time_ns, op, lba, sectors) })
    }
}

fn split_last<'a>(line: &'a [u8], field: &'static str) -> Result<(&'a [u8], &'a [u8]), FieldError> {
    let at = line.iter().rposition(|byte| *byte == b',').ok_or_else(|| FieldError::missing(field))?;
    Ok((&line[..at], &line[at + 1..]))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{decode_err, decode_log};
    use super::*;
    use crate::Op;

    #[test]
    fn processes_may_hold_commas_and_times_are_rounded() {
        let text = "proces,device,rw_flag,sector,size,timestamp\r\n<...>-12228,8388608,R,29880920,16,159273.751646\r\n\
            odd,name-1,8388608,W,30175712,8,159273.83748699998\r\n";
        let log = decode_log(Box::new(Pixel), text);
        assert_eq!(
            (log[0].request.lba, log[0].request.sectors, log[0].request.op),
            (29_880_920, 16, Op::Read)
        );
        assert_eq!(log[1].process, "odd,name-1");
        assert_eq!(log[1].request.time_ns, 85_841_000);
    }

    #[test]
    fn bad_fields_say_what_was_expected() {
        assert!(
            decode_err(Box::new(Pixel), "p,1,Q,0,8,1.0").contains("rw_flag: found \"Q\", expected R, W or D")
        );
        assert!(decode_err(Box::new(Pixel), "1,R,0,8,1.0").contains("device: found the end of the line"));
    }
}
