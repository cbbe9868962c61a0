//! Options of file-system workload specs, read and checked.

use super::Place;
use crate::{
    SECTOR_BYTES, TraceError,
    generate::{
        keys::{Kind, Pairs, bad_value},
        share::Share,
    },
    quantity,
};

/// The smallest span, bytes: smaller volumes had other defaults, and no room for the files that are always there.
const MIN_SPAN_BYTES: u64 = 1 << 30;
/// The largest span, bytes: what the partition table of the time can describe, 2^32 sectors.
const MAX_SPAN_BYTES: u64 = 1 << 41;

/// User of the drive, and its file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::generate) enum System {
    /// Large files on FAT32.
    Fat,
    /// Large files on NTFS.
    Ntfs,
    /// A desktop with Windows XP on NTFS.
    Windows,
    /// A desktop with Ubuntu on ext3.
    Ubuntu,
}

impl System {
    /// The key that chooses, and the systems that it chooses from; the first is its default.
    fn of(kind: Kind) -> (&'static str, [System; 2], &'static str) {
        match kind {
            Kind::Desktop => ("os", [System::Windows, System::Ubuntu], "expected windows or ubuntu"),
            _ => ("fs", [System::Ntfs, System::Fat], "expected ntfs or fat"),
        }
    }

    const fn name(self) -> &'static str {
        match self {
            System::Fat => "fat",
            System::Ntfs => "ntfs",
            System::Windows => "windows",
            System::Ubuntu => "ubuntu",
        }
    }

    /// Where partitions start by default, sectors: behind the first track, or the first allocation unit of a card.
    const fn partition_sectors(self) -> u64 {
        match self {
            System::Fat => 8192,
            System::Ntfs | System::Windows | System::Ubuntu => 63,
        }
    }

    /// The longest request, sectors: what the cache managers of Windows write at once, and `max_sectors_kb` of Linux.
    pub(in crate::generate) const fn limit_sectors(self) -> u32 {
        match self {
            System::Fat | System::Ntfs | System::Windows => 128,
            System::Ubuntu => 1024,
        }
    }

    /// The mean sizes of requests that can be met, bytes: what is written besides bounds them.
    const fn means(self) -> (u64, u64) {
        match self {
            System::Fat | System::Ntfs => (24 << 10, 60 << 10),
            System::Windows => (10 << 10, 48 << 10),
            System::Ubuntu => (16 << 10, 128 << 10),
        }
    }
}

/// All that is particular to a file-system workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::generate) struct Options {
    pub(in crate::generate) system: System,
    /// Sectors before the partition.
    pub(in crate::generate) partition_sectors: u64,
    /// The mean size of the requests, bytes.
    pub(in crate::generate) mean_bytes: u64,
    /// Fill level at which the volume is kept.
    pub(in crate::generate) fill: Share,
    /// Total written, sectors; if not given, requests are counted.
    pub(in crate::generate) written_sectors: Option<u64>,
}

impl Options {
    /// The options of a spec.
    pub(in crate::generate) fn read(pairs: &Pairs<'_>) -> Result<Self, TraceError> {
        let (key, systems, expected) = System::of(pairs.kind);
        let system = pairs.read(key, systems[0], expected, |text| {
            systems.into_iter().find(|system| system.name() == text)
        })?;
        if let (Some(found), true) = (pairs.get("written"), pairs.get("count").is_some()) {
            return Err(bad_value("written", found, "give either written or count, not both"));
        }
        let expected = "expected a size of at least a sector, 512B, such as 20GiB; rounded to whole sectors";
        let written = |text: &str| {
            let sectors = quantity::parse_bytes_near(text)?.checked_add(SECTOR_BYTES / 2)? / SECTOR_BYTES;
            (sectors > 0).then_some(Some(sectors))
        };
        let written_sectors = pairs.read("written", None, expected, written)?;
        let expected = "expected a size in whole sectors of 512 bytes, such as 31.5KiB or 1MiB";
        let whole = |text: &str| {
            let bytes = quantity::parse_bytes(text).filter(|bytes| bytes.is_multiple_of(SECTOR_BYTES))?;
            Some(bytes / SECTOR_BYTES)
        };
        let partition_sectors = pairs.read("partition", system.partition_sectors(), expected, whole)?;
        let (mean_bytes, fill) = (read_mean(pairs, system)?, read_fill(pairs)?);
        Ok(Self { system, partition_sectors, mean_bytes, fill, written_sectors })
    }

    /// Refuses spans that a volume does not fit in.
    pub(in crate::generate) fn check(&self, span_sectors: u64) -> Result<(), TraceError> {
        let (span, partition) = (span_sectors * SECTOR_BYTES, self.partition_sectors * SECTOR_BYTES);
        if !(MIN_SPAN_BYTES..=MAX_SPAN_BYTES).contains(&span) {
            let expected = "expected 1GiB to 2TiB: what such a volume can be";
            return Err(bad_value("span", &quantity::format_bytes(span), expected));
        }
        if partition > span / 2 {
            let expected = format!("expected at most half of the span, {}", quantity::format_bytes(span));
            return Err(bad_value("partition", &quantity::format_bytes(partition), expected));
        }
        Ok(())
    }

    /// The volume in a drive's range.
    pub(in crate::generate) fn place(&self, range: Place) -> Place {
        let before = self.partition_sectors;
        Place { lba: range.lba + before, sectors: range.sectors - before }
    }

    /// About how many requests it takes to write what is to be written.
    pub(in crate::generate) fn expected_requests(&self) -> Option<u64> {
        let bytes = u128::from(self.written_sectors?) * u128::from(SECTOR_BYTES);
        Some(u64::try_from(bytes / u128::from(self.mean_bytes)).unwrap_or(u64::MAX).max(1))
    }

    /// The keys and their values, in the order of a canonical spec, but for the length.
    pub(in crate::generate) fn print(&self, kind: Kind) -> [(&'static str, String); 4] {
        [
            (System::of(kind).0, self.system.name().into()),
            ("partition", quantity::format_bytes(self.partition_sectors * SECTOR_BYTES)),
            ("mean", quantity::format_bytes(self.mean_bytes)),
            ("fill", self.fill.to_string()),
        ]
    }
}

fn read_mean(pairs: &Pairs<'_>, system: System) -> Result<u64, TraceError> {
    let (low, high) = system.means();
    let default = if pairs.kind == Kind::Desktop { 20 << 10 } else { 60 << 10 };
    let [least, most, example] = [low, high, default].map(quantity::format_bytes);
    let expected = format!("expected a size from {least} to {most}, such as {example}");
    let within = |bytes: &u64| (low..=high).contains(bytes);
    pairs.read("mean", default, &expected, |text| quantity::parse_bytes_near(text).filter(within))
}

fn read_fill(pairs: &Pairs<'_>) -> Result<Share, TraceError> {
    let share = |text| Share::parse(text).unwrap_or(Share::ONE);
    let default = share(if pairs.kind == Kind::Desktop { "0.5" } else { "0.8" });
    let within = |fill: &Share| (share("0.3")..=share("0.9")).contains(fill);
    pairs.read("fill", default, "expected a share from 0.3 to 0.9", |text| Share::parse(text).filter(within))
}
