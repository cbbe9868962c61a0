//! Questions to a drive: requests in, times out.

use std::time::{Duration, Instant};

use flashweir_run::{Phase, Progress};
use flashweir_ssd::quantity::round_to_u64;
use flashweir_trace::{Op, Request, SECTOR_BYTES};

use crate::{Error, ErrorKind, Target, Timing, is_simulated};

/// Between two calls of the progress function, and requests between two looks at the clock.
const TELL_EVERY: Duration = Duration::from_millis(100);
const LOOK: u64 = 64;
/// Bytes of each request with which a drive is filled, and of each TRIM; requests of a fill that are outstanding.
const FILL_BYTES: u64 = 128 * 1024;
const TRIM_BYTES: u64 = 64 << 20;
const FILL_DEPTH: u32 = 8;
/// Requests that are made at a time.
const BATCH: u64 = 512;

/// A drive that is probed.
pub(super) struct Asked<'a> {
    target: &'a mut dyn Target,
    teller: Teller<'a>,
    dice: u64,
    /// Bytes written so far.
    pub(super) written_bytes: u64,
    /// True for a real drive, which takes real time and has noise: others move its clock.
    pub(super) real: bool,
}

/// Says how far it is, ten times a second, and hears whether to go on.
struct Teller<'a> {
    call: &'a mut dyn FnMut(&Progress) -> bool,
    started: Instant,
    last: Option<Instant>,
    requests: u64,
}

impl Teller<'_> {
    fn count(&mut self) -> Result<(), Error> {
        self.requests += 1;
        if !self.requests.is_multiple_of(LOOK) || self.last.is_some_and(|last| last.elapsed() < TELL_EVERY) {
            return Ok(());
        }
        self.last = Some(Instant::now());
        let (done, elapsed_s) = (self.requests, self.started.elapsed().as_secs_f64());
        let state =
            Progress { phase: Phase::Run, tenant: None, done, total: None, fraction: None, elapsed_s };
        if (self.call)(&state) {
            return Ok(());
        }
        let progress =
            format!("{done} requests were made, and what the drive held is lost; there is no device file");
        Err(Error::Cancelled { doing: "probing".into(), progress })
    }
}

impl<'a> Asked<'a> {
    pub(super) fn new(
        target: &'a mut dyn Target,
        seed: u64,
        call: &'a mut dyn FnMut(&Progress) -> bool,
    ) -> Self {
        let now = Instant::now();
        let real = !is_simulated(&target.name());
        let teller = Teller { call, started: now, last: None, requests: 0 };
        Self { target, teller, dice: seed ^ 0x9E37_79B9_7F4A_7C15, written_bytes: 0, real }
    }

    /// Requests so far.
    pub(super) fn requests(&self) -> u64 {
        self.teller.requests
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.teller.started.elapsed()
    }

    pub(super) fn size_bytes(&self) -> u64 {
        self.target.size_bytes()
    }

    pub(super) fn block_bytes(&self) -> u64 {
        u64::from(self.target.block_bytes())
    }

    /// A number below `below`, from splitmix64 (Steele et al. 2014).
    pub(super) fn draw(&mut self, below: u64) -> u64 {
        self.dice = self.dice.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.dice;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % below.max(1)
    }

    /// Executes requests at a depth; response time of each in the order in which they end, and how long all took, ns.
    pub(super) fn run(&mut self, requests: &[Request], depth: u32) -> Result<(Vec<f64>, f64), Error> {
        let (mut responses, mut first, mut last) = (Vec::with_capacity(requests.len()), u64::MAX, 0);
        let teller = &mut self.teller;
        let written = requests.iter().filter(|request| request.op == Op::Write).map(Request::bytes);
        self.written_bytes += written.sum::<u64>();
        let mut stream = requests.iter().map(|request| Ok(*request));
        self.target.execute(&mut stream, Timing::Closed { depth }, &mut |record| {
            let (issue, end) = (record.issue_ns.unwrap_or(0), record.completion_ns.unwrap_or(0));
            responses.push(end.saturating_sub(issue) as f64);
            (first, last) = (first.min(issue), last.max(end));
            teller.count()
        })?;
        Ok((responses, last.saturating_sub(first.min(last)) as f64))
    }

    /// One request alone; its response time, ns.
    pub(super) fn one(&mut self, request: Request) -> Result<f64, Error> {
        let (responses, _) = self.run(&[request], 1)?;
        Ok(responses.first().copied().unwrap_or(0.0))
    }

    /// A read that is made right behind writes; its response time, ns.
    pub(super) fn read_behind(&mut self, requests: &[Request]) -> Result<f64, Error> {
        let (mut response, teller) = (0.0, &mut self.teller);
        let mut stream = requests.iter().map(|request| Ok(*request));
        let timing = Timing::Closed { depth: requests.len() as u32 };
        self.target.execute(&mut stream, timing, &mut |record| {
            if record.request.op == Op::Read {
                let (issue, end) = (record.issue_ns.unwrap_or(0), record.completion_ns.unwrap_or(0));
                response = end.saturating_sub(issue) as f64;
            }
            teller.count()
        })?;
        Ok(response)
    }

    /// Two requests at the same time; how long until both have ended, ns.
    pub(super) fn both(&mut self, pair: [Request; 2]) -> Result<f64, Error> {
        Ok(self.run(&pair, 2)?.1)
    }

    /// Writes, each followed by a flush, so that it goes to flash whether there is a buffer or not; times until it is there, ns.
    pub(super) fn through(&mut self, writes: &[Request]) -> Result<Vec<f64>, Error> {
        let requests: Vec<Request> = writes.iter().flat_map(|write| [*write, flush()]).collect();
        let (responses, _) = self.run(&requests, 1)?;
        Ok(responses.chunks(2).map(|pair| pair.iter().sum()).collect())
    }

    /// Flushes the buffer to flash. Returns the time that it takes, ns.
    pub(super) fn flush(&mut self) -> Result<f64, Error> {
        self.one(flush())
    }

    /// Writes ranges of bytes once, in the order given.
    pub(super) fn fill(&mut self, mut ranges: impl Iterator<Item = (u64, u64)>) -> Result<(), Error> {
        loop {
            let batch: Vec<Request> =
                ranges.by_ref().take(BATCH as usize).map(|(from, bytes)| write(from, bytes)).collect();
            if batch.is_empty() {
                return self.flush().map(|_| ());
            }
            self.run(&batch, FILL_DEPTH)?;
        }
    }

    /// Writes every byte from `start` on once, in order.
    pub(super) fn fill_from(&mut self, start: u64) -> Result<(), Error> {
        let size = self.size_bytes();
        let steps = (start..size).step_by(FILL_BYTES as usize);
        self.fill(steps.map(|from| (from, FILL_BYTES.min(size - from))))
    }

    /// Tells the drive that nothing on it is needed. Returns whether it knows such requests.
    pub(super) fn discard(&mut self) -> Result<bool, Error> {
        let size = self.size_bytes();
        for at in 0..size.div_ceil(TRIM_BYTES) {
            let from = at * TRIM_BYTES;
            match self.one(request(Op::Trim, from, TRIM_BYTES.min(size - from))) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::Cancelled || at > 0 => return Err(error),
                Err(_) => return Ok(false),
            }
        }
        Ok(true)
    }

    pub(super) fn pause(&mut self, time_ns: u64) -> Result<(), Error> {
        self.target.pause(time_ns)
    }
}

pub(super) fn read(from_bytes: u64, bytes: u64) -> Request {
    request(Op::Read, from_bytes, bytes)
}

pub(super) fn write(from_bytes: u64, bytes: u64) -> Request {
    request(Op::Write, from_bytes, bytes)
}

fn flush() -> Request {
    request(Op::Flush, 0, 0)
}

fn request(op: Op, from_bytes: u64, bytes: u64) -> Request {
    let sectors = u32::try_from(bytes / SECTOR_BYTES).unwrap_or(u32::MAX);
    Request { time_ns: 0, lba: from_bytes / SECTOR_BYTES, sectors, stream: 0, op, handle: 0 }
}

/// The middle one; of an even number the lower. 0 of none.
pub(super) fn median(values: &[f64]) -> f64 {
    quantile(values, 0.5)
}

/// The value below which so much of the values lies; 0 of none.
pub(super) fn quantile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let last = sorted.len().saturating_sub(1);
    sorted.get(round_to_u64((last as f64 * share).floor()) as usize).copied().unwrap_or(0.0)
}

pub(super) fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}
