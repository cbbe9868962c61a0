//! The buses of the channels: who asks, who gets one, and what comes after a transfer.

use super::{BUS, CommandKind, Events, PROGRAM, Phase, Probe};

impl<P: Probe> Events<P> {
    /// The command of the die that comes next on the bus asks for it.
    pub(super) fn want_bus(&mut self, number: u32) {
        let now_ns = self.now_ns;
        let die = &mut self.dies[number as usize];
        if let Some(active) = die.next_on_bus() {
            active.wanted_ns = now_ns;
        }
        let channel = self.usage.channel_of(number);
        let bus = &mut self.buses[channel as usize];
        if bus.user.is_none() && bus.waiting.is_empty() {
            if bus.free_ns <= now_ns {
                return self.transfer(channel, number);
            }
            bus.announced = true;
            self.agenda.set(self.dies.len() as u32 + channel, bus.free_ns);
        }
        bus.waiting.push_back(number);
        if bus.user.is_none() && !bus.announced {
            self.grant(channel);
        }
    }

    fn grant(&mut self, channel: u32) {
        let bus = &mut self.buses[channel as usize];
        if bus.user.is_some() || bus.announced {
            return;
        }
        let mut first = 0;
        if self.scheduler.bus_prefers_reads() && bus.waiting.len() > 1 {
            let dies = &self.dies;
            first = bus.waiting.iter().position(|number| dies[*number as usize].reads_out()).unwrap_or(0);
        }
        let next = if first == 0 { bus.waiting.pop_front() } else { bus.waiting.remove(first) };
        if let Some(number) = next {
            self.transfer(channel, number);
        }
    }

    /// The command of the die that comes next on the bus gets it.
    fn transfer(&mut self, channel: u32, number: u32) {
        let mut until_ns = self.now_ns;
        if let Some(active) = self.dies[number as usize].next_on_bus() {
            active.wait_bus_ns += self.now_ns - active.wanted_ns;
            let bus_ns = active.share(BUS);
            until_ns += bus_ns;
            active.until_ns = until_ns;
            self.probe.transfer(&active.queued.command, self.now_ns, bus_ns);
            if self.works_ahead && active.queued.command.kind != CommandKind::Read {
                let program_ns = active.share(PROGRAM);
                return self.program_after(channel, number, (until_ns, program_ns));
            }
        }
        self.buses[channel as usize].user = Some(number);
        self.agenda.set(self.dies.len() as u32 + channel, until_ns);
    }

    /// The bus brings a page to a die until `free_ns`, and the die programs it from then on. An event says that the bus is free if
    /// somebody waits for that.
    fn program_after(&mut self, channel: u32, number: u32, (free_ns, program_ns): (u64, u64)) {
        self.enter_at(number, Phase::Finishing, free_ns, program_ns);
        let bus = &mut self.buses[channel as usize];
        bus.free_ns = free_ns;
        if !bus.waiting.is_empty() {
            bus.announced = true;
            self.agenda.set(self.dies.len() as u32 + channel, free_ns);
        }
    }

    /// A transfer ends, or the end of one has come that somebody waited for.
    pub(super) fn bus_done(&mut self, channel: u32) {
        let bus = &mut self.buses[channel as usize];
        let Some(number) = bus.user.take() else {
            bus.announced = false;
            return self.grant(channel);
        };
        let die = &mut self.dies[number as usize];
        if die.unloading.is_some() {
            self.unloaded(number);
        } else if let Some(loading) = die.loading.as_mut().filter(|loading| loading.phase == Phase::OnBus) {
            loading.phase = Phase::Loaded;
            self.promote(number);
        } else if let Some(current) = &die.current {
            if current.queued.command.kind == CommandKind::Read {
                self.finish(number);
            } else {
                let program_ns = current.share(PROGRAM);
                self.enter(number, Phase::Finishing, program_ns);
                self.start(number);
                self.make_way(number);
            }
        }
        if !self.buses[channel as usize].waiting.is_empty() {
            self.grant(channel);
        }
    }
}
