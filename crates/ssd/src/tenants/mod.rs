//! Tenants and their channels.
//!
//! A tenant is a workload of the run (`Request.stream`). The *collector* cuts the requests of all tenants into *windows* and
//! says of each what was in it (its *features*); an *allocator* answers with an [`Allocation`]: groups of tenants' reads and
//! writes, and the channels of each. Only what is written from then on goes to these channels. What lies elsewhere is found
//! there until it is written again, and collection stays inside a unit, whosever pages are in it.
//!
//! The contract of an allocator is [`ChannelsConfig::allocate`]: a pure function of the features of a window, in well under
//! a millisecond. Exceptions: with `look-ahead` the run loop tries candidates on copies of the drive; `learned` needs a model.

mod allocation;
pub(crate) mod candidates;
mod collector;
mod external;
mod isolated;
mod learned;
mod look_ahead;
mod partially_isolated;
mod shared;
mod ssdkeeper;
#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) use allocation::Placing;
pub use allocation::{Allocation, Group, Placement, Turns};
pub(crate) use collector::Collector;
pub use collector::{Features, TenantFeatures};
pub(crate) use learned::inputs;
pub use learned::{INPUTS, Model};

use crate::quantity::Nanos;

/// Channels of the tenants' pages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "channels", rename_all = "kebab-case")]
pub enum ChannelsConfig {
    /// All channels for the pages of all tenants: no windows, no tenants.
    All(All),
    /// Half of the channels to reads, half to writes.
    Shared(shared::Config),
    /// All but `tenants.min_channels` to reads or to writes: to whichever the window had more of.
    PartiallyIsolated(partially_isolated::Config),
    /// An even share of the channels to each tenant.
    Isolated(isolated::Config),
    /// SSD-keeper: in proportion to reads and writes where there are few requests or one tenant has nearly all of them, to
    /// reads and writes of the heaviest tenants elsewhere.
    Ssdkeeper(ssdkeeper::Config),
    /// The best of all candidates, found by trying each on a copy of the drive with the requests that come next.
    LookAhead(look_ahead::Config),
    /// Best of these candidates as a model predicts it; the model learned from the results of `look-ahead`.
    Learned(learned::Config),
    /// Allocation by a function outside the engine.
    External(external::Config),
}

/// No settings of its own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct All {}

impl Default for ChannelsConfig {
    fn default() -> Self {
        ChannelsConfig::All(All {})
    }
}

/// To which window an allocation applies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Applies {
    /// The one after the window that it was worked out from: what a drive can do.
    #[default]
    Next,
    /// That window itself: its requests are held back until it is complete. Their times stay what they are.
    Same,
}

/// Channels of the tenants' pages, and the number of requests from which they are worked out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TenantsConfig {
    /// Channels of the tenants' pages.
    #[serde(flatten)]
    pub channels: ChannelsConfig,
    /// Requests after which a window ends.
    #[schemars(range(min = 1, max = 100_000_000))]
    pub window_requests: u32,
    /// Time from its first request after which a window ends, in an open loop.
    #[schemars(range(min = 1))]
    pub window_time: Nanos,
    /// Requests of a level: a window of n requests has level n / `level_requests`, rounded up.
    #[schemars(range(min = 1))]
    pub level_requests: u32,
    /// Fewest channels of a group, for `partially-isolated` and `ssdkeeper`.
    #[schemars(range(min = 1))]
    pub min_channels: u32,
    /// To which window an allocation applies.
    pub applies: Applies,
    /// Page that goes first among those that wait, when a channel becomes idle (`look-ahead`, `learned` and allocators
    /// outside choose themselves, the first two between `arrival` and `shortest`, or `shortest-fair` if that is set).
    pub turns: Turns,
    /// For `turns=shortest-fair`: by how much of what its pages would have waited in the order of arrival a tenant's may wait longer.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub max_late_share: f64,
}

/// Window and levels are those of SSD-keeper (request collector and feature collector).
impl Default for TenantsConfig {
    fn default() -> Self {
        Self {
            channels: ChannelsConfig::default(),
            window_requests: 10_000,
            window_time: Nanos(1_000_000_000_000),
            level_requests: 500,
            min_channels: 1,
            applies: Applies::default(),
            turns: Turns::default(),
            max_late_share: 0.05,
        }
    }
}

impl ChannelsConfig {
    /// The file and function of an allocator outside the engine, which may be empty; none with others.
    pub(crate) fn file(&self) -> Option<&str> {
        if let Self::External(own) = self { Some(&own.channels_file) } else { None }
    }
}

impl TenantsConfig {
    /// True if the slot is on.
    pub fn are_on(&self) -> bool {
        !matches!(self.channels, ChannelsConfig::All(_))
    }

    /// Order of tenants where allocators choose not to serve in the order of arrival.
    pub(crate) fn shortest(&self) -> Turns {
        if self.turns == Turns::ShortestFair { Turns::ShortestFair } else { Turns::Shortest }
    }

    /// `max_late_share`, in millionths.
    #[expect(clippy::cast_sign_loss, reason = "checked to be 0 to 1")]
    pub(crate) fn max_late_share_ppm(&self) -> u32 {
        (self.max_late_share * 1e6).round() as u32
    }

    /// True if `min_channels` has an effect.
    pub(crate) fn keeps_channels(&self) -> bool {
        matches!(self.channels, ChannelsConfig::PartiallyIsolated(_) | ChannelsConfig::Ssdkeeper(_))
    }

    /// True if an outside allocator decides.
    pub(crate) fn is_external(&self) -> bool {
        matches!(self.channels, ChannelsConfig::External(_))
    }

    /// Number of windows for which candidates are tried ahead, if they are.
    pub(crate) fn looks_ahead(&self) -> Option<usize> {
        match &self.channels {
            ChannelsConfig::LookAhead(own) => Some(own.depth as usize),
            _ => None,
        }
    }

    /// True if requests are held back until their window is complete.
    pub fn holds_back(&self) -> bool {
        self.applies == Applies::Same || self.looks_ahead().is_some()
    }

    /// Most tenants that so many channels are enough for; `None`: any number.
    pub(crate) fn max_tenants(&self, channels: u32) -> Option<u32> {
        matches!(self.channels, ChannelsConfig::Isolated(_)).then_some(channels)
    }

    /// Whose reads and writes go to which of `channels` channels, after a window with these features. Before the first one they
    /// say that there were no requests.
    pub(crate) fn allocate(&self, features: &Features, channels: u32) -> Allocation {
        let tenants = features.tenants.len();
        match &self.channels {
            // The run loop asks for these itself.
            ChannelsConfig::All(_)
            | ChannelsConfig::LookAhead(_)
            | ChannelsConfig::Learned(_)
            | ChannelsConfig::External(_) => Allocation::everything(tenants, channels),
            ChannelsConfig::Shared(_) => shared::allocate(tenants, channels),
            ChannelsConfig::Isolated(_) => isolated::allocate(tenants, channels),
            _ if features.requests == 0 => Allocation::everything(tenants, channels),
            ChannelsConfig::PartiallyIsolated(_) => {
                partially_isolated::allocate(features, channels, self.min_channels)
            }
            ChannelsConfig::Ssdkeeper(own) => ssdkeeper::allocate(own, features, channels, self.min_channels),
        }
    }
}
