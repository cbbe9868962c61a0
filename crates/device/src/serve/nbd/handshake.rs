//! The handshake: fixed newstyle, until the client has chosen an export or gone.

use std::io::{self, Read, Write};

use super::words::{
    ALLOCATION, ALLOCATION_ID, DF_FLAG, EXPORT_FLAGS, FIXED_NEWSTYLE, Fields, GREETING, MAX_BYTES,
    MAX_OPTION_BYTES, Message, NO_ZEROES, OPTION, OPTION_REPLY, answer, info, option,
};
use crate::serve::address::Stream;
use crate::serve::exports::Export;

/// Options that one client may send.
const MAX_OPTIONS: u32 = 10_000;

/// Outcome of the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Agreed {
    /// Chosen export.
    pub(super) export: usize,
    /// Reads are answered in chunks.
    pub(super) structured: bool,
    /// The client may ask which parts are holes.
    pub(super) allocation: bool,
}

/// Exports as the handshake shows them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offered<'a> {
    pub(super) exports: &'a [Export],
    /// The smallest request, bytes.
    pub(super) block: u32,
    /// The best request, bytes.
    pub(super) preferred: u32,
}

/// Next step after an option.
enum Next {
    Option,
    Go(usize),
    Gone,
}

struct Handshake<'a> {
    stream: &'a Stream,
    offered: Offered<'a>,
    no_zeroes: bool,
    structured: bool,
    /// Export for which the allocation was asked for.
    allocation: Option<Vec<u8>>,
}

/// Negotiates with a client. Returns `None` if it has gone or does not speak the protocol.
pub(super) fn negotiate(mut stream: &Stream, offered: Offered<'_>) -> io::Result<Option<Agreed>> {
    let greeting = Message::default().u64(GREETING).u64(OPTION).u16(FIXED_NEWSTYLE | NO_ZEROES);
    stream.write_all(&greeting.0)?;
    let mut flags = [0; 4];
    stream.read_exact(&mut flags)?;
    let flags = u32::from_be_bytes(flags);
    if flags & !u32::from(FIXED_NEWSTYLE | NO_ZEROES) != 0 {
        return Ok(None);
    }
    let no_zeroes = flags & u32::from(NO_ZEROES) != 0;
    let mut handshake = Handshake { stream, offered, no_zeroes, structured: false, allocation: None };
    for _ in 0..MAX_OPTIONS {
        match handshake.option()? {
            Next::Option => {}
            Next::Gone => return Ok(None),
            Next::Go(export) => {
                let Handshake { structured, allocation, .. } = handshake;
                let name = offered.exports.get(export).map(|export| export.name.as_bytes().to_vec());
                let allocation = structured && allocation.is_some() && allocation == name;
                return Ok(Some(Agreed { export, structured, allocation }));
            }
        }
    }
    Ok(None)
}

impl Handshake<'_> {
    /// Reads an option and answers it.
    fn option(&mut self) -> io::Result<Next> {
        let mut header = [0; 16];
        self.stream.read_exact(&mut header)?;
        let mut fields = Fields(&header);
        let (Some(OPTION), Some(kind), Some(len)) = (fields.u64(), fields.u32(), fields.u32()) else {
            return Ok(Next::Gone);
        };
        if len > MAX_OPTION_BYTES {
            self.reply(kind, answer::TOO_BIG, b"an option has at most 65536 bytes")?;
            return Ok(Next::Gone);
        }
        let mut data = vec![0; len as usize];
        self.stream.read_exact(&mut data)?;
        if self.stream.awaits_tls() && ![option::STARTTLS, option::ABORT].contains(&kind) {
            if kind == option::EXPORT_NAME {
                return Ok(Next::Gone);
            }
            return self.refuse(kind, answer::TLS_REQUIRED, b"this server takes clients with TLS only");
        }
        match kind {
            option::EXPORT_NAME => self.export_name(&data),
            option::ABORT => {
                // The client need not wait for the answer.
                let _ = self.reply(kind, answer::ACK, &[]);
                Ok(Next::Gone)
            }
            option::LIST => self.list(&data),
            option::INFO | option::GO => self.go(kind, &data),
            option::STRUCTURED_REPLY => {
                if !data.is_empty() {
                    return self.refuse(kind, answer::INVALID, b"structured replies take no data");
                }
                self.structured = true;
                self.refuse(kind, answer::ACK, &[])
            }
            option::LIST_META_CONTEXT | option::SET_META_CONTEXT => self.contexts(kind, &data),
            option::STARTTLS => self.start_tls(&data),
            _ => self.refuse(kind, answer::UNSUPPORTED, b"unknown option"),
        }
    }

    fn start_tls(&mut self, data: &[u8]) -> io::Result<Next> {
        if !self.stream.awaits_tls() {
            let text = b"this server has no TLS, or it has begun already";
            return self.refuse(option::STARTTLS, answer::POLICY, text);
        }
        if !data.is_empty() {
            return self.refuse(option::STARTTLS, answer::INVALID, b"TLS takes no data");
        }
        self.reply(option::STARTTLS, answer::ACK, &[])?;
        self.stream.begin_tls()?;
        Ok(Next::Option)
    }

    fn reply(&mut self, option: u32, kind: u32, data: &[u8]) -> io::Result<()> {
        let message = Message::default().u64(OPTION_REPLY).u32(option).u32(kind);
        self.stream.write_all(&message.u32(data.len() as u32).bytes(data).0)
    }

    /// Replies, and goes on with the next option.
    fn refuse(&mut self, option: u32, kind: u32, data: &[u8]) -> io::Result<Next> {
        self.reply(option, kind, data)?;
        Ok(Next::Option)
    }

    /// The export of a name. The empty name is the first export.
    fn find(&self, name: &[u8]) -> Option<usize> {
        let exports = self.offered.exports;
        let found = exports.iter().position(|export| export.name.as_bytes() == name);
        found.or((name.is_empty() && !exports.is_empty()).then_some(0))
    }

    fn flags(&self) -> u16 {
        if self.structured { EXPORT_FLAGS | DF_FLAG } else { EXPORT_FLAGS }
    }

    /// The old way of choosing: without an answer where the name is wrong.
    fn export_name(&mut self, name: &[u8]) -> io::Result<Next> {
        let Some(at) = self.find(name) else { return Ok(Next::Gone) };
        let message = Message::default().u64(self.offered.exports[at].bytes()).u16(self.flags());
        let message = if self.no_zeroes { message } else { message.bytes(&[0; 124]) };
        self.stream.write_all(&message.0)?;
        Ok(Next::Go(at))
    }

    fn list(&mut self, data: &[u8]) -> io::Result<Next> {
        if !data.is_empty() {
            return self.refuse(option::LIST, answer::INVALID, b"a list takes no data");
        }
        for export in self.offered.exports {
            let name = export.name.as_bytes();
            let entry = Message::default().u32(name.len() as u32).bytes(name);
            self.reply(option::LIST, answer::SERVER, &entry.0)?;
        }
        self.refuse(option::LIST, answer::ACK, &[])
    }

    fn go(&mut self, kind: u32, data: &[u8]) -> io::Result<Next> {
        let Some((name, wanted)) = named(data) else {
            return self.refuse(kind, answer::INVALID, b"expected a name and a list of requests");
        };
        let Some(at) = self.find(name) else {
            return self.refuse(kind, answer::UNKNOWN, b"there is no export of that name");
        };
        let export = &self.offered.exports[at];
        let message = Message::default().u16(info::EXPORT).u64(export.bytes()).u16(self.flags());
        self.reply(kind, answer::INFO, &message.0)?;
        let Offered { block, preferred, .. } = self.offered;
        let sizes = Message::default().u16(info::BLOCK_SIZE).u32(block).u32(preferred).u32(MAX_BYTES);
        self.reply(kind, answer::INFO, &sizes.0)?;
        if wanted.contains(&info::NAME) {
            let name = Message::default().u16(info::NAME).bytes(export.name.as_bytes());
            self.reply(kind, answer::INFO, &name.0)?;
        }
        self.reply(kind, answer::ACK, &[])?;
        Ok(if kind == option::GO { Next::Go(at) } else { Next::Option })
    }

    /// Contexts of block status: there is one, the allocation.
    fn contexts(&mut self, kind: u32, data: &[u8]) -> io::Result<Next> {
        let set = kind == option::SET_META_CONTEXT;
        let Some((name, queries)) = queries(data).filter(|_| self.structured || !set) else {
            let text = b"expected structured replies, a name and a list of contexts";
            return self.refuse(kind, answer::INVALID, text);
        };
        if self.find(name).is_none() {
            return self.refuse(kind, answer::UNKNOWN, b"there is no export of that name");
        }
        let matches = |query: &&[u8]| *query == ALLOCATION || (!set && *query == b"base:");
        let asked = queries.iter().any(matches) || (!set && queries.is_empty());
        if set {
            self.allocation = asked.then(|| name.to_vec());
        }
        if asked {
            let context = Message::default().u32(ALLOCATION_ID).bytes(ALLOCATION);
            self.reply(kind, answer::META_CONTEXT, &context.0)?;
        }
        self.refuse(kind, answer::ACK, &[])
    }
}

/// A name, then a list of numbers.
fn named(data: &[u8]) -> Option<(&[u8], Vec<u16>)> {
    let mut fields = Fields(data);
    let len = fields.u32()?;
    let name = fields.take(len as usize)?;
    let count = fields.u16()?;
    let wanted = (0..count).map(|_| fields.u16()).collect::<Option<Vec<u16>>>()?;
    fields.0.is_empty().then_some((name, wanted))
}

/// A name, then a list of texts.
fn queries(data: &[u8]) -> Option<(&[u8], Vec<&[u8]>)> {
    let mut fields = Fields(data);
    let len = fields.u32()?;
    let name = fields.take(len as usize)?;
    let count = fields.u32()?;
    let mut found = Vec::new();
    for _ in 0..count {
        let len = fields.u32()?;
        found.push(fields.take(len as usize)?);
    }
    fields.0.is_empty().then_some((name, found))
}
