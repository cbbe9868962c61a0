//! Executes a request up to the engine: checks it, and moves its data.

use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU32};

use flashweir_trace::{Op, SECTOR_BYTES};
use virtio_bindings::virtio_blk::{
    VIRTIO_BLK_ID_BYTES, VIRTIO_BLK_S_IOERR, VIRTIO_BLK_S_UNSUPP, VIRTIO_BLK_T_DISCARD, VIRTIO_BLK_T_FLUSH,
    VIRTIO_BLK_T_GET_ID, VIRTIO_BLK_T_IN, VIRTIO_BLK_T_OUT, VIRTIO_BLK_T_WRITE_ZEROES,
};
use virtio_queue::{Error as QueueError, Reader, Writer};

use super::config::{MAX_BYTES, MAX_RANGE_SECTORS};
use super::link::Link;
use super::reply::{Asked, Reply};
use super::request::{Bad, Chain, HEADER_BYTES, Header, MAX_RANGES, Memory, RANGE_BYTES, Range, status_of};
use super::vring::Vring;
use crate::serve::core::{Arrival, Change};
use crate::serve::cuts::Bytes;
use crate::serve::exports::Export;
use crate::serve::reply as serve;
use crate::serve::shared::Shared;

/// Bytes that are moved at once.
const CHUNK: usize = 64 << 10;
/// The longest range to discard or make zero, bytes.
const MAX_RANGE_BYTES: usize = MAX_RANGE_SECTORS as usize * SECTOR_BYTES as usize;

/// Executes the requests of a ring.
pub(super) struct Executor<'a> {
    pub(super) shared: &'a Shared,
    pub(super) export: &'a Export,
    pub(super) link: &'a Arc<Link>,
    pub(super) queue: usize,
    pub(super) vring: &'a Vring,
    /// Writes are durable before they are answered.
    pub(super) durable: bool,
    pub(super) buffer: &'a mut Vec<u8>,
}

/// A request, with its place in the client's memory.
struct Place<'a> {
    header: Header,
    input: Reader<'a>,
    output: Writer<'a>,
}

/// Status of a request that fails.
struct Failed(u32);

const BAD: Failed = Failed(VIRTIO_BLK_S_IOERR);

impl Executor<'_> {
    /// Executes a request, which was counted as outstanding. An error ends the client.
    pub(super) fn execute(&mut self, memory: &Memory, chain: &Chain) -> Result<(), Bad> {
        let head = chain.head_index();
        let placed = status_of(chain.clone()).and_then(|status_at| Ok((status_at, placed(memory, chain)?)));
        let (status_at, mut place) = match placed {
            Ok(placed) => placed,
            Err(bad) => {
                self.link.end(self.queue);
                return Err(bad);
            }
        };
        let asked = Arc::new(Asked {
            link: Arc::clone(self.link),
            queue: self.queue,
            vring: self.vring.clone(),
            memory: memory.clone(),
            head,
            status_at,
            status: AtomicU8::new(0),
            written: AtomicU32::new(0),
        });
        if let Err(Failed(status)) = self.begin(&mut place, &asked) {
            asked.fail(status);
        }
        Ok(())
    }

    /// Begins a request. What it fails with is answered at once.
    fn begin(&mut self, place: &mut Place<'_>, asked: &Arc<Asked>) -> Result<(), Failed> {
        let Header { kind, sector } = place.header;
        match kind {
            VIRTIO_BLK_T_IN => {
                let bytes = place.output.available_bytes();
                let at = self.range(sector, bytes, MAX_BYTES)?;
                self.read(at, bytes, &mut place.output)?;
                asked.wrote(bytes);
                self.submit(Op::Read, at, bytes as u64, None, asked);
            }
            VIRTIO_BLK_T_OUT => {
                let bytes = place.input.available_bytes();
                let at = self.range(sector, bytes, MAX_BYTES)?;
                let change = self.write(at, bytes, &mut place.input)?;
                self.submit(Op::Write, at, bytes as u64, change, asked);
            }
            VIRTIO_BLK_T_FLUSH => self.submit(Op::Flush, 0, 0, None, asked),
            VIRTIO_BLK_T_GET_ID => {
                let mut id = format!("flashweir {}", self.export.name).trim_end().as_bytes().to_vec();
                id.resize(place.output.available_bytes().min(VIRTIO_BLK_ID_BYTES as usize), 0);
                place.output.write_all(&id).map_err(|_| BAD)?;
                asked.wrote(id.len());
            }
            VIRTIO_BLK_T_DISCARD | VIRTIO_BLK_T_WRITE_ZEROES => {
                for range in ranges(kind, &mut place.input)? {
                    let bytes = u64::from(range.sectors) * SECTOR_BYTES;
                    let at = self.range(range.sector, bytes as usize, MAX_RANGE_BYTES)?;
                    let change = Bytes::Zero { keep: !range.unmap };
                    let change = self.shared.change(at, bytes, change).map_err(|_| BAD)?;
                    let op = if range.unmap { Op::Trim } else { Op::Write };
                    self.submit(op, at, bytes, change, asked);
                }
            }
            _ => return Err(Failed(VIRTIO_BLK_S_UNSUPP)),
        }
        Ok(())
    }

    /// First byte on the drive, of a request of whole sectors that lies within the export.
    fn range(&self, sector: u64, bytes: usize, most: usize) -> Result<u64, Failed> {
        let bytes = bytes as u64;
        let end = sector.checked_add(bytes / SECTOR_BYTES).ok_or(BAD)?;
        if bytes == 0
            || bytes > most as u64
            || !bytes.is_multiple_of(SECTOR_BYTES)
            || end > self.export.sectors
        {
            return Err(BAD);
        }
        Ok((self.export.first + sector) * SECTOR_BYTES)
    }

    /// Moves bytes from the store to the client.
    fn read(&mut self, at: u64, bytes: usize, to: &mut Writer<'_>) -> Result<(), Failed> {
        self.buffer.resize(CHUNK, 0);
        for from in (0..bytes).step_by(CHUNK) {
            let part = &mut self.buffer[..CHUNK.min(bytes - from)];
            self.shared.store.read(at + from as u64, part).map_err(|_| BAD)?;
            to.write_all(part).map_err(|_| BAD)?;
        }
        Ok(())
    }

    /// Moves bytes from the client to the store, or as a whole to the engine.
    fn write(&mut self, at: u64, bytes: usize, from: &mut Reader<'_>) -> Result<Change, Failed> {
        if self.shared.changes_in_order {
            let mut data = vec![0; bytes];
            from.read_exact(&mut data).map_err(|_| BAD)?;
            return self.shared.change(at, bytes as u64, Bytes::Write(data)).map_err(|_| BAD);
        }
        self.buffer.resize(CHUNK, 0);
        for to in (0..bytes).step_by(CHUNK) {
            let part = &mut self.buffer[..CHUNK.min(bytes - to)];
            from.read_exact(part).map_err(|_| BAD)?;
            self.shared.store.write(at + to as u64, part).map_err(|_| BAD)?;
        }
        Ok(None)
    }

    fn submit(&self, op: Op, at: u64, bytes: u64, change: Change, asked: &Arc<Asked>) {
        self.shared.engine.submit(Arrival {
            op,
            lba: at / SECTOR_BYTES,
            sectors: (bytes / SECTOR_BYTES) as u32,
            stream: self.export.stream,
            fua: self.durable && matches!(op, Op::Write | Op::Trim),
            change,
            reply: serve::Reply::Vhost(Reply::new(asked)),
        });
    }
}

/// Reads the header of a request, and finds its data. An error ends the client.
fn placed<'a>(memory: &'a Memory, chain: &Chain) -> Result<Place<'a>, Bad> {
    let bad = |error: QueueError| Bad(format!("a bad descriptor: {error}"));
    let mut input = Reader::new(&**memory, chain.clone()).map_err(bad)?;
    let mut output = Writer::new(&**memory, chain.clone()).map_err(bad)?;
    let mut header = [0; HEADER_BYTES];
    let short = |_| Bad("a bad descriptor: a request is shorter than its header".into());
    input.read_exact(&mut header).map_err(short)?;
    // The last byte is the status.
    output.split_at(output.available_bytes().saturating_sub(1)).map_err(bad)?;
    Ok(Place { header: Header::parse(&header), input, output })
}

/// Reads the ranges of a request.
fn ranges(kind: u32, from: &mut Reader<'_>) -> Result<Vec<Range>, Failed> {
    let bytes = from.available_bytes();
    if bytes == 0 || !bytes.is_multiple_of(RANGE_BYTES) || bytes > MAX_RANGES * RANGE_BYTES {
        return Err(BAD);
    }
    let mut found = Vec::with_capacity(bytes / RANGE_BYTES);
    for _ in 0..bytes / RANGE_BYTES {
        let mut range = [0; RANGE_BYTES];
        from.read_exact(&mut range).map_err(|_| BAD)?;
        found.push(Range::parse(kind, &range).ok_or(Failed(VIRTIO_BLK_S_UNSUPP))?);
    }
    Ok(found)
}
