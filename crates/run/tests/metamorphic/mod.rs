//! Every key acts: changed, it changes the result, or the combination is refused with a reason that names it.

mod alone;
mod drives;
mod table;

use std::collections::BTreeMap;

use flashweir_run::{Error, RunSpec, WorkloadSpec, plan, simulate};
use flashweir_ssd::config::keys::find;
use serde_json::Value;

use crate::external;

/// A setting, as on the command line.
type Setting = (&'static str, &'static str);

/// Reads, writes, TRIMs and flushes of all sizes at all alignments, with times, of two tenants.
const MIXED: &str = "random:span=4MiB,size=512B|4KiB|12KiB|40KiB:0.4,align=512,count=800,write=0.6,trim=0.05,flush=0.02,rate=1500 + \
                     random:span=4MiB,size=512B|4KiB|12KiB:0.4,align=512,count=400,write=0.6,trim=0.05,rate=700,seed=2";

/// Two tenants of this kind: what allocators of channels tell apart.
const TENANTS: &str = "random:span=2MiB,size=4KiB|12KiB:0.4,count=1200,write=0.7,rate=2000 + \
                       random:span=2MiB,offset=2MiB,size=4KiB|40KiB:0.4|6KiB:0.05,count=1200,write=0.4,rate=2000";

/// A drive of the default shape, small and full, so that it collects.
const SMALL: [Setting; 4] =
    [("capacity", "4MiB"), ("op_ratio", "0.4"), ("pages_per_block", "8"), ("precondition", "full")];

/// Blocks that need no retry, some, soft decoding, and such that can't be read.
const AGED: [Setting; 5] = [
    ("ageing.kind", "power-law"),
    ("ageing.cycles", "2500"),
    ("ageing.retention", "300"),
    ("ageing.spread", "1.5"),
    ("ageing.gamma", "0.0001"),
];

/// The result of a run (of several workloads, with " + " between them) without what depends on the machine, repeats the input or is the drive's shape; and the engine.
fn result_and_engine(settings: &[Setting], workload: &str) -> Result<(Value, Value), Error> {
    external::register();
    let mut result = simulate(&run_of(settings, workload), &mut |_| true)?;
    let object = result.as_object_mut().expect("an object");
    for key in [
        "config",
        "no_effect",
        "version",
        "seed",
        "wall_s",
        "setup_wall_s",
        "precondition_wall_s",
        "geometry",
    ] {
        assert!(object.remove(key).is_some(), "a result holds {key}");
    }
    let engine = object.remove("engine").expect("a result names its engine");
    Ok((result, engine))
}

fn run_of(settings: &[Setting], workload: &str) -> RunSpec {
    RunSpec {
        workloads: workload
            .split(" + ")
            .map(|spec| WorkloadSpec { spec: spec.into(), ..WorkloadSpec::default() })
            .collect(),
        overrides: settings
            .iter()
            .map(|(key, value)| ((*key).into(), Value::String((*value).into())))
            .collect(),
        verify: true,
        ..RunSpec::default()
    }
}

/// The result alone.
fn result(settings: &[Setting], workload: &str) -> Result<Value, Error> {
    Ok(result_and_engine(settings, workload)?.0)
}

/// True if a setting is the one that the drive has anyway.
fn is_there(drive: &[Setting], setting: Setting) -> bool {
    match drive.iter().find(|(key, _)| *key == setting.0) {
        Some((_, value)) => *value == setting.1,
        None => find(setting.0).is_some_and(|key| key.default.as_str() == Some(setting.1)),
    }
}

/// True if the plan of the run lists the setting in `no_effect`.
fn is_noted(drive: &[Setting], setting: Setting) -> bool {
    lists(&plan(&run_of(drive, MIXED)).expect("a legal drive"), setting)
}

/// True if a plan lists the setting in `no_effect`.
fn lists(plan: &Value, (key, _): Setting) -> bool {
    let noted = plan["no_effect"].as_array().expect("a list").clone();
    noted.iter().any(|entry| {
        let keys = entry["keys"].as_str().expect("text").split([',', ' ', '=']);
        keys.map(|name| name.trim_end_matches('*')).any(|name| !name.is_empty() && key.starts_with(name))
    })
}

/// Settings over others: the last one of a key counts.
fn over(base: &[Setting], more: &[Setting]) -> Vec<Setting> {
    // Blocks and capacity leave no choice of a share, and a share of raw is one.
    let sets_share = more.iter().any(|(key, _)| matches!(*key, "op_raw" | "blocks_per_unit"));
    let base = base.iter().filter(|(key, _)| !(sets_share && *key == "op_ratio"));
    let all: BTreeMap<_, _> = base.chain(more).copied().collect();
    all.into_iter().collect()
}
