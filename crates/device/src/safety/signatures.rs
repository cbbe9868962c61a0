//! What the bytes of a drive say is on it: partition tables, file systems, volumes, arrays, encryption, swap. A table of magic numbers,
//! as `wipefs` knows them. Libraries for this bind a C library (libblkid), which would have to be there wherever flashweir is.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Where a magic number stands, bytes.
#[derive(Clone, Copy)]
enum At {
    /// From the beginning.
    Start(u64),
    /// From the beginning of the last 64 KiB that are aligned to 64 KiB (md 0.90).
    LastAligned,
    /// Before the end.
    End(u64),
}

use At::{End, LastAligned, Start};

const MD_MAGIC: &[u8] = &[0xfc, 0x4e, 0x2b, 0xa9];

/// Magic numbers.
const TABLE: &[(&str, At, &[u8])] = &[
    ("a GUID partition table", Start(512), b"EFI PART"),
    ("a GUID partition table", Start(4096), b"EFI PART"),
    ("a GUID partition table (its backup)", End(512), b"EFI PART"),
    ("a GUID partition table (its backup)", End(4096), b"EFI PART"),
    ("an Apple partition map", Start(512), b"PM\0\0"),
    ("an ext2, ext3 or ext4 file system", Start(0x438), &[0x53, 0xef]),
    ("an XFS file system", Start(0), b"XFSB"),
    ("a btrfs file system", Start(0x10040), b"_BHRfS_M"),
    ("an F2FS file system", Start(0x400), &[0x10, 0x20, 0xf5, 0xf2]),
    ("a bcache device", Start(0x1018), &[0xc6, 0x85, 0x73, 0xf6, 0x4e, 0x1a, 0x45, 0xca]),
    ("a bcachefs file system", Start(0x1018), &[0xc6, 0x85, 0x73, 0xf6, 0x66, 0xce, 0x90, 0xa9]),
    ("an NTFS file system", Start(3), b"NTFS    "),
    ("an exFAT file system", Start(3), b"EXFAT   "),
    ("a BitLocker volume", Start(3), b"-FVE-FS-"),
    ("a FAT file system", Start(0x36), b"FAT12   "),
    ("a FAT file system", Start(0x36), b"FAT16   "),
    ("a FAT file system", Start(0x52), b"FAT32   "),
    ("an HFS+ file system", Start(0x400), b"H+"),
    ("an APFS container", Start(32), b"NXSB"),
    ("a JFS file system", Start(0x8000), b"JFS1"),
    ("a ReiserFS file system", Start(0x10034), b"ReIsEr"),
    ("a NILFS2 file system", Start(0x406), &[0x34, 0x34]),
    ("an EROFS file system", Start(0x400), &[0xe2, 0xe1, 0xf5, 0xe0]),
    ("a squashfs file system", Start(0), b"hsqs"),
    ("an ISO 9660 file system", Start(0x8001), b"CD001"),
    ("a UDF file system", Start(0x8001), b"BEA01"),
    ("a GFS2 file system", Start(0x10000), &[0x01, 0x16, 0x19, 0x70]),
    ("an OCFS2 file system", Start(0x2000), b"OCFSV2"),
    ("a UFS file system", Start(0x255c), &[0x54, 0x19, 0x01, 0x00]),
    ("a UFS2 file system", Start(0x1055c), &[0x19, 0x01, 0x54, 0x19]),
    ("a VMFS volume", Start(0x20_0000), &[0x5e, 0xf1, 0xab, 0x2f]),
    ("a VMFS volume", Start(0x10_0000), &[0x0d, 0xd0, 0x01, 0xc0]),
    ("a Ceph BlueStore device", Start(0), b"bluestore block device"),
    ("swap space", Start(4086), b"SWAPSPACE2"),
    ("swap space", Start(8182), b"SWAPSPACE2"),
    ("swap space", Start(16374), b"SWAPSPACE2"),
    ("swap space", Start(65526), b"SWAPSPACE2"),
    ("an image of hibernation", Start(4086), b"S1SUSPEND"),
    ("an LVM physical volume", Start(24), b"LVM2 001"),
    ("an LVM physical volume", Start(512 + 24), b"LVM2 001"),
    ("an LVM physical volume", Start(1024 + 24), b"LVM2 001"),
    ("an LVM physical volume", Start(1536 + 24), b"LVM2 001"),
    ("a LUKS volume", Start(0), b"LUKS\xba\xbe"),
    ("a LUKS volume", Start(0x4000), b"SKUL\xba\xbe"),
    ("a member of an md array", Start(0), MD_MAGIC),
    ("a member of an md array", Start(4096), MD_MAGIC),
    ("a member of an md array", LastAligned, MD_MAGIC),
    ("a member of an Intel RAID array", End(1024), b"Intel Raid ISM Cfg Sig. "),
    ("a member of a DDF RAID array", End(512), &[0xde, 0x11, 0xde, 0x11]),
    ("an Oracle ASM disk", Start(32), b"ORCLDISK"),
    ("a VDO volume", Start(0), b"dmvdo001"),
    ("a Stratis pool", Start(512 + 4), b"!Stra0tis\x86\xff\x02^\x41rh"),
];

/// ZFS keeps rings of 128 "uberblocks" of at least 1 KiB in each label; the magic number stands at the beginning of each, in either order.
const ZFS_RING: (u64, usize) = (128 << 10, 128 << 10);
const ZFS_MAGIC: u64 = 0x00ba_b10c;

/// What seems to be on `file`, in words, each once.
pub fn signatures(file: &File, size_bytes: u64) -> io::Result<Vec<String>> {
    let mut found: Vec<String> = Vec::new();
    let mut tell = |name: &str| {
        if !found.iter().any(|other| other == name) {
            found.push(name.to_owned());
        }
    };
    for (name, at, magic) in TABLE {
        let start = match at {
            Start(start) => Some(*start),
            End(before) => size_bytes.checked_sub(*before),
            LastAligned => (size_bytes & !0xffff).checked_sub(0x10000),
        };
        if let Some(start) = start
            && read(file, size_bytes, start, magic.len())?.as_deref() == Some(*magic)
        {
            tell(name);
        }
    }
    // md 1.0: 8 KiB before the end, aligned to 4 KiB.
    if let Some(start) = size_bytes.checked_sub(8192)
        && read(file, size_bytes, start & !0xfff, 4)?.as_deref() == Some(MD_MAGIC)
    {
        tell("a member of an md array");
    }
    if let Some(ring) = read(file, size_bytes, ZFS_RING.0, ZFS_RING.1)? {
        let magic = |block: &[u8]| block.get(..8).and_then(|bytes| bytes.try_into().ok());
        let is_zfs =
            |bytes: [u8; 8]| [u64::from_le_bytes(bytes), u64::from_be_bytes(bytes)].contains(&ZFS_MAGIC);
        if ring.chunks(1024).filter_map(magic).any(is_zfs) {
            tell("a member of a ZFS pool");
        }
    }
    if let Some(name) = read(file, size_bytes, 0, 512)?.as_deref().and_then(boot_sector)
        && found.is_empty()
    {
        found.push(name.to_owned());
    }
    Ok(found)
}

/// A DOS partition table, or another boot sector.
fn boot_sector(sector: &[u8]) -> Option<&'static str> {
    if sector.get(510..512) != Some(&[0x55, 0xaa]) {
        return None;
    }
    let entries: Vec<&[u8]> = sector.get(446..510)?.chunks(16).collect();
    let plausible = entries.iter().all(|entry| [0, 0x80].contains(&entry[0]))
        && entries.iter().any(|entry| entry[4] != 0);
    Some(if plausible { "a DOS partition table" } else { "a boot sector" })
}

/// Bytes at a place; `None` where the drive ends before.
fn read(file: &File, size_bytes: u64, start: u64, length: usize) -> io::Result<Option<Vec<u8>>> {
    if start.saturating_add(length as u64) > size_bytes {
        return Ok(None);
    }
    let mut bytes = vec![0; length];
    file.read_exact_at(&mut bytes, start)?;
    Ok(Some(bytes))
}
