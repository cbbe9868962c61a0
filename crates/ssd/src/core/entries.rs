//! Pages as the write buffer takes them in.

use flashweir_trace::Request;

use super::Core;
use crate::buffer::{PageShape, Place};
use crate::content::Content;
use crate::op::PageSlice;

impl<C: Content> Core<C> {
    /// True if sets of dies are written and erased as one.
    pub(crate) fn has_superblocks(&self) -> bool {
        self.superblocks.is_some()
    }

    /// The pages of flash that a request touches, in order, each as sectors of the page of its unit: what the write buffer
    /// takes in one by one.
    #[inline]
    pub(crate) fn entries(&self, request: &Request) -> impl Iterator<Item = PageSlice> + use<C> {
        let (flash_page, page_sectors) = (self.flash_page_sectors(), self.page_sectors.get() as u32);
        let (stream, handle) = (request.stream, request.handle);
        let (mut lpn, first) = self.page_sectors.split(request.lba);
        let (mut first, mut left) = (first as u32, request.end() - request.lba);
        std::iter::from_fn(move || {
            if left == 0 {
                return None;
            }
            let room = (flash_page - first % flash_page).min(page_sectors - first);
            let part = PageSlice { lpn, first, end: first + left.min(room.into()) as u32, stream, handle };
            left -= u64::from(part.end - first);
            first = part.end;
            if first == page_sectors {
                (lpn, first) = (lpn + 1, 0);
            }
            Some(part)
        })
    }

    /// Shape of the pages, as far as a write buffer needs it.
    pub(crate) fn page_shape(&self) -> PageShape {
        PageShape {
            flash_page_sectors: self.flash_page_sectors(),
            pages_per_block: self.geometry.pages_per_block,
        }
    }

    /// The queue of a page in the write buffer, and its place there.
    #[inline]
    pub(crate) fn queue_of(&mut self, part: &PageSlice) -> (u32, Place) {
        let (queue, number) = self.alloc.queue_of(part.stream, part.lpn);
        let pages = u64::from(self.geometry.pages_per_block);
        (queue, Place { block: number / pages, page: (number % pages) as u32 })
    }
}
