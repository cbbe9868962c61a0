//! One event of blktrace: 48 packed bytes in the byte order of the machine that traced, then a payload.

use crate::{FieldError, Op};

/// Bytes of an event before its payload.
pub const HEAD_BYTES: usize = 48;

/// The upper three bytes of the magic; the lowest one is the version.
const MAGIC: u32 = 0x6561_7400;

/// The version read and written, the only one in use since 2006.
const VERSION: u32 = 7;

// The low half of the action.
/// Action: the host made a request.
pub const QUEUE: u32 = 1;
/// Action: the kernel had room for the request.
pub(super) const ALLOCATE: u32 = 4;
/// Action: the request entered the queue of its device.
pub(super) const INSERT: u32 = 12;
/// Action: a request that had been issued waits again.
pub const REQUEUE: u32 = 6;
/// Action: a request went to the driver.
pub const ISSUE: u32 = 7;
/// Action: a request, or a part of it, completed.
pub const COMPLETE: u32 = 8;
/// Of notifications, which count from zero: the name of a process.
pub(super) const NAME: u32 = 0;
/// Of notifications: a text from whoever traces.
const MESSAGE: u32 = 2;
/// Bytes of a process name in its event, the last of which is zero.
const NAME_BYTES: usize = 16;

// Kind of request to which it happened: bits of the high half.
const WRITE: u32 = 1 << 17;
const READ: u32 = 1 << 16;
const FLUSH: u32 = 1 << 18;
const SYNC: u32 = 1 << 19;
const QUEUED: u32 = 1 << 20;
const WAITS_AGAIN: u32 = 1 << 21;
const TO_DRIVER: u32 = 1 << 22;
const DONE: u32 = 1 << 23;
const FILE_SYSTEM: u32 = 1 << 24;
const PACKET: u32 = 1 << 25;
const NOTIFY: u32 = 1 << 26;
const AHEAD: u32 = 1 << 27;
const META: u32 = 1 << 28;
const DISCARD: u32 = 1 << 29;
const FUA: u32 = 1 << 31;

/// Bits of [`LogRecord::flags`](crate::LogRecord) and the category that says the same.
const FLAGS: [(u32, u32); 5] = [(1, SYNC), (1 << 1, META), (1 << 2, AHEAD), (1 << 3, FUA), (1 << 4, FLUSH)];

/// An event without its payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// Its number; nothing depends on it.
    pub sequence: u32,
    /// When, ns on the clock of whoever traced.
    pub time_ns: u64,
    /// First sector on its device.
    pub sector: u64,
    /// Length.
    pub bytes: u32,
    /// The action in the low half, the kind of request in the high half.
    pub action: u32,
    /// The process, or thread, that ran when it happened.
    pub pid: u32,
    /// The device: major number << 20 | minor number.
    pub device: u32,
    /// Bytes that follow the event.
    pub payload: u16,
}

/// Byte order of a file, found by its magic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Endian {
    Little,
    Big,
}

impl Endian {
    /// The order in which the first four bytes of an event are the magic.
    pub(super) fn detect(head: &[u8]) -> Option<Self> {
        let magic: [u8; 4] = head.get(..4)?.try_into().ok()?;
        if u32::from_le_bytes(magic) & !0xff == MAGIC {
            Some(Endian::Little)
        } else if u32::from_be_bytes(magic) & !0xff == MAGIC {
            Some(Endian::Big)
        } else {
            None
        }
    }
}

impl Event {
    /// The event at the start of `head`, which has [`HEAD_BYTES`], in the byte order of this machine's files.
    ///
    /// # Errors
    /// The bytes are no event of version 7.
    pub fn from_bytes(head: &[u8]) -> Result<Self, FieldError> {
        Self::parse(head, Endian::detect(head).unwrap_or(Endian::Little))
    }

    /// Reads the head of an event, which has [`HEAD_BYTES`].
    pub(super) fn parse(head: &[u8], endian: Endian) -> Result<Self, FieldError> {
        let field = |at: usize| {
            let bytes: [u8; 4] =
                head.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).unwrap_or_default();
            match endian {
                Endian::Little => u32::from_le_bytes(bytes),
                Endian::Big => u32::from_be_bytes(bytes),
            }
        };
        let wide = |at: usize| {
            let (first, second) = (u64::from(field(at)), u64::from(field(at + 4)));
            if endian == Endian::Little { second << 32 | first } else { first << 32 | second }
        };
        let magic = field(0);
        if magic & !0xff != MAGIC {
            return Err(FieldError::new(
                "magic",
                format!("{magic:#010x}").as_bytes(),
                "0x65617407, which starts an event",
            ));
        }
        if magic & 0xff != VERSION {
            return Err(FieldError::new("version", (magic & 0xff).to_string().as_bytes(), "version 7"));
        }
        // The last word is two halves, error and length of the payload, in the byte order of the file.
        let last = field(44);
        let payload = if endian == Endian::Little { last >> 16 } else { last & 0xffff } as u16;
        Ok(Self {
            sequence: field(4),
            time_ns: wide(8),
            sector: wide(16),
            bytes: field(24),
            action: field(28),
            pid: field(32),
            device: field(36),
            payload,
        })
    }

    /// Writes the head of an event of CPU 0, little-endian.
    pub fn write(&self, out: &mut Vec<u8>) {
        let words = [MAGIC | VERSION, self.sequence];
        out.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        out.extend([self.time_ns, self.sector].iter().flat_map(|word| word.to_le_bytes()));
        let words = [self.bytes, self.action, self.pid, self.device, 0, u32::from(self.payload) << 16];
        out.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    }

    /// Writes the event that tells the name of process `pid`; of a long name the first 15 bytes.
    pub fn write_name(pid: u32, time_ns: u64, name: &[u8], out: &mut Vec<u8>) {
        let (payload, action) = (NAME_BYTES as u16, Self::notification(NAME));
        Self { time_ns, action, pid, payload, ..Self::default() }.write(out);
        let mut bytes = [0; NAME_BYTES];
        for (byte, letter) in bytes[..NAME_BYTES - 1].iter_mut().zip(name) {
            *byte = *letter;
        }
        out.extend(bytes);
    }

    /// Writes an event that says nothing, `bytes` long with its payload: at least [`HEAD_BYTES`].
    pub fn write_filler(time_ns: u64, bytes: usize, out: &mut Vec<u8>) {
        let end = out.len() + bytes.max(HEAD_BYTES);
        let payload = u16::try_from(bytes.saturating_sub(HEAD_BYTES)).unwrap_or(u16::MAX);
        Self { time_ns, action: Self::notification(MESSAGE), payload, ..Self::default() }.write(out);
        out.resize(end, 0);
    }

    /// The action, if it happened to a request.
    pub const fn what(&self) -> Option<u32> {
        if self.action & NOTIFY == 0 { Some(self.action & 0xffff) } else { None }
    }

    /// True if data goes to the device; the kernel says so of flushes too.
    pub(super) const fn writes(&self) -> bool {
        self.action & WRITE != 0
    }

    /// True if the payload is the name of process `pid`.
    pub(super) const fn is_name(&self) -> bool {
        self.action & NOTIFY != 0 && self.action & 0xffff == NAME
    }

    /// Operation of the request; `None` for commands that are no reads, writes, discards or flushes.
    pub const fn op(&self) -> Option<Op> {
        let category = self.action;
        if category & PACKET != 0 {
            None
        } else if self.bytes == 0 {
            if category & FLUSH != 0 { Some(Op::Flush) } else { None }
        } else if category & DISCARD != 0 {
            Some(Op::Trim)
        } else if category & WRITE != 0 {
            Some(Op::Write)
        } else {
            Some(Op::Read)
        }
    }

    /// Flags as in [`LogRecord::flags`](crate::LogRecord).
    pub(super) fn flags(&self) -> u32 {
        let set = |(bit, category): &(u32, u32)| if self.action & category == 0 { 0 } else { *bit };
        FLAGS.iter().map(set).sum()
    }

    /// The action of a request: what happened, its operation and its flags.
    pub fn action_of(what: u32, op: Op, flags: u32) -> u32 {
        let category = match op {
            Op::Read => READ,
            Op::Trim => WRITE | DISCARD,
            Op::Flush => FLUSH,
            // There are no commands to zones (`Encoder::holds`).
            _ => WRITE,
        };
        let stage = match what {
            COMPLETE => DONE,
            REQUEUE => WAITS_AGAIN,
            QUEUE | ALLOCATE | INSERT => QUEUED,
            _ => TO_DRIVER,
        };
        let set = |(bit, category): &(u32, u32)| if flags & bit == 0 { 0 } else { *category };
        let modifiers: u32 = FLAGS.iter().map(set).sum();
        what | category | stage | FILE_SYSTEM | modifiers
    }

    /// The action of a notification.
    pub(super) const fn notification(what: u32) -> u32 {
        what | NOTIFY
    }
}
