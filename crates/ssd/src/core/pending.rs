//! Grouping: page operations of one request, or of one flush of the buffer, that go as one command over several planes.

use serde::{Deserialize, Serialize};

use crate::content::Content;
use crate::nand::Executor;
use crate::nand::timing::Timing;
use crate::op::{BlockAt, Command, CommandKind, Crossing, PageAt, Purpose};
use crate::sched::Pages;
use crate::stats::FlashTime;

/// Page operations of the request being turned into commands, waiting to be grouped.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Pending {
    /// True if pages of several planes go as one command.
    multi_plane: bool,
    /// Mapping units in a page of flash.
    per_page: u32,
    commands: Vec<Grouped>,
    /// Empty lists of commands that were handed over, for those to come.
    #[serde(skip)]
    spare: Vec<Lists>,
    /// Tags that go with the tag of another one's command: that tag, then its companion.
    companions: Vec<(u32, u32)>,
    /// The account that commands are charged to.
    pub(super) flash_time: FlashTime,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Grouped {
    command: Command,
    planes: u64,
    pages: Pages,
    /// The request that it serves, and its tenant: of several, the first.
    request: u64,
    tenant: u16,
    lists: Lists,
}

/// Parts of a command, besides its pages.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Lists {
    /// Numbers of the effects, by plane.
    effects: Vec<(u32, u32)>,
    /// Blocks that it erases, or in which it replaces pages of other units.
    blocks: Vec<BlockAt>,
    /// Where pages of flash hold several mapping units: those that it reads or programs for the host, by unit and number.
    flash: Vec<PageAt>,
    /// Pages of flash that it reads to complete mapping units written in part.
    completing: Vec<PageAt>,
    crossed: Vec<Crossed>,
}

impl Lists {
    /// The same without anything in them.
    fn emptied(mut self) -> Self {
        self.effects.clear();
        self.blocks.clear();
        self.flash.clear();
        self.completing.clear();
        self.crossed.clear();
        self
    }
}

/// Part of an operation in a command, beside its times.
#[derive(Debug)]
pub(super) struct Member {
    /// Its plane.
    pub(super) plane: u32,
    /// The pages that it touches, for schedulers that reorder.
    pub(super) pages: Pages,
    /// Number of its effect.
    pub(super) effect: u32,
    /// The block that it erases, or in which it replaces a page of another unit.
    pub(super) block: Option<BlockAt>,
}

impl Member {
    /// That of an operation on a unit, of dies with so many planes, that changes nothing on others.
    pub(super) fn of(unit: u32, planes: u32, pages: Pages, effect: u32) -> Self {
        Self { plane: unit % planes, pages, effect, block: None }
    }
}

/// Parts of a page of a unit that is read which cross one bus.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Crossed {
    page: PageAt,
    /// The bus, and the page of flash within the page of the unit.
    lane: (u32, u32),
    crossing: Crossing,
}

/// A mapping unit that a command reads or programs.
#[derive(Clone, Copy, Debug)]
pub(super) struct UnitPart {
    /// Its page of flash.
    pub(super) at: PageAt,
    /// The page of flash that completes it, if it is written in part; the time to read that is in its command.
    pub(super) old: Option<PageAt>,
    /// The page that is read for it, if one is; where it lies there ([`Codewords::lane`](super::Codewords::lane)); and what of it
    /// crosses the bus.
    pub(super) read: Option<PageAt>,
    pub(super) lane: (u32, u32),
    pub(super) crossing: Crossing,
    /// Transfers of the retries that reading it takes, ns.
    pub(super) more_bus_ns: u64,
}

impl Grouped {
    /// Pages of flash that it programs, of which it may hold more mapping units.
    pub(super) fn programs(&self) -> &[PageAt] {
        if self.command.kind == CommandKind::Read { &[] } else { &self.lists.flash }
    }

    /// A mapping unit is read. Returns the bus time that it takes beside those read before, ns: a page crosses once, and of
    /// codewords those that are wanted, side by side on several buses.
    fn cross(&mut self, part: &UnitPart, timing: &Timing) -> u64 {
        let Some(page) = part.read else { return 0 };
        let before_ns = self.crossing_ns(page, timing);
        let of_same = |crossed: &&mut Crossed| crossed.page == page && crossed.lane == part.lane;
        match self.lists.crossed.iter_mut().find(of_same) {
            Some(_) if part.crossing == Crossing::WHOLE => {}
            Some(crossed) => crossed.crossing.codewords += part.crossing.codewords,
            None => self.lists.crossed.push(Crossed { page, lane: part.lane, crossing: part.crossing }),
        }
        self.crossing_ns(page, timing) - before_ns
    }

    /// Transfer of what is read of a page of a unit, on the bus that carries most, ns.
    fn crossing_ns(&self, page: PageAt, timing: &Timing) -> u64 {
        let of_page = || self.lists.crossed.iter().filter(|crossed| crossed.page == page);
        let of_lane = |lane: u32| {
            let parts = of_page().filter(|crossed| crossed.lane.0 == lane);
            timing.crossing_ns(parts.fold(Crossing::default(), |sum, crossed| sum.and(crossed.crossing)))
        };
        of_page().map(|crossed| of_lane(crossed.lane.0)).max().unwrap_or(0)
    }

    /// A mapping unit of its page of flash is read or programmed, too.
    #[inline]
    fn add_unit(&mut self, opens: u8, member: &Member) {
        self.lists.effects.push((member.plane, member.effect));
        self.pages.append(&member.pages);
        self.lists.blocks.extend(member.block);
        self.command.opens += opens;
    }

    /// One plane more does the same: one array operation, all transfers.
    fn add(&mut self, command: &Command, member: &Member) {
        self.planes |= 1 << member.plane;
        self.pages.append(&member.pages);
        self.lists.effects.push((member.plane, member.effect));
        self.lists.blocks.extend(member.block);
        self.command.pages += command.pages;
        self.command.opens += command.opens;
        self.command.bus_ns += command.bus_ns;
        self.command.read_ns = self.command.read_ns.max(command.read_ns);
        self.command.program_ns = self.command.program_ns.max(command.program_ns);
    }
}

impl Pending {
    /// Nothing pending.
    pub(super) fn new(multi_plane: bool, per_page: u32) -> Self {
        Self { multi_plane, per_page, ..Self::default() }
    }

    /// True if anything is ever pending.
    #[inline]
    pub(super) fn grouping(&self) -> bool {
        self.multi_plane || self.per_page > 1
    }

    /// True if pages of several planes go as one command.
    #[inline]
    pub(super) fn multi_plane(&self) -> bool {
        self.multi_plane
    }

    /// Joins a read or a program of a mapping unit to the command for the same page of flash. Returns false if there is none.
    pub(super) fn join_page(
        &mut self,
        command: &Command,
        part: &UnitPart,
        member: &Member,
        timing: &Timing,
    ) -> bool {
        let UnitPart { at, old, .. } = *part;
        let reads = command.kind == CommandKind::Read;
        let Some(grouped) = self.of_page(at, command.purpose, reads) else { return false };
        grouped.add_unit(command.opens, member);
        grouped.command.bus_ns += grouped.cross(part, timing) + part.more_bus_ns;
        if let Some(old) = old {
            grouped.command.kind = CommandKind::Rewrite;
            if !grouped.lists.completing.contains(&old) {
                grouped.lists.completing.push(old);
                grouped.command.read_ns += command.read_ns;
            }
        }
        let of_page = grouped.command.tag;
        self.add_companion(of_page, command.tag);
        true
    }

    /// As [`Pending::join_page`], of a mapping unit that is programmed whole on a drive that does not age: its page of flash takes no
    /// longer by that. It has this tag, and opens so many blocks.
    pub(super) fn join_program(&mut self, at: PageAt, (tag, opens): (u32, u8), member: &Member) -> bool {
        let Some(grouped) = self.of_page(at, Purpose::Host, false) else { return false };
        grouped.add_unit(opens, member);
        let of_page = grouped.command.tag;
        self.add_companion(of_page, tag);
        true
    }

    /// The command that reads, or programs, a page of flash for the host.
    #[inline]
    fn of_page(&mut self, at: PageAt, purpose: Purpose, reads: bool) -> Option<&mut Grouped> {
        self.commands.iter_mut().rev().find(|grouped| {
            (grouped.command.kind == CommandKind::Read) == reads
                && grouped.command.purpose == purpose
                && grouped.lists.flash.contains(&at)
        })
    }

    /// A tag goes with that of a command.
    #[inline]
    fn add_companion(&mut self, tag: u32, companion: u32) {
        if tag != companion {
            self.companions.push((tag, companion));
        }
    }

    /// True if a command that waits reads the page of flash at `at`.
    pub(super) fn reads(&self, at: PageAt, purpose: Purpose) -> bool {
        let of_reads = self.commands.iter().filter(|grouped| grouped.command.kind == CommandKind::Read);
        of_reads
            .into_iter()
            .any(|grouped| grouped.command.purpose == purpose && grouped.lists.flash.contains(&at))
    }

    /// True if a command that waits reads this page to complete a mapping unit of the page at `at`.
    pub(super) fn completes_from(&self, at: PageAt, old: PageAt) -> bool {
        self.commands
            .iter()
            .any(|grouped| grouped.lists.flash.contains(&at) && grouped.lists.completing.contains(&old))
    }

    /// Notes the page of flash of the host's operation that was joined last to a command of its die.
    pub(super) fn note_page(&mut self, die: u32, part: &UnitPart, timing: &Timing) {
        if let Some(last) = self.commands.iter_mut().rev().find(|last| last.command.die == die) {
            last.lists.flash.push(part.at);
            last.lists.completing.extend(part.old);
            // Its command has the time of that.
            last.cross(part, timing);
        }
    }

    /// Takes the commands that wait for a die, or all of them.
    pub(super) fn take(&mut self, die: Option<u32>) -> Vec<Grouped> {
        let Some(die) = die else { return std::mem::take(&mut self.commands) };
        let (taken, left) = self.commands.drain(..).partition(|grouped| grouped.command.die == die);
        self.commands = left;
        taken
    }

    /// A command is made: it is charged to the tenant that is served, if it takes any time.
    #[inline]
    pub(super) fn charge(&mut self, command: &Command, executor: &mut impl Executor) {
        if executor.takes_time() {
            self.flash_time.charge(command);
            executor.charge(self.flash_time.tenant());
        }
    }

    /// Tags that go with the tag of another one's command: that tag, then its companion. Cleared by the call.
    pub(super) fn take_companions(&mut self) -> Vec<(u32, u32)> {
        std::mem::take(&mut self.companions)
    }

    /// As [`Pending::take_companions`], whose memory is kept.
    pub(super) fn companions(&mut self) -> impl Iterator<Item = (u32, u32)> {
        self.companions.drain(..)
    }

    /// Joins the command to the last one of its die, if that is of the same kind and leaves the plane free. A
    /// read-modify-write pairs with nothing.
    pub(super) fn join(&mut self, command: Command, member: Member, request: u64) {
        let last = self.commands.iter_mut().rev().find(|last| last.command.die == command.die);
        match last {
            Some(last)
                if (last.command.kind, last.command.purpose) == (command.kind, command.purpose)
                    && command.kind != CommandKind::Rewrite
                    && self.multi_plane
                    && last.planes >> member.plane & 1 == 0 =>
            {
                last.add(&command, &member);
                if last.command.tag != command.tag {
                    self.companions.push((last.command.tag, command.tag));
                }
            }
            _ => self.push(command, member, request),
        }
    }

    /// Joins a command of one step of a collection, or one that a write makes for the map, to the first one of its die that is
    /// of the same kind and purpose, leaves the plane free, and comes after all that the plane has to do before. Nobody waits
    /// for such a command.
    pub(super) fn join_step(&mut self, command: Command, member: Member, request: u64) {
        let plane = member.plane;
        let of_die = |grouped: &&mut Grouped| grouped.command.die == command.die;
        let after_own =
            self.commands.iter_mut().rev().filter(of_die).take_while(|last| last.planes >> plane & 1 == 0);
        match after_own
            .filter(|last| (last.command.kind, last.command.purpose) == (command.kind, command.purpose))
            .last()
        {
            Some(first) => first.add(&command, &member),
            None => self.push(command, member, request),
        }
    }

    fn push(&mut self, command: Command, Member { plane, pages, effect, block }: Member, request: u64) {
        let tenant = self.flash_time.tenant();
        let mut lists = self.spare.pop().unwrap_or_default();
        lists.effects.push((plane, effect));
        lists.blocks.extend(block);
        self.commands.push(Grouped { command, planes: 1 << plane, pages, request, tenant, lists });
    }

    /// Hands over commands that waited.
    pub(super) fn hand_over<C: Content>(
        &mut self,
        mut commands: Vec<Grouped>,
        now_ns: u64,
        executor: &mut impl Executor,
        content: &mut C,
    ) {
        let (serving, served) = (executor.serving(), self.flash_time.tenant());
        let mut numbers = Vec::new();
        for Grouped { command, pages, request, tenant, mut lists, .. } in commands.drain(..) {
            executor.serve(request);
            if C::ON {
                lists.effects.sort_by_key(|(plane, _)| *plane);
                numbers.clear();
                numbers.extend(lists.effects.iter().map(|(_, effect)| *effect));
            }
            let effect = content.handed(command.kind, &numbers);
            self.flash_time.serve(tenant);
            self.charge(&command, executor);
            executor.guard(&lists.blocks);
            executor.submit(now_ns, Command { effect, ..command }, pages);
            self.spare.push(lists.emptied());
        }
        if self.commands.capacity() == 0 {
            self.commands = commands;
        }
        executor.serve(serving);
        self.flash_time.serve(served);
    }

    /// True if no command waits.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.commands.is_empty()
    }
}
