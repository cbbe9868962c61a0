//! The request: what a host asks of a block device. Nothing about how it is served.

use serde::{Deserialize, Serialize};

/// Bytes in a sector, the unit of every address and length.
pub const SECTOR_BYTES: u64 = 512;

/// Operation of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
pub enum Op {
    /// Read sectors.
    Read = 0,
    /// Write sectors.
    Write = 1,
    /// Discard sectors: their content may be forgotten.
    Trim = 2,
    /// Make every write acknowledged before it durable. Has no address and no length.
    Flush = 3,
    /// Write sectors at the write pointer of the zone that begins at the address.
    Append = 4,
    /// Open a zone explicitly. Address and length are the zone's, as of the other commands that manage one.
    Open = 5,
    /// Close an open zone.
    Close = 6,
    /// Make a zone full.
    Finish = 7,
    /// Make a zone empty.
    Reset = 8,
    /// Make a read-only zone offline.
    Offline = 9,
    /// Open a zone explicitly, with a random write area (ZRWA).
    #[serde(rename = "open_zrwa")]
    OpenZrwa = 10,
    /// Commit the random write area of a zone up to the end of the range.
    Commit = 11,
}

impl Op {
    /// All operations, in the order of their numbers.
    pub const ALL: [Op; Op::COUNT] = [
        Op::Read,
        Op::Write,
        Op::Trim,
        Op::Flush,
        Op::Append,
        Op::Open,
        Op::Close,
        Op::Finish,
        Op::Reset,
        Op::Offline,
        Op::OpenZrwa,
        Op::Commit,
    ];

    /// Number of operations.
    pub const COUNT: usize = 12;

    /// The lower-case name, as in results and file formats.
    pub const fn name(self) -> &'static str {
        match self {
            Op::Read => "read",
            Op::Write => "write",
            Op::Trim => "trim",
            Op::Flush => "flush",
            Op::Append => "append",
            Op::Open => "open",
            Op::Close => "close",
            Op::Finish => "finish",
            Op::Reset => "reset",
            Op::Offline => "offline",
            Op::OpenZrwa => "open_zrwa",
            Op::Commit => "commit",
        }
    }

    /// True if it is a command to a zone (NVMe Zoned Namespace Command Set), which only drives with zones have.
    pub const fn is_zoned(self) -> bool {
        self as u8 > Op::Flush as u8
    }

    /// True if it brings data of the host.
    pub const fn writes(self) -> bool {
        matches!(self, Op::Write | Op::Append)
    }

    /// True if data cross the link.
    pub const fn moves_data(self) -> bool {
        matches!(self, Op::Read | Op::Write | Op::Append)
    }

    /// Operations of which a result has a row: those of every drive, and commands to zones of which there was one.
    /// `counts`: requests by operation.
    pub fn shown(counts: [u64; Op::COUNT]) -> impl Iterator<Item = Op> {
        Op::ALL.into_iter().filter(move |op| !op.is_zoned() || counts[*op as usize] > 0)
    }
}

/// One request of a host.
///
/// `time_ns` is the arrival time, counted from the start of the workload. A flush has `lba` and `sectors` zero;
/// every other request has at least one sector, and `lba + sectors` does not overflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Request {
    /// Arrival, in nanoseconds from the start of the workload.
    pub time_ns: u64,
    /// First sector.
    pub lba: u64,
    /// Length in sectors.
    pub sectors: u32,
    /// Workload (tenant) to which it belongs.
    pub stream: u16,
    /// Operation.
    pub op: Op,
    /// Placement handle: the stream, as the host says, to which its data belong. 0 where it says nothing.
    pub handle: u8,
}

impl Request {
    /// One past the last sector.
    pub const fn end(&self) -> u64 {
        self.lba + self.sectors as u64
    }

    /// Length in bytes.
    pub const fn bytes(&self) -> u64 {
        self.sectors as u64 * SECTOR_BYTES
    }
}

/// A request with what happened to it: the common record of simulated runs, collection, replay, and of trace
/// formats that carry response times. Times are nanoseconds on the clock of `request.time_ns`; `None` where the
/// source does not say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogRecord {
    /// The request itself; `request.time_ns` is when the host made it.
    pub request: Request,
    /// When it should have been issued (replay), ns.
    pub due_ns: Option<u64>,
    /// When it was handed to the device, ns.
    pub issue_ns: Option<u64>,
    /// When it completed, ns.
    pub completion_ns: Option<u64>,
    /// Format-specific flags (for Linux block traces: bit 0 sync, 1 meta, 2 read-ahead, 3 FUA, 4 preflush).
    pub flags: u32,
    /// Process or tenant name, empty where the source has none.
    pub process: String,
}

impl LogRecord {
    /// A record of which nothing but the request is known.
    pub const fn bare(request: Request) -> Self {
        Self { request, due_ns: None, issue_ns: None, completion_ns: None, flags: 0, process: String::new() }
    }
}
