//! Requests as columns of bytes and nanoseconds, as programs in other languages have them.

use std::ops::Range;

use flashweir_trace::{Op, Request, SECTOR_BYTES};

use super::Drive;
use crate::error::Error;

/// Requests, a field a column, all of one length.
#[derive(Clone, Copy, Debug, Default)]
pub struct Columns<'a> {
    /// Numbers of operations: 0 read, 1 write, 2 trim, 3 flush, and those of commands to zones: 4 append, 5 open, 6 close,
    /// 7 finish, 8 reset, 9 offline, 10 open_zrwa, 11 commit.
    pub ops: &'a [u8],
    /// First bytes.
    pub offsets: &'a [u64],
    /// Lengths, bytes.
    pub lengths: &'a [u64],
    /// Arrivals on the drive's clock, ns.
    pub times_ns: &'a [u64],
    /// Numbers of tenants.
    pub tenants: &'a [u16],
    /// Placement handles; none: all have 0.
    pub handles: &'a [u8],
}

impl Drive {
    /// As [`Drive::submit`], of columns.
    pub fn submit_columns(&mut self, columns: &Columns<'_>) -> Result<Range<u64>, Error> {
        let Columns { ops, offsets, lengths, times_ns, tenants, handles } = *columns;
        let lens = [ops.len(), offsets.len(), lengths.len(), times_ns.len(), tenants.len()];
        if !handles.is_empty() && handles.len() != ops.len() {
            let what = format!("a column of {} placement handles", handles.len());
            return Err(Error::setting(what, format!("expected {}, as many as operations", ops.len())));
        }
        if lens.iter().any(|len| *len != ops.len()) {
            let [ops, offsets, lengths, times, tenants] = lens;
            let what = format!(
                "columns of {ops} operations, {offsets} offsets, {lengths} lengths, {times} times, {tenants} tenants"
            );
            return Err(Error::setting(what, "expected as many of each"));
        }
        let mut requests = Vec::with_capacity(ops.len());
        for at in 0..ops.len() {
            let request = request(ops[at], offsets[at], lengths[at], times_ns[at], tenants[at]);
            let which = || format!("request {} of {}", at + 1, ops.len());
            let request = request.map_err(|detail| Error::Submitted { which: which(), detail })?;
            requests.push(Request { handle: handles.get(at).copied().unwrap_or(0), ..request });
        }
        self.submit(&requests)
    }
}

fn request(op: u8, offset: u64, length: u64, time_ns: u64, stream: u16) -> Result<Request, String> {
    let known = Op::ALL.get(usize::from(op)).copied();
    let op = known.ok_or_else(|| format!("operation {op}; expected 0 (read) to 11 (commit)"))?;
    for (name, bytes) in [("offset", offset), ("length", length)] {
        if !bytes.is_multiple_of(SECTOR_BYTES) {
            return Err(format!("{name} {bytes}; expected a multiple of {SECTOR_BYTES} bytes"));
        }
    }
    let sectors = u32::try_from(length / SECTOR_BYTES)
        .map_err(|_| format!("length {length}; expected less than 2 TiB"))?;
    Ok(Request { time_ns, lba: offset / SECTOR_BYTES, sectors, stream, op, handle: 0 })
}
