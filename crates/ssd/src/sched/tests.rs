//! Choices of the schedulers, as pure functions of a queue.

mod backlog;

use super::*;
use crate::op::{Command, CommandKind, Link, NO_EFFECT, NOBODY, Purpose};
use crate::quantity::Nanos;
use crate::stats::Spent;

/// Times of a read, a program and an erase, ns.
const READ: u64 = 30;
const PROGRAM: u64 = 210;
const ERASE: u64 = 1000;

fn queued(kind: CommandKind, pages: Pages, arrived_ns: u64) -> Queued {
    let time = match kind {
        CommandKind::Read => READ,
        CommandKind::Erase => ERASE,
        _ => PROGRAM,
    };
    let awaited = !matches!(kind, CommandKind::Copies | CommandKind::Erase);
    let purpose = if awaited { Purpose::Host } else { Purpose::Gc };
    let command = Command {
        die: 0,
        kind,
        purpose,
        opens: 0,
        pages: 1,
        read_ns: 0,
        bus_ns: 0,
        program_ns: time,
        tag: NOBODY,
        effect: NO_EFFECT,
        link: Link::NONE,
        awaited,
    };
    let spent = Spent::default();
    Queued::new(command, pages, Chain::None, arrived_ns, arrived_ns, spent)
}

fn page(ppn: u32) -> Pages {
    let mut pages = Pages::default();
    pages.add(0, ppn);
    pages
}

pub(super) fn read(ppn: u32) -> Queued {
    queued(CommandKind::Read, page(ppn), 0)
}

pub(super) fn write(ppn: u32) -> Queued {
    queued(CommandKind::Program, page(ppn), 0)
}

fn moves(from: u32, to: u32) -> Queued {
    let mut pages = Pages::default();
    pages.add_move(0, from, to);
    queued(CommandKind::Copies, pages, 0)
}

fn erase(first: u32) -> Queued {
    let mut pages = Pages::default();
    pages.add_run(0, first, first + 3);
    queued(CommandKind::Erase, pages, 0)
}

/// Numbers below a limit, by a seed.
pub(super) fn draws(mut seed: u64) -> impl FnMut(u64) -> u64 {
    move |below| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) % below
    }
}

/// A command of any kind, on pages of these units.
pub(super) fn anywhere(mut draw: impl FnMut(u64) -> u64, units: u64, pages: u64) -> Queued {
    let mut at = Pages::default();
    let (unit, ppn) = (draw(units) as u32, draw(pages) as u32);
    let kind = match draw(32) {
        0..16 => CommandKind::Read,
        16..28 => CommandKind::Program,
        28 => CommandKind::Rewrite,
        29 => CommandKind::Erase,
        _ => CommandKind::Copies,
    };
    match kind {
        CommandKind::Erase => at.add_run(unit, ppn, ppn + 3),
        // Pages gathered from other dies are not known.
        CommandKind::Copies if draw(8) == 0 => {}
        CommandKind::Copies => at.add_move(unit, draw(pages) as u32, ppn),
        _ => at.add(unit, ppn),
    }
    if draw(10) == 0 && !at.is_empty() {
        at.add(draw(units) as u32, draw(pages) as u32);
    }
    let mut queued = queued(kind, at, 0);
    queued.command.opens = u8::from(draw(20) == 0);
    queued
}

fn passing(write_bound_ns: u64) -> Passing {
    Passing { write_bound_ns, collections: false, hindered_reads: false, interrupts_copies: false }
}

/// Hands commands over at `now_ns` behind one that still takes `ahead_ns`; returns where each of them went.
fn places(passing: Passing, now_ns: u64, ahead_ns: u64, commands: Vec<Queued>) -> (Vec<usize>, Queue) {
    let scheduler = Scheduler::Reads(passing);
    let mut queue = Queue::default();
    let places = commands.into_iter().map(|mut command| {
        let place = scheduler.place(&queue, &mut command, now_ns, ahead_ns);
        queue.insert(place, command);
        scheduler.settle(&mut queue, Some(place));
        place
    });
    (places.collect(), queue)
}

#[test]
fn a_read_passes_writes_but_no_read_no_write_to_its_page_and_no_collection() {
    let place = |commands| places(passing(u64::MAX), 0, 0, commands).0;
    assert_eq!(place(vec![write(1), write(2), read(3)]), [0, 1, 0]);
    assert_eq!(place(vec![write(1), read(3), write(2), read(4)]), [0, 0, 2, 1]);
    assert_eq!(place(vec![write(1), write(2), write(3), read(2)]), [0, 1, 2, 2]);
    assert_eq!(place(vec![write(1), write(1), write(3), read(1)]), [0, 1, 2, 2]);
    assert_eq!(place(vec![write(1), erase(8), write(2), read(3)]), [0, 1, 2, 2]);
    assert_eq!(place(vec![write(1), moves(8, 12), write(2), read(3)]), [0, 1, 2, 2]);
    // A read that had to stay behind a write keeps later ones behind it.
    assert_eq!(place(vec![write(1), write(2), read(2), read(9)]), [0, 1, 2, 3]);
    // A read of the drive's own is like a write that no read passes.
    let mut own = read(5);
    own.command.awaited = false;
    assert_eq!(place(vec![write(1), own, write(2), read(3)]), [0, 1, 2, 2]);
}

#[test]
fn a_read_passes_collections_if_it_may_and_reads_a_page_where_it_was() {
    let passing = Passing { collections: true, ..passing(u64::MAX) };
    let place = |commands| places(passing, 0, 0, commands).0;
    assert_eq!(place(vec![moves(8, 12), erase(8), write(2), read(3)]), [0, 1, 2, 0]);
    assert_eq!(place(vec![moves(8, 12), erase(8), write(2), read(12)]), [0, 1, 2, 0]);
    // It was written there by one that waits as well, or moved there, from a block that was moved before.
    assert_eq!(place(vec![write(8), moves(8, 12), erase(8), read(12)]), [0, 1, 2, 1]);
    assert_eq!(place(vec![write(4), moves(4, 8), erase(4), moves(8, 12), erase(8), read(12)])[5], 1);
    let (_, queue) = places(passing, 0, 0, vec![write(8), moves(8, 12), erase(8), read(12)]);
    let found = queue.get(1).expect("the read");
    assert!(found.pages.overlaps(&page(8)), "where it will be read: {found:?}");
}

#[test]
fn a_read_that_opens_a_block_stays_behind_its_erase() {
    let passing = Passing { collections: true, ..passing(u64::MAX) };
    let opens = |ppn| {
        let mut read = read(ppn);
        read.command.opens = 1;
        read
    };
    let place = |commands| places(passing, 0, 0, commands).0;
    // Blocks have four pages.
    assert_eq!(place(vec![moves(8, 12), erase(8), write(2), opens(9)]), [0, 1, 2, 2]);
    assert_eq!(place(vec![moves(8, 12), erase(8), write(2), opens(16)]), [0, 1, 2, 0]);
    assert_eq!(place(vec![erase(8), erase(4), opens(5), opens(9)]), [0, 1, 2, 3]);
}

#[test]
fn the_bound_is_of_the_last_nanosecond() {
    // The second write: 60 since it came, 100 left of what runs, the first write, itself, and the read.
    let estimate = 60 + 100 + PROGRAM + PROGRAM + READ;
    let place = |bound| places(passing(bound), 60, 100, vec![write(1), write(2), read(3)]).0[2];
    assert_eq!(place(estimate), 0);
    assert_eq!(place(estimate - 1), 2);
    // The first one waits for longest: the later one may be passed, it may not.
    let mut old = write(1);
    old.arrived_ns = 0;
    let mut young = write(2);
    young.arrived_ns = 1000;
    let older = 1000 + 100 + PROGRAM + READ;
    let younger = 100 + PROGRAM + PROGRAM + READ;
    assert!(younger < older);
    let place = |bound| places(passing(bound), 1000, 100, vec![old.clone(), young.clone(), read(3)]).0[2];
    assert_eq!([place(older), place(older - 1), place(younger), place(younger - 1)], [0, 1, 1, 2]);
    // Without room for a write's own time nothing moves.
    assert_eq!([place(PROGRAM), place(0)], [2, 2]);
}

#[test]
fn a_read_that_nothing_hinders_passes_those_that_wait_for_a_write() {
    let passing = Passing { hindered_reads: true, collections: true, ..passing(u64::MAX) };
    let (places, mut queue) = places(passing, 0, 0, vec![write(1), write(2), read(2), read(9), read(2)]);
    assert_eq!(places, [0, 1, 2, 0, 4]);
    // Once the write it waits for is gone it is first, and keeps its turn.
    let scheduler = Scheduler::Reads(passing);
    for _ in 0..3 {
        queue.remove(0);
        scheduler.settle(&mut queue, None);
    }
    assert_eq!(scheduler.place(&queue, &mut read(7), 0, 0), 2);
}

#[test]
fn a_queue_keeps_count_of_its_time_and_its_pages() {
    let (_, mut queue) = places(passing(u64::MAX), 0, 0, vec![write(1), write(1), read(205), erase(408)]);
    assert_eq!((queue.len(), queue.service_ns()), (4, 2 * PROGRAM + READ + ERASE));
    let holds = |queue: &Queue| [1, 205, 408].map(|ppn| queue.may_write(&page(ppn)));
    assert_eq!(holds(&queue), [true, false, false], "reads and erases write nothing");
    assert_eq!(queue.settled(), 4, "the erase stops all reads");
    assert!(queue.remove(1).is_some() && holds(&queue)[0]);
    assert!(queue.remove(1).is_some() && !holds(&queue)[0]);
    assert_eq!((queue.len(), queue.settled(), queue.service_ns()), (2, 2, READ + ERASE));
    assert_eq!((queue.others(), queue.has_copies()), (1, false));
    assert!(queue.remove(2).is_none() && queue.get(2).is_none());
    queue.insert(1, write(3));
    let kinds: Vec<_> = queue.iter().map(|queued| queued.command.kind).collect();
    assert_eq!(kinds, [CommandKind::Read, CommandKind::Program, CommandKind::Erase]);
    assert_eq!(queue.settled(), 3, "what is put among the settled is settled");
}

#[test]
fn a_long_queue_knows_its_pages_one_by_one() {
    let mut queue = Queue::default();
    for ppn in 0..1000 {
        queue.insert(queue.len(), write(2 * ppn % 1500));
        let exact = queue.len() > 256;
        assert_eq!(queue.may_write(&page(1)), !exact, "an odd page, among even ones: {} wait", queue.len());
        assert!(queue.may_write(&page(2 * ppn % 1500)));
    }
    for ppn in 0..1000 {
        let written_again = 2 * ppn + 1500 < 2000 || ppn >= 750;
        assert!(queue.remove(0).is_some());
        let holds = queue.may_write(&page(2 * ppn % 1500));
        assert!(queue.len() <= 64 || holds == (written_again && ppn < 750), "{ppn}");
    }
    assert!(queue.is_empty() && !queue.may_write(&page(0)));
}

#[test]
fn the_second_of_a_chain_waits_until_its_number_is_called() {
    let mut queue = Queue::default();
    for number in [4, 5] {
        queue.insert(queue.len(), Queued { chain: Chain::Second { number }, ..write(1) });
    }
    queue.release(5);
    assert!(queue.iter().map(|queued| queue.holds_back(queued)).eq([true, false]));
}

#[test]
fn a_suspension_is_worth_it_while_more_is_left_than_stopping_takes_and_the_bound_allows_it() {
    let own = suspend::Config {
        suspend_time: Nanos(7),
        resume_time: Nanos(5),
        max_suspensions: 2,
        write_weight: 0.0,
        ..Default::default()
    };
    let suspend = |bound| {
        let config = SchedConfig { write_bound: Bound(bound), ..SchedConfig::default() };
        suspend::Suspend::new(&own, &config)
    };
    let running = Running {
        is_write: true,
        between_copies: false,
        age_ns: 100,
        left_ns: 50,
        is_erase: false,
        array: None,
        suspensions: 1,
        writes: 1,
    };
    let free = suspend(None);
    assert!(free.gives_way(&running, &read(1)));
    assert!(!free.gives_way(&Running { suspensions: 2, ..running }, &read(1)), "at most twice");
    assert!(!free.gives_way(&Running { left_ns: 7, ..running }, &read(1)), "as soon done as stopped");
    assert!(free.gives_way(&Running { left_ns: 8, ..running }, &read(1)));
    assert!(free.gives_way(&Running { between_copies: true, suspensions: 2, ..running }, &read(1)));
    let latency = 100 + 7 + READ + 5 + 50;
    let bounded = |bound| suspend(Some(Nanos(bound)));
    assert!(bounded(latency).gives_way(&running, &read(1)));
    assert!(!bounded(latency - 1).gives_way(&running, &read(1)));
    assert!(bounded(0).gives_way(&Running { is_write: false, ..running }, &read(1)), "a bound of writes");
    // Once it has stopped, only what is to come counts.
    assert!(bounded(100 + READ + 50).goes_on_with(&running, &read(1)));
    assert!(!bounded(100 + READ + 49).goes_on_with(&running, &read(1)));
}

#[test]
fn out_of_order_takes_the_oldest_that_can_start() {
    let pick = |window, bus_is_free, commands: Vec<Queued>| {
        let mut queue = Queue::default();
        for command in commands {
            queue.insert(queue.len(), command);
        }
        Scheduler::OutOfOrder(out_of_order::OutOfOrder::new(&out_of_order::Config { window })).pick(
            &mut queue,
            bus_is_free,
            0,
        )
    };
    let second = || Queued { chain: Chain::Second { number: 1 }, ..write(1) };
    let other_unit = || {
        let mut pages = Pages::default();
        pages.add(1, 1);
        queued(CommandKind::Program, pages, 0)
    };
    assert_eq!(pick(32, true, vec![write(1), read(2)]), 0);
    assert_eq!(pick(32, false, vec![write(1), read(2)]), 1, "a program has nothing to do without the bus");
    assert_eq!(pick(32, false, vec![write(1), read(1)]), 0, "the read depends on it");
    assert_eq!(pick(32, false, vec![write(1), erase(4), read(2)]), 2, "an erase keeps its place in its unit");
    assert_eq!(pick(32, true, vec![second(), write(2), other_unit()]), 2);
    assert_eq!(pick(32, false, vec![second(), write(2), other_unit()]), 2, "it only waits for the bus");
    assert_eq!(pick(2, true, vec![second(), write(2), other_unit()]), 0, "out of sight");
    assert_eq!(pick(32, true, vec![second(), read(1), read(2)]), 2);
}

/// Where a read goes that passes everything but writes to its page, and the pages that it reads there: all are looked through.
fn looked_through(queue: &Queue, read: &Queued) -> (usize, Pages) {
    let waiting: Vec<_> = queue.iter().collect();
    let (mut last, mut pages) = (0, read.pages.clone());
    for (place, before) in waiting.iter().enumerate().rev().filter(|(_, before)| before.writes()) {
        if before.pages.overlaps(&pages) && before.command.kind == CommandKind::Copies {
            pages = pages.before(&before.pages);
        } else if before.pages.overlaps(&pages) {
            last = place + 1;
            break;
        }
    }
    (last + waiting[last..].iter().take_while(|queued| queued.is_awaited_read()).count(), pages)
}

#[test]
fn in_a_long_queue_a_read_goes_where_it_goes_in_a_short_one() {
    let passing = Passing { hindered_reads: true, collections: true, ..passing(u64::MAX) };
    let scheduler = Scheduler::Reads(passing);
    let (mut queue, mut seed) = (Queue::default(), 1_u64);
    let mut draw = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) % below
    };
    let (mut behind_others, mut elsewhere) = (0, 0);
    for step in 0..8000 {
        let ppn = draw(900) as u32;
        let mut command = match draw(16) {
            0..8 => read(ppn),
            8..13 => write(ppn),
            13 => erase(ppn),
            _ => moves(draw(900) as u32, ppn),
        };
        let expected = looked_through(&queue, &command);
        let place = scheduler.place(&queue, &mut command, 0, 0);
        if command.is_awaited_read() {
            let pages = format!("{:?}", command.pages);
            assert_eq!((place, pages), (expected.0, format!("{:?}", expected.1)), "step {step}, page {ppn}");
            behind_others += usize::from(place > queue.settled());
            elsewhere += usize::from(!command.pages.overlaps(&page(ppn)));
        } else {
            assert_eq!(place, queue.len());
        }
        queue.insert(place, command);
        scheduler.settle(&mut queue, Some(place));
        if draw(3) == 0 {
            assert!(queue.remove(0).is_some());
            scheduler.settle(&mut queue, None);
        }
    }
    assert!(queue.len() > 4000 && behind_others > 1000 && elsewhere > 100, "{behind_others}, {elsewhere}");
}
