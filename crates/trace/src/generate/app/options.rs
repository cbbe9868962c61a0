//! Options of application specs, read and checked.

use super::{
    application::App,
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

impl App {
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
