//! NTFS: records of files in the MFT, the log file, the bitmap of clusters and the indexes of directories.
//!
//! Clusters of 4 KiB and records of 1 KiB are the defaults of format (Microsoft KB 140365); small files lie in their
//! record. The MFT starts 3 GiB into the volume, as format of Windows XP does on all but small ones, and behind it a
//! zone of an eighth of the volume is left to it (KB 174619), used for files last. The log file has 64 MiB, what
//! `chkdsk /L` shows on volumes above a few GiB, and is written around in pages of 4 KiB, the last one again when it
//! was not full; every 5 s a checkpoint writes what changed and one of the two restart pages (Russinovich and Solomon,
//! Windows Internals, 4th edition, chapter 12). Bitmap, log and indexes are taken to lie before the MFT.

use super::{
    FileSystem, Place, Queue, Store,
    clusters::{Clusters, Run},
    write_merged,
};

const PAGE_SECTORS: u64 = 8;
const RECORDS_A_PAGE: u64 = 4;
/// Entries of about 100 bytes in index buffers of 4 KiB, mostly full.
const ENTRIES_A_PAGE: u64 = 32;
/// Log bytes for a change of a file's record, index or bitmap: redo and undo with their headers.
const LOG_RECORD_BYTES: u64 = 256;
const LOG_PAGE_BYTES: u64 = 4096;
/// Two restart pages, and two for pages that are not full.
const LOG_HEAD_PAGES: u64 = 4;
const CHECKPOINT_SECONDS: u64 = 5;

/// The state of the file system, and which of its pages changed since they were written.
#[derive(Clone, Debug)]
pub(in crate::generate) struct Ntfs {
    store: Store,
    mft_lba: u64,
    index_lba: u64,
    bitmap_lba: u64,
    log_lba: u64,
    log_pages: u64,
    /// Bytes ever logged, and those of them that are on the disk.
    logged: u64,
    flushed: u64,
    /// Bytes that were logged at the last checkpoint.
    checkpoint: u64,
    seconds: u64,
    changed: Vec<u64>,
}

impl Ntfs {
    /// An empty file system.
    pub(in crate::generate) fn new(place: Place) -> Self {
        let clusters = place.sectors / PAGE_SECTORS;
        // A record for every 256 KiB.
        let records = (clusters / 64).next_multiple_of(ENTRIES_A_PAGE);
        let log_pages = (clusters / 128).clamp(512, 16384);
        let (bitmap, index) = (clusters.div_ceil(8 * 4096), records / ENTRIES_A_PAGE);
        let before = bitmap + index + log_pages;
        let mft = (3 << 18).min(clusters / 3).max(before + 2);
        let mut all = Clusters::new(clusters);
        all.reserve(Run { start: 0, len: 2 });
        all.reserve(Run { start: mft - before, len: before + clusters / 8 });
        let lba = |cluster: u64| place.lba + cluster * PAGE_SECTORS;
        let store = Store {
            clusters: all,
            records: Clusters::new(records),
            cluster_sectors: PAGE_SECTORS,
            first_lba: place.lba,
            at_least: 16,
            resident_bytes: 700,
        };
        Self {
            store,
            mft_lba: lba(mft),
            index_lba: lba(mft - before),
            bitmap_lba: lba(mft - before + index),
            log_lba: lba(mft - log_pages),
            log_pages,
            logged: 0,
            flushed: 0,
            checkpoint: 0,
            seconds: 0,
            changed: Vec::new(),
        }
    }

    /// Writes the log's pages from the one that was not full to the newest.
    fn flush_log(&mut self, out: &mut Queue) {
        if self.logged == self.flushed {
            return;
        }
        let (first, last) = (self.flushed / LOG_PAGE_BYTES, (self.logged - 1) / LOG_PAGE_BYTES);
        let ring = self.log_pages - LOG_HEAD_PAGES;
        let start = first % ring;
        let len = (last - first + 1).min(ring);
        let before_end = len.min(ring - start);
        let lba = self.log_lba + LOG_HEAD_PAGES * PAGE_SECTORS;
        out.write(lba + start * PAGE_SECTORS, before_end * PAGE_SECTORS);
        out.write(lba, (len - before_end) * PAGE_SECTORS);
        self.flushed = self.logged;
    }
}

impl FileSystem for Ntfs {
    fn store(&self) -> &Store {
        &self.store
    }

    fn store_mut(&mut self) -> &mut Store {
        &mut self.store
    }

    fn named(&mut self, record: u64) {
        self.changed.push(self.index_lba + record / ENTRIES_A_PAGE * PAGE_SECTORS);
        self.logged += LOG_RECORD_BYTES;
        self.stamped(record);
    }

    fn stamped(&mut self, record: u64) {
        self.changed.push(self.mft_lba + record / RECORDS_A_PAGE * PAGE_SECTORS);
        self.logged += LOG_RECORD_BYTES;
    }

    /// The times of open files stay in memory.
    fn rewritten(&mut self, _record: u64) {}

    fn mapped(&mut self, run: Run) {
        let page = |cluster: u64| self.bitmap_lba + cluster / (8 * 4096) * PAGE_SECTORS;
        let pages = page(run.start)..=page(run.start + run.len - 1);
        self.changed.extend(pages.step_by(PAGE_SECTORS as usize));
        self.logged += LOG_RECORD_BYTES;
    }

    fn data(&mut self, lba: u64, sectors: u64, out: &mut Queue) {
        out.write(lba, sectors);
    }

    fn tick(&mut self, out: &mut Queue) {
        self.seconds += 1;
        if self.seconds.is_multiple_of(CHECKPOINT_SECONDS) {
            self.commit(out);
            if self.logged > self.checkpoint {
                self.checkpoint = self.logged;
                let page = self.seconds / CHECKPOINT_SECONDS % 2;
                out.write(self.log_lba + page * PAGE_SECTORS, PAGE_SECTORS);
            }
        } else {
            self.flush_log(out);
        }
    }

    fn commit(&mut self, out: &mut Queue) {
        self.flush_log(out);
        write_merged(&mut self.changed, PAGE_SECTORS, 0, |lba, sectors| out.write(lba, sectors));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_goes_first_and_around() {
        let mut ntfs = Ntfs::new(Place { lba: 63, sectors: 40 << 21 });
        assert_eq!((ntfs.mft_lba, ntfs.log_pages), (63 + (3 << 21), 16384));
        let mut out = Queue::new(128);
        ntfs.named(5);
        ntfs.mapped(Run { start: 0, len: 1 });
        let log = ntfs.log_lba + 32;
        ntfs.tick(&mut out);
        assert_eq!(out.drain(), [(log, 8)]);
        ntfs.logged = 4096 * 2;
        for _ in 0..4 {
            ntfs.tick(&mut out);
        }
        let rest = [(ntfs.index_lba, 8), (ntfs.bitmap_lba, 8), (ntfs.mft_lba + 8, 8), (ntfs.log_lba + 8, 8)];
        assert_eq!(out.drain(), [vec![(log, 16)], rest.to_vec()].concat());
        ntfs.flushed = 4096 * (16380 - 1);
        ntfs.logged = ntfs.flushed + 4096 + 1;
        ntfs.tick(&mut out);
        assert_eq!(out.drain(), [(log + 16379 * 8, 8), (log, 8)]);
    }
}
