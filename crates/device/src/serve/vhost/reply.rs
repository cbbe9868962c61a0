//! The reply to a request of virtio-blk: its status in the client's memory, and an entry in the ring.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};

use vhost_user_backend::VringT;
use virtio_bindings::virtio_blk::VIRTIO_BLK_S_IOERR;
use vm_memory::{Bytes, GuestAddress};

use super::link::Link;
use super::request::{Bad, Memory};
use super::vring::Vring;

/// A request that was taken from a ring. It is answered when the last reference to it goes.
pub(super) struct Asked {
    pub(super) link: Arc<Link>,
    pub(super) queue: usize,
    pub(super) vring: Vring,
    pub(super) memory: Memory,
    /// Its first descriptor.
    pub(super) head: u16,
    pub(super) status_at: GuestAddress,
    /// The worst of its parts.
    pub(super) status: AtomicU8,
    /// Bytes that were written to the client's memory, without the status.
    pub(super) written: AtomicU32,
}

impl Asked {
    /// The request failed.
    pub(super) fn fail(&self, status: u32) {
        self.status.fetch_max(status as u8, Ordering::Relaxed);
    }

    /// So many bytes were written to the client's memory.
    pub(super) fn wrote(&self, bytes: usize) {
        self.written.store(bytes as u32, Ordering::Relaxed);
    }

    fn answer(&self) -> Result<(), Bad> {
        let status = self.status.load(Ordering::Relaxed);
        let stored = self.memory.write_obj(status, self.status_at);
        stored.map_err(|error| Bad(format!("a bad descriptor: the status can't be written: {error}")))?;
        let mut ring = self.vring.get_mut();
        ring.add_used(self.head, self.written.load(Ordering::Relaxed) + 1)?;
        if ring.needs_notification()? {
            // A client that does not take events finds its answers in the ring.
            let _ = ring.signal_used_queue();
        }
        Ok(())
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        if !self.link.is_gone()
            && let Err(bad) = self.answer()
        {
            self.link.fail(bad);
        }
        self.link.end(self.queue);
    }
}

/// The reply to a request, or to one of its parts. One that is dropped has failed.
pub(in crate::serve) struct Reply {
    asked: Arc<Asked>,
    sent: bool,
}

impl std::fmt::Debug for Reply {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Reply").field("head", &self.asked.head).finish_non_exhaustive()
    }
}

impl Reply {
    pub(super) fn new(asked: &Arc<Asked>) -> Self {
        Self { asked: Arc::clone(asked), sent: false }
    }

    /// True if nobody waits for it any more.
    pub(in crate::serve) fn is_gone(&self) -> bool {
        self.asked.link.is_gone()
    }

    /// The drive has completed the request.
    pub(in crate::serve) fn send(mut self) {
        self.sent = true;
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        if !self.sent {
            self.asked.fail(VIRTIO_BLK_S_IOERR);
        }
    }
}
