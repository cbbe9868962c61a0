//! Page mapping collected at once: a block is freed before the host's page is written, and nothing gets in between.

use super::{CowVec, Frontier, Ops, PageFtl, Rules, RunError, Unit, VictimView};
use crate::op::Work;

impl PageFtl {
    /// Gives the unit a host frontier with at least one free page.
    pub(super) fn make_room(&mut self, unit: u32, ops: &mut Ops) -> Result<(), RunError> {
        let pages_per_block = self.rules.pages_per_block.get() as u32;
        let mut fruitless = 0;
        loop {
            let kept = self.kept(unit);
            if kept > self.rules.held_back && self.units[unit as usize].blocks.free() < kept {
                self.make_up(unit, ops)?;
                if self.units[unit as usize].host.next < pages_per_block {
                    return Ok(());
                }
                continue;
            }
            let state = &mut self.units[unit as usize];
            if state.blocks.free() > kept
                && let Some(block) = state.blocks.take_free(self.rules.least_worn_first)
            {
                state.host = Frontier { block, next: 0 };
                ops.opened(unit);
                self.opened_block(unit, block, false);
                return Ok(());
            }
            if self.take_laid(unit, ops) {
                return Ok(());
            }
            if self.is_collecting(unit) {
                self.complete(unit, ops)?;
                if self.units[unit as usize].host.next < pages_per_block {
                    return Ok(());
                }
                continue;
            }
            // Levelling gains nothing: the next collection is one that does.
            let levels = fruitless == 0 && self.wear_gap_exceeded(unit);
            let work = if levels { Work::Level } else { Work::Collect };
            let Some(moved) = self.collect(unit, work, ops) else {
                if self.retire_slc(unit) {
                    continue;
                }
                return Err(self.stuck(unit, self.rules.held_back));
            };
            if !self.rules.two_frontiers && self.units[unit as usize].host.next < pages_per_block {
                return Ok(());
            }
            if self.rules.gains_nothing(moved) {
                fruitless += 1;
                // A random policy finds a block with an invalid page within this many picks, if there is one.
                if fruitless > 64 * self.units[unit as usize].blocks.count() {
                    return Err(self.stuck(unit, self.rules.held_back));
                }
            }
        }
    }

    /// Ends a collection that was begun ahead.
    #[cold]
    pub(super) fn complete(&mut self, unit: u32, ops: &mut Ops) -> Result<(), RunError> {
        while self.is_collecting(unit) {
            if self.collect_step(unit, Work::Collect, ops)?.is_none() {
                return Err(self.stuck_now(unit));
            }
        }
        Ok(())
    }

    /// The block that is freed: the policy's, or the least worn one where the gap of wear is too large.
    pub(in crate::ftl) fn choose(&mut self, unit: u32, work: Work) -> Option<u32> {
        if work == Work::Level {
            let exceeded = self.wear_gap_exceeded(unit);
            return exceeded.then(|| self.units[unit as usize].blocks.least_worn_full()).flatten();
        }
        if let Some(block) = self.worn_victim(unit).or_else(|| self.victim_of_chain(unit)) {
            return Some(block);
        }
        let pages_per_block = self.rules.pages_per_block.get() as u32;
        let kept = if self.rules.division.is_some() { self.groups.as_mut() } else { None };
        let mut chosen = kept.map(|groups| std::mem::take(&mut groups.chosen)).unwrap_or_default();
        let is_of_pool = self.rules.division.is_some() && self.choose_pool(unit, &mut chosen);
        let state = &self.units[unit as usize];
        let (blocks, now, among) = (&state.blocks, state.writes, is_of_pool.then_some(&chosen.blocks[..]));
        let view = VictimView { unit, blocks, pages_per_block, now, among };
        let victim = self.rules.victim.pick(&view, &mut self.rng);
        if let Some(groups) = self.groups.as_mut().filter(|_| self.rules.division.is_some()) {
            groups.chosen = chosen;
        }
        victim
    }

    /// Frees one block. Returns the pages moved.
    fn collect(&mut self, unit: u32, work: Work, ops: &mut Ops) -> Option<u32> {
        let pages_per_block = self.rules.pages_per_block.get() as u32;
        let victim = self.choose(unit, work)?;
        let levels = work == Work::Level;
        let full = self.rules.gains_nothing(self.units[unit as usize].blocks.valid(victim));
        if !levels && full && !self.can_gain(unit) {
            return None;
        }
        let state = &mut self.units[unit as usize];
        state.blocks.claim(victim);
        if !self.rules.two_frontiers {
            state.collected.next = pages_per_block;
        }
        let moved = if self.groups.is_some() {
            self.move_apart(unit, victim, ops).ok()?
        } else {
            self.move_pages(unit, victim, levels, ops)?
        };
        self.erased_block(unit, victim);
        let state = &mut self.units[unit as usize];
        if self.rules.per_page > 1 {
            let padded;
            (state.collected, padded) = state.pad(&self.rules, state.collected);
            ops.padded(padded);
        }
        state.blocks.erase(victim);
        if !self.rules.two_frontiers && state.collected.next < pages_per_block {
            state.host = state.collected;
        }
        ops.of_slc(self.leave_slc(unit, victim));
        ops.copies(unit, moved);
        ops.erased(unit, victim);
        ops.of_slc(false);
        ops.collected();
        self.retire(unit, ops);
        Some(moved)
    }

    /// True if some full block has an invalid page.
    pub(super) fn can_gain(&self, unit: u32) -> bool {
        if self.rules.per_page > 1 || self.groups.is_some() || self.slc.is_some() {
            return self.some_block_gains(unit);
        }
        let unit = &self.units[unit as usize];
        let pages_per_block = self.rules.pages_per_block.get();
        let frontiers =
            [Some(unit.host), Some(unit.laid.open), self.rules.two_frontiers.then_some(unit.collected)];
        let open =
            frontiers.into_iter().flatten().filter(|frontier| u64::from(frontier.next) < pages_per_block);
        let in_open: u64 = open.map(|frontier| u64::from(unit.blocks.valid(frontier.block))).sum();
        unit.valid_pages - in_open < unit.blocks.full_count() * pages_per_block
    }

    /// Moves the valid pages of `victim` to the collected frontier, taking a new block for it where needed. Even a
    /// victim without valid pages makes sure that there is such a block when frontiers are shared.
    fn move_pages(&mut self, unit: u32, victim: u32, levels: bool, ops: &mut Ops) -> Option<u32> {
        let map = self.map_of(unit);
        let rules = &self.rules;
        let pages_per_block = rules.pages_per_block.get() as u32;
        let state = &mut self.units[unit as usize];
        let map = &mut self.maps[map];
        let words = rules.words_per_block;
        let mut moved = 0;
        let needs_moves = ops.needs_moves();
        if !rules.two_frontiers {
            state.open_collected(rules, levels)?;
            ops.opened(unit);
        }
        for word in 0..words {
            let mut bits = std::mem::take(&mut state.valid_bits[victim as usize * words + word]);
            let first = victim * pages_per_block + word as u32 * 64;
            moved += bits.count_ones();
            if bits == 0 {
                continue;
            }
            // The keys of the pages of a word, then those of its valid pages one after the other.
            let (mut keys, mut valid_keys) = ([0; 64], [0; 64]);
            let of_word = (pages_per_block - word as u32 * 64).min(64) as usize;
            state.owner.copy_run(first.into(), &mut keys[..of_word]);
            while bits != 0 {
                if state.collected.next == pages_per_block {
                    state.open_collected(rules, levels)?;
                    ops.opened(unit);
                }
                // As many as the block takes, all of them valid there.
                let Frontier { block, next } = state.collected;
                let count = bits.count_ones().min(pages_per_block - next);
                let to = block * pages_per_block + next;
                for (to, valid_key) in (to..).zip(&mut valid_keys[..count as usize]) {
                    let page = bits.trailing_zeros();
                    bits &= bits - 1;
                    *valid_key = keys[page as usize];
                    map.set(CowVec::element(*valid_key).into(), to);
                    if needs_moves {
                        ops.moved(first + page, to);
                    }
                }
                state.owner.put_run(to.into(), &valid_keys[..count as usize]);
                let valid = u128::from(u64::MAX >> (64 - count)) << (next & 63);
                let word = block as usize * words + (next >> 6) as usize;
                state.valid_bits[word] |= valid as u64;
                if let after @ 1.. = (valid >> 64) as u64 {
                    state.valid_bits[word + 1] |= after;
                }
                state.collected.next = next + count;
                state.blocks.add_valid(block, count);
                if next + count == pages_per_block {
                    state.blocks.fill(block, state.writes);
                }
            }
        }
        Some(moved)
    }

    /// The error of a unit that must collect and can't.
    pub(in crate::ftl) fn stuck_now(&self, unit: u32) -> RunError {
        self.stuck(unit, self.rules.held_back)
    }

    pub(in crate::ftl) fn stuck(&self, unit: u32, held_back: u64) -> RunError {
        if let Some(fault) = self.rules.victim.fault(unit, |valid| !self.rules.gains_nothing(valid)) {
            return fault;
        }
        let state = &self.units[unit as usize];
        RunError::Stuck {
            unit,
            free: state.blocks.free(),
            closed: state.blocks.full_count(),
            valid: state.valid_pages,
            pages: state.blocks.count() * self.rules.pages_per_block.get(),
            held_back: held_back as u32,
        }
    }

    /// True if blocks are collected for their wear.
    pub(in crate::ftl) fn levels_wear(&self) -> bool {
        self.rules.static_gap > 0
    }

    /// True if a full block has `wear.static_gap` erases less than the block erased last would have.
    pub(super) fn wear_gap_exceeded(&mut self, unit: u32) -> bool {
        let gap = self.rules.static_gap;
        if gap == 0 {
            return false;
        }
        let unit = &mut self.units[unit as usize];
        let most = unit.blocks.most_erases();
        if most < unit.fewest_erases.saturating_add(gap) {
            return false;
        }
        if let Some(block) = unit.blocks.least_worn_full() {
            unit.fewest_erases = unit.blocks.erases(block);
        }
        most >= unit.fewest_erases.saturating_add(gap)
    }
}

impl Unit {
    /// Opens a block for relocated pages.
    fn open_collected(&mut self, rules: &Rules, worn: bool) -> Option<()> {
        let block =
            if worn { self.blocks.take_most_worn() } else { self.blocks.take_free(rules.least_worn_first) };
        self.collected = Frontier { block: block?, next: 0 };
        Some(())
    }
}
