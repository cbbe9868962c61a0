//! The formats by name: what each is called, which file names say it, and whether it is also written.

use serde::{Serialize, Serializer};

/// A trace format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Format {
    /// MSR Cambridge CSV.
    Msr,
    /// The MSR table after a spreadsheet had it.
    MsrExcel,
    /// SPC, as of the UMass traces.
    Spc,
    /// DiskSim ASCII.
    Disksim,
    /// SSDsim ASCII.
    Ssdsim,
    /// MQSim ASCII.
    Mqsim,
    /// MQSim's columns with milliseconds as decimals.
    MqsimMs,
    /// FlashSim: DiskSim's columns with sizes in 4 KiB pages.
    Flashsim,
    /// Text of blkparse.
    Blkparse,
    /// One CPU's binary blktrace.
    Blktrace,
    /// A tar archive of per-CPU binary blktrace.
    BlktraceTar,
    /// fio's iolog, version 2.
    FioV2,
    /// fio's iolog, version 3.
    FioV3,
    /// Alibaba 2020.
    Alibaba,
    /// Log of a replay of Alibaba's traces.
    Replaylog,
    /// Tencent CBS.
    Tencent,
    /// SYSTOR '17.
    Systor,
    /// DiskMon.
    Diskmon,
    /// blkreplay's load files.
    Blkreplay,
    /// VMware vscsiStats, version 1.
    VscsiV1,
    /// VMware vscsiStats, version 2.
    VscsiV2,
    /// VMware vscsiStats as CSV.
    VscsiCsv,
    /// FIU IODedup.
    Fiu,
    /// BIOTracer, of Android phones.
    Biotracer,
    /// Pixel phones' CSV.
    Pixel,
    /// Windows Performance Analyzer's disk export.
    Wpa,
    /// HFPlayer.
    Hfplayer,
    /// oracleGeneral of cache simulators.
    OracleGeneral,
    /// CacheBench's key-value traces.
    Kvcache,
    /// Lookups of RocksDB's block cache, as text.
    RocksdbBlock,
    /// RocksDB's operations on files, as text.
    RocksdbIo,
    /// flashweir's own Parquet.
    Parquet,
    /// The journal of a log that was not finished.
    Journal,
    /// Any other table, described by columns.
    Table,
}

impl Format {
    /// All formats, in the order in which content is tried.
    pub const ALL: [Format; 34] = [
        Format::Parquet,
        Format::Journal,
        Format::Blktrace,
        Format::BlktraceTar,
        Format::FioV2,
        Format::FioV3,
        Format::Wpa,
        Format::Hfplayer,
        Format::Blkreplay,
        Format::VscsiCsv,
        Format::Blkparse,
        Format::Msr,
        Format::MsrExcel,
        Format::Spc,
        Format::Fiu,
        Format::Systor,
        Format::Pixel,
        Format::Alibaba,
        Format::Replaylog,
        Format::Tencent,
        Format::Biotracer,
        Format::Diskmon,
        Format::Ssdsim,
        Format::Mqsim,
        Format::Disksim,
        Format::MqsimMs,
        Format::Flashsim,
        Format::VscsiV1,
        Format::VscsiV2,
        Format::OracleGeneral,
        Format::Kvcache,
        Format::RocksdbBlock,
        Format::RocksdbIo,
        Format::Table,
    ];

    /// The name, as `--format` takes it and reports give it.
    pub const fn name(self) -> &'static str {
        self.facts().0
    }

    /// Ends of file names that say this format, without a `.gz` or `.zst` behind them.
    pub const fn suffixes(self) -> &'static [&'static str] {
        self.facts().1
    }

    /// True if [`Writer`](super::Writer) writes it.
    pub const fn is_writable(self) -> bool {
        matches!(
            self,
            Format::Msr
                | Format::Spc
                | Format::Disksim
                | Format::Ssdsim
                | Format::Mqsim
                | Format::FioV2
                | Format::FioV3
                | Format::Blktrace
                | Format::Parquet
        )
    }

    /// The format that the name of a file says, under any `.gz` or `.zst`, if it says one.
    pub fn of_path(path: &std::path::Path) -> Option<Self> {
        let name = path.file_name()?.to_string_lossy();
        let bare = [".gz", ".zst", ".zstd"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
        // Per-CPU files of blktrace end in the number of their CPU.
        let (stem, cpu) = bare.rsplit_once('.').unwrap_or((bare, ""));
        if stem.ends_with(".blktrace") && !cpu.is_empty() && cpu.bytes().all(|byte| byte.is_ascii_digit()) {
            return Some(Format::Blktrace);
        }
        Format::ALL
            .into_iter()
            .flat_map(|format| format.suffixes().iter().map(move |suffix| (suffix.len(), *suffix, format)))
            .filter(|(_, suffix, _)| bare.ends_with(suffix))
            .max_by_key(|(length, ..)| *length)
            .map(|(.., format)| format)
    }

    /// The format called `name`; the error suggests the nearest name.
    pub fn from_name(name: &str) -> Result<Self, crate::TraceError> {
        if let Some(format) = Self::ALL.into_iter().find(|format| format.name() == name) {
            return Ok(format);
        }
        let near = Self::ALL
            .into_iter()
            .map(|format| {
                (strsim::damerau_levenshtein(format.name(), &name.to_ascii_lowercase()), format.name())
            })
            .min()
            .filter(|(distance, _)| *distance <= 3);
        let mut names = Self::ALL.map(Format::name);
        names.sort_unstable();
        let hint = near.map_or_else(String::new, |(_, near)| format!("did you mean {near:?}? "));
        Err(crate::TraceError::Spec {
            what: "format".to_owned(),
            found: name.to_owned(),
            expected: format!("{hint}formats are {}", names.join(", ")),
        })
    }

    /// Reading of the format's own clock at the start of 1970, ns; `None` if it does not count from a known date.
    pub const fn epoch_ns(self) -> Option<u64> {
        match self {
            // FILETIME counts from the start of 1601.
            Format::Msr | Format::MsrExcel => Some(11_644_473_600_000_000_000),
            Format::Alibaba | Format::Tencent | Format::Systor => Some(0),
            _ => None,
        }
    }

    const fn facts(self) -> (&'static str, &'static [&'static str]) {
        match self {
            Format::Msr => ("msr", &[".msr.csv", ".msr"]),
            Format::MsrExcel => ("msr-excel", &[".msr-excel.tsv", ".msr-excel"]),
            Format::Spc => ("spc", &[".spc"]),
            Format::Disksim => ("disksim", &[".disksim"]),
            Format::Ssdsim => ("ssdsim", &[".ssdsim"]),
            Format::Mqsim => ("mqsim", &[".mqsim"]),
            Format::MqsimMs => ("mqsim-ms", &[".mqsim-ms"]),
            Format::Flashsim => ("flashsim", &[".flashsim"]),
            Format::Blkparse => ("blkparse", &[".blkparse", ".blkparse.txt"]),
            Format::Blktrace => ("blktrace", &[".blktrace"]),
            Format::BlktraceTar => ("blktrace-tar", &[".blktrace.tar"]),
            Format::FioV2 => ("fio2", &[".iolog2"]),
            Format::FioV3 => ("fio3", &[".iolog3"]),
            Format::Alibaba => ("alibaba", &[".alibaba.csv", ".alibaba"]),
            Format::Replaylog => ("replaylog", &[".replaylog"]),
            Format::Tencent => ("tencent", &[".tencent.csv", ".tencent"]),
            Format::Systor => ("systor", &[".systor.csv", ".systor"]),
            Format::Diskmon => ("diskmon", &[".diskmon", ".diskmon.log"]),
            Format::Blkreplay => ("blkreplay", &[".load"]),
            Format::VscsiV1 => ("vscsi1", &[".vscsi1"]),
            Format::VscsiV2 => ("vscsi2", &[".vscsi2"]),
            Format::VscsiCsv => ("vscsi-csv", &[".vscsi.csv"]),
            Format::Fiu => ("fiu", &[".fiu", ".blkparse.fiu"]),
            Format::Biotracer => ("biotracer", &[".phone.tsv", ".biotracer"]),
            Format::Pixel => ("pixel", &[".pixel.csv", ".pixel"]),
            Format::Wpa => ("wpa", &[".wpa.csv", ".wpa"]),
            Format::Hfplayer => ("hfplayer", &[".hfplayer.csv", ".hfplayer"]),
            Format::OracleGeneral => ("oracle-general", &[".oracleGeneral", ".oracleGeneral.bin"]),
            Format::Kvcache => ("kvcache", &[".kvcache.csv", ".kvcache"]),
            Format::RocksdbBlock => ("rocksdb-block", &[".rocksdb-block.csv", ".rocksdb-block"]),
            Format::RocksdbIo => ("rocksdb-io", &[".rocksdb-io.txt", ".rocksdb-io"]),
            Format::Parquet => ("parquet", &[".parquet"]),
            Format::Journal => ("journal", &[".parquet.part"]),
            Format::Table => ("table", &[]),
        }
    }

    /// True if records are lines of text.
    pub(crate) const fn is_text(self) -> bool {
        !matches!(
            self,
            Format::Blktrace
                | Format::BlktraceTar
                | Format::VscsiV1
                | Format::VscsiV2
                | Format::OracleGeneral
                | Format::Parquet
                | Format::Journal
        )
    }
}

impl std::fmt::Display for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for Format {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}
