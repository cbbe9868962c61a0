//! Frozen results: drives of all policies, drawn at random once, say the same as when they were frozen, to the last bit.
//!
//! They say that something changed, not what is right. Each line of `frozen.txt` is a drive, some plain numbers, and a hash of
//! each section of what it said (`digest.rs`). With these variables of the environment:
//!
//! - `FLASHWEIR_FREEZE=1`: runs the drives of the file again and writes what they say.
//! - `FLASHWEIR_FREEZE=draw`: draws the drives anew, too (`draw.rs`).
//! - `FLASHWEIR_FREEZE_SAYS=DIR`: writes what the drives say into files `DIR/NUMBER.SECTION`, to be compared with those of
//!   another commit.
//!
//! To write the file: `FLASHWEIR_FREEZE=1 cargo test -p flashweir-run --test frozen frozen_drives`.

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

/// Drives with what they said.
fn frozen() -> Vec<(String, String)> {
    let text = std::fs::read_to_string(path()).expect("the file of frozen drives");
    let halves = |line: &str| {
        let (drive, said) = line.split_once(" | ").expect("a drive and what it said");
        (drive.to_owned(), said.to_owned())
    };
    text.lines().map(halves).collect()
}

fn say(number: usize, drive: &str) -> String {
    let said = digest::run(&drive::parse(drive)).unwrap_or_else(|error| panic!("{drive}: {error}"));
    if let Some(dir) = std::env::var_os("FLASHWEIR_FREEZE_SAYS").map(PathBuf::from) {
        std::fs::create_dir_all(&dir).expect("a directory");
        for (section, text) in &said.sections {
            std::fs::write(dir.join(format!("{number}.{section}")), text).expect("a file");
        }
    }
    said.line()
}

/// Runs every drive of a chunk, and says of each that says something else in which sections.
fn check(chunk: usize) {
    if asked().is_some() {
        return;
    }
    let mut changed = String::new();
    for (number, (drive, before)) in
        frozen().into_iter().enumerate().filter(|(number, _)| number % CHUNKS == chunk)
    {
        let now = say(number, &drive);
        if now != before {
            let tokens = before.split(' ').zip(now.split(' '));
            let sections =
                tokens.filter(|(before, now)| before != now).filter_map(|(before, _)| before.split_once('='));
            let sections: Vec<_> = sections.map(|(section, _)| section).collect();
            writeln!(changed, "drive {number}, {}: {drive}\n  was {before}\n  is  {now}", sections.join(" "))
                .expect("a string takes everything");
        }
    }
    assert!(changed.is_empty(), "drives that say something else:\n{changed}");
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

/// How many of the drives have each choice of each key: `key=choice`.
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
        let lines =
            drives.iter().enumerate().map(|(number, drive)| format!("{drive} | {}\n", say(number, drive)));
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

/// Policies of the drives that were frozen. One that comes later has golden drives, and need not be here.
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
    ("engine", "auto timeline event"),
];
