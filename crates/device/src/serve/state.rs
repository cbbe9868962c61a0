//! A drive that lives in a folder: its state when it was last saved, and a journal of the arrivals since, so that one that was killed
//! opens as it was.
//!
//! `drive-N.state` is the drive when it had taken N requests, `arrivals-N.journal` what came after. A file appears when it is whole;
//! those of a lower N are removed when there is a higher one. The bytes are in `drive.data`, unless they are kept elsewhere.

use std::fs::File;
use std::path::{Path, PathBuf};

use flashweir_run::{Drive, DriveSpec, Progress};
use flashweir_trace::format::journal::{JournalReader, JournalWriter};
use flashweir_trace::output::OutputError;
use flashweir_trace::{LogRecord, Request};

use crate::{Error, owner};

/// Arrivals after which the drive is saved, so that a killed one opens soon.
const MAX_ARRIVALS: u64 = 1 << 22;
/// Arrivals that are read at a time.
const BATCH: usize = 8192;

/// The folder of a drive that is served.
#[derive(Debug)]
pub(super) struct State {
    folder: PathBuf,
    journal: JournalWriter,
    arrivals: u64,
    /// Its lock.
    _lock: File,
}

fn refused(folder: &Path, expected: String) -> Error {
    Error::Setting { what: format!("--state {}", folder.display()), expected }
}

fn state_of(folder: &Path, taken: u64) -> PathBuf {
    folder.join(format!("drive-{taken}.state"))
}

fn journal_of(folder: &Path, taken: u64) -> PathBuf {
    folder.join(format!("arrivals-{taken}.journal"))
}

/// The number in a name of a file of the folder.
fn number(name: &str) -> Option<u64> {
    let state = name.strip_prefix("drive-").and_then(|rest| rest.strip_suffix(".state"));
    let journal = || name.strip_prefix("arrivals-").and_then(|rest| rest.strip_suffix(".journal"));
    state.or_else(journal)?.parse().ok()
}

/// Names of the files with a number, and their numbers.
fn numbered(folder: &Path) -> Result<Vec<(String, u64)>, Error> {
    let entries = std::fs::read_dir(folder).map_err(|error| refused(folder, error.to_string()))?;
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    Ok(names.filter_map(|name| number(&name).map(|taken| (name, taken))).collect())
}

/// The drive of a folder.
pub(super) struct Opened {
    pub(super) drive: Drive,
    pub(super) lock: File,
    /// It was there before.
    pub(super) is_kept: bool,
}

/// Opens the drive of a folder, or begins it with the one in the file `load` or a new one, and locks it. `spec` must say the drive that
/// is there, or nothing about it.
pub(super) fn open(
    folder: &Path,
    spec: &DriveSpec,
    load: Option<&Path>,
    progress: &mut dyn FnMut(&Progress) -> bool,
) -> Result<Opened, Error> {
    std::fs::create_dir_all(folder)
        .map_err(|error| refused(folder, format!("{error}; expected a folder")))?;
    let path = folder.join("lock");
    let lock = File::options().create(true).truncate(false).write(true).open(&path);
    let lock = lock.map_err(|error| refused(folder, error.to_string()))?;
    owner::lock(&lock, &path, "--state")?;
    remove_parts(folder)?;
    let saved = numbered(folder)?.into_iter().filter(|(name, _)| name.starts_with("drive-"));
    let Some(taken) = saved.map(|(_, taken)| taken).max() else {
        let drive = match load {
            Some(path) => Drive::loaded(path, None, spec.options.die_use)?,
            None => Drive::open(spec, None, progress)?,
        };
        return Ok(Opened { drive, lock, is_kept: false });
    };
    if let Some(path) = load {
        let expected = format!("a drive is in it; expected it without {}, or another folder", path.display());
        return Err(refused(folder, expected));
    }
    let mut drive = Drive::loaded(&state_of(folder, taken), None, spec.options.die_use)?;
    check_same(folder, spec, &drive)?;
    let journal = journal_of(folder, taken);
    if journal.exists() {
        run_again(&mut drive, &journal)?;
    }
    Ok(Opened { drive, lock, is_kept: true })
}

/// Removes what killed processes left of files that they had begun.
fn remove_parts(folder: &Path) -> Result<(), Error> {
    let entries = std::fs::read_dir(folder).map_err(|error| refused(folder, error.to_string()))?;
    for path in entries.flatten().map(|entry| entry.path()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with(".drive-") && name.ends_with(".part") {
            std::fs::remove_file(&path).map_err(|source| OutputError { path: path.clone(), source })?;
        }
    }
    Ok(())
}

/// Refuses another drive than the one in the folder.
fn check_same(folder: &Path, spec: &DriveSpec, drive: &Drive) -> Result<(), Error> {
    if (spec.device.is_some() || !spec.overrides.is_empty()) && spec.config()? != *drive.config() {
        let expected = "the drive in it is another one; expected no DEVICE and no --set, or another folder";
        return Err(refused(folder, expected.into()));
    }
    if spec.options.journal && !drive.options().journal {
        let expected =
            "the drive in it was made without --power-cuts; expected no --power-cuts, or another folder";
        return Err(refused(folder, expected.into()));
    }
    Ok(())
}

/// Lets arrivals happen again, those of a drive whose process was killed.
fn run_again(drive: &mut Drive, journal: &Path) -> Result<(), Error> {
    let mut reader = JournalReader::open(journal)?;
    let mut batch = Vec::with_capacity(BATCH);
    let mut more = true;
    while more {
        more = reader.read(&mut batch, BATCH)?;
        for LogRecord { request, .. } in batch.drain(..) {
            let time_ns = request.time_ns.max(drive.now_ns());
            drive.advance_to(time_ns)?;
            drive.submit(&[Request { time_ns, ..request }])?;
            while drive.next_completion().is_some() {}
        }
    }
    Ok(())
}

impl State {
    /// Saves the drive, and begins the journal of what comes.
    pub(super) fn begin(folder: &Path, lock: File, drive: &Drive) -> Result<Self, Error> {
        let journal = save(folder, drive)?;
        Ok(Self { folder: folder.to_owned(), journal, arrivals: 0, _lock: lock })
    }

    /// Saves the drive.
    pub(super) fn save(&mut self, drive: &Drive) -> Result<(), Error> {
        self.journal = save(&self.folder, drive)?;
        self.arrivals = 0;
        Ok(())
    }

    /// Saves the drive at the end of its run: everything is on flash. The drive itself is then to be finished.
    pub(super) fn save_ended(&mut self, drive: &mut Drive) -> Result<(), Error> {
        // One that was finished does nothing in the background any more; this one is served on.
        let mut drive = drive.fork();
        drive.drain_while(&mut || true)?;
        while drive.next_completion().is_some() {}
        self.save(&drive)
    }

    /// An arrival. Returns true if it is time to save the drive.
    pub(super) fn push(&mut self, request: &Request) -> Result<bool, Error> {
        self.arrivals += 1;
        self.journal.push(&LogRecord::bare(*request)).map_err(Error::of_output)?;
        Ok(self.arrivals >= MAX_ARRIVALS)
    }

    /// Arrivals so far outlive the process.
    pub(super) fn flush(&mut self) -> Result<(), Error> {
        self.journal.flush().map_err(Error::of_output)
    }
}

/// Writes the drive's state, and makes an empty journal beside it. Files of earlier states are removed.
fn save(folder: &Path, drive: &Drive) -> Result<JournalWriter, Error> {
    let taken = drive.submitted();
    let journal = journal_of(folder, taken);
    drive.save(&state_of(folder, taken))?;
    // One of that number holds nothing that the state lacks.
    match std::fs::remove_file(&journal) {
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
            return Err(OutputError { path: journal, source }.into());
        }
        _ => {}
    }
    let writer = JournalWriter::create(&journal)?;
    for (name, other) in numbered(folder)? {
        if other != taken {
            let path = folder.join(name);
            std::fs::remove_file(&path).map_err(|source| OutputError { path, source })?;
        }
    }
    Ok(writer)
}
