//! Loop devices, and the file or device behind each. Device and inode come from the kernel, and hold for files that
//! were renamed or deleted; where the kernel can't give them, the path in sysfs has to do.

use std::fs::File;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use super::Node;
use super::block::{Block, Span};

/// `LOOP_GET_STATUS64` of linux/loop.h.
const GET_STATUS: rustix::ioctl::Opcode = 0x4c05;
/// Length of `struct loop_info64`.
const STATUS_BYTES: usize = 232;

/// A loop device in use.
#[derive(Clone, Debug)]
pub(super) struct Loop {
    pub(super) block: Block,
    /// File or device behind it, if that is known.
    pub(super) backing: Option<Node>,
    /// Device number of the file system in which its file is, if that is known.
    pub(super) file_system: Option<u64>,
    /// True if device and inode come from the kernel: a path may mean another file in this mount namespace.
    pub(super) certain: bool,
    /// Path of what is behind it, to be read by people.
    pub(super) path: String,
    /// Part of the file that it shows.
    pub(super) place: Span,
}

/// All loop devices in use; `None` where there is neither sysfs nor a device node to ask.
pub(super) fn all(root: &Path) -> Option<Vec<Loop>> {
    let names = |folder: &str| -> Option<Vec<String>> {
        let entries = std::fs::read_dir(root.join(folder)).ok()?.flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        Some(names.filter(|name| is_loop(name)).collect())
    };
    let listed = names("sys/block");
    let mut all = listed.clone().unwrap_or_default();
    all.extend(names("dev").unwrap_or_default());
    all.sort();
    all.dedup();
    let found: Vec<Loop> = all.iter().filter_map(|name| Loop::named(root, name)).collect();
    (listed.is_some() || !found.is_empty()).then_some(found)
}

fn is_loop(name: &str) -> bool {
    name.strip_prefix("loop").is_some_and(|number| number.parse::<u32>().is_ok())
}

impl Loop {
    fn named(root: &Path, name: &str) -> Option<Self> {
        let node = root.join("dev").join(name);
        let metadata = std::fs::metadata(&node).ok().filter(|found| found.file_type().is_block_device());
        let block = Block::at(&root.join("sys/block").join(name));
        let is_it = |device: u64| block.as_ref().is_none_or(|block| block.device == device);
        let device = metadata.map(|found| found.rdev()).filter(|device| is_it(*device));
        let block = block.or_else(|| device.map(|device| Block::of(root, device).called(name)))?;
        let path = block.read("loop/backing_file");
        let status = device.and_then(|device| Status::of(&node, device));
        if let Some(status) = status {
            let path = path.unwrap_or_else(|| "a file".into());
            return Some(Self {
                block,
                backing: Some(status.backing()),
                file_system: Some(status.device),
                certain: true,
                path,
                place: status.place(),
            });
        }
        // Not in use: it has no file.
        let path = path?;
        let found = std::fs::metadata(root.join(path.trim_start_matches('/'))).ok();
        let backing = found.as_ref().map(|found| {
            if found.file_type().is_block_device() {
                Node::Block(found.rdev())
            } else {
                Node::File { device: found.dev(), inode: found.ino() }
            }
        });
        let number = |name: &str| block.read(name).and_then(|text| text.parse().ok()).unwrap_or(0);
        let place = place(number("loop/offset"), number("loop/sizelimit"));
        let file_system = found.map(|found| found.dev());
        Some(Self { block, backing, file_system, certain: false, path, place })
    }
}

/// From `offset` for `limit` bytes; 0: to the end.
fn place(offset: u64, limit: u64) -> Span {
    Span { start: offset, end: if limit == 0 { u64::MAX } else { offset.saturating_add(limit) } }
}

/// The beginning of `struct loop_info64`.
struct Status {
    device: u64,
    inode: u64,
    special: u64,
    offset: u64,
    limit: u64,
}

impl Status {
    fn of(node: &Path, device: u64) -> Option<Self> {
        use rustix::fs::OFlags;
        use std::os::unix::fs::OpenOptionsExt;
        let flags = OFlags::NONBLOCK.bits().cast_signed();
        let file = File::options().read(true).custom_flags(flags).open(node).ok()?;
        if file.metadata().ok()?.rdev() != device {
            return None;
        }
        // SAFETY: LOOP_GET_STATUS64 fills a `struct loop_info64`, which is that long, and takes nothing else.
        let status = unsafe {
            let getter = rustix::ioctl::Getter::<GET_STATUS, [u8; STATUS_BYTES]>::new();
            rustix::ioctl::ioctl(&file, getter).ok()?
        };
        let field = |at: usize| status[at * 8..at * 8 + 8].try_into().map_or(0, u64::from_ne_bytes);
        Some(Self { device: field(0), inode: field(1), special: field(2), offset: field(3), limit: field(4) })
    }

    fn backing(&self) -> Node {
        match self.special {
            0 => Node::File { device: self.device, inode: self.inode },
            special => Node::Block(special),
        }
    }

    fn place(&self) -> Span {
        place(self.offset, self.limit)
    }
}
