//! Files that Ubuntu of 2009 and its programs rewrite.
//!
//! Sources: Firefox 3 commits its database of places with every page, a journal file first, and waits for both (bug
//! 421482 of bugzilla.mozilla.org); its cache has 50 MB, objects up to 16 KiB of it in block files (the disk cache of
//! Firefox 3, `nsDiskCacheBlockFile`); logs are flushed by syslogd. Their sizes, and how often they are written, are
//! plausible round numbers and not measured. The swap space is a partition of its own and not part of this.

use super::{
    Activity, Habits,
    hot::{Hot, Spot, When},
};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

pub(super) const HABITS: Habits = Habits {
    activities: [(Activity::Surf, 8), (Activity::Write, 4), (Activity::Develop, 3), (Activity::Play, 1)],
    cache_bytes: 50 * MIB,
    cache_file_bytes: 16 * KIB,
    hot: &[
        // System log.
        hot(4 * MIB, (1, 2), Spot::Append, When::Every(20)),
        // Log of the session.
        hot(MIB, (1, 1), Spot::Append, When::Every(5)),
        // Settings.
        hot(4 * MIB, (1, 3), Spot::Popular, When::Every(60)),
        // Block files of the browser's cache.
        hot(12 * MIB, (4, 16), Spot::Popular, When::On(Activity::Surf)),
        // Map of the browser's cache.
        hot(256 * KIB, (1, 1), Spot::Start, When::On(Activity::Surf)),
        // Journal of places.
        waited(64 * KIB, (2, 5), Spot::Start, When::On(Activity::Surf)),
        // Places.
        waited(16 * MIB, (1, 4), Spot::Popular, When::On(Activity::Surf)),
        // Sites that attack.
        hot(48 * MIB, (8, 64), Spot::Popular, When::Every(1800)),
        // List of recent documents.
        waited(64 * KIB, (1, 4), Spot::Start, When::On(Activity::Write)),
        // Index of symbols.
        hot(16 * MIB, (4, 16), Spot::Popular, When::On(Activity::Develop)),
    ],
};

const fn hot(bytes: u64, units: (u64, u64), spot: Spot, when: When) -> Hot {
    Hot { bytes, unit_bytes: 4 * KIB, units, spot, when, sync: false }
}

const fn waited(bytes: u64, units: (u64, u64), spot: Spot, when: When) -> Hot {
    Hot { sync: true, ..hot(bytes, units, spot, when) }
}
