//! The journal of a log that is being made: records of 64 bytes, appended as requests complete, so that whatever ends the process, all that
//! was written can be read. A Parquet file has its table of contents at its end and can't do that; the journal becomes one when the
//! log is complete.
//!
//! Records stand in the order of completion; they are read in the order of their times. A record has no name of a process.

mod plug;
mod read;
#[cfg(test)]
mod tests;
mod write;

pub(crate) use plug::JournalDecoder;
pub use read::JournalReader;
pub use write::JournalWriter;

use crate::{LogRecord, Op, Request};

/// First bytes of a file of this version; the rest of the header is zero.
const MAGIC: &[u8; 24] = b"flashweir journal 1\n\0\0\0\0";

/// Size of a record, and of the header.
const BYTES: usize = 64;

/// Bits of the optional times that are present.
const HAS_DUE: u8 = 1;
const HAS_ISSUE: u8 = 2;
const HAS_COMPLETION: u8 = 4;

/// A record as it stands in the file, little-endian: time, lba, due, issue, completion (u64), sectors, flags (u32), stream (u16), op,
/// which times there are, placement handle (u8), zeros, and a sum over all that.
fn encode(record: &LogRecord) -> [u8; BYTES] {
    let request = &record.request;
    let times = [record.due_ns, record.issue_ns, record.completion_ns];
    let mut bytes = [0; BYTES];
    let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
    put(0, &request.time_ns.to_le_bytes());
    put(8, &request.lba.to_le_bytes());
    for (number, time) in times.into_iter().enumerate() {
        put(16 + number * 8, &time.unwrap_or(0).to_le_bytes());
    }
    put(40, &request.sectors.to_le_bytes());
    put(44, &record.flags.to_le_bytes());
    put(48, &request.stream.to_le_bytes());
    let present = [HAS_DUE, HAS_ISSUE, HAS_COMPLETION];
    let present = times.iter().zip(present).map(|(time, bit)| if time.is_some() { bit } else { 0 }).sum();
    put(50, &[request.op as u8, present, request.handle]);
    let sum = sum(&bytes);
    bytes[56..].copy_from_slice(&sum.to_le_bytes());
    bytes
}

/// The record of these bytes; `None` if they are none, or damaged.
fn decode(bytes: &[u8; BYTES]) -> Option<LogRecord> {
    let number = |at: usize, length: usize| {
        bytes[at..at + length].iter().rev().fold(0u64, |value, byte| value << 8 | u64::from(*byte))
    };
    if number(56, 8) != sum(bytes) {
        return None;
    }
    let op = *Op::ALL.get(usize::from(bytes[50]))?;
    let time = |at: usize, bit: u8| (bytes[51] & bit != 0).then(|| number(at, 8));
    let request = Request {
        time_ns: number(0, 8),
        lba: number(8, 8),
        sectors: number(40, 4) as u32,
        stream: number(48, 2) as u16,
        op,
        handle: bytes[52],
    };
    Some(LogRecord {
        request,
        due_ns: time(16, HAS_DUE),
        issue_ns: time(24, HAS_ISSUE),
        completion_ns: time(32, HAS_COMPLETION),
        flags: number(44, 4) as u32,
        process: String::new(),
    })
}

/// FNV-1a (Fowler, Noll, Vo) of a record without its sum, from a start that makes zeros no record.
fn sum(bytes: &[u8; BYTES]) -> u64 {
    bytes[..56]
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3))
}
