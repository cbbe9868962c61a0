//! Refusals about the host: who goes next, and when.

use flashweir_trace::SECTOR_BYTES;

use super::Refusal;
use crate::host::{Arbitration, HostMode};
use crate::nand::timing::LONGEST_NS;

pub(super) const HOST: [Refusal; 8] = [
    Refusal {
        keys: "host.slots",
        reason: "expected none, or 1 to 1000000 requests that the drive takes at once",
        applies: |config| config.host.slots().is_some_and(|slots| !(1..=1_000_000).contains(&slots)),
    },
    Refusal {
        keys: "host.max_transfer",
        reason: "expected 0 for no limit, or a multiple of 512 bytes",
        applies: |config| !config.host.max_transfer.0.is_multiple_of(SECTOR_BYTES),
    },
    Refusal {
        keys: "host.queues",
        reason: "expected none, or 1 to 65535 submission queues",
        applies: |config| config.host.queues.0.is_some_and(|queues| !(1..=65_535).contains(&queues)),
    },
    Refusal {
        keys: "host.queue_entries",
        reason: "expected none, or 1 to 65536 commands",
        applies: |config| config.host.queue_entries.0.is_some_and(|entries| !(1..=65_536).contains(&entries)),
    },
    Refusal {
        keys: "host.submit_time, host.complete_time, host.doorbell_wait, firmware.*_time",
        reason: "expected at most one hour",
        applies: |config| {
            let host = &config.host;
            let longest_ns = host.submit_time.max(host.complete_time).max(host.doorbell_wait).0;
            longest_ns.max(config.firmware.longest_ns()) > LONGEST_NS
        },
    },
    Refusal {
        keys: "firmware.hmb_bytes",
        reason: "expected 0 where the drive has memory for the whole map, or at least one segment of 4KiB",
        applies: |config| config.firmware.hmb_bytes.0 > 0 && !config.firmware.has_hmb(),
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
