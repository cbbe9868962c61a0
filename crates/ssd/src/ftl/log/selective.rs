//! Selective merging: of the data blocks that a victim has pages of, only those with many pages in the log are merged; the
//! pages of the others are moved to the newest block of the log.
//!
//! A merge copies a whole data block however few of its pages are in the log; a move copies one page, and puts the merge
//! off until the data block has more pages in the log, or the page is overwritten. A victim keeps at most a share of a
//! block to be moved, so that every collection frees room; beyond it, the data blocks with the most pages are merged too.

use serde::{Deserialize, Serialize};

use super::unit::{IN_LOG, Plan, Unit};
use super::{Ops, Rules, RunError, Step};

/// Limits between merging and moving.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Selection {
    /// Pages in the log with which a data block is merged.
    pub(super) merged_from: u32,
    /// Most pages of a victim that are moved.
    pub(super) most_moves: u32,
}

impl Unit {
    /// The next data block that the victim's plan merges; `None`: what is left is to be moved.
    fn next_planned(&mut self, rules: &Rules, victim: u32, selection: Selection) -> Option<u32> {
        let name = self.log.entered(victim);
        if self.plan.victim != name {
            self.plan = self.plan_of(rules, victim, selection);
        }
        while let Some(block) = self.plan.merges.pop() {
            // Merged for another reason, or overwritten, since the plan was made.
            if self.log.valid_pages(victim).any(|position| rules.page(self.log.key(position)).block == block)
            {
                return Some(block);
            }
        }
        None
    }

    /// Data blocks of a victim that are to be merged: those with enough pages in the log, and then as many more as leave few
    /// enough pages to be moved. The one with the most is last, that is first.
    fn plan_of(&self, rules: &Rules, victim: u32, selection: Selection) -> Plan {
        let mut blocks: Vec<u32> =
            self.log.valid_pages(victim).map(|position| rules.page(self.log.key(position)).block).collect();
        blocks.sort_unstable();
        let mut left = blocks.len() as u32;
        let mut candidates: Vec<(u32, u32, u32)> = blocks
            .chunk_by(|before, after| before == after)
            .map(|same| (self.logged(same[0]), same[0], same.len() as u32))
            .collect();
        candidates.sort_unstable_by_key(|(logged, block, _)| (std::cmp::Reverse(*logged), *block));
        let chosen = candidates.iter().take_while(|(logged, _, pages)| {
            let is_chosen = *logged >= selection.merged_from || left > selection.most_moves;
            left -= pages;
            is_chosen
        });
        let count = chosen.count();
        candidates.truncate(count);
        let merges = candidates.into_iter().rev().map(|(_, block, _)| block).collect();
        Plan { victim: self.log.entered(victim), merges }
    }

    /// Pages of a data block that are in the log.
    fn logged(&self, block: u32) -> u32 {
        self.words(block).map(|word| self.pages[word][IN_LOG].count_ones()).sum()
    }

    /// One step of emptying a victim that has valid pages.
    pub(super) fn empty_selectively(
        &mut self,
        rules: &Rules,
        victim: u32,
        selection: Selection,
        ops: &mut Ops,
    ) -> Result<Step, RunError> {
        if let Some(block) = self.next_planned(rules, victim, selection) {
            self.merge(rules, block, ops)?;
            return Ok(Step::Merge { block });
        }
        self.move_rest(victim, ops)?;
        Ok(Step::Move)
    }

    /// Step of a follower while another unit merges or moves pages: the next step of its oldest block that has valid
    /// pages. While others move pages it only moves pages too.
    pub(super) fn follow_selectively(
        &mut self,
        rules: &Rules,
        selection: Selection,
        moves_only: bool,
        ops: &mut Ops,
    ) -> Result<bool, RunError> {
        let Some(position) = self.log.oldest_valid() else { return Ok(false) };
        let victim = self.log.slot_of(position);
        if !self.log.is_closed(victim) {
            return Ok(false);
        }
        match self.next_planned(rules, victim, selection) {
            Some(block) if moves_only => {
                self.plan.merges.push(block);
                return Ok(false);
            }
            Some(block) => self.merge(rules, block, ops)?,
            None => self.move_rest(victim, ops)?,
        }
        Ok(true)
    }
}
