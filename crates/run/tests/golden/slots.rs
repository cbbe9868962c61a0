//! Slots of a drive: for each, a drive and a workload under which its policies differ.

/// A setting, as on the command line.
pub(crate) type Setting = (&'static str, &'static str);

/// Numbers in which all drives of a slot differ.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Differ {
    /// Flash reads, programs or erases.
    Counts,
    /// Latency quantiles of all requests, or of those of a tenant.
    Quantiles,
}

/// A slot with the drives that tell its policies apart.
pub(crate) struct Slot {
    /// The file with its numbers.
    pub(crate) name: &'static str,
    /// The key that chooses the policy: there is a drive for each of its choices.
    pub(crate) key: &'static str,
    /// Settings of all drives.
    pub(crate) base: &'static [Setting],
    /// Settings that some choices need or that show them better.
    pub(crate) with: &'static [(&'static str, &'static [Setting])],
    /// Settings of drives that are refused without them.
    pub(crate) otherwise: &'static [Setting],
    /// Further drives: policies with other settings of their own.
    pub(crate) more: &'static [&'static [Setting]],
    /// Workloads; each is a tenant. `trace` is the trace that ships.
    pub(crate) loads: &'static [&'static str],
    /// Pairs of drives that can't differ.
    pub(crate) alike: &'static [(&'static str, &'static str)],
    /// Numbers in which all others differ.
    pub(crate) differ: Differ,
}

const NO_SLOT: Slot = Slot {
    name: "",
    key: "",
    base: &[],
    with: &[],
    otherwise: &[],
    more: &[],
    alike: &[],
    loads: &[],
    differ: Differ::Counts,
};

pub(crate) const VICTIM: Slot = Slot {
    name: "victim",
    key: "gc.victim",
    base: &[
        ("channels", "4"),
        ("capacity", "16MiB"),
        ("pages_per_block", "32"),
        ("op_ratio", "0.15"),
        ("precondition", "full"),
    ],
    more: &[
        &[("gc.victim", "d-choices"), ("gc.choices", "2")],
        &[("gc.frontiers", "2")],
        &[("gc.free_blocks", "3")],
        &[("wear.static_gap", "4")],
        &[("wear.static_gap", "4"), ("wear.dynamic", "true"), ("gc.frontiers", "2")],
    ],
    loads: &[
        "hotcold:span=16MiB,size=4KiB|16KiB:0.2,count=12000,hot_share=0.1,hot_writes=0.9,layout=scattered",
    ],
    ..NO_SLOT
};

pub(crate) const FTL: Slot = Slot {
    name: "ftl",
    key: "ftl.kind",
    base: &[
        ("channels", "2"),
        ("capacity", "8MiB"),
        ("pages_per_block", "16"),
        ("op_ratio", "0.5"),
        ("precondition", "empty"),
    ],
    with: &[("dftl", &[("ftl.cache_bytes", "4KiB")])],
    more: &[
        &[("ftl.kind", "fast"), ("ftl.sw_full", "partial-merge")],
        &[("ftl.kind", "kast"), ("ftl.associativity", "2")],
        &[("ftl.kind", "log-block"), ("gc.throttle", "2")],
        &[("ftl.kind", "dftl"), ("ftl.cache_bytes", "1KiB")],
        &[("ftl.kind", "dftl"), ("ftl.cache_bytes", "4KiB"), ("ftl.batch_update", "false")],
        &[("ftl.kind", "dftl"), ("ftl.cache_bytes", "4KiB"), ("gc.frontiers", "2")],
        &[("ftl.kind", "dftl"), ("ftl.cache_bytes", "4KiB"), ("wear.static_gap", "2")],
        &[("ftl.kind", "zones"), ("ftl.separate", "none")],
        &[("ftl.kind", "zones"), ("ftl.host", "none")],
    ],
    loads: &[
        "random:span=4MiB,size=4KiB|12KiB:0.3,align=4KiB,count=3000,write=0.8,trim=0.02",
        "sequential:span=4MiB,offset=4MiB,size=6KiB,count=1500,write=0.9",
    ],
    // The host's log is a page map.
    alike: &[("ftl.kind=page", "ftl.kind=zones ftl.separate=none")],
    ..NO_SLOT
};

pub(crate) const STATE: Slot = Slot {
    name: "precondition",
    key: "precondition",
    base: &[("channels", "2"), ("capacity", "8MiB"), ("pages_per_block", "16"), ("op_ratio", "0.5")],
    more: &[
        &[("precondition", "on-read"), ("ftl.kind", "dftl"), ("ftl.cache_bytes", "4KiB")],
        &[("precondition", "on-read"), ("ftl.kind", "fast")],
        &[("precondition", "on-read"), ("ftl.kind", "bast"), ("op_ratio", "0.1")],
        &[("precondition", "on-read"), ("op_ratio", "0.04"), ("gc.frontiers", "2")],
        &[("precondition", "on-read"), ("op_ratio", "0.04"), ("alloc.kind", "dynamic")],
        &[
            ("precondition", "on-read"),
            ("op_ratio", "0.04"),
            ("alloc.kind", "hybrid"),
            ("tenants.channels", "shared"),
            WINDOW,
            ("host.mode", "open"),
        ],
    ],
    loads: &["random:span=8MiB,size=4KiB|12KiB:0.3,align=4KiB,count=6000,write=0.6,trim=0.02"],
    ..NO_SLOT
};

pub(crate) const PLANNER: Slot = Slot {
    name: "planner",
    key: "gc.planner",
    base: &[
        ("channels", "4"),
        ("capacity", "8MiB"),
        ("pages_per_block", "16"),
        ("op_ratio", "0.3"),
        ("precondition", "full"),
        ("ftl.kind", "fast"),
        ("buffer.bytes", "64KiB"),
    ],
    with: &[("forwarding", &[("gc.spare_blocks", "3")]), ("cycle-filling", &[("gc.spare_blocks", "0")])],
    otherwise: &[("clock", "lock-step")],
    more: &[
        &[("clock", "lock-step")],
        &[("clock", "lock-step"), ("gc.throttle", "2")],
        &[("units", "synchronized")],
        &[("gc.planner", "cycle-filling"), ("gc.throttle", "2")],
        &[("gc.planner", "selective-filling"), ("gc.merged_percent", "50"), ("gc.moved_percent", "30")],
    ],
    loads: &[
        "hotcold:span=8MiB,size=4KiB|24KiB:0.3,align=4KiB,count=3000,write=0.9,hot_share=0.1,hot_writes=0.7",
    ],
    ..NO_SLOT
};

pub(crate) const BUFFER: Slot = Slot {
    name: "buffer",
    key: "buffer.replacement",
    base: &[
        ("channels", "2"),
        ("capacity", "8MiB"),
        ("pages_per_block", "16"),
        ("op_ratio", "0.3"),
        ("precondition", "full"),
        ("buffer.bytes", "512KiB"),
    ],
    more: &[
        &[("buffer.coalesce", "false")],
        &[("buffer.ack", "flash"), ("host.queue_depth", "16")],
        &[("buffer.order", "in-order"), ("clock", "lock-step")],
        &[("buffer.bytes", "64KiB")],
    ],
    loads: &["zipf:span=8MiB,size=4KiB|16KiB:0.3,count=5000,write=0.8,trim=0.01,layout=together"],
    ..NO_SLOT
};

pub(crate) const ALLOC: Slot = Slot {
    name: "alloc",
    key: "alloc.kind",
    base: &ARRAY,
    with: &[("hybrid", &[("tenants.channels", "isolated"), WINDOW])],
    more: &[
        &[("alloc.kind", "dynamic"), ("alloc.mode", "1")],
        &[("alloc.kind", "superblock"), ("alloc.superblock_dies", "2"), ("alloc.parity", "1")],
    ],
    loads: &PAIR,
    ..NO_SLOT
};

/// Every order puts the same pages together, on other units: orders differ in times only. Chips and dies of a channel are
/// alike, so those that only swap these two don't even differ in times.
pub(crate) const ORDER: Slot = Slot {
    name: "order",
    key: "alloc.order",
    base: &ARRAY,
    more: &[&[("timing.multi_plane", "true")]],
    alike: &[("alloc.order=CDWP", "alloc.order=CWDP"), ("alloc.order=CPDW", "alloc.order=CPWD")],
    loads: &PAIR,
    differ: Differ::Quantiles,
    ..NO_SLOT
};

pub(crate) const CHANNELS: Slot = Slot {
    name: "channels",
    key: "tenants.channels",
    base: &[
        ("channels", "4"),
        ("capacity", "16MiB"),
        ("pages_per_block", "16"),
        ("op_ratio", "0.6"),
        ("precondition", "full"),
        ("alloc.kind", "dynamic"),
        ("host.mode", "open"),
        WINDOW,
    ],
    // Without an allocator there are no windows.
    with: &[("all", &[("tenants.window_requests", "10000")])],
    more: &[
        &[("tenants.channels", "ssdkeeper"), ("tenants.applies", "same")],
        &[("tenants.channels", "partially-isolated"), ("tenants.min_channels", "2")],
    ],
    loads: &TENANTS,
    ..NO_SLOT
};

pub(crate) const SCHED: Slot = Slot {
    name: "sched",
    key: "sched.kind",
    base: &[
        ("channels", "2"),
        ("dies", "2"),
        ("capacity", "8MiB"),
        ("pages_per_block", "16"),
        ("op_ratio", "0.3"),
        ("precondition", "full"),
        ("host.queue_depth", "16"),
    ],
    more: &[
        &[("sched.kind", "read-first"), ("sched.write_bound", "2ms")],
        &[("sched.kind", "read-first"), ("sched.preempt_gc", "true")],
        &[("sched.kind", "read-first"), ("sched.dispatch", "immediate")],
        &[("sched.kind", "read-priority"), ("sched.preempt_gc", "true")],
        &[("sched.kind", "suspend"), ("sched.write_bound", "2ms")],
        &[("sched.kind", "suspend"), ("sched.write_weight", "0"), ("sched.max_suspensions", "1")],
        &[("sched.kind", "suspend"), ("sched.bus_reads_first", "false"), ("sched.suspend_time", "10us")],
        &[("sched.kind", "out-of-order"), ("sched.window", "4")],
        &[("sched.kind", "flin"), ("sched.balance_waits", "false")],
        &[("alloc.kind", "dynamic")],
    ],
    loads: &["random:span=8MiB,size=4KiB|12KiB:0.3,count=4000,write=0.5"],
    differ: Differ::Quantiles,
    ..NO_SLOT
};

pub(crate) const ARBITRATION: Slot = Slot {
    name: "arbitration",
    key: "host.arbitration",
    base: &[
        ("channels", "2"),
        ("capacity", "8MiB"),
        ("pages_per_block", "16"),
        ("op_ratio", "0.3"),
        ("precondition", "full"),
        ("host.mode", "open"),
        ("host.slots", "4"),
    ],
    with: &[("weighted", &[("host.weights", "1,4,2")]), ("fair", &[("host.weights", "1,4,2")])],
    more: &[&[("host.arbitration", "fair")]],
    loads: &[
        "random:span=8MiB,size=4KiB|24KiB:0.3,count=1200,write=0.8,rate=1000",
        "random:span=8MiB,size=4KiB,count=1200,write=0.3,rate=1000",
        "random:span=8MiB,size=4KiB,count=800,write=0.5,rate=600",
    ],
    differ: Differ::Quantiles,
    ..NO_SLOT
};

pub(crate) const TURNS: Slot = Slot {
    name: "turns",
    key: "tenants.turns",
    base: &[
        ("channels", "2"),
        ("dies", "2"),
        ("capacity", "8MiB"),
        ("pages_per_block", "16"),
        ("op_ratio", "0.5"),
        ("precondition", "full"),
        ("alloc.kind", "dynamic"),
        ("host.mode", "open"),
    ],
    more: &[&[("tenants.turns", "shortest-fair"), ("tenants.max_late_share", "0.15")]],
    loads: &[
        "random:span=4MiB,size=4KiB|64KiB:0.5,count=1000,write=0.9,rate=900",
        "random:span=2MiB,offset=4MiB,size=4KiB,count=1500,write=0.8,rate=1500",
        "random:span=2MiB,offset=6MiB,size=8KiB|16KiB,count=800,write=0.8,rate=800",
    ],
    differ: Differ::Quantiles,
    ..NO_SLOT
};

/// The trace that ships, without its TRIMs, on a drive that it makes collect.
pub(crate) const TRACE: Slot = Slot {
    name: "trace",
    base: &[("capacity", "1GiB"), ("op_ratio", "0.1"), ("precondition", "full")],
    more: &[
        &[],
        &[("gc.victim", "cost-benefit")],
        &[("ftl.kind", "fast")],
        &[("ftl.kind", "dftl"), ("ftl.cache_bytes", "32KiB")],
        &[("alloc.kind", "dynamic"), ("host.queue_depth", "16")],
        &[("buffer.bytes", "4MiB"), ("buffer.replacement", "fab")],
        &[
            ("channels", "4"),
            ("dies", "2"),
            ("planes", "2"),
            ("alloc.order", "CPDW"),
            ("timing.multi_plane", "true"),
        ],
        &[("page", "16KiB"), ("pages_per_block", "60")],
        &[("ftl.kind", "fast"), ("gc.planner", "cycle-filling"), ("buffer.bytes", "64KiB")],
    ],
    loads: &["trace"],
    ..NO_SLOT
};

/// Requests of a window of tenants.
const WINDOW: Setting = ("tenants.window_requests", "400");

/// A drive on which every order of allocation is another one.
const ARRAY: [Setting; 9] = [
    ("channels", "2"),
    ("chips", "2"),
    ("dies", "3"),
    ("planes", "2"),
    ("capacity", "16MiB"),
    ("pages_per_block", "8"),
    ("op_ratio", "0.4"),
    ("precondition", "full"),
    ("host.mode", "open"),
];

/// Two tenants: large requests, and small ones on hot data.
const PAIR: [&str; 2] = [
    "random:span=8MiB,size=4KiB|40KiB:0.3,count=2500,write=0.8,rate=2500",
    "hotcold:span=8MiB,offset=8MiB,size=4KiB,count=2500,write=0.9,rate=2500",
];

/// Three tenants: mostly reads, mostly writes, and bursts of large writes.
const TENANTS: [&str; 3] = [
    "random:span=5MiB,size=4KiB,count=1500,write=0.3,rate=1500",
    "hotcold:span=5MiB,offset=5MiB,size=4KiB|16KiB:0.2,count=1500,write=0.9,rate=1500",
    "random:span=5MiB,offset=10MiB,size=40KiB,align=4KiB,count=200,write=0.8,period=20ms,burst=4",
];
