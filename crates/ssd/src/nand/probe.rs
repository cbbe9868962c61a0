//! Probes: what a run tells of its commands and requests while it goes. Generic, so that they cost nothing when off.

use serde::{Deserialize, Serialize};

use super::die_use::{DieUse, DieWorkTimes};
pub use super::on_the_way::{CoreRecord, LinkRecord};
pub use super::records::{IssueRecord, NO_DIE, RequestRecord, TaskRecord};
use crate::op::{Command, CommandKind, HostEntry, LevelEntry, PageEntry, Purpose};
use crate::stats::Parts;

/// A command as it ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandRecord {
    /// The die.
    pub die: u32,
    /// Kind of command.
    pub kind: CommandKind,
    /// On whose account.
    pub purpose: Purpose,
    /// Planes that took part, or pages moved.
    pub pages: u32,
    /// When it took the die, ns.
    pub start_ns: u64,
    /// When it was done, ns.
    pub end_ns: u64,
    /// Bus time within it, ns.
    pub bus_ns: u64,
    /// Request that it serves, from 0; `None` for the drive's own. A page of the buffer serves the request that brought it in.
    pub request: Option<u64>,
    /// Erased blocks that it is the first to write to.
    pub opens: u8,
    /// When it was handed to its die, ns.
    pub arrived_ns: u64,
    /// When it took the die for the last time, ns: as `start_ns`, if it was never paused.
    pub resumed_ns: u64,
    /// Commands that it passed in the queue of its die.
    pub passed: u32,
    /// Times that it was paused for reads.
    pub pauses: u32,
    /// Where its time went, from when it was handed over to its end.
    pub parts: Parts,
    /// Number under which the journal keeps what it does to pages; `u32::MAX` if nobody does.
    pub effect: u32,
}

/// A command that had begun and stood back for reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PauseRecord {
    /// The die.
    pub die: u32,
    /// Kind of command.
    pub kind: CommandKind,
    /// On whose account.
    pub purpose: Purpose,
    /// True if it was suspended with its array busy; if not, it stood back between two copies.
    pub suspended: bool,
    /// When the die was free for reads, ns.
    pub start_ns: u64,
    /// When it went on, ns.
    pub end_ns: u64,
    /// Number of the request that it serves; `None` for commands of the drive's own.
    pub request: Option<u64>,
}

/// A command that gave up its die before it was done: it is paused, or back in the queue. Later records have the rest of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HoldRecord {
    /// The die.
    pub die: u32,
    /// Kind of command.
    pub kind: CommandKind,
    /// On whose account.
    pub purpose: Purpose,
    /// Planes that take part, or pages moved.
    pub pages: u32,
    /// When it took the die, ns.
    pub start_ns: u64,
    /// When it gave it up, ns.
    pub end_ns: u64,
}

/// A change of the number of commands that wait for a die, loaded pages excluded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueRecord {
    /// When, ns.
    pub time_ns: u64,
    /// The die.
    pub die: u32,
    /// Commands more.
    pub change: i32,
}

/// Course of a command through its die.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Course {
    /// When it was handed over, got the die, and was done, ns.
    pub(crate) arrived_ns: u64,
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    /// When it took the die for the last time, ns.
    pub(crate) resumed_ns: u64,
    pub(crate) passed: u32,
    pub(crate) pauses: u32,
    pub(crate) parts: Parts,
    /// The request that it serves.
    pub(crate) request: Option<u64>,
}

/// A command on its channel's bus. Those of a channel come in order; a command that moves pages has one for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransferRecord {
    /// The die.
    pub die: u32,
    /// Kind of command.
    pub kind: CommandKind,
    /// On whose account.
    pub purpose: Purpose,
    /// Pages over the bus one after the other, each way if it goes out and back in.
    pub pages: u32,
    /// When it got the bus, ns.
    pub start_ns: u64,
    /// When it was done with it, ns.
    pub end_ns: u64,
}

/// A write that waited for room in the write buffer, being the next to enter it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FullRecord {
    /// Number of the request, from 0.
    pub request: u64,
    /// When it was the next one and found no room, ns.
    pub start_ns: u64,
    /// When all of it was in the buffer, ns.
    pub end_ns: u64,
}

/// A change of the number of dirty pages: pages in the write buffer that are not on flash yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirtyRecord {
    /// When, ns. Records come in this order.
    pub time_ns: u64,
    /// The channel that the pages will go to; `None` while that is not decided (dynamic allocation).
    pub channel: Option<u32>,
    /// Pages more.
    pub change: i32,
}

/// Observer of commands and requests.
pub(crate) trait Probe {
    /// True if the probe records.
    const ON: bool;
    /// A command is done, or has been worked out.
    fn command(&mut self, command: &Command, course: &Course);
    /// A command that was paused goes on.
    fn pause(&mut self, record: PauseRecord);
    /// A command gives its die up before it is done.
    fn hold(&mut self, record: HoldRecord);
    /// More or fewer commands wait for a die.
    fn queue(&mut self, time_ns: u64, die: u32, change: i32);
    /// A command gets the bus for `bus_ns`: all of it, or the part of one of its copies.
    fn transfer(&mut self, command: &Command, start_ns: u64, bus_ns: u64);
    /// A request was taken.
    fn issue(&mut self, record: IssueRecord);
    /// A request is done.
    fn request(&mut self, record: RequestRecord);
    /// The write buffer holds `change` more dirty pages for the channel.
    fn dirty_pages(&mut self, now_ns: u64, channel: Option<u32>, change: i32);
    /// A write had to wait for room in the write buffer.
    fn full(&mut self, record: FullRecord);
    /// Data take the host's link.
    fn link(&mut self, record: LinkRecord);
    /// A core of the firmware takes a command.
    fn core(&mut self, record: CoreRecord);
    /// A step of a task is done.
    fn task(&mut self, _: TaskRecord) {}
    /// Takes what was recorded since the last call.
    fn take(&mut self) -> Recorded {
        Recorded::default()
    }
    /// Time of dies by kind of work so far, if it is added up.
    fn die_use(&self) -> Vec<DieWorkTimes> {
        Vec::new()
    }
}

/// Records when a command uses the bus, if it starts at `start_ns` and nothing delays it.
pub(crate) fn transfers(command: &Command, start_ns: u64, probe: &mut impl Probe) {
    let mut time_ns = start_ns;
    for left in (1..=command.copies()).rev() {
        let [read, bus, program] =
            [command.read_ns, command.bus_ns, command.program_ns].map(|total| command.share(total, left));
        probe.transfer(command, time_ns + read, bus);
        time_ns += read + bus + program;
    }
}

/// Records of a probe.
#[derive(Clone, Debug, Default)]
pub struct Recorded {
    /// Commands, in the order in which they were worked out.
    pub commands: Vec<CommandRecord>,
    /// Commands that were paused, in the order in which they went on.
    pub pauses: Vec<PauseRecord>,
    /// Occupation of dies by commands before these were paused or went back, in that order.
    pub holds: Vec<HoldRecord>,
    /// Changes of the queues of dies, in the order in which they were worked out.
    pub queues: Vec<QueueRecord>,
    /// Transfers on the buses.
    pub transfers: Vec<TransferRecord>,
    /// Requests, in the order in which they were taken.
    pub issues: Vec<IssueRecord>,
    /// Requests, in the order in which they ended or were worked out.
    pub requests: Vec<RequestRecord>,
    /// Changes of dirty pages, by time.
    pub dirty_pages: Vec<DirtyRecord>,
    /// Writes that waited for room in the write buffer, by time; no two at once.
    pub full: Vec<FullRecord>,
    /// Data on the host's link, in the order in which they became ready.
    pub links: Vec<LinkRecord>,
    /// Commands on cores of the firmware, in the order of their starts.
    pub cores: Vec<CoreRecord>,
    /// Steps of tasks, by their ends.
    pub tasks: Vec<TaskRecord>,
    /// Changes of levels by the commands, in no particular order.
    pub levels: Vec<LevelEntry>,
    /// Effects of the commands on pages (see [`crate::Options::journal`]), in no particular order.
    pub pages: Vec<PageEntry>,
    /// Changes by the host, in the order in which they take effect; likewise.
    pub host: Vec<HostEntry>,
    /// Writes, TRIMs and flushes in the order in which the drive began to work at them, each part of one; likewise.
    pub entered: Vec<u64>,
    /// Nothing that is still to be recorded starts before this, ns.
    pub settled_ns: u64,
    /// No change of a queue that is still to be recorded is before this, ns.
    pub queues_settled_ns: u64,
}

/// No probe.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Off;

impl Probe for Off {
    const ON: bool = false;
    #[inline]
    fn command(&mut self, _: &Command, _: &Course) {}
    #[inline]
    fn pause(&mut self, _: PauseRecord) {}
    #[inline]
    fn hold(&mut self, _: HoldRecord) {}
    #[inline]
    fn queue(&mut self, _: u64, _: u32, _: i32) {}
    #[inline]
    fn transfer(&mut self, _: &Command, _: u64, _: u64) {}
    #[inline]
    fn issue(&mut self, _: IssueRecord) {}
    #[inline]
    fn request(&mut self, _: RequestRecord) {}
    #[inline]
    fn dirty_pages(&mut self, _: u64, _: Option<u32>, _: i32) {}
    #[inline]
    fn full(&mut self, _: FullRecord) {}
    #[inline]
    fn link(&mut self, _: LinkRecord) {}
    #[inline]
    fn core(&mut self, _: CoreRecord) {}
}

/// Keeps records until they are taken. They belong to a run: a drive that is saved leaves them out, as it leaves [`Off`] out.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Recorder(#[serde(skip)] Recorded, #[serde(skip)] DieUse);

impl Probe for Recorder {
    const ON: bool = true;

    fn command(&mut self, command: &Command, course: &Course) {
        self.1.command(command, course);
        let Command { die, kind, purpose, opens, pages, bus_ns, effect, .. } = *command;
        let Course { arrived_ns, start_ns, end_ns, resumed_ns, passed, pauses, parts, request } = *course;
        self.0.commands.push(CommandRecord {
            die,
            kind,
            purpose,
            pages,
            start_ns,
            end_ns,
            bus_ns,
            request,
            opens,
            arrived_ns,
            resumed_ns,
            passed,
            pauses,
            parts,
            effect,
        });
    }

    fn pause(&mut self, record: PauseRecord) {
        self.0.pauses.push(record);
    }

    fn hold(&mut self, record: HoldRecord) {
        self.1.hold(record);
        if record.start_ns < record.end_ns {
            self.0.holds.push(record);
        }
    }

    fn queue(&mut self, time_ns: u64, die: u32, change: i32) {
        self.0.queues.push(QueueRecord { time_ns, die, change });
    }

    fn transfer(&mut self, command: &Command, start_ns: u64, bus_ns: u64) {
        if bus_ns > 0 {
            let Command { die, kind, purpose, pages, .. } = *command;
            let pages = if kind == CommandKind::Copies { 1 } else { pages };
            let end_ns = start_ns + bus_ns;
            self.0.transfers.push(TransferRecord { die, kind, purpose, pages, start_ns, end_ns });
        }
    }

    fn issue(&mut self, record: IssueRecord) {
        self.0.issues.push(record);
    }

    fn request(&mut self, record: RequestRecord) {
        self.0.requests.push(record);
    }

    fn dirty_pages(&mut self, time_ns: u64, channel: Option<u32>, change: i32) {
        self.0.dirty_pages.push(DirtyRecord { time_ns, channel, change });
    }

    fn full(&mut self, record: FullRecord) {
        if record.start_ns < record.end_ns {
            self.0.full.push(record);
        }
    }

    fn link(&mut self, record: LinkRecord) {
        self.0.links.push(record);
    }

    fn core(&mut self, record: CoreRecord) {
        self.0.cores.push(record);
    }

    fn task(&mut self, record: TaskRecord) {
        self.0.tasks.push(record);
    }

    fn take(&mut self) -> Recorded {
        std::mem::take(&mut self.0)
    }

    fn die_use(&self) -> Vec<DieWorkTimes> {
        self.1.times()
    }
}
