//! The collectors of SSD-keeper: cuts the requests of all tenants into windows, and says what was in each.

use flashweir_trace::{Op, Request};
use serde::{Deserialize, Serialize};

use super::TenantsConfig;

/// Requests of one tenant in a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TenantFeatures {
    /// Its reads.
    pub reads: u64,
    /// Its writes.
    pub writes: u64,
    /// Sectors that it read.
    pub read_sectors: u64,
    /// Sectors that it wrote.
    pub write_sectors: u64,
}

impl TenantFeatures {
    /// Its reads and writes.
    pub fn requests(&self) -> u64 {
        self.reads + self.writes
    }

    /// Sectors of both.
    pub fn sectors(&self) -> u64 {
        self.read_sectors + self.write_sectors
    }
}

/// Content of a window. TRIMs and flushes are counted as requests only.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Features {
    /// Number of the window, from 0.
    pub window: u64,
    /// Arrival of its first request, ns (0 in a closed loop).
    pub start_ns: u64,
    /// Arrival of its last request, ns.
    pub end_ns: u64,
    /// Its requests.
    pub requests: u64,
    /// Its reads.
    pub reads: u64,
    /// Its writes.
    pub writes: u64,
    /// Its requests in steps of `tenants.level_requests`, rounded up.
    pub level: u64,
    /// Requests of each tenant, by stream.
    pub tenants: Vec<TenantFeatures>,
}

impl Features {
    /// Features of no requests of so many tenants: what is known before the first window.
    pub(crate) fn none(tenants: usize) -> Self {
        Self { tenants: vec![TenantFeatures::default(); tenants], ..Self::default() }
    }

    /// The tenant of at least this share of the reads and writes, if there is one.
    pub(crate) fn dominant(&self, share: f64) -> Option<usize> {
        let all = (self.reads + self.writes) as f64;
        self.tenants.iter().position(|tenant| all > 0.0 && tenant.requests() as f64 >= share * all)
    }
}

/// Counts the requests of the current window.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Collector {
    window_requests: u64,
    window_ns: u64,
    level_requests: u64,
    features: Features,
}

impl Collector {
    pub(crate) fn new(config: &TenantsConfig, tenants: usize) -> Self {
        Self {
            window_requests: config.window_requests.into(),
            window_ns: config.window_time.0,
            level_requests: config.level_requests.into(),
            features: Features::none(tenants),
        }
    }

    /// True if a window that has requests ends before one that arrives at `time_ns`.
    #[inline]
    pub(crate) fn ends_before(&self, time_ns: u64) -> bool {
        self.features.requests > 0 && time_ns.saturating_sub(self.features.start_ns) >= self.window_ns
    }

    /// True if the window has all the requests that it may have.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.features.requests >= self.window_requests
    }

    /// True if the window has no request yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.features.requests == 0
    }

    /// Counts a request that arrives at `time_ns`. Its stream must be that of a tenant.
    #[inline]
    pub(crate) fn add(&mut self, request: &Request, time_ns: u64) {
        let features = &mut self.features;
        if features.requests == 0 {
            features.start_ns = time_ns;
        }
        features.end_ns = features.end_ns.max(time_ns);
        features.requests += 1;
        let tenant = &mut features.tenants[usize::from(request.stream)];
        match request.op {
            Op::Read => {
                features.reads += 1;
                tenant.reads += 1;
                tenant.read_sectors += u64::from(request.sectors);
            }
            Op::Write | Op::Append => {
                features.writes += 1;
                tenant.writes += 1;
                tenant.write_sectors += u64::from(request.sectors);
            }
            _ => {}
        }
    }

    /// Ends the window: what was in it. The next one is empty.
    pub(crate) fn close(&mut self) -> Features {
        let next =
            Features { window: self.features.window + 1, ..Features::none(self.features.tenants.len()) };
        let mut features = std::mem::replace(&mut self.features, next);
        features.level = features.requests.div_ceil(self.level_requests);
        features
    }
}
