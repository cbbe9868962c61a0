//! Ways around a name: links, nodes made elsewhere, bind mounts, overlays.

use super::*;

#[test]
fn a_node_made_elsewhere_is_the_device_that_it_is() {
    let mut stage = Stage::new();
    let Some(device) = stage.device("file", 64 * MIB) else { return };
    let number = std::os::unix::fs::MetadataExt::rdev(&std::fs::metadata(&device).expect("seen"));
    let node = stage.path("node");
    let (major, minor) = (rustix::fs::major(number).to_string(), rustix::fs::minor(number).to_string());
    if run("mknod", &[text(&node), "b", &major, &minor]).is_none() {
        return;
    }
    is_free(&node);
    write_at(&device, MIB, &noise(4096));
    needs_its_name(&node, "holds data of no known format");
    if run("mkfs.ext4", &["-q", "-F", text(&device)]).is_none() {
        return;
    }
    let Some(point) = stage.mount(&device, "point") else { return };
    is_never_written(&node, &format!("is mounted at {}", point.display()));
}

#[test]
fn links_and_bind_mounts_lead_to_the_same_file() {
    let mut stage = Stage::new();
    let file = stage.file("file", 16 * MIB);
    let Some(device) = stage.attach(&file, &[]) else { return };
    let used = format!("is in use by {}", device.display());
    let (hard, soft) = (stage.path("hard"), stage.path("soft"));
    std::fs::hard_link(&file, &hard).expect("linked");
    std::os::unix::fs::symlink(&hard, &soft).expect("linked");
    is_never_written(&hard, &used);
    is_never_written(&soft, &used);
    let held = std::fs::File::open(&file).expect("opened");
    let number = std::os::fd::AsRawFd::as_raw_fd(&held);
    is_never_written(Path::new(&format!("/proc/self/fd/{number}")), &used);
    let bound = stage.file("bound", 0);
    if run("mount", &["--bind", text(&file), text(&bound)]).is_some() {
        stage.at_end(&["umount", text(&bound)]);
        is_never_written(&bound, &used);
    }
}

#[test]
fn a_file_seen_through_an_overlay_is_the_same_file() {
    let mut stage = Stage::new();
    for name in ["lower", "upper", "work", "merged"] {
        std::fs::create_dir(stage.path(name)).expect("a folder");
    }
    let below = stage.file("upper/file", 16 * MIB);
    let [lower, upper, work, merged] = ["lower", "upper", "work", "merged"].map(|name| stage.path(name));
    let folders =
        format!("lowerdir={},upperdir={},workdir={}", lower.display(), upper.display(), work.display());
    if run("mount", &["-t", "overlay", "-o", &folders, "overlay", text(&merged)]).is_none() {
        return;
    }
    stage.at_end(&["umount", text(&merged)]);
    let above = merged.join("file");
    is_free(&above);
    let Some(device) = stage.attach(&above, &[]) else { return };
    let used = format!("is in use by {}", device.display());
    is_never_written(&above, &used);
    is_never_written(&below, &used);
}

#[test]
fn what_came_under_the_name_of_a_new_file_is_left_alone() {
    let stage = Stage::new();
    let path = stage.path("file");
    let options = OpenOptions { write: true, size_bytes: Some(MIB), direct: false, ..OpenOptions::default() };
    // A link that leads nowhere is no place for a file.
    std::os::unix::fs::symlink(stage.path("elsewhere"), &path).expect("linked");
    assert!(open(text(&path), &options).is_err());
    assert!(!stage.path("elsewhere").exists());
    std::fs::remove_file(&path).expect("removed");
    let made = open(text(&path), &options).expect("made").identity();
    let other = stage.file("other", 10);
    std::fs::rename(&other, &path).expect("replaced");
    unmake(&path, made);
    assert!(path.exists(), "another file is not removed");
}
