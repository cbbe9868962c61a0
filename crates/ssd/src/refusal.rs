//! Refusals: combinations of settings that make no drive though each is valid alone. Every one is made from a rule, and every
//! rule is in a table: [`SHAPE`] here, `config/refusals.rs` for those that need the configuration alone, and the crate of runs
//! for those of a run.

use crate::error::ConfigError;

/// A rule by which combinations are refused: physics, or arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The keys that do not go together.
    pub keys: &'static str,
    /// Why.
    pub reason: &'static str,
}

impl Refusal {
    /// A rule.
    pub const fn new(keys: &'static str, reason: &'static str) -> Self {
        Self { keys, reason }
    }

    /// The refusal in the words of the rule.
    pub fn refuse(&self) -> ConfigError {
        self.because(self.keys, self.reason)
    }

    /// The refusal of a drive, with its values.
    pub fn because(&self, keys: impl Into<String>, reason: impl Into<String>) -> ConfigError {
        ConfigError::Refused { keys: keys.into(), reason: reason.into() }
    }

    /// The refusal of the value of one of the rule's keys, because of others.
    pub(crate) fn of_value(&self, key: &str, value: u64, expected: String) -> ConfigError {
        debug_assert!(self.keys.split(", ").any(|own| own == key), "{key} is no key of: {}", self.keys);
        ConfigError::Value { origin: "device".into(), key: key.into(), value: value.to_string(), expected }
    }
}

/// More pages than a map can number.
pub const TOO_MANY_PAGES: Refusal = Refusal::new(
    "capacity, page, channels, chips, dies, planes, alloc.kind, alloc.superblock_dies",
    "a map numbers the pages of a unit, of a superblock's dies, or of all units that share it, with 32 bits: use larger pages",
);

/// More memory than a simulation may take.
pub(crate) const TOO_LARGE: Refusal = Refusal::new(
    "capacity, page, pages_per_block, channels, chips, dies, planes",
    "tables of planes and blocks, and versions of all sectors under verify, have to fit into memory: use a smaller drive",
);

/// Less spare than the drive holds back.
pub(crate) const TOO_LITTLE_SPARE: Refusal = Refusal::new(
    "op_ratio, op_raw, blocks_per_unit, gc.free_blocks, gc.frontiers, ftl.kind, ftl.classifier, slc.static_blocks",
    "a unit needs a block more than its data and what it holds back, or no page could ever be overwritten: the message has the \
     smallest share that works",
);

/// Groups of relocated pages fill a block with what pads them.
pub(crate) const TOO_MANY_GROUPS: Refusal = Refusal::new(
    "ftl.classifier, ftl.map_unit, pages_per_block",
    "each group of relocated pages may pad a page of flash in a block, and a block has no more of them",
);

/// A page of bound planes and channels is too large.
pub(crate) const BOUND_PAGE: Refusal = Refusal::new(
    "units, planes_bound, channels, planes, page",
    "a page of a unit has at most so many sectors: bind fewer, or use smaller pages",
);

/// A mapping unit that is neither a part of a page nor some of them.
pub(crate) const MAP_UNIT: Refusal = Refusal::new(
    "ftl.map_unit, page, pages_per_block, units, planes_bound",
    "mapping units are parts of a page, or whole pages of which a block holds a whole number",
);

/// Not a page of capacity.
pub(crate) const NO_PAGE: Refusal = Refusal::new("capacity, page", "a drive has at least one page");

/// Three numbers of which one follows from two.
pub(crate) const TWO_OF_THREE: Refusal = Refusal::new(
    "capacity, blocks_per_unit, op_ratio, op_raw",
    "of capacity, blocks and over-provisioning two are given, and the third follows: three that disagree make no drive",
);

/// Superblocks of dies that do not divide the drive, or stripes that do not divide them.
pub(crate) const PARTS_OF_SETS: Refusal = Refusal::new(
    "alloc.superblock_dies, alloc.parity, channels, chips, dies",
    "all sets have as many dies, and all stripes of a superblock as many pages: expected divisors",
);

/// More channels than the drive has.
pub(crate) const TOO_FEW_CHANNELS: Refusal = Refusal::new(
    "tenants.channels=isolated, tenants.min_channels, channels",
    "a group, or all tenants with one of their own each, can't have more channels than there are",
);

/// A map cache without an entry.
pub(crate) const NO_CACHED_ENTRY: Refusal = Refusal::new(
    "ftl.cache_bytes, ftl.kind=dftl, channels, chips, dies, planes",
    "each unit, or all that share a map, caches at least one entry",
);

/// A host's log that writes more zones than may be active.
pub(crate) const ACTIVE_ZONES: Refusal = Refusal::new(
    "ftl.max_active, ftl.host=log, ftl.separate, alloc.superblock_dies, precondition=on-read",
    "a log writes a zone for each group of pages and set of dies at a time: expected at least as many active ones",
);

/// Random write areas that are no parts of zones.
pub(crate) const RANDOM_WRITE_AREA: Refusal = Refusal::new(
    "ftl.zrwa_size, ftl.zrwa_granularity, page, pages_per_block",
    "a random write area lies within a zone, and is committed in equal parts of whole pages",
);

/// Busy-until times where they are not exact.
pub(crate) const EXACT_TIMES: Refusal = Refusal::new(
    "engine=busy-until",
    "the message has the setting because of which busy-until times are not exact: use engine=auto or engine=event",
);

/// Rules whose checks need the drive's shape or have values in their messages: each is checked where it is worked out.
pub(crate) const SHAPE: [&Refusal; 14] = [
    &TOO_MANY_PAGES,
    &TOO_LARGE,
    &TOO_LITTLE_SPARE,
    &TOO_MANY_GROUPS,
    &BOUND_PAGE,
    &MAP_UNIT,
    &NO_PAGE,
    &TWO_OF_THREE,
    &PARTS_OF_SETS,
    &TOO_FEW_CHANNELS,
    &NO_CACHED_ENTRY,
    &ACTIVE_ZONES,
    &RANDOM_WRITE_AREA,
    &EXACT_TIMES,
];
