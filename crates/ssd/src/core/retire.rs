//! Blocks that are retired because of their bit errors, and the read-only drive that they leave.

use flashweir_trace::{Op, Request};
use serde::{Deserialize, Serialize};

use super::Core;
use crate::content::Content;
use crate::failure::Failure;
use crate::ftl::Fate;

/// End of a drive that takes no more writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadOnly {
    /// When it ended, ns.
    pub at_ns: u64,
    /// The plane, by number, with a worn block that it can't do without.
    pub unit: u32,
}

/// Spare of a drive whose blocks are retired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spare {
    /// Blocks that the plane, or set of dies, with the fewest of them may still lose.
    pub fewest: u32,
    /// Its end, if that has come.
    pub read_only: Option<ReadOnly>,
}

impl<C: Content> Core<C> {
    /// The translation layer hears of blocks that were found worn out, and says which ones it does without from now on.
    #[inline]
    pub(crate) fn wear_out(&mut self, now_ns: u64) {
        if self.ageing.as_ref().is_some_and(|ageing| ageing.retires()) {
            self.wear_out_some(now_ns);
        }
    }

    #[inline(never)]
    fn wear_out_some(&mut self, now_ns: u64) {
        let is_zoned = self.takes_zone_commands();
        for at in std::mem::take(&mut self.worn) {
            let unit = self.mapped_unit(at.0);
            // Blocks of a superblock go together.
            let members =
                self.superblocks.as_ref().map_or_else(|| vec![at.0], |own| own.units_of(unit).to_vec());
            let Some(ageing) = &mut self.ageing else { return };
            if ageing.is_worn(at) {
                continue;
            }
            if is_zoned {
                // The host, not the drive, puts its data elsewhere.
                self.counters.ageing.retired_blocks += members.len() as u64;
                for unit in members {
                    ageing.wear_out((unit, at.1));
                }
                self.fail_zone(unit, at.1);
                continue;
            }
            match self.ftl.wear_out(unit, at.1) {
                Fate::Leaves => members.into_iter().for_each(|unit| ageing.wear_out((unit, at.1))),
                Fate::Stays => {}
                Fate::Needed => _ = self.read_only.get_or_insert(ReadOnly { at_ns: now_ns, unit: at.0 }),
            }
        }
        for (unit, block) in self.ftl.take_retired() {
            self.lose_zone(unit, block);
            let members =
                self.superblocks.as_ref().map_or_else(|| vec![unit], |own| own.units_of(unit).to_vec());
            self.counters.ageing.retired_blocks += members.len() as u64;
            if self.superblocks.is_some() {
                for unit in members {
                    self.erased.retire(unit);
                }
            }
        }
    }

    /// True if the drive fails a request because it is read-only: one that writes or discards. With zones, a read of an offline one.
    #[inline]
    pub(crate) fn refuses(&mut self, number: u64, request: &Request) -> bool {
        if self.takes_zone_commands() && self.fails_offline(number, request) {
            return true;
        }
        let refuses = self.read_only.is_some() && !matches!(request.op, Op::Read | Op::Flush);
        if refuses {
            self.failing.push((number, Failure::ReadOnly));
            self.counters.ageing.refused_requests += 1;
            self.counters.ageing.refused_bytes += if request.op.writes() { request.bytes() } else { 0 };
        }
        refuses
    }

    /// The spare that is left.
    pub(crate) fn spare(&self) -> Option<Spare> {
        Some(Spare { fewest: self.ftl.fewest_spare()?, read_only: self.read_only })
    }
}
