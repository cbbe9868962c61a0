//! Features and configuration space of the disk, by the virtio specification (1.2, sections 5.2.3 to 5.2.5).

use virtio_bindings::virtio_blk::{
    VIRTIO_BLK_F_BLK_SIZE, VIRTIO_BLK_F_DISCARD, VIRTIO_BLK_F_FLUSH, VIRTIO_BLK_F_MQ, VIRTIO_BLK_F_SEG_MAX,
    VIRTIO_BLK_F_SIZE_MAX, VIRTIO_BLK_F_TOPOLOGY, VIRTIO_BLK_F_WRITE_ZEROES,
};
use virtio_bindings::virtio_config::VIRTIO_F_VERSION_1;
use virtio_bindings::virtio_ring::{VIRTIO_RING_F_EVENT_IDX, VIRTIO_RING_F_INDIRECT_DESC};

use super::link::QUEUES;
use super::request::MAX_RANGES;

/// Entries of a queue, at most.
pub(super) const MAX_QUEUE_SIZE: usize = 1024;
/// The longest read or write, bytes: all segments at their largest.
pub(super) const MAX_BYTES: usize = (MAX_SEGMENTS * SEGMENT_BYTES) as usize;
/// The longest range to discard or make zero, sectors.
pub(super) const MAX_RANGE_SECTORS: u32 = 1 << 22;
/// Segments of a request: those of the usual queue of 128 entries, less header and status.
const MAX_SEGMENTS: u32 = 126;
/// Bytes of a segment, at most.
const SEGMENT_BYTES: u32 = 256 << 10;
/// Bytes of the configuration space that a front end may read.
const SPACE_BYTES: usize = 256;
/// Bytes of a sector.
const SECTOR_BYTES: u32 = flashweir_trace::SECTOR_BYTES as u32;

/// Features of virtio that are offered.
pub(super) fn features() -> u64 {
    let bits = [
        VIRTIO_F_VERSION_1,
        VIRTIO_RING_F_INDIRECT_DESC,
        VIRTIO_RING_F_EVENT_IDX,
        VIRTIO_BLK_F_SIZE_MAX,
        VIRTIO_BLK_F_SEG_MAX,
        VIRTIO_BLK_F_BLK_SIZE,
        VIRTIO_BLK_F_FLUSH,
        VIRTIO_BLK_F_TOPOLOGY,
        VIRTIO_BLK_F_MQ,
        VIRTIO_BLK_F_DISCARD,
        VIRTIO_BLK_F_WRITE_ZEROES,
    ];
    bits.iter().fold(0, |features, bit| features | 1 << bit)
}

/// True if the client flushes. Otherwise its writes are durable when they are answered.
pub(super) fn flushes(features: u64) -> bool {
    features & 1 << VIRTIO_BLK_F_FLUSH != 0
}

/// The configuration space of a disk of so many sectors, whose best request has `preferred_bytes`.
pub(super) fn space(sectors: u64, preferred_bytes: u32) -> Vec<u8> {
    let preferred = preferred_bytes / SECTOR_BYTES;
    let mut space = Vec::with_capacity(SPACE_BYTES);
    space.extend(sectors.to_le_bytes());
    space.extend(SEGMENT_BYTES.to_le_bytes());
    space.extend(MAX_SEGMENTS.to_le_bytes());
    // No geometry.
    space.extend([0; 4]);
    space.extend(SECTOR_BYTES.to_le_bytes());
    // Topology: sectors of a page as a power of two, no offset, the smallest good and the best request.
    space.extend([preferred.trailing_zeros() as u8, 0]);
    space.extend(u16::try_from(preferred).unwrap_or(u16::MAX).to_le_bytes());
    space.extend(preferred.to_le_bytes());
    // Write-back, and a reserved byte.
    space.extend([1, 0]);
    space.extend((QUEUES as u16).to_le_bytes());
    for _ in ["discard", "write zeroes"] {
        space.extend(MAX_RANGE_SECTORS.to_le_bytes());
        space.extend((MAX_RANGES as u32).to_le_bytes());
        // The alignment of discards; write zeroes may unmap.
        space.extend(1u32.to_le_bytes());
    }
    space.resize(SPACE_BYTES, 0);
    space
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_lie_where_the_specification_has_them() {
        let space = space(4096, 16384);
        let u32_at = |at: usize| u32::from_le_bytes(space[at..at + 4].try_into().expect("four bytes"));
        assert_eq!(space[..8], 4096u64.to_le_bytes());
        assert_eq!((u32_at(8), u32_at(12), u32_at(20)), (SEGMENT_BYTES, MAX_SEGMENTS, 512));
        assert_eq!((space[24], space[26], u32_at(28)), (5, 32, 32));
        assert_eq!((space[32], space[34]), (1, QUEUES as u8));
        assert_eq!((u32_at(36), u32_at(40), u32_at(44)), (MAX_RANGE_SECTORS, MAX_RANGES as u32, 1));
        assert_eq!((u32_at(48), u32_at(52), space[56]), (MAX_RANGE_SECTORS, MAX_RANGES as u32, 1));
        assert_eq!(space.len(), SPACE_BYTES);
    }
}
