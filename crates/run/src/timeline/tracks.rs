//! Tracks of a timeline, and the usual set of a drive.

/// A track of a [`super::TimelineWriter`]: its place in the list that the writer was created with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrackId(pub(super) usize);

/// Contents of a track.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrackKind {
    /// Things with a beginning and an end.
    Slices,
    /// A number that changes.
    Counter,
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
    /// The same of each channel, under its bus: pages that wait for the channel.
    pub dirty_pages_of: Vec<TrackId>,
    /// Erased blocks of each channel, under its bus.
    pub free_blocks_of: Vec<TrackId>,
    /// Transfers on each channel's bus.
    pub buses: Vec<TrackId>,
    /// Commands of each die, counted through channel by channel.
    pub dies: Vec<TrackId>,
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
        let host = add("host".into(), None, slices, false);
        let links = ["link to drive", "link to host"].map(|name| add(name.into(), None, slices, true));
        let cores = add("firmware".into(), None, slices, true);
        let buffer = add("buffer".into(), None, slices, false);
        let dirty_pages = add("dirty pages".into(), None, counter, false);
        let free_blocks = add("free blocks".into(), None, counter, false);
        let (mut buses, mut dies) = (Vec::new(), Vec::new());
        let (mut dirty_pages_of, mut free_blocks_of) = (Vec::new(), Vec::new());
        let (mut paused, mut waiting, mut queues) = (Vec::new(), Vec::new(), Vec::new());
        for channel in 0..channels {
            let bus = add(format!("channel {channel}"), None, slices, false);
            buses.push(bus);
            dirty_pages_of.push(add(format!("dirty pages {channel}"), Some(bus), counter, false));
            free_blocks_of.push(add(format!("free blocks {channel}"), Some(bus), counter, false));
            for die in 0..dies_per_channel {
                dies.push(add(format!("die {channel}.{die}"), Some(bus), slices, false));
                paused.push(add(format!("paused {channel}.{die}"), Some(bus), slices, true));
                waiting.push(add(format!("waiting {channel}.{die}"), Some(bus), slices, true));
                queues.push(add(format!("queue {channel}.{die}"), Some(bus), counter, true));
            }
        }
        Self {
            host,
            links,
            cores,
            buffer,
            dirty_pages,
            free_blocks,
            dirty_pages_of,
            free_blocks_of,
            buses,
            dies,
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
