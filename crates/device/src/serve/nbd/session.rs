//! Requests of a connection, one after the other.

use std::io::{self, BufRead, BufReader, Read};
use std::sync::Arc;
use std::time::Duration;

use flashweir_trace::{Op, SECTOR_BYTES};

use super::handshake::{Agreed, Offered, negotiate};
use super::outbox::Outbox;
use super::reply::{Reply, failure, last_chunk, simple};
use super::words::{
    ALLOCATION_ID, Fields, HOLE, MAX_BYTES, Message, REQUEST, REQUEST_BYTES, chunk, command, error, error_of,
};
use crate::serve::Shared;
use crate::serve::address::Stream;
use crate::serve::core::{Arrival, Change};
use crate::serve::cuts::Bytes;
use crate::serve::exports::Export;
use crate::serve::reply::{self as serve, Connection};

/// Bytes that are read from a client at once.
const READ_AHEAD: usize = 128 << 10;
/// Longest time for the handshake, and for a client to take a reply.
const PATIENCE: Duration = Duration::from_secs(60);
/// Stack of the thread that writes.
const STACK_BYTES: usize = 128 << 10;
/// Data of this length is given memory before it has come.
const AT_ONCE: usize = 1 << 20;

/// A request as it stands in the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Asked {
    flags: u16,
    command: u16,
    cookie: u64,
    offset: u64,
    len: u32,
}

/// Serves a client until it goes or breaks the protocol.
pub(in crate::serve) fn serve(shared: &Arc<Shared>, stream: Stream) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let offered =
        Offered { exports: &shared.exports, block: SECTOR_BYTES as u32, preferred: shared.preferred_bytes };
    let Some(agreed) = negotiate(&stream, offered)? else { return Ok(()) };
    stream.set_read_timeout(None)?;
    let stream = Arc::new(stream);
    let outbox = Arc::new(Outbox::new(Arc::clone(&stream)));
    let Some(_open) = shared.connected(Connection::Nbd(Arc::clone(&outbox))) else { return Ok(()) };
    let writer = Arc::clone(&outbox);
    let builder = std::thread::Builder::new().name("reply".into()).stack_size(STACK_BYTES);
    let writer = builder.spawn(move || writer.write_until_end())?;
    let export = &shared.exports[agreed.export];
    let from = BufReader::with_capacity(READ_AHEAD, &*stream);
    let done = Session { shared, outbox: &outbox, from, agreed, export }.run();
    // Requests that were read are answered, then the thread ends.
    shared.engine.work();
    outbox.end();
    let _ = writer.join();
    done
}

struct Session<'a, R> {
    shared: &'a Shared,
    outbox: &'a Arc<Outbox>,
    from: BufReader<R>,
    agreed: Agreed,
    export: &'a Export,
}

impl<R: Read> Session<'_, R> {
    fn run(&mut self) -> io::Result<()> {
        loop {
            let mut header = [0; REQUEST_BYTES];
            if self.from.fill_buf()?.is_empty() {
                return Ok(());
            }
            self.from.read_exact(&mut header)?;
            let Some(asked) = parse(&header) else { return Ok(()) };
            if asked.command == command::DISCONNECT {
                return Ok(());
            }
            let too_long = asked.command == command::WRITE && asked.len > MAX_BYTES;
            if too_long || !self.make_room(held(&asked)) {
                // Data and what follows it could not be separated.
                return Ok(());
            }
            let data = match asked.command {
                // A request that ends within its data gets no answer.
                command::WRITE => {
                    self.read_data(asked.len).inspect_err(|_| self.outbox.give_back(held(&asked)))?
                }
                _ => Vec::new(),
            };
            if let Err(error) = self.execute(&asked, data) {
                let structured = self.agreed.structured && asked.command == command::READ;
                // Its data holds no memory any more, however long the answer waits for the client.
                self.outbox.give_back_bytes(held(&asked));
                self.outbox.send(failure(structured, asked.cookie, error), 0);
            }
            if !self.has_request() {
                self.shared.engine.work();
            }
        }
    }

    /// Waits for room, while what was read before goes on.
    fn make_room(&self, bytes: usize) -> bool {
        while !self.outbox.try_take(bytes) {
            self.shared.engine.work();
            if !self.outbox.wait_for_room() {
                return false;
            }
        }
        true
    }

    fn read_data(&mut self, len: u32) -> io::Result<Vec<u8>> {
        let len = len as usize;
        if len > self.from.buffer().len() {
            // The client may wait for earlier replies before it sends the rest.
            self.shared.engine.work();
        }
        if len <= AT_ONCE {
            let mut data = vec![0; len];
            self.from.read_exact(&mut data)?;
            return Ok(data);
        }
        let mut data = Vec::with_capacity(AT_ONCE);
        (&mut self.from).take(len as u64).read_to_end(&mut data)?;
        if data.len() < len { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(data) }
    }

    /// True if another request can be read without waiting for the client.
    fn has_request(&self) -> bool {
        let Some(header) = self.from.buffer().first_chunk::<REQUEST_BYTES>() else { return false };
        parse(header).is_some_and(|asked| {
            asked.command != command::WRITE || self.from.buffer().len() - REQUEST_BYTES >= asked.len as usize
        })
    }

    /// Executes a request, up to the engine. Returns the error that it is refused with.
    fn execute(&self, asked: &Asked, data: Vec<u8>) -> Result<(), u32> {
        let Asked { flags, command, cookie, len, .. } = *asked;
        let allowed = match command {
            command::READ => command::FUA | if self.agreed.structured { command::DF } else { 0 },
            command::WRITE_ZEROES => command::FUA | command::NO_HOLE,
            command::BLOCK_STATUS => command::FUA | command::REQ_ONE,
            _ => command::FUA,
        };
        if flags & !allowed != 0 {
            return Err(error::INVALID);
        }
        let fua = flags & command::FUA != 0;
        let plain = || Reply::plain(self.outbox, cookie, held(asked));
        match command {
            command::READ => {
                let at = self.range(asked, error::INVALID)?;
                if len > MAX_BYTES {
                    return Err(error::OVERFLOW);
                }
                let reply = self.read_reply(asked, at)?;
                self.submit(Op::Read, at, len, false, None, reply);
            }
            command::WRITE => {
                let at = self.range(asked, error::NO_SPACE)?;
                let change = self.change(at, len, Bytes::Write(data))?;
                self.submit(Op::Write, at, len, fua, change, plain());
            }
            command::TRIM | command::WRITE_ZEROES => {
                let zeroes = command == command::WRITE_ZEROES;
                let keep = zeroes && flags & command::NO_HOLE != 0;
                let at = self.range(asked, if zeroes { error::NO_SPACE } else { error::INVALID })?;
                let change = self.change(at, len, Bytes::Zero { keep })?;
                self.submit(if keep { Op::Write } else { Op::Trim }, at, len, fua, change, plain());
            }
            command::FLUSH => {
                if asked.offset != 0 || len != 0 {
                    return Err(error::INVALID);
                }
                self.submit(Op::Flush, 0, 0, false, None, plain());
            }
            command::BLOCK_STATUS if self.agreed.allocation => self.status(asked)?,
            _ => return Err(error::INVALID),
        }
        Ok(())
    }

    /// First byte on the drive, of a request that lies within the export on sectors. `beyond`: error of one that does not.
    fn range(&self, asked: &Asked, beyond: u32) -> Result<u64, u32> {
        let Asked { offset, len, .. } = *asked;
        let len = u64::from(len);
        if offset.checked_add(len).is_none_or(|end| end > self.export.bytes()) {
            return Err(beyond);
        }
        if len == 0 || !offset.is_multiple_of(SECTOR_BYTES) || !len.is_multiple_of(SECTOR_BYTES) {
            return Err(error::INVALID);
        }
        Ok(self.export.first * SECTOR_BYTES + offset)
    }

    fn read_reply(&self, asked: &Asked, at: u64) -> Result<Reply, u32> {
        let Asked { cookie, offset, len, .. } = *asked;
        let structured = self.agreed.structured;
        let header = if structured {
            last_chunk(chunk::OFFSET_DATA, cookie, len + 8).u64(offset).0
        } else {
            simple(0, cookie).0
        };
        let mut message = vec![0; header.len() + len as usize];
        message[..header.len()].copy_from_slice(&header);
        let read = self.shared.store.read(at, &mut message[header.len()..]);
        read.map_err(|failed| error_of(&failed))?;
        Ok(Reply::with(self.outbox, cookie, structured, message, held(asked)))
    }

    fn change(&self, at: u64, len: u32, change: Bytes) -> Result<Change, u32> {
        self.shared.change(at, len.into(), change).map_err(|failed| error_of(&failed))
    }

    fn submit(&self, op: Op, at: u64, len: u32, fua: bool, change: Change, reply: Reply) {
        let arrival = Arrival {
            op,
            lba: at / SECTOR_BYTES,
            sectors: len / SECTOR_BYTES as u32,
            stream: self.export.stream,
            fua,
            change,
            reply: serve::Reply::Nbd(reply),
        };
        self.shared.engine.submit(arrival);
    }

    /// Answers which parts hold data. Takes no time on the drive.
    fn status(&self, asked: &Asked) -> Result<(), u32> {
        let Asked { cookie, len, .. } = *asked;
        let at = self.range(asked, error::INVALID)?;
        let one = asked.flags & command::REQ_ONE != 0;
        let limit = if one { 1 } else { MAX_EXTENTS };
        let extents = self.shared.store.extents(at, len.into(), limit).map_err(|failed| error_of(&failed))?;
        let mut payload = Message::default().u32(ALLOCATION_ID);
        for (bytes, hole) in extents {
            payload = payload.u32(bytes as u32).u32(if hole { HOLE } else { 0 });
        }
        let message = last_chunk(chunk::BLOCK_STATUS, cookie, payload.0.len() as u32).bytes(&payload.0);
        self.outbox.send(message.0, held(asked));
        Ok(())
    }
}

/// Extents of one answer.
const MAX_EXTENTS: usize = 1024;

/// Bytes that a request holds until its reply is written.
fn held(asked: &Asked) -> usize {
    match asked.command {
        command::READ => asked.len.min(MAX_BYTES) as usize + REQUEST_BYTES,
        command::WRITE => asked.len as usize,
        _ => 0,
    }
}

fn parse(header: &[u8; REQUEST_BYTES]) -> Option<Asked> {
    let mut fields = Fields(header);
    if fields.u32()? != REQUEST {
        return None;
    }
    Some(Asked {
        flags: fields.u16()?,
        command: fields.u16()?,
        cookie: fields.u64()?,
        offset: fields.u64()?,
        len: fields.u32()?,
    })
}
