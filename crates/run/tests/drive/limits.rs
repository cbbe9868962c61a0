//! Limits of tenants on a drive that is stepped.

use flashweir_run::{Drive, DriveOptions, DriveSpec};
use flashweir_trace::{Op, Request};

use super::{poll, request, spec};

/// Flushes and TRIMs end as they enter: the depth that they give back is the next request's at once, in steps as in one go.
#[test]
fn a_request_that_takes_no_time_gives_its_depth_to_the_next_at_once() {
    const MS: u64 = 1_000_000;
    let settings = [("host.latency_target", "1us,none"), ("host.latency_window", "1ms")];
    // Tenant 1 reads another page than it trims.
    let page = |stream, op| if stream == 0 { 7 } else { 2 + u64::from(op == Op::Read) };
    let of = |stream, op, time_ns| Request { stream, ..request(op, time_ns, page(stream, op)) };
    // Tenant 0 misses its target in each window, so tenant 1 has one request at a time from the second one on.
    let reads = (0..9).map(|number| of(0, Op::Read, number * MS));
    let at_ns = 5 * MS + MS / 2;
    let burst = [Op::Trim, Op::Flush, Op::Trim, Op::Read, Op::Trim].map(|op| of(1, op, at_ns));
    let mut requests: Vec<_> = reads.chain([of(1, Op::Write, 1)]).chain(burst).collect();
    requests.sort_by_key(|request| request.time_ns);
    for request in requests.iter_mut().filter(|request| request.op == Op::Flush) {
        (request.lba, request.sectors) = (0, 0);
    }
    let plain = spec(&settings);
    let options = DriveOptions { tenants: vec!["strict".into(), "other".into()], ..plain.options.clone() };
    let spec = DriveSpec { options, ..plain };
    let ends = |pauses_ns: &[u64]| {
        let mut drive = Drive::open(&spec, None, &mut |_| true).expect("a drive");
        drive.submit(&requests).expect("submitted");
        for time_ns in pauses_ns {
            drive.advance_to(*time_ns).expect("advanced");
        }
        drive.advance_to(20 * MS).expect("advanced");
        let mut done = poll(&mut drive);
        done.sort_by_key(|done| done.number);
        done.iter().map(|done| (done.stream, done.op, done.issue_ns, done.end_ns)).collect::<Vec<_>>()
    };
    let at_once = ends(&[]);
    let burst: Vec<_> =
        at_once.iter().filter(|(stream, _, issue_ns, _)| (*stream, *issue_ns) == (1, at_ns)).collect();
    assert_eq!(burst.len(), 5);
    assert!(burst[..3].iter().all(|(.., end_ns)| *end_ns == at_ns), "{burst:?}");
    let read_end_ns = burst[3].3;
    assert!(read_end_ns > at_ns && burst[4].3 == read_end_ns, "one at a time: {burst:?}");
    for pauses_ns in [&[at_ns][..], &[at_ns + 1], &[at_ns, at_ns + 1, read_end_ns, read_end_ns + 1]] {
        assert_eq!(ends(pauses_ns), at_once, "{pauses_ns:?}");
    }
}
