//! Every key of every kind, with default and unit.

use super::{Key, Kind, Store};

const STORES: &[Kind] = Kind::ALL.split_at(8).0.split_at(4).1;
const CACHELIB: &[Kind] = &[Kind::Store(Store::Cachelib)];
const LSM: &[Kind] = &[Kind::Store(Store::Lsm)];
const BTREE: &[Kind] = &[Kind::Store(Store::Btree)];
const ZONES: &[Kind] = &[Kind::Store(Store::Zones)];
const PLACED: &[Kind] = &[Kind::Zipf, Kind::HotCold];
const DRAWN: &[Kind] = &[Kind::Random, Kind::Sequential, Kind::Zipf, Kind::HotCold];
const VOLUMES: &[Kind] = &[Kind::FileCopy, Kind::Desktop];
const FILLED: &[Kind] = &[Kind::FileCopy, Kind::Desktop, Kind::Store(Store::Lsm)];
const FLUSHED: &[Kind] = &[
    Kind::Random,
    Kind::Sequential,
    Kind::Zipf,
    Kind::HotCold,
    Kind::Store(Store::Wal),
    Kind::Store(Store::Btree),
];
const MIXED: &[Kind] = &[
    Kind::Random,
    Kind::Sequential,
    Kind::Zipf,
    Kind::HotCold,
    Kind::Store(Store::Cachelib),
    Kind::Store(Store::Zones),
];
const PARTITIONED: &[Kind] = Kind::ALL.split_at(9).1;
const APPS: &[Kind] = Kind::ALL.split_at(11).1;
/// All that do not end by themselves.
const COUNTED: &[Kind] = Kind::ALL.split_at(11).0;

/// Every key of every kind, in the order of a canonical spec.
pub const KEYS: &[Key] = &[
    key(
        "span",
        &Kind::ALL,
        "size",
        "16GiB; what an application needs",
        "length of the address range that requests lie in",
    ),
    key("offset", &Kind::ALL, "size", "0B", "where the address range starts"),
    key(
        "size",
        DRAWN,
        "size or list",
        "4KiB",
        "length of a request; `4KiB|16KiB:0.3` draws from a list, sizes without a share split the rest evenly",
    ),
    key(
        "align",
        DRAWN,
        "size",
        "the smallest size; 512B for sequential",
        "requests start at the offset plus a multiple of this",
    ),
    key(
        "fs",
        &[Kind::FileCopy],
        "ntfs or fat",
        "ntfs",
        "the file system: NTFS on a drive, or FAT32 on a memory card",
    ),
    key(
        "os",
        &[Kind::Desktop],
        "windows or ubuntu",
        "windows",
        "Windows XP on NTFS, or Ubuntu of 2009 on ext3",
    ),
    key(
        "partition",
        PARTITIONED,
        "size",
        "31.5KiB; 4MiB for fat; 1MiB for ext4-install and those behind it",
        "what lies before the partition; the rest of the span is the volume",
    ),
    key(
        "mean",
        VOLUMES,
        "size",
        "60KiB; 20KiB for desktop",
        "mean length of the requests, rounded to whole bytes",
    ),
    key(
        "fill",
        FILLED,
        "share",
        "0.8; 0.5 for desktop; 0.6 for lsm",
        "how full the volume is kept, what the file system keeps for itself included; share of the space that the tree's data take",
    ),
    key(
        "scale",
        APPS,
        "share",
        "1.0",
        "how much of what the application writes, and of the volume, from 0.01 to 1",
    ),
    key("phase", APPS, "all or a name", "all", "one phase alone, after those before it: emule:phase=chunks"),
    key("count", COUNTED, "requests", "1000000", "number of requests, flushes included"),
    key(
        "written",
        VOLUMES,
        "size",
        "what count requests write",
        "bytes to write in all, rounded to whole sectors, instead of a count; the last request is cut to fit",
    ),
    key(
        "write",
        MIXED,
        "share",
        "what trim and flush leave",
        "share of the requests that write; the rest reads",
    ),
    key("trim", DRAWN, "share", "0.0", "share of the requests that discard"),
    key("flush", DRAWN, "share", "0.0", "share of the requests that flush"),
    key(
        "flush_every",
        FLUSHED,
        "requests",
        "never; 1 for wal and btree",
        "every n-th request is a flush, the shares are of the others; in wal and btree: records from flush to flush, 0 for none",
    ),
    key(
        "rate",
        &Kind::ALL,
        "requests/s",
        "closed loop",
        "Poisson arrivals: exponential gaps of this mean rate",
    ),
    key(
        "period",
        &Kind::ALL,
        "time",
        "closed loop",
        "fixed time from request to request, or from burst to burst",
    ),
    key("burst", &Kind::ALL, "requests", "1", "requests that arrive together every period (or burst_period)"),
    key(
        "burst_period",
        &Kind::ALL,
        "time",
        "none",
        "time from burst to burst, the bursts being on top of one request every period",
    ),
    key(
        "theta",
        &[Kind::Zipf, Kind::Store(Store::Btree)],
        "number",
        "0.99",
        "exponent of the popularity, above 0 and at most 5",
    ),
    key("hot_share", &[Kind::HotCold], "share", "0.2", "share of the starts that is hot"),
    key("hot_writes", &[Kind::HotCold], "share", "0.8", "share of the requests that goes to hot starts"),
    key(
        "layout",
        PLACED,
        "scattered or together",
        "scattered for zipf, together for hotcold",
        "whether popular starts are spread over the span by a seeded permutation or are its first ones",
    ),
    key("small", CACHELIB, "share", "0.04", "share of the span for buckets of small objects"),
    key("small_writes", CACHELIB, "share", "0.5", "share of the written bytes that are small objects"),
    key("bucket", CACHELIB, "size", "4KiB", "length of a bucket, written whole"),
    key("region", CACHELIB, "size", "16MiB", "length of a region of large objects, written whole"),
    key("table", LSM, "size", "64MiB", "length of the table in memory, and of a file"),
    key("fanout", LSM, "number", "10", "how many times a level is as large as the one above, from 2 to 100"),
    key("log", BTREE, "share", "0.05", "share of the span for the log"),
    key("page", BTREE, "size", "16KiB", "length of a page of the database"),
    key("pages", BTREE, "number", "2", "pages written for each record of the log"),
    key("zone", ZONES, "size", "64MiB", "capacity of a zone: that of the drive"),
    key("open", ZONES, "number", "4", "zones that are written at a time, from 1 to 1000"),
    key(
        "append",
        ZONES,
        "share",
        "0.5",
        "share of the writes that are appends; the others name the write pointer",
    ),
    key(
        "finish_at",
        ZONES,
        "share",
        "1",
        "share of a zone that is written before it is finished; 1: it is filled",
    ),
    key("window", ZONES, "size", "0B", "random write area (ZRWA) that zones are opened with; 0B: none"),
    key(
        "rewrite",
        ZONES,
        "share",
        "0.2",
        "with a window: share of its requests that is written again before the commit",
    ),
    key(
        "commit",
        ZONES,
        "share",
        "0.5",
        "with a window: share that a command commits; writes beyond it the others",
    ),
    key(
        "request",
        &[Kind::Store(Store::Cachelib), Kind::Store(Store::Lsm), Kind::Store(Store::Zones)],
        "size",
        "256KiB",
        "longest request of data that are written in order",
    ),
    key(
        "record",
        &[Kind::Store(Store::Lsm), Kind::Store(Store::Wal), Kind::Store(Store::Btree)],
        "size",
        "16KiB",
        "length of a record of the log",
    ),
    key(
        "hints",
        STORES,
        "true or false",
        "true",
        "whether requests carry placement handles of their own: by size of object, level of file, log or page",
    ),
    key(
        "stream",
        &Kind::ALL,
        "number",
        "0",
        "placement handle of all requests, from 0 to 255; the first one, where requests carry handles of their own",
    ),
    key(
        "seed",
        &Kind::ALL,
        "number",
        "1",
        "start of the random numbers: the same seed gives the same requests",
    ),
];

const fn key(
    name: &'static str,
    kinds: &'static [Kind],
    unit: &'static str,
    default: &'static str,
    help: &'static str,
) -> Key {
    Key { name, kinds, unit, default, help }
}
