//! The files of several CPUs as one stream of events by time. Memory: a buffer of 64 KiB a CPU.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::super::input::Input;
use super::event::{Endian, Event, HEAD_BYTES};
use crate::{FieldError, Position, TraceError};

/// Bytes read at once from each CPU's file.
const BLOCK: usize = 64 << 10;

/// Processes whose names are kept; of more than that, the first ones.
const MAX_NAMES: usize = 1 << 16;

/// One CPU's events: a file, or a piece of an archive. Can be read more than once.
#[derive(Clone, Debug)]
pub(super) enum Member {
    /// A file of its own.
    File(PathBuf),
    /// A piece of the archive `file`.
    Piece {
        /// Its name, behind the archive's, for messages.
        name: PathBuf,
        /// The archive, shared by its pieces.
        file: Arc<Mutex<File>>,
        /// Where it starts, bytes.
        start: u64,
        /// Its length, bytes.
        length: u64,
    },
}

impl Member {
    fn open(&self) -> Result<Input, TraceError> {
        let input = match self {
            Member::File(path) => Input::open(path)?,
            Member::Piece { name, file, start, length } => {
                let piece = Piece { file: Arc::clone(file), next: *start, end: start + length };
                Input::decompress(name, piece, Some(*length))?
            }
        };
        Ok(input.with_block(BLOCK))
    }
}

/// A piece of a file, read through a handle that others use too.
struct Piece {
    file: Arc<Mutex<File>>,
    next: u64,
    end: u64,
}

impl Read for Piece {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let left = usize::try_from(self.end - self.next).unwrap_or(usize::MAX).min(buffer.len());
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(self.next))?;
        let read = file.read(&mut buffer[..left])?;
        self.next += read as u64;
        Ok(read)
    }
}

/// One CPU's events, in the order of its file.
struct Cpu {
    input: Input,
    endian: Option<Endian>,
    records: u64,
    /// The event to come.
    head: Event,
}

/// All CPUs' events by time; at equal times by CPU.
pub(super) struct Cpus {
    all: Vec<Cpu>,
    /// Time of each CPU's next event, and the CPU.
    queue: BinaryHeap<Reverse<(u64, usize)>>,
    /// Names of processes by PID, from the events read so far.
    pub(super) names: BTreeMap<u32, Vec<u8>>,
}

impl Cpus {
    /// Opens all `members` and reads their first events.
    pub(super) fn open(members: &[Member]) -> Result<Self, TraceError> {
        let mut cpus = Self { all: Vec::new(), queue: BinaryHeap::new(), names: BTreeMap::new() };
        for (index, member) in members.iter().enumerate() {
            let input = member.open()?;
            cpus.all.push(Cpu { input, endian: None, records: 0, head: Event::default() });
            cpus.advance(index)?;
        }
        Ok(cpus)
    }

    /// Bytes read of all CPUs' files, and how many there are.
    pub(super) fn bytes_read(&self) -> Option<(u64, u64)> {
        let each = self.all.iter().map(|cpu| cpu.input.bytes_read());
        each.reduce(|sum, cpu| Some((sum?.0 + cpu?.0, sum?.1 + cpu?.1)))?
    }

    /// The next event that is no notification.
    pub(super) fn next(&mut self) -> Result<Option<Event>, TraceError> {
        let Some(Reverse((_, index))) = self.queue.pop() else { return Ok(None) };
        let event = self.all[index].head;
        self.advance(index)?;
        Ok(Some(event))
    }

    /// Events of CPU number `index` up to one that is no notification, which gets in line.
    fn advance(&mut self, index: usize) -> Result<(), TraceError> {
        let cpu = &mut self.all[index];
        while cpu.read(&mut self.names)? {
            if cpu.head.what().is_some() {
                self.queue.push(Reverse((cpu.head.time_ns, index)));
                break;
            }
        }
        Ok(())
    }
}

impl Cpu {
    /// Reads the next event; false at the end of the file.
    fn read(&mut self, names: &mut BTreeMap<u32, Vec<u8>>) -> Result<bool, TraceError> {
        let endian = match self.endian {
            Some(endian) => endian,
            None => match Endian::detect(self.input.peek(4)?) {
                Some(endian) => *self.endian.insert(endian),
                // An empty file is that of an idle CPU; the parser reports any other content as damage.
                None => Endian::Little,
            },
        };
        let Some(head) = self.input.take(HEAD_BYTES, "an event")? else { return Ok(false) };
        self.records += 1;
        match Event::parse(head, endian) {
            Ok(event) => self.head = event,
            Err(field) => return Err(self.bad(field)),
        }
        if self.head.payload > 0 {
            let payload = self.input.take(self.head.payload.into(), "the payload of an event")?;
            let Some(payload) = payload else {
                return Err(self
                    .input
                    .truncated(format!("{} bytes of payload are missing", self.head.payload)));
            };
            if self.head.is_name() && names.len() < MAX_NAMES {
                let name = payload.split(|byte| *byte == 0).next().unwrap_or_default();
                names.insert(self.head.pid, name.to_owned());
            }
        }
        Ok(true)
    }

    /// Bytes that are no event can't be skipped, since their length is unknown: no permission to skip bad records
    /// helps.
    fn bad(&self, field: FieldError) -> TraceError {
        let path: &Path = self.input.path();
        TraceError::Record { path: path.to_owned(), position: Position::Record(self.records), field }
    }
}
