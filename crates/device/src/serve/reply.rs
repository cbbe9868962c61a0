//! The reply to a request of a client, and the client's connection, over either transport.

use std::sync::{Arc, Mutex};

use super::{nbd, vhost};

/// Connections that are open.
pub(super) type Connections = Arc<Mutex<Vec<Connection>>>;

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
