//! Requests that move no data: TRIM and flush.

use flashweir_trace::Request;
use serde::{Deserialize, Serialize};

use super::Intake;
use crate::content::Content;
use crate::error::RunError;
use crate::nand::{Probe, TimePath};
use crate::op::Stage;

/// A flush that waits.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Barrier {
    pub(super) tag: u32,
    /// Requests that entered before, write and are not done (without a buffer).
    pub(super) writes_left: u64,
    /// Entries of the buffer older than this must be on flash.
    pub(super) sequence: u64,
}

impl<A: TimePath, C: Content> Intake<A, C> {
    pub(super) fn trim(&mut self, tag: u32, request: &Request) -> Result<(), RunError> {
        if !self.core.ftl.forgets() {
            return Ok(());
        }
        self.trim_now(tag, request)
    }

    /// Discards pages of the buffer and of the flash. A reset of a zone ends with its erases.
    pub(super) fn trim_now(&mut self, tag: u32, request: &Request) -> Result<(), RunError> {
        self.array.begin();
        let Some(request) = self.whole_trim(request) else { return Ok(()) };
        self.trim_pages(tag, &request)?;
        self.end_of_map_work();
        self.slots.expect(tag, self.array.submitted());
        self.end_of_trim(tag);
        Ok(())
    }

    /// Discards the pages; what is submitted for that is not yet expected.
    pub(super) fn trim_pages(&mut self, tag: u32, request: &Request) -> Result<(), RunError> {
        let page_sectors = self.core.page_sectors.get() as u32;
        let now = self.array.now_ns();
        for part in self.core.parts(request) {
            let mut waiting = u64::from(self.core.let_go(part.lpn));
            while part.end - part.first == page_sectors
                && let Some(buffer) = &mut self.buffer
                && let Some((slot, entry)) = buffer.forget(part.lpn)
            {
                waiting += 1;
                if self.is_buffered {
                    self.array.probe().dirty_pages(now, entry.channel, -1);
                }
                self.core.content.unstage(Stage::Buffer(slot));
                self.completing.forget(part.lpn, slot);
                for tag in entry.waiters {
                    self.settle(tag, 1);
                }
            }
            let was_mapped = self.trim_page(tag, part)?;
            self.core.counters.trimmed_pages += waiting.max(was_mapped.into());
        }
        Ok(())
    }

    /// A flush waits until what was written before it is on flash. A protected buffer keeps it: it has nothing to wait for.
    pub(super) fn flush(&mut self, tag: u32) -> Result<(), RunError> {
        if self.protected {
            return Ok(());
        }
        if self.buffer.is_some() {
            return self.stall(tag);
        }
        let writes_left = self.slots.writes_under_way();
        if writes_left > 0 {
            self.slots.expect(tag, 1);
            self.barriers.push(Barrier { tag, writes_left, sequence: 0 });
        }
        Ok(())
    }
}
