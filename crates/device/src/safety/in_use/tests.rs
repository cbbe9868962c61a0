//! Systems that this machine may not have: volumes, arrays, pools, containers, as folders that look like theirs.

use std::os::unix::fs::symlink;
use std::path::PathBuf;

use super::mounts::{Mount, parse_mount, parse_swap};
use super::*;

/// A folder that looks like the root of a system.
struct Root(tempfile::TempDir);

impl Root {
    /// With mounts and swap, as lines of the kernel.
    fn new(mounts: &str, swaps: &str) -> Self {
        let root = Self(tempfile::tempdir().expect("a folder"));
        root.write("proc/self/mountinfo", mounts);
        root.write("proc/swaps", &format!("Filename Type Size Used Priority\n{swaps}"));
        for folder in ["sys/block", "sys/dev/block"] {
            std::fs::create_dir_all(root.path(folder)).expect("a folder");
        }
        root
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("written");
    }

    /// A block device; `under` is the disk of a partition.
    fn block(&self, name: &str, number: (u32, u32), under: Option<&str>) -> Node {
        let folder =
            under.map_or_else(|| format!("sys/devices/{name}"), |disk| format!("sys/devices/{disk}/{name}"));
        self.write(&format!("{folder}/dev"), &format!("{}:{}\n", number.0, number.1));
        symlink(self.path(&folder), self.path(&format!("sys/dev/block/{}:{}", number.0, number.1)))
            .expect("linked");
        if under.is_some() {
            self.write(&format!("{folder}/partition"), "1\n");
        } else {
            symlink(self.path(&folder), self.path(&format!("sys/block/{name}"))).expect("linked");
        }
        Node::Block(rustix::fs::makedev(number.0, number.1))
    }

    /// `upper` is a volume or an array on `lower`, which is a folder under `sys/devices`.
    fn holds(&self, upper: &str, lower: &str) {
        let name = |path: &str| path.rsplit('/').next().map(str::to_owned).expect("a name");
        for (of, kind, other) in [(lower, "holders", upper), (upper, "slaves", lower)] {
            let folder = self.path(&format!("sys/devices/{of}/{kind}"));
            std::fs::create_dir_all(&folder).expect("a folder");
            symlink(self.path(&format!("sys/devices/{other}")), folder.join(name(other))).expect("linked");
        }
    }

    fn uses(&self, node: Node) -> Vec<String> {
        self.found(node, Weight::Use)
    }

    fn found(&self, node: Node, weight: Weight) -> Vec<String> {
        let found = of_root(self.0.path(), node, None).into_iter();
        found.filter(|finding| finding.weight == weight).map(|finding| finding.what).collect()
    }
}

fn mount_of(number: &str, point: &str) -> String {
    format!("36 35 {number} / {point} rw - ext4 /dev/x rw\n")
}

#[test]
fn lines_of_the_kernel_are_understood() {
    let line =
        "36 35 7:1 / /mnt/my\\040disk rw,noatime shared:1 master:2 - ext4 /dev/loop1 rw,errors=continue";
    let mount = Mount {
        device: rustix::fs::makedev(7, 1),
        point: "/mnt/my disk".into(),
        kind: "ext4".into(),
        source: "/dev/loop1".into(),
    };
    assert_eq!(parse_mount(line), Some(mount));
    for wrong in ["", "36 35 7:1 / /mnt rw", "x - y", "1 2 3 - 4 5", "36 35 7:x / /mnt rw - ext4 /dev/x rw"] {
        assert_eq!(parse_mount(wrong), None, "{wrong:?}");
    }
    assert_eq!(parse_swap("/swap\\040file   file  1024 0 -2"), Some(PathBuf::from("/swap file")));
}

#[test]
fn a_volume_is_followed_through_an_array_to_the_disks() {
    let root = Root::new(&mount_of("253:0", "/srv"), "");
    let disk = root.block("sda", (8, 0), None);
    let part = root.block("sda1", (8, 1), Some("sda"));
    let array = root.block("md0", (9, 0), None);
    let volume = root.block("dm-0", (253, 0), None);
    root.holds("md0", "sda/sda1");
    root.holds("dm-0", "md0");
    assert_eq!(root.uses(volume), ["is mounted at /srv"]);
    for (node, prefix) in [
        (array, ""),
        (part, "is under md0, which "),
        (disk, "has a partition, sda1, that is under md0, which "),
    ] {
        let found = root.uses(node);
        assert!(
            found.contains(&format!("{prefix}is in use by dm-0 (a volume, an array or encryption)")),
            "{found:?}"
        );
        assert!(found.contains(&format!("{prefix}is under dm-0, which is mounted at /srv")), "{found:?}");
    }
    assert!(root.found(disk, Weight::Unknown).is_empty());
}

#[test]
fn volumes_of_one_group_share_their_disk_and_other_maps_do_not() {
    let root = Root::new(&mount_of("253:1", "/"), "");
    root.block("sda", (8, 0), None);
    let nodes: Vec<Node> =
        (0..5).map(|number| root.block(&format!("dm-{number}"), (253, number), None)).collect();
    for number in 0..5 {
        root.holds(&format!("dm-{number}"), "sda");
    }
    let group = "0123456789abcdef0123456789abcdef";
    for (number, uuid) in [
        format!("LVM-{group}home"),
        format!("LVM-{group}root"),
        "part1-mpath-x".into(),
        "part2-mpath-x".into(),
    ]
    .iter()
    .enumerate()
    {
        root.write(&format!("sys/devices/dm-{number}/dm/uuid"), &format!("{uuid}\n"));
    }
    let shares = |found: &[String], other: &str| {
        found.iter().any(|what| what.starts_with(&format!("shares sda with {other} ")))
    };
    let home = root.uses(nodes[0]);
    assert!(!shares(&home, "dm-1") && shares(&home, "dm-2") && shares(&home, "dm-4"), "{home:?}");
    let part = root.uses(nodes[2]);
    assert!(!shares(&part, "dm-3") && shares(&part, "dm-1"), "{part:?}");
    assert!(part.iter().any(|what| what == "shares sda with dm-1, which is mounted at /"), "{part:?}");
    // A map of no known maker may lie anywhere on the disk.
    assert!(shares(&root.uses(nodes[4]), "dm-0"));
}

#[test]
fn partitions_that_overlap_share_their_sectors() {
    let root = Root::new(&mount_of("8:1", "/srv"), "");
    root.block("sda", (8, 0), None);
    root.block("sda1", (8, 1), Some("sda"));
    let over = root.block("sda2", (8, 2), Some("sda"));
    let beside = root.block("sda3", (8, 3), Some("sda"));
    for (name, start, size) in [("sda1", 100, 100), ("sda2", 150, 100), ("sda3", 200, 100)] {
        root.write(&format!("sys/devices/sda/{name}/start"), &format!("{start}\n"));
        root.write(&format!("sys/devices/sda/{name}/size"), &format!("{size}\n"));
    }
    assert_eq!(root.uses(over), ["shares sectors of sda with sda1, which is mounted at /srv"]);
    assert!(root.uses(beside).is_empty());
}

/// A label of ZFS, as the packed list that is in it.
fn zfs_label(name: &str, guid: u64) -> Vec<u8> {
    let padded = |text: &str| {
        let mut bytes = text.as_bytes().to_vec();
        bytes.resize(text.len().next_multiple_of(4), 0);
        bytes
    };
    let pair = |key: &str, kind: u32, value: Vec<u8>| {
        let mut body = [&0u32.to_be_bytes()[..], &(key.len() as u32).to_be_bytes(), &padded(key)].concat();
        body.extend([kind.to_be_bytes(), 1u32.to_be_bytes()].concat());
        body.extend(value);
        [&(body.len() as u32 + 4).to_be_bytes()[..], &body].concat()
    };
    let text = [&(name.len() as u32).to_be_bytes()[..], &padded(name)].concat();
    let pairs = [
        pair("version", 8, 5000u64.to_be_bytes().to_vec()),
        pair("name", 9, text),
        pair("pool_guid", 8, guid.to_be_bytes().to_vec()),
    ];
    let mut bytes = [&[1, 0, 0, 0][..], &0u32.to_be_bytes(), &1u32.to_be_bytes(), &pairs.concat()].concat();
    bytes.extend([0; 8]);
    bytes
}

#[test]
fn members_of_live_pools_are_known_by_their_pool() {
    use std::os::unix::fs::FileExt;
    let size = 4 << 20;
    let file = tempfile::tempfile().expect("a file");
    file.set_len(size).expect("grown");
    assert!(Member::of(&file, size).expect("read").is_empty());
    // Only the last label is left.
    file.write_all_at(&zfs_label("tank", 42), size - (256 << 10) + (16 << 10)).expect("written");
    let tank = Member::Zfs { name: "tank".into(), guid: 42 };
    assert_eq!(Member::of(&file, size).expect("read"), [tank]);
    let node = Node::File { device: 1, inode: 1 };
    let found = |root: &Root| {
        let found = of_root(root.0.path(), node, Some((&file, size)));
        found
            .into_iter()
            .filter(|finding| finding.weight == Weight::Use)
            .map(|finding| finding.what)
            .collect::<Vec<_>>()
    };
    let root = Root::new("", "");
    assert!(found(&root).is_empty());
    root.write("proc/spl/kstat/zfs/other/state", "ONLINE\n");
    assert!(found(&root).is_empty(), "another pool");
    root.write("proc/spl/kstat/zfs/tank/guid", "41\n");
    assert!(found(&root).is_empty(), "another pool of that name");
    root.write("proc/spl/kstat/zfs/tank/guid", "42\n");
    assert_eq!(found(&root), ["belongs to an imported ZFS pool (tank)"]);
    let root = Root::new("", "");
    root.write("proc/spl/kstat/zfs/tank/state", "ONLINE\n");
    assert_eq!(found(&root), ["belongs to an imported ZFS pool (tank)"], "old versions tell no identity");
    // btrfs: identity and magic number of a superblock.
    file.write_all_at(&[0xab; 16], (64 << 10) + 32).expect("written");
    file.write_all_at(b"_BHRfS_M", (64 << 10) + 64).expect("written");
    let id = "abababab-abab-abab-abab-abababababab";
    assert!(Member::of(&file, size).expect("read").contains(&Member::Btrfs { id: id.into() }));
    root.write(&format!("sys/fs/btrfs/{id}/devices/sdb"), "");
    assert!(found(&root).contains(&format!("belongs to a mounted btrfs ({id})")));
    let disk = root.block("sdb", (8, 16), None);
    assert_eq!(root.uses(disk), [format!("is a member of a mounted btrfs ({id})")]);
}

#[test]
fn damaged_labels_are_no_members() {
    use std::os::unix::fs::FileExt;
    let whole = zfs_label("tank", 42);
    let file = tempfile::tempfile().expect("a file");
    file.set_len(1 << 20).expect("grown");
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] = 0xff;
        file.write_all_at(&damaged, 16 << 10).expect("written");
        Member::of(&file, 1 << 20).expect("no panic");
    }
}

#[test]
fn hidden_uses_are_reported_with_the_reason() {
    let disk = |root: &Root| root.block("sda", (8, 0), None);
    let unknown = |root: &Root, node: Node| root.found(node, Weight::Unknown).join("");
    let file = Node::File { device: 1, inode: 1 };
    let root = Root::new("", "");
    let node = disk(&root);
    assert_eq!((unknown(&root, node), unknown(&root, file)), (String::new(), String::new()));
    assert!(
        unknown(&root, Node::Block(rustix::fs::makedev(9, 9))).contains("/sys does not know this device")
    );
    // Without a list of swap there may be some, unless the kernel says that there is none.
    std::fs::remove_file(root.path("proc/swaps")).expect("removed");
    for node in [node, file] {
        assert!(unknown(&root, node).contains("/proc does not list swap"));
    }
    root.write("proc/meminfo", "MemTotal: 1 kB\nSwapTotal:       8 kB\n");
    assert!(unknown(&root, file).contains("/proc does not list swap"));
    root.write("proc/meminfo", "MemTotal: 1 kB\nSwapTotal:       0 kB\n");
    assert_eq!(unknown(&root, file), "");
    std::fs::remove_file(root.path("proc/self/mountinfo")).expect("removed");
    assert!(unknown(&root, node).contains("/proc does not list mounts"));
    assert_eq!(unknown(&root, file), "", "mounts do not matter to files");
    let root = Root::new("", "/gone\\040swap file 1 0 -2\n");
    assert!(unknown(&root, file).contains("swap on /gone swap is not found here"));
    assert_eq!(unknown(&root, disk(&root)), "", "swap holds its device, which exclusive opening finds");
    std::fs::remove_dir_all(root.path("sys/block")).expect("removed");
    assert!(unknown(&root, file).contains("/sys does not list loop devices"));
    for (kind, hidden) in [("pid", true), ("user", true), ("mnt", false)] {
        let root = Root::new("", "");
        std::fs::create_dir_all(root.path("proc/self/ns")).expect("a folder");
        symlink(format!("{kind}:[4026532999]"), root.path(&format!("proc/self/ns/{kind}"))).expect("linked");
        let node = disk(&root);
        assert_eq!(unknown(&root, node).contains("outside of this container"), hidden);
        assert_eq!(unknown(&root, file), "");
    }
}

#[test]
fn without_a_node_a_loop_device_is_known_by_its_path() {
    use std::os::unix::fs::MetadataExt;
    let root = Root::new("", "");
    root.write("images/one", "");
    let found = std::fs::metadata(root.path("images/one")).expect("seen");
    let file = Node::File { device: found.dev(), inode: found.ino() };
    root.block("loop0", (7, 0), None);
    assert!(root.uses(file).is_empty(), "a loop device without a file");
    root.write("sys/devices/loop0/loop/backing_file", "/images/one\n");
    assert_eq!(root.uses(file), ["is in use by /dev/loop0"]);
    assert!(root.found(file, Weight::Unknown).is_empty());
    root.write("sys/devices/loop0/loop/backing_file", "/images/one (deleted)\n");
    assert!(root.uses(file).is_empty());
    assert!(
        root.found(file, Weight::Unknown)
            .join("")
            .contains("loop0 stands on /images/one (deleted), which is not found here")
    );
}
