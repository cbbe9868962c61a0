//! The simulator against the models of scheduling below the FTL: over random streams, every request is done at the same
//! nanosecond.

use flashweir_ssd::config::layers::{Layer, resolve};
use flashweir_ssd::{Options, Simulation};
use flashweir_trace::{Op, Request};
use proptest::prelude::*;

use crate::models::read_first::{self, Access, Device, Order};
use crate::models::simulator::{Settings, full, set};
use crate::models::suspend;

/// Sectors of a page.
const PAGE: u64 = 8;

/// When every access is done, and how many suspensions there were.
fn simulated(settings: &Settings, accesses: &[Access]) -> (Vec<u64>, u64) {
    let base = [("channels", "1"), ("ftl.kind", "direct"), ("host.mode", "open"), ("page", "4KiB")];
    let settings = settings.iter().map(|(key, value)| (*key, value.as_str()));
    let config = resolve(&[Layer::from_assignments("test", base.into_iter().chain(settings))])
        .unwrap_or_else(|error| panic!("{error}"));
    let options = Options { seed: 1, verify: true, ..Options::default() };
    let mut simulation = Simulation::new(&config, options).expect("a legal drive");
    simulation.keep_completions();
    let request = |access: &Access| Request {
        time_ns: access.time,
        lba: access.page * PAGE,
        sectors: PAGE as u32,
        stream: 0,
        op: if access.reads { Op::Read } else { Op::Write },
        handle: 0,
    };
    let requests: Vec<_> = accesses.iter().map(request).collect();
    simulation.serve(&requests).expect("served");
    simulation.finish().expect("finished");
    let mut completions = Vec::new();
    simulation.take_completions(&mut completions);
    completions.sort_by_key(|completion| completion.number);
    let ends =
        accesses.iter().zip(&completions).map(|(access, completion)| access.time + completion.latency_ns);
    (ends.collect(), simulation.stats().sched.map_or(0, |counts| counts.suspensions))
}

/// Accesses to `pages`, with this many reads in a hundred and this mean time between them; some come together.
fn stream() -> impl Strategy<Value = Vec<Access>> {
    let one = (0..100u32, 0..10_000u64, 0..u64::MAX, 0..8u32);
    let shape = (prop::sample::select(vec![3, 16, 64]), 5..95u32, 1..300_000u64);
    (shape, prop::collection::vec(one, 1..250)).prop_map(|((pages, reads, gap), raw)| {
        let mut time = 0;
        let access = |(kind, fraction, page, together): (u32, u64, u64, u32)| {
            time += if together == 0 { 0 } else { 2 * gap * fraction / 10_000 };
            Access { time, reads: kind < reads, page: page % pages }
        };
        raw.into_iter().map(access).collect()
    })
}

fn runner() -> proptest::test_runner::TestRunner {
    let cases = if full() { 5000 } else { 400 };
    proptest::test_runner::TestRunner::new(ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    })
}

/// Times without a common measure, so that dies seldom ask for the bus at the same instant.
const ODD: Device = Device { dies: 8, read: 20_011, program: 200_017, transfer: 10_003 };
/// The paper's.
const PRINTED: Device = Device { dies: 1, read: 20_000, program: 200_000, transfer: 10_000 };

#[test]
fn every_read_and_write_of_the_paper_s_drive_is_done_when_the_model_says() {
    let device = prop::sample::select(vec![
        ODD,
        Device { dies: 2, ..ODD },
        Device { dies: 3, transfer: 70_001, ..ODD },
        PRINTED,
        Device { transfer: 0, ..PRINTED },
    ]);
    let order = prop::sample::select(vec![
        Order::Arrival,
        Order::ReadsFirst(None),
        Order::ReadsFirst(Some(0)),
        Order::ReadsFirst(Some(240_031)),
        Order::ReadsFirst(Some(300_000)),
        Order::ReadsFirst(Some(420_000)),
        Order::ReadsFirst(Some(700_000)),
        Order::ReadsFirst(Some(1_500_000)),
        Order::ReadsFirst(Some(6_000_000)),
    ]);
    let differ = std::cell::Cell::new(0);
    runner()
        .run(&(device, order, stream()), |(device, order, accesses)| {
            let mut settings = vec![
                set("capacity", "256KiB"),
                set("dies", device.dies),
                set("timing.read", device.read),
                set("timing.program", device.program),
                set("timing.bus", 0),
                set("timing.command", device.transfer),
            ];
            if let Order::ReadsFirst(bound) = order {
                settings.push(set("sched.kind", "read-first"));
                settings.extend(bound.map(|bound| set("sched.write_bound", bound)));
            }
            let expected = read_first::completions(device, order, &accesses);
            prop_assert_eq!(&simulated(&settings, &accesses).0, &expected);
            let by_arrival = read_first::completions(device, Order::Arrival, &accesses);
            differ.set(differ.get() + u32::from(by_arrival != expected));
            // A bound of no more than a write's own time: nothing moves. (Dies that ask for the bus at the same instant may
            // still do so in another order.)
            let own = device.program + device.transfer;
            if device.dies == 1 && matches!(order, Order::ReadsFirst(Some(bound)) if bound <= own) {
                prop_assert_eq!(by_arrival, expected);
            }
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{error}"));
    assert!(differ.get() > 40, "the scheduler changes too few of the streams: {}", differ.get());
}

#[test]
fn every_suspension_is_the_model_s() {
    let device = (
        prop::sample::select(vec![0, 0, 7_001, 150_000]),
        prop::sample::select(vec![0, 0, 5_003]),
        prop::sample::select(vec![0, 1, 2, 1000]),
        prop::sample::select(vec![0.0, 0.0, 0.5, 1.0, 3.0]),
        prop::sample::select(vec![None, None, Some(100_000), Some(260_000), Some(400_000), Some(2_000_000)]),
    );
    let suspended = std::cell::Cell::new(0);
    runner()
        .run(&(device, stream()), |((stop, resume, most, weight, bound), accesses)| {
            let mut settings = vec![
                set("capacity", "256KiB"),
                set("timing.read", "20us"),
                set("timing.program", "200us"),
                set("timing.bus", 0),
                set("sched.kind", "suspend"),
                set("sched.suspend_time", stop),
                set("sched.resume_time", resume),
                set("sched.max_suspensions", most),
                set("sched.write_weight", weight),
            ];
            settings.extend(bound.map(|bound| set("sched.write_bound", bound)));
            let bound = bound.unwrap_or(u64::MAX);
            let device =
                suspend::Device { read: 20_000, program: 200_000, stop, resume, most, bound, weight };
            let expected = suspend::completions(device, &accesses);
            suspended.set(suspended.get() + u32::from(expected.1 > 0));
            prop_assert_eq!(simulated(&settings, &accesses), expected);
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{error}"));
    assert!(suspended.get() > 40, "too few of the streams have a suspension: {}", suspended.get());
}
