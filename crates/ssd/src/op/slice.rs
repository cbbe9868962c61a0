//! Logical pages, and the sectors of them that a request covers.

use serde::{Deserialize, Serialize};

/// Number of a logical page of the drive.
pub(crate) type Lpn = u64;

/// Codewords of a page that cross the bus, on the busiest channel, in so many transfers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Crossing {
    pub(crate) codewords: u32,
    pub(crate) transfers: u32,
}

impl Crossing {
    /// The whole page.
    pub(crate) const WHOLE: Self = Self { codewords: u32::MAX, transfers: 0 };
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
