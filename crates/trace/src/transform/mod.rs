//! What can be done to a stream of requests on its way to a drive: each transform takes a [`Source`] and is one, so
//! they chain. None looks ahead further than a batch, and none sorts.

mod bounds;
mod filter;
mod merge;
mod scale;
#[cfg(test)]
mod tests;
mod wrap;

pub use bounds::Bounds;
pub use filter::{Filter, OpSet};
pub use merge::Merge;
pub use scale::{Factor, Scale};
pub use wrap::Wrap;

#[cfg(doc)]
use crate::Source;
