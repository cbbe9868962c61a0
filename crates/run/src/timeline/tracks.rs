//! Which tracks a timeline has, and the usual set of a drive.

/// A track of a [`super::TimelineWriter`]: its place in the list that the writer was created with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrackId(pub(super) usize);

/// What a track shows.
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
    /// What it shows.
    pub kind: TrackKind,
}

/// The tracks of a drive: host, buffer, counters, and each channel's bus with its counters and dies under it.
#[derive(Clone, Debug)]
pub struct DriveTracks {
    /// Requests of the host.
    pub host: TrackId,
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
    list: Vec<Track>,
}

impl DriveTracks {
    /// Tracks of a drive of `channels` with `dies_per_channel` dies each, over all chips of the channel.
    pub fn new(channels: u32, dies_per_channel: u32) -> Self {
        let mut list = Vec::new();
        let mut add = |name: String, parent, kind| {
            list.push(Track { name, parent, kind });
            TrackId(list.len() - 1)
        };
        let host = add("host".into(), None, TrackKind::Slices);
        let buffer = add("buffer".into(), None, TrackKind::Slices);
        let dirty_pages = add("dirty pages".into(), None, TrackKind::Counter);
        let free_blocks = add("free blocks".into(), None, TrackKind::Counter);
        let (mut buses, mut dies) = (Vec::new(), Vec::new());
        let (mut dirty_pages_of, mut free_blocks_of) = (Vec::new(), Vec::new());
        for channel in 0..channels {
            let bus = add(format!("channel {channel}"), None, TrackKind::Slices);
            buses.push(bus);
            dirty_pages_of.push(add(format!("dirty pages {channel}"), Some(bus), TrackKind::Counter));
            free_blocks_of.push(add(format!("free blocks {channel}"), Some(bus), TrackKind::Counter));
            for die in 0..dies_per_channel {
                dies.push(add(format!("die {channel}.{die}"), Some(bus), TrackKind::Slices));
            }
        }
        Self { host, buffer, dirty_pages, free_blocks, dirty_pages_of, free_blocks_of, buses, dies, list }
    }

    /// The descriptions, in the order that their [`TrackId`]s assume.
    pub fn list(&self) -> &[Track] {
        &self.list
    }
}
