//! No run hangs: not after preconditioning, not at odd sizes, not with the least spare there can be.

use super::{refusal, run, run_with};

/// The least op_ratio that the drive accepts, as its refusal says.
fn least_op_ratio(settings: &[(&str, &str)]) -> Option<String> {
    let settings: Vec<_> = settings.iter().copied().chain([("op_ratio", "0")]).collect();
    let error = run(&settings, "random:count=1,span=4KiB").err()?.to_string();
    let ratio = error.split("use op_ratio of at least ").nth(1).unwrap_or_else(|| panic!("{error}"));
    Some(ratio.to_owned())
}

#[test]
fn with_every_victim_at_every_block_size_and_the_least_spare() {
    for victim in ["greedy", "fifo", "random", "d-choices", "cost-benefit"] {
        for frontiers in ["1", "2"] {
            for free_blocks in ["1", "3"] {
                for pages_per_block in ["1", "3", "7", "100"] {
                    let settings = [
                        ("channels", "2"),
                        ("page", "512"),
                        ("capacity", "210KiB"),
                        ("precondition", "full"),
                        ("gc.victim", victim),
                        ("gc.frontiers", frontiers),
                        ("gc.free_blocks", free_blocks),
                        ("pages_per_block", pages_per_block),
                    ];
                    let least = least_op_ratio(&settings).unwrap_or("0".into());
                    let settings: Vec<_> =
                        settings.iter().copied().chain([("op_ratio", least.as_str())]).collect();
                    let workload = "random:span=210KiB,size=512,count=600,trim=0.02,write=0.9";
                    let result =
                        run(&settings, workload).unwrap_or_else(|error| panic!("{settings:?}: {error}"));
                    assert_eq!(result["requests"], 600);
                }
            }
        }
    }
}

#[test]
fn with_a_map_on_flash_and_the_least_spare() {
    for victim in ["greedy", "fifo", "random", "d-choices", "cost-benefit"] {
        for (cached, batch) in [("16", "true"), ("200", "false"), ("1MiB", "true")] {
            for pages_per_block in ["1", "3", "7", "100"] {
                let settings = [
                    ("channels", "2"),
                    ("page", "512"),
                    ("capacity", "210KiB"),
                    ("precondition", "full"),
                    ("gc.victim", victim),
                    ("pages_per_block", pages_per_block),
                    ("ftl.kind", "dftl"),
                    ("ftl.cache_bytes", cached),
                    ("ftl.batch_update", batch),
                ];
                let least = least_op_ratio(&settings).unwrap_or("0".into());
                let settings: Vec<_> =
                    settings.iter().copied().chain([("op_ratio", least.as_str())]).collect();
                let workload = "random:span=210KiB,size=512,count=600,trim=0.02,write=0.7";
                let result = run(&settings, workload).unwrap_or_else(|error| panic!("{settings:?}: {error}"));
                assert_eq!(result["requests"], 600);
            }
        }
    }
}

#[test]
fn after_preconditioning_to_steady_state() {
    for victim in ["greedy", "fifo", "random", "d-choices", "cost-benefit"] {
        for (frontiers, pages_per_block) in [("1", "1"), ("1", "7"), ("2", "3"), ("2", "32")] {
            let settings = [
                ("channels", "2"),
                ("page", "512"),
                ("capacity", "2MiB"),
                ("op_ratio", "0.3"),
                ("precondition", "steady"),
                ("gc.victim", victim),
                ("gc.frontiers", frontiers),
                ("pages_per_block", pages_per_block),
            ];
            let result = run(&settings, "random:span=2MiB,size=512,count=1000");
            let result = result.unwrap_or_else(|error| panic!("{settings:?}: {error}"));
            assert_eq!(result["requests"], 1000);
            assert!(result["preconditioning_capacities"].as_u64() >= Some(2));
        }
    }
}

#[test]
fn steady_state_of_a_workload_that_never_writes() {
    let drive =
        [("capacity", "1MiB"), ("op_ratio", "0.25"), ("pages_per_block", "8"), ("precondition", "steady")];
    // Reads count as writes where there are no writes; where there are neither, it says so.
    assert!(run(&drive, "random:span=1MiB,size=4KiB,count=1000,write=0").is_ok());
    for workload in ["random:span=1MiB,trim=1,count=1000", "random:span=1MiB,trim=0.5,flush=0.5,count=1000"] {
        let error = refusal(&drive, workload);
        assert!(
            error.starts_with("precondition=steady writes the workload's own addresses, and "),
            "{error}"
        );
        assert!(error.ends_with("wrote not a page: use precondition=full"), "{error}");
    }
}

#[test]
fn without_over_provisioning() {
    // A share that fills its blocks leaves no page to overwrite; one that does not has a few.
    let tight = [("capacity", "1MiB"), ("pages_per_block", "8"), ("op_ratio", "0"), ("precondition", "full")];
    let error = refusal(&tight, "random:span=1MiB,count=10");
    assert!(
        error.contains("so no page could ever be overwritten: use op_ratio of at least 0.2344"),
        "{error}"
    );
    let loose = [("capacity", "1016KiB"), ("channels", "1"), ("pages_per_block", "8"), tight[2], tight[3]];
    let result = run(&loose, "random:span=1016KiB,count=2000").expect("two pages to spare");
    assert!(result["write_amplification"].as_f64() > Some(3.0));
}

#[test]
fn other_page_and_block_sizes() {
    for page in ["512", "1536", "4KiB", "24KiB", "256KiB"] {
        for (pages_per_block, planes) in [("1", "1"), ("9", "2"), ("100", "3")] {
            let settings = [
                ("page", page),
                ("pages_per_block", pages_per_block),
                ("planes", planes),
                ("capacity", "12MiB"),
                ("op_ratio", "100"),
                ("gc.frontiers", "2"),
                ("precondition", "full"),
            ];
            let workload = "random:span=3MiB,size=512B|5KiB|48KiB,align=512,count=400,write=0.6,trim=0.1";
            let result = run(&settings, workload).unwrap_or_else(|error| panic!("{settings:?}: {error}"));
            assert_eq!(result["requests"], 400);
        }
    }
}

#[test]
fn simulated_time_has_an_end_and_says_so() {
    let drive = [("capacity", "1MiB"), ("op_ratio", "0.3"), ("pages_per_block", "8"), ("host.mode", "open")];
    let endless = [drive[0], drive[1], drive[2], drive[3], ("host.time_scale", "1e9")];
    let expected = "request 6: simulated time passes 146 years: shorten the times, or lower host.time_scale";
    assert_eq!(refusal(&endless, "random:span=1MiB,count=10,period=1s"), expected);
    assert!(refusal(&drive, "random:span=1MiB,count=4,period=4000000000s").contains("146 years"));
}

#[test]
fn the_longest_times_and_largest_blocks_fit_the_clock() {
    let settings = [
        ("capacity", "8MiB"),
        ("op_ratio", "0.3"),
        ("channels", "1"),
        ("page", "512"),
        ("pages_per_block", "2000"),
        ("precondition", "full"),
        ("timing.read", "3600s"),
        ("timing.program", "3600s"),
        ("timing.erase", "3600s"),
        ("timing.bus", "1000000"),
        ("timing.command", "3600s"),
    ];
    for engine in ["busy-until", "event"] {
        let settings: Vec<_> = settings.iter().copied().chain([("engine", engine)]).collect();
        let error = refusal(&settings, "random:span=8MiB,size=512,count=400000");
        assert!(error.contains("simulated time passes 146 years"), "{error}");
    }
}

/// A plane that shares its pages with others holds old data in a block that is not full, while worn blocks leave it.
#[test]
fn where_planes_that_share_their_pages_lose_blocks_and_old_data_is_read() {
    let ages = [
        ("ageing.kind", "power-law"),
        ("ageing.retire", "3"),
        ("ageing.rated_cycles", "1"),
        ("ageing.cycles", "2"),
    ];
    let drive = [("capacity", "1MiB"), ("channels", "2"), ("planes", "2"), ("pages_per_block", "8")];
    let (few, many) = (
        "random:span=512KiB,size=4KiB,count=1200,write=0.3",
        "random:span=1MiB,size=8KiB,count=1500,write=0.85",
    );
    for (own, workload) in [
        (&[("tenants.channels", "shared"), ("op_ratio", "0.9")][..], few),
        (&[("alloc.kind", "hybrid"), ("op_ratio", "0.9")], many),
        (&[("alloc.kind", "dynamic"), ("op_ratio", "0.9")], many),
        (&[("alloc.kind", "dynamic"), ("ftl.kind", "dftl"), ("op_ratio", "2")], many),
    ] {
        for seed in 0..20 {
            let settings: Vec<_> = drive.iter().chain(&ages).chain(own).copied().collect();
            let result = run_with(&settings, workload, |spec| spec.seed = Some(seed));
            let result = result.unwrap_or_else(|error| panic!("{own:?}, seed {seed}: {error}"));
            assert!(result["ageing"]["read_only"].is_object(), "{own:?}, seed {seed}");
        }
    }
}
