//! Block devices in sysfs.

use std::path::{Path, PathBuf};

use super::mounts::parse_device;

/// Bytes of the sectors that sysfs counts.
const SECTOR_BYTES: u64 = 512;

/// A range of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: u64,
    pub(super) end: u64,
}

impl Span {
    pub(super) const ALL: Span = Span { start: 0, end: u64::MAX };

    pub(super) fn overlaps(self, other: Span) -> bool {
        self.start < other.end && other.start < self.end
    }

    /// Where this span of a device lies on what the device stands on, whose part `place` it is.
    pub(super) fn within(self, place: Span) -> Span {
        let start = place.start.saturating_add(self.start).min(place.end);
        Span { start, end: place.start.saturating_add(self.end).min(place.end) }
    }
}

/// A block device, by its number; what sysfs says of it, if it says anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) device: u64,
    pub(super) name: String,
    folder: Option<PathBuf>,
}

impl Block {
    pub(super) fn of(root: &Path, device: u64) -> Self {
        let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
        Self::at(&root.join(format!("sys/dev/block/{major}:{minor}"))).unwrap_or_else(|| Self {
            device,
            name: format!("block device {major}:{minor}"),
            folder: None,
        })
    }

    pub(super) fn at(folder: &Path) -> Option<Self> {
        let folder = std::fs::canonicalize(folder).ok()?;
        let device = parse_device(&std::fs::read_to_string(folder.join("dev")).ok()?)?;
        let name = folder.file_name()?.to_string_lossy().into_owned();
        Some(Self { device, name, folder: Some(folder) })
    }

    /// By a name of its own, where sysfs has none.
    pub(super) fn called(self, name: &str) -> Self {
        Self { name: name.to_owned(), ..self }
    }

    /// True if sysfs knows it.
    pub(super) fn is_known(&self) -> bool {
        self.folder.is_some()
    }

    /// Devices in a folder of links, such as those that hold it.
    fn linked(&self, folder: &str) -> Vec<Block> {
        let Some(own) = &self.folder else { return Vec::new() };
        let found = std::fs::read_dir(own.join(folder)).into_iter().flatten().flatten();
        let mut blocks: Vec<Block> = found.filter_map(|entry| Block::at(&entry.path())).collect();
        blocks.sort_by(|left, right| left.name.cmp(&right.name));
        blocks
    }

    /// Volumes, arrays and the like on it.
    pub(super) fn holders(&self) -> Vec<Block> {
        self.linked("holders")
    }

    /// Devices that it is a volume or an array on.
    pub(super) fn slaves(&self) -> Vec<Block> {
        self.linked("slaves")
    }

    pub(super) fn partitions(&self) -> Vec<Block> {
        self.linked(".").into_iter().filter(Block::is_partition).collect()
    }

    pub(super) fn is_partition(&self) -> bool {
        self.folder.as_ref().is_some_and(|folder| folder.join("partition").exists())
    }

    /// The disk that it is a partition of, and where on it.
    pub(super) fn disk(&self) -> Option<(Block, Span)> {
        let disk = Block::at(self.folder.as_ref().filter(|_| self.is_partition())?.parent()?)?;
        Some((disk, self.place()))
    }

    /// Where on its disk a partition is; everywhere, if the kernel does not say.
    pub(super) fn place(&self) -> Span {
        let number = |name: &str| self.read(name)?.parse::<u64>().ok()?.checked_mul(SECTOR_BYTES);
        let Some((start, size)) = number("start").zip(number("size")) else { return Span::ALL };
        Span { start, end: start.saturating_add(size) }
    }

    /// A file in its folder, without the end of its line.
    pub(super) fn read(&self, name: &str) -> Option<String> {
        let text = std::fs::read_to_string(self.folder.as_ref()?.join(name)).ok()?;
        Some(text.trim_end_matches('\n').to_owned())
    }

    pub(super) fn discards(&self) -> bool {
        let of_disk = self.disk().and_then(|(disk, _)| disk.read("queue/discard_max_bytes"));
        of_disk.or_else(|| self.read("queue/discard_max_bytes")).is_none_or(|most| most.trim() != "0")
    }

    /// True if it has zones that are written in order (`host-managed`) or should be (`host-aware`).
    pub(super) fn is_zoned(&self) -> bool {
        let of_disk = self.disk().and_then(|(disk, _)| disk.read("queue/zoned"));
        of_disk.or_else(|| self.read("queue/zoned")).is_some_and(|model| model.trim() != "none")
    }

    /// True if two volumes share a device by design, each on its own part of it: volumes of one LVM group, partitions
    /// that device mapper makes.
    pub(super) fn is_beside(&self, other: &Block) -> bool {
        /// `LVM-` and the identity of the group.
        const GROUP: usize = 4 + 32;
        let (Some(own), Some(others)) = (self.read("dm/uuid"), other.read("dm/uuid")) else { return false };
        let group =
            own.starts_with("LVM-") && own.get(..GROUP).is_some_and(|group| others.starts_with(group));
        let part = |uuid: &str| {
            uuid.strip_prefix("part")?.split_once('-').map(|(number, of)| (number.to_owned(), of.to_owned()))
        };
        let parts = part(&own).zip(part(&others));
        group || parts.is_some_and(|((number, of), (other, from))| of == from && number != other)
    }
}
