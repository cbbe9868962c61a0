//! Large transfers: downloads and installations. Their files lie one behind the other through the free space of the
//! volume, and files of earlier ones are deleted at random when the volume is fuller than its fill target.

use crate::{
    SECTOR_BYTES,
    generate::{
        draw::{Draw, Purpose},
        share::Share,
        volume::{File, FileSystem, Queue, Store},
    },
};

const MIB: u64 = 1 << 20;
/// A second of a transfer: 1 to 4 MiB.
const SECOND_BYTES: (u64, u64) = (MIB, 4 * MIB);
/// One transfer in so many is an installation.
const TRANSFERS_AN_INSTALLATION: u64 = 4;
/// A download: 1 to 256 MiB, every octave alike.
const DOWNLOAD_OCTAVES: (u64, u64) = (MIB, 8);
/// An installation: 64 to 512 files of 4 KiB to 4 MiB.
const INSTALLED_FILES: (u64, u64) = (64, 512);
const INSTALLED_OCTAVES: (u64, u64) = (4 << 10, 10);

/// The transfer that goes on, and the files of those before.
#[derive(Clone, Debug)]
pub(super) struct Transfers {
    draw: Draw,
    kept: Vec<File>,
    /// Files of the installation still to come, after the one that is being written.
    left: u64,
    current: Option<(File, u64)>,
    cursor: u64,
    fill_clusters: u64,
}

impl Transfers {
    pub(super) fn new(store: &Store, fill: Share, seed: u64) -> Self {
        let fill_clusters = fill.of(store.clusters.count());
        let draw = Draw::new(seed, Purpose::Sizes);
        Self { draw, kept: Vec::new(), left: 0, current: None, cursor: 0, fill_clusters }
    }

    /// Lets files come and go until as much has passed as the volume holds, without writing.
    pub(super) fn age<F: FileSystem>(&mut self, fs: &mut F) {
        let (volume_bytes, mut passed) = (fs.store().bytes(), 0);
        while passed < volume_bytes {
            let size = self.size(volume_bytes);
            while fs.store().is_fuller(self.fill_clusters, size) {
                let Some(file) = self.victim() else { break };
                fs.store_mut().delete(&file);
            }
            passed += size;
            let near_record = fs.near_record(self.cursor);
            if let Some(file) = fs.store_mut().create(self.cursor, near_record, size) {
                self.cursor = file.end().unwrap_or(self.cursor);
                self.kept.push(file);
            }
        }
    }

    /// A second of transfers: some megabytes of the file that is being written, or of the next ones.
    pub(super) fn proceed<F: FileSystem>(&mut self, fs: &mut F, out: &mut Queue) {
        let mut left = self.draw.between(SECOND_BYTES.0, SECOND_BYTES.1) / SECTOR_BYTES;
        while left > 0 {
            let Some((file, done)) = self.current.take().or_else(|| self.begin(fs)) else { return };
            let sectors = file.bytes.div_ceil(SECTOR_BYTES).next_multiple_of(fs.page_sectors());
            // Whole pages, or the end of the file.
            let len = left.next_multiple_of(fs.page_sectors()).min(sectors - done);
            fs.write(&file, done, len, out);
            left -= len.min(left);
            if done + len == sectors {
                fs.stamped(file.record);
                self.kept.push(file);
            } else {
                self.current = Some((file, done + len));
            }
        }
    }

    /// The next file, with room for it; nothing if there is none.
    fn begin<F: FileSystem>(&mut self, fs: &mut F) -> Option<(File, u64)> {
        let size = self.size(fs.store().bytes());
        while fs.store().is_fuller(self.fill_clusters, size) {
            let Some(file) = self.victim() else { break };
            fs.delete(&file);
        }
        let file = fs.create(self.cursor, size)?;
        self.cursor = file.end().unwrap_or(self.cursor);
        Some((file, 0))
    }

    /// The size of the next file, bytes; none is larger than 1/64 of the volume.
    fn size(&mut self, volume_bytes: u64) -> u64 {
        if self.left == 0 && self.draw.below(TRANSFERS_AN_INSTALLATION) == 0 {
            self.left = self.draw.between(INSTALLED_FILES.0, INSTALLED_FILES.1);
        }
        let (low, octaves) = if self.left > 0 { INSTALLED_OCTAVES } else { DOWNLOAD_OCTAVES };
        self.left = self.left.saturating_sub(1);
        self.draw.octaves(low, octaves).min(volume_bytes / 64)
    }

    fn victim(&mut self) -> Option<File> {
        let count = self.kept.len() as u64;
        (count > 0).then(|| self.kept.swap_remove(self.draw.below(count) as usize))
    }
}
