//! The disk of a desktop in daily use: somebody surfs, writes, develops programs and plays, one after the other; the
//! system writes what it always writes; and every now and then something large is downloaded or installed.
//!
//! A step is a second. What each activity writes is in the tables of `windows.rs` and `ubuntu.rs`; when it reaches the
//! disk is the file system's. Large files are written, at most a few megabytes a second, whenever the mean size of the
//! requests is not above the one asked for: so the share of downloads and installations follows from the mean.

mod hot;
mod transfers;
mod ubuntu;
mod windows;

use std::collections::VecDeque;

use super::{
    draw::{Draw, Purpose},
    share::Share,
    volume::{Ext3, File, FileSystem, GROUP, Ntfs, Options, Place, Queue, Run},
};
use crate::SECTOR_BYTES;
use hot::{Hot, HotFile, When};
use transfers::Transfers;

/// Activity of the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Activity {
    /// Pages with many small objects, kept in a cache of bounded size.
    Surf,
    /// A document that is saved again and again, each time as a new file in place of the old one.
    Write,
    /// Builds: objects made anew, and a program linked from them.
    Develop,
    /// Saved games.
    Play,
}

/// Writes of one desktop.
#[derive(Debug)]
struct Habits {
    /// The activities and their shares of the time, in sixteenths.
    activities: [(Activity, u64); 4],
    /// The browser's cache, bytes.
    cache_bytes: u64,
    /// Objects from this size on have a file of their own in the cache, bytes.
    cache_file_bytes: u64,
    /// Files that are rewritten in place.
    hot: &'static [Hot],
}

/// The state of a desktop.
#[derive(Clone, Debug)]
pub(super) struct Desktop<F> {
    fs: F,
    draw: Draw,
    habits: &'static Habits,
    mean_bytes: u64,
    second: u64,
    activity: Activity,
    /// Until the user does something else, seconds.
    left: u64,
    hot: Vec<HotFile>,
    cache: Vec<VecDeque<File>>,
    cache_bytes: u64,
    documents: Vec<File>,
    objects: Vec<File>,
    program: Option<File>,
    games: Vec<File>,
    transfers: Transfers,
    /// Where directories of each purpose are, as clusters.
    home: Home,
}

/// The clusters near which each purpose has its files.
#[derive(Clone, Copy, Debug)]
struct Home {
    system: u64,
    cache: u64,
    documents: u64,
    project: u64,
    games: u64,
}

/// Documents, objects and saved games that there are.
const DOCUMENTS: u64 = 32;
const OBJECTS: u64 = 128;
const GAMES: u64 = 4;
/// Directories that the browser spreads its cache over.
const CACHE_DIRECTORIES: u64 = 4;
/// A step in so many has an event of its activity, by activity: a page every 8 s, saving, building and playing every
/// half minute.
const SURF_SECONDS: u64 = 8;
const OTHER_SECONDS: u64 = 30;
/// Time that the user stays with an activity, seconds.
const SESSION_SECONDS: (u64, u64) = (60, 1200);
/// Objects of a page, and their sizes: 512 bytes to 64 KiB, 13 KiB on average.
const PAGE_OBJECTS: (u64, u64) = (4, 20);
const OBJECT_OCTAVES: (u64, u64) = (512, 7);
/// Documents: 16 to 512 KiB.
const DOCUMENT_OCTAVES: (u64, u64) = (16 << 10, 5);
/// Output of a build: 1 to 6 objects of 4 to 128 KiB, and every other time a program of 256 KiB to 1 MiB.
const BUILD_OBJECTS: (u64, u64) = (1, 6);
const BUILD_OCTAVES: (u64, u64) = (4 << 10, 5);
const PROGRAM_BYTES: (u64, u64) = (256 << 10, 1 << 20);
/// Saved games: 64 KiB to 2 MiB.
const GAME_OCTAVES: (u64, u64) = (64 << 10, 5);

impl Desktop<Ntfs> {
    /// Windows XP on NTFS.
    pub(super) fn windows(place: Place, options: &Options, seed: u64) -> Self {
        let mut fs = Ntfs::new(place);
        // Half the records belong to files that stay.
        let records = &mut fs.store_mut().records;
        let half = Run { start: 0, len: records.count() / 2 };
        records.reserve(half);
        // Directories have no place of their own: NTFS looks for room from the files that are near.
        let clusters = fs.store().clusters.count();
        let near = |part: u64| clusters / 32 * part;
        let (system, cache) = (near(1), near(8));
        let home = Home { system, cache, documents: near(9), project: near(10), games: near(11) };
        Self::new(fs, &windows::HABITS, home, options, seed)
    }
}

impl Desktop<Ext3> {
    /// Ubuntu on ext3.
    pub(super) fn ubuntu(place: Place, options: &Options, seed: u64) -> Self {
        let mut fs = Ext3::new(place);
        fs.reserve_half_of_inodes();
        let mut draw = Draw::new(seed, Purpose::Layout);
        // Directories at the top are spread over the groups, and what is in them stays there (Orlov's allocator).
        let groups = fs.store().clusters.count().div_ceil(GROUP);
        let mut near = || draw.below(groups) * GROUP;
        let home = Home { system: near(), cache: near(), documents: near(), project: near(), games: near() };
        Self::new(fs, &ubuntu::HABITS, home, options, seed)
    }
}

impl<F: FileSystem> Desktop<F> {
    fn new(fs: F, habits: &'static Habits, home: Home, options: &Options, seed: u64) -> Self {
        let transfers = Transfers::new(fs.store(), options.fill, seed);
        let mut desktop = Self {
            fs,
            draw: Draw::new(seed, Purpose::Addresses),
            habits,
            mean_bytes: options.mean_bytes,
            second: 0,
            activity: Activity::Surf,
            left: 0,
            hot: Vec::new(),
            cache: vec![VecDeque::new(); CACHE_DIRECTORIES as usize],
            cache_bytes: 0,
            documents: Vec::new(),
            objects: Vec::new(),
            program: None,
            games: Vec::new(),
            transfers,
            home,
        };
        desktop.settle(options.fill);
        desktop
    }

    /// Makes the files that are there from the start, without writing them: three fifths of what the volume is kept at
    /// stay for ever, among them the system's; then files come and go until as much as the volume holds has passed.
    fn settle(&mut self, fill: Share) {
        let store = self.fs.store();
        let (clusters, volume_bytes) = (store.clusters.count(), store.bytes());
        for hot in self.habits.hot {
            let near_record = self.fs.near_record(self.home.system);
            let size = hot.size(volume_bytes);
            if let Some(file) = self.fs.store_mut().create(self.home.system, near_record, size) {
                self.hot.push(HotFile::new(hot, file));
            }
        }
        let draw = &mut self.draw;
        let store = self.fs.store_mut();
        let used = fill.of(clusters * 3 / 5).max(1);
        let mut at = 0;
        while at < clusters {
            // Runs of 1 to 16 MiB that stay, with room between them such that the share is met.
            let len = draw.between(256, 4096);
            store.clusters.reserve(Run { start: at, len });
            at += len + draw.below(2 * (len * (clusters - used) / used) + 1);
        }
        self.transfers.age(&mut self.fs);
        let mut silent = Queue::new(1);
        for _ in 0..DOCUMENTS {
            let size = self.draw.octaves(DOCUMENT_OCTAVES.0, DOCUMENT_OCTAVES.1);
            self.documents.extend(self.fs.create(self.home.documents, size));
        }
        for _ in 0..OBJECTS {
            let size = self.draw.octaves(BUILD_OCTAVES.0, BUILD_OCTAVES.1);
            self.objects.extend(self.fs.create(self.home.project, size));
        }
        for _ in 0..GAMES {
            let size = self.draw.octaves(GAME_OCTAVES.0, GAME_OCTAVES.1);
            self.games.extend(self.fs.create(self.home.games, size));
        }
        self.fs.commit(&mut silent);
    }

    /// A second passes.
    pub(super) fn step(&mut self, out: &mut Queue) {
        self.second += 1;
        if self.left == 0 {
            self.left = self.draw.between(SESSION_SECONDS.0, SESSION_SECONDS.1);
            self.activity = self.choose();
        }
        self.left -= 1;
        let every = if self.activity == Activity::Surf { SURF_SECONDS } else { OTHER_SECONDS };
        if self.draw.below(every) == 0 {
            match self.activity {
                Activity::Surf => self.surf(out),
                Activity::Write => self.save(out),
                Activity::Develop => self.build(out),
                Activity::Play => self.save_game(out),
            }
            let activity = self.activity;
            self.rewrite(|when| when == When::On(activity), out);
        }
        let second = self.second;
        self.rewrite(|when| matches!(when, When::Every(seconds) if second.is_multiple_of(seconds)), out);
        if !out.is_above(self.mean_bytes) {
            self.transfers.proceed(&mut self.fs, out);
        }
        self.fs.tick(out);
    }

    fn choose(&mut self) -> Activity {
        let mut number = self.draw.below(16);
        for (activity, sixteenths) in self.habits.activities {
            if number < sixteenths {
                return activity;
            }
            number -= sixteenths;
        }
        Activity::Surf
    }

    /// Rewrites parts of the files that are due.
    fn rewrite(&mut self, due: impl Fn(When) -> bool, out: &mut Queue) {
        for hot in self.hot.iter_mut().filter(|hot| due(hot.habit.when)) {
            hot.rewrite(&mut self.fs, &mut self.draw, out);
        }
    }

    /// A page: its objects come into the cache, which loses its oldest ones for them.
    fn surf(&mut self, out: &mut Queue) {
        let limit = self.habits.cache_bytes.min(self.fs.store().bytes() / 64);
        for _ in 0..self.draw.between(PAGE_OBJECTS.0, PAGE_OBJECTS.1) {
            let size = self.draw.octaves(OBJECT_OCTAVES.0, OBJECT_OCTAVES.1);
            if size < self.habits.cache_file_bytes {
                continue;
            }
            let directory = self.draw.below(CACHE_DIRECTORIES) as usize;
            while self.cache_bytes + size > limit || self.fs.store().records.free() == 0 {
                let longest = (0..self.cache.len()).max_by_key(|index| self.cache[*index].len());
                let Some(old) = longest.and_then(|index| self.cache[index].pop_front()) else { break };
                self.cache_bytes -= old.bytes;
                self.fs.delete(&old);
            }
            if let Some(file) = put(&mut self.fs, self.home.cache, size, out) {
                self.cache_bytes += size;
                self.cache[directory].push_back(file);
            }
        }
    }

    /// A document is written as a new file, then the old one goes.
    fn save(&mut self, out: &mut Queue) {
        let index = self.draw.skewed(DOCUMENTS) as usize;
        let Some(bytes) = self.documents.get(index).map(|old| old.bytes) else { return };
        replace(&mut self.fs, &mut self.documents[index], self.home.documents, bytes, out);
    }

    fn build(&mut self, out: &mut Queue) {
        for _ in 0..self.draw.between(BUILD_OBJECTS.0, BUILD_OBJECTS.1) {
            let index = self.draw.skewed(OBJECTS) as usize;
            let Some(bytes) = self.objects.get(index).map(|old| old.bytes) else { continue };
            replace(&mut self.fs, &mut self.objects[index], self.home.project, bytes, out);
        }
        if self.draw.below(2) == 0 {
            let bytes = self.draw.between(PROGRAM_BYTES.0, PROGRAM_BYTES.1);
            if let Some(old) = self.program.take() {
                self.fs.delete(&old);
            }
            self.program = put(&mut self.fs, self.home.project, bytes, out);
        }
    }

    fn save_game(&mut self, out: &mut Queue) {
        let index = self.draw.below(GAMES) as usize;
        let Some(bytes) = self.games.get(index).map(|old| old.bytes) else { return };
        replace(&mut self.fs, &mut self.games[index], self.home.games, bytes, out);
    }
}

/// A new file, with its data.
fn put<F: FileSystem>(fs: &mut F, near: u64, bytes: u64, out: &mut Queue) -> Option<File> {
    let file = fs.create(near, bytes)?;
    write_all(fs, &file, out);
    Some(file)
}

/// Writes all of a file.
fn write_all<F: FileSystem>(fs: &mut F, file: &File, out: &mut Queue) {
    let sectors = file.bytes.div_ceil(SECTOR_BYTES).next_multiple_of(fs.page_sectors());
    fs.write(file, 0, sectors, out);
}

/// A new file in the place of an old one, which is there until the new one is complete.
fn replace<F: FileSystem>(fs: &mut F, old: &mut File, near: u64, bytes: u64, out: &mut Queue) {
    if let Some(file) = put(fs, near, bytes, out) {
        fs.delete(&std::mem::replace(old, file));
    }
}
