//! Options of the specs of storage engines, read and checked.

use super::super::keys::{Kind, Pairs, Store, bad_value};
use super::super::share::Share;
use super::zones;
use crate::{SECTOR_BYTES, TraceError, quantity};

/// Most zones of a span, each of which takes memory.
const MAX_ZONES: u64 = 1 << 24;

/// All that is particular to an engine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::generate) struct Options {
    pub(super) engine: Engine,
    /// True if requests carry handles of their own.
    pub(super) hints: bool,
    /// Longest request of data that are written in order.
    pub(super) request_sectors: u64,
    /// A record of the log.
    pub(super) record_sectors: u64,
    /// Records of the log from flush to flush.
    pub(super) flush_every: u64,
}

/// An engine and its own options.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::generate) enum Engine {
    Cachelib { small: Share, small_writes: Share, bucket_sectors: u64, region_sectors: u64 },
    Lsm { table_sectors: u64, fanout: u64, fill: Share },
    Wal,
    Btree { log: Share, page_sectors: u64, pages: u64, theta: f64 },
    Zones(zones::Options),
}

/// Files that the space of a merge tree holds at least.
const FEWEST_FILES: u64 = 128;
/// Share of the space that the data may be, with the older versions of all levels: compactions need the rest.
const FULLEST: &str = "0.8";

impl Options {
    pub(in crate::generate) fn read(pairs: &Pairs<'_>, store: Store) -> Result<Self, TraceError> {
        let size = |key, default: u64| {
            let expected = "expected a size from 512B to 1GiB in whole sectors of 512 bytes, such as 16KiB";
            let bytes = |text: &str| {
                quantity::parse_bytes(text)
                    .filter(|bytes| bytes.is_multiple_of(SECTOR_BYTES) && (1..=1 << 30).contains(bytes))
            };
            Ok::<_, TraceError>(pairs.read(key, default, expected, bytes)? / SECTOR_BYTES)
        };
        let share = |key, default: &str| {
            let expected = "expected a share above 0 and below 1";
            let between = |share: &Share| *share > Share::ZERO && *share < Share::ONE;
            let default = Share::parse(default).unwrap_or(Share::ONE);
            pairs.read(key, default, expected, |text| Share::parse(text).filter(between))
        };
        let number = |key, default: u64, least: u64, most: u64| {
            let expected = format!("expected a whole number from {least} to {most}");
            let within = |text: &str| text.parse().ok().filter(|value| (least..=most).contains(value));
            pairs.read(key, default, &expected, within)
        };
        let engine = match store {
            Store::Cachelib => Engine::Cachelib {
                small: share("small", "0.04")?,
                small_writes: share("small_writes", "0.5")?,
                bucket_sectors: size("bucket", 4 << 10)?,
                region_sectors: size("region", 16 << 20)?,
            },
            Store::Lsm => Engine::Lsm {
                table_sectors: size("table", 64 << 20)?,
                fanout: number("fanout", 10, 2, 100)?,
                fill: share("fill", "0.6")?,
            },
            Store::Wal => Engine::Wal,
            Store::Btree => {
                let expected = "expected a number above 0 and at most 5";
                let theta = |text: &str| text.parse().ok().filter(|theta| *theta > 0.0 && *theta <= 5.0);
                Engine::Btree {
                    log: share("log", "0.05")?,
                    page_sectors: size("page", 16 << 10)?,
                    pages: number("pages", 2, 1, 1000)?,
                    theta: pairs.read("theta", 0.99, expected, theta)?,
                }
            }
            Store::Zones => Engine::Zones(zones::Options::read(pairs)?),
        };
        Ok(Self {
            engine,
            hints: pairs.read("hints", true, "expected true or false", |text| text.parse().ok())?,
            request_sectors: size("request", 256 << 10)?,
            record_sectors: size("record", 16 << 10)?,
            flush_every: number("flush_every", 1, 0, 1_000_000)?,
        })
    }

    /// The longest request, sectors.
    pub(in crate::generate) fn longest_sectors(&self) -> u32 {
        let longest = match self.engine {
            Engine::Cachelib { bucket_sectors, .. } => self.request_sectors.max(bucket_sectors),
            // A file is discarded whole.
            Engine::Lsm { table_sectors, .. } => table_sectors.max(self.record_sectors),
            Engine::Wal => self.record_sectors,
            Engine::Btree { page_sectors, .. } => page_sectors.max(self.record_sectors),
            // A command that manages a zone names all of it.
            Engine::Zones(own) => own.zone_sectors,
        };
        longest as u32
    }

    /// Handles that it uses, the first of them included.
    pub(in crate::generate) fn handles(&self) -> u8 {
        match (self.hints, self.engine) {
            (false, _) | (true, Engine::Wal | Engine::Zones(_)) => 1,
            (true, Engine::Cachelib { .. } | Engine::Btree { .. }) => 2,
            // The log, and at most a level for each doubling of the data.
            (true, Engine::Lsm { .. }) => 64,
        }
    }

    /// Refuses spans that the engine does not fit in.
    pub(in crate::generate) fn check(&self, span_sectors: u64) -> Result<(), TraceError> {
        let (least, why) = match self.engine {
            Engine::Cachelib { small, bucket_sectors, region_sectors, .. } => {
                let buckets = small.of(span_sectors / bucket_sectors);
                if buckets == 0 {
                    let expected = "makes no bucket of the span; at least one must be for small objects";
                    return Err(bad_value("small", &small.to_string(), expected));
                }
                (buckets * bucket_sectors + 2 * region_sectors, "two regions beside the small objects")
            }
            Engine::Lsm { table_sectors, fanout, fill } => {
                // Parts of a million, so that the comparison is exact.
                let (data, most) = (fill.of(1_000_000) * fanout, Share::parse(FULLEST).unwrap_or(Share::ONE));
                if data > most.of(1_000_000) * (fanout - 1) {
                    let expected = format!(
                        "with fanout={fanout} the levels would take more than {FULLEST} of the space; compactions need the rest"
                    );
                    return Err(bad_value("fill", &fill.to_string(), expected));
                }
                ((FEWEST_FILES + 2) * table_sectors, "130 tables (128 files and the log)")
            }
            Engine::Wal => (2 * self.record_sectors, "two records"),
            Engine::Btree { log, page_sectors, .. } => {
                let log_sectors = log.of(span_sectors / page_sectors) * page_sectors;
                if log_sectors < self.record_sectors {
                    let expected = "leaves the log no room for a record";
                    return Err(bad_value("log", &log.to_string(), expected));
                }
                (log_sectors + 2 * page_sectors, "two pages beside the log")
            }
            Engine::Zones(own) => {
                if span_sectors / own.zone_sectors > MAX_ZONES {
                    let found = quantity::format_bytes(own.zone_sectors * SECTOR_BYTES);
                    let expected =
                        format!("makes more than {MAX_ZONES} zones of the span; expected larger ones");
                    return Err(bad_value("zone", &found, expected));
                }
                ((own.open + 1) * own.zone_sectors, "a zone more than are written at a time")
            }
        };
        if span_sectors >= least {
            return Ok(());
        }
        let [found, least] =
            [span_sectors, least].map(|sectors| quantity::format_bytes(sectors * SECTOR_BYTES));
        Err(bad_value("span", &found, format!("expected at least {least}: {why}")))
    }

    /// The keys and their values, in the order of a canonical spec.
    pub(in crate::generate) fn print(&self) -> Vec<(&'static str, String)> {
        let bytes = |sectors: u64| quantity::format_bytes(sectors * SECTOR_BYTES);
        let mut printed: Vec<(&str, String)> = match self.engine {
            Engine::Cachelib { small, small_writes, bucket_sectors, region_sectors } => vec![
                ("small", small.to_string()),
                ("small_writes", small_writes.to_string()),
                ("bucket", bytes(bucket_sectors)),
                ("region", bytes(region_sectors)),
            ],
            Engine::Lsm { table_sectors, fanout, fill } => vec![
                ("table", bytes(table_sectors)),
                ("fanout", fanout.to_string()),
                ("fill", fill.to_string()),
            ],
            Engine::Wal => Vec::new(),
            Engine::Btree { log, page_sectors, pages, theta } => vec![
                ("log", log.to_string()),
                ("page", bytes(page_sectors)),
                ("pages", pages.to_string()),
                ("theta", theta.to_string()),
            ],
            Engine::Zones(own) => return own.print(),
        };
        if matches!(self.engine, Engine::Cachelib { .. } | Engine::Lsm { .. }) {
            printed.push(("request", bytes(self.request_sectors)));
        }
        if !matches!(self.engine, Engine::Cachelib { .. }) {
            printed.push(("record", bytes(self.record_sectors)));
        }
        if matches!(self.engine, Engine::Wal | Engine::Btree { .. }) {
            printed.push(("flush_every", self.flush_every.to_string()));
        }
        printed.push(("hints", self.hints.to_string()));
        printed
    }

    /// True if it can read beside its writes, in a share that the spec gives.
    pub(in crate::generate) fn mixes_reads(kind: Kind) -> bool {
        matches!(kind, Kind::Store(Store::Cachelib | Store::Zones))
    }
}
