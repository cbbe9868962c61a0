//! Text formats: what a decoder of lines promises, and how lines are split into fields.

use super::input::Input;
use super::number;
use super::sink::{Order, Sink};
use crate::{FieldError, TraceError};

/// Decodes a text format line by line. A decoder knows its columns and their units; time base, order, devices and
/// counts are the [`Sink`]'s.
pub(crate) trait LineDecoder: Send {
    /// Decodes one line (without its line end, never blank) and pushes what it holds.
    fn line(&mut self, line: &[u8], sink: &mut Sink) -> Result<(), FieldError>;

    /// Called after the last line: pushes what is left, or says what never came.
    fn finish(&mut self, _sink: &mut Sink) -> Result<(), FieldError> {
        Ok(())
    }

    /// True if [`look_ahead`](Self::look_ahead) must see the file before the first line is decoded.
    fn looks_ahead(&self) -> bool {
        false
    }

    /// Reads ahead, on a second handle of the same file, until all is known that no single line shows.
    fn look_ahead(&mut self, _input: &mut Input) -> Result<(), TraceError> {
        Ok(())
    }

    /// Degree to which records are in time order.
    fn order(&self) -> Order {
        Order::AsIs
    }

    /// By how much the decoder moves its times, so that slightly negative ones stay above zero, ns.
    fn clock_offset_ns(&self) -> u64 {
        0
    }

    /// Assumptions about the file, in sentences for people.
    fn assumptions(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Fields between single separators, such as commas.
pub(crate) struct Fields<'a> {
    rest: Option<&'a [u8]>,
    separator: u8,
}

impl<'a> Fields<'a> {
    /// Splits `line` at every `separator`.
    pub(crate) const fn new(line: &'a [u8], separator: u8) -> Self {
        Self { rest: Some(line), separator }
    }

    /// The next field; an error names the one that is missing.
    #[inline]
    pub(crate) fn next(&mut self, field: &'static str) -> Result<&'a [u8], FieldError> {
        let Some(rest) = self.rest else { return Err(FieldError::missing(field)) };
        if let Some(at) = rest.iter().position(|byte| *byte == self.separator) {
            self.rest = Some(&rest[at + 1..]);
            Ok(&rest[..at])
        } else {
            self.rest = None;
            Ok(rest)
        }
    }

    /// The next field as a whole number.
    #[inline]
    pub(crate) fn whole(&mut self, field: &'static str) -> Result<u64, FieldError> {
        self.skip_spaces();
        match self.rest.and_then(number::leading_whole) {
            Some((value, length)) if self.skip(length) => Ok(value),
            _ => number::whole(field, self.next(field)?),
        }
    }

    /// The next field as a whole number times `factor`.
    #[inline]
    pub(crate) fn scaled(&mut self, field: &'static str, factor: u64) -> Result<u64, FieldError> {
        let text = self.rest.unwrap_or_default();
        self.whole(field)?.checked_mul(factor).ok_or_else(|| {
            let separator = |byte: &u8| *byte == self.separator;
            number::out_of_range(field, text.split(separator).next().unwrap_or_default())
        })
    }

    /// The next field as a decimal number times `10^power`.
    #[inline]
    pub(crate) fn decimal(&mut self, field: &'static str, power: u32) -> Result<u64, FieldError> {
        self.skip_spaces();
        match self.rest.and_then(|rest| number::leading_decimal(rest, power)) {
            Some((value, length)) if self.skip(length) => Ok(value),
            _ => number::decimal(field, self.next(field)?, power),
        }
    }

    /// Passes spaces before a number, which are no part of it.
    #[inline]
    fn skip_spaces(&mut self) {
        while let Some([b' ', rest @ ..]) = self.rest
            && self.separator != b' '
        {
            self.rest = Some(rest);
        }
    }

    /// Takes the next field if it has `length` bytes and at most spaces behind them.
    #[inline]
    fn skip(&mut self, length: usize) -> bool {
        let Some(mut rest) = self.rest.and_then(|rest| rest.get(length..)) else { return false };
        while let [b' ', after @ ..] = rest
            && self.separator != b' '
        {
            rest = after;
        }
        self.rest = match rest {
            [] => None,
            [byte, after @ ..] if *byte == self.separator => Some(after),
            _ => return false,
        };
        true
    }

    /// Everything after the last field taken; `None` if nothing stood there.
    pub(crate) const fn rest(&self) -> Option<&'a [u8]> {
        self.rest
    }

    /// An error if there are more fields than `expected` says.
    pub(crate) fn end(&self, expected: &'static str) -> Result<(), FieldError> {
        match self.rest {
            None => Ok(()),
            Some(rest) if rest.trim_ascii().is_empty() => Ok(()),
            Some(rest) => Err(FieldError::new("line end", rest, expected)),
        }
    }
}

/// Fields between runs of spaces and tabs.
pub(crate) struct Words<'a> {
    rest: &'a [u8],
}

impl<'a> Words<'a> {
    /// Splits `line` at white space.
    pub(crate) const fn new(line: &'a [u8]) -> Self {
        Self { rest: line }
    }

    /// The next word, if there is one.
    #[inline]
    pub(crate) fn try_next(&mut self) -> Option<&'a [u8]> {
        let start = self.rest.iter().position(|byte| !matches!(byte, b' ' | b'\t'))?;
        let rest = &self.rest[start..];
        let end = rest.iter().position(|byte| matches!(byte, b' ' | b'\t')).unwrap_or(rest.len());
        self.rest = &rest[end..];
        Some(&rest[..end])
    }

    /// The next word; an error names the one that is missing.
    #[inline]
    pub(crate) fn next(&mut self, field: &'static str) -> Result<&'a [u8], FieldError> {
        self.try_next().ok_or_else(|| FieldError::missing(field))
    }

    /// The next word as a whole number.
    #[inline]
    pub(crate) fn whole(&mut self, field: &'static str) -> Result<u64, FieldError> {
        self.skip_white();
        match number::leading_whole(self.rest) {
            Some((value, length)) if self.skip(length) => Ok(value),
            _ => number::whole(field, self.next(field)?),
        }
    }

    /// The next word as a whole number times `factor`.
    #[inline]
    pub(crate) fn scaled(&mut self, field: &'static str, factor: u64) -> Result<u64, FieldError> {
        let text = self.rest;
        self.whole(field)?
            .checked_mul(factor)
            .ok_or_else(|| number::out_of_range(field, Words::new(text).try_next().unwrap_or_default()))
    }

    /// The next word as a decimal number times `10^power`.
    #[inline]
    pub(crate) fn decimal(&mut self, field: &'static str, power: u32) -> Result<u64, FieldError> {
        self.skip_white();
        match number::leading_decimal(self.rest, power) {
            Some((value, length)) if self.skip(length) => Ok(value),
            _ => number::decimal(field, self.next(field)?, power),
        }
    }

    #[inline]
    fn skip_white(&mut self) {
        while let [b' ' | b'\t', rest @ ..] = self.rest {
            self.rest = rest;
        }
    }

    /// Takes the next word if it has `length` bytes.
    #[inline]
    fn skip(&mut self, length: usize) -> bool {
        let ends = matches!(self.rest.get(length), None | Some(b' ' | b'\t'));
        if ends {
            self.rest = self.rest.get(length..).unwrap_or_default();
        }
        ends
    }

    /// Everything after the last word taken, without white space around it.
    pub(crate) const fn rest(&self) -> &'a [u8] {
        self.rest.trim_ascii()
    }

    /// An error if there are more words than `expected` says.
    pub(crate) fn end(&self, expected: &'static str) -> Result<(), FieldError> {
        let rest = self.rest();
        if rest.is_empty() { Ok(()) } else { Err(FieldError::new("line end", rest, expected)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_where_they_stand_or_explained() {
        let mut fields = Fields::new(b" 12 ,3.5,x,18446744073709551615,7,", b',');
        assert_eq!(fields.whole("a"), Ok(12));
        assert_eq!(fields.decimal("b", 3), Ok(3500));
        assert!(fields.whole("c").is_err_and(|error| error.found == "\"x\""));
        assert_eq!(fields.whole("d"), Ok(u64::MAX));
        assert!(fields.scaled("e", u64::MAX).is_err_and(|error| error.found == "\"7\""));
        assert!(fields.whole("f").is_err_and(|error| error.found == "\"\""));
        assert!(fields.whole("g").is_err_and(|error| error.found == "the end of the line"));
        let mut words = Words::new(b"  5\t6.25 z9 8");
        assert_eq!(words.whole("a"), Ok(5));
        assert_eq!(words.decimal("b", 1), Ok(63));
        assert!(words.whole("c").is_err_and(|error| error.found == "\"z9\""));
        assert!(words.scaled("d", u64::MAX).is_err_and(|error| error.found == "\"8\""));
        assert!(words.whole("e").is_err());
    }
}
