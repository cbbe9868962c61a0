//! Pages of the buffer that wait for a collection of their superblock, made step by step.
//!
//! A set of dies that must collect makes steps until it can take the page, and reads get in between them: of a drive that collects
//! ahead. Without a buffer no page can wait, and after the last request nothing works ahead: what is left is done at once then. So it
//! is where a set has no step to make.

use crate::content::Content;
use crate::nand::TimePath;
use crate::op::PageSlice;
use crate::sim::intake::Intake;
use crate::task;

impl<A: TimePath, C: Content> Intake<A, C> {
    /// True if a page of the buffer waits: its set of dies makes the steps of a collection first.
    #[inline]
    pub(in crate::sim::intake) fn waits_for_steps(&mut self, part: &PageSlice) -> bool {
        self.core.has_superblocks() && self.is_held(part)
    }

    #[inline(never)]
    fn is_held(&mut self, part: &PageSlice) -> bool {
        let collects = self.background.policies.as_ref().is_some_and(task::Background::collects_ahead);
        let Some(home) = self.core.alloc.locate(part.lpn).filter(|_| collects) else { return false };
        let set = home.unit;
        if !self.core.ftl.must_collect(home) || self.background.stepless.take_if(|own| *own == set).is_some()
        {
            return false;
        }
        if !self.background.held.contains(&set) {
            self.background.held.push(set);
            self.background.wake(self.array.now_ns());
        }
        true
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
