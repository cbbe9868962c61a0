//! Line formats that are written: from a record to a line.

use std::io::Write;

use super::Format;
use crate::{LogRecord, Op};

/// Encodes records as a format. What it appends to `out` is written by the [`Writer`](super::Writer).
pub(crate) trait Encoder: Send {
    /// Writes the text before the first record.
    fn start(&mut self, _out: &mut Vec<u8>) -> Result<(), String> {
        Ok(())
    }

    /// True if the format has an operation like `op`.
    fn holds(&self, op: Op) -> bool {
        !op.is_zoned()
    }

    /// One record of an operation that the format has; an error says what else of it the format can't hold.
    fn encode(&mut self, record: &LogRecord, out: &mut Vec<u8>) -> Result<(), String>;

    /// Writes the text behind the last record.
    fn finish(&mut self, _out: &mut Vec<u8>) -> Result<(), String> {
        Ok(())
    }
}

/// The encoder of `format`, if it is written and has lines.
pub(crate) fn line_encoder(format: Format) -> Option<Box<dyn Encoder>> {
    Some(match format {
        Format::Msr => Box::new(Msr),
        Format::Spc => Box::new(Spc),
        Format::Disksim | Format::Ssdsim | Format::Mqsim => Box::new(Columns5(format)),
        Format::FioV2 => Box::new(Fio { version: 2, waited_ns: 0 }),
        Format::FioV3 => Box::new(Fio { version: 3, waited_ns: 0 }),
        _ => return None,
    })
}

/// FILETIME that is written for time zero: the Unix epoch, in ticks of 100 ns.
const EPOCH_TICKS: u64 = 116_444_736_000_000_000;

/// Nanoseconds in a tick.
const TICK_NS: u64 = 100;

/// The name under which version 2 and 3 of fio's logs know the device.
const FIO_FILE: &str = "device";

/// The shortest wait that fio heeds, ns.
const SHORTEST_WAIT_NS: u64 = 100_000;

/// True if `op` moves data: the operations of formats that know only reads and writes.
const fn moves_data(op: Op) -> bool {
    matches!(op, Op::Read | Op::Write)
}

/// Bytes from the start of the drive.
fn offset(record: &LogRecord, format: &str) -> Result<u64, String> {
    let lba = record.request.lba;
    lba.checked_mul(crate::SECTOR_BYTES)
        .ok_or_else(|| format!("{format} counts bytes in 64 bits, which sector {lba} is beyond"))
}

fn failed(error: &std::io::Error) -> String {
    error.to_string()
}

struct Msr;

impl Encoder for Msr {
    fn holds(&self, op: Op) -> bool {
        moves_data(op)
    }

    fn encode(&mut self, record: &LogRecord, out: &mut Vec<u8>) -> Result<(), String> {
        let request = &record.request;
        let kind = if request.op == Op::Read { "Read" } else { "Write" };
        let offset = offset(record, "msr")?;
        let ticks = EPOCH_TICKS + request.time_ns / TICK_NS;
        let response =
            record.completion_ns.map_or(0, |end| (end / TICK_NS).saturating_sub(request.time_ns / TICK_NS));
        writeln!(out, "{ticks},flashweir,0,{kind},{offset},{},{response}", request.bytes())
            .map_err(|error| failed(&error))
    }
}

struct Spc;

impl Encoder for Spc {
    fn holds(&self, op: Op) -> bool {
        moves_data(op)
    }

    fn encode(&mut self, record: &LogRecord, out: &mut Vec<u8>) -> Result<(), String> {
        let request = &record.request;
        let kind = if request.op == Op::Read { 'r' } else { 'w' };
        let (seconds, nanos) = (request.time_ns / 1_000_000_000, request.time_ns % 1_000_000_000);
        writeln!(out, "0,{},{},{kind},{seconds}.{nanos:09}", request.lba, request.bytes())
            .map_err(|error| failed(&error))
    }
}

struct Columns5(Format);

impl Encoder for Columns5 {
    fn holds(&self, op: Op) -> bool {
        moves_data(op)
    }

    fn encode(&mut self, record: &LogRecord, out: &mut Vec<u8>) -> Result<(), String> {
        let request = &record.request;
        let flag = u8::from(request.op == Op::Read);
        let time = request.time_ns;
        if self.0 == Format::Disksim {
            write!(out, "{}.{:06}", time / 1_000_000, time % 1_000_000).map_err(|error| failed(&error))?;
        } else {
            write!(out, "{time}").map_err(|error| failed(&error))?;
        }
        writeln!(out, " 0 {} {} {flag}", request.lba, request.sectors).map_err(|error| failed(&error))
    }
}

struct Fio {
    version: u8,
    /// Time that the waits written so far add up to (version 2).
    waited_ns: u64,
}

impl Encoder for Fio {
    fn start(&mut self, out: &mut Vec<u8>) -> Result<(), String> {
        let stamp = if self.version == 3 { "0 " } else { "" };
        writeln!(out, "fio version {} iolog\n{stamp}{FIO_FILE} add\n{stamp}{FIO_FILE} open", self.version)
            .map_err(|error| failed(&error))
    }

    fn encode(&mut self, record: &LogRecord, out: &mut Vec<u8>) -> Result<(), String> {
        let request = &record.request;
        let action = if request.op == Op::Flush { "sync" } else { request.op.name() };
        let offset = offset(record, "fio's iolog")?;
        if self.version == 3 {
            write!(out, "{} ", request.time_ns / 1000).map_err(|error| failed(&error))?;
        } else {
            // Waits shorter than fio heeds are put off until they add up.
            let due_ns = request.time_ns.saturating_sub(self.waited_ns);
            if due_ns >= SHORTEST_WAIT_NS {
                let wait_us = due_ns / 1000;
                self.waited_ns += wait_us * 1000;
                writeln!(out, "{FIO_FILE} wait {wait_us} 0").map_err(|error| failed(&error))?;
            }
        }
        writeln!(out, "{FIO_FILE} {action} {offset} {}", request.bytes()).map_err(|error| failed(&error))?;
        self.waited_ns = if self.version == 3 { request.time_ns } else { self.waited_ns };
        Ok(())
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Result<(), String> {
        let stamp = if self.version == 3 { format!("{} ", self.waited_ns / 1000) } else { String::new() };
        writeln!(out, "{stamp}{FIO_FILE} close").map_err(|error| failed(&error))
    }
}
