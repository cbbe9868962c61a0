//! The byte stream of the kernel's trace pipe in binary mode: events, and between them lines of text that say what was lost.

use flashweir_trace::FieldError;
use flashweir_trace::format::blktrace::{Event, HEAD_BYTES};

/// The magic with which an event starts, of any version, little- and big-endian machines alike.
const MAGIC: u32 = 0x6561_7400;

/// Bytes without an event or the end of a line after which the stream is none of ours.
const LONGEST_LINE: usize = 4096;

/// One thing that the pipe says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// Something happened.
    Event(Event),
    /// So many events were lost here.
    Lost(u64),
    /// Text of somebody else, as markers in the trace are.
    Foreign,
}

/// Cuts the stream, in whatever pieces it comes.
#[derive(Debug, Default)]
pub(super) struct Splitter {
    held: Vec<u8>,
    at: usize,
}

impl Splitter {
    /// Takes the next piece of the stream.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.held.drain(..self.at);
        self.at = 0;
        self.held.extend_from_slice(bytes);
    }

    /// The next thing that is there as a whole.
    ///
    /// # Errors
    /// An event of a version that this build does not know, or what is neither event nor text.
    pub(super) fn next(&mut self) -> Result<Option<Said>, FieldError> {
        let rest = &self.held[self.at..];
        let Some(start) = rest.get(..4).and_then(|start| start.try_into().ok()) else { return Ok(None) };
        if u32::from_ne_bytes(start) & !0xff == MAGIC {
            let Some(head) = rest.get(..HEAD_BYTES) else { return Ok(None) };
            let event = Event::from_bytes(head)?;
            let bytes = HEAD_BYTES + usize::from(event.payload);
            if rest.len() < bytes {
                return Ok(None);
            }
            self.at += bytes;
            return Ok(Some(Said::Event(event)));
        }
        let Some(end) = rest.iter().position(|byte| *byte == b'\n') else {
            if rest.len() > LONGEST_LINE {
                return Err(FieldError::new("trace pipe", rest, "an event of blktrace, or a line of text"));
            }
            return Ok(None);
        };
        let said = lost(&rest[..end]).map_or(Said::Foreign, Said::Lost);
        self.at += end + 1;
        Ok(Some(said))
    }
}

/// The number in `CPU:1 [LOST 24258 EVENTS]`; 1 where the kernel does not know how many.
fn lost(line: &[u8]) -> Option<u64> {
    let line = std::str::from_utf8(line).ok()?;
    let (_, number) =
        line.strip_suffix(" EVENTS]")?.split_once("[LOST").filter(|(cpu, _)| cpu.starts_with("CPU:"))?;
    let number = number.trim();
    if number.is_empty() { Some(1) } else { number.parse().ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(time_ns: u64) -> Event {
        Event { time_ns, sector: 8, bytes: 4096, action: 7 | 1 << 16, ..Event::default() }
    }

    fn all(splitter: &mut Splitter) -> Vec<Said> {
        std::iter::from_fn(|| splitter.next().unwrap()).collect()
    }

    #[test]
    fn events_and_losses_are_found_however_the_stream_is_cut() {
        let mut stream = Vec::new();
        event(1).write(&mut stream);
        stream.extend(b"CPU:1 [LOST 24258 EVENTS]\n");
        let with_payload = Event { payload: 5, ..event(2) };
        with_payload.write(&mut stream);
        stream.extend(b"12\n45");
        stream.extend(b"CPU:0 [LOST EVENTS]\ntype: 5\n");
        event(3).write(&mut stream);
        let expected = [
            Said::Event(event(1)),
            Said::Lost(24258),
            Said::Event(with_payload),
            Said::Lost(1),
            Said::Foreign,
            Said::Event(event(3)),
        ];
        for piece in [1, 3, 47, 48, 4096] {
            let mut splitter = Splitter::default();
            let mut found = Vec::new();
            for bytes in stream.chunks(piece) {
                splitter.push(bytes);
                found.extend(all(&mut splitter));
            }
            assert_eq!(found, expected, "pieces of {piece}");
        }
    }

    #[test]
    fn what_is_neither_is_an_error() {
        let mut splitter = Splitter::default();
        splitter.push(&[7; LONGEST_LINE + 1]);
        assert!(splitter.next().unwrap_err().to_string().contains("an event of blktrace, or a line of text"));
        let mut later = Vec::new();
        event(1).write(&mut later);
        later[0] = 8;
        let mut splitter = Splitter::default();
        splitter.push(&later);
        assert!(splitter.next().unwrap_err().to_string().contains("expected version 7"));
    }
}
