//! Writes of Linux systems of today, on a volume of 16 GB that starts at 1 MiB.
//!
//! No recordings are published with the shares of these, so the shares follow from what each program does by its
//! documentation; docs/reference/workloads.md says which numbers are from there and which are assumptions.

use super::plan::{Order, Phase, Plan, Shape, Spread, Strand, files, files_in_groups, pages, strand};

/// Partitions start at 1 MiB.
const MEBIBYTE: u64 = 2048;
const PAGE: &[(u64, u64)] = &[(8, 1)];
const FEW_PAGES: &[(u64, u64)] = &[(8, 8), (16, 2), (32, 1), (64, 1)];

const fn plan(written_mb: u64, mean_kib: u64, phases: &'static [Phase]) -> Plan {
    Plan { written_mb, mean_kib, partition_sectors: MEBIBYTE, aligned: None, phases }
}

const fn whole(classes: [u64; 4], strands: &'static [Strand]) -> Phase {
    Phase { name: "all", share: 1000, classes, strands }
}

/// Delayed allocation writes files in long requests; the journal goes around; tables of 16 groups lie together, so
/// inodes are clustered and not scattered.
pub(super) const EXT4_INSTALL: Plan = plan(
    3000,
    40,
    &[whole(
        [6900, 2300, 0, 800],
        &[
            strand(files(512, 7, 512, 8), (200, 850), [20, 5, 0, 0], 32),
            strand(files(4, 6, 512, 8), (100, 200), [1, 8, 0, 0], 8),
            strand(pages(FEW_PAGES, Order::Apart, Spread::Popular), (10, 40), [0, 2, 0, 1], 8),
            strand(Shape::Log { sizes: &[(8, 1), (32, 2), (64, 2), (128, 1)] }, (900, 908), [3, 0, 0, 0], 8),
        ],
    )],
);

/// Sources are unpacked, objects come, libraries and programs are linked from them, and all of it is removed: space is
/// written again soon.
pub(super) const PACKAGE_BUILD: Plan = plan(
    1500,
    16,
    &[
        Phase {
            name: "unpack",
            share: 200,
            classes: [4000, 5000, 500, 500],
            strands: &[
                strand(files_in_groups(4, 6, 512), (5, 900), [4, 5, 0, 0], 16),
                strand(pages(FEW_PAGES, Order::Apart, Spread::Popular), (910, 915), [0, 1, 0, 1], 8),
                strand(Shape::Log { sizes: &[(8, 1), (32, 2), (64, 2)] }, (920, 921), [0, 0, 1, 0], 8),
            ],
        },
        Phase {
            name: "build",
            share: 800,
            classes: [2200, 1800, 3000, 3000],
            strands: &[
                strand(files(16, 7, 512, 4), (925, 965), [4, 5, 0, 0], 16),
                // Objects in the place of removed ones.
                strand(pages(FEW_PAGES, Order::Apart, Spread::Even), (966, 974), [0, 1, 6, 4], 16),
                strand(pages(PAGE, Order::Mixed, Spread::Popular), (910, 915), [0, 0, 0, 1], 8),
                strand(Shape::Log { sizes: &[(8, 1), (32, 2), (64, 2)] }, (920, 922), [0, 0, 2, 1], 8),
            ],
        },
    ],
);

/// Every transaction appends its pages of 4 KiB to the log; after 1000 pages a checkpoint writes them into the database,
/// and the log begins again at its start.
pub(super) const SQLITE_WAL: Plan = plan(
    600,
    6,
    &[whole(
        [300, 400, 5300, 4000],
        &[
            strand(Shape::Log { sizes: &[(8, 4), (16, 3), (32, 1)] }, (300, 301), [1, 0, 10, 0], 12),
            // The database.
            strand(pages(PAGE, Order::Mixed, Spread::Mild), (302, 308), [0, 1, 0, 3], 32),
            // The file system's journal, at every commit.
            strand(Shape::Log { sizes: &[(8, 2), (16, 1)] }, (900, 902), [0, 0, 3, 1], 2),
        ],
    )],
);

/// The log in segments of 16 MB that are used again; checkpoints write pages of 8 KiB, sorted, over tables and indexes;
/// new rows make files longer.
pub(super) const POSTGRESQL: Plan = plan(
    4000,
    12,
    &[whole(
        [1500, 700, 3800, 4000],
        &[
            strand(Shape::Log { sizes: &[(16, 6), (32, 2), (128, 1)] }, (500, 516), [2, 0, 10, 0], 8),
            strand(tables(), (100, 180), [0, 3, 1, 20], 64),
            strand(files(8192, 5, 16, 8), (200, 450), [4, 1, 0, 0], 32),
            strand(Shape::Log { sizes: PAGE }, (900, 904), [0, 0, 1, 1], 2),
        ],
    )],
);

const fn tables() -> Shape {
    Shape::Pages {
        unit: 16,
        sizes: &[(16, 1)],
        order: Order::Mixed,
        spread: Spread::Mild,
        mixed: false,
        grouped: false,
    }
}

/// The log is appended to; memory tables are flushed, and compactions write files of 64 MiB one behind the other, later
/// over the space of removed ones.
pub(super) const ROCKSDB: Plan = plan(
    8000,
    120,
    &[
        Phase {
            name: "load",
            share: 400,
            classes: [9300, 400, 200, 100],
            strands: &[
                strand(files(65536, 1, 512, 256), (100, 330), [10, 1, 0, 0], 64),
                strand(Shape::Log { sizes: &[(8, 1), (32, 1), (64, 1)] }, (500, 520), [1, 0, 1, 0], 8),
                strand(pages(PAGE, Order::Apart, Spread::Popular), (20, 22), [0, 1, 0, 1], 2),
            ],
        },
        Phase {
            name: "compact",
            share: 600,
            classes: [500, 100, 8800, 600],
            strands: &[
                strand(files(65536, 1, 512, 256), (340, 480), [10, 1, 0, 0], 64),
                strand(compactions(), (100, 305), [0, 0, 20, 8], 64),
                strand(Shape::Log { sizes: &[(8, 1), (32, 1), (64, 1)] }, (500, 520), [0, 0, 2, 0], 8),
                strand(pages(PAGE, Order::Apart, Spread::Popular), (20, 22), [0, 1, 0, 1], 2),
            ],
        },
    ],
);

/// Files of 64 MiB, in the place of removed ones.
const fn compactions() -> Shape {
    Shape::Chunks { bytes: 131_072, open: 2, sources: 1, block: 131_072, pieces: &[(1024, 8), (256, 1)] }
}

/// Services start: logs, caches and state files, each small, all over an image that was written before.
pub(super) const VM_BOOT: Plan = plan(
    120,
    7,
    &[whole(
        [1200, 2800, 1200, 4800],
        &[
            strand(files_in_groups(4, 5, 128), (5, 900), [3, 6, 0, 0], 6),
            strand(
                Shape::Pages {
                    unit: 8,
                    sizes: FEW_PAGES,
                    order: Order::Mixed,
                    spread: Spread::Mild,
                    mixed: false,
                    grouped: true,
                },
                (5, 900),
                [0, 4, 1, 6],
                6,
            ),
            // Logs of the system, written again at their ends.
            strand(pages(FEW_PAGES, Order::Apart, Spread::Popular), (910, 912), [0, 1, 2, 4], 4),
            strand(Shape::Log { sizes: &[(8, 2), (16, 1), (32, 1)] }, (920, 921), [1, 0, 4, 0], 4),
        ],
    )],
);
