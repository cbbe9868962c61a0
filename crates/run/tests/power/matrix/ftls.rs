//! FTLs whose power is cut.

/// Blocks are moved after a few readings, and each 50 us.
const REFRESH: [(&str, &str); 5] = [
    ("ageing.kind", "power-law"),
    ("ageing.pace", "1000000000"),
    ("background.refresh.overdue", "0ns"),
    ("background.refresh.age", "0.6"),
    ("background.refresh.reads", "5"),
];

/// FTLs, with settings of their own.
pub(super) const FTLS: [(&str, &[(&str, &str)]); 36] = [
    ("page", &[]),
    ("page", &[("ftl.map_unit", "512")]),
    ("page", &[("page", "2KiB"), ("ftl.map_unit", "512"), ("gc.frontiers", "2"), ("op_ratio", "1")]),
    ("page", &[("slc.kind", "static"), ("nand.cell", "tlc")]),
    ("page", &[("slc.kind", "dynamic"), ("nand.cell", "mlc"), ("slc.fold_after", "50us"), ("op_ratio", "1")]),
    (
        "page",
        &[
            ("slc.kind", "both"),
            ("nand.cell", "mlc"),
            ("ftl.map_unit", "512"),
            ("slc.when_full", "direct"),
            ("op_ratio", "1"),
        ],
    ),
    ("page", &[("alloc.kind", "superblock")]),
    ("page", &[("alloc.kind", "superblock"), ("alloc.parity", "3"), ("op_ratio", "1")]),
    (
        "page",
        &[
            ("alloc.kind", "superblock"),
            ("page", "2KiB"),
            ("ftl.map_unit", "512"),
            ("gc.frontiers", "2"),
            ("op_ratio", "1"),
        ],
    ),
    (
        "page",
        &[
            ("alloc.kind", "superblock"),
            ("alloc.parity", "3"),
            ("slc.kind", "static"),
            ("nand.cell", "tlc"),
            ("op_ratio", "1"),
        ],
    ),
    (
        "page",
        &[
            ("alloc.kind", "superblock"),
            ("ftl.map_unit", "512"),
            ("slc.kind", "dynamic"),
            ("nand.cell", "mlc"),
            ("slc.fold_after", "50us"),
            ("op_ratio", "1"),
        ],
    ),
    ("page", &REFRESH),
    ("page", &[("alloc.kind", "dynamic")]),
    ("page", &[("alloc.kind", "dynamic"), ("ftl.map_unit", "512")]),
    (
        "page",
        &[("alloc.kind", "dynamic"), ("gc.frontiers", "2"), ("wear.static_gap", "2"), ("op_ratio", "1")],
    ),
    (
        "page",
        &[
            ("trim.backlog", "3"),
            ("trim.batch", "1"),
            ("trim.page_time", "20us"),
            ("trim.idle_after", "50us"),
        ],
    ),
    (
        "page",
        &[
            ("alloc.kind", "superblock"),
            ("trim.granularity", "2KiB"),
            ("trim.backlog", "8"),
            ("trim.idle_after", "50us"),
            ("op_ratio", "1"),
        ],
    ),
    (
        "page",
        &[
            ("alloc.kind", "superblock"),
            ("alloc.parity", "3"),
            ("ageing.kind", "power-law"),
            ("ageing.cycles", "2500"),
            ("ageing.retention", "300"),
            ("op_ratio", "1"),
        ],
    ),
    ("log-block", &[]),
    ("log-block", &[("gc.throttle", "2")]),
    ("fast", &[]),
    ("fast", &[("ftl.sw_full", "partial-merge")]),
    ("bast", &[]),
    ("kast", &[]),
    ("dftl", &[]),
    ("dftl", &REFRESH),
    ("dftl", &[("trim.backlog", "3"), ("trim.idle_after", "50us")]),
    ("dftl", &[("ftl.cache_bytes", "512")]),
    ("dftl", &[("ftl.cache_bytes", "512"), ("gc.frontiers", "2"), ("wear.static_gap", "2")]),
    ("dftl", &[("ftl.cache_bytes", "128"), ("alloc.kind", "dynamic"), ("op_ratio", "2")]),
    (
        "dftl",
        &[
            ("ftl.cache_bytes", "128"),
            ("alloc.kind", "dynamic"),
            ("slc.kind", "both"),
            ("slc.static_blocks", "1"),
            ("nand.cell", "mlc"),
            ("op_ratio", "2"),
        ],
    ),
    (
        "dftl",
        &[
            ("ftl.cache_bytes", "512"),
            ("alloc.kind", "superblock"),
            ("slc.kind", "dynamic"),
            ("nand.cell", "tlc"),
            ("slc.when_full", "direct"),
            ("slc.fold_after", "50us"),
            ("op_ratio", "2"),
        ],
    ),
    ("page", &[("ftl.classifier", "generations"), ("ftl.groups", "4"), ("op_ratio", "2")]),
    ("page", &[("ftl.classifier", "death-time"), ("op_ratio", "2")]),
    ("page", &[("ftl.classifier", "frequency"), ("alloc.kind", "superblock"), ("op_ratio", "3")]),
    (
        "page",
        &[
            ("ftl.classifier", "age-groups"),
            ("ftl.map_unit", "512"),
            ("alloc.kind", "superblock"),
            ("alloc.parity", "3"),
            ("pages_per_block", "16"),
            ("op_ratio", "4"),
        ],
    ),
];
