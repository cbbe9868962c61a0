//! A command that waits for a die, with what schedulers need of it.

use std::cell::Cell;

use serde::{Deserialize, Serialize};

use super::Pages;
use crate::op::{Command, CommandKind};
use crate::stats::Spent;

/// A command's part in a chain, of which the second starts no earlier than the first is done, or than all first ones are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Chain {
    /// It has none.
    None,
    /// It is the first of chain `number`; the second is for `die`.
    First { number: u64, die: u32 },
    /// It is the second one, and the first is not done: it keeps its place, but may not start.
    Second { number: u64 },
    /// It is one of several first ones.
    Counts { number: u64 },
    /// It is the second one of a chain, and a first one of another.
    Between { waits: u64, counts: u64 },
}

/// Result of a search for a command before another one that it depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Behind {
    /// Nobody has looked.
    Unknown,
    /// The command of this number.
    Number(u64),
    /// No command, when so many had come back ([`Queue::returns`]).
    Nothing { returns: u64 },
}

/// A command that waits, with what a scheduler may want to know.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Queued {
    pub(crate) command: Command,
    /// Pages that it reads or writes; empty if the scheduler does not reorder.
    pub(crate) pages: Pages,
    pub(crate) chain: Chain,
    /// Number of the request that it serves.
    pub(crate) request: u64,
    /// The tenant that it is charged to.
    pub(crate) tenant: u16,
    /// When it was handed over, ns.
    pub(crate) arrived_ns: u64,
    /// Work that its die had done by then; once it has the die, the work that the die has done meanwhile. Kept if the
    /// latency breakdown is kept.
    pub(crate) spent: Spent,
    /// Commands that it has passed.
    pub(crate) passed: u32,
    /// Its number among all that its die was handed, where fences are used.
    pub(crate) handed: u64,
    /// Number of the list of blocks of other units in which it replaces pages; `u32::MAX` if there are none.
    pub(crate) replaces: u32,
    /// Its number in the queue, from 1.
    pub(crate) number: u64,
    /// A command before it that it was found to depend on.
    pub(super) behind: Cell<Behind>,
}

impl Queued {
    /// A command that is handed over at `arrived_ns`.
    #[inline]
    pub(crate) fn new(
        command: Command,
        pages: Pages,
        chain: Chain,
        request: u64,
        arrived_ns: u64,
        spent: Spent,
    ) -> Self {
        Self {
            command,
            pages,
            chain,
            request,
            tenant: 0,
            arrived_ns,
            spent,
            passed: 0,
            handed: 0,
            replaces: u32::MAX,
            number: 0,
            behind: Cell::new(Behind::Unknown),
        }
    }

    /// True if it reads a page that the host waits for, or a translation page that locates one.
    #[inline]
    pub(crate) fn is_awaited_read(&self) -> bool {
        self.command.kind == CommandKind::Read && self.command.awaited
    }

    /// True if it writes its pages.
    pub(super) fn writes(&self) -> bool {
        !matches!(self.command.kind, CommandKind::Read | CommandKind::Erase)
    }
}
