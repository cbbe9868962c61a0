//! Numbers in text, parsed on bytes: exact, checked, and with an error that says what was expected.

use crate::FieldError;

const WHOLE: &str = "a whole number";
const DECIMAL: &str = "a decimal number";
const POSITIVE: &str = "a number that is not negative";
const BELOW_2_64: &str = "a number below 2^64";

/// Most digits that can't overflow 64 bits.
const SAFE_DIGITS: usize = 19;

/// Powers of ten up to those of the units of time.
const POWERS: [u64; 10] =
    [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000];

/// The digits that `text` starts with: their value, which is right up to 19 digits, and how many there are.
#[inline]
fn leading_digits(text: &[u8], mut value: u64) -> (u64, usize) {
    let mut count = 0;
    for &byte in text {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
        count += 1;
    }
    (value, count)
}

/// The whole number that `text` starts with, if it is a plain one, and its length. `None` is no error: the caller
/// finds the end of the field and asks [`whole`].
#[inline]
pub(crate) fn leading_whole(text: &[u8]) -> Option<(u64, usize)> {
    let (value, count) = leading_digits(text, 0);
    (1..=SAFE_DIGITS).contains(&count).then_some((value, count))
}

/// Like [`leading_whole`], for a decimal number times `10^power`. `None` if digits would have to be dropped.
#[inline]
pub(crate) fn leading_decimal(text: &[u8], power: u32) -> Option<(u64, usize)> {
    let (value, count) = leading_digits(text, 0);
    if count == 0 {
        return None;
    }
    let (value, fraction, length) = match text.get(count) {
        Some(b'.') => {
            let (value, fraction) = leading_digits(text.get(count + 1..)?, value);
            (value, fraction, count + 1 + fraction)
        }
        _ => (value, 0, count),
    };
    let scale = POWERS.get((power as usize).checked_sub(fraction)?)?;
    if count + fraction > SAFE_DIGITS { None } else { Some((value.checked_mul(*scale)?, length)) }
}

/// A whole number in decimal digits; spaces around it are no part of it.
pub(crate) fn whole(field: &'static str, text: &[u8]) -> Result<u64, FieldError> {
    let digits = text.trim_ascii();
    let mut value = 0u64;
    for &byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return Err(not_a_number(field, digits, WHOLE));
        }
        match value.checked_mul(10).and_then(|tens| tens.checked_add(u64::from(digit))) {
            Some(next) => value = next,
            None => return Err(too_large(field, digits, WHOLE)),
        }
    }
    if digits.is_empty() { Err(FieldError::new(field, text, WHOLE)) } else { Ok(value) }
}

/// A whole number times `factor`: ticks of a clock in nanoseconds, pages in sectors.
pub(crate) fn scaled(field: &'static str, text: &[u8], factor: u64) -> Result<u64, FieldError> {
    match whole(field, text)?.checked_mul(factor) {
        Some(value) => Ok(value),
        None => Err(out_of_range(field, text)),
    }
}

/// The error of a number that overflows once it is in nanoseconds or sectors.
#[cold]
pub(crate) fn out_of_range(field: &'static str, text: &[u8]) -> FieldError {
    FieldError::new(field, text, "a number below 2^64 in nanoseconds or sectors")
}

/// The end of a span that starts at `start_ns` and whose length was read from `text`.
pub(crate) fn end(field: &'static str, text: &[u8], start_ns: u64, span_ns: u64) -> Result<u64, FieldError> {
    start_ns.checked_add(span_ns).ok_or_else(|| FieldError::new(field, text, "an end before 2^64 ns"))
}

/// A hexadecimal number with or without `0x`.
pub(crate) fn hex(field: &'static str, text: &[u8]) -> Result<u64, FieldError> {
    const HEX: &str = "a hexadecimal number";
    let text = text.trim_ascii();
    let digits = text.strip_prefix(b"0x").or_else(|| text.strip_prefix(b"0X")).unwrap_or(text);
    if digits.is_empty() {
        return Err(FieldError::new(field, text, HEX));
    }
    let mut value = 0u64;
    for &byte in digits {
        let Some(digit) = (byte as char).to_digit(16) else { return Err(not_a_number(field, text, HEX)) };
        if value >> 60 != 0 {
            return Err(FieldError::new(field, text, BELOW_2_64));
        }
        value = value << 4 | u64::from(digit);
    }
    Ok(value)
}

/// A decimal number times `10^power`, rounded to the nearest whole: seconds with `power` 9 give nanoseconds. Digits
/// are read exactly, never through a float; `1.5e3` is understood.
pub(crate) fn decimal(field: &'static str, text: &[u8], power: u32) -> Result<u64, FieldError> {
    let text = text.trim_ascii();
    let (mut value, mut at, mut seen) = (0u64, 0, false);
    while let Some(digit) = digit_at(text, at) {
        match value.checked_mul(10).and_then(|tens| tens.checked_add(digit)) {
            Some(next) => value = next,
            None => return scientific(field, text, power),
        }
        (at, seen) = (at + 1, true);
    }
    let mut missing = power;
    let mut round_up = 0;
    if text.get(at) == Some(&b'.') {
        at += 1;
        let first_dropped = at + power as usize;
        while let Some(digit) = digit_at(text, at) {
            if at < first_dropped {
                let Some(next) = value.checked_mul(10).and_then(|tens| tens.checked_add(digit)) else {
                    return Err(too_large(field, text, DECIMAL));
                };
                value = next;
                missing -= 1;
            } else if at == first_dropped {
                round_up = u64::from(digit >= 5);
            }
            (at, seen) = (at + 1, true);
        }
    }
    if at < text.len() || !seen {
        return scientific(field, text, power);
    }
    10u64
        .checked_pow(missing)
        .and_then(|scale| value.checked_mul(scale))
        .and_then(|scaled| scaled.checked_add(round_up))
        .ok_or_else(|| FieldError::new(field, text, BELOW_2_64))
}

/// A whole number of bytes or ticks that may be written as `1.82083E+11`; fractions are rounded.
pub(crate) fn rounded(field: &'static str, text: &[u8]) -> Result<u64, FieldError> {
    decimal(field, text, 0)
}

fn digit_at(text: &[u8], at: usize) -> Option<u64> {
    let digit = text.get(at)?.wrapping_sub(b'0');
    (digit <= 9).then_some(u64::from(digit))
}

/// The slow path of [`decimal`]: an exponent, or an error worth explaining.
#[cold]
fn scientific(field: &'static str, text: &[u8], power: u32) -> Result<u64, FieldError> {
    let Some(mark) = text.iter().position(|byte| matches!(byte, b'e' | b'E')) else {
        return Err(not_a_number(field, text, DECIMAL));
    };
    let (mantissa, exponent) = (&text[..mark], &text[mark + 1..]);
    let exponent: i32 = std::str::from_utf8(exponent)
        .ok()
        .and_then(|digits| digits.parse().ok())
        .filter(|exponent: &i32| exponent.abs() <= 60)
        .ok_or_else(|| FieldError::new(field, text, DECIMAL))?;
    let (mut value, mut fraction, mut point) = (0u128, 0i32, false);
    for &byte in mantissa {
        match byte {
            b'0'..=b'9' if value < 10u128.pow(26) => {
                value = value * 10 + u128::from(byte - b'0');
                fraction += i32::from(point);
            }
            b'.' if !point => point = true,
            _ => return Err(not_a_number(field, text, DECIMAL)),
        }
    }
    if mantissa.iter().all(|byte| *byte == b'.') {
        return Err(FieldError::new(field, text, DECIMAL));
    }
    let shift = power.cast_signed() + exponent - fraction;
    let scale = 10u128.checked_pow(shift.unsigned_abs());
    let scaled = match (scale, shift >= 0) {
        (Some(scale), true) => value.checked_mul(scale),
        (Some(scale), false) => Some((value + scale / 2) / scale),
        (None, true) => (value == 0).then_some(0),
        (None, false) => Some(0),
    };
    scaled.and_then(|value| u64::try_from(value).ok()).ok_or_else(|| FieldError::new(field, text, BELOW_2_64))
}

/// Why `text` is no number: it is negative, or it is something else altogether.
#[cold]
fn not_a_number(field: &'static str, text: &[u8], wanted: &'static str) -> FieldError {
    match text.split_first() {
        Some((b'-', digits)) if digits.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'.')) => {
            FieldError::new(field, text, POSITIVE)
        }
        Some((first, rest)) if first.is_ascii_digit() && rest.iter().all(u8::is_ascii_digit) => {
            FieldError::new(field, text, BELOW_2_64)
        }
        _ => FieldError::new(field, text, wanted),
    }
}

#[cold]
fn too_large(field: &'static str, text: &[u8], wanted: &'static str) -> FieldError {
    let digits = text.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'.'));
    FieldError::new(field, text, if digits { BELOW_2_64 } else { wanted })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_checked() {
        assert_eq!(whole("n", b" 42 "), Ok(42));
        assert_eq!(whole("n", b"18446744073709551615"), Ok(u64::MAX));
        for (text, expected) in [
            (&b"18446744073709551616"[..], BELOW_2_64),
            (b"-1", POSITIVE),
            (b"", WHOLE),
            (b"12x", WHOLE),
            (b"-", POSITIVE),
            (b"99999999999999999999x", WHOLE),
        ] {
            assert_eq!(whole("n", text).map_err(|error| error.expected), Err(expected), "{text:?}");
        }
    }

    #[test]
    fn decimals_are_exact_and_rounded_to_nearest() {
        assert_eq!(decimal("t", b"1398396860.168065791", 9), Ok(1_398_396_860_168_065_791));
        assert_eq!(decimal("t", b"159273.83748699998", 9), Ok(159_273_837_487_000));
        assert_eq!(decimal("t", b"0.0000000005", 9), Ok(1));
        assert_eq!(decimal("t", b"11.413", 6), Ok(11_413_000));
        assert_eq!(decimal("t", b".5", 3), Ok(500));
        assert_eq!(decimal("t", b"5.", 0), Ok(5));
        assert_eq!(decimal("t", b"1.5e-05", 9), Ok(15_000));
        assert_eq!(rounded("o", b"1.82083E+11"), Ok(182_083_000_000));
        assert_eq!(rounded("o", b"1E-60"), Ok(0));
        for text in [
            "",
            ".",
            "e5",
            "1e",
            "1e99",
            "1..2",
            "x",
            "-.e1",
            "18446744073.709551616",
            "1e12x",
            "-1.5",
            ".e1",
        ] {
            assert!(decimal("t", text.as_bytes(), 9).is_err(), "{text}");
        }
        assert_eq!(decimal("t", b"-1.5", 9).map_err(|error| error.expected), Err(POSITIVE));
        assert_eq!(decimal("t", b"18446744073.709551616", 9).map_err(|e| e.expected), Err(BELOW_2_64));
    }

    #[test]
    fn hexadecimal_with_and_without_prefix() {
        assert_eq!(hex("f", b"0x1FF"), Ok(511));
        assert_eq!(hex("f", b"2a"), Ok(42));
        assert_eq!(hex("f", b"0xFFFFFFFFFFFFFFFF"), Ok(u64::MAX));
        assert!(hex("f", b"0x1FFFFFFFFFFFFFFFF").is_err());
        assert!(hex("f", b"0x").is_err());
        assert!(hex("f", b"g").is_err());
    }
}
