//! What the system says of a device: `/proc/self/mountinfo`, `/proc/swaps` and `/sys/dev/block`.

use std::fs::Metadata;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::{Finding, Weight};

/// Mount points without which the machine does not go on.
const NEEDED: [&str; 8] = ["/", "/usr", "/etc", "/var", "/home", "/root", "/boot", "/boot/efi"];

/// A mounted file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mount {
    pub(super) major_minor: String,
    pub(super) point: String,
    pub(super) source: String,
}

/// Mounts and swap, as they are now.
pub(super) struct System {
    mounts: Vec<Mount>,
    swaps: Vec<PathBuf>,
}

impl System {
    pub(super) fn read() -> Self {
        // Another namespace may have mounted it as well; what this process may not read, exclusive opening still finds.
        let mut mounts = Vec::new();
        for path in ["/proc/self/mountinfo", "/proc/1/mountinfo"] {
            let text = std::fs::read_to_string(path).unwrap_or_default();
            mounts.extend(text.lines().filter_map(parse_mount));
        }
        let swaps = std::fs::read_to_string("/proc/swaps").unwrap_or_default();
        Self { mounts, swaps: swaps.lines().skip(1).filter_map(parse_swap).collect() }
    }

    /// Reasons not to write a block device: its own, those of its partitions, and of the disk that it is a partition of.
    pub(super) fn look_at_device(&self, device: u64, findings: &mut Vec<Finding>) {
        let Some(own) = Block::of(device) else { return };
        self.look_at(&own, "", findings);
        let partitions = own.partitions();
        if !partitions.is_empty() {
            let names: Vec<&str> = partitions.iter().map(|block| block.name.as_str()).collect();
            findings.push(Finding {
                what: format!("has partitions ({})", names.join(", ")),
                weight: Weight::Use,
            });
        }
        for block in &partitions {
            self.look_at(block, &format!("has a partition, {}, that ", block.name), findings);
        }
        if let Some(disk) = own.disk() {
            self.look_at(&disk, &format!("is part of {}, which ", disk.name), findings);
        }
        if let Some(backing) = own.backing() {
            for other in loops_of(&backing).into_iter().filter(|other| *other != own.name) {
                let what = format!("shares its file {} with /dev/{other}", backing.display());
                findings.push(Finding { what, weight: Weight::Use });
            }
            if self.swaps.iter().any(|swap| is_same(swap, &backing)) {
                findings.push(Finding {
                    what: format!("stands on {}, active swap", backing.display()),
                    weight: Weight::Needed,
                });
            }
        }
    }

    fn look_at(&self, block: &Block, prefix: &str, findings: &mut Vec<Finding>) {
        let mut points: Vec<&str> = Vec::new();
        for mount in self.mounts.iter().filter(|mount| block.is(mount)) {
            if !points.contains(&mount.point.as_str()) {
                points.push(&mount.point);
            }
        }
        if !points.is_empty() {
            let needed = points.iter().any(|point| NEEDED.contains(point));
            let weight = if needed { Weight::Needed } else { Weight::Use };
            findings.push(Finding { what: format!("{prefix}is mounted at {}", points.join(", ")), weight });
        }
        let rdev =
            |path: &Path| std::fs::metadata(path).ok().filter(|meta| meta.file_type().is_block_device());
        if self.swaps.iter().any(|swap| rdev(swap).is_some_and(|meta| meta.rdev() == block.device)) {
            findings.push(Finding { what: format!("{prefix}is active swap"), weight: Weight::Needed });
        }
        let holders = block.holders();
        if !holders.is_empty() {
            let what =
                format!("{prefix}is in use by {} (a volume, an array or encryption)", holders.join(", "));
            findings.push(Finding { what, weight: Weight::Use });
            for holder in holders.iter().filter_map(|name| Block::named(name)) {
                self.look_at(&holder, &format!("{prefix}is under {}, which ", holder.name), findings);
            }
        }
    }

    /// Reasons not to write a file: swap, or a loop device on it.
    pub(super) fn look_at_file(&self, metadata: &Metadata, resolved: &Path, findings: &mut Vec<Finding>) {
        let is_it = |path: &PathBuf| {
            std::fs::metadata(path)
                .is_ok_and(|other| (other.dev(), other.ino()) == (metadata.dev(), metadata.ino()))
        };
        if self.swaps.iter().any(is_it) {
            findings.push(Finding { what: "is active swap".into(), weight: Weight::Needed });
        }
        for name in loops_of(resolved) {
            findings.push(Finding { what: format!("is in use by /dev/{name}"), weight: Weight::Use });
        }
    }
}

/// A block device in sysfs.
struct Block {
    name: String,
    device: u64,
    folder: PathBuf,
}

impl Block {
    fn of(device: u64) -> Option<Self> {
        let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
        Self::at(&PathBuf::from(format!("/sys/dev/block/{major}:{minor}")))
    }

    fn named(name: &str) -> Option<Self> {
        Self::at(&Path::new("/sys/class/block").join(name))
    }

    fn at(folder: &Path) -> Option<Self> {
        let folder = std::fs::canonicalize(folder).ok()?;
        let text = std::fs::read_to_string(folder.join("dev")).ok()?;
        let (major, minor) = text.trim().split_once(':')?;
        let device = rustix::fs::makedev(major.parse().ok()?, minor.parse().ok()?);
        Some(Self { name: folder.file_name()?.to_string_lossy().into_owned(), device, folder })
    }

    fn is(&self, mount: &Mount) -> bool {
        let (major, minor) = (rustix::fs::major(self.device), rustix::fs::minor(self.device));
        if mount.major_minor == format!("{major}:{minor}") {
            return true;
        }
        // Some file systems, such as btrfs, mount under a number of their own.
        mount.source.starts_with('/')
            && std::fs::metadata(&mount.source)
                .is_ok_and(|meta| meta.file_type().is_block_device() && meta.rdev() == self.device)
    }

    fn entries(&self, folder: &str) -> Vec<String> {
        let found = std::fs::read_dir(self.folder.join(folder)).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            found.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    fn partitions(&self) -> Vec<Block> {
        let parts = self.entries(".").into_iter().map(|name| self.folder.join(name));
        parts.filter(|part| part.join("partition").exists()).filter_map(|part| Block::at(&part)).collect()
    }

    fn disk(&self) -> Option<Block> {
        let is_partition = self.folder.join("partition").exists();
        is_partition.then(|| Block::at(self.folder.parent()?)).flatten()
    }

    fn holders(&self) -> Vec<String> {
        self.entries("holders")
    }

    /// The file behind a loop device.
    fn backing(&self) -> Option<PathBuf> {
        let text = std::fs::read_to_string(self.folder.join("loop/backing_file")).ok()?;
        Some(PathBuf::from(text.trim_end_matches('\n').trim_end_matches(" (deleted)")))
    }
}

/// Whether a block device takes TRIMs; where the kernel does not say, it may.
pub(super) fn discards(device: u64) -> bool {
    let Some(block) = Block::of(device) else { return true };
    let folder = block.disk().map_or(block.folder, |disk| disk.folder);
    std::fs::read_to_string(folder.join("queue/discard_max_bytes")).map_or(true, |most| most.trim() != "0")
}

/// Loop devices on a file.
fn loops_of(file: &Path) -> Vec<String> {
    let all = std::fs::read_dir("/sys/block").into_iter().flatten().flatten();
    let names = all.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let on_it = |name: &String| {
        Block::named(name).and_then(|block| block.backing()).is_some_and(|backing| is_same(&backing, file))
    };
    let mut names: Vec<String> = names.filter(|name| name.starts_with("loop")).filter(on_it).collect();
    names.sort();
    names
}

fn is_same(left: &Path, right: &Path) -> bool {
    let identity = |path: &Path| std::fs::metadata(path).ok().map(|meta| (meta.dev(), meta.ino()));
    left == right || identity(left).is_some_and(|left| identity(right) == Some(left))
}

/// A line of mountinfo (proc(5)): id, parent, major:minor, root, mount point, options, optional fields, `-`, type, source, options.
pub(super) fn parse_mount(line: &str) -> Option<Mount> {
    let (before, after) = line.split_once(" - ")?;
    let mut fields = before.split(' ').skip(2);
    let (major_minor, point) = (fields.next()?.to_owned(), fields.nth(1)?);
    Some(Mount { major_minor, point: unescape(point), source: unescape(after.split(' ').nth(1)?) })
}

/// A line of `/proc/swaps` under its heading.
pub(super) fn parse_swap(line: &str) -> Option<PathBuf> {
    line.split_ascii_whitespace().next().map(|path| PathBuf::from(unescape(path)))
}

/// Spaces and the like stand as `\040`.
fn unescape(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after
            .get(..3)
            .filter(|digits| *first == b'\\' && digits.iter().all(|d| (b'0'..b'8').contains(d)));
        let code =
            digits.map(|digits| digits.iter().fold(0u32, |sum, digit| sum * 8 + u32::from(digit - b'0')));
        if let Some(byte) = code.and_then(|code| u8::try_from(code).ok()) {
            out.push(byte);
            rest = &after[3..];
        } else {
            out.push(*first);
            rest = after;
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}
