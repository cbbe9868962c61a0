//! A classifier outside the engine (`crate::external`): it labels pages, block of writes by block of writes.
//!
//! Each time as many pages were written to a map as a block has, the function is shown these pages and names a group for
//! each. The next version of a page goes to that group of the host, and the page, when it is moved, to that group of relocated
//! pages. A page that it was never shown is in group 0. State is 32 bits a page: the label, and the number of the question
//! at which the page was last written, so lives are known to a block of writes.

use serde::{Deserialize, Serialize};

use crate::cow::CowVec;
use crate::external::{Outside, Writes};

/// Bits of a page's state that are its label: enough for [`super::MAX_GROUPS`].
const LABEL_BITS: u32 = 7;
const LABEL: u32 = (1 << LABEL_BITS) - 1;
/// Number of a question, modulo.
const QUESTIONS: u32 = (1 << (32 - LABEL_BITS)) - 1;
/// Stands for the life of a version before the first one.
const NONE: u64 = u64::MAX;

/// Pages that were written since the function was asked last.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Recent {
    pages: Vec<u32>,
    lived: Vec<u64>,
    handles: Vec<u8>,
    /// Questions so far.
    questions: u32,
    #[serde(skip)]
    pub(super) function: Outside<Writes, Vec<u32>>,
}

/// The group that a page is labelled with.
pub(super) fn label(table: &CowVec, key: u32) -> u32 {
    let value = table.get(key.into());
    if value == CowVec::EMPTY { 0 } else { value & LABEL }
}

impl Recent {
    /// A page was written: `block` pages are a block, `now` of them were written to the map before.
    pub(super) fn written(
        &mut self,
        (key, handle): (u32, u8),
        table: &mut CowVec,
        (map, now, block): (usize, u64, u32),
        groups: u32,
    ) {
        let value = table.get(key.into());
        let lived = if value == CowVec::EMPTY {
            NONE
        } else {
            let questions = self.questions.wrapping_sub(value >> LABEL_BITS) & QUESTIONS;
            u64::from(questions) * u64::from(block)
        };
        self.pages.push(key);
        self.lived.push(lived);
        self.handles.push(handle);
        table.set(key.into(), self.state(label(table, key)));
        if self.pages.len() as u64 >= u64::from(block) {
            self.ask(table, map, now + 1, groups);
        }
    }

    /// State of a page that is written now. The value that stands for none is one early.
    fn state(&self, label: u32) -> u32 {
        ((self.questions & QUESTIONS) << LABEL_BITS | label).min(CowVec::EMPTY - 1)
    }

    fn ask(&mut self, table: &mut CowVec, map: usize, now: u64, groups: u32) {
        let fill = |view: &mut Writes| {
            (view.map, view.now, view.groups) = (map as u32, now, groups);
            view.pages.clone_from(&self.pages);
            view.lived.clone_from(&self.lived);
            view.handles.clone_from(&self.handles);
        };
        let answer = self.function.ask(fill, |view, answer| check(view, answer));
        // Without an answer the labels stay: the run is about to end.
        for (page, label) in self.pages.iter().zip(answer.unwrap_or_default()) {
            table.set((*page).into(), self.state(label));
        }
        self.questions = self.questions.wrapping_add(1);
        self.pages.clear();
        self.lived.clear();
        self.handles.clear();
    }
}

/// Refuses answers that don't name a group for each page.
fn check(view: &Writes, answer: &[u32]) -> Result<(), String> {
    if answer.len() != view.pages.len() {
        return Err(format!("{} groups: expected one for each of {} pages", answer.len(), view.pages.len()));
    }
    match answer.iter().find(|group| **group >= view.groups) {
        Some(group) => Err(format!("group {group}: expected groups from 0 to {}", view.groups - 1)),
        None => Ok(()),
    }
}
