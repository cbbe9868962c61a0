//! What a run counts: requests and their latencies, flash operations, die and bus time by purpose.
//!
//! Everything is an integer until it is reported, so that the order of summation can't change a result.

mod latency;

pub use latency::{Latencies, LatencySummary};

use serde::Serialize;

use crate::nand::Purpose;

/// Time of a die or a bus by purpose, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
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

    /// All of it, ns.
    pub fn total(&self) -> u64 {
        self.host + self.gc + self.mapping
    }
}

/// Flash operations on one account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FlashCounts {
    /// Pages read.
    pub reads: u64,
    /// Pages programmed.
    pub programs: u64,
    /// Blocks erased.
    pub erases: u64,
}

/// Counters of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counters {
    /// Requests that completed, by operation: read, write, trim, flush.
    pub requests: [u64; 4],
    /// Bytes that they asked for, by operation.
    pub bytes: [u64; 4],
    /// Flash operations for the host.
    pub host: FlashCounts,
    /// Flash operations for garbage collection (and wear levelling).
    pub gc: FlashCounts,
    /// Collections.
    pub collections: u64,
    /// Pages that writes of the host touched.
    pub host_pages_written: u64,
    /// Page reads that only served to complete a page written in part.
    pub rewrite_reads: u64,
    /// Pages read that nothing was ever written to: answered from the map, without flash.
    pub unmapped_page_reads: u64,
    /// Pages read from the write buffer.
    pub buffer_hits: u64,
    /// Page writes that joined one already waiting in the write buffer.
    pub coalesced: u64,
    /// Pages unmapped by TRIM.
    pub trimmed_pages: u64,
}

impl Counters {
    /// Flash operations on all accounts.
    pub fn flash(&self) -> FlashCounts {
        FlashCounts {
            reads: self.host.reads + self.gc.reads,
            programs: self.host.programs + self.gc.programs,
            erases: self.host.erases + self.gc.erases,
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
    /// Time of each die by purpose.
    pub dies: Vec<DieTime>,
    /// Time of each channel's bus by purpose.
    pub buses: Vec<DieTime>,
    /// From the first request's entry to the end of the last command or request, ns.
    pub simulated_ns: u64,
}
