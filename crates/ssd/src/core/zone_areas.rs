//! Random write areas: pages that the drive holds until they are committed, and that may be written again until then. They lie in
//! memory of their own, which outlives a loss of power: a flush has nothing to wait for.

use std::collections::BTreeMap;

use flashweir_trace::Request;
use serde::{Deserialize, Serialize};

use super::Core;
use crate::content::Content;
use crate::error::RunError;
use crate::ftl::zones::Finish;
use crate::nand::Executor;
use crate::op::{PageSlice, Stage};

/// Pages in random write areas, each with a number of its own ([`Stage::Held`]).
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Held {
    pages: BTreeMap<u64, u32>,
    /// Numbers that are free again.
    free: Vec<u32>,
}

impl Held {
    /// The number of a page, and true if it was there before.
    fn put(&mut self, lpn: u64) -> (u32, bool) {
        if let Some(number) = self.pages.get(&lpn) {
            return (*number, true);
        }
        let number = self.free.pop().unwrap_or(self.pages.len() as u32);
        self.pages.insert(lpn, number);
        (number, false)
    }

    fn take(&mut self, lpn: u64) -> Option<u32> {
        let number = self.pages.remove(&lpn)?;
        self.free.push(number);
        Some(number)
    }
}

impl<C: Content> Core<C> {
    /// The host writes pages, in a request with this number, that stay in the random write area of their zone.
    pub(crate) fn hold(&mut self, now_ns: u64, number: u64, request: &Request) {
        for part in self.parts(request) {
            self.counters.host_pages_written += self.flash_pages(part);
            let Some(rules) = &mut self.zones else { return };
            let (held, again) = rules.held.put(part.lpn);
            self.counters.zones.rewritten_pages += u64::from(again);
            self.content.hold(now_ns, held, number, part.lpn, part.first..part.end);
        }
    }

    /// The number of a page in a random write area.
    pub(crate) fn held(&self, lpn: u64) -> Option<u32> {
        self.zones.as_ref()?.held.pages.get(&lpn).copied()
    }

    /// Reads a page from a random write area. Returns false if it is in none.
    #[inline]
    pub(crate) fn read_held(&mut self, part: &PageSlice) -> bool {
        if self.zones.is_some() { self.read_from_area(part) } else { false }
    }

    #[cold]
    #[inline(never)]
    fn read_from_area(&mut self, part: &PageSlice) -> bool {
        let Some(held) = self.held(part.lpn) else { return false };
        self.counters.buffer_hits += 1;
        self.content.read(part.lpn, part.first..part.end, None, Some(Stage::Held(held)));
        true
    }

    /// A page leaves its random write area. Returns whether it was in one.
    pub(crate) fn let_go(&mut self, lpn: u64) -> bool {
        let Some(held) = self.zones.as_mut().and_then(|rules| rules.held.take(lpn)) else { return false };
        self.content.unstage(Stage::Held(held));
        true
    }

    /// The turn of a finish: its zone has no data behind the last page of its random write area, or from the first page of the
    /// finish on. Returns the pages that are programmed, if there are any.
    pub(crate) fn end_zone(&mut self, rest: &Request) -> Option<Request> {
        let page_sectors = self.page_sectors.get();
        let (first, end) = (rest.lba / page_sectors, rest.end() / page_sectors);
        let rules = self.zones.as_ref()?;
        let pages = u64::from(rules.pages);
        let last = rules.held.pages.range(first..end).next_back();
        let data = last.map_or(first, |(lpn, _)| lpn + 1);
        let programmed = if rules.finish == Finish::Mark { data } else { end };
        let marks = programmed < end;
        let zones = self.alloc.zoned()?;
        let home = if programmed > first { Some(zones.bind(first)) } else { zones.locate(first) };
        if let Some(home) = home.filter(|_| data < end) {
            if marks {
                zones.fill(home);
            }
            self.ftl.end_zone(home, (data % pages) as u32);
        }
        let sectors = ((programmed - first) * page_sectors) as u32;
        (sectors > 0).then_some(Request { sectors, ..*rest })
    }

    /// Programs pages of a random write area, those that were not written without data; the request of a tag waits for them.
    pub(crate) fn commit(
        &mut self,
        now_ns: u64,
        tag: u32,
        range: &Request,
        executor: &mut impl Executor,
    ) -> Result<(), RunError> {
        for part in self.parts(range) {
            let held = self.held(part.lpn);
            self.count_committed(held.is_some());
            let stage = held.map_or(Stage::Padding, Stage::Held);
            if self.write(now_ns, tag, part, None, stage, executor)?.is_none() {
                return Err(RunError::NoRoom { waiting: 1 });
            }
            self.let_go(part.lpn);
        }
        self.flush(now_ns, executor);
        Ok(())
    }

    /// A page of a commit or a finish goes to the flash, with data or without.
    pub(crate) fn count_committed(&mut self, has_data: bool) {
        let counts = &mut self.counters.zones;
        counts.committed_pages += u64::from(has_data);
        counts.padded_pages += u64::from(!has_data);
    }
}
