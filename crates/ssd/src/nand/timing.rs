//! Command times: the configuration, and the numbers that commands are made of.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::ConfigError;
use crate::op::Crossing;
use crate::quantity::{Latency, Nanos, round_to_u64};

/// Times of the flash and of its bus. The default is the preset `mlc-2006`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TimingConfig {
    /// Array time of a page read; a list gives one for each page type.
    pub read: Latency,
    /// Array time of a page program; a list gives one for each page type.
    pub program: Latency,
    /// Time of a block erase.
    pub erase: Nanos,
    /// Time of the channel bus for one byte, in ns.
    #[schemars(range(min = 0.0), extend("x-unit" = "ns/byte"))]
    pub bus: f64,
    /// Overhead of each page transfer on the bus, added to the time of its bytes.
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

/// The times of one drive, in integers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Timing {
    /// One page over the bus, its overhead included, ns.
    pub(crate) transfer_ns: u64,
    /// Overhead of a transfer, ns.
    command_ns: u64,
    /// One codeword over the bus, ps.
    codeword_ps: u64,
    /// One block erase, ns.
    pub(crate) erase_ns: u64,
    /// True if every page reads and programs alike.
    pub(crate) uniform: bool,
    /// Array times by page type, ns; of large mapping units, those of all their pages together.
    read: Box<[u64]>,
    program: Box<[u64]>,
    /// Pages of a mapping unit larger than a page, and array times of reads by page type.
    mapped_pages: u32,
    read_one: Box<[u64]>,
}

/// Longest time of a single operation: sums of a run then fit 64 bits.
pub(crate) const LONGEST_NS: u64 = 3_600_000_000_000;

impl Timing {
    /// Times of mapping units of so many pages, one after the other.
    pub(crate) fn of_mapped(mut self, pages: u32) -> Self {
        if pages > 1 {
            self.mapped_pages = pages;
            self.transfer_ns *= u64::from(pages);
            for times in [&mut self.read, &mut self.program] {
                *times = together(times, pages as usize);
            }
        }
        self
    }

    /// Times of pages of `page_bytes`, of `bound_planes` planes that act as one, with codewords of `codeword_bytes`.
    pub(crate) fn new(
        timing: &TimingConfig,
        page_bytes: u64,
        bound_planes: u32,
        codeword_bytes: u64,
    ) -> Result<Self, ConfigError> {
        let refuse = |key: &str, value: String, expected: &str| {
            Err(ConfigError::Value {
                origin: "device".into(),
                key: key.into(),
                value,
                expected: expected.into(),
            })
        };
        if !timing.bus.is_finite() || !(0.0..=1e6).contains(&timing.bus) {
            return refuse("timing.bus", format!("{:e}", timing.bus), "expected 0 to 1000000 ns a byte");
        }
        let times = [
            ("timing.read", timing.read.0.iter().max()),
            ("timing.program", timing.program.0.iter().max()),
            ("timing.erase", Some(&timing.erase)),
            ("timing.command", Some(&timing.command)),
        ];
        for (key, longest) in times {
            if let Some(longest) = longest
                && longest.0 > LONGEST_NS
            {
                return refuse(key, format!("{} ns", longest.0), "expected at most one hour");
            }
        }
        // Rounded once, in picoseconds a byte, so that the product is exact.
        let picos_per_byte = round_to_u64(timing.bus * 1000.0);
        // Bound planes share a bus, bound channels have one each.
        let transfer_ns =
            (timing.command.0 + (picos_per_byte * page_bytes + 500) / 1000) * u64::from(bound_planes);
        let uniform = timing.read.0.len() == 1 && timing.program.0.len() == 1;
        Ok(Self {
            transfer_ns,
            command_ns: timing.command.0,
            codeword_ps: picos_per_byte * codeword_bytes,
            erase_ns: timing.erase.0,
            uniform,
            read: timing.read.0.iter().map(|time| time.0).collect(),
            program: timing.program.0.iter().map(|time| time.0).collect(),
            mapped_pages: 1,
            read_one: timing.read.0.iter().map(|time| time.0).collect(),
        })
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

    /// Array time to read page `page` of a block, ns.
    #[inline]
    pub(crate) fn read_ns(&self, page: u32) -> u64 {
        self.read[if self.uniform { 0 } else { page as usize % self.read.len() }]
    }

    /// Array time to read what a transfer carries of page `page` of a block, ns.
    #[inline]
    pub(crate) fn read_part_ns(&self, page: u32, crossing: Crossing) -> u64 {
        if self.mapped_pages == 1 { self.read_ns(page) } else { self.read_pages_ns(page, crossing.pages) }
    }

    #[cold]
    fn read_pages_ns(&self, unit: u32, pages: u64) -> u64 {
        let first = u64::from(unit) * u64::from(self.mapped_pages);
        let read = (0..u64::from(self.mapped_pages)).filter(|page| pages >> page & 1 == 1);
        read.map(|page| self.read_one[(first + page) as usize % self.read_one.len()]).sum()
    }

    /// Array time to program page `page` of a block, ns.
    #[inline]
    pub(crate) fn program_ns(&self, page: u32) -> u64 {
        self.program[if self.uniform { 0 } else { page as usize % self.program.len() }]
    }
}

/// Times of so many pages together, one after the other, by the unit of them in a block.
fn together(times: &[u64], pages: usize) -> Box<[u64]> {
    let of = |unit: usize| (0..pages).map(|page| times[(unit * pages + page) % times.len()]).sum();
    (0..times.len()).map(of).collect()
}
