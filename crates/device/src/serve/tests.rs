//! A client of a few lines against the server.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

mod fuzz;

use super::*;

/// Settings of a small drive.
pub(in crate::serve) const DRIVE: [(&str, &str); 4] =
    [("channels", "2"), ("capacity", "2MiB"), ("page", "4KiB"), ("pages_per_block", "8")];
/// An error of the protocol: invalid argument.
const INVALID: u32 = 22;

fn spec(folder: &Path, clock: ClockMode, settings: &[(&str, &str)], exports: &[&str]) -> ServeSpec {
    let overrides = DRIVE.iter().chain(settings);
    let overrides = overrides.map(|(key, value)| ((*key).to_owned(), (*value).into())).collect();
    ServeSpec {
        drive: DriveSpec { overrides, ..DriveSpec::default() },
        nbd: format!("unix:{}", folder.join("sock").display()),
        data: Some(folder.display().to_string()),
        clock,
        exports: exports.iter().map(|name| (*name).to_owned()).collect(),
        ..ServeSpec::default()
    }
}

fn serve(folder: &Path, clock: ClockMode, settings: &[(&str, &str)], exports: &[&str]) -> Server {
    Server::start(&spec(folder, clock, settings, exports), &mut |_| true).expect("served")
}

pub(in crate::serve) fn connect(folder: &Path, export: &str) -> UnixStream {
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

pub(in crate::serve) fn ask(
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
fn a_client_that_goes_within_the_data_of_a_write_leaves_no_connection() {
    let dir = tempfile::tempdir().expect("a folder");
    let server = serve(dir.path(), ClockMode::Virtual, &[], &[]);
    let mut stream = connect(dir.path(), "");
    let mut message = 0x2560_9513u32.to_be_bytes().to_vec();
    message.extend([0, 0, 0, 1]);
    message.extend([0; 16]);
    message.extend(4096u32.to_be_bytes());
    message.extend([1; 100]);
    stream.write_all(&message).expect("sent");
    stream.shutdown(std::net::Shutdown::Write).expect("shut down");
    assert_eq!(stream.read(&mut [0]).expect("the end"), 0);
    let mut stream = connect(dir.path(), "");
    assert_eq!(ask(&mut stream, 0, 0, 0, 512, &[]).1, [0; 512]);
    server.stop().expect("a result");
}

/// A power cut drops connections first: clients that are back at once read no bytes that it has yet to bring back.
#[test]
fn a_client_that_connects_during_a_power_cut_reads_the_bytes_that_it_leaves() {
    const BYTES: usize = 1 << 20;
    let dir = tempfile::tempdir().expect("a folder");
    let own = spec(dir.path(), ClockMode::Virtual, &[("buffer.bytes", "1MiB")], &[]);
    let server = Server::start(&ServeSpec { power_cuts: true, ..own }, &mut |_| true).expect("served");
    let controller = server.controller();
    for _ in 0..20 {
        let mut stream = connect(dir.path(), "");
        assert_eq!(ask(&mut stream, 0, 1, 0, BYTES as u32, &vec![1; BYTES]).0, 0);
        assert_eq!(ask(&mut stream, 0, 3, 0, 0, &[]).0, 0);
        assert_eq!(ask(&mut stream, 0, 1, 0, BYTES as u32, &vec![2; BYTES]).0, 0);
        let mut back = std::thread::scope(|scope| {
            let cut = scope.spawn(|| controller.answer(r#"{"cmd": "power-cut"}"#));
            assert!(matches!(stream.read(&mut [0]), Ok(0) | Err(_)), "the connection ends");
            let mut back = connect(dir.path(), "");
            let first = ask(&mut back, 0, 0, 0, BYTES as u32, &[]);
            let report = cut.join().expect("no panic");
            let restored = report["result"]["restored_sectors"].as_u64();
            assert!(restored > Some(1000), "the buffer held most of it: {report}");
            assert!(first == ask(&mut back, 0, 0, 0, BYTES as u32, &[]), "a cut changed bytes after it");
            back
        });
        // Nothing was written since: the next cut changes nothing.
        let shown = ask(&mut back, 0, 0, 0, BYTES as u32, &[]).1;
        let report = controller.answer(r#"{"cmd": "power-cut"}"#);
        assert_eq!(report["result"]["restored_sectors"], 0, "{report}");
        assert!(shown == ask(&mut connect(dir.path(), ""), 0, 0, 0, BYTES as u32, &[]).1);
    }
    server.stop().expect("a result");
}

/// Random numbers that are the same in every run.
pub(in crate::serve) struct Noise(pub(in crate::serve) u64);

impl Noise {
    pub(in crate::serve) fn next(&mut self) -> u64 {
        // SplitMix64 (Steele, Lea and Flood 2014).
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(in crate::serve) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

/// Cases of a fuzzed test: `few`, unless more were asked for.
pub(in crate::serve) fn cases(few: usize) -> usize {
    std::env::var("FLASHWEIR_FUZZ_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(few)
}
