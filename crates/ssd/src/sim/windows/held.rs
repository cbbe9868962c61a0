//! Requests that are held back until their window is complete: a caller that stops at one of them serves them itself, and a
//! host that asks the drive whose request comes next asks a copy of it.

use flashweir_trace::Request;

use super::{By, Windows};
use crate::error::RunError;
use crate::sim::{Drive, Simulation};

impl Windows {
    /// True if the host of a closed loop is to ask [`Windows::scout`] whose request comes next.
    pub(in crate::sim) fn has_scout(&self) -> bool {
        self.asks && self.config.holds_back()
    }

    /// A copy of the drive that has served all requests held back, under the allocation in force: before the first window all
    /// channels for everybody.
    pub(in crate::sim) fn scout(&mut self, drive: &mut dyn Drive) -> Result<&mut dyn Drive, RunError> {
        let scout = if let Some(scout) = self.scout.take() {
            scout
        } else {
            let mut scout = drive.snapshot();
            if self.current.is_none() {
                scout.allocate(&self.everything());
            }
            let held = self.held.iter().flat_map(|held| &held.requests);
            let unserved: Vec<Request> = self.ready.iter().chain(held).chain(&self.open).copied().collect();
            scout.serve(&unserved)?;
            scout
        };
        Ok(self.scout.insert(scout).as_mut())
    }

    /// Requests are held back: the copy that the host asks serves them.
    pub(super) fn follow(&mut self, requests: &[Request]) -> Result<(), RunError> {
        self.scout.as_mut().map_or(Ok(()), |scout| scout.serve(requests))
    }

    /// Serves requests of windows that have their allocation. Returns how many.
    pub(super) fn serve_ready(&mut self, drive: &mut dyn Drive, most: usize) -> Result<usize, RunError> {
        let count = most.min(self.ready.len());
        // The copy served them under the allocation before.
        self.scout = None;
        let requests: Vec<Request> = self.ready.drain(..count).collect();
        drive.serve(&requests)?;
        Ok(count)
    }

    /// The next request of a window that has its allocation; gives the next window its own, if it is complete.
    fn next_ready(&mut self, drive: &mut dyn Drive) -> Result<Option<Request>, RunError> {
        while self.ready.is_empty()
            && !self.held.is_empty()
            && (self.by == By::CallerAtEnd || self.held.len() >= self.depth())
        {
            self.release(drive)?;
        }
        Ok(self.ready.front().copied())
    }
}

impl Simulation {
    /// True if requests are held back until their window is complete.
    pub fn holds_back(&self) -> bool {
        self.windows.as_ref().is_some_and(|windows| windows.config.holds_back())
    }

    /// Takes requests, in order, as [`Simulation::serve`] does, but serves none: the caller does, by
    /// [`Simulation::serve_held`], as far as [`Simulation::next_held`] has any. To be called only where requests are
    /// held back.
    pub fn hold(&mut self, requests: &[Request]) -> Result<(), RunError> {
        let Some(windows) = &mut self.windows else { return Ok(()) };
        windows.by = By::Caller;
        let outcome = windows.serve(self.drive.as_mut(), requests);
        self.checked(outcome)
    }

    /// The next request held back that can be served; `None` if its window is not complete. The allocation of its window is in
    /// force then.
    pub fn next_held(&mut self) -> Result<Option<Request>, RunError> {
        let Some(windows) = &mut self.windows else { return Ok(None) };
        let outcome = windows.next_ready(self.drive.as_mut());
        self.checked(outcome)
    }

    /// Serves at most so many requests, from [`Simulation::next_held`] on; none beyond the end of its window. Returns how many.
    pub fn serve_held(&mut self, most: usize) -> Result<usize, RunError> {
        let Some(windows) = &mut self.windows else { return Ok(0) };
        let outcome = windows.serve_ready(self.drive.as_mut(), most);
        self.checked(outcome)
    }

    /// No request comes any more: the last window is complete. [`Simulation::next_held`] has the requests left.
    pub fn end_of_held(&mut self) {
        if let Some(windows) = &mut self.windows {
            windows.end();
        }
    }
}
