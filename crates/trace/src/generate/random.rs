//! Uniform random addresses: every start is equally likely, each request independent of the others.

use super::{
    Place,
    draw::{Draw, Purpose, Uniform},
};

/// Uniform starts.
#[derive(Clone, Debug)]
pub(super) struct Random {
    draw: Draw,
    starts: Uniform,
}

impl Random {
    pub(super) fn new(starts: u64, seed: u64) -> Self {
        Self { draw: Draw::new(seed, Purpose::Addresses), starts: Uniform::below(starts) }
    }
}

impl Place for Random {
    #[inline]
    fn place(&mut self, _sectors: u32) -> u64 {
        self.starts.draw(&mut self.draw)
    }
}
