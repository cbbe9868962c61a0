//! Backpressure: when writes enter a buffer that has room, to the nanosecond, and what reads gain by it.

use flashweir_trace::{Op, Request};

use super::rig::{PROGRAM, READ, Setting, TRANSFER, ends_in_slices, flush, pages, read, run, write};

const BUFFER: [Setting; 1] = [("buffer.bytes", "32KiB")];

fn with(more: &[Setting]) -> Vec<Setting> {
    BUFFER.iter().chain(more).copied().collect()
}

#[test]
fn writes_enter_at_a_fixed_rate_and_reads_pass_them() {
    // A page of 4096 bytes takes 100 us.
    let settings = with(&[("buffer.backpressure", "rate"), ("buffer.admit_rate", "40960000")]);
    let requests = [write(0, 0), pages(1, Op::Write, 1, 2), write(2, 3), read(3, 0), write(299_999, 4)];
    assert_eq!(run(&settings, &requests).completions(), [0, 100_000, 300_000, 3, 400_000]);
    for (arrival, enters) in [(99_999, 100_000), (100_000, 100_000), (100_001, 100_001)] {
        assert_eq!(run(&settings, &[write(0, 0), write(arrival, 1)]).completions()[1], enters);
    }
    // Without backpressure all have room.
    assert_eq!(run(&BUFFER, &requests).latencies(), [0; 5]);
}

#[test]
fn the_fuller_the_buffer_the_longer_each_write_waits() {
    // Eight pages, held back from four on: a quarter of the delay for the fifth page in use, then two quarters.
    let settings =
        with(&[("buffer.backpressure", "fill"), ("buffer.fill_from", "0.5"), ("buffer.fill_delay", "400us")]);
    let writes: Vec<Request> = (0..8).map(|page| write(0, page)).collect();
    let entered = [0, 0, 0, 0, 0, 100_000, 300_000, 600_000];
    assert_eq!(run(&settings, &writes).completions(), entered);
    // A flush keeps its turn, and waits for what is before it.
    let requests = [&writes[..6], &[flush(0), write(0, 6)]].concat();
    let ends = run(&settings, &requests).completions();
    assert!(ends[6] >= 100_000 + PROGRAM + TRANSFER, "{ends:?}");
}

#[test]
fn the_fewer_blocks_are_erased_the_longer_each_write_waits() {
    // A ramp of 30 blocks, of one unit that has few.
    let settings = with(&[
        ("buffer.backpressure", "free"),
        ("buffer.free_below", "31"),
        ("buffer.free_delay", "300us"),
        ("precondition", "full"),
    ]);
    let ends = run(&settings, &[write(0, 0), write(0, 1), write(0, 2)]).completions();
    assert!(ends[0] == 0 && ends[1] > 150_000 && ends[1].is_multiple_of(10_000), "{ends:?}");
    assert_eq!(ends[2], 2 * ends[1], "no block was used meanwhile");
    let settings = with(&[("buffer.backpressure", "free"), ("buffer.free_below", "2"), ("op_ratio", "3")]);
    assert_eq!(run(&settings, &[write(0, 0), write(0, 1)]).completions(), [0, 0], "there are enough");
}

#[test]
fn writes_wait_for_the_refill_of_a_reserve_and_reads_pass_them() {
    // Two pages, and one more each 100 us of a refill.
    let settings = with(&[
        ("buffer.backpressure", "reserve"),
        ("buffer.reserve", "8KiB"),
        ("buffer.refill_rate", "40960000"),
        ("buffer.refill_left", "0"),
        ("buffer.hold_share", "1"),
    ]);
    // Two pages in 50 us are more than the refill, so that all that follow wait for it.
    let requests = [write(0, 0), write(50_000, 1), write(50_000, 2), write(50_001, 3), read(60_000, 0)];
    assert_eq!(run(&settings, &requests).completions(), [0, 50_000, 150_000, 250_000, 60_000]);
    // Two in 400 us are half of it, and the reserve is full again after 200 us. The next one that waits enters 100 us later.
    let requests = [write(0, 0), write(400_000, 1), write(400_000, 2), write(400_000, 3)];
    assert_eq!(run(&settings, &requests).completions(), [0, 400_000, 600_000, 700_000]);
}

#[test]
fn slices_of_any_size_and_forks_give_the_same_run() {
    let requests: Vec<Request> = (0..120)
        .map(|number| match number % 5 {
            4 => read(number / 3 * 70_000, number % 60),
            _ => write(number / 3 * 70_000, number * 7 % 60),
        })
        .collect();
    for kind in ["rate", "fill", "free"] {
        let more = [("buffer.backpressure", kind), ("buffer.destage", "eager"), ("precondition", "full")];
        let settings = with(&more);
        let whole = run(&settings, &requests).completions();
        for size in [1, 7, 50] {
            assert_eq!(ends_in_slices(&settings, &requests, size), whole, "{kind}, slices of {size}");
        }
    }
}

/// Writes that come twice as fast as the flash takes them, beside reads: held back, they leave the die to the reads, and wait
/// themselves.
#[test]
fn held_back_writes_leave_reads_their_latency() {
    let writes = (0..400).map(|number| write(number * 50_000, number % 48));
    let reads = (0..100).map(|number| read(number * 200_000 + 90_000, 50 + number % 14));
    let mut requests: Vec<_> = writes.chain(reads).collect();
    requests.sort_by_key(|request| request.time_ns);
    // Reads that wait for a program, and the longest latency of a write.
    let slow = |more: &[Setting]| {
        let base = [("buffer.destage", "eager"), ("precondition", "full"), ("op_ratio", "8")];
        let latencies = run(&with(&[&base[..], more].concat()), &requests).latencies();
        let all = || requests.iter().zip(&latencies);
        let waited = |(request, ns): &(&Request, &u64)| request.op == Op::Read && **ns > READ + TRANSFER;
        let writes = all().filter(|(request, _)| request.op == Op::Write);
        (all().filter(waited).count(), writes.map(|(_, ns)| *ns).max().unwrap_or(0))
    };
    let at_once = slow(&[]);
    // A third of what the flash takes.
    let at_rate = slow(&[("buffer.backpressure", "rate"), ("buffer.admit_rate", "12MiB")]);
    assert!(at_once.0 > 90 && at_rate.0 < 45, "{at_once:?} against {at_rate:?}");
    assert!(at_rate.1 > 2 * at_once.1, "{at_once:?} against {at_rate:?}");
}
