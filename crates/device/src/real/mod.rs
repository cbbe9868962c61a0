//! Real drives: block devices and files.

use std::path::Path;

use flashweir_trace::{LogRecord, Request};

use crate::{Error, OpenOptions, Target, Timing};

/// How a real drive is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Engine {
    /// Through io_uring: as many requests under way as wanted.
    #[default]
    IoUring,
    /// One system call after the other: pread, pwrite.
    Sync,
}

/// A block device or a file.
#[derive(Debug)]
pub struct RealTarget {}

impl RealTarget {
    /// Opens it.
    pub fn open(path: &Path, _: &OpenOptions) -> Result<Self, Error> {
        Err(Error::Target {
            path: path.into(),
            detail: "real drives are not there yet: expected sim:PRESET".into(),
        })
    }
}

impl Target for RealTarget {
    fn name(&self) -> String {
        String::new()
    }
    fn size_bytes(&self) -> u64 {
        0
    }
    fn block_bytes(&self) -> u32 {
        512
    }
    fn execute(
        &mut self,
        _: &mut dyn Iterator<Item = Result<Request, Error>>,
        _: Timing,
        _: &mut dyn FnMut(LogRecord) -> Result<(), Error>,
    ) -> Result<(), Error> {
        Ok(())
    }
    fn pause(&mut self, _: u64) -> Result<(), Error> {
        Ok(())
    }
    fn now_ns(&self) -> u64 {
        0
    }
}
