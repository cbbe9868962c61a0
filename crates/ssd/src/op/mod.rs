//! Operations on the flash as data: what allocation, translation and collection want done, in the order in which it may run.
//!
//! Ground types, below every slot. A translation layer appends a [`FlashOp`] to [`Ops`] for each thing that it does to the
//! array, and counts in [`Tally`] what takes no operation. It knows no time; `core` makes [`Command`]s of the list. An
//! operation says by its [`Effect`] what is true when it is done, so checks, journal and schedulers read the operation
//! and nobody is called back.

mod command;
mod entry;
mod opened;
mod packed;
mod slice;
mod tally;

use std::ops::Range;

use serde::{Deserialize, Serialize};

pub(crate) use command::{Command, Link, NO_EFFECT, NOBODY, Role};
pub use command::{CommandKind, Purpose};
pub use entry::{Change, HeldEntry, HostEntry, Image, Level, LevelEntry, PageEntry, TrimEntry};
use opened::Opened;
use packed::Packed;
pub(crate) use slice::{Crossing, PageSlice};
pub(crate) use tally::Tally;

/// A page of flash: its unit, and the physical page within it.
pub(crate) type PageAt = (u32, u32);

/// A block: its unit, and its number there.
pub(crate) type BlockAt = (u32, u32);

/// One operation on the flash of a unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FlashOp {
    /// The unit that makes it.
    pub(crate) unit: u32,
    /// Pages read, programmed or moved; 1 for an erase.
    pub(crate) pages: u32,
    /// Pages read to move these: fewer or more where pages of flash hold several mapping units. 0 for other operations.
    pub(crate) reads: u32,
    /// Read, program, read-modify-write, copies or erase.
    pub(crate) kind: CommandKind,
    /// On whose account it runs.
    pub(crate) purpose: Purpose,
    /// Erased blocks that it is the first to write to.
    pub(crate) opens: u8,
    /// Part of the page that a read, or the read of a read-modify-write, brings over the bus.
    pub(crate) crossing: Crossing,
    /// True if the block that pages are moved out of, that the host's page goes to, or that is erased, is in SLC mode.
    pub(crate) slc: bool,
    /// True once it is done.
    pub(crate) effect: Effect,
}

/// Place of data between the host and the flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Stage {
    /// The page being written, without a buffer.
    Direct,
    /// An entry of the write buffer.
    Buffer(u32),
    /// A page of a random write area, by its number there.
    Held(u32),
    /// Nowhere: the drive programs a page without data.
    Padding,
}

/// State of the flash once an operation is done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Effect {
    /// A page of the host has been read, after the translation page that says where it is if that was read, too.
    Read {
        /// The physical page.
        ppn: u32,
        /// The translation page.
        map: Option<u32>,
    },
    /// The page staged there is at `ppn`; the version before it is stale. Sectors not staged come from that one.
    Programmed {
        /// The physical page.
        ppn: u32,
        /// Unit and physical page of the version before.
        stale: Option<PageAt>,
        /// Where the data was.
        stage: Stage,
    },
    /// Translation page `ppn` has been read.
    MapRead {
        /// The physical page.
        ppn: u32,
        /// Its reason.
        work: MapWork,
    },
    /// Translation page `page` of the unit is at `ppn`; the version before it is stale.
    MapProgrammed {
        /// Its number within the map: that of the unit, or of the drive.
        page: u32,
        /// The physical page.
        ppn: u32,
        /// Its reason.
        work: MapWork,
        /// The victim of another unit whose pages it locates: erased after this.
        clears: Option<BlockAt>,
    },
    /// Pages of the host have moved to this unit, some from other ones, and pages of parity were programmed, in this order: where
    /// each comes from, and the physical page. Empty if pages are not followed.
    Gathered(Vec<(Option<PageAt>, u32)>),
    /// A page of parity is at `ppn`.
    Parity {
        /// The physical page.
        ppn: u32,
    },
    /// Valid pages have moved within the unit: entries of [`Ops::moves`] (none if pages are not followed).
    Moved(Range<usize>),
    /// `ppn` holds a page that was there before the run; a translation page, if `map`. No command makes it so.
    Laid {
        /// The physical page.
        ppn: u32,
        /// True for a translation page.
        map: bool,
    },
    /// All pages of the block are erased.
    Erased {
        /// The physical block.
        block: u32,
    },
}

/// Why a translation page is read or programmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum MapWork {
    /// An entry is wanted that is not in RAM.
    Load,
    /// An entry that has changed has to make room.
    WriteBack,
    /// A collection relocated pages whose entries are not in RAM.
    Update,
}

/// Kind of merge of a log block and a data block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum MergeKind {
    /// The newest versions of all pages were copied to an erased block.
    Full,
    /// The log block was completed with copies and took the data block's place.
    Partial,
    /// The log block took the data block's place as it was.
    Switch,
}

/// Kinds of work that no request waits for, done by the room that holds the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Work {
    /// A block is freed: its valid pages move, or are merged.
    Collect,
    /// The least worn block is freed, so that it takes its share of erases.
    Level,
    /// A changed entry of a map on flash is written there.
    WriteBack,
    /// A block of the SLC cache is emptied: its valid pages move to the other blocks.
    Fold,
    /// Pages that TRIMs left for later are forgotten.
    Trim,
    /// A block whose data is old, or was read often, is freed: its valid pages move.
    Refresh,
}

impl Work {
    /// The name in timelines.
    pub const fn name(self) -> &'static str {
        match self {
            Work::Collect => "collect",
            Work::Level => "level",
            Work::WriteBack => "write back",
            Work::Fold => "fold",
            Work::Trim => "trim",
            Work::Refresh => "refresh",
        }
    }
}

/// One step of a collection. Between two steps the collection may be suspended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Step {
    /// Data block `block` of the unit was merged, with copies.
    Merge {
        /// Its number within the unit.
        block: u32,
    },
    /// A valid page of the victim was moved (page mapping), or a translation page updated after such moves or written back.
    Copy,
    /// The valid pages left in the victim were moved to the newest log block, because of the throttle.
    Move,
    /// The victim was erased: the collection is over.
    Erase,
    /// A page of the SLC cache was moved out of it, or a block of it that had none left was erased. No collection begins or ends.
    Fold {
        /// True if the block was erased.
        erased: bool,
    },
}

/// Where a write went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Written {
    /// The physical page that takes the new version.
    pub(crate) ppn: u32,
    /// Unit and physical page of the version before it (now stale, readable until its block is erased).
    pub(crate) old: Option<PageAt>,
}

/// The operations of one call of a translation layer. The memory is reused.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a state of its own")]
pub(crate) struct Ops {
    list: Vec<FlashOp>,
    /// Pages moved, from and to, in the order of the operations that move them.
    moves: Vec<(u32, u32)>,
    /// Beginning of the moves that no operation has taken.
    taken: usize,
    /// Blocks opened that no operation has taken.
    opened: Opened,
    /// Mapping units in a page of flash; 0 or 1: pages are moved one by one.
    per_page: u32,
    /// Pages of flash read and programmed by the moves since the last operation.
    packed: Packed,
    follows: bool,
    /// True if pages are moved out of a block in SLC mode, or that is erased.
    slc: bool,
    /// True if anything was listed or counted.
    changed: bool,
    /// True if anything was counted.
    counted: bool,
    pub(crate) tally: Tally,
}

impl Ops {
    /// An empty list. `follows`: every page moved is listed; otherwise its number is enough.
    pub(crate) fn new(follows: bool) -> Self {
        Self { follows, ..Self::default() }
    }

    /// Takes out the operations, in order, and the pages that they move; to be followed by [`Ops::give_back`].
    #[inline]
    pub(crate) fn lend(&mut self) -> (Vec<FlashOp>, Vec<(u32, u32)>) {
        (std::mem::take(&mut self.list), std::mem::take(&mut self.moves))
    }

    /// Takes the memory of both back, and forgets everything else.
    #[inline]
    pub(crate) fn give_back(&mut self, list: Vec<FlashOp>, moves: Vec<(u32, u32)>) {
        (self.list, self.moves) = (list, moves);
        self.clear();
    }

    /// Forgets everything but its memory.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.list.clear();
        self.moves.clear();
        self.opened.clear();
        (self.taken, self.changed) = (0, false);
        if self.per_page > 1 {
            self.packed = Packed::default();
        }
        if std::mem::take(&mut self.counted) {
            self.tally.clear();
        }
    }

    /// True if nothing was listed or counted.
    #[inline]
    pub(crate) fn is_blank(&self) -> bool {
        !self.changed
    }

    /// The operations, in order.
    #[inline]
    pub(crate) fn list(&self) -> &[FlashOp] {
        &self.list
    }

    /// Pages that a [`Effect::Moved`] names, from and to.
    #[inline]
    pub(crate) fn moves(&self, range: &Range<usize>) -> &[(u32, u32)] {
        &self.moves[range.clone()]
    }

    /// True if every page moved is listed.
    #[inline]
    pub(crate) fn follows_pages(&self) -> bool {
        self.follows
    }

    /// True if pages that move are listed one by one, or counted by pages of flash: otherwise their number is enough.
    #[inline]
    pub(crate) fn needs_moves(&self) -> bool {
        self.follows || self.per_page > 1
    }

    /// A valid page moves within the unit, from physical page `from` to `to`.
    #[inline]
    pub(crate) fn moved(&mut self, from: u32, to: u32) {
        if self.per_page > 1 {
            self.packed.add(from, to, self.per_page);
        }
        if self.follows {
            self.moves.push((from, to));
        }
    }

    /// The `pages` pages moved since the last call go as one operation.
    #[inline]
    pub(crate) fn copies(&mut self, unit: u32, pages: u32) {
        if pages == 0 {
            return;
        }
        if self.slc {
            self.tally().folded += u64::from(pages);
        }
        let moves = self.taken..self.moves.len();
        self.taken = self.moves.len();
        let opens = self.take_opened(unit);
        let (mut reads, mut programs) = (pages, pages);
        if self.per_page > 1 {
            let packed = std::mem::take(&mut self.packed);
            (reads, programs) = (packed.reads, packed.programs);
            self.tally().moved_units += u64::from(pages);
        }
        self.push(unit, programs, CommandKind::Copies, Purpose::Gc, opens, Effect::Moved(moves));
        if let Some(op) = self.list.last_mut() {
            op.reads = reads;
        }
    }

    /// The block that pages are moved out of next, or that is erased next, is in SLC mode, or not.
    pub(crate) fn of_slc(&mut self, slc: bool) {
        self.slc = slc;
    }

    /// A block is erased.
    pub(crate) fn erased(&mut self, unit: u32, block: u32) {
        self.push(unit, 1, CommandKind::Erase, Purpose::Gc, 0, Effect::Erased { block });
    }

    /// A block is erased because the host resets its zone.
    pub(crate) fn reset(&mut self, unit: u32, block: u32) {
        self.push(unit, 1, CommandKind::Erase, Purpose::Host, 0, Effect::Erased { block });
    }

    /// A physical page holds what was there before the run.
    pub(crate) fn laid(&mut self, unit: u32, ppn: u32, map: bool) {
        let opens = self.take_opened(unit);
        self.push(unit, 1, CommandKind::Program, Purpose::Host, opens, Effect::Laid { ppn, map });
    }

    /// A translation page is read.
    pub(crate) fn read_map(&mut self, unit: u32, ppn: u32, work: MapWork) {
        self.push(unit, 1, CommandKind::Read, Purpose::Mapping, 0, Effect::MapRead { ppn, work });
    }

    /// Translation page `page`, which belongs to the unit, is programmed; before block `clears` of another unit is erased.
    pub(crate) fn program_map(
        &mut self,
        unit: u32,
        (page, ppn): (u32, u32),
        work: MapWork,
        clears: Option<BlockAt>,
    ) {
        let opens = self.take_opened(unit);
        let effect = Effect::MapProgrammed { page, ppn, work, clears };
        self.push(unit, 1, CommandKind::Program, Purpose::Mapping, opens, effect);
    }

    #[inline]
    fn push(
        &mut self,
        unit: u32,
        pages: u32,
        kind: CommandKind,
        purpose: Purpose,
        opens: u8,
        effect: Effect,
    ) {
        self.changed = true;
        let (crossing, slc) = (Crossing::WHOLE, self.slc);
        self.list.push(FlashOp { unit, pages, reads: 0, kind, purpose, opens, crossing, slc, effect });
    }
}
