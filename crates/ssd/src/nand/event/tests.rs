//! Whatever the scheduler does, every command finds on flash what its maker counted on: a small translation layer makes random
//! commands, and what is on each page is worked out from when they ran.

mod maker;

use std::collections::BTreeMap;

use super::*;
use crate::config::Config;
use crate::config::layers::{Layer, resolve};
use crate::nand::probe::Recorder;
use crate::nand::{CommandRecord, PauseRecord};
use crate::sched::Shape;
use maker::{Made, Maker};

const BLOCKS: u32 = 6;
const PAGES: u32 = 4;
/// Logical pages for each unit: half of its physical ones.
const LOGICAL: u32 = 12;
const DIES: u32 = 2;
const PLANES: u32 = 2;
const UNITS: u32 = DIES * PLANES;

/// A physical page: unit, page.
type Place = (u32, u32);

/// From when to when each page held what.
#[derive(Debug, Default)]
struct Flash {
    /// By token: place, when it was there, and when its block began to be erased.
    images: BTreeMap<u64, Vec<(Place, u64, u64)>>,
}

impl Flash {
    /// True if the data of a write could be read all the time.
    fn holds(&self, token: u64, start_ns: u64, end_ns: u64) -> bool {
        let images = self.images.get(&token);
        images.is_some_and(|images| images.iter().any(|(_, from, to)| *from <= start_ns && end_ns <= *to))
    }
}

/// Every command with its record, by when it started.
fn ran(maker: &Maker, records: &[CommandRecord]) -> Vec<(CommandRecord, Made)> {
    assert_eq!(records.len(), maker.made.len(), "every command ran");
    let mut ran: Vec<_> = records
        .iter()
        .map(|record| {
            let number = record.request.expect("numbered");
            (*record, maker.made[&(number, record.kind == CommandKind::Read)].clone())
        })
        .collect();
    ran.sort_by_key(|(record, _)| (record.start_ns, record.end_ns));
    ran
}

/// Content of the flash over time. `first`: content from the start.
fn flash(first: &[(Place, u64)], ran: &[(CommandRecord, Made)]) -> Flash {
    let mut flash = Flash::default();
    for (place, token) in first {
        flash.images.entry(*token).or_default().push((*place, 0, u64::MAX));
    }
    // Programs and erases of a unit run one after the other, or in any order if they were not kept in it.
    let mut changes: Vec<_> = ran.iter().filter(|(_, made)| !matches!(made, Made::Read { .. })).collect();
    changes.sort_by_key(
        |(record, made)| if matches!(made, Made::Erase { .. }) { record.start_ns } else { record.end_ns },
    );
    for (record, made) in changes {
        let mut add =
            |place, token| flash.images.entry(token).or_default().push((place, record.end_ns, u64::MAX));
        match made {
            Made::Read { .. } => {}
            Made::Program { place, token, .. } => add(*place, *token),
            Made::Copies { moves } => moves.iter().for_each(|(_, to, token)| add(*to, *token)),
            Made::Erase { unit, block } => {
                for (place, _, erased) in flash.images.values_mut().flatten() {
                    if place.0 == *unit && place.1 / PAGES == *block && *erased == u64::MAX {
                        *erased = record.start_ns;
                    }
                }
            }
        }
    }
    flash
}

/// Holds what ran against what each command counts on.
fn check(maker: &Maker, first: &[(Place, u64)], records: &[CommandRecord]) {
    let ran = ran(maker, records);
    let flash = flash(first, &ran);
    let mut programmed: BTreeMap<Place, (u64, u64)> = BTreeMap::new();
    let mut erased: BTreeMap<(u32, u32), u64> = BTreeMap::new();
    let mut written = |place: Place, record: &CommandRecord, erased: &BTreeMap<(u32, u32), u64>| {
        let since = erased.get(&(place.0, place.1 / PAGES)).copied().unwrap_or(0);
        assert!(since <= record.start_ns, "a page is programmed before its block is erased: {record:?}");
        let before = programmed.insert(place, (record.start_ns, since));
        assert!(before.is_none_or(|(_, before)| before < since), "a page is programmed twice: {record:?}");
        if !place.1.is_multiple_of(PAGES) {
            let last = programmed.get(&(place.0, place.1 - 1));
            assert!(
                last.is_none_or(|(start, _)| *start <= record.start_ns),
                "pages out of order: {record:?}"
            );
        }
    };
    for (record, made) in &ran {
        match made {
            Made::Read { token } => {
                assert!(
                    flash.holds(*token, record.start_ns, record.end_ns),
                    "{record:?} finds nothing of {token}"
                );
            }
            Made::Program { place, reads, .. } => {
                written(*place, record, &erased);
                let found = reads.is_none_or(|token| flash.holds(token, record.start_ns, record.start_ns));
                assert!(found, "{record:?} finds nothing of {reads:?}");
            }
            Made::Copies { moves } => {
                for (_, to, token) in moves {
                    assert!(flash.holds(*token, record.start_ns, record.end_ns), "{record:?} moves nothing");
                    written(*to, record, &erased);
                }
            }
            Made::Erase { unit, block } => {
                erased.insert((*unit, *block), record.end_ns);
            }
        }
    }
    for (_, token) in &maker.home {
        assert!(flash.holds(*token, u64::MAX, u64::MAX), "what was written last is there in the end");
    }
    for (token, before) in &maker.replaced {
        let there = flash.images[token].iter().map(|(_, from, _)| from).min();
        let gone = flash.images[before].iter().map(|(.., to)| to).max();
        assert!(there <= gone, "{before} was erased at {gone:?}, before {token} was there at {there:?}");
    }
}

/// Starts of the commands of each die, by kind.
fn starts(events: &mut Events<Recorder>) -> Vec<(u32, CommandKind, u64)> {
    while events.dispatch() || events.step(0) {}
    let records = events.probe.take().commands;
    let mut starts: Vec<_> =
        records.iter().map(|record| (record.die, record.kind, record.start_ns)).collect();
    starts.sort_by_key(|(die, _, start)| (*start, *die));
    starts
}

#[test]
fn a_block_is_erased_when_all_is_programmed_that_replaces_its_pages() {
    use CommandKind::{Erase, Program};
    for (program_ns, replaces, waits) in [(700, 3, 710), (690, 3, 700), (689, 3, 700), (700, 4, 700)] {
        let config = config(&[]);
        let geometry = Geometry::new(&config).expect("a legal drive");
        let cache = Cache { program: false, read: false };
        let mut events = Events::new(
            &geometry,
            true,
            cache,
            Scheduler::new(&config.sched, Shape::default()),
            Recorder::default(),
        );
        let command = |die, kind, program_ns| Command {
            die,
            kind,
            purpose: Purpose::Host,
            opens: 0,
            awaited: true,
            pages: 1,
            tag: NOBODY,
            effect: crate::op::NO_EFFECT,
            link: crate::op::Link::NONE,
            read_ns: 0,
            bus_ns: 10 * u64::from(kind == Program),
            program_ns,
        };
        let mut submit = |blocks: &[(u32, u32)], command| {
            events.guard(blocks);
            events.submit(0, command, Pages::default());
        };
        submit(&[(0, replaces)], command(1, Program, program_ns));
        submit(&[(1, 0)], command(0, Program, 690));
        submit(&[(0, 3)], command(0, Erase, 1000));
        let expected = [(0, Program, 0), (1, Program, 0), (0, Erase, waits)];
        assert_eq!(starts(&mut events), expected, "{program_ns} ns, block {replaces}");
    }
}

/// A second of a chain starts when its first is done, and only reads run while a command is paused.
fn check_pauses(records: &[CommandRecord], pauses: &[PauseRecord]) {
    let reads: BTreeMap<_, _> = records
        .iter()
        .filter(|record| record.kind == CommandKind::Read)
        .map(|record| (record.request, record.end_ns))
        .collect();
    for record in records.iter().filter(|record| record.kind == CommandKind::Program) {
        let first = reads.get(&record.request);
        assert!(first.is_none_or(|end_ns| *end_ns <= record.start_ns), "{record:?} starts too early");
    }
    for pause in pauses {
        let within = |record: &&CommandRecord| {
            record.die == pause.die
                && (pause.start_ns..pause.end_ns).contains(&record.start_ns)
                && record.request != pause.request
        };
        for record in records.iter().filter(within) {
            assert!(
                record.kind == CommandKind::Read && record.end_ns <= pause.end_ns,
                "{record:?} in {pause:?}"
            );
        }
    }
}

fn config(settings: &[(&'static str, &'static str)]) -> Config {
    let base =
        [("channels", "1"), ("dies", "2"), ("planes", "2"), ("host.mode", "open"), ("capacity", "64MiB")];
    let all = base.iter().chain(settings).copied();
    resolve(&[Layer::from_assignments("test", all)]).expect("a legal drive")
}

#[test]
fn every_command_finds_on_flash_what_it_counts_on() {
    let schedulers: [&[(&str, &str)]; 12] = [
        &[],
        &[("sched.kind", "read-first")],
        &[("sched.kind", "read-first"), ("sched.write_bound", "900ns")],
        &[("sched.kind", "read-first"), ("sched.preempt_gc", "true")],
        &[("sched.kind", "read-first"), ("sched.preempt_gc", "true"), ("sched.write_bound", "2us")],
        &[("sched.kind", "read-priority")],
        &[("sched.kind", "read-priority"), ("sched.preempt_gc", "true")],
        &[("sched.kind", "suspend"), ("sched.write_weight", "0"), ("sched.resume_time", "0")],
        &[
            ("sched.kind", "suspend"),
            ("sched.suspend_time", "7ns"),
            ("sched.resume_time", "3ns"),
            ("sched.write_weight", "0.5"),
        ],
        &[
            ("sched.kind", "suspend"),
            ("sched.resume_time", "0"),
            ("sched.write_bound", "1us"),
            ("sched.max_suspensions", "2"),
        ],
        &[("sched.kind", "out-of-order")],
        &[("sched.kind", "out-of-order"), ("sched.window", "3")],
    ];
    let seeds = std::env::var("FLASHWEIR_FUZZ_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(60);
    let (mut pauses, mut moved) = (0, 0);
    for settings in schedulers {
        let config = config(settings);
        for seed in 0..seeds {
            let (bus_ns, cache_program) = ([10, 0, 170][seed as usize % 3], seed % 2 == 1);
            let mut maker = Maker::new(&config, seed, bus_ns, cache_program && bus_ns > 0);
            let first = maker.home.clone();
            maker.run(300);
            let recorded = maker.events.probe.take();
            println!("{settings:?}, seed {seed}");
            check(&maker, &first, &recorded.commands);
            check_pauses(&recorded.commands, &recorded.pauses);
            pauses += recorded.pauses.len();
            moved += recorded.commands.iter().filter(|record| record.passed > 0).count();
        }
    }
    assert!(pauses > 1000 && moved > 10_000, "too few pauses ({pauses}) or moves ({moved})");
}

#[test]
fn transfers_without_an_event_change_no_time() {
    let mut waited = 0;
    for (dies, seed) in ["2", "3"].into_iter().flat_map(|dies| (0..60).map(move |seed| (dies, seed))) {
        let config = config(&[("dies", dies)]);
        let bus_ns = [10, 50, 170][seed as usize % 3];
        let [ahead, step_by_step] = [true, false].map(|works_ahead| {
            let mut maker = Maker::new(&config, seed, bus_ns, false);
            assert!(!maker.events.solo, "dies share a bus");
            if works_ahead {
                maker.events.work_ahead();
                assert!(maker.events.works_ahead, "nobody reorders");
            }
            maker.run(300);
            let mut records = maker.events.probe.take().commands;
            records.sort_by_key(|record| (record.end_ns, record.die, record.start_ns));
            records
        });
        waited += ahead.iter().filter(|record| record.parts.wait_bus > 0).count();
        assert_eq!(ahead, step_by_step, "{dies} dies, {bus_ns} ns on the bus, seed {seed}");
    }
    assert!(waited > 1000, "too few commands waited for the bus: {waited}");
}
