//! blkreplay's load files: `start ; sector ; length ; op ; replay_delay ; replay_duration`, seconds and sectors.
//!
//! Known damage: the licence and comments before the table are skipped and counted. They end with the line that
//! names the columns, or with the first line that looks like the table; after that every line must be a request, except
//! that the licence may come again, as in files that were converted twice.

use std::collections::BTreeSet;

use super::line::{Fields, LineDecoder};
use super::number::{decimal, end};
use super::op;
use super::sink::{Raw, Sink};
use crate::FieldError;

/// Decoder of load files.
#[derive(Debug, Default)]
pub(crate) struct Blkreplay {
    in_table: bool,
    /// Lines of the prologue, by which it is known when it comes again.
    prologue: BTreeSet<Vec<u8>>,
}

/// Lines of a prologue that are kept, and beginnings of those that differ from file to file.
const MAX_PROLOGUE: usize = 1000;
const OF_ONE_FILE: [&[u8]; 3] = [b"This file was ", b"converted by ", b"Copyright "];

impl Blkreplay {
    /// True if a line in the table belongs to a repeated prologue.
    fn is_prologue(&self, text: &[u8]) -> bool {
        text.starts_with(b"start ")
            || OF_ONE_FILE.iter().any(|start| text.starts_with(start))
            || self.prologue.contains(text)
    }
}

impl LineDecoder for Blkreplay {
    fn line(&mut self, line: &[u8], sink: &mut Sink) -> Result<(), FieldError> {
        let text = line.trim_ascii();
        let starts_like_a_request = text.first().is_some_and(u8::is_ascii_digit);
        if self.in_table && !starts_like_a_request && self.is_prologue(text) {
            self.in_table = false;
        }
        if !self.in_table {
            let separators = memchr::memchr_iter(b';', text).count();
            let header = text.starts_with(b"start ") && separators >= 3;
            self.in_table = header || (separators >= 3 && starts_like_a_request);
            if header || !self.in_table {
                if self.prologue.len() < MAX_PROLOGUE && !header {
                    self.prologue.insert(text.to_owned());
                }
                sink.repaired("prologue line");
                return Ok(());
            }
        }
        let mut fields = Fields::new(text, b';');
        let time_ns = fields.decimal("start", 9)?;
        let lba = fields.whole("sector")?;
        let sectors = fields.whole("length")?;
        let op = fields.next("op")?.trim_ascii();
        // Read-ahead is written `RA`.
        let op = op::letter("op", if op == b"RA" { b"R" } else { op })?;
        let mut raw = Raw::sectors(time_ns, op, lba, sectors);
        if fields.rest().is_some() {
            let delay = fields.next("replay_delay")?;
            let issue_ns = end("replay_delay", delay, time_ns, decimal("replay_delay", delay, 9)?)?;
            let duration = fields.next("replay_duration")?;
            let duration_ns = decimal("replay_duration", duration, 9)?;
            if duration_ns > 0 {
                raw.issue_ns = Some(issue_ns);
                raw.completion_ns = Some(end("replay_duration", duration, issue_ns, duration_ns)?);
            }
        }
        fields.end("6 fields")?;
        sink.push(raw)
    }

    fn finish(&mut self, _sink: &mut Sink) -> Result<(), FieldError> {
        if self.in_table {
            return Ok(());
        }
        let found = "the end of the file".to_owned();
        Err(FieldError { field: "table", found, expected: "a line such as start ; sector ; length ; op" })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{decode, decode_err, decode_log};
    use super::*;
    use crate::Op;

    const HEAD: &str =
        "Some licence;\n\n####\nstart ; sector; length ; op ;  replay_delay=0 ; replay_duration=0\n";

    #[test]
    fn the_prologue_is_skipped_and_counted() {
        let text =
            format!("{HEAD}  0.000000000 ;  37766853 ;  64 ; W ; 0.0 ; 0.0\n 0.5 ; 8 ; 8 ; RA ; 0.0 ; 0.0\n");
        let (requests, report) = decode(Box::new(Blkreplay::default()), &text);
        assert_eq!((requests[0].lba, requests[0].sectors, requests[0].op), (37_766_853, 64, Op::Write));
        assert_eq!((requests[1].op, requests[1].time_ns), (Op::Read, 500_000_000));
        let prologue = report.repaired.iter().find(|tally| tally.reason == "prologue line").expect("counted");
        assert_eq!(prologue.count, 3);
    }

    #[test]
    fn a_licence_may_come_again() {
        let request = "0.0 ; 1 ; 8 ; R ; 0.0 ; 0.0\n";
        let twice = format!("{HEAD}{request}This file was made of another\n{HEAD}{request}");
        let (requests, report) = decode(Box::new(Blkreplay::default()), &twice);
        assert_eq!(requests.len(), 2);
        assert_eq!(report.repaired.iter().find(|tally| tally.reason == "prologue line").unwrap().count, 7);
        let without_table = format!("{HEAD}{request}{HEAD}");
        assert_eq!(decode(Box::new(Blkreplay::default()), &without_table).0.len(), 1);
    }

    #[test]
    fn replayed_loads_have_completions() {
        let log = decode_log(Box::new(Blkreplay::default()), "1.0 ; 8 ; 8 ; R ; 0.25 ; 0.5\n");
        assert_eq!((log[0].issue_ns, log[0].completion_ns), (Some(250_000_000), Some(750_000_000)));
    }

    #[test]
    fn a_bad_line_in_the_table_is_an_error() {
        let text = format!("{HEAD}0.0 ; 1 ; 8 ; R ; 0.0 ; 0.0\nnoise\n");
        assert!(decode_err(Box::new(Blkreplay::default()), &text).contains("line 6: start: found \"noise\""));
        assert!(
            decode_err(Box::new(Blkreplay::default()), "no table\n")
                .contains("table: found the end of the file")
        );
    }
}
