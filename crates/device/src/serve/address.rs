//! Addresses that a drive is served at: unix sockets and TCP ports.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{SendFlags, send};
use rustls::ServerConfig;

use super::tls::TlsStream;
use crate::Error;

/// An address as the user gave it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Address {
    /// A unix socket.
    Unix(PathBuf),
    /// A host and a port.
    Tcp(String, u16),
}

impl Address {
    /// Reads `unix:PATH` or `tcp:HOST:PORT`.
    pub(super) fn parse(option: &str, text: &str) -> Result<Self, Error> {
        let wrong = || Error::Setting {
            what: format!("{option} {text}"),
            expected: "expected unix:PATH or tcp:HOST:PORT, such as unix:./flashweir.sock".into(),
        };
        if let Some(path) = text.strip_prefix("unix:").filter(|path| !path.is_empty()) {
            return Ok(Self::Unix(path.into()));
        }
        let (host, port) =
            text.strip_prefix("tcp:").and_then(|rest| rest.rsplit_once(':')).ok_or_else(wrong)?;
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        match port.parse() {
            Ok(port) if !host.is_empty() => Ok(Self::Tcp(host.into(), port)),
            _ => Err(wrong()),
        }
    }

    /// Listens at the address. `exposed`: addresses that other machines reach are allowed.
    pub(super) fn listen(&self, option: &str, exposed: bool) -> Result<Listener, Error> {
        match self {
            Self::Unix(path) => listen_unix(option, path),
            Self::Tcp(host, port) => {
                let failed = |error: io::Error| Error::Setting {
                    what: format!("{option} tcp:{host}:{port}"),
                    expected: format!("{error}; expected an address of this machine and a free port"),
                };
                let found: Vec<SocketAddr> =
                    (host.as_str(), *port).to_socket_addrs().map_err(failed)?.collect();
                if let Some(open) = found.iter().find(|found| !found.ip().is_loopback())
                    && !exposed
                {
                    return Err(Error::Setting {
                        what: format!("{option} tcp:{host}:{port}"),
                        expected: format!(
                            "other machines reach {}, and anybody there could read and write the drive; expected a \
                             loopback address such as 127.0.0.1, or --exposed",
                            open.ip()
                        ),
                    });
                }
                let listener = TcpListener::bind(&found[..]).map_err(failed)?;
                listener.set_nonblocking(true).map_err(failed)?;
                Ok(Listener::Tcp(listener, None))
            }
        }
    }
}

fn listen_unix(option: &str, path: &Path) -> Result<Listener, Error> {
    let refused =
        |expected: String| Error::Setting { what: format!("{option} unix:{}", path.display()), expected };
    if let Ok(there) = std::fs::symlink_metadata(path) {
        if !there.file_type().is_socket() {
            return Err(refused("is there already, and is no socket; expected another name".into()));
        }
        if UnixStream::connect(path).is_ok() {
            return Err(refused("another process serves it; expected another name".into()));
        }
        // Left behind by a process that was killed.
        std::fs::remove_file(path).map_err(|error| refused(error.to_string()))?;
    }
    let listener = UnixListener::bind(path)
        .map_err(|error| refused(format!("{error}; expected a path where a socket can be made")))?;
    listener.set_nonblocking(true).map_err(|error| refused(error.to_string()))?;
    let place = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    Ok(Listener::Unix(listener, place))
}

/// A socket that clients connect to. A unix socket is removed at the end.
#[derive(Debug)]
pub(super) enum Listener {
    /// A unix socket and its path.
    Unix(UnixListener, PathBuf),
    /// A TCP port, and the settings of TLS, which clients must use then.
    Tcp(TcpListener, Option<Arc<ServerConfig>>),
}

impl Listener {
    /// The same, with TLS on a TCP port.
    pub(super) fn with_tls(mut self, config: Option<Arc<ServerConfig>>) -> Self {
        if let Self::Tcp(_, tls) = &mut self {
            *tls = config;
        }
        self
    }

    /// Waits up to `wait`. Returns true if a client is there.
    pub(super) fn wait(&self, wait: Duration) -> io::Result<bool> {
        let fd = match self {
            Self::Unix(listener, _) => listener.as_fd(),
            Self::Tcp(listener, _) => listener.as_fd(),
        };
        let timeout = Timespec { tv_sec: wait.as_secs().cast_signed(), tv_nsec: wait.subsec_nanos().into() };
        match poll(&mut [PollFd::from_borrowed_fd(fd, PollFlags::IN)], Some(&timeout)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => Ok(false),
            Ok(_) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }

    /// Another owner of the unix socket.
    pub(super) fn unix(&self) -> io::Result<UnixListener> {
        match self {
            Self::Unix(listener, _) => listener.try_clone(),
            Self::Tcp(..) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// Waits for a client for up to `wait`.
    pub(super) fn accept(&self, wait: Duration) -> io::Result<Option<Stream>> {
        if !self.wait(wait)? {
            return Ok(None);
        }
        let stream = match self {
            Self::Unix(listener, _) => listener.accept().map(|(stream, _)| Stream::Unix(stream)),
            Self::Tcp(listener, None) => listener.accept().map(|(stream, _)| Stream::Tcp(stream)),
            Self::Tcp(listener, Some(config)) => listener
                .accept()
                .map(|(stream, _)| Stream::Tls(Box::new(TlsStream::new(stream, Arc::clone(config))))),
        };
        match stream {
            Ok(stream) => stream.prepare().map(Some),
            // The client has gone, or another look found it.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The URI of an export, as NBD clients take it.
    pub(super) fn uri(&self, export: &str) -> String {
        match self {
            Self::Unix(_, path) => {
                let path = escaped(&path.to_string_lossy());
                format!("nbd+unix:///{}?socket={path}", escaped(export))
            }
            Self::Tcp(listener, tls) => {
                let scheme = if tls.is_some() { "nbds" } else { "nbd" };
                let at = listener.local_addr().ok();
                let port = at.map_or(0, |at| at.port());
                let host = match at.map(|at| at.ip()) {
                    Some(IpAddr::V6(ip)) => format!("[{ip}]"),
                    Some(ip) => ip.to_string(),
                    None => "?".into(),
                };
                format!("{scheme}://{host}:{port}/{}", escaped(export))
            }
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Self::Unix(_, path) = self {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// A text within a URI.
fn escaped(text: &str) -> String {
    use std::fmt::Write;

    let mut found = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            found.push(char::from(byte));
        } else {
            // Texts take every write.
            let _ = write!(found, "%{byte:02X}");
        }
    }
    found
}

/// A connection.
#[derive(Debug)]
pub(super) enum Stream {
    /// Over a unix socket.
    Unix(UnixStream),
    /// Over TCP.
    Tcp(TcpStream),
    /// Over TCP, with TLS.
    Tls(Box<TlsStream>),
}

impl Stream {
    /// The connection below TLS.
    fn tcp(&self) -> Option<&TcpStream> {
        match self {
            Self::Unix(_) => None,
            Self::Tcp(stream) => Some(stream),
            Self::Tls(stream) => Some(&stream.tcp),
        }
    }

    /// True if the client must ask for TLS before anything else.
    pub(super) fn awaits_tls(&self) -> bool {
        matches!(self, Self::Tls(stream) if stream.is_plain())
    }

    /// Begins TLS, of a stream that awaits it.
    pub(super) fn begin_tls(&self) -> io::Result<()> {
        match self {
            Self::Tls(stream) => stream.begin(),
            Self::Unix(_) | Self::Tcp(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    fn prepare(self) -> io::Result<Self> {
        if let Self::Unix(stream) = &self {
            stream.set_nonblocking(false)?;
        }
        if let Some(stream) = self.tcp() {
            stream.set_nonblocking(false)?;
            stream.set_nodelay(true)?;
        }
        Ok(self)
    }

    /// Longest wait for bytes of the client.
    pub(super) fn set_read_timeout(&self, limit: Option<Duration>) -> io::Result<()> {
        match self {
            Self::Unix(stream) => stream.set_read_timeout(limit),
            Self::Tcp(stream) => stream.set_read_timeout(limit),
            Self::Tls(stream) => stream.tcp.set_read_timeout(limit),
        }
    }

    /// Longest wait for the client to take bytes.
    pub(super) fn set_write_timeout(&self, limit: Option<Duration>) -> io::Result<()> {
        match self {
            Self::Unix(stream) => stream.set_write_timeout(limit),
            Self::Tcp(stream) => stream.set_write_timeout(limit),
            Self::Tls(stream) => stream.tcp.set_write_timeout(limit),
        }
    }

    /// Ends one direction or both. A connection that has ended already is no error.
    pub(super) fn shutdown(&self, how: Shutdown) {
        let _ = match self {
            Self::Unix(stream) => stream.shutdown(how),
            Self::Tcp(stream) => stream.shutdown(how),
            Self::Tls(stream) => stream.tcp.shutdown(how),
        };
    }

    /// Writes as many bytes as go without waiting: none with TLS, whose records go as a whole.
    pub(super) fn write_now(&self, bytes: &[u8]) -> io::Result<usize> {
        if matches!(self, Self::Tls(_)) {
            return Ok(0);
        }
        match send(self.as_fd(), bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
            Ok(written) => Ok(written),
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => Ok(0),
            Err(error) => Err(error.into()),
        }
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Unix(stream) => stream.as_fd(),
            Self::Tcp(stream) => stream.as_fd(),
            Self::Tls(stream) => stream.tcp.as_fd(),
        }
    }
}

impl Read for &Stream {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Unix(stream) => (&*stream).read(bytes),
            Stream::Tcp(stream) => (&*stream).read(bytes),
            Stream::Tls(stream) => stream.read(bytes),
        }
    }
}

impl Write for &Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Unix(stream) => (&*stream).write(bytes),
            Stream::Tcp(stream) => (&*stream).write(bytes),
            Stream::Tls(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_others_refused() {
        let parse = |text| Address::parse("--nbd", text).map_err(|error| error.to_string());
        assert_eq!(parse("unix:./a.sock"), Ok(Address::Unix("./a.sock".into())));
        assert_eq!(parse("tcp:127.0.0.1:10809"), Ok(Address::Tcp("127.0.0.1".into(), 10809)));
        assert_eq!(parse("tcp:[::1]:0"), Ok(Address::Tcp("::1".into(), 0)));
        for text in ["", "unix:", "tcp:", "tcp:host", "tcp::1", "tcp:host:70000", "/dev/null", "http://x"] {
            let error = parse(text).expect_err(text);
            assert!(error.contains("expected unix:PATH or tcp:HOST:PORT"), "{error}");
        }
    }

    #[test]
    fn other_machines_are_kept_out_unless_asked_for() {
        let address = Address::Tcp("0.0.0.0".into(), 0);
        let error = address.listen("--nbd", false).expect_err("refused").to_string();
        assert!(error.contains("--exposed"), "{error}");
        assert!(address.listen("--nbd", true).is_ok());
        let uri = Address::Tcp("127.0.0.1".into(), 0).listen("--nbd", false).expect("listens").uri("a b");
        assert!(uri.starts_with("nbd://127.0.0.1:") && uri.ends_with("/a%20b"), "{uri}");
    }

    #[test]
    fn a_socket_left_behind_is_replaced_and_a_file_is_not() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("drive.sock");
        let address = Address::Unix(path.clone());
        drop(UnixListener::bind(&path).expect("bound"));
        let first = address.listen("--nbd", false).expect("listens");
        let error = address.listen("--nbd", false).expect_err("taken").to_string();
        assert!(error.contains("another process serves it"), "{error}");
        drop(first);
        assert!(!path.exists());
        std::fs::write(&path, "mine").expect("written");
        let error = address.listen("--nbd", false).expect_err("a file").to_string();
        assert!(error.contains("is no socket"), "{error}");
        assert_eq!(std::fs::read(&path).expect("there"), b"mine");
    }
}
