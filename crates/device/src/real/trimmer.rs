//! Threads that discard, because the system call for it waits until it is done, and io_uring knows none on the kernels that are about.

use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;

use super::Clock;
use super::device::discard;
use crate::safety::Kind;

/// Outstanding discards at once at most; more wait for their turn, which is part of their latency.
const THREADS: usize = 8;

/// A discard that is done: its tag, when, ns, and how it went.
pub(super) type Trimmed = (u32, u64, Result<(), Errno>);

/// The threads, and an event that becomes readable when one of them has completed a discard.
#[derive(Debug)]
pub(super) struct Trimmer {
    ask: Option<Sender<(u32, u64, u64)>>,
    completions: Receiver<Trimmed>,
    event: Arc<OwnedFd>,
    threads: Vec<JoinHandle<()>>,
}

impl Trimmer {
    pub(super) fn start(file: &File, kind: Kind, clock: Clock) -> std::io::Result<Self> {
        let (ask, asked) = channel::<(u32, u64, u64)>();
        let (report, completions) = channel();
        let asked = Arc::new(Mutex::new(asked));
        let event = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let threads = (0..THREADS).map(|_| {
            let (file, asked, report, event) =
                (file.try_clone()?, Arc::clone(&asked), report.clone(), Arc::clone(&event));
            std::thread::Builder::new().name("discard".into()).spawn(move || {
                loop {
                    let next = asked.lock().unwrap_or_else(PoisonError::into_inner).recv();
                    let Ok((tag, offset, length)) = next else { return };
                    let done = discard(&file, kind, offset, length);
                    if report.send((tag, clock.now_ns(), done)).is_err() {
                        return;
                    }
                    // If the event can't be written, the completion is found when the wait for it times out.
                    let _ = rustix::io::write(&event, &1u64.to_ne_bytes());
                }
            })
        });
        let threads = threads.collect::<std::io::Result<_>>()?;
        Ok(Self { ask: Some(ask), completions, event, threads })
    }

    pub(super) fn trim(&self, tag: u32, offset: u64, length: u64) {
        if let Some(ask) = &self.ask {
            // The threads live as long as this.
            let _ = ask.send((tag, offset, length));
        }
    }

    pub(super) fn take(&self) -> Option<Trimmed> {
        self.completions.try_recv().ok()
    }

    /// Clears the event, so that it can be waited for again.
    pub(super) fn acknowledge(&self) -> RawFd {
        let _ = rustix::io::read(&self.event, &mut [0; 8]);
        self.event.as_raw_fd()
    }

    pub(super) fn event(&self) -> RawFd {
        self.event.as_raw_fd()
    }
}

impl Drop for Trimmer {
    fn drop(&mut self) {
        self.ask = None;
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
