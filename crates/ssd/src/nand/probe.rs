//! Probes: what a run tells of its commands and requests while it goes. Generic, so that they cost nothing when off.

use flashweir_trace::{LogRecord, Request};

use super::{Command, CommandKind, Purpose};
use crate::power::{HostEntry, PageEntry};

/// A command as it ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandRecord {
    /// The die.
    pub die: u32,
    /// What it did.
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
    /// Number of the request that it serves, from 0; `None` for commands of the drive's own. A page of the write buffer
    /// is programmed for the request that brought it in.
    pub request: Option<u64>,
    /// Erased blocks that it is the first to write to.
    pub opens: u8,
}

/// A command on its channel's bus. Those of a channel come in order; a command that moves pages has one for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransferRecord {
    /// The die.
    pub die: u32,
    /// What the command does.
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

/// A request as it was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IssueRecord {
    /// Its number, from 0.
    pub number: u64,
    /// The request.
    pub request: Request,
    /// When the drive took it, ns.
    pub issue_ns: u64,
}

/// A request as it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestRecord {
    /// Its number, from 0.
    pub number: u64,
    /// The request.
    pub request: Request,
    /// When the drive took it, ns.
    pub issue_ns: u64,
    /// When it was done, ns.
    pub completion_ns: u64,
}

impl RequestRecord {
    /// The common record of simulated, collected and replayed requests.
    pub fn log_record(&self) -> LogRecord {
        LogRecord {
            issue_ns: Some(self.issue_ns),
            completion_ns: Some(self.completion_ns),
            ..LogRecord::bare(self.request)
        }
    }
}

/// Is told of commands and requests.
pub(crate) trait Probe {
    /// Whether anyone listens.
    const ON: bool;
    /// A command is done, or has been worked out: it held its die from `start_ns` to `end_ns`.
    fn command(&mut self, command: &Command, start_ns: u64, end_ns: u64, request: Option<u64>);
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
    /// Takes what was recorded since the last call.
    fn take(&mut self) -> Recorded;
}

/// What a probe has recorded.
#[derive(Clone, Debug, Default)]
pub struct Recorded {
    /// Commands, in the order in which they were worked out.
    pub commands: Vec<CommandRecord>,
    /// What went over the buses.
    pub transfers: Vec<TransferRecord>,
    /// Requests, in the order in which they were taken.
    pub issues: Vec<IssueRecord>,
    /// Requests, in the order in which they ended or were worked out.
    pub requests: Vec<RequestRecord>,
    /// Changes of dirty pages, by time.
    pub dirty_pages: Vec<DirtyRecord>,
    /// Writes that waited for room in the write buffer, by time; no two at once.
    pub full: Vec<FullRecord>,
    /// What the commands did to pages (see [`crate::Options::power_cuts`]), in no particular order.
    pub pages: Vec<PageEntry>,
    /// What the host changed, in the order in which it takes effect; likewise.
    pub host: Vec<HostEntry>,
    /// Nothing that is still to be recorded starts before this, ns.
    pub settled_ns: u64,
}

/// No probe.
#[derive(Clone, Debug)]
pub(crate) struct Off;

impl Probe for Off {
    const ON: bool = false;
    #[inline]
    fn command(&mut self, _: &Command, _: u64, _: u64, _: Option<u64>) {}
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
    fn take(&mut self) -> Recorded {
        Recorded::default()
    }
}

/// Keeps what it is told until it is taken.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recorder(Recorded);

impl Probe for Recorder {
    const ON: bool = true;

    fn command(&mut self, command: &Command, start_ns: u64, end_ns: u64, request: Option<u64>) {
        let Command { die, kind, purpose, opens, pages, bus_ns, .. } = *command;
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
        });
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

    fn take(&mut self) -> Recorded {
        std::mem::take(&mut self.0)
    }
}
