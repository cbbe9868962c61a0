//! The buses of the channels: who asks, who gets one, and what comes after a transfer.

use super::die::Phase;
use super::{CommandKind, Event, Events, Probe};

impl<P: Probe> Events<P> {
    /// The command of the die that comes next on the bus asks for it.
    pub(super) fn want_bus(&mut self, number: u32) {
        let now_ns = self.now_ns;
        let die = &mut self.dies[number as usize];
        if let Some(active) = die.next_on_bus() {
            active.wanted_ns = now_ns;
        }
        let channel = number / self.dies_per_channel;
        self.buses[channel as usize].waiting.push_back(number);
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
        let Some(number) = bus.waiting.remove(first) else { return };
        bus.user = Some(number);
        let delay = self.dies[number as usize].next_on_bus().map_or(0, |active| {
            active.wait_bus_ns += self.now_ns - active.wanted_ns;
            let command = &active.queued.command;
            let bus_ns = command.share(command.bus_ns, active.left);
            active.until_ns = self.now_ns + bus_ns;
            self.probe.transfer(command, self.now_ns, bus_ns);
            bus_ns
        });
        self.at(delay, Event::Bus(channel));
    }

    pub(super) fn bus_done(&mut self, channel: u32) {
        let Some(number) = self.buses[channel as usize].user.take() else { return };
        let die = &mut self.dies[number as usize];
        if let Some(loading) = die.loading.as_mut().filter(|loading| loading.phase == Phase::OnBus) {
            loading.phase = Phase::Loaded;
            self.promote(number);
        } else if let Some(current) = &die.current {
            let command = current.queued.command;
            if command.kind == CommandKind::Read {
                self.finish(number);
            } else {
                let left = current.left;
                self.enter(number, Phase::Finishing, command.share(command.program_ns, left));
                self.start(number);
                self.make_way(number);
            }
        }
        self.grant(channel);
    }
}
