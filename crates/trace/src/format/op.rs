//! Spellings of operations in formats.

use crate::{FieldError, Op};

/// `Read` or `Write`, in any case.
pub(crate) fn word(field: &'static str, text: &[u8]) -> Result<Op, FieldError> {
    let text = text.trim_ascii();
    if text.eq_ignore_ascii_case(b"read") {
        Ok(Op::Read)
    } else if text.eq_ignore_ascii_case(b"write") {
        Ok(Op::Write)
    } else {
        Err(FieldError::new(field, text, "Read or Write"))
    }
}

/// `R`, `W` or `D`, in any case.
pub(crate) fn letter(field: &'static str, text: &[u8]) -> Result<Op, FieldError> {
    match text.trim_ascii() {
        b"R" | b"r" => Ok(Op::Read),
        b"W" | b"w" => Ok(Op::Write),
        b"D" | b"d" => Ok(Op::Trim),
        text => Err(FieldError::new(field, text, "R, W or D")),
    }
}

/// `0` or `1`, of which `read` is the read.
pub(crate) fn digit(field: &'static str, text: &[u8], read: u8) -> Result<Op, FieldError> {
    match text.trim_ascii() {
        [digit @ (b'0' | b'1')] => Ok(if *digit == read { Op::Read } else { Op::Write }),
        text => Err(FieldError::new(
            field,
            text,
            if read == b'1' { "1 (read) or 0 (write)" } else { "0 (read) or 1 (write)" },
        )),
    }
}

/// Operation of a SCSI command, by its operation code; `None` for all that move no data to or from a known address.
pub(crate) const fn scsi(code: u64) -> Option<Op> {
    match code {
        0x08 | 0x28 | 0xa8 | 0x88 => Some(Op::Read),
        0x0a | 0x2a | 0xaa | 0x8a | 0x2e | 0xae | 0x8e => Some(Op::Write),
        0x35 | 0x91 => Some(Op::Flush),
        _ => None,
    }
}
