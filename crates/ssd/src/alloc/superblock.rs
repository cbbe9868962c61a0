//! Superblocks: a block of each unit of a set of dies, written, collected and erased as one.
//!
//! Pages go in turn over the dies, channel by channel, then over chips, dies and planes: the page after goes to the die after.
//! To the translation layer a set of dies is one unit, and a superblock one block of it; [`Superblocks`] says where its pages are.
//! Superblock `b` of a set is made of the `b`-th good block of each unit: a bad block is replaced by the next good one of its
//! unit, and a set has as many superblocks as the unit with the fewest good blocks.
//!
//! With parity, of `n + 1` pages of a row one is parity, another one from row to row. It is no page of the translation layer.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::divisor::Divisor;
use crate::error::ConfigError;
use crate::geometry::Geometry;
use crate::quantity::Auto;
use crate::refusal::{PARTS_OF_SETS, TOO_MANY_PAGES};

/// Pages in turn over the dies of an open superblock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Config {
    /// Dies of a superblock, one block of each of their planes: a divisor of the dies of the drive. Logical pages of flash are
    /// divided among sets of so many dies in turn. `auto`: all dies.
    pub superblock_dies: Auto<u32>,
    /// RAIN: data pages for each page of parity, over dies: of `parity + 1` pages of a row one is parity. 0: none.
    pub parity: u32,
}

pub(super) fn inert_on(config: &Config, geometry: &Geometry) -> Option<(&'static str, String)> {
    let all = geometry.total_dies();
    if config.superblock_dies.0 == Some(all) {
        return None;
    }
    (geometry.units() == 1)
        .then(|| ("alloc.kind", "there is one parallel unit: its blocks are superblocks of one block".into()))
}

/// Physical page of a unit, or page of flash of one.
type PageAt = (u32, u32);

/// Most pages of a set of dies: entries of its map are 32 bits wide, and one value means "not mapped".
const MAX_PAGES: u64 = u32::MAX as u64 - 1;

/// Places of the pages of superblocks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Superblocks {
    /// Mapping units in a page of flash.
    per_page: Divisor,
    /// Pages of flash of a block of a unit.
    rows: u32,
    /// Pages of data in a row, and in a superblock.
    row: Divisor,
    block: Divisor,
    /// Pages of a stripe, parity included; 0 without.
    stripe: u32,
    /// Units of a set.
    members: u32,
    /// Unit of each member, set by set.
    units: Vec<u32>,
    /// Set and member of each unit.
    places: Vec<(u32, u32)>,
}

impl Superblocks {
    /// The superblocks of a drive, or the reason why there can be none.
    pub(crate) fn new(config: &Config, geometry: &Geometry) -> Result<Self, ConfigError> {
        let (dies, planes) = (geometry.total_dies(), geometry.planes);
        let of_set = config.superblock_dies.0.unwrap_or(dies);
        let refuse = |key: &str, value: u32, expected: String| {
            Err(PARTS_OF_SETS.of_value(&format!("alloc.{key}"), value.into(), expected))
        };
        if of_set == 0 || !dies.is_multiple_of(of_set) {
            let expected =
                format!("expected a divisor of the {dies} dies of the drive, or auto for all of them");
            return refuse("superblock_dies", of_set, expected);
        }
        let stripe = if config.parity == 0 { 0 } else { config.parity.saturating_add(1) };
        if stripe > 0 && !of_set.is_multiple_of(stripe) {
            let expected = format!(
                "expected 0, or a number of pages that with one of parity divides the {of_set} dies of a superblock"
            );
            return refuse("parity", config.parity, expected);
        }
        let mut by_rank: Vec<u32> = (0..dies).collect();
        by_rank.sort_by_key(|die| geometry.rank(die * planes));
        let mut place_of = vec![(0, 0); geometry.units() as usize];
        let mut units = Vec::with_capacity(place_of.len());
        for (set, dies) in (0..).zip(by_rank.chunks(of_set as usize)) {
            let of_set = (0..planes).flat_map(|plane| dies.iter().map(move |die| die * planes + plane));
            for (member, unit) in (0..).zip(of_set) {
                place_of[unit as usize] = (set, member);
                units.push(unit);
            }
        }
        let members = of_set * planes;
        let row = members.checked_div(stripe).map_or(members, |stripes| stripes * config.parity);
        let rows = geometry.pages_per_block / geometry.units_per_page;
        let own = Self {
            per_page: Divisor::new(geometry.units_per_page.into()),
            rows,
            row: Divisor::new(row.into()),
            block: Divisor::new(u64::from(rows) * u64::from(row)),
            stripe,
            members,
            units,
            places: place_of,
        };
        own.check(of_set, geometry)?;
        Ok(own)
    }

    /// Refuses sets with more pages than a map can number.
    fn check(&self, dies: u32, geometry: &Geometry) -> Result<(), ConfigError> {
        let pages = (0..self.sets()).map(|set| self.blocks(set, geometry)).max().unwrap_or(0)
            * self.block.get()
            * self.per_page.get();
        if pages <= MAX_PAGES {
            return Ok(());
        }
        Err(TOO_MANY_PAGES.because(format!("alloc.superblock_dies = {dies}, capacity"), format!(
                "a set of {dies} dies would have {pages} pages, at most {MAX_PAGES} fit a 32-bit map: use fewer dies, or larger \
                 pages or mapping units"
            )))
    }

    /// Sets of dies.
    pub(crate) fn sets(&self) -> u32 {
        self.units.len() as u32 / self.members
    }

    /// Superblocks of a set: blocks of its unit with the fewest.
    fn blocks(&self, set: u32, geometry: &Geometry) -> u64 {
        self.units_of(set).iter().map(|unit| geometry.unit_blocks(*unit)).min().unwrap_or(0)
    }

    /// Units of each set.
    pub(crate) fn members(&self) -> u32 {
        self.members
    }

    /// Units of a set, in the order in which pages go to them.
    #[inline]
    pub(crate) fn units_of(&self, set: u32) -> &[u32] {
        let members = self.members as usize;
        &self.units[set as usize * members..][..members]
    }

    /// The set of a unit.
    #[inline]
    pub(crate) fn set_of(&self, unit: u32) -> u32 {
        self.places[unit as usize].0
    }

    /// The place of a unit among those of its set.
    #[inline]
    pub(crate) fn member_of(&self, unit: u32) -> u32 {
        self.places[unit as usize].1
    }

    /// The drive as the translation layer has it: sets are units, and superblocks blocks.
    pub(crate) fn shape(&self, geometry: &Geometry) -> Geometry {
        let blocks: Vec<u64> = (0..self.sets()).map(|set| self.blocks(set, geometry)).collect();
        let most = blocks.iter().copied().max().unwrap_or(0);
        let missing: Vec<u32> = blocks.iter().map(|blocks| (most - blocks) as u32).collect();
        let all = missing.iter().all(|missing| *missing == 0);
        Geometry {
            channels: self.sets(),
            chips: 1,
            dies: 1,
            planes: 1,
            pages_per_block: (self.block.get() * self.per_page.get()) as u32,
            row_pages: self.row.get() as u32,
            turn_pages: self.row.get() as u32 * self.stripe.max(1),
            unit_logical_pages: geometry.unit_logical_pages * u64::from(self.members),
            blocks: blocks.iter().sum(),
            bad_blocks: if all { Box::default() } else { missing.into() },
            parity: 0,
            ..geometry.clone()
        }
    }

    /// Unit and page of a page of a set.
    #[inline]
    pub(crate) fn at(&self, set: u32, ppn: u32) -> PageAt {
        let (page, slot) = self.per_page.split(ppn.into());
        let (unit, page) = self.flash_page(set, page);
        (unit, page * self.per_page.get() as u32 + slot as u32)
    }

    /// Unit and page of flash of the one with this number in a set.
    #[inline]
    pub(crate) fn flash_page(&self, set: u32, page: u64) -> PageAt {
        let (block, page) = self.block.split(page);
        let (row, page) = self.row.split(page);
        let member = if self.stripe == 0 { page as u32 } else { self.member(row as u32, page as u32) };
        let unit = self.units[(set * self.members + member) as usize];
        (unit, block as u32 * self.rows + row as u32)
    }

    /// Place of parity in the stripes of a row.
    fn parity_in(&self, row: u32) -> u32 {
        self.stripe - 1 - row % self.stripe
    }

    /// The member that has a page of data of a row.
    fn member(&self, row: u32, page: u32) -> u32 {
        let data = self.stripe - 1;
        let (stripe, page) = (page / data, page % data);
        stripe * self.stripe + page + u32::from(page >= self.parity_in(row))
    }

    /// The number in its set of a page of flash that holds data.
    pub(crate) fn page_of_set(&self, (unit, page): PageAt) -> (u32, u32) {
        let (set, member) = self.places[unit as usize];
        let (block, row) = (page / self.rows, page % self.rows);
        let of_row = member.checked_div(self.stripe).map_or(member, |stripe| {
            let at = member % self.stripe;
            stripe * (self.stripe - 1) + at - u32::from(at > self.parity_in(row))
        });
        (set, block * self.block.get() as u32 + row * self.row.get() as u32 + of_row)
    }

    /// The page of parity that is programmed with the last page of data of its stripe, if that is the one with this number.
    #[inline]
    pub(crate) fn parity_after(&self, set: u32, page: u64) -> Option<PageAt> {
        if self.stripe == 0 {
            return None;
        }
        let data = u64::from(self.stripe - 1);
        let (block, page) = self.block.split(page);
        let (row, page) = self.row.split(page);
        if (page + 1) % data != 0 {
            return None;
        }
        let row = row as u32;
        let member = (page / data) as u32 * self.stripe + self.parity_in(row);
        Some((self.units[(set * self.members + member) as usize], block as u32 * self.rows + row))
    }

    /// True if a page of flash of a set, counted without parity, is the first one of a stripe.
    pub(crate) fn begins_stripe(&self, page: u64) -> bool {
        let Some(data) = self.stripe.checked_sub(1) else { return true };
        let (_, in_block) = self.block.split(page);
        let (_, in_row) = self.row.split(in_block);
        in_row.is_multiple_of(u64::from(data))
    }

    /// The other pages of flash of the stripe of one, parity included: reading them rebuilds it. None without parity.
    pub(crate) fn stripe_of(&self, (unit, page): PageAt) -> Vec<PageAt> {
        if self.stripe == 0 {
            return Vec::new();
        }
        let (set, member) = self.places[unit as usize];
        let first = member - member % self.stripe;
        let others = (first..first + self.stripe).filter(|other| *other != member);
        others.map(|other| (self.units[(set * self.members + other) as usize], page)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn superblocks(dies: Option<u32>, parity: u32, geometry: &Geometry) -> Superblocks {
        let config = Config { superblock_dies: Auto(dies), parity };
        Superblocks::new(&config, geometry).expect("legal")
    }

    #[test]
    fn the_page_after_goes_to_the_die_after_channel_by_channel() {
        let geometry = Geometry::for_test(2, 1, 2, 2);
        let all = superblocks(None, 0, &geometry);
        let units: Vec<u32> = (0..9).map(|page| all.at(0, page).0).collect();
        // Units of channel 0: dies 0 and 1 with two planes each, 0 to 3.
        assert_eq!(units, [0, 4, 2, 6, 1, 5, 3, 7, 0]);
        assert_eq!(all.at(0, 8), (0, 1));
        assert_eq!(all.at(0, 32), (0, 4), "the second superblock");
        let halves = superblocks(Some(2), 0, &geometry);
        assert_eq!((0..5).map(|page| halves.at(1, page).0).collect::<Vec<_>>(), [2, 6, 3, 7, 2]);
        assert_eq!(halves.sets(), 2);
    }

    #[test]
    fn every_page_has_one_place_and_parity_the_rest() {
        for (dies, parity, per_page) in
            [(None, 0, 1), (None, 3, 2), (Some(2), 1, 1), (None, 7, 4), (Some(4), 1, 2)]
        {
            let geometry = Geometry { units_per_page: per_page, ..Geometry::for_test(4, 1, 2, 2) };
            let own = superblocks(dies, parity, &geometry);
            let shape = own.shape(&geometry);
            assert_eq!(shape.logical_pages, shape.unit_logical_pages * u64::from(shape.units()));
            let mut seen = std::collections::BTreeSet::new();
            let mut of_parity = 0;
            for set in 0..own.sets() {
                for ppn in 0..2 * shape.pages_per_block {
                    let (unit, at) = own.at(set, ppn);
                    assert!(seen.insert((unit, at)), "{unit}, {at} twice");
                    let (page, back) = (ppn / per_page, own.page_of_set((unit, at / per_page)));
                    assert_eq!(back, (set, page));
                    if ppn % per_page > 0 {
                        continue;
                    }
                    let others = own.stripe_of((unit, at / per_page));
                    assert_eq!(others.len(), parity as usize);
                    assert!(others.iter().all(|other| other.0 / 2 != unit / 2), "on other dies");
                    if let Some((unit, at)) = own.parity_after(set, page.into()) {
                        of_parity += 1;
                        assert!(others.contains(&(unit, at)));
                        assert!((0..per_page).all(|slot| seen.insert((unit, at * per_page + slot))));
                    }
                }
            }
            assert_eq!(
                seen.len() as u32,
                2 * geometry.units() * geometry.pages_per_block,
                "nothing is left over"
            );
            let pages = 2 * geometry.units() * geometry.pages_per_block / per_page;
            assert_eq!(of_parity, if parity == 0 { 0 } else { pages / (parity + 1) });
        }
    }

    #[test]
    fn a_set_has_as_many_superblocks_as_its_worst_unit_good_blocks() {
        let bad_blocks = vec![0, 3, 1, 0].into();
        let geometry = Geometry { bad_blocks, blocks: 76, ..Geometry::for_test(4, 1, 1, 1) };
        let shape = superblocks(Some(2), 0, &geometry).shape(&geometry);
        assert_eq!([shape.unit_blocks(0), shape.unit_blocks(1)], [17, 19]);
        assert_eq!((shape.blocks, shape.pages_per_block), (36, 8));
    }
}
