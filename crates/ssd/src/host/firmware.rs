//! The firmware: cores that each command takes for a while, and the map that they look pages up in.
//!
//! A core takes one command at a time, to its end. An idle core takes the oldest completion that waits, else the command that
//! arbitration among the submission queues names. It does not wait for the flash, nor for entries of the map that lie in the host's
//! memory: those commands go on when the entries are there.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use flashweir_trace::{Op, SECTOR_BYTES};

use super::hmb;
use crate::quantity::{Bound, Bytes, LONGEST_NS, Nanos};

/// Bytes of a read up to which it is short.
const SHORT_BYTES: u64 = 4096;

/// The firmware. The default takes no time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct FirmwareConfig {
    /// Cores that work at commands.
    #[schemars(range(min = 1, max = 1024))]
    pub cores: u32,
    /// Time that a read command takes a core.
    #[schemars(range(max = LONGEST_NS))]
    pub read_time: Nanos,
    /// Time that a read command of more than 4 KiB takes a core; none: as any other.
    #[schemars(range(max = LONGEST_NS))]
    pub long_read_time: Bound,
    /// Time that a write command takes a core.
    #[schemars(range(max = LONGEST_NS))]
    pub write_time: Nanos,
    /// Time that a TRIM, or a command that manages zones, takes a core.
    #[schemars(range(max = LONGEST_NS))]
    pub trim_time: Nanos,
    /// Time that a flush takes a core.
    #[schemars(range(max = LONGEST_NS))]
    pub flush_time: Nanos,
    /// Time that a command takes a core once more when it is done.
    #[schemars(range(max = LONGEST_NS))]
    pub complete_time: Nanos,
    /// Time that a core takes to look a page up in the map, for each page of a command.
    #[schemars(range(max = LONGEST_NS))]
    pub lookup_time: Nanos,
    /// Memory of the drive for entries of a map that lies in the host's memory (HMB), 4 bytes a page, in segments of 4 KiB; 0: the
    /// drive has memory for the whole map.
    #[schemars(extend("anyOf" = [{"const": 0}, {"minimum": hmb::SEGMENT_BYTES}]))]
    pub hmb_bytes: Bytes,
    /// Round trip to the host's memory for entries that the drive does not have, without their transfer.
    #[schemars(range(max = LONGEST_NS))]
    pub hmb_miss_time: Nanos,
    /// Time of an access to the drive's memory, where the data of a write command are put before the drive works at it: one command
    /// at a time.
    #[schemars(range(max = LONGEST_NS))]
    pub memory_time: Nanos,
    /// Bytes a second at which these data are put into the drive's memory; 0: at once.
    pub memory_rate: Bytes,
}

impl Default for FirmwareConfig {
    fn default() -> Self {
        let none = Nanos(0);
        Self {
            cores: 1,
            read_time: none,
            long_read_time: Bound(None),
            write_time: none,
            trim_time: none,
            flush_time: none,
            complete_time: none,
            lookup_time: none,
            hmb_bytes: Bytes(0),
            hmb_miss_time: none,
            memory_time: none,
            memory_rate: Bytes(0),
        }
    }
}

impl FirmwareConfig {
    /// True if commands take the cores for any time.
    pub(crate) fn takes_time(&self) -> bool {
        let Self { read_time, write_time, trim_time, flush_time, complete_time, lookup_time, .. } = self;
        let times = [read_time, write_time, trim_time, flush_time, complete_time, lookup_time];
        times.into_iter().chain(&self.long_read_time.0).any(|time| time.0 > 0)
    }

    /// True if data of writes take the drive's memory for any time.
    pub(crate) fn has_memory(&self) -> bool {
        self.memory_time.0 > 0 || self.memory_rate.0 > 0
    }

    /// True if the map lies in the host's memory.
    pub(crate) fn has_hmb(&self) -> bool {
        self.hmb_bytes.0 >= hmb::SEGMENT_BYTES
    }
}

/// The cores.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Cores {
    busy: Vec<bool>,
    /// By operation, ns.
    times_ns: [u64; Op::COUNT],
    /// Of reads of more than 4 KiB, ns.
    long_read_ns: u64,
    pub(super) complete_ns: u64,
    lookup_ns: u64,
}

impl Cores {
    pub(super) fn new(config: &FirmwareConfig) -> Option<Self> {
        let times_ns = Op::ALL.map(|op| match op {
            Op::Read => config.read_time.0,
            Op::Write | Op::Append => config.write_time.0,
            Op::Flush => config.flush_time.0,
            Op::Trim
            | Op::Open
            | Op::OpenZrwa
            | Op::Commit
            | Op::Close
            | Op::Finish
            | Op::Reset
            | Op::Offline => config.trim_time.0,
        });
        config.takes_time().then(|| Self {
            busy: vec![false; config.cores as usize],
            times_ns,
            long_read_ns: config.long_read_time.0.unwrap_or(config.read_time).0,
            complete_ns: config.complete_time.0,
            lookup_ns: config.lookup_time.0,
        })
    }

    /// Time that a command of so many sectors and pages takes, ns.
    pub(super) fn time_ns(&self, op: Op, sectors: u32, pages: u64) -> u64 {
        let is_long = op == Op::Read && u64::from(sectors) * SECTOR_BYTES > SHORT_BYTES;
        let own_ns = if is_long { self.long_read_ns } else { self.times_ns[op as usize] };
        own_ns + self.lookup_ns * pages
    }

    /// An idle core, if there is one.
    pub(super) fn idle(&self) -> Option<u32> {
        self.busy.iter().position(|busy| !busy).map(|core| core as u32)
    }

    pub(super) fn set_busy(&mut self, core: u32, busy: bool) {
        self.busy[core as usize] = busy;
    }
}
