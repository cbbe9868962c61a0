//! VMware vscsiStats: binary records of 32 bytes (version 1) or 40 bytes (version 2), little-endian. Times are
//! microseconds on any clock, addresses are sectors, lengths bytes. Version 2 has the response time as well.
//!
//! Commands that move no data between host and disk are left out, counted.

use super::op;
use super::record::{FixedRecord, u16_at, u32_at, u64_at};
use super::sink::{Raw, Sink};
use crate::{FieldError, Op, SECTOR_BYTES};

const NS_PER_US: u64 = 1000;

/// Version 1.
#[derive(Debug)]
pub(crate) struct V1;

/// Version 2.
#[derive(Debug)]
pub(crate) struct V2;

impl FixedRecord for V1 {
    const BYTES: usize = 32;

    fn fits(record: &[u8]) -> bool {
        u16_at(record, 14) >> 8 == 1 && u16_at(record, 12) < 256
    }

    fn decode(&mut self, record: &[u8], sink: &mut Sink) -> Result<(), FieldError> {
        version(u16_at(record, 14), 1)?;
        let (cmd, length) = (u16_at(record, 12), u32_at(record, 4));
        push(sink, cmd, length, u64_at(record, 16), u64_at(record, 24), None)
    }
}

impl FixedRecord for V2 {
    const BYTES: usize = 40;

    fn fits(record: &[u8]) -> bool {
        u16_at(record, 2) >> 8 == 2 && u16_at(record, 0) < 256
    }

    fn decode(&mut self, record: &[u8], sink: &mut Sink) -> Result<(), FieldError> {
        version(u16_at(record, 2), 2)?;
        let (cmd, length) = (u16_at(record, 0), u32_at(record, 8));
        push(sink, cmd, length, u64_at(record, 16), u64_at(record, 24), Some(u64_at(record, 32)))
    }

    fn assumptions(&self) -> Vec<String> {
        vec![
            "the time of a record is when the command was issued; it completed the response time later"
                .to_owned(),
        ]
    }
}

fn version(found: u16, wanted: u16) -> Result<(), FieldError> {
    if found >> 8 == wanted {
        return Ok(());
    }
    let expected = if wanted == 1 { "0x100, version 1" } else { "0x200, version 2" };
    Err(FieldError::new("version", format!("{found:#x}").as_bytes(), expected))
}

fn push(
    sink: &mut Sink,
    cmd: u16,
    length: u32,
    lba: u64,
    micros: u64,
    response_micros: Option<u64>,
) -> Result<(), FieldError> {
    let late = |us: u64| FieldError::new("ts", us.to_string().as_bytes(), "a time below 2^64 ns");
    let nanos = |us: u64| us.checked_mul(NS_PER_US).ok_or_else(|| late(us));
    let time_ns = nanos(micros)?;
    let Some(op) = op::scsi(u64::from(cmd)) else {
        sink.left_out("SCSI command that is no read, write or flush");
        return Ok(());
    };
    if op != Op::Flush && length == 0 {
        sink.left_out("SCSI command of no length");
        return Ok(());
    }
    let completion_ns = match response_micros {
        Some(us) => Some(nanos(us)?.checked_add(time_ns).ok_or_else(|| late(us))?),
        None => None,
    };
    let raw = if op == Op::Flush {
        Raw::flush(time_ns)
    } else {
        Raw::sectors(time_ns, op, lba, u64::from(length).div_ceil(SECTOR_BYTES))
    };
    sink.push(Raw { completion_ns, ..raw })
}
