//! Hashes of everything that a run returns or writes, section by section, and some plain numbers beside them.
//!
//! The name of the engine, wall times, the configuration and the version are left out. Events of one instant may be
//! reported in any order: the request log and the Perfetto trace are sorted before they are hashed.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use flashweir_run::timeline::proto::{self, Trace, TracePacket, TrackEvent};
use flashweir_run::{RunSpec, simulate_sharing};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::Type;
use prost::Message;
use serde_json::{Value, json};

use super::drive;

/// Columns of every request log; the parts of latencies come after them.
const LOG_COLUMNS: usize = 10;

/// Sections of the result, each with its fields.
const SECTIONS: [(&str, &[&str]); 7] = [
    (
        "counts",
        &[
            "requests",
            "write_amplification",
            "flash",
            "mapping",
            "counters",
            "merges",
            "collections",
            "wear",
            "geometry",
            "preconditioning_capacities",
        ],
    ),
    (
        "times",
        &[
            "simulated_s",
            "iops",
            "bandwidth_mib_s",
            "latency_us",
            "latency_histogram_ns",
            "time_share",
            "bus_share",
            "bus_time_share",
            "channels",
            "clock",
        ],
    ),
    ("parts", &["latency_parts_us"]),
    ("sched", &["sched"]),
    ("tenants", &["streams", "fairness", "allocation"]),
    ("cuts", &["power_cuts"]),
    ("warmup", &["warmup", "series"]),
];

/// The results of a run as text: to be hashed, or to be compared line by line.
pub(crate) struct Digest {
    /// By section.
    pub(crate) sections: Vec<(&'static str, String)>,
    /// Plain numbers, for people.
    pub(crate) numbers: String,
}

impl Digest {
    /// The numbers and the hashes: the right half of a line.
    pub(crate) fn line(&self) -> String {
        let mut line = format!("{} |", self.numbers);
        for (name, text) in &self.sections {
            let hash = if text.is_empty() { "-".into() } else { format!("{:016x}", hash(text)) };
            write!(line, " {name}={hash}").expect("a string takes everything");
        }
        line
    }
}

/// FNV-1a, 64 bits: the same on every machine and with every compiler.
fn hash(text: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, step)
}

/// Runs a drive twice, plain and recorded. Both must give the same result.
pub(crate) fn run(run: &RunSpec) -> Result<Digest, flashweir_run::Error> {
    let result = simulate(run)?;
    let plain = sections(&result);
    let dir = tempfile::tempdir().expect("a directory");
    let (log, picture) = (dir.path().join("requests.parquet"), dir.path().join("run.pftrace"));
    let recorded = RunSpec {
        requests: Some(log.clone().into()),
        timeline: Some(picture.clone().into()),
        activity: Some(json!(true)),
        ..run.clone()
    };
    let mut watched = simulate(&recorded)?;
    let activity = watched.as_object_mut().and_then(|object| object.remove("activity"));
    assert!(plain == sections(&watched), "a recorded run has another result: {run:?}");
    let mut sections = plain;
    sections.push(("activity", canonical(&activity.unwrap_or_default())));
    sections.push(("requests", requests(&log)));
    let (commands, picture) = pictures(&picture);
    sections.extend([("commands", commands), ("picture", picture)]);
    Ok(Digest { sections, numbers: numbers(&result) })
}

/// The result of a run.
pub(crate) fn simulate(run: &RunSpec) -> Result<Value, flashweir_run::Error> {
    let decide: Option<flashweir_run::Decide> =
        drive::asks_outside(run).then(|| Box::new(drive::allocator) as _);
    simulate_sharing(run, None, decide, &mut |_| true)
}

fn sections(result: &Value) -> Vec<(&'static str, String)> {
    let section = |(name, fields): &(&'static str, &[&str])| {
        let mut text = String::new();
        for field in *fields {
            if !result[field].is_null() {
                writeln!(text, "{field}: {}", canonical(&result[field])).expect("a string takes everything");
            }
        }
        (*name, text)
    };
    SECTIONS.iter().map(section).collect()
}

/// JSON with sorted keys, one number or text a line, without wall times.
fn canonical(value: &Value) -> String {
    fn add(path: &str, value: &Value, into: &mut String) {
        match value {
            Value::Object(object) => {
                // Parts that drives without a host interface do not have.
                let is_absent = |key: &str, value: &Value| {
                    matches!(key, "link" | "firmware") && value.as_f64() == Some(0.0)
                };
                // Parts that results have had since: tests of their own hold them.
                let is_newer = |key: &str| matches!(key, "histogram" | "preconditioned" | "run");
                let is_kept = |key: &str, value: &Value| !is_absent(key, value) && !is_newer(key);
                let kept = object.iter().filter(|(key, value)| is_kept(key, value));
                let sorted: BTreeMap<_, _> = kept.filter(|(key, _)| !key.ends_with("wall_s")).collect();
                for (key, value) in sorted {
                    add(&format!("{path}.{key}"), value, into);
                }
            }
            Value::Array(list) => {
                for (at, value) in list.iter().enumerate() {
                    add(&format!("{path}[{at}]"), value, into);
                }
            }
            other => writeln!(into, "{path} {other}").expect("a string takes everything"),
        }
    }
    let mut text = String::new();
    add("", value, &mut text);
    text
}

fn numbers(result: &Value) -> String {
    let flash = &result["flash"];
    let p99 = |op: &str| result["latency_us"][op]["p99"].to_string();
    format!(
        "reads {} programs {} erases {} end_s {} p99_read {} p99_write {}",
        flash["reads"],
        flash["programs"],
        flash["erases"],
        result["simulated_s"],
        p99("read"),
        p99("write"),
    )
}

/// The request log, sorted: the columns that every log has.
fn requests(path: &Path) -> String {
    let reader = SerializedFileReader::try_from(path).expect("a log");
    let schema = reader.metadata().file_metadata().schema();
    let fields = schema.get_fields()[..LOG_COLUMNS].to_vec();
    let columns = Type::group_type_builder(schema.name()).with_fields(fields).build().expect("columns");
    let rows = reader.get_row_iter(Some(columns)).expect("rows");
    sorted(rows.map(|row| row.expect("a row").to_string()).collect())
}

fn sorted(mut lines: Vec<String>) -> String {
    lines.sort_unstable();
    lines.join("\n")
}

/// Intervals of every die and bus; and everything in the Perfetto trace but flows and lanes.
fn pictures(path: &Path) -> (String, String) {
    let bytes = std::fs::read(path).expect("a timeline");
    let mut reader = Reader::default();
    for packet in &Trace::decode(bytes.as_slice()).expect("a timeline").packet {
        reader.packet(packet);
    }
    assert!(reader.open.values().all(Vec::is_empty), "a slice never ends");
    let counters =
        reader.counters.into_iter().map(|((track, time), value)| format!("{track} {time} = {value}"));
    reader.slices.extend(counters);
    (sorted(reader.commands), sorted(reader.slices))
}

/// Reads a Perfetto trace.
#[derive(Default)]
struct Reader {
    tracks: BTreeMap<u64, String>,
    names: BTreeMap<u64, String>,
    annotations: BTreeMap<u64, String>,
    /// Slices that have begun, by lane.
    open: BTreeMap<u64, Vec<(u64, String, String)>>,
    commands: Vec<String>,
    slices: Vec<String>,
    /// The last value of each instant.
    counters: BTreeMap<(String, u64), i64>,
}

impl Reader {
    fn packet(&mut self, packet: &TracePacket) {
        if let Some(track) = &packet.track_descriptor {
            self.tracks.insert(track.uuid(), track.name().to_owned());
        }
        for name in packet.interned_data.iter().flat_map(|data| &data.event_names) {
            self.names.insert(name.iid(), name.name().to_owned());
        }
        for name in packet.interned_data.iter().flat_map(|data| &data.debug_annotation_names) {
            self.annotations.insert(name.iid(), name.name().to_owned());
        }
        if let Some(event) = &packet.track_event {
            self.event(packet.timestamp(), event);
        }
    }

    fn event(&mut self, time_ns: u64, event: &TrackEvent) {
        let lane = event.track_uuid();
        let track = self.tracks[&lane].clone();
        match event.r#type() {
            proto::SLICE_BEGIN => {
                let name = event.name.clone().unwrap_or_else(|| self.names[&event.name_iid()].clone());
                let argument = |annotation: &proto::DebugAnnotation| {
                    format!("{}={}", self.annotations[&annotation.name_iid()], annotation.uint_value())
                };
                let arguments: Vec<_> = event.debug_annotations.iter().map(argument).collect();
                self.open.entry(lane).or_default().push((time_ns, name, arguments.join(" ")));
            }
            proto::SLICE_END => {
                let begun = self.open.get_mut(&lane).and_then(Vec::pop);
                let (start_ns, name, arguments) = begun.expect("a slice that has begun");
                let bare = format!("{track} {start_ns}..{time_ns} {name}");
                self.slices.push(format!("{bare} {arguments}"));
                if track.starts_with("die ") || track.starts_with("channel ") {
                    self.commands.push(bare);
                }
            }
            _ => {
                self.counters.insert((track, time_ns), event.counter_value());
            }
        }
    }
}
