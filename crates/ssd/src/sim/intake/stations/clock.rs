//! A common clock: commands are handed over in groups, and each group starts when all before it are done.
//!
//! A group is what one request reads, what the map needs for one TRIM or, where units share it, before one read, one write
//! cycle, or one step of a collection. The pages of a cycle are programmed together, after the last of what has to be done
//! before any of them: reads of what a page keeps, and what the translation layer does on its own. Where that needs the die of
//! an older page of the cycle, this one and those before it are programmed first. So no page is on flash before one of an
//! older request, though that had to wait.

use flashweir_trace::Request;

use super::busy::Waited;
use super::groups::{Group, Member, Starting};
use super::{GROUP_TAG, Kind, PAGE_TAG, STATION_TAG, Stations};
use crate::content::Content;
use crate::error::RunError;
use crate::nand::TimePath;
use crate::nand::event::Later;
use crate::op::{Command, CommandKind, NOBODY, PageSlice, Purpose, Role};
use crate::sim::intake::{Found, Intake};
use crate::stats::Parts;

/// The part of a command that comes before its page crosses the bus, in `transfer_ns`, to be programmed, ns: what it reads, in as many
/// readings as it needs.
fn before_program_ns(command: &Command, transfer_ns: u64) -> u64 {
    let is_rewrite = command.kind == CommandKind::Rewrite;
    if is_rewrite { (command.read_ns + command.bus_ns).saturating_sub(transfer_ns) } else { 0 }
}

/// True for a page that a cycle writes, or the parity that goes with the pages that it completes, for which nobody waits: it is
/// programmed together with the others.
fn is_page(command: &Command) -> bool {
    let is_parity = command.kind == CommandKind::Program && command.tag == NOBODY;
    // A page that it rebuilds takes reads for the same tag.
    let is_of_cycle = (PAGE_TAG..STATION_TAG).contains(&command.tag) && command.kind != CommandKind::Read;
    (is_of_cycle || is_parity) && command.purpose == Purpose::Host
}

/// True if a cycle has nothing but pages that are ready to be programmed equally soon: they start as they are.
fn is_ready_at_once(commands: &[Member], transfer_ns: u64) -> bool {
    let Some((_, first, _)) = commands.first() else { return true };
    let before_ns = before_program_ns(first, transfer_ns);
    let is_ready = |command: &Command| before_program_ns(command, transfer_ns) == before_ns;
    commands.iter().all(|(_, command, _)| is_page(command) && is_ready(command))
}

impl Stations {
    /// True if a group runs or waits.
    #[inline]
    pub(in crate::sim) fn waits_for_clock(&self) -> bool {
        self.groups.running.is_some() || !self.groups.waiting.is_empty()
    }
}

impl<A: TimePath, C: Content> Intake<A, C> {
    /// Reads pages with a common clock: as a group.
    #[cold]
    pub(in crate::sim) fn read_in_step(&mut self, tag: u32, request: &Request) -> Result<(), RunError> {
        let now = self.array.now_ns();
        let (mut tagged, mut from_flash) = (0, false);
        if self.core.looks_up_first() {
            self.look_up_in_step(request)?;
        }
        for part in self.core.parts(request) {
            let Found::OnFlash(staged) = self.find(part) else { continue };
            from_flash = true;
            let mut group = self.stations.groups.fill(&self.array);
            self.core.read(now, tag, part, staged, &mut group)?;
            tagged += group.tagged;
        }
        let mut group = self.stations.groups.fill(&self.array);
        self.core.flush(now, &mut group);
        tagged += group.tagged;
        // A page that was never written is answered from the map, when it is the request's turn.
        let waits = from_flash && self.array.is_busy(0..self.core.geometry.total_dies());
        if tagged > 0 || waits {
            self.slots.expect(tag, tagged.max(1));
            self.push_group(Kind::Read(tag));
        }
        Ok(())
    }

    /// Looks up the pages of a read, as a group that comes before it.
    fn look_up_in_step(&mut self, request: &Request) -> Result<(), RunError> {
        let now = self.array.now_ns();
        for part in self.core.parts(request) {
            if self.is_buffered_whole(part) {
                continue;
            }
            let mut group = self.stations.groups.fill(&self.array);
            self.core.look_up(now, NOBODY, part, false, &mut group)?;
        }
        self.end_of_map_work();
        Ok(())
    }

    /// Discards a page with a common clock. A write cycle that was made before still waits, perhaps: reads and collections of the map
    /// may neither delay its pages nor erase what these make stale before they are on flash. So they are a group. Returns whether
    /// the page had data on flash.
    #[cold]
    pub(in crate::sim) fn trim_in_step(&mut self, part: PageSlice) -> Result<bool, RunError> {
        let now = self.array.now_ns();
        let mut group = self.stations.groups.fill(&self.array);
        self.core.trim(now, None, part, &mut group)
    }

    /// Forgets the next page of the backlog of TRIMs, likewise. Returns whether there was one.
    #[cold]
    pub(in crate::sim) fn forget_next_in_step(&mut self) -> Result<bool, RunError> {
        let now = self.array.now_ns();
        let mut group = self.stations.groups.fill(&self.array);
        self.core.forget_first(now, &mut group)
    }

    /// All pages of a TRIM are trimmed, or all of a read looked up.
    pub(in crate::sim) fn end_of_map_work(&mut self) {
        if !self.stations.groups.filling.is_empty() {
            self.push_group(Kind::Map);
        }
    }

    /// The group is complete: it starts when all before it are done.
    pub(super) fn push_group(&mut self, kind: Kind) {
        let now = self.array.now_ns();
        let spare = self.stations.groups.spare.pop().unwrap_or_default();
        let commands = std::mem::replace(&mut self.stations.groups.filling, spare);
        let keeps = self.ledger.parts.is_some();
        let waited = if keeps { Waited::new(&self.stations.all[0].doing, now) } else { Waited::default() };
        let group = Group { kind, commands, waited, start_ns: now, latest_ns: now };
        self.stations.groups.waiting.push_back(group);
        if !self.array.is_busy(0..self.core.geometry.total_dies()) {
            self.start_group();
        }
    }

    /// Nothing is in progress any more: the next group starts.
    #[cold]
    pub(in crate::sim) fn start_group(&mut self) {
        let now = self.array.now_ns();
        if let Some(Group { kind: Kind::Read(_), start_ns, latest_ns, .. }) =
            self.stations.groups.running.take()
            && let Some(times) = &mut self.stations.lock_step
        {
            times.serving_ns += latest_ns - start_ns;
        }
        let Some(mut group) = self.stations.groups.waiting.pop_front() else { return };
        (group.start_ns, group.latest_ns) = (now, now);
        if self.ledger.parts.is_some() {
            group.waited.end(&self.stations.all[0].doing, now);
        }
        let mut commands = std::mem::take(&mut group.commands);
        let kind = group.kind;
        self.stations.groups.running = Some(group);
        let serving = self.array.serving();
        let transfer_ns = self.core.timing.transfer_ns;
        match kind {
            Kind::Cycle if !is_ready_at_once(&commands, transfer_ns) => self.start_cycle(&mut commands),
            Kind::Read(tag) if commands.is_empty() => self.array.fence(0..0, tag),
            Kind::Cycle | Kind::Read(_) | Kind::Map | Kind::Collect => {
                for ((request, tenant), command, pages) in commands.drain(..) {
                    self.array.serve(request);
                    self.array.charge(tenant);
                    self.array.submit(now, command, pages);
                }
            }
        }
        self.stations.groups.spare.push(commands);
        self.array.serve(serving);
        match kind {
            Kind::Read(_) => {}
            Kind::Map => self.fence_station(0, GROUP_TAG),
            Kind::Cycle | Kind::Collect => {
                self.stations.of(0).cycle.start(now);
                self.fence_station(0, STATION_TAG);
            }
        }
    }

    /// Hands over the commands of a write cycle: the programs of its pages as soon as all of them can start. Where something needs
    /// the die of a page first, that page and those before it are programmed ahead of the others.
    fn start_cycle(&mut self, commands: &mut Vec<Member>) {
        let now = self.array.now_ns();
        let has_sets = self.core.superblocks.is_some();
        let mut cycle = std::mem::take(&mut self.stations.groups.cycle);
        cycle.begin(self.core.geometry.total_dies(), now);
        for member in commands.drain(..) {
            let command = &member.1;
            if is_page(command) {
                cycle.held.push(member);
                continue;
            }
            // A die runs its commands in the order in which they are made; so do the dies of a superblock that is collected. No page
            // of a superblock's cycle is the old version of another one, so old versions are read before all of them.
            let of_all = command.link.get().is_some_and(|(_, role)| role != Role::Write);
            let is_old = has_sets && command.kind == CommandKind::Read && command.purpose == Purpose::Host;
            let before = |(_, held, _): &Member| !is_old && (of_all || held.die == command.die);
            if let Some(last) = cycle.held.iter().rposition(before) {
                self.program_together(&mut cycle, last + 1);
            }
            let die = member.1.die as usize;
            let at_ns = cycle.arrival_ns[die];
            cycle.free_ns[die] += member.1.total_ns();
            self.hand_over(at_ns, at_ns, member);
        }
        let held = cycle.held.len();
        self.program_together(&mut cycle, held);
        self.stations.groups.cycle = cycle;
    }

    /// Hands over the first programs that are held, so many: they start when all that was handed over before is done and each of them
    /// can.
    fn program_together(&mut self, cycle: &mut Starting, count: usize) {
        let Starting { held, free_ns, arrival_ns } = cycle;
        let transfer_ns = self.core.timing.transfer_ns;
        let before = |command: &Command| before_program_ns(command, transfer_ns);
        let ready =
            held[..count].iter().map(|(_, command, _)| free_ns[command.die as usize] + before(command));
        let together_ns = ready.chain(free_ns.iter().copied()).max().unwrap_or_default();
        for member in held.drain(..count) {
            let (die, arrived_ns) = (member.1.die as usize, together_ns - before(&member.1));
            // Commands of a die keep their order.
            let at_ns = arrived_ns.max(arrival_ns[die]);
            arrival_ns[die] = at_ns;
            free_ns[die] = at_ns.max(free_ns[die]) + member.1.total_ns();
            self.hand_over(at_ns, arrived_ns, member);
        }
    }

    /// Hands a command to its die at `at_ns`, for which it waits since `arrived_ns`.
    fn hand_over(&mut self, at_ns: u64, arrived_ns: u64, (charged, command, pages): Member) {
        let now = self.array.now_ns();
        if at_ns > now {
            return self.array.submit_at(at_ns, Later::new(command, pages, charged, arrived_ns));
        }
        self.array.serve(charged.0);
        self.array.charge(charged.1);
        self.array.submit(now, command, pages);
    }

    /// A command of a request is done: that of a group, perhaps.
    #[cold]
    pub(in crate::sim) fn end_of_read(&mut self, tag: u32, parts: Option<Parts>) -> Option<Parts> {
        let now = self.array.now_ns();
        let Some(group) = self.stations.groups.running.as_mut().filter(|group| group.kind == Kind::Read(tag))
        else {
            return parts;
        };
        group.latest_ns = now;
        let waited = group.waited.parts;
        parts.map(|mut parts| {
            parts.add(&waited);
            parts
        })
    }
}
