//! Tracks of the drive's own work: superblocks, the SLC cache, and tasks; by hand, on a drive with round times.

use super::runs::{Slice, taken_apart};
use super::*;

/// Array read of a page in SLC mode, program in either mode, erase, and a page over the bus, ns.
const SLC_READ: u64 = 3_000;
const SLC_PROGRAM: u64 = 20_000;
const PROGRAM: u64 = 100_000;
const ERASE: u64 = 1_000_000;
const TRANSFER: u64 = 5_000;
const MS: u64 = 1_000_000;
const PAGE: i64 = 4096;

const BASE: [(&str, &str); 11] = [
    ("page", "4KiB"),
    ("op_ratio", "0.5"),
    ("host.mode", "open"),
    ("timing.read", "10us"),
    ("timing.program", "100us"),
    ("timing.erase", "1ms"),
    ("timing.bus", "1"),
    ("timing.command", "904ns"),
    ("slc.read_time", "3us"),
    ("slc.program_time", "20us"),
    ("precondition", "empty"),
];

/// One die with an SLC cache that is folded when the die was idle for 1 ms.
const CACHED: [(&str, &str); 6] = [
    ("channels", "1"),
    ("capacity", "256KiB"),
    ("pages_per_block", "12"),
    ("nand.cell", "tlc"),
    ("slc.kind", "static"),
    ("slc.fold_after", "1ms"),
];

/// The timeline of requests for a page each: time in ns, operation, page.
fn timeline_of(settings: &[(&str, &str)], requests: &[(u64, char, u64)]) -> Trace {
    let dir = tempfile::tempdir().expect("a directory");
    let (trace, path) = (dir.path().join("requests.spc"), dir.path().join("run.pftrace"));
    let lines = requests.iter().map(|(time_ns, op, page)| {
        format!("0,{},4096,{op},{}.{:09}\n", page * 8, time_ns / 1_000_000_000, time_ns % 1_000_000_000)
    });
    std::fs::write(&trace, lines.collect::<String>()).expect("written");
    let overrides = BASE.iter().chain(settings).map(|(key, value)| ((*key).into(), Value::from(*value)));
    let run = RunSpec {
        workloads: vec![WorkloadSpec {
            spec: trace.into(),
            format: Some("spc".into()),
            ..WorkloadSpec::default()
        }],
        overrides: overrides.collect(),
        timeline: Some(path.clone().into()),
        ..RunSpec::default()
    };
    simulate(&run, &mut |_| true).expect("a legal run");
    let bytes = std::fs::read(&path).expect("the file");
    Trace::decode(bytes.as_slice()).expect("a trace")
}

#[test]
fn the_slc_cache_fills_page_by_page_and_folding_empties_it_block_by_block() {
    // Two blocks of 4 pages in SLC mode, filled by 8 writes.
    let settings = [&CACHED[..], &[("slc.static_blocks", "2"), ("slc.when_full", "direct")]].concat();
    let cached = TRANSFER + SLC_PROGRAM;
    let fold = SLC_READ + 2 * TRANSFER + PROGRAM;
    let begins = 8 * cached + MS;
    let whole = begins + 2 * (4 * fold + ERASE);
    let writes = (0..8).map(|page| (page * cached, 'w', page));
    let requests: Vec<_> = writes.chain([(whole + MS, 'r', 60)]).collect();
    let (slices, counters) = taken_apart(&timeline_of(&settings, &requests));
    let filled = (1..=8_i64).map(|pages| (pages.cast_unsigned() * cached, pages * PAGE));
    let emptied = [(whole - 4 * fold - ERASE, 4 * PAGE), (whole, 0)];
    assert_eq!(counters["SLC cache"], filled.chain(emptied).collect::<Vec<_>>());
    assert!(!counters.contains_key("free superblocks"));
    let tasks: Vec<_> = slices.iter().filter(|slice| slice.0.starts_with("tasks")).collect();
    let [(track, name, start, end, args)] = tasks[..] else {
        panic!("steps in a row are one slice: {tasks:?}")
    };
    assert_eq!((track.as_str(), name.as_str(), *start, *end), ("tasks 0.0", "fold idle", begins, whole));
    assert_eq!((args["unit"], args["dies"]), (0, 1));
}

#[test]
fn a_request_parts_a_task_in_two() {
    let settings = [&CACHED[..], &[("slc.static_blocks", "1")]].concat();
    let cached = TRANSFER + SLC_PROGRAM;
    let fold = SLC_READ + 2 * TRANSFER + PROGRAM;
    let begins = 4 * cached + MS;
    // A read in the middle of the second page that is folded: the die goes on 1 ms after it, with two pages and the erase.
    let asked = begins + fold + fold / 2;
    let read_end = begins + 2 * fold + 10_000 + TRANSFER;
    let again = read_end + MS;
    let writes = (0..4).map(|page| (page * cached, 'w', page));
    let requests: Vec<_> = writes.chain([(asked, 'r', 0), (again + 10 * MS, 'r', 60)]).collect();
    let (slices, _) = taken_apart(&timeline_of(&settings, &requests));
    let tasks: Vec<_> =
        slices.iter().filter(|slice| slice.0 == "tasks 0.0").map(|slice| (slice.2, slice.3)).collect();
    assert_eq!(tasks, [(begins, begins + 2 * fold), (again, again + 2 * fold + ERASE)]);
}

#[test]
fn a_superblock_is_used_from_its_first_page_until_its_last_erase() {
    // Superblocks of 16 pages over four dies, written in turn, a page a millisecond: eight hold data, and all in the oldest is stale.
    let settings =
        [("channels", "4"), ("capacity", "512KiB"), ("pages_per_block", "4"), ("alloc.kind", "superblock")];
    let requests: Vec<_> = (0..500).map(|number| (number * 2 * MS, 'w', number % 128)).collect();
    let (slices, counters) = taken_apart(&timeline_of(&settings, &requests));
    let values = &counters["free superblocks"];
    let all = values[0].1;
    assert!(all > 9, "{all} superblocks, one of them held back");
    let opened = (0..all.cast_unsigned()).map(|number| number * 32 * MS);
    let falls: Vec<_> = opened.zip((0..all - 1).rev()).map(|(time, left)| (time, left + 1)).collect();
    let until = falls.len();
    let found: Vec<_> = values[1..].iter().copied().take(until).collect();
    assert_eq!(found, falls, "down to the one that is held back");
    // From then on each new superblock waits for the erase of a stale one, on all dies at once.
    for round in until as u64..500 / 16 {
        let erased = round * 32 * MS + ERASE;
        let at = |time| values.iter().rev().find(|value| value.0 <= time).expect("a value").1;
        assert_eq!((at(erased - 1), at(erased)), (1, 1), "superblock {round}");
        let of_round = slices.iter().filter(|slice| slice.1 == "erase gc" && slice.3 == erased);
        assert_eq!(of_round.count(), 4, "superblock {round}");
    }
}

#[test]
fn all_that_a_planner_collects_lies_in_its_tasks() {
    for (planner, clock) in
        [("cycle-filling", "async"), ("forwarding", "async"), ("cycle-stealing", "lock-step")]
    {
        let settings = [
            ("channels", "2"),
            ("dies", "2"),
            ("capacity", "1MiB"),
            ("pages_per_block", "4"),
            ("precondition", "full"),
            ("gc.planner", planner),
            ("clock", clock),
            ("buffer.bytes", "16KiB"),
        ];
        let requests: Vec<_> = (0..600).map(|number| (number * MS / 4, 'w', number * 97 % 256)).collect();
        let (slices, _) = taken_apart(&timeline_of(&settings, &requests));
        let mut collected = 0;
        for (track, name, start, end, _) in &slices {
            let Some(die) = track.strip_prefix("die ").filter(|_| name.contains(" gc")) else { continue };
            // With a common clock all dies make a step together.
            let own = if clock == "async" { format!("tasks {die}") } else { "tasks".into() };
            let is_in = |task: &Slice| {
                task.0 == own && task.2 <= *start && *end <= task.3 && task.1.starts_with("collect")
            };
            assert!(slices.iter().any(is_in), "{planner}: {name} at {start} on die {die}");
            collected += 1;
        }
        assert!(collected > 50, "{planner}: {collected} commands");
    }
}

#[test]
fn counters_have_their_units() {
    let settings = [
        ("channels", "1"),
        ("capacity", "256KiB"),
        ("pages_per_block", "12"),
        ("nand.cell", "tlc"),
        ("slc.kind", "static"),
    ];
    let trace = timeline_of(&settings, &[(0, 'w', 0)]);
    let units: BTreeMap<_, _> = trace
        .packet
        .iter()
        .filter_map(|packet| packet.track_descriptor.as_ref())
        .filter_map(|track| Some((track.name().to_owned(), track.counter.as_ref()?)))
        .map(|(name, counter)| (name, (counter.unit(), counter.unit_name().to_owned())))
        .collect();
    let of = |name: &str| (units[name].0, units[name].1.as_str());
    assert_eq!(of("SLC cache"), (proto::UNIT_SIZE_BYTES, "bytes"));
    assert_eq!(of("free blocks"), (proto::UNIT_COUNT, "blocks"));
    assert_eq!(of("dirty pages 0"), (proto::UNIT_COUNT, "pages"));
}
