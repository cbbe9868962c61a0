//! Every scheduler with every FTL, allocation, buffer and way to use planes and channels: refused in one line, or run to
//! the end under verification.

use std::collections::BTreeMap;

use flashweir_ssd::config::layers::{Layer, resolve};
use flashweir_trace::{Op, Request};

use super::recorded;

const SCHEDULERS: [&[(&str, &str)]; 9] = [
    &[("sched.kind", "fifo")],
    &[("sched.kind", "read-first")],
    &[("sched.kind", "read-first"), ("sched.write_bound", "1ms")],
    &[("sched.kind", "read-first"), ("sched.preempt_gc", "true")],
    &[("sched.kind", "read-priority")],
    &[("sched.kind", "suspend"), ("sched.write_weight", "0")],
    &[("sched.kind", "suspend"), ("sched.suspend_time", "9us"), ("sched.max_suspensions", "1")],
    &[("sched.kind", "out-of-order"), ("sched.window", "4")],
    &[("sched.kind", "flin")],
];
const FTLS: [&str; 7] = ["page", "direct", "log-block", "fast", "bast", "kast", "dftl"];
const ALLOCATIONS: [&str; 3] = ["striped", "dynamic", "superblock"];
const BUFFERS: [(&str, &str); 3] = [("0", "buffer"), ("4KiB", "buffer"), ("4KiB", "flash")];
/// Each of them on or off.
const FLASH: [&str; 4] = ["timing.cache_program", "timing.multi_plane", "planes_bound", "units"];
const HOSTS: [(&str, &str); 2] = [("host.mode", "open"), ("host.queue_depth", "5")];

/// Requests of all sizes, many close together.
fn requests(sectors: u64) -> Vec<Request> {
    let mut state = 3_u64;
    let mut below = |bound: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % bound
    };
    let mut time_ns = 0;
    let request = |_| {
        time_ns += below(3) * below(200_000);
        let op = match below(20) {
            0 => Op::Flush,
            1 => Op::Trim,
            2..=9 => Op::Read,
            _ => Op::Write,
        };
        let lba = below(sectors);
        let length = (1 + below(9)).min(sectors - lba) as u32;
        let (lba, sectors) = if op == Op::Flush { (0, 0) } else { (lba, length) };
        Request { time_ns, lba, sectors, stream: 0, op, handle: (lba / 8 % 5) as u8 }
    };
    (0..120).map(request).collect()
}

#[test]
fn every_combination_is_refused_in_one_line_or_runs_to_the_end() {
    let base = [
        ("channels", "2"),
        ("dies", "2"),
        ("planes", "2"),
        ("page", "1KiB"),
        ("pages_per_block", "4"),
        ("capacity", "64KiB"),
    ];
    let mut ran = BTreeMap::<_, u64>::new();
    let mut refused = BTreeMap::<String, u64>::new();
    for scheduler in SCHEDULERS {
        for (ftl, alloc) in FTLS.into_iter().flat_map(|ftl| ALLOCATIONS.map(|alloc| (ftl, alloc))) {
            for ((bytes, ack), on) in
                BUFFERS.into_iter().flat_map(|buffer| (0..16).map(move |on| (buffer, on)))
            {
                for host in HOSTS {
                    let own = [
                        ("ftl.kind", ftl),
                        ("alloc.kind", alloc),
                        ("buffer.bytes", bytes),
                        ("buffer.ack", ack),
                        ("op_ratio", if ftl == "dftl" { "3" } else { "1.6" }),
                        ("precondition", if ftl == "direct" { "empty" } else { "full" }),
                        host,
                    ];
                    let flash = FLASH.iter().enumerate().filter(|(number, _)| on >> number & 1 == 1);
                    let flash =
                        flash.map(|(_, key)| (*key, if *key == "units" { "synchronized" } else { "true" }));
                    let settings: Vec<_> =
                        base.iter().chain(&own).chain(scheduler).copied().chain(flash).collect();
                    let config = match resolve(&[Layer::from_assignments("test", settings.iter().copied())]) {
                        Ok(config) => config,
                        Err(error) => {
                            let message = error.to_string();
                            assert!(
                                message.contains(": ") && !message.contains('\n'),
                                "{settings:?}: {message}"
                            );
                            *refused.entry(message).or_default() += 1;
                            continue;
                        }
                    };
                    let geometry = flashweir_ssd::Geometry::new(&config).expect("checked");
                    let requests = requests(geometry.capacity_sectors());
                    let (stats, _) = recorded(&config, &requests, 50)
                        .unwrap_or_else(|error| panic!("{settings:?}: {error}"));
                    assert_eq!(stats.counters.requests.iter().sum::<u64>(), 120, "{settings:?}");
                    *ran.entry((scheduler[0].1, ftl)).or_default() += 1;
                }
            }
        }
    }
    println!("{ran:?}\n{refused:#?}");
    assert_eq!(ran.len(), 6 * FTLS.len(), "some scheduler never runs with some FTL: {ran:?}");
}

#[test]
fn a_page_that_waits_for_a_die_gets_it_when_a_command_that_nobody_waits_for_was_its_last() {
    for buffer in ["0", "1024"] {
        let settings = [
            ("page", "512"),
            ("pages_per_block", "3"),
            ("capacity", "23552"),
            ("buffer.bytes", buffer),
            ("channels", "1"),
            ("dies", "2"),
            ("alloc.kind", "dynamic"),
            ("sched.kind", "read-first"),
            ("sched.preempt_gc", "true"),
            ("host.queue_depth", "7"),
            ("slc.kind", "dynamic"),
            ("timing.read", "10us,13us,31us"),
        ];
        let config = resolve(&[Layer::from_assignments("test", settings)]).expect("a legal drive");
        let write = |lba, sectors| Request { time_ns: 0, lba, sectors, stream: 0, op: Op::Write, handle: 0 };
        let writes = [(25, 21), (1, 38), (26, 6), (41, 5), (17, 14), (3, 8), (7, 16), (16, 29), (42, 4)];
        let mut requests = writes.map(|(lba, sectors)| write(lba, sectors)).to_vec();
        requests.insert(7, Request { op: Op::Read, ..write(11, 34) });
        recorded(&config, &requests, 1).unwrap_or_else(|error| panic!("buffer {buffer}: {error}"));
    }
}
