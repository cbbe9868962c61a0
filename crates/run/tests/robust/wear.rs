//! Wear levelling: dynamic evens out what is written, static also what is not.

use serde_json::Value;

use super::run;

/// A unit of 64 blocks of 8 pages; a tenth of the data is written, the rest is cold.
fn wear(settings: &[(&str, &str)]) -> Value {
    let base = [
        ("channels", "1"),
        ("page", "512"),
        ("pages_per_block", "8"),
        ("capacity", "256KiB"),
        ("op_ratio", "0.2"),
        ("gc.free_blocks", "4"),
        ("precondition", "full"),
    ];
    let settings: Vec<_> = base.iter().chain(settings).copied().collect();
    let workload = "hotcold:span=256KiB,size=512,hot_share=0.1,hot_writes=1,count=20000";
    run(&settings, workload).expect("a legal run")["wear"].clone()
}

fn number(wear: &Value, name: &str) -> f64 {
    wear[name].as_f64().expect("a number")
}

#[test]
fn dynamic_levelling_lowers_the_spread() {
    let settings = [("gc.victim", "greedy"), ("gc.frontiers", "1")];
    let off = wear(&settings);
    let on = wear(&[settings[0], settings[1], ("wear.dynamic", "true")]);
    assert!(number(&on, "stddev") < number(&off, "stddev"), "{on} after {off}");
}

#[test]
fn static_levelling_bounds_the_gap_where_data_is_cold() {
    let off = wear(&[]);
    assert!(number(&off, "max") - number(&off, "min") > 100.0, "cold blocks are never erased: {off}");
    let mut means = Vec::new();
    for (gap, frontiers) in [("4", "1"), ("4", "2"), ("20", "1"), ("20", "2")] {
        let on = wear(&[("wear.static_gap", gap), ("gc.frontiers", frontiers)]);
        let spread = number(&on, "max") - number(&on, "min");
        let most: f64 = gap.parse().unwrap();
        assert!(spread <= most + 2.0, "gap {gap}, {frontiers} frontiers: {on}");
        means.push(number(&on, "mean"));
    }
    assert!(means[2] < means[0] && means[3] < means[1], "a wider gap costs fewer erases: {means:?}");
}
