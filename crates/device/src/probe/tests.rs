//! Simulated drives, of which it is known what they are made of, one that makes noise, and files.

use flashweir_trace::{LogRecord, Request};
use serde_json::Value;

use super::{ProbeSpec, Probed, ask_all, probe};
use crate::{Activity, Error, OpenOptions, Target, Timing, open};

fn probed_on(target: &mut dyn Target) -> Probed {
    ask_all(target, 1, &mut |_| true).expect("probed")
}

fn probed(name: &str) -> Probed {
    probed_on(open(name, &OpenOptions { write: true, ..OpenOptions::default() }).expect(name).as_mut())
}

fn answer<'a>(found: &'a Probed, key: &str) -> Option<&'a Value> {
    found.answers.iter().find(|answer| answer.key == key).map(|answer| &answer.value)
}

fn number(value: &Value) -> f64 {
    match value {
        Value::String(text) => text.trim_end_matches("ns").parse().expect("ns"),
        value => value.as_f64().expect("a number"),
    }
}

fn near(found: &Probed, expected: &[(&str, f64)], tolerance: f64) {
    for (key, expected) in expected {
        let value = number(answer(found, key).expect(key));
        let off = (value - expected).abs() / expected.max(1e-9);
        assert!(off <= tolerance, "{key}: {value}, not {expected}\n{}", found.device_file());
    }
}

#[test]
fn a_drive_with_two_dies_a_channel_is_found_out() {
    let found = probed("sim:mlc-2006,capacity=32MiB,channels=4,dies=2,op_ratio=0.25,buffer.bytes=256KiB");
    let expected = [
        ("capacity", 33_554_432.0),
        ("page", 4096.0),
        ("channels", 4.0),
        ("dies", 2.0),
        ("planes", 1.0),
        ("timing.read", 60_000.0),
        ("timing.program", 800_000.0),
        ("timing.bus", 25.0),
        ("timing.erase", 1_500_000.0),
        ("pages_per_block", 128.0),
        ("buffer.bytes", 262_144.0),
    ];
    near(&found, &expected, 0.001);
    near(&found, &[("op_ratio", 0.25)], 0.3);
}

#[test]
fn geometry_is_found_behind_firmware() {
    // Firmware of this preset: 21.5 us a read, 4.46 us a write. Its link is the host's.
    let found = probed(
        "sim:970-pro,capacity=32MiB,channels=4,dies=2,page=4KiB,pages_per_block=128,op_ratio=0.25,\
         timing.read=60us,timing.program=800us,timing.erase=1500us,timing.bus=25,buffer.bytes=256KiB",
    );
    let expected = [
        ("page", 4096.0),
        ("channels", 4.0),
        ("dies", 2.0),
        ("planes", 1.0),
        ("pages_per_block", 128.0),
        ("timing.read", 60_000.0),
        ("timing.program", 800_000.0),
        ("timing.bus", 25.0),
        ("timing.erase", 1_500_000.0),
        ("firmware.read_time", 21_500.0),
        ("firmware.write_time", 4460.0),
    ];
    near(&found, &expected, 0.02);
}

#[test]
fn planes_and_orders_are_found_out() {
    for order in ["CPDW", "WDPC"] {
        let found = probed(&format!(
            "sim:slc-2006,capacity=32MiB,channels=3,dies=2,planes=2,op_ratio=0.25,alloc.order={order}"
        ));
        near(&found, &[("channels", 3.0), ("dies", 2.0), ("planes", 2.0), ("pages_per_block", 64.0)], 0.0);
        // Of one chip, some orders place pages alike.
        let shown = answer(&found, "alloc.order").and_then(Value::as_str);
        assert_eq!(shown, Some(order), "{}", found.device_file());
        near(&found, &[("timing.program", 200_000.0), ("timing.erase", 1_500_000.0)], 0.001);
        assert_eq!(answer(&found, "buffer.bytes"), Some(&Value::from(0)));
    }
}

#[test]
fn pages_that_move_are_seen_and_a_used_drive_is_as_a_new_one() {
    let drive = "sim:slc-2006,capacity=24MiB,channels=2,dies=2,op_ratio=0.3,alloc.kind=dynamic";
    for state in ["empty", "steady"] {
        let found = probed(&format!("{drive},precondition={state}"));
        assert_eq!(answer(&found, "alloc.kind"), Some(&Value::from("dynamic")), "{}", found.device_file());
        near(&found, &[("channels", 2.0), ("dies", 2.0), ("pages_per_block", 64.0)], 0.0);
        near(&found, &[("op_ratio", 0.3)], 0.1);
    }
}

#[test]
fn kinds_of_pages_are_a_list() {
    let found =
        probed("sim:tlc,capacity=96MiB,channels=2,chips=1,dies=1,planes=1,page=4KiB,pages_per_block=64");
    let list = |key: &str| -> Vec<f64> {
        answer(&found, key).and_then(Value::as_array).expect(key).iter().map(number).collect()
    };
    // With the transfer, which nothing shows where a channel has one die.
    assert_eq!(list("timing.read"), [108_900.0, 129_900.0, 158_400.0]);
    assert_eq!(list("timing.program"), [872_900.0, 2_277_400.0, 5_786_400.0]);
}

/// A drive whose requests take longer by up to a twentieth, at random, and now and then by much.
struct Noisy(Box<dyn Target>, u64);

impl Target for Noisy {
    fn name(&self) -> String {
        self.0.name()
    }
    fn size_bytes(&self) -> u64 {
        self.0.size_bytes()
    }
    fn block_bytes(&self) -> u32 {
        self.0.block_bytes()
    }
    fn execute(
        &mut self,
        requests: &mut dyn Iterator<Item = Result<Request, Error>>,
        timing: Timing,
        sink: &mut dyn FnMut(LogRecord) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let dice = &mut self.1;
        self.0.execute(requests, timing, &mut |record| {
            *dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let took = record.completion_ns.unwrap_or(0) - record.issue_ns.unwrap_or(0);
            let longer = took * (*dice >> 40) / (20 << 24) + if *dice >> 55 == 0 { 300_000 } else { 0 };
            sink(LogRecord { completion_ns: record.completion_ns.map(|end| end + longer), ..record })
        })
    }
    fn pause(&mut self, time_ns: u64) -> Result<(), Error> {
        self.0.pause(time_ns)
    }
    fn now_ns(&self) -> u64 {
        self.0.now_ns()
    }
    fn activity(&self) -> Activity {
        self.0.activity()
    }
}

#[test]
fn noise_makes_answers_less_sure_but_not_wrong() {
    let name = "sim:mlc-2006,capacity=32MiB,channels=2,dies=2,op_ratio=0.25,buffer.bytes=256KiB";
    let quiet = open(name, &OpenOptions::default()).expect(name);
    let found = probed_on(&mut Noisy(quiet, 7));
    near(&found, &[("page", 4096.0), ("channels", 2.0), ("dies", 2.0), ("buffer.bytes", 262_144.0)], 0.0);
    let rough = [
        ("pages_per_block", 128.0),
        ("timing.read", 60_000.0),
        ("timing.program", 800_000.0),
        ("timing.erase", 1_500_000.0),
    ];
    near(&found, &rough, 0.1);
    let sure = |found: &Probed| found.answers.iter().map(|answer| answer.sure).sum::<f64>();
    assert!(sure(&found) < sure(&probed(name)));
}

#[test]
fn a_file_is_probed_without_a_panic_and_its_own_name_is_needed() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("disk.img");
    std::fs::File::create(&path).and_then(|file| file.set_len(2 << 20)).expect("made");
    let target = path.display().to_string();
    let ask = |erase: Option<&str>| {
        probe(&ProbeSpec { target: target.clone(), erase: erase.map(Into::into), seed: 0 }, &mut |_| true)
    };
    for erase in [None, Some("other.img")] {
        let error = ask(erase).expect_err("refused").to_string();
        assert!(error.contains(&format!("--erase {target}")), "{error}");
        assert!(std::fs::read(&path).expect("read").iter().all(|byte| *byte == 0), "not written");
    }
    match ask(Some(&target)) {
        Ok(found) => assert!(found["device_file"].as_str().is_some_and(|file| file.contains("page = "))),
        // Some file systems do not let the page cache be passed by.
        Err(error) => assert!(error.to_string().contains(&target), "{error}"),
    }
}

#[test]
fn what_is_too_small_or_not_there_is_refused() {
    let refused = |target: &str, erase: Option<&str>| {
        let spec = ProbeSpec { target: target.into(), erase: erase.map(Into::into), seed: 0 };
        probe(&spec, &mut |_| true).expect_err(target).to_string()
    };
    let error = refused("sim:slc-2006,capacity=1MiB,op_ratio=1", None);
    assert!(error.contains("expected at least 2097152"), "{error}");
    let error = refused("/nowhere/disk.img", Some("/nowhere/disk.img"));
    assert!(error.contains("no such device or file"), "{error}");
    assert!(refused("sim:nothing", None).contains("no such preset or file"));
}

#[test]
fn a_probe_ends_when_it_is_cancelled() {
    let mut target = open("sim:slc-2006,capacity=512MiB", &OpenOptions::default()).expect("opened");
    let error = ask_all(target.as_mut(), 1, &mut |_| false).expect_err("stopped");
    assert!(matches!(error, Error::Cancelled { .. }), "{error}");
    assert!(error.to_string().contains("there is no device file"), "{error}");
}

#[test]
fn a_drive_that_fails_in_the_middle_is_an_error() {
    struct Failing(Box<dyn Target>, u64);
    impl Target for Failing {
        fn name(&self) -> String {
            self.0.name()
        }
        fn size_bytes(&self) -> u64 {
            self.0.size_bytes()
        }
        fn block_bytes(&self) -> u32 {
            self.0.block_bytes()
        }
        fn execute(
            &mut self,
            requests: &mut dyn Iterator<Item = Result<Request, Error>>,
            timing: Timing,
            sink: &mut dyn FnMut(LogRecord) -> Result<(), Error>,
        ) -> Result<(), Error> {
            self.1 -= 1;
            if self.1 == 0 {
                return Err(Error::Failed { path: "drive".into(), detail: "it has gone".into() });
            }
            self.0.execute(requests, timing, sink)
        }
        fn pause(&mut self, time_ns: u64) -> Result<(), Error> {
            self.0.pause(time_ns)
        }
        fn now_ns(&self) -> u64 {
            self.0.now_ns()
        }
        fn activity(&self) -> Activity {
            self.0.activity()
        }
    }
    for after in [3, 100, 1500] {
        let target = open("sim:slc-2006,capacity=24MiB,channels=2", &OpenOptions::default()).expect("opened");
        let error = ask_all(&mut Failing(target, after), 1, &mut |_| true).expect_err("failed").to_string();
        assert_eq!(error, "drive: it has gone");
    }
}
