//! Requests of virtio-blk as they stand in a client's memory: a header to read, data to read or write, a status to write.

use virtio_bindings::virtio_blk::{VIRTIO_BLK_T_DISCARD, VIRTIO_BLK_WRITE_ZEROES_FLAG_UNMAP};
use virtio_queue::DescriptorChain;
use vm_memory::{Address, GuestAddress, GuestMemoryAtomic, GuestMemoryLoadGuard, GuestMemoryMmap};

/// The client's memory, as it may be replaced.
pub(super) type Shared = GuestMemoryAtomic<GuestMemoryMmap>;
/// The client's memory, as it was when a request was taken.
pub(super) type Memory = GuestMemoryLoadGuard<GuestMemoryMmap>;
/// Descriptors of a request.
pub(super) type Chain = DescriptorChain<Memory>;

/// Bytes before the data: kind, reserved, sector.
pub(super) const HEADER_BYTES: usize = 16;
/// Bytes of a range to discard: sector, sectors, flags.
pub(super) const RANGE_BYTES: usize = 16;
/// Ranges of a request.
pub(super) const MAX_RANGES: usize = 32;

/// Why a client is ended.
#[derive(Debug)]
pub(super) struct Bad(pub(super) String);

impl From<virtio_queue::Error> for Bad {
    fn from(error: virtio_queue::Error) -> Self {
        Self(format!("its ring can't be used: {error}"))
    }
}

/// Kind and first sector of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) kind: u32,
    pub(super) sector: u64,
}

impl Header {
    pub(super) fn parse(bytes: &[u8; HEADER_BYTES]) -> Self {
        let [k0, k1, k2, k3, _, _, _, _, sector @ ..] = *bytes;
        Self { kind: u32::from_le_bytes([k0, k1, k2, k3]), sector: u64::from_le_bytes(sector) }
    }
}

/// A range that is to be discarded, or made zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) sector: u64,
    pub(super) sectors: u32,
    /// Its space may be given up.
    pub(super) unmap: bool,
}

impl Range {
    /// Reads a range. Returns `None` if it has a flag that the request does not know.
    pub(super) fn parse(kind: u32, bytes: &[u8; RANGE_BYTES]) -> Option<Self> {
        let [s0, s1, s2, s3, s4, s5, s6, s7, n0, n1, n2, n3, flags @ ..] = *bytes;
        let flags = u32::from_le_bytes(flags);
        let discard = kind == VIRTIO_BLK_T_DISCARD;
        let known = if discard { 0 } else { VIRTIO_BLK_WRITE_ZEROES_FLAG_UNMAP };
        (flags & !known == 0).then_some(Self {
            sector: u64::from_le_bytes([s0, s1, s2, s3, s4, s5, s6, s7]),
            sectors: u32::from_le_bytes([n0, n1, n2, n3]),
            unmap: discard || flags != 0,
        })
    }
}

/// Looks through the descriptors of a request. Returns the address of its status, the last byte that may be written.
pub(super) fn status_of(chain: Chain) -> Result<GuestAddress, Bad> {
    let bad = |reason: &str| Bad(format!("a bad descriptor: {reason}"));
    let mut last = None;
    let mut writable = false;
    for descriptor in chain {
        if writable && !descriptor.is_write_only() {
            return Err(bad("one that is read follows one that is written"));
        }
        writable = descriptor.is_write_only();
        last = Some(descriptor);
    }
    let last = last.ok_or_else(|| bad("a request begins with none that is in its table"))?;
    if last.has_next() {
        return Err(bad("the next one is not in its table, or was there before"));
    }
    if !writable || last.len() == 0 {
        return Err(bad("a request has no room for its status"));
    }
    last.addr().checked_add(u64::from(last.len()) - 1).ok_or_else(|| bad("it ends beyond all addresses"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_little_endian() {
        let header = Header::parse(&[11, 1, 0, 0, 9, 9, 9, 9, 7, 2, 0, 0, 0, 0, 0, 0]);
        assert_eq!(header, Header { kind: 267, sector: 519 });
        let mut range = [7, 2, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0];
        let found = Range::parse(VIRTIO_BLK_T_DISCARD, &range).expect("a range");
        assert_eq!(found, Range { sector: 519, sectors: 8, unmap: true });
        assert!(!Range::parse(13, &range).expect("a range").unmap);
        range[12] = 1;
        assert!(Range::parse(VIRTIO_BLK_T_DISCARD, &range).is_none(), "a discard has no flag");
        assert!(Range::parse(13, &range).expect("a range").unmap);
        range[12] = 2;
        assert!(Range::parse(13, &range).is_none());
    }
}
