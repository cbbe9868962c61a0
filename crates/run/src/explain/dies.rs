//! Recent commands of each die.

use std::collections::VecDeque;

use flashweir_ssd::{CommandKind, Purpose};

/// A stretch of time in which a die worked on a command: all of it, or a part between two pauses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Work {
    pub(super) start_ns: u64,
    pub(super) end_ns: u64,
    pub(super) kind: CommandKind,
    pub(super) purpose: Purpose,
    /// Planes that took part, or pages moved.
    pub(super) pages: u32,
    /// The request that it serves, if it is known.
    pub(super) request: Option<u64>,
    /// The tenant of that request, where there are several.
    pub(super) stream: Option<u16>,
}

/// Whose command it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Owner {
    /// The same request's: another of its pages.
    Same,
    /// Another request's, of this tenant.
    Tenant(u16),
    /// Another request's.
    Host,
    /// The drive's own.
    Drive,
}

/// Key by which commands are reported together: operation, purpose, owner.
pub(super) type Blocker = (&'static str, &'static str, Owner);

impl Work {
    /// The command as seen by a request that waits for it.
    pub(super) fn blocker(&self, request: u64) -> Blocker {
        let owner = match (self.request, self.stream, self.purpose) {
            (Some(number), ..) if number == request => Owner::Same,
            (_, Some(stream), _) => Owner::Tenant(stream),
            (_, None, Purpose::Host) => Owner::Host,
            _ => Owner::Drive,
        };
        (self.kind.name(), self.purpose.name(), owner)
    }
}

/// Works kept, of all dies together and of each: a request may be taken long after it was issued.
const KEPT: usize = 1 << 18;
const KEPT_OF_EACH: std::ops::RangeInclusive<usize> = 64..=1 << 16;

/// Works of a die that are looked at for a request.
const MAX_WITHIN: usize = 4096;

/// The dies: of each its works, nearly in the order of their starts.
#[derive(Debug)]
pub(super) struct Dies {
    dies: Vec<VecDeque<Work>>,
    /// Works of a die that are kept however old they are.
    kept: usize,
}

impl Dies {
    pub(super) fn new(count: u32) -> Self {
        let kept = (KEPT / count.max(1) as usize).clamp(*KEPT_OF_EACH.start(), *KEPT_OF_EACH.end());
        Self { dies: vec![VecDeque::new(); count as usize], kept }
    }

    /// A die does this.
    pub(super) fn add(&mut self, die: u32, work: Work) {
        let works = &mut self.dies[die as usize];
        let mut at = works.len();
        while at > 0 && works[at - 1].start_ns > work.start_ns {
            at -= 1;
        }
        works.insert(at, work);
    }

    /// Works of a die between two times, and the part of each between them, ns. The last one is first; at most
    /// `MAX_WITHIN`.
    pub(super) fn within(&self, die: u32, from_ns: u64, to_ns: u64) -> impl Iterator<Item = (&Work, u64)> {
        let works = &self.dies[die as usize];
        let end = works.partition_point(|work| work.start_ns < to_ns);
        let late = works.range(..end).rev().take(MAX_WITHIN).take_while(move |work| work.end_ns > from_ns);
        late.filter_map(move |work| {
            let ns = work.end_ns.min(to_ns).saturating_sub(work.start_ns.max(from_ns));
            (ns > 0).then_some((work, ns))
        })
    }

    /// The die that programmed a page for the host last, of what was done by then.
    pub(super) fn last_program(&self, by_ns: u64) -> Option<u32> {
        let last = |works: &VecDeque<Work>| {
            let done = works.partition_point(|work| work.end_ns <= by_ns);
            let is_program = |work: &&Work| work.purpose == Purpose::Host && work.kind != CommandKind::Read;
            works.range(..done).rev().find(is_program).map(|work| work.end_ns)
        };
        let ends = (0u32..).zip(&self.dies).filter_map(|(die, works)| Some((last(works)?, die)));
        ends.max_by_key(|(end_ns, die)| (*end_ns, std::cmp::Reverse(*die))).map(|(_, die)| die)
    }

    /// Forgets works before that time, but for the latest of each die.
    pub(super) fn forget(&mut self, before_ns: u64) {
        for works in &mut self.dies {
            while works.len() > self.kept && works.front().is_some_and(|work| work.end_ns <= before_ns) {
                works.pop_front();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(start_ns: u64, end_ns: u64, kind: CommandKind, purpose: Purpose) -> Work {
        Work { start_ns, end_ns, kind, purpose, pages: 1, request: None, stream: None }
    }

    #[test]
    fn a_wait_is_cut_at_both_ends_and_late_records_find_their_place() {
        let mut dies = Dies::new(2);
        dies.add(0, work(0, 10, CommandKind::Read, Purpose::Host));
        dies.add(0, work(30, 50, CommandKind::Erase, Purpose::Gc));
        dies.add(0, work(10, 30, CommandKind::Copies, Purpose::Gc));
        dies.add(1, work(0, 45, CommandKind::Program, Purpose::Host));
        let found: Vec<_> = dies.within(0, 5, 40).map(|(work, ns)| (work.kind, ns)).collect();
        assert_eq!(found, [(CommandKind::Erase, 10), (CommandKind::Copies, 20), (CommandKind::Read, 5)]);
        assert_eq!((dies.last_program(45), dies.last_program(44)), (Some(1), None));
        dies.forget(35);
        assert_eq!(dies.within(0, 0, 100).count(), 3, "few works are kept");
        dies.kept = 1;
        dies.forget(35);
        assert_eq!((dies.within(0, 0, 100).count(), dies.within(1, 0, 100).count()), (1, 1));
    }

    #[test]
    fn a_command_is_the_same_requests_another_ones_or_the_drives() {
        let mut read = work(0, 1, CommandKind::Read, Purpose::Host);
        assert_eq!(read.blocker(3), ("read", "host", Owner::Host));
        (read.request, read.stream) = (Some(3), Some(1));
        assert_eq!((read.blocker(3).2, read.blocker(4).2), (Owner::Same, Owner::Tenant(1)));
        let copies = work(0, 1, CommandKind::Copies, Purpose::Gc);
        assert_eq!(copies.blocker(3), ("copy", "gc", Owner::Drive));
    }
}
