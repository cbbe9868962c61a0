//! A client as the library calls it: what the disk is, the memory it shares, and its rings.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::{SealFlags, fcntl_add_seals};
use vhost::vhost_user::message::{VhostUserProtocolFeatures, VhostUserVirtioFeatures};
use vhost_user_backend::{VhostUserBackend, VringT};
use virtio_queue::{QueueOwnedT, QueueT};
use vm_memory::{GuestAddressSpace, GuestMemoryBackend, GuestMemoryMmap, GuestMemoryRegion};
use vmm_sys_util::epoll::EventSet;
use vmm_sys_util::event::{EventConsumer, EventFlag, EventNotifier, new_event_consumer_and_notifier};

use super::config;
use super::execute::Executor;
use super::link::{Link, QUEUES};
use super::request::{Bad, Chain, Memory, Shared as SharedMemory};
use super::vring::Vring;
use crate::serve::shared::Shared;

/// Threads of a client; each has every so many queues.
const THREADS: usize = 4;

/// A front end, its export and its memory.
pub(super) struct Backend {
    shared: Arc<Shared>,
    export: usize,
    link: Arc<Link>,
    memory: SharedMemory,
    /// Features of virtio that the client took.
    features: AtomicU64,
    /// Memory of each thread for data on the way.
    buffers: [Mutex<Vec<u8>>; THREADS],
    /// Events that end the threads; the library keeps their descriptors open.
    exits: Mutex<Vec<RawFd>>,
}

impl Backend {
    pub(super) fn new(shared: &Arc<Shared>, export: usize, link: &Arc<Link>, memory: &SharedMemory) -> Self {
        Self {
            shared: Arc::clone(shared),
            export,
            link: Arc::clone(link),
            memory: memory.clone(),
            features: AtomicU64::new(0),
            buffers: Default::default(),
            exits: Mutex::default(),
        }
    }

    /// Closes the events of threads that have ended. Idempotent.
    pub(super) fn release_events(&self) {
        for fd in self.exits.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            // SAFETY: `exit_event` made the descriptor, and gave it to a loop that takes it out of its owner (`into_raw_fd`) and
            // never closes it (vhost-user-backend 0.24, event_loop.rs). That loop has ended: nobody else has the number.
            drop(unsafe { OwnedFd::from_raw_fd(fd) });
        }
    }

    /// Takes the requests of a ring until there is none.
    fn empty(&self, queue: usize, vring: &Vring, buffer: &mut Vec<u8>) -> Result<(), Bad> {
        let export = &self.shared.exports[self.export];
        let durable = !config::flushes(self.features.load(Ordering::Relaxed));
        let mut executor =
            Executor { shared: &self.shared, export, link: &self.link, queue, vring, durable, buffer };
        while self.link.is_open() {
            vring.disable_notification()?;
            while let Some((memory, chain)) = self.next(queue, vring)? {
                executor.execute(&memory, &chain)?;
            }
            self.shared.engine.work();
            if !vring.enable_notification()? {
                break;
            }
        }
        Ok(())
    }

    /// The next request of a ring, which counts as outstanding from then on.
    fn next(&self, queue: usize, vring: &Vring) -> Result<Option<(Memory, Chain)>, Bad> {
        let mut ring = vring.get_mut();
        if !ring.is_enabled() || !ring.get_queue().ready() {
            return Ok(None);
        }
        let memory = self.memory.memory();
        let offered = ring.get_queue().avail_idx(&*memory, Ordering::Acquire)?.0;
        let entries = ring.get_queue_mut();
        if offered == entries.next_avail() {
            return Ok(None);
        }
        let Some(chain) = entries.iter(memory.clone())?.next() else {
            return Err(Bad("a bad descriptor: its ring lies outside its memory".into()));
        };
        self.link.begin(queue, entries.size())?;
        Ok(Some((memory, chain)))
    }

    /// Looks at memory that a client shares, and seals it, so that it can't be taken away from under this process.
    fn check_memory(&self) -> Result<(), Bad> {
        for region in self.memory.memory().iter() {
            let Some(place) = region.file_offset() else { continue };
            let there = place.file().metadata().map_or(0, |file| file.len());
            if place.start().checked_add(region.len()).is_none_or(|end| end > there) {
                return Err(Bad(format!(
                    "its memory of {} bytes lies beyond the end of its file",
                    region.len()
                )));
            }
            // Only files in memory can be sealed.
            let _ = fcntl_add_seals(place.file(), SealFlags::SHRINK);
        }
        Ok(())
    }
}

impl VhostUserBackend for Backend {
    type Bitmap = ();
    type Vring = Vring;

    fn num_queues(&self) -> usize {
        QUEUES
    }

    fn max_queue_size(&self) -> usize {
        config::MAX_QUEUE_SIZE
    }

    fn features(&self) -> u64 {
        config::features() | VhostUserVirtioFeatures::PROTOCOL_FEATURES.bits()
    }

    fn acked_features(&self, features: u64) {
        self.features.store(features, Ordering::Relaxed);
    }

    fn protocol_features(&self) -> VhostUserProtocolFeatures {
        VhostUserProtocolFeatures::CONFIG
            | VhostUserProtocolFeatures::MQ
            | VhostUserProtocolFeatures::REPLY_ACK
            | VhostUserProtocolFeatures::CONFIGURE_MEM_SLOTS
    }

    fn set_event_idx(&self, _enabled: bool) {}

    fn get_config(&self, offset: u32, size: u32) -> Vec<u8> {
        let sectors = self.shared.exports[self.export].sectors;
        let space = config::space(sectors, self.shared.preferred_bytes);
        space.iter().copied().chain(std::iter::repeat(0)).skip(offset as usize).take(size as usize).collect()
    }

    fn set_config(&self, _offset: u32, _bytes: &[u8]) -> io::Result<()> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "this disk's configuration can't be written"))
    }

    fn update_memory(&self, memory: SharedMemory) -> io::Result<()> {
        self.check_memory().map_err(|bad| {
            memory.lock().unwrap_or_else(PoisonError::into_inner).replace(GuestMemoryMmap::new());
            let error = io::Error::new(io::ErrorKind::InvalidInput, bad.0.clone());
            self.link.fail(bad);
            error
        })
    }

    fn queues_per_thread(&self) -> Vec<u64> {
        let of = |thread| (thread..QUEUES).step_by(THREADS).fold(0, |mask, queue| mask | 1 << queue);
        (0..THREADS).map(of).collect()
    }

    fn exit_event(&self, _thread: usize) -> Option<(EventConsumer, EventNotifier)> {
        let event = new_event_consumer_and_notifier(EventFlag::NONBLOCK | EventFlag::CLOEXEC).ok()?;
        self.exits.lock().unwrap_or_else(PoisonError::into_inner).push(event.0.as_raw_fd());
        Some(event)
    }

    fn stop_vring(&self, queue: u32) -> io::Result<()> {
        self.link.drained(queue as usize);
        Ok(())
    }

    fn handle_event(&self, event: u16, _: EventSet, vrings: &[Vring], thread: usize) -> io::Result<()> {
        let Some(vring) = vrings.get(usize::from(event)) else { return Ok(()) };
        let mut buffer = self.buffers[thread].lock().unwrap_or_else(PoisonError::into_inner);
        let queue = usize::from(event) * THREADS + thread;
        if let Err(bad) = self.empty(queue, vring, &mut buffer) {
            self.link.fail(bad);
        }
        Ok(())
    }
}
