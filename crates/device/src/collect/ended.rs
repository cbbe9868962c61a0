//! Outcome of a collection, with any method.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::Spec;
use super::readers::Counts;
use super::spool::Spool;
use crate::Error;

/// Counts and errors at the end of a collection.
#[derive(Debug)]
pub(super) struct Ended {
    /// Events that were lost.
    pub(super) lost: u64,
    /// Requests that were seen to be issued, where they were counted.
    pub(super) issued: Option<u64>,
    /// Requests that waited again.
    pub(super) requeued: u64,
    /// Lines of others in the kernel's pipe.
    pub(super) foreign: u64,
    /// Settings that could not be restored.
    pub(super) unrestored: Vec<String>,
    /// Why what was collected is not all.
    pub(super) failure: Option<Error>,
}

/// Everything that `counts` has to say about the end.
pub(super) fn ended(
    counts: &Arc<Counts>,
    lost: u64,
    unrestored: Vec<String>,
    failure: Option<Error>,
) -> Ended {
    let number = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
    Ended {
        lost,
        issued: Some(number(&counts.issued)),
        requeued: number(&counts.requeued),
        foreign: number(&counts.foreign),
        unrestored,
        failure,
    }
}

/// Message that the guardian prints if the collector was killed.
pub(super) fn killed(spec: &Spec, spool: &Spool) -> String {
    format!(
        "collecting was killed: the kernel's settings are restored, and what was collected is in {base}.*; \
         `flashweir trace convert {base} {output}` reads it",
        base = spool.base().display(),
        output = spec.output.display()
    )
}
