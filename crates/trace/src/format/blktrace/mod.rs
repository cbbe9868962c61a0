//! blktrace's binary format: a file of events for each CPU, merged by time. One file, a set of files by their base
//! name (`sda` for `sda.blktrace.0`, `sda.blktrace.1`, ...), or a tar archive of such files; either byte order.
//!
//! As in blkparse's text, one kind of event is a request: issued to the driver (D) if there is any with a length,
//! else completed (C), else queued (Q); reports say which. In logs, requests are paired with completions of the same
//! device, sector and operation: of several the one of the same length, then the oldest. A request that completes in
//! parts is complete with the last one; one that waited again (R) and is issued
//! again is two events and two requests, unless the caller wants requests followed: then it is one, and its process is the one
//! that asked for it (Q), not the one that ran when it was issued.
//!
//! An archive is read out of order, so one that is compressed is first copied to a temporary file. What was traced of
//! remapping, merging and plugging is not kept.

mod askers;
mod cpus;
mod encode;
mod event;
mod members;

use std::path::Path;

use super::input::Input;
use super::pairing::Part;
use super::record::RecordDecoder;
use super::sink::{Order, Raw, Sink};
use crate::{Op, Position, SECTOR_BYTES, TraceError};
use askers::Askers;
use cpus::{Cpus, Member};
pub(crate) use encode::BlktraceEncoder;
use event::Endian;
pub use event::{COMPLETE, Event, HEAD_BYTES, ISSUE, QUEUE, REQUEUE};

/// Number of events by which one of a CPU may be out of time order: interrupts write theirs into the middle of others.
const WINDOW: usize = 4096;

/// Decoder of one or more CPUs' events.
pub(crate) struct Blktrace {
    cpus: Cpus,
    files: usize,
    /// The event that is a request.
    requests: u32,
    records: u64,
    device: (u32, String),
    askers: Askers,
    /// Process that requested a flush last: the kernel makes one flush of several.
    flusher: Option<u32>,
}

/// True if a file that starts so holds events.
pub(crate) fn fits(start: &[u8]) -> bool {
    Endian::detect(start).is_some()
}

/// True if `path` is no file but the base name of per-CPU files.
pub(crate) fn is_set(path: &Path) -> bool {
    !members::siblings(path).is_empty()
}

impl Blktrace {
    /// The file at `path`, or the files that have it as base name.
    pub(crate) fn open(path: &Path) -> Result<Self, TraceError> {
        let siblings = members::siblings(path);
        if siblings.is_empty() {
            return Self::merge(&[members::single(path)?]);
        }
        Self::merge(&siblings.into_iter().map(Member::File).collect::<Vec<_>>())
    }

    /// The archive at `path`.
    pub(crate) fn open_archive(path: &Path) -> Result<Self, TraceError> {
        Self::merge(&members::archived(path)?)
    }

    fn merge(members: &[Member]) -> Result<Self, TraceError> {
        let requests = choose(members);
        let (cpus, device) = (Cpus::open(members)?, (u32::MAX, String::new()));
        Ok(Self {
            cpus,
            files: members.len(),
            requests,
            records: 0,
            device,
            askers: Askers::default(),
            flusher: None,
        })
    }

    fn take(&mut self, event: &Event, sink: &mut Sink) -> Result<(), crate::FieldError> {
        let what = event.what();
        // A device without a request queue has no issue events (D): requests are then followed from their queue event
        // (Q).
        if self.requests == COMPLETE && sink.follows_requests() {
            self.requests = QUEUE;
        }
        let is_request = what == Some(self.requests);
        let follows = self.requests == ISSUE && sink.follows_requests();
        if follows && what == Some(QUEUE) {
            match event.op() {
                Some(Op::Flush) => self.flusher = Some(event.pid),
                Some(_) => {
                    self.askers.asked(event.sector, u64::from(event.bytes).div_ceil(SECTOR_BYTES), event.pid);
                }
                None => {}
            }
            return Ok(());
        }
        if !is_request && what != Some(COMPLETE) && what != Some(REQUEUE) {
            return Ok(());
        }
        if self.device.0 != event.device {
            self.device = (event.device, format!("{},{}", event.device >> 20, event.device & 0xf_ffff));
        }
        let (time_ns, device) = (event.time_ns, self.device.1.as_bytes());
        let Some(op) = event.op() else {
            if is_request {
                sink.left_out("event that is no read, write, discard or flush");
            }
            return Ok(());
        };
        let pair = if op == Op::Flush { Sink::flush_pair(event.writes()) } else { event.sector };
        let sectors = u64::from(event.bytes).div_ceil(SECTOR_BYTES);
        if !is_request {
            let part = Part { op, sectors: u32::try_from(sectors).unwrap_or(u32::MAX) };
            if what == Some(REQUEUE) {
                sink.requeue(device, pair, op);
            } else {
                sink.complete_part(device, pair, part, time_ns);
            }
            return Ok(());
        }
        let asker = match op {
            _ if !follows => None,
            Op::Flush => self.flusher,
            _ => self.askers.issued(event.sector, sectors),
        };
        let pid = asker.unwrap_or(event.pid);
        let (raw, flags) = if op == Op::Flush {
            (Raw::flush(time_ns), event.flags() & !PREFLUSH)
        } else {
            (Raw::sectors(time_ns, op, event.sector, sectors), event.flags())
        };
        sink.push(Raw {
            device,
            process: self.cpus.names.get(&pid).map_or(&[], Vec::as_slice),
            flags,
            issue_ns: (self.requests == ISSUE).then_some(time_ns),
            completion_ns: (self.requests == COMPLETE).then_some(time_ns),
            pair: (self.requests != COMPLETE).then_some(pair),
            shares_pair: true,
            ..raw
        })
    }
}

/// Bit of a flush before the request.
const PREFLUSH: u32 = 1 << 4;

impl RecordDecoder for Blktrace {
    fn fill(&mut self, input: &mut Input, sink: &mut Sink, budget: usize) -> Result<bool, TraceError> {
        for _ in 0..budget {
            let Some(event) = self.cpus.next()? else { return Ok(false) };
            self.records += 1;
            if let Err(field) = self.take(&event, sink) {
                sink.bad(input.path(), Position::Record(self.records), field)?;
            }
            if sink.failed.is_some() {
                return Ok(true);
            }
        }
        Ok(true)
    }

    fn position(&self, _: &Input) -> Option<(u64, u64)> {
        self.cpus.bytes_read()
    }

    fn order(&self) -> Order {
        Order::Window(WINDOW)
    }

    fn assumptions(&self) -> Vec<String> {
        let meaning = match self.requests {
            ISSUE => "D: handed to the driver",
            COMPLETE => "C: completed, since there is no D",
            _ => "Q: queued, since there is neither D nor C",
        };
        vec![
            format!("requests are the events {meaning}"),
            format!("files of {} CPUs, merged by time", self.files),
        ]
    }
}

/// The event that is a request: the best there is, one of requests with a length before one of flushes only. Damage
/// ends the search of a file; the decoder reports it when it reads that place.
fn choose(members: &[Member]) -> u32 {
    // In rising order, so that the place in it ranks an event.
    const STAGES: [u32; 3] = [QUEUE, COMPLETE, ISSUE];
    let mut best = (false, 0);
    for member in members {
        let Ok(mut cpu) = Cpus::open(std::slice::from_ref(member)) else { continue };
        while let Ok(Some(event)) = cpu.next() {
            let stage = STAGES.iter().position(|stage| event.what() == Some(*stage) && event.op().is_some());
            best = best.max(stage.map_or((false, 0), |stage| (event.bytes > 0, stage)));
            if best == (true, STAGES.len() - 1) {
                return ISSUE;
            }
        }
    }
    STAGES[best.1]
}
