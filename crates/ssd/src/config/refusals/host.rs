//! Refusals about the host: who goes next, and when.

use super::Refusal;
use crate::host::{Arbitration, HostMode};

pub(super) const HOST: [Refusal; 2] = [
    Refusal {
        keys: "host.slots",
        reason: "expected none, or 1 to 1000000 requests that the drive takes at once",
        applies: |config| config.host.slots().is_some_and(|slots| !(1..=1_000_000).contains(&slots)),
    },
    Refusal {
        keys: "host.arbitration=fair, host.mode=closed, tenants.channels",
        reason: "whose request comes next depends on what those before cost, but a window is held back until it is complete: \
                 use weighted or round-robin, or host.mode=open with host.slots",
        applies: |config| {
            let asks = matches!(config.host.mode, HostMode::Closed(_));
            asks && config.host.arbitration == Arbitration::Fair && config.tenants.holds_back()
        },
    },
];
