//! Ageing of pages that move within a unit: those of a block are read, and programmed, at once.

use super::Core;
use crate::ageing::Steps;
use crate::content::Content;
use crate::op::{Command, FlashOp};

impl<C: Content> Core<C> {
    /// As [`Core::age`], of pages that move within a unit. A page that is copied back is not decoded.
    pub(super) fn age_moved(
        &mut self,
        now_ns: Option<u64>,
        op: &FlashOp,
        (moves, crossing): (&[(u32, u32)], u64),
        command: &mut Command,
    ) {
        let per_page = self.geometry.units_per_page;
        let (reads, programs) = (u64::from(op.reads), u64::from(op.pages));
        let copied = if per_page == 1 { programs - crossing } else { (reads + programs - crossing) / 2 };
        let (mut decoded, mut rest) = ((reads - copied) as u32, moves);
        while decoded > 0
            && let Some(now_ns) = now_ns
            && let Some(run) = self.run(op.unit, &mut rest, |(from, _)| from)
        {
            decoded -= self.read_run(now_ns, op, (run, decoded), command);
        }
        let mut rest = moves;
        while let Some(run) = self.run(op.unit, &mut rest, |(_, to)| to) {
            self.program_run(now_ns, op.unit, run, command);
        }
    }

    /// Takes those moves off the front of a list that are of pages of one block.
    #[inline]
    fn run<'a>(
        &self,
        unit: u32,
        rest: &mut &'a [(u32, u32)],
        page: impl Fn((u32, u32)) -> u32,
    ) -> Option<&'a [(u32, u32)]> {
        let ageing = self.ageing.as_ref()?;
        let (first, pages) = ageing.pages_of(ageing.block_of((unit, page(*rest.first()?))));
        let others = rest.iter().position(|moved| page(*moved).wrapping_sub(first) >= pages);
        let (run, others) = rest.split_at(others.unwrap_or(rest.len()));
        *rest = others;
        Some(run)
    }

    /// Pages of one block are read to be moved, but no more than `max`. Returns their number.
    fn read_run(
        &mut self,
        now_ns: u64,
        op: &FlashOp,
        (run, max): (&[(u32, u32)], u32),
        command: &mut Command,
    ) -> u32 {
        let per_page = self.geometry.units_per_page;
        let mut pages = run.chunk_by(|left, right| per_page > 1 && left.0 / per_page == right.0 / per_page);
        let count = if per_page == 1 { run.len() } else { pages.clone().count() };
        let count = max.min(count as u32);
        let mut left = count;
        while left > 0
            && let Some(ageing) = &mut self.ageing
        {
            let block = ageing.block_of((op.unit, run[0].0));
            let (alike, steps) = ageing.read(block, now_ns, op.slc, left);
            left -= alike;
            if steps == Steps::default() {
                if left > 0 {
                    pages.nth(alike as usize - 1);
                }
                continue;
            }
            let Some(first) = pages.clone().next() else { break };
            let pages = pages.by_ref().take(alike as usize);
            let array_ns = pages.map(|page| self.timing.read_ns(op.unit, page[0].0 / per_page, op.slc)).sum();
            let first = (op.unit, first[0].0);
            let more = self.count_steps((first, alike), steps, (array_ns, self.timing.transfer_ns));
            (command.read_ns, command.bus_ns) = more.on(command);
        }
        count
    }

    /// Pages of one block are programmed that were moved.
    fn program_run(&mut self, now_ns: Option<u64>, unit: u32, run: &[(u32, u32)], command: &mut Command) {
        let per_page = self.geometry.units_per_page;
        let Some(ageing) = &mut self.ageing else { return };
        let end = run.iter().map(|(_, to)| *to).max().unwrap_or(0);
        let block = ageing.block_of((unit, end));
        ageing.programmed(block, end, now_ns);
        if !ageing.changes_programs() {
            return;
        }
        for page in run.chunk_by(|left, right| left.1 / per_page == right.1 / per_page) {
            let (array_ns, _) = self.timing.program_ns(unit, page[0].1 / per_page, false);
            let aged_ns = ageing.program_ns(block, array_ns);
            command.program_ns = (command.program_ns + aged_ns).saturating_sub(array_ns);
        }
    }
}
