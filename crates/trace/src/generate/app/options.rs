//! Options of application specs, read and checked.

use super::{
    desktop,
    plan::{Phase, Plan},
    server,
};
use crate::{
    SECTOR_BYTES, TraceError,
    generate::{
        keys::{Pairs, bad_value},
        share::Share,
        volume::Place,
    },
    quantity,
};

/// The volume on which the plans lie, bytes.
const NOMINAL_BYTES: u64 = 16_000_000_000;
const MB: u64 = 1_000_000;

/// An application whose writes are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum App {
    /// Songs copied from folder to folder.
    CopyMp3,
    /// The disk test of a benchmark of computers.
    Pcmark05,
    /// Surfing.
    Browser,
    /// Messages fetched.
    Email,
    /// Windows installed on NTFS.
    InstallWindows,
    /// Linux installed on ext3.
    InstallLinux,
    /// A file-sharing client with chunks of 9.28 MB.
    Emule,
    /// A file-sharing client with pieces of 1 MB.
    Bittorrent,
    /// Linux installed on ext4.
    Ext4Install,
    /// A package built from sources.
    PackageBuild,
    /// SQLite with a write-ahead log.
    SqliteWal,
    /// A relational server with checkpoints.
    Postgresql,
    /// A log-structured store that compacts.
    Rocksdb,
    /// A virtual machine that starts.
    VmBoot,
}

impl App {
    /// All applications, in the order of the documentation.
    pub const ALL: [App; 14] = [
        App::CopyMp3,
        App::Pcmark05,
        App::Browser,
        App::Email,
        App::InstallWindows,
        App::InstallLinux,
        App::Emule,
        App::Bittorrent,
        App::Ext4Install,
        App::PackageBuild,
        App::SqliteWal,
        App::Postgresql,
        App::Rocksdb,
        App::VmBoot,
    ];

    /// The name in a spec.
    pub const fn name(self) -> &'static str {
        match self {
            App::CopyMp3 => "copy-mp3",
            App::Pcmark05 => "pcmark05",
            App::Browser => "browser",
            App::Email => "email",
            App::InstallWindows => "install-windows",
            App::InstallLinux => "install-linux",
            App::Emule => "emule",
            App::Bittorrent => "bittorrent",
            App::Ext4Install => "ext4-install",
            App::PackageBuild => "package-build",
            App::SqliteWal => "sqlite-wal",
            App::Postgresql => "postgresql",
            App::Rocksdb => "rocksdb",
            App::VmBoot => "vm-boot",
        }
    }

    /// One sentence for the command line.
    pub const fn help(self) -> &'static str {
        match self {
            App::CopyMp3 => "200 songs copied from folder to folder on NTFS",
            App::Pcmark05 => "the disk test of a benchmark of computers, hot and cold data apart",
            App::Browser => "three hours of surfing: small rewrites in a small area, hot and cold data mixed",
            App::Email => "200 messages fetched: a small mail folder and its index",
            App::InstallWindows => "Windows installed on NTFS: files of all sizes, and settings",
            App::InstallLinux => "Linux installed on ext3: small writes to all group headers",
            App::Emule => "file sharing in chunks of 9.28 MB, several of them filled at once in 4 to 12 KiB",
            App::Bittorrent => "file sharing in pieces of 1 MB, gathered in memory: long scattered writes",
            App::Ext4Install => "Linux installed on ext4: delayed allocation, a journal, gathered tables",
            App::PackageBuild => "a package built from sources: many small files come and go",
            App::SqliteWal => {
                "SQLite in WAL mode: a log that is appended to, and checkpoints into the database"
            }
            App::Postgresql => "a relational server: log segments, checkpoints of 8 KiB pages, vacuum",
            App::Rocksdb => "a log-structured store: log, flushes and compactions in files of 64 MiB",
            App::VmBoot => "a virtual machine that starts: small writes all over its image, and logs",
        }
    }

    const fn plan(self) -> &'static Plan {
        match self {
            App::CopyMp3 => &desktop::COPY_MP3,
            App::Pcmark05 => &desktop::PCMARK05,
            App::Browser => &desktop::BROWSER,
            App::Email => &desktop::EMAIL,
            App::InstallWindows => &desktop::INSTALL_WINDOWS,
            App::InstallLinux => &desktop::INSTALL_LINUX,
            App::Emule => &desktop::EMULE,
            App::Bittorrent => &desktop::BITTORRENT,
            App::Ext4Install => &server::EXT4_INSTALL,
            App::PackageBuild => &server::PACKAGE_BUILD,
            App::SqliteWal => &server::SQLITE_WAL,
            App::Postgresql => &server::POSTGRESQL,
            App::Rocksdb => &server::ROCKSDB,
            App::VmBoot => &server::VM_BOOT,
        }
    }
}

/// All that is particular to an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::generate) struct Options {
    pub(in crate::generate) app: App,
    /// Sectors before the partition.
    partition_sectors: u64,
    /// Share of the full size.
    scale: Share,
    /// One phase alone, by number.
    pub(super) phase: Option<u8>,
}

impl Options {
    /// The longest request, sectors.
    pub(in crate::generate) const LONGEST_SECTORS: u32 = 1024;

    /// The options of a spec.
    pub(in crate::generate) fn read(pairs: &Pairs<'_>, app: App) -> Result<Self, TraceError> {
        let plan = app.plan();
        let least = Share::parse("0.01").unwrap_or(Share::ONE);
        let expected = "expected a share from 0.01 to 1: of what the application writes, and of its volume";
        let scale = pairs
            .read("scale", Share::ONE, expected, |text| Share::parse(text).filter(|scale| *scale >= least))?;
        let expected = "expected a size in whole sectors of 512 bytes, such as 31.5KiB or 1MiB";
        let partition_sectors = pairs.read("partition", plan.partition_sectors, expected, |text| {
            let bytes = quantity::parse_bytes(text).filter(|bytes| bytes.is_multiple_of(SECTOR_BYTES))?;
            Some(bytes / SECTOR_BYTES)
        })?;
        let names: Vec<&str> = plan.phases.iter().map(|phase| phase.name).collect();
        let expected = match names.as_slice() {
            [_] => format!("expected all: {} has no phases", app.name()),
            names => format!("expected all, {}", names.join(", ")),
        };
        let phase = pairs.read("phase", None, &expected, |text| {
            let index = plan.phases.iter().position(|phase| phase.name == text);
            match (text, index) {
                ("all", _) => Some(None),
                (_, Some(index)) => Some(Some(index as u8)),
                _ => None,
            }
        })?;
        Ok(Self { app, partition_sectors, scale, phase })
    }

    /// The volume that the plan needs, with what lies before it, sectors.
    pub(in crate::generate) fn default_span_sectors(&self) -> u64 {
        (self.nominal_sectors() + self.partition_sectors).next_multiple_of(2048)
    }

    /// Refuses spans that the plan does not fit in.
    pub(in crate::generate) fn check(&self, span_sectors: u64) -> Result<(), TraceError> {
        let (least, most) = (self.nominal_sectors() + self.partition_sectors, 1 << 32);
        if (least..=most).contains(&span_sectors) {
            return Ok(());
        }
        let [least, most] = [least, most].map(|sectors| quantity::format_bytes(sectors * SECTOR_BYTES));
        let found = quantity::format_bytes(span_sectors * SECTOR_BYTES);
        Err(bad_value("span", &found, format!("expected {least} to {most} at scale {}", self.scale)))
    }

    /// The volume in a drive's range.
    pub(super) fn place(&self, range: Place) -> Place {
        let before = self.partition_sectors;
        Place { lba: range.lba + before, sectors: range.sectors - before }
    }

    /// The volume that the plan lies on at this scale, sectors.
    pub(super) fn nominal_sectors(&self) -> u64 {
        self.scale.of(NOMINAL_BYTES / SECTOR_BYTES)
    }

    pub(super) fn aligned(&self) -> Option<u64> {
        self.app.plan().aligned
    }

    pub(super) fn phases(&self) -> usize {
        self.app.plan().phases.len()
    }

    pub(super) fn phase_at(&self, index: usize) -> &'static Phase {
        &self.app.plan().phases[index]
    }

    /// Sectors that a phase writes.
    pub(super) fn phase_sectors(&self, index: usize) -> u64 {
        let plan = self.app.plan();
        self.scale.of(plan.written_mb * MB / SECTOR_BYTES * plan.phases[index].share / 1000)
    }

    /// About how many requests it makes.
    pub(in crate::generate) fn expected_requests(&self) -> u64 {
        let sectors: u64 = match self.phase {
            None => (0..self.phases()).map(|index| self.phase_sectors(index)).sum(),
            Some(index) => self.phase_sectors(index.into()),
        };
        (sectors * SECTOR_BYTES / (self.app.plan().mean_kib << 10)).max(1)
    }

    /// The keys and their values, in the order of a canonical spec.
    pub(in crate::generate) fn print(&self) -> [(&'static str, String); 3] {
        let phase = self.phase.map_or("all", |index| self.phase_at(index.into()).name);
        [
            ("partition", quantity::format_bytes(self.partition_sectors * SECTOR_BYTES)),
            ("scale", self.scale.to_string()),
            ("phase", phase.into()),
        ]
    }
}
