//! Writing one CPU's file. Each request is queued (Q), gets room (G), is inserted (I) and issued (D), all at its time except
//! that it is issued when that is known to be later; and completes (C) where that is known. So `btt` and fio read it too.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::super::encode::Encoder;
use super::event::{ALLOCATE, COMPLETE, Event, INSERT, ISSUE, QUEUE};
use crate::{LogRecord, SECTOR_BYTES};

/// The device that the requests are of: sda.
const DEVICE: u32 = 8 << 20;

/// Processes that get a number of their own.
const MAX_PROCESSES: usize = 1 << 16;

/// Encoder of blktrace.
#[derive(Default)]
pub(crate) struct BlktraceEncoder {
    sequence: u32,
    pids: BTreeMap<String, u32>,
    /// Events of requests still to be written, the earliest on top: time, order, and what happens.
    later: BinaryHeap<Reverse<(u64, u64, Later)>>,
    ordered: u64,
}

/// Sector, bytes, action and process of an event.
type Later = (u64, u32, u32, u32);

impl BlktraceEncoder {
    fn write(&mut self, event: Event, out: &mut Vec<u8>) {
        self.sequence = self.sequence.wrapping_add(1);
        Event { sequence: self.sequence, device: DEVICE, ..event }.write(out);
    }

    /// Writes what happens up to `until_ns`.
    fn write_until(&mut self, until_ns: u64, out: &mut Vec<u8>) {
        while let Some(Reverse((time_ns, _, (sector, bytes, action, pid)))) = self.later.peek().copied() {
            if time_ns > until_ns {
                return;
            }
            self.later.pop();
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
        if self.pids.len() == MAX_PROCESSES {
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
        self.write_until(time_ns, out);
        let pid = self.pid(&record.process, time_ns, out);
        let action = |what| Event::action_of(what, request.op, record.flags);
        for what in [QUEUE, ALLOCATE, INSERT] {
            self.write(Event { time_ns, sector, bytes, action: action(what), pid, ..Event::default() }, out);
        }
        let issue_ns = record.issue_ns.map_or(time_ns, |issue_ns| issue_ns.max(time_ns));
        let completion = record.completion_ns.map(|end_ns| (end_ns.max(issue_ns), COMPLETE));
        for (at_ns, what) in std::iter::once((issue_ns, ISSUE)).chain(completion) {
            self.later.push(Reverse((at_ns, self.ordered, (sector, bytes, action(what), pid))));
            self.ordered += 1;
        }
        self.write_until(time_ns, out);
        Ok(())
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Result<(), String> {
        self.write_until(u64::MAX, out);
        Ok(())
    }
}
