//! Where events go while they come: blktrace's own per-CPU files beside the output, which any reader of blktrace reads.
//!
//! No event lies across a border of 4 KiB and no write does: the kernel finishes such a write even for a process that is being
//! killed, so that a killed collector leaves whole events. What a page has no room for is filled by an event that says nothing.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use flashweir_trace::format::blktrace::{Event, HEAD_BYTES};

use crate::Error;

/// Bytes that are written at once at most.
const PAGE: usize = 4096;

/// The files of one collection.
#[derive(Clone, Debug)]
pub(super) struct Spool {
    base: PathBuf,
}

impl Spool {
    /// The spool for `output`. Refuses if files of an earlier one are there: they are somebody's trace.
    pub(super) fn beside(output: &Path) -> Result<Self, Error> {
        let mut base = output.as_os_str().to_owned();
        base.push(".blktrace");
        let spool = Self { base: base.into() };
        let left = spool.files();
        if let Some(file) = left.first() {
            return Err(Error::Setting {
                what: format!("output {}", output.display()),
                expected: format!(
                    "{} is left of a collection that was killed; read it with `flashweir trace convert {} OUT`, or remove it",
                    file.display(),
                    spool.base.display()
                ),
            });
        }
        Ok(spool)
    }

    /// Its name, under which readers find the files.
    pub(super) fn base(&self) -> &Path {
        &self.base
    }

    /// The files that are there.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        let folder = self.base.parent().filter(|folder| !folder.as_os_str().is_empty());
        let name = self.base.file_name().unwrap_or_default().to_string_lossy().into_owned() + ".";
        let entries = std::fs::read_dir(folder.unwrap_or(Path::new("."))).into_iter().flatten().flatten();
        let is_ours = |path: &PathBuf| {
            let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            file.strip_prefix(&name)
                .is_some_and(|cpu| !cpu.is_empty() && cpu.bytes().all(|b| b.is_ascii_digit()))
        };
        let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_ours).collect();
        files.sort();
        files
    }

    /// The file of `cpu`.
    pub(super) fn create(&self, cpu: u32) -> Result<SpoolFile, Error> {
        let mut path = self.base.as_os_str().to_owned();
        path.push(format!(".{cpu}"));
        let path = PathBuf::from(path);
        let file = File::create(&path).map_err(|error| unwritable(&path, &error))?;
        Ok(SpoolFile { path, file, page: Vec::with_capacity(PAGE), before: 0 })
    }

    /// Removes the files.
    pub(super) fn remove(&self) {
        for file in self.files() {
            // A file that can't be removed is in the way of the next collection only, which will report it.
            let _ = std::fs::remove_file(file);
        }
    }
}

/// The events of one CPU.
#[derive(Debug)]
pub(super) struct SpoolFile {
    path: PathBuf,
    file: File,
    /// Part of the current page that is not written yet.
    page: Vec<u8>,
    /// Bytes of the current page that are written.
    before: usize,
}

impl SpoolFile {
    /// Appends an event.
    pub(super) fn event(&mut self, event: &Event) -> Result<(), Error> {
        let event = Event { payload: 0, ..*event };
        self.room(HEAD_BYTES, event.time_ns)?;
        event.write(&mut self.page);
        Ok(())
    }

    /// Appends the name of process `pid`.
    pub(super) fn name(&mut self, pid: u32, time_ns: u64, name: &[u8]) -> Result<(), Error> {
        self.room(HEAD_BYTES + 16, time_ns)?;
        Event::write_name(pid, time_ns, name, &mut self.page);
        Ok(())
    }

    /// Writes what there is.
    pub(super) fn flush(&mut self) -> Result<(), Error> {
        if !self.page.is_empty() {
            self.file.write_all(&self.page).map_err(|error| unwritable(&self.path, &error))?;
            self.before = (self.before + self.page.len()) % PAGE;
            self.page.clear();
        }
        Ok(())
    }

    /// Makes sure that the page has room for `bytes`, and after them for a filler or for nothing.
    fn room(&mut self, bytes: usize, time_ns: u64) -> Result<(), Error> {
        let left = PAGE - self.before - self.page.len();
        if bytes != left && bytes + HEAD_BYTES > left {
            if left > 0 {
                Event::write_filler(time_ns, left, &mut self.page);
            }
            self.flush()?;
        }
        Ok(())
    }
}

fn unwritable(path: &Path, error: &std::io::Error) -> Error {
    Error::Target { path: path.to_owned(), detail: format!("the events can't be written: {error}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_event_lies_across_pages_and_none_is_lost() {
        let dir = tempfile::tempdir().unwrap();
        let output = dir.path().join("a.parquet");
        let spool = Spool::beside(&output).unwrap();
        let mut file = spool.create(3).unwrap();
        for number in 0..2000u32 {
            if number % 7 == 0 {
                file.name(number, 1, b"fio").unwrap();
            }
            file.event(&Event { sequence: number, action: 7, ..Event::default() }).unwrap();
            if number % 13 == 0 {
                file.flush().unwrap();
            }
        }
        file.flush().unwrap();
        assert_eq!(spool.files(), [dir.path().join("a.parquet.blktrace.3")]);
        let bytes = std::fs::read(&spool.files()[0]).unwrap();
        let (mut at, mut next) = (0, 0);
        while at < bytes.len() {
            let event = Event::from_bytes(&bytes[at..]).unwrap();
            let end = at + HEAD_BYTES + usize::from(event.payload);
            assert_eq!(at / PAGE, (end - 1) / PAGE, "event at {at} to {end}");
            if event.what().is_some() {
                assert_eq!(event.sequence, next);
                next += 1;
            }
            at = end;
        }
        assert_eq!(next, 2000);
        let refused = Spool::beside(&output).unwrap_err().to_string();
        assert!(refused.contains("is left of a collection that was killed"), "{refused}");
        spool.remove();
        assert!(Spool::beside(&output).is_ok());
    }
}
