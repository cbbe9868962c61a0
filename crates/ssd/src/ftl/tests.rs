//! Data in, data out: for each layer a handful of writes to a drive of one unit, in blocks of 4 pages, and the exact
//! operations that it lists for the last of them. Page p of block b is physical page 4 b + p.

use super::*;
use crate::config::layers::{Layer, resolve};
use crate::op::{CommandKind, Effect, Purpose};

/// An operation, with the pages that it moves.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Listed {
    Copies { opens: u8, moves: Vec<(u32, u32)> },
    Erased { block: u32 },
    MapRead { ppn: u32, work: MapWork },
    MapProgrammed { opens: u8, page: u32, ppn: u32, work: MapWork },
}

use Listed::{Copies, Erased, MapProgrammed, MapRead};

/// A drive of one unit.
struct Drive {
    ftl: Ftl,
    ops: Ops,
}

impl Drive {
    /// Of so many logical pages, each written once, in order.
    fn full(pages: u32, settings: &[(&'static str, &'static str)]) -> Self {
        let capacity = (pages * 512).to_string();
        let shape =
            [("channels", "1"), ("page", "512"), ("pages_per_block", "4"), ("capacity", capacity.as_str())];
        let layers = [shape.as_slice(), settings].map(|part| Layer::from_assignments("test", part.to_vec()));
        let config = resolve(&layers).expect("legal");
        let geometry = Geometry::new(&config).expect("legal");
        let mut drive =
            Self { ftl: Ftl::new(&config.ftl, &config.upkeep(), &geometry, None, 1), ops: Ops::new(true) };
        for key in 0..pages {
            drive.write(key);
        }
        drive
    }

    /// Operations that the layer lists for the next version of a page.
    fn write(&mut self, key: u32) -> (Vec<Listed>, Written) {
        self.ops.clear();
        let written = self.ftl.write(Home { unit: 0, key }, None, 0, &mut self.ops).expect("there is room");
        (self.listed(), written)
    }

    /// As [`Drive::write`], for several pages: the operations of all of them, without where they went.
    fn write_all(&mut self, keys: impl IntoIterator<Item = u32>) -> Vec<Listed> {
        keys.into_iter().flat_map(|key| self.write(key).0).collect()
    }

    fn listed(&self) -> Vec<Listed> {
        let listed = self.ops.list().iter().map(|op| {
            assert_eq!(op.unit, 0);
            let (listed, pages, shape) = match &op.effect {
                Effect::Moved(range) => {
                    let moves = self.ops.moves(range).to_vec();
                    let pages = moves.len() as u32;
                    (Copies { opens: op.opens, moves }, pages, (CommandKind::Copies, Purpose::Gc))
                }
                Effect::Erased { block } => (Erased { block: *block }, 1, (CommandKind::Erase, Purpose::Gc)),
                Effect::MapRead { ppn, work } => {
                    (MapRead { ppn: *ppn, work: *work }, 1, (CommandKind::Read, Purpose::Mapping))
                }
                Effect::MapProgrammed { page, ppn, work, .. } => (
                    MapProgrammed { opens: op.opens, page: *page, ppn: *ppn, work: *work },
                    1,
                    (CommandKind::Program, Purpose::Mapping),
                ),
                other => panic!("the host's own operations are not the layer's: {other:?}"),
            };
            assert_eq!((op.pages, (op.kind, op.purpose)), (pages, shape), "{listed:?}");
            listed
        });
        listed.collect()
    }
}

fn over(ppn: u32, old: u32) -> Written {
    Written { ppn, old: Some((0, old)) }
}

#[test]
fn page_mapping_moves_what_is_valid_and_erases_the_victim() {
    let mut drive = Drive::full(12, &[("op_ratio", "0.7"), ("gc.victim", "greedy")]);
    // Blocks 3 and 4 take these; of block 2 only page 9 is valid then.
    assert_eq!(drive.write_all([0, 5, 10, 3, 8, 1, 6, 11]), []);
    let expected = [Copies { opens: 1, moves: vec![(9, 20)] }, Erased { block: 2 }];
    // The page follows the one that was moved.
    assert_eq!(drive.write(4), (expected.to_vec(), over(21, 4)));
    assert_eq!(drive.write_all([9, 2]), []);
    // Nothing in block 0 is valid any more: a copy less.
    assert_eq!(drive.write(7), (vec![Erased { block: 0 }], over(8, 7)));
}

#[test]
fn dftl_reads_and_programs_translation_pages() {
    // One entry is cached of the only translation page.
    let settings =
        [("op_ratio", "1.5"), ("gc.victim", "greedy"), ("ftl.kind", "dftl"), ("ftl.cache_bytes", "8")];
    let mut drive = Drive::full(12, &settings);
    let expected = [
        MapRead { ppn: 22, work: MapWork::Load },
        MapRead { ppn: 22, work: MapWork::WriteBack },
        MapProgrammed { opens: 0, page: 0, ppn: 23, work: MapWork::WriteBack },
    ];
    assert_eq!(drive.write(0), (expected.to_vec(), over(24, 0)));
    drive.write_all([5, 10, 3, 8, 1, 6, 11]);
    let expected = [
        MapRead { ppn: 14, work: MapWork::Load },
        MapRead { ppn: 14, work: MapWork::WriteBack },
        MapProgrammed { opens: 0, page: 0, ppn: 15, work: MapWork::WriteBack },
        // A block of translation pages of which none is valid, and one of which one is.
        Erased { block: 7 },
        Copies { opens: 1, moves: vec![(15, 20)] },
        Erased { block: 3 },
        // A block of data: the entry of the page moved is not in RAM.
        Copies { opens: 1, moves: vec![(17, 4)] },
        MapRead { ppn: 20, work: MapWork::Update },
        MapProgrammed { opens: 0, page: 0, ppn: 21, work: MapWork::Update },
        Erased { block: 4 },
    ];
    assert_eq!(drive.write(4), (expected.to_vec(), over(5, 8)));
    let tally = &drive.ops.tally;
    assert_eq!((tally.looked_up, tally.hits, tally.map_moves, tally.collections.len()), (1, 0, 1, 3));
}

/// A drive of 10 data blocks, all written; the blocks from 10 on are erased, and the log may take three of them.
fn with_log(kind: &'static str, more: &[(&'static str, &'static str)]) -> Drive {
    let settings: Vec<_> = [("op_ratio", "0.3"), ("ftl.kind", kind)].iter().chain(more).copied().collect();
    Drive::full(40, &settings)
}

#[test]
fn log_block_merges_the_data_blocks_of_its_oldest_log_block_in_full() {
    let mut drive = with_log("log-block", &[]);
    // The oldest log block has the newest versions of pages 1 and 5, and two older ones.
    assert_eq!(drive.write_all([1, 1, 1, 5, 9, 13, 17, 21, 25, 29, 33, 37]), []);
    let expected = [
        Copies { opens: 1, moves: vec![(0, 52), (42, 53), (2, 54), (3, 55)] },
        Erased { block: 0 },
        Copies { opens: 1, moves: vec![(4, 0), (43, 1), (6, 2), (7, 3)] },
        Erased { block: 1 },
        Erased { block: 10 },
    ];
    assert_eq!(drive.write(2), (expected.to_vec(), over(4, 54)));
    assert_eq!((drive.ops.tally.merges, drive.ops.tally.collections.as_slice()), ([2, 0, 0], [2].as_slice()));
}

#[test]
fn fast_switches_a_sequential_log_block_in_or_completes_it() {
    let mut drive = with_log("fast", &[("ftl.sw_full", "partial-merge")]);
    // All of data block 0 in order: its log block takes its place.
    assert_eq!(drive.write_all(0..4), []);
    assert_eq!(drive.write(4), (vec![Erased { block: 0 }], over(44, 4)));
    assert_eq!(drive.ops.tally.merges, [0, 0, 1]);
    // Of data block 1 two pages: the others are copied behind them.
    assert_eq!(drive.write_all([5]), []);
    let expected = [Copies { opens: 0, moves: vec![(6, 46), (7, 47)] }, Erased { block: 1 }];
    assert_eq!(drive.write(8), (expected.to_vec(), over(48, 8)));
    assert_eq!(drive.ops.tally.merges, [0, 1, 0]);
    assert!(drive.ops.tally.collections.is_empty(), "no block of the random log was collected");
}

#[test]
fn bast_switches_completes_or_merges_a_log_block_of_one_data_block() {
    let mut drive = with_log("bast", &[]);
    assert_eq!(drive.write_all(0..4), []);
    assert_eq!(drive.write(4), (vec![Erased { block: 0 }], over(44, 4)));
    assert_eq!(drive.ops.tally.merges, [0, 0, 1]);
    // No log block is free for page 17: that of data block 1, which holds pages 4 and 5, goes.
    assert_eq!(drive.write_all([5, 9, 13]), []);
    let expected = [Copies { opens: 0, moves: vec![(6, 46), (7, 47)] }, Erased { block: 1 }];
    assert_eq!(drive.write(17), (expected.to_vec(), over(0, 17)));
    assert_eq!(drive.ops.tally.merges, [0, 1, 0]);
    // The next one does not begin with the first page.
    let moves = vec![(8, 4), (48, 5), (10, 6), (11, 7)];
    let expected = [Copies { opens: 1, moves }, Erased { block: 2 }, Erased { block: 12 }];
    assert_eq!(drive.write(21), (expected.to_vec(), over(8, 21)));
    assert_eq!(drive.ops.tally.merges, [1, 0, 0]);
}

#[test]
fn kast_merges_no_more_data_blocks_than_share_a_log_block() {
    let mut drive = with_log("kast", &[("ftl.associativity", "2")]);
    assert_eq!(drive.write_all([1, 5, 9, 2, 13, 17, 21]), []);
    // The log block that was taken first has pages of data blocks 0 and 5.
    let expected = [
        Copies { opens: 1, moves: vec![(0, 52), (40, 53), (41, 54), (3, 55)] },
        Erased { block: 0 },
        Copies { opens: 1, moves: vec![(20, 56), (42, 57), (22, 58), (23, 59)] },
        Erased { block: 5 },
        Erased { block: 10 },
    ];
    assert_eq!(drive.write(25), (expected.to_vec(), over(0, 25)));
    assert_eq!((drive.ops.tally.merges, drive.ops.tally.collections.as_slice()), ([2, 0, 0], [2].as_slice()));
}

#[test]
fn direct_translation_programs_a_page_in_its_place() {
    let mut drive = Drive::full(12, &[("ftl.kind", "direct")]);
    assert_eq!(drive.write(7), (vec![], over(7, 7)));
    assert_eq!(drive.ftl.trim(Home { unit: 0, key: 7 }, &mut drive.ops), Ok(false));
    assert!(drive.ops.list().is_empty());
}

#[test]
fn a_zone_takes_its_pages_in_order_and_is_erased_with_its_last_one() {
    let mut drive = Drive::full(12, &[("ftl.kind", "zones"), ("ftl.host", "none")]);
    let home = |key| Home { unit: 0, key };
    let again = drive.ftl.write(home(4), None, 0, &mut drive.ops);
    let expected = RunError::ZoneOrder { unit: 0, block: 1, page: 0, next: 4 };
    assert_eq!(again.map(|written| written.ppn), Err(expected));
    drive.ops.clear();
    for key in 4..8 {
        assert_eq!(drive.ftl.trim(home(key), &mut drive.ops), Ok(true));
        let erases: Vec<_> = drive.ops.list().iter().map(|op| (op.purpose, &op.effect)).collect();
        let reset = (Purpose::Host, &Effect::Erased { block: 1 });
        assert_eq!(erases, if key == 7 { vec![reset] } else { vec![] });
    }
    assert_eq!(drive.write(4), (vec![], Written { ppn: 4, old: None }));
    assert_eq!(drive.ftl.lookup(home(5)), None);
}
