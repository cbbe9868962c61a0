//! Records of the write buffer and of blocks: times when it is full, dirty pages by channel, blocks opened.

use std::collections::BTreeMap;

use flashweir_ssd::{CommandKind, FullRecord, Recorded};
use flashweir_trace::{Op, Request};

use super::rig::{ERASE, PROGRAM, READ, Setting, TRANSFER, drive, pages, read, sectors, write};

const WRITE: u64 = TRANSFER + PROGRAM;

/// Room for two pages, one request at a time.
const TWO_PAGES: [Setting; 2] = [("buffer.bytes", "8KiB"), ("host.mode", "closed")];

fn recorded(settings: &[Setting], more: &[Setting], requests: &[Request]) -> Recorded {
    let settings: Vec<_> = settings.iter().chain(more).copied().collect();
    let mut simulation = drive(&settings);
    simulation.serve(requests).expect("served");
    simulation.finish().expect("finished");
    let mut recorded = simulation.take_recorded();
    recorded.commands.sort_by_key(|command| (command.start_ns, command.die));
    recorded
}

/// By how much the dirty pages of a channel change at an instant, where they do.
fn changes(recorded: &Recorded) -> Vec<((u64, Option<u32>), i32)> {
    let mut changes = BTreeMap::new();
    for dirty in &recorded.dirty_pages {
        *changes.entry((dirty.time_ns, dirty.channel)).or_default() += dirty.change;
    }
    changes.into_iter().filter(|(_, change)| *change != 0).collect()
}

fn full(request: u64, start_ns: u64, end_ns: u64) -> FullRecord {
    FullRecord { request, start_ns, end_ns }
}

#[test]
fn a_write_that_finds_no_room_is_recorded_until_it_is_in() {
    for engine in ["busy-until", "event"] {
        let engine = [("engine", engine)];
        let writes = [0, 1, 2, 3].map(|page| write(0, page));
        let of_one = recorded(&TWO_PAGES, &engine, &writes);
        assert_eq!(of_one.full, [full(2, 0, WRITE), full(3, WRITE, 2 * WRITE)]);
        let drained = [((3 * WRITE, Some(0)), -1), ((4 * WRITE, Some(0)), -1)];
        let expected = [&[((0, Some(0)), 2)][..], &drained].concat();
        assert_eq!(changes(&of_one), expected, "whatever leaves makes room for the next one");
        let programs: Vec<_> = of_one.commands.iter().map(|command| command.request).collect();
        assert_eq!(programs, [0, 1, 2, 3].map(Some), "for the request that brought the page in");
        // Five pages through two places: pages 0, 1 and 2 have to leave one after the other, in one wait.
        let of_one = recorded(&TWO_PAGES, &engine, &[pages(0, Op::Write, 0, 5)]);
        assert_eq!(of_one.full, [full(0, 0, 3 * WRITE)]);
        // A read does not wait for room, and a write that joins a page needs none.
        let of_one = recorded(&TWO_PAGES, &engine, &[write(0, 0), write(0, 1), read(0, 2), write(0, 1)]);
        assert_eq!(of_one.full, []);
    }
}

#[test]
fn dirty_pages_count_for_their_channel_until_they_are_programmed_or_trimmed() {
    let more = [("channels", "2"), ("host.mode", "open")];
    let requests = [write(0, 0), write(5, 1), pages(10, Op::Trim, 0, 1), write(20, 2), write(30, 3)];
    let both = recorded(&TWO_PAGES, &more, &requests);
    // The last write sends pages 1 and 2; both are done at 30 + WRITE, when it enters.
    let expected = [
        ((0, Some(0)), 1),
        ((5, Some(1)), 1),
        ((10, Some(0)), -1),
        ((20, Some(0)), 1),
        ((30 + WRITE, Some(0)), -1),
        // The drain.
        ((30 + 2 * WRITE, Some(1)), -1),
    ];
    assert_eq!(changes(&both), expected);
    assert_eq!(both.full, [full(4, 30, 30 + WRITE)]);
}

#[test]
fn under_dynamic_allocation_a_page_counts_for_no_channel_until_it_is_sent() {
    let requests = [write(0, 0), write(0, 2), write(0, 4)];
    let more = [("channels", "2"), ("alloc.kind", "dynamic")];
    // The drain sends the last one when the read is done.
    let any = recorded(&TWO_PAGES, &more, &[&requests[..], &[read(0, 0)]].concat());
    let sent = WRITE + READ + TRANSFER;
    let expected = [
        ((0, Some(0)), 1),
        ((0, Some(1)), 1),
        ((WRITE, None), 1),
        ((WRITE, Some(0)), -1),
        ((WRITE, Some(1)), -1),
        ((sent, None), -1),
        ((sent, Some(0)), 1),
        ((sent + WRITE, Some(0)), -1),
    ];
    assert_eq!(changes(&any), expected);
    // Mode 1 fixes the channel: the pages wait for channel 0, one after the other.
    let more = [&more[..], &[("alloc.mode", "1")]].concat();
    let fixed = recorded(&TWO_PAGES, &more, &requests);
    let drained = [((2 * WRITE, Some(0)), -1), ((3 * WRITE, Some(0)), -1)];
    assert_eq!(changes(&fixed), [&[((0, Some(0)), 2)][..], &drained].concat());
    assert_eq!(fixed.full, [full(2, 0, WRITE)]);
}

#[test]
fn a_command_of_several_planes_serves_the_first_of_its_requests() {
    let more =
        [("channels", "2"), ("planes", "2"), ("timing.multi_plane", "true"), ("buffer.bytes", "16KiB")];
    let writes = [0, 1, 2, 3, 4].map(|page| write(0, page));
    for engine in ["busy-until", "event"] {
        let more = [&more[..], &[("engine", engine)]].concat();
        let served = recorded(&TWO_PAGES, &more, &writes);
        let served: Vec<_> =
            served.commands.iter().map(|command| (command.die, command.pages, command.request)).collect();
        assert_eq!(served, [(0, 2, Some(0)), (1, 2, Some(1)), (0, 1, Some(4))]);
    }
}

#[test]
fn every_transfer_has_its_place_on_the_bus() {
    // Three of four pages of eleven blocks are overwritten: the 33rd write moves the last page of one of them.
    let mut requests: Vec<_> = (0..33).map(|number| write(0, number / 3 * 4 + number % 3)).collect();
    requests.extend([read(0, 0), sectors(0, Op::Write, 0, 1)]);
    let collected = 32 * WRITE;
    let programmed = collected + READ + TRANSFER + WRITE + ERASE;
    for engine in ["busy-until", "event"] {
        let of_one = recorded(&[("precondition", "full"), ("engine", engine)], &[], &requests);
        let spans: Vec<_> = of_one
            .transfers
            .iter()
            .map(|transfer| (transfer.kind, transfer.start_ns, transfer.end_ns - transfer.start_ns))
            .collect();
        assert_eq!(spans[1], (CommandKind::Program, WRITE, TRANSFER));
        let expected = [
            (CommandKind::Copies, collected + READ, 2 * TRANSFER),
            (CommandKind::Program, programmed, TRANSFER),
            (CommandKind::Read, programmed + WRITE + READ, TRANSFER),
            (CommandKind::Rewrite, programmed + WRITE + READ + TRANSFER + READ, 2 * TRANSFER),
        ];
        assert_eq!(spans[32..], expected);
    }
    // Of two dies of a channel, one gets the bus when the other is done with it.
    let of_two = recorded(&[("dies", "2")], &[], &[write(0, 0), write(0, 1)]);
    let spans: Vec<_> = of_two.transfers.iter().map(|transfer| (transfer.die, transfer.start_ns)).collect();
    assert_eq!(spans, [(0, 0), (1, TRANSFER)]);
}

#[test]
fn the_first_command_of_a_block_opens_it() {
    let writes: Vec<_> = (0..5).map(|page| write(0, page)).collect();
    let fresh = recorded(&[], &[], &writes);
    let opens: Vec<_> = fresh.commands.iter().map(|command| command.opens).collect();
    assert_eq!(opens, [1, 0, 0, 0, 1]);
    // A full drive of 16 + 8 + 1 blocks, of which the host has written 16: 8 more until it must collect.
    let overwrites: Vec<_> = (0..33).map(|page| write(0, page)).collect();
    let full = recorded(&[], &[("precondition", "full")], &overwrites);
    let of =
        |kind| full.commands.iter().filter(move |command| command.kind == kind).map(|command| command.opens);
    assert_eq!(of(CommandKind::Program).map(u32::from).sum::<u32>(), 9, "a victim without valid pages");
    assert_eq!(of(CommandKind::Erase).collect::<Vec<_>>(), [0]);
}
