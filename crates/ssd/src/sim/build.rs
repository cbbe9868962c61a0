//! Makes the drive of a configuration, on one of the time paths; refuses what it can't make.

use super::intake::Intake;
use super::state::Owned;
use super::{Drive, Options};
use crate::config::Config;
use crate::content::{Content, Levels};
use crate::core::Core;
use crate::error::ConfigError;
use crate::geometry::Geometry;
use crate::nand::event::Events;
use crate::nand::timeline::Timeline;
use crate::nand::{Cache, Probe};
use crate::refusal::{TOO_FEW_CHANNELS, TOO_LARGE};
use crate::sched::{Scheduler, Shape};

/// Sectors of flash that verification can keep track of: 128 TiB of them.
const MAX_VERIFIED_SECTORS: u64 = 1 << 38;

pub(super) fn build<C: Content + Owned, P: Probe + Owned>(
    config: &Config,
    options: Options,
    content: impl FnOnce(&Geometry) -> C,
    probe: P,
) -> Result<Box<dyn Drive>, ConfigError> {
    let core = Core::new(config, options.seed, options.tenants, content)?;
    let cache = Cache { program: config.timing.cache_program, read: config.nand.cache_read };
    Ok(if config.uses_events() {
        let shape = Shape { dies: core.geometry.total_dies(), page_bytes: config.page.0 };
        let scheduler = Scheduler::new(&config.sched, shape);
        let mut array = Events::new(&core.geometry, config.bus_is_free(), cache, scheduler, probe);
        if !config.sched.batches() {
            array.dispatch_at_once();
        }
        array.copy_in_batches(config.gc.batch);
        if !config.binds_late() {
            array.work_ahead();
        }
        if config.is_managed() || config.works_ahead() {
            array.use_fences();
        }
        Box::new(Intake::new(config, core, array))
    } else {
        let array = Timeline::new(&core.geometry, cache, probe);
        Box::new(Intake::new(config, core, array))
    })
}

/// Followers of the levels that timelines show, where there are superblocks or an SLC cache.
pub(super) fn levels_of(config: &Config) -> Result<Option<Levels>, ConfigError> {
    let geometry = Geometry::new(config)?;
    let superblocks = config.alloc.superblocks(&geometry)?;
    let follows = superblocks.is_some() || config.slc.is_on();
    Ok(follows.then(|| Levels::new(superblocks.as_ref(), &geometry)))
}

/// Some allocators need a channel for each tenant.
pub(super) fn check_tenants(config: &Config, tenants: u16) -> Result<(), ConfigError> {
    match config.tenants.max_tenants(config.channels) {
        Some(most) if u32::from(tenants) > most => Err(TOO_FEW_CHANNELS.because(format!("{tenants} tenants, channels = {most}, tenants.channels=isolated"), format!(
                "each tenant needs a channel of its own: expected at most {most} tenants, or another allocator"
            ))),
        _ => Ok(()),
    }
}

/// Verification keeps the versions of all sectors of the flash.
pub(super) fn check_versions(geometry: &Geometry) -> Result<(), ConfigError> {
    let sectors = geometry.physical_pages() * u64::from(geometry.page_sectors);
    if sectors <= MAX_VERIFIED_SECTORS {
        return Ok(());
    }
    Err(TOO_LARGE.because(
        format!("verify, {sectors} sectors of flash"),
        format!("versions of at most {MAX_VERIFIED_SECTORS} sectors can be kept: use a smaller drive"),
    ))
}
