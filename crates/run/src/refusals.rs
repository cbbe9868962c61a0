//! Refusals of a run: its settings with those of its drive or of its workload. The rules of a drive are those of
//! `flashweir_ssd::config::refusals`; together they are all that there are.

use flashweir_ssd::Refusal;
use flashweir_ssd::config::refusals;

use crate::error::Error;

pub(crate) const IN_PLACE: Refusal = Refusal::new(
    "power_cut, ftl.kind=direct",
    "pages are overwritten in place, and there is no map to rebuild: use ftl.kind=page",
);

pub(crate) const HELD_BACK: Refusal = Refusal::new(
    "save_state or a drive that is stepped, tenants.applies=same or tenants.channels=look-ahead",
    "requests are held back until their window is complete, and then enter at their own times: a drive whose caller has moved \
     its clock on is past them",
);

pub(crate) const CLOSED: Refusal = Refusal::new(
    "times of a workload (duration, time_scale, start), host.mode=closed",
    "a closed loop takes requests as fast as it can: use host.mode=open",
);

pub(crate) const GENERATED: Refusal = Refusal::new(
    "format, columns, skip_bad, hint, align=clock, times of a workload, a generator",
    "a generator has no format and no date, handles of its own, and times only with rate=... or period=...",
);

pub(crate) const NOTHING_LEFT: Refusal = Refusal::new(
    "warmup=requests=N, requests of the workload",
    "a warm-up leaves something of the run: expected fewer than its requests",
);

pub(crate) const BEYOND_DRIVE: Refusal = Refusal::new(
    "volume, offset, span of a generator, capacity, page",
    "a volume has at least a page and lies on the drive: use a larger capacity, or fold addresses with --wrap",
);

pub(crate) const STEPPED: Refusal = Refusal::new(
    "a drive that is stepped, host.mode=closed, host.queue_depth, host.time_scale",
    "its caller is its host: submit requests when the host would",
);

pub(crate) const NOT_ASKED: Refusal = Refusal::new(
    "allocator, model, tenants.channels, tenants.channels_file",
    "only tenants.channels=external asks a function, one of them, and only learned a model",
);

const OF_RUNS: [&Refusal; 8] =
    [&IN_PLACE, &HELD_BACK, &CLOSED, &GENERATED, &NOTHING_LEFT, &BEYOND_DRIVE, &STEPPED, &NOT_ASKED];

/// All rules by which combinations are refused.
pub(crate) fn all() -> impl Iterator<Item = &'static Refusal> {
    refusals::all().chain(OF_RUNS)
}

/// The refusal of a run by a rule, with its values.
pub(crate) fn refused(rule: &Refusal, what: impl Into<String>, expected: impl Into<String>) -> Error {
    debug_assert!(OF_RUNS.contains(&rule), "a rule of the table");
    Error::Setting { what: what.into(), expected: expected.into() }
}
