//! All zones of a namespace, and the transitions that commands make.

use serde::{Deserialize, Serialize};

use super::{Action, Layout, Status, Zone, ZoneState};

/// Transition of a zone by a command: its state before, and after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// Number of the zone.
    pub zone: u32,
    /// The zone before the command.
    pub before: Zone,
    /// The zone after it.
    pub after: Zone,
}

/// The zones of a namespace.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Zones {
    layout: Layout,
    all: Vec<Zone>,
    open: u32,
    active: u32,
    with_zrwa: u32,
    /// Implicit openings so far, and zones closed for them.
    openings: u64,
    closed: u64,
}

impl Zones {
    /// All zones EMPTY.
    pub fn new(layout: Layout) -> Self {
        let zones = vec![Zone::default(); layout.zones as usize];
        Self { layout, all: zones, open: 0, active: 0, with_zrwa: 0, openings: 0, closed: 0 }
    }

    /// The fixed properties.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The report of zones, in the order of their addresses.
    pub fn report(&self) -> &[Zone] {
        &self.all
    }

    /// Open zones.
    pub fn open(&self) -> u32 {
        self.open
    }

    /// Active zones.
    pub fn active(&self) -> u32 {
        self.active
    }

    /// Zones that were closed so far so that another one could be opened.
    pub fn closed(&self) -> u64 {
        self.closed
    }

    /// First block of a zone.
    pub fn start_of(&self, zone: u32) -> u64 {
        u64::from(zone) * self.layout.size
    }

    /// The zone of a block.
    fn zone_of(&self, lba: u64) -> Result<u32, Status> {
        let zone = lba / self.layout.size;
        if zone < u64::from(self.layout.zones) { Ok(zone as u32) } else { Err(Status::LbaOutOfRange) }
    }

    /// The zone of a block and the one of the last of so many blocks.
    fn span(&self, lba: u64, blocks: u64) -> Result<(u32, u32), Status> {
        let last = blocks.checked_sub(1).ok_or(Status::InvalidField)?;
        let last = lba.checked_add(last).ok_or(Status::LbaOutOfRange)?;
        Ok((self.zone_of(lba)?, self.zone_of(last)?))
    }

    /// Checks a read.
    pub fn read(&self, lba: u64, blocks: u64) -> Result<(), Status> {
        let (first, last) = self.span(lba, blocks)?;
        if first != last && !self.layout.reads_across {
            return Err(Status::ZoneBoundary);
        }
        let offline =
            |zone: &Zone| if zone.state == ZoneState::Offline { Err(Status::ZoneOffline) } else { Ok(()) };
        self.all[first as usize..=last as usize].iter().try_for_each(offline)
    }

    /// Writes blocks. Returns the zone's transition.
    pub fn write(&mut self, lba: u64, blocks: u64) -> Result<Change, Status> {
        let (zone, _) = self.span(lba, blocks)?;
        self.put(zone, lba - self.start_of(zone), blocks)
    }

    /// Appends blocks to the zone that begins at `lba`. Returns the first block that took them, and the transition.
    pub fn append(&mut self, lba: u64, blocks: u64) -> Result<(u64, Change), Status> {
        let (zone, _) = self.span(lba, blocks)?;
        let start = self.start_of(zone);
        if lba != start || self.layout.max_append.is_some_and(|most| blocks > most) {
            return Err(Status::InvalidField);
        }
        if self.all[zone as usize].has_zrwa {
            return Err(Status::InvalidZoneOperation);
        }
        let at = self.all[zone as usize].written;
        self.put(zone, at, blocks).map(|change| (start + at, change))
    }

    /// Writes blocks of a zone, from offset `at` on.
    fn put(&mut self, zone: u32, at: u64, blocks: u64) -> Result<Change, Status> {
        let before = self.all[zone as usize];
        can_write(before.state)?;
        let area = self.layout.zrwa.filter(|_| before.has_zrwa);
        let reach = area.map_or(0, |area| 2 * area.size);
        // A write without an area begins at the write pointer; one with it lies in the area or the one behind it.
        let end = at.checked_add(blocks).ok_or(Status::ZoneBoundary)?;
        let fits = match area {
            None => at == before.written,
            Some(_) => at >= before.written && end <= before.written + reach,
        };
        if !fits {
            return Err(Status::InvalidWrite);
        }
        if end > self.layout.capacity {
            return Err(Status::ZoneBoundary);
        }
        self.open_implicitly(zone)?;
        let written = match area {
            None => end,
            Some(area) => {
                let beyond = end.saturating_sub(before.written + area.size);
                before.written + beyond.next_multiple_of(area.granularity)
            }
        };
        Ok(self.advance(zone, before, written))
    }

    /// Moves the write pointer.
    fn advance(&mut self, zone: u32, before: Zone, written: u64) -> Change {
        self.all[zone as usize].written = written.min(self.layout.capacity);
        if written >= self.layout.capacity {
            self.set(zone, ZoneState::Full);
        }
        Change { zone, before, after: self.all[zone as usize] }
    }

    /// Commits the blocks of a random write area up to and with `lba`.
    pub fn commit(&mut self, lba: u64) -> Result<Change, Status> {
        let zone = self.zone_of(lba)?;
        let area = self.layout.zrwa.ok_or(Status::InvalidZoneOperation)?;
        let before = self.all[zone as usize];
        let end = lba - self.start_of(zone) + 1;
        let in_area =
            end > before.written && end <= before.written + area.size && end <= self.layout.capacity;
        let whole =
            end.checked_sub(before.written).is_some_and(|blocks| blocks.is_multiple_of(area.granularity));
        if !before.has_zrwa || !in_area || !(whole || end == self.layout.capacity) {
            return Err(Status::InvalidField);
        }
        self.open_implicitly(zone)?;
        Ok(self.advance(zone, before, end))
    }

    /// Manages the zone that begins at `lba`; with `all` every zone that the action applies to. Returns the transitions, none where
    /// the zone was as it should be.
    pub fn manage(&mut self, action: Action, lba: u64, all: bool) -> Result<Vec<Change>, Status> {
        if all {
            return self.manage_all(action);
        }
        let zone = self.zone_of(lba)?;
        if lba != self.start_of(zone) {
            return Err(Status::InvalidField);
        }
        let before = self.all[zone as usize];
        self.act(action, zone)?;
        let after = self.all[zone as usize];
        Ok(Vec::from_iter((before != after).then_some(Change { zone, before, after })))
    }

    /// Does the same to all zones that an action with Select All applies to: all or none of them.
    fn manage_all(&mut self, action: Action) -> Result<Vec<Change>, Status> {
        let applies = |state: ZoneState| match action {
            Action::Open { .. } => state == ZoneState::Closed,
            Action::Close => state.is_open(),
            Action::Finish => state.is_active(),
            Action::Reset => state.is_active() || state == ZoneState::Full,
            Action::Offline => state == ZoneState::ReadOnly,
        };
        let selected = (0..self.layout.zones).filter(|zone| applies(self.all[*zone as usize].state));
        let selected: Vec<u32> = selected.collect();
        if let Action::Open { zrwa } = action {
            if zrwa {
                return Err(Status::InvalidField);
            }
            if self.layout.max_open.is_some_and(|most| self.open as usize + selected.len() > most as usize) {
                return Err(Status::TooManyOpen);
            }
        }
        let mut changes = Vec::with_capacity(selected.len());
        for zone in selected {
            let before = self.all[zone as usize];
            self.act(action, zone)?;
            changes.push(Change { zone, before, after: self.all[zone as usize] });
        }
        Ok(changes)
    }

    fn act(&mut self, action: Action, zone: u32) -> Result<(), Status> {
        let state = self.all[zone as usize].state;
        match (action, state) {
            (Action::Open { zrwa }, _) => return self.open_explicitly(zone, zrwa),
            (Action::Close, ZoneState::Closed)
            | (Action::Finish, ZoneState::Full)
            | (Action::Reset, ZoneState::Empty)
            | (Action::Offline, ZoneState::Offline) => {}
            (Action::Close, _) if state.is_open() => self.set(zone, ZoneState::Closed),
            (Action::Finish, ZoneState::Empty) => self.set(zone, ZoneState::Full),
            (Action::Finish, _) if state.is_active() => self.set(zone, ZoneState::Full),
            (Action::Reset, _) if state.is_active() || state == ZoneState::Full => {
                self.set(zone, ZoneState::Empty);
            }
            (Action::Offline, ZoneState::ReadOnly) => self.set(zone, ZoneState::Offline),
            _ => return Err(Status::InvalidTransition),
        }
        Ok(())
    }

    fn open_explicitly(&mut self, zone: u32, zrwa: bool) -> Result<(), Status> {
        let Zone { state, written, has_zrwa, .. } = self.all[zone as usize];
        let wants = zrwa && !has_zrwa;
        if zrwa {
            let area = self.layout.zrwa.ok_or(Status::InvalidZoneOperation)?;
            if !written.is_multiple_of(area.granularity) {
                return Err(Status::InvalidZoneOperation);
            }
            let may_open = state.is_active() || state == ZoneState::Empty;
            if may_open && wants && self.with_zrwa >= area.resources {
                return Err(Status::ZrwaUnavailable);
            }
        }
        match state {
            ZoneState::Empty | ZoneState::Closed => self.take_resources(state)?,
            ZoneState::ImplicitlyOpened | ZoneState::ExplicitlyOpened => {}
            _ => return Err(Status::InvalidTransition),
        }
        self.set(zone, ZoneState::ExplicitlyOpened);
        if wants {
            self.all[zone as usize].has_zrwa = true;
            self.with_zrwa += 1;
        }
        Ok(())
    }

    /// Opens a zone for a write, if it is not open.
    fn open_implicitly(&mut self, zone: u32) -> Result<(), Status> {
        let state = self.all[zone as usize].state;
        if state.is_open() {
            return Ok(());
        }
        self.take_resources(state)?;
        self.set(zone, ZoneState::ImplicitlyOpened);
        self.openings += 1;
        self.all[zone as usize].opened = self.openings;
        Ok(())
    }

    /// Makes sure that a zone in this state may be opened: closes another one that was opened implicitly, if that is needed.
    fn take_resources(&mut self, state: ZoneState) -> Result<(), Status> {
        let more_active = u32::from(state == ZoneState::Empty);
        if self.layout.max_active.is_some_and(|most| self.active + more_active > most) {
            return Err(Status::TooManyActive);
        }
        if self.layout.max_open.is_some_and(|most| self.open >= most) {
            let implicit = (0u32..).zip(&self.all);
            let implicit = implicit.filter(|(_, zone)| zone.state == ZoneState::ImplicitlyOpened);
            let oldest = implicit.min_by_key(|(_, zone)| zone.opened).map(|(zone, _)| zone);
            self.set(oldest.ok_or(Status::TooManyOpen)?, ZoneState::Closed);
            self.closed += 1;
        }
        Ok(())
    }

    /// A zone fails: it can be read only, or not even that (a failure of the media; no command does so).
    pub fn fail(&mut self, zone: u32, readable: bool) {
        if self.all[zone as usize].state != ZoneState::Offline {
            self.set(zone, if readable { ZoneState::ReadOnly } else { ZoneState::Offline });
        }
    }

    /// Changes the state of a zone, and what is counted of it.
    fn set(&mut self, zone: u32, state: ZoneState) {
        let zone = &mut self.all[zone as usize];
        let before = std::mem::replace(&mut zone.state, state);
        self.open = self.open - u32::from(before.is_open()) + u32::from(state.is_open());
        self.active = self.active - u32::from(before.is_active()) + u32::from(state.is_active());
        if state == ZoneState::Empty {
            zone.written = 0;
        }
        if !state.is_active() && std::mem::take(&mut zone.has_zrwa) {
            self.with_zrwa -= 1;
        }
        if state != ZoneState::ImplicitlyOpened {
            zone.opened = 0;
        }
    }
}

/// Refuses a write to a zone that takes none.
fn can_write(state: ZoneState) -> Result<(), Status> {
    match state {
        ZoneState::Full => Err(Status::ZoneFull),
        ZoneState::ReadOnly => Err(Status::ZoneReadOnly),
        ZoneState::Offline => Err(Status::ZoneOffline),
        _ => Ok(()),
    }
}
