//! Helpers that the tests of binary formats share: scratch folders, reading, and blktrace's events by hand.
#![allow(dead_code, unreachable_pub, missing_docs, reason = "each test takes what it needs")]

use std::path::{Path, PathBuf};

use flashweir_trace::format::{Format, Options, Report, Trace};
use flashweir_trace::{LogRecord, Request, TraceError};

/// A folder of the test's own, removed at its end.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("flashweir-binary-{}-{test}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a scratch folder");
        Self(path)
    }

    pub fn file(&self, name: &str, content: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, content).expect("a scratch file");
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub fn read(path: &Path, format: Option<Format>) -> Result<(Vec<Request>, Report), TraceError> {
    let mut trace = Trace::open(path, &Options { format, ..Options::default() })?;
    let mut out = Vec::new();
    while trace.read(&mut out, 100)? {}
    Ok((out, trace.report().clone()))
}

pub fn read_log(path: &Path) -> Result<Vec<LogRecord>, TraceError> {
    let mut trace = Trace::open(path, &Options::default())?;
    let mut out = Vec::new();
    while trace.read_log(&mut out, 100)? {}
    Ok(out)
}

pub fn message(path: &Path) -> String {
    read(path, None).expect_err("an error").to_string()
}

/// An event of blktrace in either byte order.
pub struct Event {
    pub time_ns: u64,
    pub sector: u64,
    pub bytes: u32,
    pub action: u32,
    pub pid: u32,
    pub device: u32,
    pub payload: &'static [u8],
}

pub const ISSUE_READ: u32 = 7 | 1 << 16 | 1 << 22;
pub const ISSUE_WRITE: u32 = 7 | 1 << 17 | 1 << 22;
pub const COMPLETE_READ: u32 = 8 | 1 << 16 | 1 << 23;
pub const QUEUE_WRITE: u32 = 1 | 1 << 17;
pub const NAME: u32 = 1 << 26;
pub const SDA: u32 = 8 << 20;

impl Event {
    pub const fn new(time_ns: u64, action: u32, sector: u64, bytes: u32) -> Self {
        Self { time_ns, sector, bytes, action, pid: 42, device: SDA, payload: b"" }
    }

    pub fn encode(&self, big: bool) -> Vec<u8> {
        let mut out = Vec::new();
        let mut word = |value: u64, bytes: usize| {
            let little = value.to_le_bytes();
            let mut field = little[..bytes].to_vec();
            if big {
                field.reverse();
            }
            out.extend(field);
        };
        word(0x6561_7407, 4);
        word(1, 4);
        word(self.time_ns, 8);
        word(self.sector, 8);
        for value in [self.bytes, self.action, self.pid, self.device, 0] {
            word(value.into(), 4);
        }
        word(0, 2);
        word(self.payload.len() as u64, 2);
        out.extend(self.payload);
        out
    }
}

pub fn events(events: &[Event], big: bool) -> Vec<u8> {
    events.iter().flat_map(|event| event.encode(big)).collect()
}

pub fn two_cpus() -> [Vec<Event>; 2] {
    let name = Event { payload: b"java\0\0\0\0", ..Event::new(0, NAME, 0, 0) };
    [
        vec![
            name,
            Event::new(1000, ISSUE_READ | 1 << 19, 8, 4096),
            Event { payload: b"\0\0\x02\0", ..Event::new(1500, 15 | 1 << 16, 8, 4096) },
            Event::new(5000, ISSUE_WRITE | 1 << 18 | 1 << 31, 100, 1024),
        ],
        vec![
            Event::new(2000, 7 | 1 << 18, 0, 0),
            Event::new(3000, ISSUE_WRITE | 1 << 29, 0, 1 << 20),
            Event::new(3500, 7 | 1 << 25, 0, 512),
            Event::new(4000, COMPLETE_READ, 8, 4096),
        ],
    ]
}
