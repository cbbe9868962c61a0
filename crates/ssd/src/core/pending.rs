//! Grouping: page operations of one request, or of one flush of the buffer, that go as one command over several planes.

use serde::{Deserialize, Serialize};

use crate::content::Content;
use crate::nand::Executor;
use crate::op::{Command, CommandKind};
use crate::sched::Pages;
use crate::stats::FlashTime;

/// Page operations of the request being turned into commands, waiting to be grouped.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Pending {
    /// True if pages of several planes go as one command.
    grouping: bool,
    commands: Vec<Grouped>,
    /// Tags that go with the tag of another one's command: that tag, then its companion.
    companions: Vec<(u32, u32)>,
    /// The account that commands are charged to.
    pub(super) flash_time: FlashTime,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Grouped {
    command: Command,
    planes: u64,
    pages: Pages,
    /// Numbers of the effects, by plane.
    effects: Vec<(u32, u32)>,
    /// The request that it serves, and its tenant: of several, the first.
    request: u64,
    tenant: u16,
}

impl Grouped {
    /// One plane more does the same: one array operation, all transfers.
    fn add(&mut self, command: &Command, plane: u32, pages: &Pages, effect: u32) {
        self.planes |= 1 << plane;
        self.pages.append(pages);
        self.effects.push((plane, effect));
        self.command.pages += command.pages;
        self.command.opens += command.opens;
        self.command.bus_ns += command.bus_ns;
        self.command.read_ns = self.command.read_ns.max(command.read_ns);
        self.command.program_ns = self.command.program_ns.max(command.program_ns);
    }
}

impl Pending {
    /// Nothing pending; `grouping` says whether anything ever will be.
    pub(super) fn new(grouping: bool) -> Self {
        Self { grouping, ..Self::default() }
    }

    #[inline]
    pub(super) fn grouping(&self) -> bool {
        self.grouping
    }

    /// A command is made: it is charged to the tenant whose turn it is, if it takes any time.
    #[inline]
    pub(super) fn charge(&mut self, command: &Command, executor: &impl Executor) {
        if executor.takes_time() {
            self.flash_time.charge(command);
        }
    }

    /// Tags that go with the tag of another one's command: that tag, then its companion. Cleared by the call.
    pub(super) fn take_companions(&mut self) -> Vec<(u32, u32)> {
        std::mem::take(&mut self.companions)
    }

    /// Joins the command to the last one of its die, if that is of the same kind and leaves the plane free. A
    /// read-modify-write pairs with nothing.
    pub(super) fn join(&mut self, command: Command, plane: u32, pages: Pages, effect: u32, request: u64) {
        let last = self.commands.iter_mut().rev().find(|last| last.command.die == command.die);
        match last {
            Some(last)
                if (last.command.kind, last.command.purpose) == (command.kind, command.purpose)
                    && command.kind != CommandKind::Rewrite
                    && last.planes >> plane & 1 == 0 =>
            {
                last.add(&command, plane, &pages, effect);
                if last.command.tag != command.tag {
                    self.companions.push((last.command.tag, command.tag));
                }
            }
            _ => self.push(command, plane, pages, effect, request),
        }
    }

    /// Joins a command of one step of a collection, or one that a write makes for the map, to the first one of its die that is
    /// of the same kind and purpose, leaves the plane free, and comes after all that the plane has to do before. Nobody waits
    /// for such a command.
    pub(super) fn join_step(
        &mut self,
        command: Command,
        plane: u32,
        pages: Pages,
        effect: u32,
        request: u64,
    ) {
        let of_die = |grouped: &&mut Grouped| grouped.command.die == command.die;
        let after_own =
            self.commands.iter_mut().rev().filter(of_die).take_while(|last| last.planes >> plane & 1 == 0);
        match after_own
            .filter(|last| (last.command.kind, last.command.purpose) == (command.kind, command.purpose))
            .last()
        {
            Some(first) => first.add(&command, plane, &pages, effect),
            None => self.push(command, plane, pages, effect, request),
        }
    }

    fn push(&mut self, command: Command, plane: u32, pages: Pages, effect: u32, request: u64) {
        let tenant = self.flash_time.tenant();
        let (planes, effects) = (1 << plane, vec![(plane, effect)]);
        self.commands.push(Grouped { command, planes, pages, effects, request, tenant });
    }

    /// Hands over what waits.
    pub(super) fn flush(&mut self, now_ns: u64, executor: &mut impl Executor, content: &mut impl Content) {
        if self.commands.is_empty() {
            return;
        }
        let (serving, served) = (executor.serving(), self.flash_time.tenant());
        for Grouped { command, pages, mut effects, request, tenant, .. } in self.commands.drain(..) {
            executor.serve(request);
            effects.sort_unstable_by_key(|(plane, _)| *plane);
            let effects: Vec<u32> = effects.into_iter().map(|(_, effect)| effect).collect();
            let effect = content.handed(command.kind, &effects);
            self.flash_time.serve(tenant);
            if executor.takes_time() {
                self.flash_time.charge(&command);
            }
            executor.submit(now_ns, Command { effect, ..command }, pages);
        }
        executor.serve(serving);
        self.flash_time.serve(served);
    }
}
