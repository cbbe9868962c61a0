//! The kernel's own tracer of block requests, through tracefs: which of its settings are changed, and how they get back.
//!
//! The `blk` tracer exists once: not in trace instances, so it is used where it is free and nowhere else. Only its
//! binary output is used, which is blktrace's format; of the drive nothing is touched but the switch that says that it
//! is traced.

use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};

use super::drive::{Drive, read};
use super::guardian::Guardian;
use crate::Error;

/// Where tracefs is mounted, if it is.
const PLACES: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// Settings that the tracer needs, in the order in which they are set. They are restored in the opposite order, the
/// tracer first. `trace_clock` empties the buffer. Monotonic time is the one that is the same on all CPUs and does not
/// jump.
const SETTINGS: [(&str, &str); 6] = [
    ("options/context-info", "0"),
    ("options/blk_classic", "0"),
    ("options/blk_cgroup", "0"),
    ("options/bin", "1"),
    ("trace_clock", "mono"),
    ("tracing_on", "1"),
];

/// Why a method can't be used here.
#[derive(Debug)]
pub(super) enum Unusable {
    /// This kernel, or this machine, does not have it: another method may work.
    Missing(String),
    /// It must not be used: no other method is tried.
    Refused(Error),
}

impl From<Error> for Unusable {
    fn from(error: Error) -> Self {
        Unusable::Refused(error)
    }
}

/// A folder of tracefs.
#[derive(Debug)]
pub(super) struct Tracefs {
    folder: PathBuf,
    /// Where nobody had mounted it: a mount without a place, which goes with the process.
    mount: Option<OwnedFd>,
}

impl Tracefs {
    /// Finds it, or mounts it for this process alone.
    pub(super) fn find() -> Result<Self, Unusable> {
        if let Some(place) = PLACES.iter().find(|place| Path::new(place).join("current_tracer").exists()) {
            return Ok(Self { folder: place.into(), mount: None });
        }
        let mount = || {
            let context = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
            fsconfig_create(&context)?;
            fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())
        };
        let mount = mount().map_err(|error| {
            Unusable::Missing(format!("tracefs is not mounted at {} and can't be: {error}", PLACES[0]))
        })?;
        let folder = PathBuf::from(format!("/proc/self/fd/{}", mount.as_raw_fd()));
        Ok(Self { folder, mount: Some(mount) })
    }

    /// True if tracefs was mounted for this process.
    pub(super) fn is_own_mount(&self) -> bool {
        self.mount.is_some()
    }

    /// The file or folder `name` in it.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn text(&self, name: &str) -> Result<String, Unusable> {
        read(&self.path(name)).ok_or_else(|| Unusable::Missing(format!("tracefs has no readable {name}")))
    }

    fn set(&self, name: &str, value: &str) -> Result<(), Error> {
        write(&self.path(name), value)
    }

    /// The CPUs that have a buffer.
    pub(super) fn cpus(&self) -> Vec<u32> {
        let entries = std::fs::read_dir(self.path("per_cpu")).into_iter().flatten().flatten();
        let cpu = |name: std::ffi::OsString| name.to_string_lossy().strip_prefix("cpu")?.parse().ok();
        let mut cpus: Vec<u32> = entries.filter_map(|entry| cpu(entry.file_name())).collect();
        cpus.sort_unstable();
        cpus
    }

    /// Events that `cpu` lost since its buffer was emptied.
    pub(super) fn lost(&self, cpu: u32) -> Result<u64, Error> {
        let path = self.path(&format!("per_cpu/cpu{cpu}/stats"));
        let text = std::fs::read_to_string(&path).map_err(|error| failed(&path, &error))?;
        Ok(lost_of(&text))
    }

    /// Refuses where somebody else is using it, or the drive's tracing.
    fn check_free(&self, drive: &Drive) -> Result<(), Unusable> {
        let tracers = self.text("available_tracers")?;
        if !tracers.split_whitespace().any(|tracer| tracer == "blk") {
            let detail = format!("this kernel has no blk tracer (CONFIG_BLK_DEV_IO_TRACE), only {tracers}");
            return Err(Unusable::Missing(detail));
        }
        let busy = |what: &str, expected: String| {
            Err(Unusable::Refused(Error::Setting { what: what.to_owned(), expected }))
        };
        let current = self.text("current_tracer")?;
        if current != "nop" {
            let expected =
                format!("the kernel's tracer is in use ({current}): expected nop; end that tracing first");
            return busy("current_tracer", expected);
        }
        if let Some(events) = read(&self.path("set_event")).filter(|events| !events.is_empty()) {
            let count = events.lines().count();
            let expected = format!(
                "the kernel's tracing is in use ({count} events are on): expected none; end that tracing first"
            );
            return busy("set_event", expected);
        }
        if drive.is_traced() {
            let expected = format!(
                "somebody traces {} already (blktrace?): expected 0; end that tracing first",
                drive.path.display()
            );
            return busy(&drive.switches.join("enable").display().to_string(), expected);
        }
        Ok(())
    }

    /// Makes everything ready but for the drive's switch, once the guardian knows the way back.
    pub(super) fn prepare(&self, drive: &Drive, buffer_kb: u64, message: &str) -> Result<Guardian, Unusable> {
        self.check_free(drive)?;
        if !drive.switches.is_dir() {
            let detail = format!("{} is missing: this kernel traces no drives", drive.switches.display());
            return Err(Unusable::Missing(detail));
        }
        let saved = self.saved()?;
        let mut guardian = Guardian::start(self.mount.as_ref().map(AsFd::as_fd))?;
        guardian.message(message)?;
        guardian.restore(&drive.switches.join("enable"), "0")?;
        guardian.restore(&self.path("current_tracer"), "nop")?;
        guardian.restore(&self.path("trace"), "")?;
        for (name, value) in saved.iter().rev() {
            guardian.restore(&self.path(name), value)?;
        }
        guardian.settle()?;
        for (name, value) in SETTINGS {
            // An option that this kernel does not know is one that can't be in the way.
            if saved.iter().any(|(known, _)| known == name) {
                self.set(name, value)?;
            }
        }
        self.set("current_tracer", "blk")?;
        self.set("buffer_size_kb", &buffer_kb.to_string())?;
        self.set("trace", "")?;
        Ok(guardian)
    }

    /// The settings that are changed, and their values.
    fn saved(&self) -> Result<Vec<(String, String)>, Unusable> {
        let mut saved = Vec::new();
        for (name, _) in SETTINGS {
            match self.text(name) {
                Ok(value) if name == "trace_clock" => saved.push((name.to_owned(), chosen(&value))),
                Ok(value) => saved.push((name.to_owned(), value)),
                Err(_) if name.starts_with("options/blk_") => {}
                Err(missing) => return Err(missing),
            }
        }
        let whole = self.text("buffer_size_kb")?;
        if whole.starts_with('X') {
            for cpu in self.cpus() {
                let name = format!("per_cpu/cpu{cpu}/buffer_size_kb");
                saved.push((name.clone(), size(&self.text(&name)?)));
            }
        } else {
            saved.push(("buffer_size_kb".to_owned(), size(&whole)));
        }
        Ok(saved)
    }
}

/// Writes `value` to the kernel's file at `path`.
pub(super) fn write(path: &Path, value: &str) -> Result<(), Error> {
    let written = File::options().write(true).truncate(true).open(path);
    let written = written.and_then(|mut file| file.write_all(value.as_bytes()));
    written.map_err(|error| failed(path, &error))
}

/// An error about a file of the kernel's.
pub(super) fn failed(path: &Path, error: &std::io::Error) -> Error {
    let hint = if error.kind() == std::io::ErrorKind::PermissionDenied {
        " (kernel lockdown forbids it, or a container has no permission)"
    } else {
        ""
    };
    Error::Target { path: path.to_owned(), detail: format!("the kernel refused: {error}{hint}") }
}

/// The word in brackets.
fn chosen(choices: &str) -> String {
    let inside = choices.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    inside.map_or(choices, |(word, _)| word).to_owned()
}

/// The size that a buffer has once it is used. `7 (expanded: 1408)` is one that nobody has used since the machine was started; the
/// kernel gives any first user of tracing the larger one, and has no way back.
fn size(text: &str) -> String {
    let expanded = text.split_once("expanded: ").and_then(|(_, rest)| rest.split_once(')'));
    expanded.map_or(text, |(size, _)| size).to_owned()
}

/// Events lost according to a CPU's `stats`: overwritten, or dropped for want of room.
fn lost_of(stats: &str) -> u64 {
    const LOSSES: [&str; 3] = ["overrun", "commit overrun", "dropped events"];
    let number = |line: &str| {
        let (name, value) = line.split_once(": ")?;
        LOSSES.contains(&name).then(|| value.trim().parse::<u64>().ok())?
    };
    stats.lines().filter_map(number).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_as_they_can_be_written() {
        assert_eq!(chosen("local [global] mono"), "global");
        assert_eq!((size("7 (expanded: 1408)"), size("4096")), ("1408".to_owned(), "4096".to_owned()));
        let stats =
            "entries: 5\noverrun: 3\ncommit overrun: 2\nbytes: 9\ndropped events: 4\nread events: 7\n";
        assert_eq!(lost_of(stats), 9);
    }
}
