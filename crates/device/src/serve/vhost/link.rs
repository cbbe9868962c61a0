//! The connection to a front end, as the engine sees it: what is outstanding, and whether anybody waits for it.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use vhost_user_backend::ShutdownHandle;

use super::request::Bad;

/// Queues of a client.
pub(super) const QUEUES: usize = 16;

/// Outstanding requests of a front end, by queue, and the way to end it.
#[derive(Default)]
pub(in crate::serve) struct Link {
    state: Mutex<State>,
    /// Wakes who waits for requests to end.
    ended: Condvar,
}

#[derive(Default)]
struct State {
    /// Outstanding requests, by queue.
    outstanding: [u32; QUEUES],
    /// Ends the connection, once there is one.
    handle: Option<ShutdownHandle>,
    /// No request is taken any more.
    closing: bool,
    /// The client has gone, or was ended.
    gone: bool,
    /// Why it was ended.
    reason: Option<String>,
}

impl std::fmt::Debug for Link {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Link").field("outstanding", &self.lock().outstanding).finish_non_exhaustive()
    }
}

impl State {
    fn shut_down(&self) {
        if let Some(handle) = &self.handle {
            handle.shutdown();
        }
    }
}

impl Link {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The connection is there.
    pub(super) fn connected(&self, handle: Option<ShutdownHandle>) {
        let mut state = self.lock();
        state.handle = handle;
        if state.gone {
            state.shut_down();
        }
    }

    /// A request is taken from a queue of `size` entries.
    pub(super) fn begin(&self, queue: usize, size: u16) -> Result<(), Bad> {
        let mut state = self.lock();
        if state.outstanding[queue] >= size.into() {
            return Err(Bad("more requests are outstanding than its queue has entries".into()));
        }
        state.outstanding[queue] += 1;
        Ok(())
    }

    /// A request was answered.
    pub(super) fn end(&self, queue: usize) {
        let mut state = self.lock();
        state.outstanding[queue] -= 1;
        if state.outstanding[queue] == 0 {
            self.ended.notify_all();
        }
        if state.closing && state.outstanding == [0; QUEUES] {
            state.shut_down();
        }
    }

    /// Waits until a queue has no request outstanding.
    pub(super) fn drained(&self, queue: usize) {
        let mut state = self.lock();
        while !state.gone && state.outstanding[queue] > 0 {
            state = self.ended.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Ends the client, which did something that no client may do.
    pub(super) fn fail(&self, bad: Bad) {
        self.lock().reason.get_or_insert(bad.0);
        self.cut();
    }

    /// Why the client was ended.
    pub(super) fn reason(&self) -> Option<String> {
        self.lock().reason.take()
    }

    /// Drops the connection: nothing is written to the client's memory any more.
    pub(in crate::serve) fn cut(&self) {
        let mut state = self.lock();
        state.gone = true;
        state.shut_down();
        self.ended.notify_all();
    }

    /// Takes no more requests; ends the connection when those that were taken are answered.
    pub(in crate::serve) fn close(&self) {
        let mut state = self.lock();
        state.closing = true;
        if state.outstanding == [0; QUEUES] {
            state.shut_down();
        }
    }

    /// True if requests are taken.
    pub(super) fn is_open(&self) -> bool {
        let state = self.lock();
        !state.gone && !state.closing
    }

    /// True if the client has gone, or was ended.
    pub(in crate::serve) fn is_gone(&self) -> bool {
        self.lock().gone
    }
}
