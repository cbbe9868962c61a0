//! Numbers of the NBD protocol (`doc/proto.md` of the NBD project), and its messages as bytes.

use std::io;

/// First word of the server's greeting, "NBDMAGIC".
pub(super) const GREETING: u64 = 0x4e42_444d_4147_4943;
/// First word of options, "IHAVEOPT".
pub(super) const OPTION: u64 = 0x4948_4156_454F_5054;
/// First word of answers to options.
pub(super) const OPTION_REPLY: u64 = 0x0003_e889_0455_65a9;
/// First word of requests.
pub(super) const REQUEST: u32 = 0x2560_9513;
/// First word of simple replies.
pub(super) const SIMPLE_REPLY: u32 = 0x6744_6698;
/// First word of chunks of structured replies.
pub(super) const CHUNK: u32 = 0x668e_33ef;

/// Flags of the greeting, of both sides: fixed newstyle, and no padding behind `EXPORT_NAME`.
pub(super) const FIXED_NEWSTYLE: u16 = 1;
/// See [`FIXED_NEWSTYLE`].
pub(super) const NO_ZEROES: u16 = 2;

/// Options of the client.
pub(super) mod option {
    pub(in super::super) const EXPORT_NAME: u32 = 1;
    pub(in super::super) const ABORT: u32 = 2;
    pub(in super::super) const LIST: u32 = 3;
    pub(in super::super) const STARTTLS: u32 = 5;
    pub(in super::super) const INFO: u32 = 6;
    pub(in super::super) const GO: u32 = 7;
    pub(in super::super) const STRUCTURED_REPLY: u32 = 8;
    pub(in super::super) const LIST_META_CONTEXT: u32 = 9;
    pub(in super::super) const SET_META_CONTEXT: u32 = 10;
}

/// Answers to options.
pub(super) mod answer {
    pub(in super::super) const ACK: u32 = 1;
    pub(in super::super) const SERVER: u32 = 2;
    pub(in super::super) const INFO: u32 = 3;
    pub(in super::super) const META_CONTEXT: u32 = 4;
    pub(in super::super) const UNSUPPORTED: u32 = (1 << 31) + 1;
    pub(in super::super) const POLICY: u32 = (1 << 31) + 2;
    pub(in super::super) const INVALID: u32 = (1 << 31) + 3;
    pub(in super::super) const TLS_REQUIRED: u32 = (1 << 31) + 5;
    pub(in super::super) const UNKNOWN: u32 = (1 << 31) + 6;
    pub(in super::super) const TOO_BIG: u32 = (1 << 31) + 9;
}

/// Information about an export.
pub(super) mod info {
    pub(in super::super) const EXPORT: u16 = 0;
    pub(in super::super) const NAME: u16 = 1;
    pub(in super::super) const BLOCK_SIZE: u16 = 3;
}

/// Transmission flags: flush, FUA, trim, write zeroes, no fragments on demand, several connections.
pub(super) const EXPORT_FLAGS: u16 = 1 | 1 << 2 | 1 << 3 | 1 << 5 | 1 << 6 | 1 << 8;
/// Reads can be asked for in one chunk; with structured replies only.
pub(super) const DF_FLAG: u16 = 1 << 7;

/// Commands.
pub(super) mod command {
    pub(in super::super) const READ: u16 = 0;
    pub(in super::super) const WRITE: u16 = 1;
    pub(in super::super) const DISCONNECT: u16 = 2;
    pub(in super::super) const FLUSH: u16 = 3;
    pub(in super::super) const TRIM: u16 = 4;
    pub(in super::super) const WRITE_ZEROES: u16 = 6;
    pub(in super::super) const BLOCK_STATUS: u16 = 7;
    /// Flag: durable before it is answered.
    pub(in super::super) const FUA: u16 = 1;
    /// Flag of write zeroes: keeps the space.
    pub(in super::super) const NO_HOLE: u16 = 2;
    /// Flag of reads: one chunk.
    pub(in super::super) const DF: u16 = 4;
    /// Flag of block status: one extent.
    pub(in super::super) const REQ_ONE: u16 = 8;
}

/// Errors that a reply carries.
pub(in crate::serve) mod error {
    /// The drive takes no more writes.
    pub(in crate::serve) const NOT_PERMITTED: u32 = 1;
    /// The drive failed the request.
    pub(in crate::serve) const IO: u32 = 5;
    pub(in crate::serve) const INVALID: u32 = 22;
    pub(in crate::serve) const NO_SPACE: u32 = 28;
    pub(in crate::serve) const OVERFLOW: u32 = 75;
    /// It came after the end.
    pub(in crate::serve) const SHUT_DOWN: u32 = 108;
}

/// The error of a request of which the store failed.
pub(in crate::serve) fn error_of(failed: &io::Error) -> u32 {
    match failed.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            error::NO_SPACE
        }
        _ => error::IO,
    }
}

/// Kinds of chunks.
pub(super) mod chunk {
    pub(in super::super) const DONE: u16 = 1;
    pub(in super::super) const OFFSET_DATA: u16 = 1;
    pub(in super::super) const BLOCK_STATUS: u16 = 5;
    pub(in super::super) const ERROR: u16 = (1 << 15) + 1;
}

/// The context of block status: which parts are holes.
pub(super) const ALLOCATION: &[u8] = b"base:allocation";
/// The number that it is given.
pub(super) const ALLOCATION_ID: u32 = 1;
/// Flags of an extent without data: a hole that reads as zeroes.
pub(super) const HOLE: u32 = 3;

/// The longest read or write, bytes.
pub(super) const MAX_BYTES: u32 = 32 << 20;
/// The longest option that is read, bytes.
pub(super) const MAX_OPTION_BYTES: u32 = 64 << 10;
/// Bytes of a request without its data.
pub(super) const REQUEST_BYTES: usize = 28;

/// A message under construction, big-endian.
#[derive(Clone, Debug, Default)]
pub(super) struct Message(pub(super) Vec<u8>);

impl Message {
    pub(super) fn u16(mut self, value: u16) -> Self {
        self.0.extend(value.to_be_bytes());
        self
    }

    pub(super) fn u32(mut self, value: u32) -> Self {
        self.0.extend(value.to_be_bytes());
        self
    }

    pub(super) fn u64(mut self, value: u64) -> Self {
        self.0.extend(value.to_be_bytes());
        self
    }

    pub(super) fn bytes(mut self, value: &[u8]) -> Self {
        self.0.extend_from_slice(value);
        self
    }
}

/// Reads big-endian numbers off a message. Returns `None` behind its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields<'a>(pub(super) &'a [u8]);

impl<'a> Fields<'a> {
    pub(super) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        Some(u16::from_be_bytes(self.take(2)?.try_into().ok()?))
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        Some(u32::from_be_bytes(self.take(4)?.try_into().ok()?))
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        Some(u64::from_be_bytes(self.take(8)?.try_into().ok()?))
    }
}
