//! Collections of superblocks: what is read and programmed of each unit of a set of dies.

use super::Core;
use super::pending::Member;
use crate::alloc::Superblocks;
use crate::content::Content;
use crate::nand::Executor;
use crate::op::{
    Command, CommandKind, Crossing, Effect, FlashOp, Link, NO_EFFECT, NOBODY, Ops, PageAt, Purpose, Role,
};
use crate::sched::Pages;

/// Work of a unit in one operation of its set.
#[derive(Clone, Debug, Default)]
pub(super) struct Share {
    reads: u32,
    read_ns: u64,
    /// Transfers of read retries, ns.
    more_bus_ns: u64,
    programs: u32,
    program_ns: u64,
    /// Pages of parity among these.
    parity: u32,
    /// Transfers of what it programs, ns.
    in_ns: u64,
    opens: u8,
    /// Where pages come from and go to, if they are followed.
    gathered: Vec<(Option<PageAt>, u32)>,
}

impl<C: Content> Core<C> {
    /// Moves pages of superblocks of a set, those of one or several operations: a command a unit that reads, then one that
    /// programs.
    pub(super) fn gather(
        &mut self,
        now_ns: u64,
        superblocks: &Superblocks,
        (moving, ops): (&[FlashOp], &Ops),
        executor: &mut impl Executor,
    ) {
        let Some(op) = moving.first() else { return };
        let mut shares = std::mem::take(&mut self.shares);
        shares.clear();
        shares.resize(superblocks.units_of(op.unit).len(), Share::default());
        for op in moving {
            if let Effect::Moved(range) = &op.effect {
                let follows = C::ON || executor.wants_pages();
                let now_ns = executor.takes_time().then_some(now_ns);
                self.divide((superblocks, now_ns), op, ops.moves(range), follows, &mut shares);
            }
        }
        let mapped_pages = u64::from(self.geometry.mapped_pages);
        let bus_ns = self.timing.transfer_ns;
        for (share, unit) in shares.iter().zip(superblocks.units_of(op.unit)) {
            self.counters.gc.reads += u64::from(share.reads) * mapped_pages;
            self.counters.gc.programs += u64::from(share.programs - share.parity) * mapped_pages;
            self.counters.parity_programs += u64::from(share.parity) * mapped_pages;
            if share.reads > 0 && executor.takes_time() {
                let op =
                    op_of(*unit, share.reads, CommandKind::Copies, Purpose::Gc, Effect::Gathered(Vec::new()));
                let command = Command {
                    read_ns: share.read_ns,
                    bus_ns: bus_ns * u64::from(share.reads) + share.more_bus_ns,
                    program_ns: 0,
                    ..command_of(&op, Link::new(superblocks.set_of(*unit), Role::Read), self.planes)
                };
                let effect = self.content.apply(&op, &[]);
                let member = Member::of(*unit, self.planes, Pages::default(), effect);
                self.submit(now_ns, command, member, executor);
            }
        }
        for (share, unit) in shares.iter_mut().zip(superblocks.units_of(op.unit)) {
            if share.programs == 0 {
                continue;
            }
            let effect = Effect::Gathered(std::mem::take(&mut share.gathered));
            let op = op_of(*unit, share.programs, CommandKind::Copies, Purpose::Gc, effect);
            let pages = if executor.wants_pages() { self.pages_of(&op, &[]) } else { Pages::default() };
            let effect = self.content.apply(&op, &[]);
            let command = Command {
                opens: share.opens,
                read_ns: 0,
                bus_ns: share.in_ns,
                program_ns: share.program_ns,
                ..command_of(&op, Link::new(superblocks.set_of(*unit), Role::Move), self.planes)
            };
            self.submit(now_ns, command, Member::of(*unit, self.planes, pages, effect), executor);
        }
        self.shares = shares;
    }

    /// Divides relocated pages among units: those that they lie on, and those that they go to.
    fn divide(
        &mut self,
        (superblocks, now_ns): (&Superblocks, Option<u64>),
        op: &FlashOp,
        moves: &[(u32, u32)],
        follows: bool,
        shares: &mut [Share],
    ) {
        let per_page = self.geometry.units_per_page;
        if let Some((from, _)) = moves.first() {
            self.count_moved(superblocks.at(op.unit, *from), moves.len());
        }
        let (mut read, mut programmed) = (Span::default(), Span::default());
        let mut reads = 0;
        for (from, to) in moves {
            if !read.holds(*from) {
                read = Span::of(superblocks, op.unit, *from, per_page);
                let share = &mut shares[read.member as usize];
                share.reads += 1;
                share.read_ns += self.timing.read_ns(read.at.0, read.at.1, op.slc);
                reads += 1;
                if self.ageing.is_some() {
                    self.gather_aged((superblocks, now_ns), (read.page(*from), op.slc), shares);
                }
            }
            if !programmed.holds(*to) {
                programmed = Span::of(superblocks, op.unit, *to, per_page);
                self.add_program(now_ns, programmed.at, &mut shares[programmed.member as usize]);
            }
            if follows {
                let (source, target) = (read.page(*from), programmed.page(*to));
                shares[programmed.member as usize].gathered.push((Some(source), target.1));
            }
            let is_first = *to == programmed.first;
            if is_first && self.geometry.parity > 0 {
                let page = programmed.first / per_page;
                self.add_parity((superblocks, now_ns), op.unit, page, follows, shares);
            }
        }
        // The first page may have been read by the step before.
        if let Some((from, _)) = moves.first()
            && op.reads + 1 == reads
            && !self.ftl.has_groups()
        {
            let first = Span::of(superblocks, op.unit, *from, per_page);
            let share = &mut shares[first.member as usize];
            share.reads -= 1;
            share.read_ns -= self.timing.read_ns(first.at.0, first.at.1, op.slc);
        }
    }

    /// A page has aged that is read: one that can't be read is rebuilt of the others of its stripe, which are read, too.
    #[inline(never)]
    fn gather_aged(
        &mut self,
        (superblocks, now_ns): (&Superblocks, Option<u64>),
        (at, slc): (PageAt, bool),
        shares: &mut [Share],
    ) {
        let per_page = self.geometry.units_per_page;
        self.add_retries(now_ns, at, slc, &mut shares[superblocks.member_of(at.0) as usize]);
        if self.unread.pop().is_none() {
            return;
        }
        let stripe = self.stripe_in(superblocks, at);
        let mut is_whole = stripe.is_some();
        for (unit, ppn) in stripe.unwrap_or_default() {
            let share = &mut shares[superblocks.member_of(unit) as usize];
            share.reads += 1;
            share.read_ns += self.timing.read_ns(unit, ppn / per_page, slc);
            self.add_retries(now_ns, (unit, ppn), slc, share);
            is_whole &= self.unread.pop().is_none();
        }
        self.count_rebuilt(is_whole);
    }

    fn add_retries(&mut self, now_ns: Option<u64>, at: PageAt, slc: bool, share: &mut Share) {
        let array_ns = self.timing.read_ns(at.0, at.1 / self.geometry.units_per_page, slc);
        let more = self.reading_of(now_ns, at, slc, (array_ns, self.timing.transfer_ns));
        share.read_ns += more.array_ns;
        share.more_bus_ns += more.bus_ns;
    }

    /// A page of flash is programmed.
    fn add_program(&mut self, now_ns: Option<u64>, (unit, page): PageAt, share: &mut Share) {
        let (program_ns, in_ns) = self.timing.program_ns(unit, page, false);
        let program_ns = self.programming(now_ns, (unit, page * self.geometry.units_per_page), program_ns);
        share.programs += 1;
        share.program_ns += program_ns;
        share.in_ns += in_ns;
        let block = page / (self.geometry.pages_per_block / self.geometry.units_per_page);
        share.opens += self.erased.open((unit, block));
    }

    /// The parity of a stripe whose last page of data is this one of the set.
    fn add_parity(
        &mut self,
        (superblocks, now_ns): (&Superblocks, Option<u64>),
        set: u32,
        page: u32,
        follows: bool,
        shares: &mut [Share],
    ) {
        let Some((unit, page)) = superblocks.parity_after(set, page.into()) else { return };
        let share = &mut shares[superblocks.member_of(unit) as usize];
        self.add_program(now_ns, (unit, page), share);
        share.parity += 1;
        if follows {
            share.gathered.push((None, page * self.geometry.units_per_page));
        }
    }
}

/// Operations from the first on that move pages of one set, at least one: one step reads all of these pages, then programs them. So
/// a page that one of them programs is not moved on by another: that one belongs to the next step.
pub(super) fn moved_together(left: &[FlashOp], ops: &Ops) -> usize {
    let moves = |op: &FlashOp| if let Effect::Moved(range) = &op.effect { ops.moves(range) } else { &[] };
    // Nearly always a block is moved to others: then no page lies between those that are programmed.
    let (mut lowest, mut highest) = (u32::MAX, 0);
    for (number, op) in left.iter().enumerate() {
        let is_of_first = matches!(op.effect, Effect::Moved(_)) && op.unit == left[0].unit;
        let is_programmed = |from: u32| {
            (lowest..=highest).contains(&from)
                && left[..number].iter().any(|op| moves(op).iter().any(|(_, to)| *to == from))
        };
        if !is_of_first || moves(op).iter().any(|(from, _)| is_programmed(*from)) {
            return number.max(1);
        }
        for (_, to) in moves(op) {
            (lowest, highest) = (lowest.min(*to), highest.max(*to));
        }
    }
    left.len()
}

/// Operations from the first on that move pages of one set, at least one, where steps of a collection follow each other without a
/// pause: those of one victim, up to its erase, are made as in a collection at once.
pub(super) fn moved_at_once(left: &[FlashOp]) -> usize {
    let joins = |op: &&FlashOp| matches!(op.effect, Effect::Moved(_)) && op.unit == left[0].unit;
    left.iter().take_while(joins).count().max(1)
}

/// Pages of a set that are one page of flash.
#[derive(Clone, Copy, Debug, Default)]
struct Span {
    first: u32,
    end: u32,
    member: u32,
    /// Unit and number of the page of flash.
    at: PageAt,
    per_page: u32,
}

impl Span {
    fn of(superblocks: &Superblocks, set: u32, ppn: u32, per_page: u32) -> Self {
        let page = ppn / per_page;
        let at = superblocks.flash_page(set, page.into());
        let (first, end) = (page * per_page, (page + 1) * per_page);
        Self { first, end, member: superblocks.member_of(at.0), at, per_page }
    }

    #[inline]
    fn holds(&self, ppn: u32) -> bool {
        (self.first..self.end).contains(&ppn)
    }

    fn page(&self, ppn: u32) -> PageAt {
        (self.at.0, self.at.1 * self.per_page + ppn - self.first)
    }
}

/// An operation on whole pages of a unit.
pub(super) fn op_of(unit: u32, pages: u32, kind: CommandKind, purpose: Purpose, effect: Effect) -> FlashOp {
    FlashOp { unit, pages, reads: 0, kind, purpose, opens: 0, crossing: Crossing::WHOLE, slc: false, effect }
}

/// A command of a unit that nobody waits for; its times are left to the caller.
pub(super) fn command_of(op: &FlashOp, link: Link, planes: u32) -> Command {
    Command {
        die: op.unit / planes,
        kind: op.kind,
        purpose: op.purpose,
        opens: op.opens,
        awaited: false,
        pages: op.pages,
        tag: NOBODY,
        effect: NO_EFFECT,
        link,
        read_ns: 0,
        bus_ns: 0,
        program_ns: 0,
    }
}

#[cfg(test)]
mod tests {
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::{Rng, SeedableRng};

    use super::*;

    #[test]
    fn a_page_that_a_step_programs_is_not_moved_on_by_it() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut found = [0; 8];
        for _ in 0..2000 {
            let mut ops = Ops::new(true);
            let mut moves: Vec<(u32, Vec<(u32, u32)>)> = Vec::new();
            for _ in 0..7 {
                let unit = u32::from(random.next_u64().is_multiple_of(16));
                let pairs =
                    (0..3).map(|_| (random.next_u64() as u32 % 100, 90 + random.next_u64() as u32 % 60));
                let pairs: Vec<(u32, u32)> = pairs.collect();
                for (from, to) in &pairs {
                    ops.moved(*from, *to);
                }
                ops.copies(unit, 3);
                moves.push((unit, pairs));
            }
            let goes_on = |number: &usize| {
                let (unit, pairs) = &moves[*number];
                let mut before = moves[..*number].iter().flat_map(|(_, pairs)| pairs);
                *unit == moves[0].0 && !before.any(|(_, to)| pairs.iter().any(|(from, _)| from == to))
            };
            let expected = (0..moves.len()).take_while(goes_on).count();
            assert_eq!(moved_together(ops.list(), &ops), expected, "{moves:?}");
            found[expected] += 1;
        }
        assert!(found[1..].iter().all(|times| *times > 20), "{found:?}");
    }
}
