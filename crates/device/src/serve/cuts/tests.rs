//! Bytes after cuts are those of the versions on flash, in whatever order a host and firmware hand writes over.

use std::collections::BTreeMap;

use flashweir_run::{DriveOptions, DriveSpec};
use flashweir_trace::{Op, Request};

use super::*;
use crate::serve::store::FileState;

const PAGE_SECTORS: u64 = 8;
const PAGES: u64 = 24;

/// Hosts and firmware that change the order of requests, on drives with several dies.
const HOSTS: [&[(&str, &str)]; 6] = [
    &[("host.iops_limit", "none,900")],
    &[("host.slots", "2"), ("host.arbitration", "round-robin")],
    &[("host.latency_target", "300us,none"), ("host.latency_window", "1ms")],
    &[("host.doorbell", "3"), ("host.submit_time", "2us"), ("host.queues", "2")],
    &[
        ("firmware.write_time", "90us"),
        ("firmware.cores", "2"),
        ("host.slots", "4"),
        ("host.arbitration", "weighted"),
    ],
    &[("firmware.hmb_bytes", "4KiB"), ("firmware.hmb_miss_time", "700us"), ("sched.kind", "read-first")],
];

fn drive(settings: &[(&str, &str)]) -> Drive {
    let small = [
        ("channels", "2"),
        ("dies", "2"),
        ("capacity", "8MiB"),
        ("page", "4KiB"),
        ("pages_per_block", "8"),
        ("op_ratio", "0.5"),
        ("buffer.bytes", "32KiB"),
    ];
    let overrides = small.iter().chain(settings).map(|(key, value)| ((*key).to_owned(), (*value).into()));
    let tenants = vec!["one".to_owned(), "other".to_owned()];
    let options = DriveOptions { journal: true, verify: true, tenants, ..DriveOptions::default() };
    let spec = DriveSpec { overrides: overrides.collect(), options, ..DriveSpec::default() };
    let mut drive =
        Drive::open(&spec, None, &mut |_| true).unwrap_or_else(|error| panic!("{settings:?}: {error}"));
    drive.follow_power().unwrap_or_else(|error| panic!("{settings:?}: {error}"));
    drive
}

/// The bytes that a request gives a sector.
fn bytes(op: Op, number: u64, sector: u64) -> [u8; SECTOR_BYTES as usize] {
    let word = if op == Op::Write { (number + 1) << 20 | sector } else { 0 };
    let mut bytes = [0; SECTOR_BYTES as usize];
    bytes.chunks_mut(8).for_each(|chunk| chunk.copy_from_slice(&word.to_le_bytes()));
    bytes
}

/// Versions of a drive, and the bytes that they stand for; kept apart from [`Cuts`], of a second drive.
struct Model {
    drive: Drive,
    ops: BTreeMap<u64, Op>,
    /// By version: the request.
    versions: BTreeMap<u64, u64>,
    /// By sector, since the last cut.
    base: Vec<[u8; SECTOR_BYTES as usize]>,
    /// Requests that the drive took after later ones.
    reordered: u64,
    last: u64,
}

impl Model {
    fn note(&mut self) {
        let mut changes = HostChanges::default();
        self.drive.host_changes(&mut changes);
        for entry in &changes.entries {
            self.versions.insert(entry.version, entry.request);
            self.reordered += u64::from(entry.request < self.last);
            self.last = self.last.max(entry.request);
        }
    }

    /// Cuts the power, and returns all bytes.
    fn cut(&mut self) -> Vec<[u8; SECTOR_BYTES as usize]> {
        self.note();
        for sector in 0..PAGES * PAGE_SECTORS {
            let version = self.drive.version_on_flash(sector / PAGE_SECTORS, (sector % PAGE_SECTORS) as u32);
            if let Some(number) = self.versions.get(&version) {
                self.base[sector as usize] = bytes(self.ops[number], *number, sector);
            }
        }
        self.versions.clear();
        self.drive.cut_power().expect("cut");
        self.base.clone()
    }
}

/// Cuts the power of both drives, and at once again. Returns the sectors that went back.
fn cut_twice(own: &mut Drive, cuts: &mut Cuts, model: &mut Model, at: &str) -> u64 {
    let check = |cuts: &Cuts, expected: &[[u8; SECTOR_BYTES as usize]]| {
        for (sector, expected) in (0u64..).zip(expected) {
            let mut found = [0; SECTOR_BYTES as usize];
            cuts.store.read(sector * SECTOR_BYTES, &mut found).expect("read");
            assert_eq!(found, *expected, "{at}, sector {sector}");
        }
    };
    let expected = model.cut();
    let restored = cuts.cut(own, false, 0).expect("cut").restored;
    check(cuts, &expected);
    // Nothing was written since: another cut changes nothing.
    assert_eq!(model.cut(), expected, "{at}");
    let again = cuts.cut(own, false, 0).expect("cut");
    assert_eq!(again.restored, 0, "{at}");
    let nothing = Outcome { time_ns: again.time_ns, is_prefix: true, ..Outcome::default() };
    assert_eq!(again.outcome, nothing, "{at}");
    check(cuts, &expected);
    restored
}

#[test]
fn bytes_after_a_cut_are_those_of_the_versions_on_flash_whatever_order_the_host_makes() {
    for host in HOSTS {
        let mut seed = 5u64;
        let mut draw = |limit: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % limit
        };
        let mut own = drive(host);
        let store = Arc::new(Store::open("memory", own.capacity_bytes(), FileState::Whole).expect("memory"));
        let mut cuts = Cuts::new(Arc::clone(&store), PAGE_SECTORS as u32);
        let base = vec![[0; SECTOR_BYTES as usize]; (PAGES * PAGE_SECTORS) as usize];
        let mut model = Model {
            drive: drive(host),
            ops: BTreeMap::new(),
            versions: BTreeMap::new(),
            base,
            reordered: 0,
            last: 0,
        };
        let mut restored = 0;
        for step in 0..4000 {
            let op =
                [Op::Write, Op::Write, Op::Write, Op::Write, Op::Trim, Op::Read, Op::Flush][draw(7) as usize];
            let (lba, sectors) = match op {
                Op::Flush => (0, 0),
                Op::Trim => (draw(PAGES) * PAGE_SECTORS, PAGE_SECTORS as u32),
                _ => {
                    let lba = draw(PAGES * PAGE_SECTORS - 12);
                    (lba, 1 + draw(12) as u32)
                }
            };
            let (time_ns, stream) = (own.now_ns(), draw(2) as u16);
            let request = Request { time_ns, lba, sectors, stream, op, handle: 0 };
            let number = own.submitted();
            if matches!(op, Op::Write | Op::Trim) {
                let data = (lba..lba + u64::from(sectors)).flat_map(|sector| bytes(op, number, sector));
                let change =
                    if op == Op::Write { Bytes::Write(data.collect()) } else { Bytes::Zero { keep: false } };
                cuts.submit(number, lba, sectors, change);
            }
            model.ops.insert(number, op);
            let step_ns = if draw(4) == 0 { draw(300_000) } else { 0 };
            for drive in [&mut own, &mut model.drive] {
                assert_eq!(drive.submit(&[request]).expect("submitted"), number..number + 1);
                drive.advance_to(time_ns + step_ns).expect("advanced");
                drive.poll(&mut Vec::new());
            }
            cuts.note(&mut own);
            model.note();
            if step % 97 == 96 {
                restored += cut_twice(&mut own, &mut cuts, &mut model, &format!("{host:?}, step {step}"));
                assert_eq!(own.now_ns(), model.drive.now_ns());
            }
        }
        assert!(restored > 100, "{host:?}: cuts lost {restored} sectors");
        assert!(model.reordered > 20, "{host:?}: {} parts changed their order", model.reordered);
    }
}

#[test]
fn a_flush_without_effect_lies_about_all_but_what_is_outstanding() {
    let mut own = drive(&[]);
    let store = Arc::new(Store::open("memory", own.capacity_bytes(), FileState::Whole).expect("memory"));
    let mut cuts = Cuts::new(store, PAGE_SECTORS as u32);
    for number in 0..3 {
        let (lba, sectors) = (number * PAGE_SECTORS, PAGE_SECTORS as u32);
        cuts.submit(number, lba, sectors, Bytes::Write(vec![1; (PAGE_SECTORS * SECTOR_BYTES) as usize]));
        let time_ns = own.now_ns();
        let request = Request { time_ns, lba, sectors, stream: 0, op: Op::Write, handle: 0 };
        own.submit(&[request]).expect("submitted");
        own.advance_to(time_ns + 1000).expect("advanced");
    }
    cuts.note(&mut own);
    assert_eq!(cuts.lied_about(&own), 0);
    // The oldest one is outstanding: those after it are complete all the same.
    cuts.ignore_flush(|request| request == 0);
    assert_eq!(cuts.lied_about(&own), 2 * PAGE_SECTORS);
    cuts.ignore_flush(|_| false);
    assert_eq!(cuts.lied_about(&own), 3 * PAGE_SECTORS);
}
