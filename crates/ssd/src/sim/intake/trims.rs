//! Pages that TRIMs gave up and that are forgotten later ([`TrimConfig`]): when, and who waits for it.
//!
//! One step forgets a batch, at its end. A step that a TRIM waits for begins at once; others begin when no request has been
//! outstanding for a while, as long as requests still come. A page that is written before is forgotten with its write.

use flashweir_trace::{Request, SECTOR_BYTES};
use serde::{Deserialize, Serialize};

use super::Intake;
use super::stations::TRIM_TAG;
use crate::content::Content;
use crate::error::RunError;
use crate::nand::{NO_DIE, Probe, TaskRecord, TimePath};
use crate::op::{PageSlice, Work};
use crate::task::Urgency;
use crate::trim::TrimConfig;

/// A step in progress.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Step {
    pages: u64,
    start_ns: u64,
    end_ns: u64,
    is_must: bool,
}

/// Rules of TRIM, and the work on its backlog.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Trims {
    granularity_sectors: u64,
    most: u64,
    batch: u64,
    page_ns: u64,
    idle_after_ns: u64,
    step: Option<Step>,
    /// Since when no request has been outstanding, ns.
    idle_since_ns: Option<u64>,
    /// Time for which a call is due, ns.
    called_ns: Option<u64>,
    /// Tags of TRIMs that wait.
    waiting: Vec<u32>,
    /// The last request has come.
    is_over: bool,
}

impl Trims {
    /// `None` where a TRIM is nothing but its command.
    pub(super) fn new(config: &TrimConfig) -> Option<Box<Self>> {
        config.is_on().then(|| {
            Box::new(Self {
                granularity_sectors: (config.granularity.0 / SECTOR_BYTES).max(1),
                most: config.backlog.into(),
                batch: config.batch.into(),
                page_ns: config.page_time.0,
                idle_after_ns: config.idle_after.0,
                step: None,
                idle_since_ns: None,
                called_ns: None,
                waiting: Vec::new(),
                is_over: false,
            })
        })
    }

    /// A request is outstanding.
    pub(super) fn stir(&mut self) {
        self.idle_since_ns = None;
    }

    /// The last request has come: only what a TRIM waits for is done from now on.
    pub(super) fn end(&mut self) {
        self.is_over = true;
    }

    /// The part of a TRIM that consists of whole ranges of the granularity; `None` if there is none.
    fn whole(&self, request: &Request) -> Option<Request> {
        let lba = request.lba.next_multiple_of(self.granularity_sectors);
        let end = request.end() / self.granularity_sectors * self.granularity_sectors;
        (lba < end).then(|| Request { lba, sectors: (end - lba) as u32, ..*request })
    }
}

impl<A: TimePath, C: Content> Intake<A, C> {
    /// The part of a TRIM that it may forget; counts the rest.
    pub(super) fn whole_trim(&mut self, request: &Request) -> Option<Request> {
        let Some(trims) = &self.trims else { return Some(*request) };
        let whole = trims.whole(request);
        let kept = request.sectors - whole.map_or(0, |whole| whole.sectors);
        self.core.counters.trim.kept_sectors += u64::from(kept);
        whole
    }

    /// Forgets a page on flash, now or later. Returns whether it had data there.
    pub(super) fn trim_page(&mut self, tag: u32, part: PageSlice) -> Result<bool, RunError> {
        let now = self.array.now_ns();
        if self.trims.as_ref().is_some_and(|trims| trims.most > 0) {
            return Ok(self.core.defer_trim(now, part, &self.array));
        }
        if self.stations.has_clock() {
            return self.trim_in_step(part);
        }
        self.core.trim(now, Some(tag), part, &mut self.array)
    }

    /// All pages of a TRIM are trimmed: it waits, if the backlog is too large.
    pub(super) fn end_of_trim(&mut self, tag: u32) {
        let left = self.core.trim_backlog();
        let Some(trims) = self.trims.as_mut().filter(|trims| trims.most > 0 && left > trims.most) else {
            return;
        };
        trims.waiting.push(tag);
        self.core.counters.trim.waited += 1;
        self.slots.expect(tag, 1);
    }

    /// Begins a step on the backlog if there is one to make, or sees to it that it is asked again.
    #[cold]
    #[inline(never)]
    pub(super) fn tend_trims(&mut self) {
        let (left, now) = (self.core.trim_backlog(), self.array.now_ns());
        let is_idle = self.under_way() == 0 && !self.has_waiting();
        let Some(trims) = &mut self.trims else { return };
        let idle_since_ns = is_idle.then(|| trims.idle_since_ns.unwrap_or(now));
        trims.idle_since_ns = idle_since_ns;
        if trims.step.is_some() || left == 0 {
            return;
        }
        let is_must = !trims.waiting.is_empty();
        if !is_must {
            let Some(since_ns) = idle_since_ns.filter(|_| !trims.is_over) else { return };
            let due_ns = since_ns.saturating_add(trims.idle_after_ns);
            if due_ns > now {
                if trims.called_ns != Some(due_ns) {
                    trims.called_ns = Some(due_ns);
                    self.array.call_at(due_ns, TRIM_TAG);
                }
                return;
            }
        }
        let pages = left.min(trims.batch);
        let end_ns = now.saturating_add(pages.saturating_mul(trims.page_ns));
        trims.step = Some(Step { pages, start_ns: now, end_ns, is_must });
        trims.called_ns = Some(end_ns);
        self.array.call_at(end_ns, TRIM_TAG);
    }

    /// A step on the backlog is done, or the drive may be idle for long enough.
    #[cold]
    pub(super) fn trims_due(&mut self) -> Result<(), RunError> {
        let now = self.array.now_ns();
        let Some(trims) = &mut self.trims else { return Ok(()) };
        let Some(step) = trims.step.take_if(|step| step.end_ns <= now) else { return Ok(()) };
        for _ in 0..step.pages {
            if !self.forget_next()? {
                break;
            }
            let counts = &mut self.core.counters.trim;
            *(if step.is_must { &mut counts.must } else { &mut counts.idle }) += 1;
        }
        if self.stations.has_clock() {
            self.end_of_map_work();
        } else {
            self.core.flush(now, &mut self.array);
        }
        if <A::Probe as Probe>::ON {
            let urgency = if step.is_must { Urgency::Must } else { Urgency::Idle };
            let (die, start_ns) = (NO_DIE, step.start_ns);
            let record =
                TaskRecord { die, dies: 0, unit: 0, work: Work::Trim, urgency, start_ns, end_ns: now };
            self.array.probe().task(record);
        }
        let left = self.core.trim_backlog();
        let Some(trims) = self.trims.as_mut().filter(|trims| left <= trims.most) else { return Ok(()) };
        let waiting = std::mem::take(&mut trims.waiting);
        for tag in waiting {
            self.settle(tag, 1);
        }
        Ok(())
    }

    /// Forgets the next page of the backlog. With a common clock what that needs of a map on flash is a group, as a TRIM is.
    fn forget_next(&mut self) -> Result<bool, RunError> {
        let now = self.array.now_ns();
        if self.stations.has_clock() {
            self.forget_next_in_step()
        } else {
            self.core.forget_first(now, &mut self.array)
        }
    }
}
