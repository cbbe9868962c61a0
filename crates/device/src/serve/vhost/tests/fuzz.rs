//! Random rings, descriptors and messages: no panic, no hang, no byte outside the export. `just live-fuzz` throws more.

use std::io::Write as _;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use vm_memory::{Bytes, GuestAddress};
use vmm_sys_util::eventfd::{EFD_NONBLOCK, EventFd};
use vmm_sys_util::sock_ctrl_msg::ScmSocket;

use super::front::{BASE, ENTRIES, Front, MEMORY_BYTES, data_at, ring_at, shared_memory};
use super::{FEATURES, OK, serve};
use crate::serve::tests::{Noise, ask, cases, connect};

/// Requests of a client before it goes, if it was not ended.
const REQUESTS: usize = 200;

/// A number that is likely to be at a limit of something.
fn number(noise: &mut Noise) -> u64 {
    let near = [0, 1, 16, 512, 4096, BASE, BASE + MEMORY_BYTES, 1 << 31, 1 << 32, 1 << 63, u64::MAX];
    match noise.below(4) {
        0 => near[noise.below(near.len() as u64) as usize].wrapping_add(noise.below(9)).wrapping_sub(4),
        1 => noise.next(),
        _ => BASE + noise.below(MEMORY_BYTES),
    }
}

/// Requests that are nearly whole, with bytes changed, or nothing but noise. Returns how many were offered.
fn descriptors(path: &Path, noise: &mut Noise) -> usize {
    let mut front = Front::connect(path, 2, FEATURES);
    for count in 0..REQUESTS {
        let queue = noise.below(2) as usize;
        let first = noise.below(15) as u16 * 4;
        let kind = [0, 1, 4, 8, 11, 13, 14, 99][noise.below(8) as usize];
        let sector = if noise.below(3) == 0 { number(noise) } else { noise.below(2048) };
        let input: Vec<u8> = (0..noise.below(5) * 256).map(|_| noise.next() as u8).collect();
        front.put(queue, first, kind, sector, &input, noise.below(3) as u32 * 512);
        for _ in 0..noise.below(3).saturating_sub(1) {
            let flags = noise.below(8) as u16;
            let next = noise.below(u64::from(ENTRIES) + 2) as u16;
            let len = number(noise) as u32 & [0xff, 0xffff, 0xffff_ffff][noise.below(3) as usize];
            front.describe(queue, first + noise.below(4) as u16, (number(noise), len, flags, next));
        }
        if noise.below(8) == 0 {
            // Anywhere in rings or data.
            let at =
                if noise.below(2) == 0 { ring_at(queue) } else { data_at(queue, 0) } + noise.below(0x3000);
            front.memory.write_obj(noise.next(), GuestAddress(at)).expect("written");
        }
        front.offer(queue, if noise.below(16) == 0 { noise.next() as u16 } else { first });
        if noise.below(4) == 0 {
            let _ = front.answer_within(queue, Duration::from_millis(1));
        }
        if front.has_gone() {
            return count + 1;
        }
    }
    REQUESTS
}

/// Messages of the protocol with noise in them. Returns how many were sent.
fn messages(path: &Path, noise: &mut Noise) -> usize {
    let mut stream = UnixStream::connect(path).expect("connected");
    stream.set_write_timeout(Some(Duration::from_secs(20))).expect("a timeout");
    let (_, memory) = shared_memory();
    let event = EventFd::new(EFD_NONBLOCK).expect("an event");
    for count in 0..REQUESTS {
        // Most of them begin as a front end does.
        let (code, body): (u32, Vec<u64>) = match (count, noise.below(8)) {
            (0, 1..) => (3, vec![]),
            (1, 1..) => (2, vec![FEATURES | 1 << 30]),
            (2, 1..) => (16, vec![0b1000_0000_0010_0000_1001 | noise.below(2) << 15]),
            (3, 1..) => (5, vec![1, BASE, MEMORY_BYTES, number(noise), 0]),
            _ => {
                let words = noise.below(7);
                let small = noise.below(2) == 0;
                let word = |noise: &mut Noise| if small { noise.below(20) } else { number(noise) };
                (noise.below(46) as u32, (0..words).map(|_| word(noise)).collect())
            }
        };
        let mut body: Vec<u8> = body.into_iter().flat_map(u64::to_le_bytes).collect();
        if noise.below(16) == 0 {
            body.truncate(noise.below(body.len() as u64 + 1) as usize);
        }
        let mut message = code.to_le_bytes().to_vec();
        let flags = if noise.below(32) == 0 { noise.next() as u32 } else { 1 | (noise.below(2) as u32 * 8) };
        message.extend(flags.to_le_bytes());
        let len = if noise.below(64) == 0 { noise.next() as u32 % 8192 } else { body.len() as u32 };
        message.extend(len.to_le_bytes());
        let descriptors = match code {
            5 | 37 => vec![memory.as_raw_fd()],
            12..=14 => vec![event.as_raw_fd()],
            _ => vec![event.as_raw_fd(); noise.below(20).saturating_sub(17) as usize],
        };
        // Header and body are apart, as the protocol reads them.
        let sent = stream.send_with_fds(&[&message[..]], &descriptors);
        if sent.is_err() || stream.write_all(&body).is_err() {
            return count + 1;
        }
    }
    REQUESTS
}

#[test]
fn fuzzed_descriptors_and_messages_end_a_client_at_most() {
    let dir = tempfile::tempdir().expect("a folder");
    let server = serve(dir.path(), |spec| {
        // The fuzzed export lies between two that nobody writes to.
        spec.exports = vec!["below=512KiB".into(), "fuzzed=1MiB".into(), "above".into()];
        spec.vhost_user_blk = vec![format!("fuzzed={}", dir.path().join("vm").display())];
    });
    for name in ["below", "above"] {
        let mut nbd = connect(dir.path(), name);
        for at in (0..512 << 10).step_by(64 << 10) {
            assert_eq!(ask(&mut nbd, 0, 1, at, 64 << 10, &vec![0x5a; 64 << 10]).0, 0);
        }
    }
    let path = dir.path().join("vm");
    let mut noise = Noise(20261);
    let (mut offered, mut sent) = (0, 0);
    while offered < cases(1000) {
        offered += descriptors(&path, &mut noise);
    }
    while sent < cases(1000) {
        sent += messages(&path, &mut noise);
    }
    println!("{offered} fuzzed requests and {sent} fuzzed messages");
    for name in ["below", "above"] {
        let mut nbd = connect(dir.path(), name);
        for at in (0..512 << 10).step_by(64 << 10) {
            let read = ask(&mut nbd, 0, 0, at, 64 << 10, &[]);
            assert!(read == (0, vec![0x5a; 64 << 10]), "bytes of {name} were changed");
        }
    }
    let mut front = Front::connect(&path, 1, FEATURES);
    assert_eq!(front.ask(0, 1, 0, &[1; 512], 0).0, OK);
    assert_eq!(front.ask(0, 0, 0, &[], 512), (OK, vec![1; 512]));
    drop(front);
    for line in server.controller().complaints() {
        assert!(line.starts_with("--vhost-user-blk ") && !line.contains("panic"), "{line}");
    }
    server.stop().expect("a result");
}
