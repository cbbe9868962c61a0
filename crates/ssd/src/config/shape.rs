//! From the configuration to the drive's shape: counts that follow from it, and those that are impossible.

use super::Config;
use super::bad_blocks::BadBlocks;
use super::counts::check_counts;
use super::size::Frame;
use crate::error::ConfigError;
use crate::ftl::FtlConfig;
use crate::geometry::Geometry;
use crate::refusal::{TOO_LARGE, TOO_LITTLE_SPARE, TOO_MANY_GROUPS, TOO_MANY_PAGES};

/// Entries of a unit's map are 32 bits wide, and one value means "not mapped".
const MAX_UNIT_PAGES: u64 = u32::MAX as u64 - 1;

/// Most parallel units of a drive.
const MAX_UNITS: u64 = 1 << 18;
/// Most bytes of the block tables of a drive: 16 TiB in 2 KiB pages and 64 of them a block need 6 GiB.
const MAX_TABLE_BYTES: u64 = 16 << 30;

/// Most bytes of what is written at once: a number for each count of valid pages and each plane.
const MAX_RING_BYTES: u64 = 256 << 20;

/// Blocks that every log has at least.
const FEWEST_LOG_BLOCKS: u64 = 3;

/// Most blocks of a unit that a refusal looks for.
const MAX_ADVISED_BLOCKS: u32 = 1 << 24;

/// A drive whose spare nobody has looked at.
struct Unchecked {
    geometry: Geometry,
    /// Its superblocks as units, if it has some.
    shape: Option<Geometry>,
    born_bad: Option<BadBlocks>,
}

/// Blocks that a unit needs beside those of its data, and why.
struct Needs {
    beside: u64,
    /// Those of them that it keeps erased (`gc.free_blocks`).
    kept: u32,
    /// Pages that data must leave free in the other blocks.
    free_pages: u64,
    /// The keys that say so.
    keys: String,
    why: String,
}

impl Config {
    /// True if pages are bound to a unit when they are dispatched.
    pub fn binds_late(&self) -> bool {
        self.alloc.binds_late(self.tenants.are_on())
    }
}

impl Geometry {
    /// Works out the counts, or says which key makes them impossible.
    pub fn new(config: &Config) -> Result<Self, ConfigError> {
        let Unchecked { mut geometry, shape, born_bad } = Self::unchecked(config)?;
        let mapped = shape.as_ref().unwrap_or(&geometry);
        geometry.check_spare(mapped, config, born_bad.as_ref())?;
        if config.ftl.is_zoned() {
            let logical_pages = mapped.zoned_pages();
            geometry.unit_logical_pages = logical_pages / u64::from(geometry.units());
            geometry.logical_pages = logical_pages;
        }
        Ok(geometry)
    }

    fn unchecked(config: &Config) -> Result<Unchecked, ConfigError> {
        let page_sectors = check_counts(config)?;
        let frame = Frame::new(config);
        let unit_logical_pages = frame.unit_logical_pages(config.capacity.0);
        let (bound_pages, units_per_page) = (config.bound_pages(), config.units_per_page());
        let mapped_pages = config.mapped_pages();
        let mut geometry = Self {
            channels: config.channels / config.bound_channels(),
            chips: config.chips,
            dies: config.dies,
            planes: config.planes / config.bound_planes(),
            bound_pages,
            units_per_page,
            mapped_pages,
            page_sectors: page_sectors * bound_pages * mapped_pages / units_per_page,
            pages_per_block: config.pages_per_block * units_per_page / mapped_pages,
            row_pages: 1,
            turn_pages: 1,
            unit_logical_pages,
            blocks: frame.blocks_of(config, unit_logical_pages),
            bad_blocks: Box::default(),
            maps_blocks: frame.maps_blocks,
            unit_uncounted_blocks: frame.uncounted,
            logical_pages: unit_logical_pages * frame.units,
            parity: config.alloc.parity(),
            unit_reserved_blocks: 1,
        };
        let born_bad = BadBlocks::new(&config.nand);
        geometry.check_sizes(config)?;
        if let Some(born_bad) = &born_bad {
            born_bad.mark(&mut geometry);
        }
        geometry.unit_reserved_blocks = config.gc.free_blocks.of(geometry.min_unit_blocks());
        let superblocks = config.alloc.superblocks(&geometry)?;
        let shape = superblocks.map(|superblocks| superblocks.shape(&geometry));
        if let Some(shape) = &shape {
            shape.check_tables(config, shape.units().into())?;
        }
        Ok(Unchecked { geometry, shape, born_bad })
    }

    /// Blocks that each unit keeps erased, if the counts are possible.
    pub(super) fn kept_blocks(config: &Config) -> Option<u32> {
        Some(Self::unchecked(config).ok()?.geometry.unit_reserved_blocks)
    }

    /// Blocks that a unit needs, and why.
    fn needed(&self, config: &Config) -> (u64, Needs) {
        let needs = self.needs(config);
        let per_block = self.pages_for_data(config);
        let of_data = (self.unit_logical_pages + needs.free_pages).div_ceil(per_block.max(1));
        let others = of_data + needs.beside - u64::from(needs.kept);
        let fewest = if needs.kept > 0 { config.gc.free_blocks.fewest_with(others) } else { others };
        (fewest, needs)
    }

    /// Pages of a block that relocated pages leave to data.
    fn pages_for_data(&self, config: &Config) -> u64 {
        self.usable_pages_per_block(config.upkeep().groups().map_or(1, |counts| counts.moved))
    }

    /// The fewest blocks a unit with which the drive has the spare that it needs, with its capacity or, if that follows from the
    /// blocks, with its share of spare. `None` if there are none.
    fn fewest_blocks(config: &Config, capacity_follows: bool) -> Option<u32> {
        let works = |blocks: u32| {
            let more = config.with_blocks(blocks, capacity_follows);
            Self::unchecked(&more).is_ok_and(|Unchecked { geometry, shape, .. }| {
                let mapped = shape.as_ref().unwrap_or(&geometry);
                mapped.min_unit_blocks() >= mapped.needed(&more).0
            })
        };
        let mut below = config.blocks_per_unit.0?;
        let mut found = below.saturating_mul(2).max(1);
        while !works(found) {
            (below, found) = (found, found.saturating_mul(2));
            if found > MAX_ADVISED_BLOCKS {
                return None;
            }
        }
        while found - below > 1 {
            let middle = below.midpoint(found);
            if works(middle) { found = middle } else { below = middle }
        }
        Some(found)
    }

    /// Logical pages where zones are addressed: those of the capacity, rounded up to whole zones in each unit.
    fn zoned_pages(&self) -> u64 {
        let pages = u64::from(self.pages_per_block);
        self.unit_logical_pages.div_ceil(pages) * pages * u64::from(self.units())
    }

    fn check_sizes(&self, config: &Config) -> Result<(), ConfigError> {
        let units =
            u64::from(self.channels) * u64::from(self.chips) * u64::from(self.dies) * u64::from(self.planes);
        if units > MAX_UNITS {
            return Err(TOO_LARGE.because(
                format!("channels x chips x dies x planes = {units}"),
                format!("expected at most {MAX_UNITS} planes"),
            ));
        }
        let pages = self.max_unit_pages();
        if pages > MAX_UNIT_PAGES {
            return Err(TOO_MANY_PAGES.because(format!("capacity {} over {units} planes", config.capacity.0), format!(
                    "a plane would have {pages} pages, at most {MAX_UNIT_PAGES} fit a 32-bit map: use more planes, \
                     or larger pages"
                )));
        }
        if !matches!(config.ftl, FtlConfig::Direct(_)) {
            self.check_tables(config, units)?;
        }
        Ok(())
    }

    /// Each unit needs a block more than its data and what it holds back, or nothing could ever be overwritten. `mapped`: the units
    /// as the translation layer has them, sets of dies where there are superblocks.
    fn check_spare(
        &self,
        mapped: &Self,
        config: &Config,
        born_bad: Option<&BadBlocks>,
    ) -> Result<(), ConfigError> {
        let (needed, Needs { beside, free_pages, keys, why, .. }) = mapped.needed(config);
        let (logical, per_block) = (mapped.unit_logical_pages, mapped.pages_for_data(config));
        if per_block == 0 {
            let reason = format!(
                "each group of moved pages may pad a page of flash in a block, and a block has no more of them: use fewer \
                 groups, more pages_per_block, or a larger ftl.map_unit ({} mapping units a page)",
                self.units_per_page
            );
            return Err(TOO_MANY_GROUPS.because("ftl.classifier, ftl.map_unit, pages_per_block", reason));
        }
        let has = mapped.min_unit_blocks();
        if has >= needed {
            return Ok(());
        }
        let (frame, asked) = (Frame::new(config), config.share());
        let (given, advice) = if let Some(blocks) = config.blocks_per_unit.0 {
            let most = (has.saturating_sub(beside) * per_block).saturating_sub(free_pages);
            let most = most / u64::from(self.units() / mapped.units());
            frame.advise_with_blocks(config, blocks.into(), most).unwrap_or_else(
                |(given, capacity_follows)| {
                    let fewest = Self::fewest_blocks(config, capacity_follows);
                    let more = fewest.map_or("more blocks and spare".into(), |blocks| {
                        format!("blocks_per_unit of at least {blocks}")
                    });
                    (given, more)
                },
            )
        } else {
            // The nearest whole number of blocks is built: half a block less makes as many.
            let built = born_bad.map_or(needed * frame.units, |bad| bad.built_for(self, needed));
            let blocks = built.next_multiple_of(frame.whole) as f64 - 0.5 * frame.whole as f64;
            let least = frame.least_share(asked, self.logical_pages as f64, blocks, frame.units);
            let key = asked.key();
            let advice = if least > asked.max() {
                format!("a larger capacity or smaller blocks, as no {key} up to {} is enough", asked.max())
            } else {
                format!("{key} of at least {least:.4}")
            };
            (format!("{key} = {}", asked.value()), advice)
        };
        Err(TOO_LITTLE_SPARE.because(format!("{given}, {}{keys}", born_bad.map(BadBlocks::key).unwrap_or_default()), format!(
                "{} of the {} {} would have {has} {}blocks for {logical} logical pages ({per_block} a block) and need \
                 {needed}: {why}: use {advice}",
                (0..mapped.units()).filter(|unit| mapped.unit_blocks(*unit) == has).count(),
                mapped.units(),
                if config.alloc.has_superblocks() { "sets of dies" } else { "planes" },
                if born_bad.is_some() { "good " } else { "" }
            )))
    }

    /// Blocks that a unit needs beside those of its data.
    fn needs(&self, config: &Config) -> Needs {
        if matches!(config.ftl, FtlConfig::Direct(_)) {
            let why = "every logical page is a physical one".into();
            return Needs { beside: 0, kept: 0, free_pages: 0, keys: "ftl.kind = direct".into(), why };
        }
        if config.ftl.is_zoned() {
            let why = "every zone has its blocks".into();
            return Needs { beside: 0, kept: 0, free_pages: 0, keys: "ftl.host = none".into(), why };
        }
        if self.maps_blocks {
            let beside = self.unit_uncounted_blocks + FEWEST_LOG_BLOCKS;
            let why = format!(
                "a log has at least {FEWEST_LOG_BLOCKS}, and {} come on top of it",
                self.unit_uncounted_blocks
            );
            return Needs { beside, kept: 0, free_pages: 0, keys: "ftl.kind maps blocks".into(), why };
        }
        let groups = config.upkeep().groups();
        let frontiers = match groups {
            Some(counts) => u64::from(counts.open_blocks() - 1 + counts.kept_blocks()),
            None => u64::from(config.upkeep().frontiers.saturating_sub(1)),
        };
        // A map on flash has a frontier of its own.
        let for_map = if config.ftl.has_map_on_flash() {
            self.blocks_held_back_for_map(config.binds_late()) + self.unit_translation_blocks()
        } else {
            0
        };
        let in_slc = u64::from(config.slc.kept_blocks());
        let beside = u64::from(self.unit_reserved_blocks) + frontiers + for_map + in_slc;
        let (key, of_map) = if for_map > 0 {
            let of_frontiers = if frontiers > 0 { "gc.frontiers = 2, " } else { "" };
            (format!("{of_frontiers}ftl.kind = dftl"), format!(", {for_map} of them for translation pages"))
        } else {
            let key = match groups {
                Some(counts) => format!("{} groups of ftl.classifier", counts.open_blocks()),
                None => format!("gc.frontiers = {}", config.upkeep().frontiers),
            };
            (key, String::new())
        };
        Needs {
            beside,
            kept: self.unit_reserved_blocks,
            free_pages: 1,
            keys: format!(
                "gc.free_blocks = {}, {key}{}",
                config.gc.free_blocks,
                if in_slc > 0 { format!(", slc.static_blocks = {in_slc}") } else { String::new() }
            ),
            why: format!(
                "{beside} {} held back{of_map}, so no page could ever be overwritten",
                if beside == 1 { "is" } else { "are" }
            ),
        }
    }

    /// The tables of blocks are made at once. Without their rings they cost memory only where they are touched, but address space in full.
    fn check_tables(&self, config: &Config, units: u64) -> Result<(), ConfigError> {
        let pages_per_block = u64::from(self.pages_per_block);
        let bytes_a_block = 32 + pages_per_block.div_ceil(64) * 8;
        let bytes = u128::from(self.blocks) * u128::from(bytes_a_block);
        let ring_bytes = units * (pages_per_block + 1) * 12;
        if bytes <= u128::from(MAX_TABLE_BYTES) && ring_bytes <= MAX_RING_BYTES {
            return Ok(());
        }
        Err(TOO_LARGE.because(format!(
                "capacity = {}, page = {}, pages_per_block = {}, {units} planes",
                config.capacity.0, config.page.0, self.pages_per_block
            ), format!(
                "the tables of {} blocks a plane would take {} MiB, at most {} MiB, and their rings {} MiB, at most {} MiB: \
                 use larger pages, fewer planes, a smaller capacity, or another number of pages_per_block",
                self.max_unit_blocks(),
                bytes >> 20,
                MAX_TABLE_BYTES >> 20,
                ring_bytes >> 20,
                MAX_RING_BYTES >> 20
            )))
    }
}
