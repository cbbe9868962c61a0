//! Alibaba 2020: `device_id,opcode,offset,length,timestamp` in bytes and microseconds; and the log of a replay of it:
//! `arrival_ms,latency_us,type,size,offset,submit_ms,returned`, bytes, type 1 for a read.

use super::line::{Fields, LineDecoder};
use super::number::{end, scaled, whole};
use super::op;
use super::sink::{Raw, Sink};
use crate::FieldError;

/// Decoder of the trace as published.
#[derive(Debug)]
pub(crate) struct Alibaba;

impl LineDecoder for Alibaba {
    fn line(&mut self, line: &[u8], sink: &mut Sink) -> Result<(), FieldError> {
        let mut fields = Fields::new(line, b',');
        let device = fields.next("device_id")?;
        if device == b"device_id" {
            sink.repaired("header line");
            return Ok(());
        }
        whole("device_id", device)?;
        let op = op::letter("opcode", fields.next("opcode")?)?;
        let offset = fields.whole("offset")?;
        let length = fields.whole("length")?;
        let time_ns = fields.scaled("timestamp", 1000)?;
        fields.end("5 fields")?;
        sink.push(Raw { device, ..Raw::bytes(time_ns, op, offset, length)? })
    }
}

/// Decoder of the replay's log.
#[derive(Debug)]
pub(crate) struct Replaylog;

impl LineDecoder for Replaylog {
    fn line(&mut self, line: &[u8], sink: &mut Sink) -> Result<(), FieldError> {
        let mut fields = Fields::new(line, b',');
        let time_ns = fields.decimal("arrival", 6)?;
        let latency = fields.next("latency")?;
        let latency_ns = scaled("latency", latency, 1000)?;
        let op = op::digit("type", fields.next("type")?, b'1')?;
        let size = fields.whole("size")?;
        let offset = fields.whole("offset")?;
        let submit_ns = fields.decimal("submit", 6)?;
        // The bytes returned are negative where the replay failed; the request was made all the same.
        fields.next("returned")?;
        fields.end("7 fields")?;
        let completion_ns = end("latency", latency, submit_ns, latency_ns)?;
        let raw = Raw::bytes(time_ns, op, offset, size)?;
        sink.push(Raw { issue_ns: Some(submit_ns), completion_ns: Some(completion_ns), ..raw })
    }

    fn assumptions(&self) -> Vec<String> {
        vec!["latencies are those of the drive that replayed the trace, not of the one traced".to_owned()]
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{decode, decode_err, decode_log, extents};
    use super::*;
    use crate::Op;

    #[test]
    fn alibaba_counts_bytes_and_microseconds() {
        let text = "0,R,126703644672,4096,1577808000000626\n0,W,4096,512,1577808000000700\n";
        let (requests, _) = decode(Box::new(Alibaba), text);
        assert_eq!((requests[0].lba, requests[0].sectors), (247_468_056, 8));
        assert_eq!((requests[1].time_ns, requests[1].op), (74_000, Op::Write));
        let ends = extents(Box::new(Alibaba), "7,R,0,4096,1\n3,W,4096,512,2\n");
        assert_eq!((ends[&b"7"[..]], ends[&b"3"[..]]), (8, 9));
    }

    #[test]
    fn a_replay_log_has_issue_and_completion() {
        let log = decode_log(
            Box::new(Replaylog),
            "0.000,81,0,4096,23979941888,0.096,4096\n8.724,6,1,512,0,8.781,-5\n",
        );
        assert_eq!((log[0].issue_ns, log[0].completion_ns), (Some(96_000), Some(177_000)));
        assert_eq!((log[1].request.op, log[1].request.time_ns), (Op::Read, 8_724_000));
    }

    #[test]
    fn bad_fields_say_what_was_expected() {
        assert!(
            decode_err(Box::new(Alibaba), "0,X,0,4096,1").contains("opcode: found \"X\", expected R, W or D")
        );
        assert!(decode_err(Box::new(Alibaba), "0,R,0,-1,1").contains("length: found \"-1\""));
        assert!(decode_err(Box::new(Replaylog), "0.0,81,2,4096,0,0.1,1").contains("type: found \"2\""));
        assert!(decode_err(Box::new(Replaylog), "0.0,81,1,4096,0,0.1").contains("returned: found the end"));
    }
}
