//! FIU IODedup: `ts_ns pid process lba size op major minor md5`: nanoseconds, 512-byte sectors.
//!
//! Process names may hold spaces, so the numbers after them are found by their shape. What stands after the minor
//! number (hashes of the content) is ignored.
//!
//! Known damage: NUL padding and headers of the tar archive, glued to the first or last line; what is left of the
//! line is read, and lines that hold nothing else are skipped. Counted.

use super::line::{LineDecoder, Words};
use super::number::whole;
use super::op;
use super::sink::{Raw, Sink};
use crate::FieldError;

/// Words of a process name that are looked past.
const LONGEST_NAME: usize = 16;

/// Decoder of the log.
#[derive(Debug)]
pub(crate) struct Fiu;

impl LineDecoder for Fiu {
    fn line(&mut self, mut line: &[u8], sink: &mut Sink) -> Result<(), FieldError> {
        if line.contains(&0) {
            sink.repaired("padding of a tar archive");
            line = without_padding(line);
            if line.is_empty() {
                return Ok(());
            }
        }
        let mut words = Words::new(line);
        let time_ns = words.whole("time")?;
        words.whole("pid")?;
        let names = words.rest();
        words.next("process")?;
        // Usually the name is one word; if what follows is not two numbers and an operation, it has more.
        for _ in 0..LONGEST_NAME {
            let at = words.rest();
            if looks_like_address(at) {
                let process = names[..names.len() - at.len()].trim_ascii();
                return push(time_ns, process, at, sink);
            }
            words.next("lba")?;
        }
        Err(FieldError::missing("lba"))
    }
}

fn push(time_ns: u64, process: &[u8], rest: &[u8], sink: &mut Sink) -> Result<(), FieldError> {
    let mut words = Words::new(rest);
    let lba = words.whole("lba")?;
    let sectors = words.whole("size")?;
    let op = op::letter("op", words.next("op")?)?;
    let numbers = words.rest();
    let major = words.next("major")?;
    let between = words.rest();
    let minor = words.next("minor")?;
    whole("major", major)?;
    whole("minor", minor)?;
    let device = &numbers[..numbers.len() - between.len() + minor.len()];
    sink.push(Raw { device, process, ..Raw::sectors(time_ns, op, lba, sectors) })
}

fn looks_like_address(text: &[u8]) -> bool {
    let mut words = Words::new(text);
    let number = |word: Option<&[u8]>| {
        word.is_some_and(|word| word.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'-')))
    };
    // The operation is checked when it is read; here a single letter after two numbers will do.
    number(words.try_next())
        && number(words.try_next())
        && words.try_next().is_some_and(|word| matches!(word, [byte] if byte.is_ascii_alphabetic()))
}

/// The part of `line` that is no padding: after the last NUL, or before the first.
fn without_padding(line: &[u8]) -> &[u8] {
    let after = line.rsplit(|byte| *byte == 0).next().unwrap_or_default().trim_ascii();
    if after.is_empty() {
        let before = line.split(|byte| *byte == 0).next().unwrap_or_default().trim_ascii();
        // The name of the archive's next member is no record.
        if before.first().is_some_and(u8::is_ascii_digit) { before } else { &[] }
    } else {
        after
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{decode, decode_err, decode_log};
    use super::*;
    use crate::Op;

    const LINE: &str = "89966527950584 4253 nfsd 508516672 8 W 6 0 88b93b628d84082186026d9da044f173\n";

    #[test]
    fn nanoseconds_sectors_and_names_of_several_words() {
        let text = format!("{LINE}89966527950684 12 a b 7 508516680 8 R 6 0\n");
        let log = decode_log(Box::new(Fiu), &text);
        assert_eq!(
            (log[0].request.lba, log[0].request.sectors, log[0].request.op),
            (508_516_672, 8, Op::Write)
        );
        assert_eq!((log[1].process.as_str(), log[1].request.time_ns), ("a b 7", 100));
    }

    #[test]
    fn padding_of_an_archive_is_skipped() {
        let text = format!("home\0\0ustar\0\0{LINE}\0\0\0\0\n{}\0\0\n", LINE.trim_end());
        let (requests, report) = decode(Box::new(Fiu), &text);
        assert_eq!((requests.len(), report.repaired_count()), (2, 3));
    }

    #[test]
    fn bad_fields_say_what_was_expected() {
        assert!(
            decode_err(Box::new(Fiu), "1 2 p 3 8 X 6 0 00").contains("op: found \"X\", expected R, W or D")
        );
        assert!(decode_err(Box::new(Fiu), "1 2 p 3 -8 W 6 0 00").contains("size: found \"-8\""));
        assert!(decode_err(Box::new(Fiu), "1 2 p q").contains("lba: found the end of the line"));
        assert!(decode_err(Box::new(Fiu), "x 2 p 3 8 W 6 0").contains("time: found \"x\""));
    }
}
