//! Names that lead to something else between two moments.

use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use flashweir_trace::{Op, Request};
use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::*;
use crate::Timing;
use crate::real::Engine;

/// Has another thread exchange what two names lead to, as fast as it can, meanwhile.
fn exchanged_meanwhile(left: &Path, right: &Path, work: impl FnOnce()) {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                renameat_with(CWD, left, CWD, right, RenameFlags::EXCHANGE).expect("exchanged");
            }
        });
        let worked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        done.store(true, Ordering::Relaxed);
        worked.expect("done");
    });
}

/// Opens a target and writes its first sectors; says whether it was written.
fn written(path: &Path, erase: Option<&str>, seen: Option<Identity>) -> bool {
    let options = OpenOptions {
        write: true,
        erase: erase.map(str::to_owned),
        seen,
        engine: Engine::Sync,
        max_outstanding: 1,
        direct: false,
        ..OpenOptions::default()
    };
    let Ok(mut target) = open(text(path), &options) else { return false };
    let write = Request { time_ns: 0, lba: 0, sectors: 8, stream: 0, op: Op::Write };
    let mut requests = std::iter::once(Ok(write));
    target.execute(&mut requests, Timing::Closed { depth: 1 }, &mut |_| Ok(())).expect("executed");
    true
}

/// Tries for two seconds, or until it was written as well as refused several times; returns how often.
fn tries(mut attempt: impl FnMut() -> bool) -> (u32, u32) {
    let (start, least, most) = (Instant::now(), Duration::from_secs(2), Duration::from_secs(30));
    let (mut written, mut refused) = (0, 0);
    while start.elapsed() < least || written.min(refused) < 5 && start.elapsed() < most {
        *(if attempt() { &mut written } else { &mut refused }) += 1;
    }
    (written, refused)
}

#[test]
fn a_file_that_is_exchanged_while_it_is_looked_at_is_not_written() {
    let stage = Stage::new();
    let (target, other) = (stage.file("target", MIB), stage.file("other", MIB));
    write_at(&other, 0, &noise(8192));
    let own = std::fs::File::options().write(true).open(&target).expect("opened");
    let precious = std::fs::File::open(&other).expect("opened");
    let before = noise(8192);
    let mut now = vec![0; before.len()];
    exchanged_meanwhile(&target, &other, || {
        let (written, refused) = tries(|| {
            let done = written(&target, None, None);
            precious.read_exact_at(&mut now, 0).expect("read");
            assert!(now == before, "the other file was written");
            if done {
                // Empty again.
                own.set_len(0).and_then(|()| own.set_len(MIB)).expect("emptied");
            }
            done
        });
        assert!(written > 4 && refused > 4, "{written} written, {refused} refused");
    });
}

#[test]
fn a_file_that_is_exchanged_between_two_runs_is_not_written() {
    let stage = Stage::new();
    let (target, other) = (stage.file("target", MIB), stage.file("other", MIB));
    write_at(&other, 0, &noise(8192));
    let seen = write(&target, None).expect("empty").identity();
    let precious = std::fs::File::open(&other).expect("opened");
    let before = noise(8192);
    let mut now = vec![0; before.len()];
    exchanged_meanwhile(&target, &other, || {
        let (written, refused) = tries(|| {
            let done = written(&target, Some(text(&target)), seen);
            precious.read_exact_at(&mut now, 0).expect("read");
            assert!(now == before, "the other file was written");
            done
        });
        assert!(written > 4 && refused > 4, "{written} written, {refused} refused");
    });
}

#[test]
fn a_device_whose_link_is_exchanged_is_not_written() {
    let mut stage = Stage::new();
    let (Some(free), Some(full)) = (stage.device("free", 4 * MIB), stage.device("full", 4 * MIB)) else {
        return;
    };
    write_at(&full, 0, &noise(8192));
    let links: [PathBuf; 2] = [stage.path("link"), stage.path("other-link")];
    for (link, device) in links.iter().zip([&free, &full]) {
        std::os::unix::fs::symlink(device, link).expect("linked");
    }
    let before = bytes_of(&full);
    exchanged_meanwhile(&links[0], &links[1], || {
        let (written, refused) = tries(|| {
            let done = written(&links[0], None, None);
            if done {
                write_at(&free, 0, &[0; 8192]);
            }
            done
        });
        assert!(written > 4 && refused > 4, "{written} written, {refused} refused");
    });
    assert!(bytes_of(&full) == before, "the other device was written");
}
