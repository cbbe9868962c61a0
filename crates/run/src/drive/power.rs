//! Cuts of the power of a drive that is stepped: where every version of its data is, and what a cut at the present leaves.

use flashweir_ssd::quantity::round_to_u64;
use flashweir_ssd::{Failure, HostEntry};
use flashweir_trace::{Op, Request};

use super::Drive;
use crate::error::Error;
use crate::power::{Outcome, PowerCuts};

/// Changes by the host since the last look.
#[derive(Clone, Debug, Default)]
pub struct HostChanges {
    /// Parts of pages that were written or trimmed, in the order in which they took effect.
    pub entries: Vec<HostEntry>,
    /// Requests that were worked out to their end.
    pub done: Vec<u64>,
    /// Those that the drive failed without taking any of their data.
    pub refused: Vec<u64>,
}

/// A cut of the power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PowerCut {
    /// Losses of promised data.
    pub outcome: Outcome,
    /// Time that the drive takes to rebuild its map: it reads the spare area of every page of every block that is not erased, dies
    /// side by side, ns.
    pub rebuild_ns: u64,
}

impl Drive {
    /// From now on, knows what a power cut would leave. The drive must have been opened with [`super::DriveOptions::journal`], and
    /// nothing may be outstanding.
    pub fn follow_power(&mut self) -> Result<(), Error> {
        if !self.options.journal {
            let expected = "the drive keeps no journal; expected one that was opened with it";
            return Err(Error::setting("power cuts", expected));
        }
        PowerCuts::check(&self.config, self.simulation.geometry())?;
        // The journal of a drive that was restored begins with an empty buffer.
        self.settle()?;
        self.simulation.take_recorded();
        self.power = Some(Box::new(PowerCuts::follow(&mut self.simulation)));
        Ok(())
    }

    /// Takes the host's changes since the last call, in the order in which the drive took them. Requests are named by their numbers, so
    /// they must be submitted in the order of their times.
    pub fn host_changes(&mut self, into: &mut HostChanges) {
        into.entries.clear();
        into.done.clear();
        into.refused.clear();
        let Some(power) = &mut self.power else { return };
        let mut recorded = self.simulation.take_recorded();
        power.take(&recorded);
        power.advance_to(self.state.now_ns);
        let skipped = self.state.skipped;
        for request in &recorded.requests {
            let refused = matches!(request.failure, Some(Failure::ReadOnly | Failure::Zone(_)));
            let list = if refused { &mut into.refused } else { &mut into.done };
            list.push(request.number + skipped);
        }
        into.entries.append(&mut recorded.host);
        into.entries.iter_mut().for_each(|entry| entry.request += skipped);
    }

    /// The version of a sector of a logical page that a rebuild would find now: 0 if nothing newer than when the power was first
    /// followed, or last cut.
    pub fn version_on_flash(&self, lpn: u64, sector: u32) -> u64 {
        self.power.as_ref().map_or(0, |power| power.found(lpn, sector))
    }

    /// Cuts the power at the present. Requests that are outstanding are gone: none of them completes any more. [`Drive::host_changes`]
    /// must have been taken.
    ///
    /// The drive then is one that has rebuilt its map and written its open pages anew, with the versions that were found; its present
    /// is the time at which it had ended what it was at.
    pub fn cut_power(&mut self) -> Result<PowerCut, Error> {
        let now_ns = self.state.now_ns;
        let Some(power) = &mut self.power else {
            let expected = "what is on flash is not followed; expected a drive of which it is";
            return Err(Error::setting("power cut", expected));
        };
        let outcome = power.cut(now_ns);
        let rebuild_ns = self.rebuild_ns();
        self.state.skipped += self.state.later.len() as u64;
        self.state.later.clear();
        self.settle()?;
        self.follow_power()?;
        Ok(PowerCut { outcome, rebuild_ns })
    }

    /// Lets everything end that is outstanding, and empties the write buffer. Nobody hears of what completes.
    fn settle(&mut self) -> Result<(), Error> {
        if self.outstanding() > 0 || self.simulation.buffered_pages() > 0 {
            let time_ns = self.state.now_ns;
            // A protected buffer is emptied by its capacitors.
            self.simulation.protect_buffer(false);
            self.submit(&[Request { time_ns, lba: 0, sectors: 0, stream: 0, op: Op::Flush, handle: 0 }])?;
            self.drain_while(&mut || true)?;
            self.simulation.protect_buffer(self.config.buffer.protected);
            self.state.ready.clear();
        }
        Ok(())
    }

    fn rebuild_ns(&self) -> u64 {
        let (geometry, timing) = (self.simulation.geometry(), &self.config.timing);
        let units = geometry.units() / geometry.channels;
        let times = &timing.read.0;
        let read_ns = times.iter().map(|time| time.0).sum::<u64>() as f64 / times.len().max(1) as f64;
        let of_channel = |channel: u32| {
            let blocks: u64 =
                (channel * units..(channel + 1) * units).map(|unit| geometry.unit_blocks(unit)).sum();
            let used = blocks.saturating_sub(self.simulation.free_blocks(channel));
            let pages = (used * u64::from(geometry.pages_per_block)) as f64;
            let arrays_ns = pages / f64::from(geometry.dies_per_channel()) * read_ns;
            arrays_ns.max(pages * timing.command.0 as f64)
        };
        round_to_u64((0..geometry.channels).map(of_channel).fold(0.0, f64::max))
    }
}
