//! Report on a trace that was read: counts, repairs, devices, and assumptions.

use serde::Serialize;

use super::Format;
use super::hints::Hinted;

/// Something that happened to lines or records, and how often.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Event or repair, in words.
    pub reason: String,
    /// To how many lines or records.
    pub count: u64,
}

/// One device of the trace and the range of addresses it was given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DeviceRange {
    /// Its name in the trace; empty where the format has no devices.
    pub name: String,
    /// First sector of its range.
    pub base_lba: u64,
    /// Length of its range in sectors: up to the end of the highest request seen.
    pub sectors: u64,
}

/// Report on the part of a trace read so far: its contents, and the repairs made while reading.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The format.
    pub format: Format,
    /// Source of the format: `option`, `name` or `content`.
    pub detected_by: &'static str,
    /// Assumptions about facts that the file does not give, in sentences.
    pub assumptions: Vec<String>,
    /// Reads, writes, discards and commands to zones.
    pub requests: u64,
    /// Reads.
    pub reads: u64,
    /// Writes, and appends to zones.
    pub writes: u64,
    /// Discards.
    pub trims: u64,
    /// Flushes and barriers without data.
    pub flushes: u64,
    /// Commands that manage zones.
    #[serde(skip_serializing_if = "is_zero")]
    pub zone_commands: u64,
    /// Known damage that was read all the same.
    pub repaired: Vec<Tally>,
    /// Lines or records that are no requests to a drive, by reason.
    pub left_out: Vec<Tally>,
    /// Bad lines or records skipped by permission.
    pub skipped_bad: u64,
    /// The first messages of those.
    pub skipped_messages: Vec<String>,
    /// Requests whose time went back and was set to that of the one before.
    pub clamped_times: u64,
    /// Requests that stood out of order in time and were put in order.
    pub reordered: u64,
    /// Devices, in the order in which they appear.
    pub devices: Vec<DeviceRange>,
    /// Time of the first request on the trace's own clock, ns.
    pub first_time_ns: u64,
    /// Time of the last request on the trace's own clock, ns.
    pub last_time_ns: u64,
    /// From first to last request after clamping, ns.
    pub duration_ns: u64,
    /// Rules that give placement handles, each with the number of requests that met it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<Hinted>,
}

impl Report {
    /// An empty report.
    pub(crate) const fn new(format: Format, detected_by: &'static str) -> Self {
        Self {
            format,
            detected_by,
            assumptions: Vec::new(),
            requests: 0,
            reads: 0,
            writes: 0,
            trims: 0,
            zone_commands: 0,
            flushes: 0,
            repaired: Vec::new(),
            left_out: Vec::new(),
            skipped_bad: 0,
            skipped_messages: Vec::new(),
            clamped_times: 0,
            reordered: 0,
            devices: Vec::new(),
            first_time_ns: 0,
            last_time_ns: 0,
            duration_ns: 0,
            hints: Vec::new(),
        }
    }

    /// Number of lines or records that were repaired, for any reason.
    pub fn repaired_count(&self) -> u64 {
        self.repaired.iter().map(|tally| tally.count).sum()
    }
}

/// Adds one to the tally of `reason`.
pub(crate) fn count(tallies: &mut Vec<Tally>, reason: &'static str) {
    match tallies.iter_mut().find(|tally| tally.reason == reason) {
        Some(tally) => tally.count += 1,
        None => tallies.push(Tally { reason: reason.to_owned(), count: 1 }),
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}
