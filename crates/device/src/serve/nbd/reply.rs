//! The reply to a request, complete but for the verdict of the engine.

use std::sync::Arc;

use super::outbox::Outbox;
use super::words::{CHUNK, Message, SIMPLE_REPLY, chunk, error};

/// A reply that is sent once the drive has completed its request.
#[derive(Debug)]
pub(in crate::serve) struct Reply {
    outbox: Arc<Outbox>,
    cookie: u64,
    /// In chunks.
    structured: bool,
    /// Message of success.
    message: Vec<u8>,
    /// Bytes that the request holds.
    held: usize,
}

impl Reply {
    /// Reply to a request without data.
    pub(super) fn plain(outbox: &Arc<Outbox>, cookie: u64, held: usize) -> Self {
        let message = simple(0, cookie).0;
        Self { outbox: Arc::clone(outbox), cookie, structured: false, message, held }
    }

    /// Reply with a message of its own.
    pub(super) fn with(
        outbox: &Arc<Outbox>,
        cookie: u64,
        structured: bool,
        message: Vec<u8>,
        held: usize,
    ) -> Self {
        Self { outbox: Arc::clone(outbox), cookie, structured, message, held }
    }

    /// True if nobody waits for it any more.
    pub(in crate::serve) fn is_gone(&self) -> bool {
        self.outbox.is_gone()
    }

    /// The drive has completed the request.
    pub(in crate::serve) fn send(mut self) {
        self.outbox.send(std::mem::take(&mut self.message), self.held);
    }

    /// The request failed.
    pub(in crate::serve) fn fail(mut self, error: u32) {
        self.message = failure(self.structured, self.cookie, error);
        self.send();
    }
}

impl Drop for Reply {
    /// No request stays without an answer: one that was dropped, as by a drive that can't go on, has failed.
    fn drop(&mut self) {
        if !self.message.is_empty() {
            self.outbox.send(failure(self.structured, self.cookie, error::IO), self.held);
        }
    }
}

/// Header of a simple reply.
pub(super) fn simple(error: u32, cookie: u64) -> Message {
    Message::default().u32(SIMPLE_REPLY).u32(error).u64(cookie)
}

/// Header of the last chunk of a structured reply.
pub(super) fn last_chunk(kind: u16, cookie: u64, len: u32) -> Message {
    Message::default().u32(CHUNK).u16(chunk::DONE).u16(kind).u64(cookie).u32(len)
}

/// Message of a failure.
pub(super) fn failure(structured: bool, cookie: u64, error: u32) -> Vec<u8> {
    if structured {
        return last_chunk(chunk::ERROR, cookie, 6).u32(error).u16(0).0;
    }
    simple(error, cookie).0
}
