//! fio's iolog: `fio version 2 iolog` with lines `file action [offset length]`, and version 3, where each line starts
//! with microseconds from the start of the run.
//!
//! Offsets and lengths are bytes. `sync` and `datasync` are flushes. Version 2 has no times but `wait` lines, whose
//! microseconds add up; below 100 they are ignored, as fio does. A file is a device.
//!
//! Known damage: logs that were joined. A header line in the middle is counted, and in version 3 the time goes on
//! from there.

use super::line::{LineDecoder, Words};
use super::number::{scaled, whole};
use super::sink::{Raw, Sink};
use crate::{FieldError, Op};

/// The shortest wait, in microseconds, that fio heeds.
const SHORTEST_WAIT_US: u64 = 100;

/// Decoder of version 2 or 3.
#[derive(Debug)]
pub(crate) struct Fio {
    version: u8,
    started: bool,
    /// The last time: where version 2 stands, and from where joined logs go on.
    now_ns: u64,
    /// Origin of version 3's times.
    run_ns: u64,
}

impl Fio {
    /// A decoder of `version`.
    pub(crate) const fn new(version: u8) -> Self {
        Self { version, started: false, now_ns: 0, run_ns: 0 }
    }

    fn header(&mut self, line: &[u8], sink: &mut Sink) -> Result<bool, FieldError> {
        let (header, expected): (&[u8], _) = match self.version {
            2 => (b"fio version 2 iolog", "fio version 2 iolog"),
            _ => (b"fio version 3 iolog", "fio version 3 iolog"),
        };
        let found = line.trim_ascii() == header;
        if !self.started && !found {
            return Err(FieldError::new("first line", line, expected));
        }
        if self.started && found {
            sink.repaired("logs were joined");
            self.run_ns = self.now_ns;
        }
        self.started = true;
        Ok(found)
    }
}

impl LineDecoder for Fio {
    fn line(&mut self, line: &[u8], sink: &mut Sink) -> Result<(), FieldError> {
        if (!self.started || line.starts_with(b"fio version")) && self.header(line, sink)? {
            return Ok(());
        }
        let late = |field: &'static str, text: &[u8]| FieldError::new(field, text, "a time before 2^64 ns");
        let mut words = Words::new(line);
        if self.version == 3 {
            let stamp = words.next("timestamp")?;
            let time_ns = self.run_ns.checked_add(scaled("timestamp", stamp, 1000)?);
            self.now_ns = time_ns.ok_or_else(|| late("timestamp", stamp))?;
        }
        let device = words.next("file name")?;
        let action = words.next("action")?;
        let op = match action {
            b"add" | b"open" | b"close" => return words.end("nothing after add, open or close"),
            b"sync" | b"datasync" => return sink.push(Raw::flush(self.now_ns)),
            b"wait" if self.version == 2 => {
                let text = words.next("microseconds")?;
                let wait_us = whole("microseconds", text)?;
                if wait_us >= SHORTEST_WAIT_US {
                    let now_ns =
                        wait_us.checked_mul(1000).and_then(|wait_ns| self.now_ns.checked_add(wait_ns));
                    self.now_ns = now_ns.ok_or_else(|| late("microseconds", text))?;
                }
                return Ok(());
            }
            b"read" => Op::Read,
            b"write" => Op::Write,
            b"trim" => Op::Trim,
            _ => {
                return Err(FieldError::new(
                    "action",
                    action,
                    "add, open, close, read, write, trim, sync, datasync or (version 2) wait",
                ));
            }
        };
        let offset = words.whole("offset")?;
        let length = words.whole("length")?;
        words.end("file, action, offset and length")?;
        sink.push(Raw { device, ..Raw::bytes(self.now_ns, op, offset, length)? })
    }

    fn assumptions(&self) -> Vec<String> {
        if self.version == 2 {
            vec![
                "version 2 has no times: requests arrive together unless wait lines stand between them"
                    .to_owned(),
            ]
        } else {
            Vec::new()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{decode, decode_err};
    use super::*;

    #[test]
    fn version_2_has_waits_only() {
        let text = "fio version 2 iolog\n/dev/sdb add\n/dev/sdb open\n/dev/sdb write 64757760 4096\n/dev/sdb wait 99 0\n\
            /dev/sdb wait 2000 0\n/dev/sdb read 512 512\n/dev/sdb sync 0 0\n/dev/sdb close\nfio version 2 iolog\n/dev/sdb trim 0 8192\n";
        let (requests, report) = decode(Box::new(Fio::new(2)), text);
        assert_eq!((requests[0].lba, requests[0].sectors), (126_480, 8));
        assert_eq!((requests[1].time_ns, requests[1].op), (2_000_000, Op::Read));
        assert_eq!((requests[2].op, requests[3].op), (Op::Flush, Op::Trim));
        assert_eq!((report.requests, report.flushes, report.repaired_count()), (3, 1, 1));
    }

    #[test]
    fn version_3_has_microseconds_and_may_start_again() {
        let text = "fio version 3 iolog\n16 /dev/sdx add\n171 /dev/sdx write 1011712 65536\n271 /dev/sdx read 0 4096\n\
            fio version 3 iolog\n5 /dev/sdx read 0 4096\n";
        let (requests, _) = decode(Box::new(Fio::new(3)), text);
        assert_eq!(requests.iter().map(|request| request.time_ns).collect::<Vec<_>>(), [0, 100_000, 105_000]);
    }

    #[test]
    fn bad_lines_say_what_was_expected() {
        for (version, text, said) in [
            (
                2,
                "fio version 3 iolog\n",
                "first line: found \"fio version 3 iolog\", expected fio version 2 iolog",
            ),
            (3, "1 /dev/sdx read 0 512\n", "expected fio version 3 iolog"),
            (3, "fio version 3 iolog\n1 f wait 100\n", "line 2: action: found \"wait\""),
            (2, "fio version 2 iolog\nf read 0\n", "length: found the end of the line"),
            (2, "fio version 2 iolog\nf read -1 512\n", "offset: found \"-1\""),
            (2, "fio version 2 iolog\nf close 1\n", "nothing after add, open or close"),
            (2, "fio version 2 iolog\nf wait 99999999999999999\n", "a time before 2^64 ns"),
        ] {
            let error = decode_err(Box::new(Fio::new(version)), text);
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
