//! Reads of pages whose entry has to be read from flash first, where units share a map: the translation page and the page may be
//! on two dies. The page is read when its entry is there, from where it is then; so no die waits for another one.

use serde::{Deserialize, Serialize};

use super::stations::LOOK_UP_TAG;
use super::{Found, Intake};
use crate::content::Content;
use crate::error::RunError;
use crate::nand::TimePath;
use crate::op::{PageSlice, Stage};
use crate::stats::Parts;

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct LookUp {
    /// The request, by its slot.
    tag: u32,
    part: PageSlice,
    /// Where the time of the look-up went.
    parts: Parts,
    /// True once the page itself is being read.
    is_found: bool,
}

/// Pages that are looked up, by number.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct LookUps {
    pages: Vec<LookUp>,
    free: Vec<u32>,
}

impl LookUps {
    /// The number of the next page.
    fn next(&self) -> u32 {
        self.free.last().copied().unwrap_or(self.pages.len() as u32)
    }

    /// A page is looked up, as the next number.
    fn add(&mut self, tag: u32, part: PageSlice) {
        let page = LookUp { tag, part, parts: Parts::default(), is_found: false };
        match self.free.pop() {
            Some(number) => self.pages[number as usize] = page,
            None => self.pages.push(page),
        }
    }
}

impl<A: TimePath, C: Content> Intake<A, C> {
    /// True if the buffer holds all that is read of a page.
    pub(super) fn is_buffered_whole(&self, part: PageSlice) -> bool {
        let entry = self.buffer.as_ref().and_then(|buffer| buffer.find(part.lpn));
        entry.is_some_and(|(_, entry)| entry.mask.covers(part.first, part.end))
    }

    /// Looks a page of a read up in the buffer.
    #[inline]
    pub(super) fn find(&mut self, part: PageSlice) -> Found {
        if self.core.read_held(&part) {
            return Found::InBuffer;
        }
        let Some(buffer) = &self.buffer else { return Found::OnFlash(None) };
        let entry = buffer.find(part.lpn);
        let staged = entry.map(|(slot, _)| Stage::Buffer(slot));
        if !entry.is_some_and(|(_, entry)| entry.mask.covers(part.first, part.end)) {
            return Found::OnFlash(staged);
        }
        self.core.counters.buffer_hits += 1;
        self.core.content.read(part.lpn, part.first..part.end, None, staged);
        Found::InBuffer
    }

    /// Reads a page that is on flash, or looks it up first. Returns whether it is read now.
    #[inline]
    pub(super) fn read_page(
        &mut self,
        tag: u32,
        part: PageSlice,
        staged: Option<Stage>,
    ) -> Result<bool, RunError> {
        let now = self.array.now_ns();
        if self.core.looks_up_first() {
            let number = self.look_ups.next();
            if self.core.look_up(now, LOOK_UP_TAG + number, part, false, &mut self.array)? {
                self.look_ups.add(tag, part);
                return Ok(false);
            }
        }
        self.core.read(now, tag, part, staged, &mut self.array)
    }

    /// A command for a page is done: the look-up, or the read.
    #[cold]
    pub(super) fn end_look_up(&mut self, number: u32, parts: Option<Parts>) -> Result<(), RunError> {
        let LookUp { tag, part, parts: of_look_up, is_found } = self.look_ups.pages[number as usize];
        let parts = parts.map(|mut parts| {
            parts.add(&of_look_up);
            parts
        });
        if !is_found {
            let page = &mut self.look_ups.pages[number as usize];
            (page.parts, page.is_found) = (parts.unwrap_or_default(), true);
            if self.read_found(number, tag, part)? {
                return Ok(());
            }
        }
        self.look_ups.free.push(number);
        self.end_command(tag, parts);
        Ok(())
    }

    /// Reads a page that was looked up. Returns false if flash is not read for it: it was trimmed, or is in the buffer by now.
    fn read_found(&mut self, number: u32, tag: u32, part: PageSlice) -> Result<bool, RunError> {
        let Found::OnFlash(staged) = self.find(part) else { return Ok(false) };
        if let Some(request) = self.slots.number(tag) {
            self.array.serve(request);
        }
        let now = self.array.now_ns();
        let reads = self.core.read(now, LOOK_UP_TAG + number, part, staged, &mut self.array)?;
        self.core.flush(now, &mut self.array);
        // The request waits for the page already.
        self.array.begin();
        Ok(reads)
    }
}
