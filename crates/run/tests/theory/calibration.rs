//! The preset `970-pro` against the formulas of NVMeVirt, whose latencies were fitted to that drive (Kim et al., FAST 2023;
//! `ssd.c`, `conv_ftl.c` and `ssd_config.h`): firmware, array, channel and link of each read, worked out when it is submitted.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use flashweir_run::{RunSpec, WorkloadSpec, simulate};
use flashweir_ssd::quantity::round_to_u64;
use serde_json::json;

const SPAN: u64 = 2 << 30;
const PAGE: u64 = 32 << 10;
const DIES: u64 = 16;
const CHANNELS: u64 = 8;
/// Bytes that cross a channel at once.
const PIECE: u64 = 16 << 10;
const CHANNEL_MB_S: f64 = 800.0;
const LINK_MB_S: f64 = 3360.0;

/// Times at which a channel or the link is taken, in order.
#[derive(Default)]
struct Pipe(Vec<(f64, f64)>);

impl Pipe {
    /// Takes the first gap from `time` on. Returns its end, ns.
    fn request(&mut self, time: f64, length: f64) -> f64 {
        let mut at = self.0.partition_point(|(_, end)| *end <= time);
        let mut start = time;
        while at < self.0.len() && self.0[at].0 < start + length {
            start = start.max(self.0[at].1);
            at += 1;
        }
        self.0.insert(at, (start, start + length));
        start + length
    }

    fn forget(&mut self, before: f64) {
        self.0.retain(|(_, end)| *end > before);
    }
}

/// Reads a second and mean latency, us, of a closed loop of reads at these offsets.
fn formula(offsets: &[u64], size: u64, depth: usize) -> (f64, f64) {
    let mut dies = [0.0_f64; DIES as usize];
    let mut channels: [Pipe; CHANNELS as usize] = Default::default();
    let mut link = Pipe::default();
    let mut ends: BinaryHeap<Reverse<u64>> = BinaryHeap::new();
    let (mut now, mut sum) = (0.0, 0.0);
    for (number, offset) in offsets.iter().enumerate() {
        if ends.len() >= depth {
            now = ends.pop().map_or(now, |Reverse(end)| end as f64);
        }
        let page = offset / PAGE;
        let (die, channel) = ((page % DIES) as usize, (page % CHANNELS) as usize);
        let (firmware, middle) = if size == 4096 { (21_500.0, 35_760.0) } else { (30_490.0, 36_013.0) };
        let by_type = if (page / DIES).is_multiple_of(2) { -6_000.0 } else { 6_000.0 };
        let mut out = dies[die].max(now + firmware) + middle + by_type;
        let (mut left, mut done) = (size, 0.0);
        while left > 0 {
            let piece = left.min(PIECE);
            out = channels[channel].request(out, piece as f64 * 1000.0 / CHANNEL_MB_S);
            done = link.request(out, piece as f64 * 1000.0 / LINK_MB_S);
            left -= piece;
        }
        dies[die] = out;
        sum += done - now;
        ends.push(Reverse(round_to_u64(done)));
        if number.is_multiple_of(256) {
            for channel in &mut channels {
                channel.forget(now);
            }
            link.forget(now);
        }
    }
    let end = ends.into_iter().map(|Reverse(end)| end).max().unwrap_or(1) as f64;
    (offsets.len() as f64 * 1e9 / end, sum / offsets.len() as f64 / 1000.0)
}

/// Offsets of reads in order, or of a linear congruential generator.
fn offsets(size: u64, random: bool, count: u64) -> Vec<u64> {
    let mut state = 11_u64;
    let mut one = |number: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (if random { state >> 33 } else { number }) % (SPAN / size) * size
    };
    (0..count).map(&mut one).collect()
}

#[test]
fn reads_of_970_pro_take_the_time_of_nvmevirts_formulas() {
    let mut worst = 0.0_f64;
    for (size, random) in [(4096, true), (4096, false), (PAGE, true), (PAGE, false)] {
        for depth in [1_usize, 4, 16, 64, 256] {
            // The last reads of a closed loop are fewer than its depth: they must not count.
            let count = 1000 + 40 * depth as u64;
            let (rate, latency) = formula(&offsets(size, random, count), size, depth);
            let kind = if random { "random" } else { "sequential" };
            let set = |key: &str, value: serde_json::Value| (key.to_owned(), value);
            let result = simulate(
                &RunSpec {
                    workloads: vec![WorkloadSpec {
                        spec: format!("{kind}:span=2GiB,size={size},count={count},write=0").into(),
                        ..WorkloadSpec::default()
                    }],
                    device: Some("970-pro".into()),
                    overrides: [
                        set("capacity", json!("2GiB")),
                        set("precondition", json!("full")),
                        set("host.queue_depth", json!(depth)),
                    ]
                    .into(),
                    ..RunSpec::default()
                },
                &mut |_| true,
            )
            .expect("a legal run");
            let number = |value: &serde_json::Value| value.as_f64().expect("a number");
            let found = number(&result["latency_us"]["read"]["mean"]);
            let found_rate = number(&result["iops"]);
            println!(
                "{kind} {size} depth {depth}: {found:.1} us, formula {latency:.1}; {found_rate:.0} a second, {rate:.0}"
            );
            worst = worst.max((found / latency - 1.0).abs());
            assert!((found / latency - 1.0).abs() < 0.05, "{kind} {size}, depth {depth}: {found}, {latency}");
            let bytes = found_rate * size as f64;
            let flash = CHANNELS as f64 * CHANNEL_MB_S * 1e6;
            assert!(bytes < 1.001 * flash.min(LINK_MB_S * 1e6), "{bytes} bytes a second");
        }
    }
    println!("worst {:.2}%", worst * 100.0);
}
