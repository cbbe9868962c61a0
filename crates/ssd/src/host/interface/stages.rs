//! The stages of the interface, each from its entry to the next.

use flashweir_trace::{Op, Request, SECTOR_BYTES};

use super::command::{Left, Phase, Ready};
use super::{Act, Interface};
use crate::host::hmb::SEGMENT_BYTES;
use crate::host::link::Direction;
use crate::nand::probe::{CoreRecord, LinkRecord};
use crate::stats::Parts;

impl Interface {
    /// A command enters a phase.
    pub(super) fn enter(&mut self, now_ns: u64, number: u32, phase: Phase) {
        self.commands.get_mut(number).enter(now_ns, phase);
    }

    /// Number of the request that a command is of.
    fn request_of(&self, number: u32) -> u64 {
        self.requests.get(self.commands.get(number).owner).number
    }

    /// The first page that a part touches, and how many.
    pub(super) fn pages(&self, part: &Request) -> (u64, u64) {
        if part.sectors == 0 || !(part.op.moves_data() || part.op == Op::Trim) {
            return (0, 0);
        }
        let first = part.lba / self.page_sectors;
        (first, (part.end() - 1) / self.page_sectors - first + 1)
    }

    /// A core takes a command for so long.
    pub(super) fn run(&mut self, now_ns: u64, number: u32, core: u32, time_ns: u64, phase: Phase) {
        if let Some(cores) = &mut self.cores {
            cores.set_busy(core, true);
        }
        self.usage.core_ns[core as usize] += time_ns;
        if time_ns > 0 {
            let (request, op) = (self.request_of(number), self.commands.get(number).part.op);
            let ends = matches!(phase, Phase::Finishing(_));
            let end_ns = now_ns + time_ns;
            self.runs.push(CoreRecord { core, request, op, ends, start_ns: now_ns, end_ns });
        }
        self.enter(now_ns, number, phase);
        self.wait(now_ns, number, time_ns);
    }

    pub(super) fn free_core(&mut self, core: u32) {
        if let Some(cores) = &mut self.cores {
            cores.set_busy(core, false);
        }
    }

    /// The firmware looks the pages of a command up.
    pub(super) fn look_up(&mut self, now_ns: u64, number: u32) {
        let (first, pages) = self.pages(&self.commands.get(number).part);
        let (lookups, misses) = self.map.as_mut().map_or((0, 0), |map| map.look_up(first, pages));
        self.usage.map_lookups += lookups;
        self.usage.map_misses += misses;
        self.commands.get_mut(number).map_bytes = misses * SEGMENT_BYTES;
        self.enter(now_ns, number, Phase::Loading);
        self.wait(now_ns, number, if misses > 0 { self.miss_ns } else { 0 });
    }

    /// Entries of the map, and data of a write, cross the link.
    pub(super) fn receive(&mut self, now_ns: u64, number: u32) {
        let command = self.commands.get(number);
        let data = if command.part.op.writes() { command.part.bytes() } else { 0 };
        let bytes = command.map_bytes + data;
        self.enter(now_ns, number, Phase::Receiving);
        let end_ns = self.transfer(now_ns, number, Direction::ToDrive, bytes);
        self.wait(now_ns, number, end_ns - now_ns);
    }

    /// Data of a write are put into the drive's memory.
    pub(super) fn store(&mut self, now_ns: u64, number: u32) {
        let part = &self.commands.get(number).part;
        let bytes = part.bytes();
        match self.memory.as_mut().filter(|_| part.op.writes()) {
            Some(memory) => {
                let end_ns = memory.take(now_ns, bytes);
                self.enter(now_ns, number, Phase::Storing);
                self.wait(now_ns, number, end_ns - now_ns);
            }
            None => self.let_in(now_ns, number),
        }
    }

    /// Bytes are ready to cross the link. Returns when they have, ns.
    fn transfer(&mut self, now_ns: u64, number: u32, direction: Direction, bytes: u64) -> u64 {
        let Some(pipes) = self.pipes.as_mut().filter(|_| bytes > 0) else { return now_ns };
        let (start_ns, end_ns) = pipes.take(direction, now_ns, bytes);
        self.usage.link_bytes[direction as usize] += bytes;
        self.usage.link_ns[direction as usize] += end_ns - start_ns;
        let request = self.request_of(number);
        let to_host = direction == Direction::ToHost;
        self.links.push(LinkRecord { request, to_host, bytes, start_ns, end_ns });
        end_ns
    }

    /// The drive may work at a command, or a flush waits for writes that were submitted before it.
    pub(super) fn let_in(&mut self, now_ns: u64, number: u32) {
        self.enter(now_ns, number, Phase::Ready);
        if self.must_wait(number) {
            self.held.push(number);
        } else {
            self.ready.push_back(number);
        }
    }

    fn must_wait(&self, number: u32) -> bool {
        let command = self.commands.get(number);
        command.part.op == Op::Flush && self.writes.first().is_some_and(|first| *first < command.order)
    }

    /// The next command that the drive is to work at: it does from now on.
    pub(crate) fn next_ready(&mut self, now_ns: u64) -> Option<Ready> {
        let number = self.ready.pop_front()?;
        self.enter(now_ns, number, Phase::Inside);
        let command = self.commands.get(number);
        let (part, order) = (command.part, command.order);
        if part.op.writes() && self.writes.remove(&order) {
            for flush in std::mem::take(&mut self.held) {
                if self.must_wait(flush) {
                    self.held.push(flush);
                } else {
                    self.ready.push_back(flush);
                }
            }
        }
        Some(Ready { command: number, part, number: self.request_of(number) })
    }

    /// The drive works at a command in so many parts.
    pub(crate) fn expect(&mut self, number: u32, parts: u32) {
        self.commands.get_mut(number).outstanding = parts;
    }

    /// The drive is done with a part of a command: of a read its data may leave. `parts`: where its time went in the drive.
    pub(crate) fn leave(&mut self, number: u32, part: &Request, parts: &Parts) {
        let sectors = if part.op == Op::Read { part.sectors } else { 0 };
        let place = (self.commands.get(number).order, part.lba);
        self.left.push(Left { place, command: number, sectors, parts: *parts });
    }

    /// Takes up what the drive was done with at this instant.
    pub(super) fn take_up_left(&mut self, now_ns: u64) {
        let mut left = std::mem::take(&mut self.left);
        left.sort_unstable_by_key(|left| left.place);
        for Left { command, sectors, parts, .. } in left {
            self.send(now_ns, command, sectors, &parts);
        }
    }

    /// Data of a part leave; with the last part the command is done but for that.
    fn send(&mut self, now_ns: u64, number: u32, sectors: u32, parts: &Parts) {
        let bytes = u64::from(sectors) * SECTOR_BYTES;
        let end_ns = self.transfer(now_ns, number, Direction::ToHost, bytes);
        let command = self.commands.get_mut(number);
        command.sent_ns = command.sent_ns.max(end_ns);
        command.last = command.last.max((now_ns, *parts));
        command.outstanding -= 1;
        if command.outstanding == 0 {
            let (sent_ns, last) = (command.sent_ns, command.last.1);
            command.parts.add(&last);
            command.enter(now_ns, Phase::Sending);
            self.wait(now_ns, number, sent_ns - now_ns);
        }
    }

    /// All data of a command are where they belong.
    pub(super) fn end(&mut self, now_ns: u64, number: u32) {
        if self.cores.as_ref().is_some_and(|cores| cores.complete_ns > 0) {
            self.enter(now_ns, number, Phase::Ending);
            self.ending.push_back(number);
        } else {
            self.finish(now_ns, number);
        }
    }

    /// The drive tells the host of the end of a command.
    pub(super) fn finish(&mut self, now_ns: u64, number: u32) {
        self.enter(now_ns, number, Phase::Completing);
        self.wait(now_ns, number, self.complete_ns);
    }

    /// The host knows that a command is complete; its request is with the last one.
    pub(super) fn complete(&mut self, now_ns: u64, number: u32) {
        let command = self.commands.get_mut(number);
        command.enter(now_ns, Phase::Completing);
        let (owner, parts, stream) = (command.owner, command.parts, command.part.stream);
        self.commands.close(number);
        let queue = self.queue_of(stream);
        if let Some(used) = self.used.get_mut(queue) {
            *used -= 1;
        }
        let request = self.requests.get_mut(owner);
        request.last = request.last.max((now_ns, parts));
        request.left -= 1;
        if request.left == 0 {
            let (number, issue_ns, parts) = (request.number, request.issue_ns, request.last.1);
            let request = request.request;
            self.requests.close(owner);
            self.acts.push(Act::Complete { number, request, issue_ns, parts });
        }
    }

    /// Actions that the caller has to take.
    pub(crate) fn take_acts(&mut self) -> Vec<Act> {
        std::mem::take(&mut self.acts)
    }

    /// Transfers on the link and runs on cores since the last call.
    pub(crate) fn take_records(&mut self) -> (Vec<LinkRecord>, Vec<CoreRecord>) {
        (std::mem::take(&mut self.links), std::mem::take(&mut self.runs))
    }
}
