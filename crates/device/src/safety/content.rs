//! Data on a target. A block device is empty if it reads as zeros, as it does when new or discarded; a file if it has no data extent.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::SeekFrom;
use rustix::io::Errno;

const MIB: u64 = 1 << 20;
/// Bytes of one read where a device is read from end to end.
const CHUNK_BYTES: u64 = MIB;
/// Bytes at either end that are read of every device.
const END_BYTES: u64 = 16 * MIB;
/// Bytes of a sample.
const SAMPLE_BYTES: u64 = 64 << 10;
/// Outstanding reads at once while a device is sampled.
const THREADS: u64 = 4;
/// Alignment of memory and addresses that every drive takes past the page cache.
const ALIGN: usize = 4096;
/// Time after which the speed of a device is known well enough to tell how long the rest takes.
const GAUGE: Duration = Duration::from_millis(500);
/// Addresses where file systems, partitions and their backups begin.
const BASES: [u64; 3] = [0, 63 * 512, MIB];

/// Time to spend on one device.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effort {
    /// A device that can be read from end to end in this time is.
    pub(super) whole: Duration,
    /// Time for samples of any other.
    pub(super) samples: Duration,
}

pub(super) const EFFORT: Effort = Effort { whole: Duration::from_secs(10), samples: Duration::from_secs(5) };

/// A read that failed.
#[derive(Debug)]
pub(super) struct Unread {
    /// Byte at which it began.
    pub(super) at: u64,
    pub(super) error: io::Error,
}

/// Byte in front of which no data was found on a block device of `size_bytes`; `None` if all that was read is zero.
pub(super) fn first_data(file: &File, size_bytes: u64, effort: Effort) -> Result<Option<u64>, Unread> {
    let started = Instant::now();
    let mut buffer = Aligned::new(CHUNK_BYTES);
    let end = END_BYTES.min(size_bytes);
    let tail = aligned_down(size_bytes.saturating_sub(END_BYTES)).max(end);
    for part in [0..end, tail..size_bytes] {
        if let Some(at) = scan(file, part, &mut buffer)? {
            return Ok(Some(at));
        }
    }
    let mut at = end;
    while at < tail {
        let elapsed = started.elapsed();
        let expected = elapsed.mul_f64(size_bytes as f64 / (at + size_bytes - tail) as f64);
        let too_slow =
            elapsed >= effort.whole || (elapsed >= GAUGE.min(effort.whole) && expected > effort.whole);
        if too_slow {
            return sampled(file, at..tail, size_bytes, effort.samples);
        }
        let next = (at + CHUNK_BYTES).min(tail);
        if let Some(found) = scan(file, at..next, &mut buffer)? {
            return Ok(Some(found));
        }
        at = next;
    }
    Ok(None)
}

/// Reads a range; returns the first byte that is not zero.
fn scan(file: &File, range: std::ops::Range<u64>, buffer: &mut Aligned) -> Result<Option<u64>, Unread> {
    let mut at = range.start;
    while at < range.end {
        let wanted = buffer.bytes((range.end - at).min(CHUNK_BYTES));
        let read = match file.read_at(wanted, at) {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            other => other,
        };
        let read = read.map_err(|error| Unread { at, error })?;
        if !is_zero(&wanted[..read]) {
            let within = wanted[..read].iter().position(|byte| *byte != 0).unwrap_or(0);
            return Ok(Some(at + within as u64));
        }
        at += read as u64;
    }
    Ok(None)
}

/// Reads places all over a range for some time: first those where file systems keep superblocks, then an even sequence that gets denser.
fn sampled(
    file: &File,
    range: std::ops::Range<u64>,
    size_bytes: u64,
    time: Duration,
) -> Result<Option<u64>, Unread> {
    let until = Instant::now() + time;
    let known: Vec<u64> = known_places().into_iter().filter(|at| range.contains(at)).collect();
    let done = AtomicBool::new(false);
    let one = |thread: u64| {
        let mut buffer = Aligned::new(CHUNK_BYTES);
        let even = (0..).map(|step| even_place(thread + step * THREADS, &range));
        let mine: Vec<u64> = known.iter().copied().skip(thread as usize).step_by(THREADS as usize).collect();
        let (first, most) = (mine.len(), (range.end - range.start) / SAMPLE_BYTES / THREADS * 2);
        for (number, at) in mine.into_iter().chain(even).take(first + most as usize).enumerate() {
            let late = number >= first && Instant::now() >= until;
            if late || done.load(Ordering::Relaxed) {
                break;
            }
            let at = aligned_down(at);
            let found = scan(file, at..(at + SAMPLE_BYTES).min(size_bytes), &mut buffer);
            if !matches!(found, Ok(None)) {
                done.store(true, Ordering::Relaxed);
                return found;
            }
        }
        Ok(None)
    };
    let found: Vec<Result<Option<u64>, Unread>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|thread| scope.spawn(move || one(thread))).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| match thread.join() {
            Ok(found) => found,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        threads.into_iter().map(join).collect()
    });
    let data = found.iter().filter_map(|found| found.as_ref().ok().copied().flatten()).min();
    match data {
        Some(at) => Ok(Some(at)),
        None => found.into_iter().find(Result::is_err).unwrap_or(Ok(None)),
    }
}

/// Where superblocks, their backups and the beginnings of partitions lie.
fn known_places() -> Vec<u64> {
    // ext2 to ext4 keep backups in groups 1 and the powers of 3, 5 and 7, of 8, 64 or 128 MiB; XFS and btrfs use powers of two.
    let powers = |base: u64| std::iter::successors(Some(base), move |value| value.checked_mul(base)).take(8);
    let groups: Vec<u64> = std::iter::once(1).chain([3, 5, 7].into_iter().flat_map(powers)).collect();
    let backups = [8 * MIB, 32 * MIB, 128 * MIB]
        .into_iter()
        .flat_map(|group| groups.iter().filter_map(move |number| number.checked_mul(group)));
    let twos = (24..63).map(|bits| 1u64 << bits);
    let places: Vec<u64> = backups.chain(twos).collect();
    BASES.iter().flat_map(|base| places.iter().filter_map(|place| place.checked_add(*base))).collect()
}

/// A place of an even sequence over a range: multiples of the golden ratio, which never leave a large gap.
fn even_place(step: u64, range: &std::ops::Range<u64>) -> u64 {
    let fraction = u128::from(step.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    range.start + ((fraction * u128::from(range.end - range.start)) >> 64) as u64
}

fn aligned_down(at: u64) -> u64 {
    at / ALIGN as u64 * ALIGN as u64
}

/// Compares as memory is compared: fast without optimisation, too.
fn is_zero(bytes: &[u8]) -> bool {
    static ZEROS: [u8; 4096] = [0; 4096];
    bytes.chunks(ZEROS.len()).all(|chunk| *chunk == ZEROS[..chunk.len()])
}

/// Memory that may be read into past the page cache.
struct Aligned {
    memory: Vec<u8>,
    start: usize,
}

impl Aligned {
    fn new(bytes: u64) -> Self {
        let memory = vec![0; bytes as usize + ALIGN];
        let start = memory.as_ptr().align_offset(ALIGN);
        Self { memory, start }
    }

    fn bytes(&mut self, length: u64) -> &mut [u8] {
        &mut self.memory[self.start..self.start + length as usize]
    }
}

/// True if a file has a data extent, and not only a size, or if its file system can't tell.
pub(super) fn has_data(file: &File) -> bool {
    !matches!(rustix::fs::seek(file.as_fd(), SeekFrom::Data(0)), Err(Errno::NXIO))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: u64 = 256 * MIB;

    fn found(at: &[u64], effort: Effort) -> Option<u64> {
        let file = tempfile::tempfile().expect("a file");
        file.set_len(SIZE).expect("grown");
        for at in at {
            file.write_all_at(&[1], *at).expect("written");
        }
        first_data(&file, SIZE, effort).expect("read")
    }

    #[test]
    fn every_byte_of_a_small_device_is_read() {
        assert_eq!(found(&[], EFFORT), None);
        for at in [0, 1, END_BYTES - 1, END_BYTES, 100 * MIB + 12_345, SIZE - END_BYTES - 1, SIZE - 1] {
            assert_eq!(found(&[at], EFFORT), Some(at));
        }
    }

    #[test]
    fn a_slow_device_is_sampled_all_over_with_both_ends() {
        let effort = Effort { whole: Duration::ZERO, samples: Duration::from_secs(20) };
        assert_eq!(found(&[], effort), None, "no data is seen where there is none, and it ends early");
        for at in [5, END_BYTES - 1, SIZE - END_BYTES, SIZE - 1] {
            assert_eq!(found(&[at], effort), Some(at));
        }
        // One MiB in the middle, which is no known place.
        let region: Vec<u64> = (0..256).map(|page| 77 * MIB + page * 4096).collect();
        assert!(found(&region, effort).is_some());
        let quick = Effort { whole: Duration::ZERO, samples: Duration::ZERO };
        assert_eq!(found(&[128 * MIB + 0x438], quick), Some(128 * MIB + 0x438), "a backup superblock");
        assert_eq!(found(&[129 * MIB + 0x438], quick), Some(129 * MIB + 0x438), "of a partition at 1 MiB");
    }

    #[test]
    fn what_can_not_be_read_is_said_with_its_place() {
        let folder = tempfile::tempdir().expect("a folder");
        let unreadable = File::create(folder.path().join("file")).expect("opened for writing only");
        unreadable.set_len(SIZE).expect("grown");
        assert_eq!(first_data(&unreadable, SIZE, EFFORT).expect_err("not read").at, 0);
        // The end comes before it should.
        let short = tempfile::tempfile().expect("a file");
        short.set_len(100 * MIB).expect("grown");
        assert!(first_data(&short, SIZE, EFFORT).is_err());
    }

    #[test]
    fn samples_leave_no_large_gap() {
        let range = 16 * MIB..1 << 40;
        let mut places: Vec<u64> = (0..10_000).map(|step| even_place(step, &range)).collect();
        places.sort_unstable();
        let widest = places.windows(2).map(|pair| pair[1] - pair[0]).max().expect("pairs");
        assert!(widest < 3 * (range.end - range.start) / 10_000, "{widest}");
        assert!(places.iter().all(|at| range.contains(at)));
    }
}
