//! Pools of several drives: btrfs and ZFS. A member says which pool it belongs to, and the kernel which pools are live.

use std::fs::File;
use std::io;
use std::path::Path;

use super::super::signatures::{Bytes, zfs_labels};

/// Where btrfs keeps its superblock and two copies.
const BTRFS_PLACES: [u64; 3] = [64 << 10, 64 << 20, 256 << 30];
const BTRFS_MAGIC: &[u8] = b"_BHRfS_M";
/// The packed list of names and values in a label of ZFS: where, and how long.
const ZFS_LIST: (u64, usize) = (16 << 10, 112 << 10);
/// Types of a value: an unsigned number of 64 bits, a string.
const ZFS_NUMBER: u32 = 8;
const ZFS_STRING: u32 = 9;

/// A pool that a drive says it belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Member {
    Btrfs { id: String },
    Zfs { name: String, guid: u64 },
}

impl Member {
    /// Pools that a drive says it belongs to.
    pub(super) fn of(file: &File, size_bytes: u64) -> io::Result<Vec<Self>> {
        let bytes = Bytes::new(file, size_bytes);
        let mut members = Vec::new();
        for place in BTRFS_PLACES {
            // Checksum of 32 bytes, identity of 16, address and flags of 8 each, magic number.
            if let Some(block) = bytes.read(place, 72)?
                && block[64..] == *BTRFS_MAGIC
            {
                members.push(Self::Btrfs { id: uuid(&block[32..48]) });
            }
        }
        for label in zfs_labels(size_bytes) {
            let list = bytes.read(label + ZFS_LIST.0, ZFS_LIST.1)?;
            members.extend(list.as_deref().and_then(zfs_member));
        }
        members.dedup();
        Ok(members)
    }

    /// Finding on the target if that pool is live.
    pub(super) fn live(&self, root: &Path) -> Option<String> {
        match self {
            Self::Btrfs { id } => {
                let live = root.join("sys/fs/btrfs").join(id).join("devices").exists();
                live.then(|| format!("belongs to a mounted btrfs ({id})"))
            }
            Self::Zfs { name, guid } => {
                let live = zfs_pools(root).any(|(pool, of)| of.map_or(pool == *name, |of| of == *guid));
                live.then(|| format!("belongs to an imported ZFS pool ({name})"))
            }
        }
    }
}

/// Imported pools: name, and identity where the kernel tells it.
fn zfs_pools(root: &Path) -> impl Iterator<Item = (String, Option<u64>)> {
    let entries = std::fs::read_dir(root.join("proc/spl/kstat/zfs")).into_iter().flatten().flatten();
    let pools = entries.filter(|entry| entry.path().is_dir());
    pools.map(|entry| {
        let guid = std::fs::read_to_string(entry.path().join("guid")).ok();
        (entry.file_name().to_string_lossy().into_owned(), guid.and_then(|text| text.trim().parse().ok()))
    })
}

/// The mounted btrfs that a device is a member of.
pub(super) fn btrfs_with(root: &Path, name: &str) -> Option<String> {
    let pools = std::fs::read_dir(root.join("sys/fs/btrfs")).ok()?.flatten();
    let has_it = |pool: &std::fs::DirEntry| pool.path().join("devices").join(name).symlink_metadata().is_ok();
    pools.into_iter().find(has_it).map(|pool| pool.file_name().to_string_lossy().into_owned())
}

fn uuid(bytes: &[u8]) -> String {
    let hex: String = bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .filter_map(|digit| char::from_digit(digit.into(), 16))
        .collect();
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

/// Name and identity of the pool in a label: names and values in XDR, each with its length in bytes before it.
fn zfs_member(list: &[u8]) -> Option<Member> {
    let number = |at: usize| Some(u32::from_be_bytes(list.get(at..at + 4)?.try_into().ok()?));
    let (mut name, mut guid) = (None, None);
    // Encoding, byte order and reserved bytes; version and flags of the list.
    let mut at = 12;
    while let Some(length) = number(at).filter(|length| *length > 0) {
        let key_bytes = number(at + 8)? as usize;
        let key = list.get(at + 12..(at + 12).checked_add(key_bytes)?)?;
        // The type comes behind the name and its padding, then the number of values, then the first of them.
        let kind_at = at + 12 + key_bytes.next_multiple_of(4);
        let value = kind_at + 8;
        match (key, number(kind_at)?) {
            (b"name", ZFS_STRING) => {
                let text = list.get(value + 4..(value + 4).checked_add(number(value)? as usize)?)?;
                name = Some(String::from_utf8_lossy(text).into_owned());
            }
            (b"pool_guid", ZFS_NUMBER) => {
                guid = Some(u64::from_be_bytes(list.get(value..value + 8)?.try_into().ok()?));
            }
            _ => {}
        }
        at = at.checked_add(length as usize)?;
    }
    Some(Member::Zfs { name: name?, guid: guid? })
}
