//! Those that go on when an entry leaves the buffer. One request waits for it, as a rule, which takes no memory of its own.

use serde::{Deserialize, Serialize};

/// An entry that has left: those that go on.
#[derive(Debug, Default)]
pub(crate) struct Left {
    /// The channel that it went to, for the probe.
    pub(crate) channel: Option<u32>,
    /// With superblocks, the die that programmed it.
    pub(crate) die: Option<u32>,
    /// Requests that waited until it was on flash.
    pub(crate) waiters: Waiters,
    /// Entries that went with it in a command of several planes.
    pub(crate) companions: Vec<u32>,
}

/// Tags in the order in which they came.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Waiters {
    first: Option<u32>,
    more: Vec<u32>,
}

impl Waiters {
    #[inline]
    pub(crate) fn push(&mut self, tag: u32) {
        if self.first.is_none() {
            self.first = Some(tag);
        } else {
            self.more.push(tag);
        }
    }
}

impl IntoIterator for Waiters {
    type Item = u32;
    type IntoIter = std::iter::Chain<std::option::IntoIter<u32>, std::vec::IntoIter<u32>>;

    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.first.into_iter().chain(self.more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_tags_come_out_in_their_order() {
        for count in 0..4 {
            let mut waiters = Waiters::default();
            (0..count).for_each(|tag| waiters.push(tag));
            assert!(waiters.into_iter().eq(0..count));
        }
    }
}
