//! The guardian: a process of its own that puts the kernel's settings back, whatever becomes of the collector.
//!
//! It is a shell with a few lines of script, in a session of its own, started before anything is changed. It reads what it
//! will have to restore from a pipe whose other end only the collector holds, and restores when the pipe ends: when the
//! collector says that it is done, and just as well when it was killed. So there is one way back, and it is always taken.

use std::io::{BufRead, BufReader, Write};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

use flashweir_trace::reason::without_code;
use rustix::io::FdFlags;

use crate::Error;

/// Script of the shell. Lines that it reads: `W path value` to write later, in this order; `K pid` a process to end
/// then; `M text` to say if the collector is killed; `R` to answer; `D` the collector is done. Fields are split by
/// tabs. A file that is busy (the kernel lets nobody change the tracer while a killed reader is being taken down) is
/// tried for ten seconds.
const SCRIPT: &str = r#"
trap '' HUP INT TERM QUIT PIPE
tab=$(printf '\t'); message=; pids=; done=; failed=0
while IFS=$tab read -r what first second; do
    case $what in
        W) set -- "$@" "$first" "$second" ;;
        K) pids="$pids $first" ;;
        M) message=$first ;;
        R) echo ready ;;
        D) done=1 ;;
    esac
done
for pid in $pids; do kill -INT "$pid" 2>/dev/null; done
while [ $# -gt 0 ]; do
    tries=0
    until printf '%s\n' "$2" 2>/dev/null >"$1"; do
        tries=$((tries + 1))
        if [ $tries -ge 100 ]; then echo "$1"; failed=1; break; fi
        sleep 0.1
    done 2>/dev/null
    shift 2
done
if [ -z "$done" ] && [ -n "$message" ]; then printf '%s\n' "$message" >&2; fi
exit $failed
"#;

/// The running guardian. Dropped without [`finish`](Self::finish) it restores all the same.
#[derive(Debug)]
pub(super) struct Guardian {
    child: Child,
    pipe: Option<ChildStdin>,
    answers: BufReader<std::process::ChildStdout>,
}

impl Guardian {
    /// Starts one, which keeps `mount` open under the same number, if there is one.
    pub(super) fn start(mount: Option<BorrowedFd<'_>>) -> Result<Self, Error> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", SCRIPT]).current_dir("/");
        let mount = mount.map(|mount| mount.as_raw_fd());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        // SAFETY: between fork and exec only two system calls are made, which are async-signal-safe and touch no memory. The
        // descriptor is that of the caller's `mount`, which is open while the child is made, and the child has a copy.
        unsafe {
            command.pre_exec(move || {
                rustix::process::setsid()?;
                if let Some(mount) = mount {
                    rustix::io::fcntl_setfd(BorrowedFd::borrow_raw(mount), FdFlags::empty())?;
                }
                Ok(())
            });
        }
        let mut child = command.spawn().map_err(|error| failed(&format!("/bin/sh: {error}")))?;
        let (pipe, answers) = (child.stdin.take(), child.stdout.take());
        let answers = answers.ok_or_else(|| failed("it has no output"))?;
        Ok(Self { child, pipe, answers: BufReader::new(answers) })
    }

    /// Has `value` written to the file `path` at the end, after what was asked for before.
    pub(super) fn restore(&mut self, path: &Path, value: &str) -> Result<(), Error> {
        self.say(&format!("W\t{}\t{value}", path.display()))
    }

    /// Has process `pid` interrupted at the end, before anything is restored.
    pub(super) fn end(&mut self, pid: u32) -> Result<(), Error> {
        self.say(&format!("K\t{pid}"))
    }

    /// Has `text` printed if the collector is killed.
    pub(super) fn message(&mut self, text: &str) -> Result<(), Error> {
        self.say(&format!("M\t{}", text.replace(['\t', '\n'], " ")))
    }

    /// Waits until it has read everything so far. From then on what was asked for will be restored.
    pub(super) fn settle(&mut self) -> Result<(), Error> {
        self.say("R")?;
        let mut line = String::new();
        let read = self.answers.read_line(&mut line);
        if read.is_ok() && line == "ready\n" { Ok(()) } else { Err(failed("it does not answer")) }
    }

    /// True if it still watches.
    pub(super) fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Has it restore now, and waits until it has. Gives the files that it could not write.
    pub(super) fn finish(mut self) -> Result<Vec<String>, Error> {
        // A pipe that is broken already has had the same effect.
        let _ = self.say("D");
        self.pipe = None;
        let left: Vec<String> = (&mut self.answers).lines().map_while(Result::ok).collect();
        match self.child.wait() {
            Ok(status) if status.success() || !left.is_empty() => Ok(left),
            Ok(status) => Err(failed(&format!("it ended with {status}"))),
            Err(error) => Err(failed(&error.to_string())),
        }
    }

    fn say(&mut self, line: &str) -> Result<(), Error> {
        let Some(pipe) = &mut self.pipe else { return Ok(()) };
        pipe.write_all(format!("{line}\n").as_bytes()).map_err(|error| failed(&error.to_string()))
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        // Something failed, and that is reported: nobody was killed.
        let _ = self.say("D");
        self.pipe = None;
        let _ = self.child.wait();
    }
}

fn failed(detail: &str) -> Error {
    Error::Setting {
        what: "the process that restores the kernel's settings".to_owned(),
        expected: format!("expected it to run ({})", without_code(detail)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_restored_in_their_order_when_the_collector_is_done() {
        let dir = tempfile::tempdir().unwrap();
        let mut guardian = Guardian::start(None).unwrap();
        let [first, second] = ["first", "second"].map(|name| dir.path().join(name));
        guardian.restore(&first, "a b").unwrap();
        guardian.restore(&first, "c").unwrap();
        guardian.restore(&second, "").unwrap();
        guardian.settle().unwrap();
        assert!(guardian.is_alive() && !dir.path().join("first").exists());
        assert_eq!(guardian.finish().unwrap(), Vec::<String>::new());
        assert_eq!(std::fs::read_to_string(dir.path().join("first")).unwrap(), "c\n");
        assert_eq!(std::fs::read_to_string(dir.path().join("second")).unwrap(), "\n");
    }

    #[test]
    fn settings_are_restored_when_the_pipe_just_ends() {
        let dir = tempfile::tempdir().unwrap();
        let mut guardian = Guardian::start(None).unwrap();
        guardian.restore(&dir.path().join("file"), "back").unwrap();
        guardian.settle().unwrap();
        guardian.pipe = None;
        drop(guardian);
        assert_eq!(std::fs::read_to_string(dir.path().join("file")).unwrap(), "back\n");
    }

    #[test]
    fn a_process_is_interrupted_first() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let mut guardian = Guardian::start(None).unwrap();
        guardian.end(child.id()).unwrap();
        guardian.finish().unwrap();
        assert!(!child.wait().unwrap().success());
    }
}
