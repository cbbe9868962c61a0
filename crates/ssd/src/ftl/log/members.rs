//! Data blocks with valid pages in a log block that several share.

use serde::{Deserialize, Serialize};

/// A data block with valid pages in a slot, with 1 added, and how many. Zeros: free.
type Member = [u32; 2];
const BLOCK: usize = 0;
const PAGES: usize = 1;

/// Stands for the place of a slot that is full of members.
const FULL: u32 = u32::MAX;

/// Data blocks with valid pages in each slot. No slot ever has more than `most` of them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Members {
    most: usize,
    /// `most` for each slot.
    #[serde(with = "crate::raw")]
    all: Vec<Member>,
    /// Members of each slot.
    #[serde(with = "crate::raw")]
    counts: Vec<u32>,
    /// Slots that a data block may join, by their number of members.
    joinable: Vec<Vec<u32>>,
    /// Place of each slot in its list, with 1 added; [`FULL`] while it has as many members as it may; zero: nothing joins it.
    #[serde(with = "crate::raw")]
    places: Vec<u32>,
}

impl Members {
    pub(super) fn new(slots: usize, most: u32) -> Self {
        let most = most as usize;
        Self {
            most,
            all: vec![[0; 2]; slots * most],
            counts: vec![0; slots],
            joinable: vec![Vec::new(); most],
            places: vec![0; slots],
        }
    }

    fn find(&self, slot: u32, block: u32) -> Option<usize> {
        let first = slot as usize * self.most;
        let all = &self.all[first..first + self.most];
        all.iter().position(|member| member[BLOCK] == block + 1).map(|place| first + place)
    }

    /// True if a slot takes pages and has valid ones of a data block.
    pub(super) fn continues(&self, slot: u32, block: u32) -> bool {
        self.places[slot as usize] != 0 && self.find(slot, block).is_some()
    }

    /// The slot that another data block joins first.
    pub(super) fn fewest(&self) -> Option<u32> {
        self.joinable.iter().find_map(|slots| slots.last().copied())
    }

    /// A valid page of a data block was written into a slot.
    pub(super) fn add(&mut self, slot: u32, block: u32) {
        let Some(place) = self.find(slot, block).or_else(|| self.find_free(slot)) else {
            unreachable!("a data block joins only where there is a place")
        };
        self.all[place][PAGES] += 1;
        if self.all[place][BLOCK] == 0 {
            self.all[place][BLOCK] = block + 1;
            self.count(slot, self.counts[slot as usize] + 1);
        }
    }

    fn find_free(&self, slot: u32) -> Option<usize> {
        let first = slot as usize * self.most;
        let all = &self.all[first..first + self.most];
        all.iter().position(|member| member[BLOCK] == 0).map(|place| first + place)
    }

    /// A page of a data block in a slot is not valid any more.
    pub(super) fn take(&mut self, slot: u32, block: u32) {
        let Some(place) = self.find(slot, block) else { return };
        self.all[place][PAGES] -= 1;
        if self.all[place][PAGES] == 0 {
            self.all[place] = [0; 2];
            self.count(slot, self.counts[slot as usize] - 1);
        }
    }

    fn count(&mut self, slot: u32, members: u32) {
        let was_joinable = self.hide(slot);
        self.counts[slot as usize] = members;
        if was_joinable {
            self.show(slot);
        }
    }

    /// From now on data blocks may join the slot, while it has fewer members than it may.
    pub(super) fn show(&mut self, slot: u32) {
        let list = self.joinable.get_mut(self.counts[slot as usize] as usize);
        self.places[slot as usize] = match list {
            Some(list) => {
                list.push(slot);
                list.len() as u32
            }
            None => FULL,
        };
    }

    /// Nothing joins the slot any more. Returns whether it could.
    pub(super) fn hide(&mut self, slot: u32) -> bool {
        let place = std::mem::take(&mut self.places[slot as usize]);
        if place != 0 && place != FULL {
            let list = &mut self.joinable[self.counts[slot as usize] as usize];
            list.swap_remove(place as usize - 1);
            if let Some(moved) = list.get(place as usize - 1) {
                self.places[*moved as usize] = place;
            }
        }
        place != 0
    }
}
