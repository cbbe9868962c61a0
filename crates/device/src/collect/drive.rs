//! The drive that is named: which disk it is of, where it lies on it, and where the kernel's switches for it are.

use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::Error;

/// A block device, as sysfs shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Drive {
    /// As the caller named it.
    pub(super) path: PathBuf,
    /// The kernel's name of the whole disk.
    pub(super) disk: String,
    /// Number of the device: major << 20 | minor, as the kernel has it.
    pub(super) number: u32,
    /// Number of the whole disk.
    pub(super) disk_number: u32,
    /// First sector on the disk; 0 for a whole disk.
    pub(super) start: u64,
    /// Length in sectors.
    pub(super) sectors: u64,
    /// True if it is a partition of a disk.
    pub(super) is_partition: bool,
    /// True if it has a request queue. A device without one (device mapper, RAID, zram) passes on what file systems
    /// submit.
    pub(super) has_requests: bool,
    /// Folder of its tracing switches.
    pub(super) switches: PathBuf,
}

impl Drive {
    /// The block device at `path`; a bare name is one in `/dev`.
    pub(super) fn open(path: &Path) -> Result<Self, Error> {
        let wrong = |detail: &str| Error::Target { path: path.to_owned(), detail: detail.to_owned() };
        let in_dev = Path::new("/dev").join(path);
        let place = if path.components().count() == 1 && !path.exists() { &in_dev } else { path };
        let meta = std::fs::metadata(place).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => wrong("no such device; expected one that `lsblk` lists"),
            _ => wrong(&format!("{error}; expected a block device")),
        })?;
        if !meta.file_type().is_block_device() {
            let kind = if meta.is_dir() {
                "a folder"
            } else if meta.is_file() {
                "a file"
            } else {
                "no drive"
            };
            return Err(wrong(&format!("this is {kind}; expected a block device such as /dev/nvme0n1")));
        }
        let number = meta.rdev();
        let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
        let folder = std::fs::canonicalize(format!("/sys/dev/block/{major}:{minor}"))
            .map_err(|error| wrong(&format!("the kernel does not show it under /sys/dev/block: {error}")))?;
        Self::of_folder(place, &folder).ok_or_else(|| wrong(&format!("{} says no size", folder.display())))
    }

    /// The drive that `folder` of sysfs describes.
    fn of_folder(path: &Path, folder: &Path) -> Option<Self> {
        let is_partition = folder.join("partition").exists();
        let disk = if is_partition { folder.parent()? } else { folder };
        let own = folder.join("trace");
        Some(Self {
            path: path.to_owned(),
            disk: disk.file_name()?.to_string_lossy().into_owned(),
            number: device_number(folder)?,
            disk_number: device_number(disk)?,
            start: if is_partition { number(&folder.join("start"))? } else { 0 },
            sectors: number(&folder.join("size"))?,
            is_partition,
            has_requests: disk.join("mq").is_dir(),
            switches: if own.is_dir() { own } else { disk.join("trace") },
        })
    }

    /// True if the kernel already traces it for another user.
    pub(super) fn is_traced(&self) -> bool {
        read(&self.switches.join("enable")).is_some_and(|text| text != "0")
    }

    /// True if the file or folder at `path` lies on this disk.
    pub(super) fn holds(&self, path: &Path) -> bool {
        let Ok(meta) = std::fs::metadata(path) else { return false };
        let (major, minor) = (rustix::fs::major(meta.dev()), rustix::fs::minor(meta.dev()));
        let Ok(folder) = std::fs::canonicalize(format!("/sys/dev/block/{major}:{minor}")) else {
            return false;
        };
        folder.components().any(|part| part.as_os_str() == self.disk.as_str())
    }
}

/// The trimmed text of a small file.
pub(super) fn read(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

fn number(path: &Path) -> Option<u64> {
    read(path)?.parse().ok()
}

fn device_number(folder: &Path) -> Option<u32> {
    let text = read(&folder.join("dev"))?;
    let (major, minor) = text.split_once(':')?;
    Some(major.parse::<u32>().ok()? << 20 | minor.parse::<u32>().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(path: &Path) -> String {
        Drive::open(path).unwrap_err().to_string()
    }

    #[test]
    fn what_is_no_drive_is_refused_in_a_line() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        std::fs::write(&file, "").unwrap();
        assert!(said(dir.path()).ends_with("this is a folder; expected a block device such as /dev/nvme0n1"));
        assert!(said(&file).contains("this is a file; expected"), "{}", said(&file));
        assert!(said(Path::new("/dev/null")).contains("this is no drive; expected"));
        assert!(said(&dir.path().join("none")).ends_with("no such device; expected one that `lsblk` lists"));
    }

    #[test]
    fn a_partition_is_a_piece_of_its_disk() {
        let dir = tempfile::tempdir().unwrap();
        let disk = dir.path().join("sda");
        let part = disk.join("sda1");
        std::fs::create_dir_all(part.join("trace")).unwrap();
        std::fs::create_dir_all(disk.join("mq")).unwrap();
        let files = [
            ("dev", "8:0"),
            ("size", "1000"),
            ("sda1/dev", "8:1"),
            ("sda1/size", "100"),
            ("sda1/start", "64"),
            ("sda1/partition", "1"),
        ];
        for (name, text) in files {
            std::fs::write(disk.join(name), format!("{text}\n")).unwrap();
        }
        let drive = Drive::of_folder(Path::new("/dev/sda1"), &part).unwrap();
        assert_eq!((drive.disk.as_str(), drive.start, drive.sectors), ("sda", 64, 100));
        assert_eq!((drive.number, drive.disk_number), (8 << 20 | 1, 8 << 20));
        assert!(drive.is_partition && drive.has_requests && !drive.is_traced());
        assert_eq!(drive.switches, part.join("trace"));
        let whole = Drive::of_folder(Path::new("/dev/sda"), &disk).unwrap();
        assert_eq!((whole.start, whole.sectors, whole.is_partition), (0, 1000, false));
    }
}
