//! CacheBench's key-value traces (CacheLib's `kvcache`): CSV with `key,op,size,op_count,key_size[,ttl]`, or any order of
//! columns that a header names, such as `op_time,key,key_size,op,op_count,size,cache_hits,ttl,usecase,sub_usecase`.
//!
//! Operations are on objects, not on a drive. Here each object has a place of its own, behind those that appeared before
//! it, of as many sectors as key and value take; one that no longer fits its place gets another. Memory grows with the
//! number of keys.

use std::collections::HashMap;

use super::line::{Fields, LineDecoder};
use super::number::{scaled, whole};
use super::sink::{Raw, Sink};
use crate::{FieldError, Op, SECTOR_BYTES};

/// Columns by name: in the order of those of a table without a header, then the others.
const NAMES: [&str; 7] = ["key", "op", "size", "op_count", "key_size", "ttl", "op_time"];
const KEY: usize = 0;
const OP: usize = 1;
const SIZE: usize = 2;
const COUNT: usize = 3;
const KEY_SIZE: usize = 4;
const TIME: usize = 6;

/// Number of columns that must be there.
const NEEDED: usize = 3;

/// Largest `op_count`: CacheBench keeps 16 bits of it.
const MAX_COUNT: u64 = u16::MAX as u64;

const NS_PER_S: u64 = 1_000_000_000;

/// Decoder of the table.
#[derive(Debug)]
pub(crate) struct Kvcache {
    /// Where each of [`NAMES`] stands.
    places: [Option<usize>; NAMES.len()],
    started: bool,
    /// First sector and number of sectors of each object.
    objects: HashMap<Box<[u8]>, (u64, u64)>,
    next_lba: u64,
}

impl Default for Kvcache {
    fn default() -> Self {
        let mut places = [None; NAMES.len()];
        for (at, place) in places.iter_mut().enumerate().take(TIME) {
            *place = Some(at);
        }
        Self { places, started: false, objects: HashMap::new(), next_lba: 0 }
    }
}

impl Kvcache {
    /// Takes the columns of a header; false if the line is none.
    fn header(&mut self, line: &[u8], sink: &mut Sink) -> Result<bool, FieldError> {
        let find = |name: &str| {
            line.split(|byte| *byte == b',').position(|field| field.trim_ascii() == name.as_bytes())
        };
        let places = NAMES.map(find);
        if places[KEY].is_none() && places[OP].is_none() {
            return Ok(false);
        }
        if places.iter().take(NEEDED).any(Option::is_none) {
            return Err(FieldError::new("header", line, "columns key, op and size"));
        }
        self.places = places;
        sink.repaired("header line");
        Ok(true)
    }

    /// The place of an object of so many sectors.
    fn place(&mut self, key: &[u8], sectors: u64) -> Result<u64, FieldError> {
        if let Some((lba, has)) = self.objects.get(key)
            && *has >= sectors
        {
            return Ok(*lba);
        }
        let lba = self.next_lba;
        let end = lba.checked_add(sectors).filter(|end| end.checked_mul(SECTOR_BYTES).is_some());
        self.next_lba =
            end.ok_or_else(|| FieldError::new("size", b"too large", "objects that end below 2^64 bytes"))?;
        self.objects.insert(key.into(), (lba, sectors));
        Ok(lba)
    }
}

impl LineDecoder for Kvcache {
    fn line(&mut self, line: &[u8], sink: &mut Sink) -> Result<(), FieldError> {
        if !std::mem::replace(&mut self.started, true) && self.header(line, sink)? {
            return Ok(());
        }
        let mut found: [Option<&[u8]>; NAMES.len()] = [None; NAMES.len()];
        let mut fields = Fields::new(line, b',');
        let mut at = 0;
        while fields.rest().is_some() {
            let field = fields.next("field")?.trim_ascii();
            if let Some(index) = self.places.iter().position(|place| *place == Some(at)) {
                found[index] = Some(field).filter(|field| !field.is_empty());
            }
            at += 1;
        }
        let needed = |index: usize| found[index].ok_or_else(|| FieldError::missing(NAMES[index]));
        let (key, size) = (needed(KEY)?, whole(NAMES[SIZE], needed(SIZE)?)?);
        let op = match needed(OP)? {
            b"GET" | b"GET_LEASE" => Op::Read,
            b"SET" | b"SET_LEASE" => Op::Write,
            b"DELETE" => Op::Trim,
            other => {
                return Err(FieldError::new("op", other, "GET, GET_LEASE, SET, SET_LEASE or DELETE"));
            }
        };
        let count = found[COUNT].map_or(Ok(1), |text| match whole(NAMES[COUNT], text)? {
            count @ 1..=MAX_COUNT => Ok(count),
            _ => Err(FieldError::new(NAMES[COUNT], text, "a number from 1 to 65535")),
        })?;
        let time_ns = found[TIME].map_or(Ok(0), |text| scaled(NAMES[TIME], text, NS_PER_S))?;
        let key_bytes = found[KEY_SIZE].map_or(Ok(key.len() as u64), |text| whole(NAMES[KEY_SIZE], text))?;
        if op == Op::Read && size == 0 {
            sink.left_out("lookup that found nothing");
            return Ok(());
        }
        let (lba, sectors) = if op == Op::Trim {
            let Some(place) = self.objects.remove(key) else {
                sink.left_out("delete of an object that was not seen before");
                return Ok(());
            };
            place
        } else {
            let sectors = size.saturating_add(key_bytes).div_ceil(SECTOR_BYTES).max(1);
            if sectors > u64::from(u32::MAX) {
                let text = found[SIZE].unwrap_or_default();
                return Err(FieldError::new(NAMES[SIZE], text, "at most 4294967295 sectors"));
            }
            (self.place(key, sectors)?, sectors)
        };
        for _ in 0..if op == Op::Trim { 1 } else { count } {
            sink.push(Raw::sectors(time_ns, op, lba, sectors))?;
        }
        Ok(())
    }

    fn assumptions(&self) -> Vec<String> {
        vec![
            "operations are on objects: each has a place of its own, in the order of first appearance"
                .to_owned(),
            "times are whole seconds; without op_time all requests arrive together".to_owned(),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{decode, decode_err};
    use super::*;

    #[test]
    fn objects_have_places_in_the_order_of_appearance() {
        let text = "key,op,size,op_count,key_size\n17,SET,82,1,40\n17,GET,0,1,40\n9,GET,1000,2,78\n\
            17,SET,600,1,40\n17,DELETE,0,1,40\n5,DELETE,0,1,4\n17,SET,1,1,40\n";
        let (requests, report) = decode(Box::new(Kvcache::default()), text);
        let found: Vec<_> = requests.iter().map(|one| (one.op, one.lba, one.sectors)).collect();
        assert_eq!(
            found,
            [
                (Op::Write, 0, 1),
                (Op::Read, 1, 3),
                (Op::Read, 1, 3),
                (Op::Write, 4, 2),
                (Op::Trim, 4, 2),
                (Op::Write, 6, 1)
            ]
        );
        assert_eq!((report.left_out.len(), report.repaired[0].reason.as_str()), (2, "header line"));
    }

    #[test]
    fn columns_are_found_by_name_or_in_their_usual_order() {
        let text = "op_time,key,key_size,op,op_count,size,cache_hits,ttl,usecase,sub_usecase\n\
            604038471,82131353f9ddc8c6,48,GET_LEASE,1,87,1,0,366387042,3003229276\n\
            604038473,828769c1e1ce3a29,67,SET,1,1000,0,7200,2777918327,655456894\n";
        let (requests, report) = decode(Box::new(Kvcache::default()), text);
        assert_eq!((requests[1].time_ns, requests[1].lba, requests[1].sectors), (2_000_000_000, 1, 3));
        assert_eq!(report.first_time_ns, 604_038_471 * NS_PER_S);
        let (requests, _) = decode(Box::new(Kvcache::default()), "a,SET,5,2,1,300\nb,SET,5\nc,SET,5,1,1,\n");
        assert_eq!(requests.len(), 4);
    }

    #[test]
    fn bad_lines_say_what_was_expected() {
        for (text, said) in [
            ("key,op,ttl\n", "header: found \"key,op,ttl\", expected columns key, op and size"),
            ("a,SAT,1,1,1\n", "op: found \"SAT\", expected GET, GET_LEASE"),
            ("a,SET,1,0,1\n", "op_count: found \"0\", expected a number from 1 to 65535"),
            ("a,SET\n", "size: found the end of the line"),
            ("a,SET,-1\n", "size: found \"-1\""),
            ("a,SET,9999999999999\n", "size: found \"9999999999999\", expected at most 4294967295 sectors"),
            (",SET,1\n", "key: found the end of the line"),
        ] {
            let error = decode_err(Box::new(Kvcache::default()), text);
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
