//! Keys that change while the drive runs.

use std::collections::BTreeMap;

use flashweir_ssd::Config;
use flashweir_ssd::config::keys;
use flashweir_ssd::config::layers::{Layer, resolve_noting, to_value};
use serde_json::Value;

use super::Drive;
use crate::error::Error;

impl Drive {
    /// Changes keys from now on. All of them change, or none: those of [`keys::LIVE`] may.
    pub fn change(&mut self, settings: &BTreeMap<String, Value>) -> Result<(), Error> {
        self.check_goes_on()?;
        let config = self.changed(settings)?;
        self.simulation.change(&config);
        self.config = config;
        Ok(())
    }

    /// The configuration with other values of some keys, if they may change now.
    fn changed(&self, settings: &BTreeMap<String, Value>) -> Result<Config, Error> {
        for (key, value) in settings {
            if keys::find(key).is_some() && !keys::is_live(key) {
                let live = keys::LIVE
                    .map(|live| live.strip_suffix('.').map_or(live.into(), |all| format!("{all}.*")));
                let expected = format!("the drive is built by it; expected one of {}", live.join(", "));
                return Err(Error::setting(format!("`{key}` = {value}"), &expected));
            }
        }
        let was = Layer::from_table("the drive", &to_value(&self.config))?;
        let layer = Layer { origin: "set".into(), settings: settings.clone() };
        let (config, ineffective) = resolve_noting(&[was, layer])?;
        if let Some(none) = ineffective.first() {
            return Err(Error::setting(
                none.keys.clone(),
                format!("it would have no effect: {}", none.reason),
            ));
        }
        if config.external() != self.config.external() {
            let expected =
                "functions outside the engine are given when the drive is made; expected another policy";
            return Err(Error::setting("external", expected));
        }
        let ahead = self.config.works_ahead();
        if config.works_ahead() != ahead {
            let expected = if ahead {
                "the last work in the background can't be turned off; expected one of its keys set"
            } else {
                "the drive was made without work in the background; expected a drive with one of its keys set"
            };
            return Err(Error::setting("background", expected));
        }
        Ok(config)
    }
}

#[cfg(test)]
mod tests {
    use flashweir_trace::{Op, Request};
    use serde_json::json;

    use super::*;
    use crate::DriveSpec;

    fn drive(settings: &[(&str, &str)]) -> Drive {
        let small =
            [("channels", "2"), ("capacity", "2MiB"), ("pages_per_block", "8"), ("precondition", "full")];
        let all = small.iter().chain(settings).map(|(key, value)| ((*key).into(), (*value).into()));
        let spec = DriveSpec { overrides: all.collect(), ..DriveSpec::default() };
        Drive::open(&spec, None, &mut |_| true).expect("a drive")
    }

    /// Overwrites at random; returns flash programs so far.
    fn overwrite(drive: &mut Drive, seed: u64) -> u64 {
        let mut seed = seed;
        for _ in 0..2000 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1442);
            // Most of the traffic goes to a few pages.
            let page = if seed >> 61 == 0 { (seed >> 33) % 512 } else { (seed >> 33) % 64 };
            let request = Request {
                time_ns: drive.now_ns(),
                lba: page * 8,
                sectors: 8,
                stream: 0,
                op: Op::Write,
                handle: 0,
            };
            drive.submit(&[request]).expect("taken");
            drive.advance_to_completion(u64::MAX).expect("complete");
            while drive.next_completion().is_some() {}
        }
        drive.counters().flash().programs
    }

    fn set(drive: &mut Drive, pairs: &[(&str, Value)]) -> Result<(), String> {
        let settings = pairs.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
        drive.change(&settings).map_err(|error| error.to_string())
    }

    #[test]
    fn a_changed_policy_acts_from_then_on_and_the_same_value_changes_nothing() {
        let mut drive = drive(&[]);
        overwrite(&mut drive, 1);
        let (mut same, mut other, mut back) = (drive.fork(), drive.fork(), drive.fork());
        set(&mut same, &[("gc.victim", json!("greedy"))]).expect("a live key");
        set(&mut other, &[("gc.victim", json!("random"))]).expect("a live key");
        set(&mut back, &[("gc.victim", json!("fifo"))]).expect("a live key");
        set(&mut back, &[("gc.victim", json!("greedy"))]).expect("a live key");
        let programs = overwrite(&mut drive, 7);
        assert_eq!(overwrite(&mut same, 7), programs);
        assert!(overwrite(&mut other, 7) > programs, "random victims have more valid pages");
        // Of equals another one may come first.
        let ratio = overwrite(&mut back, 7) as f64 / programs as f64;
        assert!((0.97..1.03).contains(&ratio), "{ratio}");
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("changed.drive");
        other.save(&path).expect("saved");
        let mut loaded = Drive::load(&path, None).expect("loaded");
        assert_eq!(overwrite(&mut loaded, 9), overwrite(&mut other, 9));
    }

    #[test]
    fn victims_by_group_act_from_then_on_and_can_be_left_again() {
        let groups = [("ftl.classifier", "frequency"), ("ftl.groups", "2"), ("op_ratio", "1")];
        let mut drive = drive(&groups);
        overwrite(&mut drive, 1);
        let (mut same, mut shares, mut back) = (drive.fork(), drive.fork(), drive.fork());
        set(&mut same, &[("gc.victims_of", json!("all"))]).expect("a live key");
        set(&mut shares, &[("gc.victims_of", json!("group")), ("gc.shares", json!("1,50"))])
            .expect("live keys");
        set(&mut back, &[("gc.victims_of", json!("group"))]).expect("a live key");
        set(&mut back, &[("gc.victims_of", json!("all"))]).expect("a live key");
        let programs = overwrite(&mut drive, 7);
        assert_eq!((overwrite(&mut same, 7), overwrite(&mut back, 7)), (programs, programs));
        let by_shares = overwrite(&mut shares, 7);
        assert_ne!(by_shares, programs);
        let refused =
            set(&mut drive, &[("gc.shares", json!("best"))]).expect_err("it needs victims by group");
        assert!(refused.contains("it would have no effect"), "{refused}");
    }

    #[test]
    fn other_keys_are_refused_by_name() {
        let mut drive = drive(&[]);
        for (pairs, expected) in [
            (
                &[("channels", json!(4))][..],
                "`channels` = 4: the drive is built by it; expected one of gc.victim",
            ),
            (&[("gc.victims", json!("fifo"))], "gc.victims"),
            (&[("gc.choices", json!(4))], "gc.choices"),
            (&[("gc.victim", json!("best"))], "expected one of `greedy`"),
            (&[("gc.victim", json!("external"))], "external"),
            (&[("background.collect.when_free", json!(3))], "background"),
        ] {
            let error = set(&mut drive, pairs).expect_err(expected);
            assert!(error.contains(expected), "{error}");
        }
    }
}
