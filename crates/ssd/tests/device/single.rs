//! Single requests of every kind, calculated by hand to the nanosecond: 512 B, 4 KiB and 128 KiB, reads and writes, mapping by page
//! and by 4 KiB, one and two planes, codewords and whole pages, behind firmware and link; and a request that comes a nanosecond
//! before, as, and after the die is free again.

use flashweir_trace::{Op, Request};

use super::rig::{Setting, run, sectors};

/// Array times, ns.
const READ: u64 = 50_000;
const PROGRAM: u64 = 500_000;
/// A page of 16 KiB over a bus, or a link, of a nanosecond a byte.
const PAGE: u64 = 16_384;
/// A codeword over the bus.
const WORD: u64 = 1_024;
/// A mapping unit, or a request of 4 KiB, over the bus or the link.
const UNIT: u64 = 4_096;
/// A sector over the link.
const SECTOR: u64 = 512;
/// A request of 128 KiB over the link.
const LONG: u64 = 131_072;
/// Firmware of a read and of a write, ns.
const OF_READ: u64 = 5_000;
const OF_WRITE: u64 = 3_000;

const BASE: [Setting; 15] = [
    ("page", "16KiB"),
    ("pages_per_block", "64"),
    ("capacity", "16MiB"),
    ("op_ratio", "0.5"),
    ("precondition", "full"),
    ("timing.read", "50us"),
    ("timing.program", "500us"),
    ("timing.erase", "3ms"),
    ("timing.command", "0"),
    ("host.link", "1GB/s"),
    ("firmware.read_time", "5us"),
    ("firmware.write_time", "3us"),
    ("nand.codeword", "1KiB"),
    ("timing.multi_plane", "true"),
    ("buffer.bytes", "0"),
];

/// A drive, and when single requests end: reads of 512 B, 4 KiB, 128 KiB, then writes. And since when the die is free after reads.
struct Case {
    transfer: &'static str,
    unit: &'static str,
    planes: &'static str,
    reads: [u64; 3],
    writes: [u64; 3],
    free: [u64; 3],
}

impl Case {
    fn run(&self, requests: &[Request]) -> Vec<u64> {
        let own = [("nand.transfer", self.transfer), ("ftl.map_unit", self.unit), ("planes", self.planes)];
        let settings: Vec<_> = BASE.into_iter().chain(own).collect();
        run(&settings, requests).completions()
    }
}

fn cases() -> [Case; 6] {
    // 128 KiB are eight pages, one after the other, or four times two; a page leaves on the link while the next is read.
    let one_plane = OF_READ + 8 * (READ + PAGE);
    let two_planes = OF_READ + 4 * (READ + 2 * PAGE);
    let long = [one_plane + PAGE, two_planes + 2 * PAGE];
    let written = [OF_WRITE + LONG + 8 * (PAGE + PROGRAM), OF_WRITE + LONG + 4 * (2 * PAGE + PROGRAM)];
    let words = [OF_READ + READ + WORD + SECTOR, OF_READ + READ + UNIT + UNIT];
    let pages = [OF_READ + READ + PAGE + SECTOR, OF_READ + READ + PAGE + UNIT];
    // Read, what is not overwritten out, a page in, programmed.
    let rewritten = |link: u64, out: u64| OF_WRITE + link + READ + out + PAGE + PROGRAM;
    let of_pages = [rewritten(SECTOR, PAGE), rewritten(UNIT, PAGE - UNIT)];
    let whole_pages = [rewritten(SECTOR, PAGE), rewritten(UNIT, PAGE)];
    let of_units = [rewritten(SECTOR, UNIT), OF_WRITE + UNIT + PAGE + PROGRAM];
    let make = |transfer, unit, planes, short: [u64; 2], small: [u64; 2]| {
        let number = usize::from(planes == "2");
        Case {
            transfer,
            unit,
            planes,
            reads: [short[0], short[1], long[number]],
            writes: [small[0], small[1], written[number]],
            free: [short[0] - SECTOR, short[1] - UNIT, [one_plane, two_planes][number]],
        }
    };
    [
        make("codeword", "auto", "1", words, of_pages),
        make("page", "auto", "1", pages, whole_pages),
        make("codeword", "4KiB", "1", words, of_units),
        make("page", "4KiB", "1", pages, [whole_pages[0], of_units[1]]),
        make("codeword", "auto", "2", words, of_pages),
        make("codeword", "4KiB", "2", words, of_units),
    ]
}

const SIZES: [u32; 3] = [1, 8, 256];

#[test]
fn single_requests_end_when_calculated() {
    for case in cases() {
        let each = |op| SIZES.map(|size| case.run(&[sectors(0, op, 0, size)])[0]);
        let name = format!("{} by {} on {} planes", case.transfer, case.unit, case.planes);
        assert_eq!(each(Op::Read), case.reads, "reads, {name}");
        assert_eq!(each(Op::Write), case.writes, "writes, {name}");
    }
}

#[test]
fn the_next_read_waits_until_the_die_is_free() {
    for case in cases() {
        for (op, free) in [(Op::Read, case.free), (Op::Write, case.writes)] {
            for (size, free_ns) in SIZES.into_iter().zip(free) {
                for at in [free_ns - 1, free_ns, free_ns + 1] {
                    // Of the same page, so of the same plane; it reaches the die as its firmware ends.
                    let second = sectors(at - OF_READ, Op::Read, 0, 8);
                    let ends = case.run(&[sectors(0, op, 0, size), second]);
                    let alone = case.reads[1] - OF_READ;
                    // Data of the first one are off the link before.
                    assert_eq!(
                        ends[1],
                        at.max(free_ns) + alone,
                        "{op:?} of {size} sectors, {at} to {free_ns}"
                    );
                }
            }
        }
    }
}
