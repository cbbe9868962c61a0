//! The schedules of channels that wen2012 draws (figures 4 to 7): collections that overlap, that stop between two steps, and
//! that go on in step.

use flashweir_ssd::CommandKind::{self, Copies, Erase, Program};
use flashweir_trace::Request;

use super::rig::{PROGRAM, READ, Setting, TRANSFER, flush, run, write};

const MS: u64 = 1_000_000;
const WRITE: u64 = TRANSFER + PROGRAM;
/// A page is read, crosses the bus twice, and is programmed.
const COPY: u64 = READ + 2 * TRANSFER + PROGRAM;
/// Erase of a block, here.
const ERASE: u64 = 100_000;

/// Two channels of four blocks of four pages, of which one stays free. Even pages lie on channel 0, odd ones on 1.
const TWO: [Setting; 5] = [
    ("channels", "2"),
    ("capacity", "64KiB"),
    ("op_ratio", "0.5"),
    ("timing.erase", "100us"),
    ("buffer.bytes", "0B"),
];
/// The same with a block map: four data blocks a channel, and a log of three blocks.
const HYBRID: [Setting; 4] =
    [("ftl.kind", "log-block"), ("op_ratio", "0.75"), ("capacity", "128KiB"), ("precondition", "full")];

/// A command: its kind, its pages, and its start and end.
type Span = (CommandKind, u32, u64, u64);

/// Commands of both channels from the first request of `burst` on, in time from there. The requests before are 10 ms apart,
/// and name pages of channel 0 and 1; those of the burst come at once and name pages of the drive.
fn schedule(settings: &[Setting], laid: [&[u64]; 2], burst: &[u64]) -> [Vec<Span>; 2] {
    let settings: Vec<Setting> = TWO.iter().chain(settings).copied().collect();
    let laid = [1, 0]
        .into_iter()
        .flat_map(|channel| laid[channel].iter().map(move |page| 2 * page + channel as u64));
    let mut requests: Vec<Request> =
        laid.enumerate().map(|(number, page)| write(number as u64 * 10 * MS, page)).collect();
    let begin = requests.len() as u64 * 10 * MS;
    requests.extend(burst.iter().map(|page| write(begin, *page)));
    requests.push(flush(begin));
    let outcome = run(&settings, &requests);
    [0, 1].map(|channel| {
        let own = outcome.commands.iter().filter(|(_, die, _, start, _)| *die == channel && *start >= begin);
        own.map(|(kind, _, pages, start, end)| (*kind, *pages, start - begin, end - begin)).collect()
    })
}

/// Commands that follow each other from a time on, each with its length.
fn chain(mut at: u64, commands: &[(CommandKind, u32, u64)]) -> Vec<Span> {
    let placed = commands.iter().map(|(kind, pages, length)| {
        at += length;
        (*kind, *pages, at - length, at)
    });
    placed.collect()
}

const PROGRAMMED: (CommandKind, u32, u64) = (Program, 1, WRITE);
const COPIED: (CommandKind, u32, u64) = (Copies, 1, COPY);
const ERASED: (CommandKind, u32, u64) = (Erase, 1, ERASE);

#[test]
fn forwarding_overlaps_collections_and_ends_sooner() {
    // Figure 4. The buffer holds two pages, and is full of channel 0's while that one collects.
    let laid: [&[u64]; 2] = [&[0, 1, 2, 3, 2, 3, 4, 5, 6, 7, 4, 5], &[0, 1, 2, 3, 3, 4, 5, 6, 7, 4]];
    let burst = [0, 2, 12, 1, 4, 3, 5, 7];
    let with = |planner| {
        schedule(&[("buffer.bytes", "8KiB"), ("gc.planner", planner), ("timing.erase", "1ms")], laid, &burst)
    };
    let (without, with) = (with("none"), with("forwarding"));
    let erase = |spans: &[Span]| *spans.iter().find(|span| span.0 == Erase).expect("an erase");
    let end = |both: &[Vec<Span>; 2]| both.iter().flatten().map(|span| span.3).max().expect("commands");
    // (a) Channel 1 collects after channel 0, and nothing happens on it while channel 0 erases.
    assert!(erase(&without[1]).2 >= erase(&without[0]).3);
    let idle = |span: &Span| span.2 >= erase(&without[0]).3 || span.3 <= erase(&without[0]).2;
    assert!(without[1].iter().all(idle));
    // (b) Channel 1 copies as soon as it has nothing to write, and erases while channel 0 does.
    let programs = with[1].iter().position(|span| span.0 != Program).expect("a collection");
    assert_eq!(with[1][programs].2, with[1][programs - 1].3);
    assert!(erase(&with[1]).2 < erase(&with[0]).3);
    assert_eq!(end(&without) - end(&with), MS, "an erase is hidden");
}

#[test]
fn a_forward_collection_of_a_page_map_stops_between_two_copies() {
    // Figure 5 (b). Channel 0 collects a block without a valid page; its next page makes room in the buffer for one of
    // channel 1, which by then is in its second copy.
    let laid: [&[u64]; 2] = [&[0, 1, 2, 3, 0, 1, 2, 3, 4, 5, 6, 7], &[0, 1, 2, 3, 3, 4, 5, 6, 7, 4]];
    let settings = [("buffer.bytes", "8KiB"), ("gc.planner", "forwarding")];
    let [first, second] = schedule(&settings, laid, &[0, 2, 1, 3]);
    let expected = [PROGRAMMED, PROGRAMMED, ERASED, PROGRAMMED, PROGRAMMED];
    assert_eq!(first, chain(0, &expected));
    let collects = first[2].2;
    let expected = [COPIED, COPIED, PROGRAMMED, COPIED, ERASED, PROGRAMMED];
    assert_eq!(second, chain(collects, &expected));
    assert!(second[1].2 < first[3].3 && first[3].3 < second[1].3, "the page arrives in the middle of a copy");
}

#[test]
fn a_forward_collection_of_a_block_map_stops_between_two_data_blocks() {
    // Figure 5 (a). The oldest log block of channel 1 has pages of three data blocks.
    let laid: [&[u64]; 2] = [&[1, 5, 9, 1, 2, 6, 10, 2, 3, 7, 3, 7], &[1, 5, 9, 1, 2, 6, 10, 2]];
    let settings: Vec<Setting> =
        HYBRID.into_iter().chain([("buffer.bytes", "8KiB"), ("gc.planner", "forwarding")]).collect();
    let [first, second] = schedule(&settings, laid, &[2, 10, 18, 4, 1, 3]);
    let merged = (Copies, 4, 4 * COPY);
    let programs: Vec<Span> = second.iter().filter(|span| span.0 == Program).copied().collect();
    let collection: Vec<Span> = second.iter().filter(|span| span.0 != Program).copied().collect();
    let begin = collection[0].2;
    assert_eq!(first.iter().find(|span| span.0 != Program).expect("a collection").2, begin);
    // Two of three data blocks are made anew; neither the third nor the log block is touched before the pages are written.
    assert_eq!(collection, chain(begin, &[merged, ERASED, merged, ERASED]));
    assert_eq!(programs[0].2, collection[3].3);
}

#[test]
fn cycle_filling_of_a_block_map_merges_and_erases_together() {
    // Figure 6. The initiator's victim has pages of A, B and C; the follower's oldest log block has pages of D and E, its
    // second oldest one of F.
    let laid: [&[u64]; 2] = [&[1, 5, 1, 5, 9], &[1, 5, 9, 1, 2, 6, 10, 2, 3, 7, 3, 7]];
    let settings: Vec<Setting> = HYBRID.into_iter().chain([("gc.planner", "cycle-filling")]).collect();
    let [follower, initiator] = schedule(&settings, laid, &[11]);
    let merged = (Copies, 4, 4 * COPY);
    let together = [merged, ERASED, merged, ERASED, merged, ERASED, ERASED];
    assert_eq!(follower, chain(0, &together));
    assert_eq!(initiator[..7], chain(0, &together));
    assert_eq!(initiator[7..], chain(initiator[6].3, &[PROGRAMMED]));
}

#[test]
fn cycle_filling_of_a_page_map_copies_and_erases_together() {
    // Figure 7. The initiator's victim has two valid pages, the follower's best one has one, its second best more.
    let laid: [&[u64]; 2] = [&[0, 1, 2, 3, 1, 2, 3, 4, 3, 4], &[0, 1, 2, 3, 2, 3, 4, 5, 6, 7, 4, 5]];
    let [follower, initiator] = schedule(&[("gc.planner", "cycle-filling")], laid, &[1]);
    assert_eq!(follower, chain(0, &[COPIED, COPIED, ERASED]));
    assert_eq!(initiator, chain(0, &[COPIED, COPIED, ERASED, PROGRAMMED]));
}
