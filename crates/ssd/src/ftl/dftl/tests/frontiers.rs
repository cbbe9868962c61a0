//! Blocks that a drive of one unit takes: for wear levelling, and of its frontiers.

use super::*;

/// A drive of one unit that is full, its pages written once in order, and how many of its blocks hold data.
fn full(settings: &[(&str, &str)]) -> Bench {
    let base = [
        ("channels", "1"),
        ("page", "512"),
        ("pages_per_block", "4"),
        ("capacity", "16KiB"),
        ("op_ratio", "1"),
        ("ftl.kind", "dftl"),
        ("ftl.cache_bytes", "8"),
    ];
    let layers = [&base, settings].map(|part| Layer::from_assignments("test", part.to_vec()));
    let mut bench = Bench::new(&resolve(&layers).expect("legal"));
    for lpn in 0..32 {
        bench.write(lpn);
    }
    bench
}

#[test]
fn cold_data_moves_and_its_translation_page_is_written_once() {
    let mut bench = full(&[("wear.static_gap", "2")]);
    assert_eq!(bench.step(0, Work::Level), None, "no block was erased yet");
    while bench.ftl.page.units[0].blocks.most_erases() < 2 {
        bench.write(31);
    }
    let programs = bench.array.programs[MapWork::Update as usize];
    let steps: Vec<_> = (0..6).map_while(|_| bench.step(0, Work::Level)).collect();
    // Four pages, of which no entry is cached; they share a translation page.
    let copy = Step::Copy;
    assert_eq!(steps, [copy, copy, copy, copy, copy, Step::Erase]);
    assert_eq!(bench.array.programs[MapWork::Update as usize] - programs, 1);
    bench.check();
    assert_eq!(bench.ftl.page.units[0].blocks.erases(0), 1, "the least worn block was erased");
    assert_eq!(bench.step(0, Work::Level), None, "once for each page of the host");
    bench.write(31);
    assert!(bench.step(0, Work::Level).is_some());
}

#[test]
fn three_frontiers_keep_pages_of_the_host_collected_ones_and_translation_pages_apart() {
    let mut bench = full(&[("gc.frontiers", "2"), ("op_ratio", "0.625")]);
    let mut collected = 0;
    for number in 0..400 {
        let lpn = (number * number * 5 + number * 3) % 32;
        let moved = bench.array.moved;
        bench.write(lpn);
        bench.check();
        collected += bench.array.moved - moved;
        let (data, state) = (&bench.ftl.page.units[0], &bench.ftl.units[0]);
        let open = [data.host, data.collected, state.frontier];
        let blocks: Vec<_> =
            open.iter().filter(|frontier| frontier.next < 4).map(|frontier| frontier.block).collect();
        assert!(blocks.iter().enumerate().all(|(at, block)| !blocks[..at].contains(block)));
        assert_eq!(bench.mapped[&lpn].1 / 4, data.host.block, "what the host writes goes to its own block");
    }
    assert!(collected > 50, "{collected}");
}
