//! Text of blkparse in its default format: `maj,min cpu seq seconds.nanoseconds pid action RWBS sector + sectors
//! [process]`.
//!
//! One action is a request: D (handed to the driver) if the file has any with a length, else C (completed), else Q
//! (queued); reports say which. In logs, D and Q are paired with the C of the same device and sector. Actions with
//! F and no length are flushes. Commands that are no reads, writes or discards (pass-through, zone commands) are left
//! out, counted. The tool merges what the CPUs recorded as it comes, so requests are sorted by time in a window of
//! 4096.
//!
//! Known damage, repaired and counted:
//! * Stamps of `1266874889.7...`: slightly negative times that went through 64 bits of nanoseconds and 32 of seconds.
//!   They are read as the negative times they were, up to an hour.
//! * Clocks that start again, where outputs were joined: a step back by more than a second to less than half goes on
//!   from the latest time.
//! * The summary per CPU, header and comment lines, and messages of the tool.

use super::line::{LineDecoder, Words};
use super::number::whole;
use super::pairing::Part;
use super::sink::{Order, Raw, Sink};
use crate::{FieldError, Op, TraceError};

/// 2^64 ns with its seconds cut to 32 bits: what a time of zero would wrap to.
const WRAP_NS: u64 = 1_266_874_889_709_551_616;

/// Times up to this far below zero are wrapped ones; also what all others are moved by, to stay above zero.
pub(crate) const BELOW_ZERO_NS: u64 = 3_600 * 1_000_000_000;

/// A step back by more than this may be a clock that started again.
const RESTART_NS: u64 = 1_000_000_000;

/// Beginnings of lines that are no events.
const NO_EVENTS: [&[u8]; 20] = [
    b"#",
    b"CPU",
    b"Total",
    b"Throughput",
    b"Events",
    b"Skips",
    b"Input file",
    b"Reads ",
    b"Writes ",
    b"Read ",
    b"Write ",
    b"IO unplugs",
    b"Timer unplugs",
    b"PC Reads",
    b"PC Read ",
    b"PC Writes",
    b"Allocated",
    b"Dispatches",
    b"Merges",
    b"Device:",
];

/// Requests held to put them in order.
const WINDOW: usize = 4096;

/// Decoder of blkparse's text.
#[derive(Debug)]
pub(crate) struct Blkparse {
    /// The action that is a request.
    action: u8,
    /// True if the whole file was read to choose it.
    chosen: bool,
    /// The latest time, moved by [`BELOW_ZERO_NS`] and `shift_ns`.
    latest_ns: u64,
    /// Sum of the clocks of runs that were joined.
    shift_ns: u64,
}

impl Default for Blkparse {
    fn default() -> Self {
        Self { action: b'D', chosen: false, latest_ns: 0, shift_ns: 0 }
    }
}

/// The flush that `event` records.
fn flush<'a>(time_ns: u64, event: &Event<'a>, flags: u32) -> Raw<'a> {
    let process = event.rest.iter().position(|byte| *byte == b'[').map(|start| &event.rest[start + 1..]);
    let process = process.and_then(|name| name.strip_suffix(b"]"));
    Raw {
        device: event.device,
        process: process.unwrap_or_default(),
        flags,
        issue_ns: (event.action == b"D").then_some(time_ns),
        pair: Some(Sink::flush_pair(event.rwbs.contains(&b'W'))),
        ..Raw::flush(time_ns)
    }
}

/// One event line, as far as all have the same fields.
struct Event<'a> {
    device: &'a [u8],
    stamp_ns: u64,
    action: &'a [u8],
    rwbs: &'a [u8],
    rest: &'a [u8],
}

impl LineDecoder for Blkparse {
    fn line(&mut self, line: &[u8], sink: &mut Sink) -> Result<(), FieldError> {
        if is_no_event(line) {
            sink.repaired("line of the summary or of comments");
            return Ok(());
        }
        let event = split(line)?;
        let time_ns = self.time(event.stamp_ns, sink)?;
        let &[action] = event.action else { return Ok(()) };
        if action != self.action && !matches!(action, b'C' | b'R') {
            return Ok(());
        }
        let (op, flags) = operation(event.rwbs);
        let raw = match (op, address(event.rest)?) {
            (Some(op), Some((lba, sectors, process))) if op != Op::Flush && sectors > 0 => Raw {
                device: event.device,
                process,
                flags,
                issue_ns: (action == b'D').then_some(time_ns),
                pair: Some(lba),
                ..Raw::sectors(time_ns, op, lba, sectors)
            },
            (Some(Op::Flush), _) => flush(time_ns, &event, flags),
            _ if flags & PREFLUSH != 0 => flush(time_ns, &event, flags),
            _ if action != self.action => return Ok(()),
            _ => {
                sink.left_out("event that is no read, write, discard or flush");
                return Ok(());
            }
        };
        self.tell(action, raw, sink)
    }

    fn looks_ahead(&self) -> bool {
        true
    }

    fn look_ahead(&mut self, input: &mut super::input::Input) -> Result<(), TraceError> {
        let mut best = b'Q';
        while let Some((line, _)) = input.next_line()? {
            let Ok(event) = split(line) else { continue };
            if !matches!(event.action, b"D" | b"C") || !matches!(address(event.rest), Ok(Some((_, 1.., _)))) {
                continue;
            }
            best = event.action[0];
            if best == b'D' {
                break;
            }
        }
        (self.action, self.chosen) = (best, true);
        Ok(())
    }

    fn order(&self) -> Order {
        Order::Window(WINDOW)
    }

    fn assumptions(&self) -> Vec<String> {
        let meaning = match self.action {
            b'D' => "D: handed to the driver",
            b'C' => "C: completed, since there is no D",
            _ => "Q: queued, since there is neither D nor C",
        };
        let unseen = if self.chosen { "" } else { "; the file can't be read twice, so this was not checked" };
        vec![
            format!("requests are the events {meaning}{unseen}"),
            format!("CPUs were merged loosely: requests are sorted by time in a window of {WINDOW}"),
        ]
    }

    fn clock_offset_ns(&self) -> u64 {
        BELOW_ZERO_NS
    }
}

impl Blkparse {
    /// Hands on what happened to a request.
    fn tell(&self, action: u8, raw: Raw<'_>, sink: &mut Sink) -> Result<(), FieldError> {
        let pair = raw.pair.unwrap_or_default();
        if action == self.action {
            let (completion_ns, pair) =
                if action == b'C' { (Some(raw.time_ns), None) } else { (None, raw.pair) };
            return sink.push(Raw { completion_ns, pair, shares_pair: true, ..raw });
        }
        if action == b'R' {
            sink.requeue(raw.device, pair, raw.op);
        } else {
            let part = Part { op: raw.op, sectors: u32::try_from(raw.sectors).unwrap_or(u32::MAX) };
            sink.complete_part(raw.device, pair, part, raw.time_ns);
        }
        Ok(())
    }

    /// Time of an event, above zero and on one clock for all runs.
    #[inline]
    fn time(&mut self, stamp_ns: u64, sink: &mut Sink) -> Result<u64, FieldError> {
        let wrapped = (WRAP_NS - BELOW_ZERO_NS..WRAP_NS).contains(&stamp_ns);
        let time_ns = if wrapped {
            sink.repaired("stamp below zero, wrapped");
            Some(stamp_ns - (WRAP_NS - BELOW_ZERO_NS))
        } else {
            stamp_ns.checked_add(BELOW_ZERO_NS)
        };
        let too_late =
            || FieldError::new("time", format!("{stamp_ns} ns").as_bytes(), "a time before 2^64 ns");
        let mut time_ns =
            time_ns.and_then(|time_ns| time_ns.checked_add(self.shift_ns)).ok_or_else(too_late)?;
        let back = self.latest_ns.saturating_sub(time_ns);
        let run_ns = self.latest_ns.saturating_sub(self.shift_ns).saturating_sub(BELOW_ZERO_NS);
        if back > RESTART_NS && stamp_ns < run_ns / 2 {
            sink.repaired("clock started again");
            self.shift_ns += back;
            time_ns = self.latest_ns;
        }
        self.latest_ns = self.latest_ns.max(time_ns);
        Ok(time_ns)
    }
}

fn is_no_event(line: &[u8]) -> bool {
    let text = line.trim_ascii_start();
    !text.first().is_some_and(u8::is_ascii_digit) && NO_EVENTS.iter().any(|start| text.starts_with(start))
}

fn split(line: &[u8]) -> Result<Event<'_>, FieldError> {
    let mut words = Words::new(line);
    let device = words.next("device")?;
    let comma = device.iter().position(|byte| *byte == b',').unwrap_or(0);
    let digits = |text: &[u8]| !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    if !digits(&device[..comma]) || !digits(&device[comma + 1..]) {
        return Err(FieldError::new("device", device, "major,minor of a device, or a line of the summary"));
    }
    words.whole("cpu")?;
    words.whole("sequence")?;
    let stamp_ns = words.decimal("time", 9)?;
    words.whole("process id")?;
    let action = words.next("action")?;
    if action.len() > 2 || !action.iter().all(u8::is_ascii_alphabetic) {
        return Err(FieldError::new("action", action, "one of Q, G, I, D, C and the like"));
    }
    // Messages have no RWBS of a fixed form, and unplugs may end here.
    let rwbs = if action == b"m" { &[] } else { words.next("RWBS")? };
    Ok(Event { device, stamp_ns, action, rwbs, rest: words.rest() })
}

/// A sector, a number of sectors, and the name of a process.
type Address<'a> = (u64, u64, &'a [u8]);

/// `sector + sectors [process]`; `None` for events that stand without an address or a length.
fn address(rest: &[u8]) -> Result<Option<Address<'_>>, FieldError> {
    let mut words = Words::new(rest);
    let Some(sector) = words.try_next() else { return Ok(None) };
    if !sector.first().is_some_and(u8::is_ascii_digit) && sector.first() != Some(&b'-') {
        return Ok(None);
    }
    if words.try_next() != Some(b"+") {
        return Ok(Some((whole("sector", sector)?, 0, &[])));
    }
    let sector = whole("sector", sector)?;
    let sectors = words.whole("sectors")?;
    let name = words.rest();
    let name = name.strip_prefix(b"[").and_then(|name| name.strip_suffix(b"]")).unwrap_or(name);
    Ok(Some((sector, sectors, name)))
}

/// Bit of a flush before the request.
const PREFLUSH: u32 = 1 << 4;

/// Operation of RWBS, and its flags as in [`crate::LogRecord::flags`].
fn operation(rwbs: &[u8]) -> (Option<Op>, u32) {
    let (mut flags, modifiers) = match rwbs {
        [b'F', rest @ ..] if !rest.is_empty() => (PREFLUSH, rest),
        _ => (0, rwbs),
    };
    let Some((kind, modifiers)) = modifiers.split_first() else { return (None, flags) };
    for modifier in modifiers {
        flags |= match modifier {
            b'S' => 1,
            b'M' => 1 << 1,
            b'A' => 1 << 2,
            b'F' => 1 << 3,
            _ => 0,
        };
    }
    let op = match kind {
        b'R' => Some(Op::Read),
        b'W' => Some(Op::Write),
        b'D' => Some(Op::Trim),
        b'F' => Some(Op::Flush),
        _ => None,
    };
    (op, flags)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{decode, decode_err, decode_log};
    use super::*;

    fn decoder() -> Box<dyn LineDecoder> {
        Box::new(Blkparse::default())
    }

    const HEAD: &str = "  8,16   3        4     0.000011950  3645  Q   R 4938888 + 256 [java]\n\
          8,16   3        5     0.000026421  3645  D  RS 4938888 + 256 [a b/0:1]\n";

    #[test]
    fn issued_requests_are_paired_with_their_completion() {
        let text = format!(
            "{HEAD}  8,16   3        6     0.000030000  3645  D   W 8 + 8 [java]\n\
              8,16   3        7     0.001795683  3557  C   R 4938888 + 256 [0]\n\
              8,16   3        8     0.001800000  3557  m   N cfq 1234 + 5\n\
              8,16   3        8     0.001800000  3557  U   N [java] 1\n\
              8,16   3        9     0.002000000  3557  D  FN [kworker/3:1H]\n\
              8,16   3        9     0.002000000  3557  D   N 36 (12 00 00) [smartd]\n"
        );
        let log = decode_log(decoder(), &text);
        assert_eq!(log.len(), 3);
        assert_eq!(
            (log[0].completion_ns, log[0].process.as_str(), log[0].flags),
            (Some(1_769_262), "a b/0:1", 1)
        );
        assert_eq!((log[1].completion_ns, log[1].request.op), (None, Op::Write));
        assert_eq!((log[2].request.op, log[2].request.sectors), (Op::Flush, 0));
        let (requests, report) = decode(decoder(), &text);
        assert_eq!((requests.len(), report.requests, report.flushes), (3, 2, 1));
        assert_eq!(report.left_out[0].count, 1);
    }

    #[test]
    fn wrapped_stamps_are_negative_times() {
        let text =
            "8,16 1 4 1266874889.709551615  1  D   R 8 + 8 [j]\n8,16 1 4 0.000000001  1  D   R 8 + 8 [j]\n";
        let (requests, report) = decode(decoder(), text);
        assert_eq!((requests[0].time_ns, requests[1].time_ns), (0, 2));
        assert_eq!((report.repaired[0].count, report.first_time_ns), (1, 0));
    }

    #[test]
    fn a_clock_that_starts_again_goes_on() {
        let text = "8,16 1 4 10.0 1 D R 8 + 8 [j]\n8,16 1 4 16.0 1 D R 8 + 8 [j]\n8,16 1 1 0.5 1 D R 8 + 8 [j]\n\
            8,16 1 1 1.0 1 D R 8 + 8 [j]\n8,16 1 1 0.9 1 D R 8 + 8 [j]\n";
        let (requests, report) = decode(decoder(), text);
        let times: Vec<u64> = requests.iter().map(|request| request.time_ns / 100_000_000).collect();
        assert_eq!(times, [0, 60, 60, 64, 65]);
        assert_eq!((report.repaired[0].count, report.reordered, report.clamped_times), (1, 1, 0));
    }

    #[test]
    fn the_summary_is_known_damage_and_other_text_is_not() {
        let text = format!(
            "{HEAD}CPU0 (8,16):\n Reads Queued:  0,  0KiB\t Writes Queued: 0\n\nEvents (8,16): 1 entries\n"
        );
        let (requests, report) = decode(decoder(), &text);
        assert_eq!((requests.len(), report.repaired_count()), (1, 4));
        for (line, said) in [
            ("nonsense", "line 3: device: found \"nonsense\""),
            ("8,16 1 x 0.1 1 D R 8 + 8 [j]", "sequence: found \"x\""),
            ("8,16 1 1 0.1x 1 D R 8 + 8 [j]", "time: found \"0.1x\", expected a decimal number"),
            (
                "8,16 1 1 0.1 1 D R 8 + -8 [j]",
                "sectors: found \"-8\", expected a number that is not negative",
            ),
            ("8,16 1 1 0.1 1 D R -8 + 8 [j]", "sector: found \"-8\", expected a number that is not negative"),
            ("8,16 1 1 0.1 1 D", "RWBS: found the end of the line"),
            ("8,16 1 1 0.1 1 Dxx R 8 + 8", "action: found \"Dxx\""),
        ] {
            let error = decode_err(decoder(), &format!("{HEAD}{line}\n"));
            assert!(error.contains(said), "{line}: {error}");
        }
    }

    #[test]
    fn rwbs_says_what_is_asked_for() {
        assert_eq!(operation(b"RA"), (Some(Op::Read), 4));
        assert_eq!(operation(b"FWFSM"), (Some(Op::Write), PREFLUSH | 8 | 1 | 2));
        assert_eq!(operation(b"DS"), (Some(Op::Trim), 1));
        assert_eq!(operation(b"FF"), (Some(Op::Flush), PREFLUSH));
        assert_eq!(operation(b"FN"), (None, PREFLUSH));
        assert_eq!(operation(b"N"), (None, 0));
        assert_eq!(operation(b""), (None, 0));
    }
}
