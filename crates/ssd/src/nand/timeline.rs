//! Busy-until times: a die is a pair of times, and a command is done in a few additions. Exact where commands reach their
//! die in the order in which they run and no other die wants the bus (see `config::needs_events`).

use super::{Command, CommandKind, Executor, NOBODY, Probe, Purpose, Usage};
use crate::geometry::Geometry;

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
    /// The latest end of the host's commands since it was last set, ns.
    pub(crate) latest_ns: u64,
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
            latest_ns: 0,
            horizon_ns: 0,
            ended: Vec::new(),
            request: 0,
        }
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
        if P::ON {
            let request = (command.purpose == Purpose::Host).then_some(self.request);
            self.probe.command(command, start, end, request);
            command.tell_transfers(start, &mut self.probe);
        }
        end
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
    fn submit(&mut self, now_ns: u64, command: Command) {
        let end = self.run(now_ns, &command);
        if command.awaited {
            self.latest_ns = self.latest_ns.max(end);
        }
        if command.tag != NOBODY {
            self.ended.push((end, command.tag));
        }
    }

    fn submit_chain(&mut self, now_ns: u64, first: Command, second: Command, _: (u32, u32)) {
        let end = self.run(now_ns, &first);
        self.submit(end, second);
    }

    fn die_is_idle(&self, die: u32, now_ns: u64) -> bool {
        self.dies[die as usize].array_ns <= now_ns
    }
}
