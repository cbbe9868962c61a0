//! A log, and a database of pages that are written in place behind it.
//!
//! A transaction appends a record to the log, flushes, and later its pages are written: here at once, since only their order
//! among log records would differ. Which pages those are is drawn with the popularity of `theta`, scattered over the
//! database.

use std::collections::VecDeque;

use super::super::place::Place as _;
use super::super::scatter::Scatter;
use super::super::volume::Place;
use super::super::zipf::Zipf;
use super::{Engine, Item, Options, Ring};
use crate::Op;

/// Handle of the log, and of the database.
const LOG: u8 = 0;
const PAGES: u8 = 1;

#[derive(Clone, Debug)]
pub(super) struct Btree {
    log: Ring,
    record: u64,
    flush_every: u64,
    records: u64,
    /// `None`: the log is all.
    database: Option<Database>,
}

#[derive(Clone, Debug)]
struct Database {
    start: u64,
    page: u64,
    /// Pages written for a record.
    pages: u64,
    popularity: Zipf,
}

impl Btree {
    pub(super) fn new(options: &Options, range: Place, seed: u64) -> Self {
        let (log_sectors, database) = match options.engine {
            Engine::Btree { log, page_sectors, pages, theta } => {
                let log_sectors = log.of(range.sectors / page_sectors) * page_sectors;
                let count = (range.sectors - log_sectors) / page_sectors;
                let popularity = Zipf::new(count, theta, Some(Scatter::new(count, seed)), seed);
                let start = range.lba + log_sectors;
                (log_sectors, Some(Database { start, page: page_sectors, pages, popularity }))
            }
            _ => (range.sectors, None),
        };
        Self {
            log: Ring::new(range.lba, log_sectors),
            record: options.record_sectors,
            flush_every: options.flush_every,
            records: 0,
            database,
        }
    }

    pub(super) fn step(&mut self, queue: &mut VecDeque<Item>) {
        let lba = self.log.append(self.record);
        queue.push_back(Item { op: Op::Write, lba, sectors: self.record, handle: LOG });
        self.records += 1;
        if self.flush_every > 0 && self.records.is_multiple_of(self.flush_every) {
            queue.push_back(Item::FLUSH);
        }
        let Some(database) = &mut self.database else { return };
        for _ in 0..database.pages {
            let page = database.popularity.place(1);
            let lba = database.start + page * database.page;
            queue.push_back(Item { op: Op::Write, lba, sectors: database.page, handle: PAGES });
        }
    }
}
