//! Control of a live drive over a unix socket: lines of JSON, `{id, cmd, args}`, answered by `{id, ok, result | error}`.
//!
//! Each client has a thread. A line that is none is answered by one error; only a line without an end closes the connection.

mod args;
mod commands;
mod fork;
mod health;
mod inject;
mod live;

use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use flashweir_trace::reason::without_code;
use serde_json::{Map, Value, json};

use super::address::{Address, Listener, Stream};
use super::{LOOK, Shared, thread};
use crate::Error;
use args::{Fail, shown};

/// Longest line, bytes.
const MAX_LINE: usize = 64 << 10;
/// Bytes behind such a line that are thrown away.
const MAX_DISCARDED: usize = 16 << 20;
/// Clients at a time.
const MAX_CLIENTS: usize = 64;
/// Longest wait for a client to take an answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Listens at a path.
pub(super) fn listen(path: &Path) -> Result<Listener, Error> {
    Address::Unix(path.to_owned()).listen("--control", false)
}

/// Takes clients until the end.
pub(super) fn accept(shared: &Arc<Shared>, listener: &Listener) {
    let clients = Arc::new(AtomicUsize::new(0));
    while !shared.stop.is_asked() {
        match listener.accept(LOOK) {
            Ok(Some(stream)) => {
                if clients.fetch_add(1, Ordering::Relaxed) >= MAX_CLIENTS {
                    clients.fetch_sub(1, Ordering::Relaxed);
                    let full = format!("{MAX_CLIENTS} clients send commands; expected one of them to end");
                    // A client that does not read it is not waited for.
                    let _ = stream.set_write_timeout(Some(LOOK));
                    let _ = send(&stream, &reply(&Value::Null, Err(Fail::Refused(full))));
                    continue;
                }
                let (own, left) = (Arc::clone(shared), Arc::clone(&clients));
                let started = thread("control", move || {
                    // An error ends the connection, and only that.
                    let _ = serve(&own, &stream);
                    left.fetch_sub(1, Ordering::Relaxed);
                });
                if started.is_err() {
                    clients.fetch_sub(1, Ordering::Relaxed);
                }
            }
            Ok(None) => {}
            Err(_) => std::thread::sleep(LOOK),
        }
    }
}

/// Answers the lines of a client until it goes.
fn serve(shared: &Shared, stream: &Stream) -> io::Result<()> {
    stream.set_read_timeout(Some(LOOK))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let (mut held, mut chunk) = (Vec::new(), [0; 4096]);
    while !shared.stop.is_asked() {
        let read = match (&mut &*stream).read(&mut chunk) {
            Ok(0) => {
                // A last line may lack its end.
                return if held.is_empty() { Ok(()) } else { answer(shared, stream, &held).map(drop) };
            }
            Ok(read) => read,
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
                ) =>
            {
                continue;
            }
            Err(error) => return Err(error),
        };
        held.extend_from_slice(&chunk[..read]);
        while let Some(end) = held.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = held.drain(..=end).collect();
            if answer(shared, stream, &line[..end])? {
                return Ok(());
            }
        }
        if held.len() > MAX_LINE {
            let fail =
                Fail::BadInput(format!("a line of more than {MAX_LINE} bytes; expected a shorter one"));
            send(stream, &reply(&Value::Null, Err(fail)))?;
            return discard(stream);
        }
    }
    Ok(())
}

/// Ends a connection whose client may still send: what it sends is thrown away for a while, so that it can read the answer.
fn discard(stream: &Stream) -> io::Result<()> {
    stream.shutdown(Shutdown::Write);
    let mut chunk = [0; 4096];
    for _ in 0..MAX_DISCARDED / chunk.len() {
        if (&mut &*stream).read(&mut chunk)? == 0 {
            break;
        }
    }
    Ok(())
}

/// Takes commands of a drive as long as it is served.
#[derive(Clone)]
pub struct Controller(pub(super) Weak<Shared>);

impl std::fmt::Debug for Controller {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Controller")
    }
}

impl Controller {
    /// Executes a line, as the socket takes it. Returns the answer.
    pub fn answer(&self, line: &str) -> Value {
        let Some(shared) = self.0.upgrade() else {
            return reply(&Value::Null, Err(Fail::Refused("the drive is no longer served".into())));
        };
        let (answer, stops) = answer_to(&shared, line.as_bytes());
        if stops {
            shared.stop.ask();
        }
        answer
    }

    /// Lines that say why clients were ended, since the last call.
    pub fn complaints(&self) -> Vec<String> {
        self.0.upgrade().map(|shared| shared.complaints()).unwrap_or_default()
    }
}

/// Answers a line. Returns true if the drive is to stop.
fn answer(shared: &Shared, stream: &Stream, line: &[u8]) -> io::Result<bool> {
    if line.iter().all(u8::is_ascii_whitespace) {
        return Ok(false);
    }
    let (answer, stops) = answer_to(shared, line);
    send(stream, &answer)?;
    if stops {
        shared.stop.ask();
    }
    Ok(stops)
}

/// The answer to a line, and true if the drive is to stop once it was sent.
fn answer_to(shared: &Shared, line: &[u8]) -> (Value, bool) {
    match parse(line) {
        Ok((id, command, args)) => {
            let done = if shared.stop.is_asked() {
                Err(Fail::Refused("the drive is being stopped".into()))
            } else {
                commands::run(shared, &command, &args)
            };
            let stops = command == "stop" && done.is_ok();
            (reply(&id, done), stops)
        }
        Err((id, message)) => (reply(&id, Err(Fail::BadInput(message))), false),
    }
}

/// Number, name and arguments of a command.
type Command = (Value, String, Map<String, Value>);

/// The command of a line; or its number, as far as it has one, and what is wrong.
fn parse(line: &[u8]) -> Result<Command, (Value, String)> {
    let expected = r#"expected a line such as {"id": 1, "cmd": "status", "args": {}}"#;
    let value: Value = serde_json::from_slice(line)
        .map_err(|error| (Value::Null, format!("no JSON: {error}; {expected}")))?;
    let Value::Object(mut fields) = value else {
        return Err((Value::Null, format!("no object; {expected}")));
    };
    let id = fields.remove("id").unwrap_or_default();
    let command = match fields.remove("cmd") {
        Some(Value::String(command)) => command,
        Some(other) => return Err((id, format!("cmd: {}; {expected}", shown(&other.to_string())))),
        None => return Err((id, format!("cmd: missing; {expected}"))),
    };
    let args = match fields.remove("args") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(args)) => args,
        Some(other) => return Err((id, format!("args: {}; {expected}", shown(&other.to_string())))),
    };
    match fields.keys().next() {
        Some(other) => Err((id, format!("{}: unknown; {expected}", shown(other)))),
        None => Ok((id, command, args)),
    }
}

fn reply(id: &Value, done: Result<Value, Fail>) -> Value {
    let error = |kind: &str, message: String| {
        let message = without_code(&message.split_whitespace().collect::<Vec<_>>().join(" "));
        json!({"id": id, "ok": false, "error": {"kind": kind, "message": message}})
    };
    match done {
        Ok(result) => json!({"id": id, "ok": true, "result": result}),
        Err(Fail::BadInput(message)) => error("bad-input", message),
        Err(Fail::Refused(message)) => error("refused", message),
    }
}

fn send(stream: &Stream, value: &Value) -> io::Result<()> {
    let mut line = value.to_string();
    line.push('\n');
    (&mut &*stream).write_all(line.as_bytes())
}
