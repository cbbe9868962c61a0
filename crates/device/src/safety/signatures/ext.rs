//! ext2, ext3 and ext4: the superblock, and the backups of it that `e2fsck -b` would start from.

use std::io;

use super::Bytes;

const MAGIC: [u8; 2] = [0x53, 0xef];
/// Length of the part of a superblock that is looked at.
const LENGTH: usize = 0x68;
/// Features of ext4 alone: those that neither ext2 nor ext3 know.
const OLD_INCOMPATIBLE: u32 = 0x2 | 0x4 | 0x10;
const OLD_READ_ONLY: u32 = 0x1 | 0x2 | 0x4;
const HAS_JOURNAL: u32 = 0x4;
const IS_JOURNAL: u32 = 0x8;

/// The file system whose first block is at `base`.
pub(super) fn name(bytes: Bytes<'_>, base: u64) -> io::Result<Option<String>> {
    let Some(block) = bytes.read(base + 1024, LENGTH)? else { return Ok(None) };
    Ok((block[0x38..0x3a] == MAGIC).then(|| kind(&block).to_owned()))
}

/// A file system without its first superblock, whose first block was at one of `bases`.
pub(super) fn backup(bytes: Bytes<'_>, bases: &[u64]) -> io::Result<Option<String>> {
    // Groups 1 and the powers of 3, 5 and 7 have one; 2 to 4 are where sparse backups are placed on small drives.
    let groups = [1, 2, 3, 4, 5, 7, 9, 25, 27, 49, 81, 125, 243, 343];
    for (base, group) in bases.iter().flat_map(|base| groups.map(|group| (base, group))) {
        for block_bytes in [1024u64, 2048, 4096, 65536] {
            let first = u64::from(block_bytes == 1024);
            let start = base + (group * 8 * block_bytes + first) * block_bytes;
            let Some(block) = bytes.read(start, LENGTH)? else { continue };
            let of_group = u64::from(u16::from_le_bytes([block[0x5a], block[0x5b]])) == group;
            let same_size = 1024u64.checked_shl(field(&block, 0x18)) == Some(block_bytes);
            if block[0x38..0x3a] == MAGIC && of_group && same_size {
                return Ok(Some(format!(
                    "{} without its first superblock (a backup is at byte {start})",
                    kind(&block)
                )));
            }
        }
    }
    Ok(None)
}

fn field(block: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([block[at], block[at + 1], block[at + 2], block[at + 3]])
}

fn kind(block: &[u8]) -> &'static str {
    let (compatible, incompatible, read_only) = (field(block, 0x5c), field(block, 0x60), field(block, 0x64));
    if incompatible & IS_JOURNAL != 0 {
        "an ext3 or ext4 journal"
    } else if incompatible & !OLD_INCOMPATIBLE != 0 || read_only & !OLD_READ_ONLY != 0 {
        "an ext4 file system"
    } else if compatible & HAS_JOURNAL != 0 {
        "an ext3 file system"
    } else {
        "an ext2 file system"
    }
}
