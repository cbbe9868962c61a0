//! Two temperatures: a share of the starts is hot and gets its own share of the requests; within each, starts are
//! equally likely.

use super::{
    Place,
    draw::{Draw, Purpose, Uniform},
    scatter::Scatter,
    share::Share,
};

/// Hot starts are the ranks `0..hot`, cold ones the rest.
#[derive(Clone, Debug)]
pub(super) struct HotCold {
    draw: Draw,
    hot_writes: Share,
    hot: Uniform,
    cold: Uniform,
    first_cold: u64,
    scatter: Option<Scatter>,
}

/// Number of hot ones among `starts`: the share, to the nearest whole one.
pub(super) fn hot_starts(starts: u64, hot_share: Share) -> u64 {
    hot_share.of(starts)
}

impl HotCold {
    /// `hot` of `starts` are hot, at least one is and at least one is not.
    pub(super) fn new(starts: u64, hot: u64, hot_writes: Share, scatter: Option<Scatter>, seed: u64) -> Self {
        Self {
            draw: Draw::new(seed, Purpose::Addresses),
            hot_writes,
            hot: Uniform::below(hot),
            cold: Uniform::below(starts - hot),
            first_cold: hot,
            scatter,
        }
    }
}

impl Place for HotCold {
    #[inline]
    fn place(&mut self, _sectors: u32) -> u64 {
        let rank = if self.hot_writes.hit(self.draw.bits()) {
            self.hot.draw(&mut self.draw)
        } else {
            self.first_cold + self.cold.draw(&mut self.draw)
        };
        self.scatter.as_ref().map_or(rank, |scatter| scatter.place(rank))
    }
}
