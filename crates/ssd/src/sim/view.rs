//! Views of a drive for people who watch it: its groups, its SLC cache, what its dies did, and what its blocks hold.

use std::ops::Range;

use super::Simulation;
use crate::core::{Broken, Spare};
use crate::ftl::{BlockMap, Placement};
use crate::nand::DieWorkTimes;
use crate::op::BlockAt;
use crate::slc::SlcState;
use crate::zones::Zones;

impl Simulation {
    /// Counters of the groups of open blocks, where a classifier divides pages among more than two.
    pub fn placement(&self) -> Option<Placement> {
        self.drive.state().groups()
    }

    /// Pages that wait to be forgotten after their TRIM, if TRIM has a granularity or a backlog.
    pub fn trim_backlog(&self) -> Option<u64> {
        self.drive.state().trim_backlog()
    }

    /// Content of the SLC cache, if there is one.
    pub fn slc(&self) -> Option<SlcState> {
        self.drive.state().slc()
    }

    /// Blocks that may still be retired, and the end of the drive, if its translation layer retires blocks.
    pub fn spare(&self) -> Option<Spare> {
        self.drive.state().spare()
    }

    /// Time of each die by kind of work so far, ns, with [`super::Options::die_use`] or records; empty otherwise. A command counts
    /// when it has ended, or, where times are worked out at once, when it was made.
    pub fn die_use(&mut self) -> Vec<DieWorkTimes> {
        let dies = self.geometry().total_dies() as usize;
        let mut found = self.drive.die_use();
        if !found.is_empty() {
            found.resize(dies, DieWorkTimes::default());
        }
        found
    }

    /// The blocks of the drive as the translation layer has them, neighbours joined into at most so many cells.
    pub fn block_map(&self, max_cells: u64) -> BlockMap {
        self.drive.state().block_map(max_cells)
    }

    /// The unit and the block in it that hold a sector at present, if they do.
    pub fn block_of(&self, lba: u64) -> Option<BlockAt> {
        self.drive.state().block_of(lba)
    }

    /// Blocks of flash break: what they hold can't be read any more. Returns the sectors that are lost, in order: all that lie there and
    /// not in the buffer, but none with parity over dies and cells that age, which rebuild what is read.
    pub fn break_blocks(&mut self, broken: &Broken) -> Vec<Range<u64>> {
        self.drive.break_blocks(broken)
    }

    /// The zones, if there are any, as commands to them that were made leave them: pages of flash are their blocks.
    pub fn zones(&self) -> Option<&Zones> {
        self.drive.state().zones()
    }
}
