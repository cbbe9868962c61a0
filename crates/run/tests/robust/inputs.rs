//! Inputs that are wrong or nothing: refused with the reason, or run as what they are.

use flashweir_run::simulate;

use super::{refusal, run, spec};

const SMALL: [(&str, &str); 3] = [("capacity", "1MiB"), ("pages_per_block", "8"), ("op_ratio", "0.3")];

fn device(text: &str) -> String {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("drive.toml");
    std::fs::write(&path, text).expect("written");
    let run = spec(path.to_str(), &[], "random:span=1MiB,count=10");
    let error = simulate(&run, &mut |_| true).expect_err("must be refused").to_string();
    error.split_once("drive.toml: ").map_or(error.clone(), |(_, detail)| detail.to_owned())
}

#[test]
fn misspelled_keys_and_values_are_errors() {
    let workload = "random:span=1MiB,count=10";
    for (key, value, hint) in [
        ("queue_depth", "4", "unknown key `queue_depth`"),
        ("host.queuedepth", "4", "did you mean `host.queue_depth`?"),
        ("gc.vicitm", "fifo", "did you mean `gc.victim`?"),
        ("Channels", "4", "did you mean `channels`?"),
        ("gc.victim", "Greedy", "unknown variant"),
        ("alloc.order", "cdpw", "unknown variant"),
        ("channels", "8.5", "`channels` = 8.5"),
        ("channels", "-8", "`channels` = -8"),
        ("channels", "", "`channels`"),
        ("page", "4 KB?", "expected a size such as"),
        ("page", "-4096", "expected a size such as"),
        ("timing.read", "1e400", "expected a time such as"),
        ("timing.read", "60us,,70us", "expected a time such as"),
        ("timing.cache_program", "yes", "timing.cache_program"),
        ("wear.dynamic", "1", "wear.dynamic"),
        ("op_ratio", "NaN", "`op_ratio`"),
        ("op_ratio", "1e999", "`op_ratio`"),
        ("gc", "fifo", "it is a table"),
        ("", "1", "unknown key"),
        (".", "1", "unknown key"),
        ("gc.victim.kind", "fifo", "unknown key"),
    ] {
        let error = refusal(&[(key, value)], workload);
        assert!(error.contains(hint), "{key}={value}: {error}");
    }
}

#[test]
fn numbers_that_are_none_are_errors() {
    assert!(device("{\"op_ratio\": NaN}").contains("line 1"));
    for text in ["op_ratio = nan", "op_ratio = inf", "op_ratio = -inf"] {
        let error = device(text);
        assert!(error.contains("`op_ratio`"), "{text}: {error}");
    }
    let error = device("[timing]\nbus = nan");
    assert!(error.contains("`timing.bus`"), "{error}");
    let error = device("[host]\nmode = \"open\"\ntime_scale = nan");
    assert!(error.contains("`host.time_scale`"), "{error}");
    for text in ["channels = []", "channels = {}", "capacity = true", "timing = 3", "gc = []"] {
        assert!(!device(text).is_empty(), "{text}");
    }
    assert!(device("channels = 8\nchannels = 4").contains("line 2"), "a key twice");
    assert!(device("[1, 2]").contains("line 1") && device("{").contains("line 1"));
}

#[test]
fn requests_beyond_the_drive_are_named_or_folded() {
    let error = refusal(&SMALL, "random:span=2MiB,count=10");
    assert!(error.contains("its span ends at byte 2097152, the drive has 1048576"), "{error}");
    let dir = tempfile::tempdir().unwrap();
    let trace = dir.path().join("t.spc");
    // ASU, block, bytes, operation, seconds: the third request ends one sector past the drive.
    std::fs::write(&trace, "0,0,4096,w,0.0\n0,2040,4096,w,0.1\n0,2041,4096,r,0.2\n").unwrap();
    let mut run = spec(None, &SMALL, trace.to_str().unwrap());
    run.format = Some("spc".into());
    let error = simulate(&run, &mut |_| true).expect_err("beyond").to_string();
    let expected = "request 3: sectors 2041 to 2049 lie beyond the drive's 2048 sectors (fold addresses with --wrap, or \
                    raise capacity)";
    assert_eq!(error, expected);
    run.wrap = true;
    let result = simulate(&run, &mut |_| true).expect("folded");
    // The last request is split at the end of the drive.
    assert_eq!(result["counters"]["bytes"]["read"], 4096);
}

#[test]
fn a_workload_of_nothing_is_a_result_of_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let trace = dir.path().join("empty.spc");
    std::fs::write(&trace, "").unwrap();
    let mut run = spec(None, &SMALL, trace.to_str().unwrap());
    run.format = Some("spc".into());
    for engine in ["busy-until", "event"] {
        run.overrides.insert("engine".into(), engine.into());
        match simulate(&run, &mut |_| true) {
            Ok(result) => {
                assert_eq!(result["requests"], 0);
                assert!(result["iops"].is_null() && result["write_amplification"].is_null());
                assert_eq!(result["simulated_s"], 0.0);
                assert_eq!(result["time_share"]["idle"], 1.0);
            }
            Err(error) => assert!(error.to_string().contains("empty.spc"), "{error}"),
        }
    }
    assert!(refusal(&SMALL, "random:span=1MiB,count=0").contains("count"));
}

#[test]
fn a_workload_of_reads_of_nothing_takes_no_time() {
    let reads = "random:span=1MiB,count=100,write=0";
    let empty = [&SMALL[..], &[("precondition", "empty")]].concat();
    let result = run(&empty, reads).expect("a legal run");
    assert_eq!(result["requests"], 100);
    assert_eq!(result["counters"]["unmapped_page_reads"], 100);
    assert_eq!(result["unmapped_reads"], serde_json::json!({"pages": 100, "share": 1.0}));
    assert!(result["iops"].is_null(), "a rate over no time is none");
    // Unless it is said to be new, a drive has what is read.
    let result = run(&SMALL, reads).expect("a legal run");
    assert_eq!(result["unmapped_reads"], serde_json::json!({"pages": 0, "share": 0.0}));
    assert!(result["preexisting_pages"].as_u64() > Some(50) && result["simulated_s"].as_f64() > Some(0.005));
    let full = [&SMALL[..], &[("precondition", "full")]].concat();
    assert_eq!(result["latency_us"], run(&full, reads).expect("a legal run")["latency_us"]);
}
