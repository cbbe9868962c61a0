//! A probe that adds up the time of dies and keeps no record.

use super::die_use::{DieUse, DieWorkTimes};
use super::on_the_way::{CoreRecord, LinkRecord};
use super::probe::{Course, FullRecord, HoldRecord, IssueRecord, PauseRecord, Probe, RequestRecord};
use crate::op::Command;

impl Probe for DieUse {
    const ON: bool = true;

    fn command(&mut self, command: &Command, course: &Course) {
        let work = (command.kind, command.purpose);
        self.add(command.die, work, course.resumed_ns..course.end_ns, command.bus_ns);
    }

    fn hold(&mut self, record: HoldRecord) {
        self.add(record.die, (record.kind, record.purpose), record.start_ns..record.end_ns, 0);
    }

    fn pause(&mut self, _: PauseRecord) {}
    fn queue(&mut self, _: u64, _: u32, _: i32) {}
    fn transfer(&mut self, _: &Command, _: u64, _: u64) {}
    fn issue(&mut self, _: IssueRecord) {}
    fn request(&mut self, _: RequestRecord) {}
    fn dirty_pages(&mut self, _: u64, _: Option<u32>, _: i32) {}
    fn full(&mut self, _: FullRecord) {}
    fn link(&mut self, _: LinkRecord) {}
    fn core(&mut self, _: CoreRecord) {}

    fn die_use(&self) -> Vec<DieWorkTimes> {
        self.times()
    }
}
