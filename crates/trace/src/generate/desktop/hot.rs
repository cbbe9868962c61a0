//! Files that are always there and are rewritten in place: logs, databases, the registry, the page file.

use super::Activity;
use crate::{
    SECTOR_BYTES,
    generate::{
        draw::Draw,
        volume::{File, FileSystem, Queue},
    },
};

/// Where in its file a rewrite goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spot {
    /// From the start on, units that follow each other.
    Start,
    /// Units that follow each other, on from where the last rewrite ended; its last unit, not yet full, again.
    Append,
    /// Single units, the n-th with a probability of about 1/n; scattered over the file.
    Popular,
    /// Units that follow each other, from anywhere.
    Anywhere,
}

/// When a file is rewritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum When {
    /// Every so many seconds.
    Every(u64),
    /// With every event of an activity.
    On(Activity),
}

/// Rewriting of a file.
#[derive(Debug)]
pub(super) struct Hot {
    /// Its size, bytes; never more than 1/32 of the volume.
    pub(super) bytes: u64,
    /// Bytes written at once.
    pub(super) unit_bytes: u64,
    /// Number of units, minimum and maximum.
    pub(super) units: (u64, u64),
    pub(super) spot: Spot,
    pub(super) when: When,
    /// True if the program waits until it is on the disk.
    pub(super) sync: bool,
}

impl Hot {
    /// The file's size on a volume, bytes.
    pub(super) fn size(&self, volume_bytes: u64) -> u64 {
        self.bytes.min(volume_bytes / 32 / 4096 * 4096)
    }
}

/// A file with its habit.
#[derive(Clone, Debug)]
pub(super) struct HotFile {
    pub(super) habit: &'static Hot,
    file: File,
    units: u64,
    at: u64,
}

impl HotFile {
    pub(super) fn new(habit: &'static Hot, file: File) -> Self {
        let units = file.bytes / habit.unit_bytes;
        Self { habit, file, units, at: 0 }
    }

    /// Rewrites what its habit says.
    pub(super) fn rewrite<F: FileSystem>(&mut self, fs: &mut F, draw: &mut Draw, out: &mut Queue) {
        let unit = self.habit.unit_bytes / SECTOR_BYTES;
        let count = draw.between(self.habit.units.0, self.habit.units.1).min(self.units);
        let start = match self.habit.spot {
            Spot::Start => 0,
            Spot::Append => {
                let start = if self.at + count > self.units { 0 } else { self.at };
                self.at = start + count - 1;
                start
            }
            Spot::Anywhere => draw.below(self.units - count + 1),
            Spot::Popular => {
                for _ in 0..count {
                    // An odd factor scatters the popular ones, one to one where the number is a power of two.
                    let rank = draw.skewed(self.units);
                    let place = rank.wrapping_mul(0x9E37_79B9_7F4A_7C15)
                        % self.units.next_power_of_two().max(2)
                        % self.units;
                    fs.write(&self.file, place * unit, unit, out);
                }
                fs.rewritten(self.file.record);
                return self.finish(fs, out);
            }
        };
        fs.write(&self.file, start * unit, count * unit, out);
        fs.rewritten(self.file.record);
        self.finish(fs, out);
    }

    fn finish<F: FileSystem>(&self, fs: &mut F, out: &mut Queue) {
        if self.habit.sync {
            fs.commit(out);
        }
    }
}
