//! Magic numbers at fixed places, as `wipefs` knows them.

use std::io;

use super::{Bytes, ext};

/// Place of a magic number, bytes.
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
    ("a BSD disk label", Start(0), BSD_MAGIC),
    ("a BSD disk label", Start(64), BSD_MAGIC),
    ("a BSD disk label", Start(512), BSD_MAGIC),
    ("an XFS file system", Start(0), b"XFSB"),
    ("a btrfs file system", Start(0x10040), b"_BHRfS_M"),
    ("a btrfs file system", Start((64 << 20) + 64), b"_BHRfS_M"),
    ("a btrfs file system", Start((256 << 30) + 64), b"_BHRfS_M"),
    ("an F2FS file system", Start(0x400), &[0x10, 0x20, 0xf5, 0xf2]),
    ("an F2FS file system", Start(0x1400), &[0x10, 0x20, 0xf5, 0xf2]),
    ("a bcache device", Start(0x1018), &[0xc6, 0x85, 0x73, 0xf6, 0x4e, 0x1a, 0x45, 0xca]),
    ("a bcachefs file system", Start(0x1018), &[0xc6, 0x85, 0x73, 0xf6, 0x66, 0xce, 0x90, 0xa9]),
    ("an NTFS file system", Start(3), b"NTFS    "),
    ("an exFAT file system", Start(3), b"EXFAT   "),
    ("a BitLocker volume", Start(3), b"-FVE-FS-"),
    ("a FAT file system", Start(0x36), b"FAT12   "),
    ("a FAT file system", Start(0x36), b"FAT16   "),
    ("a FAT file system", Start(0x52), b"FAT32   "),
    ("an HFS+ file system", Start(0x400), b"H+"),
    ("an HFSX file system", Start(0x400), b"HX"),
    ("an HFS file system", Start(0x400), b"BD"),
    ("an HFS+ file system (its backup)", End(1024), b"H+"),
    ("an HFSX file system (its backup)", End(1024), b"HX"),
    ("an APFS container", Start(32), b"NXSB"),
    ("a JFS file system", Start(0x8000), b"JFS1"),
    ("a ReiserFS file system", Start(0x2034), b"ReIsErFs"),
    ("a ReiserFS file system", Start(0x10034), b"ReIsEr"),
    ("a ReiserFS file system", Start(0x10014), b"ReIsEr"),
    ("a Reiser4 file system", Start(0x10000), b"ReIsEr4"),
    ("a BFS file system", Start(0), &[0xce, 0xfa, 0xad, 0x1b]),
    ("a cramfs file system", Start(0), &[0x45, 0x3d, 0xcd, 0x28]),
    ("a cramfs file system", Start(0), &[0x28, 0xcd, 0x3d, 0x45]),
    ("a cramfs file system", Start(512), &[0x45, 0x3d, 0xcd, 0x28]),
    ("a romfs file system", Start(0), b"-rom1fs-"),
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
    ("swap space", Start(4086), b"SWAP-SPACE"),
    ("swap space", Start(8182), b"SWAPSPACE2"),
    ("swap space", Start(16374), b"SWAPSPACE2"),
    ("swap space", Start(65526), b"SWAPSPACE2"),
    ("an image of hibernation", Start(4086), b"S1SUSPEND"),
    ("an image of hibernation", Start(4086), b"LINHIB0001"),
    ("an LVM physical volume", Start(24), b"LVM2 001"),
    ("an LVM physical volume", Start(512 + 24), b"LVM2 001"),
    ("an LVM physical volume", Start(1024 + 24), b"LVM2 001"),
    ("an LVM physical volume", Start(1536 + 24), b"LVM2 001"),
    ("a LUKS volume", Start(0), b"LUKS\xba\xbe"),
    ("a LUKS volume", Start(0x4000), b"SKUL\xba\xbe"),
    ("a dm-verity hash device", Start(0), b"verity\0\0"),
    ("a dm-integrity volume", Start(0), b"integrt\0"),
    ("a member of an md array", Start(0), MD_MAGIC),
    ("a member of an md array", Start(4096), MD_MAGIC),
    ("a member of an md array", LastAligned, MD_MAGIC),
    ("a member of an Intel RAID array", End(1024), b"Intel Raid ISM Cfg Sig. "),
    ("a member of a DDF RAID array", End(512), &[0xde, 0x11, 0xde, 0x11]),
    ("an Oracle ASM disk", Start(32), b"ORCLDISK"),
    ("a VDO volume", Start(0), b"dmvdo001"),
    ("a Stratis pool", Start(512 + 4), b"!Stra0tis\x86\xff\x02^\x41rh"),
];

const BSD_MAGIC: &[u8] = &[0x57, 0x45, 0x56, 0x82];

/// Names of magic numbers of a drive, or of what begins at byte `base` of it.
pub(super) fn names(bytes: Bytes<'_>, base: u64) -> io::Result<Vec<String>> {
    let mut found: Vec<String> = Vec::new();
    for (name, at, magic) in TABLE {
        let start = match at {
            Start(start) => start.checked_add(base),
            // The end is that of the drive, and no partition's.
            End(_) | LastAligned if base > 0 => None,
            End(before) => bytes.size.checked_sub(*before),
            LastAligned => (bytes.size & !0xffff).checked_sub(0x10000),
        };
        if bytes.has(start, magic)? {
            super::add(&mut found, (*name).to_owned());
        }
    }
    if let Some(name) = ext::name(bytes, base)? {
        super::add(&mut found, name);
    }
    if let Some(name) = minix(bytes, base)? {
        super::add(&mut found, name);
    }
    // md 1.0: 8 KiB before the end, aligned to 4 KiB.
    if base == 0 && bytes.has(bytes.size.checked_sub(8192).map(|start| start & !0xfff), MD_MAGIC)? {
        super::add(&mut found, "a member of an md array".into());
    }
    Ok(found)
}

/// A Minix file system: its magic number is two bytes, so that the fields around it have to make sense, in either byte order.
fn minix(bytes: Bytes<'_>, base: u64) -> io::Result<Option<String>> {
    let Some(block) = bytes.read(base + 1024, 32)? else { return Ok(None) };
    for order in [u16::from_le_bytes, u16::from_be_bytes] {
        let field = |at: usize| order([block[at], block[at + 1]]);
        // Versions 1 and 2: inodes, zones, blocks of both maps, first data zone, zone size.
        let old = [0x137f, 0x138f, 0x2468, 0x2478].contains(&field(16))
            && field(0) > 0
            && field(4) > 0
            && field(6) > 0
            && field(8) > 0
            && field(10) <= 10;
        // Version 3: 32 bits of inodes, a pad, blocks of both maps.
        let new = field(24) == 0x4d5a && field(6) > 0 && field(8) > 0 && field(12) <= 10;
        if old || new {
            return Ok(Some("a Minix file system".into()));
        }
    }
    Ok(None)
}
