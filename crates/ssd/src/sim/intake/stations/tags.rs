//! Tags of commands and fences: whose they are.

/// Tags from here on are entries of the write buffer.
pub(in crate::sim::intake) const ENTRY_TAG: u32 = 1 << 31;
/// Tags from here on, below entries, are stations that become idle.
pub(super) const STATION_TAG: u32 = 1 << 30;
/// Tags from here on, below those, are pages that a station writes.
pub(super) const PAGE_TAG: u32 = 1 << 29;
/// Tags from here on, below those, are dies that make a step of the background.
pub(in crate::sim::intake) const TASK_TAG: u32 = 1 << 28;
/// A group that nobody waits for.
pub(super) const GROUP_TAG: u32 = TASK_TAG - 1;
/// A time at which a request passes the limit of its tenant.
pub(in crate::sim::intake) const LIMIT_TAG: u32 = GROUP_TAG - 1;
/// A step on the backlog of TRIMs is done, or one may begin.
pub(in crate::sim::intake) const TRIM_TAG: u32 = LIMIT_TAG - 1;
/// Tags from here on, below those, are times that the host interface asked for.
pub(in crate::sim::intake) const INTERFACE_TAG: u32 = 1 << 27;

/// Tags from here on, below those, are pages of which the version before is read first.
pub(in crate::sim::intake) const COMPLETING_TAG: u32 = 1 << 26;

/// Tags from here on, below those, are pages that are looked up before they are read.
pub(in crate::sim::intake) const LOOK_UP_TAG: u32 = 1 << 25;

/// Owner of a command or of a fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sim::intake) enum Tag {
    /// A request, by its slot.
    Request(u32),
    /// A page that a station writes.
    Page(u32),
    /// A station that is idle from now on.
    Station(u32),
    /// An entry of the write buffer.
    Entry(u32),
    /// A die that has made a step of the background.
    Task(u32),
    /// A group of commands that nobody waits for.
    Group,
    /// A request passes the limit of its tenant.
    Limit,
    /// A time that the host interface asked for.
    Interface(u32),
    /// A page of which the version before is read first.
    Completing(u32),
    /// A page that is looked up before it is read.
    LookUp(u32),
    /// The backlog of TRIMs.
    Trim,
}

impl Tag {
    #[inline]
    pub(in crate::sim::intake) fn of(tag: u32) -> Self {
        match tag {
            // First, because most are.
            ..LOOK_UP_TAG => Tag::Request(tag),
            ENTRY_TAG.. => Tag::Entry(tag - ENTRY_TAG),
            STATION_TAG.. => Tag::Station(tag - STATION_TAG),
            PAGE_TAG.. => Tag::Page(tag - PAGE_TAG),
            TASK_TAG.. => Tag::Task(tag - TASK_TAG),
            GROUP_TAG => Tag::Group,
            LIMIT_TAG => Tag::Limit,
            TRIM_TAG => Tag::Trim,
            INTERFACE_TAG.. => Tag::Interface(tag - INTERFACE_TAG),
            COMPLETING_TAG.. => Tag::Completing(tag - COMPLETING_TAG),
            LOOK_UP_TAG.. => Tag::LookUp(tag - LOOK_UP_TAG),
        }
    }
}
