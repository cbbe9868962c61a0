//! Arguments for bpftrace, and the lines that it prints.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use flashweir_trace::Op;
use flashweir_trace::format::blktrace::{COMPLETE, Event, ISSUE, REQUEUE};

use super::Spec;
use super::drive::Drive;
use super::readers::Counts;
use super::spool::{Spool, SpoolFile};
use crate::Error;

/// The line that says that the probes are there.
const READY: &str = "ready";

/// Names `bpftrace`'s arguments: three tracepoints of the whole disk, a line an event.
pub(super) fn prepare(command: &mut Command, drive: &Drive, spec: &Spec) {
    let probe = |point: &str, letter: char, name: &str| {
        format!(
            "tracepoint:block:block_rq_{point} /args->dev == {}/ {{ printf(\"{letter} %d %lld %lld %d %s %d %s\\n\", \
             cpu, nsecs, args->sector, args->nr_sector, args->rwbs, tid, {name}); }}\n",
            drive.disk_number
        )
    };
    let program = format!(
        "BEGIN {{ printf(\"{READY}\\n\"); }}\n{}{}{}",
        probe("issue", 'D', "comm"),
        probe("requeue", 'R', "\"-\""),
        probe("complete", 'C', "\"-\"")
    );
    let pages = (spec.buffer_kb.unwrap_or(8192) / 4).max(1).next_power_of_two();
    command.env("BPFTRACE_PERF_RB_PAGES", pages.to_string()).args(["-q", "-e", &program]);
}

/// Reads lines until they end.
pub(super) fn read(
    stdout: impl Read,
    spool: &Spool,
    counts: &Counts,
    ready: &AtomicBool,
) -> Result<String, Error> {
    let mut files = BTreeMap::new();
    let mut names: BTreeMap<u32, String> = BTreeMap::new();
    let mut lines = BufReader::with_capacity(1 << 16, stdout).split(b'\n');
    while let Some(Ok(line)) = lines.next() {
        let line = String::from_utf8_lossy(&line);
        if line == READY {
            ready.store(true, Ordering::Release);
        } else if let Some(lost) = lost(&line) {
            counts.lost.fetch_add(lost, Ordering::Relaxed);
        } else if let Some((cpu, event, name)) = event(&line) {
            if !counts.take(&event, ISSUE) {
                continue;
            }
            let file: &mut SpoolFile = match files.entry(cpu) {
                std::collections::btree_map::Entry::Occupied(there) => there.into_mut(),
                std::collections::btree_map::Entry::Vacant(free) => free.insert(spool.create(cpu)?),
            };
            if event.what() == Some(ISSUE) && names.get(&event.pid).is_none_or(|known| known != name) {
                file.name(event.pid, event.time_ns, name.as_bytes())?;
                names.insert(event.pid, name.to_owned());
            }
            file.event(&event)?;
        } else if !line.trim().is_empty() {
            counts.foreign.fetch_add(1, Ordering::Relaxed);
        }
    }
    files.values_mut().try_for_each(SpoolFile::flush)?;
    Ok(String::new())
}

/// The number in `Lost 12 events`.
fn lost(line: &str) -> Option<u64> {
    line.strip_prefix("Lost ")?.strip_suffix(" events")?.parse().ok()
}

/// A CPU, its event, and the process: `D 1 123456 2048 8 WS 4242 fio`.
fn event(line: &str) -> Option<(u32, Event, &str)> {
    let mut words = line.splitn(8, ' ');
    let what = match words.next()? {
        "D" => ISSUE,
        "C" => COMPLETE,
        "R" => REQUEUE,
        _ => return None,
    };
    let cpu = words.next()?.parse().ok()?;
    let time_ns = words.next()?.parse().ok()?;
    let sector: i64 = words.next()?.parse().ok()?;
    let sectors: u32 = words.next()?.parse().ok()?;
    let rwbs = words.next()?;
    let pid = words.next()?.parse().ok()?;
    let name = words.next()?;
    let (op, flags) = operation(rwbs, sectors)?;
    let action = Event::action_of(what, op, flags);
    let sector = if op == Op::Flush { 0 } else { u64::try_from(sector).ok()? };
    let bytes = if op == Op::Flush { 0 } else { sectors.checked_mul(512)? };
    Some((cpu, Event { time_ns, sector, bytes, action, pid, ..Event::default() }, name))
}

/// Operation that the kernel's letters stand for, and the flags of [`flashweir_trace::LogRecord`]. A write without a
/// length is the end of a flush that the kernel made of it.
fn operation(rwbs: &str, sectors: u32) -> Option<(Op, u32)> {
    let (flush, rest) = match rwbs.strip_prefix('F') {
        Some(rest) if !rest.is_empty() => (1 << 4, rest),
        _ => (0, rwbs),
    };
    let mut letters = rest.chars();
    let op = match letters.next()? {
        'R' if sectors > 0 => Op::Read,
        'W' if sectors > 0 => Op::Write,
        'D' if sectors > 0 => Op::Trim,
        'F' => Op::Flush,
        'N' if flush != 0 && sectors == 0 => Op::Flush,
        _ => return None,
    };
    let flag = |letter| match letter {
        'S' => 1,
        'M' => 1 << 1,
        'A' => 1 << 2,
        'F' => 1 << 3,
        _ => 0,
    };
    let flags = letters.map(flag).fold(0, |all, one| all | one);
    // That of a flush would say no more than its name.
    Some((op, if op == Op::Flush { 1 << 4 } else { flags | flush }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_events() {
        let (cpu, found, name) = event("D 1 123 2048 8 FWFS 42 a name").unwrap();
        let action = Event::action_of(ISSUE, Op::Write, 1 | 1 << 3 | 1 << 4);
        let expected = Event { time_ns: 123, sector: 2048, bytes: 4096, action, pid: 42, ..Event::default() };
        assert_eq!((cpu, found, name), (1, expected, "a name"));
        let op = |line: &str| event(line).map(|(_, event, _)| (event.what(), event.op(), event.sector));
        assert_eq!(op("C 0 5 0 0 FF 0 -"), Some((Some(COMPLETE), Some(Op::Flush), 0)));
        assert_eq!(op("C 0 5 -1 0 FN 0 -"), Some((Some(COMPLETE), Some(Op::Flush), 0)));
        assert_eq!(op("R 0 5 64 16 D 0 -"), Some((Some(REQUEUE), Some(Op::Trim), 64)));
        assert_eq!(op("C 0 5 0 0 WS 0 -"), None, "the end of a flush that a write made");
        assert_eq!(op("Attaching 4 probes..."), None);
        assert_eq!((lost("Lost 12 events"), lost("Lost in space")), (Some(12), None));
    }
}
