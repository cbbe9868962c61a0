//! Victims by group (`gc.victims_of=group`): the blocks that the next victim is chosen among, and what enters the pools.

use serde::{Deserialize, Serialize};

use super::{Frontier, NO_BLOCK, PageFtl};
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

impl PageFtl {
    /// The full blocks of the pool that gives the next victim, in the order of the policy's index. `None` if no pool has one to gain from.
    /// Blocks in SLC mode are in no pool.
    pub(super) fn blocks_of_pool(&self, unit: u32) -> Option<Vec<u32>> {
        let (division, groups) = (self.rules.division.as_ref()?, self.groups.as_ref()?);
        let (own, blocks) = (&groups.units[unit as usize], &self.units[unit as usize].blocks);
        let mut full: Vec<(u32, u32)> = Vec::with_capacity(blocks.full_count() as usize);
        let of_main = blocks.in_order().filter(|block| !self.is_slc_block(unit, *block));
        full.extend(of_main.map(|block| (groups.classes.pool_of(own.group_of[block as usize]), block)));
        let entered = groups.entered.pages.iter();
        let mut pools: Vec<Pool> = entered.map(|pages| Pool { entered: *pages, ..Pool::default() }).collect();
        for (pool, block) in &full {
            let (pool, valid) = (&mut pools[*pool as usize], blocks.valid(*block));
            pool.written += self.rules.pages_per_block.get();
            pool.valid += u64::from(valid);
            pool.gains |= !self.rules.gains_nothing(valid);
        }
        for (group, frontier) in self.open_blocks(unit) {
            let pool = &mut pools[groups.classes.pool_of(group) as usize];
            pool.written += u64::from(frontier.next);
            pool.valid += u64::from(blocks.valid(frontier.block));
        }
        let chosen = division.pool_of_victim(&pools)?;
        Some(full.into_iter().filter(|(pool, _)| *pool == chosen).map(|(_, block)| block).collect())
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
