//! SYSTOR '17: `Timestamp,Response,IOType,LUN,Offset,Size`: Unix seconds and seconds with nine decimals, bytes.
//!
//! Rows were published in the order of completion, so they are sorted by time in a window of 65536 rows. The response
//! may be empty. Rows whose operation is empty are no reads or writes and left out, counted.

use super::line::{Fields, LineDecoder};
use super::number::{decimal, end, whole};
use super::op;
use super::sink::{Order, Raw, Sink};
use crate::FieldError;

/// Rows held to put them in order: about ten seconds of the busiest volume.
const WINDOW: usize = 1 << 16;

/// Decoder of the table.
#[derive(Debug)]
pub(crate) struct Systor;

impl LineDecoder for Systor {
    fn line(&mut self, line: &[u8], sink: &mut Sink) -> Result<(), FieldError> {
        let mut fields = Fields::new(line, b',');
        if line.starts_with(b"Timestamp,") {
            return Ok(());
        }
        let time_ns = fields.decimal("Timestamp", 9)?;
        let response = fields.next("Response")?;
        let completion_ns = if response.is_empty() {
            None
        } else {
            Some(end("Response", response, time_ns, decimal("Response", response, 9)?)?)
        };
        let op = fields.next("IOType")?;
        let device = fields.next("LUN")?;
        whole("LUN", device)?;
        let offset = fields.next("Offset")?;
        let size = fields.next("Size")?;
        fields.end("6 fields")?;
        if op.is_empty() {
            sink.left_out("row without an IOType");
            return Ok(());
        }
        let op = op::letter("IOType", op)?;
        let raw = Raw::bytes(time_ns, op, whole("Offset", offset)?, whole("Size", size)?)?;
        sink.push(Raw { device, completion_ns, ..raw })
    }

    fn order(&self) -> Order {
        Order::Window(WINDOW)
    }

    fn assumptions(&self) -> Vec<String> {
        vec![format!("rows are in order of completion: sorted by time in a window of {WINDOW} rows")]
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{decode, decode_err, decode_log};
    use super::*;

    const TEXT: &str = "Timestamp,Response,IOType,LUN,Offset,Size\n\
        1456095145.133076000,0.000806000,R,0,899056122368,131072\n\
        1456095145.126285000,,W,0,4096,512\n\
        1456095145.126285000,0.1,,0,,\n";

    #[test]
    fn rows_are_sorted_and_responses_may_be_missing() {
        let (requests, report) = decode(Box::new(Systor), TEXT);
        assert_eq!(requests.iter().map(|request| request.time_ns).collect::<Vec<_>>(), [0, 6_791_000]);
        assert_eq!((report.reordered, report.clamped_times, report.left_out[0].count), (1, 0, 1));
        let log = decode_log(Box::new(Systor), TEXT);
        assert_eq!(log[0].completion_ns, None);
        assert_eq!(log[1].completion_ns, Some(7_597_000));
    }

    #[test]
    fn bad_fields_say_what_was_expected() {
        assert!(decode_err(Box::new(Systor), "1.0,x,R,0,0,512").contains("Response: found \"x\""));
        assert!(decode_err(Box::new(Systor), "1.0,,R,0,0,-512").contains("Size: found \"-512\""));
    }
}
