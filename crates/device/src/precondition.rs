//! Preconditioning: brings a target, real or simulated, into a state that repeats, by writing to it. Sequential twice over as the SNIA's
//! Solid State Storage Performance Test Specification (version 2.0.2, section 3.3) has it, or every block once in random order.
//!
//! Until it is steady, rounds of the same writes follow. Steady is what the specification calls so: in five rounds the rates lie
//! within 20% of their mean from lowest to highest, and the line fitted to them rises or falls by at most 10% of it.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

use flashweir_run::{WINDOW_ROUNDS, steady};
use flashweir_trace::{LogRecord, Op, Request, SECTOR_BYTES};
use serde::{Deserialize, Serialize};

use crate::{Error, Target, Timing};

/// Sequential writes are so large.
const SEQUENTIAL_BYTES: u64 = 128 << 10;
/// Random writes are so large.
const RANDOM_BYTES: u64 = 4 << 10;
/// The most that a round takes on the target's clock, ns: a minute, as in the specification.
const ROUND_NS: u64 = 60_000_000_000;
/// Rounds after which steady state is given up, as in the specification.
const MAX_ROUNDS: usize = 25;

/// Method of preconditioning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// Nothing.
    #[default]
    None,
    /// Twice the capacity in sequential writes of 128 KiB.
    Snia,
    /// Every 4 KiB of the capacity once, in random order.
    Random,
}

/// Results of preconditioning.
#[derive(Clone, Debug, Serialize)]
pub struct Preconditioned {
    /// Method that was used.
    pub method: Method,
    /// Bytes written, rounds included.
    pub bytes: u64,
    /// Duration on the target's clock, s.
    pub seconds: f64,
    /// Rate of the first pass, MB/s.
    pub mb_per_s: f64,
    /// Rates of the rounds that followed until it was steady, MB/s.
    pub rounds: Vec<f64>,
    /// True if steady state was reached; `None` if there were no rounds.
    pub steady: Option<bool>,
    /// Mean rate of the last five rounds, MB/s.
    pub steady_mb_per_s: Option<f64>,
}

/// Progress of preconditioning, for other threads.
#[derive(Debug, Default)]
pub struct Meter {
    /// Bytes written so far.
    pub bytes: AtomicU64,
}

/// Settings of preconditioning.
#[derive(Clone, Copy, Debug)]
pub struct Preconditioning {
    /// Method to use.
    pub method: Method,
    /// True if rounds follow until it is steady.
    pub until_steady: bool,
    /// Outstanding requests.
    pub depth: u32,
    /// Seed of random addresses.
    pub seed: u64,
}

impl Preconditioning {
    /// Bytes of the first pass on a target of that size.
    pub fn first_bytes(&self, size_bytes: u64) -> u64 {
        match self.method {
            Method::None => 0,
            Method::Snia => size_bytes.saturating_mul(2),
            Method::Random => size_bytes,
        }
    }

    /// Writes. The target must have been opened for writing.
    pub fn run(&self, target: &mut dyn Target, meter: &Meter) -> Result<Preconditioned, Error> {
        let start_ns = target.now_ns();
        let passes: Vec<Pass> = match self.method {
            Method::None => Vec::new(),
            Method::Snia => vec![self.pass(target, 0), self.pass(target, 1)],
            Method::Random => vec![self.pass(target, 0)],
        };
        let mut bytes = 0;
        for pass in passes {
            bytes += self.write(target, pass, u64::MAX, meter)?.0;
        }
        let first_s = target.now_ns().saturating_sub(start_ns) as f64 / 1e9;
        let mut rounds = Vec::new();
        let mut is_steady = None;
        if self.until_steady && self.method != Method::None {
            while is_steady != Some(true) && rounds.len() < MAX_ROUNDS {
                let pass = self.pass(target, rounds.len() as u64 + 2);
                let (written, time_ns) = self.write(target, pass, ROUND_NS, meter)?;
                bytes += written;
                rounds.push(mb_per_s(written, time_ns as f64 / 1e9));
                let window = &rounds[rounds.len().saturating_sub(WINDOW_ROUNDS)..];
                is_steady = Some(steady(window).is_some());
            }
        }
        let last = &rounds[rounds.len().saturating_sub(WINDOW_ROUNDS)..];
        Ok(Preconditioned {
            method: self.method,
            bytes,
            seconds: target.now_ns().saturating_sub(start_ns) as f64 / 1e9,
            mb_per_s: mb_per_s(self.first_bytes(target.size_bytes()), first_s),
            steady: is_steady,
            steady_mb_per_s: (!last.is_empty()).then(|| last.iter().sum::<f64>() / last.len() as f64),
            rounds,
        })
    }

    /// Each part of the target once.
    fn pass(&self, target: &dyn Target, number: u64) -> Pass {
        let wanted = if self.method == Method::Random { RANDOM_BYTES } else { SEQUENTIAL_BYTES };
        let size_bytes = target.size_bytes();
        let unit = wanted.next_multiple_of(u64::from(target.block_bytes())).min(size_bytes);
        let units = size_bytes.div_ceil(unit);
        let order = (self.method == Method::Random).then(|| Shuffle::new(units, self.seed ^ number << 32));
        Pass { unit_bytes: unit, size_bytes, order, next: 0, units }
    }

    /// Writes a pass, or as much of it as goes into that time. Returns how much, bytes, and the time that it took, ns.
    fn write(
        &self,
        target: &mut dyn Target,
        pass: Pass,
        most_ns: u64,
        meter: &Meter,
    ) -> Result<(u64, u64), Error> {
        let (start_ns, written) = (target.now_ns(), Cell::new(0));
        let now_ns = Cell::new(start_ns);
        let mut requests = pass.take_while(|_| now_ns.get() - start_ns < most_ns).map(Ok);
        let mut sink = |record: LogRecord| {
            written.set(written.get() + record.request.bytes());
            now_ns.set(record.completion_ns.map_or(now_ns.get(), |end_ns| end_ns.max(now_ns.get())));
            meter.bytes.fetch_add(record.request.bytes(), Ordering::Relaxed);
            Ok(())
        };
        target.execute(&mut requests, Timing::Closed { depth: self.depth }, &mut sink)?;
        Ok((written.get(), now_ns.get() - start_ns))
    }
}

fn mb_per_s(bytes: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { bytes as f64 / 1e6 / seconds } else { 0.0 }
}

/// Writes of one size over a target, in order or shuffled.
struct Pass {
    unit_bytes: u64,
    size_bytes: u64,
    order: Option<Shuffle>,
    next: u64,
    units: u64,
}

impl Iterator for Pass {
    type Item = Request;

    fn next(&mut self) -> Option<Request> {
        if self.next >= self.units {
            return None;
        }
        let unit = self.order.as_ref().map_or(self.next, |order| order.at(self.next));
        self.next += 1;
        let start = unit * self.unit_bytes;
        let bytes = self.unit_bytes.min(self.size_bytes - start);
        let (lba, sectors) = (start / SECTOR_BYTES, (bytes / SECTOR_BYTES) as u32);
        Some(Request { time_ns: 0, lba, sectors, stream: 0, op: Op::Write, handle: 0 })
    }
}

/// A random order of numbers below `count`, without a table: a Feistel network of four rounds over the next power of four, walked on
/// until it is below (Black and Rogaway 2002, cycle-walking).
struct Shuffle {
    count: u64,
    half_bits: u32,
    keys: [u64; 4],
}

impl Shuffle {
    fn new(count: u64, seed: u64) -> Self {
        let bits = u64::BITS - count.saturating_sub(1).leading_zeros();
        let keys = [1, 2, 3, 4].map(|round| mix(seed.wrapping_add(mix(round))));
        Self { count, half_bits: bits.div_ceil(2).max(1), keys }
    }

    fn at(&self, index: u64) -> u64 {
        let mask = (1u64 << self.half_bits) - 1;
        let mut value = index;
        loop {
            let (mut left, mut right) = (value >> self.half_bits, value & mask);
            for key in self.keys {
                (left, right) = (right, left ^ mix(right ^ key) & mask);
            }
            value = left << self.half_bits | right;
            if value < self.count {
                return value;
            }
        }
    }
}

/// The finalizer of SplitMix64.
fn mix(mut z: u64) -> u64 {
    z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::{OpenOptions, open};

    #[test]
    fn a_shuffle_has_every_number_once_and_in_no_order() {
        for count in [1, 2, 3, 5, 64, 1000, 4097] {
            let order: Vec<u64> = (0..count).map(|index| Shuffle::new(count, 7).at(index)).collect();
            assert_eq!(order.iter().copied().collect::<BTreeSet<_>>().len() as u64, count);
            assert!(order.iter().all(|value| *value < count));
            if count >= 64 {
                let runs = order.windows(2).filter(|pair| pair[1] == pair[0] + 1).count() as u64;
                assert!(runs < count / 10, "{runs} of {count} follow one another");
                assert_ne!(
                    order,
                    (0..count).map(|index| Shuffle::new(count, 8).at(index)).collect::<Vec<_>>()
                );
            }
        }
    }

    #[test]
    fn what_is_written_is_twice_in_order_or_once_at_random() {
        for (method, passes) in [(Method::Snia, 2), (Method::Random, 1)] {
            let mut target = open("sim:slc-2006,capacity=16MiB", &OpenOptions::default()).expect("a drive");
            let size = target.size_bytes();
            let all = Preconditioning { method, until_steady: false, depth: 4, seed: 1 };
            let done = all.run(target.as_mut(), &Meter::default()).expect("written");
            assert_eq!((done.bytes, done.steady), (passes * size, None));
            assert!(done.mb_per_s > 0.0 && done.rounds.is_empty());
        }
    }

    #[test]
    fn random_writes_become_steady_after_the_drive_has_begun_to_collect() {
        let name = "sim:slc-2006,capacity=16MiB,op_ratio=0.2";
        let mut target = open(name, &OpenOptions::default()).expect("a drive");
        let all = Preconditioning { method: Method::Random, until_steady: true, depth: 4, seed: 1 };
        let meter = Meter::default();
        let done = all.run(target.as_mut(), &meter).expect("written");
        assert_eq!(done.steady, Some(true), "{done:?}");
        assert!((5..=25).contains(&done.rounds.len()));
        assert!(done.steady_mb_per_s.is_some_and(|steady| steady < done.mb_per_s), "{done:?}");
        assert_eq!(meter.bytes.load(Ordering::Relaxed), done.bytes);
    }

    #[test]
    fn parts_of_a_block_at_the_end_are_not_left_out() {
        let folder = tempfile::tempdir().expect("a folder");
        let name = folder.path().join("file");
        let size = (1 << 20) + 4096;
        let options = OpenOptions { write: true, size_bytes: Some(size), ..OpenOptions::default() };
        let mut target = open(name.to_str().expect("a name"), &options).expect("opened");
        for method in [Method::Snia, Method::Random] {
            let all = Preconditioning { method, until_steady: false, depth: 2, seed: 3 };
            let done = all.run(target.as_mut(), &Meter::default()).expect("written");
            assert_eq!(done.bytes, all.first_bytes(size));
        }
        let bytes = std::fs::read(&name).expect("read");
        assert!(bytes.chunks(512).all(|sector| sector.iter().any(|byte| *byte != 0)), "all was written");
    }
}
