//! Random operations on tiny drives, checked after each of them.

use proptest::prelude::*;

use super::*;

/// A tiny drive: pages of a block, data blocks of a unit, units, and the kind.
fn settings() -> impl Strategy<Value = Vec<(&'static str, String)>> {
    let kinds = prop::sample::select(vec![
        vec![("ftl.kind", "log-block")],
        vec![("ftl.kind", "fast"), ("ftl.sw_full", "reuse")],
        vec![("ftl.kind", "fast"), ("ftl.sw_full", "partial-merge")],
        vec![("ftl.kind", "bast")],
        vec![("ftl.kind", "kast"), ("ftl.associativity", "1")],
        vec![("ftl.kind", "kast"), ("ftl.associativity", "2")],
    ]);
    let pages = prop_oneof![4 => 1..9u64, 1 => 60..70u64];
    let units = (1..4u64).prop_flat_map(|units| (Just(units), 0..units));
    (pages, 1..6u64, units, 0..4u32, kinds).prop_map(|(pages, data_blocks, (units, more), throttle, kind)| {
        let mut settings = vec![
            ("channels", units.to_string()),
            ("pages_per_block", pages.to_string()),
            ("capacity", (units * data_blocks * pages * 512).to_string()),
            // Three log blocks each; the first units have one more.
            ("op_ratio", ((3 * units + more) as f64 / (units * data_blocks) as f64).to_string()),
        ];
        if matches!(kind[0].1, "log-block" | "fast") {
            settings.push(("gc.throttle", throttle.to_string()));
        }
        settings.extend(kind.into_iter().map(|(key, value)| (key, value.to_owned())));
        settings
    })
}

fn bench(settings: &[(&'static str, String)], full: bool) -> Bench {
    let settings: Vec<_> = settings.iter().map(|(key, value)| (*key, value.as_str())).collect();
    if full { Bench::full(&settings) } else { Bench::new(&settings) }
}

fn operate(bench: &mut Bench, page: u32, run: u32, kind: u32) {
    let units = bench.ftl.units.len() as u32;
    let (unit, key) = (page % units, page / units % bench.unit_pages);
    match kind {
        0 | 1 => bench.trim(unit, key),
        // Some pages in order, often from the first of a data block on.
        2..=4 => {
            let first = if kind == 2 { key } else { key - key % bench.array.pages_per_block };
            bench.write_all(unit, (first..bench.unit_pages).take(run as usize % 7));
        }
        5 => {
            bench.collect_step(unit);
        }
        6 => {
            bench.follow_copy(unit);
        }
        7 => {
            bench.follow_erase(unit);
        }
        8 => {
            let block = page % (bench.unit_pages / bench.array.pages_per_block + 1);
            bench.merge(unit, block);
        }
        _ => bench.write(unit, key),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 250, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_lost_after_any_operation(
        settings in settings(),
        full in any::<bool>(),
        operations in prop::collection::vec((any::<u32>(), any::<u32>(), 0..20u32), 1..300),
    ) {
        let mut bench = bench(&settings, full);
        for (page, run, kind) in operations {
            operate(&mut bench, page, run, kind);
            bench.check();
        }
    }

    #[test]
    fn pages_that_are_not_followed_change_nothing(
        settings in settings(),
        operations in prop::collection::vec((any::<u32>(), any::<u32>(), 0..20u32), 1..200),
    ) {
        let mut followed = bench(&settings, true);
        let mut other = followed.clone();
        other.ops = Ops::new(false);
        // Nobody tells this array which pages merges program.
        other.array.programmed.iter_mut().flatten().for_each(|next| *next = 0);
        for (page, run, kind) in operations {
            operate(&mut followed, page, run, kind);
            other.array.programmed.iter_mut().flatten().for_each(|next| *next = 0);
            operate(&mut other, page, run, kind);
        }
        prop_assert_eq!(followed.array.events, other.array.events);
    }

    #[test]
    fn snapshots_do_not_see_each_other(
        settings in settings(),
        before in prop::collection::vec((any::<u32>(), any::<u32>(), 0..20u32), 1..60),
        one in prop::collection::vec((any::<u32>(), any::<u32>(), 0..20u32), 1..60),
        two in prop::collection::vec((any::<u32>(), any::<u32>(), 0..20u32), 1..60),
    ) {
        let mut first = bench(&settings, true);
        let run = |bench: &mut Bench, operations: &[(u32, u32, u32)]| {
            for (page, length, kind) in operations {
                operate(bench, *page, *length, *kind);
            }
            bench.check();
        };
        run(&mut first, &before);
        let ftl = first.ftl.snapshot();
        let mut second = Bench { ftl, ..first.clone() };
        run(&mut first, &one);
        run(&mut second, &two);
        run(&mut first, &two);
    }
}
