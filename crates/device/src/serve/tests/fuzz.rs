//! Random messages of NBD: no panic, no hang, no byte outside the export. `just live-fuzz` throws more.

use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{Noise, ask, cases, connect, serve};
use crate::serve::ClockMode;

/// Messages of a client before it goes, if its connection has not ended.
const MESSAGES: usize = 200;
const KIB: u64 = 1 << 10;

/// An offset or length that is likely to be at a limit of something.
fn number(noise: &mut Noise) -> u64 {
    let near =
        [0, 512, 4096, 512 * KIB, KIB * KIB, 2 * KIB * KIB, 32 * KIB * KIB, 1 << 32, 1 << 63, u64::MAX];
    match noise.below(4) {
        0 => {
            near[noise.below(near.len() as u64) as usize].wrapping_add(noise.below(3) * 512).wrapping_sub(512)
        }
        1 => noise.next(),
        _ => noise.below(2048) * 512,
    }
}

/// A request, nearly whole, and its data.
fn request(noise: &mut Noise) -> Vec<u8> {
    let magic = if noise.below(64) == 0 { noise.next() as u32 } else { 0x2560_9513 };
    let command = if noise.below(16) == 0 { noise.next() as u16 } else { noise.below(8) as u16 };
    let flags = if noise.below(4) == 0 { noise.next() as u16 & 0x1f } else { 0 };
    let len = if noise.below(4) == 0 { number(noise) as u32 } else { noise.below(17) as u32 * 512 };
    let mut message = magic.to_be_bytes().to_vec();
    message.extend(flags.to_be_bytes());
    message.extend(if command == 2 && noise.below(4) > 0 { 1 } else { command }.to_be_bytes());
    message.extend(noise.next().to_be_bytes());
    message.extend(number(noise).to_be_bytes());
    message.extend(len.to_be_bytes());
    if message[7] == 1 {
        let data = if noise.below(32) == 0 { noise.below(9000) as u32 } else { len.min(1 << 16) };
        message.extend((0..data).map(|at| (at ^ len) as u8));
    }
    message
}

/// An option of the handshake, nearly whole.
fn option(noise: &mut Noise) -> Vec<u8> {
    let mut data: Vec<u8> = match noise.below(4) {
        0 => (0..noise.below(64)).map(|_| noise.next() as u8).collect(),
        1 => [&6u32.to_be_bytes()[..], b"fuzzed", &0u16.to_be_bytes()].concat(),
        _ => {
            [&noise.below(80).to_be_bytes()[4..], b"fuzzed", &(noise.below(4) as u16).to_be_bytes()].concat()
        }
    };
    if noise.below(8) == 0 {
        data.truncate(noise.below(data.len() as u64 + 1) as usize);
    }
    let len = if noise.below(16) == 0 { noise.next() as u32 % 70_000 } else { data.len() as u32 };
    let mut message = b"IHAVEOPT".to_vec();
    message.extend((noise.below(12) as u32).to_be_bytes());
    message.extend(len.to_be_bytes());
    message.extend(data);
    message
}

/// Sends a message and takes what the server sends meanwhile. Returns false if the connection has ended.
fn send(stream: &mut UnixStream, mut message: &[u8]) -> bool {
    let limit = Timespec { tv_sec: 20, tv_nsec: 0 };
    let mut held = [0; 8 << 10];
    while !message.is_empty() {
        let ready = poll(&mut [PollFd::new(stream, PollFlags::IN | PollFlags::OUT)], Some(&limit));
        assert!(ready != Ok(0), "the server took nothing and sent nothing for 20 s");
        while let Ok(count) = stream.read(&mut held) {
            if count == 0 {
                return false;
            }
        }
        match stream.write(message) {
            Ok(count) => message = &message[count..],
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(_) => return false,
        }
    }
    true
}

/// A client of noise. Returns how many messages it sent; its connection has ended.
fn client(folder: &Path, noise: &mut Noise) -> usize {
    let kind = noise.below(8);
    let mut stream = if kind < 2 {
        let mut stream = UnixStream::connect(folder.join("sock")).expect("connected");
        let _ = stream.write_all(&(noise.below(5) as u32).to_be_bytes());
        stream
    } else {
        connect(folder, "fuzzed")
    };
    stream.set_nonblocking(true).expect("set");
    let mut sent = 0;
    while sent < MESSAGES {
        let message: Vec<u8> = match kind {
            0 => (0..noise.below(200)).map(|_| noise.next() as u8).collect(),
            1 if sent < 20 => option(noise),
            _ => request(noise),
        };
        sent += 1;
        if !send(&mut stream, &message) {
            break;
        }
    }
    stream.set_nonblocking(false).expect("set");
    let _ = stream.shutdown(Shutdown::Write);
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
    match stream.read_to_end(&mut Vec::new()) {
        Err(error) if error.kind() == ErrorKind::WouldBlock => panic!("the connection did not end in 20 s"),
        _ => sent,
    }
}

#[test]
fn fuzzed_messages_end_a_connection_at_most() {
    let dir = tempfile::tempdir().expect("a folder");
    // The fuzzed export lies between two that nobody writes to.
    let exports = ["below=512KiB", "fuzzed=1MiB", "above=512KiB"];
    let server = serve(dir.path(), ClockMode::Virtual, &[], &exports);
    for name in ["below", "above"] {
        let mut stream = connect(dir.path(), name);
        for at in (0..512 * KIB).step_by(64 << 10) {
            assert_eq!(ask(&mut stream, 0, 1, at, 64 << 10, &vec![0xa5; 64 << 10]).0, 0);
        }
    }
    let mut noise = Noise(20261);
    let mut sent = 0;
    while sent < cases(2000) {
        sent += client(dir.path(), &mut noise);
    }
    println!("{sent} fuzzed messages of NBD");
    for name in ["below", "above"] {
        let mut stream = connect(dir.path(), name);
        for at in (0..512 * KIB).step_by(64 << 10) {
            let read = ask(&mut stream, 0, 0, at, 64 << 10, &[]);
            assert!(read == (0, vec![0xa5; 64 << 10]), "bytes of {name} were changed");
        }
    }
    let mut stream = connect(dir.path(), "fuzzed");
    assert_eq!(ask(&mut stream, 0, 1, 0, 512, &[9; 512]).0, 0);
    assert_eq!(ask(&mut stream, 0, 0, 0, 512, &[]).1, [9; 512]);
    assert_eq!(std::fs::metadata(dir.path().join("drive.data")).expect("the file").len(), 2 << 20);
    server.stop().expect("a result");
}
