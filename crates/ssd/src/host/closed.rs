//! Closed loop: a fixed number of outstanding requests.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Closed loop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Config {
    /// Outstanding requests at the same time.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub queue_depth: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self { queue_depth: 1 }
    }
}

/// Completion times of the outstanding requests, for a drive that knows them at once.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Window {
    depth: usize,
    completions: BinaryHeap<Reverse<u64>>,
    now_ns: u64,
}

impl Window {
    pub(crate) fn new(depth: u32) -> Self {
        Self { depth: depth as usize, completions: BinaryHeap::new(), now_ns: 0 }
    }

    /// When the next request will enter, ns.
    pub(crate) fn entry_ns(&self) -> u64 {
        match self.completions.peek() {
            Some(Reverse(completion)) if self.completions.len() >= self.depth => self.now_ns.max(*completion),
            _ => self.now_ns,
        }
    }

    /// When the next request enters, ns. It counts as entered.
    #[inline]
    pub(crate) fn enter(&mut self) -> u64 {
        if self.completions.len() >= self.depth
            && let Some(Reverse(completion)) = self.completions.pop()
        {
            self.now_ns = self.now_ns.max(completion);
        }
        self.now_ns
    }

    /// A request that entered ends at `completion_ns`.
    #[inline]
    pub(crate) fn leave(&mut self, completion_ns: u64) {
        self.completions.push(Reverse(completion_ns));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_completion_lets_the_next_request_in() {
        let mut window = Window::new(2);
        assert_eq!(window.enter(), 0);
        window.leave(100);
        assert_eq!(window.enter(), 0);
        window.leave(30);
        assert_eq!(window.entry_ns(), 30);
        assert_eq!(window.enter(), 30);
        window.leave(40);
        assert_eq!((window.entry_ns(), window.entry_ns()), (40, 40));
        assert_eq!(window.enter(), 40);
    }
}
