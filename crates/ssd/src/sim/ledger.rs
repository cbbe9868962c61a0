//! Ledger of both time paths: requests, their latencies, and the end of the run.

use std::collections::BTreeMap;

use flashweir_trace::{Op, Request};
use serde::{Deserialize, Serialize};

use crate::config::Config;
use crate::content::Content;
use crate::core::Core;
use crate::error::RunError;
use crate::failure::Failure;
use crate::host::{HostMode, open};
use crate::nand::{Probe, RequestRecord, Usage};
use crate::stats::{
    Completion, Counters, Drain, FlashCounts, Latencies, LatencyParts, Parts, Stats, Streams,
};

/// Simulated time may not pass this point, ns (146 years): what is outstanding then still fits 64 bits.
pub(super) const LAST_NS: u64 = 1 << 62;

/// Books of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Ledger {
    pub(super) latencies: Latencies,
    streams: Streams,
    /// Requests taken so far: the number of the next one, from 0.
    pub(super) taken: u64,
    /// The latest end of a request, ns.
    pub(super) end_ns: u64,
    /// Requests that ended since they were last taken, if they are kept: their latencies are then the caller's to count.
    pub(super) completions: Option<Vec<Completion>>,
    /// First sectors that outstanding appends were given, by number, where completions are kept.
    appended: BTreeMap<u64, u64>,
    /// Requests that failed and have not ended, by number, where completions are kept.
    failing: BTreeMap<u64, Failure>,
    /// Where latencies went, if that is asked for.
    pub(super) parts: Option<LatencyParts>,
    /// True if writes wait in a buffer before they go to flash.
    buffered: bool,
    capacity_sectors: u64,
    /// Factor on the times of the workload; `None` in a closed loop.
    time_scale: Option<f64>,
    last_arrival_ns: u64,
    /// Once all requests are done.
    pub(super) drain: Option<BeforeDrain>,
}

/// The drive when the last request was done.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct BeforeDrain {
    /// The present, ns.
    pub(super) from_ns: u64,
    /// Pages that waited in the buffer.
    pub(super) pages: u64,
    /// Flash operations so far.
    pub(super) flash: FlashCounts,
}

impl Ledger {
    pub(super) fn new(config: &Config, capacity_sectors: u64) -> Self {
        let time_scale = match &config.host.mode {
            HostMode::Closed(_) => None,
            HostMode::Open(open) => Some(open.time_scale),
        };
        Self {
            latencies: Latencies::default(),
            streams: Streams::default(),
            taken: 0,
            end_ns: 0,
            completions: None,
            appended: BTreeMap::new(),
            failing: BTreeMap::new(),
            parts: None,
            buffered: config.buffer.bytes.0 > 0,
            capacity_sectors,
            time_scale,
            last_arrival_ns: 0,
            drain: None,
        }
    }

    /// From now on requests come at their own times, from `now_ns` on; latencies are the caller's to count.
    pub(super) fn open(&mut self, now_ns: u64) {
        (self.time_scale, self.last_arrival_ns) = (Some(1.0), now_ns.max(self.end_ns));
        (self.drain, self.completions) = (None, Some(Vec::new()));
        (self.latencies, self.streams) = (Latencies::default(), Streams::default());
    }

    /// Takes a request: checks its address and counts it. Returns its number.
    #[inline]
    pub(super) fn take(&mut self, request: &Request) -> Result<u64, RunError> {
        let number = self.taken;
        self.taken += 1;
        check_address(request, self.taken, self.capacity_sectors)?;
        if self.end_ns.max(self.last_arrival_ns) > LAST_NS {
            return Err(RunError::TooLong { number });
        }
        Ok(number)
    }

    /// When a request of an open loop enters, ns; `None` in a closed loop.
    #[inline]
    pub(super) fn arrival_ns(&mut self, request: &Request) -> Result<Option<u64>, RunError> {
        let Some(scale) = self.time_scale else { return Ok(None) };
        self.last_arrival_ns = self.last_arrival_ns.max(open::scale(request.time_ns, scale));
        if self.last_arrival_ns > LAST_NS {
            return Err(RunError::TooLong { number: self.taken });
        }
        Ok(Some(self.last_arrival_ns))
    }

    /// An append is written from this sector on; of several parts of it the first one says where.
    pub(super) fn append(&mut self, number: u64, lba: u64) {
        if self.completions.is_some() {
            self.appended.entry(number).or_insert(lba);
        }
    }

    /// Requests have failed: of several failures the first one counts.
    #[inline]
    pub(super) fn hear_of(&mut self, failing: &mut Vec<(u64, Failure)>) {
        if !failing.is_empty() {
            self.take_failures(failing);
        }
    }

    #[cold]
    #[inline(never)]
    fn take_failures(&mut self, failing: &mut Vec<(u64, Failure)>) {
        let is_kept = self.completions.is_some();
        for (number, failure) in failing.drain(..).filter(|_| is_kept) {
            self.failing.entry(number).or_insert(failure);
        }
    }

    /// A request is done. `parts`: where the time of the command that was done last went, if it waited for any.
    #[inline]
    #[expect(clippy::too_many_arguments, reason = "what is known of a request when it ends")]
    pub(super) fn complete<P: Probe>(
        &mut self,
        probe: &mut P,
        counters: &mut Counters,
        number: u64,
        request: &Request,
        issue_ns: u64,
        completion_ns: u64,
        parts: &Parts,
    ) {
        counters.requests[request.op as usize] += 1;
        counters.bytes[request.op as usize] += request.bytes();
        let latency_ns = completion_ns - issue_ns;
        let Request { sectors, stream, op, .. } = *request;
        self.streams.record(stream, op, request.bytes(), issue_ns, completion_ns);
        let buffered = self.buffered && (op.writes() || matches!(op, Op::Flush | Op::Finish | Op::Commit));
        let is_followed = self.parts.is_some();
        if let Some(sums) = &mut self.parts {
            sums.add_request(op, parts, buffered, latency_ns);
        }
        let whole = || if is_followed { parts.of_request(buffered, latency_ns) } else { Parts::default() };
        let failure = if self.failing.is_empty() { None } else { self.failing.remove(&number) };
        match &mut self.completions {
            None => self.latencies.record(stream, op, latency_ns),
            Some(completions) => {
                completions.push(Completion {
                    number,
                    issue_ns,
                    latency_ns,
                    appended_lba: if op == Op::Append { self.appended.remove(&number) } else { None },
                    sectors,
                    stream,
                    op,
                    failure,
                    parts: whole(),
                });
            }
        }
        self.end_ns = self.end_ns.max(completion_ns);
        if P::ON {
            let request = Request { time_ns: issue_ns, ..*request };
            probe.request(RequestRecord {
                number,
                request,
                issue_ns,
                completion_ns,
                failure,
                parts: whole(),
            });
        }
    }

    /// Moves the completions kept since the last call into `into`, which is emptied before.
    pub(super) fn take_completions(&mut self, into: &mut Vec<Completion>) {
        into.clear();
        if let Some(completions) = &mut self.completions {
            std::mem::swap(completions, into);
        }
    }

    /// Completions kept and not yet taken.
    pub(super) fn kept(&self) -> usize {
        self.completions.as_ref().map_or(0, Vec::len)
    }

    /// The statistics; `horizon_ns` is the end of the last command.
    pub(super) fn stats<C: Content>(&self, core: &Core<C>, usage: &Usage, horizon_ns: u64) -> Stats {
        let end_ns = self.end_ns.max(horizon_ns);
        let drain = self.drain.map(|before| Drain {
            pages: before.pages,
            time_ns: end_ns.saturating_sub(before.from_ns),
            flash: core.counters.flash().since(&before.flash),
        });
        Stats {
            drain,
            counters: core.counters.clone(),
            collections: core.collections.clone(),
            lock_step: None,
            interface: None,
            limits: None,
            latencies: self.latencies.clone(),
            streams: self.streams.clone(),
            parts: self.parts.clone(),
            sched: None,
            dies: usage.dies.clone(),
            buses: usage.buses.clone(),
            flash_ns: core.flash_time().all(),
            simulated_ns: self.drain.map_or(end_ns, |before| before.from_ns),
            carried_pages: 0,
        }
    }
}

/// Refuses a request beyond the drive.
#[inline]
pub(super) fn check_address(request: &Request, number: u64, capacity_sectors: u64) -> Result<(), RunError> {
    let end = request.lba.saturating_add(request.sectors.into());
    if end <= capacity_sectors {
        return Ok(());
    }
    Err(RunError::BeyondDrive { number, lba: request.lba, end, capacity_sectors })
}

/// True if a request moves no data.
#[inline]
pub(super) fn is_empty(request: &Request) -> bool {
    request.sectors == 0 || request.op == Op::Flush
}
