//! Lines of `/proc`: mounts and swap.

use std::path::PathBuf;

/// A mounted file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mount {
    /// Device number of the file system; some, such as btrfs, have one of their own.
    pub(super) device: u64,
    pub(super) point: String,
    pub(super) kind: String,
    pub(super) source: String,
}

/// A line of mountinfo (proc(5)): id, parent, major:minor, root, mount point, options, optional fields, `-`, type, source, options.
pub(super) fn parse_mount(line: &str) -> Option<Mount> {
    let (before, after) = line.split_once(" - ")?;
    let mut fields = before.split(' ').skip(2);
    let (device, point) = (parse_device(fields.next()?)?, fields.nth(1)?);
    let mut described = after.split(' ');
    let (kind, source) = (described.next()?, described.next()?);
    Some(Mount { device, point: unescape(point), kind: kind.into(), source: unescape(source) })
}

/// `major:minor`.
pub(super) fn parse_device(text: &str) -> Option<u64> {
    let (major, minor) = text.trim().split_once(':')?;
    Some(rustix::fs::makedev(major.parse().ok()?, minor.parse().ok()?))
}

/// A line of `/proc/swaps` under its heading.
pub(super) fn parse_swap(line: &str) -> Option<PathBuf> {
    line.split_ascii_whitespace().next().map(|path| PathBuf::from(unescape(path)))
}

/// Spaces and the like stand as `\040`.
fn unescape(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after
            .get(..3)
            .filter(|digits| *first == b'\\' && digits.iter().all(|d| (b'0'..b'8').contains(d)));
        let code =
            digits.map(|digits| digits.iter().fold(0u32, |sum, digit| sum * 8 + u32::from(digit - b'0')));
        if let Some(byte) = code.and_then(|code| u8::try_from(code).ok()) {
            out.push(byte);
            rest = &after[3..];
        } else {
            out.push(*first);
            rest = after;
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}
