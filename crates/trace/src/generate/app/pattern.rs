//! Where one strand of an application's writes goes: files one behind the other, pages of a file that is always there,
//! a log around and around, chunks that several sources fill.
//!
//! A pattern *proposes* a write of a class; `commit` then makes it. A proposal may be of another class (a run has to
//! begin somewhere): the engine checks it, and asks again or asks another strand.

use super::{
    plan::{Order, Shape, Spread, Strand},
    tracker::{Class, Tracker},
};
use crate::generate::{draw::Draw, scatter::Scatter};

/// Unit in which the file systems of all these applications write, sectors.
const PAGE: u64 = 8;
/// Pages that lie together before alignment changes, where a strand has both alignments.
const EXTENT_PAGES: u64 = 64;
/// The least room of a strand, in pages.
const MIN_PAGES: u64 = 8 * (EXTENT_PAGES + 1);
/// Groups of an ext file system of 16 GB: 128 MiB each.
const GROUPS: u64 = 119;

/// A write that could be made next.
#[derive(Clone, Copy, Debug)]
pub(super) struct Proposal {
    pub(super) lba: u64,
    pub(super) sectors: u64,
    /// Data that the pattern needs if the write is made.
    token: Token,
}

#[derive(Clone, Copy, Debug)]
enum Token {
    /// Goes on where this head, cursor or run stands.
    On(usize),
    /// A new file of so many sectors at this head.
    New(usize, u64),
    /// A page of this parity that was not written before.
    Touch(usize),
    /// A page that was.
    Again,
}

/// The state of a strand.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    strand: &'static Strand,
    /// Where the strand lies: first sector and length.
    start: u64,
    len: u64,
    state: State,
    /// Where its last write ended.
    last: u64,
}

#[derive(Clone, Debug)]
enum State {
    /// Where each head stands and how far they are apart, what is left of the current file, and at which head it lies.
    Files {
        heads: Vec<u64>,
        stride: u64,
        left: u64,
        at: usize,
    },
    /// Pages touched of each parity, and their order.
    Pages {
        touched: [u64; 2],
        counts: [u64; 2],
        scatter: [Option<Scatter>; 2],
        group_stride: u64,
        per_group: u64,
    },
    Log {
        at: u64,
    },
    Chunks {
        open: Vec<Open>,
        cursors: Vec<Cursor>,
        slots: Scatter,
        count: u64,
        next: u64,
    },
}

/// A chunk that is being filled: where it lies, and how much of it has been given to sources.
#[derive(Clone, Copy, Debug)]
struct Open {
    base: u64,
    given: u64,
}

/// Data that one source is writing.
#[derive(Clone, Copy, Debug)]
struct Cursor {
    at: u64,
    end: u64,
}

impl Pattern {
    /// A strand on a volume whose first sector is `volume` and whose nominal length is `nominal`; it may spread over `all`.
    pub(super) fn new(strand: &'static Strand, volume: u64, nominal: u64, all: u64, seed: u64) -> Self {
        let at = |permille: u64| nominal / PAGE * permille / 1000 * PAGE;
        let (start, len) = (volume + at(strand.area.0), at(strand.area.1 - strand.area.0));
        // Small volumes keep room for a few extents of both alignments.
        let len = len.max(MIN_PAGES * PAGE).min((volume + all).saturating_sub(start));
        let group_stride = all / GROUPS / PAGE * PAGE;
        // Half a thousand blocks of inodes in a group of 128 MiB.
        let per_group = (520 * nominal / (16_000_000_000 / 512)).max(8).min(group_stride / PAGE / 2);
        let state = match strand.shape {
            Shape::Files { heads, grouped, .. } => {
                let heads = if grouped { GROUPS } else { heads.min(len / (64 * PAGE)).max(1) };
                let stride = if grouped { group_stride } else { len / heads / PAGE * PAGE };
                let behind = if grouped { (per_group + 8) * PAGE } else { 0 };
                let heads = (0..heads).map(|head| start + head * stride + behind).collect();
                State::Files { heads, stride, left: 0, at: 0 }
            }
            Shape::Pages { unit, order, mixed, grouped, .. } => {
                let counts = match (grouped, mixed) {
                    (true, _) => [GROUPS * per_group, 0],
                    (false, true) => {
                        let pairs = len / ((EXTENT_PAGES + 1) * PAGE) / 2;
                        [pairs * EXTENT_PAGES, pairs * EXTENT_PAGES]
                    }
                    (false, false) => [len / unit, 0],
                };
                let scatter = |parity: u64| {
                    let count = counts[parity as usize];
                    (order == Order::Mixed && count > 0).then(|| Scatter::new(count, seed ^ (parity << 32)))
                };
                let scatter = [scatter(0), scatter(1)];
                State::Pages { touched: [0; 2], counts, scatter, group_stride, per_group }
            }
            Shape::Log { .. } => State::Log { at: start },
            Shape::Chunks { bytes, open, sources, .. } => {
                let count = (len / bytes).max(1);
                let slots = Scatter::new(count, seed);
                let closed = Open { base: start, given: bytes };
                let open = open.min(count) as usize;
                let cursors = vec![Cursor { at: start, end: start }; open * sources as usize];
                State::Chunks { open: vec![closed; open], cursors, slots, count, next: 0 }
            }
        };
        Self { strand, start, len, state, last: 0 }
    }

    /// A write that would be of this class, if the pattern has one. `aligned` chooses among pages that lie both ways.
    pub(super) fn propose(
        &mut self,
        class: Class,
        aligned: bool,
        tracker: &Tracker,
        draw: &mut Draw,
    ) -> Option<Proposal> {
        let end = self.start + self.len;
        match (&mut self.state, &self.strand.shape) {
            (State::Files { .. }, Shape::Files { .. }) => self.propose_file(class, tracker, draw),
            (State::Log { at }, Shape::Log { sizes }) => {
                let sectors = pick(sizes, draw);
                let lba = if *at + sectors > end { self.start } else { *at };
                Some(Proposal { lba, sectors, token: Token::On(0) })
            }
            (State::Chunks { .. }, Shape::Chunks { pieces, .. }) => {
                self.open_chunks();
                let State::Chunks { cursors, .. } = &self.state else { return None };
                let busy = |cursor: &&Cursor| {
                    cursor.at < cursor.end && tracker.is_recent(cursor.at) == class.is_run()
                };
                let fit = cursors.iter().filter(busy).count() as u64;
                let any = cursors.iter().filter(|cursor| cursor.at < cursor.end).count() as u64;
                let chosen = if fit > 0 {
                    let number = draw.below(fit) as usize;
                    cursors.iter().enumerate().filter(|(_, cursor)| busy(cursor)).nth(number)
                } else if any > 0 {
                    let number = draw.below(any) as usize;
                    cursors.iter().enumerate().filter(|(_, cursor)| cursor.at < cursor.end).nth(number)
                } else {
                    None
                };
                let (index, cursor) = chosen?;
                let sectors = pick(pieces, draw).min(cursor.end - cursor.at);
                Some(Proposal { lba: cursor.at, sectors, token: Token::On(index) })
            }
            _ => self.propose_page(class, aligned, tracker, draw),
        }
    }

    /// Goes on with a file, or begins one: behind the last one if it is to be a run, else at any head.
    fn propose_file(&mut self, class: Class, tracker: &Tracker, draw: &mut Draw) -> Option<Proposal> {
        let State::Files { heads, stride, left, at } = &mut self.state else { return None };
        let Shape::Files { low, octaves, unit, gap, .. } = self.strand.shape else { return None };
        if class.is_again() {
            return None;
        }
        if class.is_run() && *left > 0 && !tracker.is_written(heads[*at], unit.min(*left)) {
            return Some(Proposal { lba: heads[*at], sectors: unit.min(*left), token: Token::On(*at) });
        }
        let size = (draw.octaves(low, octaves) / PAGE).max(1) * PAGE;
        let mut head = if class.is_run() { *at } else { draw.below(heads.len() as u64) as usize };
        for _ in 0..16 {
            let own_end = (self.start + (head as u64 + 1) * *stride).min(self.start + self.len);
            let gap = if class.is_run() || gap == 0 { 0 } else { draw.between(1, gap) * PAGE };
            let mut lba = heads[head] + gap;
            while lba + PAGE <= own_end && tracker.is_written(lba, unit.min(size).min(own_end - lba)) {
                lba += 8 * PAGE;
            }
            if lba + unit.min(size) <= own_end {
                let size = size.min(own_end - lba);
                return Some(Proposal { lba, sectors: unit.min(size), token: Token::New(head, size) });
            }
            head = draw.below(heads.len() as u64) as usize;
        }
        None
    }

    fn propose_page(
        &mut self,
        class: Class,
        aligned: bool,
        tracker: &Tracker,
        draw: &mut Draw,
    ) -> Option<Proposal> {
        let State::Pages { touched, counts, .. } = &self.state else { return None };
        let Shape::Pages { sizes, spread, mixed, unit, .. } = &self.strand.shape else { return None };
        let sectors = pick(sizes, draw);
        let end = self.start + self.len;
        if class.is_run() && tracker.is_recent(self.last) && self.last + sectors <= end {
            return Some(Proposal { lba: self.last, sectors, token: Token::Again });
        }
        let parity = if *mixed { usize::from(!aligned) } else { 0 };
        if !class.is_again() || touched[parity] == 0 {
            // An untouched page on which an earlier, longer write already lies is passed over.
            let rank = touched[parity];
            if rank >= counts[parity] {
                return None;
            }
            return Some(Proposal {
                lba: self.page(parity, rank),
                sectors: *unit,
                token: Token::Touch(parity),
            });
        }
        let ranks = touched[parity];
        let rank = match spread {
            Spread::Even => draw.below(ranks),
            Spread::Popular => draw.skewed(ranks + 1).min(ranks - 1),
            Spread::Mild => {
                if draw.below(2) == 0 {
                    draw.below(ranks)
                } else {
                    draw.skewed(ranks + 1).min(ranks - 1)
                }
            }
        };
        let lba = self.page(parity, rank);
        let sectors = if lba + sectors <= end || *unit == sectors { sectors } else { *unit };
        Some(Proposal { lba, sectors, token: Token::Again })
    }

    /// Where the page of a rank lies: in order of their first writes.
    fn page(&self, parity: usize, rank: u64) -> u64 {
        let State::Pages { scatter, group_stride, per_group, .. } = &self.state else { return self.start };
        let Shape::Pages { unit, mixed, grouped, .. } = &self.strand.shape else { return self.start };
        let place = scatter[parity].as_ref().map_or(rank, |scatter| scatter.place(rank));
        if *grouped {
            let (group, page) = (place / per_group, place % per_group);
            return self.start + group * group_stride + page * PAGE;
        }
        if !*mixed {
            return self.start + place * unit;
        }
        let extent = 2 * (place / EXTENT_PAGES) + parity as u64;
        let first = self.start + extent * (EXTENT_PAGES + 1) * PAGE;
        let first = if parity == 0 { first.next_multiple_of(PAGE) } else { first };
        first + place % EXTENT_PAGES * PAGE
    }

    /// The proposal is made.
    pub(super) fn commit(&mut self, made: Proposal) {
        self.last = made.lba + made.sectors;
        match (&mut self.state, made.token) {
            (State::Files { heads, left, at, .. }, Token::New(head, size)) => {
                (*at, *left) = (head, size - made.sectors.min(size));
                heads[head] = self.last;
            }
            (State::Files { heads, left, at, .. }, _) => {
                heads[*at] = self.last;
                *left -= made.sectors.min(*left);
            }
            (State::Log { at }, _) => *at = self.last,
            (State::Pages { touched, .. }, Token::Touch(parity)) => touched[parity] += 1,
            (State::Chunks { cursors, .. }, Token::On(index)) => cursors[index].at = self.last,
            _ => {}
        }
    }

    /// The proposal was not wanted: a page that is due for the first time counts as touched, so that another is next; and
    /// where a source stands on what is `wrongly` written, or not, it goes on behind it.
    pub(super) fn pass_over(&mut self, refused: Proposal, wrongly: bool) {
        match (&mut self.state, refused.token) {
            (State::Pages { touched, .. }, Token::Touch(parity)) => touched[parity] += 1,
            (State::Chunks { cursors, .. }, Token::On(index)) if wrongly => {
                cursors[index].at = refused.lba + refused.sectors;
            }
            _ => {}
        }
    }

    /// Sources that are done take the next block of their chunk, and a chunk that is given out makes room for the next.
    fn open_chunks(&mut self) {
        let Shape::Chunks { bytes, sources, block, .. } = self.strand.shape else { return };
        let State::Chunks { open, cursors, slots, count, next } = &mut self.state else { return };
        for (chunk, own) in open.iter_mut().zip(cursors.chunks_mut(sources as usize)) {
            if chunk.given >= bytes && own.iter().all(|cursor| cursor.at >= cursor.end) {
                *chunk = Open { base: self.start + slots.place(*next % *count) * bytes, given: 0 };
                *next += 1;
            }
            for cursor in own.iter_mut().filter(|cursor| cursor.at >= cursor.end) {
                let len = block.min(bytes - chunk.given);
                let at = chunk.base + chunk.given;
                *cursor = Cursor { at, end: at + len };
                chunk.given += len;
            }
        }
    }
}

/// One of the sizes, by weight.
fn pick(sizes: &[(u64, u64)], draw: &mut Draw) -> u64 {
    if let [(only, _)] = sizes {
        return *only;
    }
    let mut number = draw.below(sizes.iter().map(|(_, weight)| weight).sum());
    for (sectors, weight) in sizes {
        if number < *weight {
            return *sectors;
        }
        number -= weight;
    }
    PAGE
}
