//! Policies of a translation layer that is at work: functions from outside the engine, and keys that change while the drive runs.

use super::{Dftl, Ftl, PageFtl, Upkeep};
use crate::external::External;
use crate::gc::victim::Victim;

impl Ftl {
    /// Gives policies outside the engine their functions.
    pub(crate) fn attach(&mut self, external: &External) {
        match self {
            Ftl::Page(page) => page.attach(external),
            Ftl::Dftl(dftl) => dftl.attach(external),
            Ftl::Log(_) | Ftl::Zones(_) | Ftl::Direct => {}
        }
    }

    /// From now on collects and levels by these rules.
    pub(crate) fn change(&mut self, upkeep: &Upkeep<'_>) {
        match self {
            Ftl::Page(page) => page.change(upkeep),
            Ftl::Dftl(dftl) => dftl.change(upkeep),
            Ftl::Log(_) | Ftl::Zones(_) | Ftl::Direct => {}
        }
    }
}

impl PageFtl {
    fn change(&mut self, upkeep: &Upkeep<'_>) {
        let victim = Victim::new(upkeep.victim);
        if victim.index() != self.rules.victim.index() {
            for unit in &mut self.units {
                unit.blocks.change_index(victim.index());
            }
        }
        self.rules.victim = victim;
        self.rules.division = upkeep.division.cloned();
        self.rules.least_worn_first = upkeep.wear.dynamic;
        self.rules.static_gap = upkeep.wear.static_gap;
    }
}

impl Dftl {
    fn change(&mut self, upkeep: &Upkeep<'_>) {
        self.page.change(upkeep);
        self.rules.least_worn_first = upkeep.wear.dynamic;
    }
}
