//! Known ends against step by step: the same commands and fences at random, and everything that a caller can see.

use super::super::*;
use crate::config::Config;
use crate::config::layers::{Layer, resolve};
use crate::nand::probe::Off;
use crate::op::NO_EFFECT;
use crate::sched::Shape;
use crate::sched::tests::draws;

const DIES: u32 = 4;

fn config() -> Config {
    let settings = [("channels", "4"), ("dies", "1"), ("planes", "1"), ("capacity", "64MiB")];
    resolve(&[Layer::from_assignments("test", settings)]).expect("a legal drive")
}

/// Two drives that differ in what this is about, and the ends of each: when, the tag, and where the time went.
struct Pair {
    drives: [Events<Off>; 2],
    ends: [Vec<(u64, u32, Option<Parts>)>; 2],
}

impl Pair {
    fn new(follows: bool) -> Self {
        let config = config();
        let geometry = Geometry::new(&config).expect("a legal drive");
        let drives = [true, false].map(|is_known| {
            let cache = Cache { program: false, read: false };
            let scheduler = Scheduler::new(&config.sched, Shape::default());
            let mut events = Events::new(&geometry, true, cache, scheduler, Off);
            events.use_fences();
            if is_known {
                events.know_ends();
            }
            if follows {
                events.keep_parts();
            }
            assert_eq!(events.known.are_on(), is_known);
            events
        });
        Self { drives, ends: [Vec::new(), Vec::new()] }
    }

    fn both(&mut self, mut act: impl FnMut(&mut Events<Off>)) {
        self.drives.iter_mut().for_each(&mut act);
    }

    /// Lets everything happen that is due by then.
    fn run_until(&mut self, time_ns: u64) {
        for (events, ends) in self.drives.iter_mut().zip(&mut self.ends) {
            while events.next_ns().is_some_and(|next| next <= time_ns) {
                events.step();
                while let Some((tag, parts)) = events.take_done() {
                    ends.push((events.now_ns, tag, parts));
                }
            }
            if time_ns < u64::MAX {
                events.now_ns = time_ns;
            }
        }
    }

    /// Compares everything that is to be seen from outside.
    fn check(&mut self) {
        self.ends.iter_mut().for_each(|ends| ends.sort_unstable());
        assert_eq!(self.ends[0], self.ends[1]);
        let seen = self.drives.each_ref().map(|events| {
            let dies = 0..DIES;
            let busy: Vec<_> = dies
                .map(|die| (events.is_busy(die..die + 1), events.die_is_idle(die, events.now_ns)))
                .collect();
            let (times, usage) = (events.times(), events.usage().into_owned());
            format!("{} {busy:?} {times:?} {usage:?} {}", events.now_ns, events.submitted())
        });
        assert_eq!(seen[0], seen[1]);
    }
}

fn command(draw: &mut impl FnMut(u64) -> u64, tag: u32, shortest_ns: u64) -> Command {
    use CommandKind::{Copies, Erase, Program, Read};
    let kind = [Read, Program, Copies, Erase][draw(4) as usize];
    let purpose = [Purpose::Host, Purpose::Gc, Purpose::Mapping][draw(3) as usize];
    Command {
        die: draw(DIES.into()) as u32,
        kind,
        purpose,
        opens: 0,
        awaited: tag != NOBODY,
        pages: 1 + draw(3) as u32,
        tag,
        effect: NO_EFFECT,
        link: Link::NONE,
        read_ns: draw(30),
        bus_ns: draw(4) * 5,
        program_ns: shortest_ns + 10 * draw(9),
    }
}

#[test]
fn ends_known_ahead_are_those_of_step_by_step() {
    let (mut ends, mut fences, mut at_once) = (0, 0, 0);
    for seed in 0..200 {
        let (follows, shortest_ns) = (seed % 2 == 0, seed / 2 % 2);
        let (mut pair, mut draw) = (Pair::new(follows), draws(seed));
        let mut tags = 0;
        for _ in 0..600 {
            let now = pair.drives[0].now_ns;
            tags += 1;
            match draw(8) {
                0..3 => {
                    let tag = if draw(3) == 0 { tags } else { NOBODY };
                    let command = command(&mut draw, tag, shortest_ns);
                    pair.both(|events| events.submit(now, command, Pages::default()));
                }
                3 | 4 => {
                    let first = draw(DIES.into()) as u32;
                    let last = first + draw(u64::from(DIES - first)) as u32;
                    pair.both(|events| events.fence(first..=last, tags));
                    fences += 1;
                }
                5 => {
                    // Nothing else is handed over until it has come.
                    let arrival_ns = now + draw(60);
                    let command = command(&mut draw, tags, shortest_ns);
                    let arrived_ns = arrival_ns.saturating_sub(draw(3)).max(now);
                    let later = Later::new(command, Pages::default(), (0, 0), arrived_ns);
                    pair.both(|events| events.submit_at(arrival_ns, later.clone()));
                    pair.both(|events| events.fence(0..DIES, 100_000 + tags));
                    pair.run_until(arrival_ns);
                }
                6 => pair.run_until(now + draw(40)),
                _ => pair.run_until(now + draw(400)),
            }
            pair.check();
        }
        pair.run_until(u64::MAX);
        pair.check();
        assert!(pair.drives.iter().all(|events| !events.is_busy(0..DIES)), "all is done");
        ends += pair.ends[0].len();
        let times = pair.ends[0].windows(2).filter(|two| two[0].0 == two[1].0);
        at_once += times.count();
    }
    assert!(
        ends > 20_000 && fences > 20_000 && at_once > 1000,
        "{ends} ends, {fences} fences, {at_once} at once"
    );
}
