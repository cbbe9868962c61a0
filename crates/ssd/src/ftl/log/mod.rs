//! Translation by blocks with a log beside them.

pub(super) mod fast;
pub(super) mod log_block;

use super::{Flash, Step, Wear, Written};
use crate::alloc::Home;
use crate::config::Config as DeviceConfig;
use crate::error::RunError;
use crate::geometry::Geometry;

/// The block-mapped FTLs of all units.
#[derive(Clone, Debug)]
pub(crate) struct LogFtl {}

impl LogFtl {
    pub(super) fn new(_config: &DeviceConfig, _geometry: &Geometry) -> Self {
        Self {}
    }
    pub(super) fn lookup(&self, _home: Home) -> Option<u32> {
        None
    }
    pub(super) fn peek(&self, _home: Home) -> u64 {
        0
    }
    pub(super) fn write(&mut self, _home: Home, _flash: &mut impl Flash) -> Result<Written, RunError> {
        Ok(Written { ppn: 0, old: None })
    }
    pub(super) fn must_collect(&self, _home: Home) -> bool {
        false
    }
    pub(super) fn collect_step(&mut self, _unit: u32, _flash: &mut impl Flash) -> Result<Option<Step>, RunError> {
        Ok(None)
    }
    pub(super) fn follow_copy(&mut self, _unit: u32, _flash: &mut impl Flash) -> Result<bool, RunError> {
        Ok(false)
    }
    pub(super) fn follow_erase(&mut self, _unit: u32, _flash: &mut impl Flash) -> Result<bool, RunError> {
        Ok(false)
    }
    pub(super) fn merge(&mut self, _unit: u32, _block: u32, _flash: &mut impl Flash) -> Result<bool, RunError> {
        Ok(false)
    }
    pub(super) fn spare_blocks(&self, _unit: u32) -> u64 {
        0
    }
    pub(super) fn trim(&mut self, _home: Home) -> bool {
        false
    }
    pub(super) fn wear(&self) -> Wear {
        Wear::default()
    }
    pub(super) fn free_blocks(&self, _unit: u32) -> u64 {
        0
    }
    pub(super) fn snapshot(&mut self) -> Self {
        self.clone()
    }
}
