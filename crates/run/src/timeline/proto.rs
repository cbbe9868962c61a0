//! The part of Perfetto's trace format that a timeline needs, written out by hand.
//!
//! Names and field numbers are those of `protos/perfetto/trace/` in google/perfetto; members of a `oneof` stand as
//! optional fields, of which at most one is set. `python/tests/api/test_timeline.py` holds them against that schema.

/// A trace file: packets, one after the other.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Trace {
    /// In order of writing, not of time.
    #[prost(message, repeated, tag = "1")]
    pub packet: Vec<TracePacket>,
}

/// One record of a trace.
#[derive(Clone, PartialEq, prost::Message)]
pub struct TracePacket {
    /// Nanoseconds.
    #[prost(uint64, optional, tag = "8")]
    pub timestamp: Option<u64>,
    /// The writer; interned names are its own.
    #[prost(uint32, optional, tag = "10")]
    pub trusted_packet_sequence_id: Option<u32>,
    /// An event on a track.
    #[prost(message, optional, tag = "11")]
    pub track_event: Option<TrackEvent>,
    /// Names that events refer to from here on.
    #[prost(message, optional, tag = "12")]
    pub interned_data: Option<InternedData>,
    /// [`INCREMENTAL_STATE_CLEARED`] or [`NEEDS_INCREMENTAL_STATE`].
    #[prost(uint32, optional, tag = "13")]
    pub sequence_flags: Option<u32>,
    /// A track, declared before its first event.
    #[prost(message, optional, tag = "60")]
    pub track_descriptor: Option<TrackDescriptor>,
}

/// `sequence_flags` of the first packet: no names are interned yet.
pub const INCREMENTAL_STATE_CLEARED: u32 = 1;
/// `sequence_flags` of a packet that uses interned names.
pub const NEEDS_INCREMENTAL_STATE: u32 = 2;

/// A line of the display.
#[derive(Clone, PartialEq, prost::Message)]
pub struct TrackDescriptor {
    /// Unique in the trace, and not 0.
    #[prost(uint64, optional, tag = "1")]
    pub uuid: Option<u64>,
    /// Shown beside the line; siblings of one name are shown as one line.
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
    /// The track under which it is shown.
    #[prost(uint64, optional, tag = "5")]
    pub parent_uuid: Option<u64>,
    /// Present on counters only.
    #[prost(message, optional, tag = "8")]
    pub counter: Option<CounterDescriptor>,
    /// Order of its children: [`ORDER_EXPLICIT`].
    #[prost(int32, optional, tag = "11")]
    pub child_ordering: Option<i32>,
    /// Place among its siblings.
    #[prost(int32, optional, tag = "12")]
    pub sibling_order_rank: Option<i32>,
}

/// `child_ordering`: children stand by `sibling_order_rank`.
pub const ORDER_EXPLICIT: i32 = 3;

/// Unit of a counter.
#[derive(Clone, PartialEq, prost::Message)]
pub struct CounterDescriptor {
    /// [`UNIT_COUNT`] or [`UNIT_SIZE_BYTES`].
    #[prost(int32, optional, tag = "3")]
    pub unit: Option<i32>,
    /// Name of what is counted.
    #[prost(string, optional, tag = "6")]
    pub unit_name: Option<String>,
}

/// `unit` of plain numbers.
pub const UNIT_COUNT: i32 = 2;
/// `unit` of bytes.
pub const UNIT_SIZE_BYTES: i32 = 3;

/// Something that happens on a track.
#[derive(Clone, PartialEq, prost::Message)]
pub struct TrackEvent {
    /// Further facts, for the details panel.
    #[prost(message, repeated, tag = "4")]
    pub debug_annotations: Vec<DebugAnnotation>,
    /// [`SLICE_BEGIN`], [`SLICE_END`] or [`COUNTER`].
    #[prost(int32, optional, tag = "9")]
    pub r#type: Option<i32>,
    /// Name, interned.
    #[prost(uint64, optional, tag = "10")]
    pub name_iid: Option<u64>,
    /// The track.
    #[prost(uint64, optional, tag = "11")]
    pub track_uuid: Option<u64>,
    /// Name, in full.
    #[prost(string, optional, tag = "23")]
    pub name: Option<String>,
    /// New value of a counter.
    #[prost(int64, optional, tag = "30")]
    pub counter_value: Option<i64>,
    /// Arrows that start, pass or end here.
    #[prost(fixed64, repeated, packed = "false", tag = "47")]
    pub flow_ids: Vec<u64>,
}

/// `type` of the event that opens a slice.
pub const SLICE_BEGIN: i32 = 1;
/// `type` of the event that closes the slice opened last on its track.
pub const SLICE_END: i32 = 2;
/// `type` of a counter's new value.
pub const COUNTER: i32 = 4;

/// A named number.
#[derive(Clone, PartialEq, prost::Message)]
pub struct DebugAnnotation {
    /// Name, interned.
    #[prost(uint64, optional, tag = "1")]
    pub name_iid: Option<u64>,
    /// Value.
    #[prost(uint64, optional, tag = "3")]
    pub uint_value: Option<u64>,
}

/// Names, each written once.
#[derive(Clone, PartialEq, prost::Message)]
pub struct InternedData {
    /// Names of events.
    #[prost(message, repeated, tag = "2")]
    pub event_names: Vec<InternedName>,
    /// Names of annotations.
    #[prost(message, repeated, tag = "3")]
    pub debug_annotation_names: Vec<InternedName>,
}

/// `EventName` and `DebugAnnotationName` of the schema, which look alike.
#[derive(Clone, PartialEq, prost::Message)]
pub struct InternedName {
    /// Its number, from 1.
    #[prost(uint64, optional, tag = "1")]
    pub iid: Option<u64>,
    /// The name.
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
}
