//! Times of the host interface: the link and the firmware's cores.

use serde::{Deserialize, Serialize};

/// Counts and times of the host interface.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InterfaceUse {
    /// Commands submitted: requests cut at the largest transfer.
    pub commands: u64,
    /// Doorbells that the host rang.
    pub doorbells: u64,
    /// Bytes over the link: to the drive, to the host. Entries of the map included.
    pub link_bytes: [u64; 2],
    /// Time that these take the link, ns.
    pub link_ns: [u64; 2],
    /// Time that each core of the firmware works, ns; none if commands take no core.
    pub core_ns: Vec<u64>,
    /// Segments of the map looked up, where it lies in the host's memory.
    pub map_lookups: u64,
    /// Of these, brought from there.
    pub map_misses: u64,
}

impl InterfaceUse {
    /// Nothing so far, of so many cores.
    pub(crate) fn new(cores: usize) -> Self {
        Self { core_ns: vec![0; cores], ..Self::default() }
    }

    /// Difference from `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let each = |now: [u64; 2], then: [u64; 2]| std::array::from_fn(|way| now[way] - then[way]);
        Self {
            commands: self.commands - earlier.commands,
            doorbells: self.doorbells - earlier.doorbells,
            link_bytes: each(self.link_bytes, earlier.link_bytes),
            link_ns: each(self.link_ns, earlier.link_ns),
            core_ns: self.core_ns.iter().zip(&earlier.core_ns).map(|(now, then)| now - then).collect(),
            map_lookups: self.map_lookups - earlier.map_lookups,
            map_misses: self.map_misses - earlier.map_misses,
        }
    }
}
