//! Random stacks of files, loop devices, partitions, file systems and swap, and what is known of them from having built them.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::stage::{MIB, Stage, noise, run, text, write_at};

const GROUND_BYTES: u64 = 48 * MIB;
/// Loop devices of a stack at most.
const MAX_LOOPS: usize = 5;

/// A part of another node.
#[derive(Clone, Copy, Debug)]
pub(super) struct On {
    pub(super) lower: usize,
    pub(super) start: u64,
    end: u64,
}

/// A file or device that was built.
#[derive(Debug)]
pub(super) struct Built {
    pub(super) path: PathBuf,
    pub(super) bytes: u64,
    /// Node that a device stands on, and its place there.
    pub(super) on: Option<On>,
    pub(super) is_partition: bool,
    /// In use by itself: mounted, swap, member of what is mounted, exclusively opened.
    used: bool,
    /// File system, if it is a file in one: its bytes are those of that device as well.
    inside: Option<usize>,
}

impl Built {
    fn is_loop(&self) -> bool {
        self.on.is_some() && !self.is_partition
    }
}

/// Blocks of 4 KiB that are not zero, by number.
pub(super) type Blocks = BTreeMap<u64, Vec<u8>>;

/// Those of a file or device; holes are passed over.
fn blocks_of(path: &Path) -> Blocks {
    let file = File::open(path).expect("opened");
    let _ = rustix::fs::fsync(&file);
    let mut blocks = Blocks::new();
    let mut at = 0;
    let mut buffer = vec![0; 1 << 20];
    loop {
        // A device has no holes to tell of.
        match rustix::fs::seek(&file, rustix::fs::SeekFrom::Data(at)) {
            Ok(data) => at = data / 4096 * 4096,
            Err(rustix::io::Errno::NXIO) => return blocks,
            Err(_) => {}
        }
        let read = file.read_at(&mut buffer, at).expect("read");
        if read == 0 {
            return blocks;
        }
        for (number, block) in buffer[..read].chunks(4096).enumerate() {
            if *block != [0; 4096][..block.len()] {
                blocks.insert(at / 4096 + number as u64, block.to_vec());
            }
        }
        at += read as u64;
    }
}

pub(super) struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit.max(1)
    }
}

pub(super) struct Stack {
    pub(super) built: Vec<Built>,
    /// Exclusive openers.
    openers: Vec<std::fs::File>,
    pub(super) random: Random,
    pub(super) history: Vec<String>,
    // Last, so that openers are gone before devices are detached.
    stage: Stage,
}

impl Stack {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            built: Vec::new(),
            openers: Vec::new(),
            random: Random(seed),
            history: Vec::new(),
            stage: Stage::new(),
        }
    }

    fn add(&mut self, path: PathBuf, bytes: u64, on: Option<On>) -> usize {
        self.built.push(Built { path, bytes, on, is_partition: false, used: false, inside: None });
        self.built.len() - 1
    }

    /// The way from a node down to the ground, with the part of each that it covers.
    pub(super) fn way(&self, node: usize) -> Vec<On> {
        let mut way = vec![On { lower: node, start: 0, end: self.built[node].bytes }];
        while let Some(on) = way.last().and_then(|last| self.built[last.lower].on) {
            let last = way[way.len() - 1];
            way.push(On {
                lower: on.lower,
                start: on.start + last.start,
                end: (on.start + last.end).min(on.end),
            });
        }
        way
    }

    /// True if a node stands on another one, or is it.
    fn stands_on(&self, upper: usize, lower: usize) -> bool {
        self.way(upper).iter().any(|on| on.lower == lower)
    }

    /// True if anybody uses a node, or a node that stands on it.
    fn is_busy_above(&self, node: usize) -> bool {
        (0..self.built.len()).any(|other| {
            let above = self.stands_on(other, node);
            above && (self.built[other].used || other != node && self.built[other].is_loop())
        })
    }

    /// The rule: who else has these bytes.
    pub(super) fn is_in_use(&self, node: usize) -> bool {
        let way = self.way(node);
        let used_below = way.iter().skip(1).any(|on| self.built[on.lower].used);
        let beside = (0..self.built.len()).any(|other| {
            let Some(place) = self.built[other].on else { return false };
            let shared = way.iter().skip(1).find(|on| on.lower == place.lower);
            let overlaps = shared.is_some_and(|on| on.start < place.end && place.start < on.end);
            let on_the_way = way.iter().any(|on| on.lower == other);
            overlaps && !on_the_way && (self.built[other].is_loop() || self.is_busy_above(other))
        });
        // A partition in use holds its disk, and with it what a loop device shows of that.
        let held_below = way.windows(2).any(|pair| {
            let parts = self
                .built
                .iter()
                .filter(|other| other.is_partition && other.on.is_some_and(|on| on.lower == pair[1].lower));
            self.built[pair[0].lower].is_loop() && parts.clone().any(|part| part.used)
        });
        self.is_busy_above(node) || used_below || beside || held_below
    }

    /// A node that may be formatted or written by the builder: nobody uses it, and nothing stands on it.
    fn untouched(&mut self) -> Option<usize> {
        let free: Vec<usize> = (0..self.built.len())
            .filter(|node| {
                !self.is_in_use(*node)
                    && self.built.iter().all(|other| other.on.is_none_or(|on| on.lower != *node))
            })
            .collect();
        (!free.is_empty()).then(|| free[self.random.below(free.len() as u64) as usize])
    }

    fn any(&mut self) -> Option<usize> {
        let count = self.built.len() as u64;
        (count > 0).then(|| self.random.below(count) as usize)
    }

    pub(super) fn step(&mut self) -> Option<()> {
        let choice = if self.built.is_empty() { 0 } else { self.random.below(12) };
        let before = self.built.len();
        match choice {
            0 | 1 => {
                self.new_file();
                Some(())
            }
            2..=4 => self.attach(),
            5 => self.partition(),
            6 | 7 => self.format_and_mount(),
            8 => self.swap(),
            9 => self.write_noise(),
            10 => self.open_exclusively(),
            _ => self.another_name(),
        }?;
        self.history.push(format!(
            "{choice}: {:?}",
            self.built[before..].iter().map(|built| &built.path).collect::<Vec<_>>()
        ));
        Some(())
    }

    fn new_file(&mut self) {
        let name = format!("ground-{}", self.built.len());
        let path = self.stage.file(&name, GROUND_BYTES);
        self.add(path, GROUND_BYTES, None);
    }

    fn attach(&mut self) -> Option<()> {
        let loops = self.built.iter().filter(|built| built.is_loop()).count();
        let lower = self.any().filter(|_| loops < MAX_LOOPS)?;
        let bytes = self.built[lower].bytes;
        // Swap is never under another device: the kernel refuses to write it.
        let start = [0, 0, 8 * MIB][self.random.below(3) as usize].min(bytes / 4 / 4096 * 4096);
        let end = [bytes, bytes, bytes / 2 / 4096 * 4096][self.random.below(3) as usize];
        let (offset, limit) = (start.to_string(), (end - start).to_string());
        let path = self.built[lower].path.clone();
        let device = self.stage.attach(&path, &["--offset", &offset, "--sizelimit", &limit])?;
        self.add(device, end - start, Some(On { lower, start, end }));
        Some(())
    }

    fn partition(&mut self) -> Option<()> {
        let disk = self.untouched().filter(|node| self.built[*node].is_loop())?;
        let half = self.built[disk].bytes / 2 / MIB * MIB;
        if half < 12 * MIB {
            return None;
        }
        let path = self.built[disk].path.clone();
        for (number, start) in [(1, MIB), (2, half)] {
            let bytes = half - MIB;
            let part = self.stage.partition(&path, number, start, bytes)?;
            let node = self.add(part, bytes, Some(On { lower: disk, start, end: start + bytes }));
            self.built[node].is_partition = true;
        }
        Some(())
    }

    fn format_and_mount(&mut self) -> Option<()> {
        let node = self.untouched().filter(|node| self.built[*node].on.is_some())?;
        let path = self.built[node].path.clone();
        let second = self.untouched().filter(|other| self.built[*other].on.is_some());
        let second = second.filter(|other| self.random.below(3) == 0 && !self.shares(node, *other));
        if let Some(other) = second {
            let others = self.built[other].path.clone();
            run("mkfs.btrfs", &["-q", "-f", "-M", text(&path), text(&others)])?;
        } else {
            run("mkfs.ext4", &["-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", text(&path)])?;
        }
        if self.random.below(3) == 0 {
            return Some(());
        }
        let name = format!("point-{}", self.history.len());
        let point = self.stage.mount(&path, &name)?;
        self.built[node].used = true;
        if let Some(other) = second {
            self.built[other].used = true;
        }
        let inner = point.join("inner");
        let bytes = self.built[node].bytes / 4 / 65_536 * 65_536;
        if bytes == 0 {
            return Some(());
        }
        std::fs::File::create(&inner).and_then(|file| file.set_len(bytes)).ok()?;
        let file = self.add(inner, bytes, None);
        self.built[file].inside = Some(node);
        Some(())
    }

    /// True if two nodes have bytes in common.
    fn shares(&self, left: usize, right: usize) -> bool {
        let ways = (self.way(left), self.way(right));
        ways.0.iter().any(|one| {
            ways.1
                .iter()
                .any(|other| one.lower == other.lower && one.start < other.end && other.start < one.end)
        })
    }

    fn swap(&mut self) -> Option<()> {
        let node = self.untouched()?;
        let path = self.built[node].path.clone();
        if self.built[node].on.is_none() {
            // A swap file has no holes; that of a btrfs is refused by mkswap or swapon, which is fine.
            std::fs::write(&path, vec![0; self.built[node].bytes as usize]).ok()?;
        }
        self.stage.swap_on(&path)?;
        self.built[node].used = true;
        Some(())
    }

    fn write_noise(&mut self) -> Option<()> {
        let node = self.untouched()?;
        let at = self.random.below(self.built[node].bytes - 8192);
        write_at(&self.built[node].path.clone(), at, &noise(5000));
        Some(())
    }

    fn open_exclusively(&mut self) -> Option<()> {
        use std::os::unix::fs::OpenOptionsExt;
        let node = self.untouched().filter(|node| self.built[*node].on.is_some())?;
        let flags = rustix::fs::OFlags::EXCL.bits().cast_signed();
        let opener =
            std::fs::File::options().read(true).custom_flags(flags).open(&self.built[node].path).ok()?;
        self.openers.push(opener);
        self.built[node].used = true;
        Some(())
    }

    /// Another name for a file, and perhaps its only one.
    fn another_name(&mut self) -> Option<()> {
        let node =
            self.any().filter(|node| self.built[*node].on.is_none() && self.built[*node].inside.is_none())?;
        let (old, new) =
            (self.built[node].path.clone(), self.stage.path(&format!("name-{}", self.history.len())));
        if self.built[node].used {
            // The path of active swap is needed to end it.
            return None;
        }
        std::fs::hard_link(&old, &new).ok()?;
        if self.random.below(2) == 0 {
            std::fs::remove_file(&old).ok()?;
        }
        self.built[node].path = new;
        Some(())
    }

    /// True if any byte of a node is not zero.
    pub(super) fn holds_data(&self, node: usize) -> bool {
        !blocks_of(&self.built[node].path).is_empty()
    }

    /// Bytes of all files that nothing mounted writes on its own.
    pub(super) fn grounds(&self) -> BTreeMap<usize, Blocks> {
        let quiet = |node: &usize| {
            let built = &self.built[*node];
            built.on.is_none() && built.inside.is_none() && !self.is_busy_above_but_loops(*node)
        };
        (0..self.built.len()).filter(quiet).map(|node| (node, blocks_of(&self.built[node].path))).collect()
    }

    fn is_busy_above_but_loops(&self, node: usize) -> bool {
        (0..self.built.len()).any(|other| self.stands_on(other, node) && self.built[other].used)
    }
}
