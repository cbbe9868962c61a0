//! Copying music and films to a volume, and deleting some whenever it is full.
//!
//! Files are written one after the other in pieces of 64 KiB, into the first free clusters behind the last file. Their
//! metadata is written when a file is made, is complete, or goes, and in between whenever the mean size of the
//! requests is above the one asked for. The volume starts as one on which files came and went before, twice as much as
//! it holds.

use super::{
    draw::{Draw, Purpose},
    volume::{File, FileSystem, Options, Queue, Run},
};
use crate::SECTOR_BYTES;

/// Sectors that a copy reads and writes at once.
const PIECE_SECTORS: u64 = 128;
const MB: u64 = 1_000_000;
/// Music: three to eight minutes at 128 kbit/s, bytes.
const MUSIC_BYTES: (u64, u64) = (3 * MB, 8 * MB);
/// Films: a part of one to one on a CD, bytes.
const FILM_BYTES: (u64, u64) = (300 * MB, 700 * MB);
/// One file in so many is a film.
const FILES_A_FILM: u64 = 50;

/// The state of the copying.
#[derive(Clone, Debug)]
pub(super) struct FileCopy<F> {
    fs: F,
    draw: Draw,
    /// Complete files.
    kept: Vec<File>,
    /// The file that is being copied, and how much of it has been, sectors.
    current: Option<(File, u64)>,
    /// Where the last file ends.
    cursor: u64,
    fill_clusters: u64,
    mean_bytes: u64,
}

impl<F: FileSystem> FileCopy<F> {
    /// From the state that a volume's life before has left.
    pub(super) fn new(fs: F, options: &Options, seed: u64) -> Self {
        let fill_clusters = options.fill.of(fs.store().clusters.count());
        let draw = Draw::new(seed, Purpose::Addresses);
        let (kept, mean_bytes) = (Vec::new(), options.mean_bytes);
        let mut copy = Self { fs, draw, kept, current: None, cursor: 0, fill_clusters, mean_bytes };
        let volume_bytes = copy.fs.store().bytes();
        let mut bytes = 0;
        while bytes < 2 * volume_bytes {
            let size = copy.size();
            while copy.fs.store().is_fuller(copy.fill_clusters, size) {
                let Some(file) = copy.victim() else { break };
                copy.fs.store_mut().delete(&file);
            }
            let near_record = copy.fs.near_record(copy.cursor);
            let Some(file) = copy.fs.store_mut().create(copy.cursor, near_record, size) else { break };
            copy.cursor = file.end().unwrap_or(copy.cursor);
            copy.kept.push(file);
            bytes += size;
        }
        copy
    }

    /// The size of the next file, bytes; none is larger than an eighth of the volume.
    fn size(&mut self) -> u64 {
        let film = self.draw.below(FILES_A_FILM) == 0;
        let (low, high) = if film { FILM_BYTES } else { MUSIC_BYTES };
        self.draw.between(low, high).min(self.fs.store().bytes() / 8)
    }

    /// A file to delete: any.
    fn victim(&mut self) -> Option<File> {
        let count = self.kept.len() as u64;
        (count > 0).then(|| self.kept.swap_remove(self.draw.below(count) as usize))
    }

    /// Makes room for the next file, and makes it; the metadata of both is written together.
    fn begin(&mut self, out: &mut Queue) {
        let size = self.size();
        while self.fs.store().is_fuller(self.fill_clusters, size) {
            let Some(file) = self.victim() else { break };
            self.fs.delete(&file);
        }
        let near_record = self.fs.near_record(self.cursor);
        if let Some(file) = self.fs.store_mut().create(self.cursor, near_record, size) {
            self.cursor = file.end().unwrap_or(self.cursor);
            self.fs.named(file.record);
            self.fs.commit(out);
            self.current = Some((file, 0));
        }
    }

    /// Makes a file, or writes the next piece of one.
    pub(super) fn step(&mut self, out: &mut Queue) {
        let Some((file, done)) = self.current.take() else {
            return self.begin(out);
        };
        let sectors = file.bytes.div_ceil(SECTOR_BYTES).next_multiple_of(self.fs.page_sectors());
        let len = PIECE_SECTORS.min(sectors - done);
        let (first, cluster) = (self.fs.store().first_lba, self.fs.store().cluster_sectors);
        for (lba, len) in self.fs.store().pieces(&file, done, len) {
            self.fs.data(lba, len, out);
            self.fs.mapped(Run { start: (lba - first) / cluster, len: len.div_ceil(cluster) });
        }
        let complete = done + len == sectors;
        if complete || out.is_above(self.mean_bytes) {
            self.fs.stamped(file.record);
            self.fs.commit(out);
        }
        if complete {
            self.kept.push(file);
        } else {
            self.current = Some((file, done + len));
        }
    }
}
