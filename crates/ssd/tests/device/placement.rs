//! Events of placement by handles: time limits of open blocks at t - 1 and at t, unknown handles, reallocated blocks.

use flashweir_ssd::{PlacementEvents, Predictions};
use flashweir_trace::Request;

use super::rig::{MS, Setting, drive, write};

/// A time limit of 50 ms.
const LIMITED: [Setting; 4] =
    [("ftl.classifier", "stream"), ("ftl.groups", "2"), ("ftl.open_time", "50ms"), ("op_ratio", "1")];

fn of(handle: u8, request: Request) -> Request {
    Request { handle, ..request }
}

/// Events of a run of these requests.
#[track_caller]
fn events(settings: &[Setting], requests: &[Request]) -> PlacementEvents {
    let mut simulation = drive(&[&LIMITED[..], settings].concat());
    simulation.serve(requests).expect("served");
    simulation.finish().expect("finished");
    simulation.placement().expect("groups").events
}

#[test]
fn a_block_takes_pages_until_its_time_limit() {
    for (second_ns, overdue_blocks) in [(50 * MS - 1, 0), (50 * MS, 1)] {
        let found = events(&[], &[of(1, write(0, 0)), of(1, write(second_ns, 1))]);
        // Three of four pages are left.
        let expected = PlacementEvents {
            overdue_blocks,
            unwritten_pages: 3 * overdue_blocks,
            ..PlacementEvents::default()
        };
        assert_eq!(found, expected, "the second write comes at {second_ns}");
    }
}

#[test]
fn a_full_block_is_not_overdue_and_each_handle_has_its_time() {
    let mut requests: Vec<_> = (0..4).map(|page| of(1, write(page * MS, page))).collect();
    // The block of handle 1 is full; that of handle 0 begins at 40 ms and is overdue at 90 ms.
    requests.extend([write(40 * MS, 10), of(1, write(89 * MS, 11)), of(1, write(90 * MS, 12))]);
    let found = events(&[], &requests);
    assert_eq!((found.overdue_blocks, found.unwritten_pages), (1, 3));
}

#[test]
fn a_superblock_with_parity_ends_with_a_stripe() {
    let settings =
        [("channels", "4"), ("alloc.kind", "superblock"), ("alloc.parity", "3"), ("capacity", "1MiB")];
    let requests: Vec<_> = (0..4).map(|page| of(1, write(page * 60 * MS, page))).collect();
    // Three pages are a stripe; of twelve nine are left.
    for (count, expected) in [(3, (0, 0)), (4, (1, 9))] {
        let found = events(&settings, &requests[..count]);
        assert_eq!((found.overdue_blocks, found.unwritten_pages), expected, "{count} pages");
    }
}

#[test]
fn the_rest_of_a_page_of_flash_that_was_padded_is_not_unwritten() {
    let settings = [("page", "8KiB"), ("ftl.map_unit", "4KiB"), ("buffer.bytes", "0")];
    let requests: Vec<_> = (0..2).map(|unit| of(1, write(unit * 60 * MS, unit))).collect();
    let found = events(&settings, &requests);
    assert_eq!(
        (found.overdue_blocks, found.unwritten_pages),
        (1, 6),
        "mapping units of three pages of flash"
    );
}

#[test]
fn unknown_handles_and_reallocated_blocks_are_events() {
    let found = events(&[], &[of(1, write(0, 0)), of(2, write(MS, 1)), of(255, write(2 * MS, 2))]);
    assert_eq!((found.invalid_handles, found.reallocated_blocks), (2, 0));
    // Every block keeps a page that is written once, and has three that are written again by the next block.
    let pages = (0..192).map(|turn| if turn % 4 == 0 { 4 + turn / 4 } else { turn % 4 });
    let requests: Vec<_> = pages.zip(0..).map(|(page, at)| write(at * 4 * MS, page)).collect();
    let found = events(&[("ftl.open_time", "none")], &requests);
    assert!(found.reallocated_blocks > 0 && found.overdue_blocks == 0, "{found:?}");
}

#[test]
fn a_drive_whose_blocks_are_always_overdue_still_takes_every_page() {
    let settings = [("ftl.open_time", "1ns"), ("precondition", "full")];
    let requests: Vec<_> =
        (0..400).map(|turn| of((turn % 2) as u8, write(turn * 20 * MS, turn * 7 % 64))).collect();
    let found = events(&settings, &requests);
    assert!(found.overdue_blocks >= 398, "{found:?}");
}

#[test]
fn predictions_are_known_once_a_page_is_written_again() {
    let settings = [("ftl.classifier", "learned"), ("ftl.groups", "2"), ("op_ratio", "1")];
    let mut simulation = drive(&settings);
    // Sixteen pages in turn: each after as many writes, which the model learns.
    let writes: Vec<_> = (0..640).map(|at| write(at * 10 * MS, at % 16)).collect();
    simulation.serve(&writes[..32]).expect("served");
    let found = |simulation: &flashweir_ssd::Simulation| {
        simulation.placement().expect("groups").predictions.expect("a model")
    };
    assert_eq!(found(&simulation).known, 16);
    simulation.serve(&writes[32..]).expect("served");
    simulation.finish().expect("finished");
    let Predictions { known, right, error, .. } = found(&simulation);
    assert_eq!(known, 624);
    assert!(right > 560 && error < 500 * known, "{right} of {known} right, {error}");
}
