//! The timeline file, read back with the structs it was written with.

mod levels;
mod runs;
mod writer;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use flashweir_run::timeline::proto::{self, Trace, TrackEvent};
use flashweir_run::timeline::{DriveTracks, TimelineWriter};
use flashweir_run::{RunSpec, WorkloadSpec, simulate};
use prost::Message;
use serde_json::Value;

/// Writes a timeline of two channels with two dies each.
fn written(fill: impl FnOnce(&mut TimelineWriter, &DriveTracks)) -> Trace {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("run.pftrace");
    let tracks = DriveTracks::new(2, 2);
    let mut writer = TimelineWriter::create(&path, tracks.list()).expect("a writer");
    fill(&mut writer, &tracks);
    writer.finish().expect("a file");
    let bytes = std::fs::read(&path).expect("the file");
    Trace::decode(bytes.as_slice()).expect("a trace")
}

fn events(trace: &Trace) -> impl Iterator<Item = (u64, &TrackEvent)> {
    trace.packet.iter().filter_map(|packet| Some((packet.timestamp?, packet.track_event.as_ref()?)))
}

/// Names by number, checking that none is used before it is declared.
fn names_of_slices(trace: &Trace) -> Vec<String> {
    let mut known = BTreeMap::new();
    let mut names = Vec::new();
    for packet in &trace.packet {
        for name in packet.interned_data.iter().flat_map(|data| &data.event_names) {
            assert!(known.insert(name.iid(), name.name().to_owned()).is_none(), "{name:?} twice");
        }
        if let Some(event) = packet.track_event.as_ref().filter(|event| event.r#type() == proto::SLICE_BEGIN)
        {
            names.push(event.name.clone().unwrap_or_else(|| known[&event.name_iid()].clone()));
        }
    }
    names
}
