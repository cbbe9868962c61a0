//! Writing one CPU's file: each request as it was issued, and its completion where that is known.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::super::encode::Encoder;
use super::event::{COMPLETE, Event, ISSUE};
use crate::{LogRecord, SECTOR_BYTES};

/// The device that the requests are of: sda.
const DEVICE: u32 = 8 << 20;

/// Processes that get a number of their own.
const MOST_PROCESSES: usize = 1 << 16;

/// Encoder of blktrace.
#[derive(Default)]
pub(crate) struct BlktraceEncoder {
    sequence: u32,
    pids: BTreeMap<String, u32>,
    /// Completions still to be written, the earliest on top: time, order of issue, and what completed.
    completions: BinaryHeap<Reverse<(u64, u64, Completion)>>,
    issued: u64,
}

/// Sector, bytes, action and process of a completion.
type Completion = (u64, u32, u32, u32);

impl BlktraceEncoder {
    fn write(&mut self, event: Event, out: &mut Vec<u8>) {
        self.sequence = self.sequence.wrapping_add(1);
        Event { sequence: self.sequence, device: DEVICE, ..event }.write(out);
    }

    /// Writes the completions up to `time_ns`.
    fn complete(&mut self, until_ns: u64, out: &mut Vec<u8>) {
        while let Some(Reverse((time_ns, _, (sector, bytes, action, pid)))) = self.completions.peek().copied()
        {
            if time_ns > until_ns {
                return;
            }
            self.completions.pop();
            self.write(Event { time_ns, sector, bytes, action, pid, ..Event::default() }, out);
        }
    }

    /// The number of a process; its name is written when it is new.
    fn pid(&mut self, name: &str, time_ns: u64, out: &mut Vec<u8>) -> u32 {
        if name.is_empty() {
            return 0;
        }
        if let Some(pid) = self.pids.get(name) {
            return *pid;
        }
        if self.pids.len() == MOST_PROCESSES {
            return 0;
        }
        let pid = self.pids.len() as u32 + 1;
        self.pids.insert(name.to_owned(), pid);
        Event::write_name(pid, time_ns, name.as_bytes(), out);
        pid
    }
}

impl Encoder for BlktraceEncoder {
    fn encode(&mut self, record: &LogRecord, out: &mut Vec<u8>) -> Result<(), String> {
        let request = record.request;
        let (time_ns, sector) = (request.time_ns, request.lba);
        let Ok(bytes) = u32::try_from(u64::from(request.sectors) * SECTOR_BYTES) else {
            return Err(format!(
                "blktrace holds requests below 4 GiB, not one of {} sectors",
                request.sectors
            ));
        };
        self.complete(time_ns, out);
        let pid = self.pid(&record.process, time_ns, out);
        let action = Event::action_of(ISSUE, request.op, record.flags);
        self.write(Event { time_ns, sector, bytes, action, pid, ..Event::default() }, out);
        if let Some(end_ns) = record.completion_ns {
            let action = Event::action_of(COMPLETE, request.op, record.flags);
            self.completions.push(Reverse((end_ns, self.issued, (sector, bytes, action, pid))));
        }
        self.issued += 1;
        Ok(())
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Result<(), String> {
        self.complete(u64::MAX, out);
        Ok(())
    }
}
