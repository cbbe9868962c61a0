//! Files that must be sought in: archives and Parquet. What is compressed, or is a pipe, is first copied to a
//! temporary file, which has no name and goes when it is closed.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

use super::input::Input;
use crate::TraceError;

/// Opens `path` so that it can be sought in.
pub(crate) fn open(path: &Path) -> Result<File, TraceError> {
    let failed = |source| TraceError::Io { path: path.to_owned(), source };
    let mut input = Input::open(path)?;
    let regular = std::fs::metadata(path).is_ok_and(|meta| meta.is_file());
    if regular && !input.is_compressed() {
        return File::open(path).map_err(failed);
    }
    let mut copy = tempfile::tempfile().map_err(failed)?;
    loop {
        let block = input.peek(1)?;
        if block.is_empty() {
            break;
        }
        copy.write_all(block).map_err(failed)?;
        let length = block.len();
        input.advance(length);
    }
    copy.seek(SeekFrom::Start(0)).map_err(failed)?;
    Ok(copy)
}
