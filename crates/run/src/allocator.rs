//! Allocators outside the engine: their input and their output as JSON, with tenants by their names.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use flashweir_ssd::tenants::{Allocation, ChannelsConfig, Features, Group, Model, Placement, Turns};
use flashweir_ssd::{Allocator, Config, Simulation};
use flashweir_trace::reason::expecting;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::error::Error;
use crate::external::{self, Decide};
use crate::refusals::{NOT_ASKED, refused};

/// Wall-clock time that an allocator took.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Taken {
    pub(crate) total: Duration,
    pub(crate) longest: Duration,
}

/// Channels of one tenant, or of its reads or writes, in an allocator's answer.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum Share {
    Channels(Vec<u32>),
    Placed(Placed),
    Apart(Apart),
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Placed {
    channels: Vec<u32>,
    placement: Option<Placement>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Apart {
    reads: Box<Share>,
    writes: Box<Share>,
}

/// Gives the simulation its allocator: `decide`, or the function that `tenants.channels_file` names. Refuses one without a use, two,
/// and a use without one.
pub(crate) fn attach(
    config: &Config,
    simulation: &mut Simulation,
    decide: Option<Decide>,
    model: Option<&Path>,
    names: &[String],
) -> Result<Option<Arc<Mutex<Taken>>>, Error> {
    if let Some(path) = model {
        if !matches!(config.tenants.channels, ChannelsConfig::Learned(_)) {
            return Err(refused(
                &NOT_ASKED,
                "a model",
                "it is asked only with tenants.channels=learned: set that",
            ));
        }
        let wrong = |detail: String| Error::setting(format!("model {}", path.display()), &detail);
        let text = std::fs::read_to_string(path)
            .map_err(|error| wrong(expecting(&error, "a model that was learned").to_string()))?;
        simulation.set_model(Model::parse(&text).map_err(wrong)?);
    }
    let decide = match (config.external().channels, decide) {
        (None, None) => return Ok(None),
        (Some(""), Some(decide)) => decide,
        (Some(file), None) => external::channels(file)?,
        (Some(file), Some(_)) => {
            let expected = format!("tenants.channels_file={file} names another one: leave one of them out");
            return Err(refused(&NOT_ASKED, "an allocator", &expected));
        }
        (None, Some(_)) => {
            return Err(refused(
                &NOT_ASKED,
                "an allocator",
                "it is asked only with tenants.channels=external: set that",
            ));
        }
    };
    let (allocator, taken) = adapt(decide, names.to_vec());
    simulation.set_allocator(allocator);
    Ok(Some(taken))
}

/// The engine's form of an allocator for these tenants, and the record of the time that it takes.
fn adapt(mut decide: Decide, names: Vec<String>) -> (Allocator, Arc<Mutex<Taken>>) {
    let taken = Arc::new(Mutex::new(Taken::default()));
    let notes = Arc::clone(&taken);
    let allocator = move |features: &Features, channels: u32| {
        let question = describe(features, channels, &names).to_string();
        let started = Instant::now();
        let answer = decide(&question);
        let elapsed = started.elapsed();
        let mut notes = notes.lock().unwrap_or_else(PoisonError::into_inner);
        notes.total += elapsed;
        notes.longest = notes.longest.max(elapsed);
        let answer = answer.map_err(|why| why.split_whitespace().collect::<Vec<_>>().join(" "))?;
        parse(&answer, &names)
    };
    (Box::new(allocator), taken)
}

/// Features with the names of the tenants.
pub(crate) fn describe(features: &Features, channels: u32, names: &[String]) -> Value {
    let tenants: Map<String, Value> =
        names.iter().zip(&features.tenants).map(|(name, tenant)| (name.clone(), json!(tenant))).collect();
    json!({
        "window": features.window,
        "start_s": features.start_ns as f64 / 1e9,
        "end_s": features.end_ns as f64 / 1e9,
        "requests": features.requests,
        "reads": features.reads,
        "writes": features.writes,
        "level": features.level,
        "channels": channels,
        "tenants": tenants,
    })
}

/// An allocation with the names of the tenants.
pub(crate) fn show(allocation: &Allocation, names: &[String]) -> Value {
    let share = |group: &u16| json!(allocation.groups[usize::from(*group)]);
    let one = |(at, name): (usize, &String)| {
        (
            name.clone(),
            json!({"reads": share(&allocation.reads[at]), "writes": share(&allocation.writes[at])}),
        )
    };
    Value::Object(names.iter().enumerate().map(one).collect())
}

/// Reads an answer. Tenants that are given the same channels, placed in the same way, are one group.
fn parse(answer: &str, names: &[String]) -> Result<Allocation, String> {
    const EXPECTED: &str = "expected {\"tenant\": [0, 1], ...}, or for a tenant {\"channels\": [0, 1], \"placement\": \
                            \"dynamic\" or \"static\"}, or {\"reads\": ..., \"writes\": ...} of these";
    let answer: Value = serde_json::from_str(answer).map_err(|error| format!("{error}: {EXPECTED}"))?;
    let Value::Object(mut shares) = answer else {
        return Err(format!("the answer is {}: {EXPECTED}", shown(&answer)));
    };
    let mut turns = None;
    if let (Some(Value::Object(inner)), true) =
        (shares.get("tenants"), !names.iter().any(|name| name == "tenants"))
    {
        let inner = inner.clone();
        for (key, value) in &shares {
            match (key.as_str(), value.as_str()) {
                ("tenants", _) => {}
                ("turns", Some("arrival")) => turns = Some(Turns::Arrival),
                ("turns", Some("shortest")) => turns = Some(Turns::Shortest),
                ("turns", Some("shortest-fair")) => turns = Some(Turns::ShortestFair),
                _ => {
                    return Err(format!(
                        "{key:?}: {}: expected \"tenants\" and \"turns\", \"arrival\", \"shortest\" or \"shortest-fair\"",
                        shown(value)
                    ));
                }
            }
        }
        shares = inner;
    }
    if let Some(name) = shares.keys().find(|name| !names.contains(name)) {
        return Err(format!("no tenant {name:?}: tenants are {}", names.join(", ")));
    }
    let mut allocation = Allocation { groups: Vec::new(), reads: Vec::new(), writes: Vec::new(), turns };
    for name in names {
        let share = shares
            .get(name)
            .ok_or_else(|| format!("no channels for tenant {name:?}: expected some for each"))?;
        let wrong = || format!("tenant {name:?} is given {}: {EXPECTED}", shown(share));
        let parsed = Share::deserialize(share).map_err(|_| wrong())?;
        let (reads, writes) = match parsed {
            Share::Apart(Apart { reads, writes }) => {
                (group(*reads).ok_or_else(wrong)?, group(*writes).ok_or_else(wrong)?)
            }
            both => {
                let group = group(both).ok_or_else(wrong)?;
                (group.clone(), group)
            }
        };
        for (group, of) in [(reads, &mut allocation.reads), (writes, &mut allocation.writes)] {
            let known = allocation.groups.iter().position(|other| *other == group);
            let number = known.unwrap_or(allocation.groups.len());
            if known.is_none() {
                allocation.groups.push(group);
            }
            of.push(u16::try_from(number).map_err(|_| "more than 65535 groups".to_owned())?);
        }
    }
    Ok(allocation)
}

/// Channels are a set: their order in the answer does not matter.
fn group(share: Share) -> Option<Group> {
    let (mut channels, placement) = match share {
        Share::Channels(channels) => (channels, None),
        Share::Placed(Placed { channels, placement }) => (channels, placement),
        Share::Apart(_) => return None,
    };
    channels.sort_unstable();
    Some(Group { channels, placement })
}

fn shown(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= 60 {
        text
    } else {
        format!("{}...", text.chars().take(60).collect::<String>())
    }
}

/// The allocator's report in the result; null without `tenants.channels`. `each`: with every window.
pub(crate) fn report(
    simulation: &Simulation,
    names: &[String],
    each: bool,
    taken: Option<&Mutex<Taken>>,
) -> Value {
    let Some(allocations) = simulation.allocations() else { return Value::Null };
    let channels = simulation.geometry().channels;
    let levels: Vec<Value> = allocations
        .levels
        .iter()
        .map(|(level, sums)| {
            let share = sums.write_channels as f64 / (sums.windows * u64::from(channels)) as f64;
            let requests = (sums.reads + sums.writes).max(1) as f64;
            let writes = sums.writes as f64 / requests;
            json!({"level": level, "windows": sums.windows, "write_channel_share": share, "write_share": writes})
        })
        .collect();
    let mut report = json!({
        "windows": allocations.windows,
        "changes": allocations.changes,
        "spilled_pages": simulation.spilled_pages(),
        "levels": levels,
    });
    if each {
        let window = |window: &flashweir_ssd::Window| {
            let mut shown = describe(&window.features, channels, names);
            shown["allocation"] = show(&window.allocation, names);
            shown["turns"] = json!(window.allocation.turns);
            if !window.candidates.is_empty() {
                let cost = |tried: &flashweir_ssd::Tried| {
                    let latency_s = tried.cost_ns as f64 / 1e9;
                    json!({"candidate": tried.name, "latency_s": latency_s, "inputs": tried.inputs})
                };
                shown["candidates"] = window.candidates.iter().map(cost).collect();
            }
            shown
        };
        report["each"] = allocations.kept.iter().map(window).collect();
    }
    if let Some(taken) = taken {
        let taken = taken.lock().unwrap_or_else(PoisonError::into_inner);
        report["wall_s"] = json!(taken.total.as_secs_f64());
        report["longest_wall_s"] = json!(taken.longest.as_secs_f64());
    }
    report
}
