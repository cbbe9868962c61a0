//! Disk labels with a checksum, DOS partition tables, and ZFS.

use std::io;

use super::Bytes;

/// ZFS writes four labels of 256 KiB: two at the beginning, two at the end.
const ZFS_LABEL_BYTES: u64 = 256 << 10;
/// Each has a ring of "uberblocks" of at least 1 KiB, with the magic number at the beginning of each, in either byte order.
const ZFS_RING: (u64, usize) = (128 << 10, 128 << 10);
const ZFS_MAGIC: u64 = 0x00ba_b10c;

/// Names of labels on a drive.
pub(super) fn names(bytes: Bytes<'_>) -> io::Result<Vec<String>> {
    let mut found = Vec::new();
    if let Some(sector) = bytes.read(0, 512)? {
        if sector[508..510] == [0xda, 0xbe] && words(&sector).fold(0, |sum, word| sum ^ word) == 0 {
            found.push("a Sun disk label".into());
        }
        let sum = |sum: u32, word: &[u8]| {
            sum.wrapping_add(u32::from_be_bytes([word[0], word[1], word[2], word[3]]))
        };
        if sector[..4] == [0x0b, 0xe5, 0xa9, 0x41] && sector.chunks_exact(4).fold(0, sum) == 0 {
            found.push("an SGI disk label".into());
        }
    }
    for start in zfs_labels(bytes.size) {
        let Some(ring) = bytes.read(start + ZFS_RING.0, ZFS_RING.1)? else { continue };
        let magic = |block: &[u8]| block.get(..8).and_then(|bytes| bytes.try_into().ok());
        let is_zfs =
            |bytes: [u8; 8]| [u64::from_le_bytes(bytes), u64::from_be_bytes(bytes)].contains(&ZFS_MAGIC);
        if ring.chunks(1024).filter_map(magic).any(is_zfs) {
            super::add(&mut found, "a member of a ZFS pool".into());
        }
    }
    Ok(found)
}

/// Where the labels of ZFS are on a drive of so many bytes.
pub(in super::super) fn zfs_labels(size: u64) -> Vec<u64> {
    let end = size / ZFS_LABEL_BYTES * ZFS_LABEL_BYTES;
    let last = [2, 1].into_iter().filter_map(|labels| end.checked_sub(labels * ZFS_LABEL_BYTES));
    let mut starts: Vec<u64> = [0, ZFS_LABEL_BYTES].into_iter().chain(last).collect();
    starts.sort_unstable();
    starts.dedup();
    starts
}

/// 16-bit words of the sector, high byte first.
fn words(sector: &[u8]) -> impl Iterator<Item = u16> {
    sector.chunks_exact(2).map(|word| u16::from_be_bytes([word[0], word[1]]))
}

/// A DOS partition table, or another boot sector.
pub(super) fn boot_sector(bytes: Bytes<'_>) -> io::Result<Option<String>> {
    let Some(sector) = bytes.read(0, 512)? else { return Ok(None) };
    if sector[510..] != [0x55, 0xaa] {
        return Ok(None);
    }
    let mut entries = sector[446..510].chunks(16);
    let plausible =
        entries.clone().all(|entry| [0, 0x80].contains(&entry[0])) && entries.any(|entry| entry[4] != 0);
    Ok(Some(if plausible { "a DOS partition table" } else { "a boot sector" }.into()))
}
