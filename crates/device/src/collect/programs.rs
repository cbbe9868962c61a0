//! Collection through other programs, where they are installed and work: bpftrace and blktrace.
//!
//! Both end in the same spool: blktrace writes its files there itself, and what bpftrace prints is written there as events.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::bpftrace;
use super::drive::Drive;
use super::ended::{Ended, ended, killed};
use super::guardian::Guardian;
use super::readers::Counts;
use super::spool::Spool;
use super::tracefs::Unusable;
use super::{Method, Spec};
use crate::Error;

/// Maximum time for a program to start collecting.
const STARTS_WITHIN: Duration = Duration::from_secs(20);

/// Time in which a program that seems to collect may still fail.
const SETTLES_WITHIN: Duration = Duration::from_millis(300);

/// Maximum time for a program to end.
const ENDS_WITHIN: Duration = Duration::from_secs(20);

/// A program that collects.
#[derive(Debug)]
pub(super) struct Program {
    method: Method,
    child: Child,
    guardian: Guardian,
    counts: Arc<Counts>,
    /// Reads what it prints: bpftrace's events, blktrace's statistics as text.
    reader: JoinHandle<Result<String, Error>>,
    complaints: JoinHandle<String>,
}

impl Program {
    /// Starts the program of `method`.
    pub(super) fn start(method: Method, drive: &Drive, spec: &Spec, spool: &Spool) -> Result<Self, Unusable> {
        let name = method.name();
        if drive.is_traced() && method == Method::Blktrace {
            return Err(Unusable::Refused(Error::Setting {
                what: drive.switches.join("enable").display().to_string(),
                expected: format!(
                    "somebody traces {} already: expected 0; end that tracing first",
                    drive.path.display()
                ),
            }));
        }
        let mut command = Command::new(name);
        if method == Method::Blktrace {
            blktrace(&mut command, drive, spec, spool)?;
        } else {
            bpftrace::prepare(&mut command, drive, spec);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Ctrl-C is for us, who end it in order.
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut guardian = Guardian::start(None)?;
        guardian.message(&killed(spec, spool))?;
        let mut child = command.spawn().map_err(|error| {
            Unusable::Missing(match error.kind() {
                std::io::ErrorKind::NotFound => format!("{name} is not installed"),
                _ => format!("{name} does not start: {error}"),
            })
        })?;
        guardian.end(child.id())?;
        guardian.settle()?;
        let counts = Arc::new(Counts::default());
        let ready = Arc::new(AtomicBool::new(false));
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let (ready_flag, counting, files) = (Arc::clone(&ready), Arc::clone(&counts), spool.clone());
        let reader = std::thread::spawn(move || match stdout {
            None => Ok(String::new()),
            Some(stdout) if method == Method::Bpftrace => {
                bpftrace::read(stdout, &files, &counting, &ready_flag)
            }
            Some(mut stdout) => {
                let mut text = String::new();
                let _ = stdout.read_to_string(&mut text);
                Ok(text)
            }
        });
        let complaints = std::thread::spawn(move || {
            let lines = stderr.map(|stderr| BufReader::new(stderr).lines().map_while(Result::ok));
            lines.into_iter().flatten().take(50).collect::<Vec<String>>().join(" ")
        });
        let mut program = Self { method, child, guardian, counts, reader, complaints };
        let began = Instant::now();
        while !(ready.load(Ordering::Acquire) || method == Method::Blktrace && drive.is_traced()) {
            if !program.is_running() || began.elapsed() > STARTS_WITHIN {
                let said = program.end().1;
                spool.remove();
                return Err(not_working(name, &said));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        // blktrace asks the kernel first, and finds only then that it may not read what it asked for.
        std::thread::sleep(SETTLES_WITHIN);
        if !program.is_running() {
            let said = program.end().1;
            spool.remove();
            return Err(not_working(name, &said));
        }
        Ok(program)
    }

    /// Counts so far; none with blktrace.
    pub(super) fn counts(&self) -> &Counts {
        &self.counts
    }

    /// True if the program still runs.
    pub(super) fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Ends it in order.
    pub(super) fn finish(self) -> Ended {
        std::thread::sleep(Duration::from_millis(100));
        self.end().0
    }

    /// Ends it; also what it said.
    fn end(mut self) -> (Ended, String) {
        let early = !self.is_running();
        // The guardian interrupts it: the same way as if we were killed.
        let unrestored = self.guardian.finish().unwrap_or_else(|error| vec![error.to_string()]);
        let began = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) {
            if began.elapsed() > ENDS_WITHIN {
                let _ = self.child.kill();
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let said = self.complaints.join().unwrap_or_default();
        let (printed, mut failure) = match self.reader.join() {
            Ok(Ok(text)) => (text, None),
            Ok(Err(error)) => (String::new(), Some(error)),
            Err(_) => (String::new(), None),
        };
        if early {
            failure = failure.or_else(|| Some(stopped(self.method, &said)));
        }
        let mut lost = self.counts.lost.load(Ordering::Relaxed);
        if self.method == Method::Blktrace {
            lost += dropped(&printed).max(dropped(&said));
        }
        let mut ended = ended(&self.counts, lost, unrestored, failure);
        if self.method == Method::Blktrace {
            ended.issued = None;
        }
        (ended, said)
    }
}

fn not_working(name: &str, said: &str) -> Unusable {
    let said = said.trim();
    let said = if said.is_empty() { "it does not begin, and says nothing" } else { said };
    Unusable::Missing(format!("{name} does not work here: {said}"))
}

fn stopped(method: Method, said: &str) -> Error {
    Error::Setting {
        what: method.name().to_owned(),
        expected: format!("expected it to run until the end of the collection; it said: {said}"),
    }
}

/// The options of blktrace.
fn blktrace(command: &mut Command, drive: &Drive, spec: &Spec, spool: &Spool) -> Result<(), Unusable> {
    let base = std::path::absolute(spool.base()).unwrap_or_else(|_| spool.base().to_owned());
    let (folder, name) = (base.parent(), base.file_name().unwrap_or_default().to_string_lossy().into_owned());
    let Some(folder) = folder else {
        return Err(Unusable::Missing("there is no folder for its files".to_owned()));
    };
    // It adds the ending itself.
    let name = name.strip_suffix(".blktrace").unwrap_or(&name).to_owned();
    command.arg("-d").arg(if drive.is_partition {
        format!("/dev/{}", drive.disk).into()
    } else {
        drive.path.clone()
    });
    for action in if drive.has_requests {
        &["queue", "issue", "requeue", "complete"][..]
    } else {
        &["queue", "complete"]
    } {
        command.args(["-a", action]);
    }
    let buffer_kb = spec.buffer_kb.unwrap_or(2048).max(4);
    command.args(["-n", "4", "-b", &(buffer_kb / 4).max(1).to_string()]);
    command.arg("-D").arg(folder).args(["-o", &name]);
    Ok(())
}

/// The number of events that blktrace says it dropped.
fn dropped(text: &str) -> u64 {
    let mut most = 0;
    for mark in ["(dropped ", "You have "] {
        for (at, _) in text.match_indices(mark) {
            let digits = text[at + mark.len()..].split(|c: char| !c.is_ascii_digit()).next();
            most = most.max(digits.and_then(|digits| digits.parse().ok()).unwrap_or(0));
        }
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blktrace_says_what_it_dropped() {
        let good =
            "=== loop0 ===\n  CPU  0:  12 events, 1 KiB data\n  Total:  12 events (dropped 0),  1 KiB data\n";
        assert_eq!(dropped(good), 0);
        assert_eq!(
            dropped("  Total:  12 events (dropped 77),  1 KiB data\nYou have 77 dropped events\n"),
            77
        );
    }
}
