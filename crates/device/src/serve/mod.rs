//! The live drive: a simulated drive that clients open as a disk, over the NBD protocol or vhost-user.
//!
//! `nbd/` speaks with clients, over TLS by `tls.rs`, `vhost/` with virtual machines, both answer by `reply.rs`, `store/` has the bytes, `engine.rs` owns the drive (`core.rs`) and answers when a request is due on
//! `clock.rs`, for which it waits by `plan.rs`, `lateness.rs` says whether that was in time, `exports.rs` divides the drive. `control/` takes commands, for which
//! `faults.rs` holds requests back, `what_if.rs` compares with a fork, and `cuts.rs` knows the bytes that a power cut leaves;
//! `record.rs` keeps the arrivals, `state.rs` the drive in a folder, `tally.rs` the counts of health logs.

mod address;
mod clock;
mod control;
mod core;
mod cuts;
mod engine;
mod exports;
mod faults;
mod lateness;
mod nbd;
mod plan;
mod promise;
mod record;
mod reply;
mod shared;
mod spec;
mod state;
mod store;
mod tally;
#[cfg(test)]
mod tests;
mod tls;
mod vhost;
mod what_if;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use flashweir_run::{Drive, DriveSpec, Progress};
use flashweir_trace::SECTOR_BYTES;
use serde_json::{Value, json};

use address::{Address, Listener};
use clock::Clock;
pub use clock::ClockMode;
pub use control::Controller;
use core::Core;
use cuts::Cuts;
use engine::Engine;
use exports::Export;
use record::Recording;
use reply::Connections;
use shared::Shared;
pub use spec::ServeSpec;
use spec::{check, data_of, promise};
use state::State;
use store::{FileState, Store};

use crate::{Error, Stop};

/// Between two looks for a stop.
const LOOK: Duration = Duration::from_millis(100);
/// Longest wait for connections to end.
const FAREWELL: Duration = Duration::from_secs(5);
/// Stack of the threads of connections.
const STACK_BYTES: usize = 256 << 10;

/// A drive that is being served.
pub struct Server {
    shared: Arc<Shared>,
    spec: ServeSpec,
    ready: Value,
    threads: Vec<JoinHandle<()>>,
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
        let tls = tls::configured(spec)?;
        let mut own = spec.drive.clone();
        own.options.journal |= spec.power_cuts;
        own.options.die_use = spec.watched;
        if spec.load.is_none() {
            own.options.tenants.extend(exports::names(&spec.exports)?);
        }
        let (mut drive, folder) = open(spec, &own, progress)?;
        let is_kept = folder.as_ref().is_some_and(|(.., is_kept)| *is_kept);
        let promise = promise(spec, drive.config())?;
        // A drive that was there before says by itself if its power can be cut.
        let power_cuts = drive.options().journal;
        if power_cuts {
            drive.follow_power()?;
        }
        let exports = exports::of(&spec.exports, &mut drive, is_kept)?;
        let page_sectors = drive.geometry().page_sectors;
        let unit = u64::from(page_sectors);
        let preferred_bytes = (unit * SECTOR_BYTES).next_power_of_two().clamp(4096, 1 << 20) as u32;
        let listener = address.listen("--nbd", spec.exposed)?.with_tls(tls);
        let sockets = vhost::listen(&spec.vhost_user_blk, &exports)?;
        let control = spec.control.as_deref().map(control::listen).transpose()?;
        let recording = spec.record.as_deref().map(Recording::create).transpose()?;
        // Last of what can be refused: it marks the file as not whole.
        let kept = || -> Result<_, Error> {
            let expected = if is_kept { FileState::There } else { FileState::of_state(folder.is_some()) };
            let store = Store::open(&data_of(spec), drive.capacity_bytes(), expected)?;
            let state = folder.map(|(folder, lock, _)| State::begin(&folder, lock, &drive)).transpose()?;
            Ok((Arc::new(store), state))
        };
        let (store, state) = match kept() {
            Ok(kept) => kept,
            Err(error) => {
                recording.iter().for_each(Recording::remove);
                return Err(error);
            }
        };
        let ready = ready(&exports, &listener, &sockets);
        let connections = Connections::default();
        let clock = Clock::start(spec.clock, spec.dilate, drive.now_ns());
        let mut core = Core::new(drive, clock, promise, Arc::clone(&connections));
        core.tally.page_sectors = unit;
        core.cuts = power_cuts.then(|| Cuts::new(Arc::clone(&store), page_sectors));
        (core.recording, core.state) = (recording, state);
        let stop = Stop::default();
        let shared = Arc::new(Shared {
            engine: Engine::new(core, stop.clone()),
            store,
            changes_in_order: power_cuts,
            exports,
            preferred_bytes,
            connections,
            connected: AtomicU64::new(0),
            complaints: Mutex::default(),
            stop,
        });
        let mut server = Self { shared, spec: spec.clone(), ready, threads: Vec::new() };
        server.begin("answer", |shared| shared.engine.run())?;
        server.begin("accept", move |shared| accept(shared, &listener))?;
        for socket in sockets {
            server.begin("vhost", move |shared| vhost::accept(shared, &socket))?;
        }
        if let Some(control) = control {
            server.begin("control", move |shared| control::accept(shared, &control))?;
        }
        Ok(server)
    }

    /// Starts a thread that ends with the server.
    fn begin(&mut self, name: &str, work: impl FnOnce(&Arc<Shared>) + Send + 'static) -> Result<(), Error> {
        let shared = Arc::clone(&self.shared);
        self.threads.push(thread(name, move || work(&shared))?);
        Ok(())
    }

    /// The line that says that clients can connect.
    pub fn ready(&self) -> &Value {
        &self.ready
    }

    /// Commands without a socket.
    pub fn controller(&self) -> Controller {
        Controller(Arc::downgrade(&self.shared))
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
        for connection in self.shared.open().iter() {
            connection.close();
        }
        let core = self.shared.engine.finish();
        let until = Instant::now() + FAREWELL;
        while !self.shared.open().is_empty() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
        for connection in self.shared.open().iter() {
            connection.cut();
        }
        self.shared.store.finish()?;
        let Some(mut core) = core else { return Ok(Value::Null) };
        let recorded = core.recording.take().map(Recording::finish).transpose()?;
        if let Some(error) = core.failed {
            return Err(error);
        }
        if let Some(state) = &mut core.state {
            state.save_ended(&mut core.drive)?;
        }
        let (verdict, valid) = core.lateness.verdict(self.spec.clock, core.clock.dilate());
        let cuts = core.cuts.iter().flat_map(|cuts| &cuts.reports).map(cuts::Report::json);
        let mut result = json!({"verdict": verdict, "valid": valid});
        result["serve"] = json!({
            "clock": self.spec.clock,
            "dilate": core.clock.dilate(),
            "connections": self.shared.connected.load(Ordering::Relaxed),
            "recorded": recorded,
            "media_errors": core.tally.media_errors,
            "power_cuts": cuts.collect::<Vec<_>>(),
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
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end_threads();
        for connection in self.shared.open().iter() {
            connection.cut();
        }
    }
}

/// The folder that a drive lives in with its lock, and whether the drive was there before.
type Home = (PathBuf, File, bool);

/// The drive, and the folder that it lives in.
fn open(
    spec: &ServeSpec,
    own: &DriveSpec,
    progress: &mut dyn FnMut(&Progress) -> bool,
) -> Result<(Drive, Option<Home>), Error> {
    let mut default = DriveSpec::default();
    (default.options.die_use, default.options.journal) = (spec.watched, spec.power_cuts);
    let refused = |path: &Path, expected: &str| {
        Err(Error::Setting { what: path.display().to_string(), expected: expected.into() })
    };
    if let Some(path) = spec.load.as_ref().filter(|_| *own != default) {
        return refused(path, "the file has a drive of its own; expected no --set or --seed with it");
    }
    let opened = match (&spec.load, &spec.state) {
        (load, Some(folder)) => {
            let state::Opened { drive, lock, is_kept } = state::open(folder, own, load.as_deref(), progress)?;
            (drive, Some((folder.clone(), lock, is_kept)))
        }
        (Some(path), None) => (Drive::loaded(path, None, spec.watched)?, None),
        (None, None) => (Drive::open(own, None, progress)?, None),
    };
    if let Some(path) = spec.load.as_ref().filter(|_| spec.power_cuts && !opened.0.options().journal) {
        return refused(
            path,
            "--power-cuts follows what flash holds from the first request on, and this drive was saved without; expected \
             one that was served with it",
        );
    }
    Ok(opened)
}

/// The line that says that clients can connect.
fn ready(exports: &[Export], listener: &Listener, sockets: &[vhost::Socket]) -> Value {
    let size_bytes = exports.first().map_or(0, Export::bytes);
    let uri = listener.uri(exports.first().map_or("", |export| &export.name));
    let mut line = json!({"event": "ready", "uri": uri, "size_bytes": size_bytes, "pid": std::process::id()});
    if !sockets.is_empty() {
        line["vhost_user_blk"] = sockets.iter().map(|socket| socket.path.display().to_string()).collect();
    }
    line
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
