//! oracleGeneral of cache simulators: binary records of 24 bytes, little-endian and packed. Time in whole seconds, the
//! object (an address in sectors, where the source was a block trace), its size in bytes, and when it comes again.
//!
//! Nothing says whether a request reads or writes, so all are reads.

use super::record::{FixedRecord, u32_at, u64_at};
use super::sink::{Raw, Sink};
use crate::{FieldError, Op, SECTOR_BYTES};

const NS_PER_S: u64 = 1_000_000_000;

/// Decoder of oracleGeneral.
#[derive(Debug)]
pub(crate) struct OracleGeneral;

impl FixedRecord for OracleGeneral {
    const BYTES: usize = 24;

    /// There is no magic. The next access is what gives the format away: a small number, or one of two for never.
    fn fits(record: &[u8]) -> bool {
        let next = u64_at(record, 16);
        let never = next == u64::MAX || next == i64::MAX as u64;
        (1..1 << 30).contains(&u32_at(record, 12)) && (never || (1..1 << 40).contains(&next))
    }

    fn decode(&mut self, record: &[u8], sink: &mut Sink) -> Result<(), FieldError> {
        let (time_s, lba, bytes) = (u32_at(record, 0), u64_at(record, 4), u32_at(record, 12));
        let sectors = u64::from(bytes).div_ceil(SECTOR_BYTES);
        sink.push(Raw::sectors(u64::from(time_s) * NS_PER_S, Op::Read, lba, sectors))
    }

    fn assumptions(&self) -> Vec<String> {
        vec![
            "the format has no operations: all requests are taken as reads".to_owned(),
            "objects are taken as addresses in sectors of 512 bytes; times are whole seconds".to_owned(),
        ]
    }
}
