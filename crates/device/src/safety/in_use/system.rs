//! Mounts, swap and loop devices, as they are now, and what of that can't be seen from here.

use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::Node;
use super::block::Block;
use super::loops::{self, Loop};
use super::mounts::{Mount, parse_mount, parse_swap};

/// Namespaces of the machine itself, which have these numbers on every Linux (linux/proc_ns.h).
const OUTERMOST: [(&str, &str); 2] = [("pid", "pid:[4026531836]"), ("user", "user:[4026531837]")];

/// Active swap.
#[derive(Clone, Debug)]
pub(super) struct Swap {
    pub(super) path: PathBuf,
    /// The device or file, if its path leads to one here.
    pub(super) node: Option<Node>,
    /// Device number of the file system of a swap file.
    pub(super) file_system: Option<u64>,
}

/// Mounts, swap and loop devices, as the kernel lists them.
#[derive(Debug)]
pub(super) struct System {
    pub(super) root: PathBuf,
    /// `None` of these: there is no such list here.
    mounts: Option<Vec<Mount>>,
    swaps: Option<Vec<Swap>>,
    loops: Option<Vec<Loop>>,
    in_container: bool,
}

impl System {
    pub(super) fn read(root: &Path) -> Self {
        let read = |path: &str| std::fs::read_to_string(root.join(path)).ok();
        let own = read("proc/self/mountinfo");
        // Another namespace may have mounted it as well; what this process may not read, exclusive opening still finds.
        let mounts = own.map(|own| {
            let text = own + &read("proc/1/mountinfo").unwrap_or_default();
            text.lines().filter_map(parse_mount).collect()
        });
        let swaps = read("proc/swaps").map(|text| {
            let paths = text.lines().skip(1).filter_map(parse_swap);
            paths.map(|path| Swap::at(root, path)).collect()
        });
        // A kernel without swap has no list of it.
        let no_swap = || read("proc/meminfo").is_some_and(|text| has_no_swap(&text)).then(Vec::new);
        Self {
            root: root.into(),
            mounts,
            swaps: swaps.or_else(no_swap),
            loops: loops::all(root),
            in_container: OUTERMOST.iter().any(|(kind, number)| {
                let link = std::fs::read_link(root.join("proc/self/ns").join(kind));
                link.is_ok_and(|link| link.as_os_str() != *number)
            }),
        }
    }

    pub(super) fn swaps(&self) -> &[Swap] {
        self.swaps.as_deref().unwrap_or_default()
    }

    pub(super) fn loops(&self) -> &[Loop] {
        self.loops.as_deref().unwrap_or_default()
    }

    fn mounts(&self) -> &[Mount] {
        self.mounts.as_deref().unwrap_or_default()
    }

    /// Points at which a block device is mounted.
    pub(super) fn mounted_at(&self, device: u64) -> Vec<&str> {
        let is_it = |mount: &&Mount| mount.device == device || self.source_of(mount) == Some(device);
        let mut points: Vec<&str> =
            self.mounts().iter().filter(is_it).map(|mount| mount.point.as_str()).collect();
        points.sort_unstable();
        points.dedup();
        points
    }

    /// Block device that a file system with a number of its own, such as btrfs, was mounted from.
    fn source_of(&self, mount: &Mount) -> Option<u64> {
        let path = mount.source.strip_prefix('/')?;
        let found = std::fs::metadata(self.root.join(path)).ok()?;
        found.file_type().is_block_device().then(|| found.rdev())
    }

    /// True if somebody has exclusively opened the device below a loop device; the loop device itself does not open it
    /// so. Devices below partitions, volumes and arrays are not checked: exclusive opening of the upper device has
    /// checked them already, or they are held for it.
    pub(super) fn is_claimed(&self, upper: Node, lower: Node) -> bool {
        let (Node::Block(upper), Node::Block(device)) = (upper, lower) else { return false };
        if !self.loops().iter().any(|one| one.block.device == upper) {
            return false;
        }
        let node = self.root.join("dev").join(Block::of(&self.root, device).name);
        let is_it = std::fs::metadata(&node)
            .is_ok_and(|found| found.file_type().is_block_device() && found.rdev() == device);
        let flags = OFlags::RDONLY | OFlags::EXCL | OFlags::NONBLOCK | OFlags::CLOEXEC;
        is_it && rustix::fs::open(&node, flags, Mode::empty()).is_err_and(|error| error == Errno::BUSY)
    }

    /// True if two files may be one behind an overlay, which gives files its own device number and keeps their inode.
    pub(super) fn may_be_one(&self, left: Node, right: Node) -> bool {
        let (Node::File { device, inode }, Node::File { device: other, inode: others }) = (left, right)
        else {
            return false;
        };
        let is_overlay = |device: u64| {
            self.mounts().iter().any(|mount| mount.device == device && mount.kind.contains("overlay"))
        };
        inode == others && device != other && (is_overlay(device) || is_overlay(other))
    }

    /// Reasons why users of a target may have been missed.
    pub(super) fn unseen(&self, node: Node) -> Vec<String> {
        let mut reasons = Vec::new();
        let mut tell = |is: bool, reason: String| {
            if is {
                reasons.push(reason);
            }
        };
        if let Node::Block(device) = node {
            tell(self.mounts.is_none(), "/proc does not list mounts".into());
            tell(self.in_container, "mounts outside of this container are hidden".into());
            tell(!Block::of(&self.root, device).is_known(), "/sys does not know this device".into());
        }
        tell(self.swaps.is_none(), "/proc does not list swap".into());
        tell(self.loops.is_none(), "/sys does not list loop devices".into());
        let is_file = matches!(node, Node::File { .. });
        for swap in self.swaps().iter().filter(|swap| is_file && swap.node.is_none()) {
            tell(true, format!("swap on {} is not found here", swap.path.display()));
        }
        for one in self.loops() {
            // A path of another mount namespace may lead anywhere in this one.
            let blind = one.backing.is_none() || !one.certain && self.in_container;
            let (name, path) = (&one.block.name, &one.path);
            tell(blind, format!("{name} stands on {path}, which is not found here"));
        }
        reasons
    }
}

impl Swap {
    fn at(root: &Path, path: PathBuf) -> Self {
        let found = std::fs::metadata(root.join(path.strip_prefix("/").unwrap_or(&path))).ok();
        let node = found.as_ref().and_then(|found| {
            if found.file_type().is_block_device() {
                return Some(Node::Block(found.rdev()));
            }
            found.is_file().then(|| Node::File { device: found.dev(), inode: found.ino() })
        });
        let file_system = found.filter(std::fs::Metadata::is_file).map(|found| found.dev());
        Self { path, node, file_system }
    }
}

/// True if `/proc/meminfo` says that there is no swap at all.
fn has_no_swap(meminfo: &str) -> bool {
    let total = meminfo.lines().find_map(|line| line.strip_prefix("SwapTotal:"));
    total.is_some_and(|total| total.trim().trim_end_matches("kB").trim() == "0")
}
