//! Work that a die still has to do, by cause, where commands run in order of arrival: for the breakdown of a command's
//! wait.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::stats::{Cause, Spent};

/// A command that holds its die.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Held {
    from_ns: u64,
    end_ns: u64,
    cause: Cause,
    /// Work that the die had done before it, but for work that nobody has waited for: only differences count.
    before: Spent,
}

impl Held {
    /// Work that the die has done by then.
    fn spent(&self, time_ns: u64) -> Spent {
        let mut spent = self.before;
        spent.add(self.cause, time_ns.clamp(self.from_ns, self.end_ns) - self.from_ns);
        spent
    }
}

/// The commands of a die that are not done, the last one that is done, and their account.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Backlog {
    /// All but the last one.
    earlier: VecDeque<Held>,
    last: Held,
}

impl Default for Backlog {
    fn default() -> Self {
        let last = Held { from_ns: 0, end_ns: 0, cause: Cause::Read, before: Spent::default() };
        Self { earlier: VecDeque::new(), last }
    }
}

impl Backlog {
    /// Work of the die from `now_ns` to `until_ns`, at which the last command has begun. Forgets the work before.
    pub(super) fn between(&mut self, now_ns: u64, until_ns: u64) -> Spent {
        while self.earlier.front().is_some_and(|first| first.end_ns <= now_ns) {
            self.earlier.pop_front();
        }
        let first = self.earlier.front().unwrap_or(&self.last);
        self.last.spent(until_ns).since(&first.spent(now_ns))
    }

    /// A command that finds the die idle: nobody waits for the work before it.
    #[inline]
    pub(super) fn restart(&mut self, from_ns: u64, end_ns: u64, cause: Cause) {
        if !self.earlier.is_empty() {
            self.earlier.clear();
        }
        (self.last.from_ns, self.last.end_ns, self.last.cause) = (from_ns, end_ns, cause);
    }

    /// One more command.
    pub(super) fn push(&mut self, from_ns: u64, end_ns: u64, cause: Cause) {
        let before = self.last.spent(self.last.end_ns);
        self.earlier.push_back(self.last);
        self.last = Held { from_ns, end_ns, cause, before };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spent(of: &[(Cause, u64)]) -> Spent {
        let mut spent = Spent::default();
        for (cause, ns) in of {
            spent.add(*cause, *ns);
        }
        spent
    }

    #[test]
    fn a_wait_is_divided_by_the_work_of_the_die_meanwhile() {
        let mut backlog = Backlog::default();
        backlog.restart(10, 20, Cause::Write);
        backlog.push(20, 50, Cause::Gc);
        backlog.push(50, 60, Cause::Read);
        assert_eq!(backlog.between(15, 60), spent(&[(Cause::Write, 5), (Cause::Gc, 30), (Cause::Read, 10)]));
        backlog.push(60, 70, Cause::Erase);
        assert_eq!(backlog.between(40, 65), spent(&[(Cause::Gc, 10), (Cause::Read, 10), (Cause::Erase, 5)]));
        assert_eq!(backlog.between(55, 70), spent(&[(Cause::Read, 5), (Cause::Erase, 10)]));
    }

    #[test]
    fn work_before_an_idle_time_counts_for_nobody() {
        let mut backlog = Backlog::default();
        backlog.restart(0, 10, Cause::Write);
        backlog.push(10, 30, Cause::Gc);
        backlog.restart(100, 120, Cause::Read);
        assert_eq!(backlog.between(100, 120), spent(&[(Cause::Read, 20)]));
        backlog.push(120, 125, Cause::Write);
        assert_eq!(backlog.between(110, 125), spent(&[(Cause::Read, 10), (Cause::Write, 5)]));
        assert_eq!(Backlog::default().between(5, 5), Spent::default());
    }
}
