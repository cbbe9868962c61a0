//! One die that suspends its program for reads, and whose bus takes no time: reads ahead of writes as in [`crate::models::read_first`],
//! and of the one that runs.
//!
//! Written from what the simulator says of `sched.kind=suspend`: a suspension takes `stop` before the die is free and `resume`
//! more than was left; there are at most `most` of a program; a program is only suspended, and stays so, while the read that
//! goes before it leaves it within the bound; one that would be over before it is suspended is left alone. Neither is it
//! suspended if the read would wait no longer for it than it and the writes that wait, weighted, for the read. What comes at an
//! instant comes before the die takes its next command.

use std::collections::VecDeque;

use crate::models::read_first::Access;

/// Times and limits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Device {
    pub(crate) read: u64,
    pub(crate) program: u64,
    pub(crate) stop: u64,
    pub(crate) resume: u64,
    pub(crate) most: u32,
    pub(crate) bound: u64,
    pub(crate) weight: f64,
}

/// A program that has begun.
#[derive(Clone, Copy, Debug)]
struct Begun {
    access: usize,
    suspensions: u32,
    left: u64,
}

#[derive(Clone, Copy, Debug, Default)]
enum Die {
    #[default]
    Idle,
    /// Until then.
    Reads(usize, u64),
    /// Until then; `left` is what was left when it went on.
    Programs(Begun, u64),
    /// Until then.
    Stops(u64),
}

#[derive(Debug)]
struct Run<'a> {
    device: Device,
    accesses: &'a [Access],
    waiting: VecDeque<usize>,
    die: Die,
    suspended: Option<Begun>,
    done: Vec<u64>,
    suspensions: u64,
}

/// When every access is done, and how many suspensions there were.
pub(crate) fn completions(device: Device, accesses: &[Access]) -> (Vec<u64>, u64) {
    let mut run = Run {
        device,
        accesses,
        waiting: VecDeque::new(),
        die: Die::Idle,
        suspended: None,
        done: vec![0; accesses.len()],
        suspensions: 0,
    };
    let (mut next, mut now) = (0, 0);
    loop {
        let end = match run.die {
            Die::Idle => None,
            Die::Reads(_, end) | Die::Programs(_, end) | Die::Stops(end) => Some(end),
        };
        let arrival = accesses.get(next).map(|access| access.time);
        if matches!(run.die, Die::Idle) && arrival != Some(now) && run.can_go_on() {
            run.go_on(now);
            continue;
        }
        match (end, arrival) {
            (Some(end), arrival) if arrival.is_none_or(|arrival| end <= arrival) => {
                now = end;
                if let Die::Reads(access, end) | Die::Programs(Begun { access, .. }, end) = run.die {
                    run.done[access] = end;
                }
                run.die = Die::Idle;
            }
            (_, Some(arrival)) => {
                now = arrival;
                let place = run.place(next, now);
                run.waiting.insert(place, next);
                run.suspend(now);
                next += 1;
            }
            (_, None) => return (run.done, run.suspensions),
        }
    }
}

impl Run<'_> {
    fn service(&self, access: usize) -> u64 {
        if self.accesses[access].reads { self.device.read } else { self.device.program }
    }

    /// The read that waits first, if it need not wait for the program that has begun.
    fn first_read(&self, begun: &Begun) -> Option<usize> {
        let first = *self.waiting.front()?;
        let (read, program) = (self.accesses[first], self.accesses[begun.access]);
        (read.reads && read.page != program.page).then_some(first)
    }

    fn can_go_on(&self) -> bool {
        self.suspended.is_some() || !self.waiting.is_empty()
    }

    /// The die is free.
    fn go_on(&mut self, now: u64) {
        if let Some(begun) = self.suspended {
            let read = self.first_read(&begun).filter(|read| {
                let age = now - self.accesses[begun.access].time;
                age + self.service(*read) + begun.left <= self.device.bound
            });
            if read.is_none() {
                self.suspended = None;
                self.die = Die::Programs(begun, now + begun.left);
                return;
            }
        }
        let Some(access) = self.waiting.pop_front() else { return };
        let end = now + self.service(access);
        self.die = if self.accesses[access].reads {
            Die::Reads(access, end)
        } else {
            Die::Programs(Begun { access, suspensions: 0, left: self.device.program }, end)
        };
    }

    /// Suspends the program that runs for the read that waits first, if it may.
    fn suspend(&mut self, now: u64) {
        let Device { stop, resume, most, bound, weight, .. } = self.device;
        let Die::Programs(begun, end) = self.die else { return };
        let Some(read) = self.first_read(&begun) else { return };
        let left = end - now;
        let latency = now - self.accesses[begun.access].time + stop + self.service(read) + resume + left;
        let writes = 1 + self.waiting.iter().filter(|waits| !self.accesses[**waits].reads).count();
        let cost = weight * writes as f64 * (stop + self.service(read) + resume) as f64;
        if begun.suspensions < most && left > stop && latency <= bound && left as f64 > cost {
            self.suspensions += 1;
            self.suspended = Some(Begun { suspensions: begun.suspensions + 1, left: left + resume, ..begun });
            self.die = if stop > 0 { Die::Stops(now + stop) } else { Die::Idle };
        }
    }

    /// Remaining time of the commands that have begun, if nothing more comes in between.
    fn remains(&self, now: u64) -> u64 {
        let suspended = self.suspended.map_or(0, |begun| begun.left);
        let running = match self.die {
            Die::Idle => 0,
            Die::Reads(_, end) | Die::Programs(_, end) | Die::Stops(end) => end - now,
        };
        suspended + running
    }

    fn place(&self, new: usize, now: u64) -> usize {
        let mut place = self.waiting.len();
        while place > 0 && self.accesses[new].reads {
            let passed = self.accesses[self.waiting[place - 1]];
            let before: u64 = self.waiting.iter().take(place).map(|before| self.service(*before)).sum();
            let estimate = now - passed.time + self.remains(now) + self.service(new) + before;
            if passed.reads || passed.page == self.accesses[new].page || estimate > self.device.bound {
                break;
            }
            place -= 1;
        }
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suspension_by_hand() {
        let device = Device { read: 20, program: 200, stop: 5, resume: 3, most: 1, bound: 1000, weight: 0.0 };
        let accesses = [(0, false, 0), (50, true, 1), (60, true, 2), (90, true, 3)];
        let accesses = accesses.map(|(time, reads, page)| Access { time, reads, page });
        // Stopped from 50 to 55, reads until 95 and 115, then 150 + 3 to go.
        assert_eq!(completions(device, &accesses), (vec![268, 75, 95, 115], 1));
        // 150 to go are more than 28, and less than ten times that.
        assert_eq!(completions(Device { weight: 1.0, ..device }, &accesses).1, 1);
        assert_eq!(completions(Device { weight: 10.0, ..device }, &accesses), (vec![200, 220, 240, 260], 0));
    }
}
