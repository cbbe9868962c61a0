//! Logical pages, and the sectors of them that a request covers.

use serde::{Deserialize, Serialize};

/// Number of a logical page of the drive.
pub(crate) type Lpn = u64;

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
}
