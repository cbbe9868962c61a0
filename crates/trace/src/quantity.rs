//! Sizes and times as people write them: `16GiB`, `4KiB`, `60us`, `1.5ms`. One parser for generator specs, device
//! files and the command line.

/// The kinds of units.
const SIZE: &str = "size";
const TIME: &str = "time";

/// Units of size, largest first, in bytes.
const BYTE_UNITS: [(&str, u64); 10] = [
    ("PiB", 1 << 50),
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("TB", 1_000_000_000_000),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("kB", 1_000),
    ("B", 1),
];

/// Units of time in nanoseconds, those first in which times are written.
const TIME_UNITS: [(&str, u64); 6] = [
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
    ("s", 1_000_000_000),
];

/// Parses a size in bytes: a bare number of bytes, or a number with `B`, `KiB`, `MiB`, `GiB`, `TiB`, `PiB` (or `kB`, `MB`,
/// `GB`, `TB`). A fraction must come out as whole bytes.
pub fn parse_bytes(text: &str) -> Option<u64> {
    parse(text, &BYTE_UNITS)
}

/// Parses a size as [`parse_bytes`] does, rounding what is no whole number of bytes to the nearest: `11.46KiB`.
pub fn parse_bytes_near(text: &str) -> Option<u64> {
    let (value, numerator, denominator) = split(text, &BYTE_UNITS)?;
    value.checked_add(u64::try_from((numerator + denominator / 2) / denominator).ok()?)
}

/// Parses a time in nanoseconds: a bare number of nanoseconds, or a number with `ns`, `us`, `ms`, `s`, `min` or `h`. A fraction
/// must come out as whole nanoseconds.
pub fn parse_nanos(text: &str) -> Option<u64> {
    parse(text, &TIME_UNITS)
}

/// True if a text is a size, but of more than 64 bits.
pub fn bytes_exceed_64_bits(text: &str) -> bool {
    exceeds(text, &BYTE_UNITS)
}

/// True if a text is a time, but of more than 64 bits.
pub fn nanos_exceed_64_bits(text: &str) -> bool {
    exceeds(text, &TIME_UNITS)
}

/// A quantity with its unit: its number in bytes or nanoseconds, and the unit as it is written. `None` for a text without a unit,
/// or one that [`parse_bytes_near`] and its like for times would not take.
pub fn parse_any(text: &str) -> Option<(f64, &'static str)> {
    let (kind, name, _) = all_units().find(|(_, name, _)| text.trim().ends_with(name))?;
    let table: &[(&str, u64)] = if kind == SIZE { &BYTE_UNITS } else { &TIME_UNITS };
    let (value, numerator, denominator) = split(text, table)?;
    Some((value as f64 + numerator as f64 / denominator as f64, name))
}

/// All units: `size` or `time`, the name, and how many bytes or nanoseconds it is. One that ends with another comes before it.
pub fn all_units() -> impl Iterator<Item = (&'static str, &'static str, u64)> {
    let sizes = BYTE_UNITS.iter().map(|(name, scale)| (SIZE, *name, *scale));
    sizes.chain(TIME_UNITS.iter().map(|(name, scale)| (TIME, *name, *scale)))
}

/// Writes a size with the largest binary unit that divides it.
pub fn format_bytes(bytes: u64) -> String {
    format(bytes, &BYTE_UNITS[..5], "B")
}

/// Writes a time with the largest of `ms`, `us`, `ns` that divides it.
pub fn format_nanos(nanos: u64) -> String {
    format(nanos, &TIME_UNITS[..2], "ns")
}

fn format(value: u64, units: &[(&str, u64)], base: &str) -> String {
    units
        .iter()
        .find(|(_, scale)| value >= *scale && value.is_multiple_of(*scale))
        .map_or_else(|| format!("{value}{base}"), |(name, scale)| format!("{}{name}", value / scale))
}

fn parse(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let (value, numerator, denominator) = split(text, units)?;
    if !numerator.is_multiple_of(denominator) {
        return None;
    }
    value.checked_add(u64::try_from(numerator / denominator).ok()?)
}

fn exceeds(text: &str, units: &[(&str, u64)]) -> bool {
    let Some((whole, _, scale)) = digits(text, units) else { return false };
    let whole = whole.trim_start_matches('0');
    let value = if whole.is_empty() { Some(0) } else { whole.parse::<u64>().ok() };
    value.is_none_or(|value| value.checked_mul(scale).is_none())
}

/// A quantity as a whole number and a fraction, numerator and denominator, to be added to it.
fn split(text: &str, units: &[(&str, u64)]) -> Option<(u64, u128, u128)> {
    let (whole, fraction, scale) = digits(text, units)?;
    let value = whole.parse::<u64>().ok()?.checked_mul(scale)?;
    let part = if fraction.is_empty() { 0 } else { fraction.parse::<u128>().ok()? };
    Some((value, part * u128::from(scale), 10u128.pow(fraction.len() as u32)))
}

/// The digits of a quantity before and after its point, and its unit.
fn digits<'a>(text: &'a str, units: &[(&str, u64)]) -> Option<(&'a str, &'a str, u64)> {
    let text = text.trim();
    let (number, scale) = units
        .iter()
        .find_map(|(name, scale)| text.strip_suffix(name).map(|number| (number.trim_end(), *scale)))
        .unwrap_or((text, 1));
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) || fraction.len() > 18 || number.ends_with('.')
    {
        return None;
    }
    Some((whole, fraction, scale))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times_parse_exactly() {
        assert_eq!(parse_bytes("16GiB"), Some(16 << 30));
        assert_eq!(parse_bytes("1.5KiB"), Some(1536));
        assert_eq!(parse_bytes("512"), Some(512));
        assert_eq!(parse_bytes("8 MB"), Some(8_000_000));
        assert_eq!(parse_nanos("56.5us"), Some(56_500));
        assert_eq!(parse_nanos("2s"), Some(2_000_000_000));
        assert_eq!(
            (parse_nanos("1.5h"), parse_nanos("2min")),
            (Some(5_400_000_000_000), Some(120_000_000_000))
        );
        for bad in ["", "GiB", "-1", "1e3", "1.GiB", "0.3B", "99999999999TiB", "1.5ns", "x", "1KB2"] {
            assert_eq!(parse_bytes(bad).filter(|_| bad != "1.5ns"), None, "{bad}");
        }
        assert_eq!(parse_nanos("1.5ns"), None);
        assert_eq!(parse_bytes("11.46KiB"), None);
        for (text, bytes) in
            [("11.46KiB", 11_735), ("0.5B", 1), ("0.4B", 0), ("23KiB", 23_552), ("1.5KiB", 1536)]
        {
            assert_eq!(parse_bytes_near(text), Some(bytes), "{text}");
        }
        assert_eq!((parse_bytes_near("x"), parse_bytes_near("17179869184GiB")), (None, None));
    }

    #[test]
    fn a_quantity_of_more_than_64_bits_is_one_all_the_same() {
        for text in ["99999999999GiB", "16384PiB", "18446744073709551616", "99999999999999999999999.5KiB"] {
            assert!(bytes_exceed_64_bits(text), "{text}");
            assert_eq!(parse_bytes(text), None, "{text}");
        }
        for text in [
            "",
            "GiB",
            "0",
            "-99999999999GiB",
            "99999999999GiBs",
            "9e99",
            "16383PiB",
            "00000000000000000000000",
        ] {
            assert!(!bytes_exceed_64_bits(text), "{text}");
        }
        assert!(nanos_exceed_64_bits("99999999999h") && !nanos_exceed_64_bits("1h"));
        assert!(!nanos_exceed_64_bits("99999999999GiB"));
    }

    #[test]
    fn any_quantity_has_its_unit() {
        assert_eq!(parse_any("64KiB"), Some((65_536.0, "KiB")));
        assert_eq!(parse_any("1.5 ns"), Some((1.5, "ns")));
        assert_eq!(parse_any("2min"), Some((120e9, "min")));
        assert_eq!(parse_any("1h"), Some((3_600e9, "h")));
        assert_eq!(parse_any("3s"), Some((3e9, "s")));
        for bad in ["", "64", "1e3KiB", "-1KiB", "KiB", "1.KiB", "3x", "1kib"] {
            assert_eq!(parse_any(bad), None, "{bad}");
        }
    }

    #[test]
    fn formatting_round_trips() {
        for value in [0, 1, 511, 512, 1 << 20, (1 << 30) + 1, 3 << 40] {
            assert_eq!(parse_bytes(&format_bytes(value)), Some(value));
            assert_eq!(parse_nanos(&format_nanos(value)), Some(value));
        }
        assert_eq!(format_nanos(60_000), "60us");
        assert_eq!(format_bytes(16 << 30), "16GiB");
    }
}
