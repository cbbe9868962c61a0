//! The journal: what every command does to the pages of the flash, and what the host wrote, in the order in which the drive
//! decides it. When the commands have run, [`Journal::put_times`] adds the times. It records and judges nothing: power cuts
//! are evaluated above the drive.
//!
//! Each page carries in its spare area its logical page and its *sequence*, a number that grows with every program of the
//! host; copies keep it. A page may hold sectors of several requests, so each sector has a *version*, which stands for its
//! request. Both are counted from one source, in the order in which writes and discards take effect.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::Content;
use crate::geometry::Geometry;
use crate::nand::CommandRecord;
use crate::nand::probe::Recorded;
use crate::op::{
    Change, CommandKind, Effect, FlashOp, HeldEntry, HostEntry, Image, NO_EFFECT, PageAt, PageEntry, Stage,
    TrimEntry,
};

/// A logical page that holds nothing, though there may be older images of it on flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trim {
    /// Its place among the sequences of pages.
    pub sequence: u64,
    /// The version that its sectors have.
    pub version: u64,
}

/// Content of the drive when the run starts.
#[derive(Clone, Debug, Default)]
pub struct Baseline {
    /// Sectors of a page.
    pub page_sectors: u32,
    /// Logical pages of the drive.
    pub logical_pages: u64,
    /// By physical page.
    pub images: Vec<Option<Arc<Image>>>,
    /// By logical page.
    pub trims: BTreeMap<u64, Trim>,
    /// Pages in random write areas.
    pub held: Vec<Arc<Image>>,
    /// Versions up to this one were there before.
    pub last_version: u64,
}

/// A command handed to its die: its place in the journal, and what it does.
type Handed = (u64, Vec<Change>);

/// Keeps the journal.
#[derive(Clone, Debug)]
pub(crate) struct Journal {
    page_sectors: u32,
    logical_pages: u64,
    unit_pages: u64,
    pages_per_block: u32,
    /// Mapping units in a page of flash: what is one page here is a mapping unit then.
    per_page: u64,
    /// True once time runs.
    begun: bool,
    /// The last number given to a version or a sequence.
    last: u64,
    /// By physical page: what it will hold when all commands made have run.
    images: Vec<Option<Arc<Image>>>,
    trims: BTreeMap<u64, Trim>,
    /// By logical page: those in random write areas.
    held: BTreeMap<u64, Arc<Image>>,
    /// The direct page first, then by entry of the buffer: logical page and versions.
    staged: Vec<(u64, Vec<u64>)>,
    /// By number: effects of operations that have no command yet.
    made: BTreeMap<u32, Vec<Change>>,
    /// By number: what commands do that have not been recorded yet.
    handed: BTreeMap<u32, Handed>,
    next_effect: u32,
    /// Changes numbered so far.
    numbered: u64,
    host: Vec<HostEntry>,
    /// Requests that entered, in that order.
    entered: Vec<u64>,
    failure: Option<String>,
    /// The drive was restored: commands that it had then are older than all that is followed.
    restored: bool,
}

impl Journal {
    pub(crate) fn new(geometry: &Geometry) -> Self {
        Self {
            page_sectors: geometry.page_sectors,
            logical_pages: geometry.logical_pages,
            unit_pages: geometry.max_unit_pages(),
            pages_per_block: geometry.pages_per_block,
            per_page: geometry.units_per_page.into(),
            begun: false,
            last: Image::NOTHING,
            images: vec![None; geometry.max_unit_pages() as usize * geometry.units() as usize],
            trims: BTreeMap::new(),
            held: BTreeMap::new(),
            staged: Vec::new(),
            made: BTreeMap::new(),
            handed: BTreeMap::new(),
            next_effect: 0,
            numbered: 0,
            host: Vec::new(),
            entered: Vec::new(),
            failure: None,
            restored: false,
        }
    }

    /// The journal of a drive that was restored: all that was there is older than what is followed.
    pub(crate) fn of_restored(geometry: &Geometry) -> Self {
        Self { restored: true, ..Self::new(geometry) }
    }

    fn next(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    fn physical(&self, unit: u32, ppn: u32) -> u64 {
        u64::from(unit) * self.unit_pages + u64::from(ppn)
    }

    fn staged(&mut self, stage: Stage) -> &mut (u64, Vec<u64>) {
        let at = match stage {
            Stage::Direct | Stage::Padding => 0,
            Stage::Buffer(slot) => 2 * slot as usize + 1,
            Stage::Held(number) => 2 * number as usize + 2,
        };
        if at >= self.staged.len() {
            self.staged.resize(at + 1, (0, Vec::new()));
        }
        let staged = &mut self.staged[at];
        staged.1.resize(self.page_sectors as usize, Image::NOTHING);
        staged
    }

    /// Content of the sectors of a page that are not written now.
    fn beneath(&self, lpn: u64, old: Option<(u32, u32)>) -> Option<Arc<Image>> {
        match old {
            Some((unit, ppn)) => self.images[self.physical(unit, ppn) as usize].clone(),
            None => self.trims.get(&lpn).map(|trim| Arc::new(Image::new(lpn, 0, &[trim.version]))),
        }
    }

    /// A page is written: at once before the run starts.
    fn put(&mut self, page: u64, image: Option<Arc<Image>>) -> Change {
        self.images[page as usize].clone_from(&image);
        Change::Programmed { page, image }
    }

    /// The number for what an operation or a command does.
    fn number(&mut self) -> u32 {
        let number = self.next_effect;
        self.next_effect = (number + 1) % NO_EFFECT;
        number
    }

    /// A staged page is programmed.
    fn program(&mut self, stage: Stage, unit: u32, ppn: u32, old: Option<PageAt>) -> Change {
        let (lpn, mut versions) = match stage {
            Stage::Direct | Stage::Padding | Stage::Held(_) => std::mem::take(self.staged(stage)),
            Stage::Buffer(_) => self.staged(stage).clone(),
        };
        if versions.iter().all(|version| *version == Image::NOTHING) {
            // Padding: nothing of the host is in it.
            return self.put(self.physical(unit, ppn), None);
        }
        if versions.contains(&Image::NOTHING)
            && let Some(beneath) = self.beneath(lpn, old)
        {
            for (sector, version) in versions.iter_mut().enumerate() {
                *version = if *version == Image::NOTHING { beneath.version(sector) } else { *version };
            }
        }
        self.trims.remove(&lpn);
        let image = Image::new(lpn, self.next(), &versions);
        self.put(self.physical(unit, ppn), Some(Arc::new(image)))
    }

    fn copy(&mut self, (source, from): PageAt, unit: u32, to: u32) -> Change {
        let image = self.images[self.physical(source, from) as usize].clone();
        self.put(self.physical(unit, to), image)
    }

    fn erase(&mut self, unit: u32, block: u32) -> Change {
        let first = self.physical(unit, block * self.pages_per_block);
        let pages = first..first + u64::from(self.pages_per_block);
        self.images[first as usize..pages.end as usize].fill(None);
        Change::Erased(pages)
    }

    fn fail(&mut self, detail: impl FnOnce() -> String) {
        if self.failure.is_none() && !self.restored {
            self.failure = Some(detail());
        }
    }

    /// Number of the page of flash that a change is made to; of a block its first one.
    fn flash_page(&self, change: &Change) -> u64 {
        match change {
            Change::Programmed { page, .. } => page / self.per_page,
            Change::Erased(pages) => pages.start / self.per_page,
        }
    }

    /// The changes that a command made, with their times: a page can be read when it has been programmed, pages moved by one
    /// command one after the other in even shares of its time; a block is gone when its erase starts. Mapping units of one page
    /// of flash are there at once.
    fn spread(&mut self, record: &CommandRecord, into: &mut Vec<PageEntry>) {
        let Some((number, changes)) = self.handed.remove(&record.effect) else {
            self.fail(|| format!("die {}: {:?} ran, but its effect is not known", record.die, record.kind));
            return;
        };
        // When the copies before a pause were made is not recorded.
        let spread_ns = if record.pauses == 0 { record.end_ns - record.start_ns } else { 0 };
        let ends = changes.windows(2).filter(|pair| self.flash_page(&pair[0]) != self.flash_page(&pair[1]));
        let pages = ends.count() as u64 + 1;
        let share_ns = spread_ns / pages;
        let (mut left, mut page) = (pages, None);
        for (change, number) in changes.into_iter().zip(number..) {
            let of = Some(self.flash_page(&change));
            left -= u64::from(std::mem::replace(&mut page, of) != of);
            let time_ns = match record.kind {
                CommandKind::Erase => record.start_ns,
                CommandKind::Copies => record.end_ns - share_ns * left,
                _ => record.end_ns,
            };
            into.push(PageEntry { time_ns, number, change });
        }
    }
}

impl Content for Journal {
    const ON: bool = true;

    fn enter(&mut self, request: u64) {
        if self.begun {
            self.entered.push(request);
        }
    }

    fn stage(&mut self, stage: Stage, request: u64, lpn: u64, sectors: Range<u32>) {
        let version = self.next();
        let staged = self.staged(stage);
        staged.0 = lpn;
        staged.1[sectors.start as usize..sectors.end as usize].fill(version);
        if self.begun {
            self.host.push(HostEntry { request, lpn, sectors, version, trim: None, held: None });
        }
    }

    fn hold(&mut self, time_ns: u64, number: u32, request: u64, lpn: u64, sectors: Range<u32>) {
        self.stage(Stage::Held(number), request, lpn, sectors);
        let sequence = self.next();
        let image = Arc::new(Image::new(lpn, sequence, &self.staged(Stage::Held(number)).1));
        self.held.insert(lpn, Arc::clone(&image));
        if let Some(entry) = self.host.last_mut().filter(|_| self.begun) {
            entry.held = Some(HeldEntry { time_ns, image });
        }
    }

    fn inherit(&mut self, from: Stage, to: Stage) {
        *self.staged(to) = self.staged(from).clone();
    }

    fn apply(&mut self, op: &FlashOp, moves: &[(u32, u32)]) -> u32 {
        let unit = op.unit;
        let changes = match op.effect {
            Effect::Read { .. } | Effect::MapRead { .. } => return NO_EFFECT,
            Effect::Laid { ppn, .. } => {
                // Older than all that is followed: no write can be lost with it. A stale page that was there can be found
                // until its block is erased.
                self.put(self.physical(unit, ppn), None);
                return NO_EFFECT;
            }
            Effect::Programmed { ppn, stale: old, stage } => vec![self.program(stage, unit, ppn, old)],
            Effect::MapProgrammed { ppn, .. } | Effect::Parity { ppn } => {
                vec![self.put(self.physical(unit, ppn), None)]
            }
            Effect::Moved(_) => moves.iter().map(|(from, to)| self.copy((unit, *from), unit, *to)).collect(),
            Effect::Gathered(ref gathered) => gathered
                .iter()
                .map(|(from, to)| match from {
                    Some(from) => self.copy(*from, unit, *to),
                    None => self.put(self.physical(unit, *to), None),
                })
                .collect(),
            Effect::Erased { block } => vec![self.erase(unit, block)],
        };
        if !self.begun {
            return NO_EFFECT;
        }
        let number = self.number();
        self.made.insert(number, changes);
        number
    }

    fn handed(&mut self, kind: CommandKind, effects: &[u32]) -> u32 {
        if !self.begun || kind == CommandKind::Read {
            return NO_EFFECT;
        }
        // Planes move their pages side by side, each of them whole.
        let made = effects.iter().filter_map(|effect| self.made.remove(effect));
        let mut planes: Vec<_> = made.map(|changes| changes.into_iter().peekable()).collect();
        if planes.len() != effects.len() {
            self.fail(|| format!("{kind:?} was handed over without its effect"));
        }
        let mut changes = Vec::new();
        loop {
            let before = changes.len();
            for plane in &mut planes {
                let Some(first) = plane.next() else { continue };
                let page = self.flash_page(&first);
                changes.push(first);
                while let Some(next) = plane.next_if(|next| self.flash_page(next) == page) {
                    changes.push(next);
                }
            }
            if changes.len() == before {
                break;
            }
        }
        let place = self.numbered;
        self.numbered += changes.len() as u64;
        let number = self.number();
        self.handed.insert(number, (place, changes));
        number
    }

    fn unstage(&mut self, stage: Stage) {
        let (lpn, versions) = self.staged(stage);
        versions.clear();
        let lpn = *lpn;
        if matches!(stage, Stage::Held(_)) {
            self.held.remove(&lpn);
        }
    }

    fn trim(&mut self, time_ns: u64, request: u64, lpn: u64) {
        let (version, sequence) = (self.next(), self.next());
        self.trims.insert(lpn, Trim { sequence, version });
        if self.begun {
            let (sectors, trim) = (0..self.page_sectors, Some(TrimEntry { time_ns, sequence }));
            self.host.push(HostEntry { request, lpn, sectors, version, trim, held: None });
        }
    }

    fn read(&mut self, _: u64, _: Range<u32>, _: Option<(u32, u32)>, _: Option<Stage>) {}

    fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    fn begin(&mut self, _: &Geometry) -> Option<Baseline> {
        self.begun = true;
        Some(Baseline {
            page_sectors: self.page_sectors,
            logical_pages: self.logical_pages,
            images: self.images.clone(),
            trims: self.trims.clone(),
            held: self.held.values().cloned().collect(),
            last_version: self.last,
        })
    }

    fn put_times(&mut self, recorded: &mut Recorded) {
        if !self.begun {
            return;
        }
        recorded.host = std::mem::take(&mut self.host);
        recorded.entered = std::mem::take(&mut self.entered);
        for record in &recorded.commands {
            if record.kind != CommandKind::Read {
                self.spread(record, &mut recorded.pages);
            }
        }
    }
}

#[cfg(test)]
mod tests;
