//! Probes: what a run tells of its commands and requests while it goes. Generic, so that they cost nothing when off.

use flashweir_trace::{LogRecord, Request};

use super::{Command, CommandKind, Purpose};

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
    /// When it got the bus, ns; `None` where it used the bus several times, or not at all.
    pub bus_start_ns: Option<u64>,
    /// Number of the request that it serves, from 0; `None` for commands of the drive's own.
    pub request: Option<u64>,
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

/// When a command did what, ns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    /// It took the die.
    pub(crate) start: u64,
    /// It got the bus, where it needs it once.
    pub(crate) bus: u64,
    /// It was done.
    pub(crate) end: u64,
}

/// Is told of commands and requests.
pub(crate) trait Probe {
    /// Whether anyone listens.
    const ON: bool;
    /// A command is done, or has been worked out.
    fn command(&mut self, command: &Command, times: Times, request: Option<u64>);
    /// A request is done.
    fn request(&mut self, record: RequestRecord);
    /// The write buffer holds so many dirty pages from now on.
    fn dirty_pages(&mut self, now_ns: u64, pages: u64);
    /// Takes what was recorded since the last call.
    fn take(&mut self) -> Recorded;
}

/// What a probe has recorded.
#[derive(Clone, Debug, Default)]
pub struct Recorded {
    /// Commands, in the order in which they were worked out.
    pub commands: Vec<CommandRecord>,
    /// Requests, in the order in which they ended or were worked out.
    pub requests: Vec<RequestRecord>,
    /// Dirty pages of the write buffer: time in ns, pages.
    pub dirty_pages: Vec<(u64, u64)>,
}

/// No probe.
#[derive(Clone, Debug)]
pub(crate) struct Off;

impl Probe for Off {
    const ON: bool = false;
    #[inline]
    fn command(&mut self, _: &Command, _: Times, _: Option<u64>) {}
    #[inline]
    fn request(&mut self, _: RequestRecord) {}
    #[inline]
    fn dirty_pages(&mut self, _: u64, _: u64) {}
    fn take(&mut self) -> Recorded {
        Recorded::default()
    }
}

/// Keeps what it is told until it is taken.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recorder(Recorded);

impl Probe for Recorder {
    const ON: bool = true;

    fn command(&mut self, command: &Command, times: Times, request: Option<u64>) {
        let Command { die, kind, purpose, pages, bus_ns, .. } = *command;
        let once = matches!(kind, CommandKind::Read | CommandKind::Program) && bus_ns > 0;
        self.0.commands.push(CommandRecord {
            die,
            kind,
            purpose,
            pages,
            start_ns: times.start,
            end_ns: times.end,
            bus_ns,
            bus_start_ns: once.then_some(times.bus),
            request,
        });
    }

    fn request(&mut self, record: RequestRecord) {
        self.0.requests.push(record);
    }

    fn dirty_pages(&mut self, now_ns: u64, pages: u64) {
        self.0.dirty_pages.push((now_ns, pages));
    }

    fn take(&mut self) -> Recorded {
        std::mem::take(&mut self.0)
    }
}
