//! The slowest requests of an operation, and what is said of them.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use flashweir_ssd::{Parts, RequestRecord};
use flashweir_trace::SECTOR_BYTES;
use serde_json::{Map, Value, json};

use super::dies::{Blocker, Owner, Work};

/// Requests of an operation that are explained at most.
const MAX_EXPLAINED: usize = 1 << 16;
/// Examples of an operation.
const EXAMPLES: usize = 3;
/// Commands of an example.
pub(super) const MAX_WORKS: usize = 200;

/// A command of a request and its wait for the die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wait {
    pub(super) die: u32,
    /// It reads the map for the request.
    pub(super) for_map: bool,
    pub(super) arrived_ns: u64,
    pub(super) start_ns: u64,
    pub(super) end_ns: u64,
}

/// Of a request's commands those whose waits made it late: the reads of the map, and the one that was done last.
pub(super) fn decisive(commands: &[Wait]) -> Vec<Wait> {
    let last = commands.iter().filter(|wait| !wait.for_map).max_by_key(|wait| wait.end_ns);
    commands.iter().filter(|wait| wait.for_map).chain(last).copied().collect()
}

/// A slow request.
#[derive(Clone, Debug)]
pub(super) struct Slow {
    pub(super) record: RequestRecord,
    /// Commands that it waited for, and the time for each, ns.
    pub(super) blockers: Vec<(Blocker, u64)>,
}

impl Slow {
    /// The part that took most of its latency; the earliest of equal ones.
    pub(super) fn cause(&self) -> &'static str {
        let parts = self.record.parts.named();
        parts.iter().rev().max_by_key(|(_, ns)| *ns).map_or("flash", |(name, _)| name)
    }
}

/// A slow request and what its die did from its issue to its end.
#[derive(Clone, Debug)]
pub(super) struct Picture {
    pub(super) record: RequestRecord,
    pub(super) die: u32,
    pub(super) works: Vec<Work>,
}

/// By latency, then the earlier one.
type Rank = (u64, Reverse<u64>);

/// Names for what is said.
pub(super) struct Names<'a> {
    pub(super) tenants: &'a [String],
    pub(super) dies_per_channel: u32,
}

impl Names<'_> {
    fn tenant(&self, stream: u16) -> Value {
        if self.tenants.len() > 1 { json!(self.tenants.get(usize::from(stream))) } else { Value::Null }
    }

    fn die(&self, die: u32) -> String {
        format!("{}.{}", die / self.dies_per_channel, die % self.dies_per_channel)
    }
}

/// The slowest requests of an operation.
#[derive(Debug, Default)]
pub(super) struct Slowest {
    count: u64,
    kept: BTreeMap<Rank, Slow>,
    /// Of each cause the slowest ones, no two of which waited for the same die at the same time.
    pictures: BTreeMap<&'static str, BTreeMap<Rank, Picture>>,
}

impl Slowest {
    /// Requests of the operation.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// One more request. Returns whether it is one of the slowest so far.
    pub(super) fn counts(&mut self, latency_ns: u64) -> bool {
        self.count += 1;
        self.kept.len() < MAX_EXPLAINED
            || self.kept.keys().next().is_some_and(|(least, _)| latency_ns > *least)
    }

    pub(super) fn keep(&mut self, latency_ns: u64, slow: Slow) {
        self.kept.insert((latency_ns, Reverse(slow.record.number)), slow);
        if self.kept.len() > MAX_EXPLAINED {
            self.kept.pop_first();
        }
    }

    /// True if a request of that latency may be an example of the requests that this cause makes slow.
    pub(super) fn is_example(&self, cause: &str, latency_ns: u64) -> bool {
        let Some(pictures) = self.pictures.get(cause) else { return true };
        pictures.len() < EXAMPLES || pictures.keys().next().is_some_and(|(least, _)| latency_ns > *least)
    }

    pub(super) fn picture(&mut self, cause: &'static str, latency_ns: u64, picture: Picture) {
        let pictures = self.pictures.entry(cause).or_default();
        let span = |of: &Picture| (of.record.issue_ns, of.record.completion_ns);
        let (start_ns, end_ns) = span(&picture);
        let same = pictures.iter().find(|(_, other)| {
            let (other_start, other_end) = span(other);
            other.die == picture.die && other_start < end_ns && start_ns < other_end
        });
        if let Some(rank) = same.map(|(rank, _)| *rank) {
            if rank.0 >= latency_ns {
                return;
            }
            pictures.remove(&rank);
        }
        pictures.insert((latency_ns, Reverse(picture.record.number)), picture);
        if pictures.len() > EXAMPLES {
            pictures.pop_first();
        }
    }

    /// The explanation of the slowest `wanted` of them.
    pub(super) fn explain(&self, wanted: u64, names: &Names<'_>) -> Value {
        let wanted_here = usize::try_from(wanted).unwrap_or(usize::MAX);
        let slow: Vec<(u64, &Slow)> = self
            .kept
            .iter()
            .rev()
            .take(wanted_here)
            .map(|((latency_ns, _), slow)| (*latency_ns, slow))
            .collect();
        let (Some((max_ns, _)), Some((from_ns, _))) = (slow.first(), slow.last()) else { return Value::Null };
        let count = slow.len() as f64;
        let sum_ns: u64 = slow.iter().map(|(latency_ns, _)| *latency_ns).sum();
        let mut parts = Parts::default();
        let mut causes: BTreeMap<&str, u64> = BTreeMap::new();
        let mut blockers: BTreeMap<Blocker, (u64, u64)> = BTreeMap::new();
        for (_, one) in &slow {
            parts.add(&one.record.parts);
            *causes.entry(one.cause()).or_default() += 1;
            for (blocker, ns) in &one.blockers {
                let (total, requests) = blockers.entry(*blocker).or_default();
                *total += ns;
                *requests += 1;
            }
        }
        let mut blockers: Vec<_> = blockers.into_iter().collect();
        blockers.sort_by_key(|(_, (ns, _))| Reverse(*ns));
        let commands: Vec<Value> = blockers
            .into_iter()
            .map(|((kind, purpose, owner), (ns, requests))| {
                json!({
                    "command": format!("{kind} {purpose}"), "of": owner_name(owner, names),
                    "mean_us": ns as f64 / count / 1e3, "share": ns as f64 / sum_ns.max(1) as f64, "requests": requests,
                })
            })
            .collect();
        let mut ranked: Vec<(&str, u64)> =
            causes.iter().map(|(cause, requests)| (*cause, *requests)).collect();
        ranked.sort_by_key(|(_, requests)| Reverse(*requests));
        json!({
            "requests": slow.len(),
            "of": self.count,
            "left_out": wanted - slow.len() as u64,
            "from_us": us(*from_ns),
            "mean_us": sum_ns as f64 / count / 1e3,
            "max_us": us(*max_ns),
            "parts_us": parts.named().iter().map(|(name, ns)| ((*name).to_owned(), json!(*ns as f64 / count / 1e3))).collect::<Map<_, _>>(),
            "causes": ranked.iter().map(|(cause, requests)| ((*cause).to_owned(), json!(requests))).collect::<Map<_, _>>(),
            "waited_for": commands,
            "examples": self.examples(*from_ns, &ranked).into_iter().map(|one| example(one, names)).collect::<Vec<_>>(),
        })
    }

    /// The slowest request of each of the most frequent causes, then further ones of these, by latency.
    fn examples(&self, from_ns: u64, causes: &[(&str, u64)]) -> Vec<&Picture> {
        let of = |cause: &str| {
            let pictures = self.pictures.get(cause).into_iter().flatten();
            pictures.rev().filter(|((latency_ns, _), _)| *latency_ns >= from_ns).map(|(_, picture)| picture)
        };
        let rounds =
            (0..EXAMPLES).flat_map(|round| causes.iter().filter_map(move |(cause, _)| of(cause).nth(round)));
        let mut chosen: Vec<&Picture> = rounds.take(EXAMPLES).collect();
        chosen.sort_by_key(|picture| Reverse(picture.record.completion_ns - picture.record.issue_ns));
        chosen
    }
}

fn us(ns: u64) -> f64 {
    ns as f64 / 1e3
}

fn owner_name(owner: Owner, names: &Names<'_>) -> Value {
    match owner {
        Owner::Same => json!("the same request"),
        Owner::Tenant(stream) => names.tenant(stream),
        Owner::Host => json!("other requests"),
        Owner::Drive => json!("the drive"),
    }
}

fn example(picture: &Picture, names: &Names<'_>) -> Value {
    let Picture { record, die, works } = picture;
    let commands: Vec<Value> = works
        .iter()
        .map(|work| {
            let (kind, purpose, owner) = work.blocker(record.number);
            json!({
                "command": format!("{kind} {purpose}"), "of": owner_name(owner, names), "pages": work.pages,
                "request": work.request, "start_us": us(work.start_ns), "end_us": us(work.end_ns),
            })
        })
        .collect();
    json!({
        "request": record.number,
        "tenant": names.tenant(record.request.stream),
        "offset_bytes": record.request.lba * SECTOR_BYTES,
        "bytes": record.request.bytes(),
        "issue_us": us(record.issue_ns),
        "latency_us": us(record.completion_ns - record.issue_ns),
        "parts_us": record.parts.named().iter().map(|(name, ns)| ((*name).to_owned(), json!(us(*ns)))).collect::<Map<_, _>>(),
        "die": names.die(*die),
        "all_commands": works.len() < MAX_WORKS,
        "commands": commands,
    })
}
