//! Where decoders put what they find: checks, devices, order, clock and counts, the same for every format.

use std::collections::BTreeMap;

use super::devices::{Devices, Extents, Unplaced};
use super::hints::Hints;
pub(crate) use super::order::Order;
use super::order::{Clock, Sorter, Timed};
use super::pairing::{Key, Pairing, Part};
pub(crate) use super::raw::Raw;
use super::raw::check;
use super::report::{self, Report};
use super::source::Source;
use crate::{FieldError, LogRecord, Op, Position, Request, TraceError};

/// Messages kept of the bad lines that were skipped.
const KEPT_MESSAGES: usize = 10;

/// Name in a report of a completion without its request.
pub(crate) const UNMATCHED: &str = "completion of a request that was not seen before";

/// Parts of the trace that are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Want {
    /// Requests only.
    Requests,
    /// Requests with what happened to them.
    Log,
    /// Nothing but how far each device's addresses go.
    Extents,
}

/// Takes what a decoder finds.
pub(crate) struct Sink {
    want: Want,
    /// Where requests go; lent by the caller of `read`.
    pub(crate) requests: Vec<Request>,
    /// Where records go; lent by the caller of `read_log`.
    pub(crate) records: Vec<LogRecord>,
    /// Report on the part read so far.
    pub(crate) report: Report,
    /// Error that belongs to no single line; ends or interrupts the reading.
    pub(crate) failed: Option<Unplaced>,
    /// Requests or records that the caller has already, from before the trace was read from its start again.
    handed_out: u64,
    skip_bad: u64,
    clock: Clock,
    clock_offset_ns: u64,
    devices: Devices,
    request_sorter: Option<Sorter<Request>>,
    record_sorter: Option<Sorter<LogRecord>>,
    pairing: Pairing,
    /// True if a request that is issued again stays one request, of the process that queued it.
    follows_requests: bool,
    /// Requests that will be issued again, and how often.
    requeued: BTreeMap<(Key, Op), u32>,
    hints: Hints,
}

impl Sink {
    /// A sink for `want`. Without a `source` to read again when a second device shows up, devices share addresses.
    pub(crate) fn new(want: Want, mut report: Report, skip_bad: u64, source: Option<Source>) -> Self {
        let hints = source.as_ref().map_or_else(Hints::default, |source| source.hints.clone());
        report.hints = hints.counts();
        Self {
            want,
            requests: Vec::new(),
            records: Vec::new(),
            report,
            failed: None,
            handed_out: 0,
            skip_bad,
            clock: Clock::default(),
            clock_offset_ns: 0,
            devices: Devices::new(source),
            request_sorter: None,
            record_sorter: None,
            pairing: Pairing::default(),
            // Only whoever queued a request says what it is for.
            follows_requests: hints.ask_for_process(),
            requeued: BTreeMap::new(),
            hints,
        }
    }

    /// Says how far records may stand from their place in time; before the first one.
    pub(crate) fn set_order(&mut self, order: Order) {
        let window = match order {
            Order::AsIs => return,
            Order::Window(window) => window,
            Order::Whole => usize::MAX,
        };
        self.request_sorter = Some(Sorter::new(window));
        self.record_sorter = Some(Sorter::new(window));
    }

    /// Says by how much the decoder moves its times; reports take it off again.
    pub(crate) fn set_clock_offset_ns(&mut self, offset_ns: u64) {
        self.clock_offset_ns = offset_ns;
    }

    /// Says that the trace's own clock starts with the workload: its times stay as they are.
    pub(crate) fn keep_clock(&mut self) {
        self.clock = Clock::from_zero();
    }

    /// Says that requests are followed from whoever asks over all times they are issued; before the first record.
    pub(crate) fn follow_requests(&mut self) {
        self.follows_requests = true;
    }

    /// True if requests are followed.
    pub(crate) const fn follows_requests(&self) -> bool {
        self.follows_requests
    }

    /// Goes on where `before` stopped at its second device: from the start of the trace, knowing the `extents` of all
    /// devices, with what was handed out left out.
    pub(crate) fn go_on_from(&mut self, before: &mut Self, extents: Extents) {
        self.devices.set_extents(extents);
        self.handed_out = before.report.requests + before.report.flushes;
        std::mem::swap(&mut self.requests, &mut before.requests);
        std::mem::swap(&mut self.records, &mut before.records);
    }

    /// Where the trace comes from.
    pub(crate) const fn source(&self) -> Option<&Source> {
        self.devices.source()
    }

    /// Parts of the trace that are wanted.
    pub(crate) const fn want(&self) -> Want {
        self.want
    }

    /// Changes what is wanted; before the first record.
    pub(crate) fn set_want(&mut self, want: Want) {
        self.want = want;
    }

    /// Requests or records ready for the caller.
    pub(crate) const fn ready(&self) -> usize {
        self.requests.len() + self.records.len()
    }

    /// The `pair` of flushes, which have no sector: the kernel's own and those of others differ by direction.
    pub(crate) const fn flush_pair(writes: bool) -> u64 {
        u64::MAX - writes as u64
    }

    /// Takes a request.
    #[inline]
    pub(crate) fn push(&mut self, raw: Raw<'_>) -> Result<(), FieldError> {
        if self.failed.is_some() {
            return Ok(());
        }
        let sectors = check(&raw)?;
        if !self.requeued.is_empty() && self.is_known(&raw, sectors) {
            return Ok(());
        }
        let (_, base_lba) = if raw.op == Op::Flush {
            (0, 0)
        } else {
            let end = raw.lba + u64::from(sectors);
            match self.devices.place(&mut self.report.devices, raw.device, end, self.want == Want::Extents) {
                Ok(place) => place,
                Err(unplaced) => {
                    self.failed = Some(unplaced);
                    return Ok(());
                }
            }
        };
        let request = Request {
            time_ns: raw.time_ns,
            lba: raw.lba + base_lba,
            sectors,
            stream: raw.stream,
            op: raw.op,
            handle: if self.hints.is_empty() { raw.handle } else { self.hinted(&raw, base_lba) },
        };
        match self.want {
            Want::Requests => self.push_request(request),
            Want::Log => self.push_record(request, &raw),
            Want::Extents => {}
        }
        Ok(())
    }

    /// Placement handle of a request by the hints, else as its format has it.
    fn hinted(&mut self, raw: &Raw<'_>, base_lba: u64) -> u8 {
        let found = match raw.op {
            Op::Flush => None,
            _ => self.hints.find(raw.process, raw.device, raw.lba + base_lba),
        };
        let Some((rule, handle)) = found else { return raw.handle };
        self.report.hints[rule].requests += 1;
        handle
    }

    #[inline]
    fn push_request(&mut self, request: Request) {
        if let Some(sorter) = &mut self.request_sorter {
            self.report.reordered += u64::from(sorter.push(request));
            while let Some(request) = self.request_sorter.as_mut().and_then(|sorter| sorter.pop(false)) {
                self.emit_request(request);
            }
        } else {
            self.emit_request(request);
        }
    }

    #[inline]
    fn emit_request(&mut self, mut request: Request) {
        if self.tick(request.op, &mut request) {
            self.requests.push(request);
        }
    }

    fn push_record(&mut self, request: Request, raw: &Raw<'_>) {
        let record = LogRecord {
            request,
            due_ns: raw.due_ns,
            issue_ns: raw.issue_ns,
            completion_ns: raw.completion_ns,
            flags: raw.flags,
            process: String::from_utf8_lossy(raw.process).into_owned(),
        };
        let key = raw.pair.and_then(|pair| self.key(raw.device, pair, request.op));
        if raw.shares_pair {
            self.pairing.push_beside(record, key);
        } else {
            self.pairing.push(record, key);
        }
        self.release(false);
    }

    /// Completes at `time_ns` the `part` of a request that was pushed with this `pair` and `shares_pair`.
    pub(crate) fn complete_part(&mut self, device: &[u8], pair: u64, part: Part, time_ns: u64) {
        if self.want == Want::Log
            && let Some(key) = self.key(device, pair, part.op)
        {
            if !self.pairing.complete_part(key, part, time_ns) && self.follows_requests {
                self.left_out(UNMATCHED);
            }
            self.release(false);
        }
    }

    /// Notes that a request, pushed with this `pair` and `shares_pair`, was not served and will be issued again.
    pub(crate) fn requeue(&mut self, device: &[u8], pair: u64, op: Op) {
        if self.follows_requests
            && let Some(key) = self.key(device, pair, op)
        {
            *self.requeued.entry((key, op)).or_default() += 1;
        }
    }

    /// True if this request was pushed and requeued before, and so is issued again.
    fn is_known(&mut self, raw: &Raw<'_>, sectors: u32) -> bool {
        let Some(key) = raw.pair.and_then(|pair| self.key(raw.device, pair, raw.op)) else { return false };
        let Some(times) = self.requeued.get_mut(&(key, raw.op)) else { return false };
        *times -= 1;
        if *times == 0 {
            self.requeued.remove(&(key, raw.op));
        }
        let part = Part { op: raw.op, sectors };
        if self.want == Want::Log && !self.pairing.issue_again(key, part, raw.time_ns) {
            return false;
        }
        self.left_out("event that issues a request once more");
        true
    }

    /// Key for which a request of `device` waits; `None` if the device has had no requests. A flush has no place among
    /// the devices.
    fn key(&self, device: &[u8], pair: u64, op: Op) -> Option<Key> {
        let index = self.devices.find(device);
        if op == Op::Flush { Some((index.unwrap_or(usize::MAX), pair)) } else { Some((index?, pair)) }
    }

    /// A request pushed earlier with this `pair` on this device completed at `time_ns`.
    pub(crate) fn complete(&mut self, device: &[u8], pair: u64, time_ns: u64) {
        if self.want == Want::Log
            && let Some(index) = self.devices.find(device)
        {
            self.pairing.complete((index, pair), time_ns);
            self.release(false);
        }
    }

    fn release(&mut self, all: bool) {
        while let Some(record) = self.pairing.pop(all) {
            match &mut self.record_sorter {
                Some(sorter) => self.report.reordered += u64::from(sorter.push(record)),
                None => self.emit_record(record),
            }
            self.release_sorted(false);
        }
    }

    fn release_sorted(&mut self, all: bool) {
        while let Some(record) = self.record_sorter.as_mut().and_then(|sorter| sorter.pop(all)) {
            self.emit_record(record);
        }
    }

    fn emit_record(&mut self, mut record: LogRecord) {
        if self.tick(record.request.op, &mut record) {
            self.records.push(record);
        }
    }

    /// Sets the clock of an item on its way out, and counts it. False for one that the caller has already.
    #[inline]
    fn tick<T: Timed>(&mut self, op: Op, item: &mut T) -> bool {
        let source_time = item.time();
        let back = self.clock.set(item);
        let report = &mut self.report;
        report.clamped_times += u64::from(back);
        report.first_time_ns = self.clock.base().saturating_sub(self.clock_offset_ns);
        report.last_time_ns = source_time.saturating_sub(self.clock_offset_ns);
        report.duration_ns = self.clock.last();
        match op {
            Op::Read => report.reads += 1,
            Op::Write | Op::Append => report.writes += 1,
            Op::Trim => report.trims += 1,
            Op::Flush => report.flushes += 1,
            Op::Open | Op::OpenZrwa | Op::Commit | Op::Close | Op::Finish | Op::Reset | Op::Offline => {
                report.zone_commands += 1;
            }
        }
        report.requests += u64::from(op != Op::Flush);
        if self.handed_out == 0 {
            return true;
        }
        self.handed_out -= 1;
        false
    }

    /// Gives up everything that was held back: at the end of the trace.
    pub(crate) fn finish(&mut self) {
        self.release(true);
        self.release_sorted(true);
        while let Some(request) = self.request_sorter.as_mut().and_then(|sorter| sorter.pop(true)) {
            self.emit_request(request);
        }
        for unmet in self.report.hints.iter().filter(|rule| rule.requests == 0) {
            let said = format!("hint {}: no request meets it", unmet.hint);
            self.report.assumptions.push(said);
        }
    }

    /// Extent of the addresses of each device.
    pub(crate) fn extents(&self) -> Extents {
        self.devices.extents(&self.report.devices)
    }

    /// Counts known damage that was read all the same.
    pub(crate) fn repaired(&mut self, reason: &'static str) {
        report::count(&mut self.report.repaired, reason);
    }

    /// Counts a line or record that is no request to a drive.
    pub(crate) fn left_out(&mut self, reason: &'static str) {
        report::count(&mut self.report.left_out, reason);
    }

    /// A bad line or record: skipped if the caller allows as many, else the error to stop with.
    #[cold]
    pub(crate) fn bad(
        &mut self,
        path: &std::path::Path,
        position: Position,
        field: FieldError,
    ) -> Result<(), TraceError> {
        if self.report.skipped_bad >= self.skip_bad {
            return Err(TraceError::Record { path: path.to_owned(), position, field });
        }
        self.report.skipped_bad += 1;
        if self.report.skipped_messages.len() < KEPT_MESSAGES {
            self.report.skipped_messages.push(format!("{position}: {field}"));
        }
        Ok(())
    }
}
