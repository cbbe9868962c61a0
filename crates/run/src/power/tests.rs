//! The checker is itself checked: drives that keep their promises, and drives that break them, step by step.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use flashweir_ssd::{HostEntry, Image, IssueRecord, PageEntry, Parts, RequestRecord, Trim, TrimEntry};
use flashweir_trace::{Op, Request};

use super::*;

const PAGE: Range<u32> = 0..8;
/// Physical pages of a block.
const BLOCK: u64 = 4;

/// The records of a drive of blocks of 4 pages of 8 sectors, whose every step is chosen.
struct Bench {
    baseline: Baseline,
    recorded: Recorded,
    /// The last number given to a version or a sequence.
    last: u64,
    /// By physical page: its content when all commands have run.
    images: Vec<Option<Arc<Image>>>,
    trims: BTreeMap<u64, Trim>,
    /// By entry of the buffer: logical page and versions.
    staged: BTreeMap<u32, (u64, [u64; 8])>,
}

impl Bench {
    /// Before the run, logical pages `lpns` are written to the first pages of the flash.
    fn new(lpns: Range<u64>) -> Self {
        let mut bench = Self {
            baseline: Baseline::default(),
            // Unless a test says otherwise, requests enter in the order of their numbers.
            recorded: Recorded { entered: (0..64).collect(), ..Recorded::default() },
            last: 0,
            images: vec![None; 80],
            trims: BTreeMap::new(),
            staged: BTreeMap::new(),
        };
        for lpn in lpns.clone() {
            let (version, sequence) = (bench.next(), bench.next());
            let place = (lpn - lpns.start) as usize;
            bench.images[place] = Some(Arc::new(Image::new(lpn, sequence, &[version])));
        }
        bench.baseline = Baseline {
            page_sectors: 8,
            logical_pages: 64,
            images: bench.images.clone(),
            trims: BTreeMap::new(),
            held: Vec::new(),
            last_version: bench.last,
        };
        bench
    }

    fn next(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// A change of the flash.
    fn change(&mut self, time_ns: u64, change: Change) {
        let number = self.recorded.pages.len() as u64;
        self.recorded.pages.push(PageEntry { time_ns, number, change });
    }

    /// The host writes sectors of a page into an entry of the buffer.
    fn stage(&mut self, request: u64, lpn: u64, sectors: Range<u32>, slot: u32) {
        let version = self.next();
        let staged = self.staged.entry(slot).or_insert((lpn, [Image::NOTHING; 8]));
        staged.1[sectors.start as usize..sectors.end as usize].fill(version);
        self.recorded.host.push(HostEntry { request, lpn, sectors, version, trim: None, held: None });
    }

    /// An entry of the buffer is programmed over the version in page `old`, until `end_ns`.
    fn program(&mut self, slot: u32, page: u64, old: Option<u64>, end_ns: u64) {
        let (lpn, mut versions) = self.staged.remove(&slot).expect("staged before");
        let old = old.and_then(|old| self.images[old as usize].clone());
        let trim = self.trims.remove(&lpn).map_or(Image::NOTHING, |trim| trim.version);
        for (sector, version) in versions.iter_mut().enumerate().filter(|(_, version)| **version == 0) {
            *version = old.as_ref().map_or(trim, |old| old.version(sector));
        }
        let image = Some(Arc::new(Image::new(lpn, self.next(), &versions)));
        self.images[page as usize].clone_from(&image);
        self.change(end_ns, Change::Programmed { page, image });
    }

    /// Pages move, each until a time of its own.
    fn copy(&mut self, pages: &[(u64, u64, u64)]) {
        for (from, page, end_ns) in pages.iter().copied() {
            let image = self.images[from as usize].clone();
            self.images[page as usize].clone_from(&image);
            self.change(end_ns, Change::Programmed { page, image });
        }
    }

    /// An erase starts.
    fn erase(&mut self, block: u64, start_ns: u64) {
        self.change(start_ns, Change::Erased(block * BLOCK..(block + 1) * BLOCK));
    }

    fn trim(&mut self, request: u64, lpn: u64, now_ns: u64) {
        self.trim_until(request, lpn, (now_ns, now_ns));
    }

    /// A trim takes effect, and is completed later.
    fn trim_until(&mut self, request: u64, lpn: u64, (now_ns, end_ns): (u64, u64)) {
        let (version, sequence) = (self.next(), self.next());
        self.trims.insert(lpn, Trim { sequence, version });
        let trim = Some(TrimEntry { time_ns: now_ns, sequence });
        self.recorded.host.push(HostEntry { request, lpn, sectors: PAGE, version, trim, held: None });
        self.request(request, Op::Trim, 8, (now_ns, end_ns));
    }

    fn request(&mut self, number: u64, op: Op, sectors: u32, (issue_ns, completion_ns): (u64, u64)) {
        let parts = Parts::default();
        let request = Request { time_ns: issue_ns, lba: 0, sectors, stream: 0, op, handle: 0 };
        self.recorded.issues.push(IssueRecord { number, request, issue_ns });
        self.recorded.requests.push(RequestRecord {
            number,
            request,
            issue_ns,
            completion_ns,
            failure: None,
            parts,
        });
    }

    fn cut(self, times: &[u64]) -> Vec<Outcome> {
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
fn a_rebuild_that_finds_another_version_is_an_error() {
    let mut bench = Bench::new(0..2);
    for (number, page, end_ns) in [(0, 2, 300), (1, 3, 400)] {
        bench.stage(number, 0, PAGE, 0);
        bench.request(number, Op::Write, 8, (10, 20));
        bench.program(0, page, None, end_ns);
    }
    bench.stage(2, 1, PAGE, 0);
    bench.request(2, Op::Write, 8, (10, 20));
    bench.program(0, 4, None, 500);
    let mut cuts = PowerCuts::from_baseline(bench.baseline, Cuts::At(vec![350, 600]), 1, true);
    cuts.take(&bench.recorded);
    cuts.advance(450);
    // After the first cut the newest version of a page is gone, and nobody was informed. Something else happens before the second.
    cuts.flash.erase(3);
    assert!(cuts.failure.is_none());
    assert!(matches!(cuts.finish(1_000), Err(CutError::Verify(_))));
}

#[test]
fn what_waits_in_the_buffer_is_lost_until_it_is_programmed() {
    let mut bench = Bench::new(0..1);
    bench.stage(0, 0, 2..5, 0);
    bench.request(0, Op::Write, 3, (10, 20));
    bench.program(0, 1, Some(0), 300);
    assert_eq!(lost(&bench.cut(&[0, 19, 20, 299, 300])), [(0, 0), (0, 0), (3, 0), (3, 0), (0, 0)]);
}

#[test]
fn a_flush_that_does_not_wait_is_found() {
    let mut bench = Bench::new(0..1);
    bench.stage(0, 0, PAGE, 0);
    bench.request(0, Op::Write, 8, (10, 20));
    bench.request(1, Op::Flush, 0, (30, 200));
    bench.program(0, 1, Some(0), 300);
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
        bench.program(0, 1, Some(0), 300);
        assert_eq!(lost(&bench.cut(&[200, 300])), [(8, promised), (0, 0)]);
    }
}

#[test]
fn an_erase_before_the_copy_has_ended_is_found() {
    for (erase_ns, expected) in [(400, [(0, 0); 4]), (399, [(0, 0), (8, 8), (0, 0), (0, 0)])] {
        let mut bench = Bench::new(0..4);
        bench.copy(&[(0, 4, 100), (1, 5, 200), (2, 6, 300), (3, 7, 400)]);
        bench.erase(0, erase_ns);
        assert_eq!(lost(&bench.cut(&[398, 399, 400, 1000])), expected, "an erase at {erase_ns}");
    }
}

#[test]
fn pages_moved_by_one_command_are_there_one_after_the_other() {
    let mut bench = Bench::new(0..4);
    bench.copy(&[(0, 4, 101), (1, 5, 201), (2, 6, 301)]);
    bench.erase(0, 0);
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
    bench.program(0, 4, Some(0), 100);
    bench.copy(&[(0, 5, 200)]);
    bench.erase(0, 200);
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
        bench.program(0, 1, None, 300);
        bench
    };
    // Data from before the trim may come back or not: neither counts as lost. Then the write is there, and nothing
    // beneath it.
    for flush in [false, true] {
        assert_eq!(
            lost(&trimmed(flush).cut(&[50, 70, 80, 299, 300])),
            [(0, 0), (0, 0), (1, 0), (1, 0), (0, 0)]
        );
    }
    let bench = trimmed(true);
    let mut cuts = PowerCuts::from_baseline(bench.baseline, Cuts::At(Vec::new()), 1, true);
    cuts.take(&bench.recorded);
    cuts.advance(70);
    assert!(matches!(cuts.flash.find(0), flash::Found::Page(_)), "it is not journalled yet");
    cuts.advance(71);
    assert!(matches!(cuts.flash.find(0), flash::Found::Trimmed(_)), "it is");
}

#[test]
fn an_erase_does_not_bring_back_what_is_older_than_a_trimmed_page() {
    // The drive may tell the host of the trim when the block is erased already.
    for completed_ns in [150, 250] {
        let mut bench = Bench::new(0..1);
        bench.stage(0, 0, PAGE, 0);
        bench.request(0, Op::Write, 8, (0, 10));
        bench.program(0, 4, Some(0), 100);
        bench.request(1, Op::Flush, 0, (10, 100));
        // The newer version is trimmed, and its block collected; the older one is still in its block.
        bench.trim_until(2, 0, (150, completed_ns));
        bench.erase(1, 200);
        assert_eq!(lost(&bench.cut(&[150, 200, 300])), [(0, 0); 3], "{completed_ns}");
    }
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
        bench.program(lpn as u32, 8 + lpn, Some(lpn), end_ns);
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
    bench.staged.remove(&0);
    bench.stage(2, 1, 0..4, 1);
    bench.request(2, Op::Write, 4, (30, 30));
    bench.stage(3, 1, PAGE, 1);
    bench.request(3, Op::Write, 8, (40, 40));
    bench.program(1, 4, Some(1), 200);
    let outcomes = bench.cut(&[10, 20, 40, 200]);
    assert_eq!(lost(&outcomes), [(8, 0), (0, 0), (8, 0), (0, 0)]);
    let violations: Vec<_> = outcomes.iter().map(|outcome| outcome.violations).collect();
    assert_eq!(violations, [0; 4]);
    let writes: Vec<_> = outcomes.iter().map(|outcome| outcome.writes_lost).collect();
    assert_eq!(writes, [1, 0, 2, 0]);
}

#[test]
fn the_order_of_entry_says_which_write_is_older() {
    // Writes 0 to 3 enter in this order; only the first of them is on flash at the cut.
    let cut = |entered: [u64; 4], survivor: usize| {
        let mut ends = [300; 5];
        ends[survivor] = 100;
        let mut bench = overtaking(ends);
        bench.recorded.entered = entered.to_vec();
        bench.cut(&[200])[0]
    };
    for (entered, survivor, violations) in [([2, 0, 1, 3], 2, 0), ([0, 1, 2, 3], 2, 1), ([2, 0, 1, 3], 0, 1)]
    {
        let outcome = cut(entered, survivor);
        assert_eq!((outcome.violations, outcome.is_prefix), (violations, violations == 0), "{entered:?}");
    }
}

#[test]
fn a_flush_promises_of_its_instant_what_entered_before_it() {
    for (entered, promised) in [([0, 1], 8), ([1, 0], 0)] {
        let mut bench = Bench::new(0..1);
        bench.recorded.entered = entered.to_vec();
        bench.stage(0, 0, PAGE, 0);
        bench.request(0, Op::Write, 8, (10, 30));
        bench.request(1, Op::Flush, 0, (30, 200));
        bench.program(0, 1, Some(0), 300);
        assert_eq!(lost(&bench.cut(&[200, 300])), [(8, promised), (0, 0)], "{entered:?}");
    }
}
