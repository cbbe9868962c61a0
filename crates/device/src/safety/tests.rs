//! What may not be written. Everything here is a file of a temporary folder or a loop device on one.

use std::process::Command;

use super::system::{Mount, parse_mount, parse_swap};
use super::*;
use crate::real::tests::Loop;
use crate::{OpenOptions, open};

const MIB: u64 = 1 << 20;

/// Bytes at places.
type Parts<'a> = &'a [(u64, &'a [u8])];

fn refusal(path: &Path, erase: Option<&str>) -> String {
    survey(path).and_then(|survey| survey.permit(erase)).expect_err("refused").to_string()
}

fn run(program: &str, arguments: &[&str]) -> bool {
    Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success())
}

/// Writes bytes into a file; a sparse one of 4 MiB.
fn image(folder: &Path, parts: Parts<'_>) -> PathBuf {
    use std::os::unix::fs::FileExt;
    let path = folder.join("image");
    let file = File::create(&path).expect("a file");
    file.set_len(4 * MIB).expect("grown");
    for (at, bytes) in parts {
        file.write_all_at(bytes, *at).expect("written");
    }
    path
}

#[test]
fn magic_numbers_are_known() {
    let folder = tempfile::tempdir().expect("a folder");
    let end = 4 * MIB;
    let md: &[u8] = &[0xfc, 0x4e, 0x2b, 0xa9];
    let dos: (u64, &[u8]) = (510, &[0x55, 0xaa]);
    let cases: [(Parts<'_>, &[&str]); 16] = [
        (&[], &[]),
        (&[(0x438, &[0x53, 0xef])], &["an ext2, ext3 or ext4 file system"]),
        (&[(0, b"XFSB")], &["an XFS file system"]),
        (&[(0x10040, b"_BHRfS_M")], &["a btrfs file system"]),
        (&[(512, b"EFI PART"), dos, (450, &[0xee])], &["a GUID partition table"]),
        (&[(end - 512, b"EFI PART")], &["a GUID partition table (its backup)"]),
        (&[(512, b"LABELONE"), (536, b"LVM2 001")], &["an LVM physical volume"]),
        (&[(0, b"LUKS\xba\xbe\0\x02")], &["a LUKS volume"]),
        (&[(4096, md)], &["a member of an md array"]),
        (&[(end - 8192, md)], &["a member of an md array"]),
        (&[(end - 65536, md)], &["a member of an md array"]),
        (&[(4086, b"SWAPSPACE2")], &["swap space"]),
        (&[((128 << 10) + 1024, &[0x0c, 0xb1, 0xba, 0, 0, 0, 0, 0])], &["a member of a ZFS pool"]),
        (&[dos, (450, &[0x83])], &["a DOS partition table"]),
        (&[dos], &["a boot sector"]),
        (&[dos, (0x52, b"FAT32   ")], &["a FAT file system"]),
    ];
    for (parts, expected) in cases {
        let file = File::open(image(folder.path(), parts)).expect("opened");
        assert_eq!(signatures(&file, end).expect("read"), expected, "{parts:?}");
    }
    let small = File::open(image(folder.path(), &[])).expect("opened");
    assert!(signatures(&small, 100).expect("nothing beyond the end is read").is_empty());
}

#[test]
fn lines_of_the_kernel_are_understood() {
    let line =
        "36 35 7:1 / /mnt/my\\040disk rw,noatime shared:1 master:2 - ext4 /dev/loop1 rw,errors=continue";
    let mount =
        Mount { major_minor: "7:1".into(), point: "/mnt/my disk".into(), source: "/dev/loop1".into() };
    assert_eq!(parse_mount(line), Some(mount));
    for wrong in ["", "36 35 7:1 / /mnt rw", "x - y", "1 2 3 - 4 5"] {
        assert_eq!(parse_mount(wrong), None, "{wrong:?}");
    }
    assert_eq!(parse_swap("/swap\\040file   file  1024 0 -2"), Some(PathBuf::from("/swap file")));
}

#[test]
fn files_with_content_are_refused_unless_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("file");
    std::fs::write(&path, "content").expect("written");
    let name = path.to_str().expect("a name");
    let message = refusal(&path, None);
    assert!(
        message.contains("is a file that is not empty") && message.contains(&format!("--erase {name}")),
        "{message}"
    );
    assert!(refusal(&path, Some("/dev/sda")).contains("--erase /dev/sda is not the name of this target"));
    assert!(survey(&path).expect("seen").permit(Some(name)).is_ok());
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&path, &link).expect("linked");
    let seen = survey(&link).expect("seen");
    assert!(seen.permit(Some(name)).is_ok(), "by the name behind the link");
    assert!(seen.permit(Some(link.to_str().expect("a name"))).is_ok(), "by the name of the link");
    // A file that has a size but no data holds nothing.
    let holes = image(folder.path(), &[]);
    assert!(survey(&holes).expect("seen").permit(None).is_ok());
    assert!(survey(&holes).expect("seen").permit(Some(name)).is_err(), "a wrong name is never right");
}

#[test]
fn what_is_no_drive_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    for path in [folder.path(), Path::new("/dev/null"), Path::new("/proc/self/fd")] {
        assert!(survey(path).expect_err("refused").to_string().contains("neither a block device nor a file"));
    }
    assert!(
        survey(Path::new("/dev/no-such-drive")).expect_err("refused").to_string().contains("no such device")
    );
    assert!(survey(&folder.path().join("none/file")).is_err());
    assert_eq!(survey(&folder.path().join("file")).expect("seen").kind, Kind::Missing);
    let dangling = folder.path().join("dangling");
    std::os::unix::fs::symlink("/no/where", &dangling).expect("linked");
    assert!(survey(&dangling).is_err());
}

#[test]
fn what_the_system_stands_on_is_refused_whatever_is_typed() {
    let findings = vec![Finding { what: "is mounted at /".into(), weight: Weight::Needed }];
    let path = PathBuf::from("/dev/x");
    let survey = Survey {
        resolved: path.clone(),
        path,
        kind: Kind::Block,
        size_bytes: 1,
        device: 0,
        discards: true,
        findings,
    };
    let message = survey.permit(Some("/dev/x")).expect_err("refused").to_string();
    assert!(message.contains("the running system needs it"), "{message}");
}

#[test]
fn content_is_no_reason_for_who_has_written_it_and_users_are() {
    let finding = |what: &str, weight| Finding { what: what.into(), weight };
    let survey = |findings| {
        let path = PathBuf::from("/dev/x");
        let resolved = path.clone();
        Survey { path, resolved, kind: Kind::Block, size_bytes: 1, device: 0, discards: true, findings }
    };
    let content = finding("holds swap space", Weight::Content);
    assert!(survey(vec![content.clone()]).permit(None).is_err());
    assert!(survey(vec![content.clone()]).of_its_writer().permit(None).is_ok());
    let both = vec![content, finding("is mounted at /mnt", Weight::Use)];
    let said = survey(both).of_its_writer().permit(None).expect_err("in use").to_string();
    assert!(said.contains("is mounted at /mnt") && !said.contains("swap"), "{said}");
}

#[test]
fn a_part_of_a_block_at_the_end_is_not_read() {
    let Some(device) = Loop::new(16 * MIB + 512) else { return };
    if run("losetup", &["--sector-size", "4096", device.name()]) {
        let seen = survey(&device.device).expect("seen");
        assert_eq!((seen.size_bytes, seen.findings.len()), (16 * MIB, 0));
    }
}

#[test]
fn loop_devices_with_file_systems_and_mounts_are_refused() {
    let Some(device) = Loop::new(16 * MIB) else { return };
    assert!(survey(&device.device).expect("seen").permit(None).is_ok(), "an empty one may be written");
    let busy = refusal(&device.file, None);
    assert!(busy.contains(&format!("is in use by {}", device.name())), "{busy}");
    if !run("mkfs.ext4", &["-q", "-F", device.name()]) {
        return;
    }
    assert!(refusal(&device.device, None).contains("holds an ext2, ext3 or ext4 file system"));
    assert!(survey(&device.device).expect("seen").permit(Some(device.name())).is_ok());
    let folder = tempfile::tempdir().expect("a folder");
    let point = folder.path().to_str().expect("a name");
    if !run("mount", &[device.name(), point]) {
        return;
    }
    let message = refusal(&device.device, None);
    let through_link = folder.path().parent().expect("a folder").join(format!("link-{}", std::process::id()));
    std::os::unix::fs::symlink(&device.device, &through_link).expect("linked");
    let linked = refusal(&through_link, None);
    let reads = open(device.name(), &OpenOptions::default()).map(|_| ());
    assert!(run("umount", &[point]));
    std::fs::remove_file(&through_link).expect("removed");
    assert!(message.contains(&format!("is mounted at {point}")), "{message}");
    assert!(linked.contains("is mounted at"), "{linked}");
    assert!(reads.is_ok(), "reading needs nobody's leave");
}

#[test]
fn swap_and_exclusive_users_are_refused() {
    let Some(device) = Loop::new(16 * MIB) else { return };
    {
        use rustix::fs::{Mode, OFlags};
        let flags = OFlags::RDONLY | OFlags::EXCL;
        let _user = rustix::fs::open(&device.device, flags, Mode::empty()).expect("opened exclusively");
        assert!(refusal(&device.device, None).contains("somebody has opened it exclusively"));
    }
    if !run("mkswap", &[device.name()]) {
        return;
    }
    assert!(refusal(&device.device, None).contains("holds swap space"));
    if !run("swapon", &[device.name()]) {
        return;
    }
    let (unnamed, named) = (refusal(&device.device, None), refusal(&device.device, Some(device.name())));
    assert!(run("swapoff", &[device.name()]));
    assert!(unnamed.contains("is active swap"), "{unnamed}");
    assert!(named.contains("the running system needs it"), "{named}");
}

#[test]
fn partitions_are_found_and_so_are_their_disks() {
    // One partition of 16 MiB from 1 MiB on, in a DOS table.
    let mut entry = [0; 66];
    entry[4] = 0x83;
    entry[8..12].copy_from_slice(&2048u32.to_le_bytes());
    entry[12..16].copy_from_slice(&32_768u32.to_le_bytes());
    entry[64..].copy_from_slice(&[0x55, 0xaa]);
    let partition = |file: &Path| {
        use std::os::unix::fs::FileExt;
        File::options().write(true).open(file).is_ok_and(|file| file.write_all_at(&entry, 446).is_ok())
    };
    let Some(device) = Loop::prepared(64 * MIB, partition) else { return };
    let message = refusal(&device.device, None);
    assert!(message.contains("a DOS partition table"), "{message}");
    let partition = PathBuf::from(format!("{}p1", device.name()));
    if !partition.exists() {
        return;
    }
    assert!(message.contains("has partitions ("), "{message}");
    assert!(survey(&partition).expect("seen").permit(None).is_ok(), "an empty partition of an idle disk");
    let folder = tempfile::tempdir().expect("a folder");
    let point = folder.path().to_str().expect("a name");
    let name = partition.to_str().expect("a name");
    if run("mkfs.ext4", &["-q", "-F", name]) && run("mount", &[name, point]) {
        let (disk, part) = (refusal(&device.device, None), refusal(&partition, None));
        assert!(run("umount", &[point]));
        assert!(
            disk.contains("has a partition") && disk.contains(&format!("is mounted at {point}")),
            "{disk}"
        );
        assert!(part.contains("is mounted at"), "{part}");
    }
}
