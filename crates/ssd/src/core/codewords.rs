//! Sectors of a request as codewords that cross the bus.

use flashweir_trace::SECTOR_BYTES;
use serde::{Deserialize, Serialize};

use crate::buffer::SectorMask;
use crate::config::Config;
use crate::nand::Transfer;
use crate::op::Crossing;

/// Where the codewords of a unit's page are: flash pages side by side, in the planes of one channel, then of the next.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Codewords {
    /// Sectors of a codeword; 0 where pages cross whole.
    sectors: u32,
    /// Codewords of a page of flash.
    per_page: u32,
    /// Pages of flash that share a bus: bound planes.
    planes: u32,
    /// Pages of flash in a page of a unit.
    pages: u32,
    /// Pages of a unit in a mapping unit.
    mapped_pages: u32,
    /// Sectors of a page of a unit.
    page_sectors: u32,
    /// Sectors of a mapping unit: those of the page, unless pages hold several.
    mapped_sectors: u32,
}

impl Codewords {
    pub(crate) fn new(config: &Config) -> Self {
        let sectors = |bytes: u64| (bytes / SECTOR_BYTES) as u32;
        let (pages, mapped_pages) = (config.bound_pages(), config.mapped_pages());
        let page_sectors = sectors(config.page.0) * pages;
        let planes = config.bound_planes();
        let mapped_sectors = page_sectors * mapped_pages / config.units_per_page();
        let whole =
            Self { sectors: 0, per_page: 1, planes, pages, mapped_pages, page_sectors, mapped_sectors };
        match config.nand.transfer {
            // Of a large mapping unit, whole pages.
            Transfer::Page if mapped_pages > 1 => Self { sectors: sectors(config.page.0), ..whole },
            Transfer::Page => whole,
            Transfer::Codeword => {
                let codeword = sectors(config.nand.codeword.0);
                let per_page = sectors(config.page.0) / codeword;
                Self { sectors: codeword, per_page, ..whole }
            }
        }
    }

    /// Where a mapping unit lies in the page of a unit, by its place there: the bus that it crosses, and its page of flash.
    pub(crate) fn lane(&self, place: u32) -> (u32, u32) {
        let page = self.page_sectors / self.pages;
        let flash_page = place * self.mapped_sectors / page;
        // One that takes several channels shares none of them.
        let lane = if self.mapped_sectors > page * self.planes { place } else { flash_page / self.planes };
        (lane, flash_page)
    }

    /// Transfer of the sectors `first` to `end`.
    #[inline]
    pub(crate) fn holding(&self, first: u32, end: u32) -> Crossing {
        if self.sectors == 0 {
            return Crossing::WHOLE;
        }
        self.crossing(|from, to| from < end && first < to)
    }

    /// Transfer of what a write of the sectors `first` to `end` leaves as it was. None: nothing of the page.
    #[inline]
    pub(crate) fn left_by(&self, first: u32, end: u32) -> Option<Crossing> {
        if end - first == self.mapped_sectors {
            return None;
        }
        Some(if self.sectors == 0 {
            Crossing::WHOLE
        } else {
            self.crossing(|from, to| to <= self.mapped_sectors && (from < first || end < to))
        })
    }

    /// As [`Codewords::left_by`], of a write of the sectors of a mask.
    #[inline]
    pub(crate) fn left_by_mask(&self, mask: &SectorMask) -> Option<Crossing> {
        if mask.covers(0, self.mapped_sectors) {
            return None;
        }
        Some(if self.sectors == 0 {
            Crossing::WHOLE
        } else {
            self.crossing(|from, to| to <= self.mapped_sectors && !mask.covers(from, to))
        })
    }

    /// The transfer of the codewords of a mapping unit, by their first sector and the one after their last, for which `crosses` holds: on the
    /// channel that carries most, where channels are bound.
    #[cold]
    fn crossing(&self, crosses: impl Fn(u32, u32) -> bool) -> Crossing {
        let page_sectors = self.sectors * self.per_page;
        let mut sum = Crossing::default();
        for page in 0..self.mapped_pages {
            let found = self.crossing_of(page_sectors, |from, to| {
                let first = page * self.page_sectors;
                crosses(first + from, first + to)
            });
            let pages = if found.transfers > 0 { 1 << page } else { 0 };
            sum = sum.and(Crossing { pages, ..found });
        }
        sum
    }

    /// As [`Codewords::crossing`], of a page of a unit with pages of flash of so many sectors.
    fn crossing_of(&self, page_sectors: u32, crosses: impl Fn(u32, u32) -> bool) -> Crossing {
        let mut most = Crossing::default();
        for channel in 0..self.page_sectors / (page_sectors * self.planes) {
            let mut found = Crossing::default();
            for plane in 0..self.planes {
                let start = (channel * self.planes + plane) * page_sectors;
                let starts = (0..self.per_page).map(|codeword| start + codeword * self.sectors);
                let count = starts.filter(|from| crosses(*from, from + self.sectors)).count() as u32;
                found.codewords += count;
                found.transfers += u32::from(count > 0);
            }
            most = most.max(found);
        }
        most
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Units;
    use crate::config::layers::{Layer, resolve};
    use crate::nand::NandConfig;
    use crate::quantity::Bytes;

    fn layout(page: u64, codeword: u64) -> Config {
        let nand =
            NandConfig { transfer: Transfer::Codeword, codeword: Bytes(codeword), ..NandConfig::default() };
        Config { page: Bytes(page), nand, ..Config::default() }
    }

    fn crossing(codewords: u32, transfers: u32) -> Crossing {
        Crossing { codewords, transfers, pages: 1 }
    }

    #[test]
    fn codewords_that_hold_a_wanted_sector_cross_whole() {
        let codewords = Codewords::new(&layout(8192, 2048));
        assert_eq!(codewords.holding(0, 1), crossing(1, 1));
        assert_eq!(codewords.holding(3, 4), crossing(1, 1));
        assert_eq!(codewords.holding(3, 5), crossing(2, 1));
        assert_eq!(codewords.holding(0, 16), crossing(4, 1));
    }

    #[test]
    fn a_write_leaves_the_codewords_that_it_does_not_cover() {
        let codewords = Codewords::new(&layout(8192, 2048));
        assert_eq!(codewords.left_by(0, 16), None);
        assert_eq!(codewords.left_by(0, 4), Some(crossing(3, 1)));
        assert_eq!(codewords.left_by(1, 16), Some(crossing(1, 1)));
        assert_eq!(codewords.left_by(3, 9), Some(crossing(3, 1)));
        let mut mask = SectorMask::range(0, 4);
        mask.insert(8, 12);
        assert_eq!(codewords.left_by_mask(&mask), Some(crossing(2, 1)));
        assert_eq!(codewords.left_by_mask(&SectorMask::range(0, 16)), None);
    }

    #[test]
    fn whole_pages_cross_where_the_transfer_is_of_pages() {
        let codewords = Codewords::new(&Config { page: Bytes(8192), ..Config::default() });
        assert_eq!(codewords.holding(0, 1), Crossing::WHOLE);
        assert_eq!(codewords.left_by(0, 15), Some(Crossing::WHOLE));
        assert_eq!(codewords.left_by_mask(&SectorMask::range(1, 16)), Some(Crossing::WHOLE));
        assert_eq!(codewords.left_by(0, 16), None);
    }

    #[test]
    fn bound_planes_share_a_bus_and_bound_channels_do_not() {
        let bound = Config { planes: 2, planes_bound: true, ..layout(4096, 1024) };
        // 4 codewords in each plane: the last of the first plane, and two of the second.
        assert_eq!(Codewords::new(&bound).holding(7, 11), crossing(3, 2));
        let synchronized = Config { channels: 2, units: Units::Synchronized, ..layout(4096, 1024) };
        assert_eq!(Codewords::new(&synchronized).holding(7, 11), crossing(2, 1));
    }

    #[test]
    fn mapping_units_cross_the_bus_of_their_channel() {
        let config = |map_unit: &str| {
            let settings = [
                ("units", "synchronized"),
                ("channels", "2"),
                ("planes", "2"),
                ("planes_bound", "true"),
                ("page", "4KiB"),
                ("ftl.map_unit", map_unit),
            ];
            resolve(&[Layer::from_assignments("test", settings)]).expect("a legal drive")
        };
        let lanes = |map_unit: &str, count: u32| -> Vec<(u32, u32)> {
            let codewords = Codewords::new(&config(map_unit));
            (0..count).map(|place| codewords.lane(place)).collect()
        };
        assert_eq!(lanes("4KiB", 4), [(0, 0), (0, 1), (1, 2), (1, 3)]);
        assert_eq!(lanes("2KiB", 8)[3..6], [(0, 1), (1, 2), (1, 2)]);
        assert_eq!(lanes("8KiB", 2), [(0, 0), (1, 2)]);
    }
}
