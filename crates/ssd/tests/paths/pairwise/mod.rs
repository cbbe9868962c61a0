//! Every policy value with every other one: drives of a covering array on several workloads, everything under verification, in
//! slices, forked, and on both time paths where both apply; then drives with all keys drawn at random.

mod array;
mod every_key;
mod factors;
mod found;
mod one_place;
mod space;
mod workloads;

use std::collections::{BTreeMap, BTreeSet};

use flashweir_ssd::config::layers::{Layer, resolve, to_value};
use flashweir_ssd::config::{keys, no_effect, refusals};
use flashweir_ssd::{Config, Stats};
use flashweir_trace::Request;

use super::drives::{config, digest, run, start};
use super::{normal, recorded, watched};
use array::{Array, Draw, build};
use factors::{Factor, factors, listed, policies, text};
use space::{Space, get};
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

/// Policy values of a drive with these settings, after all that has no effect is set back.
fn values_on(settings: &Vec<(&'static str, String)>) -> BTreeSet<Choice> {
    let assignments = settings.iter().map(|(key, value)| (*key, value.as_str()));
    let config = resolve(&[Layer::from_assignments("test", assignments)])
        .unwrap_or_else(|error| panic!("{settings:?}: {error}"));
    let config = to_value(&config);
    let value = |key: &keys::Key| get(&config, &key.name).map(|value| (key.name.clone(), text(value)));
    policies().filter_map(value).collect()
}

/// All pairs of these values.
fn pairs_of(values: &BTreeSet<Choice>) -> Vec<Pair> {
    let larger = |one: &Choice| values.range(one.clone()..).skip(1).cloned().collect::<Vec<_>>();
    values.iter().flat_map(|one| larger(one).into_iter().map(|other| [one.clone(), other])).collect()
}

/// The pairs that the array has no drive for, with the reasons.
fn refused(space: &Space, array: &Array) -> BTreeMap<Pair, Vec<String>> {
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

/// A reason that holds for several channels, as all drives of the array have: the planes of one are units of their own.
const OF_CHANNELS: &str = "synchronized channels are one unit, so there is no other one to plan for";

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

/// Holds the array against the schema: every pair of policy values is on a drive, or refused for reasons of the tables.
/// Returns those of `all` that are missing.
fn check(space: &Space, array: &Array, all: &BTreeSet<Pair>) -> Vec<Pair> {
    let drives = array.rows.iter().map(|row| values_on(&space.settings(row)));
    let on_drives: BTreeSet<Pair> = drives.flat_map(|values| pairs_of(&values)).collect();
    let refused = refused(space, array);
    let mut by_reason = BTreeMap::<&str, Vec<String>>::new();
    for (pair, reasons) in &refused {
        assert!(!on_drives.contains(pair), "refused, but on a drive: {pair:?}");
        let unknown: Vec<_> = reasons.iter().filter(|reason| !is_known(reason)).collect();
        assert!(!reasons.is_empty() && unknown.is_empty(), "{pair:?}: reasons of no table: {unknown:?}");
        let [(one, first), (other, second)] = pair;
        by_reason.entry(&reasons[0]).or_default().push(format!("{one}={first} {other}={second}"));
    }
    for (reason, pairs) in &by_reason {
        println!("refused, {reason}: {}: {}", pairs.len(), pairs.join(", "));
    }
    let covered = all.intersection(&on_drives).count();
    let missing: Vec<_> = all
        .iter()
        .filter(|pair| !on_drives.contains(*pair) && !refused.contains_key(*pair))
        .cloned()
        .collect();
    let counts = (array.rows.len(), all.len(), covered, refused.len(), missing.len());
    println!("(drives, pairs of policy values, on drives, refused, missing): {counts:?}");
    assert_eq!(covered + refused.len() + missing.len(), all.len());
    missing
}

#[test]
fn an_array_without_a_value_misses_its_pairs_and_no_other() {
    // A value and a key that the array of some slots leaves out.
    let slots = ["gc.", "ftl.", "wear.", "timing.", "planes"];
    let is_of_slots = |key: &str| slots.iter().any(|slot| key.starts_with(slot));
    let mut factors = factors();
    factors.retain(|factor| is_of_slots(&factor.key.name));
    for factor in &mut factors {
        factor.values.retain(|value| value != "cost-benefit");
    }
    factors.retain(|factor| factor.key.name != "timing.multi_plane");
    let space = Space::new(factors, "auto");
    let mut all = all_pairs();
    all.retain(|pair| pair.iter().all(|(key, _)| is_of_slots(key)));
    let missing = check(&space, &build(&space, 1), &all);
    let left_out = [("gc.victim", "cost-benefit"), ("timing.multi_plane", "true")];
    let is_left_out = |(key, value): &Choice| left_out.contains(&(key.as_str(), value.as_str()));
    // Without `timing.multi_plane` no drive chooses its default for a planner that other slots' keys make legal.
    let of_planners = |pair: &Pair| pair.iter().any(|(key, _)| key == "gc.planner");
    let others = missing.iter().filter(|pair| !pair.iter().any(is_left_out));
    assert!(others.clone().all(of_planners), "{:?}", others.collect::<Vec<_>>());
    for (key, value) in left_out {
        let of_value = missing.iter().filter(|pair| pair.contains(&(key.into(), value.into())));
        assert!(of_value.count() > 15, "{key}={value} is hardly missed");
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
    let case = || format!("{settings:?} {requests:?}");
    let events = config(settings, "event").unwrap_or_else(|| panic!("refused: {settings:?}"));
    let (stats, records) =
        recorded(&events, requests, 7).unwrap_or_else(|error| panic!("{error}: {}", case()));
    let expected = digest(&stats);
    assert_eq!(stats.counters.requests.iter().sum::<u64>(), requests.len() as u64, "{}", case());
    assert_eq!(
        expected,
        digest(&run(&events, requests, false).expect("ran before")),
        "unverified: {}",
        case()
    );
    let (first, second) = requests.split_at(requests.len() / 2);
    let mut drive = start(&events, true);
    drive.serve(first).expect("ran before");
    let mut fork = drive.snapshot();
    for simulation in [&mut fork, &mut drive] {
        simulation.serve(second).expect("ran before");
        simulation.finish().expect("ran before");
        assert_eq!(expected, digest(&simulation.stats()), "a fork: {}", case());
    }
    let looked_at = (!holds_back(&events)).then(|| watched(&events, requests, 5));
    if let Some((seen, ..)) = &looked_at {
        assert_eq!(expected, *seen, "looked at: {}", case());
        if matches!(events.host.mode, flashweir_ssd::HostMode::Open(_)) {
            assert_eq!(expected, digest(&stepped(&events, requests)), "in steps: {}", case());
        }
    }
    let Some(timeline) = config(settings, "busy-until") else { return false };
    let (by_times, same_records) = recorded(&timeline, requests, 13).expect("ran by events");
    assert_eq!(expected, digest(&by_times), "by busy-until times: {}", case());
    assert_eq!(normal(&records), normal(&same_records), "by busy-until times: {}", case());
    if looked_at.is_some() {
        assert_eq!(looked_at, Some(watched(&timeline, requests, 5)), "by busy-until times: {}", case());
    }
    true
}

#[test]
fn every_pair_of_policy_values_does_what_it_should_or_is_refused_by_a_table() {
    // The long test has arrays of other seeds besides, and every workload on every drive, longer.
    let (seeds, count, share) =
        long().map_or((1, 48, 2), |cases| (1 + cases / 5000, 300, Workload::ALL.len()));
    let space = Space::new(factors(), "auto");
    let (mut ran, mut both) = (0, 0);
    for seed in 1..=seeds {
        let array = build(&space, seed);
        let all = all_pairs();
        let missing = check(&space, &array, &all);
        assert!(missing.is_empty(), "neither on a drive nor refused: {missing:?}");
        assert!(array.refused.len() * 5 < all.len(), "too many pairs are refused");
        let (gave_up, pairs) = (space.gave_up.get(), all.len());
        assert!(
            gave_up * 50 < pairs,
            "{gave_up} of {pairs} pairs are refused without looking at every drive"
        );
        // No drive of other shapes and settings has what is refused.
        let mut refused = refused(&space, &array);
        refused.retain(|_, reasons| !reasons.iter().any(|reason| reason == OF_CHANNELS));
        let mut draw = Draw(seed);
        for _ in 0..long().map_or(30, |cases| cases / 10) {
            let settings: Vec<_> = every_key::drive(&mut draw).into_iter().collect();
            let found = pairs_of(&values_on(&settings)).into_iter().find(|pair| refused.contains_key(pair));
            assert!(found.is_none(), "refused, but on a drive: {found:?} {settings:?}");
        }
        for (number, row) in array.rows.iter().enumerate() {
            let settings = space.settings(row);
            let auto = config(&settings, "auto").expect("a legal drive");
            for workload in Workload::ALL.into_iter().cycle().skip(number * share).take(share) {
                ran += 1;
                let requests = workload.requests(&auto, count, seed + number as u64);
                both += u64::from(compare(&settings, &requests));
            }
        }
    }
    println!("{ran} runs, {both} of them on both time paths");
}

#[test]
fn every_pair_of_policy_values_is_the_same_on_both_time_paths() {
    // Values for which busy-until times are not exact on any drive are left out.
    let all = Space::new(factors(), "busy-until");
    let mut exact = factors();
    for (number, factor) in exact.iter_mut().enumerate() {
        let is_exact = |value: &usize| all.complete([(number, *value)].into()).is_ok();
        let values = (0..factor.values.len()).filter(is_exact).map(|value| factor.values[value].clone());
        factor.values = values.collect();
    }
    exact.retain(|factor| !factor.values.is_empty());
    let values: usize =
        exact.iter().filter(|factor| factor.is_policy).map(|factor| factor.values.len()).sum();
    let space = Space::new(exact, "busy-until");
    let (seeds, count) = long().map_or((1, 48), |cases| (1 + cases / 5000, 300));
    for seed in 1..=seeds {
        let array = build(&space, seed);
        println!(
            "{values} policy values, {} drives, {} pairs refused",
            array.rows.len(),
            array.refused.len()
        );
        assert!(values > 50 && array.rows.len() > 40);
        for (number, row) in array.rows.iter().enumerate() {
            let settings = space.settings(row);
            let auto = config(&settings, "busy-until").expect("a legal drive");
            let workload = Workload::ALL[number % Workload::ALL.len()];
            assert!(compare(&settings, &workload.requests(&auto, count, seed)), "refused: {settings:?}");
        }
    }
}
