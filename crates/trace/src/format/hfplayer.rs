//! HFPlayer: CSV whose first line starts with `#` and names the columns.
//!
//! Read here: `CMD.S` (RD_IN and WR_IN arrive, RD_OUT and WR_OUT complete), `ELAPSED_USECS.D`, `LBA.I` and `NBLKS.I`
//! in 512-byte blocks, `LATENCY_USECS.D`, and where they exist `SEQID.I`, which ties an OUT to its IN, and
//! `LUN_SSID.I`, the device.

use super::line::{Fields, LineDecoder};
use super::number::{decimal, end, whole};
use super::sink::{Raw, Sink};
use crate::{FieldError, Op};

/// Names of the columns read, in the order of [`Hfplayer::columns`].
const NAMES: [&str; 7] =
    ["CMD.S", "ELAPSED_USECS.D", "LBA.I", "NBLKS.I", "LATENCY_USECS.D", "SEQID.I", "LUN_SSID.I"];

/// Number of them, from the first on, that must be present.
const NEEDED: usize = 4;

/// Decoder of the table.
#[derive(Debug, Default)]
pub(crate) struct Hfplayer {
    /// Where each of [`NAMES`] stands, and how many columns there are; `None` before the header.
    columns: Option<([Option<usize>; 7], usize)>,
}

impl Hfplayer {
    fn header(&mut self, names: &[u8]) -> Result<(), FieldError> {
        let mut places = [None; 7];
        let mut count = 0;
        for (at, name) in names.split(|byte| *byte == b',').enumerate() {
            if let Some(index) = NAMES.iter().position(|known| known.as_bytes() == name.trim_ascii()) {
                places[index] = Some(at);
            }
            count += 1;
        }
        if places.iter().take(NEEDED).any(Option::is_none) {
            return Err(FieldError::new(
                "header",
                names,
                "columns CMD.S, ELAPSED_USECS.D, LBA.I and NBLKS.I",
            ));
        }
        self.columns = Some((places, count));
        Ok(())
    }
}

impl LineDecoder for Hfplayer {
    fn line(&mut self, line: &[u8], sink: &mut Sink) -> Result<(), FieldError> {
        if let Some(names) = line.strip_prefix(b"#") {
            return self.header(names);
        }
        let Some((places, count)) = self.columns else {
            return Err(FieldError::new("first line", line, "a header such as #DUMP_OFFSET.I,...,CMD.S,..."));
        };
        let mut found: [&[u8]; 7] = [b""; 7];
        let mut fields = Fields::new(line, b',');
        for at in 0..count {
            let field = fields.next("column of the header")?;
            if let Some(index) = places.iter().position(|place| *place == Some(at)) {
                found[index] = field;
            }
        }
        fields.end("as many fields as the header names")?;
        let [command, elapsed, lba, blocks, latency, sequence, device] = found;
        let time_ns = decimal(NAMES[1], elapsed, 3)?;
        let sequence = if places[5].is_some() { Some(whole(NAMES[5], sequence)?) } else { None };
        let op = match command {
            b"RD_IN" => Op::Read,
            b"WR_IN" => Op::Write,
            b"RD_OUT" | b"WR_OUT" => {
                if let Some(sequence) = sequence {
                    sink.complete(device, sequence, time_ns);
                }
                return Ok(());
            }
            _ => return Err(FieldError::new(NAMES[0], command, "RD_IN, RD_OUT, WR_IN or WR_OUT")),
        };
        let latency_ns = if places[4].is_some() { decimal(NAMES[4], latency, 3)? } else { 0 };
        let completion_ns = match latency_ns {
            0 => None,
            _ => Some(end(NAMES[4], latency, time_ns, latency_ns)?),
        };
        let pair = if completion_ns.is_none() { sequence } else { None };
        let raw = Raw::sectors(time_ns, op, whole(NAMES[2], lba)?, whole(NAMES[3], blocks)?);
        sink.push(Raw { device, completion_ns, pair, ..raw })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{decode_err, decode_log};
    use super::*;

    #[test]
    fn columns_are_found_by_name_and_outs_complete_ins() {
        let text = "#X.I,ELAPSED_USECS.D,CMD.S,SEQID.I,LBA.I,NBLKS.I,LATENCY_USECS.D\n\
            1,10.5,RD_IN,7,8178892672,8,0.000\n2,11,WR_IN,8,16,1,2.5\n3,20.5,RD_OUT,7,0,0,10.0\n";
        let log = decode_log(Box::new(Hfplayer::default()), text);
        assert_eq!((log[0].request.lba, log[0].completion_ns), (8_178_892_672, Some(10_000)));
        assert_eq!((log[1].request.op, log[1].completion_ns), (Op::Write, Some(3_000)));
    }

    #[test]
    fn bad_lines_say_what_was_expected() {
        let header = "#ELAPSED_USECS.D,CMD.S,LBA.I,NBLKS.I\n";
        for (text, said) in [
            ("1,2,3\n".to_owned(), "first line: found \"1,2,3\""),
            ("#A,B\n".to_owned(), "header: found \"A,B\", expected columns CMD.S"),
            (format!("{header}1,RD,0,8\n"), "CMD.S: found \"RD\", expected RD_IN"),
            (format!("{header}1,RD_IN,0\n"), "column of the header: found the end of the line"),
            (format!("{header}1,RD_IN,-1,8\n"), "LBA.I: found \"-1\""),
        ] {
            let error = decode_err(Box::new(Hfplayer::default()), &text);
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
