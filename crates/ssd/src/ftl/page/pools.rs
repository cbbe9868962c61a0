//! Victims by group (`gc.victims_of=group`): the blocks that the next victim is chosen among, and what enters the pools.

use serde::{Deserialize, Serialize};

use super::{Frontier, NO_BLOCK, PageFtl};
use crate::ftl::blocks::Index;
use crate::gc::victim::Pool;

/// Pages that entered each pool lately, halved when they are twice the pages of the map.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::ftl) struct Entered {
    pages: Vec<u64>,
    sum: u64,
    max_sum: u64,
}

impl Entered {
    pub(super) fn new(pools: u32, pages: u64) -> Self {
        Self { pages: vec![0; pools as usize], sum: 0, max_sum: 2 * pages }
    }

    /// A page entered a pool: of the host, or out of another one.
    pub(super) fn add(&mut self, pool: u32) {
        self.pages[pool as usize] += 1;
        self.sum += 1;
        if self.sum >= self.max_sum {
            self.pages.iter_mut().for_each(|pages| *pages /= 2);
            self.sum = self.pages.iter().sum();
        }
    }
}

/// Pools of a unit, and the blocks that its victim is chosen among: memory that is kept from one choice to the next.
#[derive(Clone, Debug, Default)]
pub(in crate::ftl) struct Chosen {
    pools: Vec<Pool>,
    pub(super) blocks: Vec<u32>,
}

impl PageFtl {
    /// The full blocks of the pool that gives the next victim, in the order of the policy's index: all of them if the policy has no
    /// index, else only the first. False if no pool has one to gain from. Blocks in SLC mode are in no pool.
    pub(super) fn choose_pool(&self, unit: u32, chosen: &mut Chosen) -> bool {
        let (Some(division), Some(groups)) = (self.rules.division.as_ref(), self.groups.as_ref()) else {
            return false;
        };
        let (own, blocks) = (&groups.units[unit as usize], &self.units[unit as usize].blocks);
        let pool_of = |block: u32| groups.classes.pool_of(own.group_of[block as usize]);
        let of_main = || blocks.in_order().filter(|block| !self.is_slc_block(unit, *block));
        let Chosen { pools, blocks: found } = chosen;
        pools.clear();
        pools.extend(groups.entered.pages.iter().map(|pages| Pool { entered: *pages, ..Pool::default() }));
        for block in of_main() {
            let (pool, valid) = (&mut pools[pool_of(block) as usize], blocks.valid(block));
            pool.written += self.rules.pages_per_block.get();
            pool.valid += u64::from(valid);
            pool.gains |= !self.rules.gains_nothing(valid);
        }
        for (group, frontier) in self.open_blocks(unit) {
            let pool = &mut pools[groups.classes.pool_of(group) as usize];
            pool.written += u64::from(frontier.next);
            pool.valid += u64::from(blocks.valid(frontier.block));
        }
        let Some(pool) = division.pool_of_victim(pools) else { return false };
        let needed = if self.rules.victim.index() == Index::Unordered { usize::MAX } else { 1 };
        found.clear();
        found.extend(of_main().filter(|block| pool_of(*block) == pool).take(needed));
        true
    }

    /// The blocks that groups of a unit are writing, with their groups counted over all.
    fn open_blocks(&self, unit: u32) -> impl Iterator<Item = (u32, Frontier)> + '_ {
        let (state, pages_per_block) = (&self.units[unit as usize], self.rules.pages_per_block.get());
        let own = self.groups.as_ref().map(|groups| &groups.units[unit as usize]);
        let parked = own.into_iter().flat_map(move |own| {
            let [host, moved] = own.in_place;
            (0..).zip(&own.parked).map(move |(group, parked)| match group {
                _ if group == host => (group, state.host),
                _ if group == moved => (group, state.collected),
                _ => (group, parked.frontier),
            })
        });
        parked.filter(move |(_, frontier)| {
            frontier.block != NO_BLOCK && u64::from(frontier.next) < pages_per_block
        })
    }
}
