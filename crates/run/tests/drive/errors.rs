//! Refusals: one line each, and nothing of a refused call is done.

use flashweir_run::{Drive, DriveOptions, DriveSpec, ErrorKind};
use flashweir_trace::{Op, Request};
use serde_json::json;

use super::{drive, poll, request, spec};

#[test]
fn requests_that_do_not_fit_are_refused_with_all_of_their_call() {
    let mut drive = drive(&[]);
    drive.advance_to(1000).expect("advanced");
    let good = request(Op::Write, 1000, 0);
    for (wrong, expected) in [
        (
            Request { time_ns: 999, ..good },
            "it arrives at 999 ns, before the present, 1000 ns; expected a time from then on",
        ),
        (Request { lba: 4090, ..good }, "bytes 2094080 to 2098176 lie beyond the drive, which has 2097152"),
        (Request { stream: 1, ..good }, "tenant 1, and the drive has 1; expected one below that"),
        (Request { sectors: 0, ..good }, "a write of 0 bytes; expected at least 512"),
        (Request { op: Op::Flush, ..good }, "a flush has no address and no length"),
        (
            Request { time_ns: 1 << 63, ..good },
            "it arrives at 9223372036854775808 ns; expected at most 2^62 ns, 146 years",
        ),
    ] {
        let error = drive.submit(&[good, wrong]).expect_err(expected);
        assert_eq!(error.to_string(), format!("request 2 of 2: {expected}"));
        assert_eq!(error.kind(), ErrorKind::Trace);
        assert_eq!(drive.outstanding(), 0);
    }
    assert_eq!(drive.submit(&[good]).expect("submitted"), 0..1);
}

#[test]
fn time_does_not_go_back() {
    let mut drive = drive(&[]);
    drive.advance_to(1000).expect("advanced");
    drive.advance_to(1000).expect("again");
    let error = drive.advance_to(999).expect_err("back").to_string();
    assert_eq!(
        error,
        "advance_to 999 ns: lies before the present, 1000 ns: time does not go back (fork() keeps an earlier state)"
    );
    assert!(drive.advance_to_completion(5).is_err());
    assert!(drive.advance_to(u64::MAX).is_err());
    assert!(!drive.advance_to_completion(2000).expect("nothing comes"));
    assert_eq!(drive.now_ns(), 2000);
    assert!(!drive.advance_to_completion(u64::MAX).expect("nothing ever comes"));
    assert_eq!(drive.now_ns(), 2000);
}

#[test]
fn what_a_stepped_drive_has_no_use_for_is_refused() {
    let refusal = |settings: &[(&str, &str)]| {
        Drive::open(&spec(settings), None, &mut |_| true).expect_err("refused").to_string()
    };
    for settings in [("host.queue_depth", "4"), ("host.mode", "closed"), ("host.time_scale", "2")] {
        let error = refusal(&[settings]);
        assert!(error.starts_with(&format!("`{}` = ", settings.0)), "{error}");
        assert!(error.contains("the caller of a stepped drive is its host") && error.lines().count() == 1);
    }
    let held = [("alloc.kind", "dynamic"), ("tenants.channels", "look-ahead")];
    assert!(refusal(&held).contains("holds requests back"));
    assert!(refusal(&[("chanels", "2")]).contains("did you mean"));
    assert!(
        refusal(&[("alloc.kind", "dynamic"), ("tenants.channels", "external")])
            .contains("expected an allocator")
    );
    for tenants in [vec!["a", "a"], vec![" "], vec!["a\n"]] {
        let options = DriveOptions {
            tenants: tenants.iter().map(|name| (*name).into()).collect(),
            ..DriveOptions::default()
        };
        let error =
            Drive::open(&DriveSpec { options, ..spec(&[]) }, None, &mut |_| true).expect_err("refused");
        assert!(error.to_string().contains("expected a name of its own"), "{error}");
    }
    // Slots and arbitration are the drive's, and imply open arrivals.
    let config = spec(&[("host.slots", "3")]).config().expect("a drive");
    assert_eq!(
        config.host.mode,
        spec(&[("host.slots", "3"), ("host.mode", "open")]).config().unwrap().host.mode
    );
}

/// A drive that can't go on says so from then on.
#[test]
fn a_drive_that_failed_stays_so() {
    let settings =
        [("alloc.kind", "dynamic"), ("tenants.channels", "external"), ("tenants.window_requests", "10")];
    let open = |answer: Result<&'static str, &'static str>| {
        let decide = move |_: &str| answer.map(Into::into).map_err(Into::into);
        Drive::open(&spec(&settings), Some(Box::new(decide)), &mut |_| true).expect("a drive")
    };
    let requests: Vec<_> = (0..40).map(|at| request(Op::Write, at, at)).collect();
    let mut drive = open(Err("no idea"));
    drive.submit(&requests).expect("for later");
    let error = drive.advance_to(100).expect_err("no allocation").to_string();
    assert_eq!(error, "allocator, window 0: no idea");
    assert_eq!(drive.advance_to(100).expect_err("for good").to_string(), error);
    assert_eq!(drive.submit(&[]).expect_err("for good").to_string(), error);
    assert_eq!(drive.fork().finish().expect_err("for good").to_string(), error);
    assert_eq!(drive.finish().expect_err("for good").to_string(), error);

    let mut drive = open(Ok("{\"workload\": [0, 1]}"));
    drive.submit(&requests).expect("for later");
    let mut fork = drive.fork();
    let allocation = drive.finish().expect("finished")["allocation"].take();
    assert_eq!((&allocation["windows"], &allocation["wall_s"].is_number()), (&json!(4), &true));
    // Nobody asks the allocator for a fork.
    assert!(fork.drain_while(&mut || true).expect("drained"));
    assert!(fork.result()["allocation"]["wall_s"].is_null());
}

#[test]
fn a_caller_may_stop_on_the_way() {
    let mut drive = drive(&[("precondition", "full"), ("op_ratio", "0.3")]);
    let requests: Vec<_> = (0..10_000).map(|at| request(Op::Read, at * 1000, at % 512)).collect();
    drive.submit(&requests).expect("submitted");
    let mut asked = 0;
    let went = drive.advance_while(10_000_000, &mut || {
        asked += 1;
        asked < 3
    });
    assert!(!went.expect("no error"));
    let stopped_ns = drive.now_ns();
    assert!(stopped_ns > 0 && stopped_ns < 10_000_000);
    drive.advance_to(stopped_ns).expect("the drive is whole");
    assert!(!drive.drain_while(&mut || false).expect("no error") || drive.outstanding() == 0);
    assert!(drive.drain_while(&mut || true).expect("drained"));
    assert_eq!(poll(&mut drive).len(), requests.len());
}

#[test]
fn preconditioning_is_that_of_a_run() {
    let drive = drive(&[("precondition", "steady"), ("op_ratio", "0.3")]);
    let result = drive.finish().expect("finished");
    assert!(result["preconditioning_capacities"].as_u64().expect("a number") >= 2);
    assert_eq!((&result["requests"], &result["simulated_s"]), (&json!(0), &json!(0.0)));
    let given_up =
        Drive::open(&spec(&[("precondition", "steady"), ("op_ratio", "0.3")]), None, &mut |_| false);
    // A small drive is ready before anybody is asked.
    assert!(given_up.is_ok() || given_up.is_err_and(|error| error.kind() == ErrorKind::Cancelled));
}
