//! Capacity, blocks and over-provisioning: two of them are given, the third follows.
//!
//! A drive has `capacity` and a share of spare blocks (`op_ratio` or `op_raw`), or `blocks_per_unit` and one of the two. Of
//! several layers the higher one is obeyed: `capacity` makes blocks follow, `blocks_per_unit` and a share make
//! capacity follow where blocks are given. Spare blocks are whole: over all units their number is the nearest to the share.

use flashweir_trace::quantity::format_bytes;

use super::Config;
use super::counts::{MAX_OP_RATIO, MAX_OP_RAW, check_counts};
use crate::error::ConfigError;
use crate::geometry::share_of_data;
use crate::quantity::{Auto, Bytes, round_to_u64};
use crate::refusal::TWO_OF_THREE;

/// Shares that differ by less are the same, written twice.
const SAME_SHARE: f64 = 1e-12;

/// Over-provisioning as asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Share {
    /// `op_ratio`: spare / logical, without blocks that are always erased and sequential log blocks.
    OfLogical(f64),
    /// `op_raw`: spare / raw, all blocks counted.
    OfRaw(f64),
}

impl Share {
    /// The key that asks for it.
    pub fn key(self) -> &'static str {
        match self {
            Self::OfLogical(_) => "op_ratio",
            Self::OfRaw(_) => "op_raw",
        }
    }

    /// The largest value that its key may have.
    pub(super) fn max(self) -> f64 {
        match self {
            Self::OfLogical(_) => MAX_OP_RATIO,
            Self::OfRaw(_) => MAX_OP_RAW,
        }
    }

    /// Its value.
    pub fn value(self) -> f64 {
        match self {
            Self::OfLogical(share) | Self::OfRaw(share) => share,
        }
    }
}

/// Numbers from which the count of a drive's blocks follows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub(super) units: u64,
    /// Bytes of a page of a unit; of a mapping unit, where that is another.
    pub(super) page_bytes: u64,
    /// Mapping units in a page of a unit. Logical pages of a unit fill whole ones.
    pub(super) units_per_page: u64,
    pub(super) pages_per_block: u64,
    /// Blocks of each unit that count neither as data nor as spare.
    pub(super) uncounted: u64,
    pub(super) maps_blocks: bool,
    /// Share of the pages of blocks that holds data; the rest is parity.
    pub(super) data: f64,
    /// Blocks come in multiples of this: superblocks are whole.
    pub(super) whole: u64,
}

impl Frame {
    pub(super) fn new(config: &Config) -> Self {
        let mapped_pages = u64::from(config.mapped_pages());
        let channels = u64::from(config.channels / config.bound_channels());
        let planes = u64::from(config.planes / config.bound_planes());
        let besides_log = config.ftl.blocks_besides_log();
        let units_per_page = u64::from(config.units_per_page());
        let units = channels * u64::from(config.chips) * u64::from(config.dies) * planes;
        Self {
            units,
            page_bytes: config.page.0 * u64::from(config.bound_pages()) * mapped_pages / units_per_page,
            units_per_page,
            pages_per_block: u64::from(config.pages_per_block) * units_per_page / mapped_pages,
            // One erased block a unit: relocated pages go into it, and the block erased last takes its place. Then those kept in SLC mode.
            uncounted: besides_log.unwrap_or(0) + 1 + u64::from(config.slc.kept_blocks()),
            maps_blocks: besides_log.is_some(),
            data: share_of_data(config.alloc.parity()),
            whole: if config.alloc.has_superblocks() { units } else { 1 },
        }
    }

    /// Logical pages of a unit: whole data blocks where blocks are mapped.
    pub(super) fn unit_logical_pages(&self, capacity: u64) -> u64 {
        let pages = capacity.div_ceil(self.page_bytes).div_ceil(self.units);
        pages.next_multiple_of(if self.maps_blocks { self.pages_per_block } else { self.units_per_page })
    }

    /// Capacity of so many logical pages a unit.
    fn capacity(&self, unit_logical_pages: u64) -> u64 {
        unit_logical_pages.saturating_mul(self.units).saturating_mul(self.page_bytes)
    }

    /// Blocks of the drive: the nearest to what is asked for.
    pub(super) fn blocks(&self, unit_logical_pages: u64, share: Share) -> u64 {
        let data = (unit_logical_pages * self.units) as f64 / self.pages_per_block as f64;
        match share {
            Share::OfLogical(share) => {
                self.round(self.with_parity(data + data * share)) + self.uncounted * self.units
            }
            Share::OfRaw(share) => self.round(data / (1.0 - share)),
        }
    }

    /// Blocks that hold so many blocks of data, and its parity.
    fn with_parity(&self, blocks: f64) -> f64 {
        if self.data < 1.0 { blocks / self.data } else { blocks }
    }

    /// The nearest number of blocks that can be built.
    fn round(&self, blocks: f64) -> u64 {
        if self.whole == 1 {
            round_to_u64(blocks)
        } else {
            round_to_u64(blocks / self.whole as f64) * self.whole
        }
    }

    /// Logical pages of a unit of so many blocks.
    fn unit_logical_of(&self, unit_blocks: u64, share: Share) -> u64 {
        let blocks = match share {
            Share::OfLogical(share) => {
                unit_blocks.saturating_sub(self.uncounted) as f64 * self.data / (1.0 + share)
            }
            Share::OfRaw(share) => unit_blocks as f64 * (1.0 - share),
        };
        if self.maps_blocks {
            round_to_u64(blocks) * self.pages_per_block
        } else {
            round_to_u64(blocks * (self.pages_per_block / self.units_per_page) as f64) * self.units_per_page
        }
    }

    /// `op_ratio` of so many blocks.
    pub(super) fn op_ratio(&self, unit_logical_pages: u64, blocks: u64) -> f64 {
        let counted = blocks.saturating_sub(self.uncounted * self.units) * self.pages_per_block;
        counted as f64 * self.data / (unit_logical_pages * self.units) as f64 - 1.0
    }

    /// `op_ratio` of so many blocks, as it may be set.
    fn legal_op_ratio(&self, unit_logical_pages: u64, blocks: u64) -> f64 {
        self.op_ratio(unit_logical_pages, blocks).clamp(0.0, MAX_OP_RATIO)
    }

    /// Blocks of the drive: those given, or as many as the share asks for.
    pub(super) fn blocks_of(&self, config: &Config, unit_logical_pages: u64) -> u64 {
        match config.blocks_per_unit.0 {
            Some(blocks) => u64::from(blocks) * self.units,
            None => self.blocks(unit_logical_pages, config.share()),
        }
    }

    /// Where units of `blocks` blocks have room for `most` logical pages and more were asked for: what was given, and what works.
    /// Where no capacity works: what was given, and true if the capacity follows from it.
    pub(super) fn advise_with_blocks(
        &self,
        config: &Config,
        blocks: u64,
        most: u64,
    ) -> Result<(String, String), (String, bool)> {
        let asked = config.share();
        let key = asked.key();
        let pages = self.unit_logical_pages(config.capacity.0);
        let follows = self.legal_op_ratio(pages, self.blocks_of(config, pages));
        // A capacity that was given makes op_ratio follow.
        let is_of_capacity = config.op_raw.0.is_none() && (follows - config.op_ratio).abs() < SAME_SHARE;
        let capacity = format_bytes(config.capacity.0);
        let given = if is_of_capacity {
            format!("blocks_per_unit = {blocks}, capacity = {capacity}")
        } else {
            format!("blocks_per_unit = {blocks}, {key} = {}", asked.value())
        };
        let step = if self.maps_blocks { self.pages_per_block } else { self.units_per_page };
        let most = most / step * step;
        if most == 0 {
            return Err((given, !is_of_capacity));
        }
        // The nearest capacity is taken: half a step more becomes this one.
        let (pages, counted) = (most as f64 + 0.5 * step as f64, (blocks * self.units) as f64);
        let least = self.least_share(asked, pages * self.units as f64, counted, self.units);
        let capacity = format!("capacity of at most {}", format_bytes(self.capacity(most)));
        let advice = match (is_of_capacity, least > asked.max()) {
            (_, true) => format!("{capacity} with these blocks"),
            (true, _) => {
                format!("{capacity} with these blocks, or {key} of at least {least:.4} instead of it")
            }
            (false, _) => format!("{key} of at least {least:.4} or {capacity} with these blocks"),
        };
        Ok((given, advice))
    }

    /// The smallest share, to four digits, that makes at least so many blocks of so many logical pages.
    pub(super) fn least_share(&self, share: Share, logical_pages: f64, blocks: f64, units: u64) -> f64 {
        let uncounted = (self.uncounted * units) as f64;
        let least = match share {
            Share::OfLogical(_) => {
                (blocks - uncounted) * self.data * self.pages_per_block as f64 / logical_pages - 1.0
            }
            Share::OfRaw(_) => 1.0 - logical_pages / (blocks * self.pages_per_block as f64),
        };
        // Rounded up, so that what the message says works, also where it falls between two numbers of blocks.
        (least * 1e4 + 1e-6).ceil().max(0.0) / 1e4
    }
}

/// True if capacity, blocks and share agree within a block, or the blocks follow from the others.
fn agrees_on_capacity(config: &Config) -> bool {
    let Some(unit_blocks) = config.blocks_per_unit.0 else { return true };
    let frame = Frame::new(config);
    let follows = frame.unit_logical_of(unit_blocks.into(), config.share());
    let given = frame.unit_logical_pages(config.capacity.0);
    follows.abs_diff(given) * frame.units <= frame.pages_per_block
}

/// Refuses capacity, blocks and a share that disagree by more than a block.
fn agree_on_capacity(origin: &str, config: &Config) -> Result<(), ConfigError> {
    check_counts(config)?;
    let Some(unit_blocks) = config.blocks_per_unit.0.filter(|_| !agrees_on_capacity(config)) else {
        return Ok(());
    };
    let (frame, share) = (Frame::new(config), config.share());
    let follows = frame.unit_logical_of(unit_blocks.into(), share);
    Err(TWO_OF_THREE.because(
        format!(
            "{origin}: capacity = {}, blocks_per_unit = {unit_blocks}, {} = {}",
            format_bytes(config.capacity.0),
            share.key(),
            share.value()
        ),
        format!(
            "{} units of {unit_blocks} blocks with this {} have a capacity of {}: give two of the three",
            frame.units,
            share.key(),
            format_bytes(frame.capacity(follows))
        ),
    ))
}

/// True if there are more blocks than the largest op_ratio asks for: it is what follows of capacity and blocks.
fn is_beyond_share(config: &Config) -> bool {
    if config.op_raw.0.is_some() || config.op_ratio < MAX_OP_RATIO || check_counts(config).is_err() {
        return false;
    }
    let frame = Frame::new(config);
    let pages = frame.unit_logical_pages(config.capacity.0);
    frame.op_ratio(pages, frame.blocks_of(config, pages)) >= MAX_OP_RATIO
}

/// Refuses two shares that disagree by more than a block.
fn agree_on_share(origin: &str, config: &Config) -> Result<(), ConfigError> {
    let Some(raw) = config.op_raw.0 else { return Ok(()) };
    check_counts(config)?;
    let frame = Frame::new(config);
    let pages = match config.blocks_per_unit.0 {
        Some(unit_blocks) => frame.unit_logical_of(unit_blocks.into(), config.share()),
        None => frame.unit_logical_pages(config.capacity.0),
    };
    let follows = frame.blocks_of(config, pages);
    let as_given = frame.blocks(pages, Share::OfLogical(config.op_ratio)).abs_diff(follows) <= 1;
    // Where all blocks hold data, as with physical addresses, there are fewer than op_ratio can ask for.
    if as_given || (frame.legal_op_ratio(pages, follows) - config.op_ratio).abs() < SAME_SHARE {
        return Ok(());
    }
    Err(TWO_OF_THREE.because(
        format!("{origin}: op_ratio = {}, op_raw = {raw}", config.op_ratio),
        format!("with this op_raw op_ratio is {:.4}: give one of the two", frame.op_ratio(pages, follows)),
    ))
}

impl Config {
    /// Over-provisioning as asked for.
    pub fn share(&self) -> Share {
        self.op_raw.0.map_or(Share::OfLogical(self.op_ratio), Share::OfRaw)
    }

    /// This drive with so many blocks a unit.
    pub(super) fn with_blocks(&self, blocks: u32, capacity_follows: bool) -> Self {
        let mut config = Self { blocks_per_unit: Auto(Some(blocks)), ..self.clone() };
        if capacity_follows {
            Given::BlocksAndShare.settle(&mut config);
        }
        config
    }
}

/// Those of capacity, blocks and over-provisioning that the layers gave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Given {
    #[default]
    CapacityAndShare,
    CapacityAndBlocks,
    BlocksAndShare,
    /// They agree within a block. If a higher layer changes that, capacity follows.
    All,
}

impl Given {
    /// Over a layer that was applied. Makes what no longer holds follow from the rest.
    pub(super) fn over(
        self,
        origin: &str,
        sets: impl Fn(&str) -> bool,
        config: &mut Config,
    ) -> Result<Self, ConfigError> {
        let raw = sets("op_raw") && config.op_raw.0.is_some();
        if sets("op_ratio") && !raw {
            config.op_raw = Auto(None);
        }
        let blocks = sets("blocks_per_unit") && config.blocks_per_unit.0.is_some();
        let (capacity, share) = (sets("capacity"), sets("op_ratio") || raw);
        let given = match (capacity, blocks, share) {
            (true, true, false) => Self::CapacityAndBlocks,
            (true, true, true) if is_beyond_share(config) => Self::CapacityAndBlocks,
            (true, false, _) => Self::CapacityAndShare,
            (false, false, _) if config.blocks_per_unit.0.is_none() => Self::CapacityAndShare,
            (false, false, false) => self,
            (true, true, true) => Self::All,
            (false, true, _) | (false, false, true) => Self::BlocksAndShare,
        };
        if capacity && blocks && given == Self::All {
            agree_on_capacity(origin, config)?;
        }
        if raw && sets("op_ratio") {
            agree_on_share(origin, config)?;
        }
        if given == Self::CapacityAndShare {
            config.blocks_per_unit = Auto(None);
        }
        given.settle(config);
        Ok(given)
    }

    /// Works out what follows. Impossible counts are left to `Geometry::new` to refuse.
    fn settle(self, config: &mut Config) {
        if check_counts(config).is_err() {
            return;
        }
        let frame = Frame::new(config);
        let capacity_follows =
            self == Self::BlocksAndShare || self == Self::All && !agrees_on_capacity(config);
        if let (true, Some(unit_blocks)) = (capacity_follows, config.blocks_per_unit.0) {
            let pages = frame.unit_logical_of(unit_blocks.into(), config.share());
            // A capacity that means the same stays as it was written.
            if frame.unit_logical_pages(config.capacity.0) != pages {
                config.capacity = Bytes(frame.capacity(pages));
            }
        }
        if self == Self::CapacityAndBlocks {
            config.op_raw = Auto(None);
        }
        if self == Self::CapacityAndBlocks || config.op_raw.0.is_some() {
            let pages = frame.unit_logical_pages(config.capacity.0);
            let blocks = frame.blocks_of(config, pages);
            config.op_ratio = frame.legal_op_ratio(pages, blocks);
        }
    }
}

#[cfg(test)]
mod tests;
