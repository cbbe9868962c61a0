//! The answer of a background function that stands: it said which units matter to it, so it is asked when one more of them
//! is *ready*, and its steps last as long as their unit is.

use serde::{Deserialize, Serialize};

use crate::external::Steps;

/// A unit as far as it may be ready.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate {
    /// Since when its dies have done nothing for the host, ns.
    pub(crate) idle_since_ns: Option<u64>,
    /// Erased blocks that it may fill before it must collect.
    pub(crate) spare_blocks: u64,
    /// True if it is in the middle of a victim.
    pub(crate) under_way: bool,
}

/// An answer that stands.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Standing {
    spare_below: Option<u64>,
    idle_ns: Option<u64>,
    again_ns: Option<u64>,
    /// Units that have been ready since the function was asked.
    ready: Vec<bool>,
}

/// Outcome of a look at all units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Look {
    /// True if the function is to be asked.
    pub(crate) asks: bool,
    /// When to look again though nothing happens, ns.
    pub(crate) due_ns: Option<u64>,
}

impl Standing {
    /// `None` if the answer holds for its view alone.
    pub(crate) fn new(answer: &Steps) -> Option<Self> {
        let Steps { ask_again_ns: again_ns, ask_spare_below: spare_below, ask_idle_ns: idle_ns, .. } =
            *answer;
        let stands = spare_below.is_some() || idle_ns.is_some();
        stands.then_some(Self { spare_below, idle_ns, again_ns, ready: Vec::new() })
    }

    /// When a unit is ready if it stays as it is, ns.
    fn ready_ns(&self, unit: Candidate) -> Option<u64> {
        let matters = unit.under_way || self.spare_below.is_none_or(|below| unit.spare_blocks < below);
        let Some(idle_ns) = self.idle_ns else { return matters.then_some(0) };
        unit.idle_since_ns.filter(|_| matters).map(|since_ns| since_ns.saturating_add(idle_ns))
    }

    /// Looks at the units, in their order. Units that are ready when the function has just been asked are no news.
    pub(crate) fn look(&mut self, now_ns: u64, units: impl IntoIterator<Item = Candidate>) -> Look {
        if self.ready.is_empty() {
            // A time that is over when it is said is none.
            self.again_ns = self.again_ns.filter(|again_ns| *again_ns > now_ns);
        }
        let mut due_ns = self.again_ns;
        let mut asks = due_ns.is_some_and(|due_ns| due_ns <= now_ns);
        for (place, unit) in units.into_iter().enumerate() {
            let ready_ns = self.ready_ns(unit);
            let is_ready = ready_ns.is_some_and(|ready_ns| ready_ns <= now_ns);
            match self.ready.get_mut(place) {
                Some(before) => {
                    asks |= is_ready && !*before;
                    *before = is_ready;
                }
                None => self.ready.push(is_ready),
            }
            let later_ns = ready_ns.filter(|_| !is_ready);
            due_ns = due_ns.into_iter().chain(later_ns).min();
        }
        Look { asks, due_ns }
    }

    /// True if the steps of a unit stand.
    pub(crate) fn is_ready(&self, unit: u32) -> bool {
        self.ready.get(unit as usize).is_some_and(|ready| *ready)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(idle_since_ns: Option<u64>, spare_blocks: u64, under_way: bool) -> Candidate {
        Candidate { idle_since_ns, spare_blocks, under_way }
    }

    fn standing(again_ns: Option<u64>) -> Standing {
        let answer = Steps {
            ask_again_ns: again_ns,
            ask_spare_below: Some(8),
            ask_idle_ns: Some(100),
            ..Steps::default()
        };
        Standing::new(&answer).expect("it says when to ask")
    }

    #[test]
    fn a_function_is_asked_when_one_more_unit_is_ready() {
        let mut standing = standing(None);
        let quiet = |due_ns| Look { asks: false, due_ns };
        let asks = |due_ns| Look { asks: true, due_ns };
        // The first look is that of the answer: the first unit is ready.
        let first = [unit(Some(0), 7, false), unit(None, 7, false), unit(Some(40), 8, false)];
        assert_eq!(standing.look(100, first), quiet(None));
        assert!(standing.is_ready(0) && !standing.is_ready(1) && !standing.is_ready(2));
        // The second becomes idle at 120, and ready at 220, no sooner.
        let idle = [first[0], unit(Some(120), 7, false), first[2]];
        assert_eq!(standing.look(120, idle), quiet(Some(220)));
        assert_eq!(standing.look(219, idle), quiet(Some(220)));
        assert_eq!(standing.look(220, idle), asks(None));
        // The first is busy, and its steps are void; when it is ready again, the function is asked again.
        let busy = [unit(None, 7, false), idle[1], first[2]];
        assert_eq!(standing.look(230, busy), quiet(None));
        assert!(!standing.is_ready(0) && standing.is_ready(1));
        let back = [unit(Some(240), 7, false), idle[1], first[2]];
        assert_eq!(standing.look(340, back), asks(None));
    }

    #[test]
    fn a_unit_in_the_middle_of_a_victim_stays_ready() {
        let mut standing = standing(None);
        assert!(!standing.look(100, [unit(Some(0), 7, true)]).asks && standing.is_ready(0));
        assert!(!standing.look(110, [unit(Some(0), 8, true)]).asks && standing.is_ready(0));
        assert!(!standing.look(120, [unit(Some(0), 8, false)]).asks && !standing.is_ready(0));
    }

    #[test]
    fn a_time_to_be_asked_holds_beside() {
        let mut standing = standing(Some(150));
        let busy = [unit(None, 9, false)];
        assert_eq!(standing.look(100, busy), Look { asks: false, due_ns: Some(150) });
        assert_eq!(standing.look(149, busy), Look { asks: false, due_ns: Some(150) });
        assert!(standing.look(150, busy).asks);
        let answer = Steps { ask_again_ns: Some(90), ask_idle_ns: Some(5), ..Steps::default() };
        let mut standing = Standing::new(&answer).expect("it says when to ask");
        assert_eq!(standing.look(100, busy), Look { asks: false, due_ns: None });
    }

    #[test]
    fn without_a_time_of_idleness_busy_units_are_ready() {
        let answer = Steps { ask_spare_below: Some(3), ..Steps::default() };
        let mut standing = Standing::new(&answer).expect("it says when to ask");
        assert!(!standing.look(0, [unit(None, 3, false)]).asks && !standing.is_ready(0));
        assert!(standing.look(1, [unit(None, 2, false)]).asks && standing.is_ready(0));
        assert!(Standing::new(&Steps { ask_again_ns: Some(5), ..Steps::default() }).is_none());
    }
}
