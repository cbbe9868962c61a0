//! The checker is itself checked: each rule broken on purpose, and found.

use super::*;
use crate::op::{Crossing, MapWork, Purpose};

const FULL: Range<u32> = 0..8;

/// A drive of one unit: blocks of 4 pages of 8 sectors.
fn versions() -> Versions {
    Versions::new(&Geometry::for_test(1, 1, 1, 1), true)
}

/// A page programmed, and the one of the version before.
type Place = (u32, Option<u32>);

fn first(ppn: u32) -> Place {
    (ppn, None)
}

fn over(ppn: u32, old: u32) -> Place {
    (ppn, Some(old))
}

/// The unit has done what has this effect.
fn done(versions: &mut Versions, kind: CommandKind, effect: Effect, moves: &[(u32, u32)]) {
    let op = FlashOp {
        reads: 0,
        unit: 0,
        pages: 1,
        kind,
        purpose: Purpose::Host,
        opens: 0,
        crossing: Crossing::WHOLE,
        slc: false,
        effect,
    };
    assert_eq!(versions.apply(&op, moves), NO_EFFECT, "the checker keeps nothing for later");
}

fn program(versions: &mut Versions, stage: Stage, (ppn, old): Place) {
    let effect = Effect::Programmed { ppn, stale: old.map(|old| (0, old)), stage };
    done(versions, CommandKind::Program, effect, &[]);
}

fn copy(versions: &mut Versions, from: u32, to: u32) {
    done(versions, CommandKind::Copies, Effect::Moved(0..1), &[(from, to)]);
}

fn erase(versions: &mut Versions, block: u32) {
    done(versions, CommandKind::Erase, Effect::Erased { block }, &[]);
}

fn read_map(versions: &mut Versions, ppn: u32) {
    done(versions, CommandKind::Read, Effect::MapRead { ppn, work: MapWork::Load }, &[]);
}

fn program_map(versions: &mut Versions, ppn: u32) {
    let effect = Effect::MapProgrammed { page: 0, ppn, work: MapWork::WriteBack, clears: None };
    done(versions, CommandKind::Program, effect, &[]);
}

/// Writes a page from the host straight to flash.
fn write(versions: &mut Versions, lpn: u64, sectors: Range<u32>, place: Place) {
    versions.stage(Stage::Direct, 0, lpn, sectors);
    program(versions, Stage::Direct, place);
}

/// Report of the checker after `broken` was done to a drive on which logical page 5 is on physical page 0.
#[track_caller]
fn found(broken: impl FnOnce(&mut Versions)) -> String {
    let mut versions = versions();
    write(&mut versions, 5, FULL, first(0));
    versions.read(5, FULL, Some((0, 0)), None);
    assert_eq!(versions.failure(), None);
    broken(&mut versions);
    versions.failure().expect("a broken rule is found").to_owned()
}

#[test]
fn what_a_drive_may_do_is_not_found_fault_with() {
    let mut versions = versions();
    versions.read(5, FULL, None, None);
    write(&mut versions, 5, FULL, first(0));
    write(&mut versions, 5, 2..3, over(1, 0));
    versions.read(5, FULL, Some((0, 1)), None);
    copy(&mut versions, 1, 4);
    erase(&mut versions, 0);
    versions.read(5, FULL, Some((0, 4)), None);
    write(&mut versions, 6, 0..1, first(0));
    versions.read(6, 0..8, Some((0, 0)), None);
    versions.stage(Stage::Buffer(3), 0, 5, 1..2);
    versions.read(5, FULL, Some((0, 4)), Some(Stage::Buffer(3)));
    program(&mut versions, Stage::Buffer(3), over(5, 4));
    versions.unstage(Stage::Buffer(3));
    versions.read(5, FULL, Some((0, 5)), None);
    versions.trim(0, 0, 5);
    versions.read(5, FULL, None, None);
    assert_eq!(versions.failure(), None);
}

#[test]
fn a_page_programmed_twice_or_out_of_order_is_found() {
    let twice = found(|versions| write(versions, 6, FULL, first(0)));
    assert_eq!(twice, "unit 0, block 0: page 0 programmed when page 1 was next");
    let skipped = found(|versions| write(versions, 6, FULL, first(2)));
    assert_eq!(skipped, "unit 0, block 0: page 2 programmed when page 1 was next");
    let moved = found(|versions| copy(versions, 0, 5));
    assert_eq!(moved, "unit 0, block 1: page 1 programmed when page 0 was next");
}

#[test]
fn where_blocks_are_mapped_pages_may_be_left_out_but_not_programmed_twice() {
    let geometry = Geometry { maps_blocks: true, ..Geometry::for_test(1, 1, 1, 1) };
    let mut versions = Versions::new(&geometry, true);
    write(&mut versions, 5, FULL, first(1));
    write(&mut versions, 7, FULL, first(3));
    assert_eq!(versions.failure(), None);
    write(&mut versions, 6, FULL, first(2));
    assert_eq!(versions.failure(), Some("unit 0, block 0: page 2 programmed when page 4 was next"));
}

#[test]
fn a_lost_write_is_found() {
    // The map says: not there; another page; the version before.
    let unmapped = found(|versions| versions.read(5, FULL, None, None));
    assert_eq!(unmapped, "sector 0 of page 5 read version 0, the last write was version 1");
    let other = found(|versions| {
        write(versions, 6, FULL, first(1));
        versions.read(5, FULL, Some((0, 1)), None);
    });
    assert_eq!(other, "sector 0 of page 5 read version 2, the last write was version 1");
    let stale = found(|versions| {
        write(versions, 5, 3..4, over(1, 0));
        versions.read(5, FULL, Some((0, 0)), None);
    });
    assert_eq!(stale, "sector 3 of page 5 read version 1, the last write was version 2");
}

#[test]
fn a_rewrite_that_drops_the_rest_of_its_page_is_found() {
    let dropped = found(|versions| {
        write(versions, 5, 3..4, first(1));
        versions.read(5, FULL, Some((0, 1)), None);
    });
    assert_eq!(dropped, "sector 0 of page 5 read version 0, the last write was version 1");
}

#[test]
fn data_of_an_erased_block_is_found() {
    let read = found(|versions| {
        erase(versions, 0);
        versions.read(5, FULL, Some((0, 0)), None);
    });
    assert_eq!(read, "sector 0 of page 5 read an erased page, the last write was version 1");
    let moved = found(|versions| {
        erase(versions, 0);
        copy(versions, 0, 4);
    });
    assert_eq!(moved, "unit 0: page 0 was moved after its block was erased");
    let completed = found(|versions| {
        erase(versions, 0);
        write(versions, 5, 3..4, over(4, 0));
    });
    assert_eq!(completed, "unit 0: a partial write took its other sectors from an erased page");
}

#[test]
fn data_that_outlives_its_trim_is_found() {
    let kept = found(|versions| {
        versions.trim(0, 0, 5);
        versions.read(5, 2..4, Some((0, 0)), None);
    });
    assert_eq!(kept, "sector 2 of page 5 read version 1, the last write was version 0");
}

#[test]
fn a_read_that_misses_the_buffer_or_reads_it_too_long_is_found() {
    let missed = found(|versions| {
        versions.stage(Stage::Buffer(0), 0, 5, 1..2);
        versions.read(5, FULL, Some((0, 0)), None);
    });
    assert_eq!(missed, "sector 1 of page 5 read version 1, the last write was version 2");
    let gone = found(|versions| {
        versions.stage(Stage::Buffer(0), 0, 5, 1..2);
        program(versions, Stage::Buffer(0), over(1, 0));
        write(versions, 5, FULL, over(2, 1));
        versions.read(5, FULL, Some((0, 2)), Some(Stage::Buffer(0)));
    });
    assert_eq!(gone, "sector 1 of page 5 read version 2, the last write was version 3");
}

#[test]
fn only_the_first_fault_is_kept() {
    let fault = found(|versions| {
        versions.read(5, 7..8, None, None);
        versions.read(5, FULL, None, None);
    });
    assert!(fault.starts_with("sector 7 "), "{fault}");
}

#[test]
fn a_translation_page_is_neither_read_as_data_nor_the_other_way_round() {
    let mut versions = versions();
    program_map(&mut versions, 0);
    read_map(&mut versions, 0);
    copy(&mut versions, 0, 4);
    erase(&mut versions, 0);
    read_map(&mut versions, 4);
    assert_eq!(versions.failure(), None);
    let message = found(|versions| read_map(versions, 0));
    assert_eq!(message, "unit 0: page 0 was read as a translation page, which it is not");
    let message = found(|versions| {
        program_map(versions, 1);
        versions.read(5, FULL, Some((0, 1)), None);
    });
    assert_eq!(message, "sector 0 of page 5 read a translation page, the last write was version 1");
    let message = found(|versions| program_map(versions, 0));
    assert_eq!(message, "unit 0, block 0: page 0 programmed when page 1 was next");
    let message = found(|versions| {
        program_map(versions, 1);
        erase(versions, 0);
        read_map(versions, 1);
    });
    assert!(message.starts_with("unit 0: page 1 was read as a translation page"), "{message}");
}
