//! Busy-until times: a die is a pair of times, and a command is done in a few additions. Exact where commands reach their
//! die in the order in which they run and no other die wants the bus (see `config::needs_events`).

mod backlog;
mod links;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use serde::{Deserialize, Serialize};

use super::event::Later;
use super::{Cache, Course, Executor, Probe, TimePath, Usage, probe};
use crate::geometry::Geometry;
use crate::op::{Command, CommandKind, Link, NOBODY, Purpose};
use crate::sched::Pages;
use crate::stats::{Cause, Parts, SchedCounts, Times};
use backlog::Backlog;
use links::Links;

/// When a die can take what.
#[expect(clippy::struct_field_names, reason = "quantities carry their unit")]
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Die {
    /// The array is free from here on, ns.
    array_ns: u64,
    /// The page register is free from here on, ns: never later than the array.
    register_ns: u64,
    /// The array can sense the page of another read of the host from here on, ns: never later than the array.
    sense_ns: u64,
}

/// Executor on busy-until times.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Timeline<P> {
    dies: Vec<Die>,
    cache: Cache,
    links: Links,
    usage: Usage,
    probe: P,
    /// Work that each die still has to do, if that is kept account of.
    backlogs: Vec<Backlog>,
    /// The latest end of the host's commands since [`TimePath::begin`], ns.
    latest_ns: u64,
    /// Where the time of that one went, if account is kept.
    latest_parts: Parts,
    /// Where the time of the last command handed over went, likewise.
    last_parts: Parts,
    /// The latest end of any command, ns.
    horizon_ns: u64,
    /// Ends of commands with a tag that are to come, and where the time of each went.
    ended: BinaryHeap<Reverse<(u64, u32, Parts)>>,
    /// Tags whose commands are done, since the caller last took one.
    done: Vec<(u32, Parts)>,
    /// Commands with a tag since [`TimePath::begin`].
    submitted: u32,
    now_ns: u64,
    /// Number of the request being served, for the probe.
    request: u64,
}

impl<P: Probe> Timeline<P> {
    pub(crate) fn new(geometry: &Geometry, cache: Cache, probe: P) -> Self {
        Self {
            dies: vec![Die::default(); geometry.total_dies() as usize],
            cache,
            links: Links::default(),
            usage: Usage::new(geometry.total_dies(), geometry.dies_per_channel()),
            probe,
            backlogs: if P::ON {
                vec![Backlog::default(); geometry.total_dies() as usize]
            } else {
                Vec::new()
            },
            latest_ns: 0,
            latest_parts: Parts::default(),
            last_parts: Parts::default(),
            horizon_ns: 0,
            ended: BinaryHeap::new(),
            done: Vec::new(),
            submitted: 0,
            now_ns: 0,
            request: 0,
        }
    }

    /// Runs a command at `now_ns` or when its die is free, and what it waits for on other dies is done. Returns its end, ns.
    #[inline]
    fn run(&mut self, now_ns: u64, command: &Command) -> u64 {
        if command.link == Link::NONE {
            return self.run_at(now_ns, now_ns, command);
        }
        let ready_ns = now_ns.max(self.links.ready_ns(command.link));
        let end_ns = self.run_at(now_ns, ready_ns, command);
        self.links.note(command.link, end_ns);
        end_ns
    }

    /// Runs a command that was handed over at `now_ns`, at `ready_ns` or when its die is free.
    #[inline]
    fn run_at(&mut self, now_ns: u64, ready_ns: u64, command: &Command) -> u64 {
        let die = &mut self.dies[command.die as usize];
        let before = die.array_ns;
        let (start, end);
        if command.kind == CommandKind::Program && self.cache.program {
            start = ready_ns.max(die.register_ns);
            let loaded = start + command.bus_ns;
            let program = loaded.max(before);
            die.register_ns = program;
            end = program + command.program_ns;
            die.sense_ns = end;
        } else if self.cache.reads(command) {
            start = ready_ns.max(die.sense_ns);
            // Sensed, and out of the register when the page before is on its way no more.
            die.sense_ns = (start + command.read_ns).max(before);
            end = die.sense_ns + command.bus_ns;
            die.register_ns = end;
        } else {
            start = ready_ns.max(before);
            end = start + command.total_ns();
            die.register_ns = end;
            die.sense_ns = end;
        }
        die.array_ns = end;
        self.usage.book(command, end - start.max(before));
        self.horizon_ns = self.horizon_ns.max(end);
        if !self.backlogs.is_empty() {
            self.follow(now_ns, command, start, before, end);
        }
        if command.awaited && end > self.latest_ns {
            self.latest_ns = end;
        }
        end
    }

    /// Keeps account of a command that was handed over at `now_ns` to a die busy until `before`.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "most commands find their die idle, and need little")]
    fn follow(&mut self, now_ns: u64, command: &Command, start_ns: u64, before: u64, end_ns: u64) {
        let is_last = command.awaited
            && command.tag == NOBODY
            && command.purpose != Purpose::Mapping
            && end_ns > self.latest_ns;
        if P::ON || before > now_ns || command.awaited && !is_last {
            return self.follow_in_full(now_ns, command, start_ns, before, end_ns);
        }
        self.backlogs[command.die as usize].restart(start_ns, end_ns, Cause::of(command));
        if is_last {
            // It may have waited for other dies.
            self.latest_parts = Parts {
                wait_read: start_ns - now_ns,
                bus: command.bus_ns,
                flash: command.read_ns + command.program_ns,
                ..Parts::default()
            };
        }
    }

    /// As [`Timeline::follow`], whatever the command waits for, and with its record for the probe.
    fn follow_in_full(&mut self, now_ns: u64, command: &Command, start_ns: u64, before: u64, end_ns: u64) {
        let backlog = &mut self.backlogs[command.die as usize];
        let (flash, bus) = (command.read_ns + command.program_ns, command.bus_ns);
        let mut parts = Parts { bus, flash, ..Parts::default() };
        if before <= now_ns {
            // It may have waited for other dies.
            parts.wait_read = start_ns - now_ns;
            backlog.restart(start_ns, end_ns, Cause::of(command));
        } else {
            if P::ON || command.awaited {
                parts.add(&Parts::waited(&backlog.between(now_ns, start_ns), start_ns - now_ns));
                // It stood in the register behind a program, or behind the page before.
                let stood_ns = end_ns - start_ns - flash - bus;
                if command.kind == CommandKind::Read {
                    parts.wait_read += stood_ns;
                } else {
                    parts.wait_write += stood_ns;
                }
            }
            backlog.push(start_ns.max(before), end_ns, Cause::of(command));
        }
        if P::ON {
            self.record(now_ns, command, (start_ns, end_ns), parts);
        }
        if command.awaited {
            if command.purpose == Purpose::Mapping {
                parts = parts.for_mapping();
            }
            if command.tag != NOBODY {
                self.last_parts = parts;
            } else if end_ns > self.latest_ns || end_ns == self.latest_ns && parts > self.latest_parts {
                self.latest_parts = parts;
            }
        }
    }

    /// Hands the record of a command to the probe, which held its die from the first of these times to the second.
    fn record(&mut self, now_ns: u64, command: &Command, (start_ns, end_ns): (u64, u64), parts: Parts) {
        let course = Course {
            arrived_ns: now_ns,
            start_ns,
            end_ns,
            resumed_ns: start_ns,
            passed: 0,
            pauses: 0,
            parts,
            request: (command.purpose == Purpose::Host).then_some(self.request),
        };
        self.probe.command(command, &course);
        if start_ns > now_ns {
            self.probe.queue(now_ns, command.die, 1);
            self.probe.queue(start_ns, command.die, -1);
        }
        if command.kind == CommandKind::Read {
            self.probe.transfer(command, end_ns - command.bus_ns, command.bus_ns);
        } else {
            probe::transfers(command, start_ns, &mut self.probe);
        }
    }
}

impl<P: Probe> Executor for Timeline<P> {
    fn serving(&self) -> u64 {
        self.request
    }

    fn serve(&mut self, request: u64) {
        self.request = request;
    }

    #[inline]
    fn submit(&mut self, now_ns: u64, command: Command, _: Pages) {
        let end = self.run(now_ns, &command);
        self.note_tag(end, &command);
    }

    fn expects_no_end(&mut self) {
        self.submitted -= 1;
    }

    fn submit_chain(&mut self, now_ns: u64, (first, _): (Command, Pages), (second, _): (Command, Pages)) {
        let ready_ns = self.run(now_ns, &Command { awaited: false, ..first });
        let end = self.run_at(now_ns, ready_ns, &second);
        self.links.note(second.link, end);
        self.note_tag(end, &second);
    }

    fn die_is_idle(&self, die: u32, now_ns: u64) -> bool {
        self.dies[die as usize].array_ns <= now_ns
    }
}

impl<P: Probe> Timeline<P> {
    /// The end of a command is known: somebody may wait for it.
    #[inline]
    fn note_tag(&mut self, end: u64, command: &Command) {
        if command.tag != NOBODY {
            self.submitted += 1;
            self.ended.push(Reverse((end, command.tag, self.last_parts)));
        }
    }
}

impl<P: Probe> TimePath for Timeline<P> {
    type Probe = P;
    const AT_ONCE: bool = true;

    #[inline]
    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    #[inline]
    fn set_now_ns(&mut self, now_ns: u64) {
        self.now_ns = now_ns;
    }

    #[inline]
    fn probe(&mut self) -> &mut P {
        &mut self.probe
    }

    fn keep_parts(&mut self) {
        self.backlogs.resize(self.dies.len(), Backlog::default());
    }

    fn next_ns(&self) -> Option<u64> {
        self.ended.peek().map(|Reverse((end, ..))| *end)
    }

    fn dispatch(&mut self) -> bool {
        false
    }

    fn step(&mut self, _: u64) -> bool {
        let Some(Reverse((end, tag, parts))) = self.ended.pop() else { return false };
        self.now_ns = self.now_ns.max(end);
        self.done.push((tag, parts));
        true
    }

    #[inline]
    fn has_done(&self) -> bool {
        !self.done.is_empty()
    }

    fn take_done(&mut self) -> Option<(u32, Option<Parts>)> {
        let (tag, parts) = self.done.pop()?;
        Some((tag, (!self.backlogs.is_empty()).then_some(parts)))
    }

    #[inline]
    fn begin(&mut self) {
        self.submitted = 0;
        self.latest_ns = self.now_ns;
        if !self.backlogs.is_empty() {
            self.latest_parts = Parts::default();
        }
    }

    #[inline]
    fn submitted(&self) -> u32 {
        self.submitted
    }

    #[inline]
    fn latest(&self) -> (u64, Parts) {
        (self.latest_ns, self.latest_parts)
    }

    fn has_idle_die(&self) -> bool {
        (0..self.dies.len() as u32).any(|die| self.die_is_idle(die, self.now_ns))
    }

    fn fence(&mut self, dies: impl Iterator<Item = u32>, tag: u32) {
        let free_ns = dies.map(|die| self.dies[die as usize].array_ns).max().unwrap_or(0);
        self.ended.push(Reverse((free_ns.max(self.now_ns), tag, Parts::default())));
    }

    fn next_changed_die(&mut self) -> Option<u32> {
        None
    }

    fn handed(&self, _: u32) -> u64 {
        0
    }

    fn is_busy(&self, mut dies: impl Iterator<Item = u32>) -> bool {
        dies.any(|die| !self.die_is_idle(die, self.now_ns))
    }

    fn submit_at(&mut self, time_ns: u64, later: Later) {
        self.request = later.charged.0;
        self.submit(time_ns, later.command, later.pages);
    }

    fn call_at(&mut self, time_ns: u64, tag: u32) {
        self.ended.push(Reverse((time_ns, tag, Parts::default())));
    }

    fn times(&self) -> Times {
        let Usage { dies, buses, .. } = &self.usage;
        Times { dies: dies.clone(), buses: buses.clone(), ..Times::default() }
    }

    fn usage(&self) -> &Usage {
        &self.usage
    }

    fn horizon_ns(&self) -> u64 {
        self.horizon_ns
    }

    /// Commands handed over from now on start no earlier than this, ns.
    fn settled_ns(&self) -> u64 {
        self.dies.iter().map(|die| die.register_ns.min(die.sense_ns)).min().unwrap_or(0).max(self.now_ns)
    }

    fn sched_counts(&self) -> Option<SchedCounts> {
        None
    }
}
