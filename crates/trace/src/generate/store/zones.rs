//! A host that writes zones: it resets one, writes it at its write pointer or in its random write area, and finishes it. Some zones are
//! written at a time; the next one is any of the others. Every command is legal on a drive with such zones, whatever they hold before.

use std::collections::VecDeque;

use super::super::draw::{Draw, Purpose};
use super::super::keys::{Pairs, bad_value};
use super::super::share::Share;
use super::super::volume::Place;
use super::Item;
use crate::{Op, SECTOR_BYTES, TraceError, quantity};

/// Options of a host of zones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::generate) struct Options {
    pub(super) zone_sectors: u64,
    /// Zones written at a time.
    pub(super) open: u64,
    append: Share,
    finish_at: Share,
    window_sectors: u64,
    rewrite: Share,
    commit: Share,
    request_sectors: u64,
}

impl Options {
    pub(super) fn read(pairs: &Pairs<'_>) -> Result<Self, TraceError> {
        let size = |key, default: u64, least: u64| {
            let expected =
                format!("expected a size from {least}B to 1TiB in whole sectors of 512 bytes, such as 64MiB");
            let bytes = |text: &str| {
                quantity::parse_bytes(text)
                    .filter(|bytes| bytes.is_multiple_of(SECTOR_BYTES) && (least..=1 << 40).contains(bytes))
            };
            Ok::<_, TraceError>(pairs.read(key, default, &expected, bytes)? / SECTOR_BYTES)
        };
        let share =
            |key, default: Share| pairs.read(key, default, "expected a share from 0 to 1", Share::parse);
        let half = Share::parse("0.5").unwrap_or(Share::ONE);
        let own = Self {
            zone_sectors: size("zone", 64 << 20, SECTOR_BYTES)?,
            open: pairs.read("open", 4, "expected a whole number from 1 to 1000", |text| {
                text.parse().ok().filter(|value| (1..=1000).contains(value))
            })?,
            append: share("append", half)?,
            finish_at: share("finish_at", Share::ONE)?,
            window_sectors: size("window", 0, 0)?,
            rewrite: share("rewrite", Share::parse("0.2").unwrap_or(Share::ZERO))?,
            commit: share("commit", half)?,
            request_sectors: size("request", 256 << 10, SECTOR_BYTES)?,
        };
        let zone = quantity::format_bytes(own.zone_sectors * SECTOR_BYTES);
        let within = |key, sectors: u64| {
            let found = quantity::format_bytes(sectors * SECTOR_BYTES);
            let expected = format!("larger than the zone, {zone}");
            if sectors > own.zone_sectors { Err(bad_value(key, &found, expected)) } else { Ok(()) }
        };
        within("window", own.window_sectors)?;
        within("request", own.request_sectors)?;
        if own.finish_at.of(own.zone_sectors / own.request_sectors) == 0 {
            let expected = format!("leaves no request of a zone of {zone}; expected more");
            return Err(bad_value("finish_at", &own.finish_at.to_string(), expected));
        }
        Ok(own)
    }

    pub(super) fn print(&self) -> Vec<(&'static str, String)> {
        let bytes = |sectors: u64| quantity::format_bytes(sectors * SECTOR_BYTES);
        vec![
            ("zone", bytes(self.zone_sectors)),
            ("open", self.open.to_string()),
            ("append", self.append.to_string()),
            ("finish_at", self.finish_at.to_string()),
            ("window", bytes(self.window_sectors)),
            ("rewrite", self.rewrite.to_string()),
            ("commit", self.commit.to_string()),
            ("request", bytes(self.request_sectors)),
        ]
    }
}

/// A zone that is written.
#[derive(Clone, Copy, Debug)]
struct Active {
    zone: u64,
    /// Sectors before its write pointer.
    written: u64,
}

#[derive(Clone, Debug)]
pub(super) struct Zones {
    options: Options,
    start: u64,
    /// Sectors at which a zone is finished.
    end: u64,
    active: Vec<Active>,
    /// Sectors of each zone that can be read.
    written: Vec<u64>,
    /// A zone, and how much of it can be read when all that is queued is done.
    queued: Option<(usize, u64)>,
    draw: Draw,
    /// Where reads go.
    read_draw: Draw,
}

impl Zones {
    pub(super) fn new(options: Options, range: Place, seed: u64) -> Self {
        let requests = options.zone_sectors / options.request_sectors;
        let end = options.finish_at.of(requests) * options.request_sectors;
        Self {
            options,
            start: range.lba,
            end: if options.finish_at == Share::ONE { options.zone_sectors } else { end },
            active: Vec::new(),
            written: vec![0; (range.sectors / options.zone_sectors) as usize],
            queued: None,
            draw: Draw::new(seed, Purpose::Addresses),
            read_draw: Draw::new(seed, Purpose::Layout),
        }
    }

    fn start_of(&self, zone: u64) -> u64 {
        self.start + zone * self.options.zone_sectors
    }

    /// A command to a zone.
    fn manage(&self, op: Op, zone: u64) -> Item {
        Item { op, lba: self.start_of(zone), sectors: self.options.zone_sectors, handle: 0 }
    }

    /// Begins a zone, or writes to one: a request, or a window. All that was queued before is done.
    pub(super) fn step(&mut self, queue: &mut VecDeque<Item>) {
        if let Some((zone, written)) = self.queued.take() {
            self.written[zone] = written;
        }
        if (self.active.len() as u64) < self.options.open {
            self.begin(queue);
            return;
        }
        let at = self.draw.below(self.active.len() as u64) as usize;
        let mut active = self.active[at];
        if self.options.window_sectors == 0 {
            self.write(&mut active, queue);
        } else {
            self.write_window(&mut active, queue);
        }
        self.active[at] = active;
        self.queued = Some((active.zone as usize, active.written));
        if active.written >= self.end {
            if active.written < self.options.zone_sectors {
                queue.push_back(self.manage(Op::Finish, active.zone));
            }
            self.active.remove(at);
        }
    }

    /// A zone that is not written is reset: any of them.
    fn begin(&mut self, queue: &mut VecDeque<Item>) {
        let mut zone = self.draw.below((self.written.len() - self.active.len()) as u64);
        let mut taken: Vec<u64> = self.active.iter().map(|active| active.zone).collect();
        taken.sort_unstable();
        for other in taken {
            zone += u64::from(other <= zone);
        }
        queue.push_back(self.manage(Op::Reset, zone));
        if self.options.window_sectors > 0 {
            queue.push_back(self.manage(Op::OpenZrwa, zone));
        }
        self.written[zone as usize] = 0;
        self.active.push(Active { zone, written: 0 });
    }

    /// A request at the write pointer.
    fn write(&mut self, active: &mut Active, queue: &mut VecDeque<Item>) {
        let start = self.start_of(active.zone);
        let sectors = self.options.request_sectors.min(self.end - active.written);
        let appends = self.options.append.hit(self.draw.bits());
        let (op, lba) = if appends { (Op::Append, start) } else { (Op::Write, start + active.written) };
        queue.push_back(Item { op, lba, sectors, handle: 0 });
        active.written += sectors;
    }

    /// A window in any order, some of it again; then its commit.
    fn write_window(&mut self, active: &mut Active, queue: &mut VecDeque<Item>) {
        let Options { zone_sectors, window_sectors, request_sectors, rewrite, commit, .. } = self.options;
        let first = self.start_of(active.zone) + active.written;
        let length = window_sectors.min(zone_sectors - active.written);
        let pieces = length.div_ceil(request_sectors);
        let piece = |at: u64| {
            let sectors = request_sectors.min(length - at * request_sectors);
            Item { op: Op::Write, lba: first + at * request_sectors, sectors, handle: 0 }
        };
        let mut order: Vec<u64> = (0..pieces).collect();
        for last in (1..order.len()).rev() {
            order.swap(last, self.draw.below(last as u64 + 1) as usize);
        }
        for at in order {
            queue.push_back(piece(at));
            if rewrite.hit(self.draw.bits()) {
                queue.push_back(piece(self.draw.below(pieces)));
            }
        }
        let is_next_whole = active.written + 2 * window_sectors <= zone_sectors;
        if commit.hit(self.draw.bits()) || !is_next_whole {
            queue.push_back(Item { op: Op::Commit, lba: first, sectors: length, handle: 0 });
        } else {
            // The last request of the next window moves the write pointer by a window.
            let last = piece(pieces - 1);
            queue.push_back(Item { lba: last.lba + window_sectors, ..last });
        }
        active.written += length;
    }

    /// Reads of what was written before the write pointers; where there is nothing yet, of the first zone.
    pub(super) fn read(&mut self) -> Item {
        let zones = self.written.len() as u64;
        let drawn = self.read_draw.below(zones);
        let mut others = (0..zones).map(|more| (drawn + more) % zones);
        let zone = others.find(|zone| self.written[*zone as usize] > 0).unwrap_or(0);
        let written = self.written[zone as usize].max(self.options.request_sectors);
        let sectors = self.options.request_sectors;
        let lba = self.start_of(zone) + self.read_draw.below(written / sectors) * sectors;
        Item { op: Op::Read, lba, sectors, handle: 0 }
    }
}
