//! The valid pages of a victim, relocated apart by their groups.

use std::collections::BTreeSet;

use super::groups::Kind;
use super::{Frontier, Ops, PageFtl, Rules, RunError};

impl PageFtl {
    /// Moves the valid pages of `victim`, each to the open block of its group. With mapping units, those of a group together,
    /// so that they share pages of flash. Returns how many.
    pub(super) fn move_apart(&mut self, unit: u32, victim: u32, ops: &mut Ops) -> Result<u32, RunError> {
        let mut moving: Vec<(u32, u32)> = self
            .valid_of(unit, victim)
            .filter_map(|from| Some((self.group_of_moved(unit, from)?, from)))
            .collect();
        let per_page = self.rules.per_page;
        let mut pages = 0;
        if per_page > 1 {
            pages = moving.iter().map(|(_, from)| from / per_page).collect::<BTreeSet<u32>>().len() as u32;
            moving.sort_unstable();
        }
        let mut last = None;
        for (group, from) in &moving {
            if last != Some(*group) {
                self.close_moved(unit, ops);
                self.put_in_place(unit, Kind::Moved, *group);
                last = Some(*group);
            }
            let frontier = self.open_moved(unit, ops).ok_or_else(|| self.stuck_now(unit))?;
            self.units[unit as usize].collected =
                self.relocate(unit, self.with_key(unit, *from), frontier, ops);
        }
        self.close_moved(unit, ops);
        ops.read_once(pages);
        Ok(moving.len() as u32)
    }

    /// The page of flash that moved units are put in is programmed as it is.
    fn close_moved(&mut self, unit: u32, ops: &mut Ops) {
        let padded;
        let state = &mut self.units[unit as usize];
        (state.collected, padded) = state.pad(&self.rules, state.collected);
        ops.padded(padded);
    }

    /// The open block for relocated pages, with an erased page.
    fn open_moved(&mut self, unit: u32, ops: &mut Ops) -> Option<Frontier> {
        let state = &mut self.units[unit as usize];
        if !self.rules.is_at_end(state.collected) {
            return Some(state.collected);
        }
        let block = state.blocks.take_free(self.rules.least_worn_first)?;
        ops.opened(unit);
        self.opened_block(unit, block, true);
        Some(Frontier { block, next: 0 })
    }

    /// The valid pages of a block.
    fn valid_of(&self, unit: u32, block: u32) -> impl Iterator<Item = u32> + '_ {
        let words = self.rules.words_per_block;
        let first = block * self.rules.pages_per_block.get() as u32;
        let bits = &self.units[unit as usize].valid_bits[block as usize * words..][..words];
        (0..).zip(bits).flat_map(move |(word, bits)| {
            crate::ftl::blocks::pages_of(*bits).map(move |bit| first + word * 64 + bit)
        })
    }
}

impl Rules {
    /// True if the frontier has reached the end of its block.
    fn is_at_end(&self, frontier: Frontier) -> bool {
        u64::from(frontier.next) == self.pages_per_block.get()
    }
}
