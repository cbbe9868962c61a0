//! Pages of flash that hold several mapping units. Whoever writes opens a page, fills it from its first unit on, and closes
//! it: what is left is padding, invalid from the start. So every program begins a page of flash, and none is made in two goes.

use super::{Frontier, Home, Ops, PageFtl, Rules, RunError, Unit};

impl Rules {
    /// The first mapping unit of the page after those that units before `next` are in.
    #[inline]
    pub(super) fn page_from(&self, next: u32) -> u32 {
        if self.per_page == 1 { next } else { next.next_multiple_of(self.per_page) }
    }

    /// Pages of flash that so many mapping units fill, as units.
    #[inline]
    pub(super) fn packed(&self, units: u32) -> u32 {
        self.page_from(units)
    }

    /// True if moving so many valid units out of a block gains no page of flash.
    #[inline]
    pub(super) fn gains_nothing(&self, valid: u32) -> bool {
        valid >= self.usable
    }

    /// True if no page of the frontier is erased.
    #[inline]
    pub(super) fn is_full(&self, frontier: Frontier) -> bool {
        u64::from(self.page_from(frontier.next)) >= self.pages_per_block.get()
    }
}

impl Unit {
    /// Ends the page of flash at a frontier: the next unit begins another one. Returns the frontier from there on, and the units
    /// that are padded.
    pub(super) fn pad(&mut self, rules: &Rules, frontier: Frontier) -> (Frontier, u32) {
        let next = rules.page_from(frontier.next);
        let padded = next - frontier.next;
        if padded > 0 && u64::from(next) == rules.pages_per_block.get() {
            self.blocks.fill(frontier.block, self.writes);
        }
        (Frontier { next, ..frontier }, padded)
    }

    /// The open block of the host counts as full if no page of flash of it is erased: units that were there before the run may have
    /// taken a part of the last one.
    pub(super) fn retire_host(&mut self, rules: &Rules) {
        if self.open == 0 && rules.is_full(self.host) {
            (self.host, _) = self.pad(rules, self.host);
        }
    }
}

impl PageFtl {
    /// Makes sure that the host's frontier has a page of flash that takes a mapping unit more.
    pub(super) fn open_page(&mut self, unit: u32, ops: &mut Ops) -> Result<(), RunError> {
        let state = &mut self.units[unit as usize];
        if state.open == 0 {
            // Units that were there before the run may have taken a part of a page.
            (state.host, _) = state.pad(&self.rules, state.host);
            if u64::from(state.host.next) == self.rules.pages_per_block.get() {
                self.make_room(unit, ops)?;
            }
            self.units[unit as usize].open = self.rules.per_page;
        }
        self.units[unit as usize].open -= 1;
        Ok(())
    }

    /// The page that the next write of a page of the host takes, if no collection comes before it.
    pub(in crate::ftl) fn next_page(&self, home: Home, handle: u8) -> Option<u32> {
        if self.caches(home.unit) {
            return self.next_slc_page(home.unit);
        }
        let state = &self.units[home.unit as usize];
        let (frontier, open) = self.frontier_of(home, handle).unwrap_or((state.host, state.open));
        let next = if open > 0 { frontier.next } else { self.rules.page_from(frontier.next) };
        let pages_per_block = self.rules.pages_per_block.get() as u32;
        (next < pages_per_block).then(|| frontier.block * pages_per_block + next)
    }

    /// The page that a block begins with that the host opens next, if no collection comes before it: the first one of a block
    /// whose number is not known (0), or the next one of the block of old data, if no more than `kept` blocks are erased.
    pub(in crate::ftl) fn page_opened_next(&self, unit: u32, kept: u64) -> u32 {
        let (state, pages_per_block) = (&self.units[unit as usize], self.rules.pages_per_block.get() as u32);
        let Frontier { block, next } = state.laid.open;
        let next = self.rules.page_from(next);
        if state.blocks.free() > kept || next >= pages_per_block { 0 } else { block * pages_per_block + next }
    }

    /// The page that the host is filling is programmed as it is. Returns the mapping units that are padded.
    pub(in crate::ftl) fn close_page(&mut self, unit: u32) -> u32 {
        let state = &mut self.units[unit as usize];
        if std::mem::take(&mut state.open) == 0 {
            return 0;
        }
        let padded;
        (state.host, padded) = state.pad(&self.rules, state.host);
        padded
    }

    /// Number of the page of flash that the host is filling, if it takes one more mapping unit.
    pub(in crate::ftl) fn open_page_of(&self, unit: u32) -> Option<u32> {
        let state = &self.units[unit as usize];
        // A group that has written nothing yet has no block.
        if state.open == 0 {
            return None;
        }
        let next = state.host.block * self.rules.pages_per_block.get() as u32 + state.host.next;
        Some((next - 1) / self.rules.per_page)
    }

    /// Moves valid units of the victim, from `from` on, into the page of flash at a frontier, until it is full or the victim
    /// empty. What is left of the page is padding. Returns the frontier after it, and the units moved.
    pub(super) fn move_packed(
        &mut self,
        unit: u32,
        from: u32,
        frontier: Frontier,
        ops: &mut Ops,
    ) -> (Frontier, u32) {
        let per_page = self.rules.per_page;
        if per_page == 1 {
            return (self.move_to(unit, self.with_key(unit, from), frontier, ops), 1);
        }
        if self.units[unit as usize].steps.read == Some(from / per_page) {
            ops.in_ram(from / per_page);
        }
        let (mut frontier, moved, last) = if self.groups.is_some() {
            self.move_of_group(unit, from, frontier, ops)
        } else {
            self.move_whole(unit, from, frontier, ops)
        };
        let state = &mut self.units[unit as usize];
        state.steps.read = Some(last / per_page);
        let padded;
        (frontier, padded) = state.pad(&self.rules, frontier);
        state.steps.add_padding(padded);
        ops.padded(padded);
        (frontier, moved)
    }

    /// Moves valid units of the victim, from `from` on, as long as they go to the same group and the page of flash has room. Returns
    /// the frontier after it, the units moved, and the last one.
    fn move_of_group(
        &mut self,
        unit: u32,
        from: u32,
        frontier: Frontier,
        ops: &mut Ops,
    ) -> (Frontier, u32, u32) {
        let group = self.group_of_moved(unit, from);
        let mut frontier = self.move_to(unit, self.with_key(unit, from), frontier, ops);
        let (mut moved, mut last) = (1, from);
        while moved < self.rules.per_page
            && self.units[unit as usize].steps.victim.is_some()
            && let Some(from) = self.page_to_move(unit)
            && self.group_of_moved(unit, from) == group
        {
            frontier = self.move_to(unit, self.with_key(unit, from), frontier, ops);
            (moved, last) = (moved + 1, from);
        }
        (frontier, moved, last)
    }

    /// As [`PageFtl::move_of_group`] without groups: the units of a page of flash are moved together.
    fn move_whole(
        &mut self,
        unit: u32,
        from: u32,
        Frontier { block, next }: Frontier,
        ops: &mut Ops,
    ) -> (Frontier, u32, u32) {
        let pages_per_block = self.rules.pages_per_block.get() as u32;
        let (words, per_page) = (self.rules.words_per_block, self.rules.per_page);
        let map = self.map_of(unit);
        let (state, map) = (&mut self.units[unit as usize], &mut self.maps[map]);
        let (victim, page) = self.rules.pages_per_block.split(from.into());
        let (first, mut word) = (from - page as u32, page as usize >> 6);
        let (mut moved, mut last) = (0, from);
        while moved < per_page && word < words {
            let bits = &mut state.valid_bits[victim as usize * words + word];
            if *bits == 0 {
                word += 1;
                continue;
            }
            last = first + word as u32 * 64 + bits.trailing_zeros();
            *bits &= *bits - 1;
            let (at, key) = (next + moved, state.owner.get(last.into()));
            let to = block * pages_per_block + at;
            state.owner.set(to.into(), key);
            map.set(key.into(), to);
            state.valid_bits[block as usize * words + (at >> 6) as usize] |= 1 << (at & 63);
            state.blocks.invalidate(victim as u32);
            ops.moved(last, to);
            moved += 1;
        }
        state.blocks.add_valid(block, moved);
        if next + moved == pages_per_block {
            state.blocks.fill(block, state.writes);
        }
        state.steps.note_moved(moved, (victim as u32, (last - first) >> 6), &state.blocks);
        (Frontier { block, next: next + moved }, moved, last)
    }

    /// True if some full block has so few valid units that collecting it gains a page of flash.
    pub(in crate::ftl) fn some_block_gains(&self, unit: u32) -> bool {
        let blocks = &self.units[unit as usize].blocks;
        let gains = |block: &u32| blocks.is_full(*block) && !self.rules.gains_nothing(blocks.valid(*block));
        (0..blocks.count() as u32).any(|block| gains(&block))
    }

    /// Open blocks of the host and of old data of which no page of flash is erased any more count as full.
    pub(super) fn retire_open(&mut self, unit: u32) {
        let state = &mut self.units[unit as usize];
        state.retire_host(&self.rules);
        let frontier = state.laid.open;
        if u64::from(frontier.next) < self.rules.pages_per_block.get() && self.rules.is_full(frontier) {
            state.blocks.fill_oldest(frontier.block);
            state.laid.close(self.rules.pages_per_block.get() as u32);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::layers::{Layer, resolve};
    use crate::ftl::page::Geometry;
    use crate::op::Work;

    #[test]
    fn units_of_a_page_move_together_as_they_do_one_by_one() {
        let settings = [
            ("channels", "1"),
            ("page", "16KiB"),
            ("ftl.map_unit", "4KiB"),
            ("pages_per_block", "32"),
            ("capacity", "8MiB"),
            ("op_ratio", "0.3"),
        ];
        let config = resolve(&[Layer::from_assignments("test", settings)]).expect("a legal drive");
        let geometry = Geometry::new(&config).expect("legal");
        let mut ftl = PageFtl::new(&config.upkeep(), &geometry, None, 3);
        let mut ops = Ops::new(true).packing(geometry.units_per_page);
        let (mut random, mut partial) = (1_u32, 0);
        for _ in 0..40 {
            for _ in 0..500 {
                random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let key = (random >> 8) % geometry.unit_logical_pages as u32;
                ops.clear();
                ftl.write(Home { unit: 0, key }, None, 0, &mut ops).expect("there is room");
            }
            ops.clear();
            ftl.close_page(0);
            let Some(victim) = ftl.choose(0, Work::Collect) else { continue };
            let unit = &mut ftl.units[0];
            unit.blocks.claim(victim);
            unit.steps.victim = Some(victim);
            let mut frontier = ftl.frontier_of_moves(0);
            while let Some(from) = ftl.page_to_move(0) {
                if ftl.rules.is_full(frontier) {
                    let block = ftl.units[0].blocks.take_free(false).expect("one is kept");
                    frontier = Frontier { block, next: 0 };
                }
                let (mut other, mut other_ops) = (ftl.clone(), ops.clone());
                let (after, moved, last) = ftl.move_whole(0, from, frontier, &mut ops);
                let expected = other.move_of_group(0, from, frontier, &mut other_ops);
                assert_eq!((after.block, after.next), (expected.0.block, expected.0.next));
                assert_eq!((moved, last), (expected.1, expected.2));
                let bytes = |ftl: &PageFtl, ops: &Ops| postcard::to_stdvec(&(ftl, ops)).expect("bytes");
                assert!(bytes(&ftl, &ops) == bytes(&other, &other_ops), "from {from}");
                partial += u32::from(moved < 4);
                frontier = ftl.units[0].pad(&ftl.rules, after).0;
            }
            *ftl.units[0].frontier_of_moves(&ftl.rules) = frontier;
            assert!(ftl.follow_erase(0, &mut ops).expect("it is empty"));
        }
        assert!(partial > 5, "too few victims end within a page: {partial}");
    }
}
