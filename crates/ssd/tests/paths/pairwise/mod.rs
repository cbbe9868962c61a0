//! Every policy value with every other one: drives of a covering array on several workloads, everything under verification, in
//! slices, forked, and on both time paths where both apply; then drives with all keys drawn at random.

mod array;
mod every_key;
mod factors;
mod space;
mod workloads;

use std::collections::{BTreeMap, BTreeSet};

use flashweir_ssd::config::layers::{Layer, resolve, to_value};
use flashweir_ssd::config::{keys, no_effect, refusals};
use flashweir_ssd::{Config, Stats};
use flashweir_trace::Request;

use super::drives::{config, digest, run, start};
use super::{normal, recorded, watched};
use array::{Array, build};
use factors::{Factor, factors, listed, policies, text};
use space::{Row, Space, get};
use workloads::Workload;

/// A policy key and one of its values.
type Choice = (String, String);

/// Two of them, the smaller one first.
type Pair = [Choice; 2];

/// Cases of the long tests (`just fuzz-drives`).
fn long() -> Option<u64> {
    std::env::var("FLASHWEIR_FUZZ_CASES").ok().and_then(|text| text.parse().ok())
}

/// Every pair of policy values of different keys, from the schema alone.
fn all_pairs() -> BTreeSet<Pair> {
    let of =
        |key: &keys::Key| listed(key).into_iter().map(|value| (key.name.clone(), value)).collect::<Vec<_>>();
    let all: Vec<Choice> = policies().flat_map(of).collect();
    let different = |one: &Choice| all.iter().filter(|other| other.0 > one.0).cloned().collect::<Vec<_>>();
    all.iter().flat_map(|one| different(one).into_iter().map(|other| [one.clone(), other])).collect()
}

/// Pairs of policy values on drives with these settings, after all that has no effect is set back.
fn pairs_on<'a>(drives: impl IntoIterator<Item = &'a Vec<(&'static str, String)>>) -> BTreeSet<Pair> {
    let mut pairs = BTreeSet::new();
    for settings in drives {
        let assignments = settings.iter().map(|(key, value)| (*key, value.as_str()));
        let config = resolve(&[Layer::from_assignments("test", assignments)])
            .unwrap_or_else(|error| panic!("{settings:?}: {error}"));
        let config = to_value(&config);
        let value = |key: &keys::Key| get(&config, &key.name).map(|value| (key.name.clone(), text(value)));
        let values: BTreeSet<Choice> = policies().filter_map(value).collect();
        let larger = |one: &Choice| values.range(one.clone()..).skip(1).cloned().collect::<Vec<_>>();
        pairs.extend(values.iter().flat_map(|one| larger(one).into_iter().map(|other| [one.clone(), other])));
    }
    pairs
}

/// The pairs that the array has no drive for, with the reasons.
fn refused(space: &Space, array: &Array) -> BTreeMap<Pair, BTreeSet<String>> {
    let choice = |(factor, value): (usize, usize)| {
        let Factor { key, values, .. } = &space.factors[factor];
        (key.name.clone(), values[value].clone())
    };
    let named = |pair: &[(usize, usize); 2]| {
        let mut pair = pair.map(choice);
        pair.sort();
        pair
    };
    array.refused.iter().map(|(pair, reasons)| (named(pair), reasons.clone())).collect()
}

/// Beginnings of the reasons that depend on the drive's shape: those of the allocation, which stand in its own files.
const OF_ALLOCATION: [&str; 3] =
    ["on this geometry ", "mode 1 fixes the channel", "there is one parallel unit"];

/// True if a table has the reason, or the schema (a key of another policy), or the allocation of the drive's shape.
fn is_known(reason: &str) -> bool {
    let refused =
        refusals::all().map(|refusal| refusal.reason).chain(no_effect::all().map(|entry| entry.reason));
    let of_schema = keys::keys().iter().filter_map(|key| key.acts_with.as_ref());
    let mut of_schema = of_schema.map(|(key, choice)| format!("it acts only with {key}={choice}"));
    refused.chain(["there is one channel, so there is nothing to choose"]).any(|known| known == reason)
        || of_schema.any(|known| known == reason)
        || OF_ALLOCATION.iter().any(|start| reason.starts_with(start))
}

#[test]
fn every_pair_of_policy_values_is_on_a_drive_or_refused_by_a_table() {
    let space = Space::new(factors());
    let array = build(&space, 1);
    let drives: Vec<_> = array.rows.iter().map(|row| space.settings(row)).collect();
    let (all, on_drives, refused) = (all_pairs(), pairs_on(&drives), refused(&space, &array));
    let missing: Vec<_> =
        all.iter().filter(|pair| !on_drives.contains(*pair) && !refused.contains_key(*pair)).collect();
    assert!(missing.is_empty(), "neither on a drive nor refused: {missing:?}");
    for (pair, reasons) in &refused {
        assert!(!on_drives.contains(pair), "refused, but on a drive: {pair:?}");
        assert!(!reasons.is_empty(), "refused without a reason: {pair:?}");
        for reason in reasons {
            assert!(is_known(reason), "{pair:?}: a reason of no table: {reason}");
        }
    }
    let mut by_reason = BTreeMap::<&BTreeSet<String>, Vec<&Pair>>::new();
    let of_policies: Vec<_> = refused.iter().filter(|(pair, _)| all.contains(*pair)).collect();
    of_policies.iter().for_each(|(pair, reasons)| by_reason.entry(reasons).or_default().push(pair));
    for (reasons, pairs) in &by_reason {
        println!("{} pairs: {reasons:?}: {pairs:?}", pairs.len());
    }
    let covered = all.intersection(&on_drives).count();
    println!(
        "{} drives, {} factors, {} pairs with keys that policies need; {} pairs of policy values: {covered} on drives, {} refused",
        drives.len(),
        space.factors.len(),
        array.pairs,
        all.len(),
        of_policies.len()
    );
    assert_eq!(covered + of_policies.len(), all.len());
    assert!(of_policies.len() * 4 < all.len(), "too many pairs are refused");

    // A value that is on no drive is missed, whichever it is.
    for key in policies() {
        for value in listed(key).into_iter().filter(|_| listed(key).len() > 1) {
            let choice = (key.name.clone(), value);
            let others = |settings: &&Vec<(&'static str, String)>| {
                let pairs = pairs_on([*settings]);
                !pairs.iter().any(|pair| pair.contains(&choice))
            };
            // The pairs of one drive are enough to tell, and cost least.
            let without: Vec<_> = drives.iter().filter(others).take(1).collect();
            let on_drives = pairs_on(without);
            let is_missed = all.iter().any(|pair| {
                pair.contains(&choice) && !on_drives.contains(pair) && !refused.contains_key(pair)
            });
            assert!(is_missed, "{choice:?} could be left out");
        }
    }
}

#[test]
fn an_array_without_a_value_misses_it() {
    // As the first test would see it if the array left the value out.
    for (name, value) in
        [("gc.victim", "cost-benefit"), ("sched.kind", "suspend"), ("timing.multi_plane", "true")]
    {
        let mut factors = factors();
        let factor = factors.iter_mut().find(|factor| factor.key.name == name).expect("a policy");
        factor.values.retain(|listed| listed != value);
        factors.retain(|factor| factor.key.acts_with.as_ref().is_none_or(|(_, choice)| choice != value));
        let space = Space::new(factors);
        let array = build(&space, 1);
        let drives: Vec<_> = array.rows.iter().map(|row| space.settings(row)).collect();
        let (on_drives, refused) = (pairs_on(&drives), refused(&space, &array));
        let missing =
            all_pairs().into_iter().filter(|pair| !on_drives.contains(pair) && !refused.contains_key(pair));
        let missing: Vec<_> = missing.collect();
        assert!(missing.iter().any(|pair| pair.contains(&(name.into(), value.into()))), "{name}={value}");
    }
}

/// True if requests are held back until their window is complete: such a drive can't be stopped between them.
fn holds_back(config: &Config) -> bool {
    let config = to_value(config);
    let is = |key: &str, value: &str| get(&config, key).is_some_and(|found| found == value);
    is("tenants.applies", "same") || is("tenants.channels", "look-ahead")
}

/// A run with open arrivals in which time goes on in pieces.
fn stepped(config: &Config, requests: &[Request]) -> Stats {
    let mut simulation = start(config, true);
    let mut before_ns = 0;
    for request in requests {
        for time_ns in [u64::midpoint(before_ns, request.time_ns), request.time_ns] {
            simulation.advance_to(time_ns).expect("ran before");
        }
        simulation.serve(std::slice::from_ref(request)).expect("ran before");
        before_ns = request.time_ns;
    }
    simulation.finish().expect("ran before");
    simulation.stats()
}

/// Runs a drive every way there is. Returns whether both time paths could.
fn compare(settings: &[(&'static str, String)], requests: &[Request]) -> bool {
    let told = || format!("{settings:?} {requests:?}");
    let events = config(settings, "event").unwrap_or_else(|| panic!("refused: {settings:?}"));
    let (stats, records) =
        recorded(&events, requests, 7).unwrap_or_else(|error| panic!("{error}: {}", told()));
    let expected = digest(&stats);
    assert_eq!(stats.counters.requests.iter().sum::<u64>(), requests.len() as u64, "{}", told());
    assert_eq!(
        expected,
        digest(&run(&events, requests, false).expect("ran before")),
        "unverified: {}",
        told()
    );
    let (first, second) = requests.split_at(requests.len() / 2);
    let mut drive = start(&events, true);
    drive.serve(first).expect("ran before");
    let mut fork = drive.snapshot();
    for simulation in [&mut fork, &mut drive] {
        simulation.serve(second).expect("ran before");
        simulation.finish().expect("ran before");
        assert_eq!(expected, digest(&simulation.stats()), "a fork: {}", told());
    }
    let looked_at = (!holds_back(&events)).then(|| watched(&events, requests, 5));
    if let Some((seen, ..)) = &looked_at {
        assert_eq!(expected, *seen, "looked at: {}", told());
        if matches!(events.host.mode, flashweir_ssd::HostMode::Open(_)) {
            assert_eq!(expected, digest(&stepped(&events, requests)), "in steps: {}", told());
        }
    }
    let Some(timeline) = config(settings, "timeline") else { return false };
    let (by_times, same_records) = recorded(&timeline, requests, 13).expect("ran by events");
    assert_eq!(expected, digest(&by_times), "by busy-until times: {}", told());
    assert_eq!(normal(&records), normal(&same_records), "by busy-until times: {}", told());
    if looked_at.is_some() {
        assert_eq!(looked_at, Some(watched(&timeline, requests, 5)), "by busy-until times: {}", told());
    }
    true
}

#[test]
fn every_drive_of_the_array_does_what_it_should() {
    // The long test has arrays of other seeds besides, and longer workloads.
    let (seeds, count) = long().map_or((1, 48), |cases| (1 + cases / 5000, 300));
    let space = Space::new(factors());
    let (mut ran, mut both) = (0, 0);
    for seed in 1..=seeds {
        let rows: Vec<Row> = build(&space, seed).rows;
        for (number, row) in (0..).zip(&rows) {
            let settings = space.settings(row);
            for workload in Workload::ALL {
                let auto = config(&settings, "auto").expect("a legal drive");
                ran += 1;
                both += u64::from(compare(&settings, &workload.requests(&auto, count, seed + number)));
            }
        }
    }
    println!("{ran} runs, {both} of them on both time paths");
    assert!(both * 20 > ran, "too few drives suit both paths: {both} of {ran}");
}
