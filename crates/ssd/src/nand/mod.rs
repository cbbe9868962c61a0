//! The flash itself: commands, how long they take, and who holds die and bus meanwhile.
//!
//! A die runs one command at a time; dies of a channel share its bus. [`timeline`] does this with busy-until times where
//! commands can't overtake one another; [`event`] does it with events, everywhere. Both give the same times where both
//! apply. Nothing here knows of logical pages.

mod cache;
mod cells;
mod config;
pub(crate) mod die_use;
mod energy;
pub(crate) mod event;
mod on_the_way;
mod path;
pub(crate) mod probe;
mod records;
mod spread;
pub(crate) mod timeline;
pub(crate) mod timing;
mod transfer;
mod watcher;

pub(crate) use cache::Cache;
pub(crate) use cells::{Cell, PageOrder, Programs};
pub(crate) use config::NandConfig;
pub use die_use::{DieWork, DieWorkTimes};
pub(crate) use energy::EnergyConfig;
pub(crate) use path::TimePath;
pub(crate) use probe::Course;
pub(crate) use probe::Probe;
pub use probe::{
    CommandRecord, CoreRecord, DirtyRecord, FullRecord, HoldRecord, IssueRecord, LinkRecord, NO_DIE,
    PauseRecord, QueueRecord, RequestRecord, TaskRecord, TransferRecord,
};
pub(crate) use timing::TimingConfig;
pub(crate) use transfer::Transfer;

use serde::{Deserialize, Serialize};

use crate::divisor::Divisor;
use crate::op::{BlockAt, Command};
use crate::sched::Pages;
use crate::stats::DieTime;

/// Runs commands. The implementations differ in how they work out times, never in what the times are.
pub(crate) trait Executor {
    /// True if commands take time.
    fn takes_time(&self) -> bool {
        true
    }

    /// True if commands come with the pages that they touch: only schedulers that reorder need them.
    fn wants_pages(&self) -> bool {
        false
    }

    /// Number of the request that the commands submitted next serve, for the probe.
    fn serving(&self) -> u64 {
        0
    }

    /// The commands submitted next serve this request.
    fn serve(&mut self, _request: u64) {}

    /// The command submitted next is charged to this tenant.
    fn charge(&mut self, _tenant: u16) {}

    /// The command handed over next replaces pages in these blocks of other units, or erases them: a block is erased when all
    /// is programmed that replaces pages in it.
    fn guard(&mut self, _blocks: &[BlockAt]) {}

    /// Hands a command, which touches `pages`, to its die at `now_ns`.
    fn submit(&mut self, now_ns: u64, command: Command, pages: Pages);

    /// Nobody expects an end of the command that was handed over last with a tag: it ends beside the others of its tag.
    fn expects_no_end(&mut self) {}

    /// Hands over a command and another, for another die, that takes its place in that die's queue but may only start when
    /// the first is done.
    fn submit_chain(&mut self, now_ns: u64, first: (Command, Pages), second: (Command, Pages));

    /// True if the die neither runs a command at `now_ns` nor has one waiting.
    fn die_is_idle(&self, die: u32, now_ns: u64) -> bool;
}

/// For preconditioning: commands take no time and leave no trace.
pub(crate) struct Untimed;

impl Executor for Untimed {
    #[inline]
    fn takes_time(&self) -> bool {
        false
    }
    #[inline]
    fn submit(&mut self, _: u64, _: Command, _: Pages) {}
    fn submit_chain(&mut self, _: u64, _: (Command, Pages), _: (Command, Pages)) {}
    fn die_is_idle(&self, _: u32, _: u64) -> bool {
        true
    }
}

/// Die and bus times of a drive, by purpose.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Usage {
    pub(crate) dies: Vec<DieTime>,
    pub(crate) buses: Vec<DieTime>,
    dies_per_channel: Divisor,
}

impl Usage {
    pub(crate) fn new(dies: u32, dies_per_channel: u32) -> Self {
        Self {
            dies: vec![DieTime::default(); dies as usize],
            buses: vec![DieTime::default(); (dies / dies_per_channel) as usize],
            dies_per_channel: Divisor::new(dies_per_channel.into()),
        }
    }

    /// The channel of a die.
    #[inline]
    pub(crate) fn channel_of(&self, die: u32) -> u32 {
        self.dies_per_channel.split(die.into()).0 as u32
    }

    /// Books a command that held its die for `held_ns` not booked before.
    #[inline]
    pub(crate) fn book(&mut self, command: &Command, held_ns: u64) {
        self.hold(command, held_ns);
        self.transfer(command);
    }

    /// Books that a command held its die for `ns`.
    #[inline]
    pub(crate) fn hold(&mut self, command: &Command, ns: u64) {
        self.dies[command.die as usize].add(command.purpose, ns);
    }

    /// Books the bus time of a command.
    #[inline]
    pub(crate) fn transfer(&mut self, command: &Command) {
        let channel = self.channel_of(command.die);
        self.buses[channel as usize].add(command.purpose, command.bus_ns);
    }
}
