//! Several devices in one trace: each gets a range of addresses of its own.
//!
//! The first device starts at sector zero. When a second one shows up the file is read for how far each device's
//! addresses go, and then from the start again; the devices are packed in order of first appearance, each range aligned
//! to 1 MiB.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::report::DeviceRange;
use super::source::Source;
use crate::TraceError;

/// Sectors in 1 MiB.
const ALIGNMENT: u64 = 2048;

/// Most devices a trace may have: more names than this are a column mistaken for a device.
const MAX_DEVICES: usize = 1 << 20;

/// End of each device's addresses in sectors, by its name in the trace.
pub(crate) type Extents = HashMap<Box<[u8]>, u64>;

/// Why a request got no address.
#[derive(Debug)]
pub(crate) enum Unplaced {
    /// A second device showed up: the extents of all must be known first.
    NeedsExtents,
    /// The file or its devices are at fault.
    Failed(TraceError),
}

impl From<TraceError> for Unplaced {
    fn from(error: TraceError) -> Self {
        Self::Failed(error)
    }
}

/// The devices seen so far.
pub(crate) struct Devices {
    names: Vec<Box<[u8]>>,
    index: HashMap<Box<[u8]>, usize, BuildHasherDefault<Fnv>>,
    last: usize,
    /// Where the extents can be read when a second device shows up; `None` shares one range between all.
    source: Option<Source>,
    /// End of each device's range, once the file was read for it.
    extents: Option<Extents>,
    next_base: u64,
}

impl Devices {
    /// No devices yet.
    pub(crate) fn new(source: Option<Source>) -> Self {
        Self { names: Vec::new(), index: HashMap::default(), last: 0, source, extents: None, next_base: 0 }
    }

    /// Says how far each device's addresses go; before the first one is placed.
    pub(crate) fn set_extents(&mut self, extents: Extents) {
        self.extents = Some(extents);
    }

    /// Where the trace comes from.
    pub(crate) const fn source(&self) -> Option<&Source> {
        self.source.as_ref()
    }

    /// Number of the device called `name`, if it was seen.
    pub(crate) fn find(&self, name: &[u8]) -> Option<usize> {
        if self.names.get(self.last).is_some_and(|last| **last == *name) {
            return Some(self.last);
        }
        self.index.get(name).copied()
    }

    /// Number and first sector of the device called `name`, on which a request ends at `end`.
    #[inline]
    pub(crate) fn place(
        &mut self,
        ranges: &mut Vec<DeviceRange>,
        name: &[u8],
        end: u64,
        extents_only: bool,
    ) -> Result<(usize, u64), Unplaced> {
        let index = match self.find(name) {
            Some(index) => index,
            None => self.add(ranges, name, extents_only)?,
        };
        self.last = index;
        let Some(range) = ranges.get_mut(index) else { return Ok((index, 0)) };
        if end > range.sectors {
            range.sectors = end;
            // A file that grew since its extents were read would spill into the next device's range.
            if let Some(extents) = &self.extents
                && extents.get(name).is_none_or(|extent| end > *extent)
            {
                return Err(self.changed().into());
            }
        }
        Ok((index, range.base_lba))
    }

    /// Extent of the addresses of each device, in sectors.
    pub(crate) fn extents(&self, ranges: &[DeviceRange]) -> Extents {
        self.names.iter().cloned().zip(ranges.iter().map(|range| range.sectors)).collect()
    }

    #[cold]
    fn add(
        &mut self,
        ranges: &mut Vec<DeviceRange>,
        name: &[u8],
        extents_only: bool,
    ) -> Result<usize, Unplaced> {
        let index = self.names.len();
        if index >= MAX_DEVICES {
            let detail = format!("more than {MAX_DEVICES} devices: is that the right column?");
            return Err(self.unreadable(detail).into());
        }
        if index > 0 && !extents_only && self.extents.is_none() && self.source.is_some() {
            return Err(Unplaced::NeedsExtents);
        }
        let base_lba = self.next_base;
        self.reserve(name)?;
        self.names.push(name.into());
        self.index.insert(name.into(), index);
        ranges.push(DeviceRange { name: String::from_utf8_lossy(name).into_owned(), base_lba, sectors: 0 });
        Ok(index)
    }

    /// Moves the next free base behind the range of `name`.
    fn reserve(&mut self, name: &[u8]) -> Result<(), TraceError> {
        let Some(extents) = &self.extents else { return Ok(()) };
        let Some(extent) = extents.get(name) else { return Err(self.changed()) };
        let next =
            self.next_base.checked_add(*extent).and_then(|end| end.checked_next_multiple_of(ALIGNMENT));
        let Some(next) = next else {
            return Err(self.unreadable("its devices together have more than 2^64 sectors".to_owned()));
        };
        self.next_base = next;
        Ok(())
    }

    fn changed(&self) -> TraceError {
        self.unreadable("the file changed while it was read".to_owned())
    }

    fn unreadable(&self, detail: String) -> TraceError {
        let path = self.source.as_ref().map(|source| source.path.clone()).unwrap_or_default();
        TraceError::Io { path, source: std::io::Error::new(std::io::ErrorKind::InvalidData, detail) }
    }
}

/// FNV-1a: device names are a few bytes long, and nothing hostile is gained by colliding them.
pub(crate) struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Fnv {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}
