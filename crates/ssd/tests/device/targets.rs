//! Latency targets: how many requests others may have outstanding, and when it changes.

use flashweir_ssd::TenantTarget;
use flashweir_trace::Request;

use super::rig::{READ, Setting, TRANSFER, drive, ends_in_slices, read, run};

const ONE: u64 = READ + TRANSFER;

/// One die, and a window of ten reads. The first tenant's target is a read that waits for nobody.
fn settings(others: &[Setting]) -> Vec<Setting> {
    let target: &'static str = format!("{ONE}ns,none").leak();
    let window: &'static str = format!("{}ns", 10 * ONE).leak();
    let own = [("precondition", "full"), ("host.latency_target", target), ("host.latency_window", window)];
    [&own[..], others].concat()
}

/// At a time, in reads: so many reads of the second tenant, then one of the first.
fn burst(at: u64, count: u64) -> Vec<Request> {
    let of = |stream, page| Request { stream, ..read(at * ONE, page) };
    (0..count).map(|page| of(1, page)).chain([of(0, count)]).collect()
}

/// Ends of requests, in reads.
fn ends(settings: &[Setting], requests: &[Request]) -> Vec<u64> {
    let ends = run(settings, requests).completions();
    assert!(ends.iter().all(|end| end % ONE == 0), "one die reads one page after the other: {ends:?}");
    ends.iter().map(|end| end / ONE).collect()
}

#[test]
fn whoever_makes_a_stricter_tenant_miss_gets_half_its_depth() {
    let requests = [burst(0, 6), burst(10, 6), burst(20, 6), burst(40, 3)].concat();
    let expected = [
        // Nothing is known of the first window: the first tenant is the last one.
        vec![1, 2, 3, 4, 5, 6, 7],
        // Three of six: the others go one by one, behind the first tenant.
        vec![11, 12, 13, 15, 16, 17, 14],
        // One: half of three.
        vec![21, 23, 24, 25, 26, 27, 22],
        // From 30 to 40 nobody missed: two.
        vec![41, 42, 44, 43],
    ];
    assert_eq!(ends(&settings(&[]), &requests), expected.concat());
    // A target that is met changes nothing, nor does that of those who make others wait.
    for target in [format!("{}ns", 7 * ONE), format!("none,{ONE}ns")] {
        let target: &'static str = target.leak();
        let settings = [&settings(&[])[..], &[("host.latency_target", target)]].concat();
        let expected = [(1..=7).collect(), (11..=17).collect(), (21..=27).collect(), vec![41, 42, 43, 44]];
        assert_eq!(ends(&settings, &requests), expected.concat(), "{target}");
    }
}

#[test]
fn those_that_are_held_back_pass_when_the_window_ends() {
    // Down to one by 20; two from 40 on, in the middle of a queue that is there since 35.
    let requests = [burst(0, 6), burst(10, 3)].concat();
    let late = (0..8).map(|page| Request { stream: 1, ..read(37 * ONE, page) });
    let requests: Vec<_> = requests.into_iter().chain(late).collect();
    let outcome = run(&settings(&[("host.link", "sata3")]), &requests);
    let waits = outcome.latencies();
    let (of_two, of_one) = (waits[waits.len() - 1], waits[11]);
    assert!(of_one < of_two && of_two < 9 * ONE, "{waits:?}");
}

#[test]
fn a_tenant_without_depth_comes_after_others_in_a_closed_loop() {
    let settings =
        settings(&[("host.mode", "closed"), ("host.queue_depth", "4"), ("host.arbitration", "round-robin")]);
    let mut simulation = drive(&settings);
    let mut order = Vec::new();
    for page in 0..40 {
        let stream = simulation.next_stream(&[true, true]).expect("no request is stuck").expect("both wait");
        simulation.serve(&[Request { stream, ..read(0, page % 16) }]).expect("served");
        order.push(stream);
    }
    simulation.finish().expect("finished");
    // In turn, until the first window ends with two of the second tenant outstanding: then one at a time.
    assert_eq!(order[..10], [0, 1, 0, 1, 0, 1, 0, 1, 0, 1]);
    let second = order[20..].iter().filter(|stream| **stream == 1).count();
    assert!((4..8).contains(&second), "{order:?}");
    let use_of =
        |stream| simulation.stats().limits.expect("there are targets").targets.expect("targets").of(stream);
    let TenantTarget { ended, late, limited_ns } = use_of(0);
    assert!(ended > 20 && late > 20 && limited_ns == 0, "{ended} {late} {limited_ns}");
    assert_eq!((use_of(1).ended, use_of(1).late), (0, 0), "it has no target");
    assert_eq!(use_of(1).limited_ns, simulation.stats().simulated_ns - 10 * ONE);
}

#[test]
fn slices_of_any_size_give_the_same_run() {
    let requests: Vec<_> = (0..12).flat_map(|number| burst(7 * number, 2 + number % 5)).collect();
    for others in [
        &[("host.slots", "3"), ("host.arbitration", "round-robin")][..],
        &[("host.mode", "closed"), ("host.queue_depth", "5")],
        &[("host.iops_limit", "none,9000"), ("host.submit_time", "3us")],
    ] {
        let settings = settings(others);
        let whole = run(&settings, &requests).completions();
        for size in [1, 7, 40] {
            assert_eq!(ends_in_slices(&settings, &requests, size), whole, "slices of {size}");
        }
    }
}
