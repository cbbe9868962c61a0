//! The checker is itself checked: drives that keep their promises, and drives that break them, step by step.

use std::ops::Range;

use flashweir_trace::{Op, Request};

use super::*;
use crate::content::Content;
use crate::nand::{CommandRecord, IssueRecord, RequestRecord};
use crate::op::{CommandKind, Effect, FlashOp, NO_EFFECT, Purpose, Stage};

const PAGE: Range<u32> = 0..8;

/// An operation of the drive's only unit.
fn op(kind: CommandKind, pages: u32, effect: Effect) -> FlashOp {
    FlashOp { unit: 0, pages, kind, purpose: Purpose::Host, opens: 0, effect }
}

/// A drive of one unit, in blocks of 4 pages of 8 sectors, whose every step is chosen.
struct Bench {
    journal: Journal,
    baseline: Baseline,
    recorded: Recorded,
}

impl Bench {
    /// Before the run, logical pages `lpns` are written to the first pages of the flash.
    fn new(lpns: Range<u64>) -> Self {
        let mut journal = Journal::new(&Geometry::for_test(1, 1, 1, 1));
        for (ppn, lpn) in (0..).zip(lpns) {
            journal.stage(Stage::Direct, 0, lpn, PAGE);
            let effect = Effect::Programmed { ppn, stale: None, stage: Stage::Direct };
            let number = journal.apply(&op(CommandKind::Program, 1, effect), &[]);
            assert_eq!(number, NO_EFFECT, "no time runs yet");
        }
        let baseline = journal.begin().expect("journals");
        Self { journal, baseline, recorded: Recorded::default() }
    }

    /// A command makes an operation, and runs.
    fn command(&mut self, op: &FlashOp, moves: &[(u32, u32)], span: (u64, u64)) {
        let effect = self.journal.apply(op, moves);
        let effect = self.journal.handed(op.kind, &[effect]);
        self.record(op, effect, span);
    }

    /// A command with this effect has run.
    fn record(&mut self, op: &FlashOp, effect: u32, (start_ns, end_ns): (u64, u64)) {
        let record = CommandRecord {
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
            parts: crate::stats::Parts::default(),
        };
        self.recorded.commands.push(record);
    }

    /// The host writes sectors of a page into an entry of the buffer.
    fn stage(&mut self, request: u64, lpn: u64, sectors: Range<u32>, slot: u32) {
        self.journal.stage(Stage::Buffer(slot), request, lpn, sectors);
    }

    /// An entry of the buffer is programmed.
    fn program(&mut self, slot: u32, ppn: u32, old: Option<u32>, span: (u64, u64)) {
        let effect = Effect::Programmed { ppn, stale: old.map(|ppn| (0, ppn)), stage: Stage::Buffer(slot) };
        self.command(&op(CommandKind::Program, 1, effect), &[], span);
        self.journal.unstage(Stage::Buffer(slot));
    }

    /// One command moves these pages.
    fn copy(&mut self, pages: &[(u32, u32)], span: (u64, u64)) {
        let moved = op(CommandKind::Copies, pages.len() as u32, Effect::Moved(0..pages.len()));
        self.command(&moved, pages, span);
    }

    fn erase(&mut self, block: u32, span: (u64, u64)) {
        self.command(&op(CommandKind::Erase, 1, Effect::Erased { block }), &[], span);
    }

    fn trim(&mut self, request: u64, lpn: u64, now_ns: u64) {
        self.journal.trim(request, lpn);
        self.request(request, Op::Trim, 8, (now_ns, now_ns));
    }

    fn request(&mut self, number: u64, op: Op, sectors: u32, (issue_ns, completion_ns): (u64, u64)) {
        let request = Request { time_ns: issue_ns, lba: 0, sectors, stream: 0, op };
        self.recorded.issues.push(IssueRecord { number, request, issue_ns });
        self.recorded.requests.push(RequestRecord { number, request, issue_ns, completion_ns });
    }

    fn cut(mut self, times: &[u64]) -> Vec<Outcome> {
        self.journal.put_times(&mut self.recorded);
        assert_eq!(self.journal.failure(), None);
        let mut cuts = PowerCuts::from_baseline(self.baseline, Cuts::At(times.to_vec()), 1, true);
        cuts.take(&self.recorded);
        cuts.finish(1_000_000).expect("all cuts lie within the run, and rebuilds agree")
    }
}

/// Of each cut: acknowledged and promised sectors lost.
fn lost(outcomes: &[Outcome]) -> Vec<(u64, u64)> {
    outcomes.iter().map(|outcome| (outcome.acknowledged_sectors_lost, outcome.flushed_sectors_lost)).collect()
}

#[test]
fn what_waits_in_the_buffer_is_lost_until_it_is_programmed() {
    let mut bench = Bench::new(0..1);
    bench.stage(0, 0, 2..5, 0);
    bench.request(0, Op::Write, 3, (10, 20));
    bench.program(0, 1, Some(0), (100, 300));
    assert_eq!(lost(&bench.cut(&[0, 19, 20, 299, 300])), [(0, 0), (0, 0), (3, 0), (3, 0), (0, 0)]);
}

#[test]
fn a_flush_that_does_not_wait_is_found() {
    let mut bench = Bench::new(0..1);
    bench.stage(0, 0, PAGE, 0);
    bench.request(0, Op::Write, 8, (10, 20));
    bench.request(1, Op::Flush, 0, (30, 200));
    bench.program(0, 1, Some(0), (100, 300));
    assert_eq!(lost(&bench.cut(&[199, 200, 299, 300])), [(8, 0), (8, 8), (8, 8), (0, 0)]);
}

#[test]
fn a_flush_promises_what_was_acknowledged_before_it_was_issued() {
    // At the same instant, the order is that of the requests.
    for (write, flush, completion_ns, promised) in
        [(0, 1, 29, 8), (0, 1, 31, 0), (0, 1, 30, 8), (1, 0, 30, 0)]
    {
        let mut bench = Bench::new(0..1);
        bench.stage(write, 0, PAGE, 0);
        bench.request(flush, Op::Flush, 0, (30, 200));
        bench.request(write, Op::Write, 8, (10, completion_ns));
        bench.program(0, 1, Some(0), (100, 300));
        assert_eq!(lost(&bench.cut(&[200, 300])), [(8, promised), (0, 0)]);
    }
}

#[test]
fn an_erase_before_the_copy_has_ended_is_found() {
    for (erase_ns, expected) in [(400, [(0, 0); 4]), (399, [(0, 0), (8, 8), (0, 0), (0, 0)])] {
        let mut bench = Bench::new(0..4);
        bench.copy(&[(0, 4), (1, 5), (2, 6), (3, 7)], (0, 400));
        bench.erase(0, (erase_ns, 1000));
        assert_eq!(lost(&bench.cut(&[398, 399, 400, 1000])), expected, "an erase at {erase_ns}");
    }
}

#[test]
fn pages_moved_by_one_command_are_there_one_after_the_other() {
    let mut bench = Bench::new(0..4);
    bench.copy(&[(0, 4), (1, 5), (2, 6)], (0, 301));
    bench.erase(0, (0, 1000));
    // Three pages move, in 101, 100 and 100 ns, though their block is gone from the start; the fourth does not.
    let outcomes = bench.cut(&[0, 100, 101, 200, 201, 300, 301]);
    let found: Vec<_> = outcomes.iter().map(|outcome| 4 - outcome.flushed_sectors_lost / 8).collect();
    assert_eq!(found, [0, 0, 1, 1, 2, 2, 3]);
}

#[test]
fn a_copy_does_not_hide_a_newer_version_that_was_programmed_before_it() {
    let mut bench = Bench::new(0..1);
    bench.stage(0, 0, PAGE, 0);
    bench.request(0, Op::Write, 8, (0, 0));
    bench.program(0, 4, Some(0), (0, 100));
    bench.copy(&[(0, 5)], (100, 200));
    bench.erase(0, (200, 300));
    assert_eq!(lost(&bench.cut(&[99, 100, 200, 300])), [(8, 0), (0, 0), (0, 0), (0, 0)]);
}

#[test]
fn a_trim_is_kept_from_the_next_flush_on() {
    let trimmed = |flush: bool| {
        let mut bench = Bench::new(0..1);
        bench.trim(0, 0, 50);
        if flush {
            bench.request(1, Op::Flush, 0, (60, 70));
        }
        // A partial write to the trimmed page, which is lost.
        bench.stage(2, 0, 0..1, 0);
        bench.request(2, Op::Write, 1, (80, 80));
        bench.program(0, 1, None, (90, 300));
        bench
    };
    // What was there before may come back, or not: neither is lost. Then the write is there, and nothing beneath it.
    for flush in [false, true] {
        assert_eq!(
            lost(&trimmed(flush).cut(&[50, 70, 80, 299, 300])),
            [(0, 0), (0, 0), (1, 0), (1, 0), (0, 0)]
        );
    }
    let mut bench = trimmed(true);
    bench.journal.put_times(&mut bench.recorded);
    let mut cuts = PowerCuts::from_baseline(bench.baseline, Cuts::At(Vec::new()), 1, true);
    cuts.take(&bench.recorded);
    cuts.advance(70);
    assert!(matches!(cuts.flash.find(0), flash::Found::Page(_)), "it is not journalled yet");
    cuts.advance(71);
    assert!(matches!(cuts.flash.find(0), flash::Found::Trimmed(_)), "it is");
}

#[test]
fn an_erase_does_not_bring_back_what_is_older_than_a_trimmed_page() {
    let mut bench = Bench::new(0..1);
    bench.stage(0, 0, PAGE, 0);
    bench.request(0, Op::Write, 8, (0, 10));
    bench.program(0, 4, Some(0), (0, 100));
    bench.request(1, Op::Flush, 0, (10, 100));
    // The newer version is trimmed, and its block collected; the older one is still in its block.
    bench.trim(2, 0, 150);
    bench.erase(1, (200, 300));
    assert_eq!(lost(&bench.cut(&[150, 200, 300])), [(0, 0); 3]);
}

/// Three writes of one page each, and a fourth of two pages, acknowledged by 10 ns; programs end at the times given.
fn overtaking(ends: [u64; 5]) -> Bench {
    let mut bench = Bench::new(0..5);
    for (lpn, end_ns) in (0..).zip(ends) {
        let request = lpn.min(3);
        bench.stage(request, lpn, PAGE, lpn as u32);
        if lpn < 4 {
            bench.request(request, Op::Write, if lpn == 3 { 16 } else { 8 }, (0, 10));
        }
        bench.program(lpn as u32, 8 + lpn as u32, Some(lpn as u32), (10, end_ns));
    }
    bench
}

#[test]
fn a_write_that_survives_an_older_one_is_a_violation() {
    let outcomes = overtaking([300, 100, 200, 150, 400]).cut(&[99, 100, 150, 200, 300, 400]);
    let violations: Vec<_> = outcomes.iter().map(|outcome| outcome.violations).collect();
    assert_eq!(violations, [0, 1, 2, 3, 0, 0]);
    let torn: Vec<_> = outcomes.iter().map(|outcome| outcome.torn_requests).collect();
    assert_eq!(torn, [0, 0, 1, 1, 1, 0]);
    let writes: Vec<_> = outcomes.iter().map(|outcome| outcome.writes_lost).collect();
    assert_eq!(writes, [4, 3, 3, 2, 1, 0]);
    let prefix: Vec<_> = outcomes.iter().map(|outcome| outcome.is_prefix).collect();
    assert_eq!(prefix, [true, false, false, false, true, true]);
}

#[test]
fn in_order_a_prefix_survives() {
    for outcome in overtaking([100, 200, 300, 400, 500]).cut(&[0, 99, 100, 150, 200, 300, 400, 450, 500]) {
        assert!(outcome.is_prefix && outcome.violations == 0, "{outcome:?}");
        assert_eq!(outcome.torn_requests, u64::from((400..500).contains(&outcome.time_ns)), "{outcome:?}");
    }
}

#[test]
fn a_write_that_a_trim_or_a_newer_write_made_up_for_is_not_missed() {
    let mut bench = Bench::new(0..2);
    bench.stage(0, 0, PAGE, 0);
    bench.request(0, Op::Write, 8, (0, 10));
    bench.trim(1, 0, 20);
    bench.journal.unstage(Stage::Buffer(0));
    bench.stage(2, 1, 0..4, 1);
    bench.request(2, Op::Write, 4, (30, 30));
    bench.stage(3, 1, PAGE, 1);
    bench.request(3, Op::Write, 8, (40, 40));
    bench.program(1, 4, Some(1), (50, 200));
    let outcomes = bench.cut(&[10, 20, 40, 200]);
    assert_eq!(lost(&outcomes), [(8, 0), (0, 0), (8, 0), (0, 0)]);
    let violations: Vec<_> = outcomes.iter().map(|outcome| outcome.violations).collect();
    assert_eq!(violations, [0; 4]);
    let writes: Vec<_> = outcomes.iter().map(|outcome| outcome.writes_lost).collect();
    assert_eq!(writes, [1, 0, 2, 0]);
}

#[test]
fn a_command_that_nobody_told_of_is_found() {
    let moved = op(CommandKind::Copies, 1, Effect::Moved(0..1));
    for was_made in [true, false] {
        let mut bench = Bench::new(0..1);
        let made = bench.journal.apply(&moved, &[(0, 4)]);
        bench.record(&moved, if was_made { made } else { NO_EFFECT }, (0, 100));
        bench.journal.put_times(&mut bench.recorded);
        assert_eq!(bench.journal.failure(), Some("die 0: Copies ran, but its effect is not known"));
    }
}

#[test]
fn planes_of_a_command_move_their_pages_side_by_side() {
    let mut bench = Bench::new(0..4);
    let moved = |pages: usize| op(CommandKind::Copies, pages as u32, Effect::Moved(0..pages));
    let effects =
        [bench.journal.apply(&moved(2), &[(0, 4), (1, 5)]), bench.journal.apply(&moved(1), &[(2, 8)])];
    let effect = bench.journal.handed(CommandKind::Copies, &effects);
    bench.record(&moved(3), effect, (0, 300));
    bench.erase(0, (0, 1000));
    let lpns = |time_ns| {
        let mut cuts = PowerCuts::from_baseline(bench.baseline.clone(), Cuts::At(Vec::new()), 1, true);
        let mut recorded = bench.recorded.clone();
        bench.journal.clone().put_times(&mut recorded);
        cuts.take(&recorded);
        cuts.advance(time_ns);
        (0..4).filter(|lpn| matches!(cuts.flash.find(*lpn), flash::Found::Page(_))).collect::<Vec<_>>()
    };
    assert_eq!([lpns(101), lpns(201), lpns(301)], [vec![0], vec![0, 2], vec![0, 1, 2]]);
}
