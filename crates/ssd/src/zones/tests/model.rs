//! A second model of the specification's zones, for tests alone: it shares no code with the first but the names of states and
//! actions. Every command is judged on a copy, and counts are found by looking at all zones.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;

use crate::zones::{Action, Layout, ZoneState};

/// A command.
#[derive(Clone, Copy, Debug)]
pub(super) enum Op {
    Read(u64, u64),
    Write(u64, u64),
    Append(u64, u64),
    Commit(u64),
    Manage(Action, u64, bool),
    /// A zone fails; true if it can still be read.
    Fail(u64, bool),
}

/// Draws a command; most go to few places, so that they meet.
pub(super) fn draw(rng: &mut Xoshiro256PlusPlus, layout: &Layout, model: &Model) -> Op {
    let mut below = |bound: u64| rng.next_u64() % bound;
    let beyond = u64::from(below(64) == 0);
    let zone = below(u64::from(layout.zones) + beyond);
    let start = zone * layout.size;
    let (near, far) = (start + model.written(zone), start + below(layout.size));
    let lba = match below(8) {
        0 => far,
        1 => start,
        2 => near + below(2 * layout.size),
        3 if below(50) == 0 => u64::MAX - below(3),
        _ => near,
    };
    let blocks = if below(20) == 0 { below(2 * layout.size) } else { 1 + below(4) };
    let action = match below(12) {
        0..3 => Action::Open { zrwa: false },
        3..5 => Action::Open { zrwa: true },
        5..7 => Action::Close,
        7 => Action::Finish,
        8..11 => Action::Reset,
        _ => Action::Offline,
    };
    match below(40) {
        0..4 => Op::Read(far, blocks),
        4..16 => Op::Write(lba, blocks),
        16..22 => Op::Append(if below(10) == 0 { far } else { start }, blocks),
        22..26 => Op::Commit(near + below(8)),
        26..38 => Op::Manage(action, if below(20) == 0 { far } else { start }, below(12) == 0),
        _ if below(100) == 0 => Op::Fail(zone.min(u64::from(layout.zones) - 1), below(2) == 0),
        _ => Op::Read(start, 1),
    }
}

#[derive(Clone, Copy, Debug)]
struct Z {
    s: ZoneState,
    wp: u64,
    area: bool,
    /// Time of the implicit opening.
    since: u64,
}

#[derive(Clone, Debug)]
pub(super) struct Model {
    of: Layout,
    z: Vec<Z>,
    clock: u64,
}

const OPENED: [ZoneState; 2] = [ZoneState::ImplicitlyOpened, ZoneState::ExplicitlyOpened];
const ACTIVE: [ZoneState; 3] = [ZoneState::ImplicitlyOpened, ZoneState::ExplicitlyOpened, ZoneState::Closed];

impl Model {
    pub(super) fn new(layout: &Layout) -> Self {
        let empty = Z { s: ZoneState::Empty, wp: 0, area: false, since: 0 };
        Self { of: *layout, z: vec![empty; layout.zones as usize], clock: 0 }
    }

    pub(super) fn written(&self, zone: u64) -> u64 {
        self.z.get(zone as usize).map_or(0, |z| z.wp)
    }

    pub(super) fn report(&self) -> impl Iterator<Item = (ZoneState, u64, bool)> {
        self.z.iter().map(|z| (z.s, z.wp, z.area))
    }

    pub(super) fn counts(&self) -> (u32, u32) {
        let of = |states: &[ZoneState]| self.z.iter().filter(|z| states.contains(&z.s)).count() as u32;
        (of(&OPENED), of(&ACTIVE))
    }

    pub(super) fn answer(&mut self, op: Op) -> Result<Option<u64>, u8> {
        let mut next = self.clone();
        next.clock += 1;
        let done = next.act(op);
        if done.is_ok() {
            *self = next;
        }
        done
    }

    fn end(&self) -> u64 {
        u64::from(self.of.zones) * self.of.size
    }

    fn act(&mut self, op: Op) -> Result<Option<u64>, u8> {
        match op {
            Op::Read(_, 0) | Op::Write(_, 0) | Op::Append(_, 0) => Err(0x02),
            Op::Read(lba, n) | Op::Write(lba, n) | Op::Append(lba, n)
                if u128::from(lba) + u128::from(n) > u128::from(self.end()) =>
            {
                Err(0x80)
            }
            Op::Commit(lba) | Op::Manage(_, lba, false) if lba >= self.end() => Err(0x80),
            Op::Read(lba, n) => self.reads(lba / self.of.size, (lba + n - 1) / self.of.size),
            Op::Write(lba, n) => {
                self.writes((lba / self.of.size) as usize, lba % self.of.size, n).map(|()| None)
            }
            Op::Append(lba, n) => {
                let zone = (lba / self.of.size) as usize;
                if !lba.is_multiple_of(self.of.size) || n > self.of.max_append.unwrap_or(n) {
                    return Err(0x02);
                }
                if self.z[zone].area {
                    return Err(0xb6);
                }
                let wp = self.z[zone].wp;
                self.writes(zone, wp, n).map(|()| Some(lba + wp))
            }
            Op::Commit(lba) => self.commits((lba / self.of.size) as usize, lba % self.of.size).map(|()| None),
            Op::Manage(action, lba, false) if lba.is_multiple_of(self.of.size) => {
                self.manages(action, (lba / self.of.size) as usize).map(|()| None)
            }
            Op::Manage(_, _, false) => Err(0x02),
            Op::Manage(action, _, true) => self.manages_all(action).map(|()| None),
            Op::Fail(zone, readable) => {
                let z = &mut self.z[zone as usize];
                if z.s != ZoneState::Offline {
                    z.s = if readable { ZoneState::ReadOnly } else { ZoneState::Offline };
                    (z.area, z.since) = (false, 0);
                }
                Ok(None)
            }
        }
    }

    fn reads(&self, first: u64, last: u64) -> Result<Option<u64>, u8> {
        if first < last && !self.of.reads_across {
            return Err(0xb8);
        }
        let offline = (first..=last).any(|zone| self.z[zone as usize].s == ZoneState::Offline);
        if offline { Err(0xbb) } else { Ok(None) }
    }

    fn writes(&mut self, zone: usize, at: u64, n: u64) -> Result<(), u8> {
        let Z { s, wp, area, .. } = self.z[zone];
        let code = [(ZoneState::Full, 0xb9), (ZoneState::ReadOnly, 0xba), (ZoneState::Offline, 0xbb)];
        if let Some((_, code)) = code.iter().find(|(state, _)| *state == s) {
            return Err(*code);
        }
        let zrwa = self.of.zrwa.filter(|_| area);
        let last = at + n;
        match zrwa {
            None if at != wp => return Err(0xbc),
            Some(zrwa) if at < wp || last > wp + zrwa.size + zrwa.size => return Err(0xbc),
            _ => {}
        }
        if last > self.of.capacity {
            return Err(0xb8);
        }
        self.opens(zone, ZoneState::ImplicitlyOpened)?;
        match zrwa {
            None => self.z[zone].wp = last,
            // Granule by granule, until the area reaches the end of the write.
            Some(zrwa) => {
                while self.z[zone].wp + zrwa.size < last {
                    self.z[zone].wp += zrwa.granularity;
                }
            }
        }
        self.fills(zone);
        Ok(())
    }

    fn fills(&mut self, zone: usize) {
        if self.z[zone].wp >= self.of.capacity {
            let wp = self.of.capacity;
            self.z[zone] = Z { s: ZoneState::Full, wp, area: false, since: 0 };
        }
    }

    fn commits(&mut self, zone: usize, at: u64) -> Result<(), u8> {
        let Some(zrwa) = self.of.zrwa else { return Err(0xb6) };
        let Z { wp, area, .. } = self.z[zone];
        let outside = at < wp || at >= wp + zrwa.size || at >= self.of.capacity;
        if !area || outside || !(at + 1 - wp).is_multiple_of(zrwa.granularity) && at + 1 != self.of.capacity {
            return Err(0x02);
        }
        self.opens(zone, ZoneState::ImplicitlyOpened)?;
        self.z[zone].wp = at + 1;
        self.fills(zone);
        Ok(())
    }

    /// Opens a zone; an open one stays as it is if a write does so.
    fn opens(&mut self, zone: usize, to: ZoneState) -> Result<(), u8> {
        let s = self.z[zone].s;
        if OPENED.contains(&s) {
            if to == ZoneState::ExplicitlyOpened {
                (self.z[zone].s, self.z[zone].since) = (to, 0);
            }
            return Ok(());
        }
        let (open, active) = self.counts();
        if s == ZoneState::Empty && self.of.max_active == Some(active) {
            return Err(0xbd);
        }
        if self.of.max_active.is_some_and(|most| active > most) {
            return Err(0xbd);
        }
        if self.of.max_open == Some(open) {
            let mut by_age: Vec<usize> = (0..self.z.len()).collect();
            by_age.retain(|other| self.z[*other].s == ZoneState::ImplicitlyOpened);
            by_age.sort_by_key(|other| self.z[*other].since);
            let oldest = *by_age.first().ok_or(0xbe)?;
            (self.z[oldest].s, self.z[oldest].since) = (ZoneState::Closed, 0);
        }
        let since = if to == ZoneState::ImplicitlyOpened { self.clock } else { 0 };
        (self.z[zone].s, self.z[zone].since) = (to, since);
        Ok(())
    }

    fn manages(&mut self, action: Action, zone: usize) -> Result<(), u8> {
        use ZoneState::{Closed, Empty, Full, Offline, ReadOnly};
        let Z { s, wp, .. } = self.z[zone];
        let ends = |z: &mut Z, s| (z.s, z.area, z.since) = (s, false, 0);
        let opened = OPENED.contains(&s);
        match action {
            Action::Open { zrwa } => {
                let mut wants = false;
                if zrwa {
                    let area = self.of.zrwa.ok_or(0xb6)?;
                    if !wp.is_multiple_of(area.granularity) {
                        return Err(0xb6);
                    }
                    wants = !self.z[zone].area && !matches!(s, Full | ReadOnly | Offline);
                    let taken = self.z.iter().filter(|z| z.area).count();
                    if wants && taken >= area.resources as usize {
                        return Err(0xb7);
                    }
                }
                if matches!(s, Full | ReadOnly | Offline) {
                    return Err(0xbf);
                }
                self.opens(zone, ZoneState::ExplicitlyOpened)?;
                self.z[zone].area |= wants;
                return Ok(());
            }
            Action::Close if opened => (self.z[zone].s, self.z[zone].since) = (Closed, 0),
            Action::Close if s == Closed => {}
            Action::Finish if opened || matches!(s, Closed | Empty | Full) => ends(&mut self.z[zone], Full),
            Action::Reset if opened || matches!(s, Closed | Empty | Full) => {
                ends(&mut self.z[zone], Empty);
                self.z[zone].wp = 0;
            }
            Action::Offline if matches!(s, ReadOnly | Offline) => ends(&mut self.z[zone], Offline),
            _ => return Err(0xbf),
        }
        Ok(())
    }

    fn manages_all(&mut self, action: Action) -> Result<(), u8> {
        let states: &[ZoneState] = match action {
            Action::Open { zrwa: true } => return Err(0x02),
            Action::Open { zrwa: false } => &[ZoneState::Closed],
            Action::Close => &OPENED,
            Action::Finish => &ACTIVE,
            Action::Reset => &[
                ZoneState::ImplicitlyOpened,
                ZoneState::ExplicitlyOpened,
                ZoneState::Closed,
                ZoneState::Full,
            ],
            Action::Offline => &[ZoneState::ReadOnly],
        };
        let chosen: Vec<usize> = (0..self.z.len()).filter(|zone| states.contains(&self.z[*zone].s)).collect();
        if action == (Action::Open { zrwa: false }) {
            let most = self.of.max_open.map_or(usize::MAX, |most| most as usize);
            if self.counts().0 as usize + chosen.len() > most {
                return Err(0xbe);
            }
        }
        chosen.into_iter().try_for_each(|zone| self.manages(action, zone))
    }
}
