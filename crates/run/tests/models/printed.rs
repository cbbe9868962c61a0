//! The models against what the papers print, at full size: `cargo test --test models -- --ignored --nocapture`.

use crate::channels;
use crate::dftl::{self, Dftl};
use crate::fast::{Fast, SwFull};
use crate::lockstep::{Drive, Planner, Times};
use crate::page::PageMap;
use crate::stream::Striping;

/// The paper's drive: 16 GiB logical, 4 KiB pages, 128 a block.
fn huang(channels: usize, bound: bool, planner: Planner) -> Drive {
    let data_blocks = 16 * 2048 / channels as u32;
    Drive {
        striping: Striping { channels, bound, page_sectors: 8 },
        data_blocks,
        log_blocks: (data_blocks * 25 / 1000).max(3),
        per_block: 128,
        times: Times::MLC,
        planner,
        throttle: 8,
        buffer: 8,
        in_order: false,
        coalesce: true,
    }
}

fn random(count: u64, seed: u64) -> String {
    format!("random:span=16GiB,size=4KiB,align=512,count={count},write=1,seed={seed}")
}

#[test]
#[ignore = "full size"]
fn huang_ratio() {
    for count in [600_000, 1_200_000, 2_400_000, 4_541_015, 4_800_000] {
        let iops = |bound, planner, coalesce, buffer| {
            let out = Drive { coalesce, buffer, ..huang(8, bound, planner) }.run(&random(count, 11));
            println!(
                "{count} bound {bound} {planner:?} coalesce {coalesce} buffer {buffer}: {:.3} serving {:.1} collecting {:.1} cycles {} collections {}",
                out.iops(),
                out.serving as f64 / 1e9,
                out.collecting as f64 / 1e9,
                out.write_cycles,
                out.merges.len()
            );
            out.iops()
        };
        let stealing = iops(false, Planner::CycleStealing, true, 8);
        let sync = iops(true, Planner::None, true, 8);
        let sync0 = iops(true, Planner::None, true, 0);
        let sync_super = iops(true, Planner::None, true, 64);
        let ratio_keep = iops(false, Planner::CycleStealing, false, 8) / iops(true, Planner::None, false, 8);
        println!(
            "{count}: ratio {:.3}, keep both entries {ratio_keep:.3}, sync without buffer {:.3}, sync buffer of 64 {:.3}",
            stealing / sync,
            stealing / sync0,
            stealing / sync_super
        );
    }
}

/// The other paper's drive.
fn wen(
    channels: usize,
    bound: bool,
    method: channels::Method,
    buffer: usize,
    sw_full: SwFull,
    count: u64,
) -> f64 {
    let striping = Striping { channels, bound, page_sectors: 8 };
    let drive =
        channels::Drive { striping, times: Times::MLC, method, buffer, spare_blocks: 200, coalesce: true };
    let data_blocks = 16 * 2048 / channels as u32;
    let out =
        drive.run(&random(count, 5), || Fast::new(data_blocks, data_blocks / 10, 128, Times::MLC, sw_full));
    let [host, gc, idle] = out.shares();
    println!(
        "{count} {channels} channels bound {bound} {method:?} buffer {buffer} {sw_full:?}: {:.2} IOPS, host {host:.4} gc {gc:.4} idle {idle:.4}, \
         collections {} steps {} forward {}",
        out.iops(),
        out.collections,
        out.mandatory_steps,
        out.forward_steps
    );
    out.iops()
}

#[test]
#[ignore = "full size"]
fn wen_table_3_and_shares() {
    use channels::Method::{CycleFilling, Forwarding, None};
    const N: u64 = 4_541_015;
    for sw_full in [SwFull::Reuse, SwFull::PartialMerge] {
        wen(4, true, None, 0, sw_full, N);
        wen(4, false, CycleFilling, 8, sw_full, N);
        wen(4, false, Forwarding, 8, sw_full, N);
        for (bound, method) in [(false, None), (false, Forwarding), (false, CycleFilling), (true, None)] {
            wen(8, bound, method, 8, sw_full, N);
        }
    }
}

#[test]
#[ignore = "full size"]
fn page_mapping() {
    use channels::Method::{CycleFilling, Forwarding, None};
    for (bound, method) in [(true, None), (false, None), (false, Forwarding), (false, CycleFilling)] {
        for channels in [1, 4, 8] {
            let drive = channels::Drive {
                striping: Striping { channels, bound, page_sectors: 8 },
                times: Times::MLC,
                method,
                buffer: 8,
                spare_blocks: 200 / 16,
                coalesce: true,
            };
            let units = if bound { 1 } else { channels };
            let data_blocks = 2048 / channels as u32;
            let shape = dftl::Shape {
                data_blocks,
                spare_blocks: data_blocks / 10,
                per_block: 128,
                page_bytes: 4096 * (channels / units) as u32,
                cached: 256 * 1024 / 8 / units,
            };
            let spec = "random:span=1GiB,size=4KiB,align=512,count=200000,write=1,seed=7";
            let full = drive.run(spec, || PageMap::new(data_blocks, shape.spare_blocks, 128, Times::MLC));
            let cached = drive.run(spec, || Dftl::new(shape, Times::MLC));
            for (name, out) in [("full map", full), ("DFTL", cached)] {
                let [host, gc, idle] = out.shares();
                println!(
                    "{channels} channels bound {bound} {method:?} {name}: {:.2} IOPS, host {host:.4} gc {gc:.4} \
                     idle {idle:.4}, collections {} steps {} forward {}",
                    out.iops(),
                    out.collections,
                    out.mandatory_steps,
                    out.forward_steps
                );
            }
        }
    }
}
