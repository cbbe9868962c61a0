//! Real targets: on files of a temporary folder, and on loop devices where they can be made. Nothing else is ever opened.

use std::collections::BTreeMap;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::process::Command;

use flashweir_trace::{LogRecord, Op, Request};

use super::*;
use crate::open;

const MIB: u64 = 1 << 20;

/// A loop device on a file of its own, gone at the end.
pub(crate) struct Loop {
    pub(crate) device: PathBuf,
    pub(crate) file: PathBuf,
    _folder: tempfile::TempDir,
}

impl Loop {
    /// `None` where loop devices can't be made; the test then has nothing to do.
    pub(crate) fn new(bytes: u64) -> Option<Self> {
        Self::prepared(bytes, |_| true)
    }

    /// On a file that something is done to first, such as partitioning it.
    pub(crate) fn prepared(bytes: u64, prepare: impl FnOnce(&std::path::Path) -> bool) -> Option<Self> {
        let folder = tempfile::tempdir().ok()?;
        let file = folder.path().join("backing");
        std::fs::File::create(&file).ok()?.set_len(bytes).ok()?;
        if !prepare(&file) {
            return None;
        }
        let made =
            Command::new("losetup").args(["--find", "--show", "--partscan"]).arg(&file).output().ok()?;
        if !made.status.success() {
            crate::safety::tests::stage::not_run("no loop device can be made here");
            return None;
        }
        let device = PathBuf::from(String::from_utf8_lossy(&made.stdout).trim());
        Some(Self { device, file, _folder: folder })
    }

    /// True if it discards, which depends on the file system of its file.
    pub(crate) fn discards(&self) -> bool {
        let name = self.device.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let limit = std::fs::read_to_string(format!("/sys/block/{name}/queue/discard_max_bytes"));
        limit.is_ok_and(|limit| limit.trim() != "0")
    }

    pub(crate) fn name(&self) -> &str {
        self.device.to_str().expect("a name")
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("--detach").arg(&self.device).status();
    }
}

fn request(op: Op, lba: u64, sectors: u32, time_ns: u64) -> Request {
    Request { time_ns, lba, sectors, stream: lba as u16, op }
}

fn writable() -> OpenOptions {
    OpenOptions { write: true, size_bytes: Some(8 * MIB), ..OpenOptions::default() }
}

fn execute(target: &mut dyn Target, requests: &[Request], timing: Timing) -> Result<Vec<LogRecord>, Error> {
    let mut seen = Vec::new();
    let mut sink = |record| {
        seen.push(record);
        Ok(())
    };
    target.execute(&mut requests.iter().map(|request| Ok(*request)), timing, &mut sink)?;
    Ok(seen)
}

fn mixture() -> Vec<Request> {
    let one = |number: u64| {
        let lba = number * 8 % 16_000;
        match number % 16 {
            3 => request(Op::Flush, 0, 0, number * 10_000),
            5 => request(Op::Trim, lba, 16, number * 10_000),
            n if n % 2 == 0 => request(Op::Write, lba, 8 + (number % 5) as u32 * 8, number * 10_000),
            _ => request(Op::Read, lba, 8, number * 10_000),
        }
    };
    (0..2000).map(one).collect()
}

fn check_all_there(requests: &[Request], seen: &[LogRecord], timing: Timing) {
    let count = |requests: &mut dyn Iterator<Item = (u64, u32, Op)>| {
        let mut all = BTreeMap::new();
        requests.for_each(|key| *all.entry(key).or_insert(0) += 1);
        all
    };
    let wanted = count(&mut requests.iter().map(|r| (r.lba, r.sectors, r.op)));
    assert_eq!(wanted, count(&mut seen.iter().map(|r| (r.request.lba, r.request.sectors, r.request.op))));
    for record in seen {
        let (issue_ns, end_ns) = (record.issue_ns.expect("issued"), record.completion_ns.expect("completed"));
        assert!(issue_ns <= end_ns);
        match timing {
            Timing::Closed { .. } => assert_eq!((record.due_ns, record.request.time_ns), (None, issue_ns)),
            Timing::Times { .. } => {
                assert!(record.due_ns.expect("due") <= issue_ns, "never before it is due");
            }
        }
    }
}

#[test]
fn every_engine_and_timing_executes_every_request() {
    let folder = tempfile::tempdir().expect("a folder");
    for (engine, timing) in [
        (Engine::IoUring, Timing::Closed { depth: 1 }),
        (Engine::IoUring, Timing::Closed { depth: 32 }),
        (Engine::IoUring, Timing::Times { scale: 1.0 }),
        (Engine::IoUring, Timing::Times { scale: 0.0 }),
        (Engine::Sync, Timing::Closed { depth: 1 }),
        (Engine::Sync, Timing::Times { scale: 0.5 }),
    ] {
        let path = folder.path().join(format!("{engine:?}-{timing:?}"));
        let options = OpenOptions { engine, ..writable() };
        let mut target = open(path.to_str().expect("a name"), &options).expect("opened");
        assert_eq!(target.size_bytes(), 8 * MIB);
        let requests = mixture();
        let seen = execute(target.as_mut(), &requests, timing).expect("executed");
        check_all_there(&requests, &seen, timing);
        let most = match (engine, timing) {
            (Engine::Sync, _) => 1,
            (_, Timing::Closed { depth }) => depth,
            _ => options.max_outstanding,
        };
        assert!((1..=most).contains(&target.activity().max_outstanding));
    }
}

#[test]
fn a_loop_device_is_read_written_discarded_and_flushed() {
    let Some(device) = Loop::new(16 * MIB) else { return };
    let discards = device.discards();
    if !discards {
        eprintln!("not run: TRIM on a loop device: {} reports no discard", device.name());
    }
    let backing = std::fs::File::open(&device.file).expect("the file behind it");
    let options = OpenOptions { write: true, erase: Some(device.name().into()), ..OpenOptions::default() };
    for engine in [Engine::IoUring, Engine::Sync] {
        let mut target = open(device.name(), &OpenOptions { engine, ..options.clone() }).expect("opened");
        assert_eq!((target.size_bytes(), target.block_bytes()), (16 * MIB, 512));
        let mut requests = mixture();
        requests.retain(|request| discards || request.op != Op::Trim);
        let timing = Timing::Closed { depth: if engine == Engine::Sync { 1 } else { 16 } };
        let seen = execute(target.as_mut(), &requests, timing).expect("executed");
        check_all_there(&requests, &seen, timing);
        let write = request(Op::Write, 1000, 8, 0);
        let closed = Timing::Closed { depth: 1 };
        execute(target.as_mut(), &[write, request(Op::Flush, 0, 0, 0)], closed).expect("written");
        let mut bytes = vec![0; 4096];
        backing.read_exact_at(&mut bytes, 1000 * 512).expect("read");
        assert!(bytes.chunks(64).all(|part| part.iter().any(|byte| *byte != 0)), "random, not zeros");
        if !discards {
            continue;
        }
        execute(target.as_mut(), &[request(Op::Trim, 1000, 8, 0)], closed).expect("discarded");
        backing.read_exact_at(&mut bytes, 1000 * 512).expect("read");
        assert!(bytes.iter().all(|byte| *byte == 0), "discarded");
    }
}

#[test]
fn blocks_are_whole_and_addresses_within() {
    let folder = tempfile::tempdir().expect("a folder");
    let name = folder.path().join("file");
    let name = name.to_str().expect("a name");
    let mut target = open(name, &writable()).expect("opened");
    let block = u64::from(target.block_bytes()) / 512;
    let closed = Timing::Closed { depth: 4 };
    execute(target.as_mut(), &[request(Op::Write, block, block as u32, 0)], closed).expect("written");
    assert_eq!(target.activity().widened, 0);
    if block > 1 {
        execute(target.as_mut(), &[request(Op::Read, 1, 1, 0)], closed).expect("read");
        assert_eq!(target.activity().widened, 1);
    }
    let error = execute(target.as_mut(), &[request(Op::Read, 16_384, 8, 0)], closed).expect_err("beyond");
    assert!(error.to_string().contains("sectors 16384 to 16392 lies beyond its 16384 sectors"), "{error}");
    let large = request(Op::Write, 0, 16_384, 0);
    assert_eq!(execute(target.as_mut(), &[large, large], closed).expect("in parts").len(), 2);
}

#[test]
fn what_is_opened_to_read_is_not_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("file");
    std::fs::write(&path, vec![7; 1 << 20]).expect("written");
    for engine in [Engine::IoUring, Engine::Sync] {
        let options = OpenOptions { engine, ..OpenOptions::default() };
        let mut target = open(path.to_str().expect("a name"), &options).expect("opened: nothing is written");
        let closed = Timing::Closed { depth: 1 };
        let reads = [request(Op::Read, 0, 8, 0), request(Op::Flush, 0, 0, 0)];
        assert_eq!(execute(target.as_mut(), &reads, closed).expect("read").len(), 2);
        let error = execute(target.as_mut(), &[request(Op::Write, 0, 8, 0)], closed).expect_err("refused");
        assert!(error.to_string().contains("opened for reading only"), "{error}");
    }
    assert_eq!(std::fs::read(&path).expect("read"), vec![7; 1 << 20]);
}

#[test]
fn the_clock_goes_on_and_pauses_take_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let name = folder.path().join("file");
    let mut target = open(name.to_str().expect("a name"), &writable()).expect("opened");
    let before_ns = target.now_ns();
    target.pause(5_000_000).expect("paused");
    assert!(target.now_ns() >= before_ns + 5_000_000);
    let seen = execute(target.as_mut(), &[request(Op::Write, 0, 8, 1_000_000)], Timing::Times { scale: 2.0 });
    let record = &seen.expect("executed")[0];
    assert!(record.due_ns.expect("due") >= before_ns + 7_000_000);
}

#[test]
fn a_wish_to_stop_ends_a_wait() {
    let folder = tempfile::tempdir().expect("a folder");
    for engine in [Engine::IoUring, Engine::Sync] {
        let name = folder.path().join(format!("{engine:?}"));
        let options = OpenOptions { engine, ..writable() };
        let mut target = open(name.to_str().expect("a name"), &options).expect("opened");
        let stop = options.stop.clone();
        let asker = std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(30));
            stop.ask();
        });
        let far = [request(Op::Write, 0, 8, 0), request(Op::Write, 8, 8, 3_600_000_000_000)];
        let mut seen = 0;
        let mut sink = |_| {
            seen += 1;
            Ok(())
        };
        let mut requests = far.iter().map(|request| Ok(*request));
        let stopped = target.execute(&mut requests, Timing::Times { scale: 1.0 }, &mut sink);
        assert!(matches!(stopped, Err(Error::Cancelled { .. })));
        assert_eq!(seen, 1);
        asker.join().expect("asked");
    }
}

#[test]
fn settings_that_no_drive_takes_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let name = folder.path().join("file");
    let name = name.to_str().expect("a name");
    let error = |options: OpenOptions, timing: Timing| {
        let opened = open(name, &options).and_then(|mut target| execute(target.as_mut(), &mixture(), timing));
        opened.expect_err("refused").to_string()
    };
    let closed = |depth| Timing::Closed { depth };
    assert!(
        error(OpenOptions { max_outstanding: 0, ..writable() }, closed(1)).contains("expected 1 to 4096")
    );
    assert!(error(writable(), closed(5000)).contains("expected 1 to 4096"));
    let sync = OpenOptions { engine: Engine::Sync, ..writable() };
    assert!(error(sync, closed(2)).contains("engine io_uring"));
    let none = OpenOptions { write: true, ..OpenOptions::default() };
    std::fs::remove_file(name).expect("removed");
    assert!(error(none, closed(1)).contains("expected one that is there"));
    let size = OpenOptions { size_bytes: Some(100), ..writable() };
    assert!(error(size, closed(1)).contains("at least a block"));
}
