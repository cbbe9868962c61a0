//! Threads that empty the kernel's pipes, a pipe a CPU, into the spool.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use flashweir_trace::format::blktrace::{COMPLETE, Event, ISSUE, QUEUE, REQUEUE};

use super::names::Names;
use super::split::{Said, Splitter};
use super::spool::{Spool, SpoolFile};
use super::tracefs::{Tracefs, failed};
use crate::Error;

/// Threads at most; with more CPUs each empties several pipes.
const MAX_THREADS: usize = 64;

/// Waits after everything was read: short while events come, longer while none do.
const WAITS: [Duration; 2] = [Duration::from_millis(5), Duration::from_millis(50)];

/// Maximum time from reading data to writing it to the file.
const FLUSH_EVERY: Duration = Duration::from_millis(200);

/// Bytes read at once: what the kernel gives at most.
const BLOCK: usize = 8192;

/// Counters that all threads share.
#[derive(Debug, Default)]
pub(super) struct Counts {
    /// Requests: issued, or made where the drive has no queue of requests.
    pub(super) issued: AtomicU64,
    /// Bytes of those.
    pub(super) bytes: AtomicU64,
    /// Completions, of requests or parts of them.
    pub(super) completed: AtomicU64,
    /// Requests that waited again after they were issued.
    pub(super) requeued: AtomicU64,
    /// Events that the kernel said were lost, in the pipes.
    pub(super) lost: AtomicU64,
    /// Lines of others in the pipes.
    pub(super) foreign: AtomicU64,
    /// Asks the threads to read what there is and to end.
    stop: AtomicBool,
}

impl Counts {
    /// Counts an event; false if it is none that is kept: who asked for a request, its issue, and what became of it are.
    pub(super) fn take(&self, event: &Event, request: u32) -> bool {
        let Some(what) = event.what() else { return false };
        if what == request {
            if event.op().is_some() {
                self.issued.fetch_add(1, Ordering::Relaxed);
                self.bytes.fetch_add(event.bytes.into(), Ordering::Relaxed);
            }
            return true;
        }
        let counter = match what {
            COMPLETE => &self.completed,
            REQUEUE => &self.requeued,
            QUEUE => return true,
            _ => return false,
        };
        counter.fetch_add(1, Ordering::Relaxed);
        true
    }
}

/// The running threads.
#[derive(Debug)]
pub(super) struct Readers {
    counts: Arc<Counts>,
    threads: Vec<JoinHandle<Result<(), Error>>>,
}

impl Readers {
    /// Starts to empty the pipes of all CPUs.
    pub(super) fn start(tracefs: &Tracefs, spool: &Spool, has_requests: bool) -> Result<Self, Error> {
        let counts = Arc::new(Counts::default());
        let cpus = tracefs.cpus();
        let mut shares: Vec<Vec<Pipe>> = Vec::new();
        shares.resize_with(cpus.len().min(MAX_THREADS), Vec::new);
        for (index, cpu) in cpus.iter().enumerate() {
            let path = tracefs.path(&format!("per_cpu/cpu{cpu}/trace_pipe"));
            let flags = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or_default();
            let file = File::options().read(true).custom_flags(flags).open(&path);
            let pipe = Pipe {
                file: file.map_err(|error| failed(&path, &error))?,
                path,
                splitter: Splitter::default(),
                spool: spool.create(*cpu)?,
                names: Names::new(Some(tracefs.path("saved_cmdlines"))),
                request: if has_requests { ISSUE } else { QUEUE },
            };
            let place = index % shares.len();
            shares[place].push(pipe);
        }
        let threads = shares.into_iter().map(|pipes| {
            let counts = Arc::clone(&counts);
            std::thread::spawn(move || empty(pipes, &counts))
        });
        let threads = threads.collect();
        Ok(Self { counts, threads })
    }

    /// Counts so far.
    pub(super) fn counts(&self) -> &Counts {
        &self.counts
    }

    /// True if a thread has ended, which happens only after an error.
    pub(super) fn has_failed(&self) -> bool {
        self.threads.iter().any(JoinHandle::is_finished)
    }

    /// Reads what is left and ends. Closes the pipes.
    pub(super) fn finish(self) -> (Arc<Counts>, Result<(), Error>) {
        self.counts.stop.store(true, Ordering::Release);
        let mut outcome = Ok(());
        for thread in self.threads {
            let ended = thread.join().unwrap_or_else(|_| {
                Err(Error::Setting {
                    what: "a thread that reads events".to_owned(),
                    expected: "expected it to end in order, please report it".to_owned(),
                })
            });
            outcome = outcome.and(ended);
        }
        (self.counts, outcome)
    }
}

struct Pipe {
    file: File,
    path: std::path::PathBuf,
    splitter: Splitter,
    spool: SpoolFile,
    names: Names,
    /// The event that is a request.
    request: u32,
}

/// Empties `pipes` until asked to stop, and then once more.
fn empty(mut pipes: Vec<Pipe>, counts: &Counts) -> Result<(), Error> {
    let mut block = vec![0; BLOCK];
    let mut flushed = Instant::now();
    loop {
        let last = counts.stop.load(Ordering::Acquire);
        let mut any = false;
        for pipe in &mut pipes {
            any |= pipe.read(&mut block, counts)?;
        }
        if last || flushed.elapsed() >= FLUSH_EVERY {
            pipes.iter_mut().try_for_each(|pipe| pipe.spool.flush())?;
            flushed = Instant::now();
        }
        if last {
            return Ok(());
        }
        std::thread::sleep(WAITS[usize::from(!any)]);
    }
}

impl Pipe {
    /// Reads until nothing is left; whether there was anything.
    fn read(&mut self, block: &mut [u8], counts: &Counts) -> Result<bool, Error> {
        let mut any = false;
        loop {
            let read = match self.file.read(block) {
                Ok(0) => return Ok(any),
                Ok(read) => read,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(any),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(failed(&self.path, &error)),
            };
            any = true;
            self.splitter.push(&block[..read]);
            loop {
                let said = self
                    .splitter
                    .next()
                    .map_err(|field| Error::Target { path: self.path.clone(), detail: field.to_string() })?;
                match said {
                    None => break,
                    Some(Said::Event(event)) => self.keep(&event, counts)?,
                    Some(Said::Lost(number)) => _ = counts.lost.fetch_add(number, Ordering::Relaxed),
                    Some(Said::Foreign) => _ = counts.foreign.fetch_add(1, Ordering::Relaxed),
                }
            }
        }
    }

    fn keep(&mut self, event: &Event, counts: &Counts) -> Result<(), Error> {
        if !counts.take(event, self.request) {
            return Ok(());
        }
        if matches!(event.what(), Some(ISSUE | QUEUE))
            && let Some(name) = self.names.news(event.pid)
        {
            self.spool.name(event.pid, event.time_ns, &name)?;
        }
        self.spool.event(event)
    }
}
