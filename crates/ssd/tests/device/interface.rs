//! The host interface: link, command overhead, transfers cut in pieces, queues, doorbells, firmware, and a map in the host's memory.

use flashweir_ssd::{Options, Simulation};
use flashweir_trace::{Op, Request};

use super::rig::{
    PROGRAM, READ, Setting, TRANSFER, drive, flush, pages, read, run, run_both, sectors, write,
};

/// Time of a page on a link of 1 GB/s, ns: a byte a nanosecond.
const PAGE_NS: u64 = 4096;
/// A page of flash to the controller.
const FETCH: u64 = READ + TRANSFER;
/// A page of flash programmed.
const STORE: u64 = TRANSFER + PROGRAM;

const FULL: Setting = ("precondition", "full");
const GIGABYTE: Setting = ("host.link", "1GB/s");

/// When each request was done, of a drive with these settings and full.
fn done(settings: &[Setting], requests: &[Request]) -> Vec<u64> {
    let settings: Vec<_> = [FULL].into_iter().chain(settings.iter().copied()).collect();
    run(&settings, requests).completions()
}

/// The same where requests come one by one, on both time paths: how long each took.
fn each(settings: &[Setting], requests: &[Request]) -> Vec<u64> {
    let closed = [FULL, ("host.mode", "closed")];
    let settings: Vec<_> = closed.into_iter().chain(settings.iter().copied()).collect();
    run_both(&settings, requests).latencies()
}

#[test]
fn data_cross_the_link_before_a_write_and_after_a_read() {
    let requests = [
        read(0, 0),
        write(0, 1),
        sectors(0, Op::Read, 3, 1),
        sectors(0, Op::Write, 8 * 8 + 3, 1),
        pages(0, Op::Trim, 5, 1),
        flush(0),
    ];
    let flash = each(&[], &requests);
    assert_eq!(flash[..4], [FETCH, STORE, FETCH, READ + 2 * TRANSFER + PROGRAM]);
    let with_link = each(&[GIGABYTE], &requests);
    let link: Vec<_> = with_link.iter().zip(flash).map(|(with, without)| with - without).collect();
    assert_eq!(link, [PAGE_NS, PAGE_NS, 512, 512, 0, 0]);
}

#[test]
fn pages_of_a_read_leave_as_they_come_off_the_flash() {
    let two = [pages(0, Op::Read, 0, 2)];
    assert_eq!(each(&[GIGABYTE], &two), [2 * FETCH + PAGE_NS]);
    let slow = ("host.link", "100MB/s");
    assert_eq!(each(&[slow], &two), [FETCH + 2 * 10 * PAGE_NS], "the link is busy when the second one comes");
    let side_by_side = [slow, ("channels", "2")];
    assert_eq!(each(&side_by_side, &two), [FETCH + 2 * 10 * PAGE_NS], "both come together");
    assert_eq!(
        each(&[slow], &[pages(0, Op::Write, 0, 2)]),
        [2 * 10 * PAGE_NS + 2 * STORE],
        "all before a write"
    );
}

#[test]
fn planes_that_read_together_leave_together() {
    let settings = [GIGABYTE, ("planes", "2"), ("timing.multi_plane", "true")];
    assert_eq!(each(&settings, &[pages(0, Op::Read, 0, 2)]), [READ + 2 * TRANSFER + 2 * PAGE_NS]);
}

#[test]
fn a_transfer_waits_for_the_one_before_to_the_nanosecond() {
    // Of two channels, the second read is done with the flash as the first one leaves the link, or just before or after.
    let settings = [GIGABYTE, ("channels", "2")];
    for (at, expected) in [
        (PAGE_NS - 1, FETCH + 2 * PAGE_NS),
        (PAGE_NS, FETCH + 2 * PAGE_NS),
        (PAGE_NS + 1, FETCH + 2 * PAGE_NS + 1),
        (0, FETCH + 2 * PAGE_NS),
    ] {
        assert_eq!(done(&settings, &[read(0, 0), read(at, 1)]), [FETCH + PAGE_NS, expected], "at {at}");
    }
}

#[test]
fn directions_are_apart_but_for_sata() {
    let requests = [read(0, 0), write(14_000, 1)];
    let full = [("host.link", "598830409B/s"), ("channels", "2")];
    // 4096 bytes take 6841 ns at the rate of SATA.
    assert_eq!(done(&full, &requests), [FETCH + 6841, 14_000 + 6841 + STORE]);
    let half = [("host.link", "sata3"), ("channels", "2")];
    assert_eq!(done(&half, &requests), [14_000 + 2 * 6841, 14_000 + 6841 + STORE]);
}

#[test]
fn links_have_their_rates() {
    for (link, ns) in [
        ("pcie1x1", 17_921), // 4096 B / (2.5 GT/s x 8/10 / 8 x 256/280)
        ("pcie3x4", 1_138),  // 3,600,879,120 bytes a second
        ("pcie4x4", 569),
        ("pcie5x16", 72),
        ("1000000000", PAGE_NS),
        ("1GB/s", PAGE_NS),
        ("4096MB", 1000),
    ] {
        assert_eq!(each(&[("host.link", link)], &[read(0, 0)]), [FETCH + ns], "{link}");
    }
}

#[test]
fn submission_and_completion_add_their_times() {
    let settings = [("host.submit_time", "3us"), ("host.complete_time", "2us")];
    assert_eq!(each(&settings, &[read(0, 0), write(0, 1), flush(0)]), [5000 + FETCH, 5000 + STORE, 5000]);
}

#[test]
fn a_long_transfer_is_several_commands() {
    let two = [pages(0, Op::Write, 0, 2)];
    assert_eq!(each(&[GIGABYTE], &two), [2 * PAGE_NS + 2 * STORE]);
    let cut = [GIGABYTE, ("host.max_transfer", "4KiB")];
    assert_eq!(each(&cut, &two), [PAGE_NS + 2 * STORE], "the flash begins when the first command is there");
    let counted = |settings: &[Setting]| {
        let mut simulation = drive(settings);
        simulation.serve(&[pages(0, Op::Write, 0, 3)]).expect("served");
        simulation.finish().expect("finished");
        simulation.stats().interface.map(|own| (own.commands, own.link_bytes))
    };
    assert_eq!(counted(&cut), Some((3, [3 * 4096, 0])));
    assert_eq!(counted(&[GIGABYTE, ("host.max_transfer", "8KiB")]), Some((2, [3 * 4096, 0])));
    assert_eq!(counted(&[]), None);
}

#[test]
fn a_core_takes_one_command_at_a_time() {
    let requests = [read(0, 0), read(0, 1)];
    let settings = |cores| [("channels", "2"), ("firmware.read_time", "4us"), ("firmware.cores", cores)];
    assert_eq!(done(&settings("1"), &requests), [4000 + FETCH, 8000 + FETCH]);
    assert_eq!(done(&settings("2"), &requests), [4000 + FETCH, 4000 + FETCH]);
    for (at, start) in [(3999, 4000), (4000, 4000), (4001, 4001)] {
        let second = done(&settings("1"), &[read(0, 0), read(at, 1)])[1];
        assert_eq!(second, start + 4000 + FETCH, "at {at}");
    }
}

#[test]
fn each_kind_of_command_takes_its_time() {
    let requests = [pages(0, Op::Read, 0, 2), write(0, 1), pages(0, Op::Trim, 4, 1), flush(0)];
    let bare = each(&[], &requests);
    let more = |settings: &[Setting]| -> Vec<_> {
        each(settings, &requests).iter().zip(&bare).map(|(with, without)| with - without).collect()
    };
    assert_eq!(more(&[("firmware.read_time", "1us")]), [1000, 0, 0, 0]);
    assert_eq!(more(&[("firmware.write_time", "1us")]), [0, 1000, 0, 0]);
    assert_eq!(more(&[("firmware.trim_time", "1us")]), [0, 0, 1000, 0]);
    assert_eq!(more(&[("firmware.flush_time", "1us")]), [0, 0, 0, 1000]);
    assert_eq!(more(&[("firmware.complete_time", "1us")]), [1000; 4]);
    assert_eq!(more(&[("firmware.lookup_time", "100ns")]), [200, 100, 100, 0]);
}

#[test]
fn a_completion_goes_before_commands_that_wait_for_the_core() {
    let settings = [("channels", "4"), ("firmware.read_time", "5us"), ("firmware.complete_time", "1us")];
    // The core takes reads at 0, 5, 10 and 15 us; the first is off the flash at 20 us, as the last one leaves the core.
    let requests = [read(0, 0), read(0, 1), read(0, 2), read(0, 3), read(19_999, 4)];
    assert_eq!(done(&settings, &requests)[0], 5000 + FETCH + 1000);
    assert_eq!(done(&settings, &requests)[4], 5000 + FETCH + 1000 + 5000 + FETCH + 1000);
}

#[test]
fn segments_that_the_drive_lacks_come_over_the_link() {
    let settings = [GIGABYTE, ("firmware.hmb_bytes", "4KiB"), ("firmware.hmb_miss_time", "2us")];
    let latencies = each(&settings, &[read(0, 0), read(0, 1), write(0, 2)]);
    assert_eq!(latencies, [2000 + 4096 + FETCH + PAGE_NS, FETCH + PAGE_NS, PAGE_NS + STORE]);
}

#[test]
fn data_of_writes_are_put_into_memory_one_command_at_a_time() {
    let memory = [("firmware.memory_time", "26ns"), ("firmware.memory_rate", "200MB"), ("channels", "2")];
    // 26 ns, and 5 ns a byte.
    let stored = |bytes: u64| 26 + 5 * bytes;
    let kinds =
        [read(0, 0), write(0, 1), sectors(0, Op::Write, 8 * 8 + 3, 1), pages(0, Op::Trim, 5, 1), flush(0)];
    let (with, without) = (each(&memory, &kinds), each(&[("channels", "2")], &kinds));
    let more: Vec<_> = with.iter().zip(without).map(|(with, without)| with - without).collect();
    assert_eq!(more, [0, stored(4096), stored(512), 0, 0]);
    for at in [stored(4096) - 1, stored(4096), stored(4096) + 1] {
        let second = done(&memory, &[write(0, 0), write(at, 1)])[1];
        assert_eq!(second, at.max(stored(4096)) + stored(4096) + STORE, "at {at}");
    }
    let buffered: Vec<_> = memory.into_iter().chain([("buffer.bytes", "64KiB")]).collect();
    assert_eq!(done(&buffered, &[write(0, 0), flush(1)])[0], stored(4096), "acknowledged when it is there");
}

#[test]
fn a_flush_waits_for_writes_that_are_still_on_the_link() {
    let settings = [("host.link", "100MB/s")];
    let end = 10 * PAGE_NS + STORE;
    assert_eq!(done(&settings, &[write(0, 0), flush(1)]), [end, end]);
    let buffered = [("host.link", "100MB/s"), ("buffer.bytes", "64KiB")];
    assert_eq!(done(&buffered, &[write(0, 0), flush(1)]), [10 * PAGE_NS, end]);
}

#[test]
fn a_doorbell_waits_for_more_commands() {
    let settings = [("channels", "2"), ("host.doorbell", "2")];
    assert_eq!(done(&settings, &[read(0, 0)]), [10_000 + FETCH]);
    for (at, rung) in [(3000, 3000), (10_000, 10_000), (10_001, 10_000)] {
        assert_eq!(done(&settings, &[read(0, 0), read(at, 1)])[0], rung + FETCH, "at {at}");
    }
    let short = [("host.doorbell", "2"), ("host.doorbell_wait", "1us")];
    assert_eq!(done(&short, &[read(0, 0)]), [1000 + FETCH]);
}

#[test]
fn a_queue_takes_as_many_commands_as_it_has_entries() {
    let of = |stream: u16, page| Request { stream, ..read(0, page) };
    let requests = [of(0, 0), of(0, 1), of(1, 2), of(1, 3)];
    let settings = [("channels", "4"), ("host.queue_entries", "1"), ("host.arbitration", "round-robin")];
    assert_eq!(done(&settings, &requests), [FETCH, 2 * FETCH, FETCH, 2 * FETCH], "a queue for each tenant");
    let shared: Vec<_> = settings.into_iter().chain([("host.queues", "1")]).collect();
    assert_eq!(done(&shared, &requests), [FETCH, 2 * FETCH, 3 * FETCH, 4 * FETCH]);
    let closed =
        [("channels", "4"), ("host.mode", "closed"), ("host.queue_depth", "4"), ("host.queue_entries", "2")];
    assert_eq!(done(&closed, &requests)[2..], [FETCH, FETCH]);
}

#[test]
fn who_is_urgent_goes_first() {
    let of = |time, stream: u16, page| Request { stream, ..read(time, page) };
    let requests = [of(0, 0, 0), of(0, 0, 1), of(1, 1, 2), of(1, 2, 3)];
    let served = |arbitration, weights| {
        let settings = [
            ("channels", "4"),
            ("firmware.read_time", "10us"),
            ("host.arbitration", arbitration),
            ("host.weights", weights),
        ];
        let mut order: Vec<_> = done(&settings, &requests).into_iter().zip(0..).collect();
        order.sort_unstable();
        assert!(order.iter().zip(1..).all(|((end, _), place)| *end == place * 10_000 + FETCH));
        order.into_iter().map(|(_, number)| number).collect::<Vec<i32>>()
    };
    assert_eq!(served("arrival", "1"), [0, 1, 2, 3]);
    assert_eq!(served("weighted", "1,1,urgent"), [0, 3, 2, 1]);
    assert_eq!(served("weighted", "urgent,1,1"), [0, 1, 2, 3]);
    assert_eq!(served("round-robin", "1"), [0, 2, 3, 1]);
}

#[test]
fn what_can_be_no_link_is_refused() {
    use flashweir_ssd::config::layers::{Layer, resolve};
    for (setting, expected) in [
        (("host.link", "pcie6x4"), "expected none, sata3, pcie3x4"),
        (("host.link", "pcie3x3"), "1, 2, 4, 8 or 16 lanes"),
        (("host.link", "0"), "bytes a second"),
        (("host.link", "fast"), "bytes a second"),
        (("host.max_transfer", "100"), "expected a multiple of 512B"),
        (("host.queues", "0"), "expected 1 to 65535, or none"),
        (("host.queue_entries", "0"), "1 to 65536"),
        (("host.doorbell", "0"), "expected 1 to 65536"),
        (("host.weights", "urgent,0"), "from 1 to 1000 or urgent"),
        (("firmware.cores", "0"), "expected 1 to 1024"),
        (("firmware.hmb_bytes", "4095"), "expected 0, or at least 4KiB"),
        (("firmware.read_time", "2h"), "expected at most 1h"),
    ] {
        let refused = resolve(&[Layer::from_assignments("test", [setting])])
            .and_then(|config| Simulation::new(&config, Options::default()).map(drop));
        let message = refused.expect_err(setting.1).to_string();
        assert!(message.contains(expected) && !message.contains('\n'), "{setting:?}: {message}");
    }
}
