//! A page with one place went to a die that was collecting, while another die took pages: a drive of the long test, reduced.

use flashweir_trace::{Op, Request};

use super::{config, run};

/// Writes (true) and reads: first sector, sectors.
const REQUESTS: [(bool, u64, u32); 73] = [
    (true, 152, 6),
    (true, 109, 7),
    (true, 198, 5),
    (true, 219, 1),
    (true, 121, 2),
    (false, 177, 2),
    (true, 68, 7),
    (true, 122, 8),
    (false, 210, 1),
    (false, 17, 2),
    (true, 89, 4),
    (false, 142, 1),
    (true, 141, 2),
    (false, 119, 1),
    (false, 112, 4),
    (true, 209, 8),
    (false, 81, 1),
    (false, 199, 18),
    (true, 169, 2),
    (false, 43, 12),
    (false, 104, 1),
    (true, 211, 1),
    (false, 95, 1),
    (false, 30, 1),
    (true, 119, 2),
    (false, 232, 1),
    (true, 231, 7),
    (true, 7, 4),
    (false, 212, 1),
    (false, 141, 10),
    (true, 107, 7),
    (true, 168, 9),
    (false, 207, 1),
    (false, 89, 1),
    (true, 69, 6),
    (true, 118, 8),
    (false, 37, 1),
    (true, 178, 1),
    (false, 67, 18),
    (false, 70, 1),
    (true, 167, 6),
    (true, 85, 4),
    (false, 92, 1),
    (true, 115, 8),
    (false, 162, 1),
    (true, 233, 8),
    (false, 53, 1),
    (false, 90, 1),
    (true, 30, 5),
    (false, 88, 1),
    (true, 136, 3),
    (true, 54, 8),
    (false, 175, 1),
    (true, 137, 2),
    (false, 241, 2),
    (false, 239, 1),
    (true, 231, 9),
    (false, 247, 1),
    (false, 238, 1),
    (true, 235, 7),
    (false, 162, 1),
    (false, 214, 1),
    (true, 112, 1),
    (true, 84, 6),
    (false, 45, 1),
    (false, 9, 1),
    (true, 153, 2),
    (true, 90, 1),
    (false, 163, 1),
    (false, 67, 1),
    (true, 247, 4),
    (false, 136, 1),
    (true, 198, 5),
];

#[test]
fn a_page_with_one_place_waits_for_its_die() {
    let drive = [
        ("channels", "4"),
        ("page", "1KiB"),
        ("pages_per_block", "4"),
        ("capacity", "128KiB"),
        ("op_ratio", "2.5"),
        ("alloc.kind", "hybrid"),
        ("gc.planner", "cycle-filling"),
        ("buffer.replacement", "fab"),
        ("buffer.bytes", "8KiB"),
        ("tenants.applies", "same"),
        ("tenants.channels", "isolated"),
        ("planes", "2"),
        ("dies", "2"),
    ];
    let config = config(&drive.map(|(key, value)| (key, value.to_owned())), "event").expect("a legal drive");
    let request = |(is_write, lba, sectors)| {
        let op = if is_write { Op::Write } else { Op::Read };
        Request { time_ns: 0, lba, sectors, stream: 0, op, handle: 0 }
    };
    run(&config, &REQUESTS.map(request), false).unwrap_or_else(|error| panic!("{error}"));
}
