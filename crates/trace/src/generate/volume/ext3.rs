//! ext3 with ordered data: every 5 s, or when a program asks for it, what changed is committed: first the data, sorted
//! and joined by the elevator, then the blocks of metadata to the journal, then its commit block; the metadata goes to
//! its own place later.
//!
//! Blocks of 4 KiB, groups of 32768 blocks, inodes of 256 bytes, one for every 16 KiB: the defaults of mke2fs
//! (mke2fs.conf(5) of e2fsprogs 1.41); the journal's size is that of its `ext2fs_default_journal_size`, 128 MiB from
//! 4 GiB on. 5 s is the default of `commit=` (kernel Documentation/filesystems/ext3.txt), 30 s that of
//! `dirty_expire_centisecs`. Inodes and blocks of a file lie in the group of its directory while there is room. Blocks
//! of indirect pointers are left out.

use super::{
    File, FileSystem, Place, Queue, Store,
    clusters::{Clusters, Run},
    write_merged,
};

const BLOCK_SECTORS: u64 = 8;
/// Blocks in a group.
pub(in crate::generate) const GROUP: u64 = 32768;
/// Inodes in a group.
const INODES: u64 = 8192;
const INODES_A_BLOCK: u64 = 16;
/// Superblock and group descriptors, or what is kept in their place.
const BITMAPS: u64 = 4;
const INODE_TABLE: u64 = BITMAPS + 2;
const DIRECTORIES: u64 = INODE_TABLE + INODES / INODES_A_BLOCK;
const ENTRIES_A_BLOCK: u64 = 64;
const FIRST_DATA: u64 = DIRECTORIES + INODES / ENTRIES_A_BLOCK;
const COMMIT_SECONDS: u64 = 5;
/// Commits until metadata is written to its own place.
const WRITE_BACK_COMMITS: u64 = 6;

/// The state of the file system, and what waits to be written.
#[derive(Clone, Debug)]
pub(in crate::generate) struct Ext3 {
    store: Store,
    journal: File,
    journal_at: u64,
    seconds: u64,
    commits: u64,
    /// Blocks of data, and blocks of metadata, that changed since the last commit, by number.
    data: Vec<u64>,
    changed: Vec<u64>,
    /// Blocks of metadata that are in the journal only.
    journaled: Vec<u64>,
}

impl Ext3 {
    /// An empty file system.
    pub(in crate::generate) fn new(place: Place) -> Self {
        let blocks = place.sectors / BLOCK_SECTORS;
        let groups = blocks.div_ceil(GROUP);
        let mut store = Store {
            clusters: Clusters::new(blocks),
            records: Clusters::new(groups * INODES),
            cluster_sectors: BLOCK_SECTORS,
            first_lba: place.lba,
            at_least: 8,
            resident_bytes: 0,
        };
        for group in 0..groups {
            store.clusters.reserve(Run { start: group * GROUP, len: FIRST_DATA });
        }
        // The last group may be too small to have room behind its tables: then it has no inodes either.
        if (1..=FIRST_DATA).contains(&(blocks % GROUP)) {
            store.records.reserve(Run { start: (groups - 1) * INODES, len: INODES });
        }
        // 16 MiB below 1 GiB, then 32, 64 and 128 MiB from 4 GiB on.
        let journal = 4096 << (blocks >> 17).checked_ilog2().unwrap_or(0).min(3);
        let journal = store.create(0, 0, journal * 4096);
        let journal = journal.unwrap_or(File { record: 0, bytes: 0, runs: Vec::new() });
        let (data, changed, journaled) = (Vec::new(), Vec::new(), Vec::new());
        Self { store, journal, journal_at: 0, seconds: 0, commits: 0, data, changed, journaled }
    }

    /// Takes the first half of every group's inodes: those of files that stay.
    pub(in crate::generate) fn reserve_half_of_inodes(&mut self) {
        let groups = self.store.records.count() / INODES;
        for group in 0..groups {
            self.store.records.reserve(Run { start: group * INODES, len: INODES / 2 });
        }
    }

    /// Appends so many blocks to the journal, from its start again at the end.
    fn append(&mut self, blocks: u64, out: &mut Queue) {
        let ring = self.journal.bytes / 4096;
        let mut left = blocks.min(ring);
        while left > 0 {
            let len = left.min(ring - self.journal_at);
            let pieces =
                self.store.pieces(&self.journal, self.journal_at * BLOCK_SECTORS, len * BLOCK_SECTORS);
            pieces.for_each(|(lba, sectors)| out.write(lba, sectors));
            self.journal_at = (self.journal_at + len) % ring;
            left -= len;
        }
    }
}

impl FileSystem for Ext3 {
    fn store(&self) -> &Store {
        &self.store
    }

    fn store_mut(&mut self) -> &mut Store {
        &mut self.store
    }

    fn near_record(&self, near: u64) -> u64 {
        near / GROUP * INODES
    }

    fn named(&mut self, record: u64) {
        let (group, inode) = (record / INODES * GROUP, record % INODES);
        self.changed.push(group + BITMAPS + 1);
        self.changed.push(group + DIRECTORIES + inode / ENTRIES_A_BLOCK);
        self.stamped(record);
    }

    fn stamped(&mut self, record: u64) {
        let (group, inode) = (record / INODES * GROUP, record % INODES);
        self.changed.push(group + INODE_TABLE + inode / INODES_A_BLOCK);
    }

    fn mapped(&mut self, run: Run) {
        let groups = run.start / GROUP..=(run.start + run.len - 1) / GROUP;
        self.changed.extend(groups.map(|group| group * GROUP + BITMAPS));
    }

    fn data(&mut self, lba: u64, sectors: u64, _: &mut Queue) {
        let first = (lba - self.store.first_lba) / BLOCK_SECTORS;
        self.data.extend(first..first + sectors.div_ceil(BLOCK_SECTORS));
    }

    fn tick(&mut self, out: &mut Queue) {
        self.seconds += 1;
        if self.seconds.is_multiple_of(COMMIT_SECONDS) {
            self.commit(out);
        }
    }

    fn commit(&mut self, out: &mut Queue) {
        let first = self.store.first_lba;
        let write = |blocks: &mut Vec<u64>, out: &mut Queue| {
            write_merged(blocks, 1, 0, |block, len| {
                out.write(first + block * BLOCK_SECTORS, len * BLOCK_SECTORS);
            });
        };
        write(&mut self.data, out);
        if self.changed.is_empty() {
            return;
        }
        self.changed.sort_unstable();
        self.changed.dedup();
        // A descriptor block before them, a commit block once they are on the disk.
        self.append(self.changed.len() as u64 + 1, out);
        self.append(1, out);
        self.journaled.append(&mut self.changed);
        self.commits += 1;
        if self.commits.is_multiple_of(WRITE_BACK_COMMITS) {
            write(&mut self.journaled, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_then_journal_then_commit_and_home_after_six() {
        let mut ext3 = Ext3::new(Place { lba: 63, sectors: 30 << 21 });
        let lba = |block: u64| 63 + block * 8;
        assert_eq!(ext3.journal.bytes, 128 << 20);
        let journal = ext3.journal.runs[0];
        assert_eq!(journal.start, FIRST_DATA);
        let mut out = Queue::new(1024);
        for (round, start) in (0..6).map(|round| (round, lba(journal.start + 5 * round))) {
            ext3.data(lba(90_001), 8, &mut out);
            ext3.data(lba(90_000), 8, &mut out);
            ext3.named(INODES + 17);
            for _ in 0..4 {
                ext3.tick(&mut out);
            }
            assert!(out.drain().is_empty());
            ext3.tick(&mut out);
            let mut expected = vec![(lba(90_000), 16), (start, 32), (start + 32, 8)];
            if round == 5 {
                let home = [BITMAPS + 1, INODE_TABLE + 1, DIRECTORIES];
                expected.extend(home.map(|block| (lba(GROUP + block), 8)));
            }
            assert_eq!(out.drain(), expected);
        }
        ext3.journal_at = 32767;
        ext3.append(2, &mut out);
        let last = ext3.journal.runs.last().unwrap();
        assert_eq!(out.drain(), [(lba(last.start + last.len - 1), 8), (lba(journal.start), 8)]);
    }
}
