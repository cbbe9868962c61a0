//! Page types, word lines that are programmed at once or in two passes, spread between blocks, erases that take longer.

use flashweir_ssd::CommandKind::{self, Copies, Erase, Program, Read};
use flashweir_trace::Request;

use super::rig::{ERASE, PROGRAM, READ, Setting, TRANSFER, read, run, run_both, write};

/// Writes of the pages 0 to `count` - 1, all at once.
fn writes(count: u64) -> Vec<Request> {
    (0..count).map(|page| write(0, page)).collect()
}

/// Times of the commands of a kind, ns.
fn times(settings: &[Setting], requests: &[Request], kind: CommandKind) -> Vec<u64> {
    let spans = run_both(settings, requests).spans();
    spans.iter().filter(|span| span.0 == kind).map(|(_, start, end)| end - start).collect()
}

#[test]
fn a_page_takes_the_time_of_its_type() {
    // Blocks of 4 pages: lower, lower, upper, upper.
    let lists: [Setting; 2] = [("timing.read", "10us,30us"), ("timing.program", "50us,200us")];
    let shadow: Vec<Setting> = lists.into_iter().chain([("nand.page_order", "shadow")]).collect();
    let requests: Vec<_> = writes(8).into_iter().chain((0..8).map(|page| read(100_000_000, page))).collect();
    for (settings, upper) in [(&lists[..], [1, 3, 5, 7]), (&shadow[..], [2, 3, 6, 7])] {
        let is_upper = |page| upper.contains(&page);
        let programs = (0..8).map(|page| TRANSFER + if is_upper(page) { 200_000 } else { 50_000 });
        assert_eq!(times(settings, &requests, Program), programs.collect::<Vec<_>>());
        let reads = (0..8).map(|page| TRANSFER + if is_upper(page) { 30_000 } else { 10_000 });
        assert_eq!(times(settings, &requests, Read), reads.collect::<Vec<_>>());
    }
}

#[test]
fn a_word_line_is_programmed_when_its_last_page_is_loaded() {
    let settings = [("nand.programs", "one-shot"), ("nand.cell", "mlc")];
    let outcome = run_both(&settings, &writes(4));
    let line = 2 * TRANSFER + PROGRAM;
    assert_eq!(outcome.completions(), [TRANSFER, line, line + TRANSFER, 2 * line]);
    // A read that comes while a word line is programmed waits for all of it.
    for (arrival, begins) in [(TRANSFER - 1, TRANSFER), (TRANSFER + 1, line), (line - 1, line), (line, line)]
    {
        let mut requests = vec![write(0, 0)];
        if arrival >= TRANSFER {
            requests.push(write(0, 1));
        }
        requests.push(read(arrival, 0));
        let outcome = run_both(&settings, &requests);
        assert_eq!(outcome.completions().last(), Some(&(begins + TRANSFER + READ)), "arrival at {arrival}");
    }
    // As long as pages one by one in half the time.
    let one_by_one = run_both(&[("timing.program", "50us")], &writes(4));
    assert_eq!(one_by_one.completions().last(), outcome_end(&settings, 4).as_ref());
}

fn outcome_end(settings: &[Setting], count: u64) -> Option<u64> {
    run_both(settings, &writes(count)).completions().last().copied()
}

#[test]
fn a_word_line_gets_its_fine_pass_after_the_next_foggy_one() {
    let settings = [
        ("nand.programs", "foggy-fine"),
        ("nand.cell", "mlc"),
        ("timing.program", "100us,700us"),
        ("pages_per_block", "6"),
    ];
    let foggy = TRANSFER + 100_000;
    let fine = 2 * TRANSFER + 700_000;
    // Three word lines: the last one of the block gets both of its passes at once.
    let line = [TRANSFER, foggy, TRANSFER, foggy + fine, TRANSFER, foggy + 2 * fine];
    let expected: Vec<u64> = line.into_iter().chain(line).collect();
    assert_eq!(times(&settings, &writes(12), Program), expected);
}

#[test]
fn copies_of_a_collection_take_the_time_of_word_lines() {
    let small: [Setting; 3] = [("precondition", "full"), ("capacity", "48KiB"), ("op_ratio", "0.4")];
    let moves = |more: &[Setting]| {
        let settings: Vec<Setting> = small.iter().chain(more).copied().collect();
        let requests: Vec<_> = [0, 4, 8, 0, 1].into_iter().map(|page| write(0, page)).collect();
        let copies = times(&settings, &requests, Copies);
        assert_eq!(copies.len(), 1);
        copies[0]
    };
    let plain = moves(&[]);
    assert_eq!(plain, 3 * (READ + 2 * TRANSFER + PROGRAM));
    // Three pages into an erased block: one word line is full, of the other only the first page is loaded.
    let cells = [("nand.programs", "one-shot"), ("nand.cell", "mlc")];
    assert_eq!(moves(&cells), 3 * (READ + 2 * TRANSFER) + PROGRAM);
    let cells = [("nand.programs", "foggy-fine"), ("nand.cell", "mlc"), ("timing.program", "100us,700us")];
    assert_eq!(moves(&cells), 3 * (READ + 2 * TRANSFER) + 100_000);
}

#[test]
fn a_block_is_as_fast_in_all_that_it_does() {
    let settings = [("nand.spread", "0.2"), ("nand.seed", "3")];
    let requests: Vec<_> =
        writes(16).into_iter().chain((0..16).map(|page| read(100_000_000, page))).collect();
    let programs = times(&settings, &requests, Program);
    let reads = times(&settings, &requests, Read);
    let factor = |time: u64, nominal: u64| (time - TRANSFER) as f64 / nominal as f64;
    for block in 0..4 {
        let pages = block * 4..block * 4 + 4;
        assert!(programs[pages.clone()].iter().all(|time| *time == programs[block * 4]));
        let (program, read) = (factor(programs[block * 4], PROGRAM), factor(reads[block * 4], READ));
        assert!((program - read).abs() < 1e-4 && (0.3..1.7).contains(&program), "{program} {read}");
    }
    assert!(programs[0] != programs[4] && programs[4] != programs[8]);
    assert_ne!(programs, times(&[("nand.spread", "0.2"), ("nand.seed", "4")], &requests, Program));
    // A die's own factor.
    let dies = [("nand.die_spread", "0.2"), ("channels", "2")];
    let programs = run_both(&dies, &requests).commands;
    let of_die = |die| programs.iter().filter(move |command| command.0 == Program && command.1 == die);
    for die in [0, 1] {
        let first = of_die(die).next().map(|command| command.4 - command.3);
        assert!(of_die(die).all(|command| Some(command.4 - command.3) == first));
        assert_ne!(first, Some(TRANSFER + PROGRAM));
    }
}

#[test]
fn erases_take_longer_with_every_erase_of_the_block() {
    // Two blocks and the one that is kept erased, written in order over and over: they are erased in turn.
    let settings = [("capacity", "16KiB"), ("op_ratio", "1.0"), ("nand.erase_growth", "100")];
    let requests: Vec<_> = (0..40).map(|page| write(0, page % 4)).collect();
    let erases = times(&settings, &requests, Erase);
    // 100 per 1,000 erases: a tenth of the time by each.
    let expected: Vec<u64> = (0..erases.len() as u64).map(|number| ERASE + number / 3 * ERASE / 10).collect();
    assert!(erases.len() >= 7, "{erases:?}");
    assert_eq!(erases, expected);
    let outcome = run(&[("capacity", "16KiB"), ("op_ratio", "1.0")], &requests);
    assert!(outcome.spans().iter().filter(|span| span.0 == Erase).all(|span| span.2 - span.1 == ERASE));
}
