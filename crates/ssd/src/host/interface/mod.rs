//! The host interface: what a request goes through before the drive works at it, and after: submission, the queues, the firmware's
//! cores, the map in the host's memory, and the link. It knows commands and times, and neither pages of flash nor events.
//!
//! A request is one or more *commands*, cut at `host.max_transfer`. Each goes through these phases, of which those that take no time
//! are passed at once:
//!
//! ```text
//!  ringing -> submitting -> queued -> working -> loading -> receiving -> storing -> ready    (the drive works at it)
//!     -> sending -> ending -> finishing -> completing
//! ```
//!
//! Rules. Data of a write cross the link before the drive works at the command: it can't be programmed, nor be promised, before all
//! of it is there. Data of a read cross it page by page, as pages come off the flash: controllers move the data of a command in
//! pieces, and NVMeVirt (Kim et al., FAST 2023) found that drives do. A request ends with the last of its commands. A flush is not
//! handed to the drive before all writes that were submitted earlier are.
//!
//! Events of one instant are processed when all of them are known, in the order of submission. So the order in which
//! the time path reports them does not matter.
//!
//! The caller reports events ([`Interface::submit`], [`Interface::due`], [`Interface::leave`]) and calls
//! [`Interface::settle`] when all of an instant has happened. It dispatches ready commands ([`Interface::next_ready`])
//! to the drive, and takes the actions that are due ([`Interface::take_acts`]).

mod command;
mod stages;

use std::collections::{BTreeSet, VecDeque};

use flashweir_trace::{Op, Request, SECTOR_BYTES};
use serde::{Deserialize, Serialize};

use super::HostConfig;
use super::doorbell::Doorbells;
use super::firmware::{Cores, FirmwareConfig};
use super::hmb::MapCache;
use super::link::Pipes;
use super::memory::Memory;
use super::queues::Queues;
use crate::nand::probe::{CoreRecord, LinkRecord};
use crate::stats::{FlashTime, InterfaceUse, Parts};
use command::{Command, Left, Phase, Submitted, Table};

pub(crate) use command::Ready;

/// Numbers from here on are doorbells, in [`Act::At`].
const BELL: u32 = 1 << 26;

/// Action that the caller has to take.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Act {
    /// To call [`Interface::due`] with `number` at that time.
    At { time_ns: u64, number: u32 },
    /// To complete a request; `parts` says where its time went, as far as that is known.
    Complete { number: u64, request: Request, issue_ns: u64, parts: Parts },
}

/// The state of the interface.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Interface {
    page_sectors: u64,
    max_sectors: u32,
    submit_ns: u64,
    complete_ns: u64,
    miss_ns: u64,
    /// Commands that a queue holds at most until they complete.
    entries: Option<u32>,
    queue_count: usize,
    pipes: Option<Pipes>,
    cores: Option<Cores>,
    map: Option<MapCache>,
    memory: Option<Memory>,
    bells: Doorbells,
    /// Times that came at this instant.
    due: Vec<u32>,
    /// Parts of commands that the drive was done with at this instant: order and first sector, then command, sectors and parts.
    left: Vec<Left>,
    /// Commands that the drive has learnt of at this instant.
    arrived: Vec<u32>,
    /// Commands that wait to be fetched by a core.
    queues: Queues<u32>,
    /// Commands that are done, but for their end on a core.
    ending: VecDeque<u32>,
    /// Commands that the drive may work at.
    ready: VecDeque<u32>,
    /// Flushes that wait for earlier writes.
    held: Vec<u32>,
    /// Writes that the drive does not work at yet, by their order.
    writes: BTreeSet<u64>,
    commands: Table<Command>,
    requests: Table<Submitted>,
    /// Commands by queue that are not complete, where that is limited.
    used: Vec<u32>,
    /// Commands submitted so far.
    submitted: u64,
    acts: Vec<Act>,
    links: Vec<LinkRecord>,
    runs: Vec<CoreRecord>,
    usage: InterfaceUse,
}

impl Interface {
    /// The interface of a drive whose pages have so many sectors; `None` if it takes no time and limits nothing.
    pub(crate) fn new(host: &HostConfig, firmware: &FirmwareConfig, page_sectors: u64) -> Option<Box<Self>> {
        let max_sectors = match host.max_transfer.0 / SECTOR_BYTES {
            0 => u32::MAX,
            sectors => u32::try_from(sectors).unwrap_or(u32::MAX),
        };
        let cores = Cores::new(firmware);
        let core_count = if cores.is_some() { firmware.cores as usize } else { 0 };
        host.has_interface(firmware).then(|| {
            Box::new(Self {
                page_sectors,
                max_sectors,
                submit_ns: host.submit_time.0,
                complete_ns: host.complete_time.0,
                miss_ns: firmware.hmb_miss_time.0,
                entries: host.queue_entries.0,
                queue_count: host.queue_count(),
                pipes: Pipes::new(host.link),
                cores,
                map: MapCache::new(firmware.hmb_bytes.0),
                memory: Memory::new(firmware),
                bells: Doorbells::new(host.doorbell, host.doorbell_wait.0),
                due: Vec::new(),
                left: Vec::new(),
                arrived: Vec::new(),
                queues: Queues::new(host),
                ending: VecDeque::new(),
                ready: VecDeque::new(),
                held: Vec::new(),
                writes: BTreeSet::new(),
                commands: Table::default(),
                requests: Table::default(),
                used: Vec::new(),
                submitted: 0,
                acts: Vec::new(),
                links: Vec::new(),
                runs: Vec::new(),
                usage: InterfaceUse::new(core_count),
            })
        })
    }

    /// Requests that were submitted and are not complete.
    pub(crate) fn under_way(&self) -> u32 {
        self.requests.len()
    }

    /// Link and cores so far.
    pub(crate) fn usage(&self) -> &InterfaceUse {
        &self.usage
    }

    /// True if queues take a limited number of commands.
    pub(crate) fn has_entries(&self) -> bool {
        self.entries.is_some()
    }

    fn queue_of(&self, stream: u16) -> usize {
        usize::from(stream) % self.queue_count
    }

    /// Commands that a request becomes.
    fn cut(&self, request: &Request) -> u32 {
        match request.op {
            Op::Read | Op::Write | Op::Append => request.sectors.div_ceil(self.max_sectors).max(1),
            _ => 1,
        }
    }

    /// True if the queue of a request has room for its commands; an empty queue takes all commands of a request.
    pub(crate) fn fits(&self, request: &Request) -> bool {
        let Some(entries) = self.entries else { return true };
        let used = self.used.get(self.queue_of(request.stream)).copied().unwrap_or(0);
        used == 0 || used + self.cut(request) <= entries
    }

    /// The host submits a request that was issued at `issue_ns` and waited for its turn until now.
    pub(crate) fn submit(&mut self, now_ns: u64, request: &Request, number: u64, issue_ns: u64) {
        let left = self.cut(request);
        let queue = self.queue_of(request.stream);
        if self.entries.is_some() {
            if self.used.len() <= queue {
                self.used.resize(queue + 1, 0);
            }
            self.used[queue] += left;
        }
        let parts = Parts { host_queue: now_ns - issue_ns, ..Parts::default() };
        let submitted = Submitted { request: *request, number, issue_ns, left, last: (0, Parts::default()) };
        let owner = self.requests.open(submitted);
        let mut lba = request.lba;
        for at in 0..left {
            let sectors = if left == 1 { request.sectors } else { self.max_sectors };
            let rest = (request.lba + u64::from(request.sectors) - lba) as u32;
            // All parts of an append name their zone.
            let at_lba = if request.op == Op::Append { request.lba } else { lba };
            let part =
                Request { lba: at_lba, sectors: if at + 1 == left { rest } else { sectors }, ..*request };
            lba += u64::from(sectors);
            let order = self.submitted;
            self.submitted += 1;
            if request.op.writes() {
                self.writes.insert(order);
            }
            let command = self.commands.open(Command::new(part, owner, order, now_ns, parts));
            self.usage.commands += 1;
            if let Some(due_ns) = self.bells.add(queue, command, now_ns) {
                self.acts.push(Act::At { time_ns: due_ns, number: BELL + queue as u32 });
            }
            if self.bells.is_full(queue) {
                self.ring(now_ns, queue);
            }
        }
    }

    /// The drive learns of the commands of a queue.
    fn ring(&mut self, now_ns: u64, queue: usize) {
        self.usage.doorbells += 1;
        for command in self.bells.take(queue) {
            self.enter(now_ns, command, Phase::Submitting);
            self.wait(now_ns, command, self.submit_ns);
        }
    }

    /// A time asked for by [`Act::At`] has come.
    pub(crate) fn due(&mut self, number: u32) {
        self.due.push(number);
    }

    /// Takes up the times that came at this instant.
    fn take_up_due(&mut self, now_ns: u64) {
        let mut due = std::mem::take(&mut self.due);
        due.sort_unstable_by_key(|number| {
            if *number >= BELL { (1, u64::from(*number)) } else { (0, self.commands.get(*number).order) }
        });
        for number in due {
            if number < BELL {
                self.go_on(now_ns, number);
            } else if self.bells.is_due((number - BELL) as usize, now_ns) {
                self.ring(now_ns, (number - BELL) as usize);
            }
        }
    }

    /// The phase that a command is in ends in `delay_ns`.
    fn wait(&mut self, now_ns: u64, command: u32, delay_ns: u64) {
        if delay_ns == 0 {
            self.go_on(now_ns, command);
        } else {
            self.acts.push(Act::At { time_ns: now_ns + delay_ns, number: command });
        }
    }

    /// The phase of a command is over.
    fn go_on(&mut self, now_ns: u64, number: u32) {
        match self.commands.get(number).phase {
            Phase::Submitting => {
                self.enter(now_ns, number, Phase::Queued);
                if self.cores.is_some() {
                    self.arrived.push(number);
                } else {
                    self.look_up(now_ns, number);
                }
            }
            Phase::Working(core) => {
                self.free_core(core);
                self.look_up(now_ns, number);
            }
            Phase::Loading => self.receive(now_ns, number),
            Phase::Receiving => self.store(now_ns, number),
            Phase::Storing => self.let_in(now_ns, number),
            Phase::Sending => self.end(now_ns, number),
            Phase::Finishing(core) => {
                self.free_core(core);
                self.finish(now_ns, number);
            }
            Phase::Completing => self.complete(now_ns, number),
            Phase::Ringing | Phase::Queued | Phase::Ready | Phase::Inside | Phase::Ending => {}
        }
    }

    /// Everything of this instant has happened: takes it up, and idle cores take what waits for them. To be called until [`Interface::next_ready`]
    /// has nothing any more.
    pub(crate) fn settle(&mut self, now_ns: u64, flash_time: &FlashTime) {
        self.take_up_due(now_ns);
        self.take_up_left(now_ns);
        for number in self.arrived.drain(..) {
            self.queues.push(self.commands.get(number).part.stream, number, flash_time);
        }
        while let Some(core) = self.cores.as_ref().and_then(Cores::idle) {
            if let Some(number) = self.ending.pop_front() {
                let time_ns = self.cores.as_ref().map_or(0, |cores| cores.complete_ns);
                self.run(now_ns, number, core, time_ns, Phase::Finishing(core));
            } else if let Some(number) = self.queues.pop(flash_time) {
                let part = self.commands.get(number).part;
                let pages = self.pages(&part).1;
                let time_ns =
                    self.cores.as_ref().map_or(0, |cores| cores.time_ns(part.op, part.sectors, pages));
                self.run(now_ns, number, core, time_ns, Phase::Working(core));
            } else {
                break;
            }
        }
    }
}
