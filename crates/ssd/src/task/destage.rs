//! Destage ahead (`buffer.destage`): pages of the buffer go to flash, so that a burst finds room there and a power cut has less to
//! lose. Whoever waits for room, or for a flush, has them written at once anyway. Each time, every unit that is free takes a page.

use serde::{Deserialize, Serialize};

use super::Wish;
use crate::buffer::DestageConfig;
use crate::external::{Buffered, Destage, External, Outside};
use crate::quantity::round_to_u64;
use crate::task::{Urgency, View};

/// View of the write buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BufferView {
    /// The present, ns.
    pub(crate) now_ns: u64,
    /// Since when all dies have done nothing for anybody but the background, ns; `None` if one does.
    pub(crate) idle_since_ns: Option<u64>,
    /// Entries that wait.
    pub(crate) entries: u32,
    /// Pages that they take.
    pub(crate) waiting: u64,
    /// Pages that the buffer holds.
    pub(crate) pages: u64,
    /// When the oldest entry that waits came, ns.
    pub(crate) oldest_ns: Option<u64>,
}

/// Pages that are to leave the buffer now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Leaving {
    /// Any.
    All,
    /// Those that came by this time, ns.
    Since(u64),
}

/// The policy.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Policy {
    #[serde(with = "crate::as_text")]
    config: DestageConfig,
    /// Pages go on leaving until few enough wait.
    above_low: bool,
    #[serde(skip)]
    function: Outside<Buffered, Destage>,
}

impl Policy {
    pub(super) fn new(config: &DestageConfig) -> Self {
        Self { config: config.clone(), above_low: false, function: Outside::default() }
    }

    pub(super) fn change(&mut self, config: &DestageConfig) {
        self.config = config.clone();
    }

    pub(super) fn attach(&mut self, external: &External) {
        if self.config.file().is_some() {
            self.function = external.destage.clone();
        }
    }

    /// True if pages may leave the buffer though nobody needs room.
    pub(super) fn is_ahead(&self) -> bool {
        !matches!(self.config, DestageConfig::Full(_))
    }

    /// Decides if pages are to leave the buffer, and which ones.
    pub(super) fn decide(&mut self, view: &BufferView) -> (Wish, Leaving) {
        if view.entries == 0 {
            self.above_low = false;
            return (Wish::Nothing, Leaving::All);
        }
        let now = Wish::Step(Urgency::Idle);
        match &self.config {
            DestageConfig::Full(_) => (Wish::Nothing, Leaving::All),
            DestageConfig::Eager(_) => (now, Leaving::All),
            DestageConfig::Marks(own) => {
                let pages = view.pages as f64;
                let (high, low) = (own.high_mark * pages, own.low_mark * pages);
                if view.waiting >= round_to_u64(high.ceil()).max(1) {
                    self.above_low = true;
                } else if view.waiting <= round_to_u64(low.floor()) {
                    self.above_low = false;
                }
                (if self.above_low { now } else { Wish::Nothing }, Leaving::All)
            }
            DestageConfig::Idle(own) => {
                let view = View { now_ns: view.now_ns, idle_since_ns: view.idle_since_ns, ..View::default() };
                (view.idle_for(own.idle_after), Leaving::All)
            }
            DestageConfig::Age(own) => {
                let due_ns = view.oldest_ns.unwrap_or(view.now_ns).saturating_add(own.max_age.0);
                let since = Leaving::Since(view.now_ns.saturating_sub(own.max_age.0));
                (if due_ns > view.now_ns { Wish::NotBefore(due_ns) } else { now }, since)
            }
            DestageConfig::External(_) => (self.ask(view), Leaving::All),
        }
    }

    /// The answer of a function outside the engine.
    fn ask(&self, view: &BufferView) -> Wish {
        let fill = |question: &mut Buffered| {
            let BufferView { now_ns, idle_since_ns, entries: dirty_pages, pages, .. } = *view;
            *question = Buffered { now_ns, idle_since_ns, dirty_pages, pages };
        };
        match self.function.ask(fill, |_, _| Ok(())) {
            None | Some(Destage::No) => Wish::Nothing,
            Some(Destage::NotBefore(time_ns)) if time_ns > view.now_ns => Wish::NotBefore(time_ns),
            // A time that is not to come is now.
            Some(Destage::Now | Destage::NotBefore(_)) => Wish::Step(Urgency::Idle),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::destage::{Age, Marks};
    use crate::external::{Ask, Policies};
    use crate::quantity::Nanos;

    const NOW: Wish = Wish::Step(Urgency::Idle);

    #[test]
    fn pages_leave_from_the_high_mark_on_down_to_the_low_one() {
        let config = DestageConfig::Marks(Marks { high_mark: 0.75, low_mark: 0.25 });
        let mut policy = Policy::new(&config);
        let mut wish = |waiting: u64| {
            let view = BufferView { entries: waiting as u32, waiting, pages: 10, ..BufferView::default() };
            policy.decide(&view).0
        };
        let nothing = Wish::Nothing;
        // 7.5 pages are 8, and 2.5 are 2.
        for (waiting, expected) in
            [(7, nothing), (8, NOW), (7, NOW), (3, NOW), (2, nothing), (7, nothing), (10, NOW), (0, nothing)]
        {
            assert_eq!(wish(waiting), expected, "{waiting} pages");
        }
        assert_eq!(wish(3), nothing, "an empty buffer forgets that it was above");
    }

    #[test]
    fn a_time_that_is_not_to_come_is_now() {
        let mut policy = Policy::new(&DestageConfig::External(crate::buffer::destage::Outside::default()));
        let view = BufferView { now_ns: 250, entries: 3, ..BufferView::default() };
        for (answer, expected) in [(0, NOW), (250, NOW), (251, Wish::NotBefore(251))] {
            let destage: Option<Ask<_, _>> =
                Some(Box::new(move |_: &Buffered| Ok(Destage::NotBefore(answer))));
            policy.attach(&External::new(Policies { destage, ..Policies::default() }));
            assert_eq!(policy.decide(&view).0, expected, "{answer}");
        }
    }

    #[test]
    fn a_page_leaves_when_it_is_as_old_as_it_may_be() {
        let mut policy = Policy::new(&DestageConfig::Age(Age { max_age: Nanos(100) }));
        let view = BufferView { now_ns: 250, entries: 3, oldest_ns: Some(160), ..BufferView::default() };
        assert_eq!(policy.decide(&view).0, Wish::NotBefore(260));
        let view = BufferView { now_ns: 260, ..view };
        assert_eq!(policy.decide(&view), (NOW, Leaving::Since(160)));
    }
}
