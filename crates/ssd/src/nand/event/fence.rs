//! Fences: a tag that is handed out when dies have done all that they have at this moment; and commands that come later.

use serde::{Deserialize, Serialize};

use super::{Chain, Events, Other, Probe, guard};
use crate::op::Command;
use crate::sched::Pages;
use crate::stats::Parts;

/// Counts of commands by die, and the fences around them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Fences {
    /// Empty where nobody asks.
    dies: Vec<Counts>,
    /// Dies that were handed commands, or have done some, since they were last returned: a bit each.
    changed: Vec<u64>,
    /// Commands of all dies that are not done.
    under_way: u64,
    /// Tags of fences that dies have reached, since the caller last took them.
    pub(super) reached: Vec<u32>,
    /// Tags of fences around several dies, each with the dies that have not reached it: a few at most.
    left: Vec<(u32, u32)>,
    /// Commands that come later, by number, and numbers that are free.
    later: Vec<Option<Later>>,
    free: Vec<u32>,
}

/// A command that comes later.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Later {
    pub(crate) command: Command,
    pub(crate) pages: Pages,
    /// The request that it serves, and the tenant that it is charged to.
    pub(crate) charged: (u64, u16),
    /// Since when it waits for its die, once it is there, ns.
    pub(crate) arrived_ns: u64,
    /// Its number among the commands of its die, once it is handed over.
    handed: u64,
}

impl Later {
    pub(crate) fn new(command: Command, pages: Pages, charged: (u64, u16), arrived_ns: u64) -> Self {
        Self { command, pages, charged, arrived_ns, handed: 0 }
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Counts {
    submitted: u64,
    done: u64,
    /// In the order in which they were put up.
    fences: Vec<Fence>,
}

/// Commands that a die has yet to finish before a tag is released.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Fence {
    /// Number of the last command before it.
    last: u64,
    /// Commands up to that one which are not done.
    left: u64,
    tag: u32,
}

impl Fences {
    pub(super) fn new(dies: usize) -> Self {
        let mut changed = vec![0; dies.div_ceil(64)];
        for die in 0..dies {
            changed[die / 64] |= 1 << (die % 64);
        }
        Self { dies: vec![Counts::default(); dies], changed, ..Self::default() }
    }

    #[inline]
    pub(super) fn are_used(&self) -> bool {
        !self.dies.is_empty()
    }

    /// Commands that a die was handed so far.
    pub(super) fn handed(&self, die: u32) -> u64 {
        self.dies.get(die as usize).map_or(0, |counts| counts.submitted)
    }

    /// A command was handed to a die. Returns its number there; 0 where nobody asks.
    #[inline]
    pub(super) fn submitted(&mut self, die: u32) -> u64 {
        let Some(counts) = self.dies.get_mut(die as usize) else { return 0 };
        counts.submitted += 1;
        self.under_way += 1;
        self.changed[die as usize / 64] |= 1 << (die % 64);
        counts.submitted
    }

    /// A die that was handed commands, or has done some, since it was last returned; each die at first. None without fences.
    #[inline]
    pub(super) fn next_changed_die(&mut self) -> Option<u32> {
        let word = self.changed.iter().position(|bits| *bits != 0)?;
        let bit = self.changed[word].trailing_zeros();
        self.changed[word] &= self.changed[word] - 1;
        Some(word as u32 * 64 + bit)
    }

    /// A die has done the command of that number, perhaps before earlier ones.
    #[inline]
    pub(super) fn done_by(&mut self, die: u32, number: u64) {
        let Fences { dies, changed, left, under_way, reached, .. } = self;
        changed[die as usize / 64] |= 1 << (die % 64);
        let counts = &mut dies[die as usize];
        counts.done += 1;
        *under_way -= 1;
        let mut at = 0;
        while let Some(fence) = counts.fences.get_mut(at) {
            fence.left -= u64::from(number <= fence.last);
            if fence.left > 0 {
                at += 1;
                continue;
            }
            let tag = fence.tag;
            // As a rule there is only one.
            if at + 1 == counts.fences.len() {
                counts.fences.pop();
            } else {
                counts.fences.remove(at);
            }
            if let Some(place) = left.iter().position(|(waiting, _)| *waiting == tag) {
                left[place].1 -= 1;
                if left[place].1 > 0 {
                    continue;
                }
                left.swap_remove(place);
            }
            reached.push(tag);
        }
    }
}

impl<P: Probe> Events<P> {
    /// Hands `tag` out once all commands are done that the dies have now.
    pub(super) fn put_fence(&mut self, dies: impl Iterator<Item = u32>, tag: u32) {
        let mut busy = 0;
        for die in dies {
            let counts = &mut self.fences.dies[die as usize];
            if counts.done < counts.submitted {
                let left = counts.submitted - counts.done;
                counts.fences.push(Fence { last: counts.submitted, left, tag });
                busy += 1;
            }
        }
        match busy {
            0 => self.agenda.push(self.now_ns, Other::Tag(tag)),
            1 => {}
            _ => self.fences.left.push((tag, busy)),
        }
    }

    pub(super) fn fence_reached(&mut self, tag: u32) {
        self.completed.push(tag);
        if self.follows {
            self.parts.push(Parts::default());
        }
    }

    /// True if dies have commands that are not done.
    pub(super) fn have_commands(&self, mut dies: impl Iterator<Item = u32>) -> bool {
        self.fences.under_way > 0
            && dies.any(|die| {
                let counts = &self.fences.dies[die as usize];
                counts.done < counts.submitted
            })
    }

    /// A command reaches its die in `delay_ns`.
    pub(super) fn submit_later(&mut self, delay_ns: u64, mut later: Later) {
        later.handed = self.fences.submitted(later.command.die);
        self.probe.queue(later.arrived_ns, later.command.die, 1);
        let Fences { later: all, free, .. } = &mut self.fences;
        let number = free.pop().unwrap_or(all.len() as u32);
        if number as usize == all.len() {
            all.push(Some(later));
        } else {
            all[number as usize] = Some(later);
        }
        self.agenda.push(self.now_ns + delay_ns, Other::Arrival(number));
    }

    pub(super) fn arrive(&mut self, number: u32) {
        let Some(later) = self.fences.later.get_mut(number as usize) else { return };
        if let Some(Later { command, pages, charged, arrived_ns, handed }) = later.take() {
            self.fences.free.push(number);
            let serving = std::mem::replace(&mut self.request, charged.0);
            self.tenant = charged.1;
            self.enqueue(command, pages, (Chain::None, guard::NOTHING), (arrived_ns, handed));
            self.request = serving;
        }
    }
}
