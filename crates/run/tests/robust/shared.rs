//! Traces that runs share, and plans of runs: the same as doing it alone.

use flashweir_run::{BUILD, RunSpec, Traces, WorkloadSpec, plan, simulate, simulate_sharing};
use serde_json::Value;

use super::spec;

const DRIVE: [(&str, &str); 2] = [("capacity", "64MiB"), ("pages_per_block", "16")];
const TRACE: &str = "128166372003061629,h,0,Write,4096,4096,1\n128166372003061700,h,0,Read,0,8192,1\n\
                     128166372003061800,h,0,Write,65536,4096,1\n";

fn quiet(run: &RunSpec, traces: Option<&Traces>) -> Result<Value, String> {
    let mut result = simulate_sharing(run, traces, None, &mut |_| true).map_err(|error| error.to_string())?;
    for wall in ["wall_s", "setup_wall_s", "precondition_wall_s"] {
        result.as_object_mut().expect("an object").remove(wall);
    }
    Ok(result)
}

/// A trace file, and a generator beside it.
fn mixed(path: &std::path::Path) -> RunSpec {
    let mut run = spec(None, &DRIVE, &path.to_string_lossy());
    let generated = "random:span=1MiB,count=500,write=0.5,rate=1000".into();
    run.workloads.push(WorkloadSpec {
        name: Some("generated".into()),
        spec: generated,
        ..WorkloadSpec::default()
    });
    run
}

#[test]
fn a_shared_trace_gives_the_same_result_and_is_kept_until_forgotten() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.csv");
    std::fs::write(&path, TRACE).expect("written");
    let run = mixed(&path);
    let alone = quiet(&run, None).expect("a result");
    let traces = Traces::default();
    assert_eq!(quiet(&run, Some(&traces)).expect("a result"), alone);
    assert_eq!(traces.len(), 1);
    assert!(traces.memory_bytes() >= 3 * 24);
    // The file is not read again, not even if it has gone.
    std::fs::write(&path, "nonsense").expect("written");
    assert_eq!(quiet(&run, Some(&traces)).expect("a result"), alone);
    // Another content is another trace.
    let mut other = run.clone();
    other.workloads[0].content = Some("another".into());
    assert_eq!(quiet(&other, Some(&traces)), quiet(&run, None));
    traces.forget(&path.to_string_lossy());
    assert!(traces.is_empty());
    assert_eq!(quiet(&run, Some(&traces)), quiet(&run, None));
    // A trace that could not be read is tried again.
    std::fs::write(&path, TRACE).expect("written");
    assert_eq!(quiet(&run, Some(&traces)).expect("a result"), alone);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the test is the caller whose parallelism it is")]
fn many_threads_share_one_reading() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.csv");
    std::fs::write(&path, TRACE).expect("written");
    let (run, traces) = (mixed(&path), Traces::default());
    let alone = quiet(&run, None).expect("a result");
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| assert_eq!(quiet(&run, Some(&traces)).expect("a result"), alone));
        }
    });
    assert_eq!(traces.len(), 1);
}

#[test]
fn a_plan_is_what_a_run_then_says() {
    let workload = "zipf:span=32MiB,count=300,theta=0.8,seed=3";
    for seed in [None, Some(11)] {
        let run = RunSpec { seed, ..spec(Some("slc-2006"), &DRIVE, workload) };
        let planned = plan(&run).expect("a plan");
        let result = simulate(&run, &mut |_| true).expect("a result");
        for key in ["config", "engine", "seed", "requests"] {
            assert_eq!(planned[key], result[key], "{key}");
        }
        assert_eq!(planned["workloads"][0]["workload"], result["workloads"][0]["workload"]);
        assert_eq!(planned["logical_pages"], result["geometry"]["logical_pages"]);
        assert_eq!(planned["physical_pages"], result["geometry"]["physical_pages"]);
    }
    assert_eq!(BUILD.len(), 16);
}

#[test]
fn a_plan_says_whether_the_seed_matters() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.csv");
    let lines: Vec<String> = (0..4000u64)
        .map(|at| format!("{},h,0,Write,{},4096,1", 128_166_372_003_061_629 + at, at * 7919 % 1000 * 4096))
        .collect();
    std::fs::write(&path, lines.join("\n")).expect("written");
    for victim in ["greedy", "fifo", "random", "d-choices", "cost-benefit"] {
        for precondition in ["full", "steady"] {
            let drive = [("channels", "1"), ("capacity", "4MiB"), ("pages_per_block", "16")];
            let settings = [&drive[..], &[("gc.victim", victim), ("precondition", precondition)]].concat();
            let run = |seed| RunSpec { seed: Some(seed), ..spec(None, &settings, &path.to_string_lossy()) };
            let flash = |seed| quiet(&run(seed), None).expect("a result")["flash"].clone();
            let draws = plan(&run(1)).expect("a plan")["seeded"] == true;
            assert_eq!(draws, flash(1) != flash(2), "{victim}, {precondition}");
        }
    }
    assert_eq!(plan(&mixed(&path)).expect("a plan")["seeded"], true);
}

#[test]
fn a_plan_refuses_what_a_run_refuses() {
    for (settings, workload) in [
        (&[("channels", "0")][..], "random:count=10"),
        (&[("capacity", "1MiB")][..], "random:span=2MiB,count=10"),
        (&[("ftl.kind", "bast"), ("nand.cell", "tlc"), ("slc.kind", "static")][..], "random:count=10"),
        (&[][..], "random:cuont=10"),
    ] {
        let run = spec(None, settings, workload);
        let refused = simulate(&run, &mut |_| true).expect_err("refused").to_string();
        assert_eq!(plan(&run).expect_err("refused").to_string(), refused);
    }
    for warmup in ["mser", "requests=10", "requests=x"] {
        let run = RunSpec { warmup: Some(warmup.into()), ..spec(None, &[], "random:count=10") };
        let refused = simulate(&run, &mut |_| true).expect_err("refused").to_string();
        assert_eq!(plan(&run).expect_err("refused").to_string(), refused);
    }
    let absent = plan(&spec(None, &[], "absent.csv")).expect_err("refused").to_string();
    assert!(absent.starts_with("absent.csv: "), "{absent}");
}
