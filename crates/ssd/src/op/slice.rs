//! Logical pages, and the sectors of them that a request covers.

use serde::{Deserialize, Serialize};

/// Number of a logical page of the drive.
pub(crate) type Lpn = u64;

/// Codewords of a page that cross the bus, on the busiest channel, in so many transfers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Crossing {
    pub(crate) codewords: u32,
    pub(crate) transfers: u32,
    /// Pages of a mapping unit larger than a page that they are in, a bit each.
    pub(crate) pages: u64,
}

impl Crossing {
    /// The whole page.
    pub(crate) const WHOLE: Self = Self { codewords: u32::MAX, transfers: 0, pages: 0 };

    /// This, and another part of the page over the same bus.
    pub(crate) fn and(self, other: Self) -> Self {
        if self == Self::WHOLE || other == Self::WHOLE {
            return Self::WHOLE;
        }
        let (codewords, transfers) = (self.codewords + other.codewords, self.transfers + other.transfers);
        Self { codewords, transfers, pages: self.pages | other.pages }
    }
}

/// Sectors of one page that a request covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PageSlice {
    pub(crate) lpn: Lpn,
    /// First sector within the page.
    pub(crate) first: u32,
    /// The sector after the last one.
    pub(crate) end: u32,
    /// The tenant whose request it is.
    pub(crate) stream: u16,
    /// The placement handle of the request.
    pub(crate) handle: u8,
}
