//! Commands of the interface, the phases that they go through, and where their time goes.

use flashweir_trace::Request;
use serde::{Deserialize, Serialize};

use crate::stats::Parts;

/// Phase of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Phase {
    /// The doorbell has not rung for it.
    Ringing,
    /// On its way to the drive.
    Submitting,
    /// In its submission queue.
    Queued,
    /// A core works at it.
    Working(u32),
    /// Entries of the map come from the host's memory.
    Loading,
    /// Waits for the link, or is on it, towards the drive.
    Receiving,
    /// Its data wait for the drive's memory, or are put there.
    Storing,
    /// Waits to be next in the drive.
    Ready,
    /// The drive works at it.
    Inside,
    /// Waits for the link, or is on it, towards the host.
    Sending,
    /// Waits for a core to end it.
    Ending,
    /// A core ends it.
    Finishing(u32),
    /// On its way to the host.
    Completing,
}

/// A command.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Command {
    /// The part of its request that it is.
    pub(super) part: Request,
    /// Its request, in the table of those.
    pub(super) owner: u32,
    /// Commands submitted before it.
    pub(super) order: u64,
    pub(super) phase: Phase,
    /// Since when it is in that phase, ns.
    since_ns: u64,
    /// Bytes of the map that come from the host's memory for it.
    pub(super) map_bytes: u64,
    /// Parts of it that the drive still works at.
    pub(super) outstanding: u32,
    /// End of its latest transfer to the host, ns.
    pub(super) sent_ns: u64,
    /// The part that the drive was done with last: when, ns, and where its time went.
    pub(super) last: (u64, Parts),
    pub(super) parts: Parts,
}

impl Command {
    pub(super) fn new(part: Request, owner: u32, order: u64, now_ns: u64, parts: Parts) -> Self {
        Self {
            part,
            owner,
            order,
            phase: Phase::Ringing,
            since_ns: now_ns,
            map_bytes: 0,
            outstanding: 1,
            sent_ns: 0,
            last: (0, Parts::default()),
            parts,
        }
    }

    /// Enters a phase. The time of the one before is booked; that in the drive is known to the drive alone.
    pub(super) fn enter(&mut self, now_ns: u64, phase: Phase) {
        let spent_ns = now_ns - self.since_ns;
        match self.phase {
            Phase::Ringing => self.parts.host_queue += spent_ns,
            Phase::Submitting | Phase::Receiving | Phase::Sending | Phase::Completing => {
                self.parts.link += spent_ns;
            }
            Phase::Queued | Phase::Working(_) | Phase::Ending | Phase::Finishing(_) => {
                self.parts.firmware += spent_ns;
            }
            Phase::Loading => self.parts.mapping += spent_ns,
            Phase::Storing => self.parts.buffer += spent_ns,
            Phase::Ready | Phase::Inside => {}
        }
        (self.phase, self.since_ns) = (phase, now_ns);
    }
}

/// A request that was submitted.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Submitted {
    pub(super) request: Request,
    pub(super) number: u64,
    pub(super) issue_ns: u64,
    /// Commands of it that are not complete.
    pub(super) left: u32,
    /// The command that completed last: when, ns, and where its time went.
    pub(super) last: (u64, Parts),
}

/// A command that the drive is to work at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ready {
    /// To be named in [`super::Interface::expect`] and [`super::Interface::leave`].
    pub(crate) command: u32,
    /// The operation.
    pub(crate) part: Request,
    /// Number of the request that it is a part of.
    pub(crate) number: u64,
}

/// A part of a command that the drive is done with.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Left {
    /// Order of the command, and first sector of the part.
    pub(super) place: (u64, u64),
    pub(super) command: u32,
    /// Sectors that may leave, of a read.
    pub(super) sectors: u32,
    /// Where its time went in the drive.
    pub(super) parts: Parts,
}

/// Things by number; numbers are used again.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Table<T> {
    all: Vec<T>,
    free: Vec<u32>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self { all: Vec::new(), free: Vec::new() }
    }
}

impl<T> Table<T> {
    /// Puts one in. Returns its number.
    pub(super) fn open(&mut self, item: T) -> u32 {
        if let Some(number) = self.free.pop() {
            self.all[number as usize] = item;
            return number;
        }
        self.all.push(item);
        self.all.len() as u32 - 1
    }

    /// The number may be used again.
    pub(super) fn close(&mut self, number: u32) {
        self.free.push(number);
    }

    pub(super) fn get(&self, number: u32) -> &T {
        &self.all[number as usize]
    }

    pub(super) fn get_mut(&mut self, number: u32) -> &mut T {
        &mut self.all[number as usize]
    }

    /// Those in it.
    pub(super) fn len(&self) -> u32 {
        (self.all.len() - self.free.len()) as u32
    }
}
