//! `fork`: what if the drive had other settings? A fork gets the same requests, and both are compared.

use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use super::args::{Args, Fail};
use super::live::{at_drive, of_change, settings};
use crate::serve::Shared;
use crate::serve::what_if::WhatIf;

/// Between two looks whether enough requests have come.
const LOOK: Duration = Duration::from_millis(10);
/// Requests that are compared, and the longest wait for them.
const COUNT: u64 = 1000;
const WITHIN_NS: u64 = 60_000_000_000;

/// Forks the drive with other settings, waits for requests, and compares.
pub(super) fn run(shared: &Shared, values: &Map<String, Value>) -> Result<Value, Fail> {
    let own = ["count", "within"];
    let (own, others): (Map<_, _>, Map<_, _>) =
        values.clone().into_iter().partition(|(name, _)| own.contains(&name.as_str()));
    let args = Args::new("fork", &own, &["count", "within"])?;
    let count = args.count("count")?.unwrap_or(COUNT);
    let within = Duration::from_nanos(args.time("within")?.unwrap_or(WITHIN_NS));
    let (dilate, settings) = settings("fork", &others)?;
    if dilate.is_some() || settings.is_empty() {
        return Err(Fail::BadInput(
            "fork: expected keys that the fork has otherwise, such as gc.victim=fifo".into(),
        ));
    }
    let begun = at_drive(shared, |core| {
        if core.what_if.is_some() {
            return Err(Fail::Refused(
                "fork: another one is being compared; expected to wait for its end".into(),
            ));
        }
        let mut fork = core.drive.fork();
        fork.change(&settings).map_err(|error| of_change("fork", &error))?;
        let id = core.drive.submitted();
        core.what_if = Some(WhatIf::new(core.drive.fork(), fork, count));
        Ok(json!(id))
    })?;
    let until = Instant::now() + within;
    let mut found = loop {
        std::thread::sleep(LOOK);
        let late = Instant::now() >= until || shared.stop.is_asked();
        let found = at_drive(shared, |core| {
            let gone = || Fail::Refused("fork: the power of the drive was cut meanwhile".into());
            let what_if =
                core.what_if.as_ref().filter(|what_if| json!(what_if.id) == begun).ok_or_else(gone)?;
            if !late && !what_if.is_over() {
                return Ok(Value::Null);
            }
            let what_if = core.what_if.take().ok_or_else(gone)?;
            what_if.finish().map_err(|error| Fail::Refused(format!("fork: {error}")))
        })?;
        if !found.is_null() {
            break found;
        }
    };
    found["changed"] = json!(settings);
    Ok(found)
}
