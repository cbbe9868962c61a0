//! Tracks of a timeline, and the usual set of a drive.

use super::proto::{self, CounterDescriptor};

/// A track of a [`super::TimelineWriter`]: its place in the list that the writer was created with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrackId(pub(super) usize);

/// Contents of a track.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrackKind {
    /// Things with a beginning and an end.
    Slices,
    /// A number that changes.
    Counter(Unit),
}

/// Unit of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Pages of the host: of flash, or mapping units.
    Pages,
    /// Blocks of flash.
    Blocks,
    /// Superblocks.
    Superblocks,
    /// Commands of dies.
    Commands,
    /// Bytes.
    Bytes,
}

impl Unit {
    /// As the file has it.
    pub(super) fn descriptor(self) -> CounterDescriptor {
        let (unit, name) = match self {
            Unit::Pages => (proto::UNIT_COUNT, "pages"),
            Unit::Blocks => (proto::UNIT_COUNT, "blocks"),
            Unit::Superblocks => (proto::UNIT_COUNT, "superblocks"),
            Unit::Commands => (proto::UNIT_COUNT, "commands"),
            Unit::Bytes => (proto::UNIT_SIZE_BYTES, "bytes"),
        };
        CounterDescriptor { unit: Some(unit), unit_name: Some(name.into()) }
    }
}

/// Description of a track.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Track {
    /// Shown beside it.
    pub name: String,
    /// The track under which it is shown, declared before it.
    pub parent: Option<TrackId>,
    /// Its contents.
    pub kind: TrackKind,
    /// True if it is declared only when something happens on it: no other track may stand under it.
    pub on_demand: bool,
}

/// The tracks of a drive: host, link, firmware, buffer, counters, and each channel's bus with its counters and dies
/// under it. Tracks of a die that only some drives need are declared when something happens on them.
#[derive(Clone, Debug)]
pub struct DriveTracks {
    /// Requests of the host.
    pub host: TrackId,
    /// Data on the host's link: to the drive, to the host. On demand.
    pub links: [TrackId; 2],
    /// Commands on the cores of the firmware, a lane each. On demand.
    pub cores: TrackId,
    /// When the write buffer is full and a write waits for room in it.
    pub buffer: TrackId,
    /// Counter: pages in the write buffer that are not on flash yet.
    pub dirty_pages: TrackId,
    /// Counter: erased blocks of the drive.
    pub free_blocks: TrackId,
    /// Counter: superblocks of which all blocks are erased. On demand.
    pub free_superblocks: TrackId,
    /// Counter: bytes that the host wrote to the SLC cache, in blocks that are not erased yet. On demand.
    pub slc_cache: TrackId,
    /// Tasks that several dies make together, a lane for each that is made at once. On demand.
    pub tasks: TrackId,
    /// The same of each channel, under its bus: pages that wait for the channel.
    pub dirty_pages_of: Vec<TrackId>,
    /// Erased blocks of each channel, under its bus.
    pub free_blocks_of: Vec<TrackId>,
    /// Transfers on each channel's bus.
    pub buses: Vec<TrackId>,
    /// Commands of each die, counted through channel by channel.
    pub dies: Vec<TrackId>,
    /// Tasks of each die. On demand.
    pub tasks_of: Vec<TrackId>,
    /// Of each die, commands that stood back for others, from their start to their end. On demand.
    pub paused: Vec<TrackId>,
    /// Of each die, waits of the host's commands and of those for the mapping. On demand.
    pub waiting: Vec<TrackId>,
    /// Counter: commands that wait for each die. On demand.
    pub queues: Vec<TrackId>,
    list: Vec<Track>,
}

impl DriveTracks {
    /// Tracks of a drive of `channels` with `dies_per_channel` dies each, over all chips of the channel.
    pub fn new(channels: u32, dies_per_channel: u32) -> Self {
        let mut list = Vec::new();
        let mut add = |name: String, parent, kind, on_demand| {
            list.push(Track { name, parent, kind, on_demand });
            TrackId(list.len() - 1)
        };
        let (slices, counter) = (TrackKind::Slices, TrackKind::Counter);
        let (pages, blocks) = (counter(Unit::Pages), counter(Unit::Blocks));
        let host = add("host".into(), None, slices, false);
        let links = ["link to drive", "link to host"].map(|name| add(name.into(), None, slices, true));
        let cores = add("firmware".into(), None, slices, true);
        let buffer = add("buffer".into(), None, slices, false);
        let dirty_pages = add("dirty pages".into(), None, pages, false);
        let free_blocks = add("free blocks".into(), None, blocks, false);
        let free_superblocks = add("free superblocks".into(), None, counter(Unit::Superblocks), true);
        let slc_cache = add("SLC cache".into(), None, counter(Unit::Bytes), true);
        let tasks = add("tasks".into(), None, slices, true);
        let (mut buses, mut dies) = (Vec::new(), Vec::new());
        let (mut dirty_pages_of, mut free_blocks_of) = (Vec::new(), Vec::new());
        let (mut paused, mut waiting, mut queues) = (Vec::new(), Vec::new(), Vec::new());
        let mut tasks_of = Vec::new();
        for channel in 0..channels {
            let bus = add(format!("channel {channel}"), None, slices, false);
            buses.push(bus);
            dirty_pages_of.push(add(format!("dirty pages {channel}"), Some(bus), pages, false));
            free_blocks_of.push(add(format!("free blocks {channel}"), Some(bus), blocks, false));
            for die in 0..dies_per_channel {
                dies.push(add(format!("die {channel}.{die}"), Some(bus), slices, false));
                tasks_of.push(add(format!("tasks {channel}.{die}"), Some(bus), slices, true));
                paused.push(add(format!("paused {channel}.{die}"), Some(bus), slices, true));
                waiting.push(add(format!("waiting {channel}.{die}"), Some(bus), slices, true));
                queues.push(add(format!("queue {channel}.{die}"), Some(bus), counter(Unit::Commands), true));
            }
        }
        Self {
            host,
            links,
            cores,
            buffer,
            dirty_pages,
            free_blocks,
            free_superblocks,
            slc_cache,
            tasks,
            dirty_pages_of,
            free_blocks_of,
            buses,
            dies,
            tasks_of,
            paused,
            waiting,
            queues,
            list,
        }
    }

    /// The descriptions, in the order that their [`TrackId`]s assume.
    pub fn list(&self) -> &[Track] {
        &self.list
    }
}
