//! Files that are whole or absent: a sink writes beside its path and takes the name at the end.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes that are collected before they go to the operating system.
const BUFFER_BYTES: usize = 1 << 20;

/// Files that this process began: two of one name are written apart.
static FILES: AtomicU64 = AtomicU64::new(0);

/// A file that can't be written.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {source}")]
pub struct OutputError {
    /// The file asked for.
    pub path: PathBuf,
    /// The operating system's reason.
    pub source: io::Error,
}

/// The name that stands for standard input where a file is read, and for standard output where one is written.
pub const STANDARD: &str = "-";

/// True if `path` stands for standard input or output.
pub fn is_standard(path: &Path) -> bool {
    path.as_os_str() == STANDARD
}

/// A file under construction. [`PartFile::finish`] gives it its name; dropped before, it leaves nothing behind.
///
/// `-` is standard output. A path that leads to something else than a file (a pipe, a terminal, `/dev/null`) is written as it goes: such a thing
/// must not be replaced by a file. A block device is refused: what is on a drive is not lost by the name of an output. A link is followed: the
/// file behind it is replaced, not the link.
#[derive(Debug)]
pub struct PartFile {
    /// As the caller named it, for messages.
    path: PathBuf,
    /// The file written, and the name that it gets; `None` where it has its name already.
    part: Option<(PathBuf, PathBuf)>,
    file: Option<BufWriter<File>>,
}

impl PartFile {
    /// Starts to write `path`: into a hidden file beside it, that belongs to this process.
    pub fn create(path: &Path) -> Result<Self, OutputError> {
        let failed = |source| OutputError { path: path.to_owned(), source };
        let open = |file| BufWriter::with_capacity(BUFFER_BYTES, file);
        if is_standard(path) {
            let output = io::stdout().as_fd().try_clone_to_owned().map_err(failed)?;
            return Ok(Self { path: path.to_owned(), part: None, file: Some(open(File::from(output))) });
        }
        let there = std::fs::metadata(path);
        if there.as_ref().is_ok_and(|there| there.file_type().is_block_device()) {
            let reason = "this is a block device, not a file";
            return Err(failed(io::Error::new(io::ErrorKind::InvalidInput, reason)));
        }
        if there.is_ok_and(|there| !there.is_file() && !there.is_dir()) {
            let file = File::options().write(true).open(path).map_err(failed)?;
            return Ok(Self { path: path.to_owned(), part: None, file: Some(open(file)) });
        }
        if path.is_dir() {
            return Err(failed(io::Error::new(io::ErrorKind::IsADirectory, "this is a folder, not a file")));
        }
        let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let Some(name) = target.file_name() else {
            return Err(failed(io::Error::new(io::ErrorKind::InvalidInput, "this is no file name")));
        };
        let mut hidden = OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".{}.{}.part", std::process::id(), FILES.fetch_add(1, Ordering::Relaxed)));
        let part = target.with_file_name(hidden);
        let file = File::create(&part).map_err(failed)?;
        // The permissions of a file that is replaced stay, where its file system has any.
        if let Ok(there) = std::fs::metadata(&target) {
            let _ = file.set_permissions(there.permissions());
        }
        Ok(Self { path: path.to_owned(), part: Some((part, target)), file: Some(open(file)) })
    }

    /// Writes what is buffered and gives the file its name, in place of one that had it.
    pub fn finish(mut self) -> Result<(), OutputError> {
        let flushed = self.flush();
        // Closed before it is renamed; `drop` finds nothing left to remove after success.
        let done = flushed.and_then(|()| {
            self.file = None;
            let Some((part, target)) = &self.part else { return Ok(()) };
            std::fs::rename(part, target)
        });
        done.map_err(|source| self.error(source))
    }

    /// As [`PartFile::finish`], with the file on the disk before it gets its name, and then the name: after a crash of the system there is
    /// the file that was there before, or the new one.
    pub fn finish_synced(mut self) -> Result<(), OutputError> {
        let synced = self.flush().and_then(|()| match (&self.file, &self.part) {
            (Some(file), Some(_)) => file.get_ref().sync_all(),
            _ => Ok(()),
        });
        synced.map_err(|source| self.error(source))?;
        let (path, target) = (self.path.clone(), self.part.as_ref().map(|(_, target)| target.clone()));
        self.finish()?;
        let folder = target.as_deref().and_then(Path::parent);
        let folder = folder.map(|folder| if folder.as_os_str().is_empty() { Path::new(".") } else { folder });
        let named = folder.map_or(Ok(()), |folder| File::open(folder)?.sync_all());
        named.map_err(|source| OutputError { path, source })
    }

    /// An error about this file, under the name asked for.
    pub fn error(&self, source: io::Error) -> OutputError {
        OutputError { path: self.path.clone(), source }
    }
}

/// True if two paths lead to the same file, existing or not; two names of one file (hard links) do.
pub fn same_file(left: &Path, right: &Path) -> bool {
    // Standard input and standard output are different files.
    if is_standard(left) || is_standard(right) {
        return false;
    }
    if let (Ok(left), Ok(right)) = (std::fs::metadata(left), std::fs::metadata(right)) {
        return (left.dev(), left.ino()) == (right.dev(), right.ino());
    }
    let place = |path: &Path| {
        std::fs::canonicalize(path).ok().or_else(|| {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            let folder = std::fs::canonicalize(folder.unwrap_or(Path::new("."))).ok()?;
            Some(folder.join(path.file_name()?))
        })
    };
    place(left).is_some_and(|left| place(right) == Some(left))
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
        if let Some((part, _)) = &self.part {
            // Of a finished file there is no part; nothing can be done about one that can't be removed.
            let _ = std::fs::remove_file(part);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_followed_and_what_is_no_file_stays_what_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let (file, link) = (dir.path().join("file"), dir.path().join("link"));
        std::fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let mut part = PartFile::create(&link).unwrap();
        part.write_all(b"new").unwrap();
        part.finish().unwrap();
        assert!(link.is_symlink());
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "new");
        // A pipe of our own stands for every device.
        let (reader, writer) = std::io::pipe().unwrap();
        let path = PathBuf::from(format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&writer)));
        let mut part = PartFile::create(&path).unwrap();
        part.write_all(b"through").unwrap();
        part.finish().unwrap();
        drop(writer);
        assert_eq!(std::io::read_to_string(reader).unwrap(), "through");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_file_that_is_replaced_keeps_its_permissions() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, "old").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o400)).unwrap();
        PartFile::create(&path).unwrap().finish().unwrap();
        let there = std::fs::metadata(&path).unwrap();
        assert_eq!((there.permissions().mode() & 0o777, there.len()), (0o400, 0));
    }

    #[test]
    fn two_that_write_one_name_are_apart_until_they_are_whole() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let [mut first, mut second] = [(); 2].map(|()| PartFile::create(&path).unwrap());
        first.write_all(b"first").unwrap();
        second.write_all(b"other").unwrap();
        first.finish().unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "first");
        second.finish().unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "other");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn the_same_file_is_known_under_other_names() {
        let dir = tempfile::tempdir().unwrap();
        let (file, other) = (dir.path().join("file"), dir.path().join(".").join("file"));
        assert!(same_file(&file, &other), "also before it is there");
        std::fs::write(&file, "").unwrap();
        assert!(same_file(&file, &other) && !same_file(&file, &dir.path().join("else")));
        let linked = dir.path().join("linked");
        std::fs::hard_link(&file, &linked).unwrap();
        assert!(same_file(&file, &linked));
    }

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

        let mut synced = PartFile::create(&path).unwrap();
        synced.write_all(b"synced").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"whole");
        synced.finish_synced().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"synced");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn an_error_names_the_file() {
        let error = PartFile::create(Path::new("/nowhere/out.bin")).unwrap_err();
        assert!(error.to_string().starts_with("/nowhere/out.bin: "), "{error}");
    }
}
