//! Scheduling below the FTL (zhu2017): dies on one channel, each with a queue, reads ahead of writes within a bound. Written
//! from the paper's description, naive and slow: every step looks at every die.
//!
//! The paper leaves one thing open, who asks for the bus first of several that do at the same instant: here the one that
//! began first with what it did until then. And one more: what comes at the same instant. Where reads go first, what ends
//! at an instant ends, and what comes comes, before a die takes its next command; by arrival, it takes it at once.

use std::collections::VecDeque;

/// A page to read or write.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    /// When it is generated. They come in this order.
    pub(crate) time: u64,
    pub(crate) reads: bool,
    pub(crate) page: u64,
}

/// Dies and times.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Device {
    pub(crate) dies: u64,
    pub(crate) read: u64,
    pub(crate) program: u64,
    pub(crate) transfer: u64,
}

/// In which order a die takes what waits.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Order {
    Arrival,
    /// The write time upper bound, if there is one.
    ReadsFirst(Option<u64>),
}

/// Step of the command that a die runs.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Until then.
    Array(u64),
    WaitsForBus,
    /// Until then.
    Bus(u64),
}

/// A command that holds its die.
#[derive(Clone, Copy, Debug)]
struct Running {
    access: usize,
    step: Step,
    /// Number of its step among those of all dies.
    begun: u64,
}

#[derive(Clone, Debug, Default)]
struct Die {
    waiting: VecDeque<usize>,
    running: Option<Running>,
}

#[derive(Debug)]
struct Run<'a> {
    device: Device,
    order: Order,
    accesses: &'a [Access],
    dies: Vec<Die>,
    steps: u64,
    /// Dies that may take a command.
    ready: Vec<usize>,
    done: Vec<u64>,
}

/// When every access is done.
pub(crate) fn completions(device: Device, order: Order, accesses: &[Access]) -> Vec<u64> {
    let dies = vec![Die::default(); device.dies as usize];
    let mut run =
        Run { device, order, accesses, dies, steps: 0, ready: Vec::new(), done: vec![0; accesses.len()] };
    let (mut next, mut now) = (0, 0);
    loop {
        let (end, arrival) = (run.next_end(), accesses.get(next).map(|access| access.time));
        if !run.ready.is_empty() && end != Some(now) && arrival != Some(now) {
            for die in std::mem::take(&mut run.ready) {
                run.take(die, now);
            }
            continue;
        }
        match (end, arrival) {
            (Some(end), arrival) if arrival.is_none_or(|arrival| end <= arrival) => {
                now = end;
                run.end(now);
            }
            (_, Some(arrival)) => {
                now = arrival;
                run.arrive(next, now);
                next += 1;
            }
            (_, None) => return run.done,
        }
    }
}

impl Run<'_> {
    /// The service time of an access: array and bus.
    fn service(&self, access: usize) -> u64 {
        let array = if self.accesses[access].reads { self.device.read } else { self.device.program };
        array + self.device.transfer
    }

    fn next_end(&self) -> Option<u64> {
        let running = self.dies.iter().filter_map(|die| die.running);
        let ends = running.filter_map(|running| match running.step {
            Step::Array(end) | Step::Bus(end) => Some(end),
            Step::WaitsForBus => None,
        });
        ends.min()
    }

    fn begin(&mut self, die: usize, access: usize, step: Step) {
        self.steps += 1;
        self.dies[die].running = Some(Running { access, step, begun: self.steps });
    }

    /// Ends what ends at `now`.
    fn end(&mut self, now: u64) {
        let ends =
            |running: &Running| matches!(running.step, Step::Array(end) | Step::Bus(end) if end == now);
        let dies = self.dies.iter().enumerate();
        let mut ending: Vec<_> =
            dies.filter_map(|(number, die)| Some((number, die.running.filter(ends)?))).collect();
        ending.sort_by_key(|(_, running)| running.begun);
        for (die, Running { access, step, .. }) in ending {
            match (self.accesses[access].reads, step) {
                (true, Step::Array(_)) => self.begin(die, access, Step::WaitsForBus),
                (false, Step::Bus(_)) => self.begin(die, access, Step::Array(now + self.device.program)),
                _ => {
                    self.done[access] = now;
                    self.dies[die].running = None;
                }
            }
            self.may_take(die, now);
        }
        self.grant(now);
    }

    fn arrive(&mut self, access: usize, now: u64) {
        let die = (self.accesses[access].page % self.device.dies) as usize;
        let place = self.place(die, access, now);
        self.dies[die].waiting.insert(place, access);
        self.may_take(die, now);
    }

    fn may_take(&mut self, die: usize, now: u64) {
        if matches!(self.order, Order::Arrival) {
            self.take(die, now);
        } else {
            self.ready.push(die);
        }
    }

    /// An idle die takes the first that waits.
    fn take(&mut self, die: usize, now: u64) {
        if self.dies[die].running.is_none()
            && let Some(access) = self.dies[die].waiting.pop_front()
        {
            let reads = self.accesses[access].reads;
            let step = if reads { Step::Array(now + self.device.read) } else { Step::WaitsForBus };
            self.begin(die, access, step);
            self.grant(now);
        }
    }

    /// The bus goes to whoever asked first, if it is free.
    fn grant(&mut self, now: u64) {
        let running = self.dies.iter().enumerate();
        let running: Vec<_> = running.filter_map(|(number, die)| Some((number, die.running?))).collect();
        let waiting = running.iter().filter(|(_, running)| matches!(running.step, Step::WaitsForBus));
        let is_busy = running.iter().any(|(_, running)| matches!(running.step, Step::Bus(_)));
        let first = waiting.min_by_key(|(_, running)| running.begun);
        if !is_busy && let Some((die, Running { access, .. })) = first {
            self.begin(*die, *access, Step::Bus(now + self.device.transfer));
        }
    }

    /// Remaining time of the command that a die runs, without waits for the bus.
    fn remains(&self, die: usize, now: u64) -> u64 {
        let Some(Running { access, step, .. }) = self.dies[die].running else { return 0 };
        match (self.accesses[access].reads, step) {
            (true, Step::Array(end)) => end - now + self.device.transfer,
            (false, Step::Bus(end)) => end - now + self.device.program,
            (true, Step::WaitsForBus) => self.device.transfer,
            (false, Step::WaitsForBus) => self.device.transfer + self.device.program,
            (_, Step::Array(end) | Step::Bus(end)) => end - now,
        }
    }

    /// A write goes to the tail; a read moves forward from there one place at a time.
    fn place(&self, die: usize, new: usize, now: u64) -> usize {
        let waiting = &self.dies[die].waiting;
        let mut place = waiting.len();
        let Order::ReadsFirst(bound) = self.order else { return place };
        if !self.accesses[new].reads {
            return place;
        }
        while place > 0 {
            let passed = self.accesses[waiting[place - 1]];
            let before: u64 = waiting.iter().take(place).map(|before| self.service(*before)).sum();
            let estimate = now - passed.time + self.remains(die, now) + self.service(new) + before;
            let is_late = bound.is_some_and(|bound| estimate > bound);
            if passed.reads || passed.page == self.accesses[new].page || is_late {
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

    const ALONE: Device = Device { dies: 1, read: 20, program: 200, transfer: 0 };

    fn access(time: u64, reads: bool, page: u64) -> Access {
        Access { time, reads, page }
    }

    /// Figure 6 of the paper: all come at once.
    #[test]
    fn the_paper_s_example() {
        let mut accesses = vec![access(0, false, 0)];
        accesses.extend((1..=4).map(|page| access(0, true, page)));
        let by = |order| completions(ALONE, order, &accesses);
        assert_eq!(by(Order::Arrival), [200, 220, 240, 260, 280]);
        assert_eq!(by(Order::ReadsFirst(None)), [280, 20, 40, 60, 80]);
        // A bound that leaves room for one read: R1 goes from 220 to 20, W from 200 to 220.
        assert_eq!(by(Order::ReadsFirst(Some(220))), [220, 20, 240, 260, 280]);
    }

    #[test]
    fn dies_share_the_bus_in_the_order_of_asking() {
        let device = Device { dies: 2, read: 20, program: 200, transfer: 10 };
        let accesses = [access(0, true, 0), access(15, false, 1), access(16, true, 2)];
        // The write has the bus from 15 to 25; then the first read, which was ready at 20.
        assert_eq!(completions(device, Order::Arrival, &accesses), [35, 225, 65]);
    }
}
