//! Exports: named parts of a drive, each a tenant of its own.

use flashweir_run::Drive;
use flashweir_trace::{SECTOR_BYTES, quantity};

use crate::Error;

/// The longest name that the protocol allows, bytes.
const NAME_BYTES: usize = 4096;

/// A part of the drive that clients open by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Export {
    /// Its name; the empty one is the default export.
    pub(super) name: String,
    /// Its first sector on the drive.
    pub(super) first: u64,
    /// Its length, sectors.
    pub(super) sectors: u64,
    /// Its tenant.
    pub(super) stream: u16,
}

impl Export {
    /// Its size, bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.sectors * SECTOR_BYTES
    }
}

/// Names of the exports, `NAME` or `NAME=SIZE`.
pub(super) fn names(given: &[String]) -> Result<Vec<String>, Error> {
    let mut names: Vec<String> = Vec::new();
    for text in given {
        let name = text.split_once('=').map_or(text.as_str(), |(name, _)| name);
        let bad = name.is_empty() || name.len() > NAME_BYTES || name.chars().any(char::is_control);
        if bad || names.iter().any(|other| other == name) {
            let expected = "expected NAME or NAME=SIZE, a name of its own for each export".into();
            return Err(Error::Setting { what: format!("--export {text}"), expected });
        }
        names.push(name.to_owned());
    }
    Ok(names)
}

/// The exports of a drive: those that it was saved with, or the given ones, which it then has. A drive that `is_kept` in a folder
/// with its bytes gets none that it had not.
pub(super) fn of(given: &[String], drive: &mut Drive, is_kept: bool) -> Result<Vec<Export>, Error> {
    let geometry = drive.geometry();
    let (capacity, unit) = (geometry.capacity_sectors(), u64::from(geometry.page_sectors));
    let options = drive.options();
    let own = one_behind_the_other(options.tenants.iter().cloned().zip(options.volumes.iter().copied()));
    if given.is_empty() {
        return if own.is_empty() { divide(given, capacity, unit) } else { Ok(own) };
    }
    let exports = divide(given, capacity, unit);
    if own.is_empty() && !is_kept {
        let exports = exports?;
        drive.set_tenants(&names(given)?, exports.iter().map(|export| export.sectors).collect())?;
        return Ok(exports);
    }
    if exports.as_ref().is_ok_and(|exports| *exports == own) {
        return exports;
    }
    let shown: Vec<String> = own
        .iter()
        .map(|export| format!("{}={}", export.name, quantity::format_bytes(export.bytes())))
        .collect();
    let has = if own.is_empty() { "no exports".into() } else { format!("the exports {}", shown.join(", ")) };
    let expected = format!("the drive was saved with {has}; expected no --export, or the same");
    Err(Error::Setting { what: format!("--export {}", given.join(" --export ")), expected })
}

fn one_behind_the_other(parts: impl Iterator<Item = (String, u64)>) -> Vec<Export> {
    let mut first = 0;
    let export = |(stream, (name, sectors)): (usize, (String, u64))| {
        first += sectors;
        Export { name, first: first - sectors, sectors, stream: stream as u16 }
    };
    parts.enumerate().map(export).collect()
}

/// Divides the drive. Exports without a size share the rest equally; each begins on a boundary of `unit` sectors.
pub(super) fn divide(given: &[String], capacity: u64, unit: u64) -> Result<Vec<Export>, Error> {
    if given.is_empty() {
        return Ok(vec![Export { name: String::new(), first: 0, sectors: capacity, stream: 0 }]);
    }
    let mut sizes = Vec::new();
    for text in given {
        let size = text.split_once('=').map(|(_, size)| size);
        sizes.push(match size.map(quantity::parse_bytes) {
            None => None,
            Some(Some(bytes)) if bytes > 0 => {
                Some(bytes.div_ceil(SECTOR_BYTES).checked_next_multiple_of(unit).unwrap_or(u64::MAX))
            }
            Some(_) => {
                let expected = "expected a size above 0 behind the name, such as db=10GiB".into();
                return Err(Error::Setting { what: format!("--export {text}"), expected });
            }
        });
    }
    let taken = sizes.iter().flatten().fold(0u64, |sum, size| sum.saturating_add(*size));
    let open = sizes.iter().filter(|size| size.is_none()).count() as u64;
    let rest = capacity.saturating_sub(taken);
    let share = rest.checked_div(open).unwrap_or(0) / unit * unit;
    if taken > capacity || (open > 0 && share == 0) {
        return Err(Error::Setting {
            what: format!("--export: {} bytes and {open} without a size", taken.saturating_mul(SECTOR_BYTES)),
            expected: format!("the drive has {} bytes; expected exports that fit", capacity * SECTOR_BYTES),
        });
    }
    let sizes = sizes.into_iter().map(|size| size.unwrap_or(share));
    Ok(one_behind_the_other(names(given)?.into_iter().zip(sizes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn divided(given: &[&str]) -> Result<Vec<(String, u64, u64)>, String> {
        let given: Vec<String> = given.iter().map(|text| (*text).to_owned()).collect();
        let exports = names(&given).and_then(|_| divide(&given, 1024, 8));
        let shown = |exports: Vec<Export>| {
            exports.into_iter().map(|export| (export.name, export.first, export.sectors)).collect()
        };
        exports.map(shown).map_err(|error| error.to_string())
    }

    #[test]
    fn the_drive_is_divided_as_named() {
        assert_eq!(divided(&[]), Ok(vec![(String::new(), 0, 1024)]));
        let expected = vec![("web".into(), 0, 256), ("db".into(), 256, 384), ("log".into(), 640, 384)];
        assert_eq!(divided(&["web=128KiB", "db", "log"]), Ok(expected));
        assert!(divided(&["a=1MiB"]).expect_err("too large").contains("expected exports that fit"));
        assert!(divided(&["a=512KiB", "b"]).expect_err("no rest").contains("expected exports that fit"));
        assert!(divided(&["a", "a"]).expect_err("twice").contains("a name of its own"));
        assert!(divided(&["a=none"]).expect_err("no size").contains("expected a size"));
        assert!(divided(&["=1MiB"]).expect_err("no name").contains("NAME=SIZE"));
    }
}
