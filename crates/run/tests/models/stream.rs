//! The requests of a workload as a drive takes them: page by page, each with the sectors that it covers.

use std::collections::VecDeque;

use flashweir_trace::Request;
use flashweir_trace::generate::{Generator, Spec};

/// Requests drawn from the generator at once.
const BATCH: usize = 1 << 14;

/// The part of a request that lies in one page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Number of its request, from 0 on.
    pub(crate) request: u64,
    /// The parallel unit that the page lives on.
    pub(crate) unit: usize,
    /// The unit's own number of the page (of the super page, if the unit binds several channels).
    pub(crate) page: u32,
    /// The page of a super page that it lies in; 0 without super pages.
    pub(crate) lane: u32,
    /// The sectors covered, a bit each, as they lie in the (super) page.
    pub(crate) sectors: u128,
}

/// Layout of logical pages on parallel units: super page s, which is as many consecutive pages as a unit binds, on unit
/// s mod n.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Striping {
    /// Parallel units.
    pub(crate) units: usize,
    /// Pages of a super page, 1 without any.
    pub(crate) bound: u32,
    /// Sectors of a page.
    pub(crate) page_sectors: u32,
}

impl Striping {
    /// Independent channels of `planes` bound planes each.
    pub(crate) fn independent(channels: usize, planes: u32, page_sectors: u32) -> Self {
        Self { units: channels, bound: planes, page_sectors }
    }

    /// Channels of `planes` bound planes each, synchronized: one unit.
    pub(crate) fn synchronized(channels: usize, planes: u32, page_sectors: u32) -> Self {
        Self { units: 1, bound: channels as u32 * planes, page_sectors }
    }

    /// All sectors of a unit's page: a write of these needs nothing read first.
    pub(crate) fn whole(self) -> u128 {
        u128::MAX >> (128 - self.bound * self.page_sectors)
    }

    /// Pieces that request number `number` writes, in the order of its pages.
    fn pieces(self, number: u64, request: &Request, out: &mut VecDeque<Piece>) {
        let sectors = u64::from(self.page_sectors);
        let mut start = request.lba;
        while start < request.end() {
            let page = start / sectors;
            let end = request.end().min((page + 1) * sectors);
            let mask = (u128::MAX >> (128 - (end - start) as u32)) << (start % sectors);
            let (lane, super_page) = ((page % u64::from(self.bound)) as u32, page / u64::from(self.bound));
            out.push_back(Piece {
                request: number,
                unit: (super_page % self.units as u64) as usize,
                page: (super_page / self.units as u64) as u32,
                lane,
                sectors: mask << (lane * self.page_sectors),
            });
            start = end;
        }
    }
}

/// A workload in pieces.
#[derive(Debug)]
pub(crate) struct Stream {
    generator: Generator,
    more: bool,
    batch: Vec<Request>,
    next: usize,
    taken: u64,
    striping: Striping,
}

impl Stream {
    /// The workload `spec` from its first request.
    pub(crate) fn new(spec: &str, striping: Striping) -> Self {
        let generator = Spec::parse(spec).unwrap_or_else(|error| panic!("{spec}: {error}")).generator();
        Self { generator, more: true, batch: Vec::new(), next: 0, taken: 0, striping }
    }

    /// Requests taken so far.
    pub(crate) fn taken(&self) -> u64 {
        self.taken
    }

    /// Appends the pieces of the next request. False if there is none.
    pub(crate) fn next(&mut self, out: &mut VecDeque<Piece>) -> bool {
        if self.next == self.batch.len() {
            if !self.more {
                return false;
            }
            self.batch.clear();
            self.next = 0;
            self.more = self.generator.read(&mut self.batch, BATCH);
            if self.batch.is_empty() {
                return false;
            }
        }
        let request = self.batch[self.next];
        self.next += 1;
        self.striping.pieces(self.taken, &request, out);
        self.taken += 1;
        true
    }
}
