//! The state of each block, and the steps that reading a page of it takes.
//!
//! The error rate only grows until the block is erased. So the steps of a block hold up to a time and a number of reads (`reach.rs`):
//! until then pages are read, and programmed, as many at once as a command has of the block.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use serde::{Deserialize, Serialize};

use super::code::{Code, Steps};
use super::due::{Due, Reason};
use super::law::{CellKind, Law, acceleration};
use super::reach::{Errors, Known};
use crate::config::Config;
use crate::divisor::Divisor;
use crate::geometry::Geometry;
use crate::op::{BlockAt, PageAt};
use crate::quantity::{LONGEST_NS, round_to_u64};
use crate::random::normal;

const NS_A_DAY: f64 = 86_400e9;
/// Makes these factors others than those of `nand.spread`.
const SALT: u64 = 0x0061_6765;

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
    /// The laws at numbers of cycles; not saved.
    #[serde(skip)]
    known: Known,
    code: Code,
    /// Days at 25 degrees Celsius that a nanosecond of the run counts for, and the age of data from before it.
    days_a_ns: f64,
    days_before: f64,
    pages_per_block: f64,
    /// Pages of a block as numbers in its unit have them: mapping units.
    block_pages: Divisor,
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
            known: Known::default(),
            code,
            days_a_ns: faster * own.pace / NS_A_DAY,
            days_before: faster * own.retention,
            pages_per_block: f64::from(
                geometry.pages_per_block / geometry.units_per_page * geometry.mapped_pages,
            ),
            block_pages: Divisor::new(geometry.pages_per_block.into()),
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

    /// The block of a page.
    #[inline]
    pub(crate) fn block_of(&self, (unit, ppn): PageAt) -> BlockAt {
        (unit, self.block_pages.split(ppn.into()).0 as u32)
    }

    /// Numbers of the pages of a block in its unit: the first one, and how many.
    #[inline]
    pub(crate) fn pages_of(&self, at: BlockAt) -> (u32, u32) {
        let pages = self.block_pages.get() as u32;
        (at.1 * pages, pages)
    }

    /// Pages of a block up to the one with this number in its unit are programmed, at a time of the run, ns, or before it.
    #[inline]
    pub(crate) fn programmed(&mut self, at: BlockAt, ppn: u32, now_ns: Option<u64>) {
        let place = self.place(at);
        let block = &mut self.blocks[place];
        block.end = block.end.max(ppn + 1);
        if block.written == Written::Nothing {
            block.written = now_ns.map_or(Written::Before, Written::At);
            // From now on it ages.
            block.until_reads = 0;
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

    /// As [`Ageing::wears_out`], because of what will be written to it, always in SLC mode or not: it was just erased.
    pub(crate) fn wears_out_erased(&mut self, at: BlockAt, slc: bool) -> bool {
        if !self.retires() {
            return false;
        }
        let place = self.place(at);
        !self.blocks[place].is_worn && self.errors(place, slc).level(&self.code, 0, 0) >= self.retire
    }

    /// True if blocks are retired.
    #[inline]
    pub(crate) fn retires(&self) -> bool {
        self.retire != u8::MAX
    }

    /// The pages of a block can't be read until it is erased, if all of them are programmed: of the last page of flash, which has
    /// `per_page` of them, the first one is enough.
    pub(crate) fn break_block(&mut self, at: BlockAt, per_page: u32) {
        let ((first, pages), failing) = (self.pages_of(at), self.code.failing());
        let place = self.place(at);
        let block = &mut self.blocks[place];
        if u64::from(block.end) + u64::from(per_page) > u64::from(first) + u64::from(pages) {
            (block.level, block.until_ns, block.until_reads) = (failing, u64::MAX, u32::MAX);
        }
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

    /// Pages of a block, which is in SLC mode or not, are read at `now_ns`: `count` of them, or fewer, if the steps of the next ones may
    /// be others. Returns their number, at least 1, and the steps of each. A page that can't be read, and one of a block that is to be
    /// retired, comes alone.
    #[inline]
    pub(crate) fn read(&mut self, at: BlockAt, now_ns: u64, slc: bool, count: u32) -> (u32, Steps) {
        let place = self.place(at);
        let block = &self.blocks[place];
        if now_ns > block.until_ns || block.reads >= block.until_reads {
            self.look(place, now_ns, slc);
        }
        let block = &mut self.blocks[place];
        let steps = self.code.steps(block.level);
        let soft = if steps.soft { self.soft_reads } else { 0 };
        let readings = 1 + steps.retries + soft;
        let retires = block.level >= self.retire && !block.is_worn;
        let falls_due = |reads| self.due.as_ref().is_some_and(|due| due.is_due(reads, block.level));
        let mut count = count;
        if count > 1 {
            let left = block.until_reads.saturating_sub(block.reads).max(1).div_ceil(readings);
            count = count.min(left);
            let all = block.reads.saturating_add(count.saturating_mul(readings));
            if steps.fails || retires || !block.is_due && falls_due(all) {
                count = 1;
            }
        }
        block.reads = block.reads.saturating_add(count * readings);
        if !block.is_due && falls_due(block.reads) {
            block.is_due = true;
            let entry = (at.1, block.cycles);
            self.note_due(at.0, entry, now_ns);
        }
        (count, steps)
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

    /// Finds the level of a block, and the time and the reads up to which it holds.
    #[inline(never)]
    fn look(&mut self, place: usize, now_ns: u64, slc: bool) {
        let reads = self.blocks[place].reads;
        let (level, (until_ns, until_reads)) = self.errors(place, slc).reach(&self.code, now_ns, reads);
        // Steps are those of the reads before: the last one that they hold for is the one after so many.
        let block = &mut self.blocks[place];
        (block.level, block.until_ns, block.until_reads) = (level, until_ns, until_reads.saturating_add(1));
    }

    /// The bit errors of a block, which is in SLC mode or not.
    fn errors(&mut self, place: usize, slc: bool) -> Errors {
        let block = &self.blocks[place];
        let (from_ns, days_before, days_a_ns) = match block.written {
            Written::At(time_ns) => (time_ns, 0.0, self.days_a_ns),
            Written::Before => (0, self.days_before, self.days_a_ns),
            Written::Nothing => (0, 0.0, 0.0),
        };
        let reads_of = if self.laws[usize::from(slc)].reads_of_page { self.pages_per_block } else { 1.0 };
        let factor = self.factors.get(place).map_or(1.0, |factor| f64::from(*factor));
        let worn = self.known.worn(&self.laws, slc, block.cycles);
        Errors { worn, factor, from_ns, days_before, days_a_ns, reads_of }
    }

    /// Times that the steps of each of `count` pages add to reading these in `array_ns`, where each crosses the bus in `bus_ns`.
    #[inline]
    pub(crate) fn more(&self, steps: Steps, count: u64, array_ns: u64, bus_ns: u64) -> More {
        if steps.retries == 0 && !steps.soft {
            return More::default();
        }
        let soft = if steps.soft { self.soft_reads } else { 0 };
        let readings = u64::from(steps.retries + soft);
        let decoding_ns =
            u64::from(steps.retries) * self.decode_ns + if steps.soft { self.soft_ns } else { 0 };
        More { array_ns: readings * array_ns + count * decoding_ns, bus_ns: count * readings * bus_ns }
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

#[cfg(test)]
mod tests;
