//! Desktop applications of 2009 on a volume of 16 GB: what each writes, as shares of its bytes.
//!
//! Volumes, shares of sequential, rewritten and aligned bytes and the frequent lengths are those that were published
//! for recordings of these applications (docs/reference/workloads.md says where, and what the recordings do not say);
//! files, chunks and places follow what is known of the programs and file systems.

use super::plan::{Order, Phase, Plan, Shape, Spread, Strand, files, files_in_groups, pages, strand};

/// Partitions started behind the first track.
const FIRST_TRACK: u64 = 63;
const PAGE: &[(u64, u64)] = &[(8, 1)];
/// Mostly single pages.
const FEW_PAGES: &[(u64, u64)] = &[(8, 12), (16, 1), (32, 1)];
const CHUNK: u64 = 9_728_000 / 512;

const fn plan(written_mb: u64, mean_kib: u64, aligned: Option<u64>, phases: &'static [Phase]) -> Plan {
    Plan { written_mb, mean_kib, partition_sectors: FIRST_TRACK, aligned, phases }
}

const fn whole(classes: [u64; 4], strands: &'static [Strand]) -> Phase {
    Phase { name: "all", share: 1000, classes, strands }
}

/// 200 songs copied from one folder to another, in pieces of 64 KiB; free space is in pieces of some megabytes.
pub(super) const COPY_MP3: Plan = plan(
    816,
    60,
    None,
    &[whole(
        [9600, 390, 0, 10],
        &[
            strand(files(3072, 1, 64, 512), (100, 950), [1, 30, 0, 0], 16),
            // Records of files.
            strand(pages(PAGE, Order::Apart, Spread::Even), (60, 62), [0, 1, 0, 1], 1),
        ],
    )],
);

/// The disk test of a benchmark of whole computers: recordings of start-up, programs and writing of files replayed into
/// test files. Hot data are in files of their own.
pub(super) const PCMARK05: Plan = plan(
    2130,
    32,
    None,
    &[whole(
        [1600, 300, 6600, 1500],
        &[
            // Test files, written once.
            strand(files(65536, 1, 64, 16), (300, 400), [1, 3, 0, 0], 24),
            // Data that the tests rewrite: 24 MB, closely clustered.
            strand(
                pages(&[(128, 8), (8, 7), (16, 3)], Order::Apart, Spread::Even),
                (290, 292),
                [0, 2, 1, 1],
                24,
            ),
            strand(
                pages(&[(128, 8), (8, 7), (16, 3)], Order::Apart, Spread::Popular),
                (293, 294),
                [0, 1, 1, 1],
                24,
            ),
        ],
    )],
);

/// Three hours of surfing: a cache of small files and the index that is changed with each of them, hot and cold data in
/// the same small area.
pub(super) const BROWSER: Plan = plan(
    477,
    5,
    Some(310),
    &[whole(
        [200, 1800, 200, 7800],
        &[strand(
            Shape::Pages {
                unit: 8,
                sizes: FEW_PAGES,
                order: Order::Mixed,
                spread: Spread::Mild,
                mixed: true,
                grouped: false,
            },
            (200, 212),
            [1, 1, 1, 1],
            6,
        )],
    )],
);

/// 200 messages fetched: they are appended to the mail folder, whose index at its start is changed with each.
pub(super) const EMAIL: Plan = plan(
    40,
    5,
    Some(400),
    &[whole(
        [2200, 2200, 1300, 4300],
        &[strand(
            Shape::Pages {
                unit: 8,
                sizes: FEW_PAGES,
                order: Order::Apart,
                spread: Spread::Popular,
                mixed: true,
                grouped: false,
            },
            (200, 203),
            [1, 1, 1, 1],
            6,
        )],
    )],
);

/// Windows on NTFS: files are copied, the registry and other settings are written in between.
pub(super) const INSTALL_WINDOWS: Plan = plan(
    1888,
    8,
    None,
    &[whole(
        [5300, 2600, 300, 1800],
        &[
            strand(files(256, 6, 64, 8), (250, 700), [30, 16, 0, 0], 16),
            // Small files.
            strand(files(4, 4, 64, 4), (120, 250), [1, 40, 0, 0], 8),
            // Records of files, and settings that lie elsewhere: hot and cold data mixed.
            strand(pages(FEW_PAGES, Order::Mixed, Spread::Mild), (90, 110), [0, 20, 1, 40], 8),
            strand(pages(FEW_PAGES, Order::Mixed, Spread::Mild), (710, 980), [0, 8, 0, 4], 2),
            // The registry's log, in sectors.
            strand(
                Shape::Pages {
                    unit: 1,
                    sizes: &[(1, 1)],
                    order: Order::Apart,
                    spread: Spread::Even,
                    mixed: false,
                    grouped: false,
                },
                (112, 113),
                [0, 1, 0, 2],
                8,
            ),
            // The file system's log.
            strand(Shape::Log { sizes: PAGE }, (86, 90), [0, 0, 4, 4], 2),
        ],
    )],
);

/// Linux on ext3: packages are unpacked into all groups, and every file that is read or made changes an inode in the
/// header of its group: small writes over the whole disk.
pub(super) const INSTALL_LINUX: Plan = plan(
    2387,
    11,
    None,
    &[whole(
        [2500, 5700, 0, 1800],
        &[
            strand(files_in_groups(512, 5, 128), (5, 980), [12, 3, 0, 0], 16),
            strand(files_in_groups(128, 1, 128), (5, 980), [0, 12, 0, 0], 8),
            strand(files_in_groups(4, 3, 128), (5, 980), [0, 8, 0, 0], 8),
            // Group headers.
            strand(
                Shape::Pages {
                    unit: 8,
                    sizes: PAGE,
                    order: Order::Mixed,
                    spread: Spread::Mild,
                    mixed: false,
                    grouped: true,
                },
                (5, 980),
                [0, 4, 0, 12],
                8,
            ),
            // The journal.
            strand(Shape::Log { sizes: &[(8, 3), (16, 1), (32, 1)] }, (982, 990), [1, 0, 0, 0], 4),
        ],
    )],
);

/// A file-sharing client that works in pieces of 4 to 12 KiB: space is reserved first, then several chunks of 9.28 MB
/// are filled at once, each by several sources.
pub(super) const EMULE: Plan = plan(
    9437,
    15,
    None,
    &[
        Phase {
            name: "reserve",
            share: 500,
            classes: [10_000, 0, 0, 0],
            strands: &[strand(files(1_600_000, 1, 512, 16), (100, 410), [1, 1, 0, 0], 64)],
        },
        Phase {
            name: "chunks",
            share: 500,
            classes: [860, 8140, 140, 860],
            strands: &[
                strand(
                    Shape::Chunks { bytes: CHUNK, open: 5, sources: 5, block: 360, pieces: EMULE_PIECES },
                    (415, 720),
                    [1, 40, 0, 0],
                    16,
                ),
                // Chunks in space that was written when it was reserved.
                strand(
                    Shape::Chunks { bytes: CHUNK, open: 3, sources: 5, block: 360, pieces: EMULE_PIECES },
                    (100, 395),
                    [0, 0, 4, 10],
                    16,
                ),
                // Records of files, and the client's own lists.
                strand(pages(PAGE, Order::Apart, Spread::Popular), (80, 82), [0, 1, 0, 3], 2),
            ],
        },
    ],
);
const EMULE_PIECES: &[(u64, u64)] = &[(8, 50), (24, 48)];

/// A file-sharing client that gathers pieces of 1 MB in 32 MB of memory: space is reserved first, then long writes go to
/// scattered places.
pub(super) const BITTORRENT: Plan = plan(
    12_587,
    180,
    None,
    &[
        Phase {
            name: "reserve",
            share: 500,
            classes: [10_000, 0, 0, 0],
            strands: &[strand(files(1_000_000, 1, 512, 16), (60, 465), [1, 1, 0, 0], 64)],
        },
        Phase {
            name: "pieces",
            share: 500,
            classes: [4400, 4600, 200, 800],
            strands: &[
                // Pieces of 1 MB as two requests, as many as the memory holds.
                strand(scattered(1024), (470, 860), [30, 35, 0, 0], 64),
                strand(scattered_64(), (862, 975), [10, 4, 0, 0], 32),
                // Pieces in space that was written when it was reserved.
                strand(scattered(1024), (60, 460), [0, 0, 4, 4], 8),
                // The file system's own.
                strand(pages(PAGE, Order::Mixed, Spread::Mild), (40, 55), [0, 1, 0, 1], 4),
            ],
        },
    ],
);

const fn scattered(unit: u64) -> Shape {
    Shape::Chunks {
        bytes: 2048,
        open: 4,
        sources: 1,
        block: 2048,
        pieces: if unit == 1024 { LONG } else { SHORT },
    }
}

const fn scattered_64() -> Shape {
    scattered(128)
}

const LONG: &[(u64, u64)] = &[(1024, 1)];
const SHORT: &[(u64, u64)] = &[(128, 1)];
