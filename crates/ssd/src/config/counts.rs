//! Counts of a drive, each within its range.

use flashweir_trace::SECTOR_BYTES;

use super::Config;
use crate::error::ConfigError;
use crate::ftl::classifier::MAX_GROUPS;
use crate::geometry::MAX_PAGE_SECTORS;

/// Most over-provisioning, as a share of logical, and of raw.
pub(super) const MAX_OP_RATIO: f64 = 100.0;
pub(super) const MAX_OP_RAW: f64 = 0.99;

/// Pages of a unit in a mapping unit.
const MAX_MAPPED_PAGES: u64 = 64;

/// Refuses a mapping unit that neither divides the page of a unit nor is some of them.
fn check_map_unit(config: &Config) -> Result<(), ConfigError> {
    let Some(unit) = config.ftl.map_unit() else { return Ok(()) };
    let (page, of_unit) = (config.page.0, config.page.0 * u64::from(config.bound_pages()));
    let divides = |part: u64, whole: u64| part > 0 && whole.is_multiple_of(part);
    let planes = page * u64::from(config.bound_planes());
    let parts = [page, planes, of_unit];
    // Parts of a page, pages side by side on one channel, whole channels side by side.
    let fits =
        (0..3).any(|level| divides(unit, parts[level]) && (level == 0 || divides(parts[level - 1], unit)));
    let pages = unit / of_unit;
    let block = u64::from(config.pages_per_block);
    let large = divides(of_unit, unit) && pages <= MAX_MAPPED_PAGES && divides(pages, block);
    let most = u64::from(MAX_PAGE_SECTORS) * SECTOR_BYTES;
    if (fits || large) && unit.is_multiple_of(SECTOR_BYTES) && unit <= most {
        return Ok(());
    }
    Err(ConfigError::Value {
        origin: "device".into(),
        key: "ftl.map_unit".into(),
        value: unit.to_string(),
        expected: format!(
            "expected a multiple of 512 bytes that divides the page of {of_unit} bytes, or up to {MAX_MAPPED_PAGES} such pages, \
             at most {}KiB, of which blocks of {block} pages hold a whole number",
            most >> 10
        ),
    })
}

/// Refuses counts out of range. Returns the sectors of a page.
pub(super) fn check_counts(config: &Config) -> Result<u32, ConfigError> {
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
    check_map_unit(config)?;
    if let Some(groups) = config.ftl.groups().filter(|groups| !(1..=MAX_GROUPS).contains(groups)) {
        return refuse("ftl.groups", groups.to_string(), format!("expected 1 to {MAX_GROUPS}, or auto"));
    }
    if config.capacity.0 < page || config.capacity.0 > 1 << 60 {
        let expected = "expected at least one page and at most 1024 PiB".into();
        return refuse("capacity", config.capacity.0.to_string(), expected);
    }
    if !(0.0..=MAX_OP_RATIO).contains(&config.op_ratio) {
        let expected = "expected spare / logical, 0 to 100 (0.10 is 10%)".into();
        return refuse("op_ratio", format!("{:e}", config.op_ratio), expected);
    }
    if let Some(share) = config.op_raw.0.filter(|share| !(0.0..=MAX_OP_RAW).contains(share)) {
        let expected = "expected spare / raw, 0 to 0.99 (0.07 is 7% of all blocks)".into();
        return refuse("op_raw", format!("{share:e}"), expected);
    }
    if config.blocks_per_unit.0 == Some(0) {
        return refuse("blocks_per_unit", "0".into(), "expected at least one block".into());
    }
    Ok((page / SECTOR_BYTES) as u32)
}
