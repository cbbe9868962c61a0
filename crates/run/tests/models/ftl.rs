//! Interface of a translation layer for the asynchronous model.

/// Time that a page write takes beside the write itself, nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spent {
    /// Merges that the write forces.
    pub(crate) gc: u64,
    /// Translation pages read and written.
    pub(crate) mapping: u64,
}

/// A translation layer of one unit, as channel management sees it.
pub(crate) trait Ftl {
    /// True if the page can be written without a collection.
    fn has_room(&self, page: u32) -> bool;
    /// Writes a page. There must be room.
    fn write(&mut self, page: u32) -> Spent;
    /// Free blocks (free log blocks).
    fn spare(&self) -> usize;
    /// A collection starts or is resumed: the victim is chosen.
    fn begin(&mut self);
    /// The next merge (page copy) that the victim needs, and its time; none if the victim can be erased.
    fn collect_step(&mut self) -> Option<u64>;
    /// The same, but goes on to the second-best victim if the best needs nothing more.
    fn fill_step(&mut self) -> Option<u64>;
    /// True if there is a block to collect.
    fn has_victim(&self) -> bool;
    /// True if the victim can be erased.
    fn can_erase(&self) -> bool;
    /// Erases the victim.
    fn erase(&mut self);
}
