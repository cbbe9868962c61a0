//! A run as a picture: the activity of each bus, die and request over time, as a Perfetto trace
//! (<https://ui.perfetto.dev>).
//!
//! The file is streamed: memory is bounded by the tracks, the outstanding requests and the distinct names, not by the
//! length of the run. A track shows one thing at a time, so slices that overlap on a track (requests in a queue, planes
//! of a die) are spread over lanes, tracks of the same name that the viewer draws as one.
//!
//! Events come from elsewhere; nothing here knows of drives beyond [`DriveTracks`], the usual set of tracks.

pub mod proto;
mod read;
mod tracks;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;

use prost::Message;

use flashweir_trace::output::{OutputError, PartFile};
use proto::{DebugAnnotation, InternedData, InternedName, TracePacket, TrackDescriptor, TrackEvent};
pub use read::samples_of_timeline;
pub use tracks::{DriveTracks, Track, TrackId, TrackKind, Unit};

/// The one writer of the trace.
const SEQUENCE: u32 = 1;
/// Tracks are numbered from here: 0 is the track of events that have none, and a short number makes a short event.
const FIRST_UUID: u64 = 1;
/// Names kept in memory; further ones are written in full each time.
const MAX_NAMES: usize = 1 << 14;
/// Key and length of a packet in the file: `Trace.packet` is field 1, of length-delimited type.
const PACKET_KEY: u8 = 1 << 3 | 2;

/// A slice that has begun; [`TimelineWriter::end`] closes it.
#[must_use = "a slice that never ends covers the rest of the picture"]
#[derive(Debug)]
pub struct OpenSlice {
    track: usize,
    lane: usize,
    place: Place,
}

/// Place of the beginning of a slice relative to the window.
#[derive(Debug)]
enum Place {
    /// Written.
    Within,
    /// To be written if the slice lasts into the window.
    Before(Early),
    /// Left out with the whole slice.
    After,
}

/// A slice that has begun before the window.
#[derive(Debug)]
struct Early {
    name: String,
    args: Vec<(&'static str, u64)>,
    flows: Vec<u64>,
    within: Vec<(String, Range<u64>)>,
}

/// One line of a track and the time from which on it is free.
#[derive(Debug)]
struct Lane {
    uuid: u64,
    free_ns: u64,
}

/// State of a track in the writer.
#[derive(Debug)]
struct TrackState {
    descriptor: TrackDescriptor,
    lanes: Vec<Lane>,
    /// Lanes whose slice has ended, by that time, ns; and those of them for which it has passed. In an overload there is
    /// a lane a waiting request, far too many to look at for each.
    ended: BinaryHeap<Reverse<(u64, usize)>>,
    idle: BTreeSet<usize>,
    last_value: Option<i64>,
}

/// Writes a timeline, event by event.
///
/// Slices of a track should come in order of their start: one that starts before the end of an earlier one takes
/// another lane. An arrow leads from the slice that begins first; of two that begin together, from the one written
/// first: so [`TimelineWriter::begin`] a request before writing its commands.
#[derive(Debug)]
pub struct TimelineWriter {
    file: PartFile,
    tracks: Vec<TrackState>,
    next_uuid: u64,
    event_names: BTreeMap<String, u64>,
    annotation_names: BTreeMap<&'static str, u64>,
    encoded: Vec<u8>,
    /// Events outside this window are left out, ns.
    window: Range<u64>,
    /// Counters that were set before the window: by track, the value that holds when it begins.
    before: BTreeMap<usize, i64>,
}

impl TimelineWriter {
    /// Leaves out what happens outside of `window_ns`, and cuts what reaches beyond it.
    #[must_use]
    pub fn with_window(mut self, window_ns: Range<u64>) -> Self {
        self.window = window_ns;
        self
    }

    /// Starts a trace at `path` with the given tracks; parents stand before their children.
    pub fn create(path: &Path, tracks: &[Track]) -> Result<Self, OutputError> {
        let mut writer = Self {
            file: PartFile::create(path)?,
            tracks: Vec::with_capacity(tracks.len()),
            next_uuid: FIRST_UUID,
            event_names: BTreeMap::new(),
            annotation_names: BTreeMap::new(),
            encoded: Vec::new(),
            window: 0..u64::MAX,
            before: BTreeMap::new(),
        };
        let flags = Some(proto::INCREMENTAL_STATE_CLEARED);
        writer.write(TracePacket { sequence_flags: flags, ..TracePacket::default() })?;
        for (rank, track) in tracks.iter().enumerate() {
            let parent = track.parent.map(|TrackId(index)| writer.tracks[index].lanes[0].uuid);
            let descriptor = TrackDescriptor {
                uuid: None,
                name: Some(track.name.clone()),
                parent_uuid: parent,
                counter: match track.kind {
                    TrackKind::Slices => None,
                    TrackKind::Counter(unit) => Some(unit.descriptor()),
                },
                child_ordering: Some(proto::ORDER_EXPLICIT),
                sibling_order_rank: i32::try_from(rank).ok(),
            };
            writer.tracks.push(TrackState {
                descriptor,
                lanes: Vec::new(),
                ended: BinaryHeap::new(),
                idle: BTreeSet::new(),
                last_value: None,
            });
            if !track.on_demand {
                writer.add_lane(rank)?;
            }
        }
        Ok(writer)
    }

    /// Opens a slice. `args` are numbers for the details panel; slices that share one of their `flows` are joined by an
    /// arrow, each to the one before.
    pub fn begin(
        &mut self,
        track: TrackId,
        name: &str,
        start_ns: u64,
        args: &[(&'static str, u64)],
        flows: &[u64],
    ) -> Result<OpenSlice, OutputError> {
        if start_ns >= self.window.end {
            return Ok(OpenSlice { track: track.0, lane: 0, place: Place::After });
        }
        let lane = self.free_lane(track.0, start_ns)?;
        if start_ns < self.window.start {
            let (name, args, flows) = (name.to_owned(), args.to_vec(), flows.to_vec());
            let place = Place::Before(Early { name, args, flows, within: Vec::new() });
            return Ok(OpenSlice { track: track.0, lane, place });
        }
        self.begin_on(track.0, lane, name, start_ns, args, flows)?;
        Ok(OpenSlice { track: track.0, lane, place: Place::Within })
    }

    /// Writes a slice within one that is open; those of one come in order.
    pub fn within(
        &mut self,
        slice: &mut OpenSlice,
        name: &str,
        span_ns: Range<u64>,
    ) -> Result<(), OutputError> {
        match &mut slice.place {
            Place::Within => self.part(slice.track, slice.lane, name, span_ns),
            Place::Before(early) => {
                early.within.push((name.to_owned(), span_ns));
                Ok(())
            }
            Place::After => Ok(()),
        }
    }

    /// Writes what lies in the window of a slice within another one.
    fn part(
        &mut self,
        track: usize,
        lane: usize,
        name: &str,
        span_ns: Range<u64>,
    ) -> Result<(), OutputError> {
        let start_ns = span_ns.start.max(self.window.start);
        if span_ns.end < self.window.start || start_ns >= self.window.end {
            return Ok(());
        }
        self.begin_on(track, lane, name, start_ns, &[], &[])?;
        self.end_on(track, lane, span_ns.end)
    }

    fn begin_on(
        &mut self,
        track: usize,
        lane: usize,
        name: &str,
        start_ns: u64,
        args: &[(&'static str, u64)],
        flows: &[u64],
    ) -> Result<(), OutputError> {
        let mut interned = InternedData::default();
        let name_iid = self.intern_event(name, &mut interned);
        let annotate = |&(name, value): &(&'static str, u64)| DebugAnnotation {
            name_iid: Some(intern_annotation(&mut self.annotation_names, name, &mut interned)),
            uint_value: Some(value),
        };
        let debug_annotations = args.iter().map(annotate).collect();
        let event = TrackEvent {
            r#type: Some(proto::SLICE_BEGIN),
            track_uuid: Some(self.tracks[track].lanes[lane].uuid),
            name_iid,
            name: name_iid.is_none().then(|| name.to_owned()),
            debug_annotations,
            flow_ids: flows.to_vec(),
            counter_value: None,
        };
        let interned = (interned != InternedData::default()).then_some(interned);
        self.event(start_ns, event, interned)
    }

    /// Closes a slice.
    pub fn end(&mut self, slice: OpenSlice, end_ns: u64) -> Result<(), OutputError> {
        if matches!(slice.place, Place::After) {
            return Ok(());
        }
        let track = &mut self.tracks[slice.track];
        track.ended.push(Reverse((end_ns, slice.lane)));
        track.lanes[slice.lane].free_ns = end_ns;
        if let Place::Before(early) = slice.place {
            let start_ns = self.window.start;
            if end_ns <= start_ns {
                return Ok(());
            }
            self.begin_on(slice.track, slice.lane, &early.name, start_ns, &early.args, &early.flows)?;
            for (name, span_ns) in early.within {
                self.part(slice.track, slice.lane, &name, span_ns)?;
            }
        }
        self.end_on(slice.track, slice.lane, end_ns)
    }

    fn end_on(&mut self, track: usize, lane: usize, end_ns: u64) -> Result<(), OutputError> {
        let uuid = self.tracks[track].lanes[lane].uuid;
        let event =
            TrackEvent { r#type: Some(proto::SLICE_END), track_uuid: Some(uuid), ..TrackEvent::default() };
        self.event(end_ns.min(self.window.end), event, None)
    }

    /// Writes a slice whose end is known: [`TimelineWriter::begin`] and [`TimelineWriter::end`] in one.
    pub fn slice(
        &mut self,
        track: TrackId,
        name: &str,
        span_ns: Range<u64>,
        args: &[(&'static str, u64)],
        flows: &[u64],
    ) -> Result<(), OutputError> {
        // A window that begins with the run leaves nothing out before it.
        if span_ns.end <= self.window.start && self.window.start > 0 {
            return Ok(());
        }
        let slice = self.begin(track, name, span_ns.start, args, flows)?;
        self.end(slice, span_ns.end)
    }

    /// Sets a counter; a value it has already is not written again.
    pub fn counter(&mut self, track: TrackId, time_ns: u64, value: i64) -> Result<(), OutputError> {
        if time_ns < self.window.start {
            self.before.insert(track.0, value);
            return Ok(());
        }
        if let Some(early) = self.before.remove(&track.0) {
            self.set(track.0, self.window.start, early)?;
        }
        if time_ns < self.window.end { self.set(track.0, time_ns, value) } else { Ok(()) }
    }

    fn set(&mut self, track: usize, time_ns: u64, value: i64) -> Result<(), OutputError> {
        if self.tracks[track].lanes.is_empty() {
            self.add_lane(track)?;
        }
        let state = &mut self.tracks[track];
        if state.last_value.replace(value) == Some(value) {
            return Ok(());
        }
        let event = TrackEvent {
            r#type: Some(proto::COUNTER),
            track_uuid: Some(state.lanes[0].uuid),
            counter_value: Some(value),
            ..TrackEvent::default()
        };
        self.event(time_ns, event, None)
    }

    /// Ends the trace and gives the file its name. A trace that is dropped instead leaves no file.
    pub fn finish(mut self) -> Result<(), OutputError> {
        for (track, value) in std::mem::take(&mut self.before) {
            self.set(track, self.window.start, value)?;
        }
        self.file.finish()
    }

    /// The first lane of a track that is free at `start_ns`, taken until its slice ends.
    fn free_lane(&mut self, track: usize, start_ns: u64) -> Result<usize, OutputError> {
        let state = &mut self.tracks[track];
        while let Some(Reverse((end, lane))) = state.ended.peek().copied()
            && end <= start_ns
        {
            state.ended.pop();
            state.idle.insert(lane);
        }
        // One that does not come in order may start before a lane was left.
        let free = state.idle.iter().copied().find(|lane| state.lanes[*lane].free_ns <= start_ns);
        let lane = free.unwrap_or(state.lanes.len());
        if free.is_none() {
            self.add_lane(track)?;
        }
        self.tracks[track].idle.remove(&lane);
        Ok(lane)
    }

    /// Declares one more lane of a track.
    fn add_lane(&mut self, track: usize) -> Result<(), OutputError> {
        let uuid = self.next_uuid;
        self.next_uuid += 1;
        let state = &mut self.tracks[track];
        state.idle.insert(state.lanes.len());
        state.lanes.push(Lane { uuid, free_ns: 0 });
        let track_descriptor = Some(TrackDescriptor { uuid: Some(uuid), ..state.descriptor.clone() });
        self.write(TracePacket { track_descriptor, ..TracePacket::default() })
    }

    /// The number of an event's name, declared in `interned` when it is new; none when there are too many names.
    fn intern_event(&mut self, name: &str, interned: &mut InternedData) -> Option<u64> {
        if let Some(iid) = self.event_names.get(name) {
            return Some(*iid);
        }
        let iid = self.event_names.len() as u64 + 1;
        if self.event_names.len() == MAX_NAMES {
            return None;
        }
        self.event_names.insert(name.to_owned(), iid);
        interned.event_names.push(InternedName { iid: Some(iid), name: Some(name.to_owned()) });
        Some(iid)
    }

    fn event(
        &mut self,
        time_ns: u64,
        event: TrackEvent,
        interned_data: Option<InternedData>,
    ) -> Result<(), OutputError> {
        self.write(TracePacket {
            timestamp: Some(time_ns),
            track_event: Some(event),
            interned_data,
            sequence_flags: Some(proto::NEEDS_INCREMENTAL_STATE),
            ..TracePacket::default()
        })
    }

    fn write(&mut self, packet: TracePacket) -> Result<(), OutputError> {
        let packet = TracePacket { trusted_packet_sequence_id: Some(SEQUENCE), ..packet };
        self.encoded.clear();
        self.encoded.push(PACKET_KEY);
        let encoded = packet.encode_length_delimited(&mut self.encoded).map_err(io::Error::other);
        encoded.and_then(|()| self.file.write_all(&self.encoded)).map_err(|source| self.file.error(source))
    }
}

/// The number of an annotation's name, declared in `interned` when it is new. There are as many as the program has.
fn intern_annotation(
    names: &mut BTreeMap<&'static str, u64>,
    name: &'static str,
    interned: &mut InternedData,
) -> u64 {
    let next = names.len() as u64 + 1;
    *names.entry(name).or_insert_with(|| {
        interned.debug_annotation_names.push(InternedName { iid: Some(next), name: Some(name.to_owned()) });
        next
    })
}
