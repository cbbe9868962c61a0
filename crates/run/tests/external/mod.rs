//! Policies outside the engine, as functions of this process: the same as their counterparts, checked, and asked by
//! forks too. The functions for `external` without a file are those of [`Own`].

use std::sync::Once;

use flashweir_run::external::{Loader, set_loader};
use flashweir_run::{Decide, RunSpec, WorkloadSpec, simulate};
use flashweir_ssd::Work;
use flashweir_ssd::external::{Ask, Buffered, Destage, Idle, Steps, Units, Victims, Wished, Writes};
use serde_json::{Value, json};

/// Functions by the name of their file.
struct Own;

/// Makes functions known that stand for every slot, for `external` without a file.
pub(crate) fn register() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| set_loader(Box::new(Own)));
}

fn oldest(view: &Victims) -> Option<u32> {
    let at = (0..view.blocks.len()).min_by_key(|at| (view.filled_at[*at], view.blocks[*at]))?;
    Some(view.blocks[at])
}

/// Neither the emptiest nor the oldest: the emptiest of the older half.
fn emptiest_of_older_half(view: &Victims) -> Option<u32> {
    let mut blocks: Vec<usize> = (0..view.blocks.len()).collect();
    blocks.sort_by_key(|at| (view.filled_at[*at], view.blocks[*at]));
    blocks.truncate(blocks.len().div_ceil(2));
    blocks.into_iter().min_by_key(|at| (view.valid[*at], view.blocks[*at])).map(|at| view.blocks[at])
}

fn units(of: &Units, wanted: impl Fn(usize) -> bool) -> Vec<u32> {
    (0..of.spare_blocks.len()).filter(|unit| wanted(*unit)).map(|unit| unit as u32).collect()
}

fn collect(unit: u32) -> Wished {
    Wished { unit, work: Work::Collect, should: false }
}

/// The same as the rule with after=300us and until=12, asked when one more unit is ready.
fn of_ready_units(view: &Idle) -> Steps {
    let is_ready = |unit: usize| {
        let is_idle = view.idle_since_ns[unit].is_some_and(|since_ns| since_ns + 300_000 <= view.now_ns);
        is_idle && (view.under_way[unit] || view.spare_blocks[unit] < 12)
    };
    Steps {
        steps: (0..view.spare_blocks.len())
            .filter(|unit| is_ready(*unit))
            .map(|unit| collect(unit as u32))
            .collect(),
        ask_spare_below: Some(12),
        ask_idle_ns: Some(300_000),
        ..Steps::default()
    }
}

/// An allocation of this share of the channels, from the first one on, to every tenant.
fn same_for_all(features: &str, share: u64) -> String {
    let features: Value = serde_json::from_str(features).expect("an object");
    let channels = features["channels"].as_u64().expect("a number").div_ceil(share);
    let own: Vec<u64> = (0..channels).collect();
    let tenants = features["tenants"].as_object().expect("by name");
    let shares: serde_json::Map<_, _> = tenants.keys().map(|name| (name.clone(), json!(own))).collect();
    Value::from(shares).to_string()
}

impl Loader for Own {
    fn victim(&self, file: &str) -> Result<Ask<Victims, Option<u32>>, String> {
        match file {
            "" => Ok(Box::new(|view| Ok(emptiest_of_older_half(view)))),
            "oldest" => Ok(Box::new(|view| Ok(oldest(view)))),
            "none" => Ok(Box::new(|_| Ok(None))),
            "wrong" => {
                Ok(Box::new(|view| Ok(Some(view.blocks.iter().max().map_or(0, |block| block + 1_000_000)))))
            }
            "fails" => Ok(Box::new(|_| Err("no idea".into()))),
            _ => Err(format!("{file}: expected a function")),
        }
    }

    fn planner(&self, file: &str) -> Result<Ask<Units, Vec<u32>>, String> {
        match file {
            // The unit with the fewest spare blocks collects ahead.
            "" => Ok(Box::new(|view| {
                let fewest = view.spare_blocks.iter().min().copied();
                Ok(units(view, |unit| view.under_way[unit] || Some(view.spare_blocks[unit]) == fewest))
            })),
            "forwarding" => Ok(Box::new(|view| {
                let begins = |unit| view.buffer_full && view.others_must && view.spare_blocks[unit] <= 20;
                Ok(units(view, |unit| view.dirty_pages[unit] == 0 && (view.under_way[unit] || begins(unit))))
            })),
            "filling" => Ok(Box::new(|view| Ok(units(view, |unit| view.spare_blocks[unit] <= 20)))),
            "wrong" => Ok(Box::new(|_| Ok(vec![99]))),
            _ => Err(format!("{file}: expected a function")),
        }
    }

    fn background(&self, file: &str) -> Result<Ask<Idle, Steps>, String> {
        match file {
            "never" => return Ok(Box::new(|_| Ok(Steps::default()))),
            "ready" => return Ok(Box::new(|view| Ok(of_ready_units(view)))),
            "always" => {
                let all = |view: &Idle| (0..view.spare_blocks.len() as u32).map(collect).collect();
                return Ok(Box::new(move |view| Ok(Steps { steps: all(view), ..Steps::default() })));
            }
            "always idle" => {
                return Ok(Box::new(|view| {
                    let idle = (0..).zip(&view.idle_since_ns).filter(|(_, since_ns)| since_ns.is_some());
                    let steps = idle.map(|(unit, _)| collect(unit)).collect();
                    Ok(Steps { steps, ..Steps::default() })
                }));
            }
            _ => {}
        }
        Ok(Box::new(|view| {
            let mut answer = Steps::default();
            for (unit, since_ns) in (0..).zip(&view.idle_since_ns) {
                let at = unit as usize;
                if let Some(since_ns) = since_ns
                    && (view.under_way[at] || view.spare_blocks[at] < 12)
                {
                    let due_ns = since_ns + 300_000;
                    if due_ns <= view.now_ns {
                        answer.steps.push(collect(unit));
                    } else {
                        let first = answer.ask_again_ns.unwrap_or(due_ns);
                        answer.ask_again_ns = Some(first.min(due_ns));
                    }
                }
            }
            Ok(answer)
        }))
    }

    fn destage(&self, file: &str) -> Result<Ask<Buffered, Destage>, String> {
        if file == "never" {
            return Ok(Box::new(|_| Ok(Destage::No)));
        }
        Ok(Box::new(|view| {
            let due_ns = view.idle_since_ns.map(|since_ns| since_ns + 50_000);
            Ok(match due_ns {
                None => Destage::No,
                Some(due_ns) if due_ns <= view.now_ns => Destage::Now,
                Some(due_ns) => Destage::NotBefore(due_ns),
            })
        }))
    }

    fn classifier(&self, file: &str) -> Result<Ask<Writes, Vec<u32>>, String> {
        match file {
            // Hot pages, a tenth of 1,024, live for about 110 writes: those up to 511 are in group 1.
            "" => Ok(Box::new(|view| Ok(view.lived.iter().map(|lived| u32::from(*lived < 512)).collect()))),
            "one" => Ok(Box::new(|view| Ok(vec![0; view.pages.len()]))),
            "handles" => {
                Ok(Box::new(|view| Ok(view.handles.iter().map(|handle| (*handle).into()).collect())))
            }
            "short" => Ok(Box::new(|_| Ok(vec![0]))),
            "wrong" => Ok(Box::new(|view| Ok(vec![view.groups; view.pages.len()]))),
            _ => Err(format!("{file}: expected a function")),
        }
    }

    fn channels(&self, file: &str) -> Result<Decide, String> {
        match file {
            // The first half of the channels for all tenants, or all of them.
            "" => Ok(Box::new(|features| Ok(same_for_all(features, 2)))),
            "everything" => Ok(Box::new(|features| Ok(same_for_all(features, 1)))),
            "wrong" => Ok(Box::new(|_| Ok("{}".into()))),
            "fails" => Ok(Box::new(|_| Err("no idea".into()))),
            _ => Err(format!("{file}: expected a function")),
        }
    }
}

const DRIVE: [(&str, &str); 5] = [
    ("capacity", "16MiB"),
    ("channels", "4"),
    ("op_ratio", "0.4"),
    ("precondition", "full"),
    ("pages_per_block", "32"),
];
const BUFFERED: [(&str, &str); 2] = [("buffer.bytes", "256KiB"), ("gc.spare_blocks", "20")];
const OPEN: [(&str, &str); 2] = [("buffer.bytes", "256KiB"), ("host.mode", "open")];

fn run(load: &str, settings: &[&[(&str, &str)]]) -> Result<Value, String> {
    register();
    let settings = [&DRIVE].into_iter().map(<[_; 5]>::as_slice).chain(settings.iter().copied()).flatten();
    let overrides = settings.map(|(key, value)| ((*key).to_owned(), json!(value))).collect();
    let workloads = vec![WorkloadSpec { spec: load.into(), ..WorkloadSpec::default() }];
    let run = RunSpec { workloads, overrides, verify: true, ..RunSpec::default() };
    simulate(&run, &mut |_| true).map_err(|error| error.to_string())
}

/// Parts of a result that say what the drive did.
fn behaviour(result: &Value) -> Value {
    json!([
        result["flash"],
        result["latency_us"],
        result["merges"],
        result["counters"],
        result["simulated_s"]
    ])
}

const WRITES: &str = "random:span=16MiB,size=4KiB,count=12000,write=1";
const RATED: &str = "random:span=16MiB,size=4KiB,count=12000,write=1,rate=2500";

#[test]
fn policies_outside_do_as_their_counterparts() {
    type Settings = &'static [(&'static str, &'static str)];
    let cases: [(&str, Settings, Settings, Settings); 7] = [
        (WRITES, &[], &[("gc.victim", "fifo")], &[("gc.victim", "external"), ("gc.victim_file", "oldest")]),
        (
            WRITES,
            &BUFFERED,
            &[("gc.planner", "forwarding")],
            &[("gc.planner", "external"), ("gc.planner_file", "forwarding")],
        ),
        (
            WRITES,
            &BUFFERED,
            &[("gc.planner", "cycle-filling")],
            &[("gc.planner", "external"), ("gc.planner_file", "filling"), ("gc.planner_together", "true")],
        ),
        (
            RATED,
            &OPEN,
            &[("background.collect.after", "300us"), ("background.collect.until", "12")],
            &[("background.kind", "external")],
        ),
        (
            RATED,
            &OPEN,
            &[("background.collect.after", "300us"), ("background.collect.until", "12")],
            &[("background.kind", "external"), ("background.file", "ready")],
        ),
        (
            RATED,
            &[("host.mode", "open"), ("channels", "2"), ("dies", "2"), ("planes", "2"), ("ftl.kind", "dftl")],
            &[("background.collect.after", "300us"), ("background.collect.until", "12")],
            &[("background.kind", "external"), ("background.file", "ready")],
        ),
        (
            RATED,
            &OPEN,
            &[("buffer.destage", "idle"), ("buffer.idle_after", "50us")],
            &[("buffer.destage", "external")],
        ),
    ];
    for (load, base, inside, outside) in cases {
        let [plain, inside, outside_result] = [&[] as &[_], inside, outside].map(|own| {
            behaviour(&run(load, &[base, own]).unwrap_or_else(|error| panic!("{own:?}: {error}")))
        });
        assert_eq!(outside_result, inside, "{outside:?}");
        assert_ne!(plain, inside, "{outside:?}: the counterpart acts");
    }
}

#[test]
fn a_step_that_is_not_urgent_waits_until_its_unit_is_idle() {
    let of = |file| {
        let background = [("background.kind", "external"), ("background.file", file)];
        behaviour(&run(RATED, &[&[("host.mode", "open")], &background]).expect("a run"))
    };
    assert_eq!(of("always"), of("always idle"));
}

#[test]
fn a_classifier_outside_divides_pages_alike_on_both_time_paths() {
    let skewed = "hotcold:span=16MiB,size=4KiB,count=20000,write=1,hot_share=0.1,hot_writes=0.9";
    let external = ("ftl.classifier", "external");
    let flash = |own: &[(&str, &str)]| {
        let result = run(skewed, &[&[("op_ratio", "0.5")], own]);
        result.unwrap_or_else(|error| panic!("{own:?}: {error}"))
    };
    let one_group = [external, ("ftl.classifier_file", "one"), ("ftl.groups", "1")];
    let plain = flash(&[("ftl.classifier", "host-and-collected")]);
    assert_eq!(behaviour(&flash(&one_group)), behaviour(&plain));
    let event = flash(&[external, ("ftl.groups", "2"), ("engine", "event")]);
    let busy = flash(&[external, ("ftl.groups", "2"), ("engine", "busy-until")]);
    assert_eq!(behaviour(&event), behaviour(&busy));
    assert_eq!(event["placement"], busy["placement"]);
    let excess = |result: &Value| result["write_amplification"].as_f64().expect("a number") - 1.0;
    assert!(excess(&event) < 0.95 * excess(&plain), "{event} {plain}");
}

#[test]
fn wrong_answers_end_the_run_with_a_line() {
    let error = |own: &[(&str, &str)]| run(WRITES, &[&BUFFERED, own]).expect_err("no result");
    let victim = |file| error(&[("gc.victim", "external"), ("gc.victim_file", file)]);
    assert!(victim("wrong").contains("expected one of the view's blocks, or None"), "{}", victim("wrong"));
    assert_eq!(victim("fails"), "gc.victim: no idea");
    assert!(victim("none").contains("expected one with stale pages"), "{}", victim("none"));
    assert_eq!(victim("nowhere"), "gc.victim=external: nowhere: expected a function");
    let classifier = |file| error(&[("ftl.classifier", "external"), ("ftl.classifier_file", file)]);
    assert_eq!(classifier("wrong"), "ftl.classifier: group 4: expected groups from 0 to 3");
    assert_eq!(classifier("short"), "ftl.classifier: 1 groups: expected one for each of 32 pages");
    let planner =
        error(&[("gc.planner", "external"), ("gc.planner_file", "wrong"), ("gc.planner_together", "true")]);
    assert_eq!(planner, "gc.planner: unit 99: expected units from 0 to 3");
}

/// Two tenants on a drive whose pages get a unit when they are written, with these settings.
fn run_tenants(settings: &[(&str, &str)]) -> Result<Value, String> {
    register();
    let dynamic = [("alloc.kind", "dynamic"), ("host.mode", "open"), ("tenants.window_requests", "500")];
    let own = settings.iter().any(|(key, _)| *key == "tenants.channels");
    let base = DRIVE.into_iter().chain(dynamic.into_iter().take(if own { 3 } else { 2 }));
    let overrides =
        base.chain(settings.iter().copied()).map(|(key, value)| (key.to_owned(), json!(value))).collect();
    let tenant = |name: &str, rest: &str| WorkloadSpec {
        spec: format!("random:span=8MiB,size=4KiB,count=4000,{rest}").into(),
        name: Some(name.into()),
        ..WorkloadSpec::default()
    };
    let workloads = vec![tenant("web", "write=0.4,rate=3000"), tenant("backup", "write=1,rate=2000")];
    let run = RunSpec { workloads, overrides, verify: true, ..RunSpec::default() };
    simulate(&run, &mut |_| true).map_err(|error| error.to_string())
}

#[test]
fn an_allocator_of_channels_is_a_function_of_a_file() {
    let on = ("tenants.channels", "external");
    let of = |settings: &[(&str, &str)]| run_tenants(settings).unwrap_or_else(|error| panic!("{error}"));
    let dynamic = of(&[]);
    let everything = of(&[on, ("tenants.channels_file", "everything")]);
    // All channels for everybody is dynamic allocation.
    assert_eq!(behaviour(&everything), behaviour(&dynamic));
    assert!(everything["allocation"]["wall_s"].is_number(), "{everything}");
    let half = of(&[on]);
    assert_ne!(behaviour(&half), behaviour(&dynamic));
    assert!(half["allocation"]["changes"].as_u64() >= Some(1), "{half}");
}

#[test]
fn an_allocator_that_can_t_be_asked_ends_the_run_with_a_line() {
    let error = |file| {
        run_tenants(&[("tenants.channels", "external"), ("tenants.channels_file", file)]).expect_err("no run")
    };
    assert_eq!(error("nowhere"), "tenants.channels=external: nowhere: expected a function");
    assert_eq!(error("fails"), "allocator, window 0: no idea");
    assert!(
        error("wrong").starts_with("allocator, window 0: no channels for tenant \"web\""),
        "{}",
        error("wrong")
    );
    let unused = run_tenants(&[("tenants.channels_file", "everything")]).expect("a run without it");
    assert_eq!(behaviour(&unused), behaviour(&run_tenants(&[]).expect("a run")));
}
