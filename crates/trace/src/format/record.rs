//! Traits of decoders of binary records, and numbers within a record.

use super::input::Input;
use super::sink::{Order, Sink};
use crate::{FieldError, TraceError};

/// Decodes a binary format.
///
/// A decoder reads `input`, or whatever it opened itself (archives, files that must be sought in), and pushes into
/// the sink. A bad record goes through [`Sink::bad`], known damage through [`Sink::repaired`]. An [`Sink::push`] may
/// leave an error in `sink.failed`: the caller looks after each [`fill`](Self::fill), so return soon.
pub(crate) trait RecordDecoder: Send {
    /// Decodes about `budget` records; false once the end was reached.
    fn fill(&mut self, input: &mut Input, sink: &mut Sink, budget: usize) -> Result<bool, TraceError>;

    /// Amount read and total amount, in bytes or records; `None` where the total is not known.
    fn position(&self, input: &Input) -> Option<(u64, u64)> {
        input.bytes_read()
    }

    /// Degree to which records are in time order.
    fn order(&self) -> Order {
        Order::AsIs
    }

    /// True if times count from the start of the workload already, so that the first need not be zero.
    fn starts_at_zero(&self) -> bool {
        false
    }

    /// Assumptions about the file, in sentences for people.
    fn assumptions(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Decodes records of one size.
pub(crate) trait FixedRecord: Send {
    /// The size.
    const BYTES: usize;

    /// True if these bytes, as many as the size, look like such a record.
    fn fits(record: &[u8]) -> bool;

    /// Decodes a record, which has the size.
    fn decode(&mut self, record: &[u8], sink: &mut Sink) -> Result<(), FieldError>;

    /// Assumptions about the file, in sentences for people.
    fn assumptions(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The number at `at`, little-endian; bytes beyond the record count as zero.
#[inline]
pub(crate) fn u64_at(record: &[u8], at: usize) -> u64 {
    array_at(record, at).map_or(0, u64::from_le_bytes)
}

/// The number at `at`, little-endian; bytes beyond the record count as zero.
#[inline]
pub(crate) fn u32_at(record: &[u8], at: usize) -> u32 {
    array_at(record, at).map_or(0, u32::from_le_bytes)
}

/// The number at `at`, little-endian; bytes beyond the record count as zero.
#[inline]
pub(crate) fn u16_at(record: &[u8], at: usize) -> u16 {
    array_at(record, at).map_or(0, u16::from_le_bytes)
}

#[inline]
fn array_at<const N: usize>(record: &[u8], at: usize) -> Option<[u8; N]> {
    record.get(at..at + N)?.try_into().ok()
}
