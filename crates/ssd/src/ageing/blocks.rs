//! The state of each block, and the steps that reading a page of it takes.
//!
//! The error rate only grows until the block is erased. So the steps of a block hold up to a time and a number of reads at which they
//! were found to be the same, and the law is worked out a few times in the life of a block, and at every read only where the next
//! step is near.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use serde::{Deserialize, Serialize};

use super::code::{Code, Steps};
use super::due::{Due, Reason};
use super::law::{CellKind, Law, acceleration};
use crate::config::Config;
use crate::geometry::Geometry;
use crate::op::BlockAt;
use crate::quantity::{LONGEST_NS, round_to_u64};
use crate::random::normal;

const NS_A_DAY: f64 = 86_400e9;
/// Makes these factors others than those of `nand.spread`.
const SALT: u64 = 0x0061_6765;
/// Time and reads that steps are first tried to hold for, beside as long as they have held.
const NEAR_NS: u64 = 1_000_000_000;
const NEAR_READS: u32 = 64;
/// Powers of two by which that is divided until they hold.
const DIVISIONS: [u32; 4] = [0, 2, 4, 6];

/// Beginning of the age of a block's data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Written {
    /// It has none.
    #[default]
    Nothing,
    /// Before the run.
    Before,
    /// At this time, ns.
    At(u64),
}

/// A block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Block {
    written: Written,
    /// Time and reads up to which the steps hold.
    until_ns: u64,
    until_reads: u32,
    /// Readings of its pages since it was erased.
    reads: u32,
    /// The number of the page after the last one that is programmed; 0 if none is.
    end: u32,
    cycles: u32,
    /// See [`Code::level`].
    level: u8,
    /// True if reads have found it due to be moved.
    is_due: bool,
    /// True if it is to be retired.
    is_worn: bool,
    /// Reason for which its data is being moved.
    moves_for: Option<Reason>,
}

/// Blocks that age.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Ageing {
    /// Of blocks as they are, and of those in SLC mode.
    laws: [Law; 2],
    code: Code,
    /// Days at 25 degrees Celsius that a nanosecond of the run counts for, and the age of data from before it.
    days_a_ns: f64,
    days_before: f64,
    pages_per_block: f64,
    unit_blocks: u32,
    blocks: Vec<Block>,
    /// Factor of the errors of each block; empty where they are alike.
    factors: Box<[f32]>,
    decode_ns: u64,
    soft_reads: u32,
    soft_ns: u64,
    /// Growth of program times with a cycle.
    program_growth: f64,
    /// Blocks that are due to be moved, if any ever is.
    due: Option<Due>,
    /// Level of a page from which on its block is retired.
    retire: u8,
}

/// Times that the steps of a read add to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct More {
    /// Readings and decodings, ns.
    pub(crate) array_ns: u64,
    /// Transfers, ns.
    pub(crate) bus_ns: u64,
}

impl Ageing {
    /// The blocks of a new drive, if they age.
    pub(crate) fn new(config: &Config, geometry: &Geometry) -> Option<Box<Self>> {
        let own = &config.ageing;
        if !own.is_on() {
            return None;
        }
        let kind = CellKind::of_bits(config.ageing_bits());
        let faster = acceleration(own.temperature);
        let unit_blocks = geometry.max_unit_blocks() as u32;
        let count = unit_blocks as usize * geometry.units() as usize;
        let code = Code::new(own, kind.ecc_bits, config.nand.codeword.0);
        let retire = own.retire.0.map_or(u8::MAX, |retries| retries.min(u32::from(code.failing())) as u8);
        let refresh = &config.background.refresh;
        let due = refresh.is_on().then(|| {
            let level =
                refresh.retries.0.map_or(u8::MAX, |retries| retries.min(u32::from(code.failing())) as u8);
            let reads = refresh.reads.0.unwrap_or(u32::MAX);
            let limits = (reads, level.min(retire));
            Due::new(geometry.units(), unit_blocks, refresh.age.0.map(|days| faster * days), limits)
        });
        let new = Block { cycles: own.cycles, ..Block::default() };
        Some(Box::new(Self {
            laws: [kind.law.with(own), CellKind::of_bits(1).law],
            code,
            days_a_ns: faster * own.pace / NS_A_DAY,
            days_before: faster * own.retention,
            pages_per_block: f64::from(
                geometry.pages_per_block / geometry.units_per_page * geometry.mapped_pages,
            ),
            unit_blocks,
            blocks: vec![new; count],
            factors: if own.draws() { factors(own.spread, config.nand.seed, count) } else { Box::default() },
            decode_ns: own.decode_time.0,
            soft_reads: own.soft_reads,
            soft_ns: own.soft_time.0,
            program_growth: own.program_growth / 1000.0,
            due,
            retire,
        }))
    }

    #[inline]
    fn place(&self, (unit, block): BlockAt) -> usize {
        unit as usize * self.unit_blocks as usize + block as usize
    }

    /// A page of a block, with this number in its unit, is programmed, at a time of the run, ns, or before it.
    #[inline]
    pub(crate) fn programmed(&mut self, at: BlockAt, ppn: u32, now_ns: Option<u64>) {
        let place = self.place(at);
        let block = &mut self.blocks[place];
        block.end = block.end.max(ppn + 1);
        if block.written == Written::Nothing {
            block.written = now_ns.map_or(Written::Before, Written::At);
            let entry = (at.1, block.cycles);
            if self.due.is_some() {
                self.note_written(at.0, (entry, now_ns.is_none()));
            }
        }
    }

    /// True if the page of a block with this number in its unit is programmed: pages are programmed in their order.
    pub(crate) fn is_programmed(&self, at: BlockAt, ppn: u32) -> bool {
        ppn < self.blocks[self.place(at)].end
    }

    /// A block is erased. Returns the reason for which its data was moved, if it was because of its errors.
    pub(crate) fn erased(&mut self, at: BlockAt) -> Option<Reason> {
        let place = self.place(at);
        let Block { cycles, moves_for, is_worn, .. } = self.blocks[place];
        self.blocks[place] = Block { cycles: cycles + 1, is_worn, ..Block::default() };
        moves_for
    }

    /// True if a block is to be retired that was not before: because of a page of it that was read last.
    pub(crate) fn wears_out(&self, at: BlockAt) -> bool {
        let block = &self.blocks[self.place(at)];
        block.level >= self.retire && !block.is_worn
    }

    /// As [`Ageing::wears_out`], because of what will be written to it: it was just erased.
    pub(crate) fn wears_out_erased(&self, at: BlockAt) -> bool {
        if self.retire == u8::MAX {
            return false;
        }
        let place = self.place(at);
        !self.blocks[place].is_worn && self.level(place, 0, 0, false) >= self.retire
    }

    /// True if a block is to be retired, or was.
    pub(crate) fn is_worn(&self, at: BlockAt) -> bool {
        self.blocks[self.place(at)].is_worn
    }

    /// A block is to be retired.
    pub(crate) fn wear_out(&mut self, at: BlockAt) {
        let place = self.place(at);
        self.blocks[place].is_worn = true;
    }

    /// A page of a block, which is in SLC mode or not, is read at `now_ns`. Returns its steps.
    #[inline]
    pub(crate) fn read(&mut self, at: BlockAt, now_ns: u64, slc: bool) -> Steps {
        let place = self.place(at);
        let block = &self.blocks[place];
        if now_ns > block.until_ns || block.reads >= block.until_reads {
            self.look(place, now_ns, slc);
        }
        let block = &mut self.blocks[place];
        let steps = self.code.steps(block.level);
        let soft = if steps.soft { self.soft_reads } else { 0 };
        block.reads = block.reads.saturating_add(1 + steps.retries + soft);
        if self.due.as_ref().is_some_and(|due| !block.is_due && due.is_due(block.reads, block.level)) {
            block.is_due = true;
            let entry = (at.1, block.cycles);
            self.note_due(at.0, entry, now_ns);
        }
        steps
    }

    #[inline(never)]
    fn note_written(&mut self, unit: u32, entry: ((u32, u32), bool)) {
        let Some(mut due) = self.due.take() else { return };
        due.written(unit, entry, |entry| self.is_still(unit, entry));
        self.due = Some(due);
    }

    #[cold]
    fn note_due(&mut self, unit: u32, entry: (u32, u32), now_ns: u64) {
        let Some(mut due) = self.due.take() else { return };
        due.read(unit, entry, now_ns, |entry| self.is_still(unit, entry));
        self.due = Some(due);
    }

    /// True if a block has as many cycles as when it was noted.
    fn is_still(&self, unit: u32, (block, cycles): (u32, u32)) -> bool {
        self.blocks[self.place((unit, block))].cycles == cycles
    }

    /// True if blocks are moved because of their errors.
    #[inline]
    pub(crate) fn refreshes(&self) -> bool {
        self.due.is_some()
    }

    /// The block of a unit that is moved first because of its errors, of those that are ready; the reason, and when it is due, ns.
    pub(crate) fn due(&self, unit: u32, is_ready: impl Fn(u32) -> bool) -> Option<(u32, Reason, u64)> {
        let due = self.due.as_ref()?;
        let is_ready = |entry: (u32, u32)| self.is_still(unit, entry) && is_ready(entry.0);
        let read = due.read_first(unit, is_ready).map(|(block, due_ns)| (block, Reason::Reads, due_ns));
        let old = due.oldest(unit, is_ready).and_then(|block| {
            let due_ns = self.old_ns((unit, block), due.days?)?;
            Some((block, Reason::Age, due_ns))
        });
        read.into_iter().chain(old).min_by_key(|(_, _, due_ns)| *due_ns)
    }

    /// The data of a block is moved from now on, for this reason.
    pub(crate) fn begin_move(&mut self, at: BlockAt, reason: Reason) {
        let place = self.place(at);
        let block = &mut self.blocks[place];
        block.moves_for = (block.written != Written::Nothing).then_some(reason);
    }

    /// True if the data of a block is moved because of its errors.
    pub(crate) fn is_moving(&self, at: BlockAt) -> bool {
        self.blocks[self.place(at)].moves_for.is_some()
    }

    /// When the data of a block is so many days old, ns; `None` if it never is.
    fn old_ns(&self, at: BlockAt, days: f64) -> Option<u64> {
        let (from_ns, age) = match self.blocks[self.place(at)].written {
            Written::Nothing => return None,
            Written::Before => (0, self.days_before),
            Written::At(time_ns) => (time_ns, 0.0),
        };
        if age >= days {
            return Some(from_ns);
        }
        // No time of the run, if no days pass in it.
        let left_ns = (days - age) / self.days_a_ns;
        left_ns.is_finite().then(|| from_ns.saturating_add(round_to_u64(left_ns.ceil())))
    }

    /// Finds the level of a block, and how long it holds.
    #[inline(never)]
    fn look(&mut self, place: usize, now_ns: u64, slc: bool) {
        let block = self.blocks[place];
        let level = self.level(place, now_ns, block.reads, slc);
        let age_ns = match block.written {
            Written::At(time_ns) => now_ns.saturating_sub(time_ns),
            Written::Before | Written::Nothing => now_ns,
        };
        let holds = DIVISIONS.into_iter().map(|by| {
            let until_ns = now_ns.saturating_add((age_ns + NEAR_NS) >> by);
            (until_ns, block.reads.saturating_add((block.reads + NEAR_READS) >> by))
        });
        let holds =
            holds.into_iter().find(|(time_ns, reads)| self.level(place, *time_ns, *reads, slc) == level);
        let (until_ns, until_reads) = holds.unwrap_or((now_ns, block.reads));
        // Steps are those of the reads before: the last one that they hold for is the one after so many.
        self.blocks[place] = Block { level, until_ns, until_reads: until_reads.saturating_add(1), ..block };
    }

    /// The level of a block at a time, after so many readings.
    fn level(&self, place: usize, now_ns: u64, reads: u32, slc: bool) -> u8 {
        self.code.level(self.rate(place, now_ns, reads, slc))
    }

    /// The bit error rate of a block at a time, after so many readings.
    fn rate(&self, place: usize, now_ns: u64, reads: u32, slc: bool) -> f64 {
        let block = &self.blocks[place];
        let law = &self.laws[usize::from(slc)];
        let days = match block.written {
            Written::At(time_ns) => now_ns.saturating_sub(time_ns) as f64 * self.days_a_ns,
            Written::Before => self.days_before + now_ns as f64 * self.days_a_ns,
            Written::Nothing => 0.0,
        };
        let reads = f64::from(reads) / if law.reads_of_page { self.pages_per_block } else { 1.0 };
        let factor = self.factors.get(place).map_or(1.0, |factor| f64::from(*factor));
        law.rate(block.cycles.into(), days, reads) * factor
    }

    /// Times that steps add to reading a page in `array_ns`, which crosses the bus in `bus_ns`.
    #[inline]
    pub(crate) fn more(&self, steps: Steps, array_ns: u64, bus_ns: u64) -> More {
        if steps.retries == 0 && !steps.soft {
            return More::default();
        }
        let soft = if steps.soft { self.soft_reads } else { 0 };
        let readings = u64::from(steps.retries + soft);
        let decoding_ns =
            u64::from(steps.retries) * self.decode_ns + if steps.soft { self.soft_ns } else { 0 };
        More { array_ns: readings * array_ns + decoding_ns, bus_ns: readings * bus_ns }
    }

    /// True if blocks are programmed in times that change with their cycles.
    #[inline]
    pub(crate) fn changes_programs(&self) -> bool {
        self.program_growth != 0.0
    }

    /// Time to program a page of a block that takes `ns` when it is new.
    pub(crate) fn program_ns(&self, at: BlockAt, ns: u64) -> u64 {
        let cycles = f64::from(self.blocks[self.place(at)].cycles);
        round_to_u64((ns as f64 * (1.0 + self.program_growth * cycles)).clamp(0.0, LONGEST_NS as f64))
    }

    /// Cycles of a block.
    pub(crate) fn cycles(&self, at: BlockAt) -> u32 {
        self.blocks[self.place(at)].cycles
    }
}

/// A lognormal factor of median 1 for each block.
fn factors(spread: f64, seed: u32, count: usize) -> Box<[f32]> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(SALT ^ u64::from(seed));
    (0..count).map(|_| libm::exp(spread * normal(&mut rng)) as f32).collect()
}
