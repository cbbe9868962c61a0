//! From the configuration to the drive's shape: counts that follow from it, and those that are impossible.

use flashweir_trace::SECTOR_BYTES;

use super::Config;
use crate::error::ConfigError;
use crate::geometry::{Geometry, MAX_PAGE_SECTORS};
use crate::quantity::round_to_u64;

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

/// Blocks of the log of a unit of so many data blocks: their share `op_ratio`, rounded down.
fn log_blocks(data_blocks: u64, op_ratio: f64) -> u64 {
    // A ratio such as 0.07 is a little less than it says, so a product that should be whole is rounded to it.
    let share = data_blocks as f64 * op_ratio;
    let whole = share.round();
    let blocks = if (share - whole).abs() < 1e-6 { whole } else { share.floor() };
    round_to_u64(blocks).max(FEWEST_LOG_BLOCKS)
}

impl Geometry {
    /// Works out the counts, or says which key makes them impossible.
    pub fn new(config: &Config) -> Result<Self, ConfigError> {
        let page_sectors = Self::check_counts(config)?;
        let channels = config.channels / config.bound_channels();
        let planes = config.planes / config.bound_planes();
        let units =
            u64::from(channels) * u64::from(config.chips) * u64::from(config.dies) * u64::from(planes);
        let bound_pages = config.bound_pages();
        let pages_per_block = u64::from(config.pages_per_block);
        let page_bytes = config.page.0 * u64::from(bound_pages);
        let mut unit_logical_pages = config.capacity.0.div_ceil(page_bytes).div_ceil(units);
        let mut unit_log_blocks = 0;
        // One erased block a unit lies outside op_ratio: moved pages go into it, and the block erased last takes its place.
        let unit_blocks = if let Some(extra) = config.ftl.blocks_besides_log() {
            let data_blocks = unit_logical_pages.div_ceil(pages_per_block);
            unit_logical_pages = data_blocks * pages_per_block;
            unit_log_blocks = log_blocks(data_blocks, config.op_ratio);
            data_blocks + unit_log_blocks + extra + 1
        } else {
            let spare_pages = round_to_u64(unit_logical_pages as f64 * config.op_ratio);
            (unit_logical_pages + spare_pages).div_ceil(pages_per_block) + 1
        };
        let geometry = Self {
            channels,
            chips: config.chips,
            dies: config.dies,
            planes,
            bound_pages,
            page_sectors: page_sectors * bound_pages,
            pages_per_block: config.pages_per_block,
            unit_logical_pages,
            unit_blocks,
            unit_log_blocks,
            logical_pages: unit_logical_pages * units,
            unit_reserved_blocks: config.gc.free_blocks,
        };
        geometry.check_sizes(config)?;
        Ok(geometry)
    }

    fn check_counts(config: &Config) -> Result<u32, ConfigError> {
        let refuse = |key: &str, value: String, expected: String| {
            Err(ConfigError::Value { origin: "device".into(), key: key.into(), value, expected })
        };
        let counts = [
            ("channels", config.channels, 4096),
            ("chips", config.chips, 1024),
            ("dies", config.dies, 1024),
            ("planes", config.planes, 64),
            ("pages_per_block", config.pages_per_block, 1 << 20),
            ("gc.free_blocks", config.gc.free_blocks, 1 << 20),
        ];
        for (key, value, most) in counts {
            if !(1..=most).contains(&value) {
                return refuse(key, value.to_string(), format!("expected 1 to {most}"));
            }
        }
        let page = config.page.0;
        let bound = u64::from(config.bound_pages());
        let most = u64::from(MAX_PAGE_SECTORS) * SECTOR_BYTES;
        if page == 0 || !page.is_multiple_of(SECTOR_BYTES) || page > most {
            let expected = format!("expected a multiple of 512 bytes, at most {}KiB", most >> 10);
            return refuse("page", page.to_string(), expected);
        }
        if page * bound > most {
            return Err(ConfigError::Refused {
                keys: format!("units, planes_bound: {bound} pages of {page} bytes bound"),
                reason: format!(
                    "a page of a unit is at most {}KiB: bind fewer, or use smaller pages",
                    most >> 10
                ),
            });
        }
        if config.capacity.0 < page || config.capacity.0 > 1 << 60 {
            let expected = "expected at least one page and at most 1024 PiB".into();
            return refuse("capacity", config.capacity.0.to_string(), expected);
        }
        if !config.op_ratio.is_finite() || !(0.0..=100.0).contains(&config.op_ratio) {
            let expected = "expected spare / logical, 0 to 100 (0.10 is 10%)".into();
            return refuse("op_ratio", format!("{:e}", config.op_ratio), expected);
        }
        Ok((page / SECTOR_BYTES) as u32)
    }

    fn check_sizes(&self, config: &Config) -> Result<(), ConfigError> {
        let units =
            u64::from(self.channels) * u64::from(self.chips) * u64::from(self.dies) * u64::from(self.planes);
        if units > MAX_UNITS {
            return Err(ConfigError::Refused {
                keys: format!("channels x chips x dies x planes = {units}"),
                reason: format!("expected at most {MAX_UNITS} planes"),
            });
        }
        let pages = self.unit_blocks * u64::from(self.pages_per_block);
        if pages > MAX_UNIT_PAGES {
            return Err(ConfigError::Refused {
                keys: format!("capacity {} over {units} planes", config.capacity.0),
                reason: format!(
                    "a plane would have {pages} pages, at most {MAX_UNIT_PAGES} fit a 32-bit map: use more planes, \
                     or larger pages"
                ),
            });
        }
        if matches!(config.ftl, crate::ftl::FtlConfig::Direct(_)) {
            return Ok(());
        }
        self.check_tables(config, units)?;
        if self.unit_log_blocks > 0 {
            return Ok(());
        }
        let pages_per_block = u64::from(self.pages_per_block);
        let frontiers = u64::from(config.gc.frontiers.saturating_sub(1));
        // A map on flash has a frontier of its own.
        let for_map = if config.ftl.has_map_on_flash() { 1 + self.unit_translation_blocks() } else { 0 };
        let held_back = u64::from(self.unit_reserved_blocks) + frontiers + for_map;
        let usable = self.unit_blocks.saturating_sub(held_back) * pages_per_block;
        if usable <= self.unit_logical_pages {
            let needed = self.unit_logical_pages / pages_per_block + 1 + held_back - 1;
            let ratio = (needed * pages_per_block) as f64 / self.unit_logical_pages as f64 - 1.0;
            // Rounded up, so that what the message says works.
            let ratio = (ratio * 1e4).ceil() / 1e4;
            return Err(ConfigError::Refused {
                keys: format!(
                    "op_ratio = {}, gc.free_blocks = {}, {}",
                    config.op_ratio,
                    self.unit_reserved_blocks,
                    if for_map > 0 {
                        "ftl.kind = dftl".into()
                    } else {
                        format!("gc.frontiers = {}", config.gc.frontiers)
                    }
                ),
                reason: format!(
                    "each of the {units} planes has {} blocks for {} logical pages ({} a block) and holds {held_back} \
                     back{}, so no page could ever be overwritten: use op_ratio of at least {:.4}",
                    self.unit_blocks,
                    self.unit_logical_pages,
                    self.pages_per_block,
                    if for_map > 0 {
                        format!(", {for_map} of them for translation pages")
                    } else {
                        String::new()
                    },
                    ratio
                ),
            });
        }
        Ok(())
    }

    /// The tables of blocks are made at once. Without their rings they cost memory only where they are touched, but address space in full.
    fn check_tables(&self, config: &Config, units: u64) -> Result<(), ConfigError> {
        let pages_per_block = u64::from(self.pages_per_block);
        let bytes_a_block = 32 + pages_per_block.div_ceil(64) * 8;
        let bytes = u128::from(units) * u128::from(self.unit_blocks) * u128::from(bytes_a_block);
        let ring_bytes = units * (pages_per_block + 1) * 12;
        if bytes <= u128::from(MAX_TABLE_BYTES) && ring_bytes <= MAX_RING_BYTES {
            return Ok(());
        }
        Err(ConfigError::Refused {
            keys: format!(
                "capacity = {}, page = {}, pages_per_block = {}, {units} planes",
                config.capacity.0, config.page.0, self.pages_per_block
            ),
            reason: format!(
                "the tables of {} blocks a plane would take {} MiB, at most {} MiB, and their rings {} MiB, at most {} MiB: \
                 use larger pages, fewer planes, a smaller capacity, or another number of pages_per_block",
                self.unit_blocks,
                bytes >> 20,
                MAX_TABLE_BYTES >> 20,
                ring_bytes >> 20,
                MAX_RING_BYTES >> 20
            ),
        })
    }
}
