//! The simulator's host against the [`model`](super::arbitration), over random streams of several tenants.

use flashweir_ssd::config::layers::{Layer, resolve};
use flashweir_ssd::{Completion, Options, Simulation};
use flashweir_trace::{Op, Request};
use proptest::prelude::*;

use super::arbitration::{self as model, Arbitration, Drive, Served, Work, serve};

const PAGES: u64 = 24;
const READ_NS: u64 = 50;
const PROGRAM_NS: u64 = 400;
/// Tenants of a closed loop have a request waiting from the start on.
const CLOSED: bool = true;

fn drives() -> impl Strategy<Value = Drive> {
    let arbitration = prop::sample::select(vec![
        Arbitration::Arrival,
        Arbitration::RoundRobin,
        Arbitration::Weighted,
        Arbitration::Fair,
    ]);
    let weights = prop::sample::select(vec![vec![1], vec![4, 2, 1], vec![1, 8]]);
    (1..4u64, 1..5usize, arbitration, weights, 1..4usize).prop_map(
        |(dies, slots, arbitration, weights, burst)| {
            // Starts of tenants that come back are rounded to whole ns: with equal weights there is nothing to round.
            let weights = if arbitration == Arbitration::Weighted { weights } else { vec![1] };
            Drive { dies, read: READ_NS, write: PROGRAM_NS, slots, arbitration, burst, weights }
        },
    )
}

/// Requests whose times are few, so that many of them fall on the end of another one.
fn streams() -> impl Strategy<Value = Vec<model::Request>> {
    let one = (0..5u64, 0..3usize, 0..12u32, 0..PAGES, 1..6u64);
    prop::collection::vec(one, 1..120).prop_map(|raw| {
        let mut time = 0;
        let request = |(gap, tenant, kind, page, count): (u64, usize, u32, u64, u64)| {
            time += gap * READ_NS;
            // The third tenant's requests are short.
            let count = if tenant == 2 { 1 } else { count };
            let pages = (page..(page + count).min(PAGES)).collect();
            let work = match kind {
                0 => Work::Flush,
                1 => Work::Trim,
                2..=4 => Work::Write(pages),
                _ => Work::Read(pages),
            };
            model::Request { time, tenant, work }
        };
        raw.into_iter().map(request).collect()
    })
}

/// The same as the simulator takes it. What is trimmed is not read.
fn request(of_model: &model::Request) -> Request {
    let (op, lba, sectors) = match &of_model.work {
        Work::Read(pages) => (Op::Read, pages[0], pages.len()),
        Work::Write(pages) => (Op::Write, pages[0], pages.len()),
        Work::Flush => (Op::Flush, 0, 0),
        Work::Trim => (Op::Trim, PAGES, 1),
    };
    Request {
        time_ns: of_model.time,
        lba,
        sectors: sectors as u32,
        stream: of_model.tenant as u16,
        op,
        handle: 0,
    }
}

fn simulation(drive: &Drive, closed: bool, engine: &str) -> Simulation {
    let name = match drive.arbitration {
        Arbitration::Arrival => "arrival",
        Arbitration::RoundRobin => "round-robin",
        Arbitration::Weighted => "weighted",
        Arbitration::Fair => "fair",
    };
    let weights = drive.weights.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
    let (channels, slots, burst) = (drive.dies.to_string(), drive.slots.to_string(), drive.burst.to_string());
    let mode = if closed {
        [("host.mode", "closed"), ("host.queue_depth", &slots)]
    } else {
        [("host.mode", "open"), ("host.slots", &slots)]
    };
    let (read, program) = (READ_NS.to_string(), PROGRAM_NS.to_string());
    let settings = [
        ("channels", channels.as_str()),
        ("page", "512"),
        ("capacity", "64KiB"),
        ("op_ratio", "20"),
        ("timing.bus", "0"),
        ("timing.command", "0"),
        ("timing.read", &read),
        ("timing.program", &program),
        ("precondition", "full"),
        ("engine", engine),
        ("host.arbitration", name),
        ("host.arbitration_burst", &burst),
        ("host.weights", &weights),
    ];
    let layer = Layer::from_assignments("test", settings.into_iter().chain(mode));
    let config = resolve(&[layer]).unwrap_or_else(|error| panic!("{error}"));
    let options = Options { verify: true, latency_parts: true, ..Options::default() };
    let mut simulation = Simulation::new(&config, options).expect("checked");
    let pages = simulation.geometry().logical_pages;
    simulation.fill(0..pages).expect("a new drive takes its capacity");
    simulation.end_of_preconditioning();
    simulation.keep_completions();
    simulation
}

fn finish(mut simulation: Simulation) -> Vec<Completion> {
    simulation.finish().expect("no request is stuck");
    let mut completions = Vec::new();
    simulation.take_completions(&mut completions);
    completions.sort_by_key(|completion| completion.number);
    completions
}

fn cases() -> ProptestConfig {
    let cases = std::env::var("FLASHWEIR_FUZZ_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(300);
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn requests_that_wait_for_a_slot_enter_as_the_model_says(
        drive in drives(),
        requests in streams(),
        slice in 1..9usize,
    ) {
        let mut simulation = simulation(&drive, !CLOSED, "auto");
        let all: Vec<Request> = requests.iter().map(request).collect();
        for slice in all.chunks(slice) {
            simulation.serve(slice).expect("legal requests");
        }
        let completions = finish(simulation);
        prop_assert_eq!(completions.len(), all.len());
        for ((of_model, Served { entry, end, .. }), completion) in
            requests.iter().zip(serve(&drive, &requests)).zip(completions)
        {
            prop_assert_eq!(completion.latency_ns, end - of_model.time, "{:?} of {:?}", of_model, requests);
            // The breakdown has the wait at the host, and that of a flush for writes.
            let waited = completion.parts.host_queue;
            let whole = if matches!(of_model.work, Work::Flush) { end } else { entry };
            prop_assert_eq!(waited, whole - of_model.time, "{:?} of {:?}", of_model, requests);
            prop_assert_eq!(completion.parts.total(), completion.latency_ns);
        }
    }

    #[test]
    fn a_closed_loop_asks_for_the_requests_that_the_model_takes(drive in drives(), requests in streams()) {
        // Everything waits from the start; in the order of the workloads there is nobody to ask.
        let drive = match drive.arbitration {
            Arbitration::Arrival => Drive { arbitration: Arbitration::RoundRobin, ..drive },
            _ => drive,
        };
        let requests: Vec<_> = requests.into_iter().map(|request| model::Request { time: 0, ..request }).collect();
        let served = serve(&drive, &requests);
        let mut order: Vec<usize> = (0..requests.len()).collect();
        order.sort_by_key(|number| served[*number].place);
        for engine in ["busy-until", "event"] {
            let mut simulation = simulation(&drive, CLOSED, engine);
            let mut left = [0, 1, 2].map(|tenant| {
                requests.iter().filter(|request| request.tenant == tenant).collect::<std::collections::VecDeque<_>>()
            });
            while let Some(stream) = {
                let has_next: Vec<bool> = left.iter().map(|left| !left.is_empty()).collect();
                simulation.next_stream(&has_next).expect("no request is stuck")
            } {
                let next = left[usize::from(stream)].pop_front().expect("it has one");
                simulation.serve(&[request(next)]).expect("legal requests");
            }
            let completions = finish(simulation);
            prop_assert_eq!(completions.len(), requests.len());
            for (number, completion) in order.iter().zip(completions) {
                let Served { entry, end, .. } = served[*number];
                prop_assert_eq!(usize::from(completion.stream), requests[*number].tenant, "{} {:?}", engine, requests);
                prop_assert_eq!(completion.latency_ns, end - entry, "{} {:?}", engine, requests);
            }
        }
    }
}
