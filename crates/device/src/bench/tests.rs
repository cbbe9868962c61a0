//! Scores of simulated drives: they repeat, and never rise when a drive is made worse.

use super::*;

/// SLC flash, page-mapped, no buffer: nothing that would be poor management.
const GOOD: &str = "sim:slc-2006,capacity=1GB,op_ratio=0.28";
const FIVE: [Suite; 5] = [Suite::Transfer, Suite::Buffer, Suite::Mapping, Suite::Gc, Suite::Overall];

fn grades(name: &str, state: State, suite: Suite, hundredths: u64, seed: u64) -> Vec<Grade> {
    let options = OpenOptions { write: true, seed, ..OpenOptions::default() };
    let workloads = suite.workloads(hundredths, seed);
    let grade = |workload| run(name, &options, state, workload, &mut Tell::new(&mut |_| true)).unwrap().grade;
    workloads.iter().map(grade).collect()
}

fn score(name: &str, state: State, suite: Suite, hundredths: u64) -> f64 {
    let grades = grades(name, state, suite, hundredths, 1);
    (grades.iter().map(|grade| grade.score.ln()).sum::<f64>() / grades.len() as f64).exp()
}

/// No suite's score rises from step to step, and that of all falls by a tenth at least.
fn falls(state: State, steps: &[&str]) {
    let mut all: Vec<Vec<f64>> = Vec::new();
    for suite in FIVE {
        let scores: Vec<f64> =
            steps.iter().map(|step| score(&format!("{GOOD}{step}"), state, suite, 4)).collect();
        for pair in scores.windows(2) {
            assert!(pair[1] <= pair[0] * 1.002, "{}: {scores:?} for {steps:?}", suite.name());
        }
        all.push(scores);
    }
    let overall = |step: usize| all.iter().map(|scores| scores[step].ln()).sum::<f64>();
    assert!(overall(steps.len() - 1) < overall(0) - 0.5, "{all:?}");
}

#[test]
fn less_spare_space_never_scores_better() {
    falls(State::Filled, &["", ",op_ratio=0.15", ",op_ratio=0.10", ",op_ratio=0.07", ",op_ratio=0.03"]);
}

#[test]
fn a_smaller_buffer_never_scores_better() {
    let steps =
        ["64MiB", "16MiB", "4MiB", "1MiB", "256KiB", "0B"].map(|size| format!(",buffer.bytes={size}"));
    falls(State::Empty, &steps.each_ref().map(String::as_str));
}

#[test]
fn coarser_mapping_never_scores_better() {
    let log = ["0.28", "0.1", "0.05", "0.03"].map(|op| format!(",ftl.kind=log-block,op_ratio={op}"));
    falls(State::Empty, &["", &log[0], &log[1], &log[2], &log[3]]);
}

#[test]
fn slower_flash_never_scores_better() {
    falls(State::Empty, &["", ",timing.program=300us", ",timing.program=400us", ",timing.program=800us"]);
}

#[test]
fn fewer_channels_never_score_better() {
    falls(State::Empty, &["", ",channels=4", ",channels=2", ",channels=1"]);
}

/// The same seed gives the same, another one about the same.
#[test]
fn scores_repeat() {
    let drive = "sim:slc-2006,capacity=1GB,ftl.kind=log-block,buffer.bytes=1MiB";
    for suite in FIVE {
        let [one, again, other] = [1, 1, 2].map(|seed| grades(drive, State::Empty, suite, 3, seed));
        assert_eq!(one, again);
        for (one, other) in one.iter().zip(&other) {
            assert!((one.score / other.score - 1.0).abs() < 0.35, "{}: {one:?} {other:?}", suite.name());
        }
    }
}

#[test]
fn what_reserves_space_is_not_timed() {
    let workload = &Suite::Buffer.workloads(1, 1)[0];
    assert!(workload.setup.is_some());
    let found = &grades("sim:slc-2006,capacity=200MB", State::Empty, Suite::Buffer, 1, 1)[0];
    assert_eq!(found.bytes, Spec::parse(&workload.spec).map(|_| 47_184_896).unwrap());
}

#[test]
fn a_caller_can_stop_it_and_a_small_drive_is_refused() {
    let workload = &Suite::Buffer.workloads(2, 1)[0];
    let options = OpenOptions { write: true, ..OpenOptions::default() };
    let run = |name: &str, call: &mut dyn FnMut(&Progress) -> bool| {
        let mut tell = Tell::new(call);
        tell.last = Instant::now().checked_sub(TELL_EVERY).unwrap_or(tell.last);
        run(name, &options, State::Empty, workload, &mut tell)
    };
    let stopped = run("sim:slc-2006,capacity=1GB", &mut |_| false).unwrap_err();
    assert!(matches!(stopped, Error::Cancelled { .. }), "{stopped}");
    let small = run("sim:slc-2006,capacity=100MB", &mut |_| true).unwrap_err().to_string();
    assert!(small.contains("expected") && !small.contains('\n'), "{small}");
}
