//! Commands: operations with everything that their times depend on.

use serde::{Deserialize, Serialize};

/// Kind of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum CommandKind {
    /// Reads a page in each of its planes: array, then bus.
    Read,
    /// Programs a page in each of its planes: bus, then array.
    Program,
    /// Read-modify-write of a page: array, bus out, bus in, array.
    Rewrite,
    /// Moves pages within a unit: for each, array, bus out, bus in, array. One command, because nothing interleaves.
    Copies,
    /// Erases a block.
    Erase,
}

impl CommandKind {
    /// The name in timelines.
    pub const fn name(self) -> &'static str {
        match self {
            CommandKind::Read => "read",
            CommandKind::Program => "program",
            CommandKind::Rewrite => "read-modify-write",
            CommandKind::Copies => "copy",
            CommandKind::Erase => "erase",
        }
    }
}

/// On whose account a command runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Purpose {
    /// A request of the host (its read-modify-writes included).
    Host,
    /// Garbage collection and wear levelling.
    Gc,
    /// Mapping tables on flash.
    Mapping,
}

impl Purpose {
    /// Number of purposes.
    pub const COUNT: usize = 3;

    /// The name in results and timelines.
    pub const fn name(self) -> &'static str {
        match self {
            Purpose::Host => "host",
            Purpose::Gc => "gc",
            Purpose::Mapping => "mapping",
        }
    }
}

/// No request waits for this command.
pub(crate) const NOBODY: u32 = u32::MAX;

/// Nobody keeps what this command does to pages.
pub(crate) const NO_EFFECT: u32 = u32::MAX;

/// Part of a command in the work on the superblocks of a set of dies, whose commands wait for one another across dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Role {
    /// Programs pages of the host, or of parity: the next erase waits for it.
    Write,
    /// Reads pages that are moved: the programs of these wait for it.
    Read,
    /// Programs pages that are moved: starts when the reads before it are done, and the next erase waits for it.
    Move,
    /// Erases a block: starts when all writes and moves before it are done, or what it erases might be nowhere else.
    Erase,
}

/// A [`Role`] and its set of dies, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Link(u32);

impl Link {
    /// A command that nothing of another die waits for, and that waits for nothing there.
    pub(crate) const NONE: Self = Self(0);

    /// The role of a command of a set of dies.
    #[inline]
    pub(crate) fn new(set: u32, role: Role) -> Self {
        Self((set + 1) << 2 | role as u32)
    }

    /// The set and the role, if there is one.
    #[inline]
    pub(crate) fn get(self) -> Option<(u32, Role)> {
        let set = (self.0 >> 2).checked_sub(1)?;
        let role = [Role::Write, Role::Read, Role::Move, Role::Erase][(self.0 & 3) as usize];
        Some((set, role))
    }
}

/// A command for one die.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Command {
    pub(crate) die: u32,
    pub(crate) kind: CommandKind,
    pub(crate) purpose: Purpose,
    /// Erased blocks that it is the first to write to, for the probe.
    pub(crate) opens: u8,
    /// True if its request completes no earlier than this command; false for work that the drive does on its own
    /// account.
    pub(crate) awaited: bool,
    /// Pages: planes taking part, or pages moved.
    pub(crate) pages: u32,
    /// Tag of the caller that waits for it, or [`NOBODY`].
    pub(crate) tag: u32,
    /// Its effect on pages: the number under which the journal keeps it, or [`NO_EFFECT`].
    pub(crate) effect: u32,
    /// Its part in the work on a superblock: commands of other dies that it waits for, and that wait for it.
    pub(crate) link: Link,
    /// Array time of its reads, ns (all of them for `Copies`).
    pub(crate) read_ns: u64,
    /// Bus time, ns, both directions.
    pub(crate) bus_ns: u64,
    /// Array time of its programs, or of the erase, ns.
    pub(crate) program_ns: u64,
}

impl Command {
    /// The time that a die is held by it when nothing else wants the bus.
    pub(crate) fn total_ns(&self) -> u64 {
        self.read_ns + self.bus_ns + self.program_ns
    }

    /// Its times: reads, bus, programs, ns.
    #[inline]
    pub(crate) fn times(&self) -> [u64; 3] {
        [self.read_ns, self.bus_ns, self.program_ns]
    }

    /// True if the pages that it writes are also where they were on its die, until their block is erased.
    #[inline]
    pub(crate) fn moves_within(&self) -> bool {
        self.kind == CommandKind::Copies && self.link == Link::NONE
    }

    /// Copies that it makes; 1 for all other commands.
    #[inline]
    pub(crate) fn copies(&self) -> u32 {
        if self.kind == CommandKind::Copies { self.pages } else { 1 }
    }

    /// The part of one of its times that falls to the copy after which `left - 1` are left: an even share, the remainder
    /// with the first.
    pub(crate) fn share(&self, total_ns: u64, left: u32) -> u64 {
        let copies = u64::from(self.copies());
        total_ns / copies + if left == self.copies() { total_ns % copies } else { 0 }
    }
}
