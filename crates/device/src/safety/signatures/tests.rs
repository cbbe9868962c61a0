//! Names of formats by our own tables, which have to do where libblkid is not installed.

use std::path::{Path, PathBuf};

use super::*;
use crate::safety::tests::stage::not_run;

const MIB: u64 = 1 << 20;
const SIZE: u64 = 4 * MIB;

/// Bytes at places.
type Parts<'a> = &'a [(u64, &'a [u8])];

/// Writes bytes into a file; a sparse one of 4 MiB.
fn image(folder: &Path, parts: Parts<'_>) -> PathBuf {
    let path = folder.join("image");
    let file = File::create(&path).expect("a file");
    file.set_len(SIZE).expect("grown");
    for (at, bytes) in parts {
        file.write_all_at(bytes, *at).expect("written");
    }
    path
}

fn tables(parts: Parts<'_>) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = File::open(image(folder.path(), parts)).expect("opened");
    of_tables(&file, SIZE).expect("read")
}

#[test]
fn magic_numbers_are_known() {
    let md: &[u8] = &[0xfc, 0x4e, 0x2b, 0xa9];
    let dos: (u64, &[u8]) = (510, &[0x55, 0xaa]);
    let ring: &[u8] = &[0x0c, 0xb1, 0xba, 0, 0, 0, 0, 0];
    let bsd: &[u8] = &[0x57, 0x45, 0x56, 0x82];
    let minix: &[u8] = &[0x20, 0, 0x40, 0, 1, 0, 1, 0, 6, 0, 0, 0, 0, 0x1c, 8, 0x10, 0x8f, 0x13, 1, 0];
    let cases: &[(Parts<'_>, &[&str])] = &[
        (&[], &[]),
        (&[(0x438, &[0x53, 0xef])], &["an ext2 file system"]),
        (&[(0x438, &[0x53, 0xef]), (0x45c, &[4])], &["an ext3 file system"]),
        (&[(0x438, &[0x53, 0xef]), (0x460, &[0x40])], &["an ext4 file system"]),
        (&[(MIB + 0x438, &[0x53, 0xef])], &["an ext2 file system at byte 1048576"]),
        (&[(0, b"XFSB")], &["an XFS file system"]),
        (&[(63 * 512, b"XFSB")], &["an XFS file system at byte 32256"]),
        (&[(0x10040, b"_BHRfS_M")], &["a btrfs file system"]),
        (&[(512, b"EFI PART"), dos, (450, &[0xee])], &["a GUID partition table"]),
        (&[(SIZE - 512, b"EFI PART")], &["a GUID partition table (its backup)"]),
        (&[(512, b"LABELONE"), (536, b"LVM2 001")], &["an LVM physical volume"]),
        (&[(0, b"LUKS\xba\xbe\0\x02")], &["a LUKS volume"]),
        (&[(4096, md)], &["a member of an md array"]),
        (&[(SIZE - 8192, md)], &["a member of an md array"]),
        (&[(SIZE - 65536, md)], &["a member of an md array"]),
        (&[(4086, b"SWAPSPACE2")], &["swap space"]),
        (&[((128 << 10) + 1024, ring)], &["a member of a ZFS pool"]),
        (&[(SIZE - (128 << 10), ring)], &["a member of a ZFS pool"]),
        (&[(SIZE - (384 << 10) + 1024, ring)], &["a member of a ZFS pool"]),
        (&[dos, (450, &[0x83])], &["a DOS partition table"]),
        (&[dos], &["a boot sector"]),
        (&[dos, (0x52, b"FAT32   ")], &["a FAT file system"]),
        (&[(0, bsd)], &["a BSD disk label"]),
        (&[(512, bsd)], &["a BSD disk label"]),
        (&[(508, &[0xda, 0xbe, 0xda, 0xbe])], &["a Sun disk label"]),
        (&[(508, &[0xda, 0xbe, 0xda, 0xbf])], &[]),
        (&[(0, &[0x0b, 0xe5, 0xa9, 0x41]), (504, &[0xf4, 0x1a, 0x56, 0xbf])], &["an SGI disk label"]),
        (&[(1024, minix)], &["a Minix file system"]),
        (&[(1024 + 16, &[0x8f, 0x13])], &[]),
        (&[(0, &[0xce, 0xfa, 0xad, 0x1b])], &["a BFS file system"]),
        (&[(0, &[0x45, 0x3d, 0xcd, 0x28])], &["a cramfs file system"]),
        (&[(0x400, b"HX")], &["an HFSX file system"]),
        (&[(0x2034, b"ReIsErFs")], &["a ReiserFS file system"]),
        (&[(0x10034, b"ReIsEr2Fs")], &["a ReiserFS file system"]),
        (&[(0, b"verity\0\0")], &["a dm-verity hash device"]),
        (&[(0, b"integrt\0")], &["a dm-integrity volume"]),
    ];
    for (parts, expected) in cases {
        assert_eq!(tables(parts), *expected, "{parts:?}");
    }
}

#[test]
fn nothing_beyond_the_end_is_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = File::open(image(folder.path(), &[])).expect("opened");
    for size in [0, 1, 100, 1024, 1500, 65_536, 200_000] {
        assert!(of_tables(&file, size).expect("read").is_empty());
    }
}

#[test]
fn an_ext4_without_its_first_superblock_is_found_by_any_backup() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("image");
    let file = File::options().read(true).write(true).create_new(true).open(&path).expect("a file");
    file.set_len(8 << 30).expect("grown");
    for (base, group, log, block) in
        [(0, 1, 0, 1024u64), (1 << 20, 3, 0, 1024), (0, 25, 2, 4096), (1 << 20, 1, 2, 4096)]
    {
        let at = base + (group * 8 * block + u64::from(block == 1024)) * block;
        let mut superblock = [0; 0x68];
        superblock[0x38..0x3a].copy_from_slice(&[0x53, 0xef]);
        superblock[0x5a] = group as u8;
        superblock[0x18] = log;
        superblock[0x60] = 0x40;
        file.write_all_at(&superblock, at).expect("written");
        let expected = format!("an ext4 file system without its first superblock (a backup is at byte {at})");
        assert_eq!(of_tables(&file, 8 << 30).expect("read"), [expected]);
        // Another group's number is no backup, but a copy of a superblock in some file.
        file.write_all_at(&[77], at + 0x5a).expect("written");
        assert!(of_tables(&file, 8 << 30).expect("read").is_empty());
        file.write_all_at(&[0; 0x68], at).expect("written");
    }
}

#[test]
fn libblkid_is_asked_where_it_is_installed() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = image(folder.path(), &[]);
    let made = std::process::Command::new("mkfs.ext4").args(["-q", "-F"]).arg(&path).status();
    let file = File::open(&path).expect("opened");
    match blkid::names(file.as_fd()) {
        None => not_run("libblkid.so.1 is not installed"),
        Some(names) if made.is_ok_and(|status| status.success()) => {
            assert_eq!(names, ["an ext4 file system"]);
        }
        Some(names) => assert!(names.is_empty()),
    }
    assert_eq!(words::superblock("ext9", Some("filesystem")), "a ext9 file system");
    assert_eq!(words::superblock("x_member", Some("raid")), "a member of an array or volume (x_member)");
    assert_eq!(words::partition_table("PMBR"), None);
    assert_eq!(words::partition_table("aix").as_deref(), Some("a partition table (aix)"));
}
