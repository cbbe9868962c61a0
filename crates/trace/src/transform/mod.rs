//! Transforms of a stream of requests on its way to a drive. Each transform takes a [`Source`] and is one, so they
//! chain. None looks ahead further than a batch, and none sorts.

mod filter;
mod interleave;
mod limit;
mod merge;
mod scale;
mod shift;
#[cfg(test)]
mod tests;
mod wrap;

pub use filter::{Filter, OpSet};
pub use interleave::Interleave;
pub use limit::Limit;
pub use merge::Merge;
pub use scale::{Factor, Scale};
pub use shift::{Delay, Numbered, Offset};
pub use wrap::Wrap;

#[cfg(doc)]
use crate::Source;

/// The error for more sources than there are stream numbers.
fn too_many(count: usize) -> crate::TraceError {
    crate::TraceError::Spec {
        what: "number of workloads".into(),
        found: count.to_string(),
        expected: "expected at most 65536".into(),
    }
}
