//! Flash time of tenants: how long the commands made for each of them hold their dies.
//!
//! Charged when a command is made, to the tenant whose request it is made for; so are the collections that a write brings
//! about, whosever pages they move. Waits for the bus and pauses are not in it, nor what a die saves by loading a page while it programs.

use serde::{Deserialize, Serialize};

use crate::op::Command;

/// Die time of commands by tenant, ns.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct FlashTime {
    /// Whose commands are made now.
    tenant: u16,
    /// Of the commands made for it since it was its turn, ns: kept apart because tenants seldom change.
    turn_ns: u64,
    /// Of everything before, ns.
    before_ns: Vec<u64>,
}

impl FlashTime {
    /// Commands made from now on are this tenant's.
    #[inline]
    pub(crate) fn serve(&mut self, tenant: u16) {
        if tenant != self.tenant {
            self.change(tenant);
        }
    }

    /// Whose commands are made now.
    pub(crate) fn tenant(&self) -> u16 {
        self.tenant
    }

    #[cold]
    #[inline(never)]
    fn change(&mut self, tenant: u16) {
        let last = usize::from(std::mem::replace(&mut self.tenant, tenant));
        if self.turn_ns == 0 {
            return;
        }
        if last >= self.before_ns.len() {
            self.before_ns.resize(last + 1, 0);
        }
        self.before_ns[last] += std::mem::take(&mut self.turn_ns);
    }

    /// A command is made.
    #[inline]
    pub(crate) fn charge(&mut self, command: &Command) {
        self.turn_ns += command.total_ns();
    }

    /// All that was charged to a tenant, ns.
    pub(crate) fn of(&self, tenant: usize) -> u64 {
        let turn_ns = if tenant == usize::from(self.tenant) { self.turn_ns } else { 0 };
        self.before_ns.get(tenant).copied().unwrap_or(0) + turn_ns
    }

    /// The same of all tenants, by number, up to the last one that was charged.
    pub(crate) fn all(&self) -> Vec<u64> {
        let open = if self.turn_ns > 0 { usize::from(self.tenant) + 1 } else { 0 };
        (0..self.before_ns.len().max(open)).map(|tenant| self.of(tenant)).collect()
    }

    /// Time charged to all of them, ns.
    pub(crate) fn total(&self) -> u64 {
        self.before_ns.iter().sum::<u64>() + self.turn_ns
    }

    /// Forgets what was charged.
    pub(crate) fn forget(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::{CommandKind, Link, NO_EFFECT, NOBODY, Purpose};

    fn command(read_ns: u64, bus_ns: u64, program_ns: u64) -> Command {
        let (kind, purpose) = (CommandKind::Rewrite, Purpose::Host);
        let (die, opens, pages, tag, effect, awaited) = (0, 0, 1, NOBODY, NO_EFFECT, true);
        let link = Link::NONE;
        Command { die, kind, purpose, opens, awaited, pages, tag, effect, link, read_ns, bus_ns, program_ns }
    }

    #[test]
    fn every_command_is_charged_to_the_tenant_whose_turn_it_is() {
        let mut time = FlashTime::default();
        assert_eq!(time.all(), [0; 0]);
        time.charge(&command(1, 2, 4));
        time.serve(3);
        assert_eq!(time.all(), [7]);
        time.charge(&command(0, 0, 10));
        time.serve(0);
        time.charge(&command(5, 0, 0));
        time.serve(3);
        time.serve(3);
        time.charge(&command(0, 1, 0));
        assert_eq!(time.all(), [12, 0, 0, 11]);
        assert_eq!((time.of(0), time.of(1), time.of(3), time.of(9)), (12, 0, 11, 0));
        time.forget();
        time.serve(u16::MAX);
        time.serve(0);
        assert_eq!(time.all(), [0; 0]);
    }
}
