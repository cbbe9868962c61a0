//! Parts of a live drive that all its threads share, and the connections that are open.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use flashweir_trace::reason::without_code;

use super::core::Change;
use super::cuts::Bytes;
use super::engine::Engine;
use super::exports::Export;
use super::reply::{Connection, Connections};
use super::store::Store;
use crate::Stop;

/// Connections at a time.
const MAX_CONNECTIONS: usize = 4096;
/// Complaints about clients that wait to be printed; more are not kept.
const MAX_COMPLAINTS: usize = 100;

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
    /// Lines that say why clients were ended.
    pub(super) complaints: Mutex<Vec<String>>,
    pub(super) stop: Stop,
}

/// A connection that is open, until dropped.
pub(super) struct Open {
    shared: Arc<Shared>,
    connection: Connection,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.shared.open().retain(|other| !other.is(&self.connection));
    }
}

impl Shared {
    pub(super) fn open(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enters a connection, before its first request is read: a power cut in progress ends first. Returns `None` at the end of
    /// the server.
    pub(super) fn connected(self: &Arc<Self>, connection: Connection) -> Option<Open> {
        let mut open = self.open();
        if self.stop.is_asked() || open.len() >= MAX_CONNECTIONS {
            return None;
        }
        open.push(connection.clone());
        self.connected.fetch_add(1, Ordering::Relaxed);
        Some(Open { shared: Arc::clone(self), connection })
    }

    /// Changes bytes, or leaves that to the engine where the order in which requests enter counts.
    pub(super) fn change(&self, at: u64, bytes: u64, change: Bytes) -> io::Result<Change> {
        if self.changes_in_order {
            return Ok(Some(change));
        }
        match &change {
            Bytes::Write(data) => self.store.write(at, data)?,
            Bytes::Zero { keep } => self.store.zero(at, bytes, *keep)?,
        }
        Ok(None)
    }

    /// Says in a line why a client was ended.
    pub(super) fn complain(&self, line: &str) {
        let mut complaints = self.complaints.lock().unwrap_or_else(PoisonError::into_inner);
        if complaints.len() < MAX_COMPLAINTS {
            complaints.push(without_code(line));
        }
    }

    /// Takes what was said since the last call.
    pub(super) fn complaints(&self) -> Vec<String> {
        std::mem::take(&mut *self.complaints.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
