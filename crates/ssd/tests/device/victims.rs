//! A victim policy outside the engine that frees nothing where it could: the error names its key and its choice.

use flashweir_ssd::external::{Policies, Victims};

use super::rig::{Setting, drive, write};

type Choose = fn(&Victims) -> Option<u32>;

/// The error of overwriting half of a full drive for ever.
fn error_of(choose: Choose, more: &[Setting]) -> String {
    let settings = [("op_ratio", "0.5"), ("gc.victim", "external"), ("precondition", "full")];
    let settings: Vec<_> = settings.iter().chain(more).copied().collect();
    let mut simulation = drive(&settings);
    let victim = Box::new(move |view: &Victims| Ok(choose(view)));
    simulation.set_policies(Policies { victim: Some(victim), ..Policies::default() });
    let writes: Vec<_> = (0..4000).map(|at| write(at * 10_000_000, at % 32)).collect();
    let outcome = simulation.serve(&writes).and_then(|()| simulation.finish());
    outcome.err().unwrap_or_else(|| panic!("{more:?}: the drive goes on")).to_string()
}

/// The block with the most valid pages.
fn fullest(view: &Victims) -> Option<u32> {
    view.blocks.iter().zip(&view.valid).max_by_key(|(_, valid)| **valid).map(|(block, _)| *block)
}

/// Drives with a page map, with its other forms, and on the event path.
const DRIVES: [&[Setting]; 5] = [
    &[],
    &[("channels", "2")],
    &[("ftl.kind", "dftl"), ("op_ratio", "2")],
    &[("sched.kind", "read-first"), ("channels", "2")],
    &[
        ("gc.planner", "external"),
        ("gc.planner_together", "true"),
        ("channels", "2"),
        ("buffer.bytes", "64KiB"),
    ],
];

#[test]
fn a_policy_that_chooses_no_block_is_named() {
    for more in DRIVES {
        let message = error_of(|_| None, more);
        let begins = "gc.victim: None, no block of unit ";
        assert!(message.starts_with(begins), "{more:?}: {message}");
        assert!(message.contains(": expected one with stale pages, such as block "), "{message}");
    }
}

#[test]
fn a_policy_that_chooses_a_block_without_stale_pages_is_named() {
    for more in DRIVES {
        let message = error_of(fullest, more);
        assert!(message.starts_with("gc.victim: block "), "{more:?}: {message}");
        assert!(message.contains(" pages valid, which frees nothing: expected one with stale"), "{message}");
    }
}
