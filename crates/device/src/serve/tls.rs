//! TLS of TCP exports: certificates by path, and a connection that is plain until its client asks for TLS.
//!
//! One thread reads a connection and others write it. The state of TLS has a lock that nobody holds while it waits for the client, so
//! that a client that sends before it takes replies is heard.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection};

use super::ServeSpec;
use crate::Error;

/// Bytes that are read from a client, or written to it, at once: those of a record.
const RECORD_BYTES: usize = 16 << 10;

fn wrong(what: impl Into<String>, expected: impl Into<String>) -> Error {
    Error::Setting { what: what.into(), expected: expected.into() }
}

/// The settings of TLS, if it was asked for.
pub(super) fn configured(spec: &ServeSpec) -> Result<Option<Arc<ServerConfig>>, Error> {
    let (certificate, key) = match (&spec.tls_cert, &spec.tls_key, &spec.tls_clients) {
        (None, None, None) => return Ok(None),
        (Some(certificate), Some(key), _) => (certificate, key),
        _ => return Err(wrong("TLS", "expected a certificate and its key: --tls-cert FILE --tls-key FILE")),
    };
    if !spec.nbd.starts_with("tcp:") {
        let expected = "TLS is for TCP, and a unix socket needs none; expected --nbd tcp:HOST:PORT";
        return Err(wrong(format!("--tls-cert with --nbd {}", spec.nbd), expected));
    }
    let chain = certificates("--tls-cert", certificate)?;
    let what = format!("--tls-key {}", key.display());
    let private = PrivateKeyDer::from_pem_file(key)
        .map_err(|error| wrong(&what, format!("{error}; expected a private key in PEM form")))?;
    let provider = Arc::new(default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| wrong("TLS", error.to_string()))?;
    let builder = match &spec.tls_clients {
        None => builder.with_no_client_auth(),
        Some(path) => {
            let name = format!("--tls-clients {}", path.display());
            let mut roots = RootCertStore::empty();
            for root in certificates("--tls-clients", path)? {
                roots.add(root).map_err(|error| wrong(&name, error.to_string()))?;
            }
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
            builder.with_client_cert_verifier(verifier.map_err(|error| wrong(&name, error.to_string()))?)
        }
    };
    let config = builder
        .with_single_cert(chain, private)
        .map_err(|error| wrong(&what, format!("{error}; expected the key of {}", certificate.display())))?;
    Ok(Some(Arc::new(config)))
}

/// The certificates of a file.
fn certificates(option: &str, path: &Path) -> Result<Vec<CertificateDer<'static>>, Error> {
    let refused = |detail: String| {
        wrong(format!("{option} {}", path.display()), format!("{detail}; expected certificates in PEM form"))
    };
    let found = CertificateDer::pem_file_iter(path).map_err(|error| refused(error.to_string()))?;
    let found: Vec<_> = found.collect::<Result<_, _>>().map_err(|error| refused(error.to_string()))?;
    if found.is_empty() { Err(refused("has no certificate".into())) } else { Ok(found) }
}

/// A TCP connection whose client must ask for TLS.
#[derive(Debug)]
pub(super) struct TlsStream {
    pub(super) tcp: TcpStream,
    config: Arc<ServerConfig>,
    /// Once the client has asked.
    session: OnceLock<Session>,
}

#[derive(Debug)]
struct Session {
    state: Mutex<ServerConnection>,
    /// Bytes of the client that were not decrypted, from a place on.
    coming: Mutex<(Vec<u8>, usize)>,
    /// Held while bytes are sent, so that records keep their order.
    sending: Mutex<()>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl TlsStream {
    pub(super) fn new(tcp: TcpStream, config: Arc<ServerConfig>) -> Self {
        Self { tcp, config, session: OnceLock::new() }
    }

    /// True until TLS has begun.
    pub(super) fn is_plain(&self) -> bool {
        self.session.get().is_none()
    }

    /// Begins TLS: the next bytes of the client are its greeting.
    pub(super) fn begin(&self) -> io::Result<()> {
        let mut state = ServerConnection::new(Arc::clone(&self.config)).map_err(io::Error::other)?;
        while state.is_handshaking() {
            state.complete_io(&mut &self.tcp)?;
        }
        // It was complete when the client's last message came; answers to that may wait.
        while state.wants_write() {
            state.write_tls(&mut &self.tcp)?;
        }
        let session = Session {
            state: Mutex::new(state),
            coming: Mutex::new((Vec::new(), 0)),
            sending: Mutex::new(()),
        };
        self.session.set(session).map_err(|_| io::Error::other("TLS has begun already"))
    }

    /// Reads what the client sent. Returns 0 at its end.
    pub(super) fn read(&self, bytes: &mut [u8]) -> io::Result<usize> {
        let Some(session) = self.session.get() else { return (&self.tcp).read(bytes) };
        let mut coming = locked(&session.coming);
        let (raw, at) = &mut *coming;
        loop {
            let mut state = locked(&session.state);
            match state.reader().read(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                done => return done,
            }
            if *at < raw.len() {
                let mut rest = &raw[*at..];
                *at += state.read_tls(&mut rest)?;
                state.process_new_packets().map_err(io::Error::other)?;
                continue;
            }
            drop(state);
            raw.resize(RECORD_BYTES, 0);
            let count = (&self.tcp).read(raw);
            raw.truncate(*count.as_ref().unwrap_or(&0));
            *at = 0;
            if count? == 0 {
                return Ok(0);
            }
        }
    }

    /// Writes up to a record.
    pub(super) fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        let Some(session) = self.session.get() else { return (&self.tcp).write(bytes) };
        let _sending = locked(&session.sending);
        let mut records = Vec::with_capacity(RECORD_BYTES + 512);
        let mut state = locked(&session.state);
        let count = state.writer().write(&bytes[..bytes.len().min(RECORD_BYTES)])?;
        while state.wants_write() {
            state.write_tls(&mut records)?;
        }
        drop(state);
        (&self.tcp).write_all(&records)?;
        Ok(count)
    }
}
