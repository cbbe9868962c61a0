//! Requests that the drive fails, and parts of its flash that break.

use flashweir_run::{Completion, Drive, FlashPart};
use flashweir_ssd::Failure;
use flashweir_ssd::zones::Status;
use flashweir_trace::{Op, Request};

use super::{Setting, drive, poll, reloaded, request};

const PAGES: u64 = 512;

/// Cells so worn that pages can't be read some years later.
const WORN: [Setting<'_>; 4] = [
    ("precondition", "full"),
    ("ageing.kind", "power-law"),
    ("ageing.cycles", "12000"),
    ("ageing.retention", "3000"),
];

/// Submits requests one after the other, and lets all complete.
fn run(drive: &mut Drive, requests: impl IntoIterator<Item = (Op, u64)>) -> Vec<Completion> {
    for (op, page) in requests {
        drive.submit(&[request(op, drive.now_ns(), page)]).expect("submitted");
        drive.drain_while(&mut || true).expect("drained");
    }
    poll(drive)
}

fn failed(done: &[Completion], failure: Failure) -> usize {
    done.iter().filter(|done| done.failure == Some(failure)).count()
}

#[test]
fn reads_that_the_code_does_not_correct_fail() {
    let paths: [&[Setting<'_>]; 4] = [
        &[],
        &[("sched.kind", "read-first")],
        &[("host.link", "1GB")],
        &[("buffer.bytes", "64KiB"), ("buffer.destage", "eager")],
    ];
    for path in paths {
        let mut drive = drive(&[&WORN, path].concat());
        let written = (0..8).map(|page| (Op::Write, page));
        assert_eq!(failed(&run(&mut drive, written), Failure::Unreadable), 0, "{path:?}");
        // The rest of a page that a write keeps is lost: no request asks for it.
        for page in 200..220 {
            drive
                .submit(&[Request { sectors: 1, ..request(Op::Write, drive.now_ns(), page) }])
                .expect("submitted");
        }
        let new = run(&mut drive, (0..8).map(|page| (Op::Read, page)));
        assert_eq!(failed(&new, Failure::Unreadable), 0, "{path:?}");
        let before = drive.counters().ageing.uncorrectable_pages;
        let mut forked = drive.fork();
        let old = run(&mut drive, (100..140).map(|page| (Op::Read, page)));
        assert_eq!(failed(&old, Failure::Unreadable), 40, "{path:?}: {:?}", drive.counters().ageing);
        assert!(drive.counters().ageing.uncorrectable_pages >= before + 40);
        assert_eq!(run(&mut forked, (100..140).map(|page| (Op::Read, page))), old, "{path:?}");
    }
}

#[test]
fn a_read_only_drive_fails_what_changes_data() {
    let mut drive = drive(&[
        ("pages_per_block", "16"),
        ("op_ratio", "0.3"),
        ("ageing.kind", "power-law"),
        ("ageing.cycles", "4500"),
        ("ageing.spread", "0.4"),
        ("ageing.retire", "6"),
    ]);
    let mut page = 1;
    while drive.spare().is_some_and(|spare| spare.read_only.is_none()) {
        page = page * 31 % PAGES;
        let done = run(&mut drive, [(Op::Write, page)]);
        let is_read_only = drive.spare().is_some_and(|spare| spare.read_only.is_some());
        assert!(failed(&done, Failure::ReadOnly) == 0 || is_read_only);
    }
    let before = drive.counters().ageing.refused_requests;
    let done = run(&mut drive, [(Op::Write, 1), (Op::Trim, 2), (Op::Read, 31), (Op::Write, 3)]);
    let statuses: Vec<_> = done.iter().map(|done| done.failure.map(Failure::status)).collect();
    assert_eq!(statuses, [Some(0x20), Some(0x20), None, Some(0x20)]);
    assert_eq!(drive.counters().ageing.refused_requests, before + 3);
    let mut reloaded = reloaded(&drive);
    assert_eq!(failed(&run(&mut reloaded, [(Op::Write, 1)]), Failure::ReadOnly), 1);
}

#[test]
fn commands_to_zones_that_break_a_rule_fail_with_its_status() {
    let mut drive = drive(&[("ftl.kind", "zones"), ("ftl.host", "none")]);
    let done = run(&mut drive, [(Op::Write, 0), (Op::Write, 5), (Op::Write, 1)]);
    let failures: Vec<_> = done.iter().map(|done| done.failure).collect();
    assert_eq!(failures, [None, Some(Failure::Zone(Status::InvalidWrite)), None]);
    assert_eq!(failures[1].map(Failure::status), Some(0x1bc));
}

/// Sectors of a drive as pages.
fn pages(lost: &[std::ops::Range<u64>]) -> Vec<u64> {
    lost.iter().flat_map(|range| range.start / 8..range.end / 8).collect()
}

#[test]
fn what_lies_on_a_broken_die_or_block_is_lost() {
    let own: &[Setting<'_>] = &[("channels", "2"), ("precondition", "full"), ("pages_per_block", "16")];
    let mut whole = drive(own);
    let of_dies = [0, 1].map(|die| pages(&whole.break_part(FlashPart::Die(die)).expect("broken")));
    assert_eq!(of_dies.each_ref().map(Vec::len), [256, 256]);
    let mut all = of_dies.concat();
    all.sort_unstable();
    assert_eq!(all, (0..PAGES).collect::<Vec<_>>(), "each page lies on one die");
    let of_block = pages(&whole.break_part(FlashPart::BlockOf(7 * 8)).expect("broken"));
    assert!(of_block.len() == 16 && of_block.contains(&7), "{of_block:?}");
    // New versions lie elsewhere, and pages that wait in the buffer are not lost.
    for settings in [own, &[own, &[("buffer.bytes", "64KiB")]].concat()] {
        let mut drive = drive(settings);
        run(&mut drive, [(Op::Write, 7)]);
        let part = FlashPart::BlockOf(9 * 8);
        let lost = pages(&drive.break_part(part).expect("broken"));
        assert_eq!(lost.len(), 15, "{settings:?}");
        assert!(lost.contains(&9) && !lost.contains(&7));
    }
}

#[test]
fn parity_rebuilds_what_a_die_held_and_not_what_two_did() {
    let settings = [
        ("channels", "4"),
        ("capacity", "6MiB"),
        ("op_ratio", "0.4"),
        ("pages_per_block", "16"),
        ("precondition", "full"),
        ("alloc.kind", "superblock"),
        ("alloc.parity", "3"),
        ("ageing.kind", "power-law"),
    ];
    let mut drive = drive(&settings);
    assert_eq!(drive.break_part(FlashPart::Die(2)).expect("broken"), []);
    let reads = || (0..1536).map(|page| (Op::Read, page));
    let done = run(&mut drive, reads());
    let rebuilt = drive.counters().ageing.rebuilt_pages;
    assert_eq!(failed(&done, Failure::Unreadable), 0);
    // A quarter of the pages lies there, but for those of the open superblock.
    assert!((1536 / 4 - 16..=1536 / 4).contains(&rebuilt), "{rebuilt}");
    // New versions are read as they are.
    run(&mut drive, (0..1536).chain(0..1536).map(|page| (Op::Write, page)));
    let before = drive.counters().ageing.rebuilt_pages;
    run(&mut drive, reads());
    assert_eq!(drive.counters().ageing.rebuilt_pages, before);
    for die in [1, 3] {
        drive.break_part(FlashPart::Die(die)).expect("broken");
    }
    let failing = failed(&run(&mut drive, reads()), Failure::Unreadable);
    assert!((2 * 1536 / 4 - 32..=2 * 1536 / 4).contains(&failing), "{failing}");
}

#[test]
fn blocks_break_whose_last_page_holds_parity_or_is_padded() {
    let settings = [
        ("channels", "4"),
        ("page", "16KiB"),
        ("ftl.map_unit", "4KiB"),
        ("capacity", "12MiB"),
        ("op_ratio", "0.5"),
        ("pages_per_block", "8"),
        ("precondition", "full"),
        ("alloc.kind", "superblock"),
        ("alloc.parity", "3"),
        ("ageing.kind", "power-law"),
    ];
    for die in 0..4 {
        let mut drive = drive(&settings);
        drive.break_part(FlashPart::Die(die)).expect("broken");
        run(&mut drive, (0..3072).map(|page| (Op::Read, page)));
        let rebuilt = drive.counters().ageing.rebuilt_pages;
        assert!(rebuilt > 3072 / 4 / 4 / 2, "die {die}: {rebuilt}");
    }
}

#[test]
fn trimmed_pages_are_not_lost_while_they_wait_to_be_forgotten() {
    let mut drive = drive(&[("precondition", "full"), ("trim.backlog", "100000"), ("trim.page_time", "1ms")]);
    run(&mut drive, (0..PAGES).map(|page| (Op::Trim, page)));
    assert_eq!(drive.break_part(FlashPart::Die(0)).expect("broken"), []);
}

#[test]
fn blocks_that_break_are_retired_where_blocks_are() {
    let settings = [
        ("op_ratio", "0.5"),
        ("pages_per_block", "16"),
        ("precondition", "full"),
        ("ageing.kind", "power-law"),
        ("ageing.retire", "8"),
    ];
    let mut drive = drive(&settings);
    let spare = drive.spare().expect("spare").fewest;
    let lost = pages(&drive.break_part(FlashPart::BlockOf(0)).expect("broken"));
    assert_eq!(lost.len(), 16);
    let done = run(&mut drive, lost.iter().map(|page| (Op::Read, *page)));
    assert_eq!(failed(&done, Failure::Unreadable), 16);
    run(&mut drive, (0..PAGES).map(|page| (Op::Write, page)));
    assert_eq!(drive.counters().ageing.retired_blocks, 1);
    assert_eq!(drive.spare().expect("spare").fewest, spare - 1);
    assert_eq!(failed(&run(&mut drive, (0..PAGES).map(|page| (Op::Read, page))), Failure::Unreadable), 0);
}

#[test]
fn parts_that_are_not_there_are_refused() {
    let mut drive = drive(&[("channels", "2")]);
    for (part, expected) in [
        (FlashPart::Die(2), "die 2: expected a die from 0 to 1"),
        (FlashPart::Block { die: 0, plane: 1, block: 0 }, "plane 1: expected a plane from 0 to 0"),
        (FlashPart::BlockOf(0), "sector 0: expected one with data on flash"),
    ] {
        assert_eq!(drive.break_part(part).expect_err(expected).to_string(), expected);
    }
    let blocks = drive.geometry().unit_blocks(0);
    let part = FlashPart::Block { die: 0, plane: 0, block: blocks as u32 };
    let error = drive.break_part(part).expect_err("no block").to_string();
    assert_eq!(error, format!("block {blocks}: expected a block from 0 to {}", blocks - 1));
    let parity =
        [("channels", "4"), ("alloc.kind", "superblock"), ("alloc.parity", "3"), ("op_ratio", "0.4")];
    let error = super::drive(&parity).break_part(FlashPart::Die(0)).expect_err("nothing to rebuild by");
    assert!(error.to_string().contains("expected ageing.kind=power-law"), "{error}");
}
