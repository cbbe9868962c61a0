//! Files that are whole or absent: a sink writes beside its path and takes the name at the end.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Bytes that are collected before they go to the operating system.
const BUFFER_BYTES: usize = 1 << 20;

/// A file that can't be written.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {source}")]
pub struct OutputError {
    /// The file asked for.
    pub path: PathBuf,
    /// The operating system's reason.
    pub source: io::Error,
}

/// A file under construction. [`PartFile::finish`] gives it its name; dropped before, it leaves nothing behind.
#[derive(Debug)]
pub struct PartFile {
    path: PathBuf,
    part: PathBuf,
    file: Option<BufWriter<File>>,
}

impl PartFile {
    /// Opens `<path>.part`, replacing what an interrupted run has left there.
    pub fn create(path: &Path) -> Result<Self, OutputError> {
        let mut part = path.as_os_str().to_owned();
        part.push(".part");
        let part = PathBuf::from(part);
        match File::create(&part) {
            Ok(file) => {
                let file = Some(BufWriter::with_capacity(BUFFER_BYTES, file));
                Ok(Self { path: path.to_owned(), part, file })
            }
            Err(source) => Err(OutputError { path: path.to_owned(), source }),
        }
    }

    /// Writes what is buffered and gives the file its name, in place of one that had it.
    pub fn finish(mut self) -> Result<(), OutputError> {
        let flushed = self.flush();
        // Closed before it is renamed; `drop` finds nothing left to remove after success.
        let done = flushed.and_then(|()| {
            self.file = None;
            std::fs::rename(&self.part, &self.path)
        });
        done.map_err(|source| self.error(source))
    }

    /// An error about this file, under the name asked for.
    pub fn error(&self, source: io::Error) -> OutputError {
        OutputError { path: self.path.clone(), source }
    }
}

impl Write for PartFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.as_mut().map_or(Ok(0), |file| file.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_mut().map_or(Ok(()), BufWriter::flush)
    }
}

impl Drop for PartFile {
    fn drop(&mut self) {
        // Of a finished file there is no part; nothing can be done about one that can't be removed.
        let _ = std::fs::remove_file(&self.part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_whole_or_absent() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out.bin");
        let mut dropped = PartFile::create(&path).unwrap();
        dropped.write_all(b"half").unwrap();
        drop(dropped);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);

        let mut finished = PartFile::create(&path).unwrap();
        finished.write_all(b"whole").unwrap();
        assert!(!path.exists());
        finished.finish().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"whole");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn an_error_names_the_file() {
        let error = PartFile::create(Path::new("/nowhere/out.bin")).unwrap_err();
        assert!(error.to_string().starts_with("/nowhere/out.bin: "), "{error}");
    }
}
