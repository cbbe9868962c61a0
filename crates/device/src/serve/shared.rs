//! Parts of a live drive that all its threads share, and the connections that are open.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, MutexGuard, PoisonError};

use super::core::Connections;
use super::engine::Engine;
use super::exports::Export;
use super::nbd::Outbox;
use super::store::Store;
use crate::Stop;

/// Connections at a time.
const MAX_CONNECTIONS: usize = 4096;

/// Parts that all threads share.
pub(super) struct Shared {
    pub(super) engine: Engine,
    pub(super) store: Arc<Store>,
    /// The engine changes the bytes, in the order in which requests enter.
    pub(super) changes_in_order: bool,
    pub(super) exports: Vec<Export>,
    /// The best size of a request, bytes.
    pub(super) preferred_bytes: u32,
    pub(super) connections: Connections,
    pub(super) connected: AtomicU64,
    pub(super) stop: Stop,
}

/// A connection that is open, until dropped.
pub(super) struct Open<'a> {
    shared: &'a Shared,
    outbox: Arc<Outbox>,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.shared.open().retain(|other| !Arc::ptr_eq(other, &self.outbox));
    }
}

impl Shared {
    pub(super) fn open(&self) -> MutexGuard<'_, Vec<Arc<Outbox>>> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enters a connection. Returns `None` at the end of the server.
    pub(super) fn connected(&self, outbox: &Arc<Outbox>) -> Option<Open<'_>> {
        let mut open = self.open();
        if self.stop.is_asked() || open.len() >= MAX_CONNECTIONS {
            return None;
        }
        open.push(Arc::clone(outbox));
        self.connected.fetch_add(1, Ordering::Relaxed);
        Some(Open { shared: self, outbox: Arc::clone(outbox) })
    }
}
