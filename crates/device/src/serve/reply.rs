//! The reply to a request of a client, and the client's connection, over either transport.

use std::sync::{Arc, Mutex};

use super::{nbd, vhost};

/// Connections that are open.
pub(super) type Connections = Arc<Mutex<Vec<Connection>>>;

/// Replies of one message.
const MAX_TOGETHER: usize = 32;

/// A reply that is sent once the drive has completed its request. One that is dropped fails its request.
#[derive(Debug)]
pub(super) enum Reply {
    Nbd(nbd::Reply),
    Vhost(vhost::Reply),
}

impl Reply {
    /// True if nobody waits for it any more.
    pub(super) fn is_gone(&self) -> bool {
        match self {
            Self::Nbd(reply) => reply.is_gone(),
            Self::Vhost(reply) => reply.is_gone(),
        }
    }

    /// The drive has completed the request.
    pub(super) fn send(self) {
        match self {
            Self::Nbd(reply) => reply.send(),
            Self::Vhost(reply) => reply.send(),
        }
    }

    /// The drive has completed the requests. Replies to one client go together, as each message wakes it, which takes longer than the
    /// message itself. `handed` is called with the number of replies after each message.
    pub(super) fn send_all(replies: impl IntoIterator<Item = Self>, mut handed: impl FnMut(usize)) {
        let mut together: Vec<nbd::Reply> = Vec::new();
        for reply in replies {
            let joins = matches!((&reply, together.first()), (Self::Nbd(reply), Some(first)) if reply.goes_with(first));
            if !joins || together.len() == MAX_TOGETHER {
                handed(nbd::Reply::send_together(std::mem::take(&mut together)));
            }
            match reply {
                Self::Nbd(reply) => together.push(reply),
                Self::Vhost(reply) => {
                    reply.send();
                    handed(1);
                }
            }
        }
        handed(nbd::Reply::send_together(together));
    }

    /// The request failed, with an error of NBD. virtio-blk knows one error only.
    pub(super) fn fail(self, error: u32) {
        match self {
            Self::Nbd(reply) => reply.fail(error),
            Self::Vhost(reply) => drop(reply),
        }
    }
}

/// The way to a client.
#[derive(Clone, Debug)]
pub(super) enum Connection {
    Nbd(Arc<nbd::Outbox>),
    Vhost(Arc<vhost::Link>),
}

impl Connection {
    /// Drops the connection: replies are discarded.
    pub(super) fn cut(&self) {
        match self {
            Self::Nbd(outbox) => outbox.cut(),
            Self::Vhost(link) => link.cut(),
        }
    }

    /// Takes no more requests: those that were taken are answered.
    pub(super) fn close(&self) {
        match self {
            Self::Nbd(outbox) => outbox.close(),
            Self::Vhost(link) => link.close(),
        }
    }

    /// True if both are the same connection.
    pub(super) fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Nbd(left), Self::Nbd(right)) => Arc::ptr_eq(left, right),
            (Self::Vhost(left), Self::Vhost(right)) => Arc::ptr_eq(left, right),
            _ => false,
        }
    }
}
