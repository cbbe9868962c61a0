//! Names for what the bytes of a drive seem to be: partition tables, file systems, volumes, arrays, encryption, swap. They only explain
//! a refusal: data of no known format is data as well.
//!
//! Names come from libblkid where it is installed, and from our own tables where it is not or knows nothing.

mod blkid;
mod ext;
mod labels;
mod table;
#[cfg(test)]
mod tests;
mod words;

pub(super) use labels::zfs_labels;

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;

/// Where a partition begins whose table is gone: behind an MBR of today, and of DOS.
const BASES: [u64; 3] = [0, 1 << 20, 63 * 512];

/// Bytes of a drive or file.
#[derive(Clone, Copy)]
pub(super) struct Bytes<'a> {
    file: &'a File,
    size: u64,
}

impl<'a> Bytes<'a> {
    pub(super) fn new(file: &'a File, size: u64) -> Self {
        Self { file, size }
    }

    /// Bytes at a place; `None` where the drive ends before.
    pub(super) fn read(self, start: u64, length: usize) -> io::Result<Option<Vec<u8>>> {
        if start.checked_add(length as u64).is_none_or(|end| end > self.size) {
            return Ok(None);
        }
        let mut bytes = vec![0; length];
        self.file.read_exact_at(&mut bytes, start)?;
        Ok(Some(bytes))
    }

    fn has(self, start: Option<u64>, magic: &[u8]) -> io::Result<bool> {
        let Some(start) = start else { return Ok(false) };
        Ok(self.read(start, magic.len())?.as_deref() == Some(magic))
    }
}

/// Names of what seems to be on `file`, each once.
///
/// # Errors
/// It can't be read.
pub fn signatures(file: &File, size_bytes: u64) -> io::Result<Vec<String>> {
    let known = blkid::names(file.as_fd()).unwrap_or_default();
    if known.is_empty() { of_tables(file, size_bytes) } else { Ok(known) }
}

/// Names that our own tables have.
fn of_tables(file: &File, size_bytes: u64) -> io::Result<Vec<String>> {
    let bytes = Bytes::new(file, size_bytes);
    let mut found = Vec::new();
    for base in BASES {
        for name in table::names(bytes, base)? {
            add(&mut found, if base == 0 { name } else { format!("{name} at byte {base}") });
        }
        // A signature at the beginning is that of the whole drive; places behind it are examined only if there is none.
        if !found.is_empty() {
            break;
        }
    }
    for name in labels::names(bytes)? {
        add(&mut found, name);
    }
    if found.is_empty()
        && let Some(name) = ext::backup(bytes, &BASES)?
    {
        found.push(name);
    }
    if found.is_empty()
        && let Some(name) = labels::boot_sector(bytes)?
    {
        found.push(name);
    }
    Ok(found)
}

fn add(found: &mut Vec<String>, name: String) {
    if !found.contains(&name) {
        found.push(name);
    }
}
