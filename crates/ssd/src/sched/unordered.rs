//! The commands of a long queue that keep no order with others of their units: reads, and those of which no page is known. In the
//! queue of [`super::out_of_order`], to whose front come ever more commands that can't start, they are found without those.

use std::cell::Cell;
use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::Queued;
use crate::op::CommandKind;

/// A command in the list.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Listed {
    /// Its number in the queue.
    pub(super) number: u64,
    /// Number of a command before it that writes one of its pages, if one was found.
    pub(super) writer: Cell<Option<u64>>,
}

/// The list, in the order of the queue.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Unordered(VecDeque<Listed>);

impl Unordered {
    /// True if the command keeps no order.
    #[inline]
    pub(super) fn holds(queued: &Queued) -> bool {
        queued.command.kind == CommandKind::Read || queued.pages.is_empty()
    }

    /// A command comes to the end of the queue.
    #[inline]
    pub(super) fn add(&mut self, queued: &Queued) {
        if Self::holds(queued) {
            debug_assert!(
                self.0.back().is_none_or(|last| last.number < queued.number),
                "all are put at the end"
            );
            self.0.push_back(Listed { number: queued.number, writer: Cell::new(None) });
        }
    }

    /// A command leaves the queue.
    #[inline]
    pub(super) fn remove(&mut self, queued: &Queued) {
        if Self::holds(queued)
            && let Ok(at) = self.0.binary_search_by_key(&queued.number, |listed| listed.number)
        {
            self.0.remove(at);
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Listed> {
        self.0.iter()
    }
}

impl<'a> FromIterator<&'a Queued> for Unordered {
    fn from_iter<I: IntoIterator<Item = &'a Queued>>(queued: I) -> Self {
        let mut unordered = Self::default();
        queued.into_iter().for_each(|queued| unordered.add(queued));
        unordered
    }
}
