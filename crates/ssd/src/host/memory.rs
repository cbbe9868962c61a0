//! The drive's memory: data of write commands are put there after the link, one command at a time, in the order in which they
//! arrive. Data of reads go from the flash to the link without it, and the buffer's own reads at a destage take none of it.

use serde::{Deserialize, Serialize};

use super::firmware::FirmwareConfig;

/// The memory, busy until a time.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Memory {
    access_ns: u64,
    /// Bytes a second, if they take time.
    rate: Option<u64>,
    free_ns: u64,
}

impl Memory {
    /// The memory of a drive; `None` if it takes no time.
    pub(super) fn new(config: &FirmwareConfig) -> Option<Self> {
        let rate = (config.memory_rate.0 > 0).then_some(config.memory_rate.0);
        config.has_memory().then_some(Self { access_ns: config.memory_time.0, rate, free_ns: 0 })
    }

    /// Data of a command are there at `now_ns`, and go in after those before. Returns when they are in, ns, rounded up.
    pub(super) fn take(&mut self, now_ns: u64, bytes: u64) -> u64 {
        let data_ns =
            self.rate.map_or(0, |rate| (u128::from(bytes) * 1_000_000_000).div_ceil(u128::from(rate)) as u64);
        self.free_ns = now_ns.max(self.free_ns) + self.access_ns + data_ns;
        self.free_ns
    }
}
