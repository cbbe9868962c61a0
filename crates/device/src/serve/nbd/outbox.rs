//! Replies on their way to a client. They are written at once where the client takes them, otherwise by a thread that waits for it.

use std::collections::VecDeque;
use std::io::Write;
use std::net::Shutdown;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::serve::address::Stream;

/// Requests of a connection that may be outstanding.
const MAX_REQUESTS: usize = 1024;
/// Bytes of their data and replies.
const MAX_HELD_BYTES: usize = 64 << 20;

/// The way back to a client.
#[derive(Debug)]
pub(in crate::serve) struct Outbox {
    stream: Arc<Stream>,
    state: Mutex<State>,
    /// Wakes the thread that writes.
    work: Condvar,
    /// Wakes the reader that waits for room.
    room: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Replies, the requests that they are for, and the bytes that these hold.
    waiting: VecDeque<(Vec<u8>, usize, usize)>,
    /// The thread is writing.
    writing: bool,
    /// Outstanding requests and their bytes.
    requests: usize,
    held_bytes: usize,
    /// No request follows: ends when nothing is outstanding.
    ending: bool,
    /// The client has gone.
    gone: bool,
}

impl Outbox {
    pub(super) fn new(stream: Arc<Stream>) -> Self {
        Self { stream, state: Mutex::default(), work: Condvar::new(), room: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes room for a request, without waiting. Returns false if there is none.
    pub(super) fn try_take(&self, bytes: usize) -> bool {
        let mut state = self.lock();
        let room = state.requests < MAX_REQUESTS && state.held_bytes + bytes <= MAX_HELD_BYTES;
        if room || state.requests == 0 {
            state.requests += 1;
            state.held_bytes += bytes;
            return true;
        }
        false
    }

    /// Gives room back: the request gets no answer.
    pub(super) fn give_back(&self, bytes: usize) {
        self.lock().release(1, bytes);
    }

    /// Gives the room of a request's data back, before its answer.
    pub(super) fn give_back_bytes(&self, bytes: usize) {
        let mut state = self.lock();
        state.held_bytes = state.held_bytes.saturating_sub(bytes);
    }

    /// Waits until an outstanding request is done. Returns false if the client has gone.
    pub(super) fn wait_for_room(&self) -> bool {
        let mut state = self.lock();
        let before = state.requests;
        while state.requests >= before && state.requests > 0 && !state.gone {
            state = self.room.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        !state.gone
    }

    /// Sends the reply to a request that holds `held` bytes.
    pub(in crate::serve) fn send(&self, reply: Vec<u8>, held: usize) {
        self.send_several(reply, 1, held);
    }

    /// Sends the replies to so many requests, which hold `held` bytes together.
    pub(super) fn send_several(&self, reply: Vec<u8>, requests: usize, held: usize) {
        let mut state = self.lock();
        let mut written = 0;
        if !state.gone && state.waiting.is_empty() && !state.writing {
            match self.stream.write_now(&reply) {
                Ok(count) => written = count,
                Err(_) => state.gone = true,
            }
        }
        if written == reply.len() || state.gone {
            state.release(requests, held);
        } else {
            let rest = if written == 0 { reply } else { reply[written..].to_vec() };
            state.waiting.push_back((rest, requests, held));
        }
        let wake = !state.waiting.is_empty() || state.ending;
        drop(state);
        // A thread that is woken for nothing costs more than the reply.
        if wake {
            self.work.notify_one();
        }
        self.room.notify_one();
    }

    /// The thread of a connection: writes replies that the client did not take at once. Ends with the connection.
    pub(super) fn write_until_end(&self) {
        let mut state = self.lock();
        loop {
            while let Some((reply, requests, held)) = state.waiting.pop_front() {
                state.writing = true;
                let gone = state.gone;
                drop(state);
                let written = if gone { Ok(()) } else { (&*self.stream).write_all(&reply) };
                state = self.lock();
                state.writing = false;
                state.gone |= written.is_err();
                state.release(requests, held);
                if state.gone {
                    // The reader may be waiting for a client that takes no replies.
                    self.stream.shutdown(Shutdown::Both);
                }
                self.room.notify_one();
            }
            if state.ending && (state.requests == 0 || state.gone) {
                return;
            }
            state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// No request follows. The thread ends when all are answered.
    pub(super) fn end(&self) {
        self.lock().ending = true;
        self.work.notify_one();
    }

    /// Drops the connection: replies are discarded.
    pub(in crate::serve) fn cut(&self) {
        self.lock().gone = true;
        self.stream.shutdown(Shutdown::Both);
        self.work.notify_one();
        self.room.notify_one();
    }

    /// True if the client has gone, or its connection was cut.
    pub(in crate::serve) fn is_gone(&self) -> bool {
        self.lock().gone
    }

    /// Ends the reader's side: requests that were read are answered.
    pub(in crate::serve) fn close(&self) {
        self.stream.shutdown(Shutdown::Read);
    }
}

impl State {
    fn release(&mut self, requests: usize, held: usize) {
        self.requests = self.requests.saturating_sub(requests);
        self.held_bytes = self.held_bytes.saturating_sub(held);
    }
}
