//! FLIN (Tavakkol et al., ISCA 2018): a scheduler that is fair to the flows of a shared drive. A flow is a tenant.
//!
//! Each die has a queue of reads and one of everything else for each priority level. Stage 1 ([`insertion`]) puts a command into
//! its queue: those of flows of low intensity before all others, and among these where the slowdowns are most alike. Stage 2
//! ([`slots`]) takes the head of one queue of each kind, a level as often as it weighs. Stage 3 runs the one of the two that has
//! waited longer for its own time, collections before a write counted as part of its wait.
//!
//! Limits. Pages of a block are programmed in order, and a page has its place when its command is made: commands that write
//! keep their order within a unit, so stage 1 orders reads, and writes of the planes of a die. A command of a higher level lets
//! those go first that it depends on. Collections and mapping tables belong to the flow that is charged for them.

mod insertion;
mod intensity;
pub(super) mod order;
mod slots;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Queue, Queued};
use crate::op::CommandKind;
use crate::per_tenant::{Notation, PerTenant};
use crate::quantity::{Bytes, LONGEST_NS, Nanos};
pub(crate) use insertion::Arrival;
use insertion::Item;
use intensity::Thresholds;
use order::{LEVELS, READS, WRITES};

/// Priority levels, from 1, the lowest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level;

impl Notation for Level {
    const EXAMPLE: &'static str = "4,none";
    const UNIT: Option<&'static str> = None;
    const MAX: u64 = LEVELS as u64;

    fn expected() -> Cow<'static, str> {
        "none or a level from 1 to 4".into()
    }

    fn format(quantity: u64) -> String {
        quantity.to_string()
    }

    fn parse(text: &str) -> Option<u64> {
        text.parse().ok()
    }
}

/// Thresholds and weights. The defaults are those of the paper's authors (MQSim's sources, `SSD_Device.cpp`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Config {
    /// Time after which the intensity of each flow is determined again.
    #[schemars(range(min = 1, max = LONGEST_NS))]
    pub interval: Nanos,
    /// Bytes a second below which the reads of a flow have low intensity, of the whole drive: a die counts its share of them.
    pub low_read_rate: Bytes,
    /// The same for writes.
    pub low_write_rate: Bytes,
    /// Fairness of a queue (smallest by largest mean slowdown of its flows of high intensity) below which a command of the flow
    /// with the largest slowdown goes before all others of these flows.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub min_fairness: f64,
    /// Priority level of each tenant by number, 1 to 4, such as "4,1"; 1 for those not named. A level has twice the turns of the
    /// one below.
    pub priorities: PerTenant<Level>,
    /// Stage 1, commands are put where the slowdowns are most alike. False: in the order of arrival.
    pub fair_insertion: bool,
    /// Stage 3, reads and writes are balanced by their waits. False: the older one goes first.
    pub balance_waits: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            interval: Nanos(10_000_000),
            low_read_rate: Bytes(32 << 20),
            low_write_rate: Bytes(256 << 10),
            min_fairness: 0.6,
            priorities: PerTenant::default(),
            fair_insertion: true,
            balance_waits: true,
        }
    }
}

impl Config {
    fn with_default_thresholds(&self) -> Self {
        let Self { interval, low_read_rate, low_write_rate, min_fairness, .. } = Self::default();
        Self { interval, low_read_rate, low_write_rate, min_fairness, ..self.clone() }
    }

    /// True if thresholds are set that nothing heeds.
    pub(crate) fn has_idle_thresholds(&self) -> bool {
        !self.fair_insertion && *self != self.with_default_thresholds()
    }

    /// Sets thresholds back.
    pub(crate) fn clear_thresholds(&mut self) {
        *self = self.with_default_thresholds();
    }

    /// True if levels are set, and all are the lowest.
    pub(crate) fn has_one_level(&self) -> bool {
        let all = 0..self.priorities.len();
        !all.is_empty()
            && self.priorities != PerTenant::default()
            && all.clone().all(|tenant| self.priorities.of(tenant).is_none_or(|level| level == 1))
    }
}

/// Shape of the drive, as far as thresholds depend on it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shape {
    /// Dies of the drive.
    pub(crate) dies: u32,
    /// Bytes of a page of flash.
    pub(crate) page_bytes: u64,
}

/// The policy with its numbers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Flin {
    thresholds: Thresholds,
    min_fairness: f64,
    priorities: PerTenant<Level>,
    fair_insertion: bool,
    balance_waits: bool,
}

fn kind(queued: &Queued) -> usize {
    if queued.is_awaited_read() { READS } else { WRITES }
}

fn item(queued: &Queued) -> Item {
    let writes = queued.command.kind != CommandKind::Read;
    let units = if writes { queued.pages.units() } else { 0 };
    Item::new(queued.number, queued.tenant, units, (queued.arrived_ns, queued.command.total_ns()))
}

fn thresholds(own: &Config, shape: Shape) -> Thresholds {
    let rates = [own.low_read_rate.0, own.low_write_rate.0];
    Thresholds::new(own.interval.0, rates, (shape.dies, shape.page_bytes))
}

impl Flin {
    pub(super) fn new(own: &Config, shape: Shape) -> Self {
        Self {
            thresholds: thresholds(own, shape),
            min_fairness: own.min_fairness,
            priorities: own.priorities.clone(),
            fair_insertion: own.fair_insertion,
            balance_waits: own.balance_waits,
        }
    }

    fn level(&self, tenant: u16) -> usize {
        // Levels are at most as many as there are.
        self.priorities.of(tenant.into()).map_or(0, |level| level as usize - 1)
    }

    /// Stage 1, after a command was put at the end of the queue.
    pub(super) fn arrived(&self, queue: &mut Queue, arrival: Arrival) {
        let Some((newest, order)) = queue.last_and_order() else { return };
        let (kind, tenant) = (kind(newest), newest.tenant);
        let mut item = item(newest);
        let pages = u64::from(newest.command.pages);
        let of_flow = (usize::from(tenant), kind);
        item.low = order.intensity.is_low_after(of_flow, pages, arrival.now_ns, &self.thresholds);
        let list = &mut order.lists[kind][self.level(tenant)];
        if self.fair_insertion {
            list.insert_fairly(item, arrival, self.min_fairness);
        } else {
            list.append(item);
        }
    }

    /// A command was taken out of the queue.
    pub(super) fn taken(&self, queue: &mut Queue, queued: &Queued) {
        let (kind, level) = (kind(queued), self.level(queued.tenant));
        let order = queue.order_mut();
        order.lists[kind][level].remove(queued.number);
        if queued.command.kind != CommandKind::Read {
            order.lists[READS].iter_mut().for_each(|reads| reads.release(queued.number));
        }
        order.turns[kind].took(level);
    }

    /// Stages 2 and 3: the place of the command to run next.
    pub(super) fn pick(&self, queue: &mut Queue, now_ns: u64) -> usize {
        let Some(order) = queue.order() else { return 0 };
        let mut held = Vec::new();
        let read = slots::read(queue, order, &mut held);
        let write = slots::write(queue, order);
        for slots::Held { level, place, behind } in held {
            queue.order_mut().lists[READS][level].hold(place, behind);
        }
        match (read, write) {
            (Some(read), Some(write)) if self.reads_first(&read, &write, now_ns) => read.place,
            (Some(slot), None) | (_, Some(slot)) => slot.place,
            // Everything waits for commands of other dies.
            (None, None) => 0,
        }
    }

    fn reads_first(&self, read: &slots::Slot, write: &slots::Slot, now_ns: u64) -> bool {
        if self.balance_waits { read.waits_more_than(write, now_ns) } else { read.number < write.number }
    }
}
