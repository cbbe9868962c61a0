//! The commands of a write cycle. With a common clock its pages are programmed together, after the last of what has to be
//! done before any of them: reads of what a page keeps, and what the translation layer does on its own. So no page is on
//! flash before one of an older request, though that had to wait.

use crate::nand::timeline::Timeline;
use crate::nand::{Executor, Probe};
use crate::op::{Command, CommandKind, Purpose};
use crate::sched::Pages;

/// Hands commands to their dies; with a common clock it holds programs of pages back until all is known.
pub(super) struct Cycle<'a, P> {
    line: &'a mut Timeline<P>,
    holds: bool,
    /// Commands held back, with the number of the request that each serves.
    held: Vec<(u64, Command)>,
}

/// The part of a command that comes before its page crosses the bus to be programmed, ns.
fn before_program_ns(command: &Command) -> u64 {
    if command.kind == CommandKind::Rewrite { command.read_ns + command.bus_ns / 2 } else { 0 }
}

impl<'a, P: Probe> Cycle<'a, P> {
    /// `holds`: whether pages are programmed together.
    pub(super) fn new(line: &'a mut Timeline<P>, holds: bool) -> Self {
        Self { line, holds, held: Vec::new() }
    }

    /// Everything that comes before is known: lets the programs go, at `start_ns` or as soon as all of them can.
    pub(super) fn release(self, start_ns: u64) {
        let ready =
            |command: &Command| start_ns.max(self.line.free_ns(command.die)) + before_program_ns(command);
        let together_ns = self.held.iter().map(|(_, command)| ready(command)).max().unwrap_or(start_ns);
        for (request, command) in self.held {
            self.line.request = request;
            self.line.submit(together_ns - before_program_ns(&command), command, Pages::default());
        }
    }
}

impl<P: Probe> Executor for Cycle<'_, P> {
    fn serving(&self) -> u64 {
        self.line.serving()
    }

    fn serve(&mut self, request: u64) {
        self.line.serve(request);
    }

    fn submit(&mut self, now_ns: u64, command: Command, pages: Pages) {
        let is_page = matches!(command.kind, CommandKind::Program | CommandKind::Rewrite);
        if self.holds && is_page && command.purpose == Purpose::Host {
            self.held.push((self.line.request, command));
            return;
        }
        // A die runs its commands in the order in which they are made.
        let serving = self.line.request;
        let of_die = self.held.extract_if(.., |(_, held)| held.die == command.die);
        for (request, held) in of_die {
            self.line.request = request;
            self.line.submit(now_ns, held, Pages::default());
        }
        self.line.request = serving;
        self.line.submit(now_ns, command, pages);
    }

    fn submit_chain(&mut self, now_ns: u64, first: (Command, Pages), second: (Command, Pages)) {
        self.line.submit_chain(now_ns, first, second);
    }

    fn die_is_idle(&self, die: u32, now_ns: u64) -> bool {
        self.line.die_is_idle(die, now_ns)
    }
}
