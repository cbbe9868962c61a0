//! Content of a target: anything that is not zero.

use super::*;
use std::os::unix::fs::FileExt;

/// Bytes at places.
type Parts<'a> = &'a [(u64, &'a [u8])];

/// A formatted device of 512 MiB, or what could not be made.
fn formatted(stage: &mut Stage, name: &str, command: &[&str]) -> Option<std::path::PathBuf> {
    let device = stage.device(name, 512 * MIB)?;
    let words: Vec<&str> =
        command.iter().map(|word| if *word == "DEVICE" { text(&device) } else { word }).collect();
    run(words[0], &words[1..])?;
    Some(device)
}

#[test]
fn a_device_with_content_of_no_known_format_is_refused_unless_named() {
    let mut stage = Stage::new();
    let Some(device) = stage.device("file", 64 * MIB) else { return };
    is_free(&device);
    for at in [0, 512, 30 * MIB + 1, 64 * MIB - 1] {
        write_at(&device, at, &[7]);
        needs_its_name(&device, &format!("holds data of no known format, at byte {at}"));
        write_at(&device, at, &[0]);
        is_free(&device);
    }
    write_at(&device, 5 * MIB, &noise(100_000));
    needs_its_name(&device, "holds data of no known format");
    // Discarded data is gone.
    if run("blkdiscard", &[text(&device)]).is_some() {
        is_free(&device);
    }
}

#[test]
fn formats_of_today_and_of_old_are_named() {
    let cases: &[(&str, &[&str], &str)] = &[
        ("ext2", &["mkfs.ext2", "-q", "DEVICE"], "holds an ext2 file system"),
        ("ext3", &["mkfs.ext3", "-q", "DEVICE"], "holds an ext3 file system"),
        ("ext4", &["mkfs.ext4", "-q", "DEVICE"], "holds an ext4 file system"),
        ("minix", &["mkfs.minix", "-1", "DEVICE"], "holds a Minix file system"),
        ("minix2", &["mkfs.minix", "-2", "DEVICE"], "holds a Minix file system"),
        ("minix3", &["mkfs.minix", "-3", "DEVICE"], "holds a Minix file system"),
        ("bfs", &["mkfs.bfs", "DEVICE"], "holds a BFS file system"),
        ("reiser", &["mkfs.reiserfs", "-ff", "-q", "DEVICE"], "holds a ReiserFS file system"),
        (
            "reiser35",
            &["mkfs.reiserfs", "-ff", "-q", "--format", "3.5", "DEVICE"],
            "holds a ReiserFS file system",
        ),
        ("xfs", &["mkfs.xfs", "-q", "-f", "DEVICE"], "holds an XFS file system"),
        ("vfat", &["mkfs.vfat", "DEVICE"], "holds a FAT file system"),
        ("swap", &["mkswap", "DEVICE"], "holds swap space"),
        (
            "luks",
            &[
                "sh",
                "-c",
                "echo secret | cryptsetup luksFormat --batch-mode --pbkdf pbkdf2 --pbkdf-force-iterations 1000 $0 -",
                "DEVICE",
            ],
            "holds a LUKS volume",
        ),
        (
            "sun",
            &["sh", "-c", "printf 'label: sun\\n,\\n' | sfdisk -q --no-reread --no-tell-kernel $0", "DEVICE"],
            "holds a Sun disk label",
        ),
        (
            "sgi",
            &["sh", "-c", "printf 'label: sgi\\n,\\n' | sfdisk -q --no-reread --no-tell-kernel $0", "DEVICE"],
            "holds an SGI disk label",
        ),
        (
            "gpt",
            &["sh", "-c", "printf 'label: gpt\\n,\\n' | sfdisk -q --no-reread --no-tell-kernel $0", "DEVICE"],
            "holds a GUID partition table",
        ),
        (
            "dos",
            &["sh", "-c", "printf 'label: dos\\n,\\n' | sfdisk -q --no-reread --no-tell-kernel $0", "DEVICE"],
            "holds a DOS partition table",
        ),
    ];
    for (name, command, words) in cases {
        // Devices of their own, gone one by one: there may be few.
        let mut stage = Stage::new();
        if let Some(device) = formatted(&mut stage, name, command) {
            needs_its_name(&device, words);
        }
    }
}

#[test]
fn an_ext4_without_its_first_superblock_is_found_by_a_backup() {
    let mut stage = Stage::new();
    for (name, block) in [("small", "1024"), ("large", "4096")] {
        let device = stage.device(name, 256 * MIB);
        let Some(device) = device else { return };
        if run("mkfs.ext4", &["-q", "-b", block, text(&device)]).is_some() {
            write_at(&device, 0, &[0; 4096]);
            needs_its_name(&device, "holds an ext4 file system without its first superblock");
        }
    }
}

#[test]
fn an_ext4_behind_a_wiped_table_is_found() {
    let mut stage = Stage::new();
    let Some(device) = stage.device("file", 64 * MIB) else { return };
    if run("mkfs.ext4", &["-q", "-E", "offset=1048576", text(&device), "60M"]).is_some() {
        needs_its_name(&device, "holds an ext4 file system at byte 1048576");
    }
}

#[test]
fn formats_that_need_a_kernel_or_a_tool_of_their_own_are_named() {
    let end = 64 * MIB;
    let mut bsd = [0; 512];
    bsd[..4].copy_from_slice(&[0x57, 0x45, 0x56, 0x82]);
    bsd[132..136].copy_from_slice(&[0x57, 0x45, 0x56, 0x82]);
    let ring = [0x0c, 0xb1, 0xba, 0, 0, 0, 0, 0];
    let zfs: Vec<(u64, &[u8])> = [512, 256]
        .into_iter()
        .flat_map(|label| (0..4).map(move |block| end - (label << 10) + (128 << 10) + (block << 10)))
        .map(|at| (at, &ring[..]))
        .collect();
    let cases: &[(Parts<'_>, &str)] = &[
        (&[(512, &bsd)], "holds a BSD disk label"),
        (&[(0x400, b"HX\0\x05\0\0\x01\0")], "holds "),
        (&[(0, b"verity\0\0\x01\0\0\0\x01\0\0\0")], "holds a dm-verity hash device"),
        (&[(0, b"integrt\0\x04")], "holds a dm-integrity volume"),
        (&[(0, &[0x45, 0x3d, 0xcd, 0x28, 0, 16, 0, 0])], "holds "),
        (&zfs, "holds a member of a ZFS pool"),
    ];
    for (parts, words) in cases {
        let mut stage = Stage::new();
        let Some(device) = stage.device("file", end) else { return };
        for (at, bytes) in *parts {
            write_at(&device, *at, bytes);
        }
        needs_its_name(&device, words);
    }
}

#[test]
fn what_it_wrote_itself_is_no_reason_to_refuse_the_same_drive_and_no_other() {
    let stage = Stage::new();
    let (path, other) = (stage.file("file", MIB), stage.file("other", MIB));
    write_at(&other, 0, b"precious");
    let seen = write(&path, None).expect("empty").identity();
    assert!(seen.is_some());
    write_at(&path, 0, b"written by us");
    let ours = OpenOptions { write: true, ours: true, seen, direct: false, ..OpenOptions::default() };
    open(text(&path), &ours).expect("ours");
    std::fs::rename(&other, &path).expect("exchanged");
    for erase in [None, Some(text(&path).to_owned())] {
        let said = open(text(&path), &OpenOptions { erase, ..ours.clone() })
            .map(|_| ())
            .expect_err("another")
            .to_string();
        assert!(said.contains("it became another file or drive"), "{said}");
    }
    // An inode that is used again is no identity either.
    std::fs::remove_file(&path).expect("removed");
    assert!(
        open(text(&path), &ours).map(|_| ()).expect_err("gone").to_string().contains("there is no such file")
    );
    let again = std::fs::File::create(&path).expect("made");
    again.write_all_at(b"precious", 0).expect("written");
    assert!(open(text(&path), &ours).is_err());
}

#[test]
fn a_loop_device_on_another_file_is_another_drive() {
    let mut stage = Stage::new();
    let Some(device) = stage.device("file", 16 * MIB) else { return };
    let seen = write(&device, None).expect("empty").identity();
    let other = stage.file("other", 16 * MIB);
    write_at(&other, 0, b"precious");
    if stage.detach(&device).is_none() || run("losetup", &[text(&device), text(&other)]).is_none() {
        return;
    }
    stage.at_end(&["losetup", "--detach", text(&device)]);
    let ours = OpenOptions { write: true, ours: true, seen, direct: false, ..OpenOptions::default() };
    let Some(Identity::Block { sequence: Some(_), .. }) = seen else {
        return not_run("the kernel counts no media");
    };
    assert!(
        open(text(&device), &ours)
            .map(|_| ())
            .expect_err("another")
            .to_string()
            .contains("it became another")
    );
}
