//! The journal of single commands, step by step: images, places, times.

use super::*;
use crate::op::{Crossing, Purpose};
use crate::stats::Parts;

const PAGE: Range<u32> = 0..8;

/// An operation of the drive's only unit.
fn op(kind: CommandKind, pages: u32, effect: Effect) -> FlashOp {
    FlashOp {
        unit: 0,
        pages,
        reads: 0,
        kind,
        purpose: Purpose::Host,
        opens: 0,
        crossing: Crossing::WHOLE,
        slc: false,
        effect,
    }
}

/// The journal of a drive of one unit, in blocks of 4 pages of 8 sectors. Logical pages `lpns` are on the first pages of its flash.
fn journal(lpns: Range<u64>) -> Journal {
    let geometry = Geometry::for_test(1, 1, 1, 1);
    let mut journal = Journal::new(&geometry);
    for (ppn, lpn) in (0..).zip(lpns) {
        journal.stage(Stage::Direct, 0, lpn, PAGE);
        let effect = Effect::Programmed { ppn, stale: None, stage: Stage::Direct };
        assert_eq!(journal.apply(&op(CommandKind::Program, 1, effect), &[]), NO_EFFECT, "no time runs yet");
    }
    journal.begin(&geometry).expect("journals");
    journal
}

/// A command with this effect has run.
fn record(op: &FlashOp, effect: u32, (start_ns, end_ns): (u64, u64)) -> CommandRecord {
    CommandRecord {
        die: 0,
        kind: op.kind,
        purpose: op.purpose,
        pages: op.pages,
        start_ns,
        end_ns,
        bus_ns: 0,
        effect,
        request: None,
        opens: 0,
        arrived_ns: start_ns,
        resumed_ns: start_ns,
        passed: 0,
        pauses: 0,
        parts: Parts::default(),
    }
}

/// A command of one operation is made, and runs.
fn command(journal: &mut Journal, op: &FlashOp, moves: &[(u32, u32)], span: (u64, u64)) -> CommandRecord {
    let made = journal.apply(op, moves);
    record(op, journal.handed(op.kind, &[made]), span)
}

/// The journal of these commands.
fn entries(journal: &mut Journal, commands: Vec<CommandRecord>) -> Recorded {
    let mut recorded = Recorded { commands, ..Recorded::default() };
    journal.put_times(&mut recorded);
    assert_eq!(journal.failure(), None);
    recorded
}

/// Of each page programmed: when, which, and its logical page.
fn programmed(recorded: &Recorded) -> Vec<(u64, u64, u64)> {
    let pages = recorded.pages.iter().filter_map(|entry| match &entry.change {
        Change::Programmed { page, image } => Some((entry.time_ns, *page, image.as_ref()?.lpn)),
        Change::Erased(_) => None,
    });
    pages.collect()
}

#[test]
fn pages_moved_by_one_command_are_there_one_after_the_other_and_keep_their_sequence() {
    let mut journal = journal(0..4);
    let before = journal.images.clone();
    let moved = op(CommandKind::Copies, 3, Effect::Moved(0..3));
    let moved = command(&mut journal, &moved, &[(0, 4), (1, 5), (2, 6)], (0, 301));
    let recorded = entries(&mut journal, vec![moved]);
    // Three pages move, in 101, 100 and 100 ns.
    assert_eq!(programmed(&recorded), [(101, 4, 0), (201, 5, 1), (301, 6, 2)]);
    assert_eq!(journal.images[4..7], before[..3]);
}

#[test]
fn mapping_units_of_a_page_are_there_at_once() {
    let mut journal = journal(0..4);
    journal.per_page = 2;
    let moved = FlashOp { reads: 2, ..op(CommandKind::Copies, 2, Effect::Moved(0..3)) };
    let moved = command(&mut journal, &moved, &[(0, 4), (1, 5), (3, 6)], (0, 300));
    let recorded = entries(&mut journal, vec![moved]);
    assert_eq!(programmed(&recorded), [(150, 4, 0), (150, 5, 1), (300, 6, 3)]);
}

#[test]
fn copies_that_were_paused_are_all_there_at_the_end() {
    let mut journal = journal(0..4);
    let moved = op(CommandKind::Copies, 2, Effect::Moved(0..2));
    let moved = command(&mut journal, &moved, &[(0, 4), (1, 5)], (0, 300));
    let recorded = entries(&mut journal, vec![CommandRecord { pauses: 1, ..moved }]);
    assert_eq!(programmed(&recorded), [(300, 4, 0), (300, 5, 1)]);
}

#[test]
fn planes_of_a_command_move_their_pages_side_by_side() {
    let mut journal = journal(0..4);
    let moved = |pages: usize| op(CommandKind::Copies, pages as u32, Effect::Moved(0..pages));
    let effects = [journal.apply(&moved(2), &[(0, 4), (1, 5)]), journal.apply(&moved(1), &[(2, 8)])];
    let effect = journal.handed(CommandKind::Copies, &effects);
    let recorded = entries(&mut journal, vec![record(&moved(3), effect, (0, 300))]);
    assert_eq!(programmed(&recorded), [(100, 4, 0), (200, 8, 2), (300, 5, 1)]);
}

#[test]
fn a_block_is_gone_when_its_erase_starts_and_places_are_in_the_order_of_commands() {
    let mut journal = journal(0..1);
    journal.stage(Stage::Buffer(0), 7, 0, PAGE);
    let effect = Effect::Programmed { ppn: 4, stale: Some((0, 0)), stage: Stage::Buffer(0) };
    let program = command(&mut journal, &op(CommandKind::Program, 1, effect), &[], (0, 100));
    let erase = op(CommandKind::Erase, 1, Effect::Erased { block: 0 });
    let erase = command(&mut journal, &erase, &[], (100, 300));
    let recorded = entries(&mut journal, vec![program, erase]);
    let places: Vec<_> = recorded.pages.iter().map(|entry| (entry.time_ns, entry.number)).collect();
    assert_eq!(places, [(100, 0), (100, 1)]);
    assert_eq!(recorded.pages[1].change, Change::Erased(0..4));
    assert_eq!(recorded.host.iter().map(|entry| entry.request).collect::<Vec<_>>(), [7]);
    assert!(journal.images[..4].iter().all(Option::is_none));
}

#[test]
fn sectors_that_are_not_written_come_from_the_version_before_or_from_the_trim() {
    let mut journal = journal(0..2);
    journal.trim(0, 0, 1);
    let trim = journal.trims[&1];
    for (lpn, ppn, stale) in [(0, 4, Some((0, 0))), (1, 5, None)] {
        journal.stage(Stage::Direct, 1, lpn, 0..1);
        let effect = Effect::Programmed { ppn, stale, stage: Stage::Direct };
        command(&mut journal, &op(CommandKind::Program, 1, effect), &[], (0, 100));
    }
    let version = |ppn: usize, sector| journal.images[ppn].as_ref().map(|image| image.version(sector));
    assert!(version(4, 0) > version(0, 0));
    assert_eq!(version(4, 1), version(0, 1));
    assert_eq!(version(5, 7), Some(trim.version));
    assert!(journal.trims.is_empty());
}

#[test]
fn a_command_without_a_known_effect_is_found() {
    let moved = op(CommandKind::Copies, 1, Effect::Moved(0..1));
    for was_made in [true, false] {
        let mut journal = journal(0..1);
        let made = journal.apply(&moved, &[(0, 4)]);
        let commands = vec![record(&moved, if was_made { made } else { NO_EFFECT }, (0, 100))];
        journal.put_times(&mut Recorded { commands, ..Recorded::default() });
        assert_eq!(journal.failure(), Some("die 0: Copies ran, but its effect is not known"));
    }
}
