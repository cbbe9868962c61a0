//! Golden tests: exact counts and latency quantiles of every policy of every slot. A mismatch shows a change of behaviour;
//! theory and device tests show which result is right. `FLASHWEIR_BLESS=1` writes the files anew; read the diff before you commit it.
//!
//! All drives of a slot differ from each other, in flash operations or in latency quantiles ([`Differ`]), so no policy can
//! stand in for another one unnoticed. The choices of the slot's key are its drives: a new policy only needs a line in the
//! slot's file.

mod slots;

use std::collections::BTreeMap;
use std::path::PathBuf;

use flashweir_run::{Decide, RunSpec, WorkloadSpec, simulate_sharing};
use flashweir_ssd::config::keys::find;
use serde_json::{Map, Value, json};

use crate::external;
use slots::{Differ, Setting, Slot};

/// The trace that ships.
const TRACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../traces/package-build.blktrace.0.zst");

/// A drive of a slot: its name, and its settings beside those of the slot.
type Drive = (String, Vec<Setting>);

/// A drive for each choice of the slot's key, and the further ones.
fn drives(slot: &Slot) -> Vec<Drive> {
    let named = |own: Vec<Setting>| {
        let settings: Vec<_> = own.iter().map(|(key, value)| format!("{key}={value}")).collect();
        (if own.is_empty() { "default".to_owned() } else { settings.join(" ") }, own)
    };
    let of_choice = |choice: &'static String| {
        let with = slot.with.iter().find(|(name, _)| name == choice).map_or(&[] as &[_], |(_, with)| with);
        named([&[(slot.key, choice.as_str())], with].concat())
    };
    let choices = find(slot.key).into_iter().flat_map(|key| &key.choices);
    choices.map(of_choice).chain(slot.more.iter().map(|own| named(own.to_vec()))).collect()
}

fn spec(slot: &Slot, own: &[Setting], more: &[Setting]) -> RunSpec {
    let settings = slot.base.iter().chain(own).chain(more);
    let overrides: BTreeMap<_, _> = settings.map(|(key, value)| ((*key).to_owned(), json!(value))).collect();
    let load = |load: &&str| match *load {
        "trace" => WorkloadSpec {
            spec: TRACE.into(),
            ops: Some("read,write".into()),
            volume: Some("1GiB".into()),
            ..WorkloadSpec::default()
        },
        spec => WorkloadSpec { spec: spec.into(), ..WorkloadSpec::default() },
    };
    let workloads = slot.loads.iter().map(load).collect();
    RunSpec { workloads, overrides, verify: true, ..RunSpec::default() }
}

fn run(slot: &Slot, own: &[Setting]) -> Value {
    let mut run = spec(slot, own, &[]);
    if run.config().is_err() {
        run = spec(slot, own, slot.otherwise);
    }
    external::register();
    let outside = own.contains(&("tenants.channels", "external"));
    let decide: Option<Decide> = outside.then(|| Box::new(halves) as _);
    simulate_sharing(&run, None, decide, &mut |_| true).unwrap_or_else(|error| panic!("{own:?}: {error}"))
}

/// An allocator from outside: who wrote more than they read gets the upper half of the channels, the others all.
fn halves(features: &str) -> Result<String, String> {
    let features: Value = serde_json::from_str(features).map_err(|error| error.to_string())?;
    let channels = features["channels"].as_u64().unwrap_or(1);
    let share = |(name, tenant): (&String, &Value)| {
        let first = if tenant["writes"].as_u64() > tenant["reads"].as_u64() { channels / 2 } else { 0 };
        (name.clone(), json!((first..channels).collect::<Vec<_>>()))
    };
    Ok(Value::Object(features["tenants"].as_object().into_iter().flatten().map(share).collect()).to_string())
}

/// Flash operations and what caused them.
fn counts(result: &Value) -> String {
    let (flash, counters) = (&result["flash"], &result["counters"]);
    let merges = result["merges"].as_object().into_iter().flatten();
    let merges =
        merges.filter(|(_, count)| **count != json!(0)).map(|(name, count)| format!(" {name} {count}"));
    format!(
        "reads {} programs {} erases {} collections {} merges{} rewrites {} unmapped {} hits {} joined {} trimmed {}",
        flash["reads"],
        flash["programs"],
        flash["erases"],
        counters["collections"],
        merges.collect::<String>(),
        counters["rewrite_reads"],
        counters["unmapped_page_reads"],
        counters["buffer_hits"],
        counters["coalesced_pages"],
        counters["trimmed_pages"],
    )
}

/// Quantiles of latencies, of all requests or of each tenant's.
fn quantiles(result: &Value) -> String {
    let streams: Map<String, Value> = result["streams"].as_object().cloned().unwrap_or_default();
    let of = |latency: &Value| {
        let one = |op: &str| {
            let at = |quantile: &str| latency[op][quantile].to_string();
            format!("{op}_us p50 {} p95 {} p99 {} max {}", at("p50"), at("p95"), at("p99"), at("max"))
        };
        format!("{} {}", one("read"), one("write"))
    };
    if streams.len() < 2 {
        return of(&result["latency_us"]);
    }
    let tenants: Vec<_> =
        streams.iter().map(|(name, stream)| format!("tenant {name} {}", of(&stream["latency_us"]))).collect();
    tenants.join(" ")
}

/// All drives of a slot compared with their lines, and with each other.
fn check(slot: &Slot) {
    let path =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(format!("{}.txt", slot.name));
    let results: Vec<_> = drives(slot).into_iter().map(|(name, own)| (name, run(slot, &own))).collect();
    let line = |(name, result): &(String, Value)| {
        let seconds = &result["simulated_s"];
        format!("{name}: {} simulated_s {seconds} {}\n", counts(result), quantiles(result))
    };
    let found: String = results.iter().map(line).collect();
    if std::env::var_os("FLASHWEIR_BLESS").is_some() {
        std::fs::write(&path, &found).expect("the golden file can be written");
    }
    for (at, (name, result)) in results.iter().enumerate() {
        for (other, same) in &results[..at] {
            let differ = match slot.differ {
                Differ::Counts => {
                    let counts = ["reads", "programs", "erases"];
                    counts.iter().any(|count| result["flash"][count] != same["flash"][count])
                }
                Differ::Quantiles => quantiles(result) != quantiles(same),
            };
            let alike = slot.alike.contains(&(other.as_str(), name.as_str()));
            assert!(differ != alike, "{}: drives {other} and {name} alike: {}", slot.name, !differ);
        }
    }
    let golden = std::fs::read_to_string(&path).expect("the golden file is there");
    for (golden, found) in golden.lines().zip(found.lines()) {
        assert_eq!(golden, found);
    }
    let lines = (golden.lines().count(), found.lines().count());
    assert_eq!(lines.0, lines.1, "{}: a drive without a line, or a line without a drive", slot.name);
}

macro_rules! goldens {
    ($($test:ident $slot:ident)*) => {
        $(#[test]
        fn $test() {
            check(&slots::$slot);
        })*
    };
}

goldens! {
    victims_tell_apart VICTIM
    translation_layers_tell_apart FTL
    states_tell_apart STATE
    planners_tell_apart PLANNER
    buffers_tell_apart BUFFER
    allocations_tell_apart ALLOC
    orders_tell_apart ORDER
    channels_of_tenants_tell_apart CHANNELS
    schedulers_tell_apart SCHED
    arbitrations_tell_apart ARBITRATION
    turns_tell_apart TURNS
    drives_on_the_trace_tell_apart TRACE
}

/// Both time paths give the same golden line.
#[test]
fn paths_agree_on_the_trace() {
    let [default, events] = [&[] as &[_], &[("engine", "event")]].map(|own| run(&slots::TRACE, own));
    assert_eq!((counts(&default), quantiles(&default)), (counts(&events), quantiles(&events)));
}
