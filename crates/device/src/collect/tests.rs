//! Tests on a recording of the kernel's pipe for a loop device (Linux 6.18), from the pipe to the trace: two forced
//! writes, two reads, udev's reads, a discard, and four writes of the page cache that were merged into one, with an
//! fsync.

use std::path::{Path, PathBuf};

use flashweir_trace::format::blktrace::{Event, ISSUE, QUEUE};
use flashweir_trace::format::{Format, Options, Trace};
use flashweir_trace::{LogRecord, Op};

use super::drive::Drive;
use super::finish::{Tally, write};
use super::readers::Counts;
use super::split::{Said, Splitter};
use super::spool::Spool;

const CPUS: [&[u8]; 2] = [include_bytes!("recorded/loop.cpu0"), include_bytes!("recorded/loop.cpu1")];
const LOST: &[u8] = include_bytes!("recorded/lost.cpu1");

/// Processes of the recording.
const NAMES: [(u32, &str); 4] = [(8142, "dd"), (8145, "dd"), (8146, "blkid"), (8149, "dd")];

fn drive(start: u64, sectors: u64) -> Drive {
    let is_partition = start > 0;
    let path = PathBuf::from("/dev/loop0");
    let (number, disk, switches) = (7 << 20, "loop0".to_owned(), PathBuf::new());
    Drive {
        path,
        disk,
        number,
        disk_number: number,
        start,
        sectors,
        is_partition,
        has_requests: true,
        switches,
    }
}

fn all(stream: &[u8]) -> Vec<Said> {
    let mut splitter = Splitter::default();
    splitter.push(stream);
    std::iter::from_fn(|| splitter.next().unwrap()).collect()
}

fn spooled(folder: &Path, counts: &Counts) -> Spool {
    let spool = Spool::beside(&folder.join("a.parquet")).unwrap();
    for (cpu, stream) in CPUS.iter().enumerate() {
        let mut file = spool.create(cpu as u32).unwrap();
        for (pid, name) in NAMES {
            file.name(pid, 0, name.as_bytes()).unwrap();
        }
        for said in all(stream) {
            let Said::Event(event) = said else { panic!("{said:?}") };
            if counts.take(&event, ISSUE) {
                file.event(&event).unwrap();
            }
        }
        file.flush().unwrap();
    }
    spool
}

fn collected(drive: &Drive, relative: bool) -> (Vec<LogRecord>, Tally) {
    let dir = tempfile::tempdir().unwrap();
    let spool = spooled(dir.path(), &Counts::default());
    let output = dir.path().join("a.parquet");
    let note = |tally: &Tally| vec![("flashweir.collect".to_owned(), tally.requests.to_string())];
    let tally =
        write(&spool, (&output, Format::Parquet), true, (drive, relative), &note, &mut |_| true).unwrap();
    let mut trace = Trace::open(&output, &Options::default()).unwrap();
    let mut log = Vec::new();
    while trace.read_log(&mut log, 1000).unwrap() {}
    (log, tally)
}

#[test]
fn a_recorded_stream_becomes_the_requests_that_made_it() {
    let (log, tally) = collected(&drive(0, 524_288), false);
    assert_eq!((tally.reads, tally.writes, tally.trims, tally.flushes), (50, 3, 1, 5));
    assert_eq!((tally.requests, tally.in_flight, tally.issued_before, tally.other_commands), (54, 0, 0, 0));
    assert_eq!((tally.written_bytes, tally.trimmed_bytes), (2 * 4096 + 4 * 4096, 8 << 20));
    let of = |name: &str| -> Vec<(Op, u64, u32)> {
        let found = log.iter().filter(|record| record.process == name);
        found.map(|record| (record.request.op, record.request.lba, record.request.sectors)).collect()
    };
    // The kernel's worker issued flushes and discard; they are of those who asked.
    let mut of_dd = of("dd");
    of_dd.retain(|(op, ..)| *op != Op::Flush);
    let expected = [
        (Op::Write, 0, 8),
        (Op::Write, 8, 8),
        (Op::Read, 0, 128),
        (Op::Read, 128, 128),
        (Op::Write, 800, 32),
    ];
    assert_eq!(of_dd, expected);
    assert_eq!(of("dd").len() - of_dd.len(), 4, "the flush of the first forced write is the kernel's own");
    assert!(of("blkid").contains(&(Op::Trim, 2048, 16384)), "{:?}", of("blkid"));
    assert!(log.iter().all(|record| record.completion_ns > record.issue_ns && record.issue_ns.is_some()));
    // As blkparse prints them.
    assert_eq!((log[0].issue_ns, log[0].completion_ns), (Some(0), Some(3_126_909)));
    assert_eq!((log[0].flags, log[1].flags), (1, 0));
}

#[test]
fn of_a_partition_only_its_own_requests_stay() {
    for (relative, first) in [(false, 800), (true, 32)] {
        let (log, tally) = collected(&drive(768, 2048), relative);
        assert_eq!((tally.writes, tally.trims, tally.reads, tally.flushes), (1, 1, 2, 5));
        assert_eq!(tally.elsewhere, 50);
        let write = log.iter().find(|record| record.request.op == Op::Write).unwrap();
        assert_eq!(write.request.lba, first);
    }
}

#[test]
fn what_is_stopped_while_it_is_written_stays_in_the_spool() {
    let dir = tempfile::tempdir().unwrap();
    let spool = spooled(dir.path(), &Counts::default());
    let output = dir.path().join("a.parquet");
    // The recording is short: it is read at once, and no one is asked. One that goes on forever is what others are.
    let files = spool.files();
    let error =
        write(&spool, (&output, Format::Msr), true, (&drive(0, 1), false), &|_| vec![], &mut |_| false);
    assert!(error.is_ok() && spool.files() == files, "removing it is the caller's");
    let tally =
        write(&spool, (&output, Format::Parquet), false, (&drive(0, 1), false), &|_| vec![], &mut |_| true);
    assert_eq!(tally.unwrap(), Tally::default(), "completions alone are no requests");
}

#[test]
fn counts_are_of_requests_and_not_of_events() {
    let dir = tempfile::tempdir().unwrap();
    let counts = Counts::default();
    spooled(dir.path(), &counts);
    let number = |counter: &std::sync::atomic::AtomicU64| counter.load(std::sync::atomic::Ordering::Relaxed);
    // Flushes complete twice: by themselves, and as a part of what they are for.
    assert_eq!((number(&counts.issued), number(&counts.completed), number(&counts.requeued)), (59, 64, 0));
}

#[test]
fn a_recorded_loss_is_counted() {
    let said = all(LOST);
    let events = said.iter().filter(|said| matches!(said, Said::Event(_))).count();
    assert_eq!((events, said.len()), (10, 11));
    assert_eq!(said[5], Said::Lost(156));
    let whats: Vec<Option<u32>> = said
        .iter()
        .filter_map(|said| if let Said::Event(event) = said { Some(Event::what(event)) } else { None })
        .collect();
    assert!(!whats.contains(&Some(QUEUE)));
}
