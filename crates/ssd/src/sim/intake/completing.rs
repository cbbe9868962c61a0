//! Pages written in part that get their unit when they are written: the version that a page completes is read when its turn
//! comes, and only then the page gets a unit, before all that wait. So no die waits for a read on another one.
//!
//! A page's turn comes when a unit could take it. Of several writes to a logical page only the first is completed: the others
//! follow in their order, each when the one before has got its unit, and read what that programs.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use super::Intake;
use super::stations::{COMPLETING_TAG, ENTRY_TAG};
use crate::content::Content;
use crate::error::RunError;
use crate::nand::{Probe, TimePath};
use crate::op::{Crossing, PageSlice, Stage};
use crate::stats::Parts;

/// Where the data of a page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Owner {
    /// With the request of a tag.
    Request(u32),
    /// In an entry of the buffer.
    Entry(u32),
    /// Nowhere: the page was trimmed meanwhile.
    Nobody,
}

/// Result of a page's turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// It has got its unit.
    Bound,
    /// The version before is being read.
    Reads,
    /// It follows another write to the same page.
    Behind,
    /// No unit can take it: it keeps its turn.
    Waits,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Page {
    owner: Owner,
    part: PageSlice,
    /// Where the time of the look-up and the read went.
    parts: Parts,
    stage: Stages,
}

/// Command that a page waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Stages {
    /// The read of the translation page that says where the version before is.
    LookUp,
    /// The read of the version before.
    Read,
    /// Its program.
    Program,
}

/// Pages of which the version before is read first, and those behind them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Completing {
    /// By number: that of their tag.
    pages: Vec<Page>,
    free: Vec<u32>,
    /// By logical page: the page that is being completed, then those behind it.
    lines: BTreeMap<u64, VecDeque<u32>>,
    /// Pages that need nothing but a unit.
    ready: VecDeque<u32>,
    /// Pages in lines.
    len: usize,
}

impl Completing {
    /// True if no page waits here.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Pages that have no unit.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// One more page, the last of its line. Returns its number.
    fn add(&mut self, owner: Owner, part: PageSlice) -> u32 {
        let page = Page { owner, part, parts: Parts::default(), stage: Stages::Read };
        let number = if let Some(number) = self.free.pop() {
            self.pages[number as usize] = page;
            number
        } else {
            self.pages.push(page);
            self.pages.len() as u32 - 1
        };
        self.lines.entry(part.lpn).or_default().push_back(number);
        self.len += 1;
        number
    }

    /// The first page of a line leaves it. Returns the next one.
    fn leave(&mut self, lpn: u64) -> Option<u32> {
        let line = self.lines.get_mut(&lpn)?;
        self.len -= usize::from(line.pop_front().is_some());
        let next = line.front().copied();
        if next.is_none() {
            self.lines.remove(&lpn);
        }
        next
    }

    /// An entry of the buffer is no more: its page was trimmed.
    pub(super) fn forget(&mut self, lpn: u64, slot: u32) {
        let Some(line) = self.lines.get_mut(&lpn) else { return };
        let owner = Owner::Entry(slot);
        let Some(at) = line.iter().position(|number| self.pages[*number as usize].owner == owner) else {
            return;
        };
        let number = line[at];
        let is_ready = self.ready.contains(&number);
        if at == 0 && !is_ready {
            // It is being read.
            self.pages[number as usize].owner = Owner::Nobody;
            return;
        }
        line.remove(at);
        self.len -= 1;
        if line.is_empty() {
            self.lines.remove(&lpn);
        }
        self.ready.retain(|ready| *ready != number);
        self.free.push(number);
    }
}

impl<A: TimePath, C: Content> Intake<A, C> {
    /// The turn of a page of which a write leaves something as it was (`left`), or which follows another write. `None`: it is
    /// written as it is.
    #[inline]
    pub(super) fn take_turn(
        &mut self,
        owner: Owner,
        part: PageSlice,
        left: Option<Crossing>,
    ) -> Result<Option<Turn>, RunError> {
        if left.is_none() && self.completing.is_empty() {
            return Ok(None);
        }
        if self.completing.lines.contains_key(&part.lpn) {
            self.completing.add(owner, part);
            return Ok(Some(Turn::Behind));
        }
        let Some(crossing) = left else { return Ok(None) };
        let Some(old) = self.core.reads_first(&part) else { return Ok(None) };
        let now = self.array.now_ns();
        if !self.core.finds_unit(now, &part, old, &self.array) {
            return Ok(Some(Turn::Waits));
        }
        let number = self.completing.add(owner, part);
        self.serve_owner(owner);
        if !self.waits_for_map(number)? {
            self.core.read_old(now, COMPLETING_TAG + number, &part, (old, crossing), &mut self.array);
        }
        Ok(Some(Turn::Reads))
    }

    /// Looks a page up where that comes before its read. Returns true if a translation page is read for it.
    fn waits_for_map(&mut self, number: u32) -> Result<bool, RunError> {
        if !self.core.looks_up_first() {
            return Ok(false);
        }
        let Page { owner, part, .. } = self.completing.pages[number as usize];
        let (now, tag) = (self.array.now_ns(), COMPLETING_TAG + number);
        self.serve_owner(owner);
        let waits = self.core.look_up(now, tag, part, true, &mut self.array)?;
        if waits {
            self.completing.pages[number as usize].stage = Stages::LookUp;
        }
        Ok(waits)
    }

    /// The commands submitted next serve the request of a page.
    fn serve_owner(&mut self, owner: Owner) {
        let request = match owner {
            Owner::Request(tag) => self.slots.number(tag),
            Owner::Entry(slot) => self.buffer.as_mut().map(|buffer| buffer.entry(slot).request),
            Owner::Nobody => None,
        };
        if let Some(request) = request {
            self.array.serve(request);
        }
    }

    /// A command of a page is done: the read of the version before, or the program.
    pub(super) fn end_completing(&mut self, number: u32, parts: Option<Parts>) -> Result<(), RunError> {
        let Page { owner, part, parts: of_read, stage } = self.completing.pages[number as usize];
        if stage != Stages::Program {
            let page = &mut self.completing.pages[number as usize];
            page.parts.add(&parts.unwrap_or_default());
            page.stage = Stages::Read;
            if owner == Owner::Nobody {
                self.completing.free.push(number);
                return self.next_in_line(part.lpn);
            }
            if stage == Stages::LookUp {
                self.read_before(number);
            } else {
                self.completing.ready.push_back(number);
            }
            return Ok(());
        }
        self.completing.free.push(number);
        if let Owner::Request(tag) = owner {
            let parts = parts.map(|mut parts| {
                parts.add(&of_read);
                parts
            });
            self.end_command(tag, parts);
        }
        Ok(())
    }

    /// The first write to a page has got its unit: the next one goes on.
    fn next_in_line(&mut self, lpn: u64) -> Result<(), RunError> {
        let Some(next) = self.completing.leave(lpn) else { return Ok(()) };
        let Page { owner, part, .. } = self.completing.pages[next as usize];
        let completes = self.core.reads_first(&part).is_some() && self.left_by(owner, &part).is_some();
        if !(completes && self.waits_for_map(next)?) {
            self.read_before(next);
        }
        Ok(())
    }

    /// Transfer of what a page leaves as it was; `None` if that is nothing.
    fn left_by(&mut self, owner: Owner, part: &PageSlice) -> Option<Crossing> {
        match (owner, &mut self.buffer) {
            (Owner::Entry(slot), Some(buffer)) => self.core.codewords.left_by_mask(&buffer.entry(slot).mask),
            _ => self.core.codewords.left_by(part.first, part.end),
        }
    }

    /// Reads the version of a page that is before it, if it leaves any of that as it was.
    fn read_before(&mut self, number: u32) {
        let Page { owner, part, .. } = self.completing.pages[number as usize];
        let (left, old) = (self.left_by(owner, &part), self.core.reads_first(&part));
        if let (Some(crossing), Some(old)) = (left, old) {
            self.serve_owner(owner);
            let now = self.array.now_ns();
            self.core.read_old(now, COMPLETING_TAG + number, &part, (old, crossing), &mut self.array);
        } else {
            self.completing.ready.push_back(number);
        }
    }

    /// Hands pages over that have been completed, in turn, as far as units take them.
    #[cold]
    pub(super) fn place_completed(&mut self) -> Result<(), RunError> {
        let (mut at, mut stuck) = (0, Vec::new());
        while let Some(number) = self.completing.ready.get(at).copied() {
            let Page { part, .. } = self.completing.pages[number as usize];
            let class = self.core.alloc.class_of(part.stream, part.lpn);
            if stuck.contains(&class) {
                at += 1;
            } else if self.place_one(number)? {
                self.completing.ready.remove(at);
                self.next_in_line(part.lpn)?;
            } else {
                stuck.push(class);
            }
        }
        self.core.flush(self.array.now_ns(), &mut self.array);
        if self.is_buffered {
            self.note_companions();
        }
        Ok(())
    }

    /// Hands a page over that has been completed, if a unit takes it.
    fn place_one(&mut self, number: u32) -> Result<bool, RunError> {
        let now = self.array.now_ns();
        let Page { owner, mut part, .. } = self.completing.pages[number as usize];
        if let (Owner::Entry(slot), Some(buffer)) = (owner, &mut self.buffer) {
            // Others may have joined it.
            part = buffer.entry(slot).whole(part.end);
        }
        let packs = self.core.packs_late();
        if packs && (self.buffer.is_none() || self.core.fills(&part, false).is_none()) {
            self.core.flush(now, &mut self.array);
        }
        self.serve_owner(owner);
        self.array.begin();
        let (tag, stage) = match owner {
            Owner::Entry(slot) => (ENTRY_TAG + slot, Stage::Buffer(slot)),
            Owner::Request(tag) if packs => (tag, Stage::Direct),
            Owner::Request(_) | Owner::Nobody => (COMPLETING_TAG + number, Stage::Direct),
        };
        if self.core.write(now, tag, part, None, stage, &mut self.array)?.is_none() {
            return Ok(false);
        }
        if !(packs && self.buffer.is_some()) {
            self.core.flush(now, &mut self.array);
        }
        if (COMPLETING_TAG..ENTRY_TAG).contains(&tag) {
            self.completing.pages[number as usize].stage = Stages::Program;
        } else {
            self.completing.free.push(number);
        }
        match owner {
            Owner::Entry(slot) => {
                if let Some(buffer) = &mut self.buffer {
                    buffer.depart(slot);
                }
                if A::Probe::ON {
                    self.bound(slot);
                }
            }
            Owner::Request(tag) => {
                self.slots.expect(tag, self.array.submitted());
                self.settle(tag, 1);
            }
            Owner::Nobody => {}
        }
        Ok(true)
    }
}
