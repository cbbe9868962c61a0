//! Files that one process at a time may write: a lock of the system, which ends with the process however that ends, and the
//! process that holds it.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};

use crate::Error;

/// Locks `file` for this process, for as long as it or a copy of it is open.
///
/// # Errors
/// Another process has it; the message names that one. `doing` says what it is about to do with `path`.
pub(crate) fn lock(file: &File, path: &Path, doing: &str) -> Result<(), Error> {
    // A file system without locks is as it was before there were any.
    if flock(file, FlockOperation::NonBlockingLockExclusive) != Err(rustix::io::Errno::WOULDBLOCK) {
        return Ok(());
    }
    let owner =
        owner(file).map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}{}", name(pid)));
    Err(Error::Setting {
        what: format!("{doing} {}", path.display()),
        expected: format!("{owner} is writing to it; expected to wait for its end, or another name"),
    })
}

/// The process that has a lock on `file`, as the system lists them.
fn owner(file: &File) -> Option<u32> {
    let inode = format!(":{}", file.metadata().ok()?.ino());
    let locks = std::fs::read_to_string("/proc/locks").ok()?;
    locks.lines().find_map(|line| {
        // 1: FLOCK ADVISORY WRITE 1234 08:01:5678 0 EOF
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let held = words.get(1) == Some(&"FLOCK") && words.get(5)?.ends_with(&inode);
        held.then(|| words.get(4)?.parse().ok()).flatten()
    })
}

/// The name of a process, in brackets; empty if it has none that can be read.
fn name(pid: u32) -> String {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    if name.trim().is_empty() { String::new() } else { format!(" ({})", name.trim()) }
}
