//! Blocks of a chain of groups (`ftl.classifier=age-groups`): the block that is collected next, and queues that get shorter.

use super::PageFtl;
use super::groups::Groups;

impl PageFtl {
    /// The victim of a chain of groups: the oldest block of the first queue that has more than it should, else that of the last
    /// group with the fewest valid pages, if it has an invalid one.
    pub(super) fn victim_of_chain(&self, unit: u32) -> Option<u32> {
        let groups = self.groups.as_ref()?;
        let chain = groups.classes.chain(self.map_of(unit))?;
        let (own, blocks) = (&groups.units[unit as usize], &self.units[unit as usize].blocks);
        let full = || {
            let all = 0..blocks.count() as u32;
            all.filter(|block| blocks.is_full(*block) && !self.is_slc_block(unit, *block))
        };
        let mut queues = 0;
        for (group, size) in (0..).zip(chain.sizes(blocks.count())) {
            queues = group + 1;
            let of_group = || full().filter(|block| own.group_of[*block as usize] == group);
            if of_group().count() as u64 > size {
                return of_group().min_by_key(|block| blocks.filled_at(*block));
            }
        }
        let last = full().filter(|block| own.group_of[*block as usize] >= queues);
        let emptiest = last.min_by_key(|block| (blocks.valid(*block), blocks.filled_at(*block)));
        emptiest.filter(|block| !self.rules.gains_nothing(blocks.valid(*block)))
    }

    /// The oldest blocks of queues that have more than they should join the last group.
    pub(super) fn shorten_queues(&mut self, unit: u32) {
        let map = self.map_of(unit);
        let Some(groups) = &mut self.groups else { return };
        let Groups { classes, units, .. } = &mut **groups;
        let Some(chain) = classes.chain(map) else { return };
        let (group_of, blocks) = (&mut units[unit as usize].group_of, &self.units[unit as usize].blocks);
        let last = chain.sizes(1).count() as u32;
        for (group, size) in (0..last).zip(chain.sizes(blocks.count())) {
            let full = (0..blocks.count() as u32).filter(|block| blocks.is_full(*block));
            let mut queue: Vec<u32> = full.filter(|block| group_of[*block as usize] == group).collect();
            queue.sort_by_key(|block| std::cmp::Reverse(blocks.filled_at(*block)));
            queue.iter().skip(size as usize).for_each(|block| group_of[*block as usize] = last);
        }
    }
}
