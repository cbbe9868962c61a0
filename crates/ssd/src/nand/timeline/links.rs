//! Ends of commands that those of other dies wait for, where superblocks are collected ([`Role`]).

use serde::{Deserialize, Serialize};

use crate::op::{Link, Role};

/// Latest ends of a set of dies, ns.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Ends {
    /// Of the pages read since the last ones were programmed.
    reads_ns: u64,
    /// Of all that was programmed.
    writes_ns: u64,
    /// True if the pages that were read are being programmed.
    moves: bool,
}

/// Ends of all sets.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Links(Vec<Ends>);

impl Links {
    /// When a command may start as far as other dies are concerned, ns.
    #[inline]
    pub(super) fn ready_ns(&self, link: Link) -> u64 {
        let Some((set, role)) = link.get() else { return 0 };
        let ends = self.0.get(set as usize).copied().unwrap_or_default();
        match role {
            Role::Write | Role::Read => 0,
            Role::Move => ends.reads_ns,
            Role::Erase => ends.writes_ns,
        }
    }

    /// A command ends then, ns.
    #[inline]
    pub(super) fn note(&mut self, link: Link, end_ns: u64) {
        let Some((set, role)) = link.get() else { return };
        if self.0.len() <= set as usize {
            self.0.resize(set as usize + 1, Ends::default());
        }
        let ends = &mut self.0[set as usize];
        match role {
            Role::Write => ends.writes_ns = ends.writes_ns.max(end_ns),
            Role::Read => {
                let before_ns = if std::mem::take(&mut ends.moves) { 0 } else { ends.reads_ns };
                ends.reads_ns = before_ns.max(end_ns);
            }
            Role::Move => {
                ends.moves = true;
                ends.writes_ns = ends.writes_ns.max(end_ns);
            }
            Role::Erase => {}
        }
    }
}
