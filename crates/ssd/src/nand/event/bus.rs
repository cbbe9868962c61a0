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
            return self.transfer(channel, number);
        }
        bus.waiting.push_back(number);
        self.grant(channel);
    }

    fn grant(&mut self, channel: u32) {
        let bus = &mut self.buses[channel as usize];
        if bus.user.is_some() {
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
        self.buses[channel as usize].user = Some(number);
        let mut until_ns = self.now_ns;
        if let Some(active) = self.dies[number as usize].next_on_bus() {
            active.wait_bus_ns += self.now_ns - active.wanted_ns;
            let bus_ns = active.share(BUS);
            until_ns += bus_ns;
            active.until_ns = until_ns;
            self.probe.transfer(&active.queued.command, self.now_ns, bus_ns);
        }
        self.agenda.set(self.dies.len() as u32 + channel, until_ns);
    }

    pub(super) fn bus_done(&mut self, channel: u32) {
        let Some(number) = self.buses[channel as usize].user.take() else { return };
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
