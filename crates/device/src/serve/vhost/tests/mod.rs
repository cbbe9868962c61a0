//! A front end against the disk: what a virtual machine does, and what none does.

mod front;
mod fuzz;

use std::path::Path;
use std::time::{Duration, Instant};

use vhost::VhostBackend;
use vhost::vhost_user::VhostUserFrontend;
use virtio_bindings::virtio_blk::{
    VIRTIO_BLK_F_FLUSH, VIRTIO_BLK_T_DISCARD, VIRTIO_BLK_T_FLUSH, VIRTIO_BLK_T_GET_ID, VIRTIO_BLK_T_IN,
    VIRTIO_BLK_T_OUT, VIRTIO_BLK_T_WRITE_ZEROES,
};
use virtio_bindings::virtio_config::VIRTIO_F_VERSION_1;
use virtio_bindings::virtio_ring::{
    VIRTIO_RING_F_EVENT_IDX, VIRTIO_RING_F_INDIRECT_DESC, VRING_DESC_F_INDIRECT,
};

use super::config;
use crate::serve::tests::{DRIVE, ask, connect};
use crate::serve::{ClockMode, DriveSpec, ServeSpec, Server};
use front::{BASE, ENTRIES, Front, MEMORY_BYTES, NEXT, WRITE, data_at, ring_at};

/// Features of a usual client.
const FEATURES: u64 = 1 << VIRTIO_F_VERSION_1
    | 1 << VIRTIO_BLK_F_FLUSH
    | 1 << VIRTIO_RING_F_INDIRECT_DESC
    | 1 << VIRTIO_RING_F_EVENT_IDX;
/// Status of requests.
const OK: u8 = 0;
const IO_ERROR: u8 = 1;
const UNSUPPORTED: u8 = 2;

/// Serves a drive of 2 MiB at `sock` and `vm`, in a folder.
fn serve(folder: &Path, change: impl FnOnce(&mut ServeSpec)) -> Server {
    let overrides = DRIVE.iter().map(|(key, value)| ((*key).to_owned(), (*value).into())).collect();
    let mut spec = ServeSpec {
        drive: DriveSpec { overrides, ..DriveSpec::default() },
        nbd: format!("unix:{}", folder.join("sock").display()),
        vhost_user_blk: vec![folder.join("vm").display().to_string()],
        clock: ClockMode::Virtual,
        ..ServeSpec::default()
    };
    change(&mut spec);
    Server::start(&spec, &mut |_| true).expect("served")
}

/// A range to discard or make zero, as it stands in a request.
fn range(sector: u64, sectors: u32, flags: u32) -> Vec<u8> {
    let mut range = sector.to_le_bytes().to_vec();
    range.extend(sectors.to_le_bytes());
    range.extend(flags.to_le_bytes());
    range
}

/// The line with which a client was ended.
fn complaint(server: &Server) -> String {
    let until = Instant::now() + Duration::from_secs(20);
    loop {
        let mut lines = server.controller().complaints();
        if let Some(line) = lines.pop() {
            assert!(lines.is_empty() && !line.contains('\n'), "{line}, {lines:?}");
            return line;
        }
        assert!(Instant::now() < until, "nothing was said");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_disk_does_what_virtio_says() {
    for (clock, ordered) in
        [(ClockMode::Virtual, false), (ClockMode::Paced, false), (ClockMode::Virtual, true)]
    {
        let dir = tempfile::tempdir().expect("a folder");
        let server = serve(dir.path(), |spec| {
            (spec.clock, spec.power_cuts) = (clock, ordered);
        });
        assert_eq!(server.ready()["vhost_user_blk"][0], dir.path().join("vm").display().to_string());
        let mut front = Front::connect(&dir.path().join("vm"), 2, FEATURES);
        assert_eq!(front.capacity(), 4096);
        assert_eq!(front.frontend.get_queue_num().expect("queues"), 16);
        let data: Vec<u8> = (0..8192u32).map(|at| (at / 7) as u8).collect();
        assert_eq!(front.ask(0, VIRTIO_BLK_T_OUT, 16, &data, 0).0, OK);
        assert_eq!(front.ask(1, VIRTIO_BLK_T_FLUSH, 0, &[], 0).0, OK);
        assert_eq!(front.ask(1, VIRTIO_BLK_T_IN, 16, &[], 8192), (OK, data.clone()));
        assert_eq!(
            front.ask(0, VIRTIO_BLK_T_GET_ID, 0, &[], 20),
            (OK, b"flashweir\0\0\0\0\0\0\0\0\0\0\0".to_vec())
        );
        assert_eq!(
            front.ask(0, VIRTIO_BLK_T_DISCARD, 0, &[range(16, 2, 0), range(20, 1, 0)].concat(), 0).0,
            OK
        );
        assert_eq!(front.ask(0, VIRTIO_BLK_T_WRITE_ZEROES, 0, &range(24, 1, 0), 0).0, OK);
        assert_eq!(front.ask(0, VIRTIO_BLK_T_WRITE_ZEROES, 0, &range(26, 1, 1), 0).0, OK);
        let mut expected = data;
        for sector in [0, 1, 4, 8, 10] {
            expected[sector * 512..][..512].fill(0);
        }
        assert_eq!(front.ask(0, VIRTIO_BLK_T_IN, 16, &[], 8192), (OK, expected.clone()));
        // The other transport has the same bytes.
        let mut nbd = connect(dir.path(), "");
        assert_eq!(ask(&mut nbd, 0, 0, 8192, 8192, &[]), (0, expected));
        let refused: [(u32, u64, Vec<u8>, u32, u8); 9] = [
            (VIRTIO_BLK_T_IN, 4096, vec![], 512, IO_ERROR),
            (VIRTIO_BLK_T_IN, u64::MAX, vec![], 512, IO_ERROR),
            (VIRTIO_BLK_T_IN, 0, vec![], 100, IO_ERROR),
            (VIRTIO_BLK_T_OUT, 4095, vec![1; 1024], 0, IO_ERROR),
            (VIRTIO_BLK_T_OUT, 0, vec![1; 511], 0, IO_ERROR),
            (VIRTIO_BLK_T_DISCARD, 0, range(4095, 2, 0), 0, IO_ERROR),
            (VIRTIO_BLK_T_DISCARD, 0, range(0, 1, 1), 0, UNSUPPORTED),
            (VIRTIO_BLK_T_WRITE_ZEROES, 0, vec![0; 15], 0, IO_ERROR),
            (77, 0, vec![], 0, UNSUPPORTED),
        ];
        for (kind, sector, input, output, status) in refused {
            assert_eq!(front.ask(0, kind, sector, &input, output).0, status, "{kind} at {sector}");
        }
        // A queue is stopped, as when a machine starts again, and its requests are counted.
        assert_eq!(front.frontend.get_vring_base(1).expect("stopped"), 2);
        drop(front);
        assert!(server.stop().expect("a result")["serve"]["connections"] == 2);
        assert!(!dir.path().join("vm").exists());
    }
}

#[test]
fn every_queue_has_its_own_requests_many_at_a_time() {
    let dir = tempfile::tempdir().expect("a folder");
    let server = serve(dir.path(), |_| {});
    let mut front = Front::connect(&dir.path().join("vm"), 8, FEATURES);
    for round in 0..20u8 {
        for queue in 0..8 {
            for request in 0..16u16 {
                let sector = queue as u64 * 512 + u64::from(request) * 8;
                let data = vec![round ^ (queue as u8 * 16 + request as u8); 4096];
                front.put(queue, request * 4, VIRTIO_BLK_T_OUT, sector, &data, 0);
                front.offer(queue, request * 4);
            }
        }
        for queue in 0..8 {
            let mut heads: Vec<u32> = (0..16).map(|_| front.answer(queue).expect("answered").0).collect();
            heads.sort_unstable();
            assert_eq!(heads, (0..16).map(|request| request * 4).collect::<Vec<_>>());
        }
    }
    let mut nbd = connect(dir.path(), "");
    for queue in 0..8u8 {
        for request in 0..16u8 {
            let at = u64::from(queue) * 512 * 512 + u64::from(request) * 4096;
            assert_eq!(ask(&mut nbd, 0, 0, at, 4096, &[]), (0, vec![0x13 ^ (queue * 16 + request); 4096]));
        }
    }
    drop(front);
    server.stop().expect("a result");
}

#[test]
fn descriptors_may_lie_in_a_table_of_their_own_and_data_in_pieces() {
    let dir = tempfile::tempdir().expect("a folder");
    let server = serve(dir.path(), |_| {});
    let mut front = Front::connect(&dir.path().join("vm"), 1, FEATURES);
    front.put(0, 0, VIRTIO_BLK_T_OUT, 0, &[7; 1024], 0);
    let (at, table) = (data_at(0, 0), BASE + 0x80_0000);
    // The header in two pieces, the second with the first bytes of the data behind it.
    front.memory_copy(at + 8, table + 0x1000, 8);
    front.memory_copy(at + 0x100, table + 0x1008, 1024);
    let pieces = [
        (at, 8, NEXT, 1),
        (table + 0x1000, 20, NEXT, 2),
        (table + 0x1014, 1012, NEXT, 3),
        (at + 0x500, 1, WRITE, 0),
    ];
    for (number, piece) in (0u64..).zip(pieces) {
        front.describe_at(table + number * 16, piece);
    }
    front.describe(0, 5, (table, 64, VRING_DESC_F_INDIRECT as u16, 0));
    front.offer(0, 5);
    assert_eq!(front.answer(0), Some((5, 1)));
    assert_eq!(front.ask(0, VIRTIO_BLK_T_IN, 0, &[], 1024), (OK, vec![7; 1024]));
    server.stop().expect("a result");
}

#[test]
fn a_bad_descriptor_ends_its_client_with_a_line_and_nothing_else() {
    let dir = tempfile::tempdir().expect("a folder");
    let server = serve(dir.path(), |_| {});
    let path = dir.path().join("vm");
    let mut good = Front::connect(&path, 1, FEATURES);
    let end = BASE + MEMORY_BYTES;
    let at = data_at(0, 0);
    let table = BASE + 0x80_0000;
    let indirect = VRING_DESC_F_INDIRECT as u16;
    let status = (at, 1, WRITE, 0);
    let header = (at, 16, NEXT, 1);
    let cases: [(&str, &[front::Descriptor]); 14] = [
        ("not in its table", &[(at, 16, NEXT, ENTRIES)]),
        ("was there before", &[header, (at, 512, WRITE | NEXT, 1)]),
        ("none that is in its table", &[(table, 16 * 70_000, indirect, 0)]),
        ("none that is in its table", &[(table, 17, indirect, 0)]),
        ("none that is in its table", &[(end, 16, indirect, 0)]),
        ("no room for its status", &[(at, 16, 0, 0)]),
        ("no room for its status", &[header, (at, 0, WRITE, 0)]),
        ("shorter than its header", &[(at, 15, NEXT, 1), status]),
        ("shorter than its header", &[status]),
        ("one that is read follows", &[(at, 16, NEXT, 1), (at, 1, WRITE | NEXT, 2), (at, 16, 0, 0)]),
        ("memory", &[(end - 8, 16, NEXT, 1), status]),
        ("memory", &[(0, 16, NEXT, 1), status]),
        ("memory", &[header, (end - 1, 2, WRITE, 0)]),
        ("beyond all addresses", &[header, (u64::MAX, 2, WRITE, 0)]),
    ];
    for (expected, descriptors) in cases {
        let mut front = Front::connect(&path, 1, FEATURES);
        for (number, descriptor) in (0u16..).zip(descriptors) {
            front.describe(0, number, *descriptor);
        }
        front.offer(0, 0);
        assert!(front.is_ended(), "{expected}");
        let line = complaint(&server);
        assert!(
            line.starts_with("--vhost-user-blk ") && line.contains("a client was ended: a bad descriptor: "),
            "{line}"
        );
        assert!(line.contains(expected), "{line}, not {expected}");
    }
    // More requests than the ring has entries, and one that is not in the table.
    let mut front = Front::connect(&path, 1, FEATURES);
    front.advance(0, ENTRIES + 1);
    assert!(front.is_ended());
    assert!(complaint(&server).contains("its ring can't be used"));
    let mut front = Front::connect(&path, 1, FEATURES);
    front.offer(0, 0xffff);
    assert!(front.is_ended());
    assert!(complaint(&server).contains("none that is in its table"));
    assert_eq!(good.ask(0, VIRTIO_BLK_T_OUT, 0, &[3; 512], 0).0, OK, "another client goes on");
    drop(good);
    assert!(server.stop().expect("a result")["serve"]["lateness"]["completions"] == 0);
}

#[test]
fn requests_that_wait_are_not_taken_without_end() {
    let dir = tempfile::tempdir().expect("a folder");
    let server = serve(dir.path(), |spec| (spec.clock, spec.dilate) = (ClockMode::Paced, 1e6));
    let mut front = Front::connect(&dir.path().join("vm"), 1, FEATURES);
    front.put(0, 0, VIRTIO_BLK_T_IN, 0, &[], 512);
    for round in 0..4u16 {
        // The same request again and again, before it is answered.
        for entry in 0..ENTRIES {
            let at = ring_at(0) + 0x1004 + u64::from(entry) * 2;
            vm_memory::Bytes::write_obj(&front.memory, 0u16, vm_memory::GuestAddress(at)).expect("written");
        }
        front.advance(0, (round + 1) * ENTRIES);
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(front.is_ended());
    let line = complaint(&server);
    assert!(
        line.contains("more requests are outstanding") || line.contains("its ring can't be used"),
        "{line}"
    );
}

#[test]
fn memory_is_looked_at_and_can_not_be_taken_away() {
    let dir = tempfile::tempdir().expect("a folder");
    let server = serve(dir.path(), |_| {});
    let path = dir.path().join("vm");
    let mut front = Front::connect(&path, 1, FEATURES);
    assert_eq!(front.ask(0, VIRTIO_BLK_T_FLUSH, 0, &[], 0).0, OK);
    front.file.set_len(MEMORY_BYTES / 2).expect_err("it is sealed");
    drop(front);
    let front = Front::greet(&path, FEATURES);
    let region = vm_memory::GuestMemoryBackend::iter(&front.memory).next().expect("a region");
    let region = vhost::VhostUserMemoryRegionInfo::from_guest_region(region).expect("a region with a file");
    front.file.set_len(MEMORY_BYTES / 2).expect("smaller");
    let _ = front.frontend.set_mem_table(&[region]);
    assert!(front.is_ended());
    assert!(complaint(&server).contains("lies beyond the end of its file"));
    server.stop().expect("a result");
}

#[test]
fn writes_are_durable_for_a_client_that_does_not_flush() {
    let writes = |features: u64| {
        let dir = tempfile::tempdir().expect("a folder");
        let server = serve(dir.path(), |spec| {
            spec.drive.overrides.insert("buffer.bytes".into(), "64KiB".into());
            spec.record = Some(dir.path().join("t.parquet"));
        });
        let mut front = Front::connect(&dir.path().join("vm"), 1, features);
        for sector in [0, 64, 128] {
            assert_eq!(front.ask(0, VIRTIO_BLK_T_OUT, sector, &[1; 4096], 0).0, OK);
        }
        drop(front);
        server.stop().expect("a result")["serve"]["recorded"].as_u64().expect("requests")
    };
    // Each write has a flush of its own; the flush at the end is always there.
    assert_eq!(writes(FEATURES), 4);
    assert_eq!(writes(FEATURES & !(1 << VIRTIO_BLK_F_FLUSH)), 7);
}

#[test]
fn clients_that_come_and_go_leave_nothing_open() {
    let dir = tempfile::tempdir().expect("a folder");
    let server = serve(dir.path(), |_| {});
    let open = || std::fs::read_dir("/proc/self/fd").expect("descriptors").count();
    let before = open();
    for _ in 0..60 {
        let mut front = Front::connect(&dir.path().join("vm"), 1, FEATURES);
        assert_eq!(front.ask(0, VIRTIO_BLK_T_FLUSH, 0, &[], 0).0, OK);
    }
    // Threads of the last ones may still be ending, and other tests have some open.
    let until = Instant::now() + Duration::from_secs(20);
    while open() > before + 60 {
        assert!(Instant::now() < until, "{} are open, before {before}", open());
        std::thread::sleep(Duration::from_millis(5));
    }
    server.stop().expect("a result");
}

#[test]
fn each_export_has_a_socket() {
    let dir = tempfile::tempdir().expect("a folder");
    let server = serve(dir.path(), |spec| {
        spec.exports = vec!["web=512KiB".into(), "db".into()];
        spec.vhost_user_blk = vec![format!("db={}", dir.path().join("vm").display())];
    });
    let mut front = Front::connect(&dir.path().join("vm"), 1, FEATURES);
    assert_eq!(front.capacity(), 3072);
    assert_eq!(&front.ask(0, VIRTIO_BLK_T_GET_ID, 0, &[], 20).1[..13], b"flashweir db\0");
    assert_eq!(front.ask(0, VIRTIO_BLK_T_OUT, 3071, &[9; 512], 0).0, OK);
    assert_eq!(front.ask(0, VIRTIO_BLK_T_OUT, 3072, &[9; 512], 0).0, IO_ERROR);
    drop(front);
    assert_eq!(config::MAX_BYTES, 126 * 256 * 1024);
    server.stop().expect("a result");
}

/// A power cut in progress lets no client in.
#[test]
fn no_request_is_taken_of_a_client_that_is_not_let_in_yet() {
    let dir = tempfile::tempdir().expect("a folder");
    let server = serve(dir.path(), |spec| spec.power_cuts = true);
    let open = server.shared.open();
    let (path, begun) = (dir.path().join("vm"), std::sync::Barrier::new(2));
    let read = std::thread::scope(|scope| {
        let client = scope.spawn(|| {
            begun.wait();
            Front::connect(&path, 1, FEATURES).ask(0, VIRTIO_BLK_T_IN, 0, &[], 512)
        });
        begun.wait();
        // Time for a client that need not wait.
        std::thread::sleep(Duration::from_millis(200));
        server.shared.store.write(0, &[7; 512]).expect("written");
        drop(open);
        client.join().expect("no panic")
    });
    assert_eq!(read, (OK, vec![7; 512]));
    server.stop().expect("a result");
}
