//! Files that Windows XP and its programs rewrite.
//!
//! Sources: the registry is flushed lazily every 5 s, its log first, in sectors (Russinovich and Solomon, Windows
//! Internals, 4th edition, chapter 4); the modified page writer writes up to 64 KiB at once (chapter 7); the page file
//! has 1.5 times the memory by default, which is 1 GiB here. Sizes of hives, of the browser's and the compiler's
//! databases, and how often they are written, are plausible round numbers and not measured.

use super::{
    Activity, Habits,
    hot::{Hot, Spot, When},
};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

pub(super) const HABITS: Habits = Habits {
    activities: [(Activity::Surf, 7), (Activity::Write, 4), (Activity::Develop, 3), (Activity::Play, 2)],
    cache_bytes: 256 * MIB,
    cache_file_bytes: 0,
    hot: &[
        // Registry log.
        hot(256 * KIB, 512, (2, 9), Spot::Start, When::Every(5)),
        // Registry hive.
        hot(32 * MIB, 4 * KIB, (1, 6), Spot::Popular, When::Every(5)),
        // Registry hive, its first sector.
        hot(4 * KIB, 512, (1, 1), Spot::Start, When::Every(5)),
        // Event log.
        hot(512 * KIB, 4 * KIB, (1, 2), Spot::Append, When::Every(30)),
        // Prefetch.
        hot(4 * MIB, 16 * KIB, (1, 4), Spot::Anywhere, When::Every(120)),
        // Index of the browser's cache.
        hot(4 * MIB, 4 * KIB, (2, 6), Spot::Popular, When::On(Activity::Surf)),
        // Index of the history.
        hot(MIB, 4 * KIB, (1, 2), Spot::Popular, When::On(Activity::Surf)),
        // Links to recent documents.
        hot(MIB, 4 * KIB, (1, 2), Spot::Popular, When::On(Activity::Write)),
        // Symbols and classes.
        hot(16 * MIB, 4 * KIB, (4, 16), Spot::Popular, When::On(Activity::Develop)),
        // Page file, for programs.
        hot(1024 * MIB, 4 * KIB, (1, 16), Spot::Anywhere, When::Every(15)),
        // Page file, for games.
        hot(512 * MIB, 4 * KIB, (4, 16), Spot::Anywhere, When::On(Activity::Play)),
    ],
};

const fn hot(bytes: u64, unit_bytes: u64, units: (u64, u64), spot: Spot, when: When) -> Hot {
    Hot { bytes, unit_bytes, units, spot, when, sync: false }
}
