//! The models against what the papers print: at full size (16 GiB, 4.5 million requests) with `FLASHWEIR_FULL=1`.

use crate::models::channels::{self, Method};
use crate::models::fast::{Fast, SwFull};
use crate::models::lockstep::{Drive, Planner, Times};
use crate::models::simulator::full;
use crate::models::stream::Striping;

/// 18.6 GB of 4 KiB.
const REQUESTS: u64 = 4_541_015;

fn random(count: u64, seed: u64) -> String {
    format!("random:span=16GiB,size=4KiB,align=512,count={count},write=1,seed={seed}")
}

/// Cycle stealing and synchronized channels: 8 channels, 2.5%, 32 KiB, throttle 8. Requests a second.
fn huang(count: u64) -> (f64, f64) {
    let data_blocks = 16 * 2048 / 8;
    let iops = |striping, planner| {
        let drive = Drive {
            striping,
            data_blocks,
            log_blocks: data_blocks * 25 / 1000,
            per_block: 128,
            times: Times::MLC,
            planner,
            throttle: 8,
            buffer: 8,
            in_order: false,
            coalesce: true,
        };
        drive.run(&random(count, 11)).iops()
    };
    (
        iops(Striping::independent(8, 1, 8), Planner::CycleStealing),
        iops(Striping::synchronized(8, 1, 8), Planner::None),
    )
}

/// Abstract: 3.72 times the IOPS of synchronized channels.
#[test]
fn lead_of_cycle_stealing() {
    let counts: &[(u64, f64)] =
        if full() { &[(600_000, 3.84), (2_400_000, 3.72), (REQUESTS, 3.72)] } else { &[(600_000, 3.84)] };
    for &(count, expected) in counts {
        let (stealing, synchronized) = huang(count);
        let ratio = stealing / synchronized;
        println!("{count}: {stealing:.2} / {synchronized:.2} = {ratio:.3}, expected {expected}");
        assert!((ratio / expected - 1.0).abs() < 0.02);
    }
}

/// Requests a second and the share of channel time that is idle: 10%, random log blocks reused.
fn wen(channels: usize, bound: bool, method: Method, buffer: usize) -> (f64, f64) {
    let striping = if bound { Striping::synchronized } else { Striping::independent }(channels, 1, 8);
    let drive =
        channels::Drive { striping, times: Times::MLC, method, buffer, spare_blocks: 200, coalesce: true };
    let blocks = 16 * 2048 / channels as u32;
    let out =
        drive.run(&random(REQUESTS, 5), || Fast::new(blocks, blocks / 10, 128, Times::MLC, SwFull::Reuse));
    let [host, gc, idle] = out.shares();
    println!(
        "{channels} channels, bound {bound}, {method:?}, buffer {buffer}: {:.2} IOPS, host {host:.4} gc {gc:.4} idle \
         {idle:.4}, {out:?}",
        out.iops()
    );
    (out.iops(), idle)
}

/// Table 3 on Random, and the idle time of independent channels in figure 9.
#[test]
fn table_3_and_idle_time() {
    if !full() {
        return;
    }
    let (baseline, _) = wen(4, true, Method::None, 0);
    assert!((baseline / 76.0 - 1.0).abs() < 0.02);
    let (filling, _) = wen(4, false, Method::CycleFilling, 8);
    assert!((filling / 194.0 - 1.0).abs() < 0.02);
    let (_, idle) = wen(8, false, Method::None, 8);
    assert!((idle - 0.80).abs() < 0.03);
    wen(8, false, Method::Forwarding, 8);
    wen(8, false, Method::CycleFilling, 8);
    wen(8, true, Method::None, 8);
}
