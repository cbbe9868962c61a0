//! FAT32 on a memory card: two copies of the table, written a sector at a time, and directories among the clusters.
//!
//! Sizes as the SD association lays cards out (SD Specifications, part 2, file system): clusters of 32 KiB, and the
//! first cluster a multiple of 4 MiB from the start of the partition. Entries of the table have 4 bytes, those of
//! directories 32, of which a file with a long name takes three (Microsoft, FAT32 File System Specification, 2000).

use super::{
    FileSystem, Place, Queue, Store,
    clusters::{Clusters, Run},
    write_merged,
};
use crate::SECTOR_BYTES;

const CLUSTER_SECTORS: u64 = 64;
const ENTRIES_A_SECTOR: u64 = SECTOR_BYTES / 4;
const FIRST_CLUSTER_ALIGN: u64 = 8192;
/// The boot sector, its copy and what stands between.
const RESERVED_SECTORS: u64 = 32;
const FILE_ENTRY_BYTES: u64 = 3 * 32;
const FILES_A_DIRECTORY: u64 = CLUSTER_SECTORS * SECTOR_BYTES / FILE_ENTRY_BYTES;

/// The state of the file system, and which of its sectors changed since they were written.
#[derive(Clone, Debug)]
pub(in crate::generate) struct Fat {
    store: Store,
    tables: [u64; 2],
    changed_table: Vec<u64>,
    changed_directories: Vec<u64>,
}

impl Fat {
    /// An empty file system.
    pub(in crate::generate) fn new(place: Place) -> Self {
        let clusters = place.sectors / CLUSTER_SECTORS;
        let table = (clusters + 2).div_ceil(ENTRIES_A_SECTOR);
        let data = (RESERVED_SECTORS + 2 * table).next_multiple_of(FIRST_CLUSTER_ALIGN);
        let tables = [place.lba + data - 2 * table, place.lba + data - table];
        let clusters = (place.sectors - data) / CLUSTER_SECTORS;
        // A record for every 2 MiB: there are no smaller files here, and directories at the start for them all.
        let directories = (clusters / CLUSTER_SECTORS).div_ceil(FILES_A_DIRECTORY);
        let mut store = Store {
            clusters: Clusters::new(clusters),
            records: Clusters::new(directories * FILES_A_DIRECTORY),
            cluster_sectors: CLUSTER_SECTORS,
            first_lba: place.lba + data,
            at_least: 1,
            resident_bytes: 0,
        };
        store.clusters.reserve(Run { start: 0, len: directories });
        Self { store, tables, changed_table: Vec::new(), changed_directories: Vec::new() }
    }
}

impl FileSystem for Fat {
    fn store(&self) -> &Store {
        &self.store
    }

    fn store_mut(&mut self) -> &mut Store {
        &mut self.store
    }

    /// A card's driver writes sectors.
    fn page_sectors(&self) -> u64 {
        1
    }

    fn named(&mut self, record: u64) {
        self.stamped(record);
    }

    fn stamped(&mut self, record: u64) {
        let directory = record / FILES_A_DIRECTORY * CLUSTER_SECTORS;
        let sector = record % FILES_A_DIRECTORY * FILE_ENTRY_BYTES / SECTOR_BYTES;
        self.changed_directories.push(self.store.first_lba + directory + sector);
    }

    fn mapped(&mut self, run: Run) {
        // The first two entries of the table belong to no cluster.
        let (first, last) =
            ((run.start + 2) / ENTRIES_A_SECTOR, (run.start + run.len + 1) / ENTRIES_A_SECTOR);
        self.changed_table.extend(first..=last);
    }

    fn data(&mut self, lba: u64, sectors: u64, out: &mut Queue) {
        out.write(lba, sectors);
    }

    fn tick(&mut self, out: &mut Queue) {
        self.commit(out);
    }

    fn commit(&mut self, out: &mut Queue) {
        for (copy, table) in self.tables.into_iter().enumerate() {
            let mut changed =
                if copy == 0 { self.changed_table.clone() } else { std::mem::take(&mut self.changed_table) };
            write_merged(&mut changed, 1, table, |lba, sectors| out.write(lba, sectors));
        }
        write_merged(&mut self.changed_directories, 1, 0, |lba, sectors| out.write(lba, sectors));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_cluster_is_aligned_and_a_change_reaches_both_tables() {
        let mut fat = Fat::new(Place { lba: 8192, sectors: (20 << 21) - 8192 });
        assert_eq!(fat.store.first_lba % 8192, 0);
        assert_eq!(fat.tables[1] - fat.tables[0], fat.store.first_lba - fat.tables[1]);
        assert!(fat.tables[0] >= 8192 + 32);
        // Table, as many entries as clusters and two more; its sectors hold 128.
        assert!((fat.tables[1] - fat.tables[0]) * 128 >= fat.store.clusters.count() + 2);
        let mut out = Queue::new(128);
        fat.mapped(Run { start: 126, len: 129 });
        fat.named(0);
        fat.commit(&mut out);
        let expected = [(fat.tables[0] + 1, 2), (fat.tables[1] + 1, 2), (fat.store.first_lba, 1)];
        assert_eq!(out.drain(), expected);
        fat.commit(&mut out);
        assert!(out.drain().is_empty());
    }
}
