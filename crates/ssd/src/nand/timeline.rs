//! Busy-until times: a die is a pair of times, and a command is done in a few additions. Exact where commands reach their
//! die in the order in which they run and no other die wants the bus (see `config::needs_events`).

mod backlog;

use super::{Course, Executor, Probe, Usage, probe};
use crate::geometry::Geometry;
use crate::op::{Command, CommandKind, NOBODY, Purpose};
use crate::sched::Pages;
use crate::stats::{Cause, Parts};
use backlog::Backlog;

/// When a die can take what.
#[derive(Clone, Copy, Debug, Default)]
struct Die {
    /// The array is free from here on, ns.
    array_ns: u64,
    /// The page register is free from here on, ns: never later than the array.
    register_ns: u64,
}

/// Executor on busy-until times.
#[derive(Clone, Debug)]
pub(crate) struct Timeline<P> {
    dies: Vec<Die>,
    cache_program: bool,
    pub(crate) usage: Usage,
    pub(crate) probe: P,
    /// What each die still has to do, if that is kept account of.
    backlogs: Vec<Backlog>,
    /// The latest end of the host's commands since [`Timeline::begin`], ns.
    pub(crate) latest_ns: u64,
    /// Where the time of that one went, if account is kept.
    pub(crate) latest_parts: Parts,
    /// The latest end of any command, ns.
    pub(crate) horizon_ns: u64,
    /// Ends of commands with a tag, since the caller last cleared it.
    pub(crate) ended: Vec<(u64, u32)>,
    /// Number of the request being served, for the probe.
    pub(crate) request: u64,
}

impl<P: Probe> Timeline<P> {
    pub(crate) fn new(geometry: &Geometry, cache_program: bool, probe: P) -> Self {
        Self {
            dies: vec![Die::default(); geometry.total_dies() as usize],
            cache_program,
            usage: Usage::new(geometry.total_dies(), geometry.dies_per_channel()),
            probe,
            backlogs: if P::ON {
                vec![Backlog::default(); geometry.total_dies() as usize]
            } else {
                Vec::new()
            },
            latest_ns: 0,
            latest_parts: Parts::default(),
            horizon_ns: 0,
            ended: Vec::new(),
            request: 0,
        }
    }

    /// From now on, keeps account of where the time of commands goes.
    pub(crate) fn keep_parts(&mut self) {
        self.backlogs.resize(self.dies.len(), Backlog::default());
    }

    /// A request begins at `now_ns`: see [`Timeline::latest_ns`].
    #[inline]
    pub(crate) fn begin(&mut self, now_ns: u64) {
        self.latest_ns = now_ns;
        self.latest_parts = Parts::default();
    }

    /// Commands handed over at `now_ns` or later start no earlier than this, ns.
    pub(crate) fn settled_ns(&self, now_ns: u64) -> u64 {
        self.dies.iter().map(|die| die.register_ns).min().unwrap_or(0).max(now_ns)
    }

    /// When a die is free, ns.
    pub(crate) fn free_ns(&self, die: u32) -> u64 {
        self.dies[die as usize].array_ns
    }

    /// Runs a command at `now_ns` or when its die is free. Returns its end, ns.
    #[inline]
    pub(crate) fn run(&mut self, now_ns: u64, command: &Command) -> u64 {
        let die = &mut self.dies[command.die as usize];
        let before = die.array_ns;
        let (start, end);
        if command.kind == CommandKind::Program && self.cache_program {
            start = now_ns.max(die.register_ns);
            let loaded = start + command.bus_ns;
            let program = loaded.max(before);
            die.register_ns = program;
            end = program + command.program_ns;
        } else {
            start = now_ns.max(before);
            end = start + command.total_ns();
            die.register_ns = end;
        }
        die.array_ns = end;
        self.usage.book(command, end - start.max(before));
        self.horizon_ns = self.horizon_ns.max(end);
        if !self.backlogs.is_empty() {
            self.follow(now_ns, command, start, before, end);
        }
        if command.awaited && end > self.latest_ns {
            self.latest_ns = end;
        }
        end
    }

    /// Keeps account of a command that was handed over at `now_ns` to a die busy until `before`.
    fn follow(&mut self, now_ns: u64, command: &Command, start_ns: u64, before: u64, end_ns: u64) {
        let backlog = &mut self.backlogs[command.die as usize];
        let (flash, bus) = (command.read_ns + command.program_ns, command.bus_ns);
        let mut parts = Parts { bus, flash, ..Parts::default() };
        if before <= now_ns {
            backlog.restart(start_ns, end_ns, Cause::of(command));
        } else {
            if P::ON || command.awaited {
                parts.add(&Parts::waited(&backlog.between(now_ns, start_ns), start_ns - now_ns));
                // It stood in the register behind a program.
                parts.wait_write += end_ns - start_ns - flash - bus;
            }
            backlog.push(start_ns.max(before), end_ns, Cause::of(command));
        }
        if P::ON {
            let course = Course {
                arrived_ns: now_ns,
                start_ns,
                end_ns,
                resumed_ns: start_ns,
                passed: 0,
                pauses: 0,
                parts,
                request: (command.purpose == Purpose::Host).then_some(self.request),
            };
            self.probe.command(command, &course);
            if start_ns > now_ns {
                self.probe.queue(now_ns, command.die, 1);
                self.probe.queue(start_ns, command.die, -1);
            }
            probe::transfers(command, start_ns, &mut self.probe);
        }
        if command.awaited {
            let parts = if command.purpose == Purpose::Mapping { parts.for_mapping() } else { parts };
            if end_ns > self.latest_ns || end_ns == self.latest_ns && parts > self.latest_parts {
                self.latest_parts = parts;
            }
        }
    }
}

impl<P: Probe> Executor for Timeline<P> {
    fn serving(&self) -> u64 {
        self.request
    }

    fn serve(&mut self, request: u64) {
        self.request = request;
    }

    #[inline]
    fn submit(&mut self, now_ns: u64, command: Command, _: Pages) {
        let end = self.run(now_ns, &command);
        if command.tag != NOBODY {
            self.ended.push((end, command.tag));
        }
    }

    fn submit_chain(&mut self, now_ns: u64, (first, _): (Command, Pages), second: (Command, Pages)) {
        let end = self.run(now_ns, &Command { awaited: false, ..first });
        self.submit(end, second.0, second.1);
    }

    fn die_is_idle(&self, die: u32, now_ns: u64) -> bool {
        self.dies[die as usize].array_ns <= now_ns
    }
}
