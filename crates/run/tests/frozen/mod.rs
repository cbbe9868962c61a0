//! Frozen results: 384 drives over all policies, sampled once from a seed, and 20 with mapping units and classifiers give the results of the day they were frozen, bit
//! for bit. A mismatch shows a change of behaviour; theory and device tests show which result is right.
//!
//! Each line of `frozen.txt` is a drive, some plain numbers, and a hash of each section of its results (`digest.rs`).
//! Environment variables:
//!
//! - `FLASHWEIR_FREEZE=1` runs the drives of the file and writes their results.
//! - `FLASHWEIR_FREEZE=draw` also samples the drives again (`draw.rs`).
//! - `FLASHWEIR_FREEZE_OUT=DIR` writes the results behind the hashes to `DIR/NUMBER.SECTION`, to compare two commits.
//! - `FLASHWEIR_FREEZE_ONLY=3,17` runs only these drives.
//!
//! To write the file: `FLASHWEIR_FREEZE=1 cargo test -p flashweir-run --test all frozen::`.

mod digest;
mod draw;
mod drive;
mod load;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

use flashweir_ssd::config::keys::keys;
use flashweir_ssd::config::layers::to_value;

/// Tests that share the drives.
const CHUNKS: usize = 16;

fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/frozen/frozen.txt")
}

fn asked() -> Option<String> {
    std::env::var("FLASHWEIR_FREEZE").ok().filter(|asked| !asked.is_empty())
}

/// Drives with their results.
fn frozen() -> Vec<(String, String)> {
    let text = std::fs::read_to_string(path()).expect("the file of frozen drives");
    let halves = |line: &str| {
        let (drive, results) = line.split_once(" | ").expect("a drive and its results");
        (drive.to_owned(), results.to_owned())
    };
    text.lines().map(halves).collect()
}

/// Runs a drive. Returns the right half of its line; of a run that fails, the error.
fn results(number: usize, drive: &str) -> String {
    let digest = match digest::run(&drive::parse(drive)) {
        Ok(digest) => digest,
        Err(error) => return format!("error: {error}"),
    };
    if let Some(dir) = std::env::var_os("FLASHWEIR_FREEZE_OUT").map(PathBuf::from) {
        std::fs::create_dir_all(&dir).expect("a directory");
        for (section, text) in &digest.sections {
            std::fs::write(dir.join(format!("{number}.{section}")), text).expect("a file");
        }
    }
    digest.line()
}

/// True for all drives, or for those that are named.
fn is_chosen(number: usize) -> bool {
    let only = std::env::var("FLASHWEIR_FREEZE_ONLY").unwrap_or_default();
    only.is_empty() || only.split(',').any(|chosen| chosen == number.to_string())
}

/// Runs every drive of a chunk and lists those whose results differ, with the sections that differ.
fn check(chunk: usize) {
    if asked().is_some() {
        return;
    }
    let mut changed = String::new();
    let drives = frozen().into_iter().enumerate();
    for (number, (drive, before)) in
        drives.filter(|(number, _)| number % CHUNKS == chunk && is_chosen(*number))
    {
        let now = results(number, &drive);
        if now != before {
            let pairs = before.split(' ').zip(now.split(' ')).filter(|(before, now)| before != now);
            let sections: Vec<_> = pairs.filter_map(|(before, _)| Some(before.split_once('=')?.0)).collect();
            let sections = sections.join(" ");
            writeln!(changed, "drive {number}, {sections}: {drive}\n  was {before}\n  is  {now}")
                .expect("a string takes everything");
        }
    }
    assert!(changed.is_empty(), "drives with other results:\n{changed}");
}

macro_rules! chunks {
    ($($name:ident $chunk:literal)*) => {
        $(#[test]
        fn $name() {
            check($chunk);
        })*
    };
}

chunks! {
    chunk_00 0 chunk_01 1 chunk_02 2 chunk_03 3 chunk_04 4 chunk_05 5 chunk_06 6 chunk_07 7
    chunk_08 8 chunk_09 9 chunk_10 10 chunk_11 11 chunk_12 12 chunk_13 13 chunk_14 14 chunk_15 15
}

/// Number of drives with each choice of each key: `key=choice`.
fn covered<'a>(drives: impl Iterator<Item = &'a str>) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for drive in drives {
        let config = to_value(&drive::parse(drive).config().expect("a legal drive"));
        for key in keys() {
            let pointer = format!("/{}", key.name.replace('.', "/"));
            let Some(value) = config.pointer(&pointer) else { continue };
            let value = value.as_str().map_or_else(|| value.to_string(), Into::into);
            *counts.entry(format!("{}={value}", key.name)).or_default() += 1;
        }
    }
    counts
}

#[test]
fn frozen_drives_have_every_policy() {
    if let Some(asked) = asked() {
        let drives: Vec<String> = if asked == "draw" {
            draw::drives()
        } else {
            frozen().into_iter().map(|(drive, _)| drive).collect()
        };
        let lines = drives
            .iter()
            .enumerate()
            .map(|(number, drive)| format!("{drive} | {}\n", results(number, drive)));
        std::fs::write(path(), lines.collect::<String>()).expect("the file can be written");
    }
    let frozen = frozen();
    let drives = frozen.iter().map(|(drive, _)| drive.as_str());
    let counts = covered(drives.clone());
    for (key, choices) in POLICIES {
        for choice in choices.split(' ') {
            let count = counts.get(&format!("{key}={choice}")).copied().unwrap_or(0);
            println!("{key}={choice}: {count}");
            assert!(count >= 5, "{key}={choice}: {count} drives");
        }
    }
    let of_runs = [
        "run.verify",
        "run.parts",
        "run.windows",
        "run.alone",
        "run.warmup",
        "run.power_cut",
        "load=trace",
        "device",
    ];
    for option in of_runs {
        let count = drives.clone().filter(|drive| drive.contains(option)).count();
        println!("{option}: {count}");
        assert!(count >= 5, "{option}: {count} drives");
    }
    assert!(frozen.len() >= 300);
}

/// Policies that existed when the drives were frozen. Later ones have golden drives and need not be here.
const POLICIES: [(&str, &str); 21] = [
    ("ftl.kind", "page direct log-block dftl fast bast kast"),
    ("ftl.sw_full", "reuse partial-merge"),
    ("alloc.kind", "striped dynamic hybrid"),
    ("alloc.order", "CDPW CDWP CPDW CPWD CWDP WDPC"),
    ("alloc.mode", "0 1"),
    ("gc.victim", "greedy fifo random d-choices cost-benefit"),
    ("gc.planner", "none super-data-block cycle-stealing forwarding cycle-filling selective-filling"),
    ("gc.frontiers", "1 2"),
    ("clock", "async lock-step"),
    ("units", "independent synchronized"),
    ("sched.kind", "fifo read-first read-priority suspend out-of-order"),
    ("sched.preempt_gc", "true false"),
    ("buffer.ack", "buffer flash"),
    ("buffer.order", "any in-order"),
    ("buffer.replacement", "fifo lru block-lru fab"),
    ("host.mode", "closed open"),
    ("host.arbitration", "arrival round-robin weighted fair"),
    ("tenants.channels", "all shared partially-isolated isolated ssdkeeper look-ahead learned external"),
    ("tenants.turns", "arrival shortest shortest-fair"),
    ("precondition", "empty full on-read steady"),
    ("engine", "auto busy-until event"),
];
