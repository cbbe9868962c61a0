//! The simulator against the model of asynchronous channels, over drives that no paper prints.

use crate::models::channels::{Drive, Method, Outcome};
use crate::models::dftl::{Dftl, Shape};
use crate::models::fast::{Fast, SwFull};
use crate::models::lockstep::Times;
use crate::models::page::PageMap;
use crate::models::simulator::{Allowed, Settings, Table, full, number, run, set};
use crate::models::stream::Striping;

/// Transfer of a page, nanoseconds.
const TRANSFER: u64 = 106_000;

/// A cached entry: logical and physical page, 4 bytes each.
const ENTRY_BYTES: usize = 8;

/// A translation layer of the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layer {
    Fast(SwFull),
    Page,
    /// Cache of the whole drive, KiB.
    Dftl(u32),
}

/// One drive of the grid.
#[derive(Clone, Copy, Debug)]
struct Case {
    layer: Layer,
    slc: bool,
    mib: u32,
    channels: usize,
    /// Planes of a chip, bound.
    planes: u32,
    /// Thousandths.
    op: u32,
    /// `None`: synchronized channels.
    method: Option<Method>,
    buffer: usize,
    spare_blocks: usize,
}

impl Case {
    /// Data blocks and spare blocks of a channel: whole ones, which the simulator is asked for.
    fn blocks(&self) -> (u32, u32) {
        let (page_kib, per_block) = if self.slc { (2, 64) } else { (4, 128) };
        let data_blocks = self.mib * 1024 / page_kib / per_block / self.channels as u32 / self.planes;
        let spare = data_blocks * self.op / 1000;
        (data_blocks, if matches!(self.layer, Layer::Fast(_)) { spare.max(3) } else { spare })
    }

    fn model(&self, workload: &str) -> Outcome {
        let (page_kib, per_block, times) = if self.slc { (2, 64, Times::SLC) } else { (4, 128, Times::MLC) };
        let (data_blocks, spare) = self.blocks();
        // A two-plane command takes one array operation and two transfers.
        let transfers = u64::from(self.planes - 1) * TRANSFER;
        let times = Times { read: times.read + transfers, write: times.write + transfers, ..times };
        let striping = if self.method.is_none() { Striping::synchronized } else { Striping::independent };
        let drive = Drive {
            striping: striping(self.channels, self.planes, page_kib * 2),
            times,
            method: self.method.unwrap_or(Method::None),
            buffer: self.buffer,
            spare_blocks: self.spare_blocks,
            coalesce: true,
        };
        match self.layer {
            Layer::Fast(sw_full) => {
                // Where a block is kept for the sequential log, the simulator has it beside the over-provisioning.
                let logs = spare + u32::from(sw_full == SwFull::PartialMerge);
                drive.run(workload, || Fast::new(data_blocks, logs, per_block, times, sw_full))
            }
            Layer::Page => drive.run(workload, || PageMap::new(data_blocks, spare, per_block, times)),
            Layer::Dftl(cache_kib) => {
                let Striping { units, bound, .. } = drive.striping;
                let shape = Shape {
                    data_blocks,
                    spare_blocks: spare,
                    per_block,
                    page_bytes: page_kib * 1024 * bound,
                    cached: cache_kib as usize * 1024 / ENTRY_BYTES / units,
                };
                drive.run(workload, || Dftl::new(shape, times))
            }
        }
    }

    /// Fewer where a model walks over all blocks.
    fn requests(&self) -> u32 {
        let few = if matches!(self.layer, Layer::Fast(_)) { 60_000 } else { 40_000 };
        if full() { 4 * few } else { few }
    }

    fn settings(&self) -> Settings {
        let (data_blocks, spare) = self.blocks();
        let mut settings = vec![
            set("capacity", format!("{}MiB", self.mib)),
            set("precondition", "full"),
            set("clock", "async"),
            set("channels", self.channels),
            set("op_ratio", f64::from(spare) / f64::from(data_blocks)),
            set("units", if self.method.is_none() { "synchronized" } else { "independent" }),
            set("buffer.bytes", format!("{}KiB", self.buffer * if self.slc { 2 } else { 4 })),
        ];
        match self.layer {
            Layer::Fast(sw_full) => {
                let sw_full = if sw_full == SwFull::Reuse { "reuse" } else { "partial-merge" };
                settings.extend([set("ftl.kind", "fast"), set("ftl.sw_full", sw_full)]);
            }
            Layer::Page => settings.push(set("ftl.kind", "page")),
            Layer::Dftl(cache_kib) => {
                settings.extend([set("ftl.kind", "dftl"), set("ftl.cache_bytes", format!("{cache_kib}KiB"))]);
            }
        }
        let planner = match self.method {
            None => None,
            Some(Method::None) => Some("none"),
            Some(Method::Forwarding) => Some("forwarding"),
            Some(Method::CycleFilling) => Some("cycle-filling"),
        };
        settings.extend(planner.map(|planner| set("gc.planner", planner)));
        if matches!(self.method, Some(Method::Forwarding | Method::CycleFilling)) {
            settings.push(set("gc.spare_blocks", self.spare_blocks));
        }
        if self.planes > 1 {
            settings.extend([set("planes", self.planes), set("planes_bound", "true")]);
        }
        if self.slc {
            // The preset's chip is the other one.
            settings.extend([
                set("page", "2KiB"),
                set("pages_per_block", 64),
                set("timing.read", "25us"),
                set("timing.program", "200us"),
                set("timing.bus", 0),
                set("timing.command", "106us"),
            ]);
        }
        settings
    }

    /// Seeds to take the mean over. Where independent channels wait for each other, which of two collects first decides
    /// what comes after: single short runs are some percent apart.
    fn seeds(&self) -> std::ops::Range<u32> {
        if self.method == Some(Method::None) && self.channels > 1 { 29..33 } else { 29..30 }
    }

    fn compare(&self, table: &mut Table) {
        let mut values = [[0.0; 2]; 4];
        let seeds = self.seeds();
        let share = 1.0 / seeds.len() as f64;
        for seed in seeds {
            let (mib, count) = (self.mib, self.requests());
            let workload =
                format!("random:span={mib}MiB,size=4KiB,align=512,count={count},write=1,seed={seed}");
            let model = self.model(&workload);
            let result = run("wen2012", &self.settings(), &workload);
            let [host, _, idle] = model.shares();
            let [found_host, found_idle] =
                ["time_share.host", "time_share.idle"].map(|path| number(&result, path));
            // Updates of a map on flash for a collection count as collection in the model, and here as mapping.
            let pairs = [
                [model.iops(), number(&result, "iops")],
                [host, found_host],
                [1.0 - host - idle, 1.0 - found_host - found_idle],
                [idle, found_idle],
            ];
            for (value, pair) in values.iter_mut().zip(pairs) {
                value[0] += pair[0] * share;
                value[1] += pair[1] * share;
            }
        }
        let name = format!("{self:?}");
        for ([model, found], what) in values.into_iter().zip(["IOPS", "host", "gc and map", "idle"]) {
            let allowed = if what == "IOPS" { Allowed::Relative(0.03) } else { Allowed::Points(0.03) };
            table.compare(&name, what, model, found, allowed);
        }
    }
}

const BASE: Case = Case {
    layer: Layer::Fast(SwFull::Reuse),
    slc: false,
    mib: 768,
    channels: 4,
    planes: 1,
    op: 100,
    method: Some(Method::CycleFilling),
    buffer: 8,
    spare_blocks: 10,
};

const ALL: [Option<Method>; 4] =
    [None, Some(Method::None), Some(Method::Forwarding), Some(Method::CycleFilling)];

fn check(cases: impl IntoIterator<Item = Case>) {
    let mut table = Table::default();
    // Forwarding waits for a full buffer: without one it has no meaning.
    let cases = cases.into_iter().filter(|case| case.buffer > 0 || case.method != Some(Method::Forwarding));
    for case in cases {
        case.compare(&mut table);
    }
    table.finish();
}

#[test]
fn methods_over_channels() {
    let channels = [1, 2, 3, 4, 8].into_iter();
    check(channels.flat_map(|channels| ALL.map(|method| Case { channels, method, ..BASE })));
}

#[test]
fn methods_over_spare_space() {
    let ops = [45, 72, 120].into_iter();
    check(ops.flat_map(|op| ALL.map(|method| Case { op, method, channels: 3, ..BASE })));
}

#[test]
fn methods_over_buffers() {
    let sizes = [0, 4, 12, 16, 64].into_iter();
    check(sizes.flat_map(|buffer| ALL.map(|method| Case { method, buffer, ..BASE })));
}

#[test]
fn methods_over_thresholds() {
    let thresholds = [1, 4, 25, 200].into_iter();
    check(thresholds.flat_map(|spare_blocks| {
        [Method::Forwarding, Method::CycleFilling].map(|method| Case {
            spare_blocks,
            method: Some(method),
            ..BASE
        })
    }));
}

#[test]
fn with_partial_merges() {
    let layer = Layer::Fast(SwFull::PartialMerge);
    let channels = [1, 4, 8].into_iter();
    check(channels.flat_map(|channels| ALL.map(|method| Case { layer, channels, method, op: 125, ..BASE })));
}

#[test]
fn other_chips() {
    let channels = [2, 8].into_iter();
    check(
        channels
            .flat_map(|channels| ALL.map(|method| Case { slc: true, mib: 256, channels, method, ..BASE })),
    );
}

#[test]
fn page_mapping_over_channels() {
    let channels = [1, 2, 3, 4, 8].into_iter();
    check(channels.flat_map(|channels| {
        ALL.map(|method| Case { layer: Layer::Page, channels, method, op: 125, ..BASE })
    }));
}

#[test]
fn page_mapping_over_buffers() {
    let sizes = [0, 16, 64].into_iter();
    check(
        sizes.flat_map(|buffer| {
            ALL.map(|method| Case { layer: Layer::Page, buffer, method, op: 125, ..BASE })
        }),
    );
}

#[test]
fn cached_maps() {
    // Small enough to be full soon.
    let caches = [32, 96, 256].into_iter();
    check(
        caches
            .flat_map(|cache| ALL.map(|method| Case { layer: Layer::Dftl(cache), method, op: 125, ..BASE })),
    );
}

#[test]
fn bound_planes() {
    let channels = [2, 4].into_iter();
    check(channels.flat_map(|channels| {
        ALL[..3].iter().map(move |&method| Case { planes: 2, channels, method, op: 125, buffer: 16, ..BASE })
    }));
}
