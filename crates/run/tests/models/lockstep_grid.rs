//! The simulator against the lock-step model, over drives that no paper prints.

use crate::models::lockstep::{Drive, Outcome, Planner, Times};
use crate::models::simulator::{Allowed, Settings, Table, number, run, set};
use crate::models::stream::Striping;

/// A chip of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Chip {
    Mlc,
    Slc,
}

/// One drive of the grid.
#[derive(Clone, Copy, Debug)]
struct Case {
    chip: Chip,
    mib: u32,
    channels: usize,
    /// Thousandths.
    op: u32,
    /// `None`: synchronized channels.
    planner: Option<Planner>,
    throttle: u32,
    buffer: usize,
    in_order: bool,
    coalesce: bool,
    requests: u32,
}

impl Case {
    /// Data blocks and log blocks of a channel: whole ones, which the simulator is asked for.
    fn blocks(&self) -> (u32, u32) {
        let (page_kib, per_block) = if self.chip == Chip::Mlc { (4, 128) } else { (2, 64) };
        let data_blocks = self.mib * 1024 / page_kib / per_block / self.channels as u32;
        (data_blocks, (data_blocks * self.op / 1000).max(3))
    }

    fn model(&self, workload: &str) -> Outcome {
        let (page_kib, per_block, times) = match self.chip {
            Chip::Mlc => (4, 128, Times::MLC),
            Chip::Slc => (2, 64, Times::SLC),
        };
        let (data_blocks, log_blocks) = self.blocks();
        let striping = if self.planner.is_none() { Striping::synchronized } else { Striping::independent };
        let drive = Drive {
            striping: striping(self.channels, 1, page_kib * 2),
            data_blocks,
            log_blocks,
            per_block,
            times,
            planner: self.planner.unwrap_or(Planner::None),
            throttle: self.throttle,
            buffer: self.buffer,
            in_order: self.in_order,
            coalesce: self.coalesce,
        };
        drive.run(workload)
    }

    fn settings(&self) -> Settings {
        let (data_blocks, log_blocks) = self.blocks();
        let page_kib = if self.chip == Chip::Mlc { 4 } else { 2 };
        let mut settings = vec![
            set("capacity", format!("{}MiB", self.mib)),
            set("precondition", "full"),
            set("clock", "lock-step"),
            set("ftl.kind", "log-block"),
            set("channels", self.channels),
            set("op_ratio", f64::from(log_blocks) / f64::from(data_blocks)),
            set("units", if self.planner.is_none() { "synchronized" } else { "independent" }),
            set("gc.throttle", self.throttle),
            set("buffer.bytes", format!("{}KiB", self.buffer * page_kib)),
        ];
        let planner = match self.planner {
            None => None,
            Some(Planner::None) => Some("none"),
            Some(Planner::SuperDataBlock) => Some("super-data-block"),
            Some(Planner::CycleStealing) => Some("cycle-stealing"),
        };
        settings.extend(planner.map(|planner| set("gc.planner", planner)));
        if self.in_order {
            settings.push(set("buffer.order", "in-order"));
        } else if !self.coalesce && self.buffer > 0 {
            settings.push(set("buffer.coalesce", "false"));
        }
        settings
    }

    fn compare(&self, table: &mut Table) {
        let workload = format!(
            "random:span={}MiB,size=4KiB,align=512,count={},write=1,seed=23",
            self.mib, self.requests
        );
        let model = self.model(&workload);
        let device = if self.chip == Chip::Mlc { "huang2010-mlc" } else { "huang2010-slc" };
        let result = run(device, &self.settings(), &workload);
        let name = format!("{self:?}");
        let [serving, collecting] = [model.serving, model.collecting].map(|time| time as f64 / 1e9);
        let merged = model.merges.iter().map(|&merges| u64::from(merges)).sum::<u64>() as f64;
        let most = f64::from(model.merges.iter().copied().max().unwrap_or(0));
        for (what, path, model) in [
            ("programs", "flash.programs", model.programs as f64),
            ("erases", "flash.erases", model.erases as f64),
            ("IOPS", "iops", model.iops()),
            ("serving", "clock.serving_s", serving),
            ("collecting", "clock.collecting_s", collecting),
            ("cycles", "clock.write_cycles", model.write_cycles as f64),
            ("collections", "collections.count", model.merges.len() as f64),
            ("merged", "collections.merged", merged),
            ("most", "collections.max_merged", most),
        ] {
            // Few collections, and fewer of the largest size, hang on which channel is served first.
            let allowed = match what {
                "most" => 0.2,
                "collections" => 0.02,
                _ => 0.005,
            };
            table.compare(&name, what, model, number(&result, path), Allowed::Relative(allowed));
        }
    }
}

const BASE: Case = Case {
    chip: Chip::Mlc,
    mib: 384,
    channels: 4,
    op: 50,
    planner: Some(Planner::CycleStealing),
    throttle: 8,
    buffer: 8,
    in_order: false,
    coalesce: true,
    requests: 100_000,
};

const ALL: [Option<Planner>; 4] =
    [None, Some(Planner::None), Some(Planner::SuperDataBlock), Some(Planner::CycleStealing)];

fn check(cases: impl IntoIterator<Item = Case>) {
    let mut table = Table::default();
    for case in cases {
        case.compare(&mut table);
    }
    table.finish();
}

#[test]
fn planners_over_channels() {
    let channels = [1, 2, 3, 4, 8].into_iter();
    check(channels.flat_map(|channels| ALL.map(|planner| Case { channels, planner, ..BASE })));
}

#[test]
fn planners_over_spare_space() {
    let ops = [30, 72, 120].into_iter();
    check(ops.flat_map(|op| ALL.map(|planner| Case { op, planner, mib: 768, channels: 3, ..BASE })));
}

#[test]
fn planners_over_throttles() {
    let throttles = [0, 1, 4, 20].into_iter();
    check(throttles.flat_map(|throttle| ALL.map(|planner| Case { planner, throttle, ..BASE })));
}

#[test]
fn buffers_of_both_orders() {
    let sizes = [0, 4, 5, 12, 16, 64].into_iter();
    let orders = [(false, true), (false, false), (true, false)];
    let cases = sizes.flat_map(|buffer| {
        orders.map(|(in_order, coalesce)| Case { buffer, in_order, coalesce, channels: 8, mib: 768, ..BASE })
    });
    check(cases.filter(|case| case.buffer > 0 || (case.coalesce && !case.in_order)));
}

#[test]
fn synchronized_buffers_of_both_orders() {
    let sizes = [0, 4, 12, 64].into_iter();
    let cases = sizes.flat_map(|buffer| {
        [false, true].map(|in_order| Case {
            buffer,
            in_order,
            coalesce: !in_order,
            planner: None,
            channels: 3,
            mib: 96,
            op: 100,
            ..BASE
        })
    });
    check(cases.filter(|case| case.buffer > 0 || !case.in_order));
}

#[test]
fn other_chips() {
    let channels = [1, 2, 8].into_iter();
    check(
        channels.flat_map(|channels| ALL.map(|planner| Case { chip: Chip::Slc, channels, planner, ..BASE })),
    );
}

#[test]
fn many_requests_on_a_larger_drive() {
    let drive = Case { mib: 1024, channels: 8, requests: 300_000, op: 35, throttle: 4, ..BASE };
    check(ALL.map(|planner| Case { planner, ..drive }));
}
