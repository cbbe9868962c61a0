//! A drive that is filled in part: the rest is as new, in whichever state the data is.

use serde_json::Value;

use super::run_with;

const READS: &str = "sequential:span=64MiB,size=4KiB,count=16384,write=0";
const WRITES: &str = "random:span=64MiB,size=4KiB,count=20000";

fn run(settings: &[(&str, &str)], workload: &str) -> Value {
    let settings: Vec<_> = [("capacity", "64MiB")].iter().chain(settings).copied().collect();
    run_with(&settings, workload, |_| {}).expect("a legal run")
}

#[test]
fn the_rest_was_never_written() {
    let pages = run(&[], READS)["geometry"]["logical_pages"].as_u64().expect("a count");
    assert_eq!(pages, 16384);
    for (state, fill, unmapped) in
        [("full", "1", 0), ("full", "0.75", 4096), ("steady", "0.75", 4096), ("full", "0.9", 1638)]
    {
        let workload =
            if state == "steady" { "random:span=64MiB,size=4KiB,count=16384,write=0" } else { READS };
        let result = run(&[("precondition", state), ("fill", fill)], workload);
        if state == "full" {
            assert_eq!(result["counters"]["unmapped_page_reads"], unmapped, "{state}, {fill}");
        } else {
            let found = result["counters"]["unmapped_page_reads"].as_u64().expect("a count");
            assert!(
                found.abs_diff(unmapped) < 300,
                "{found} of about {unmapped}: overwrites stay in the filled part"
            );
        }
    }
}

#[test]
fn a_drive_with_room_collects_less() {
    let amplification = |fill: &str| {
        let result =
            run(&[("precondition", "steady"), ("fill", fill)], "random:span=32MiB,size=4KiB,count=20000");
        result["write_amplification"].as_f64().expect("a number")
    };
    let (half, most, all) = (amplification("0.5"), amplification("0.9"), amplification("1"));
    assert!(half < most && most < all, "{half} {most} {all}");
}

#[test]
fn where_nothing_is_written_before_the_run_the_share_has_no_effect() {
    for state in ["empty", "on-read"] {
        let (all, part) = (
            run(&[("precondition", state)], WRITES),
            run(&[("precondition", state), ("fill", "0.5")], WRITES),
        );
        assert_eq!(part["no_effect"][0]["keys"], "fill, precondition=empty or on-read");
        assert_eq!((&part["latency_us"], &part["counters"]), (&all["latency_us"], &all["counters"]));
    }
}

#[test]
fn a_share_alone_means_a_full_drive_of_that_share() {
    let implied = run(&[("fill", "0.9")], WRITES);
    assert_eq!(
        (&implied["config"]["precondition"], &implied["config"]["fill"]),
        (&"full".into(), &0.9.into())
    );
    let named = run(&[("fill", "0.9"), ("precondition", "full")], WRITES);
    assert_eq!(implied["latency_us"], named["latency_us"]);
    for (settings, expected) in [
        (vec![("fill", "0")], "expected more than 0, at most 1"),
        (vec![("fill", "1.5")], "expected more than 0, at most 1"),
        (vec![("fill", "90%")], "fill"),
    ] {
        let error = run_with(&settings, WRITES, |_| {}).expect_err("no such drive").to_string();
        assert!(error.contains(expected), "{error}");
    }
}
