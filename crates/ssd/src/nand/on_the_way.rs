//! Records of the way between host and drive: the link, and the firmware's cores.

use flashweir_trace::Op;
use serde::{Deserialize, Serialize};

/// Data on the host's link. Those of one direction come in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkRecord {
    /// Number of the request, from 0.
    pub request: u64,
    /// True if the host receives them.
    pub to_host: bool,
    /// Number of bytes.
    pub bytes: u64,
    /// When they get the link, ns.
    pub start_ns: u64,
    /// When they are through, ns.
    pub end_ns: u64,
}

/// A command on a core of the firmware. Those of a core come in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoreRecord {
    /// The core.
    pub core: u32,
    /// Number of the request, from 0.
    pub request: u64,
    /// Its operation.
    pub op: Op,
    /// True if the drive is done with the command, and the core ends it.
    pub ends: bool,
    /// When the core takes it, ns.
    pub start_ns: u64,
    /// When it is done, ns.
    pub end_ns: u64,
}
