//! Names of the processes that events come from: the kernel's stream has only their numbers.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// A name is looked up again after this time: a process may have become another program, or its number another process.
const FRESH: Duration = Duration::from_secs(1);

/// Of processes that are gone the kernel's own short list is read this often at most.
const LIST_EVERY: Duration = Duration::from_millis(100);

/// Names known of one CPU's events.
#[derive(Debug)]
pub(super) struct Names {
    known: HashMap<u32, (Vec<u8>, Instant)>,
    /// The kernel's list of processes that made events lately, if there is one.
    list: Option<PathBuf>,
    listed: Option<(Instant, HashMap<u32, Vec<u8>>)>,
}

impl Names {
    /// Nothing known yet; `list` is the kernel's `saved_cmdlines`.
    pub(super) fn new(list: Option<PathBuf>) -> Self {
        Self { known: HashMap::new(), list, listed: None }
    }

    /// The name of `pid`, if it is new or another than it was.
    pub(super) fn news(&mut self, pid: u32) -> Option<Vec<u8>> {
        let now = Instant::now();
        if let Some((_, asked)) = self.known.get(&pid)
            && now.duration_since(*asked) < FRESH
        {
            return None;
        }
        let found =
            if pid == 0 { Some(b"swapper".to_vec()) } else { running(pid).or_else(|| self.gone(pid, now)) };
        let known = self.known.get(&pid).map(|(name, _)| name.clone());
        // Of a process that is gone the last name stands.
        let name = found.or_else(|| known.clone()).unwrap_or_default();
        let is_new = known.as_ref() != Some(&name) && !name.is_empty();
        self.known.insert(pid, (name.clone(), now));
        is_new.then_some(name)
    }

    fn gone(&mut self, pid: u32, now: Instant) -> Option<Vec<u8>> {
        let list = self.list.as_ref()?;
        if self.listed.as_ref().is_none_or(|(read, _)| now.duration_since(*read) >= LIST_EVERY) {
            let text = std::fs::read(list).unwrap_or_default();
            self.listed = Some((now, text.split(|byte| *byte == b'\n').filter_map(entry).collect()));
        }
        self.listed.as_ref()?.1.get(&pid).cloned()
    }
}

fn running(pid: u32) -> Option<Vec<u8>> {
    let name = std::fs::read(format!("/proc/{pid}/comm")).ok()?;
    Some(name.strip_suffix(b"\n").unwrap_or(&name).to_vec())
}

/// A line `pid name`.
fn entry(line: &[u8]) -> Option<(u32, Vec<u8>)> {
    let split = line.iter().position(|byte| *byte == b' ')?;
    let pid = std::str::from_utf8(&line[..split]).ok()?.parse().ok()?;
    Some((pid, line[split + 1..].to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_from_the_running_process_or_from_the_kernels_list() {
        let dir = tempfile::tempdir().unwrap();
        let list = dir.path().join("saved_cmdlines");
        std::fs::write(&list, "4194305 gone with spaces\nnothing\n").unwrap();
        let mut names = Names::new(Some(list));
        let own = running(std::process::id()).unwrap();
        assert_eq!(names.news(std::process::id()), Some(own));
        assert_eq!(names.news(std::process::id()), None, "said already");
        assert_eq!(names.news(4_194_305), Some(b"gone with spaces".to_vec()));
        assert_eq!(names.news(4_194_306), None);
        assert_eq!(names.news(0), Some(b"swapper".to_vec()));
    }
}
