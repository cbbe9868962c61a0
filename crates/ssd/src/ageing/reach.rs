//! Time and reads up to which the steps of a block hold.
//!
//! The error rate of a block grows with the age of its data and with its reads, until it is erased. From the rate of now up to the
//! largest one with the same steps there is a slack. It is divided among age and reads as they took theirs so far, and the law is
//! inverted for the age that takes the one part and for the reads that take the other. Up to there the steps are the same, and reading
//! a page compares two integers.
//!
//! The inversion is rounded. So the law itself is worked out at the end of the reach: if it has other steps there, they hold for now
//! only. A block's steps are thus always those of the law.

use super::code::Code;
use super::law::{Law, Worn};

/// Numbers of cycles whose factors are kept, of each law.
const KEPT: usize = 64;
/// Share of the slack that the reach leaves, far above the rounding of a power.
const LEFT: f64 = 1e-6;
/// Share of the slack that age and reads each have at least: no course of a block makes the reach shrink to nothing at once.
const MIN_SHARE: f64 = 1.0 / 16.0;

/// The law of numbers of cycles, as far as it was needed last.
#[derive(Clone, Debug, Default)]
pub(super) struct Known(Vec<Option<(u32, Worn)>>);

impl Known {
    /// The law of blocks with so many cycles.
    #[inline]
    pub(super) fn worn(&mut self, laws: &[Law; 2], slc: bool, cycles: u32) -> Worn {
        if self.0.is_empty() {
            self.0 = vec![None; laws.len() * KEPT];
        }
        let kept = &mut self.0[usize::from(slc) * KEPT + cycles as usize % KEPT];
        match kept {
            Some((of, worn)) if *of == cycles => *worn,
            _ => kept.insert((cycles, laws[usize::from(slc)].worn(cycles.into()))).1,
        }
    }
}

/// Bit errors of a block with data.
#[derive(Clone, Copy, Debug)]
pub(super) struct Errors {
    pub(super) worn: Worn,
    /// Factor of the block.
    pub(super) factor: f64,
    /// Time of the run from which on it ages, ns; its age then, days; and days that a nanosecond counts for, 0 without data.
    pub(super) from_ns: u64,
    pub(super) days_before: f64,
    pub(super) days_a_ns: f64,
    /// Reads of the block that the law counts as one.
    pub(super) reads_of: f64,
}

impl Errors {
    fn days(&self, now_ns: u64) -> f64 {
        self.days_before + now_ns.saturating_sub(self.from_ns) as f64 * self.days_a_ns
    }

    fn rate(&self, now_ns: u64, reads: u32) -> f64 {
        self.worn.rate(self.days(now_ns), f64::from(reads) / self.reads_of)
    }

    /// Its level (see [`Code::level`]) at a time, after so many reads.
    pub(super) fn level(&self, code: &Code, now_ns: u64, reads: u32) -> u8 {
        code.level(self.rate(now_ns, reads) * self.factor)
    }

    /// Its level, and a time and a number of reads up to which it holds.
    pub(super) fn reach(&self, code: &Code, now_ns: u64, reads: u32) -> (u8, (u64, u32)) {
        let Worn { retention, n, disturb, q, .. } = self.worn;
        let (days, law_reads) = (self.days(now_ns), f64::from(reads) / self.reads_of);
        let (by_age, by_reads) = (libm::pow(days, n), libm::pow(law_reads, q));
        let rate = self.worn.of_powers(by_age, by_reads);
        let level = code.level(rate * self.factor);
        let slack = (code.limit(level) / self.factor - rate) * (1.0 - LEFT);
        let (ages, is_read) = (retention > 0.0 && self.days_a_ns > 0.0, disturb > 0.0 && q > 0.0);
        let share = if !is_read {
            1.0
        } else if ages {
            let run_ns = now_ns.saturating_sub(self.from_ns) as f64;
            self.share_of_age((retention * by_age, days, run_ns), disturb * by_reads)
        } else {
            0.0
        };
        let until_ns = if ages {
            let days = libm::pow(by_age + slack * share / retention, 1.0 / n);
            self.from_ns.saturating_add(whole((days - self.days_before) / self.days_a_ns))
        } else {
            u64::MAX
        };
        let until_reads = if is_read {
            let reads = libm::pow(by_reads + slack * (1.0 - share) / disturb, 1.0 / q) * self.reads_of;
            u32::try_from(whole(reads)).unwrap_or(u32::MAX)
        } else {
            u32::MAX
        };
        let until = (until_ns.max(now_ns), until_reads.max(reads));
        let holds = self.level(code, until.0, until.1) == level;
        (level, if holds { until } else { (now_ns, reads) })
    }

    /// Share of the slack that age will take, if the block is read as often as so far: errors of age and reads grow by n and q times
    /// their share in the time in which age and reads grow by theirs.
    fn share_of_age(&self, (aged, days, run_ns): (f64, f64, f64), was_read: f64) -> f64 {
        let grown = if days > 0.0 { run_ns * self.days_a_ns / days } else { 1.0 };
        let (by_age, by_reads) = (self.worn.n * aged * grown, self.worn.q * was_read);
        let share = by_age / (by_age + by_reads);
        if share.is_nan() { 0.5 } else { share.clamp(MIN_SHARE, 1.0 - MIN_SHARE) }
    }
}

/// The integer below: 0 for what is negative or no number, the largest one for what is larger.
#[expect(clippy::cast_sign_loss, reason = "such a number is to become 0")]
fn whole(number: f64) -> u64 {
    number as u64
}
