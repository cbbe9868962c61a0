//! Groups of commands that start together, where a clock is common; `clock.rs` says what a group is.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::Kind;
use super::busy::Waited;
use crate::nand::{Executor, TimePath};
use crate::op::{Command, NOBODY};
use crate::sched::Pages;

/// A command of a group, with the number of the request that it serves and the tenant that it is charged to.
pub(super) type Member = ((u64, u16), Command, Pages);

/// Commands that start together.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Group {
    pub(super) kind: Kind,
    pub(super) commands: Vec<Member>,
    pub(super) waited: Waited,
    pub(super) start_ns: u64,
    /// End of the last command that a read waits for, ns.
    pub(super) latest_ns: u64,
}

/// The groups that are not done.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Groups {
    pub(super) filling: Vec<Member>,
    pub(super) waiting: VecDeque<Group>,
    pub(super) running: Option<Group>,
    /// Memory of lists of commands that have started.
    pub(super) spare: Vec<Vec<Member>>,
    pub(super) cycle: Starting,
}

/// Used while the commands of a cycle start.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Starting {
    pub(super) held: Vec<Member>,
    /// By die: when it has done what was handed over so far, and the latest arrival of a program that was held, ns.
    pub(super) free_ns: Vec<u64>,
    pub(super) arrival_ns: Vec<u64>,
}

impl Starting {
    /// Nothing is held, and all dies are free.
    pub(super) fn begin(&mut self, dies: u32, now_ns: u64) {
        self.held.clear();
        for times in [&mut self.free_ns, &mut self.arrival_ns] {
            times.clear();
            times.resize(dies as usize, now_ns);
        }
    }
}

impl Groups {
    /// Takes the commands of a group that is being made.
    pub(super) fn fill<'a, A: TimePath>(&'a mut self, array: &'a A) -> Filling<'a, A> {
        Filling { request: array.serving(), tenant: 0, tagged: 0, members: &mut self.filling, array }
    }

    /// The waits of groups that have not started.
    pub(super) fn waits(&mut self) -> impl Iterator<Item = &mut Waited> {
        self.waiting.iter_mut().map(|group| &mut group.waited)
    }
}

/// Collects the commands of a group.
pub(super) struct Filling<'a, A> {
    pub(super) request: u64,
    pub(super) tenant: u16,
    /// Commands that somebody waits for.
    pub(super) tagged: u32,
    pub(super) members: &'a mut Vec<Member>,
    pub(super) array: &'a A,
}

impl<A: TimePath> Executor for Filling<'_, A> {
    fn wants_pages(&self) -> bool {
        self.array.wants_pages()
    }

    fn serving(&self) -> u64 {
        self.request
    }

    fn serve(&mut self, request: u64) {
        self.request = request;
    }

    fn charge(&mut self, tenant: u16) {
        self.tenant = tenant;
    }

    fn submit(&mut self, _: u64, command: Command, pages: Pages) {
        self.tagged += u32::from(command.tag != NOBODY);
        self.members.push(((self.request, self.tenant), command, pages));
    }

    fn expects_no_end(&mut self) {
        self.tagged -= 1;
    }

    fn submit_chain(&mut self, now_ns: u64, first: (Command, Pages), second: (Command, Pages)) {
        // Both are for one die and run in this order, or the programs of a cycle come after all that is before them.
        self.submit(now_ns, Command { tag: NOBODY, ..first.0 }, first.1);
        self.submit(now_ns, second.0, second.1);
    }

    fn die_is_idle(&self, die: u32, now_ns: u64) -> bool {
        self.array.die_is_idle(die, now_ns)
    }
}
