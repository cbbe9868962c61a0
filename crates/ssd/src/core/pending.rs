//! Grouping: page operations of one request, or of one flush of the buffer, that go as one command over several planes.

use crate::content::Content;
use crate::nand::{Command, CommandKind, Executor};
use crate::stats::FlashTime;

/// Page operations of the request being turned into commands, waiting to be grouped.
#[derive(Clone, Debug, Default)]
pub(super) struct Pending {
    /// Whether pages of several planes go as one command.
    grouping: bool,
    commands: Vec<Grouped>,
    /// Tags that go with the tag of another one's command: that tag, then its companion.
    companions: Vec<(u32, u32)>,
    /// Whom commands are charged to.
    pub(super) flash_time: FlashTime,
}

#[derive(Clone, Debug)]
struct Grouped {
    command: Command,
    planes: u64,
    pages: Vec<(u32, u32)>,
    /// The request that it serves, and its tenant: of several, the first.
    request: u64,
    tenant: u16,
}

impl Grouped {
    /// One plane more does the same: one array operation, all transfers.
    fn add(&mut self, command: &Command, planes: u64) {
        self.planes |= planes;
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

    /// Takes all that is pending, and leaves nothing.
    pub(super) fn set_aside(&mut self) -> Self {
        std::mem::replace(self, Self::new(self.grouping))
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

    /// Hands over a command that touches `pages`, or keeps it until others of its kind may have joined it.
    #[inline]
    pub(super) fn add<const N: usize>(
        &mut self,
        now_ns: u64,
        command: Command,
        plane: u32,
        pages: [(u32, u32); N],
        executor: &mut impl Executor,
        content: &mut impl Content,
    ) {
        if !self.grouping {
            for (unit, ppn) in pages {
                executor.touches(unit, ppn);
            }
            content.handed(&command, 1 << plane);
            self.charge(&command, executor);
            executor.submit(now_ns, command);
            return;
        }
        self.join(command, plane, &pages, executor.serving());
    }

    /// Joins the command to the last one of its die, if that is of the same kind and leaves the plane free. A
    /// read-modify-write pairs with nothing.
    fn join(&mut self, command: Command, plane: u32, pages: &[(u32, u32)], request: u64) {
        let last = self.commands.iter_mut().rev().find(|last| last.command.die == command.die);
        let planes = 1 << plane;
        match last {
            Some(last)
                if last.command.kind == command.kind
                    && command.kind != CommandKind::Rewrite
                    && last.planes & planes == 0 =>
            {
                last.add(&command, planes);
                last.pages.extend(pages);
                if last.command.tag != command.tag {
                    self.companions.push((last.command.tag, command.tag));
                }
            }
            _ => self.push(command, planes, pages.to_vec(), request),
        }
    }

    /// Joins a command of one step of a collection to the first one of its die that is of the same kind, leaves the plane
    /// free, and comes after all that the plane has to do before. Nobody waits for such a command.
    pub(super) fn join_step(&mut self, command: Command, plane: u32, request: u64) {
        let planes = 1 << plane;
        let of_die = |grouped: &&mut Grouped| grouped.command.die == command.die;
        let after_own =
            self.commands.iter_mut().rev().filter(of_die).take_while(|last| last.planes & planes == 0);
        match after_own.filter(|last| last.command.kind == command.kind).last() {
            Some(first) => first.add(&command, planes),
            None => self.push(command, planes, Vec::new(), request),
        }
    }

    fn push(&mut self, command: Command, planes: u64, pages: Vec<(u32, u32)>, request: u64) {
        let tenant = self.flash_time.tenant();
        self.commands.push(Grouped { command, planes, pages, request, tenant });
    }

    /// Hands over what waits.
    pub(super) fn flush(&mut self, now_ns: u64, executor: &mut impl Executor, content: &mut impl Content) {
        if self.commands.is_empty() {
            return;
        }
        let (serving, served) = (executor.serving(), self.flash_time.tenant());
        for Grouped { command, planes, pages, request, tenant } in self.commands.drain(..) {
            for (unit, ppn) in pages {
                executor.touches(unit, ppn);
            }
            executor.serve(request);
            content.handed(&command, planes);
            self.flash_time.serve(tenant);
            if executor.takes_time() {
                self.flash_time.charge(&command);
            }
            executor.submit(now_ns, command);
        }
        executor.serve(serving);
        self.flash_time.serve(served);
    }
}
