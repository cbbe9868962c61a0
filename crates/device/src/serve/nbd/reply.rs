//! The reply to a request, complete but for the verdict of the engine.

use std::sync::Arc;

use super::outbox::Outbox;
use super::words::{CHUNK, Message, SIMPLE_REPLY, chunk, error};

/// Longest reply that is joined to others: a longer one takes longer to copy than to send.
const MAX_JOINED: usize = 16 << 10;

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

    /// True if one message may have both replies: the same client gets them, and it stays short.
    pub(in crate::serve) fn goes_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.outbox, &other.outbox) && self.message.len().max(other.message.len()) <= MAX_JOINED
    }

    /// The drive has completed requests whose replies go together. Returns their number.
    pub(in crate::serve) fn send_together(mut replies: Vec<Self>) -> usize {
        let requests = replies.len();
        let held = replies.iter().map(|reply| reply.held).sum();
        let Some((first, rest)) = replies.split_first_mut() else { return 0 };
        let mut message = std::mem::take(&mut first.message);
        message.reserve_exact(rest.iter().map(|reply| reply.message.len()).sum());
        for reply in rest {
            message.append(&mut reply.message);
        }
        first.outbox.send_several(message, requests, held);
        requests
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

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::net::UnixStream;

    use super::*;
    use crate::serve::address::Stream;
    use crate::serve::reply::Reply as Either;

    #[test]
    fn replies_to_a_client_go_together_and_give_all_room_back() {
        let clients = [0, 1].map(|_| {
            let (ours, theirs) = UnixStream::pair().expect("a pair");
            (Arc::new(Outbox::new(Arc::new(Stream::Unix(ours)))), theirs)
        });
        let reply = |client: usize, cookie: u64, data: usize| {
            let outbox = &clients[client].0;
            assert!(outbox.try_take(data));
            let message = [simple(0, cookie).0, vec![cookie as u8; data]].concat();
            Reply::with(outbox, cookie, false, message, data)
        };
        let long = MAX_JOINED + 1;
        let given = [(0, 1, 9), (0, 2, 7), (1, 3, 5), (0, 4, 3), (0, 5, long), (0, 6, 1), (0, 7, 1)];
        let replies = given.map(|(client, cookie, data)| Either::Nbd(reply(client, cookie, data)));
        let mut handed = Vec::new();
        Either::send_all(replies, |count| handed.extend((count > 0).then_some(count)));
        assert_eq!(handed, [2, 1, 1, 1, 2], "in the order in which they were due");
        for (client, (outbox, theirs)) in clients.iter().enumerate() {
            for (_, cookie, data) in given.iter().filter(|given| given.0 == client) {
                let mut message = vec![0; 16 + data];
                (&*theirs).read_exact(&mut message).expect("a reply");
                assert_eq!(message[..16], simple(0, *cookie).0);
                assert!(message[16..].iter().all(|byte| u64::from(*byte) == *cookie));
            }
            outbox.end();
            // Ends at once, as nothing is outstanding.
            outbox.write_until_end();
        }
        let many = (0..70).map(|cookie| Either::Nbd(reply(0, cookie, 1)));
        let mut handed = Vec::new();
        Either::send_all(many, |count| handed.push(count));
        assert_eq!(handed.iter().sum::<usize>(), 70);
        assert!(handed.iter().all(|count| *count <= 32));
    }
}
