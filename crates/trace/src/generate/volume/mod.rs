//! Workloads that a file system makes: files come and go on a volume, and what a file system would write for it comes
//! out as requests. The kinds `filecopy` and `desktop` are made of these parts.
//!
//! A *script* (what users and programs do, a step at a time) acts on a [`FileSystem`] (where files lie, which metadata
//! changes with them and when it is written), which writes to a [`Queue`]. What is kept is the state of the file
//! system: one bit a cluster, and the files that may still be deleted. There are only writes.
//!
//! The mean size of the requests is met with one quantity a script, which it steers by [`Queue::is_above`]: how often
//! metadata is written during a copy, or how much is downloaded and installed.

mod clusters;
mod ext3;
mod fat;
mod files;
mod ntfs;
mod options;

use std::collections::VecDeque;

pub(super) use clusters::Run;
pub(super) use ext3::{Ext3, GROUP};
pub(super) use fat::Fat;
pub(super) use files::{File, Store};
pub(super) use ntfs::Ntfs;
pub(super) use options::{Options, System};

use crate::SECTOR_BYTES;

/// Where a volume lies on the drive: its first sector and its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) lba: u64,
    pub(super) sectors: u64,
}

/// Where files lie, what changes with them, and when that is written.
pub(super) trait FileSystem {
    fn store(&self) -> &Store;

    fn store_mut(&mut self) -> &mut Store;

    /// Unit in which data is written, sectors: pages of the cache.
    fn page_sectors(&self) -> u64 {
        8
    }

    /// Where a file near a cluster looks for its record first.
    fn near_record(&self, _near: u64) -> u64 {
        0
    }

    /// A file came, went or changed its name: its record and its directory have changed.
    fn named(&mut self, record: u64);

    /// A file's size or time has changed, so its record has.
    fn stamped(&mut self, record: u64);

    /// A file that stays open was rewritten in place.
    fn rewritten(&mut self, record: u64) {
        self.stamped(record);
    }

    /// Clusters were taken or given back.
    fn mapped(&mut self, run: Run);

    /// A file's data is written now or, where the file system gathers it, with the next commit.
    fn data(&mut self, lba: u64, sectors: u64, out: &mut Queue);

    /// A second has passed.
    fn tick(&mut self, out: &mut Queue);

    /// Everything that has changed is written, as far as the file system promises it.
    fn commit(&mut self, out: &mut Queue);

    /// A new file near a cluster; nothing if there is no room.
    fn create(&mut self, near: u64, bytes: u64) -> Option<File> {
        let near_record = self.near_record(near);
        let file = self.store_mut().create(near, near_record, bytes)?;
        self.announce(&file);
        Some(file)
    }

    /// A file goes; only metadata is written for it.
    fn delete(&mut self, file: &File) {
        self.announce(file);
        self.store_mut().delete(file);
    }

    fn announce(&mut self, file: &File) {
        self.named(file.record);
        file.runs.iter().for_each(|run| self.mapped(*run));
    }

    /// Writes `sectors` of a file from its sector `from` on.
    fn write(&mut self, file: &File, from: u64, sectors: u64, out: &mut Queue) {
        for (lba, sectors) in self.store().pieces(file, from, sectors) {
            self.data(lba, sectors, out);
        }
    }
}

/// Writes that wait to be handed out, and the size of all that ever came in.
#[derive(Clone, Debug)]
pub(super) struct Queue {
    pending: VecDeque<(u64, u32)>,
    requests: u64,
    sectors: u64,
    limit_sectors: u64,
}

impl Queue {
    /// A queue of requests of at most so many sectors.
    pub(super) fn new(limit_sectors: u32) -> Self {
        Self { pending: VecDeque::new(), requests: 0, sectors: 0, limit_sectors: limit_sectors.into() }
    }

    /// A write, in as many requests as it needs; none if it has no sectors.
    #[inline]
    pub(super) fn write(&mut self, mut lba: u64, mut sectors: u64) {
        self.sectors += sectors;
        while sectors > 0 {
            let len = sectors.min(self.limit_sectors);
            self.pending.push_back((lba, len as u32));
            self.requests += 1;
            (lba, sectors) = (lba + len, sectors - len);
        }
    }

    /// Takes the oldest write: its first sector and its length.
    #[inline]
    pub(super) fn take(&mut self) -> Option<(u64, u32)> {
        self.pending.pop_front()
    }

    /// True if the mean size of the requests so far is above `mean_bytes`.
    pub(super) fn is_above(&self, mean_bytes: u64) -> bool {
        u128::from(self.sectors) * u128::from(SECTOR_BYTES)
            > u128::from(self.requests) * u128::from(mean_bytes)
    }

    #[cfg(test)]
    fn drain(&mut self) -> Vec<(u64, u64)> {
        self.pending.drain(..).map(|(lba, sectors)| (lba, sectors.into())).collect()
    }
}

/// Sorts numbers of units, and writes each once, those that follow each other together; the list is empty then. A
/// number is a place in steps of `unit` from `base`.
fn write_merged(numbers: &mut Vec<u64>, unit: u64, base: u64, mut write: impl FnMut(u64, u64)) {
    numbers.sort_unstable();
    numbers.dedup();
    let mut rest = numbers.as_slice();
    while let Some(first) = rest.first() {
        let len = rest.iter().zip(0..).take_while(|(number, at)| **number == first + at * unit).count();
        write(base + first, len as u64 * unit);
        rest = &rest[len..];
    }
    numbers.clear();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_writes_are_cut_and_counted() {
        let mut queue = Queue::new(128);
        queue.write(5, 300);
        queue.write(9, 0);
        assert_eq!((queue.requests, queue.sectors), (3, 300));
        assert!(queue.is_above(51_199) && !queue.is_above(51_200));
        assert_eq!(queue.drain(), [(5, 128), (133, 128), (261, 44)]);
    }

    #[test]
    fn numbers_are_written_once_and_neighbours_together() {
        let (mut numbers, mut written) = (vec![24, 0, 8, 24, 40], Vec::new());
        write_merged(&mut numbers, 8, 100, |lba, sectors| written.push((lba, sectors)));
        assert_eq!(written, [(100, 16), (124, 8), (140, 8)]);
        assert!(numbers.is_empty());
    }
}
