//! Command times: the configuration, and the numbers that commands are made of.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::NandConfig;
use super::cells::{PageOrder, Programs, WordLines};
use super::spread::Spread;
use crate::geometry::Geometry;
use crate::op::Crossing;
use crate::quantity::{LONGEST_NS, Latency, Nanos, round_to_u64};
use crate::slc::SlcConfig;

/// Times of the flash and of its bus. The default is the preset `mlc-2006`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TimingConfig {
    /// Array time of a page read; a list gives one for each page type.
    pub read: Latency,
    /// Array time of a page program; a list gives one for each page type. With `nand.programs=one-shot` the time of a word line, with
    /// `foggy-fine` the times of its two passes.
    pub program: Latency,
    /// Time of a block erase.
    #[schemars(range(max = LONGEST_NS))]
    pub erase: Nanos,
    /// Time of the channel bus for one byte, in ns.
    #[schemars(range(min = 0.0, max = 1_000_000.0), extend("x-unit" = "ns/byte"))]
    pub bus: f64,
    /// Overhead of each page transfer on the bus, added to the time of its bytes.
    #[schemars(range(max = LONGEST_NS))]
    pub command: Nanos,
    /// True: a die takes in the next page while it programs the last one.
    pub cache_program: bool,
    /// True: pages of one request in several planes of a die go as one command: one array operation, all transfers.
    pub multi_plane: bool,
}

impl Default for TimingConfig {
    fn default() -> Self {
        Self {
            read: Latency(vec![Nanos(60_000)]),
            program: Latency(vec![Nanos(800_000)]),
            erase: Nanos(1_500_000),
            bus: 25.0,
            command: Nanos(0),
            cache_program: false,
            multi_plane: false,
        }
    }
}

impl TimingConfig {
    /// Page types of the drive: pages of a word line.
    pub(crate) fn page_types(&self, nand: &NandConfig) -> u32 {
        let by_lists = match nand.programs {
            Programs::Page => self.read.0.len().max(self.program.0.len()),
            Programs::OneShot | Programs::FoggyFine => self.read.0.len(),
        };
        nand.cell.bits().unwrap_or(by_lists as u32)
    }

    /// True if the lists have one time, or one for each page type (programs of whole word lines have no types).
    pub(crate) fn fits(&self, nand: &NandConfig) -> bool {
        let types = self.page_types(nand) as usize;
        let fits = |times: usize| times == 1 || times == types;
        fits(self.read.0.len()) && (nand.programs != Programs::Page || fits(self.program.0.len()))
    }
}

/// True if a block has to be whole word lines.
pub(crate) fn has_word_lines(nand: &NandConfig) -> bool {
    nand.programs != Programs::Page || nand.page_order == PageOrder::Shadow
}

/// The times of one drive, in integers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Timing {
    /// One page over the bus, its overhead included, ns.
    pub(crate) transfer_ns: u64,
    /// Overhead of a transfer, ns.
    command_ns: u64,
    /// One codeword over the bus, ps.
    codeword_ps: u64,
    /// One erase of a new block, ns, and what it grows by each erase, in billionths.
    erase_ns: u64,
    growth: u64,
    /// True if every page reads and programs alike.
    pub(crate) uniform: bool,
    /// Array times by page type, ns.
    read: Box<[u64]>,
    program: Box<[u64]>,
    /// Pages of a block, or mapping units where these are larger, and the pages of one of them.
    pages_per_block: u32,
    mapped_pages: u32,
    lines: WordLines,
    spread: Spread,
    /// Array times of a page in SLC mode: read, program, ns.
    slc: [u64; 2],
}

impl Timing {
    /// As these, with codewords of so many bytes.
    pub(crate) fn of_codewords(self, timing: &TimingConfig, codeword_bytes: u64) -> Self {
        Self { codeword_ps: round_to_u64(timing.bus * 1000.0) * codeword_bytes, ..self }
    }

    /// As these, with blocks in SLC mode.
    pub(crate) fn with_slc(self, slc: &SlcConfig) -> Self {
        Self { slc: [slc.read_time.0, slc.program_time.0], ..self }
    }

    /// Times of pages of `page_bytes`, of `bound_planes` planes that act as one; of mapping units of several pages, those of all of
    /// them, one after the other.
    pub(crate) fn new(
        timing: &TimingConfig,
        nand: &NandConfig,
        geometry: &Geometry,
        page_bytes: u64,
        bound_planes: u32,
    ) -> Self {
        // Rounded once, in picoseconds a byte, so that the product is exact.
        let picos_per_byte = round_to_u64(timing.bus * 1000.0);
        // Bound planes share a bus, bound channels have one each.
        let transfer_ns =
            (timing.command.0 + (picos_per_byte * page_bytes + 500) / 1000) * u64::from(bound_planes);
        let types = timing.page_types(nand);
        let (units_per_block, mapped_pages) = (geometry.flash_pages_per_block(), geometry.mapped_pages);
        let pages_per_block = units_per_block * mapped_pages;
        let lines = WordLines::new(nand.programs, nand.page_order, types, pages_per_block);
        let spread = Spread::new(nand, geometry);
        let one_type = timing.read.0.len() == 1 && timing.program.0.len() == 1;
        Self {
            transfer_ns: transfer_ns * u64::from(mapped_pages),
            command_ns: timing.command.0,
            codeword_ps: picos_per_byte * nand.codeword.0,
            erase_ns: timing.erase.0,
            growth: round_to_u64(nand.erase_growth * 1e6),
            uniform: one_type && !lines.programs_lines() && spread.is_off(),
            read: timing.read.0.iter().map(|time| time.0).collect(),
            program: timing.program.0.iter().map(|time| time.0).collect(),
            pages_per_block: units_per_block,
            mapped_pages,
            lines,
            spread,
            slc: [0; 2],
        }
    }

    /// Time of a transfer of part of a page, ns.
    #[inline]
    pub(crate) fn crossing_ns(&self, crossing: Crossing) -> u64 {
        if crossing == Crossing::WHOLE {
            return self.transfer_ns;
        }
        let Crossing { codewords, transfers, .. } = crossing;
        self.command_ns * u64::from(transfers) + (self.codeword_ps * u64::from(codewords) + 500) / 1000
    }

    /// Array time to read a physical page of a unit, in a block that is in SLC mode or not, ns.
    #[inline]
    pub(crate) fn read_ns(&self, unit: u32, ppn: u32, slc: bool) -> u64 {
        if self.uniform && !slc {
            return self.read[0] * u64::from(self.mapped_pages);
        }
        self.read_pages_ns(unit, ppn, u64::MAX, slc)
    }

    /// Array time to read what a transfer carries of a physical page of a unit, ns.
    #[inline]
    pub(crate) fn read_part_ns(&self, unit: u32, ppn: u32, crossing: Crossing, slc: bool) -> u64 {
        if self.mapped_pages == 1 || crossing == Crossing::WHOLE {
            self.read_ns(unit, ppn, slc)
        } else {
            self.read_pages_ns(unit, ppn, crossing.pages, slc)
        }
    }

    /// Array time to read those pages of a mapping unit whose bits are set, ns.
    #[inline(never)]
    fn read_pages_ns(&self, unit: u32, ppn: u32, pages: u64, slc: bool) -> u64 {
        let (block, first) = (ppn / self.pages_per_block, ppn % self.pages_per_block * self.mapped_pages);
        let read = (0..self.mapped_pages).filter(|page| pages >> page & 1 == 1);
        let of_type = |page| self.read[self.lines.page_type(first + page, self.read.len())];
        let times = read.map(|page| if slc { self.slc[0] } else { of_type(page) });
        self.spread.of(unit, block, times.sum())
    }

    /// Array time and bus time to program a physical page of a unit, in a block that is in SLC mode or not, ns.
    #[inline]
    pub(crate) fn program_ns(&self, unit: u32, ppn: u32, slc: bool) -> (u64, u64) {
        if self.uniform && !slc {
            return (self.program[0] * u64::from(self.mapped_pages), self.transfer_ns);
        }
        self.program_pages_ns(unit, ppn, slc)
    }

    /// As [`Timing::program_ns`], where pages differ.
    #[inline(never)]
    fn program_pages_ns(&self, unit: u32, ppn: u32, slc: bool) -> (u64, u64) {
        if slc {
            let array_ns = self.slc[1] * u64::from(self.mapped_pages);
            return (self.spread.of(unit, ppn / self.pages_per_block, array_ns), self.transfer_ns);
        }
        let (block, first) = (ppn / self.pages_per_block, ppn % self.pages_per_block * self.mapped_pages);
        let (mut array_ns, mut transfers) = (0, self.mapped_pages);
        for page in first..first + self.mapped_pages {
            if self.lines.programs_lines() {
                let program = self.lines.program(page, &self.program);
                array_ns += program.array_ns;
                transfers += program.reloads * self.lines.pages;
            } else {
                array_ns += self.program[self.lines.page_type(page, self.program.len())];
            }
        }
        let page_ns = self.transfer_ns / u64::from(self.mapped_pages);
        (self.spread.of(unit, block, array_ns), u64::from(transfers) * page_ns)
    }

    /// Time to erase a block of a unit that was erased so often before, ns.
    pub(crate) fn erase_ns(&self, unit: u32, block: u32, erases: u32) -> u64 {
        let grown = u128::from(self.erase_ns) * u128::from(self.growth) * u128::from(erases) / 1_000_000_000;
        self.spread.of(unit, block, self.erase_ns + grown.min(LONGEST_NS.into()) as u64)
    }
}
