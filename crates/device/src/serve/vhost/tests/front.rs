//! A front end of a few lines, as a virtual machine has it: memory that it shares, and rings that it fills.

use std::fs::File;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::path::Path;
use std::sync::atomic::{Ordering, fence};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, memfd_create};
use vhost::vhost_user::message::VhostUserConfigFlags;
use vhost::vhost_user::{Frontend, VhostUserFrontend, VhostUserProtocolFeatures, VhostUserVirtioFeatures};
use vhost::{VhostBackend, VhostUserMemoryRegionInfo, VringConfigData};
use virtio_bindings::virtio_ring::{VRING_DESC_F_NEXT, VRING_DESC_F_WRITE};
use vm_memory::{Bytes, FileOffset, GuestAddress, GuestMemoryBackend, GuestMemoryMmap, GuestRegionMmap};
use vmm_sys_util::eventfd::{EFD_NONBLOCK, EventFd};

use crate::serve::vhost::config;

/// First address of the memory, and its bytes.
pub(super) const BASE: u64 = 0x10_0000;
pub(super) const MEMORY_BYTES: u64 = 16 << 20;
/// Entries of a ring.
pub(super) const ENTRIES: u16 = 64;
/// Longest wait for an answer.
const LIMIT: Duration = Duration::from_secs(20);
/// Flags of descriptors.
pub(super) const NEXT: u16 = VRING_DESC_F_NEXT as u16;
pub(super) const WRITE: u16 = VRING_DESC_F_WRITE as u16;

/// A descriptor: address, length, flags, next one.
pub(super) type Descriptor = (u64, u32, u16, u16);

struct Ring {
    kick: EventFd,
    call: EventFd,
    /// Requests that were offered, and those whose answers were seen.
    offered: u16,
    seen: u16,
}

/// A front end with rings in shared memory.
pub(super) struct Front {
    pub(super) frontend: Frontend,
    pub(super) memory: GuestMemoryMmap,
    pub(super) file: File,
    rings: Vec<Ring>,
}

/// Memory that can be shared.
pub(super) fn shared_memory() -> (GuestMemoryMmap, File) {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let file = File::from(memfd_create("guest", flags).expect("a file in memory"));
    file.set_len(MEMORY_BYTES).expect("its length");
    let place = FileOffset::new(file.try_clone().expect("another owner"), 0);
    let region = GuestRegionMmap::from_range(GuestAddress(BASE), MEMORY_BYTES as usize, Some(place));
    (GuestMemoryMmap::from_regions(vec![region.expect("a mapping")]).expect("memory"), file)
}

impl Front {
    /// Connects, with features of virtio beside that of the protocol, and starts so many queues.
    pub(super) fn connect(path: &Path, queues: usize, features: u64) -> Self {
        let mut front = Self::greet(path, features);
        let region = front.memory.iter().next().expect("a region");
        let region = VhostUserMemoryRegionInfo::from_guest_region(region).expect("a region with a file");
        front.frontend.set_mem_table(&[region]).expect("memory");
        for queue in 0..queues {
            front.start(queue);
        }
        front
    }

    /// Connects, up to the features.
    pub(super) fn greet(path: &Path, features: u64) -> Self {
        let (memory, file) = shared_memory();
        let mut frontend = Frontend::connect(path, 64).expect("connected");
        frontend.set_owner().expect("owned");
        let offered = frontend.get_features().expect("features");
        let own = VhostUserVirtioFeatures::PROTOCOL_FEATURES.bits();
        assert_eq!(offered, config::features() | own);
        frontend.set_features(features | own).expect("features");
        let protocol = frontend.get_protocol_features().expect("features of the protocol");
        let wanted = VhostUserProtocolFeatures::CONFIG
            | VhostUserProtocolFeatures::MQ
            | VhostUserProtocolFeatures::REPLY_ACK;
        assert!(protocol.contains(wanted));
        frontend.set_protocol_features(wanted).expect("features of the protocol");
        Self { frontend, memory, file, rings: Vec::new() }
    }

    fn start(&mut self, queue: usize) {
        let region = self.memory.iter().next().expect("a region");
        let base = region.as_ptr() as u64 + ring_at(queue) - BASE;
        let config = VringConfigData {
            queue_max_size: ENTRIES,
            queue_size: ENTRIES,
            flags: 0,
            desc_table_addr: base,
            avail_ring_addr: base + 0x1000,
            used_ring_addr: base + 0x2000,
            log_addr: None,
        };
        let event = || EventFd::new(EFD_NONBLOCK).expect("an event");
        let ring = Ring { kick: event(), call: event(), offered: 0, seen: 0 };
        self.frontend.set_vring_num(queue, ENTRIES).expect("entries");
        self.frontend.set_vring_addr(queue, &config).expect("addresses");
        self.frontend.set_vring_base(queue, 0).expect("a base");
        self.frontend.set_vring_call(queue, &ring.call).expect("an event");
        self.frontend.set_vring_kick(queue, &ring.kick).expect("an event");
        self.frontend.set_vring_enable(queue, true).expect("enabled");
        self.rings.push(ring);
    }

    /// Size of the disk in its configuration, sectors.
    pub(super) fn capacity(&mut self) -> u64 {
        let (_, space) = self
            .frontend
            .get_config(0, 60, VhostUserConfigFlags::WRITABLE, &[0; 60])
            .expect("a configuration");
        u64::from_le_bytes(space[..8].try_into().expect("eight bytes"))
    }

    /// Writes a descriptor into the table of a queue.
    pub(super) fn describe(&self, queue: usize, at: u16, (address, len, flags, next): Descriptor) {
        self.describe_at(ring_at(queue) + u64::from(at) * 16, (address, len, flags, next));
    }

    /// Writes a descriptor anywhere in the memory.
    pub(super) fn describe_at(&self, at: u64, (address, len, flags, next): Descriptor) {
        let mut bytes = address.to_le_bytes().to_vec();
        bytes.extend(len.to_le_bytes());
        bytes.extend(flags.to_le_bytes());
        bytes.extend(next.to_le_bytes());
        self.memory.write_slice(&bytes, GuestAddress(at)).expect("written");
    }

    /// Copies bytes within the memory.
    pub(super) fn memory_copy(&self, from: u64, to: u64, bytes: usize) {
        let mut held = vec![0; bytes];
        self.memory.read_slice(&mut held, GuestAddress(from)).expect("read");
        self.memory.write_slice(&held, GuestAddress(to)).expect("written");
    }

    /// Offers the request whose first descriptor this is.
    pub(super) fn offer(&mut self, queue: usize, head: u16) {
        let offered = self.rings[queue].offered;
        let entry = ring_at(queue) + 0x1004 + u64::from(offered % ENTRIES) * 2;
        self.memory.write_obj(head, GuestAddress(entry)).expect("written");
        self.advance(queue, offered.wrapping_add(1));
    }

    /// Sets the number of requests offered, and wakes the disk.
    pub(super) fn advance(&mut self, queue: usize, offered: u16) {
        fence(Ordering::SeqCst);
        self.memory.write_obj(offered, GuestAddress(ring_at(queue) + 0x1002)).expect("written");
        fence(Ordering::SeqCst);
        self.rings[queue].offered = offered;
        self.rings[queue].kick.write(1).expect("kicked");
    }

    /// Waits for an answer: its first descriptor, and bytes that were written. `None`: none came.
    pub(super) fn answer(&mut self, queue: usize) -> Option<(u32, u32)> {
        self.answer_within(queue, LIMIT)
    }

    pub(super) fn answer_within(&mut self, queue: usize, limit: Duration) -> Option<(u32, u32)> {
        let until = Instant::now() + limit;
        let used = ring_at(queue) + 0x2000;
        let ring = &mut self.rings[queue];
        loop {
            let there: u16 = self.memory.read_obj(GuestAddress(used + 2)).expect("read");
            if there != ring.seen {
                fence(Ordering::SeqCst);
                let at = used + 4 + u64::from(ring.seen % ENTRIES) * 8;
                ring.seen = ring.seen.wrapping_add(1);
                let [id, bytes]: [u32; 2] =
                    [0, 4].map(|field| self.memory.read_obj(GuestAddress(at + field)).expect("read"));
                return Some((id, bytes));
            }
            if Instant::now() >= until {
                return None;
            }
            let wait = Timespec { tv_sec: 0, tv_nsec: 10_000_000 };
            let _ = poll(&mut [PollFd::from_borrowed_fd(borrowed(&ring.call), PollFlags::IN)], Some(&wait));
            let _ = ring.call.read();
        }
    }

    /// Puts a request into the ring of a queue: header, input, room for output and the status, from descriptor `first` on.
    pub(super) fn put(&self, queue: usize, first: u16, kind: u32, sector: u64, input: &[u8], output: u32) {
        let at = data_at(queue, first);
        let mut header = kind.to_le_bytes().to_vec();
        header.extend([0; 4]);
        header.extend(sector.to_le_bytes());
        self.memory.write_slice(&header, GuestAddress(at)).expect("written");
        self.memory.write_slice(input, GuestAddress(at + 0x100)).expect("written");
        self.memory
            .write_obj(0xffu8, GuestAddress(at + 0x100 + input.len() as u64 + u64::from(output)))
            .expect("written");
        let mut descriptors = vec![(at, 16, 0)];
        if !input.is_empty() {
            descriptors.push((at + 0x100, input.len() as u32, 0));
        }
        if output > 0 {
            descriptors.push((at + 0x100 + input.len() as u64, output, WRITE));
        }
        descriptors.push((at + 0x100 + input.len() as u64 + u64::from(output), 1, WRITE));
        let last = descriptors.len() as u16 - 1;
        for (number, (address, len, flags)) in (0u16..).zip(descriptors) {
            let more = if number < last { NEXT } else { 0 };
            self.describe(queue, first + number, (address, len, flags | more, first + number + 1));
        }
    }

    /// The status of a request that [`Front::put`] put there, and its output.
    pub(super) fn taken(&self, queue: usize, first: u16, input: usize, output: u32) -> (u8, Vec<u8>) {
        let at = data_at(queue, first) + 0x100 + input as u64;
        let mut data = vec![0; output as usize];
        self.memory.read_slice(&mut data, GuestAddress(at)).expect("read");
        (self.memory.read_obj(GuestAddress(at + u64::from(output))).expect("read"), data)
    }

    /// Executes a request and waits for it: status and output.
    pub(super) fn ask(
        &mut self,
        queue: usize,
        kind: u32,
        sector: u64,
        input: &[u8],
        output: u32,
    ) -> (u8, Vec<u8>) {
        self.put(queue, 0, kind, sector, input, output);
        self.offer(queue, 0);
        let (head, written) = self.answer(queue).expect("answered");
        let taken = self.taken(queue, 0, input.len(), output);
        assert_eq!(head, 0);
        assert!(taken.0 != 0 || written == output + 1, "{written} bytes were written");
        taken
    }

    /// True once the disk has ended the connection, for which it has some time.
    pub(super) fn is_ended(&self) -> bool {
        self.hung_up(Timespec { tv_sec: LIMIT.as_secs().cast_signed(), tv_nsec: 0 })
    }

    /// True if the disk has ended the connection already.
    pub(super) fn has_gone(&self) -> bool {
        self.hung_up(Timespec { tv_sec: 0, tv_nsec: 0 })
    }

    fn hung_up(&self, wait: Timespec) -> bool {
        let mut polled = [PollFd::from_borrowed_fd(borrowed(&self.frontend), PollFlags::RDHUP)];
        matches!(poll(&mut polled, Some(&wait)), Ok(1)) && polled[0].revents().contains(PollFlags::HUP)
    }
}

/// The descriptor of an owner that does not lend it otherwise.
fn borrowed(owner: &impl AsRawFd) -> BorrowedFd<'_> {
    // SAFETY: the owner keeps the descriptor open while it is borrowed.
    unsafe { BorrowedFd::borrow_raw(owner.as_raw_fd()) }
}

/// Address of the ring of a queue: descriptors, then those offered, then those used, a page each.
pub(super) fn ring_at(queue: usize) -> u64 {
    BASE + queue as u64 * 0x4000
}

/// Address of the data of the request that begins with a descriptor.
pub(super) fn data_at(queue: usize, first: u16) -> u64 {
    BASE + 0x10_0000 + queue as u64 * 0xc_0000 + u64::from(first) * 0x3000
}
