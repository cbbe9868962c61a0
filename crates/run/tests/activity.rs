//! The activity of channels in a result: worked out by hand, and against everything else that the result says.

use std::cell::Cell;

use flashweir_run::{RunSpec, WorkloadSpec, simulate};
use flashweir_ssd::config::Precondition;
use flashweir_ssd::config::layers::{Layer, resolve};
use flashweir_ssd::{Options, Simulation};
use flashweir_trace::generate::Spec;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::Value;

const SHARES: [&str; 5] = ["host", "gc", "mapping", "waiting", "idle"];

fn spec(settings: &[(&str, String)], workload: &str, activity: Option<Value>) -> RunSpec {
    RunSpec {
        workloads: vec![WorkloadSpec { spec: workload.into(), ..WorkloadSpec::default() }],
        overrides: settings
            .iter()
            .map(|(key, value)| ((*key).into(), Value::String(value.clone())))
            .collect(),
        activity,
        ..RunSpec::default()
    }
}

/// The result without wall times.
fn run(settings: &[(&str, String)], workload: &str, activity: Option<Value>) -> Value {
    let mut result = simulate(&spec(settings, workload, activity), &mut |_| true).expect("a legal run");
    for key in ["wall_s", "setup_wall_s", "precondition_wall_s"] {
        result[key].take();
    }
    result
}

fn activity(settings: &[(&str, String)], workload: &str, window: &str) -> Value {
    run(settings, workload, Some(window.into()))["activity"].take()
}

fn numbers(list: &Value) -> Vec<f64> {
    list.as_array().expect("a list").iter().map(|number| number.as_f64().expect("a number")).collect()
}

/// A time in whole ns.
#[expect(clippy::cast_sign_loss, reason = "times are not negative")]
fn ns(seconds: &Value) -> u64 {
    (seconds.as_f64().expect("a time") * 1e9).round() as u64
}

/// The edges of the bins, ns.
fn edges(activity: &Value) -> Vec<u64> {
    let (from, to, width) = (ns(&activity["from_s"]), ns(&activity["to_s"]), ns(&activity["bin_s"]));
    let bins = (to - from).div_ceil(width);
    (0..=bins).map(|bin| (from + bin * width).min(to)).collect()
}

/// Sum of a series of shares or means, each times the width of its bin, from `from` to `to`, which must be edges, ns.
fn sum(activity: &Value, series: &Value, from: u64, to: u64) -> f64 {
    let edges = edges(activity);
    let numbers = numbers(series);
    assert_eq!(numbers.len() + 1, edges.len().max(1));
    assert!(edges.contains(&from) && edges.contains(&to), "{from}..{to} of {edges:?}");
    let within = edges.windows(2).zip(&numbers).filter(|(bin, _)| bin[0] >= from && bin[1] <= to);
    within.map(|(bin, number)| (bin[1] - bin[0]) as f64 * number).sum()
}

fn settings(more: &[(&'static str, &str)]) -> Vec<(&'static str, String)> {
    let base = [
        ("page", "4KiB"),
        ("pages_per_block", "4"),
        ("capacity", "256KiB"),
        ("op_ratio", "0.5"),
        ("timing.read", "24ns"),
        ("timing.program", "100ns"),
        ("timing.erase", "300ns"),
        ("timing.bus", "0"),
        ("timing.command", "20ns"),
    ];
    base.iter().chain(more).map(|(key, value)| (*key, (*value).to_owned())).collect()
}

/// Expected series of a channel: mean over spans of the given length, ns.
#[track_caller]
fn assert_series(activity: &Value, series: &Value, expected: &[((u64, u64), f64)]) {
    for ((from, to), mean) in expected {
        let found = sum(activity, series, *from, *to) / (to - from) as f64;
        assert!((found - mean).abs() < 1e-12, "{from}..{to}: {found} instead of {mean}");
    }
}

/// A trace of single pages: time in ns, R or W, page.
fn trace(requests: &[(u64, char, u64)]) -> tempfile::NamedTempFile {
    let lines = requests.iter().map(|(time, op, page)| format!("{time},{op},{},8\n", page * 8));
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), lines.collect::<String>()).expect("written");
    file
}

fn traced(more: &[(&'static str, &str)], requests: &[(u64, char, u64)]) -> Value {
    let file = trace(requests);
    let path = file.path().to_str().expect("a name");
    let run = RunSpec {
        columns: Some("time=0:ns,op=1,lba=2:sectors,size=3:sectors".into()),
        verify: true,
        ..spec(&settings(more), path, Some(true.into()))
    };
    simulate(&run, &mut |_| true).expect("a legal run")["activity"].take()
}

#[test]
fn a_buffer_full_for_one_channel_keeps_the_other_one_waiting() {
    // Even pages are of channel 0. Pages 0 and 2 enter at 0; page 4 waits for 0, until 120, and page 6 for 2, until 240.
    let writes = [0, 2, 4, 6].map(|page| (0, 'W', page));
    for engine in ["busy-until", "event"] {
        let more = [("channels", "2"), ("buffer.bytes", "8KiB"), ("engine", engine)];
        let all = traced(&more, &writes);
        assert_eq!((ns(&all["to_s"]), ns(&all["bin_s"])), (480, 1), "the drain takes pages 4 and 6");
        let [first, second] = [&all["channels"][0], &all["channels"][1]];
        assert_series(&all, &first["host"], &[((0, 480), 1.0)]);
        assert_series(&all, &first["waiting"], &[((0, 240), 0.0)]);
        assert_series(&all, &second["waiting"], &[((0, 240), 1.0)]);
        assert_series(&all, &second["idle"], &[((0, 240), 0.0)]);
        assert_series(&all, &first["dirty_pages"], &[((0, 240), 2.0)]);
        assert_series(&all, &second["dirty_pages"], &[((0, 240), 0.0)]);
        assert_series(&all, &all["dirty_pages"], &[((0, 240), 2.0)]);
    }
}

#[test]
fn waiting_is_only_while_a_write_finds_no_room() {
    // At 50 page 2 finds no room: pages 0 and 1 are programmed until 170, each on its channel. Page 3 enters at 400. At 500
    // page 5 finds no room: pages 2 and 3 are programmed until 620. The read of page 0 takes 44 ns,
    // and the drain of page 5 120.
    let requests = [(0, 'W', 0), (0, 'W', 1), (50, 'W', 2), (400, 'W', 3), (500, 'W', 5), (700, 'R', 0)];
    let more = [("channels", "2"), ("buffer.bytes", "8KiB"), ("host.mode", "open")];
    let all = traced(&more, &requests);
    assert_eq!(ns(&all["to_s"]), 864);
    let [first, second] = [&all["channels"][0], &all["channels"][1]];
    let busy = [((0, 50), 0.0), ((50, 170), 1.0), ((170, 500), 0.0), ((500, 620), 1.0), ((620, 700), 0.0)];
    for channel in [first, second] {
        assert_series(&all, &channel["host"], &busy);
        assert_series(&all, &channel["waiting"], &[((0, 744), 0.0)]);
    }
    assert_series(&all, &first["host"], &[((700, 744), 1.0)]);
    assert_series(&all, &second["idle"], &[((620, 744), 1.0)]);
    let of_first = [((0, 170), 1.0), ((170, 620), 1.0), ((620, 744), 0.0)];
    assert_series(&all, &first["dirty_pages"], &of_first);
    let of_second = [((0, 170), 1.0), ((170, 400), 0.0), ((400, 744), 1.0)];
    assert_series(&all, &second["dirty_pages"], &of_second);
    assert_series(&all, &all["dirty_pages"], &[((170, 400), 1.0), ((400, 620), 2.0), ((620, 744), 1.0)]);
}

#[test]
fn half_of_two_dies_is_half_of_the_channel() {
    // The buffer has room for one page: page 2, of the other die, waits for page 0 while its own die is idle.
    let more = [("channels", "1"), ("dies", "2"), ("buffer.bytes", "4KiB")];
    let all = traced(&more, &[(0, 'W', 0), (0, 'W', 2)]);
    assert_eq!(ns(&all["to_s"]), 240, "page 2 is drained");
    let channel = &all["channels"][0];
    assert_series(&all, &channel["host"], &[((0, 120), 0.5)]);
    assert_series(&all, &channel["waiting"], &[((0, 120), 0.5)]);
    // Without a buffer the other half is idle.
    let all = traced(&more[..2], &[(0, 'W', 0)]);
    assert_series(&all, &all["channels"][0]["idle"], &[((0, 120), 0.5)]);
    assert_series(&all, &all["channels"][0]["waiting"], &[((0, 120), 0.0)]);
}

#[test]
fn a_die_that_does_two_things_at_once_counts_once() {
    // With cache program the second page comes in beside the first one's program: 20 + 100 + 100 ns.
    let more = [("channels", "1"), ("timing.cache_program", "true"), ("host.queue_depth", "2")];
    let all = traced(&more, &[(0, 'W', 0), (0, 'W', 1)]);
    assert_eq!(ns(&all["to_s"]), 220);
    assert_series(&all, &all["channels"][0]["host"], &[((0, 220), 1.0)]);
    // Two planes program together: 2 x 20 + 100 ns.
    let more = [("channels", "1"), ("planes", "2"), ("timing.multi_plane", "true"), ("buffer.bytes", "8KiB")];
    let all = traced(&more, &[(0, 'W', 0), (0, 'W', 1), (0, 'W', 2)]);
    assert_eq!(ns(&all["to_s"]), 260, "page 2 is drained");
    assert_series(&all, &all["channels"][0]["host"], &[((0, 140), 1.0)]);
}

#[test]
fn collections_count_for_themselves() {
    // 16 of 25 blocks are full and one is held back: 32 pages fill the rest, then page 32 needs an erase (300 ns).
    let more = [("channels", "1"), ("precondition", "full")];
    let writes: Vec<_> = (0..33).map(|page| (0, 'W', page)).collect();
    let all = traced(&more, &writes);
    let edges = edges(&all);
    assert_eq!((ns(&all["to_s"]), ns(&all["bin_s"]), edges.len()), (4260, 8, 534), "the last bin is cut");
    let channel = &all["channels"][0];
    assert_series(&all, &channel["host"], &[((0, 3840), 1.0), ((3840, 4136), 0.0), ((4144, 4260), 1.0)]);
    assert_series(&all, &channel["gc"], &[((0, 3840), 0.0), ((3840, 4136), 1.0), ((4136, 4144), 0.5)]);
}

#[test]
fn a_page_is_dirty_for_a_channel_once_it_is_bound_to_it() {
    // Under dynamic allocation page 0 waits for no channel in particular. At 200 page 1 finds no room, and page 0 goes to
    // channel 0 until 320. A read of what was never written ends the run at 400.
    let more =
        [("channels", "2"), ("alloc.kind", "dynamic"), ("buffer.bytes", "4KiB"), ("host.mode", "open")];
    let all = traced(&more, &[(0, 'W', 0), (200, 'W', 1), (400, 'R', 5)]);
    assert_series(&all, &all["dirty_pages"], &[((0, 400), 1.0)]);
    let [first, second] = [&all["channels"][0], &all["channels"][1]];
    assert_series(&all, &first["dirty_pages"], &[((0, 200), 0.0), ((200, 320), 1.0), ((320, 400), 0.0)]);
    assert_series(&all, &second["dirty_pages"], &[((0, 400), 0.0)]);
    assert_series(&all, &second["waiting"], &[((0, 200), 0.0), ((200, 320), 1.0), ((320, 400), 0.0)]);
}

#[test]
fn a_window_beyond_the_run_is_empty_and_a_bad_one_is_refused() {
    let workload = "sequential:span=64KiB,count=5";
    let late = activity(&settings(&[]), workload, "1s..2s");
    assert_eq!((&late["from_s"], &late["to_s"]), (&1.0.into(), &1.0.into()));
    assert_eq!(late["dirty_pages"], Value::Array(vec![]));
    assert_eq!(late["channels"][7]["host"], Value::Array(vec![]));
    let run = spec(&settings(&[]), workload, Some("2ms..1ms".into()));
    let error = simulate(&run, &mut |_| true).expect_err("refused").to_string();
    assert_eq!(error, "activity 2ms..1ms: expected a window that ends after it starts");
}

/// Settings of a small drive.
fn drives() -> impl Strategy<Value = Vec<(&'static str, String)>> {
    let shape = (1..4u32, 1..3u32, 1..3u32, 20..80u32, 4..12u32);
    let flash = (any::<bool>(), any::<bool>(), any::<bool>());
    let host = (prop::sample::select(vec![1, 1, 4]), 0..6u64, any::<bool>(), any::<bool>());
    (shape, flash, host).prop_map(|(shape, flash, host)| {
        let (channels, dies, planes, op_percent, pages_per_block) = shape;
        let (free_bus, cache, dynamic) = flash;
        let (depth, buffer_pages, ack_flash, full) = host;
        let units = u64::from(channels * dies * planes);
        let dynamic = dynamic && units > 1;
        let mut settings = vec![
            ("channels", channels.to_string()),
            ("dies", dies.to_string()),
            ("planes", planes.to_string()),
            ("page", "4KiB".into()),
            ("pages_per_block", pages_per_block.to_string()),
            ("capacity", (units * 64 * 4096).to_string()),
            ("op_ratio", (f64::from(op_percent) / 100.0).to_string()),
            ("timing.read", "20us".into()),
            ("timing.program", "200us".into()),
            ("timing.bus", if free_bus { "0" } else { "5" }.into()),
            ("timing.multi_plane", (planes > 1).to_string()),
            ("timing.cache_program", (cache && !free_bus && !dynamic && buffer_pages == 0).to_string()),
            ("nand.cache_read", (full && !free_bus).to_string()),
            ("alloc.kind", if dynamic { "dynamic" } else { "striped" }.into()),
            ("buffer.bytes", (buffer_pages * 4096).to_string()),
            ("precondition", if full { "full" } else { "empty" }.into()),
            ("host.queue_depth", depth.to_string()),
        ];
        if buffer_pages > 0 && ack_flash {
            settings.push(("buffer.ack", "flash".into()));
        }
        settings
    })
}

/// Time in which a die of the channel has no command while a write finds no room, ns: gap by gap.
fn waiting(settings: &[(&'static str, String)], workload: &str) -> Vec<u64> {
    let layer = Layer::from_assignments("test", settings.iter().map(|(key, value)| (*key, value.as_str())));
    let config = resolve(&[layer]).expect("ran");
    let mut simulation =
        Simulation::new(&config, Options { seed: 1, record: true, ..Options::default() }).expect("ran");
    if config.precondition == Precondition::Full {
        let pages = simulation.geometry().logical_pages;
        simulation.fill(0..pages).expect("ran");
        simulation.end_of_preconditioning();
    }
    let mut requests = Vec::new();
    let mut generator = Spec::parse(workload).expect("ran").generator();
    while generator.read(&mut requests, 4096) {}
    simulation.serve(&requests).expect("ran");
    simulation.finish().expect("ran");
    let recorded = simulation.take_recorded();
    let dies = simulation.geometry().dies_per_channel();
    let mut waiting = vec![0; simulation.geometry().channels as usize];
    for die in 0..simulation.geometry().total_dies() {
        let mut spans: Vec<_> = recorded.commands.iter().filter(|command| command.die == die).collect();
        spans.sort_by_key(|command| command.start_ns);
        let mut free_ns = 0;
        for (start, end) in
            spans.iter().map(|command| (command.start_ns, command.end_ns)).chain([(u64::MAX, u64::MAX)])
        {
            for full in &recorded.full {
                waiting[(die / dies) as usize] +=
                    start.min(full.end_ns).saturating_sub(full.start_ns.max(free_ns));
            }
            free_ns = free_ns.max(end);
        }
    }
    waiting
}

/// Shares of channels sum to one in each bin, and over all bins to those of the result.
fn shares_agree(all: &Value, with: &Value, waits: &[u64], edges: &[u64]) -> Result<(), TestCaseError> {
    let end = *edges.last().expect("one");
    let channels = all["channels"].as_array().expect("a list");
    let dies = with["config"]["dies"].as_f64().expect("a number");
    for (number, channel) in channels.iter().enumerate() {
        let shares = SHARES.map(|name| numbers(&channel[name]));
        for bin in 0..edges.len() - 1 {
            let in_bin = shares.each_ref().map(|share| share[bin]);
            prop_assert!(in_bin.iter().all(|share| (0.0..=1.0).contains(share)), "{:?}", in_bin);
            prop_assert!((in_bin.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{:?}", in_bin);
        }
        let mean = |name| sum(all, &channel[name], 0, end) / end as f64;
        for name in ["host", "gc", "mapping"] {
            let share = with["channels"][number][name].as_f64().expect("a share");
            prop_assert!((mean(name) - share).abs() < 1e-9, "{} of channel {}", name, number);
        }
        let expected = waits[number] as f64 / dies / end as f64;
        prop_assert!((mean("waiting") - expected).abs() < 1e-9, "waiting of channel {}", number);
    }
    let dirty: f64 = channels.iter().map(|channel| sum(all, &channel["dirty_pages"], 0, end)).sum();
    let total = sum(all, &all["dirty_pages"], 0, end);
    if with["config"]["alloc"]["kind"] == "striped" {
        prop_assert!((dirty - total).abs() <= 1e-9 * total, "{} of {}", dirty, total);
    } else {
        prop_assert!(dirty <= total * (1.0 + 1e-9), "{} of {}", dirty, total);
    }
    Ok(())
}

/// A window between two edges holds what the bins between them hold.
fn window_agrees(
    drive: &[(&'static str, String)],
    workload: &str,
    all: &Value,
    edges: &[u64],
    cut: (usize, usize),
) -> Result<(), TestCaseError> {
    let channels = all["channels"].as_array().expect("a list");
    let edge = |percent: usize| (edges.len() - 1) * percent / 100;
    let (first, last) = (edge(cut.0.min(cut.1)), edge(cut.0.max(cut.1)));
    if first < last {
        let (from, to) = (edges[first], edges[last]);
        let part = activity(drive, workload, &format!("{from}ns..{to}ns"));
        prop_assert_eq!((ns(&part["from_s"]), ns(&part["to_s"])), (from, to));
        for (of_part, of_all) in part["channels"].as_array().expect("a list").iter().zip(channels) {
            for name in SHARES.iter().chain(&["dirty_pages"]) {
                let (found, expected) =
                    (sum(&part, &of_part[name], from, to), sum(all, &of_all[name], from, to));
                prop_assert!((found - expected).abs() <= 1e-6, "{}: {} {}", name, found, expected);
            }
        }
    }
    Ok(())
}

#[test]
fn activity_agrees_with_everything_else() {
    let cases = ProptestConfig { cases: 80, failure_persistence: None, ..ProptestConfig::default() };
    let strategy = (drives(), 0..1000u32, 1..400u32, (0..=100usize, 0..=100usize));
    let (ran, waited) = (Cell::new(0), Cell::new(0));
    let mut runner = TestRunner::new(cases);
    let outcome = runner.run(&strategy, |(drive, seed, count, cut)| {
        let kinds = "span=256KiB,size=4KiB|16KiB,align=512,write=0.7,trim=0.02,flush=0.02";
        let workload = format!("random:{kinds},count={count},seed={seed}");
        let Ok(_) = simulate(&spec(&drive, &workload, None), &mut |_| true) else { return Ok(()) };
        let without = run(&drive, &workload, None);
        ran.set(ran.get() + 1);
        prop_assert!(without.get("activity").is_none());
        let mut with = run(&drive, &workload, Some(true.into()));
        let all = with.as_object_mut().expect("an object").shift_remove("activity").expect("asked for");
        prop_assert_eq!(with.to_string(), without.to_string(), "watching changes nothing");

        let edges = edges(&all);
        let (end, elapsed) =
            (*edges.last().expect("one"), ns(&with["simulated_s"]) + ns(&with["drain"]["time_s"]));
        prop_assert_eq!(end, elapsed);
        prop_assert!(edges.len() <= 1001);
        if elapsed == 0 {
            return Ok(());
        }
        let waits = waiting(&drive, &workload);
        waited.set(waited.get() + u32::from(waits.iter().any(|wait| *wait > 0)));
        shares_agree(&all, &with, &waits, &edges)?;
        window_agrees(&drive, &workload, &all, &edges, cut)?;

        // Both time paths tell the same.
        let on = |engine: &str| [&drive[..], &[("engine", engine.to_owned())]].concat();
        if simulate(&spec(&on("busy-until"), &workload, None), &mut |_| true).is_ok() {
            let [times, events] =
                ["busy-until", "event"].map(|engine| activity(&on(engine), &workload, "all"));
            prop_assert_eq!(times, events);
        }
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
    assert!(
        ran.get() > 40 && waited.get() > 10,
        "{} ran, in {} of them channels waited",
        ran.get(),
        waited.get()
    );
}
