//! The log of a replay: a thread takes records, puts them into a journal as they come, and counts. At the end the journal becomes a
//! Parquet file; if the process is killed, it can be read as it is.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::Duration;

use flashweir_run::requests::RequestLog;
use flashweir_trace::format::journal::{JournalReader, JournalWriter};
use flashweir_trace::output::OutputError;
use flashweir_trace::{LogRecord, TraceError};

use super::tally::Tally;
use crate::{Error, Stop, owner};

/// Between two looks of the thread, which nobody wakes: waking it would cost those who issue requests a system call.
const NAP: Duration = Duration::from_millis(2);
/// Records converted at a time.
const BATCH: usize = 8192;

/// Where the journal of a log is: beside it.
pub fn journal_of(log: &Path) -> PathBuf {
    let mut name = log.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    log.with_file_name(name)
}

/// Sends records to the thread; clones send to the same thread.
pub(super) type Recorder = Sender<LogRecord>;

/// Result of the thread: the counts, and whether everything was written.
pub(super) type Logged = (Tally, Result<(), TraceError>);

/// A journal under construction, and what keeps it locked: a second handle on the same open file.
pub(super) type Locked = (JournalWriter, File);

/// Starts the journal of `log`, if there is to be one, and locks it.
pub(super) fn create(log: Option<&Path>) -> Result<Option<Locked>, Error> {
    let Some(log) = log else { return Ok(None) };
    let journal = journal_of(log);
    if let Ok(file) = File::open(&journal) {
        owner::lock(&file, log, "log")?;
        return Err(Error::Setting {
            what: format!("log {}", log.display()),
            expected: format!(
                "a replay to it was killed: expected --recover {} first, or another name",
                log.display()
            ),
        });
    }
    let writer = JournalWriter::create(&journal)?;
    let file = writer.file().try_clone().map_err(|source| OutputError { path: journal.clone(), source })?;
    owner::lock(&file, log, "log")?;
    Ok(Some((writer, file)))
}

/// Starts the thread. It ends when all senders are gone, and asks for a stop when it can't write.
pub(super) fn start<'scope>(
    scope: &'scope Scope<'scope, '_>,
    journal: Option<JournalWriter>,
    stop: &'scope Stop,
) -> (Recorder, ScopedJoinHandle<'scope, Logged>) {
    let (give, records) = channel();
    (give, scope.spawn(move || keep(&records, journal, stop)))
}

fn keep(records: &Receiver<LogRecord>, mut journal: Option<JournalWriter>, stop: &Stop) -> Logged {
    let mut tally = Tally::default();
    let mut written = Ok(());
    loop {
        match records.try_recv() {
            Ok(record) => {
                tally.add(&record);
                if let (Ok(()), Some(journal)) = (&written, &mut journal) {
                    written = journal.push(&record);
                }
            }
            Err(reason) => {
                if let (Ok(()), Some(journal)) = (&written, &mut journal) {
                    written = journal.flush();
                }
                if reason == TryRecvError::Disconnected {
                    return (tally, written);
                }
                std::thread::sleep(NAP);
            }
        }
        if written.is_err() {
            stop.ask();
        }
    }
}

/// Makes a log of its journal, by the time of requests, and removes the journal. Returns how many requests it has.
pub(crate) fn finish(log: &Path) -> Result<u64, Error> {
    let journal = journal_of(log);
    let mut reader = JournalReader::open(&journal)?;
    let mut writer = RequestLog::create(log).map_err(flashweir_run::Error::from)?;
    let mut batch = Vec::with_capacity(BATCH);
    let mut more = true;
    while more {
        more = reader.read(&mut batch, BATCH)?;
        for record in batch.drain(..) {
            writer.push(record).map_err(flashweir_run::Error::from)?;
        }
    }
    writer.finish().map_err(flashweir_run::Error::from)?;
    std::fs::remove_file(&journal).map_err(|source| OutputError { path: journal.clone(), source })?;
    Ok(reader.records())
}

/// Makes a log of the journal that a killed replay left, and removes that. One that a process is still writing is refused. `log` is the name of the log, or of its journal. Returns
/// the log's name and how many requests it has.
pub fn recover(log: &Path) -> Result<(PathBuf, u64), Error> {
    let name = log.to_string_lossy();
    let log = name.strip_suffix(".part").map_or_else(|| log.to_owned(), PathBuf::from);
    if !journal_of(&log).exists() {
        let expected = format!(
            "there is no {}; expected the log of a replay that was killed",
            journal_of(&log).display()
        );
        return Err(Error::Setting { what: format!("recover {}", log.display()), expected });
    }
    let journal = journal_of(&log);
    let file = File::open(&journal).map_err(|source| OutputError { path: journal, source })?;
    owner::lock(&file, &log, "recover")?;
    let requests = finish(&log)?;
    Ok((log, requests))
}
