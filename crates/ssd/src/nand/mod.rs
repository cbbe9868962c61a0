//! The flash itself: commands, how long they take, and who holds die and bus meanwhile.
//!
//! A die runs one command at a time; dies of a channel share its bus. [`timeline`] does this with busy-until times where
//! commands can't overtake one another; [`event`] does it with events, everywhere. Both give the same times where both
//! apply. Nothing here knows of logical pages.

pub(crate) mod event;
pub(crate) mod probe;
pub(crate) mod timeline;
pub(crate) mod timing;

pub(crate) use probe::Course;
pub(crate) use probe::Probe;
pub use probe::{
    CommandRecord, DirtyRecord, FullRecord, HoldRecord, IssueRecord, PauseRecord, QueueRecord, RequestRecord,
    TransferRecord,
};
pub(crate) use timing::TimingConfig;

use crate::sched::Pages;
use crate::stats::DieTime;

/// What a command does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// A request of the host (its read-modify-writes included).
    Host,
    /// Garbage collection and wear levelling.
    Gc,
    /// Mapping tables on flash.
    Mapping,
}

impl Purpose {
    /// How many purposes there are.
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

/// A command for one die, with all that its times depend on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Command {
    pub(crate) die: u32,
    pub(crate) kind: CommandKind,
    pub(crate) purpose: Purpose,
    /// Erased blocks that it is the first to write to, for the probe.
    pub(crate) opens: u8,
    /// Pages: planes taking part, or pages moved.
    pub(crate) pages: u32,
    /// Array time of its reads, ns (all of them for `Copies`).
    pub(crate) read_ns: u64,
    /// Bus time, ns, both directions.
    pub(crate) bus_ns: u64,
    /// Array time of its programs, or of the erase, ns.
    pub(crate) program_ns: u64,
    /// Who waits for it: the caller's tag, or [`NOBODY`].
    pub(crate) tag: u32,
    /// Whether its request is done no earlier: not of what the drive does on its own account.
    pub(crate) awaited: bool,
}

impl Command {
    /// The time that a die is held by it when nothing else wants the bus.
    pub(crate) fn total_ns(&self) -> u64 {
        self.read_ns + self.bus_ns + self.program_ns
    }

    /// Copies that it makes; 1 for all other commands.
    pub(crate) fn copies(&self) -> u32 {
        if self.kind == CommandKind::Copies { self.pages } else { 1 }
    }

    /// The part of one of its times that falls to the copy after which `left - 1` are left: an even share, the remainder
    /// with the first.
    pub(crate) fn share(&self, total_ns: u64, left: u32) -> u64 {
        let copies = u64::from(self.copies());
        total_ns / copies + if left == self.copies() { total_ns % copies } else { 0 }
    }

    /// Tells when it uses the bus, if it starts at `start_ns` and nothing delays it.
    fn tell_transfers(&self, start_ns: u64, probe: &mut impl Probe) {
        let mut time_ns = start_ns;
        for left in (1..=self.copies()).rev() {
            let [read, bus, program] =
                [self.read_ns, self.bus_ns, self.program_ns].map(|total| self.share(total, left));
            probe.transfer(self, time_ns + read, bus);
            time_ns += read + bus + program;
        }
    }
}

/// Runs commands. The implementations differ in how they work out times, never in what the times are.
pub(crate) trait Executor {
    /// Whether commands take time.
    fn takes_time(&self) -> bool {
        true
    }

    /// Whether [`Executor::touches`] is listened to: only schedulers that reorder do.
    fn listens(&self) -> bool {
        false
    }

    /// The next command submitted reads or writes this page.
    fn touches(&mut self, _unit: u32, _ppn: u32) {}

    /// The next command submitted moves these pages.
    fn moves(&mut self, _pages: Pages) {}

    /// The next command submitted erases these pages.
    fn erases(&mut self, _unit: u32, _first: u32, _last: u32) {}

    /// Number of the request that the commands submitted next serve, for the probe.
    fn serving(&self) -> u64 {
        0
    }

    /// The commands submitted next serve this request.
    fn serve(&mut self, _request: u64) {}

    /// Hands a command to its die at `now_ns`.
    fn submit(&mut self, now_ns: u64, command: Command);

    /// Hands over a command and another, for another die, that takes its place in that die's queue but may only start when
    /// the first is done. What was announced by [`Executor::touches`] is the first one's; `page` is the second one's.
    fn submit_chain(&mut self, now_ns: u64, first: Command, second: Command, page: (u32, u32));

    /// Whether the die has neither a command nor one waiting at `now_ns`.
    fn die_is_idle(&self, die: u32, now_ns: u64) -> bool;
}

/// For preconditioning: commands take no time and leave no trace.
pub(crate) struct Untimed;

impl Executor for Untimed {
    #[inline]
    fn takes_time(&self) -> bool {
        false
    }
    #[inline]
    fn submit(&mut self, _: u64, _: Command) {}
    fn submit_chain(&mut self, _: u64, _: Command, _: Command, _: (u32, u32)) {}
    fn die_is_idle(&self, _: u32, _: u64) -> bool {
        true
    }
}

/// Die and bus times of a drive, by purpose.
#[derive(Clone, Debug)]
pub(crate) struct Usage {
    pub(crate) dies: Vec<DieTime>,
    pub(crate) buses: Vec<DieTime>,
    dies_per_channel: u32,
}

impl Usage {
    pub(crate) fn new(dies: u32, dies_per_channel: u32) -> Self {
        Self {
            dies: vec![DieTime::default(); dies as usize],
            buses: vec![DieTime::default(); (dies / dies_per_channel) as usize],
            dies_per_channel,
        }
    }

    /// Books a command that held its die for `held_ns` not booked before.
    #[inline]
    pub(crate) fn book(&mut self, command: &Command, held_ns: u64) {
        self.hold(command, held_ns);
        self.transfer(command);
    }

    /// Books that a command held its die for `ns`.
    #[inline]
    pub(crate) fn hold(&mut self, command: &Command, ns: u64) {
        self.dies[command.die as usize].add(command.purpose, ns);
    }

    /// Books the bus time of a command.
    #[inline]
    pub(crate) fn transfer(&mut self, command: &Command) {
        let channel =
            if self.dies_per_channel == 1 { command.die } else { command.die / self.dies_per_channel };
        self.buses[channel as usize].add(command.purpose, command.bus_ns);
    }
}
