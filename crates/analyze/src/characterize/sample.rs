//! Sampling of the address space, for where following all of it would take too much memory. Parts are followed whose
//! hash is below a threshold, which only falls (SHARDS: Waldspurger et al., FAST 2015). So every followed part was
//! followed from the beginning, and all parts are equally likely.

/// Choice of the parts of the address space that are followed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    /// Hashes below are followed; `None` is all of them.
    threshold: Option<u64>,
}

impl Sample {
    /// Everything.
    pub(super) const fn all() -> Self {
        Self { threshold: None }
    }

    /// A share of all parts, above 0 and up to 1.
    pub(super) fn share(rate: f64) -> Self {
        let threshold = rate * 2f64.powi(64);
        Self { threshold: (threshold < 2f64.powi(64)).then(|| whole(threshold)) }
    }

    #[inline]
    pub(super) const fn has(self, hash: u64) -> bool {
        match self.threshold {
            None => true,
            Some(threshold) => hash < threshold,
        }
    }

    /// Follows only what has a hash below.
    pub(super) const fn fall_to(&mut self, threshold: u64) {
        self.threshold = Some(threshold);
    }

    /// Follows half of what it did.
    pub(super) const fn halve(&mut self) {
        self.threshold = Some(match self.threshold {
            None => 1 << 63,
            Some(threshold) => threshold / 2,
        });
    }

    /// The share that is followed.
    pub(super) fn rate(self) -> f64 {
        self.threshold.map_or(1.0, |threshold| threshold as f64 / 2f64.powi(64))
    }
}

/// Integer part of a number that is not negative; the largest integer, if the number is larger.
#[inline]
#[expect(clippy::cast_sign_loss, reason = "it has no sign")]
pub(super) const fn whole(value: f64) -> u64 {
    value as u64
}

/// A number out of which every bit of `key` changes half of the bits (Stafford's variant 13, as in SplitMix64).
#[inline]
pub(super) const fn hash(key: u64) -> u64 {
    let mut mixed = key.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_the_share_that_is_followed() {
        let mut sample = Sample::all();
        assert_eq!((sample.rate(), sample.has(u64::MAX)), (1.0, true));
        sample.halve();
        sample.halve();
        let followed = (0..100_000).filter(|key| sample.has(hash(*key))).count();
        assert!((24_000..26_000).contains(&followed) && (sample.rate() - 0.25).abs() < 1e-12, "{followed}");
        assert_eq!((Sample::share(1.0).rate(), Sample::share(0.01).has(u64::MAX / 99)), (1.0, false));
    }
}
