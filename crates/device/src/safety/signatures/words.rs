//! Words for the types that libblkid knows, the same as those of our own tables where both know one.

const SUPERBLOCKS: &[(&str, &str)] = &[
    ("LVM2_member", "an LVM physical volume"),
    ("crypto_LUKS", "a LUKS volume"),
    ("BitLocker", "a BitLocker volume"),
    ("linux_raid_member", "a member of an md array"),
    ("isw_raid_member", "a member of an Intel RAID array"),
    ("ddf_raid_member", "a member of a DDF RAID array"),
    ("zfs_member", "a member of a ZFS pool"),
    ("ceph_bluestore", "a Ceph BlueStore device"),
    ("VMFS_volume_member", "a VMFS volume"),
    ("stratis", "a Stratis pool"),
    ("bcache", "a bcache device"),
    ("DM_verity_hash", "a dm-verity hash device"),
    ("DM_integrity", "a dm-integrity volume"),
    ("swap", "swap space"),
    ("swsuspend", "an image of hibernation"),
    ("apfs", "an APFS container"),
    ("oracleasm", "an Oracle ASM disk"),
    ("vdo", "a VDO volume"),
    ("jbd", "an ext3 or ext4 journal"),
    ("ext2", "an ext2 file system"),
    ("ext3", "an ext3 file system"),
    ("ext4", "an ext4 file system"),
    ("xfs", "an XFS file system"),
    ("f2fs", "an F2FS file system"),
    ("ntfs", "an NTFS file system"),
    ("exfat", "an exFAT file system"),
    ("vfat", "a FAT file system"),
    ("hfs", "an HFS file system"),
    ("hfsplus", "an HFS+ file system"),
    ("jfs", "a JFS file system"),
    ("reiserfs", "a ReiserFS file system"),
    ("reiser4", "a Reiser4 file system"),
    ("bfs", "a BFS file system"),
    ("minix", "a Minix file system"),
    ("nilfs2", "a NILFS2 file system"),
    ("erofs", "an EROFS file system"),
    ("iso9660", "an ISO 9660 file system"),
    ("udf", "a UDF file system"),
    ("gfs2", "a GFS2 file system"),
    ("ocfs2", "an OCFS2 file system"),
    ("ufs", "a UFS file system"),
];

const TABLES: &[(&str, &str)] = &[
    ("dos", "a DOS partition table"),
    ("gpt", "a GUID partition table"),
    ("mac", "an Apple partition map"),
    ("sun", "a Sun disk label"),
    ("sgi", "an SGI disk label"),
    ("bsd", "a BSD disk label"),
];

/// A superblock of this type and usage.
pub(super) fn superblock(kind: &str, usage: Option<&str>) -> String {
    if let Some((_, words)) = SUPERBLOCKS.iter().find(|(name, _)| *name == kind) {
        return (*words).to_owned();
    }
    match usage {
        Some("raid") => format!("a member of an array or volume ({kind})"),
        Some("crypto") => format!("encrypted data ({kind})"),
        Some("filesystem") => format!("a {kind} file system"),
        _ => format!("data of the type {kind}"),
    }
}

/// A partition table of this type; `None` of the MBR that only stands before a GPT.
pub(super) fn partition_table(kind: &str) -> Option<String> {
    if kind == "PMBR" {
        return None;
    }
    let known = TABLES.iter().find(|(name, _)| *name == kind).map(|(_, words)| (*words).to_owned());
    Some(known.unwrap_or_else(|| format!("a partition table ({kind})")))
}
