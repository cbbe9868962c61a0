//! Drives that the long tests found, cut down to what fails without the rule that the test is named after.

use flashweir_trace::{Op, Request};

use super::compare;

fn write(time_ns: u64, lba: u64, sectors: u32) -> Request {
    Request { time_ns, lba, sectors, stream: 0, op: Op::Write, handle: 0 }
}

/// Runs a drive every way there is.
fn run(settings: &[(&'static str, &str)], requests: &[Request]) {
    let settings: Vec<_> = settings.iter().map(|(key, value)| (*key, (*value).to_owned())).collect();
    compare(&settings, requests);
}

/// In one step a unit fills a superblock with relocated pages, some of them stale by then, and moves the others on.
#[test]
fn a_page_that_is_moved_twice_in_a_step_is_read_when_it_is_programmed() {
    let settings = [
        ("alloc.kind", "superblock"),
        ("alloc.superblock_dies", "2"),
        ("background.write_back.after", "9us"),
        ("buffer.backpressure", "free"),
        ("buffer.bytes", "5KiB"),
        ("buffer.destage", "marks"),
        ("buffer.free_below", "2"),
        ("buffer.high_mark", "1"),
        ("capacity", "32KiB"),
        ("channels", "3"),
        ("chips", "2"),
        ("clock", "lock-step"),
        ("dies", "2"),
        ("firmware.complete_time", "300us"),
        ("firmware.cores", "4"),
        ("firmware.lookup_time", "300us"),
        ("firmware.write_time", "300us"),
        ("ftl.batch_update", "false"),
        ("ftl.kind", "dftl"),
        ("gc.frontiers", "2"),
        ("gc.planner", "cycle-filling"),
        ("gc.victim", "cost-benefit"),
        ("host.link", "20MB/s"),
        ("host.max_transfer", "512"),
        ("nand.bad_blocks", "0.1"),
        ("nand.programs", "foggy-fine"),
        ("op_ratio", "2.5"),
        ("page", "1KiB"),
        ("pages_per_block", "1"),
        ("timing.program", "100us,300us"),
        ("wear.static_gap", "1"),
    ];
    let pages = [
        (31, 2),
        (19, 6),
        (52, 5),
        (64, 7),
        (57, 1),
        (29, 5),
        (10, 1),
        (22, 3),
        (65, 6),
        (17, 6),
        (8, 1),
        (13, 1),
        (44, 9),
        (70, 1),
        (64, 3),
        (35, 4),
        (25, 2),
        (33, 6),
        (67, 5),
        (52, 1),
    ];
    let requests: Vec<_> =
        (0..).zip(pages).map(|(number, (lba, sectors))| write(number * 1_000_000, lba, sectors)).collect();
    run(&settings, &requests);
}

/// A read writes a translation page back. Room for that page is made by ending the collection in progress.
#[test]
fn a_collection_that_a_look_up_ends_is_over() {
    let settings = [
        ("capacity", "128KiB"),
        ("channels", "3"),
        ("chips", "1"),
        ("clock", "lock-step"),
        ("fill", "0.9"),
        ("ftl.cache_bytes", "1KiB"),
        ("ftl.kind", "dftl"),
        ("host.mode", "open"),
        ("host.slots", "2"),
        ("nand.bad_blocks", "0.1"),
        ("op_ratio", "1.3"),
        ("page", "1KiB"),
        ("pages_per_block", "11"),
        ("precondition", "steady"),
    ];
    let pages = [
        (96, 15),
        (222, 15),
        (174, 15),
        (2, 13),
        (18, 15),
        (190, 11),
        (50, 13),
        (66, 15),
        (114, 9),
        (146, 13),
        (242, 13),
        (128, 13),
        (144, 3),
        (28, 11),
    ];
    let mut requests: Vec<_> =
        (0..).zip(pages).map(|(number, (lba, sectors))| write(number * 1_000_000, lba, sectors)).collect();
    requests[13].op = Op::Read;
    run(&settings, &requests);
}

/// A page that was there before the run takes a part of the last page of flash of the host's open block, the only one that is not
/// erased.
#[test]
fn a_block_whose_last_page_of_flash_holds_old_data_may_be_collected() {
    let settings = [
        ("alloc.kind", "superblock"),
        ("capacity", "128KiB"),
        ("channels", "3"),
        ("chips", "2"),
        ("clock", "lock-step"),
        ("dies", "2"),
        ("ftl.map_unit", "1KiB"),
        ("nand.bad_blocks", "0.1"),
        ("nand.seed", "7"),
        ("op_ratio", "2.5"),
        ("page", "2KiB"),
        ("pages_per_block", "4"),
        ("planes", "2"),
        ("units", "synchronized"),
    ];
    let pages = [
        (130, 1),
        (51, 2),
        (260, 1),
        (44, 9),
        (207, 1),
        (81, 6),
        (8, 1),
        (248, 1),
        (213, 1),
        (147, 1),
        (195, 1),
        (87, 2),
        (34, 1),
        (267, 1),
        (65, 4),
        (235, 1),
        (90, 1),
        (143, 1),
        (268, 1),
        (276, 1),
        (216, 1),
        (65, 4),
        (19, 1),
        (210, 1),
        (75, 1),
        (214, 1),
        (270, 1),
        (100, 1),
        (164, 1),
    ];
    let mut requests = pages.map(|(lba, sectors)| write(0, lba, sectors));
    requests[27].op = Op::Read;
    run(&settings, &requests);
}

/// Each set of dies is a station of its own where there is no common clock.
#[test]
fn in_order_a_station_writes_no_page_of_another_ones_superblocks() {
    let settings = [
        ("channels", "4"),
        ("page", "1KiB"),
        ("pages_per_block", "4"),
        ("timing.program", "100us,300us"),
        ("ftl.kind", "dftl"),
        ("alloc.kind", "superblock"),
        ("alloc.superblock_dies", "1"),
        ("gc.planner", "forwarding"),
        ("buffer.order", "in-order"),
        ("buffer.bytes", "8KiB"),
    ];
    let settings = settings.map(|(key, value)| (key, value.to_owned())).to_vec();
    let config = super::config(&settings, "auto").expect("a legal drive");
    for (seed, workload) in (0..).zip(super::Workload::ALL) {
        compare(&settings, &workload.requests(&config, 48, seed));
    }
}
