//! Files, or members of an archive, that make up a trace.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::super::spool;
use super::cpus::Member;
use crate::{FieldError, Position, TraceError};

/// Bytes of a block of tar.
const TAR_BLOCK: u64 = 512;

/// The per-CPU files of the set called `path`: `path.blktrace.N` or, if `path` ends in `.blktrace`, `path.N`, for all N
/// there are, compressed or not. Empty if `path` is a file itself or no set has that name.
pub(super) fn siblings(path: &Path) -> Vec<PathBuf> {
    let Some(name) = path.file_name().map(|name| name.to_string_lossy().into_owned()) else {
        return Vec::new();
    };
    if path.exists() {
        return Vec::new();
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let start = if name.ends_with(".blktrace") { format!("{name}.") } else { format!("{name}.blktrace.") };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<(u32, PathBuf)> = entries
        .filter_map(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            Some((cpu_number(name.strip_prefix(&start)?)?, folder.join(name)))
        })
        .collect();
    found.sort();
    found.into_iter().map(|(_, path)| path).collect()
}

/// The one file at `path`. A pipe is first copied to a temporary file, since events are read twice: for which of them
/// are requests, and for those.
pub(super) fn single(path: &Path) -> Result<Member, TraceError> {
    if std::fs::metadata(path).is_ok_and(|meta| meta.is_file()) {
        return Ok(Member::File(path.to_owned()));
    }
    let failed = |source| TraceError::Io { path: path.to_owned(), source };
    let mut file = spool::open(path)?;
    let length = file.seek(SeekFrom::End(0)).map_err(failed)?;
    Ok(Member::Piece { name: path.to_owned(), file: Arc::new(Mutex::new(file)), start: 0, length })
}

/// The number at the end of a per-CPU file's name.
fn cpu_number(end: &str) -> Option<u32> {
    let bare =
        [".gz", ".zst", ".zstd"].iter().find_map(|compressed| end.strip_suffix(compressed)).unwrap_or(end);
    bare.bytes().all(|byte| byte.is_ascii_digit()).then(|| bare.parse().ok())?
}

/// The per-CPU files in the tar archive at `path`, in its order. Their content is read later, through one shared handle.
pub(super) fn archived(path: &Path) -> Result<Vec<Member>, TraceError> {
    let failed = |source| TraceError::Io { path: path.to_owned(), source };
    let mut file = spool::open(path)?;
    let length = file.seek(SeekFrom::End(0)).map_err(failed)?;
    file.seek(SeekFrom::Start(0)).map_err(failed)?;
    let pieces = list(&mut file, path, length)?;
    let file = Arc::new(Mutex::new(file));
    let member = |(name, start, length): (PathBuf, u64, u64)| Member::Piece {
        name: path.join(name),
        file: Arc::clone(&file),
        start,
        length,
    };
    Ok(pieces.into_iter().map(member).collect())
}

/// Name, start and length of the per-CPU files.
fn list(file: &mut File, path: &Path, length: u64) -> Result<Vec<(PathBuf, u64, u64)>, TraceError> {
    let truncated = |at: u64, detail: String| TraceError::Truncated {
        path: path.to_owned(),
        position: Position::Byte(at.min(length)),
        detail,
    };
    let damaged = |at: u64, found: &str, expected: &'static str| TraceError::Record {
        path: path.to_owned(),
        position: Position::Byte(at),
        field: FieldError::new("header of a member", found.as_bytes(), expected),
    };
    let (mut pieces, mut end) = (Vec::new(), 0u64);
    let mut archive = tar::Archive::new(&mut *file);
    let entries =
        archive.entries_with_seek().map_err(|source| TraceError::Io { path: path.to_owned(), source })?;
    for entry in entries {
        // The library has one error for what is cut off and what is damaged; the position tells them apart.
        let entry = match entry {
            Ok(entry) => entry,
            Err(_) if end + TAR_BLOCK > length => {
                return Err(truncated(end, "a member's header is missing".to_owned()));
            }
            Err(error) => return Err(damaged(end, &error.to_string(), "a header of tar")),
        };
        let (start, size) = (entry.raw_file_position(), entry.size());
        end = start
            .checked_add(size)
            .and_then(|end| end.checked_next_multiple_of(TAR_BLOCK))
            .ok_or_else(|| damaged(start, &size.to_string(), "a size below 2^63"))?;
        if end > length {
            return Err(truncated(length, format!("a member ends at byte {end}")));
        }
        let name =
            entry.path().map_err(|source| TraceError::Io { path: path.to_owned(), source })?.into_owned();
        if entry.header().entry_type().is_file() && is_per_cpu(&name) {
            pieces.push((name, start, size));
        }
    }
    // A whole archive ends in blocks of zeros: without them a cut between two members would go unseen.
    let mut block = [1; TAR_BLOCK as usize];
    let ended = file.seek(SeekFrom::Start(end)).and_then(|_| file.read_exact(&mut block));
    if ended.is_err() || block.iter().any(|byte| *byte != 0) {
        return Err(truncated(end, "the blocks of zeros at the end of an archive are missing".to_owned()));
    }
    if pieces.is_empty() {
        return Err(damaged(0, "no such member", "members called like sda.blktrace.0, one a CPU"));
    }
    Ok(pieces)
}

fn is_per_cpu(name: &Path) -> bool {
    let name = name.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    name.rsplit_once(".blktrace.").is_some_and(|(_, end)| cpu_number(end).is_some())
}
