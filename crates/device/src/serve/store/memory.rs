//! Bytes in memory, in chunks that are made when first written.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

/// Bytes of a chunk.
const CHUNK: u64 = 16 << 10;
/// Parts with a lock of their own.
const SHARDS: usize = 64;

type Chunks = HashMap<u64, Box<[u8]>>;

/// Bytes of a drive.
#[derive(Debug)]
pub(in crate::serve) struct Memory {
    shards: Vec<RwLock<Chunks>>,
}

impl Default for Memory {
    fn default() -> Self {
        Self { shards: (0..SHARDS).map(|_| RwLock::default()).collect() }
    }
}

/// Chunks of a range: number, first byte within it, bytes, place in the range.
fn pieces(at: u64, bytes: u64) -> impl Iterator<Item = (u64, usize, usize, usize)> {
    let end = at + bytes;
    (at / CHUNK..end.div_ceil(CHUNK)).map(move |chunk| {
        let (from, to) = ((chunk * CHUNK).max(at), ((chunk + 1) * CHUNK).min(end));
        (chunk, (from - chunk * CHUNK) as usize, (to - from) as usize, (from - at) as usize)
    })
}

impl Memory {
    fn shard(&self, chunk: u64) -> &RwLock<Chunks> {
        &self.shards[(chunk % SHARDS as u64) as usize]
    }

    pub(super) fn read(&self, at: u64, into: &mut [u8]) {
        for (chunk, from, len, place) in pieces(at, into.len() as u64) {
            let shard = self.shard(chunk).read().unwrap_or_else(PoisonError::into_inner);
            let into = &mut into[place..place + len];
            match shard.get(&chunk) {
                Some(bytes) => into.copy_from_slice(&bytes[from..from + len]),
                None => into.fill(0),
            }
        }
    }

    pub(super) fn write(&self, at: u64, data: &[u8]) {
        for (chunk, from, len, place) in pieces(at, data.len() as u64) {
            let mut shard = self.shard(chunk).write().unwrap_or_else(PoisonError::into_inner);
            let bytes = shard.entry(chunk).or_insert_with(|| vec![0; CHUNK as usize].into_boxed_slice());
            bytes[from..from + len].copy_from_slice(&data[place..place + len]);
        }
    }

    pub(super) fn zero(&self, at: u64, bytes: u64) {
        for (chunk, from, len, _) in pieces(at, bytes) {
            let mut shard = self.shard(chunk).write().unwrap_or_else(PoisonError::into_inner);
            if len as u64 == CHUNK {
                shard.remove(&chunk);
            } else if let Some(bytes) = shard.get_mut(&chunk) {
                bytes[from..from + len].fill(0);
            }
        }
    }

    pub(super) fn extents(&self, at: u64, bytes: u64, limit: usize) -> Vec<(u64, bool)> {
        let mut found: Vec<(u64, bool)> = Vec::new();
        for (chunk, _, len, _) in pieces(at, bytes) {
            let shard = self.shard(chunk).read().unwrap_or_else(PoisonError::into_inner);
            let hole = !shard.contains_key(&chunk);
            if let Some((before, was)) = found.last_mut()
                && *was == hole
            {
                *before += len as u64;
            } else if found.len() == limit {
                break;
            } else {
                found.push((len as u64, hole));
            }
        }
        found
    }
}
