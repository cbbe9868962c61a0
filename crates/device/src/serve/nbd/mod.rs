//! A connection of the NBD protocol: the handshake, then requests until the client goes.
//!
//! A thread reads requests, moves their data to or from the store, and passes them to the engine; replies come back through the
//! outbox. Nothing that a client sends ends more than its connection.

mod handshake;
mod outbox;
mod reply;
mod session;
mod words;

pub(super) use outbox::Outbox;
pub(super) use reply::Reply;
pub(super) use session::serve;
pub(super) use words::{error, error_of};
