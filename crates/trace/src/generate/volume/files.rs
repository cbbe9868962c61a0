//! Files on a volume: which clusters and which record (directory entry, MFT record, inode) each one has.

use super::clusters::{Clusters, Run};
use crate::SECTOR_BYTES;

/// A file, in the order of its content.
#[derive(Clone, Debug)]
pub(in crate::generate) struct File {
    pub(in crate::generate) record: u64,
    pub(in crate::generate) bytes: u64,
    pub(in crate::generate) runs: Vec<Run>,
}

impl File {
    /// Where the last of its clusters ends: where the next file goes on.
    pub(in crate::generate) fn end(&self) -> Option<u64> {
        self.runs.last().map(|run| run.start + run.len)
    }
}

/// The space of a volume.
#[derive(Clone, Debug)]
pub(in crate::generate) struct Store {
    pub(in crate::generate) clusters: Clusters,
    pub(in crate::generate) records: Clusters,
    /// Sectors in a cluster.
    pub(in crate::generate) cluster_sectors: u64,
    /// The first sector of cluster 0.
    pub(in crate::generate) first_lba: u64,
    /// Free runs shorter than this many clusters are used last.
    pub(in crate::generate) at_least: u64,
    /// Files up to this many bytes lie in their record and have no cluster.
    pub(in crate::generate) resident_bytes: u64,
}

impl Store {
    /// Bytes in a cluster.
    pub(in crate::generate) fn cluster_bytes(&self) -> u64 {
        self.cluster_sectors * SECTOR_BYTES
    }

    /// All of the volume's space for files, bytes.
    pub(in crate::generate) fn bytes(&self) -> u64 {
        self.clusters.count() * self.cluster_bytes()
    }

    /// The share of the clusters that is taken would be above `fill` with `bytes` more.
    pub(in crate::generate) fn is_fuller(&self, fill_clusters: u64, bytes: u64) -> bool {
        let used = self.clusters.count() - self.clusters.free();
        used + bytes.div_ceil(self.cluster_bytes()) > fill_clusters
    }

    /// Room for a file, near a cluster and a record. Nothing if the volume or its records are full.
    pub(in crate::generate) fn create(&mut self, near: u64, near_record: u64, bytes: u64) -> Option<File> {
        let resident = bytes <= self.resident_bytes;
        let mut wanted = if resident { 0 } else { bytes.div_ceil(self.cluster_bytes()) };
        if wanted > self.clusters.free() {
            return None;
        }
        let record = self.records.take(near_record, 1, 1)?.start;
        let (mut runs, mut near): (Vec<Run>, u64) = (Vec::new(), near);
        while wanted > 0 {
            let run = self.clusters.take(near, self.at_least, wanted)?;
            wanted -= run.len;
            near = run.start + run.len;
            match runs.last_mut() {
                Some(last) if last.start + last.len == run.start => last.len += run.len,
                _ => runs.push(run),
            }
        }
        Some(File { record, bytes, runs })
    }

    /// Gives a file's room back.
    pub(in crate::generate) fn delete(&mut self, file: &File) {
        self.records.release(Run { start: file.record, len: 1 });
        for run in &file.runs {
            self.clusters.release(*run);
        }
    }

    /// The pieces of the volume that hold `sectors` of a file from sector `from` on: first sector and length each.
    pub(in crate::generate) fn pieces<'f>(
        &self,
        file: &'f File,
        from: u64,
        sectors: u64,
    ) -> impl Iterator<Item = (u64, u64)> + use<'f> {
        let (first, size) = (self.first_lba, self.cluster_sectors);
        let mut skip = from;
        let mut left = sectors;
        file.runs.iter().filter_map(move |run| {
            let len = run.len * size;
            if left == 0 || skip >= len {
                skip -= skip.min(len);
                return None;
            }
            let piece = (first + run.start * size + skip, left.min(len - skip));
            (skip, left) = (0, left - piece.1);
            Some(piece)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_lies_in_the_holes_and_its_ranges_are_found_there() {
        let (clusters, records) = (Clusters::new(100), Clusters::new(2));
        let mut store =
            Store { clusters, records, cluster_sectors: 8, first_lba: 63, at_least: 1, resident_bytes: 700 };
        store.clusters.reserve(Run { start: 12, len: 3 });
        let file = store.create(10, 0, 4096 * 4 + 1).unwrap();
        assert_eq!(file.runs, [Run { start: 10, len: 2 }, Run { start: 15, len: 3 }]);
        let pieces: Vec<(u64, u64)> = store.pieces(&file, 12, 20).collect();
        assert_eq!(pieces, [(63 + 92, 4), (63 + 120, 16)]);
        assert_eq!(store.pieces(&file, 16, 99).collect::<Vec<_>>(), [(63 + 120, 24)]);
        assert_eq!((file.record, file.end()), (0, Some(18)));
        let small = store.create(0, 0, 700).unwrap();
        assert!(small.runs.is_empty() && small.record == 1);
        assert!(store.create(0, 0, 1).is_none(), "no record is left");
        store.delete(&file);
        assert_eq!((store.clusters.free(), store.records.free()), (97, 1));
        assert!(store.create(0, 0, 98 * 4096).is_none() && store.records.free() == 1);
        assert!(store.is_fuller(5, 3 * 4096) && !store.is_fuller(6, 3 * 4096));
    }
}
