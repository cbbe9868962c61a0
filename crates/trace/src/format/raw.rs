//! A request as its format has it, and the checks that are the same for every format.

use crate::{FieldError, Op, SECTOR_BYTES};

/// A request as a format has it: times on the format's own clock, the address on its own device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Raw<'a> {
    /// Arrival, ns from any origin.
    pub(crate) time_ns: u64,
    /// Operation.
    pub(crate) op: Op,
    /// First sector on its device.
    pub(crate) lba: u64,
    /// Length in sectors.
    pub(crate) sectors: u64,
    /// Name of its device as it stands in the trace; empty if there are none.
    pub(crate) device: &'a [u8],
    /// Stream to which it belongs.
    pub(crate) stream: u16,
    /// Placement handle.
    pub(crate) handle: u8,
    /// When it should have gone to the device, on the clock of `time_ns`.
    pub(crate) due_ns: Option<u64>,
    /// When it went to the device, on the clock of `time_ns`.
    pub(crate) issue_ns: Option<u64>,
    /// When it completed, on the clock of `time_ns`.
    pub(crate) completion_ns: Option<u64>,
    /// Flags as in [`LogRecord::flags`].
    pub(crate) flags: u32,
    /// Name of the process.
    pub(crate) process: &'a [u8],
    /// If a later line completes it: what that line names it by, on the same device.
    pub(crate) pair: Option<u64>,
    /// True if that line also gives operation and length, so that requests may share a `pair`.
    pub(crate) shares_pair: bool,
}

impl<'a> Raw<'a> {
    /// A request of sectors.
    #[inline]
    pub(crate) const fn sectors(time_ns: u64, op: Op, lba: u64, sectors: u64) -> Self {
        let (device, process): (&'a [u8], &'a [u8]) = (&[], &[]);
        Self {
            time_ns,
            op,
            lba,
            sectors,
            device,
            stream: 0,
            handle: 0,
            due_ns: None,
            issue_ns: None,
            completion_ns: None,
            flags: 0,
            process,
            pair: None,
            shares_pair: false,
        }
    }

    /// A request of bytes: every sector it touches.
    #[inline]
    pub(crate) fn bytes(time_ns: u64, op: Op, offset: u64, bytes: u64) -> Result<Self, FieldError> {
        let Some(end) = offset.checked_add(bytes) else {
            return Err(FieldError::new(
                "offset + size",
                offset.to_string().as_bytes(),
                "an end below 2^64 bytes",
            ));
        };
        let lba = offset / SECTOR_BYTES;
        let sectors = if bytes == 0 { 0 } else { end.div_ceil(SECTOR_BYTES) - lba };
        Ok(Self::sectors(time_ns, op, lba, sectors))
    }

    /// A flush.
    pub(crate) const fn flush(time_ns: u64) -> Self {
        Self::sectors(time_ns, Op::Flush, 0, 0)
    }
}

/// Checks what every request must be, whatever its format.
#[inline]
pub(super) fn check(raw: &Raw<'_>) -> Result<u32, FieldError> {
    if raw.op == Op::Flush {
        return Ok(0);
    }
    let quoted = |value: u64| value.to_string();
    if raw.sectors == 0 {
        return Err(FieldError::new("size", b"0", "a length above zero"));
    }
    let Ok(sectors) = u32::try_from(raw.sectors) else {
        return Err(FieldError::new("size", quoted(raw.sectors).as_bytes(), "at most 4294967295 sectors"));
    };
    if raw.lba.checked_add(raw.sectors).is_none() {
        return Err(FieldError::new(
            "address",
            quoted(raw.lba).as_bytes(),
            "a request that ends below sector 2^64",
        ));
    }
    Ok(sectors)
}
