//! Bytes of a trace file: decompressed by content, in large blocks, as lines or as pieces of a binary file.

use std::fs::File;
use std::io::{BufReader, Cursor, ErrorKind, Read};
use std::ops::Range;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::output::is_standard;
use crate::reason::expecting;
use crate::{FieldError, Position, TraceError};

/// Bytes read at once, after the first few blocks.
const BLOCK: usize = 512 << 10;

/// Bytes read first: blocks double from here, so that small traces cost little to open.
const FIRST_BLOCK: usize = 32 << 10;

/// The longest line that can still be text; longer ones are refused before they fill the memory.
const LONGEST_LINE: usize = 1 << 20;

/// A trace file being read once, front to back.
pub(crate) struct Input {
    path: PathBuf,
    reader: Box<dyn Read + Send>,
    compressed: bool,
    /// Bytes read next; doubles up to `most`.
    block: usize,
    most: usize,
    buffer: Vec<u8>,
    /// The unread bytes of `buffer`.
    unread: Range<usize>,
    at_end: bool,
    lines: u64,
    consumed: u64,
    /// Bytes read of the file as it is stored.
    stored: Arc<AtomicU64>,
    /// Bytes that are stored, where the source has an end that is known.
    length: Option<u64>,
}

/// Counts the bytes that go through it.
struct Counted<R> {
    reader: R,
    bytes: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.reader.read(buffer)?;
        self.bytes.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

impl Input {
    /// Opens `path`, undoing gzip (of any number of members) and zstd (of any number of frames) by their magic.
    pub(crate) fn open(path: &Path) -> Result<Self, TraceError> {
        let failed = |source| TraceError::Io { path: path.to_owned(), source };
        let file = if is_standard(path) {
            File::from(std::io::stdin().as_fd().try_clone_to_owned().map_err(failed)?)
        } else {
            File::open(path).map_err(|error| failed(expecting(&error, "a trace of requests")))?
        };
        let meta = file.metadata();
        if meta.as_ref().is_ok_and(std::fs::Metadata::is_dir) {
            return Err(failed(std::io::Error::new(
                ErrorKind::IsADirectory,
                "this is a folder, not a trace",
            )));
        }
        let length = meta.ok().filter(std::fs::Metadata::is_file).map(|meta| meta.len());
        Self::decompress(path, file, length)
    }

    /// Reads from `reader`, decompressed by content, as if it were the content of `path`; `length` is how many bytes
    /// it gives, if that is known.
    pub(crate) fn decompress(
        path: &Path,
        reader: impl Read + Send + 'static,
        length: Option<u64>,
    ) -> Result<Self, TraceError> {
        let stored = Arc::new(AtomicU64::new(0));
        let mut reader = Counted { reader, bytes: Arc::clone(&stored) };
        let failed = |source| TraceError::Io { path: path.to_owned(), source };
        let mut magic = Vec::with_capacity(4);
        (&mut reader).take(4).read_to_end(&mut magic).map_err(failed)?;
        let gzip = magic.starts_with(&[0x1f, 0x8b]);
        let zstd = matches!(magic[..], [0x28, 0xb5, 0x2f, 0xfd] | [0x50..=0x5f, 0x2a, 0x4d, 0x18]);
        let whole = Cursor::new(magic).chain(reader);
        let reader: Box<dyn Read + Send> = if gzip {
            Box::new(flate2::bufread::MultiGzDecoder::new(BufReader::with_capacity(BLOCK / 4, whole)))
        } else if zstd {
            let whole = BufReader::with_capacity(BLOCK / 4, whole);
            Box::new(zstd::stream::read::Decoder::with_buffer(whole).map_err(failed)?)
        } else {
            Box::new(whole)
        };
        Ok(Self { stored, length, ..Self::from_reader(path, reader, gzip || zstd) })
    }

    /// Reads from `reader` as if it were the content of `path`: for members of archives.
    pub(crate) fn from_reader(path: &Path, reader: Box<dyn Read + Send>, compressed: bool) -> Self {
        Self {
            path: path.to_owned(),
            reader,
            compressed,
            block: FIRST_BLOCK,
            most: BLOCK,
            buffer: Vec::new(),
            unread: 0..0,
            at_end: false,
            lines: 0,
            consumed: 0,
            stored: Arc::new(AtomicU64::new(0)),
            length: None,
        }
    }

    /// Reads at most `block` bytes at once: less than usual where many inputs are open together.
    #[must_use]
    pub(crate) const fn with_block(mut self, block: usize) -> Self {
        self.most = block;
        self.block = if block < FIRST_BLOCK { block } else { FIRST_BLOCK };
        self
    }

    /// True if the file is compressed.
    pub(crate) const fn is_compressed(&self) -> bool {
        self.compressed
    }

    /// Bytes read of those that are stored, and how many those are; `None` where that is not known, as in a pipe.
    pub(crate) fn bytes_read(&self) -> Option<(u64, u64)> {
        Some((self.stored.load(Ordering::Relaxed), self.length?))
    }

    /// True if nothing has been taken yet.
    pub(crate) const fn is_at_start(&self) -> bool {
        self.consumed == 0
    }

    /// The file's path, for messages.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The line read last, from 1.
    pub(crate) const fn line_position(&self) -> Position {
        Position::Line(self.lines)
    }

    /// The next line, without its `\n`, and whether that was there; `None` at the end of the file.
    pub(crate) fn next_line(&mut self) -> Result<Option<(&[u8], bool)>, TraceError> {
        let mut searched = 0;
        loop {
            let unread = &self.buffer[self.unread.clone()];
            if let Some(at) = memchr::memchr(b'\n', &unread[searched..]) {
                let line = self.unread.start..self.unread.start + searched + at;
                self.advance(line.len() + 1);
                self.lines += 1;
                return Ok(Some((&self.buffer[line], true)));
            }
            searched = unread.len();
            if self.at_end {
                if searched == 0 {
                    return Ok(None);
                }
                let line = self.unread.clone();
                self.advance(line.len());
                self.lines += 1;
                return Ok(Some((&self.buffer[line], false)));
            }
            if searched > LONGEST_LINE {
                return Err(TraceError::Record {
                    path: self.path.clone(),
                    position: Position::Line(self.lines + 1),
                    field: FieldError::new("line", unread, "a line of at most 1 MiB; this is not text"),
                });
            }
            self.more()?;
        }
    }

    /// The unread bytes, at least `wanted` of them unless the file ends before.
    pub(crate) fn peek(&mut self, wanted: usize) -> Result<&[u8], TraceError> {
        while self.unread.len() < wanted && !self.at_end {
            self.more()?;
        }
        Ok(&self.buffer[self.unread.clone()])
    }

    /// Drops `bytes` unread bytes, or all if there are fewer.
    pub(crate) fn advance(&mut self, bytes: usize) {
        let bytes = bytes.min(self.unread.len());
        self.unread.start += bytes;
        self.consumed += bytes as u64;
    }

    /// The next `bytes` bytes, or `None` at the end of the file; an error if the file ends between.
    pub(crate) fn take(&mut self, bytes: usize, what: &str) -> Result<Option<&[u8]>, TraceError> {
        let there = self.peek(bytes)?.len();
        if there == 0 {
            return Ok(None);
        }
        if there < bytes {
            return Err(self.truncated(format!("{what} takes {bytes} bytes, {there} are left")));
        }
        let start = self.unread.start;
        self.advance(bytes);
        Ok(Some(&self.buffer[start..start + bytes]))
    }

    /// The error of a file that ends here though more was announced.
    pub(crate) fn truncated(&self, detail: String) -> TraceError {
        TraceError::Truncated { path: self.path.clone(), position: Position::Byte(self.consumed), detail }
    }

    /// Reads one more block behind the unread bytes, moving those to the front.
    fn more(&mut self) -> Result<(), TraceError> {
        self.buffer.copy_within(self.unread.clone(), 0);
        self.unread = 0..self.unread.len();
        let room = self.unread.end + self.block;
        self.block = (self.block * 2).min(self.most);
        if self.buffer.len() < room {
            self.buffer.resize(room, 0);
        }
        loop {
            match self.reader.read(&mut self.buffer[self.unread.end..]) {
                Ok(read) => {
                    self.at_end = read == 0;
                    self.unread.end += read;
                    return Ok(());
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(self.read_error(error)),
            }
        }
    }

    fn read_error(&self, source: std::io::Error) -> TraceError {
        let path = self.path.clone();
        if !self.compressed || source.raw_os_error().is_some() {
            TraceError::Io { path, source }
        } else if source.kind() == ErrorKind::UnexpectedEof {
            let position = Position::Byte(self.consumed + self.unread.len() as u64);
            TraceError::Truncated { path, position, detail: "its compressed stream has no end".to_owned() }
        } else {
            TraceError::Corrupt { path, detail: source.to_string() }
        }
    }
}
