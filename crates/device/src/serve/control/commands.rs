//! The commands, one after the other.

use std::path::Path;

use flashweir_run::Drive;
use serde_json::{Map, Value, json};

use super::args::{Args, Fail, shown};
use super::live::{at_drive, failed, of_change, settings};
use super::{fork, health, inject};
use crate::serve::Shared;
use crate::serve::clock::ClockMode;
use crate::serve::core::Core;
use crate::serve::cuts::{Report, Trigger};
use crate::serve::spec::MAX_DILATE;

/// Names of the commands.
const COMMANDS: [&str; 13] = [
    "status",
    "counters",
    "sample",
    "smart",
    "ocp",
    "set",
    "pause",
    "resume",
    "fork",
    "inject",
    "power-cut",
    "save",
    "stop",
];

/// Executes a command.
pub(super) fn run(shared: &Shared, command: &str, values: &Map<String, Value>) -> Result<Value, Fail> {
    let args = |known: &[&str]| Args::new(command, values, known);
    match command {
        "status" => args(&[]).and_then(|_| at_drive(shared, |core| Ok(status(shared, core)))),
        "counters" => args(&[]).and_then(|_| at_drive(shared, |core| Ok(counters(core)))),
        "sample" => args(&[]).and_then(|_| at_drive(shared, |core| Ok(sample(shared, core)))),
        "pause" => args(&[]).and_then(|_| at_drive(shared, |core| pause(core, true))),
        "resume" => args(&[]).and_then(|_| at_drive(shared, |core| pause(core, false))),
        "smart" => {
            let cycles = args(&["rated_cycles"])?.count("rated_cycles")?;
            at_drive(shared, |core| Ok(health::smart(core, cycles)))
        }
        "ocp" => args(&[]).and_then(|_| at_drive(shared, |core| Ok(health::ocp(core)))),
        "set" => at_drive(shared, |core| set(core, values)),
        "fork" => fork::run(shared, values),
        "inject" => inject::run(shared, values),
        "power-cut" => {
            let args = args(&["at", "after_flushes"])?;
            let trigger = match (args.time("at")?, args.count("after_flushes")?) {
                (None, None) => None,
                (Some(at_ns), None) => Some(Trigger::At(at_ns)),
                (None, Some(count)) => Some(Trigger::AfterFlushes(count)),
                (Some(_), Some(_)) => {
                    return Err(Fail::BadInput(
                        "power-cut: at and after_flushes: expected one of them".into(),
                    ));
                }
            };
            at_drive(shared, |core| power_cut(core, trigger))
        }
        "save" => {
            let args = args(&["path", "force"])?;
            let path = args.text("path", "the path of a file that the drive's state is written to")?;
            let force = args.flag("force")?;
            at_drive(shared, |core| save(core, path.map(Path::new), force))
        }
        "stop" => args(&[]).map(|_| json!({})),
        _ => {
            let expected = format!("expected one of {}", COMMANDS.join(", "));
            Err(Fail::BadInput(format!("{}: unknown command; {expected}", shown(command))))
        }
    }
}

fn status(shared: &Shared, core: &Core) -> Value {
    let (mode, dilate) = (core.clock.mode(), core.clock.dilate());
    let (verdict, valid) = core.lateness.verdict(mode, dilate);
    let now_ns = core.drive.now_ns();
    let exports: Vec<Value> = shared
        .exports
        .iter()
        .map(|export| json!({"name": export.name, "size_bytes": export.bytes()}))
        .collect();
    let cuts = core.cuts.as_ref();
    let armed = cuts.and_then(|cuts| cuts.trigger).map(|trigger| match trigger {
        Trigger::At(at_ns) => json!({"at_s": at_ns as f64 / 1e9}),
        Trigger::AfterFlushes(left) => json!({"after_flushes": left}),
    });
    json!({
        "verdict": verdict,
        "valid": valid,
        "clock": mode,
        "dilate": dilate,
        "paused": core.clock.is_paused(),
        "simulated_s": now_ns as f64 / 1e9,
        "connections": shared.open().len(),
        "outstanding": core.outstanding(),
        "requests": core.tally.requests.iter().sum::<u64>(),
        "exports": exports,
        "faults": inject::list(core),
        "power_cuts": cuts.map_or_else(Vec::new, |cuts| cuts.reports.iter().map(Report::json).collect()),
        "power_cut_armed": armed,
        "lateness": core.lateness.report(),
    })
}

/// A sample of the drive, and of those that it is served to.
fn sample(shared: &Shared, core: &mut Core) -> Value {
    let (verdict, valid) = core.lateness.verdict(core.clock.mode(), core.clock.dilate());
    let mut found = core.drive.sample();
    found["served"] = json!({
        "verdict": verdict,
        "valid": valid,
        "clock": core.clock.mode(),
        "dilate": core.clock.dilate(),
        "paused": core.clock.is_paused(),
        "connections": shared.open().len(),
        "outstanding": core.outstanding(),
        "power_cuts": core.tally.power_cuts,
        "can_cut_power": core.cuts.is_some(),
        "is_compared": core.what_if.is_some(),
    });
    found
}

/// Stops time, or lets it go on: requests that come meanwhile wait.
fn pause(core: &mut Core, paused: bool) -> Result<Value, Fail> {
    if core.clock.is_paused() != paused {
        let now_ns = core.drive.now_ns();
        core.clock.set_paused(paused, now_ns);
        // Brings the drive to the time at which the clock stopped.
        if let Err(error) = core.step(&mut Vec::new()) {
            return Err(failed(core, error));
        }
    }
    Ok(json!({"paused": paused, "simulated_s": core.drive.now_ns() as f64 / 1e9}))
}

/// The part of the result so far that counts.
fn counters(core: &Core) -> Value {
    let mut result = core.drive.result();
    let mut found = Map::new();
    for key in
        ["requests", "simulated_s", "iops", "latency_us", "write_amplification", "flash", "counters", "wear"]
    {
        found.insert(key.into(), result[key].take());
    }
    found.into()
}

fn set(core: &mut Core, values: &Map<String, Value>) -> Result<Value, Fail> {
    if values.is_empty() {
        return Err(Fail::BadInput("set: expected KEY=VALUE, such as gc.victim=fifo or dilate=10".into()));
    }
    let (dilate, settings) = settings("set", values)?;
    if core.what_if.is_some() && !settings.is_empty() {
        return Err(Fail::Refused("set: a fork is being compared; expected to wait for its end".into()));
    }
    if let Some(dilate) = dilate {
        if core.clock.mode() == ClockMode::Virtual {
            return Err(Fail::Refused(
                "set: dilate: virtual time answers at once; expected --clock paced with it".into(),
            ));
        }
        if !(1.0..=MAX_DILATE).contains(&dilate) {
            return Err(Fail::BadInput(format!(
                "set: dilate: {dilate}; expected a factor from 1 to 1000000"
            )));
        }
    }
    if !settings.is_empty() {
        core.drive.change(&settings).map_err(|error| of_change("set", &error))?;
    }
    if let Some(dilate) = dilate {
        core.clock.set_dilate(dilate);
    }
    match core.save_state() {
        Ok(_) => Ok(json!({"set": values})),
        Err(error) => Err(failed(core, error)),
    }
}

fn power_cut(core: &mut Core, trigger: Option<Trigger>) -> Result<Value, Fail> {
    let now_ns = core.drive.now_ns();
    let Some(cuts) = &mut core.cuts else {
        return Err(Fail::Refused(
            "power-cut: what flash holds is not followed; expected a drive that is served with --power-cuts"
                .into(),
        ));
    };
    let Some(trigger) = trigger else {
        return match core.cut_power() {
            Ok(Some(report)) => Ok(report.json()),
            Ok(None) => Err(Fail::Refused("power-cut: what flash holds is not followed".into())),
            Err(error) => Err(failed(core, error)),
        };
    };
    if matches!(trigger, Trigger::At(at_ns) if at_ns < now_ns) {
        let present = now_ns as f64 / 1e9;
        return Err(Fail::Refused(format!(
            "power-cut: at: the present is {present} s; expected a later time of the drive"
        )));
    }
    cuts.trigger = Some(trigger);
    Ok(json!({"armed": true}))
}

/// Saves the drive to its folder, or to a file. A file that is there is replaced if it is a saved drive and `force` is given.
fn save(core: &mut Core, path: Option<&Path>, force: bool) -> Result<Value, Fail> {
    let simulated_s = core.drive.now_ns() as f64 / 1e9;
    if let Some(path) = path {
        let is_saved = Drive::is_saved(path);
        if path.symlink_metadata().is_ok() && !(is_saved && force) {
            let why = if is_saved {
                "is a saved drive; expected another path, or force=true"
            } else {
                "is there already, and is no saved drive of flashweir; expected another path"
            };
            return Err(Fail::Refused(format!("save: {} {why}", path.display())));
        }
        core.drive.save(path).map_err(|error| Fail::Refused(format!("save: {error}")))?;
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        return Ok(json!({"path": path, "simulated_s": simulated_s}));
    }
    match core.save_state() {
        Ok(true) => Ok(json!({"simulated_s": simulated_s})),
        Ok(false) => Err(Fail::BadInput(
            "save: path: missing; expected it for a drive that is served without --state".into(),
        )),
        Err(error) => Err(failed(core, error)),
    }
}
