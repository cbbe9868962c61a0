//! Operations and sizes of requests: shares of operations, flushes in between, and a list of sizes.

use super::{
    draw::{Draw, Purpose},
    share::Share,
};
use crate::Op;

/// Shares of the operations, as the spec gives them. What is left of the whole is reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mix {
    pub(super) write: Share,
    pub(super) trim: Share,
    pub(super) flush: Share,
    /// Every so-many-th request is a flush, and the shares are of the others; 0 is never.
    pub(super) flush_every: u64,
}

impl Mix {
    /// Only writes.
    pub(super) const WRITES: Mix =
        Mix { write: Share::ONE, trim: Share::ZERO, flush: Share::ZERO, flush_every: 0 };
}

/// Operations, one after the other.
#[derive(Clone, Debug)]
pub(super) struct Ops {
    draw: Draw,
    /// The operation of every request, where there is only one: the common case draws nothing.
    only: Option<Op>,
    /// Ends of the three shares on the line from 0 to 1, in the order write, trim, flush.
    ends: [Share; 3],
    flush_every: u64,
    until_flush: u64,
}

impl Ops {
    pub(super) fn new(mix: Mix, seed: u64) -> Self {
        let ends = [mix.write, mix.write.plus(mix.trim), mix.write.plus(mix.trim).plus(mix.flush)];
        let only = match (mix.write, mix.trim, ends[2]) {
            (Share::ONE, _, _) => Some(Op::Write),
            (_, Share::ONE, _) => Some(Op::Trim),
            (_, _, Share::ZERO) => Some(Op::Read),
            _ => None,
        };
        let draw = Draw::new(seed, Purpose::Ops);
        Self { draw, only, ends, flush_every: mix.flush_every, until_flush: mix.flush_every }
    }

    #[inline]
    pub(super) fn next(&mut self) -> Op {
        if self.flush_every != 0 {
            self.until_flush -= 1;
            if self.until_flush == 0 {
                self.until_flush = self.flush_every;
                return Op::Flush;
            }
        }
        if let Some(op) = self.only {
            return op;
        }
        let bits = self.draw.bits();
        match self.ends.map(|end| end.hit(bits)) {
            [true, ..] => Op::Write,
            [_, true, _] => Op::Trim,
            [.., true] => Op::Flush,
            _ => Op::Read,
        }
    }
}

/// A size and the share of the requests that have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) sectors: u32,
    pub(super) share: Share,
}

/// Lengths in sectors, one after the other.
#[derive(Clone, Debug)]
pub(super) enum Lengths {
    Fixed(u32),
    /// Sizes with the end of each one's share on the line from 0 to 1; the last ends at 1.
    Listed(Draw, Vec<Size>),
}

impl Lengths {
    /// From sizes whose shares sum to 1.
    pub(super) fn new(sizes: &[Size], seed: u64) -> Self {
        if let [only] = sizes {
            return Lengths::Fixed(only.sectors);
        }
        let ends = sizes.iter().scan(Share::ZERO, |end, size| {
            *end = end.plus(size.share);
            Some(Size { sectors: size.sectors, share: *end })
        });
        Lengths::Listed(Draw::new(seed, Purpose::Sizes), ends.collect())
    }

    #[inline]
    pub(super) fn next(&mut self) -> u32 {
        match self {
            Lengths::Fixed(sectors) => *sectors,
            Lengths::Listed(draw, sizes) => {
                let bits = draw.bits();
                sizes.iter().find(|size| size.share.hit(bits)).map_or(0, |size| size.sectors)
            }
        }
    }
}
