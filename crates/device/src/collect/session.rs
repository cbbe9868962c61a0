//! A collection in progress, by whatever method, and its orderly end.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::drive::Drive;
use super::ended::{Ended, ended, killed};
use super::guardian::Guardian;
use super::programs::Program;
use super::readers::{Counts, Readers};
use super::spool::Spool;
use super::tracefs::{self, Tracefs, Unusable};
use super::{Method, Spec};
use crate::Error;

/// Time that outstanding requests get to complete at the end.
const LAST_COMPLETIONS: Duration = Duration::from_millis(200);

/// Memory for buffers where the caller names none, KiB: of all CPUs, and the least and the most of each.
const BUFFERS_KB: (u64, u64, u64) = (256 << 10, 1 << 10, 8 << 10);

/// The collector that runs.
#[derive(Debug)]
pub(super) enum Session {
    /// The kernel's own tracer.
    Tracefs {
        /// Dropped last but for the mount that it needs, should something fail.
        readers: Readers,
        guardian: Guardian,
        tracefs: Tracefs,
        drive: Drive,
    },
    /// Another program.
    Program(Program),
}

impl Session {
    /// Starts to collect from `drive` into `spool`.
    pub(super) fn start(method: Method, drive: &Drive, spec: &Spec, spool: &Spool) -> Result<Self, Unusable> {
        if method != Method::Tracefs {
            return Program::start(method, drive, spec, spool).map(Session::Program);
        }
        let tracefs = Tracefs::find()?;
        let buffer_kb = spec.buffer_kb.unwrap_or_else(|| {
            let (all, least, most) = BUFFERS_KB;
            (all / tracefs.cpus().len().max(1) as u64).clamp(least, most)
        });
        let guardian = tracefs.prepare(drive, buffer_kb, &killed(spec, spool))?;
        let readers = Readers::start(&tracefs, spool, drive.has_requests)?;
        let request = if drive.has_requests { "queue,issue,requeue" } else { "queue" };
        // Naming the events switches the drive's tracing on as well.
        tracefs::write(&drive.switches.join("act_mask"), &format!("{request},complete"))?;
        Ok(Session::Tracefs { readers, guardian, tracefs, drive: drive.clone() })
    }

    /// Counts so far.
    pub(super) fn counts(&self) -> &Counts {
        match self {
            Session::Tracefs { readers, .. } => readers.counts(),
            Session::Program(program) => program.counts(),
        }
    }

    /// True if the collector still runs.
    pub(super) fn is_running(&mut self) -> bool {
        match self {
            Session::Tracefs { readers, guardian, .. } => !readers.has_failed() && guardian.is_alive(),
            Session::Program(program) => program.is_running(),
        }
    }

    /// True if tracefs was mounted for this collection only; for the summary.
    pub(super) fn has_own_mount(&self) -> bool {
        matches!(self, Session::Tracefs { tracefs, .. } if tracefs.is_own_mount())
    }

    /// Ends the collection, and has the kernel as it was before.
    pub(super) fn finish(self) -> Ended {
        let (readers, guardian, tracefs, drive) = match self {
            Session::Program(program) => return program.finish(),
            Session::Tracefs { readers, guardian, tracefs, drive } => (readers, guardian, tracefs, drive),
        };
        // A drive that has gone is no reason to lose what it did before.
        if tracefs::write(&drive.switches.join("act_mask"), "complete").is_ok() {
            std::thread::sleep(LAST_COMPLETIONS);
        }
        let _ = tracefs::write(&drive.switches.join("enable"), "0");
        let (counts, outcome) = readers.finish();
        let mut failure = outcome.err();
        let mut lost = 0;
        for cpu in tracefs.cpus() {
            match tracefs.lost(cpu) {
                Ok(number) => lost += number,
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        let mut guardian = guardian;
        if !guardian.is_alive() {
            failure = failure.or_else(|| {
                Some(Error::Setting {
                    what: "the process that restores the kernel's settings".to_owned(),
                    expected:
                        "expected it to live until the end; it was killed, and they were restored early"
                            .to_owned(),
                })
            });
        }
        let unrestored = guardian.finish().unwrap_or_else(|error| vec![error.to_string()]);
        ended(&counts, lost.max(counts.lost.load(Ordering::Relaxed)), unrestored, failure)
    }
}
