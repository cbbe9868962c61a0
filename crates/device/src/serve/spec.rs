//! A live drive as data, and what of it is refused.

use std::path::PathBuf;

use flashweir_run::DriveSpec;
use flashweir_ssd::Config;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::clock::ClockMode;
use super::promise::Promise;
use crate::Error;

/// The slowest that time may go.
pub(super) const MAX_DILATE: f64 = 1e6;

/// A drive to serve, as data.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub struct ServeSpec {
    /// The drive.
    pub drive: DriveSpec,
    /// Address: `unix:PATH` or `tcp:HOST:PORT`.
    pub nbd: String,
    /// Sockets at which virtual machines open an export as a disk of virtio-blk: `SOCKET`, or `EXPORT=SOCKET`.
    pub vhost_user_blk: Vec<String>,
    /// True if other machines may reach it.
    pub exposed: bool,
    /// Certificate of the server, PEM: clients must use TLS then.
    pub tls_cert: Option<PathBuf>,
    /// Its key, PEM.
    pub tls_key: Option<PathBuf>,
    /// Certificates of those that sign the certificates of clients, PEM: clients must have one then.
    pub tls_clients: Option<PathBuf>,
    /// Place of the bytes: a file, a folder, `memory` or `none`. None: the folder of `state`, or memory.
    pub data: Option<String>,
    /// Relation of wall time to simulated time.
    pub clock: ClockMode,
    /// Wall time over simulated time, at least 1.
    pub dilate: f64,
    /// Exports, `NAME` or `NAME=SIZE`; each is a tenant. None: the whole drive, without a name.
    pub exports: Vec<String>,
    /// Socket that commands are taken at.
    pub control: Option<PathBuf>,
    /// Add up the time of each die by kind of work, for those who watch the drive.
    pub watched: bool,
    /// A drive that was saved, instead of a new one.
    pub load: Option<PathBuf>,
    /// Folder that the drive lives in.
    pub state: Option<PathBuf>,
    /// Trace of the arrivals, Parquet.
    pub record: Option<PathBuf>,
    /// Follow what flash holds of the bytes, so that power can be cut.
    pub power_cuts: bool,
    /// Capacitors write the buffer to flash when power fails.
    pub protected_buffer: bool,
    /// Answer flushes without effect: a drive that lies, to test tests with.
    pub ignore_flush: bool,
}

impl Default for ServeSpec {
    fn default() -> Self {
        Self {
            drive: DriveSpec::default(),
            nbd: "unix:./flashweir.sock".into(),
            vhost_user_blk: Vec::new(),
            exposed: false,
            tls_cert: None,
            tls_key: None,
            tls_clients: None,
            data: None,
            clock: ClockMode::default(),
            dilate: 1.0,
            exports: Vec::new(),
            control: None,
            watched: false,
            load: None,
            state: None,
            record: None,
            power_cuts: false,
            protected_buffer: false,
            ignore_flush: false,
        }
    }
}

/// The place of the bytes.
pub(super) fn data_of(spec: &ServeSpec) -> String {
    match (&spec.data, &spec.state) {
        (Some(data), _) => data.clone(),
        (None, Some(folder)) => folder.display().to_string(),
        (None, None) => "memory".into(),
    }
}

/// The promises of the drive about writes that it has acknowledged.
pub(super) fn promise(spec: &ServeSpec, config: &Config) -> Result<Promise, Error> {
    let volatile = config.buffer.bytes.0 > 0 && json!(config.buffer.ack) == "buffer";
    let is_protected = spec.protected_buffer || config.buffer.protected;
    let asked = [(spec.protected_buffer, "--protected-buffer"), (spec.ignore_flush, "--ignore-flush")];
    let (what, expected) = match (volatile, is_protected, spec.ignore_flush) {
        (true, false, false) => return Ok(Promise::Volatile),
        (true, true, false) => return Ok(Promise::Protected),
        (true, false, true) => return Ok(Promise::FlushIgnored),
        (false, false, false) => return Ok(Promise::OnFlash),
        (true, true, true) => (
            "buffer.protected or --protected-buffer, --ignore-flush",
            "a protected buffer needs no flush; expected one of them",
        ),
        (false, _, _) => (
            asked.into_iter().find(|(given, _)| *given).map_or("", |(_, name)| name),
            "the drive acknowledges no write before it is on flash; expected a write buffer (--set buffer.bytes=1MiB)",
        ),
    };
    Err(Error::Setting { what: what.into(), expected: expected.into() })
}

/// Refuses factors of time that are none.
pub(super) fn check(spec: &ServeSpec) -> Result<(), Error> {
    let wrong = |expected: &str| Error::Setting {
        what: format!("--dilate {}", spec.dilate),
        expected: expected.into(),
    };
    if !(1.0..=MAX_DILATE).contains(&spec.dilate) {
        return Err(wrong("expected a factor from 1 to 1000000: wall time over simulated time"));
    }
    if spec.clock == ClockMode::Virtual && spec.dilate > 1.0 {
        return Err(wrong("virtual time answers at once; expected --clock paced with it"));
    }
    Ok(())
}
