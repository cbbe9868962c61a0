//! virtio-blk over vhost-user: a virtual machine, or another front end, opens an export as its disk by shared memory.
//!
//! The crates of rust-vmm speak the protocol and walk the rings. Each client has a [`Backend`] of its own with some threads: these
//! move the data of requests between its memory and the store, and pass the requests to the engine. Completions are put into its
//! rings by whichever thread steps the drive. A client that breaks the protocol is ended, and nothing else; the line that says why
//! is kept for who runs the server.

mod backend;
mod config;
mod execute;
mod link;
mod reply;
mod request;
#[cfg(test)]
mod tests;
mod vring;

use std::path::PathBuf;
use std::sync::Arc;

use vhost::vhost_user::{Error as ProtocolError, Listener as VhostListener};
use vhost_user_backend::{Error as DaemonError, VhostUserDaemon};
use vm_memory::{GuestMemoryAtomic, GuestMemoryMmap};

use super::address::{Address, Listener};
use super::exports::Export;
use super::reply::Connection;
use super::shared::Shared;
use super::{LOOK, thread};
use crate::Error;
use backend::Backend;
pub(super) use link::Link;
pub(super) use reply::Reply;

/// The option, as messages name it.
const OPTION: &str = "--vhost-user-blk";

/// A socket at which front ends connect, and its export.
#[derive(Debug)]
pub(super) struct Socket {
    listener: Listener,
    /// Place of the socket.
    pub(super) path: PathBuf,
    export: usize,
}

/// Listens at the sockets that were asked for: `SOCKET` opens the first export, `NAME=SOCKET` the one of that name.
pub(super) fn listen(given: &[String], exports: &[Export]) -> Result<Vec<Socket>, Error> {
    let socket = |text: &String| {
        let named = text.split_once('=').and_then(|(name, path)| {
            let export = exports.iter().position(|export| export.name == name)?;
            Some((export, path))
        });
        let (export, path) = named.unwrap_or((0, text));
        if path.is_empty() {
            let expected = "expected the path of a socket, or EXPORT=SOCKET".into();
            return Err(Error::Setting { what: format!("{OPTION} {text}"), expected });
        }
        let path = PathBuf::from(path);
        let listener = Address::Unix(path.clone()).listen(OPTION, false)?;
        Ok(Socket { listener, path, export })
    };
    given.iter().map(socket).collect()
}

/// Takes front ends until the end.
pub(super) fn accept(shared: &Arc<Shared>, socket: &Socket) {
    while !shared.stop.is_asked() {
        match socket.listener.wait(LOOK) {
            Ok(true) => {
                if let Err(reason) = begin(shared, socket) {
                    shared.complain(&format!("{OPTION} {}: {reason}", socket.path.display()));
                }
            }
            Ok(false) => {}
            // Out of descriptors, for example: others end first.
            Err(_) => std::thread::sleep(LOOK),
        }
    }
}

/// Takes the front end that waits, and serves it in a thread of its own.
fn begin(shared: &Arc<Shared>, socket: &Socket) -> Result<(), String> {
    let refused = |error: DaemonError| {
        // It would be found waiting again at once.
        std::thread::sleep(LOOK);
        format!("a client was not taken: {error}")
    };
    let mut listener = VhostListener::from(socket.listener.unix().map_err(|error| error.to_string())?);
    let link = Arc::new(Link::default());
    let memory = GuestMemoryAtomic::new(GuestMemoryMmap::new());
    let backend = Arc::new(Backend::new(shared, socket.export, &link, &memory));
    let daemon = VhostUserDaemon::new("vhost".into(), Arc::clone(&backend), memory);
    let mut daemon = daemon.inspect_err(|_| backend.release_events()).map_err(refused)?;
    // Its first request may come as soon as it is served.
    let open = shared.connected(Connection::Vhost(Arc::clone(&link)));
    if open.is_none() {
        link.cut();
    }
    if let Err(error) = daemon.start(&mut listener) {
        drop(daemon);
        backend.release_events();
        return Err(refused(error));
    }
    link.connected(daemon.shutdown_handle());
    let (own, path, unserved) = (Arc::clone(shared), socket.path.clone(), Arc::clone(&link));
    let serve = move || {
        let _open = open;
        let ended = daemon.wait();
        link.cut();
        // Requests that came are answered, then its threads end.
        own.engine.work();
        drop(daemon);
        backend.release_events();
        if let Some(reason) = link.reason().or_else(|| broken(&ended)) {
            own.complain(&format!("{OPTION} {}: a client was ended: {reason}", path.display()));
        }
    };
    thread("vhost client", serve).map(drop).map_err(|error| {
        unserved.cut();
        error.to_string()
    })
}

/// Says how a client broke the protocol. `None`: it has gone.
fn broken(ended: &Result<(), DaemonError>) -> Option<String> {
    match ended {
        Ok(())
        | Err(DaemonError::HandleRequest(ProtocolError::Disconnected | ProtocolError::PartialMessage)) => {
            None
        }
        Err(DaemonError::HandleRequest(error)) => Some(format!("it broke the vhost-user protocol: {error}")),
        Err(error) => Some(error.to_string()),
    }
}
