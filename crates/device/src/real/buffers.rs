//! Memory that drives read from and write to, and what is written.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;

use flashweir_trace::SECTOR_BYTES;

/// The most that one transfer moves, bytes; larger requests take several, one after the other.
pub(super) const MAX_BYTES: usize = 16 << 20;
/// Alignment that every drive takes.
const PAGE_BYTES: usize = 4096;

/// Aligned memory. The kernel reads and writes it through the pointer while a request is outstanding; nobody holds a reference then.
#[derive(Debug)]
pub(super) struct Buffer {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: the memory belongs to the buffer alone, and nothing of it depends on the thread.
unsafe impl Send for Buffer {}

impl Buffer {
    /// Memory for at least `bytes`, zeroed.
    pub(super) fn new(bytes: usize, align_bytes: usize) -> Self {
        let size = bytes.max(1).next_multiple_of(PAGE_BYTES);
        let align = align_bytes.max(PAGE_BYTES).next_power_of_two();
        // The alignment is a power of two and the size far below the largest: no layout is refused.
        let Ok(layout) = Layout::from_size_align(size, align) else {
            handle_alloc_error(Layout::new::<u8>())
        };
        // SAFETY: the size is not zero.
        let start = unsafe { alloc_zeroed(layout) };
        let Some(start) = NonNull::new(start) else { handle_alloc_error(layout) };
        Self { start, layout }
    }

    pub(super) fn len(&self) -> usize {
        self.layout.size()
    }

    pub(super) fn as_mut_ptr(&mut self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// The memory, while no request is outstanding in it.
    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: the memory is as long as the layout, initialised, and borrowed with the buffer.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.layout.size()) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout, and freed once.
        unsafe { dealloc(self.start.as_ptr(), self.layout) }
    }
}

/// Content of writes: random bytes from a seed.
#[derive(Debug)]
pub(super) struct Content {
    state: u64,
    align_bytes: usize,
    /// Where everything that is read goes: nobody looks at it. The system gives only pages that are touched.
    reads: Buffer,
}

impl Content {
    pub(super) fn new(seed: u64, align_bytes: usize) -> Self {
        Self { state: seed, align_bytes, reads: Buffer::new(MAX_BYTES, align_bytes) }
    }

    /// SplitMix64 (Steele, Lea and Flood 2014).
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Memory to read into, enough for any transfer. All reads share it.
    pub(super) fn reads_ptr(&mut self) -> *mut u8 {
        self.reads.as_mut_ptr()
    }

    /// The same, while no request is outstanding.
    pub(super) fn reads_mut(&mut self) -> &mut [u8] {
        self.reads.bytes_mut()
    }

    /// Makes `buffer` ready for a write of so many bytes: large enough, and with content that was never written before.
    pub(super) fn prepare(&mut self, buffer: &mut Option<Buffer>, bytes: usize) -> *mut u8 {
        let large_enough = buffer.take().filter(|buffer| buffer.len() >= bytes);
        let mut ready = large_enough.unwrap_or_else(|| {
            let mut fresh = Buffer::new(bytes.next_power_of_two(), self.align_bytes);
            for word in fresh.bytes_mut().chunks_exact_mut(8) {
                word.copy_from_slice(&self.next().to_le_bytes());
            }
            fresh
        });
        let sectors = ready.bytes_mut().chunks_exact_mut(SECTOR_BYTES as usize);
        for sector in sectors.take(bytes.div_ceil(SECTOR_BYTES as usize)) {
            sector[..8].copy_from_slice(&self.next().to_le_bytes());
        }
        buffer.insert(ready).as_mut_ptr()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn what_is_written_is_never_the_same_twice_and_depends_on_the_seed() {
        let mut sectors = BTreeSet::new();
        let mut first = Vec::new();
        for seed in [1, 1, 2] {
            let mut content = Content::new(seed, 512);
            let mut buffer = None;
            let before = sectors.len();
            for bytes in [4096, 512, 8192, 4096] {
                content.prepare(&mut buffer, bytes);
                let buffer = buffer.as_mut().expect("prepared");
                assert_eq!(buffer.as_mut_ptr() as usize % 4096, 0);
                sectors.extend(buffer.bytes_mut()[..bytes].chunks(512).map(<[u8]>::to_vec));
            }
            first.push(sectors.len() - before);
        }
        assert_eq!(first, [33, 0, 33], "all sectors differ; the same seed writes the same");
    }
}
