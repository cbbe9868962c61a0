//! A small translation layer that makes random commands.

use super::*;
use crate::nand::probe::Recorder;
use crate::op::{Link, NO_EFFECT};
use crate::sched::Shape;

/// Data that a command relies on. A token is the data of one write.
#[derive(Clone, Debug)]
pub(super) enum Made {
    Read { token: u64 },
    Program { place: Place, token: u64, reads: Option<u64> },
    Copies { moves: Vec<(Place, Place, u64)> },
    Erase { unit: u32, block: u32 },
}

/// Numbers at random, the same for the same seed.
#[derive(Debug)]
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

#[derive(Clone, Debug, Default)]
struct Block {
    /// Content of each page that was written, with its logical page; `None` if it is stale.
    pages: Vec<Option<(u32, u64)>>,
}

/// The translation layer, and the commands that it has made, by their number.
#[derive(Debug)]
pub(super) struct Maker {
    pub(super) events: Events<Recorder>,
    draw: Draw,
    bus_ns: u64,
    units: Vec<Vec<Block>>,
    open: Vec<u32>,
    pub(super) home: Vec<(Place, u64)>,
    pub(super) made: BTreeMap<(u64, bool), Made>,
    /// The token that each one replaces.
    pub(super) replaced: BTreeMap<u64, u64>,
    number: u64,
    token: u64,
}

impl Maker {
    /// A drive whose logical pages are all written; what they hold is there from the start.
    pub(super) fn new(config: &Config, seed: u64, bus_ns: u64, cache_program: bool) -> Self {
        let geometry = Geometry::new(config).expect("a legal drive");
        let scheduler = Scheduler::new(&config.sched, Shape::default());
        let cache = Cache { program: cache_program, read: false };
        let events = Events::new(&geometry, bus_ns == 0, cache, scheduler, Recorder::default());
        let mut maker = Self {
            events,
            draw: Draw(seed),
            bus_ns,
            units: vec![vec![Block::default(); BLOCKS as usize]; UNITS as usize],
            open: vec![0; UNITS as usize],
            home: Vec::new(),
            made: BTreeMap::new(),
            replaced: BTreeMap::new(),
            number: 0,
            token: 0,
        };
        for lpn in 0..UNITS * LOGICAL {
            let unit = lpn % UNITS;
            let place = maker.next_page(unit);
            maker.put(lpn, place);
        }
        maker
    }

    fn block(&mut self, (unit, ppn): Place) -> &mut Block {
        &mut self.units[unit as usize][(ppn / PAGES) as usize]
    }

    /// The next page of the open block, or of one that is erased.
    fn next_page(&mut self, unit: u32) -> Place {
        let blocks = &self.units[unit as usize];
        let mut open = self.open[unit as usize];
        if blocks[open as usize].pages.len() == PAGES as usize {
            let erased = blocks.iter().position(|block| block.pages.is_empty());
            open = erased.expect("one is always erased") as u32;
        }
        self.open[unit as usize] = open;
        (unit, open * PAGES + blocks[open as usize].pages.len() as u32)
    }

    /// Something new for a logical page.
    fn put(&mut self, lpn: u32, place: Place) {
        self.token += 1;
        let token = self.token;
        self.block(place).pages.push(Some((lpn, token)));
        if let Some(&(old, before)) = self.home.get(lpn as usize) {
            self.replaced.insert(token, before);
            self.block(old).pages[(old.1 % PAGES) as usize] = None;
            self.home[lpn as usize] = (place, token);
        } else {
            self.home.push((place, token));
        }
    }

    fn command(&self, (unit, _): Place, kind: CommandKind, times: [u64; 3]) -> Command {
        let [read_ns, bus, program_ns] = times;
        let (die, bus_ns) = (unit / PLANES, bus * self.bus_ns);
        let awaited = matches!(kind, CommandKind::Read | CommandKind::Program | CommandKind::Rewrite);
        let (purpose, opens, pages, tag, effect) = (Purpose::Host, 0, 1, NOBODY, NO_EFFECT);
        let link = Link::NONE;
        Command { die, kind, purpose, opens, awaited, pages, tag, effect, link, read_ns, bus_ns, program_ns }
    }

    /// Pages that a command comes with, if the scheduler wants them.
    fn touching(&self, places: &[Place]) -> Pages {
        let mut pages = Pages::default();
        if self.events.wants_pages() {
            for (unit, ppn) in places {
                pages.add(*unit, *ppn);
            }
        }
        pages
    }

    fn submit(&mut self, command: Command, pages: Pages, made: Made) {
        self.number += 1;
        self.events.request = self.number;
        self.made.insert((self.number, command.kind == CommandKind::Read), made);
        self.events.submit(self.events.now_ns, command, pages);
    }

    fn read(&mut self, lpn: u32) {
        let (place, token) = self.home[lpn as usize];
        let read = self.command(place, CommandKind::Read, [20, 1, 0]);
        self.submit(read, self.touching(&[place]), Made::Read { token });
    }

    /// Makes sure that two blocks are erased, or one and room in the open one.
    fn collect(&mut self, unit: u32) {
        let blocks = &self.units[unit as usize];
        let open = self.open[unit as usize];
        let erased = blocks.iter().filter(|block| block.pages.is_empty()).count();
        if blocks[open as usize].pages.len() < PAGES as usize || erased > 1 {
            return;
        }
        let valid = |block: u32| blocks[block as usize].pages.iter().flatten().count();
        let victim = (0..BLOCKS)
            .filter(|block| !blocks[*block as usize].pages.is_empty())
            .min_by_key(|block| valid(*block));
        let victim = victim.expect("blocks are full");
        let (mut pages, mut moves) = (Pages::default(), Vec::new());
        for page in 0..PAGES {
            let from = (unit, victim * PAGES + page);
            let Some((lpn, token)) = self.block(from).pages[page as usize].take() else { continue };
            let to = self.next_page(unit);
            self.block(to).pages.push(Some((lpn, token)));
            self.home[lpn as usize] = (to, token);
            pages.add_move(unit, from.1, to.1);
            moves.push((from, to, token));
        }
        let count = moves.len() as u64;
        if count > 0 {
            let copies = self.command((unit, 0), CommandKind::Copies, [20 * count, 2 * count, 200 * count]);
            self.submit(Command { pages: count as u32, ..copies }, pages, Made::Copies { moves });
        }
        self.units[unit as usize][victim as usize].pages.clear();
        let block: Vec<Place> = (0..PAGES).map(|page| (unit, victim * PAGES + page)).collect();
        let erase = self.command((unit, 0), CommandKind::Erase, [0, 0, 700]);
        self.events.guard(&[(unit, victim)]);
        self.submit(erase, self.touching(&block), Made::Erase { unit, block: victim });
    }

    /// Writes all of a page, or part of it, to any unit that can take one more page.
    fn write(&mut self, lpn: u32, in_part: bool) {
        let (old, reads) = self.home[lpn as usize];
        let wish = self.draw.below(UNITS.into()) as u32;
        let room =
            |unit: u32| self.home.iter().filter(|((of, _), _)| *of == unit).count() < (LOGICAL + 2) as usize;
        let unit = if room(wish) { wish } else { old.0 };
        self.collect(unit);
        // A collection may have moved it.
        let (old, _) = self.home[lpn as usize];
        let place = self.next_page(unit);
        self.put(lpn, place);
        let token = self.token;
        if old.0 != unit {
            self.events.guard(&[(old.0, old.1 / PAGES)]);
        }
        if !in_part {
            let program = self.command(place, CommandKind::Program, [0, 1, 200]);
            return self.submit(
                program,
                self.touching(&[place]),
                Made::Program { place, token, reads: None },
            );
        }
        if old.0 / PLANES == unit / PLANES {
            let rewrite = self.command(place, CommandKind::Rewrite, [20, 2, 200]);
            let made = Made::Program { place, token, reads: Some(reads) };
            return self.submit(rewrite, self.touching(&[old, place]), made);
        }
        self.number += 1;
        self.events.request = self.number;
        self.made.insert((self.number, true), Made::Read { token: reads });
        self.made.insert((self.number, false), Made::Program { place, token, reads: None });
        let first = (self.command(old, CommandKind::Read, [20, 1, 0]), self.touching(&[old]));
        let second = (self.command(place, CommandKind::Program, [0, 1, 200]), self.touching(&[place]));
        self.events.submit_chain(self.events.now_ns, first, second);
    }

    /// Makes commands, some at once and some a while later, and lets all of them end.
    pub(super) fn run(&mut self, count: u64) {
        for _ in 0..count {
            let wait_ns = if self.draw.below(3) == 0 { 0 } else { self.draw.below(400) };
            let now_ns = self.events.now_ns + wait_ns;
            self.events.run_until(now_ns);
            let lpn = self.draw.below((UNITS * LOGICAL).into()) as u32;
            match self.draw.below(10) {
                0..5 => self.read(lpn),
                5..8 => self.write(lpn, false),
                _ => self.write(lpn, true),
            }
        }
        while self.events.dispatch() || self.events.step(0) {}
    }
}
