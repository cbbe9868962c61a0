//! Refusals about the host: who goes next, and when.

use super::Refusal;
use crate::host::{Arbitration, HostMode};

pub(super) const HOST: [Refusal; 2] = [
    Refusal {
        keys: "host.arbitration=fair, host.mode=closed, tenants.channels",
        reason: "whose request comes next depends on what those before cost, but a window is held back until it is complete: \
                 use weighted or round-robin, or host.mode=open with host.slots",
        applies: |config| {
            let asks = matches!(config.host.mode, HostMode::Closed(_));
            asks && config.host.arbitration == Arbitration::Fair && config.tenants.holds_back()
        },
    },
    Refusal {
        keys: "host.iops_limit, host.bytes_limit, host.mode=closed, host.arbitration, tenants.channels",
        reason: "whose request comes next depends on when limits let it pass, but a window is held back until it is complete: \
                 use host.arbitration=arrival or host.mode=open",
        applies: |config| {
            let asks = matches!(config.host.mode, HostMode::Closed(_));
            let arbitrates = config.host.arbitration != Arbitration::Arrival;
            asks && arbitrates && config.host.has_limits() && config.tenants.holds_back()
        },
    },
];
