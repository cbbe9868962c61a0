//! Counts of a run: requests and their latencies, flash operations, die and bus time by purpose.
//!
//! Everything is an integer until it is reported, so that the order of summation can't change a result.

mod ageing;
mod collections;
mod flash_time;
mod interface;
mod latency;
mod limits;
mod parts;
mod slc;
mod streams;
mod trim;
mod zones;

pub use ageing::AgeingCounts;
pub use collections::Collections;
pub(crate) use flash_time::FlashTime;
pub use interface::InterfaceUse;
pub use latency::{Latencies, LatencySummary};
pub use limits::{LimitUse, TargetUse, TenantTarget};
pub(crate) use parts::{Cause, Spent};
pub use parts::{LatencyParts, Parts, SchedCounts};
pub use slc::SlcCounts;
pub use streams::{StreamUse, Streams};
pub use trim::TrimCounts;
pub use zones::ZoneCounts;

use flashweir_trace::{Op, SECTOR_BYTES};
use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::op::Purpose;

/// Time of a die or a bus by purpose, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DieTime {
    /// For requests of the host.
    pub host: u64,
    /// For garbage collection.
    pub gc: u64,
    /// For mapping tables.
    pub mapping: u64,
}

impl DieTime {
    #[inline]
    pub(crate) fn add(&mut self, purpose: Purpose, ns: u64) {
        match purpose {
            Purpose::Host => self.host += ns,
            Purpose::Gc => self.gc += ns,
            Purpose::Mapping => self.mapping += ns,
        }
    }

    /// Difference from `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            host: self.host - earlier.host,
            gc: self.gc - earlier.gc,
            mapping: self.mapping - earlier.mapping,
        }
    }

    /// All of it, ns.
    pub fn total(&self) -> u64 {
        self.host + self.gc + self.mapping
    }
}

/// Flash operations on one account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlashCounts {
    /// Pages read.
    pub reads: u64,
    /// Pages programmed.
    pub programs: u64,
    /// Blocks erased.
    pub erases: u64,
}

impl FlashCounts {
    /// Difference from `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            reads: self.reads - earlier.reads,
            programs: self.programs - earlier.programs,
            erases: self.erases - earlier.erases,
        }
    }
}

/// Merges of data blocks with the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MergeCounts {
    /// All pages copied to an erased block.
    pub full: u64,
    /// The sequential log block completed with copies.
    pub partial: u64,
    /// The sequential log block taken as it was.
    pub switch: u64,
    /// Full merges, counted in `full` too, that no unit had to make yet: of followers and of forward collection.
    pub early: u64,
}

impl MergeCounts {
    /// Difference from `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            full: self.full - earlier.full,
            partial: self.partial - earlier.partial,
            switch: self.switch - earlier.switch,
            early: self.early - earlier.early,
        }
    }
}

/// Look-ups of a map of which only a part is in RAM, and causes of writes of its translation pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MapCounts {
    /// Pages of the host looked up.
    pub lookups: u64,
    /// Of these, found in RAM.
    pub hits: u64,
    /// Entries read from flash; the other look-ups were of entries that were never written.
    pub loads: u64,
    /// Translation pages written because an entry that has changed made room.
    pub write_backs: u64,
    /// Translation pages written because a collection relocated pages of data.
    pub updates: u64,
    /// Translation pages that collections moved: copies, which count as such.
    pub moves: u64,
}

impl MapCounts {
    /// Difference from `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            lookups: self.lookups - earlier.lookups,
            hits: self.hits - earlier.hits,
            loads: self.loads - earlier.loads,
            write_backs: self.write_backs - earlier.write_backs,
            updates: self.updates - earlier.updates,
            moves: self.moves - earlier.moves,
        }
    }
}

/// Counters of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Requests that completed, by operation.
    pub requests: [u64; Op::COUNT],
    /// Bytes that they asked for, by operation.
    pub bytes: [u64; Op::COUNT],
    /// Flash operations for the host.
    pub host: FlashCounts,
    /// Flash operations for garbage collection (and wear levelling).
    pub gc: FlashCounts,
    /// Flash operations for the map, where it lies on flash: translation pages read and written. Moving them is `gc`.
    pub mapping: FlashCounts,
    /// Counts of that map and of its cache.
    pub map: MapCounts,
    /// Collections.
    pub collections: u64,
    /// Merges of data blocks with the log.
    pub merges: MergeCounts,
    /// Pages that writes of the host touched.
    pub host_pages_written: u64,
    /// Page reads that only served to complete a page written in part.
    pub rewrite_reads: u64,
    /// Pages read that nothing was ever written to: answered from the map, without flash.
    pub unmapped_page_reads: u64,
    /// Pages read before they were written, taken to have been there before the run.
    pub preexisting_pages: u64,
    /// Pages read from the write buffer.
    pub buffer_hits: u64,
    /// Page writes that joined one already waiting in the write buffer.
    pub coalesced: u64,
    /// Pages with data that were trimmed: on flash, or in the write buffer, where each version that waited counts.
    pub trimmed_pages: u64,
    /// Pages that collections moved without the bus; they are among `gc`.
    pub copybacks: u64,
    /// Pages of parity over dies that were programmed; in no other account.
    pub parity_programs: u64,
    /// Mapping units that stayed empty in pages that were programmed, where pages hold several.
    pub padded_units: u64,
    /// Mapping units that collections moved, where pages hold several.
    pub moved_units: u64,
    /// Of cells that have aged.
    pub ageing: AgeingCounts,
    /// Of the SLC cache.
    pub slc: SlcCounts,
    /// Of TRIMs with a granularity or a backlog.
    pub trim: TrimCounts,
    /// Of zones.
    pub zones: ZoneCounts,
}

impl Counters {
    /// Bytes that requests wrote or appended.
    pub fn written_bytes(&self) -> u64 {
        self.bytes[Op::Write as usize] + self.bytes[Op::Append as usize]
    }

    /// Difference from `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let each =
            |now: [u64; Op::COUNT], then: [u64; Op::COUNT]| std::array::from_fn(|op| now[op] - then[op]);
        Self {
            requests: each(self.requests, earlier.requests),
            bytes: each(self.bytes, earlier.bytes),
            host: self.host.since(&earlier.host),
            gc: self.gc.since(&earlier.gc),
            mapping: self.mapping.since(&earlier.mapping),
            map: self.map.since(&earlier.map),
            collections: self.collections - earlier.collections,
            merges: self.merges.since(&earlier.merges),
            host_pages_written: self.host_pages_written - earlier.host_pages_written,
            rewrite_reads: self.rewrite_reads - earlier.rewrite_reads,
            unmapped_page_reads: self.unmapped_page_reads - earlier.unmapped_page_reads,
            preexisting_pages: self.preexisting_pages - earlier.preexisting_pages,
            buffer_hits: self.buffer_hits - earlier.buffer_hits,
            coalesced: self.coalesced - earlier.coalesced,
            trimmed_pages: self.trimmed_pages - earlier.trimmed_pages,
            copybacks: self.copybacks - earlier.copybacks,
            parity_programs: self.parity_programs - earlier.parity_programs,
            padded_units: self.padded_units - earlier.padded_units,
            moved_units: self.moved_units - earlier.moved_units,
            ageing: self.ageing.since(&earlier.ageing),
            slc: self.slc.since(&earlier.slc),
            trim: self.trim.since(&earlier.trim),
            zones: self.zones.since(&earlier.zones),
        }
    }

    /// Flash operations on all accounts.
    pub fn flash(&self) -> FlashCounts {
        FlashCounts {
            reads: self.host.reads + self.gc.reads + self.mapping.reads,
            programs: self.host.programs + self.gc.programs + self.mapping.programs + self.parity_programs,
            erases: self.host.erases + self.gc.erases + self.mapping.erases,
        }
    }
}

/// Time of each die and of each bus, by purpose.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Times {
    /// Of each die.
    pub dies: Vec<DieTime>,
    /// Of each channel's bus.
    pub buses: Vec<DieTime>,
    /// Flash time of each tenant (see [`Stats::flash_ns`]).
    pub flash_ns: Vec<u64>,
    /// Of a drive whose units go on together.
    pub lock_step: Option<LockStepTimes>,
    /// Of the host interface, if it takes time.
    pub interface: Option<InterfaceUse>,
    /// Of rate limits and latency targets, if there are any.
    pub limits: Option<LimitUse>,
}

/// A request that is done, or has been worked out (see [`crate::Simulation::keep_completions`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Completion {
    /// Its number in the order in which requests were served, from 0.
    pub number: u64,
    /// When it entered, ns.
    pub issue_ns: u64,
    /// From issue to completion, ns.
    pub latency_ns: u64,
    /// First sector that it was given, if it is an append that did not fail.
    pub appended_lba: Option<u64>,
    /// Its length, sectors.
    pub sectors: u32,
    /// Its stream.
    pub stream: u16,
    /// Its operation.
    pub op: Op,
    /// Why the drive failed it, if it did.
    pub failure: Option<Failure>,
    /// Where its latency went, if account is kept.
    pub parts: Parts,
}

impl Completion {
    /// Its length, bytes.
    pub fn bytes(&self) -> u64 {
        u64::from(self.sectors) * SECTOR_BYTES
    }
}

/// Times of a drive whose units go on together, by use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockStepTimes {
    /// Cycles in which pages of the host were written, one a unit at most.
    pub write_cycles: u64,
    /// In cycles for the host, ns.
    pub serving_ns: u64,
    /// In collections, ns.
    pub collecting_ns: u64,
}

impl LockStepTimes {
    /// Difference from `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            write_cycles: self.write_cycles - earlier.write_cycles,
            serving_ns: self.serving_ns - earlier.serving_ns,
            collecting_ns: self.collecting_ns - earlier.collecting_ns,
        }
    }
}

/// Everything that a run leaves behind.
#[derive(Clone, Debug)]
pub struct Stats {
    /// Counters.
    pub counters: Counters,
    /// Latencies, by stream and operation.
    pub latencies: Latencies,
    /// Requests of each stream, and their times.
    pub streams: Streams,
    /// Where latencies went, if that was asked for.
    pub parts: Option<LatencyParts>,
    /// Counts of the scheduler, if it changes the order of commands.
    pub sched: Option<SchedCounts>,
    /// Time of each die by purpose.
    pub dies: Vec<DieTime>,
    /// Time of each channel's bus by purpose.
    pub buses: Vec<DieTime>,
    /// Flash time of each tenant, by number, ns: how long the commands made for it hold their dies, collections that its
    /// writes bring about included. A command over several planes is that of its first page's tenant. Tenants at the end that were never
    /// charged are left out.
    pub flash_ns: Vec<u64>,
    /// Data blocks merged in each collection.
    pub collections: Collections,
    /// Of a drive whose units go on together.
    pub lock_step: Option<LockStepTimes>,
    /// Of the host interface, if it takes time.
    pub interface: Option<InterfaceUse>,
    /// Of rate limits and latency targets, if there are any.
    pub limits: Option<LimitUse>,
    /// From the first request's entry to the end of the last request, ns, or to where the caller had advanced; while the run is not
    /// finished, to the end of the last command.
    pub simulated_ns: u64,
    /// The time after that, of a run that is finished.
    pub drain: Option<Drain>,
    /// Pages that the write buffer held where the statistics begin: their programs count here, their writes before.
    pub carried_pages: u64,
}

impl Stats {
    /// From the first request's entry until all commands are done, ns: dies and buses are busy in that time.
    pub fn elapsed_ns(&self) -> u64 {
        self.simulated_ns + self.drain.map_or(0, |drain| drain.time_ns)
    }

    /// Pages programmed for requests and for what they bring about: without those that the write buffer held before.
    pub fn programs(&self) -> u64 {
        self.counters.flash().programs.saturating_sub(self.carried_pages)
    }
}

/// From the end of the last request until the write buffer is empty and all commands are done. Its operations and times are in all
/// other counts, and in the times of dies and buses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drain {
    /// Pages that the write buffer held.
    pub pages: u64,
    /// Its length, ns.
    pub time_ns: u64,
    /// Flash operations made for it, collections included.
    pub flash: FlashCounts,
}
