//! Timelines of runs.

use super::*;

/// A slice of a run: track, name, start and end in ns, numbers by name.
pub(super) type Slice = (String, String, u64, u64, BTreeMap<String, u64>);

/// Values of counters by time in ns, in the order of the file.
pub(super) type Counters = BTreeMap<String, Vec<(u64, i64)>>;

/// Slices by their ends; those within one another are on one lane.
pub(super) fn taken_apart(trace: &Trace) -> (Vec<Slice>, Counters) {
    let (mut tracks, mut names, mut facts) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    let mut open = BTreeMap::<u64, Vec<(String, u64, BTreeMap<String, u64>)>>::new();
    let (mut slices, mut counters) = (Vec::new(), Counters::new());
    for packet in &trace.packet {
        if let Some(track) = &packet.track_descriptor {
            tracks.insert(track.uuid(), track.name().to_owned());
        }
        if let Some(data) = &packet.interned_data {
            names.extend(data.event_names.iter().map(|name| (name.iid(), name.name().to_owned())));
            let of_facts = &data.debug_annotation_names;
            facts.extend(of_facts.iter().map(|name| (name.iid(), name.name().to_owned())));
        }
        let (Some(event), Some(time)) = (&packet.track_event, packet.timestamp) else { continue };
        let lane = open.entry(event.track_uuid()).or_default();
        let on = tracks[&event.track_uuid()].clone();
        match event.r#type() {
            proto::SLICE_BEGIN => {
                let args = event.debug_annotations.iter();
                let args = args.map(|fact| (facts[&fact.name_iid()].clone(), fact.uint_value())).collect();
                lane.push((names[&event.name_iid()].clone(), time, args));
            }
            proto::SLICE_END => {
                let (name, start, args) = lane.pop().expect("it has begun");
                slices.push((on, name, start, time, args));
            }
            _ => counters.entry(on).or_default().push((time, event.counter_value())),
        }
    }
    assert!(open.values().all(Vec::is_empty), "every slice ends");
    (slices, counters)
}

/// A run of writes, and reads now and then, in an open loop, with its timeline.
fn run_with(settings: &[(&str, &str)]) -> (Value, Trace) {
    run_within(settings, None)
}

/// The same with a part of the timeline only.
fn run_within(settings: &[(&str, &str)], window: Option<[&str; 2]>) -> (Value, Trace) {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("run.pftrace");
    let base = [
        ("channels", "2"),
        ("dies", "2"),
        ("capacity", "16MiB"),
        ("pages_per_block", "16"),
        ("precondition", "full"),
        ("host.mode", "open"),
    ];
    let overrides = base.iter().chain(settings).map(|(key, value)| ((*key).into(), Value::from(*value)));
    let workload = "random:span=16MiB,size=4KiB,align=4KiB,write=0.6,count=3000,rate=4000,seed=3";
    let run = RunSpec {
        workloads: vec![WorkloadSpec { spec: workload.into(), ..WorkloadSpec::default() }],
        overrides: overrides.collect(),
        timeline: Some(path.clone().into()),
        timeline_from: window.map(|[from, _]| from.into()),
        timeline_to: window.map(|[_, to]| to.into()),
        activity: Some(true.into()),
        ..RunSpec::default()
    };
    let result = simulate(&run, &mut |_| true).expect("a legal run");
    let bytes = std::fs::read(&path).expect("the file");
    (result, Trace::decode(bytes.as_slice()).expect("a trace"))
}

#[test]
fn a_die_shows_who_made_way_and_who_went_ahead() {
    let (result, trace) = run_with(&[("sched.kind", "suspend"), ("sched.resume_time", "5us")]);
    let (slices, counters) = taken_apart(&trace);
    let on = |prefix: &'static str| slices.iter().filter(move |slice| slice.0.starts_with(prefix));
    let dies: BTreeSet<_> = on("die").map(|slice| slice.0.clone()).collect();
    assert_eq!(dies.len(), 4);
    // A die does one thing at a time.
    for die in &dies {
        let of_die: Vec<_> = slices.iter().filter(|slice| slice.0 == *die).collect();
        assert!(of_die.is_sorted_by(|before, after| before.3 <= after.2), "{die}");
    }
    let sched = &result["sched"];
    let pauses = |name| on("paused").filter(|slice| slice.1 == name).count() as u64;
    assert_eq!(Some(pauses("suspended")), sched["suspensions"].as_u64());
    assert_eq!(Some(pauses("makes way")), sched["preemptions"].as_u64());
    assert!(pauses("suspended") > 20 && pauses("makes way") > 20, "{sched}");
    let mut within_one = None;
    for (track, name, start, end, args) in on("paused") {
        if matches!(name.as_str(), "suspended" | "makes way") {
            let die = track.replace("paused", "die");
            let within = slices.iter().filter(|slice| slice.0 == die && slice.2 >= *start && slice.3 <= *end);
            let (mut reads, mut busy_ns) = (0, 0);
            for slice in within {
                assert_eq!(slice.1, "read host");
                reads += 1;
                busy_ns += slice.3 - slice.2;
            }
            assert!(reads > 0, "somebody made use of it");
            assert_eq!(busy_ns, end - start, "the die was not idle meanwhile");
            *within_one.get_or_insert(0) += 1;
        } else {
            assert_eq!(args.get("pauses").copied(), within_one.take(), "{name} at {start}");
        }
    }
    assert_eq!(on("die").filter_map(|slice| slice.4.get("passed")).sum::<u64>(), sched["passed"]);
    let waits = |name: &'static str| on("waiting").filter(move |slice| slice.1 == name).count();
    for name in ["read waits for erase", "read waits for read", "write waits for gc", "write waits for read"]
    {
        assert!(waits(name) > 0, "no {name}");
    }
    for (_, name, start, end, args) in on("waiting") {
        assert_eq!(args["waited_ns"], end - start, "{name}");
    }
    let longest =
        on("waiting").filter(|slice| slice.1.starts_with("read")).map(|slice| slice.3 - slice.2).max();
    let reported_us = sched["longest_read_wait_us"].as_f64().expect("a time");
    assert!(longest.is_some_and(|ns| (ns as f64 / 1e3 - reported_us).abs() < 1e-6));
    let queues: Vec<_> = counters.iter().filter(|(name, _)| name.starts_with("queue")).collect();
    assert_eq!(queues.len(), 4);
    for (name, values) in queues {
        assert!(values.is_sorted_by(|before, after| before.0 < after.0), "{name}");
        assert!(values.iter().all(|(_, waiting)| *waiting >= 0));
        assert_eq!(values.last().map(|(_, waiting)| *waiting), Some(0));
    }
    // The activity of channels counts the parts of what was paused.
    for (channel, of_time) in result["activity"]["channels"].as_array().expect("channels").iter().enumerate()
    {
        for purpose in ["host", "gc"] {
            let shares = of_time[purpose].as_array().expect("shares");
            let mean = shares.iter().filter_map(Value::as_f64).sum::<f64>() / shares.len() as f64;
            let expected = result["channels"][channel][purpose].as_f64().expect("a share");
            assert!((mean / expected - 1.0).abs() < 0.02, "{purpose} of {channel}: {mean}, not {expected}");
        }
    }
}

#[test]
fn in_the_order_of_arrival_nobody_is_paused() {
    let (result, trace) = run_with(&[]);
    let (slices, _) = taken_apart(&trace);
    assert_eq!(result["sched"], Value::Null);
    assert!(slices.iter().all(|slice| !slice.0.starts_with("paused") && !slice.4.contains_key("passed")));
    let waits = slices.iter().filter(|slice| slice.0.starts_with("waiting"));
    let names: BTreeSet<_> = waits.map(|slice| slice.1.as_str()).collect();
    for name in ["read waits for write", "read waits for gc", "write waits for write"] {
        assert!(names.contains(name), "no {name} in {names:?}");
    }
}

#[test]
fn a_window_has_what_the_whole_timeline_has_there() {
    let settings = [("sched.kind", "suspend"), ("sched.resume_time", "5us")];
    let (result, all) = run_with(&settings);
    let (from, to) = (200_000_000, 300_000_000);
    let (within, some) = run_within(&settings, Some(["200ms", "300ms"]));
    assert_eq!(within["latency_us"], result["latency_us"], "the run itself is the same");
    assert!(events(&some).all(|(time, _)| (from..=to).contains(&time)));
    assert!(events(&some).count() * 5 < events(&all).count());
    let (slices, counters) = taken_apart(&all);
    let (slices_within, counters_within) = taken_apart(&some);
    // By lane they may differ: those that were left out take none.
    let mut expected: Vec<_> = slices
        .iter()
        .filter(|slice| slice.3 > from && slice.2 < to)
        .map(|slice| (slice.0.clone(), slice.1.clone(), slice.2.max(from), slice.3.min(to)))
        .collect();
    let mut found: Vec<_> = slices_within
        .iter()
        .filter(|slice| slice.3 > slice.2)
        .map(|slice| (slice.0.clone(), slice.1.clone(), slice.2, slice.3))
        .collect();
    expected.sort();
    found.sort();
    assert_eq!(found, expected);
    for (name, values) in &counters_within {
        let whole = &counters[name];
        let at = |time: u64| whole.iter().rev().find(|(when, _)| *when <= time).map(|(_, value)| *value);
        assert!(values.iter().all(|(time, value)| at(*time) == Some(*value)), "{name}");
        assert_eq!(
            values.first().map(|(time, _)| *time),
            Some(from),
            "{name}: what it was when the window began"
        );
    }
}

#[test]
fn a_window_needs_a_timeline_and_an_end_after_its_start() {
    let run = |from: Option<&str>, to: Option<&str>, timeline: bool| RunSpec {
        workloads: vec![WorkloadSpec { spec: "random:count=1".into(), ..WorkloadSpec::default() }],
        timeline: timeline.then(|| "never.pftrace".into()),
        timeline_from: from.map(Into::into),
        timeline_to: to.map(Into::into),
        ..RunSpec::default()
    };
    for (run, said) in [
        (run(Some("1s"), None, false), "--timeline-from: expected --timeline with it, the file to write"),
        (run(None, Some("1s"), false), "--timeline-to: expected --timeline with it, the file to write"),
        (
            run(Some("soon"), None, true),
            "--timeline-from soon: expected a time of the run such as 1.5s or 20ms",
        ),
        (
            run(Some("2s"), Some("2s"), true),
            "--timeline-to 2s: expected a time after that of --timeline-from",
        ),
    ] {
        let error = simulate(&run, &mut |_| true).expect_err(said).to_string();
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn a_run_that_stops_leaves_no_file() {
    let dir = tempfile::tempdir().unwrap();
    let tracks = DriveTracks::new(1, 1);
    drop(TimelineWriter::create(&dir.path().join("run.pftrace"), tracks.list()).unwrap());
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    let error = TimelineWriter::create(Path::new("/nowhere/run.pftrace"), tracks.list()).unwrap_err();
    assert!(error.to_string().starts_with("/nowhere/run.pftrace: "), "{error}");
}
