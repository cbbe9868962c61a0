//! Users of a target. A target in use is refused, whatever is typed.

use super::*;

#[test]
fn a_mounted_file_system_is_final_and_so_is_the_file_under_it() {
    let mut stage = Stage::new();
    let file = stage.file("file", 64 * MIB);
    let Some(device) = stage.attach(&file, &[]) else { return };
    is_never_written(&file, &format!("is in use by {}", device.display()));
    if run("mkfs.ext4", &["-q", text(&device)]).is_none() {
        return;
    }
    let Some(point) = stage.mount(&device, "point") else { return };
    let mounted = format!("is mounted at {}", point.display());
    is_never_written(&device, &mounted);
    is_never_written(&file, &mounted);
    let link = stage.path("link");
    std::os::unix::fs::symlink(&device, &link).expect("linked");
    is_never_written(&link, &mounted);
    // Nothing hides the file under a mounted loop device: neither another name nor having none.
    let hard = stage.path("hard");
    std::fs::hard_link(&file, &hard).expect("linked");
    std::fs::remove_file(&file).expect("removed");
    is_never_written(&hard, &mounted);
}

#[test]
fn swap_is_final_and_so_is_the_file_under_it() {
    let mut stage = Stage::new();
    let file = stage.file("file", 16 * MIB);
    let Some(device) = stage.attach(&file, &[]) else { return };
    if stage.swap_on(&device).is_none() {
        return;
    }
    is_never_written(&device, "is active swap");
    is_never_written(&file, &format!("is under {}, which is active swap", device.display()));
}

#[test]
fn a_swap_file_is_final_and_so_is_the_device_of_its_file_system() {
    let mut stage = Stage::new();
    let ground = stage.file("ground", 128 * MIB);
    let Some(device) = stage.attach(&ground, &[]) else { return };
    if run("mkfs.ext4", &["-q", text(&device)]).is_none() {
        return;
    }
    let Some(point) = stage.mount(&device, "point") else { return };
    let swap = point.join("swap");
    std::fs::write(&swap, vec![0; 16 << 20]).expect("written");
    if stage.swap_on(&swap).is_none() {
        return;
    }
    is_never_written(&swap, "is active swap");
    let holds = format!("holds {}, an active swap file", swap.display());
    is_never_written(&device, &holds);
    is_never_written(&ground, &holds);
    // Where its mount is hidden, its swap file is not.
    if run("umount", &["--lazy", text(&point)]).is_some() {
        let said = [&device, &ground].map(|target| write(target, Some(text(target))).map(|_| ()));
        // The path of the swap file is needed again, to end it.
        run("mount", &[text(&device), text(&point)]).expect("mounted again");
        assert!(said.iter().all(Result::is_err), "{said:?}");
    }
}

#[test]
fn an_exclusive_opener_is_final() {
    use rustix::fs::{Mode, OFlags};
    let mut stage = Stage::new();
    let Some(device) = stage.device("file", 16 * MIB) else { return };
    let user =
        rustix::fs::open(&device, OFlags::RDONLY | OFlags::EXCL, Mode::empty()).expect("opened exclusively");
    is_never_written(&device, "somebody has opened it exclusively");
    drop(user);
    is_free(&device);
    // Whoever writes it holds it: nobody else does then.
    let held = write(&device, None).expect("free");
    is_never_written(&device, "somebody has opened it exclusively");
    drop(held);
    is_free(&device);
}

#[test]
fn a_loop_device_whose_file_was_deleted_is_found() {
    let mut stage = Stage::new();
    let file = stage.file("file", 64 * MIB);
    let hard = stage.path("hard");
    std::fs::hard_link(&file, &hard).expect("linked");
    let Some(device) = stage.attach(&file, &[]) else { return };
    std::fs::remove_file(&file).expect("removed");
    is_never_written(&hard, &format!("is in use by {}", device.display()));
    // Another file in its place is not the one behind the device.
    let other = stage.file("file", 64 * MIB);
    is_free(&other);
    // Moved to another name, it still is.
    let moved = stage.path("moved");
    std::fs::rename(&hard, &moved).expect("renamed");
    is_never_written(&moved, &format!("is in use by {}", device.display()));
}

#[test]
fn loop_devices_that_share_a_file_are_final_where_they_overlap() {
    let mut stage = Stage::new();
    let file = stage.file("file", 64 * MIB);
    let whole = stage.attach(&file, &[]);
    let first = stage.attach(&file, &["--sizelimit", "33554432"]);
    let second = stage.attach(&file, &["--offset", "33554432"]);
    let (Some(whole), Some(first), Some(second)) = (whole, first, second) else { return };
    is_never_written(&first, &format!("shares {} with {}", file.display(), whole.display()));
    if stage.detach(&whole).is_none() {
        return;
    }
    is_free(&first);
    is_free(&second);
    is_never_written(&file, &format!("is in use by {}", second.display()));
}

#[test]
fn a_loop_device_on_a_device_is_followed() {
    let mut stage = Stage::new();
    let file = stage.file("file", 96 * MIB);
    let Some(lower) = stage.attach(&file, &[]) else { return };
    let Some(upper) = stage.attach(&lower, &["--offset", "1048576"]) else { return };
    is_never_written(&lower, &format!("is in use by {}", upper.display()));
    if run("mkfs.ext4", &["-q", text(&upper)]).is_none() {
        return;
    }
    let Some(point) = stage.mount(&upper, "point") else { return };
    for target in [&upper, &lower, &file] {
        is_never_written(target, &format!("is mounted at {}", point.display()));
    }
}

#[test]
fn an_exclusive_opener_of_the_device_below_is_final() {
    use rustix::fs::{Mode, OFlags};
    let mut stage = Stage::new();
    let Some(lower) = stage.device("file", 32 * MIB) else { return };
    let Some(upper) = stage.attach(&lower, &[]) else { return };
    is_free(&upper);
    let user =
        rustix::fs::open(&lower, OFlags::RDONLY | OFlags::EXCL, Mode::empty()).expect("opened exclusively");
    is_never_written(
        &upper,
        &format!("stands on {}, which somebody has opened exclusively", lower.display()),
    );
    drop(user);
    is_free(&upper);
}

#[test]
fn partitions_are_followed_to_their_disk_and_back() {
    let mut stage = Stage::new();
    let file = stage.file("file", 96 * MIB);
    let Some(disk) = stage.attach(&file, &[]) else { return };
    let first = stage.partition(&disk, 1, MIB, 40 * MIB);
    let second = stage.partition(&disk, 2, 48 * MIB, 40 * MIB);
    let (Some(first), Some(second)) = (first, second) else { return };
    // A disk that is cut into parts holds them, though nobody uses them.
    needs_its_name(&disk, "has partitions (");
    is_free(&first);
    if run("mkfs.ext4", &["-q", text(&first)]).is_none() {
        return;
    }
    let Some(point) = stage.mount(&first, "point") else { return };
    for target in [&first, &disk, &file] {
        is_never_written(target, &format!("is mounted at {}", point.display()));
    }
    is_free(&second);
    // A loop device on part of the disk covers the second partition.
    let Some(over) = stage.attach(&disk, &["--offset", "52428800"]) else { return };
    is_never_written(&second, &format!("with {}", over.display()));
    // The first is mounted, and so holds the disk: its user is not known, and the loop device might be on those
    // sectors.
    is_never_written(&over, "which somebody has opened exclusively");
}

#[test]
fn the_second_member_of_a_mounted_btrfs_is_final() {
    let mut stage = Stage::new();
    let (one, two) = (stage.file("one", 128 * MIB), stage.file("two", 128 * MIB));
    let (Some(first), Some(second)) = (stage.attach(&one, &[]), stage.attach(&two, &[])) else { return };
    if run("mkfs.btrfs", &["-q", "-d", "raid1", "-m", "raid1", text(&first), text(&second)]).is_none() {
        return;
    }
    needs_its_name(&second, "holds a btrfs file system");
    if stage.mount(&first, "point").is_none() {
        return;
    }
    is_never_written(&second, "is a member of a mounted btrfs (");
    is_never_written(&two, "is a member of a mounted btrfs (");
    // A copy says that it belongs to the same pool, and so is taken for a member.
    let copy = stage.path("copy");
    std::fs::copy(&two, &copy).expect("copied");
    is_never_written(&copy, "belongs to a mounted btrfs (");
}

#[test]
fn an_image_in_an_image_is_followed_to_the_ground() {
    let mut stage = Stage::new();
    let ground = stage.file("ground", 160 * MIB);
    let Some(lower) = stage.attach(&ground, &[]) else { return };
    if run("mkfs.ext4", &["-q", text(&lower)]).is_none() {
        return;
    }
    let Some(point) = stage.mount(&lower, "lower") else { return };
    let image = point.join("image");
    std::fs::File::create(&image).expect("a file").set_len(64 * MIB).expect("grown");
    is_free(&image);
    let Some(upper) = stage.attach(&image, &[]) else { return };
    is_free(&upper);
    if stage.swap_on(&upper).is_none() {
        return;
    }
    is_never_written(&upper, "is active swap");
    is_never_written(&image, "which is active swap");
    for target in [&lower, &ground] {
        is_never_written(target, &format!("holds {}, the file behind {}", image.display(), upper.display()));
    }
}
