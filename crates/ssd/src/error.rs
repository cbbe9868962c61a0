//! Errors of a drive: in its configuration before the run, and in the run itself.

/// A configuration that can't be simulated. Every message names the key, the value and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// No such key.
    #[error("{origin}: unknown key `{key}`{hint}")]
    UnknownKey {
        /// Where the key was given, such as `--set` or a file's name.
        origin: String,
        /// The key.
        key: String,
        /// A near miss, or where to find the list.
        hint: String,
    },
    /// A value of the wrong form or out of range.
    #[error("{origin}: `{key}` = {value}: {expected}")]
    Value {
        /// Where the value was given.
        origin: String,
        /// The key.
        key: String,
        /// The value, as given.
        value: String,
        /// Values that would have been right.
        expected: String,
    },
    /// Keys that are fine alone but not together (see the table of refusals), or a geometry that can't exist.
    #[error("{keys}: {reason}")]
    Refused {
        /// The keys and their values.
        keys: String,
        /// Why they can't go together.
        reason: String,
    },
    /// A file that is no TOML or JSON table.
    #[error("{origin}: {detail}")]
    Syntax {
        /// The file.
        origin: String,
        /// The parser's reason, with line and column.
        detail: String,
    },
    /// No such preset.
    #[error("device {name:?}: no such preset or file; presets are {known}{hint}")]
    UnknownPreset {
        /// The name given.
        name: String,
        /// The presets there are.
        known: String,
        /// A near miss, or nothing.
        hint: String,
    },
}

/// A run that had to stop. The state that explains it is in the message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// A unit has to write a page and no collection can free a block for it.
    #[error(
        "unit {unit} can't go on: {free} erased and {closed} full blocks, {valid} valid pages in {pages} \
         ({held_back} blocks held back), and no victim frees a page: raise op_ratio or lower gc.free_blocks"
    )]
    Stuck {
        /// The unit.
        unit: u32,
        /// Its erased blocks.
        free: u64,
        /// Its full blocks.
        closed: u64,
        /// Its valid pages.
        valid: u64,
        /// All its pages.
        pages: u64,
        /// `gc.free_blocks`.
        held_back: u32,
    },
    /// Pages wait for a unit, and none can take them.
    #[error(
        "{waiting} page writes wait and no unit that they may go to has room for another page: raise op_ratio"
    )]
    NoRoom {
        /// Number of pages that wait.
        waiting: u64,
    },
    /// A request beyond the drive's capacity.
    #[error(
        "request {number}: sectors {lba} to {end} lie beyond the drive's {capacity_sectors} sectors \
         (fold addresses with --wrap, or raise capacity)"
    )]
    BeyondDrive {
        /// Number of the request, from 1.
        number: u64,
        /// Its first sector.
        lba: u64,
        /// One past its last sector.
        end: u64,
        /// Sectors of the drive.
        capacity_sectors: u64,
    },
    /// A request of a tenant that the run does not have.
    #[error(
        "request {number}: stream {stream}, and the run has {tenants} tenants: expected a stream below that"
    )]
    NoSuchTenant {
        /// Number of the request, from 1.
        number: u64,
        /// Its stream.
        stream: u16,
        /// Tenants of the run.
        tenants: u16,
    },
    /// An allocator outside the engine gave no answer, or one that makes no sense.
    #[error("allocator, window {window}: {detail}")]
    Allocator {
        /// Number of the window that it was asked about, from 0.
        window: u64,
        /// The fault, and the expected value.
        detail: String,
    },
    /// A policy outside the engine gave no answer, or one that can't be carried out.
    #[error("{slot}: {detail}")]
    Policy {
        /// The slot, by its key.
        slot: &'static str,
        /// The reason, and what was expected.
        detail: String,
    },
    /// A page of a zone reached the flash out of turn.
    #[error("unit {unit}, block {block}: page {page} of a zone came when page {next} was next")]
    ZoneOrder {
        /// The unit, or set of dies.
        unit: u32,
        /// Its block.
        block: u32,
        /// The page.
        page: u32,
        /// The page that was next.
        next: u32,
    },
    /// The host's log broke a rule of zones.
    #[error("zone {zone}: {status}")]
    Zone {
        /// The zone.
        zone: u32,
        /// The status that the drive answers with.
        status: crate::zones::Status,
    },
    /// A command to a zone on a drive that takes none.
    #[error(
        "request {number} is {op}, a command to a zone, which the drive does not take: expected ftl.kind=zones with \
         ftl.host=none, or requests without it"
    )]
    NotZoned {
        /// Number of the request, from 1.
        number: u64,
        /// The command.
        op: &'static str,
    },
    /// Simulated time has come to an end.
    #[error("request {number}: simulated time passes 146 years: shorten the times, or lower host.time_scale")]
    TooLong {
        /// Number of the request, from 1.
        number: u64,
    },
    /// Preconditioning to steady state has nothing to write.
    #[error(
        "precondition=steady writes the workload's own addresses, and {requests} requests of it wrote not a page: \
         use precondition=full"
    )]
    NothingWritten {
        /// Requests looked at.
        requests: u64,
    },
    /// The checking mode found that the drive does not do what a drive must.
    #[error("verification failed at request {number}: {detail}")]
    Verify {
        /// Number of the request, from 1.
        number: u64,
        /// Values found and expected.
        detail: String,
    },
    /// Preconditioning to steady state did not settle.
    #[error(
        "precondition=steady did not settle: write amplification still moves by more than 0.5% between successive \
         capacities after {capacities} of them (last {last:.4}, before {before:.4}); use precondition=full"
    )]
    Unsteady {
        /// Number of capacities written.
        capacities: u64,
        /// Write amplification over the last one, times 10^4 rounded away in the message.
        last: Amplification,
        /// And over the one before.
        before: Amplification,
    },
}

/// A write amplification inside an error (comparable, printed as a number).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Amplification(pub f64);

impl Eq for Amplification {}

impl std::fmt::Display for Amplification {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(&self.0, f)
    }
}
