//! A ring of a client: that of the library, with descriptors of events that never block the thread that uses them.

use std::fs::File;
use std::io;
use std::sync::MutexGuard;

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use vhost_user_backend::{VringMutex, VringState, VringStateGuard, VringStateMutGuard, VringT};
use virtio_queue::Error as QueueError;

use super::request::Shared;

/// A ring whose events never block.
#[derive(Clone)]
pub(super) struct Vring(VringMutex<Shared>);

/// A client's event: the thread that steps the drive writes to it, and must not wait for the client.
fn without_blocking(file: Option<File>) -> Option<File> {
    let file = file?;
    let set = fcntl_getfl(&file).and_then(|flags| fcntl_setfl(&file, flags | OFlags::NONBLOCK));
    set.ok().map(|()| file)
}

impl<'a> VringStateGuard<'a, Shared> for Vring {
    type G = MutexGuard<'a, VringState<Shared>>;
}

impl<'a> VringStateMutGuard<'a, Shared> for Vring {
    type G = MutexGuard<'a, VringState<Shared>>;
}

impl VringT<Shared> for Vring {
    fn new(memory: Shared, max_queue_size: u16) -> Result<Self, QueueError> {
        VringMutex::new(memory, max_queue_size).map(Self)
    }

    fn get_ref(&self) -> MutexGuard<'_, VringState<Shared>> {
        self.0.get_ref()
    }

    fn get_mut(&self) -> MutexGuard<'_, VringState<Shared>> {
        self.0.get_mut()
    }

    fn add_used(&self, head: u16, bytes: u32) -> Result<(), QueueError> {
        self.0.add_used(head, bytes)
    }

    fn signal_used_queue(&self) -> io::Result<()> {
        self.0.signal_used_queue()
    }

    fn enable_notification(&self) -> Result<bool, QueueError> {
        self.0.enable_notification()
    }

    fn disable_notification(&self) -> Result<(), QueueError> {
        self.0.disable_notification()
    }

    fn needs_notification(&self) -> Result<bool, QueueError> {
        self.0.needs_notification()
    }

    fn set_enabled(&self, enabled: bool) {
        self.0.set_enabled(enabled);
    }

    fn set_queue_info(&self, descriptors: u64, available: u64, used: u64) -> Result<(), QueueError> {
        self.0.set_queue_info(descriptors, available, used)
    }

    fn queue_next_avail(&self) -> u16 {
        self.0.queue_next_avail()
    }

    fn set_queue_next_avail(&self, base: u16) {
        self.0.set_queue_next_avail(base);
    }

    fn set_queue_next_used(&self, index: u16) {
        self.0.set_queue_next_used(index);
    }

    fn queue_used_idx(&self) -> Result<u16, QueueError> {
        self.0.queue_used_idx()
    }

    fn set_queue_size(&self, entries: u16) {
        self.0.set_queue_size(entries);
    }

    fn set_queue_event_idx(&self, enabled: bool) {
        self.0.set_queue_event_idx(enabled);
    }

    fn set_queue_ready(&self, ready: bool) {
        self.0.set_queue_ready(ready);
    }

    fn set_kick(&self, file: Option<File>) {
        self.0.set_kick(without_blocking(file));
    }

    fn read_kick(&self) -> io::Result<bool> {
        match self.0.read_kick() {
            // Another look has taken it.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(self.get_ref().is_enabled()),
            other => other,
        }
    }

    fn set_call(&self, file: Option<File>) {
        self.0.set_call(without_blocking(file));
    }

    fn set_err(&self, file: Option<File>) {
        self.0.set_err(file);
    }
}
