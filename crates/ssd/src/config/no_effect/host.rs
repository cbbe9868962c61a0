//! Settings of the host and its interface that change nothing.

use super::NoEffect;
use crate::config::Config;
use crate::host::{Arbitration, FirmwareConfig, HostConfig, HostMode, Weights};
use crate::per_tenant::PerTenant;

/// True if commands wait for a core, or for an entry of their queue.
fn has_queues(config: &Config) -> bool {
    config.firmware.takes_time() || config.host.queue_entries.0.is_some()
}

pub(super) const HOST: [NoEffect; 10] = [
    NoEffect {
        keys: "host.arbitration, host.mode=open, host.slots=none, host.queue_entries=none, firmware.*_time=0",
        reason: "the drive takes every request when it comes, so none waits for another one",
        applies: |config| {
            let never_waits = matches!(config.host.mode, HostMode::Open(_)) && config.host.slots().is_none();
            never_waits && !has_queues(config) && config.host.arbitration != Arbitration::Arrival
        },
        clear: |config| config.host.arbitration = Arbitration::Arrival,
    },
    NoEffect {
        keys: "host.arbitration_burst, host.arbitration",
        reason: "only round robin takes bursts",
        applies: |config| {
            config.host.arbitration != Arbitration::RoundRobin && config.host.arbitration_burst != 1
        },
        clear: |config| config.host.arbitration_burst = 1,
    },
    NoEffect {
        keys: "host.weights, host.arbitration",
        reason: "only weighted and fair arbitration weigh tenants",
        applies: |config| {
            let weighs = matches!(config.host.arbitration, Arbitration::Weighted | Arbitration::Fair);
            !weighs && !config.host.weights.are_equal()
        },
        clear: |config| config.host.weights = Weights::default(),
    },
    NoEffect {
        keys: "host.iops_burst, host.iops_limit=none",
        reason: "no tenant has a limit of requests",
        applies: |config| config.host.iops_limit.are_none() && !config.host.iops_burst.are_none(),
        clear: |config| config.host.iops_burst = PerTenant::default(),
    },
    NoEffect {
        keys: "host.bytes_burst, host.bytes_limit=none",
        reason: "no tenant has a limit of bytes",
        applies: |config| config.host.bytes_limit.are_none() && !config.host.bytes_burst.are_none(),
        clear: |config| config.host.bytes_burst = PerTenant::default(),
    },
    NoEffect {
        keys: "host.latency_window, host.latency_target=none",
        reason: "no tenant has a latency target",
        applies: |config| {
            let is_set = config.host.latency_window != HostConfig::default().latency_window;
            config.host.latency_target.are_none() && is_set
        },
        clear: |config| config.host.latency_window = HostConfig::default().latency_window,
    },
    NoEffect {
        keys: "host.queues, host.arbitration=arrival, host.queue_entries=none, host.doorbell=1",
        reason: "requests are taken in the order of their times, from whichever queue",
        applies: |config| {
            let host = &config.host;
            let tells_apart = host.arbitration != Arbitration::Arrival || host.doorbell > 1;
            host.queues.0.is_some_and(|queues| queues > 0) && !tells_apart && host.queue_entries.0.is_none()
        },
        clear: |config| config.host.queues = HostConfig::default().queues,
    },
    NoEffect {
        keys: "host.doorbell_wait, host.doorbell=1",
        reason: "the doorbell rings for each command at once",
        applies: |config| {
            config.host.doorbell == 1 && config.host.doorbell_wait != HostConfig::default().doorbell_wait
        },
        clear: |config| config.host.doorbell_wait = HostConfig::default().doorbell_wait,
    },
    NoEffect {
        keys: "firmware.cores, firmware.*_time=0",
        reason: "no command takes a core",
        applies: |config| !config.firmware.takes_time() && config.firmware.cores != 1,
        clear: |config| config.firmware.cores = FirmwareConfig::default().cores,
    },
    NoEffect {
        keys: "firmware.hmb_miss_time, firmware.hmb_bytes=0",
        reason: "the drive has memory for the whole map",
        applies: |config| !config.firmware.has_hmb() && config.firmware.hmb_miss_time.0 > 0,
        clear: |config| config.firmware.hmb_miss_time = FirmwareConfig::default().hmb_miss_time,
    },
];
