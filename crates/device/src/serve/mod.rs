//! The live drive: a simulated drive that clients open as a disk, over the NBD protocol.
//!
//! `nbd/` speaks with clients, `store/` has the bytes, `engine.rs` owns the drive and answers when a request is due on `clock.rs`,
//! `lateness.rs` says whether that was in time, `exports.rs` divides the drive.

mod address;
mod clock;
mod engine;
mod exports;
mod lateness;
mod nbd;
mod store;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use flashweir_run::{Drive, DriveSpec, Progress};
use flashweir_trace::SECTOR_BYTES;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use address::{Address, Listener};
use clock::Clock;
pub use clock::ClockMode;
use engine::Engine;
use exports::Export;
use nbd::Outbox;
use store::Store;

use crate::{Error, Stop};

/// Between two looks for a stop.
const LOOK: Duration = Duration::from_millis(100);
/// Longest wait for connections to end.
const FAREWELL: Duration = Duration::from_secs(5);
/// Connections at a time.
const MAX_CONNECTIONS: usize = 4096;
/// Stack of the threads of connections.
const STACK_BYTES: usize = 256 << 10;
/// The slowest that time may go.
const MAX_DILATE: f64 = 1e6;

/// A drive to serve, as data.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServeSpec {
    /// The drive.
    pub drive: DriveSpec,
    /// Address: `unix:PATH` or `tcp:HOST:PORT`.
    pub nbd: String,
    /// True if other machines may reach it.
    pub exposed: bool,
    /// Place of the bytes: a file, a folder, `memory` or `none`.
    pub data: String,
    /// Relation of wall time to simulated time.
    pub clock: ClockMode,
    /// Wall time over simulated time, at least 1.
    pub dilate: f64,
    /// Exports, `NAME` or `NAME=SIZE`; each is a tenant. None: the whole drive, without a name.
    pub exports: Vec<String>,
}

impl Default for ServeSpec {
    fn default() -> Self {
        Self {
            drive: DriveSpec::default(),
            nbd: "unix:./flashweir.sock".into(),
            exposed: false,
            data: "memory".into(),
            clock: ClockMode::default(),
            dilate: 1.0,
            exports: Vec::new(),
        }
    }
}

/// Parts that all threads share.
struct Shared {
    engine: Engine,
    store: Store,
    exports: Vec<Export>,
    /// The best size of a request, bytes.
    preferred_bytes: u32,
    connections: Mutex<Vec<Arc<Outbox>>>,
    connected: AtomicU64,
    stop: Stop,
}

/// A connection that is open, until dropped.
struct Open<'a> {
    shared: &'a Shared,
    outbox: Arc<Outbox>,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.shared.open().retain(|other| !Arc::ptr_eq(other, &self.outbox));
    }
}

impl Shared {
    fn open(&self) -> MutexGuard<'_, Vec<Arc<Outbox>>> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enters a connection. Returns `None` at the end of the server.
    fn connected(&self, outbox: &Arc<Outbox>) -> Option<Open<'_>> {
        let mut open = self.open();
        if self.stop.is_asked() || open.len() >= MAX_CONNECTIONS {
            return None;
        }
        open.push(Arc::clone(outbox));
        self.connected.fetch_add(1, Ordering::Relaxed);
        Some(Open { shared: self, outbox: Arc::clone(outbox) })
    }
}

/// A drive that is being served.
pub struct Server {
    shared: Arc<Shared>,
    spec: ServeSpec,
    ready: Value,
    accepting: Option<JoinHandle<()>>,
    answering: Option<JoinHandle<()>>,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Server").field("ready", &self.ready).finish_non_exhaustive()
    }
}

impl Server {
    /// Makes the drive and serves it. `progress` is called while the drive is preconditioned; false gives up.
    pub fn start(spec: &ServeSpec, progress: &mut dyn FnMut(&Progress) -> bool) -> Result<Self, Error> {
        check(spec)?;
        let address = Address::parse("--nbd", &spec.nbd)?;
        let mut drive = spec.drive.clone();
        drive.options.tenants.extend(exports::names(&spec.exports)?);
        let drive = Drive::open(&drive, None, progress)?;
        let geometry = drive.geometry();
        let unit = u64::from(geometry.page_sectors);
        let exports = exports::divide(&spec.exports, geometry.capacity_sectors(), unit)?;
        let preferred_bytes = (unit * SECTOR_BYTES).next_power_of_two().clamp(4096, 1 << 20) as u32;
        let listener = address.listen("--nbd", spec.exposed)?;
        // Last of what can be refused: it marks the file as not whole.
        let store = Store::open(&spec.data, drive.capacity_bytes())?;
        let size_bytes = exports.first().map_or(0, Export::bytes);
        let uri = listener.uri(exports.first().map_or("", |export| &export.name));
        let ready =
            json!({"event": "ready", "uri": uri, "size_bytes": size_bytes, "pid": std::process::id()});
        let buffer = &drive.config().buffer;
        let volatile = buffer.bytes.0 > 0 && json!(buffer.ack) == "buffer";
        let clock = Clock::start(spec.clock, spec.dilate, drive.now_ns());
        let stop = Stop::default();
        let engine = Engine::new(drive, clock, volatile, stop.clone());
        let shared = Arc::new(Shared {
            engine,
            store,
            exports,
            preferred_bytes,
            connections: Mutex::default(),
            connected: AtomicU64::new(0),
            stop,
        });
        let mut server = Self { shared, spec: spec.clone(), ready, accepting: None, answering: None };
        let shared = Arc::clone(&server.shared);
        server.answering = Some(thread("answer", move || shared.engine.run())?);
        let shared = Arc::clone(&server.shared);
        server.accepting = Some(thread("accept", move || accept(&shared, &listener))?);
        Ok(server)
    }

    /// The line that says that clients can connect.
    pub fn ready(&self) -> &Value {
        &self.ready
    }

    /// Waits up to `limit` for the end of the drive. Returns true if it can't go on.
    pub fn wait(&self, limit: Duration) -> bool {
        let until = Instant::now() + limit;
        while !self.shared.stop.is_asked() && Instant::now() < until {
            std::thread::sleep(LOOK.min(limit));
        }
        self.shared.stop.is_asked()
    }

    /// Answers everything outstanding, flushes, and ends. Returns the result of the run, its verdict first.
    pub fn stop(mut self) -> Result<Value, Error> {
        self.end_threads();
        for outbox in self.shared.open().iter() {
            outbox.close();
        }
        let core = self.shared.engine.finish();
        let until = Instant::now() + FAREWELL;
        while !self.shared.open().is_empty() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
        for outbox in self.shared.open().iter() {
            outbox.cut();
        }
        self.shared.store.finish()?;
        let Some(core) = core else { return Ok(Value::Null) };
        if let Some(error) = core.failed {
            return Err(error);
        }
        let (verdict, valid) = core.lateness.verdict(self.spec.clock, self.spec.dilate);
        let mut result = json!({"verdict": verdict, "valid": valid});
        result["serve"] = json!({
            "clock": self.spec.clock,
            "dilate": self.spec.dilate,
            "connections": self.shared.connected.load(Ordering::Relaxed),
            "lateness": core.lateness.report(),
        });
        if let (Value::Object(result), Value::Object(run)) = (&mut result, core.drive.finish()?) {
            result.extend(run);
        }
        Ok(result)
    }

    fn end_threads(&mut self) {
        self.shared.stop.ask();
        self.shared.engine.end();
        for thread in [self.accepting.take(), self.answering.take()].into_iter().flatten() {
            let _ = thread.join();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end_threads();
        for outbox in self.shared.open().iter() {
            outbox.cut();
        }
    }
}

fn check(spec: &ServeSpec) -> Result<(), Error> {
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

fn thread(name: &str, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, Error> {
    let builder = std::thread::Builder::new().name(name.into()).stack_size(STACK_BYTES);
    builder.spawn(work).map_err(|error| Error::Setting {
        what: "serve".into(),
        expected: format!("a thread can't be started: {error}"),
    })
}

/// Takes clients until the end. One that there is no thread for is turned away.
fn accept(shared: &Arc<Shared>, listener: &Listener) {
    while !shared.stop.is_asked() {
        match listener.accept(LOOK) {
            Ok(Some(stream)) => {
                let own = Arc::clone(shared);
                // An error ends the connection, and only that.
                let _ = thread("client", move || drop(nbd::serve(&own, stream)));
            }
            Ok(None) => {}
            // Out of descriptors, for example: others end first.
            Err(_) => std::thread::sleep(LOOK),
        }
    }
}
