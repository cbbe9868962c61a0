//! Pages of the buffer that wait for a collection of their superblock, made step by step.
//!
//! On a drive that collects ahead, a set of dies that must collect makes steps until it can take the page, and reads get in between
//! them. The collection is made at once, as one event, where the drive has no buffer, after the last request, and where the set has
//! no step to make.

use crate::alloc::Home;
use crate::content::Content;
use crate::error::RunError;
use crate::nand::TimePath;
use crate::op::{PageSlice, Work};
use crate::sim::intake::Intake;
use crate::sim::intake::background::Background;
use crate::task;

impl Background {
    /// True if a page of the buffer may have to wait for steps, or steps were made for one.
    #[inline]
    fn may_hold(&self) -> bool {
        !self.begun.is_empty() || self.policies.as_ref().is_some_and(task::Background::collects_ahead)
    }
}

impl<A: TimePath, C: Content> Intake<A, C> {
    /// True if a page of the buffer waits: its set of dies makes the steps of a collection first.
    #[inline]
    pub(in crate::sim::intake) fn waits_for_steps(&mut self, part: &PageSlice) -> Result<bool, RunError> {
        if self.background.may_hold() && self.core.has_superblocks() { self.is_held(part) } else { Ok(false) }
    }

    #[inline(never)]
    fn is_held(&mut self, part: &PageSlice) -> Result<bool, RunError> {
        let Some(home) = self.core.alloc.locate(part.lpn) else { return Ok(false) };
        let set = home.unit;
        if !self.core.ftl.must_collect(home) {
            self.background.begun.retain(|own| *own != set);
            return Ok(false);
        }
        let collects = self.background.policies.as_ref().is_some_and(task::Background::collects_ahead);
        if !collects || self.background.stepless.take_if(|own| *own == set).is_some() {
            self.end_begun(home)?;
            return Ok(false);
        }
        if !self.background.held.contains(&set) {
            self.background.held.push(set);
            self.background.wake(self.array.now_ns());
        }
        Ok(true)
    }

    /// Pages that were held go, if their set has no step to make, or nothing works ahead any more.
    pub(in crate::sim::intake) fn let_held_go(&mut self) -> Result<(), RunError> {
        let ends = !self.background.held.is_empty() && !self.background.may_step();
        if ends {
            self.background.held.clear();
        }
        if ends || self.background.stepless.is_some() { self.resume_buffer() } else { Ok(()) }
    }

    /// Makes the rest of a collection at once that was begun for a page. Its steps may have opened the block that a collection keeps
    /// for itself, which takes no page of the host before another one is erased.
    fn end_begun(&mut self, home: Home) -> Result<(), RunError> {
        let begun = self.background.begun.len();
        self.background.begun.retain(|own| *own != home.unit);
        if self.background.begun.len() == begun {
            return Ok(());
        }
        let now_ns = self.array.now_ns();
        while self.core.ftl.must_collect(home)
            && self.core.step(now_ns, home.unit, (Work::Collect, false), &mut self.array)?.is_some()
        {}
        self.core.flush(now_ns, &mut self.array);
        Ok(())
    }

    /// A set of dies makes steps for a page.
    pub(super) fn note_begun(&mut self, set: u32) {
        if !self.background.begun.contains(&set) {
            self.background.begun.push(set);
        }
    }

    /// A set of dies has made a step, or has none: a page that was held for it may go.
    pub(super) fn let_go(&mut self, set: u32, has_stepped: bool) {
        let held = self.background.held.len();
        self.background.held.retain(|own| *own != set);
        if !has_stepped && self.background.held.len() < held {
            self.background.stepless = Some(set);
        }
    }
}
