//! Counts of commands to zones.

use serde::{Deserialize, Serialize};

use crate::zones::Status;

/// Commands to zones, and those that failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ZoneCounts {
    /// Zones reset that were not empty.
    pub resets: u64,
    /// Zones finished that were not full.
    pub finished: u64,
    /// Pages without data that were programmed to finish zones, or to commit random write areas.
    pub padded_pages: u64,
    /// Commits of random write areas by a command.
    pub commits: u64,
    /// Commits by writes beyond a random write area.
    pub implicit_commits: u64,
    /// Pages with data that left random write areas for the flash.
    pub committed_pages: u64,
    /// Pages of random write areas that were written again before that: they cost no flash.
    pub rewritten_pages: u64,
    /// Zones that the drive closed so that another one could be opened.
    pub closed: u64,
    /// Bytes of writes that failed.
    pub refused_bytes: u64,
    /// Commands that failed, in the order of [`Status::ALL`].
    pub errors: [u64; Status::ALL.len()],
}

impl ZoneCounts {
    /// A command failed.
    pub(crate) fn refuse(&mut self, status: Status) {
        let at = Status::ALL.iter().position(|of_all| *of_all == status);
        if let Some(count) = at.and_then(|at| self.errors.get_mut(at)) {
            *count += 1;
        }
    }

    /// Commands that failed, by status.
    pub fn errors(&self) -> impl Iterator<Item = (Status, u64)> {
        Status::ALL.into_iter().zip(self.errors)
    }

    /// Difference from `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            resets: self.resets - earlier.resets,
            finished: self.finished - earlier.finished,
            padded_pages: self.padded_pages - earlier.padded_pages,
            commits: self.commits - earlier.commits,
            implicit_commits: self.implicit_commits - earlier.implicit_commits,
            committed_pages: self.committed_pages - earlier.committed_pages,
            rewritten_pages: self.rewritten_pages - earlier.rewritten_pages,
            closed: self.closed - earlier.closed,
            refused_bytes: self.refused_bytes - earlier.refused_bytes,
            errors: std::array::from_fn(|at| self.errors[at] - earlier.errors[at]),
        }
    }
}
