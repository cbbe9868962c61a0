//! Raw bit error rate of a block: the power law of Kim, Choi and Min, "Design Tradeoffs for SSD Reliability" (FAST 2019, section 3),
//!
//! RBER = epsilon + alpha cycles^k + beta cycles^m days^n + gamma cycles^p reads^q
//!
//! with the parameters that they fitted to 2y-nm MLC and to 72-layer TLC. Cycles are scaled to the rating of a drive: a block at half
//! of its rated cycles has the errors of the measured chip at half of its own. Days at another temperature than 25 degrees Celsius
//! count by Arrhenius' law with 1.1 eV (JESD22-A117). For SLC and QLC that paper has nothing; see [`cell_kinds`].

use serde::{Deserialize, Serialize};

use super::AgeingConfig;
use super::config::ReadsOf;

/// Activation energy of the loss of charge, eV (JESD22-A117).
const ACTIVATION_EV: f64 = 1.1;
const BOLTZMANN_EV: f64 = 8.617_333e-5;
const ZERO_CELSIUS: f64 = 273.15;
const REFERENCE_CELSIUS: f64 = 25.0;
/// A random bit.
const WORST: f64 = 0.5;

/// Parameters of the law.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Law {
    /// Errors of a new block.
    pub epsilon: f64,
    /// Factor of wear.
    pub alpha: f64,
    /// Exponent of cycles in wear.
    pub k: f64,
    /// Factor of retention.
    pub beta: f64,
    /// Exponent of cycles in retention.
    pub m: f64,
    /// Exponent of days in retention.
    pub n: f64,
    /// Factor of read disturb.
    pub gamma: f64,
    /// Exponent of cycles in read disturb.
    pub p: f64,
    /// Exponent of reads in read disturb.
    pub q: f64,
    /// True if reads are those of a page, on average over its block; false if they are those of the whole block.
    pub reads_of_page: bool,
    /// Cycles that the chip which was measured is rated for.
    pub measured_cycles: f64,
    /// Cycles that the drive's are rated for.
    pub rated_cycles: f64,
}

/// A kind of cell: its law, and what is typical of it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CellKind {
    /// Its name: `slc`, `mlc`, `tlc` or `qlc`.
    pub cell: &'static str,
    /// Chip and paper that the parameters are of, or the assumption that they are.
    pub source: &'static str,
    /// True if the parameters are printed for this kind of cell.
    pub is_published: bool,
    /// Bits that the code corrects in a codeword of 1 KiB.
    pub ecc_bits: u32,
    /// Its errors, at its typical rating.
    pub law: Law,
}

const MLC: Law = Law {
    epsilon: 8.34e-5,
    alpha: 3.30e-11,
    k: 1.71,
    beta: 5.56e-19,
    m: 2.49,
    n: 3.33,
    gamma: 6.26e-13,
    p: 1.76,
    q: 0.47,
    reads_of_page: false,
    measured_cycles: 3000.0,
    rated_cycles: 3000.0,
};

const TLC: Law = Law {
    epsilon: 1.48e-3,
    alpha: 3.90e-10,
    k: 2.05,
    beta: 6.28e-5,
    m: 0.14,
    n: 0.54,
    gamma: 3.73e-9,
    p: 0.33,
    q: 1.71,
    reads_of_page: true,
    measured_cycles: 3000.0,
    rated_cycles: 3000.0,
};

/// Errors of SLC as a share of those of MLC, and of QLC as a multiple of those of TLC: assumed.
const SLC_SHARE: f64 = 0.01;
const QLC_TIMES: f64 = 2.0;

/// The kinds of cells, SLC to QLC. Of SLC and QLC no parameters are printed in that paper: assumed are a hundredth of the errors of
/// MLC, and twice those of TLC, each at the same share of its rated cycles. Ratings and strengths of codes are typical.
pub fn cell_kinds() -> [CellKind; 4] {
    let scaled = |law: Law, times: f64, rated_cycles| Law {
        epsilon: law.epsilon * times,
        alpha: law.alpha * times,
        beta: law.beta * times,
        gamma: law.gamma * times,
        rated_cycles,
        ..law
    };
    let kind =
        |cell, source, is_published, ecc_bits, law| CellKind { cell, source, is_published, ecc_bits, law };
    [
        kind("slc", "assumed: a hundredth of the errors of MLC", false, 8, scaled(MLC, SLC_SHARE, 100_000.0)),
        kind("mlc", "2y-nm MLC of Kim, Choi and Min (FAST 2019)", true, 40, MLC),
        kind("tlc", "72-layer TLC of Kim, Choi and Min (FAST 2019)", true, 72, TLC),
        kind("qlc", "assumed: twice the errors of TLC", false, 120, scaled(TLC, QLC_TIMES, 1000.0)),
    ]
}

impl CellKind {
    /// That of cells of so many bits.
    pub(super) fn of_bits(bits: u32) -> Self {
        cell_kinds()[(bits.clamp(1, 4) - 1) as usize]
    }
}

impl Law {
    /// As this, with the parameters that are set.
    pub(super) fn with(self, config: &AgeingConfig) -> Self {
        let own = &config.law;
        Self {
            rated_cycles: config.rated_cycles.0.map_or(self.rated_cycles, f64::from),
            epsilon: own.epsilon.0.unwrap_or(self.epsilon),
            alpha: own.alpha.0.unwrap_or(self.alpha),
            k: own.k.0.unwrap_or(self.k),
            beta: own.beta.0.unwrap_or(self.beta),
            m: own.m.0.unwrap_or(self.m),
            n: own.n.0.unwrap_or(self.n),
            gamma: own.gamma.0.unwrap_or(self.gamma),
            p: own.p.0.unwrap_or(self.p),
            q: own.q.0.unwrap_or(self.q),
            reads_of_page: match config.reads_of {
                ReadsOf::Auto => self.reads_of_page,
                ReadsOf::Block => false,
                ReadsOf::Page => true,
            },
            ..self
        }
    }

    /// Expected share of wrong bits of a block with so many cycles, whose data is so many days old at 25 degrees Celsius, after so
    /// many reads of a page or of the block.
    pub fn rate(&self, cycles: f64, days: f64, reads: f64) -> f64 {
        self.worn(cycles).rate(days, reads)
    }

    /// The law of blocks with so many cycles.
    pub(super) fn worn(&self, cycles: f64) -> Worn {
        let cycles = cycles * self.measured_cycles / self.rated_cycles;
        let wear = self.alpha * libm::pow(cycles, self.k);
        Worn {
            fixed: self.epsilon + wear,
            retention: self.beta * libm::pow(cycles, self.m),
            disturb: self.gamma * libm::pow(cycles, self.p),
            n: self.n,
            q: self.q,
        }
    }
}

/// The law at a number of cycles: fixed + retention days^n + disturb reads^q.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Worn {
    /// Errors of data that was just written.
    fixed: f64,
    /// Factor of days.
    pub(super) retention: f64,
    /// Factor of reads.
    pub(super) disturb: f64,
    /// Exponent of days.
    pub(super) n: f64,
    /// Exponent of reads.
    pub(super) q: f64,
}

impl Worn {
    /// Expected share of wrong bits, as [`Law::rate`].
    pub(super) fn rate(&self, days: f64, reads: f64) -> f64 {
        self.of_powers(libm::pow(days, self.n), libm::pow(reads, self.q))
    }

    /// The same, of days^n and reads^q.
    pub(super) fn of_powers(&self, days: f64, reads: f64) -> f64 {
        (self.fixed + self.retention * days + self.disturb * reads).min(WORST)
    }
}

/// Days at 25 degrees Celsius that a day at another temperature counts for: Arrhenius' law.
pub(super) fn acceleration(celsius: f64) -> f64 {
    let [here, there] = [REFERENCE_CELSIUS, celsius].map(|at| 1.0 / (ZERO_CELSIUS + at));
    libm::exp(ACTIVATION_EV / BOLTZMANN_EV * (here - there))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 1e-4, "{found}, where {expected} was expected");
    }

    #[test]
    fn errors_are_the_sum_of_wear_retention_and_reads() {
        // By hand, of the parameters that are printed. TLC at its rating: 3.9e-10 x 3000^2.05.
        close(TLC.rate(0.0, 0.0, 0.0), 1.48e-3);
        close(TLC.rate(3000.0, 0.0, 0.0), 1.48e-3 + 5.23797e-3);
        // And 30 days: 6.28e-5 x 3000^0.14 x 30^0.54.
        close(TLC.rate(3000.0, 30.0, 0.0), 1.48e-3 + 5.23797e-3 + 1.20893e-3);
        // And 1,000 reads of each page: 3.73e-9 x 3000^0.33 x 1000^1.71.
        close(TLC.rate(3000.0, 30.0, 1000.0), 1.48e-3 + 5.23797e-3 + 1.20893e-3 + 7.06576e-3);
        close(MLC.rate(3000.0, 90.0, 10_000.0), 8.34e-5 + 2.91334e-5 + 8.14206e-4 + 6.25616e-5);
        assert!((TLC.rate(1e9, 0.0, 0.0) - 0.5).abs() < 1e-12, "a random bit is the worst");
    }

    #[test]
    fn cycles_are_scaled_to_the_rating_and_days_by_the_temperature() {
        let twice = Law { rated_cycles: 6000.0, ..TLC };
        close(twice.rate(3000.0, 10.0, 5.0), TLC.rate(1500.0, 10.0, 5.0));
        // exp(1.1 / 8.617e-5 x (1 / 298.15 - 1 / 313.15)).
        close(acceleration(40.0), 7.77414);
        close(acceleration(25.0), 1.0);
        assert!(acceleration(0.0) < 0.03);
    }

    #[test]
    fn cells_of_more_bits_have_more_errors() {
        let rates = cell_kinds().map(|kind| kind.law.rate(kind.law.rated_cycles, 30.0, 100.0));
        assert!(rates.windows(2).all(|pair| pair[0] < pair[1]), "{rates:?}");
    }
}
