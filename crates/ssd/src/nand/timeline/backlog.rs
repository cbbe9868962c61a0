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
    /// Work that the die had done before it.
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
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Backlog(VecDeque<Held>);

impl Backlog {
    /// Work of the die from `now_ns` to `until_ns`, at which the last command has begun. Forgets the work before.
    pub(super) fn between(&mut self, now_ns: u64, until_ns: u64) -> Spent {
        while self.0.len() > 1 && self.0[0].end_ns <= now_ns {
            self.0.pop_front();
        }
        let (Some(first), Some(last)) = (self.0.front(), self.0.back()) else { return Spent::default() };
        last.spent(until_ns).since(&first.spent(now_ns))
    }

    /// A command that finds the die idle: what was before, nobody waits for.
    #[inline]
    pub(super) fn restart(&mut self, from_ns: u64, end_ns: u64, cause: Cause) {
        let held = Held { from_ns, end_ns, cause, before: Spent::default() };
        self.0.truncate(1);
        if let Some(only) = self.0.front_mut() {
            *only = held;
        } else {
            self.0.push_back(held);
        }
    }

    /// One more command.
    pub(super) fn push(&mut self, from_ns: u64, end_ns: u64, cause: Cause) {
        let before = self.0.back().map_or_else(Spent::default, |last| last.spent(last.end_ns));
        self.0.push_back(Held { from_ns, end_ns, cause, before });
    }
}
