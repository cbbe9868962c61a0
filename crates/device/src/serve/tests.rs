//! A client of a few lines against the server.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use super::*;

/// Settings of a small drive.
const DRIVE: [(&str, &str); 4] =
    [("channels", "2"), ("capacity", "2MiB"), ("page", "4KiB"), ("pages_per_block", "8")];
/// An error of the protocol: invalid argument.
const INVALID: u32 = 22;

fn serve(folder: &Path, clock: ClockMode, settings: &[(&str, &str)], exports: &[&str]) -> Server {
    let overrides = DRIVE.iter().chain(settings);
    let overrides = overrides.map(|(key, value)| ((*key).to_owned(), (*value).into())).collect();
    let spec = ServeSpec {
        drive: DriveSpec { overrides, ..DriveSpec::default() },
        nbd: format!("unix:{}", folder.join("sock").display()),
        data: Some(folder.display().to_string()),
        clock,
        exports: exports.iter().map(|name| (*name).to_owned()).collect(),
        ..ServeSpec::default()
    };
    Server::start(&spec, &mut |_| true).expect("served")
}

fn connect(folder: &Path, export: &str) -> UnixStream {
    let mut stream = UnixStream::connect(folder.join("sock")).expect("connected");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
    let mut greeting = [0; 18];
    stream.read_exact(&mut greeting).expect("greeted");
    assert_eq!(&greeting[..16], b"NBDMAGICIHAVEOPT");
    let mut message = 3u32.to_be_bytes().to_vec();
    message.extend(b"IHAVEOPT");
    message.extend(1u32.to_be_bytes());
    message.extend((export.len() as u32).to_be_bytes());
    message.extend(export.as_bytes());
    stream.write_all(&message).expect("sent");
    let mut chosen = [0; 10];
    stream.read_exact(&mut chosen).expect("chosen");
    stream
}

fn ask(
    stream: &mut UnixStream,
    flags: u16,
    command: u16,
    offset: u64,
    len: u32,
    data: &[u8],
) -> (u32, Vec<u8>) {
    let mut message = 0x2560_9513u32.to_be_bytes().to_vec();
    message.extend(flags.to_be_bytes());
    message.extend(command.to_be_bytes());
    message.extend(7u64.to_be_bytes());
    message.extend(offset.to_be_bytes());
    message.extend(len.to_be_bytes());
    message.extend(data);
    stream.write_all(&message).expect("sent");
    let mut header = [0; 16];
    stream.read_exact(&mut header).expect("answered");
    assert_eq!(header[..4], 0x6744_6698u32.to_be_bytes());
    let error = u32::from_be_bytes(header[4..8].try_into().expect("four bytes"));
    let mut read = vec![0; if command == 0 && error == 0 { len as usize } else { 0 }];
    stream.read_exact(&mut read).expect("data");
    (error, read)
}

#[test]
fn bytes_come_back_on_both_clocks_with_and_without_a_buffer() {
    for clock in [ClockMode::Virtual, ClockMode::Paced] {
        for settings in [&[][..], &[("buffer.bytes", "64KiB")], &[("engine", "event")]] {
            let dir = tempfile::tempdir().expect("a folder");
            let server = serve(dir.path(), clock, settings, &[]);
            let mut stream = connect(dir.path(), "");
            assert_eq!(ask(&mut stream, 0, 1, 8192, 4096, &[5; 4096]).0, 0);
            assert_eq!(ask(&mut stream, 1, 1, 12288, 512, &[6; 512]).0, 0, "written through");
            assert_eq!(ask(&mut stream, 0, 3, 0, 0, &[]).0, 0);
            let (error, read) = ask(&mut stream, 0, 0, 8192, 8192, &[]);
            assert_eq!(error, 0);
            assert!(read[..4096] == [5; 4096] && read[4096..4608] == [6; 512] && read[4608..] == [0; 3584]);
            assert_eq!(ask(&mut stream, 0, 4, 8192, 4096, &[]).0, 0);
            assert_eq!(ask(&mut stream, 0, 0, 8192, 4096, &[]).1, [0; 4096]);
            assert_eq!(ask(&mut stream, 0, 0, 2 << 20, 512, &[]).0, INVALID);
            assert_eq!(ask(&mut stream, 0, 1, 2 << 20, 512, &[1; 512]).0, 28);
            assert_eq!(ask(&mut stream, 0, 0, 1, 512, &[]).0, INVALID);
            drop(stream);
            let result = server.stop().expect("a result");
            assert!(result["verdict"].is_string(), "{result}");
            assert!(!dir.path().join("sock").exists() && !dir.path().join("drive.data.open").exists());
        }
    }
}

#[test]
fn exports_are_apart() {
    let dir = tempfile::tempdir().expect("a folder");
    let server = serve(dir.path(), ClockMode::Virtual, &[], &["web", "db"]);
    let (mut web, mut db) = (connect(dir.path(), "web"), connect(dir.path(), "db"));
    assert_eq!(ask(&mut web, 0, 1, 0, 512, &[1; 512]).0, 0);
    assert_eq!(ask(&mut db, 0, 0, 0, 512, &[]), (0, vec![0; 512]));
    assert_eq!(ask(&mut web, 0, 0, 1 << 20, 512, &[]).0, INVALID, "beyond its half");
    server.stop().expect("a result");
}

#[test]
fn noise_ends_a_connection_and_nothing_else() {
    let dir = tempfile::tempdir().expect("a folder");
    let server = serve(dir.path(), ClockMode::Virtual, &[], &[]);
    let mut seed = 1u64;
    let mut draw = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1442);
        (seed >> 33) as u8
    };
    for round in 0..300 {
        let mut stream = if round % 2 == 0 {
            connect(dir.path(), "")
        } else {
            UnixStream::connect(dir.path().join("sock")).expect("connected")
        };
        let mut noise: Vec<u8> = (0..200).map(|_| draw()).collect();
        if round % 2 == 0 {
            noise[..4].copy_from_slice(&0x2560_9513u32.to_be_bytes());
            noise[4..8].copy_from_slice(&[0, draw() % 8, 0, draw() % 9]);
        }
        let _ = stream.write_all(&noise);
    }
    let mut stream = connect(dir.path(), "");
    assert_eq!(ask(&mut stream, 0, 1, 0, 512, &[9; 512]).0, 0);
    assert_eq!(ask(&mut stream, 0, 0, 0, 512, &[]).1, [9; 512]);
    server.stop().expect("a result");
}
