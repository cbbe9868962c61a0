//! Answers of a function outside the engine, by the views that they were given to: a function is pure, so a view that came before
//! needs no second question. Found by a hash of the view, then compared.

use std::collections::BTreeMap;

use super::viewed::{Answer, Viewed};

/// Views and their answers.
pub(super) struct Remembered<V, A> {
    /// By hash, the latest last.
    known: BTreeMap<u64, Vec<(V, A)>>,
    count: usize,
}

impl<V, A> Default for Remembered<V, A> {
    fn default() -> Self {
        Self { known: BTreeMap::new(), count: 0 }
    }
}

impl<V: Viewed, A: Answer> Remembered<V, A> {
    /// An answer that holds for this view.
    pub(super) fn find(&self, view: &V) -> Option<&A> {
        let now_ns = view.now_ns();
        let holds = |(before, answer): &&(V, A)| {
            view.is_as(before) && answer.again_ns().is_none_or(|again_ns| now_ns < again_ns)
        };
        self.known.get(&view.hash())?.iter().rev().find(holds).map(|(_, answer)| answer)
    }

    /// Remembers an answer. Where there is no room for it, all before it are forgotten.
    pub(super) fn keep(&mut self, view: &V, answer: &A) {
        let room = view.room();
        if room == 0 || !answer.is_of_view() {
            return;
        }
        if self.count >= room {
            self.known.clear();
            self.count = 0;
        }
        self.known.entry(view.hash()).or_default().push((view.clone(), answer.clone()));
        self.count += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Outside, Units};
    use std::sync::{Arc, Mutex};

    fn view(spare: u64, dirty: u32) -> Units {
        Units {
            must: None,
            buffer_full: spare.is_multiple_of(2),
            others_must: false,
            dirty_pages: vec![dirty, 0],
            spare_blocks: vec![spare, 7],
            under_way: vec![false, true],
        }
    }

    /// Asks about views in this order; the spare blocks in each question that reached the function.
    fn asked(views: &[Units]) -> Vec<u64> {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&asked);
        let function = Outside::new(
            "gc.planner",
            Some(Box::new(move |view: &Units| {
                seen.lock().expect("one thread").push(view.spare_blocks[0]);
                Ok(vec![view.spare_blocks[0] as u32])
            })),
        );
        for view in views {
            let answer = function.ask(|own| own.clone_from(view), |_, _| Ok(()));
            assert_eq!(answer, Some(vec![view.spare_blocks[0] as u32]), "that of another view");
        }
        asked.lock().expect("one thread").clone()
    }

    #[test]
    fn a_view_that_came_before_is_not_asked_about_again() {
        let mut views: Vec<_> = (0..1000).map(|spare| view(spare, 3)).collect();
        views.extend((0..1000).map(|spare| view(spare, 9)));
        assert_eq!(asked(&views), (0..1000).collect::<Vec<_>>());
    }

    #[test]
    fn a_page_that_is_the_first_to_wait_is_a_change() {
        assert_eq!(asked(&[view(1, 0), view(1, 1), view(1, 2), view(1, 0)]), [1, 1]);
    }

    #[test]
    fn answers_take_a_bounded_memory() {
        let wide = |spare| Units { spare_blocks: vec![spare; 1 << 18], ..Units::default() };
        // There is room for one view of so many units.
        assert_eq!(asked(&[wide(1), wide(1), wide(2), wide(1)]), [1, 2, 1]);
    }
}
