//! Questions to a drive: requests in, times out.

use flashweir_trace::{Op, Request, SECTOR_BYTES};

use crate::{Error, Target, Timing};

/// A drive that is asked.
pub(super) struct Asked<'a> {
    target: &'a mut dyn Target,
    /// Requests so far.
    pub(super) requests: u64,
    dice: u64,
}

/// Bytes of each request with which a drive is filled.
const FILL_BYTES: u64 = 128 * 1024;

impl<'a> Asked<'a> {
    pub(super) fn new(target: &'a mut dyn Target, seed: u64) -> Self {
        Self { target, requests: 0, dice: seed ^ 0x9E37_79B9_7F4A_7C15 }
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
        self.requests += requests.len() as u64;
        let mut stream = requests.iter().map(|request| Ok(*request));
        self.target.execute(&mut stream, Timing::Closed { depth }, &mut |record| {
            let (issue, end) = (record.issue_ns.unwrap_or(0), record.completion_ns.unwrap_or(0));
            responses.push(end.saturating_sub(issue) as f64);
            (first, last) = (first.min(issue), last.max(end));
            Ok(())
        })?;
        Ok((responses, last.saturating_sub(first.min(last)) as f64))
    }

    /// One request alone; its response time, ns.
    pub(super) fn one(&mut self, request: Request) -> Result<f64, Error> {
        let (responses, _) = self.run(&[request], 1)?;
        Ok(responses.first().copied().unwrap_or(0.0))
    }

    /// Two requests at the same time; how long until both have ended, ns.
    pub(super) fn both(&mut self, pair: [Request; 2]) -> Result<f64, Error> {
        Ok(self.run(&pair, 2)?.1)
    }

    /// Lets the drive come to rest.
    pub(super) fn rest(&mut self, time_ns: u64) -> Result<(), Error> {
        self.target.pause(time_ns)
    }

    /// Writes every byte once, in order.
    pub(super) fn fill(&mut self) -> Result<(), Error> {
        let size = self.size_bytes();
        let mut at = 0;
        while at < size {
            let batch: Vec<Request> = (0..512)
                .map(|step| at + step * FILL_BYTES)
                .take_while(|from| *from < size)
                .map(|from| write(from, FILL_BYTES.min(size - from)))
                .collect();
            at += batch.iter().map(Request::bytes).sum::<u64>();
            self.run(&batch, 8)?;
        }
        Ok(())
    }

    /// Tells the drive that nothing on it is needed. One that knows no discards stays as it is.
    pub(super) fn discard(&mut self) {
        let size = self.size_bytes();
        let step = 1 << 30;
        let all: Vec<Request> = (0..size.div_ceil(step))
            .map(|at| request(Op::Trim, at * step, step.min(size - at * step)))
            .collect();
        let _ignored = self.run(&all, 1);
    }
}

pub(super) fn read(from_bytes: u64, bytes: u64) -> Request {
    request(Op::Read, from_bytes, bytes)
}

pub(super) fn write(from_bytes: u64, bytes: u64) -> Request {
    request(Op::Write, from_bytes, bytes)
}

fn request(op: Op, from_bytes: u64, bytes: u64) -> Request {
    let sectors = u32::try_from(bytes / SECTOR_BYTES).unwrap_or(u32::MAX);
    Request { time_ns: 0, lba: from_bytes / SECTOR_BYTES, sectors, stream: 0, op }
}

/// Mean of the middle half: what neither noise nor rare events move.
pub(super) fn typical(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let cut = sorted.len() / 4;
    let middle = &sorted[cut..sorted.len() - cut];
    if middle.is_empty() { 0.0 } else { middle.iter().sum::<f64>() / middle.len() as f64 }
}

pub(super) fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}
