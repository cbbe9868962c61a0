//! Queues, first in, first out, and an arbiter that says whose head is next. A queue for each tenant, or for several; without an
//! arbiter one for all.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::{Arbiter, HostConfig};
use crate::stats::FlashTime;

/// Entries that wait.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Queues<T> {
    /// `None`: all wait in one queue, in the order of arrival.
    arbiter: Option<Arbiter>,
    /// Streams share queues by their number modulo this.
    count: usize,
    all: Vec<VecDeque<T>>,
}

impl<T: Clone> Queues<T> {
    pub(super) fn new(config: &HostConfig) -> Self {
        let (arbiter, count) = (config.arbiter(), config.queue_count());
        Self { arbiter, count, all: vec![VecDeque::new()] }
    }

    /// One more waits, of a stream.
    pub(super) fn push(&mut self, stream: u16, item: T, flash_time: &FlashTime) {
        let queue = if self.arbiter.is_some() { usize::from(stream) % self.count } else { 0 };
        if queue >= self.all.len() {
            self.all.resize(queue + 1, VecDeque::new());
        }
        self.all[queue].push_back(item);
        if let Some(arbiter) = &mut self.arbiter {
            arbiter.set_waiting(queue, true, flash_time);
        }
    }

    /// True if nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.all.iter().all(VecDeque::is_empty)
    }

    /// Takes the next one.
    pub(super) fn pop(&mut self, flash_time: &FlashTime) -> Option<T> {
        let Some(arbiter) = &mut self.arbiter else { return self.all[0].pop_front() };
        let queue = arbiter.pick(flash_time)?;
        let item = self.all[queue].pop_front();
        if self.all[queue].is_empty() {
            arbiter.set_waiting(queue, false, flash_time);
        }
        item
    }

    /// Takes the next one of those that may go.
    pub(super) fn pop_if(&mut self, flash_time: &FlashTime, may_go: impl Fn(&T) -> bool) -> Option<T> {
        let Some(arbiter) = &mut self.arbiter else {
            return if self.all[0].front().is_some_and(may_go) { self.all[0].pop_front() } else { None };
        };
        for (number, queue) in self.all.iter().enumerate() {
            arbiter.set_waiting(number, queue.front().is_some_and(&may_go), flash_time);
        }
        self.pop(flash_time)
    }
}
